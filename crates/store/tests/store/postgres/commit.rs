//! Connections that are lost at a commit.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use nuncio_protocol::ids::{ContextId, TaskId};
use nuncio_tasks::{
    scope::Scope,
    store::{Append, Created, Error, Tenancy},
};
use nuncio_testkit::services;
use tokio_postgres::NoTls;

use crate::postgres::{
    proxy::{Cut, Proxy},
    story::{
        ann, check_gapless, end_of, eventually, input, lease, log, new, open, opening_of, said,
    },
};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_commit_whose_answer_is_lost_is_answered_as_if_it_was_seen() {
    let Some(postgres) = services::postgres().await else { return };
    let database = postgres.database().await;
    let proxy = Proxy::start(&database.url()).await;
    let store = open(proxy.url(&database.url())).await;
    let head = new(&*store).await;

    proxy.cut_next(Cut::After);
    let seq = end_of(store.append(input(&head, "one")).await).expect("it is written");
    assert!(proxy.has_cut());
    assert_eq!(seq.0, 2);

    proxy.cut_next(Cut::After);
    let id = TaskId::generate();
    let created = store.create(opening_of(ann(), id.clone(), ContextId::generate())).await;
    let Ok(Created::New(created)) = created else { panic!("expected a task, found {created:?}") };
    assert!(proxy.has_cut());
    assert_eq!(store.find(&Scope::from(&ann()), &id).await.expect("found"), Some(created));

    // Nothing in the log tells of this one.
    proxy.cut_next(Cut::After);
    let waiting = Append { tenancy: Tenancy::End, ..input(&head, "two") };
    end_of(store.append(waiting).await).expect("it is written");
    proxy.cut_next(Cut::After);
    let mut empty = input(&head, "never");
    empty.batch = nuncio_tasks::log::Batch::follow(
        head.id.clone(),
        head.context.clone(),
        nuncio_protocol::state::TaskState::Working,
    );
    empty.tenancy = Tenancy::Take(lease("two"));
    end_of(store.append(empty).await).expect("it is written");
    assert!(proxy.has_cut());
    let found = store.find(&Scope::from(&ann()), &head.id).await.expect("found");
    assert!(found.expect("it is there").owned);

    let entries = log(&*store, head.reference).await;
    check_gapless(&entries);
    assert_eq!(said(&entries), ["one", "two"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_commit_that_never_arrives_is_refused_and_nothing_is_written() {
    let Some(postgres) = services::postgres().await else { return };
    let database = postgres.database().await;
    let proxy = Proxy::start(&database.url()).await;
    let store = open(proxy.url(&database.url())).await;
    let head = new(&*store).await;

    proxy.cut_next(Cut::Before);
    let refused = store.append(input(&head, "one")).await;
    assert!(matches!(refused, Err(Error::Unavailable(_))), "found {refused:?}");
    assert!(proxy.has_cut());
    assert_eq!(log(&*store, head.reference).await.len(), 1);

    proxy.cut_next(Cut::Before);
    let id = TaskId::generate();
    let refused = store.create(opening_of(ann(), id.clone(), ContextId::generate())).await;
    assert!(matches!(refused, Err(Error::Unavailable(_))), "found {refused:?}");
    assert_eq!(store.find(&Scope::from(&ann()), &id).await.expect("answered"), None);

    let seq = end_of(store.append(input(&head, "two")).await).expect("it is written");
    assert_eq!(seq.0, 2);
}

/// What was refused is never written, also if the database comes to it only then.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_batch_that_arrives_after_its_refusal_is_not_written() {
    let Some(postgres) = services::postgres().await else { return };
    let database = postgres.database().await;
    let proxy = Proxy::start(&database.url()).await;
    let store = open(proxy.url(&database.url())).await;
    // The first task makes the writer connect.
    new(&*store).await;

    proxy.cut_next(Cut::Late);
    let id = TaskId::generate();
    let refused = store.create(opening_of(ann(), id.clone(), ContextId::generate())).await;
    assert!(matches!(refused, Err(Error::Unavailable(_))), "found {refused:?}");
    assert!(proxy.has_cut());
    proxy.deliver().await;
    assert_eq!(store.find(&Scope::from(&ann()), &id).await.expect("answered"), None);
}

/// R06, R11: however connections end, every answer says what is in the log.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_answer_is_true_while_connections_are_killed() {
    let Some(postgres) = services::postgres().await else { return };
    let database = postgres.database().await;
    let store = open(database.url()).await;
    let mut heads = Vec::new();
    for _ in 0..8 {
        heads.push(new(&*store).await);
    }
    let is_over = Arc::new(AtomicBool::new(false));
    let killer = tokio::spawn(kill_until(database.url(), Arc::clone(&is_over)));

    let appenders: Vec<_> = heads
        .iter()
        .map(|head| {
            let (store, head) = (Arc::clone(&store), head.clone());
            tokio::spawn(async move {
                let mut answers = Vec::new();
                for number in 0..25 {
                    let text = format!("message {number}");
                    let answer = end_of(store.append(input(&head, &text)).await);
                    answers.push((head.clone(), text, answer));
                }
                answers
            })
        })
        .collect();
    let mut answers = Vec::new();
    for appender in appenders {
        answers.extend(appender.await.expect("the appender is done"));
    }
    is_over.store(true, Ordering::SeqCst);
    let kills = killer.await.expect("the killer is done");

    let mut written = 0;
    for (head, text, answer) in &answers {
        let entries = log(&*store, head.reference).await;
        check_gapless(&entries);
        let places: Vec<u64> = entries
            .iter()
            .filter(|entry| said(std::slice::from_ref(entry)) == [text.as_str()])
            .map(|entry| entry.seq.0)
            .collect();
        match answer {
            Ok(seq) => {
                assert_eq!(places, [seq.0], "{text} was acknowledged");
                written += 1;
            }
            Err(Error::Unavailable(_)) => assert!(places.is_empty(), "{text} was refused"),
            Err(other) => panic!("{text}: {other:?}"),
        }
    }
    assert!(kills > 0, "no connection was killed");
    assert!(written > 0, "no message was written");
}

/// Kills every connection of the store again and again, and returns how many.
async fn kill_until(url: String, is_over: Arc<AtomicBool>) -> u64 {
    let config: tokio_postgres::Config = url.parse().expect("it is an address");
    let (client, connection) = config.connect(NoTls).await.expect("the database is there");
    tokio::spawn(connection);
    let kill = "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity \
        WHERE datname = current_database() AND application_name = 'nuncio' \
        AND pid <> pg_backend_pid()";
    let mut killed = 0;
    while !is_over.load(Ordering::SeqCst) {
        let row = client.query_one(kill, &[]).await.expect("the database is there");
        killed += u64::try_from(row.get::<_, i64>(0)).expect("a number of connections");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    killed
}

/// A transaction that is still going on when its connection is lost is waited for.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_outcome_is_not_guessed_while_the_commit_goes_on() {
    let Some(postgres) = services::postgres().await else { return };
    let database = postgres.database().await;
    let proxy = Proxy::start(&database.url()).await;
    let store = open(proxy.url(&database.url())).await;
    let head = new(&*store).await;
    // A commit with an entry takes as long as somebody else holds this lock.
    database
        .query(
            "CREATE FUNCTION nuncio.hold() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN \
             PERFORM pg_advisory_xact_lock(42); RETURN NULL; END $$; \
             CREATE CONSTRAINT TRIGGER hold AFTER INSERT ON nuncio.pieces \
             DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION nuncio.hold()",
        )
        .await;
    let config: tokio_postgres::Config = database.url().parse().expect("it is an address");
    let (holder, connection) = config.connect(NoTls).await.expect("the database is there");
    tokio::spawn(connection);
    holder.batch_execute("SELECT pg_advisory_lock(42)").await.expect("nobody has the lock");

    proxy.cut_next(Cut::During);
    let appending = {
        let (store, head) = (Arc::clone(&store), head.clone());
        tokio::spawn(async move { store.append(input(&head, "slow")).await })
    };
    let asking = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() \
        AND wait_event_type = 'Lock' AND query LIKE 'UPDATE writers SET batch%'";
    eventually("the writer asks what became of it", async || {
        let row = holder.query_one(asking, &[]).await.expect("answered");
        (row.get::<_, i64>(0) > 0).then_some(())
    })
    .await;
    assert!(!appending.is_finished());
    holder.batch_execute("SELECT pg_advisory_unlock(42)").await.expect("unlocked");
    let seq = end_of(appending.await.expect("done")).expect("it is written");
    let entries = log(&*store, head.reference).await;
    assert_eq!((seq.0, said(&entries)), (2, vec!["slow".to_owned()]));
}
