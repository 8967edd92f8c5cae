//! A store that is away for a while costs a run time, and nothing else (G11).

use std::time::Duration;

use nuncio_protocol::{ids::TaskId, message::Message, state::TaskState};
use nuncio_workflow::{
    graph::NodeId,
    plan::Call,
    runner::{self, Note},
};

use super::{
    site::{TestSite, completed, states, text},
    store::Asked,
};

/// How often the store is away. Nobody asks so often at once: there are pauses between.
const A_WHILE: u32 = 3;

const FOR_EVER: u32 = u32::MAX;

fn one(agent: &str, rest: &str) -> String {
    format!(
        "name: one\nnodes:\n  - {{id: it, type: external, config: {{agent: {agent}, prompt: go now}}}}\n{rest}"
    )
}

/// Returns the task of the node `it` of a run.
fn task_of_it(run: &TaskId) -> TaskId {
    let node = NodeId::parse("it").expect("a name");
    runner::task_of(run, &Call { node, iteration: 1, item: None, attempt: 1 })
}

/// Begins a run whose only node is at the gate.
async fn at_the_gate(site: &TestSite) -> TaskId {
    let run = site.begin("one", &[]).await;
    site.until_told("gated").await;
    run
}

/// Wherever a run is at that moment.
#[tokio::test(flavor = "multi_thread")]
async fn outages_fail_no_run() {
    let site = TestSite::start(&["
name: chain
nodes:
  - {id: a, type: external, config: {agent: echo, prompt: a}}
  - {id: b, type: external, config: {agent: streams, prompt: '{{a}} b'}}
  - {id: c, type: external, config: {agent: upper, prompt: '{{b}} c'}}
  - {id: d, type: external, config: {agent: echo, prompt: '{{c}} D'}}
edges:
  - {from: a, to: b}
  - {from: b, to: c}
  - {from: c, to: d}
"]);
    let mut runs = Vec::new();
    for moment in 1..=30 {
        runs.push(site.begin("chain", &[]).await);
        site.store().close_for(Duration::from_millis(moment)).await;
    }
    for run in runs {
        let view = site.until("chain", &run, |_| false).await;
        assert_eq!(view.state, "completed", "{:?}", view.reason);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn work_is_given_once_the_store_is_back() {
    let site = TestSite::start(&[&one("echo", "")]);
    site.store().go_away(Asked::Give, A_WHILE);
    let task = site.run("one", &[]).await;
    completed(&task);
    assert_eq!(text(&task), "go now");
    assert_eq!(site.told().len(), 1, "once");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_given_is_found_again_once_the_store_is_back() {
    let site = TestSite::start(&[&one("gated", "")]);
    let run = at_the_gate(&site).await;
    site.store().go_away(Asked::Find(task_of_it(&run)), A_WHILE);
    let site = site.restart().await;
    site.open_gate();
    site.store().until_back().await;
    let view = site.until("one", &run, |_| false).await;
    assert_eq!(view.state, "completed", "{:?}", view.reason);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_is_taken_over_once_the_store_is_back() {
    let site = TestSite::start(&[&one("gated", "")]);
    let run = at_the_gate(&site).await;
    site.store().go_away(Asked::Find(run.clone()), A_WHILE);
    let site = site.restart().await;
    site.open_gate();
    site.store().until_back().await;
    let view = site.until("one", &run, |_| false).await;
    assert_eq!(view.state, "completed", "{:?}", view.reason);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_is_repeated_once_the_store_is_back() {
    let site = TestSite::start(&[&one("echo", "")]);
    let first = site.run("one", &[]).await;
    site.store().go_away(Asked::Find(first.id.clone()), A_WHILE);
    let note = Note { rerun_of: Some(first.id), ..Note::default() };
    completed(&site.send("one", &[], Some(note)).await.expect("a run"));
}

/// So much that it is not kept while it is heard.
#[tokio::test(flavor = "multi_thread")]
async fn what_came_of_a_call_is_read_once_the_store_is_back() {
    let site = TestSite::start(&["
name: large
nodes:
  - {id: topic, type: input}
  - {id: first, type: external, config: {agent: gated, prompt: '{{topic}}'}}
  - {id: it, type: external, config: {agent: streams, prompt: '{{first}}'}}
edges:
  - {from: topic, to: first}
  - {from: first, to: it}
"]);
    let large = format!("{0} {0} {0}", "x".repeat(400 << 10));
    let run = site.begin("large", &[("topic", &format!("\"{large}\""))]).await;
    site.until_told("gated").await;
    // The task is looked at first, then its log is read.
    site.store().go_away_after(1, Asked::Find(task_of_it(&run)), A_WHILE);
    site.open_gate();
    site.store().until_back().await;
    let view = site.until("large", &run, |_| false).await;
    assert_eq!(view.state, "completed", "{:?}", view.reason);
}

const ASKING: &str = "
name: asking
nodes:
  - {id: it, type: external, config: {agent: asks, prompt: really}}
";

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_arrives_once_the_store_is_back() {
    let site = TestSite::start(&[ASKING]);
    let task = site.run("asking", &[]).await;
    assert_eq!(task.status.state, TaskState::InputRequired);
    site.store().go_away(Asked::Find(task_of_it(&task.id)), A_WHILE);
    let task = site.say("asking", &task.id, Message::user("yes")).await;
    completed(&task);
    assert_eq!(text(&task), "heard yes");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_is_told_to_end_once_the_store_is_back() {
    let site = TestSite::start(&[&one("gated", "")]);
    let run = at_the_gate(&site).await;
    let child = task_of_it(&run);
    site.store().go_away(Asked::Find(child.clone()), A_WHILE);
    let task = site.cancel("one", &run).await;
    assert_eq!(task.status.state, TaskState::Canceled);
    assert_eq!(site.state_of("gated", "one", &child).await, TaskState::Canceled);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_store_is_not_waited_for_beyond_the_limit_of_a_run() {
    let site = TestSite::start(&[&one("echo", "timeout: 500ms\n")]);
    site.store().go_away(Asked::Give, FOR_EVER);
    let task = site.run("one", &[]).await;
    assert_eq!(task.status.state, TaskState::Failed);
    assert_eq!(task.status.message.expect("a reason").text(), "the run took too long");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_store_is_not_waited_for_beyond_the_limit_of_a_node() {
    let site = TestSite::start(&[&one("echo", "").replace("now", "now, timeout: 500ms")]);
    site.store().go_away(Asked::Give, FOR_EVER);
    let task = site.run("one", &[]).await;
    assert_eq!(task.status.state, TaskState::Failed);
    let word = task.status.message.expect("a reason").text();
    assert_eq!(word, "`it`: it took longer than 500ms");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_store_is_not_waited_for_beyond_a_cancel() {
    let site = TestSite::start(&[&one("echo", "")]);
    site.store().go_away(Asked::Give, FOR_EVER);
    let run = site.begin("one", &[]).await;
    site.until("one", &run, |view| states(view) == [("it", "running")]).await;
    let task = site.cancel("one", &run).await;
    assert_eq!(task.status.state, TaskState::Canceled);
    assert!(site.told().is_empty(), "{:?}", site.told());
}

/// It says so itself, and has a `retry` of its own.
#[tokio::test(flavor = "multi_thread")]
async fn an_agent_that_is_not_available_is_not_waited_for() {
    let site = TestSite::start(&[&one("absent", "")]);
    let task = site.run("one", &[]).await;
    assert_eq!(task.status.state, TaskState::Failed);
    assert_eq!(task.status.message.expect("a reason").text(), "`it`: nobody is there");
}

/// It is not our store, and the task that was given has ended.
#[tokio::test(flavor = "multi_thread")]
async fn an_agent_whose_own_store_is_away_is_tried_as_often_as_its_node_says() {
    let site = TestSite::start(&["
name: one
nodes:
  - id: it
    type: external
    config: {agent: forgets, prompt: go, retry: {attempts: 2, backoff: 1ms}}
"]);
    let task = site.run("one", &[]).await;
    assert_eq!(task.status.state, TaskState::Failed);
    assert_eq!(task.status.message.expect("a reason").text(), "`it`: mine is away");
    assert_eq!(site.told().len(), 3);
}
