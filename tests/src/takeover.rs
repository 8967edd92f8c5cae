//! Tasks whose owner is to be lost, and what their logs may look like afterwards.

use std::{sync::Arc, time::Duration};

use nuncio_protocol::state::TaskState;
use tokio::{task::JoinSet, time::Instant};

use crate::{
    client::{Failed, Node},
    wire::{LogView, Order, TaskName},
    witness::{Followed, Witness},
};

/// How many chunks each task has, and how many milliseconds apart they are: more than the
/// first owner gets done.
const CHUNKS: usize = 60;
const APART: u64 = 1_000;

/// How long anything may take before the test fails instead of hanging.
const PATIENCE: Duration = Duration::from_secs(60);

/// Tasks that are under way.
#[derive(Debug)]
pub struct Started(JoinSet<Followed>);

impl Started {
    /// Waits for all streams: they come to their end, or their node dies.
    ///
    /// # Panics
    /// If a stream breaks otherwise.
    pub async fn ended(mut self) {
        while let Some(followed) = self.0.join_next().await {
            let failed = followed.expect("a stream does not panic").failed;
            assert!(matches!(failed, None | Some(Failed::Gone)), "{failed:?}");
        }
    }
}

/// Begins tasks on a node, half of which are to fail and half to be done again if it is lost,
/// and waits until all are under way.
///
/// # Panics
/// If one cannot be begun.
pub async fn start_tasks(node: &Node, witness: &Arc<Witness>, count: usize) -> Started {
    let mut beginning = JoinSet::new();
    for index in 0..count {
        let (node, witness) = (node.clone(), Arc::clone(witness));
        beginning.spawn(async move {
            let agent = ["steps-fail", "steps-retry"][index % 2];
            let order = Order::new(agent, "ann", format!("{CHUNKS} {APART}")).at_once();
            let task = witness.send(&node, order).await.expect("a message is taken");
            TaskName::new(agent, "ann", &task.id)
        });
    }
    let names = beginning.join_all().await;
    let mut streams = JoinSet::new();
    for name in names.clone() {
        let mut replies = node.subscribe(name.clone(), Some(0));
        let witness = Arc::clone(witness);
        streams.spawn(async move { witness.follow(&name.id, &mut replies).await });
    }
    let start = Instant::now();
    while names.iter().any(|name| witness.last_event(&name.id) < Some(2)) {
        assert!(start.elapsed() < PATIENCE, "the work does not begin");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    Started(streams)
}

/// Waits until every task has had so many owners.
///
/// # Panics
/// If it takes longer than `longest`.
pub async fn owned_by_epoch(node: &Node, epoch: u64, longest: Duration) {
    let start = Instant::now();
    loop {
        let logs = node.heads(None).await;
        if logs.iter().all(|log| log.epoch >= epoch) {
            return;
        }
        let left = logs.iter().filter(|log| log.epoch < epoch).count();
        assert!(start.elapsed() < longest, "{left} are not taken over after {longest:?}");
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

/// Checks the log of a task that was taken over once: what the first owner said, then either
/// that it was interrupted, or everything again. A late word of the first owner would stand in
/// between.
///
/// # Panics
/// If it looks otherwise.
#[track_caller]
pub fn check_log(log: &LogView) {
    let said: Vec<usize> = log
        .entries
        .iter()
        .filter(|entry| entry.state.is_none())
        .map(|entry| entry.text.parse().expect("a chunk is a number"))
        .collect();
    let second = said.iter().skip(1).position(|chunk| *chunk == 0).map(|index| index + 1);
    let (first, again) = said.split_at(second.unwrap_or(said.len()));
    let counts = |said: &[usize]| said.iter().enumerate().all(|(index, chunk)| index == *chunk);
    assert!(counts(first), "task {}: the first owner said {first:?}", log.task);
    assert!(counts(again), "task {}: the second owner said {again:?}", log.task);
    match log.state {
        TaskState::Failed => assert!(again.is_empty(), "task {} failed and went on", log.task),
        TaskState::Completed => assert_eq!(again.len(), CHUNKS, "task {} is short", log.task),
        other => panic!("task {} is {other:?}", log.task),
    }
}
