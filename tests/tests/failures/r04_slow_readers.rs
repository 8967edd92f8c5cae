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

use crate::turn;

const EVENTS: usize = 20_000;
const READERS: u32 = 100;
const MEMORY: u64 = 64 << 20;

#[derive(Clone, Copy)]
struct Outcome {
    events_per_second: f64,
    /// What the task has cost while it spoke. It says how much readers take of its speed, as the
    /// clock does, and other programs of the machine have no part in it.
    processor_time: Duration,
    memory: u64,
}

impl Outcome {
    fn better(self, other: Self) -> Self {
        Self {
            events_per_second: self.events_per_second.max(other.events_per_second),
            processor_time: self.processor_time.min(other.processor_time),
            memory: self.memory.max(other.memory),
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn stalled_readers_cost_neither_memory_nor_speed_and_miss_nothing() {
    let _turn = turn::alone().await;
    let (mut alone, mut stalled) = (run(0, 0).await, run(0, READERS).await);
    // The best of three each: what a processor takes differs, too.
    for _ in 0..2 {
        alone = alone.better(run(0, 0).await);
        stalled = stalled.better(run(0, READERS).await);
    }
    let (fast, both) = (run(READERS, 0).await, run(READERS, READERS).await);
    // Fast readers keep every core busy: how fast the task speaks beside them is a matter of
    // luck, and is only printed.
    let beside = both.events_per_second / fast.events_per_second;
    let by_themselves = alone.processor_time.div_duration_f64(stalled.processor_time);
    let mebibytes = |bytes: u64| bytes >> 20;
    let rates = [("no reader", alone), ("stalled", stalled), ("fast", fast), ("both", both)].map(
        |(readers, outcome)| {
            let Outcome { events_per_second, memory, .. } = outcome;
            format!("{readers} {events_per_second:.0}/s (+{} MiB)", mebibytes(memory))
        },
    );
    figures::print(&format!(
        "R04: {} events, {READERS} readers of each kind: {}; stalled ones leave {:.0} % of the \
         speed by themselves, {:.0} % beside fast ones",
        figures::count(EVENTS),
        rates.join(", "),
        by_themselves * 100.0,
        beside * 100.0,
    ));
    assert!(both.memory <= MEMORY, "readers take {} MiB", mebibytes(both.memory));
    assert!(by_themselves >= 0.7, "stalled readers leave {by_themselves:.2} of the speed");
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
    let (start, worked) = (Instant::now(), node.processor_time().await);
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
    let processor_time = node.processor_time().await.saturating_sub(worked);
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
        processor_time,
        memory: most - before,
    }
}
