//! R25: agents that panic, speak out of turn, of others or too much, or never end.

use std::time::Duration;

use nuncio_protocol::state::TaskState;
use nuncio_tests::{
    client::Node,
    figures,
    node::{Kept, Options},
    wire::{Order, RefusalsView, TaskName, TaskView},
    witness::Witness,
};

use crate::turn;

/// How many events a task may have here.
const TASK_EVENTS: u64 = 2_000;

/// A misbehaviour, how its task ends, and what is counted.
type Case = (&'static str, TaskState, fn(&mut RefusalsView) -> Option<&mut u64>);

const CASES: [Case; 7] = [
    ("panic", TaskState::Failed, |_| None),
    ("after-end", TaskState::Completed, |counts| Some(&mut counts.after_end)),
    ("wrong-id", TaskState::Failed, |counts| Some(&mut counts.foreign)),
    ("wrong-kind", TaskState::Failed, |counts| Some(&mut counts.malformed)),
    ("illegal", TaskState::Failed, |counts| Some(&mut counts.illegal)),
    ("storm", TaskState::Failed, |counts| Some(&mut counts.too_large)),
    ("oversized", TaskState::Failed, |counts| Some(&mut counts.too_large)),
];

#[tokio::test(flavor = "multi_thread")]
async fn a_bad_agent_harms_its_own_task_only_on_sqlite() {
    let _turn = turn::beside_its_kind().await;
    let directory = tempfile::tempdir().unwrap();
    misbehave("SQLite", Kept::Sqlite(directory.path().join("data"))).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_bad_agent_harms_its_own_task_only_in_memory() {
    let _turn = turn::beside_its_kind().await;
    misbehave("memory", Kept::Memory).await;
}

async fn misbehave(what: &str, kept: Kept) {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let witness = Witness::new(directory.path(), 0);
    let mut options = Options::new(kept);
    options.task_events = Some(TASK_EVENTS);
    let node = Node::start(&options).await;
    let good = Order::new("steps-fail", "ann", "500 4");
    let good_task = witness.send(&node, good.clone().at_once()).await.expect("it is answered");
    let good_name = TaskName::new("steps-fail", "ann", &good_task.id);
    let mut good_stream = node.subscribe(good_name.clone(), Some(0));

    let mut expected = RefusalsView::default();
    for (text, state, counter) in CASES {
        let ended =
            witness.send(&node, Order::new("bad", "ann", text)).await.expect("it is answered");
        assert_eq!(ended.state, state, "{text}: {ended:?}");
        if let Some(counter) = counter(&mut expected) {
            *counter += 1;
        }
        assert_eq!(node.refusals().await, expected, "{text}");
    }
    // Refused too, but whether as after the end or as stopped is a race.
    let ended =
        witness.send(&node, Order::new("bad", "ann", "after-turn")).await.expect("it is answered");
    assert_eq!(ended.state, TaskState::Completed, "{ended:?}");
    for text in ["hang", "ignore-cancel"] {
        let ended = cancel(&node, &witness, text).await;
        assert_eq!(ended.state, TaskState::Canceled, "{text}: {ended:?}");
    }

    let followed = witness.follow("good", &mut good_stream).await;
    assert_eq!(followed.failed, None);
    let ended = node.get(good_name).await.expect("it is answered");
    assert_eq!((ended.state, ended.parts), (TaskState::Completed, 500));
    let longest = node.logs(None).await.iter().map(|log| log.entries.len() as u64).max();
    // The end itself is always allowed.
    assert_eq!(longest, Some(TASK_EVENTS + 1));
    let compared = witness.check(&node, None).await;
    assert!(node.is_alive());
    let status = node.stop(Duration::from_secs(5)).await;
    assert!(status.success(), "{status}");
    figures::print(&format!(
        "R25: {what}: {} misbehaviours failed, refused or cancelled, {} refusals counted, {} tasks \
         unharmed or ended, node alive",
        CASES.len() + 3,
        expected.after_end
            + expected.foreign
            + expected.illegal
            + expected.malformed
            + expected.too_large,
        compared.tasks
    ));
}

/// Begins work that never ends by itself, and ends it.
async fn cancel(node: &Node, witness: &Witness, text: &str) -> TaskView {
    let order = Order::new("bad", "ann", text).at_once();
    let task = witness.send(node, order).await.expect("a message is taken");
    let ended = node.cancel(TaskName::new("bad", "ann", &task.id)).await.expect("it can be ended");
    witness.ack(&ended);
    ended
}
