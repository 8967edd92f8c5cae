//! Agents that fail, hang, say too much or ask for ever; runs that are canceled and taken up.

use nuncio_protocol::state::TaskState;
use nuncio_workflow::runner::{Note, Settings, view::RunView};

use super::site::{TestSite, completed, states, text};

fn one(agent: &str, config: &str) -> String {
    format!(
        "name: one\nnodes:\n  - {{id: it, type: external, config: {{agent: {agent}, prompt: go{config}}}}}\n"
    )
}

/// A run that has not said its first word has no nodes yet.
fn is_running(view: &RunView, node: &str) -> bool {
    states(view).contains(&(node, "running"))
}

async fn failure(text: &str) -> String {
    let site = TestSite::start(&[text]);
    let task = site.run("one", &[]).await;
    assert_eq!(task.status.state, TaskState::Failed);
    task.status.message.expect("a reason").text()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_node_is_tried_again_as_often_as_it_says() {
    let text = one("flaky-2", ", retry: {attempts: 2, backoff: 1ms}");
    let site = TestSite::start(&[&text]);
    let task = site.run("one", &[]).await;
    completed(&task);
    assert_eq!(site.told().len(), 3);
    let text = one("flaky-2", ", retry: {attempts: 1, backoff: 1ms}");
    assert_eq!(failure(&text).await, "`it`: not this time");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_refused_is_not_tried_again() {
    let text = one("nobody", ", retry: {attempts: 5, backoff: 1h}");
    assert_eq!(failure(&text).await, "`it`: you may not call nobody");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_that_never_answers_is_given_up_and_told_to_end() {
    let text = one("hangs", ", timeout: 50ms");
    let site = TestSite::start(&[&text]);
    let task = site.run("one", &[]).await;
    let word = task.status.message.expect("a reason").text();
    assert!(word.contains("took longer than 50ms"), "{word}");
    let view = site.view("one", &task.id).await;
    let child = view.nodes[0].task_id.clone().expect("a task");
    assert_eq!(site.state_of("hangs", "one", &child).await, TaskState::Canceled);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_that_is_too_large_fails_the_node() {
    let word = failure(&one("big", "")).await;
    assert_eq!(word, "`it`: it brought about 13 MiB; a node may bring about 12 MiB");
}

/// Two nodes of about a hundred bytes each, the second behind a gate.
const TWO: &str = "
name: two
nodes:
  - {id: first, type: external, config: {agent: echo, prompt: 'a bit'}}
  - {id: second, type: external, config: {agent: gated, prompt: 'a bit'}}
edges:
  - {from: first, to: second}
";

async fn run_of_two(most: usize, is_restarted: bool) -> RunView {
    let mut settings = Settings::default();
    settings.run_output = most;
    let mut site = TestSite::start_with(settings, &[TWO]);
    let run = site.begin("two", &[]).await;
    site.until_told("gated").await;
    if is_restarted {
        site = site.restart().await;
    }
    site.open_gate();
    site.until("two", &run, |_| false).await
}

/// A limit that a crash lifts is none.
#[tokio::test(flavor = "multi_thread")]
async fn all_that_a_run_brings_about_is_limited_also_after_a_restart() {
    for is_restarted in [false, true] {
        let view = run_of_two(1 << 20, is_restarted).await;
        assert_eq!(states(&view), [("first", "completed"), ("second", "completed")]);
        let view = run_of_two(150, is_restarted).await;
        assert_eq!(states(&view), [("first", "completed"), ("second", "failed")]);
        let reason = view.reason.expect("a reason");
        assert!(reason.contains("a run may bring about 150 bytes"), "{reason}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_that_answers_twice_is_heard_once() {
    let site = TestSite::start(&["
name: one
nodes:
  - {id: it, type: external, config: {agent: twice, prompt: go}}
  - {id: after, type: external, config: {agent: upper, prompt: '<{{it.text}}>'}}
edges:
  - {from: it, to: after}
"]);
    let task = site.run("one", &[]).await;
    completed(&task);
    assert_eq!(text(&task), "<GO ONCE>");
    assert_eq!(site.told().len(), 2, "{:?}", site.told());
}

/// Every pass doubles it: after twenty-two it would be four megabytes.
#[tokio::test(flavor = "multi_thread")]
async fn a_template_that_explodes_fails_its_node() {
    let site = TestSite::start(&["
name: one
nodes:
  - {id: seed, type: input}
  - {id: grow, type: external, config: {agent: echo, prompt: '{{grow}}{{grow}}{{seed}}'}}
  - {id: out, type: output, config: {gather: [grow]}}
edges:
  - {from: seed, to: grow}
  - {from: grow, to: grow, loop: {max_iterations: 100}}
  - {from: grow, to: out}
"]);
    let task = site.run("one", &[("seed", "\"x\"")]).await;
    assert_eq!(task.status.state, TaskState::Failed);
    let word = task.status.message.as_ref().expect("a reason").text();
    assert!(word.starts_with("`grow`: ") && word.contains("4194304"), "{word}");
    let view = site.view("one", &task.id).await;
    assert_eq!(states(&view)[2], ("out", "canceled"));
}

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_that_only_asks_is_given_up() {
    let site = TestSite::start(&[&one("nags", "")]);
    let mut task = site.run("one", &[]).await;
    let mut answers = 0;
    while task.status.state == TaskState::InputRequired {
        let message = nuncio_protocol::message::Message::user("so?");
        task = site.say("one", &task.id, message).await;
        answers += 1;
        assert!(answers < 200, "it never ends");
    }
    let word = task.status.message.expect("a reason").text();
    assert!(word.contains("asked more than"), "{word}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_that_says_nothing_has_brought_about_nothing() {
    let site = TestSite::start(&["
name: quiet
nodes:
  - {id: it, type: external, config: {agent: silent, prompt: go}}
  - {id: after, type: external, config: {agent: echo, prompt: '<{{it}}>'}}
edges:
  - {from: it, to: after}
"]);
    let task = site.run("quiet", &[]).await;
    completed(&task);
    assert_eq!(text(&task), "<>");
}

const GATED: &str = "
name: gates
nodes:
  - {id: first, type: external, config: {agent: echo, prompt: one}}
  - {id: slow, type: external, config: {agent: gated, prompt: '{{first}} two'}}
  - {id: last, type: external, config: {agent: upper, prompt: '{{slow}} three'}}
edges:
  - {from: first, to: slow}
  - {from: slow, to: last}
";

#[tokio::test(flavor = "multi_thread")]
async fn a_canceled_run_cancels_what_it_has_under_way() {
    let site = TestSite::start(&[GATED]);
    let run = site.begin("gates", &[]).await;
    site.until("gates", &run, |view| is_running(view, "slow")).await;
    site.until_told("gated").await;
    let task = site.cancel("gates", &run).await;
    assert_eq!(task.status.state, TaskState::Canceled);
    let view = site.view("gates", &run).await;
    assert_eq!(states(&view), [("first", "completed"), ("slow", "canceled"), ("last", "canceled")]);
    let child = view.nodes[1].task_id.clone().expect("a task");
    assert_eq!(site.state_of("gated", "gates", &child).await, TaskState::Canceled);
}

/// G9: what has ended is not run again, what runs is found again.
#[tokio::test(flavor = "multi_thread")]
async fn a_run_goes_on_after_a_restart_and_repeats_nothing() {
    let site = TestSite::start(&[GATED]);
    let run = site.begin("gates", &[]).await;
    site.until_told("gated").await;
    let site = site.restart().await;
    site.open_gate();
    let view = site.until("gates", &run, |_| false).await;
    assert_eq!(view.state, "completed");
    let told = site.told();
    let count = |agent: &str| told.iter().filter(|(name, _)| name == agent).count();
    // The agent at the gate begins anew after a crash, as it says of itself; it has one task.
    assert_eq!((count("echo"), count("gated"), count("upper")), (1, 2, 1));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_that_takes_too_long_ends() {
    let text = format!("{}timeout: 50ms\n", one("hangs", ""));
    assert_eq!(failure(&text).await, "the run took too long");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_failed_run_is_repeated_from_where_it_failed() {
    let site = TestSite::start(&["
name: again
nodes:
  - {id: first, type: external, config: {agent: echo, prompt: one}}
  - {id: second, type: external, config: {agent: flaky-1, prompt: '{{first}} two'}}
edges:
  - {from: first, to: second}
"]);
    let failed = site.run("again", &[]).await;
    assert_eq!(failed.status.state, TaskState::Failed);
    let note = Note { rerun_of: Some(failed.id), ..Note::default() };
    let task = site.send("again", &[], Some(note)).await.expect("a run");
    completed(&task);
    assert_eq!(text(&task), "one two");
    let echoes = site.told().iter().filter(|(name, _)| name == "echo").count();
    assert_eq!(echoes, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_may_be_repeated_with_the_newest_version_from_a_node() {
    let old = "name: v\nnodes:\n  - {id: a, type: external, config: {agent: echo, prompt: one}}\n  - {id: b, type: external, config: {agent: echo, prompt: '{{a}}'}}\nedges:\n  - {from: a, to: b}\n";
    let site = TestSite::start(&[old]);
    let first = site.run("v", &[]).await;
    site.replace("v", &old.replace("prompt: '{{a}}'", "prompt: '{{a}} new'"));
    let again = |newest| Note {
        rerun_of: Some(first.id.clone()),
        from: vec!["b".to_owned()],
        newest,
        ..Note::default()
    };
    let same = site.send("v", &[], Some(again(false))).await.expect("a run");
    let newest = site.send("v", &[], Some(again(true))).await.expect("a run");
    assert_eq!((text(&same), text(&newest)), ("one".into(), "one new".into()));
}

#[tokio::test(flavor = "multi_thread")]
async fn waits_survive_a_restart() {
    let site = TestSite::start(&["
name: waits
nodes:
  - {id: pause, type: wait, config: {for: 300ms}}
  - {id: after, type: external, config: {agent: upper, prompt: done}}
edges:
  - {from: pause, to: after}
"]);
    let run = site.begin("waits", &[]).await;
    site.until("waits", &run, |view| is_running(view, "pause")).await;
    let site = site.restart().await;
    let view = site.until("waits", &run, |_| false).await;
    assert_eq!(view.state, "completed");
}
