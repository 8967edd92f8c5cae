//! R08: the owner of many tasks is killed, or stopped for longer than its lease and then let
//! on. The lease is the default one.

use std::{sync::Arc, time::Duration};

use nuncio_protocol::state::TaskState;
use nuncio_testkit::services;
use nuncio_tests::{
    client::Node,
    figures,
    node::{Kept, Options},
    takeover::{check_log, owned_by_epoch, start_tasks},
    wire::Order,
    witness::Witness,
};
use tokio::time::Instant;

const TASKS: usize = 100;
const BUSY: usize = 10;

/// What is promised; a busy machine may take three times as long.
const SETTLED: Duration = Duration::from_secs(20);

#[tokio::test(flavor = "multi_thread")]
async fn tasks_of_a_killed_owner_are_settled_by_the_other() {
    let Some(postgres) = services::postgres().await else { return };
    let database = postgres.database().await;
    let directory = tempfile::tempdir().unwrap();
    let witness = Arc::new(Witness::new(directory.path(), 0));
    let options = Options::new(Kept::Postgres(database.url()));
    let owner = Node::start(&options).await;
    let other = Node::start(&options).await;
    let started = start_tasks(&owner, &witness, TASKS).await;
    owner.kill9().await;
    let start = Instant::now();
    owned_by_epoch(&other, 2, SETTLED * 3).await;
    let taken = start.elapsed();
    let settled = start.elapsed() + other.settled(None, SETTLED * 3).await;
    started.ended().await;
    let logs = other.logs(None).await;
    for log in &logs {
        check_log(log);
    }
    let compared = witness.compare(&logs);
    assert_eq!(compared.tasks, TASKS);
    figures::print(&format!(
        "R08: owner of {TASKS} tasks killed: all taken over after {taken:.1?}, ended after \
         {settled:.1?} (lease 15 s); {} events seen, 0 lost",
        figures::count(compared.seen)
    ));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stopped_owner_that_comes_back_can_write_nothing() {
    let Some(postgres) = services::postgres().await else { return };
    let database = postgres.database().await;
    let directory = tempfile::tempdir().unwrap();
    let witness = Arc::new(Witness::new(directory.path(), 0));
    let options = Options::new(Kept::Postgres(database.url()));
    let owner = Node::start(&options).await;
    let other = Node::start(&options).await;
    let started = start_tasks(&owner, &witness, TASKS).await;
    // These write all the time, so that the stop falls into the midst of a transaction.
    for _ in 0..BUSY {
        let order = Order::new("steps-fail", "ann", "1000000 0").at_once();
        witness.send(&owner, order).await.unwrap();
    }
    owner.pause();
    let start = Instant::now();
    owned_by_epoch(&other, 2, SETTLED * 3).await;
    let taken = start.elapsed();
    // The stopped one comes back while the other is at work on what is to be done again.
    owner.resume();
    let settled = start.elapsed() + other.settled(None, SETTLED * 3).await;
    // Its own readers see what the other did.
    started.ended().await;
    let back = owner.list(None).await;
    assert!(back.iter().all(|task| task.state.is_terminal()), "{back:?}");
    let logs = other.logs(None).await;
    for log in &logs {
        check_log(log);
        assert_eq!(log.epoch, 2, "task {} was taken again", log.task);
    }
    let compared = witness.compare(&logs);
    assert_eq!(compared.tasks, TASKS + BUSY);
    let failed = logs.iter().filter(|log| log.state == TaskState::Failed).count();
    figures::print(&format!(
        "R08: owner of {} tasks stopped: all taken over after {taken:.1?}, ended after \
         {settled:.1?} ({failed} failed, the others done again); it came back, 0 stale writes",
        TASKS + BUSY,
    ));
}
