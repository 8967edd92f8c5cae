//! Databases that stop, die and come back.

use std::{sync::Arc, time::Duration};

use nuncio_tasks::{
    scope::Scope,
    store::{Error, Head, Store},
};
use nuncio_testkit::services::Postgres;
use tokio::time::timeout;

use crate::postgres::story::{ann, check_gapless, end_of, eventually, input, log, new, open, said};

/// What must be answered, is answered within this (R09 asks for 2.5 s, on a quiet machine).
const ANSWER: Duration = Duration::from_secs(8);

/// R09, R11: a server that is silent is as good as none, and is used again once it speaks.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_silent_database_is_unavailable_until_it_speaks() {
    let Some(postgres) = Postgres::start().await else { return };
    let database = postgres.database().await;
    let store = open(database.url()).await;
    let head = new(&*store).await;
    postgres.pause();
    check_unavailable(&store, &head).await;
    // Others, too, while those before them are still being waited for.
    check_unavailable(&store, &head).await;
    postgres.resume();
    check_recovery(&store, &head).await;
}

/// R09: a server that is killed, as if the power were lost, keeps what was acknowledged.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_killed_database_is_unavailable_until_it_is_back() {
    let Some(postgres) = Postgres::start().await else { return };
    let database = postgres.database().await;
    let store = open(database.url()).await;
    let head = new(&*store).await;
    postgres.kill9().await;
    check_unavailable(&store, &head).await;
    postgres.restart().await;
    check_recovery(&store, &head).await;
}

/// Connections that have died while nobody used them are no reason to fail.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_restart_in_between_is_not_noticed() {
    let Some(postgres) = Postgres::start().await else { return };
    let database = postgres.database().await;
    let store = open(database.url()).await;
    let head = new(&*store).await;
    store.find(&Scope::from(&ann()), &head.id).await.expect("it is there");
    postgres.stop().await;
    postgres.restart().await;
    end_of(store.append(input(&head, "after")).await).expect("it is written");
    let found = store.find(&Scope::from(&ann()), &head.id).await.expect("answered");
    assert_eq!(found.expect("it is there").seq.0, 2);
}

async fn check_unavailable(store: &Arc<dyn Store>, head: &Head) {
    let scope = Scope::from(&ann());
    let (written, read) = tokio::join!(
        timeout(ANSWER, store.append(input(head, "during"))),
        timeout(ANSWER, store.find(&scope, &head.id)),
    );
    let written = written.expect("a write is answered");
    assert!(matches!(written, Err(Error::Unavailable(_))), "found {written:?}");
    let read = read.expect("a read is answered");
    assert!(matches!(read, Err(Error::Unavailable(_))), "found {read:?}");
}

/// What was refused is not there, and what follows is.
async fn check_recovery(store: &Arc<dyn Store>, head: &Head) {
    let seq = eventually("the store writes again", async || {
        end_of(store.append(input(head, "after")).await).ok()
    })
    .await;
    assert_eq!(seq.0, 2);
    let entries = log(&**store, head.reference).await;
    check_gapless(&entries);
    assert_eq!(said(&entries), ["after"]);
}
