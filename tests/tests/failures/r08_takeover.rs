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
    wire::{Order, TaskName},
    witness::Witness,
};
use tokio::time::Instant;

use crate::turn;

const TASKS: usize = 100;
const BUSY: usize = 10;

/// For work that is to outlast leases.
const SHORT_LEASE: Duration = Duration::from_secs(2);

/// What is promised; a busy machine may take three times as long.
const SETTLED: Duration = Duration::from_secs(20);

#[tokio::test(flavor = "multi_thread")]
async fn tasks_of_a_killed_owner_are_settled_by_the_other() {
    let _turn = turn::beside_its_kind().await;
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
    let _turn = turn::beside_its_kind().await;
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

/// Whoever takes tasks over reads their logs, one after the other. With long logs that takes
/// longer than a lease, which must not be lost over it.
#[tokio::test(flavor = "multi_thread")]
async fn tasks_with_long_logs_are_taken_over_once() {
    const LONG: u64 = 2_000;
    let _turn = turn::beside_its_kind().await;
    let Some(postgres) = services::postgres().await else { return };
    let database = postgres.database().await;
    let directory = tempfile::tempdir().unwrap();
    let witness = Witness::new(directory.path(), 0);
    let mut options = Options::new(Kept::Postgres(database.url()));
    // It has much to write before it is killed, and is to keep its own leases meanwhile.
    options.lease = Some(SHORT_LEASE * 4);
    let owner = Node::start(&options).await;
    options.lease = Some(SHORT_LEASE / 2);
    let others = [Node::start(&options).await, Node::start(&options).await];
    for _ in 0..TASKS {
        let order = Order::new("steps-fail", "ann", format!("{LONG} 0 32 hang")).at_once();
        witness.send(&owner, order).await.unwrap();
    }
    loop {
        let logs = others[0].heads(None).await;
        if logs.iter().all(|log| log.seq > LONG) {
            break;
        }
        let is_kept = logs.iter().all(|log| !log.state.is_terminal());
        assert!(is_kept, "the owner was too slow to keep its leases");
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    owner.kill9().await;
    let start = Instant::now();
    others[0].settled(None, SETTLED * 3).await;
    let settled = start.elapsed();
    let logs = others[1].logs(None).await;
    let compared = witness.compare(&logs);
    assert_eq!(compared.tasks, TASKS);
    let again = logs.iter().filter(|log| log.epoch > 2).count();
    figures::print(&format!(
        "R08: owner of {TASKS} tasks of {LONG} events killed: settled after {settled:.1?} (lease \
         {:?}), {again} taken over twice",
        SHORT_LEASE / 2,
    ));
    assert_eq!(again, 0, "leases were lost while tasks were taken over");
}

/// A process that is told to stop finishes its work first, for longer than a lease if need be.
#[tokio::test(flavor = "multi_thread")]
async fn a_stopping_owner_keeps_its_work_and_hears_of_cancels() {
    const WORKING: usize = 10;
    let _turn = turn::beside_its_kind().await;
    let Some(postgres) = services::postgres().await else { return };
    let database = postgres.database().await;
    let directory = tempfile::tempdir().unwrap();
    let witness = Witness::new(directory.path(), 0);
    let mut options = Options::new(Kept::Postgres(database.url()));
    options.lease = Some(SHORT_LEASE);
    let owner = Node::start(&options).await;
    let other = Node::start(&options).await;
    for _ in 0..WORKING {
        // Three leases long.
        let order = Order::new("steps-fail", "ann", "60 100").at_once();
        witness.send(&owner, order).await.unwrap();
    }
    let hanging = Order::new("bad", "ann", "hang").at_once();
    let hanging = witness.send(&owner, hanging).await.unwrap();
    let stopping = tokio::spawn({
        let owner = owner.clone();
        async move { owner.stop(SETTLED * 3).await }
    });
    // It takes nothing more, so it is stopping.
    while owner.send(Order::new("echo", "ann", "late")).await.is_ok() {}
    let cancelled = other.cancel(TaskName::new("bad", "ann", &hanging.id)).await.unwrap();
    assert_eq!(cancelled.state, TaskState::Canceled, "{cancelled:?}");
    assert!(stopping.await.unwrap().success());
    let logs = other.logs(None).await;
    for log in &logs {
        assert_eq!(log.epoch, 1, "task {} was taken from its owner", log.task);
        assert_ne!(log.state, TaskState::Failed, "task {} was failed", log.task);
        assert!(log.state.is_terminal(), "task {} was left", log.task);
    }
    witness.compare(&logs);
}
