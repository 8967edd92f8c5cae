//! What a hub knows, on a database that several share.

use std::{sync::Arc, time::Duration};

use nuncio_hub::{
    audit::{Link, verify},
    store::{Commit, Committed, HubStore, Kind, Record, Version},
};
use nuncio_protocol::ids::AgentId;
use nuncio_store::postgres::{Options, PostgresStore};
use nuncio_testkit::{
    hub_contract::{Fixture, hub_contract_tests, model},
    services,
};

use crate::postgres::{
    proxy::{Cut, Proxy},
    story::eventually,
};

async fn open(url: String) -> Arc<dyn HubStore> {
    Arc::new(PostgresStore::open(&Options::new(url)).await.expect("the store opens"))
}

async fn postgres() -> Option<Fixture> {
    let database = services::postgres().await?.database().await;
    let url = database.url();
    let open = move || open(url.clone());
    Some(Fixture::hub(open().await, database).with_reopen(open))
}

hub_contract_tests!(postgres);

#[test]
fn any_sequence_of_calls_comes_out_as_the_model_says() {
    model::check(16, postgres);
}

fn record(body: &str) -> Record {
    Record { kind: Kind::Agent, key: "echo".to_owned(), body: Some(body.to_owned()) }
}

fn agent(name: &str) -> AgentId {
    AgentId::parse(name).expect("a short text is an identifier")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_several_processes_one_writes_and_all_read_it() {
    const ROUNDS: u64 = 10;
    let Some(postgres) = services::postgres().await else { return };
    let database = postgres.database().await;
    let stores = [open(database.url()).await, open(database.url()).await];
    for round in 0..ROUNDS {
        let writers: Vec<_> = (0..10)
            .map(|number| {
                let store = Arc::clone(&stores[number % 2]);
                let commit = Commit {
                    seen: Version(round),
                    records: vec![record(&number.to_string())],
                    audit: vec![number.to_string()],
                    ..Commit::default()
                };
                tokio::spawn(async move { store.commit(commit).await.expect("answered") })
            })
            .collect();
        let mut winners = Vec::new();
        for (number, writer) in writers.into_iter().enumerate() {
            if writer.await.unwrap() != Committed::Behind {
                winners.push(number);
            }
        }
        assert_eq!(winners.len(), 1);
        for store in &stores {
            let changes = store.changes(Version(round)).await.unwrap();
            assert_eq!(changes.version, Version(round + 1));
            assert_eq!(changes.records, [record(&winners[0].to_string())]);
        }
    }
    let lines = stores[0].audit_trail(0, 100).await.unwrap();
    assert_eq!(lines.len() as u64, ROUNDS);
    verify(0, Link::START, &lines).unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_beat_at_one_is_heard_at_the_other() {
    let Some(postgres) = services::postgres().await else { return };
    let database = postgres.database().await;
    let (here, there) = (open(database.url()).await, open(database.url()).await);
    let mut tick = 0;
    for number in 0..10 {
        let at = here.beat(agent("echo"), number.to_string()).await.unwrap();
        let heard = there.beats(tick).await.unwrap();
        assert!(heard.tick > tick);
        assert_eq!((heard.beats.len(), heard.beats[0].at), (1, at));
        tick = heard.tick;
    }
    eventually("the other knows of the silence", async || {
        let silent = there.silent(Duration::from_millis(1)).await.unwrap();
        (silent == [agent("echo")]).then_some(())
    })
    .await;
}

/// Nobody knows what became of it, but whoever reads on does.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_commit_whose_answer_is_lost_is_told_and_can_be_looked_up() {
    let Some(postgres) = services::postgres().await else { return };
    let database = postgres.database().await;
    let proxy = Proxy::start(&database.url()).await;
    let store = open(proxy.url(&database.url())).await;
    for (cut, written) in [(Cut::After, 1), (Cut::Before, 0)] {
        let seen = eventually("it reads", async || store.changes(Version(0)).await.ok()).await;
        let commit =
            Commit { seen: seen.version, records: vec![record("{}")], ..Commit::default() };
        proxy.cut_next(cut);
        let error = store.commit(commit).await.unwrap_err();
        assert!(proxy.has_cut());
        assert!(error.is_temporary(), "{error}");
        let now = eventually("it reads", async || store.changes(seen.version).await.ok()).await;
        assert_eq!(now.version, Version(seen.version.0 + written));
        assert_eq!(now.records.len() as u64, written);
    }
}

#[tokio::test]
async fn a_trail_with_a_spoilt_end_is_an_error_that_spoils_no_connection() {
    let Some(postgres) = services::postgres().await else { return };
    let database = postgres.database().await;
    let store = open(database.url()).await;
    database.query("UPDATE nuncio.hub_trail SET link = '\\x00'").await;
    for _ in 0..10 {
        let error = store.audit(vec!["{}".to_owned()]).await.unwrap_err();
        assert!(!error.is_temporary(), "{error}");
        let commit = Commit { audit: vec!["{}".to_owned()], ..Commit::default() };
        assert!(!store.commit(commit).await.unwrap_err().is_temporary());
    }
    assert_eq!(store.changes(Version(0)).await.unwrap().version, Version(0));
    store.commit(Commit::default()).await.unwrap();
    let other = open(database.url()).await;
    assert_eq!(other.changes(Version(0)).await.unwrap().version, Version(1));
}

/// R26: a program of the version before goes on with what it knows.
#[tokio::test]
async fn a_record_of_a_kind_that_is_not_known_is_passed_over() {
    let Some(postgres) = services::postgres().await else { return };
    let database = postgres.database().await;
    let store = open(database.url()).await;
    store.commit(Commit { records: vec![record("{}")], ..Commit::default() }).await.unwrap();
    database
        .query(
            "INSERT INTO nuncio.hub_records (kind, key, version, body) \
             VALUES ('from later', 'a', 1, '{}')",
        )
        .await;
    assert_eq!(store.changes(Version(0)).await.unwrap().records, [record("{}")]);
}
