//! The embedded store keeps what a hub knows as every store does, beside the tasks.

use std::{path::Path, sync::Arc, time::Duration};

use nuncio_hub::store::{Commit, Committed, EventQuery, HubStore, Kind, NewEvent, Record, Version};
use nuncio_protocol::{
    ids::{AgentId, Organisation},
    time::Timestamp,
};
use nuncio_store::sqlite::{Options, Replace, SqliteStore};
use nuncio_tasks::store::Error;
use nuncio_testkit::hub_contract::{Fixture, hub_contract_tests, model};

fn open(directory: &Path) -> SqliteStore {
    SqliteStore::open(directory, Options::default()).expect("the store can be opened")
}

async fn sqlite() -> Fixture {
    let directory = tempfile::tempdir().expect("a directory can be made");
    let path = directory.path().to_owned();
    let open = move || -> Arc<dyn HubStore> { Arc::new(open(&path)) };
    Fixture::hub(open(), directory).with_reopen(move || {
        let store = open();
        async move { store }
    })
}

hub_contract_tests!(sqlite);

#[test]
fn any_sequence_of_calls_comes_out_as_the_model_says() {
    model::check(64, sqlite);
}

async fn fill(store: &SqliteStore) {
    let record = Record { kind: Kind::Agent, key: "echo".to_owned(), body: Some("{}".to_owned()) };
    let event = NewEvent {
        organisation: acme(),
        name: "ONLINE".to_owned(),
        agent: Some(echo()),
        at: Timestamp::now(),
        payload: "{}".to_owned(),
    };
    let commit = Commit {
        records: vec![record],
        events: vec![event],
        audit: vec!["{}".to_owned()],
        ..Commit::default()
    };
    let done = store.commit(commit).await.expect("answered");
    assert_eq!(done, Committed::Done { version: Version(1), last_event: 1 });
    store.beat(echo(), "{}".to_owned()).await.expect("written");
}

fn acme() -> Organisation {
    Organisation::parse("acme").expect("a short text is an identifier")
}

fn echo() -> AgentId {
    AgentId::parse("echo").expect("a short text is an identifier")
}

fn all() -> EventQuery {
    EventQuery { organisation: acme(), agent: None, name: None, after: 0, limit: 100 }
}

#[tokio::test]
async fn a_backup_has_what_the_hub_knows() {
    let directory = tempfile::tempdir().unwrap();
    let backup = directory.path().join("backup");
    let store = open(&directory.path().join("data"));
    fill(&store).await;
    store.backup(&backup).await.unwrap();
    let restored = directory.path().join("restored");
    SqliteStore::restore(&backup, &restored, Replace::Never).unwrap();
    let restored = open(&restored);
    assert_eq!(
        restored.changes(Version(0)).await.unwrap(),
        store.changes(Version(0)).await.unwrap()
    );
    assert_eq!(restored.events(all()).await.unwrap(), store.events(all()).await.unwrap());
    assert_eq!(restored.beats(0).await.unwrap(), store.beats(0).await.unwrap());
    assert_eq!(restored.audit_trail(0, 9).await.unwrap(), store.audit_trail(0, 9).await.unwrap());
}

#[tokio::test]
async fn a_record_of_a_kind_that_is_not_known_is_passed_over() {
    let directory = tempfile::tempdir().unwrap();
    let store = open(directory.path());
    fill(&store).await;
    drop(store);
    spoil(
        directory.path(),
        "INSERT INTO hub_records (kind, key, version, body) VALUES ('from later', 'a', 1, '{}')",
    );
    let changes = open(directory.path()).changes(Version(0)).await.unwrap();
    assert_eq!(changes.records.len(), 1);
}

#[tokio::test]
async fn nonsense_in_the_database_is_an_error_and_no_panic() {
    for sql in [
        "UPDATE hub_state SET version = -1, tick = -1",
        "DELETE FROM hub_state",
        "UPDATE hub_records SET key = CAST(x'ff' AS TEXT)",
        "UPDATE hub_events SET seq = -5",
        "UPDATE hub_events SET organisation = ''",
        "UPDATE hub_events SET at = 9223372036854775807",
        "UPDATE hub_events SET at_nanos = 2147483647",
        "UPDATE hub_beats SET agent = ''",
        "UPDATE hub_beats SET at = 9223372036854775807",
        "UPDATE hub_audit SET link = x'00'",
        "UPDATE hub_audit SET seq = -5",
    ] {
        let directory = tempfile::tempdir().unwrap();
        let store = open(directory.path());
        fill(&store).await;
        drop(store);
        spoil(directory.path(), sql);

        let store = open(directory.path());
        let read = [
            store.changes(Version(0)).await.map(|changes| changes.records.len()),
            store.events(all()).await.map(|events| events.len()),
            store.beats(0).await.map(|beats| beats.beats.len()),
            store.silent(Duration::ZERO).await.map(|agents| agents.len()),
            store.audit_trail(0, 9).await.map(|lines| lines.len()),
        ];
        let is_noticed = read.iter().any(|answer| !matches!(answer, Ok(1)));
        let written = [
            store.audit(vec!["{}".to_owned()]).await.map(|()| 0),
            store.beat(echo(), "{}".to_owned()).await.map(|_| 0),
        ];
        for answer in read.into_iter().chain(written) {
            assert!(matches!(answer, Ok(_) | Err(Error::Spoilt(_))), "{sql}: {answer:?}");
        }
        assert!(is_noticed, "{sql}");
    }
}

fn spoil(directory: &Path, sql: &str) {
    let database = rusqlite::Connection::open(directory.join("nuncio.db")).expect("it opens");
    database.execute(sql, ()).expect("it can be spoilt");
}
