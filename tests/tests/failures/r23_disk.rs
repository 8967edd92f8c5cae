//! R23: the disk is full, or fails.

use std::{fs, path::Path, sync::Arc, time::Duration};

use nuncio_protocol::state::TaskState;
use nuncio_testkit::{
    disk::Small,
    faults::{Environment, Faults},
};
use nuncio_tests::{
    client::{Failed, Node},
    figures,
    node::{Kept, Options},
    wire::{Order, TaskName},
    witness::Witness,
};
use tokio::time::Instant;

use crate::turn;

/// What is promised; a busy machine may take ten times as long.
const RECOVERED: Duration = Duration::from_secs(5);
const EXITED: Duration = Duration::from_secs(1);

#[tokio::test(flavor = "multi_thread")]
async fn a_full_disk_refuses_writes_and_recovers_by_itself() {
    let _turn = turn::beside_its_kind().await;
    // The ballast leaves room for a few pages only.
    let Some(disk) = Small::new(16 << 10) else { return };
    let ballast = disk.path().join("ballast");
    let fill = || {
        let mut room = 16 << 20;
        while room >= 4 << 10 {
            let old = fs::metadata(&ballast).map_or(0, |data| data.len());
            let file = fs::OpenOptions::new().create(true).append(true).open(&ballast);
            let file = file.expect("the ballast can be opened");
            let written = std::io::Write::write(&mut &file, &vec![0; room]);
            if written.is_err() || fs::metadata(&ballast).map_or(0, |data| data.len()) == old {
                room /= 2;
            }
        }
    };
    let free = || fs::remove_file(&ballast).expect("the ballast can go");
    fill_and_free("a full tmpfs", disk.path(), Environment::new(), &fill, &free).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn writes_that_fail_for_want_of_space_are_refused_until_there_is_some() {
    let _turn = turn::beside_its_kind().await;
    let directory = tempfile::tempdir().unwrap();
    let marker = directory.path().join("full");
    let data = directory.path().join("disk");
    fs::create_dir(&data).unwrap();
    let faults = Faults::under(&data).disk_full_while(&marker);
    let fill = || fs::write(&marker, "").expect("the marker can be made");
    let free = || fs::remove_file(&marker).expect("the marker can go");
    fill_and_free("injected ENOSPC", &data, faults, &fill, &free).await;
}

async fn fill_and_free(
    what: &str,
    disk: &Path,
    environment: Environment,
    fill: &dyn Fn(),
    free: &dyn Fn(),
) {
    let elsewhere = tempfile::tempdir().expect("a temporary directory");
    let witness = Arc::new(Witness::new(elsewhere.path(), 0));
    let options = Options::new(Kept::Sqlite(disk.join("data")));
    let node = Node::start_with(&options, environment).await;
    let early = witness.send(&node, Order::new("echo", "ann", "early")).await.expect("it is taken");
    let mut running = node.stream(Order::new("steps-fail", "ann", "300 5"));
    let first = running.event().await.expect("the work begins").expect("it has a first event");
    let running_task = first.task.expect("the first event is the task");

    fill();
    let mut taken = 0;
    let refusal = loop {
        let order = Order::new("echo", "ann", "x".repeat(1_000)).key(format!("key {taken}"));
        match witness.send(&node, order).await {
            Ok(_) => taken += 1,
            Err(Failed::Refused(refusal)) => break refusal,
            Err(Failed::Gone) => panic!("the node died of a full disk: {}", node.errors().await),
        }
        assert!(taken < 100_000, "the disk does not get full");
    };
    assert_eq!(refusal.kind, "Unavailable", "{refusal:?}");
    assert_eq!(refusal.reason, "STORE_UNAVAILABLE", "{refusal:?}");
    // Reading goes on.
    let read = node.get(TaskName::new("echo", "ann", &early.id)).await.expect("it can be read");
    assert_eq!(read, early);
    assert!(node.list(None).await.len() >= 2);
    assert!(!node.logs(None).await.is_empty());

    free();
    let start = Instant::now();
    let order = Order::new("echo", "ann", "late").key("late");
    while let Err(failed) = witness.send(&node, order.clone()).await {
        assert!(matches!(failed, Failed::Refused(_)), "{failed:?}");
        assert!(start.elapsed() < RECOVERED * 10, "it does not recover: {failed:?}");
    }
    let recovered = start.elapsed();
    // The work that was under way was held up, and nothing of it was lost.
    while running.event().await.expect("the stream goes on").is_some() {}
    let name = TaskName::new("steps-fail", "ann", &running_task);
    let ended = node.get(name).await.expect("it can be read");
    assert_eq!((ended.state, ended.parts), (TaskState::Completed, 300));
    node.kill9().await;
    let node = Node::start(&options).await;
    let compared = witness.check(&node, None).await;
    figures::print(&format!(
        "R23: {what}: {taken} taken before it was refused, reads went on, recovered after \
         {recovered:.2?}; {} acked, 0 lost",
        compared.acked
    ));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_failed_sync_ends_the_process_and_nothing_acknowledged_is_lost() {
    let _turn = turn::beside_its_kind().await;
    let mut slowest = Duration::ZERO;
    let (mut acked, mut rounds) = (0, 0);
    for call in [6, 7, 8, 13, 20, 31] {
        let directory = tempfile::tempdir().unwrap();
        let data = directory.path().join("data");
        fs::create_dir(&data).unwrap();
        let witness = Witness::new(directory.path(), call);
        let options = Options::new(Kept::Sqlite(data.clone()));
        // The first syncs belong to the making of the database.
        Node::start(&options).await.stop(Duration::ZERO).await;
        let node = Node::start_with(&options, Faults::under(&data).fsync_error_at(call)).await;
        let elapsed = loop {
            let start = Instant::now();
            match witness.send(&node, Order::new("steps-fail", "ann", "3 1")).await {
                Ok(_) => assert!(witness.acked() < 1_000, "no sync fails"),
                Err(Failed::Gone) => break start.elapsed(),
                Err(Failed::Refused(refusal)) => panic!("it answers after that: {refusal:?}"),
            }
        };
        let status = node.ended().await;
        assert_eq!(status.code(), Some(70), "{}", node.errors().await);
        slowest = slowest.max(elapsed);
        let node = Node::start(&options).await;
        node.settled(None, Duration::from_secs(60)).await;
        acked += witness.check(&node, None).await.acked;
        rounds += 1;
    }
    figures::print(&format!(
        "R23: {rounds} failed syncs: the process ended within {slowest:.2?}; {acked} acked, 0 lost"
    ));
    assert!(slowest <= EXITED * 10);
}
