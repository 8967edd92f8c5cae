//! R13: the clocks of the replicas are ten minutes apart. Nothing that matters is ordered by
//! them, so everything is as it always is.

use std::{collections::HashMap, sync::Arc, time::Duration};

use nuncio_protocol::state::TaskState;
use nuncio_testkit::{random::Random, services};
use nuncio_tests::{
    client::{Node, Replies},
    figures,
    node::{Kept, Options},
    takeover::{check_log, owned_by_epoch, start_tasks},
    wire::{Order, TaskName},
    witness::Witness,
};
use tokio::time::Instant;

use crate::turn;

/// How wrong the clocks are, in seconds.
const OFFSETS: [i64; 2] = [300, -300];

/// Short, so that work outlasts many of them.
const LEASE: Duration = Duration::from_secs(1);

const ROUNDS: usize = 16;
const LOST: usize = 20;

/// The replicas, of which the first is to be lost.
async fn replicas(url: String, redis: Option<String>) -> [Node; 2] {
    let mut options = Options::new(Kept::Postgres(url));
    options.lease = Some(LEASE);
    options.redis = redis;
    let [first, second] = OFFSETS.map(|clock_offset| Options { clock_offset, ..options.clone() });
    [Node::start(&first).await, Node::start(&second).await]
}

#[tokio::test(flavor = "multi_thread")]
async fn replicas_with_wrong_clocks_agree_and_hint_by_postgres() {
    let _turn = turn::beside_its_kind().await;
    let Some(postgres) = services::postgres().await else { return };
    let database = postgres.database().await;
    agree("hints by Postgres", replicas(database.url(), None).await).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn replicas_with_wrong_clocks_agree_and_hint_by_redis() {
    let _turn = turn::beside_its_kind().await;
    let Some(postgres) = services::postgres().await else { return };
    let Some(redis) = services::redis().await else { return };
    let database = postgres.database().await;
    agree("hints by Redis", replicas(database.url(), Some(redis.url())).await).await;
}

async fn agree(what: &str, nodes: [Node; 2]) {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let mut random = Random::new();
    let witness = Arc::new(Witness::new(directory.path(), random.seed()));
    let (mut cancels, mut delays) = (Vec::new(), Vec::new());
    for round in 0..ROUNDS {
        let here = &nodes[round % 2];
        let there = &nodes[(round + 1) % 2];
        read_your_writes(here, there, &witness).await;
        go_on_elsewhere(here, there, &witness).await;
        cancels.push(cancel_elsewhere(here, there, &witness).await);
        if random.once_in(4) {
            delays.extend(follow_on_both(here, there, &witness).await);
        }
    }
    // Outlasts several leases without losing one.
    delays.extend(follow_on_both(&nodes[0], &nodes[1], &witness).await);
    delays.extend(follow_on_both(&nodes[1], &nodes[0], &witness).await);
    let logs = nodes[0].logs(None).await;
    // Whoever reopens a task that waited is a new owner; nothing else is.
    assert!(logs.iter().all(|log| log.epoch <= 2), "a lease was lost to a clock");
    let compared = witness.compare(&logs);
    figures::print(&format!(
        "R13: clocks 600 s apart, {what}: {} tasks agree, order is commit order; event on the \
         other replica p50 {:.1?}, p99 {:.1?}; cancel there p99 {:.1?}",
        compared.tasks,
        figures::percentile(&mut delays, 50),
        figures::percentile(&mut delays, 99),
        figures::percentile(&mut cancels, 99),
    ));
}

#[tokio::test(flavor = "multi_thread")]
async fn tasks_of_a_killed_owner_with_a_wrong_clock_are_settled_by_the_other() {
    let _turn = turn::beside_its_kind().await;
    let Some(postgres) = services::postgres().await else { return };
    let database = postgres.database().await;
    let directory = tempfile::tempdir().unwrap();
    let witness = Arc::new(Witness::new(directory.path(), 0));
    let [owner, other] = replicas(database.url(), None).await;
    let started = start_tasks(&owner, &witness, LOST).await;
    owner.kill9().await;
    let start = Instant::now();
    owned_by_epoch(&other, 2, Duration::from_secs(60)).await;
    let taken = start.elapsed();
    other.settled(None, Duration::from_secs(60)).await;
    started.ended().await;
    let logs = other.logs(None).await;
    for log in &logs {
        check_log(log);
        assert_eq!(log.epoch, 2, "task {} was taken again", log.task);
    }
    witness.compare(&logs);
    figures::print(&format!(
        "R13: clocks 600 s apart: owner of {LOST} tasks killed, all taken over after \
         {taken:.1?} (lease {LEASE:?})"
    ));
}

async fn read_your_writes(here: &Node, there: &Node, witness: &Witness) {
    let task = witness.send(here, Order::new("echo", "ann", "hello")).await.expect("it is taken");
    let read = there.get(TaskName::new("echo", "ann", &task.id)).await.expect("it is there");
    assert_eq!(read, task);
}

/// A task asks here and is answered there, by a clock that says that this was earlier.
async fn go_on_elsewhere(here: &Node, there: &Node, witness: &Witness) {
    let asked = witness.send(here, Order::new("ask", "ann", "hello")).await.expect("it is taken");
    assert_eq!(asked.state, TaskState::InputRequired);
    let answer = Order::new("ask", "ann", "more").to(&asked.id);
    let ended = witness.send(there, answer).await.expect("it is taken");
    assert_eq!((ended.state, ended.parts), (TaskState::Completed, 1));
    let read = here.get(TaskName::new("ask", "ann", &asked.id)).await.expect("it is there");
    assert_eq!(read, ended);
}

async fn cancel_elsewhere(here: &Node, there: &Node, witness: &Witness) -> Duration {
    let order = Order::new("bad", "ann", "hang").at_once();
    let task = witness.send(here, order).await.expect("it is taken");
    let start = Instant::now();
    let ended = there.cancel(TaskName::new("bad", "ann", &task.id)).await.expect("it ends");
    assert_eq!(ended.state, TaskState::Canceled, "{ended:?}");
    witness.ack(&ended);
    start.elapsed()
}

/// Follows a task on both replicas, and returns how much later each event comes on the one
/// that does not work on it.
async fn follow_on_both(here: &Node, there: &Node, witness: &Arc<Witness>) -> Vec<Duration> {
    let order = Order::new("steps-fail", "ann", "100 25").at_once();
    let task = witness.send(here, order).await.expect("it is taken");
    let name = TaskName::new("steps-fail", "ann", &task.id);
    let followed = [here, there].map(|node| {
        let replies = node.subscribe(name.clone(), Some(0));
        tokio::spawn(times(replies))
    });
    let [first, second] = followed;
    let first = first.await.expect("the stream ends");
    let second = second.await.expect("the stream ends");
    assert_eq!(first.len(), second.len());
    let later = |(seq, (hash, came)): (&u64, &(u64, Instant))| {
        let (other_hash, there) = second[seq];
        assert_eq!(*hash, other_hash, "event {seq} differs");
        there.saturating_duration_since(*came)
    };
    first.iter().map(later).collect()
}

/// When each event of a stream came, and what it was.
async fn times(mut replies: Replies) -> HashMap<u64, (u64, Instant)> {
    let mut times = HashMap::new();
    while let Some(event) = replies.event().await.expect("the stream does not break") {
        times.insert(event.seq, (event.hash, Instant::now()));
    }
    times
}
