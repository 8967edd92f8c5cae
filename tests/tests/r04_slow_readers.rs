//! R04: one task says a great deal, and half of its readers do not listen.
//!
//! That a reader who makes no progress is closed after 30 s is up to the server that has the
//! connection; here is only that such a reader costs nothing and misses nothing.

use std::time::Duration;

use nuncio_protocol::state::TaskState;
use nuncio_tests::{
    client::Node,
    figures,
    node::{Kept, Options},
    wire::{Ask, Order, TaskName, Watched},
};
use tokio::time::Instant;

const EVENTS: usize = 20_000;
const READERS: u32 = 100;
const MEMORY: u64 = 64 << 20;

#[derive(Clone, Copy)]
struct Outcome {
    events_per_second: f64,
    memory: u64,
}

impl Outcome {
    fn better(self, other: Self) -> Self {
        Self {
            events_per_second: self.events_per_second.max(other.events_per_second),
            memory: self.memory.max(other.memory),
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn stalled_readers_cost_neither_memory_nor_speed_and_miss_nothing() {
    let alone = run(0, 0).await;
    let fast = run(READERS, 0).await;
    let both = run(READERS, READERS).await;
    // The better of two each: the machine may be busy with others for a while.
    let fast = fast.better(run(READERS, 0).await);
    let both = both.better(run(READERS, READERS).await);
    let (of_alone, of_fast) = (
        both.events_per_second / alone.events_per_second,
        both.events_per_second / fast.events_per_second,
    );
    let mebibytes = |bytes: u64| bytes >> 20;
    figures::print(&format!(
        "R04: {} events: {:.0}/s without readers (+{} MiB), {:.0}/s with {READERS} fast (+{} \
         MiB), {:.0}/s with {READERS} stalled as well (+{} MiB); stalled ones cost {:.0} %, all \
         readers {:.0} %",
        figures::count(EVENTS),
        alone.events_per_second,
        mebibytes(alone.memory),
        fast.events_per_second,
        mebibytes(fast.memory),
        both.events_per_second,
        mebibytes(both.memory),
        (1.0 - of_fast) * 100.0,
        (1.0 - of_alone) * 100.0,
    ));
    assert!(both.memory <= MEMORY, "readers take {} MiB", mebibytes(both.memory));
    assert!(of_fast >= 0.7, "stalled readers leave {of_fast:.2} of the speed");
}

/// Lets a task speak to so many readers.
async fn run(fast: u32, stalled: u32) -> Outcome {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let node = Node::start(&Options::new(Kept::Sqlite(directory.path().join("data")))).await;
    let order = Order::new("steps-fail", "ann", "wait for them");
    let task = node.send(order).await.expect("a message is taken");
    assert_eq!(task.state, TaskState::InputRequired);
    let name = TaskName::new("steps-fail", "ann", &task.id);
    let mut readers = Vec::new();
    for (count, stall) in [(fast, false), (stalled, true)] {
        let mut replies = node.open(Ask::Watch { task: name.clone(), readers: count, stall });
        replies.watching().await;
        readers.push((replies, count));
    }

    let before = node.memory().await;
    let start = Instant::now();
    let text = format!("{EVENTS} 0 64");
    let order = Order::new("steps-fail", "ann", text).to(&task.id);
    let speaking = node.send(order);
    tokio::pin!(speaking);
    let mut most = before;
    let ended = loop {
        tokio::select! {
            ended = &mut speaking => break ended.expect("the work ends"),
            () = tokio::time::sleep(Duration::from_millis(50)) => {
                most = most.max(node.memory().await);
            }
        }
    };
    let elapsed = start.elapsed();
    assert_eq!((ended.state, ended.parts), (TaskState::Completed, EVENTS));

    node.ask(Ask::Unstall).await.expect("readers go on");
    let mut all = Vec::new();
    for (mut replies, count) in readers {
        let Watched { events, hashes } = replies.watched().await;
        assert_eq!((events.len(), hashes.len()), (count as usize, count as usize));
        all.extend(events.into_iter().zip(hashes));
    }
    most = most.max(node.memory().await);
    let log = node.logs(None).await.pop().expect("the task has a log");
    let complete = all.iter().all(|(events, _)| *events == log.entries.len() as u64);
    assert!(complete, "a reader missed events: {all:?}");
    all.dedup();
    assert!(all.len() <= 1, "readers saw different things: {all:?}");
    Outcome {
        events_per_second: f64::from(u32::try_from(EVENTS).expect("it is small"))
            / elapsed.as_secs_f64(),
        memory: most - before,
    }
}
