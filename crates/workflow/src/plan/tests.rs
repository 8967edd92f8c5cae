use std::collections::{BTreeMap, HashMap};

use nuncio_protocol::{ids::ArtifactId, json, json::Raw};
use proptest::prelude::*;

use super::*;
use crate::graph::TriggerRule;

/// Puts a workflow together: nodes as `name` or `name: config` of type agent, but for `in` and
/// names that begin with `out`; edges as `a>b` with anything behind.
fn workflow(nodes: &[&str], edges: &[&str]) -> Arc<Workflow> {
    let nodes = nodes.iter().map(|node| {
        let (name, config) = node.split_once(' ').unwrap_or((node, ""));
        let kind = match name {
            "in" => "input",
            name if name.starts_with("out") => "output",
            name if name.starts_with("each") => "map",
            _ => "agent",
        };
        format!("{{id: {name}, type: {kind}, config: {{{config}}}}}")
    });
    let edges = edges.iter().map(|edge| {
        let (way, rest) = edge.split_once(' ').unwrap_or((edge, ""));
        let (from, to) = way.split_once('>').expect("two nodes");
        let rest = if rest.is_empty() { String::new() } else { format!(", {rest}") };
        format!("{{from: {from}, to: {to}{rest}}}")
    });
    let (nodes, edges): (Vec<_>, Vec<_>) = (nodes.collect(), edges.collect());
    let text = format!("{{name: w, nodes: [{}], edges: [{}]}}", nodes.join(","), edges.join(","));
    Arc::new(Workflow::read(&text).unwrap_or_else(|invalid| panic!("{invalid}\n{text}")))
}

fn inputs(workflow: &Workflow) -> BTreeMap<String, Vec<Part>> {
    workflow.inputs().map(|(node, _)| (node.id().to_string(), vec![Part::text("given")])).collect()
}

fn artifact(part: Part) -> Vec<Artifact> {
    vec![Artifact::new(ArtifactId::parse("a").expect("an id"), vec![part])]
}

/// A run, with all that happens in it written down.
struct Run {
    plan: Plan,
    log: Vec<Event>,
    /// What agents say, by the call, or by the node.
    answers: HashMap<String, String>,
}

impl Run {
    fn new(workflow: &Arc<Workflow>) -> Self {
        let plan = Plan::new(workflow.clone(), inputs(workflow)).expect("a run");
        let mut run = Self { plan, log: Vec::new(), answers: HashMap::new() };
        run.keep_decided();
        run
    }

    /// Lets agents answer: `!` is a failure, `{…}` is data, everything else is a text.
    fn answer(mut self, answers: &[(&str, &str)]) -> Self {
        self.answers =
            answers.iter().map(|(call, said)| ((*call).to_owned(), (*said).to_owned())).collect();
        self
    }

    fn keep_decided(&mut self) {
        self.log.extend(self.plan.decided());
    }

    #[track_caller]
    fn apply(&mut self, event: Event) {
        self.plan.apply(event.clone()).unwrap_or_else(|refused| panic!("{refused}"));
        self.log.push(event);
        self.keep_decided();
    }

    fn starts(&self) -> Vec<String> {
        self.plan
            .steps()
            .filter_map(|step| match step {
                Step::Start { call, .. } => Some(call.to_string()),
                Step::Cancel { .. } => None,
            })
            .collect()
    }

    fn cancels(&self) -> Vec<String> {
        self.plan
            .steps()
            .filter_map(|step| match step {
                Step::Cancel { call } => Some(call.to_string()),
                Step::Start { .. } => None,
            })
            .collect()
    }

    #[track_caller]
    fn find(&self, name: &str) -> Call {
        let all = self.plan.steps().map(|step| match step {
            Step::Start { call, .. } | Step::Cancel { call } => call,
        });
        let started = self.log.iter().rev().filter_map(Event::call).cloned();
        all.chain(started)
            .find(|call| call.to_string() == name)
            .unwrap_or_else(|| panic!("no {name}"))
    }

    #[track_caller]
    fn start(&mut self, name: &str) {
        let call = self.find(name);
        self.apply(Event::Started { call });
    }

    #[track_caller]
    fn finish(&mut self, name: &str, said: &str) {
        let call = self.find(name);
        self.apply(ended(call, said));
    }

    /// Does one step after the other until it is over.
    #[track_caller]
    fn finish_all(mut self) -> Self {
        for _ in 0..10_000 {
            let Some(step) = self.plan.steps().next() else { break };
            match step {
                Step::Start { call, .. } => {
                    self.apply(Event::Started { call: call.clone() });
                    let said = self.answers.get(&call.to_string());
                    let said = said.or_else(|| self.answers.get(call.node.as_str()));
                    let said = said.cloned().unwrap_or_else(|| format!("said {call}"));
                    self.apply(ended(call, &said));
                }
                Step::Cancel { call } => {
                    self.apply(Event::Canceled { call, reason: "asked".to_owned() });
                }
            }
        }
        self
    }

    /// Returns how each node has ended, in their order: `a:completed`.
    fn endings(&self) -> Vec<String> {
        self.plan
            .workflow()
            .nodes()
            .iter()
            .map(|node| {
                let ending = match self.plan.ending(node.id().as_str()) {
                    None => "open",
                    Some(Ending::Completed) => "completed",
                    Some(Ending::Failed { .. }) => "failed",
                    Some(Ending::Canceled { .. }) => "canceled",
                    Some(Ending::Skipped { .. }) => "skipped",
                };
                format!("{}:{ending}", node.id())
            })
            .collect()
    }

    /// Returns the calls that were started, in their order.
    fn started(&self) -> Vec<String> {
        let started = self.log.iter().filter_map(|event| match event {
            Event::Started { call } => Some(call.to_string()),
            _ => None,
        });
        started.collect()
    }

    #[track_caller]
    fn check(&self, state: TaskState, endings: &[&str]) {
        assert_eq!(self.endings(), endings, "{:#?}", self.log);
        assert_eq!(self.plan.outcome().map(|outcome| outcome.state), Some(state));
        assert_eq!(self.plan.state(), state);
    }
}

fn ended(call: Call, said: &str) -> Event {
    match said.strip_prefix('!') {
        Some(reason) => Event::Failed { call, reason: reason.to_owned(), is_final: false },
        None if said.starts_with(['{', '[']) => {
            let data = Raw::parse_text(said).expect("JSON");
            Event::Finished { call, artifacts: artifact(Part::data(data)) }
        }
        None => Event::Finished { call, artifacts: artifact(Part::text(said)) },
    }
}

/// U-14, U-23: serial.
#[test]
fn nodes_run_one_behind_the_other() {
    let workflow = workflow(&["in", "a prompt: '<{{in}}>'", "out"], &["in>a", "a>out"]);
    let mut run = Run::new(&workflow);
    assert_eq!(run.starts(), ["a"]);
    assert_eq!(run.plan.message(&run.find("a")).unwrap()[0].as_text(), Some("<given>"));
    run.start("a");
    assert_eq!(run.starts(), [""; 0]);
    run.finish("a", "hello");
    run.check(TaskState::Completed, &["in:completed", "a:completed", "out:completed"]);
    let artifacts = run.plan.outcome().unwrap().artifacts;
    let shown: Vec<_> = artifacts.iter().map(|a| (a.artifact_id.as_str(), a.text())).collect();
    assert_eq!(shown, [("in", "given".to_owned()), ("a", "hello".to_owned())]);
    assert_eq!(run.started(), ["in", "a", "out"]);
}

/// U-14, U-23: parallel, and one that waits for all.
#[test]
fn a_node_waits_for_all_before_it() {
    let workflow = workflow(
        &["in", "b", "a", "join", "out"],
        &["in>a", "in>b", "a>join", "b>join", "join>out"],
    );
    let mut run = Run::new(&workflow);
    assert_eq!(run.starts(), ["b", "a"], "in the order of the file");
    run.start("a");
    run.start("b");
    run.finish("a", "x");
    assert_eq!(run.starts(), [""; 0]);
    run.finish("b", "y");
    assert_eq!(run.starts(), ["join"]);
    let parts = run.plan.message(&run.find("join")).unwrap();
    let texts: Vec<_> = parts.iter().filter_map(Part::as_text).collect();
    assert_eq!(texts, ["x", "y"], "what it is told unless it has a prompt");
    run.finish_all().check(
        TaskState::Completed,
        &["in:completed", "b:completed", "a:completed", "join:completed", "out:completed"],
    );
}

/// U-19, U-23, T-17: what depends on a failure is canceled, and other branches finish.
#[test]
fn a_failure_cancels_what_depends_on_it_and_nothing_else() {
    let workflow = workflow(
        &["in", "a", "b", "c", "out1", "out2"],
        &["in>a", "in>b", "a>c", "c>out1", "b>out1", "b>out2"],
    );
    let run = Run::new(&workflow).answer(&[("a", "!no answer")]).finish_all();
    run.check(
        TaskState::Failed,
        &[
            "in:completed",
            "a:failed",
            "b:completed",
            "c:canceled",
            "out1:canceled",
            "out2:completed",
        ],
    );
    let outcome = run.plan.outcome().unwrap();
    assert_eq!(outcome.reason.as_deref(), Some("`a`: no answer"));
    let ids: Vec<_> =
        outcome.artifacts.iter().map(|artifact| artifact.artifact_id.as_str()).collect();
    assert_eq!(ids, ["out2.0", "out2.1"], "what the other branch has brought about");
    assert_eq!(
        run.plan.ending("c"),
        Some(&Ending::Canceled { reason: "`a` failed: no answer".to_owned() })
    );
}

#[test]
fn to_fail_fast_cancels_what_runs() {
    for (options, config) in [("", "on_error: fail_fast"), ("on_error: fail_fast,", "")] {
        let text = format!(
            "{{name: w, {options} nodes: [{{id: a, type: agent, config: {{{config}}}}}, {{id: b, type: agent}},
              {{id: c, type: agent}}, {{id: out, type: output}}],
              edges: [{{from: a, to: out}}, {{from: b, to: c}}, {{from: c, to: out}}]}}"
        );
        let workflow = Arc::new(Workflow::read(&text).unwrap());
        let mut run = Run::new(&workflow);
        run.start("a");
        run.start("b");
        run.finish("a", "!broken");
        assert_eq!(run.cancels(), ["b"]);
        assert_eq!(run.plan.state(), TaskState::Working, "until what runs has ended");
        run.apply(Event::Canceled { call: run.find("b"), reason: "asked".to_owned() });
        run.check(TaskState::Failed, &["a:failed", "b:canceled", "c:canceled", "out:canceled"]);
        let reason = run.plan.outcome().unwrap().reason;
        assert_eq!(reason.as_deref(), Some("`a`: broken"));
    }
}

#[test]
fn an_ignored_failure_counts_as_nothing() {
    let workflow = workflow(
        &["in", "a on_error: ignore", "b prompt: '<{{a}}|{{a.error}}>'", "out"],
        &["in>a", "a>b", "b>out"],
    );
    let mut run = Run::new(&workflow);
    run.start("a");
    run.finish("a", "!broken");
    assert_eq!(run.plan.message(&run.find("b")).unwrap()[0].as_text(), Some("<|broken>"));
    run.finish_all().check(
        TaskState::Completed,
        &["in:completed", "a:completed", "b:completed", "out:completed"],
    );
}

/// UD-05: `on_success`, `on_failure`, `always`.
#[test]
fn edges_ask_how_a_node_has_ended() {
    let workflow = workflow(
        &["in", "a", "b", "c prompt: '{{a.error}}'", "d", "out"],
        &[
            "in>a",
            "a>b",
            "a>c trigger_rule: on_failure",
            "b>d",
            "c>d trigger_rule: always",
            "d>out",
        ],
    );
    let run = Run::new(&workflow).answer(&[("a", "!no")]).finish_all();
    run.check(
        TaskState::Completed,
        &["in:completed", "a:failed", "b:skipped", "c:completed", "d:completed", "out:completed"],
    );
    let run = Run::new(&workflow).finish_all();
    run.check(
        TaskState::Completed,
        &[
            "in:completed",
            "a:completed",
            "b:completed",
            "c:skipped",
            "d:completed",
            "out:completed",
        ],
    );
}

#[test]
fn always_runs_behind_what_was_canceled() {
    let workflow = workflow(
        &["in", "a", "b", "cleanup", "out"],
        &["in>a", "a>b", "b>cleanup trigger_rule: always", "b>out"],
    );
    let run = Run::new(&workflow).answer(&[("a", "!no")]).finish_all();
    run.check(
        TaskState::Failed,
        &["in:completed", "a:failed", "b:canceled", "cleanup:completed", "out:canceled"],
    );
}

/// UD-05: a node runs if at least one edge leads to it, and is skipped otherwise.
#[test]
fn conditions_decide_which_way_to_go() {
    let workflow = workflow(
        &["in", "a", "yes", "no", "never", "out prompt: '{{yes}}{{no}}{{no.state}}'"],
        &[
            "in>a",
            "a>yes condition: \"a == 'go'\"",
            "a>no condition: \"a != 'go'\"",
            "no>never",
            "yes>out",
            "no>out",
            "never>out",
        ],
    );
    let run = Run::new(&workflow).answer(&[("a", "go"), ("yes", "Y")]).finish_all();
    run.check(
        TaskState::Completed,
        &[
            "in:completed",
            "a:completed",
            "yes:completed",
            "no:skipped",
            "never:skipped",
            "out:completed",
        ],
    );
    assert_eq!(run.plan.outcome().unwrap().artifacts[0].text(), "Yskipped");
    assert_eq!(
        run.plan.ending("never"),
        Some(&Ending::Skipped { reason: "`no` was skipped".to_owned() })
    );
}

#[test]
fn a_condition_without_an_answer_fails_the_node_behind_it() {
    let workflow = workflow(&["in", "a", "b", "out"], &["in>a", "a>b condition: a > 3", "b>out"]);
    let run = Run::new(&workflow).answer(&[("a", "many")]).finish_all();
    run.check(TaskState::Failed, &["in:completed", "a:completed", "b:failed", "out:canceled"]);
    let reason = run.plan.outcome().unwrap().reason.unwrap();
    assert_eq!(
        reason,
        "`b`: the edge from `a`: `a > 3`: the text `many` cannot be compared with the number 3"
    );
    assert_eq!(run.started(), ["in", "a"]);
}

/// UD-03, T-17: loops really run, and end by their condition.
#[test]
fn a_loop_runs_until_its_condition_holds() {
    let workflow = workflow(
        &[
            "in",
            "draft prompt: '{{in}} {{review.data.note}}'",
            "review prompt: '{{draft}}'",
            "out gather: [draft]",
        ],
        &[
            "in>draft",
            "draft>review",
            "review>draft loop: {max_iterations: 5, exit_when: review.data.score >= 8}",
            "review>out",
        ],
    );
    let mut run = Run::new(&workflow)
        .answer(&[("review", "{\"score\":5,\"note\":\"longer\"}"), ("review#3", "{\"score\":8}")]);
    assert_eq!(run.plan.message(&run.find("draft")).unwrap()[0].as_text(), Some("given "));
    run.start("draft");
    run.finish("draft", "v1");
    run.start("review");
    run.finish("review", "{\"score\":5,\"note\":\"longer\"}");
    assert_eq!(run.starts(), ["draft#2"]);
    assert_eq!(run.plan.message(&run.find("draft#2")).unwrap()[0].as_text(), Some("given longer"));
    let run = run.finish_all();
    assert_eq!(
        run.started(),
        ["in", "draft", "review", "draft#2", "review#2", "draft#3", "review#3", "out"]
    );
    run.check(
        TaskState::Completed,
        &["in:completed", "draft:completed", "review:completed", "out:completed"],
    );
    assert_eq!(run.plan.outcome().unwrap().artifacts[0].text(), "said draft#3");
}

#[test]
fn a_loop_ends_after_as_many_passes_as_it_may_have() {
    let workflow =
        workflow(&["in", "a", "out"], &["in>a", "a>a loop: {max_iterations: 3}", "a>out"]);
    let run = Run::new(&workflow).finish_all();
    assert_eq!(run.started(), ["in", "a", "a#2", "a#3", "out"]);
}

/// As in Upal's design: the loop on the edge that leads in.
#[test]
fn a_loop_may_be_drawn_on_the_edge_that_leads_in() {
    let workflow = workflow(
        &["in", "review", "revise", "out gather: [review, revise]"],
        &[
            "in>review",
            "review>revise loop: {max_iterations: 3, exit_when: '{{review.output.score}} >= 8'}",
            "revise>review",
            "review>out",
        ],
    );
    let run = Run::new(&workflow)
        .answer(&[("review", "{\"score\":1}"), ("review#3", "{\"score\":9}")])
        .finish_all();
    assert_eq!(
        run.started(),
        ["in", "review", "revise", "review#2", "revise#2", "review#3", "out"]
    );
    run.check(
        TaskState::Completed,
        &["in:completed", "review:completed", "revise:skipped", "out:completed"],
    );
    let texts: Vec<_> = run.plan.outcome().unwrap().artifacts.iter().map(Artifact::text).collect();
    assert_eq!(
        texts,
        ["", "said revise#2"],
        "what was skipped at last is there from the pass before"
    );
    let run = Run::new(&workflow).answer(&[("review", "{\"score\":1}")]).finish_all();
    assert_eq!(
        run.started().len(),
        9,
        "three passes through what the edge leads to: {:?}",
        run.started()
    );
    let run = Run::new(&workflow).answer(&[("review", "{\"score\":9}")]).finish_all();
    assert_eq!(run.started(), ["in", "review", "out"]);
}

#[test]
fn a_closed_gate_ends_its_loop_whatever_the_edge_back_asks() {
    let workflow = workflow(
        &["in", "review", "revise", "out"],
        &[
            "in>review",
            "review>revise loop: {max_iterations: 3, exit_when: review.data.score > 8}",
            "revise>review trigger_rule: always",
            "review>out",
        ],
    );
    let run = Run::new(&workflow).answer(&[("review", "{\"score\":9}")]).finish_all();
    assert_eq!(run.started(), ["in", "review", "out"]);
}

/// What is skipped in the last pass counts by the pass before, but not by an earlier run of the
/// whole loop.
#[test]
fn what_follows_a_loop_goes_by_the_last_pass_that_did_something() {
    let workflow = workflow(
        &["in", "a", "review", "revise", "behind", "c", "out"],
        &[
            "in>a",
            "a>review",
            "review>revise loop: {max_iterations: 3, exit_when: review == 'fine'}",
            "revise>review",
            "revise>behind",
            "review>c",
            "behind>c",
            "c>a loop: {max_iterations: 2}",
            "c>out",
        ],
    );
    let answers = [("review", "no"), ("review#2", "fine"), ("review#3", "fine")];
    let run = Run::new(&workflow).answer(&answers).finish_all();
    assert_eq!(
        run.started(),
        ["in", "a", "review", "revise", "review#2", "behind", "c", "a#2", "review#3", "c#2", "out"]
    );
    run.check(
        TaskState::Completed,
        &[
            "in:completed",
            "a:completed",
            "review:completed",
            "revise:skipped",
            "behind:skipped",
            "c:completed",
            "out:completed",
        ],
    );
}

#[test]
fn loops_run_within_loops() {
    let workflow = workflow(
        &["in", "a", "b", "c", "out"],
        &[
            "in>a",
            "a>b",
            "b>b loop: {max_iterations: 2}",
            "b>c",
            "c>a loop: {max_iterations: 2}",
            "c>out",
        ],
    );
    let run = Run::new(&workflow).finish_all();
    assert_eq!(run.started(), ["in", "a", "b", "b#2", "c", "a#2", "b#3", "b#4", "c#2", "out"]);
}

#[test]
fn a_loop_may_try_again_what_failed() {
    let edges = ["in>a", "a>b", "b>a trigger_rule: on_failure, loop: {max_iterations: 3}", "b>out"];
    let workflow = workflow(&["in", "a", "b", "out"], &edges);
    let run = Run::new(&workflow).answer(&[("b", "!no"), ("b#2", "fine")]).finish_all();
    assert_eq!(run.started(), ["in", "a", "b", "a#2", "b#2", "out"]);
    run.check(
        TaskState::Completed,
        &["in:completed", "a:completed", "b:completed", "out:completed"],
    );
    let run = Run::new(&workflow).answer(&[("b", "!no")]).finish_all();
    run.check(TaskState::Failed, &["in:completed", "a:completed", "b:failed", "out:canceled"]);
    assert_eq!(run.started().len(), 7);
}

#[test]
fn a_failure_in_a_loop_ends_it() {
    let workflow = workflow(
        &["in", "a", "b", "out"],
        &["in>a", "a>b", "b>a loop: {max_iterations: 3}", "b>out"],
    );
    let run = Run::new(&workflow).answer(&[("a#2", "!no")]).finish_all();
    run.check(TaskState::Failed, &["in:completed", "a:failed", "b:canceled", "out:canceled"]);
}

#[test]
fn a_loop_that_nobody_can_end_breaks() {
    let workflow = workflow(
        &["in", "a", "out"],
        &["in>a", "a>a loop: {max_iterations: 3, exit_when: a > 5}", "a>out"],
    );
    let run = Run::new(&workflow).answer(&[("a", "many")]).finish_all();
    run.check(TaskState::Failed, &["in:completed", "a:completed", "out:canceled"]);
    let reason = run.plan.outcome().unwrap().reason.unwrap();
    assert!(reason.starts_with("the loop from `a`: `a > 5`: the text `many`"), "{reason}");
}

/// U-21: retries with backoff, none unless asked for.
#[test]
fn a_call_is_tried_again_as_often_as_the_file_says() {
    let workflow = workflow(
        &["in", "a retry: {attempts: 2, backoff: 2s}", "b", "out"],
        &["in>a", "a>b", "b>out"],
    );
    let mut run = Run::new(&workflow);
    for (call, seconds) in [("a", 0), ("a!2", 2), ("a!3", 4)] {
        let delays: Vec<_> = run.plan.steps().collect();
        assert_eq!(
            delays,
            [Step::Start { call: run.find(call), delay: Duration::from_secs(seconds) }]
        );
        run.start(call);
        run.finish(call, "!not now");
    }
    run.check(TaskState::Failed, &["in:completed", "a:failed", "b:canceled", "out:canceled"]);
    let run =
        Run::new(&workflow).answer(&[("a", "!no"), ("a!2", "fine"), ("b", "!no")]).finish_all();
    run.check(TaskState::Failed, &["in:completed", "a:completed", "b:failed", "out:canceled"]);
    let mut run = Run::new(&workflow);
    run.start("a");
    run.apply(Event::Failed { call: run.find("a"), reason: "never".to_owned(), is_final: true });
    run.check(TaskState::Failed, &["in:completed", "a:failed", "b:canceled", "out:canceled"]);
}

#[test]
fn waits_grow_to_a_limit() {
    let workflow = workflow(&["a retry: {attempts: 40, backoff: 1m}", "out"], &["a>out"]);
    let mut run = Run::new(&workflow);
    let mut delays = Vec::new();
    for _ in 0..41 {
        let Some(Step::Start { call, delay }) = run.plan.steps().next() else { panic!("a step") };
        delays.push(delay.as_secs());
        run.apply(Event::Started { call: call.clone() });
        run.apply(ended(call, "!no"));
    }
    assert_eq!(delays[..6], [0, 60, 120, 240, 300, 300]);
    assert_eq!(delays[40], 300);
}

#[test]
fn a_list_is_worked_on_item_by_item() {
    let workflow = workflow(
        &[
            "in",
            "topics",
            "each over: '{{topics.data}}', max_parallel: 2, do: {type: agent, config: {prompt: '{{index}} {{item.name}}'}}",
            "out prompt: '{{each}}|{{each[1]}}|{{each.data}}'",
        ],
        &["in>topics", "topics>each", "each>out"],
    );
    let mut run = Run::new(&workflow);
    run.start("topics");
    run.finish("topics", r#"[{"name":"x"},{"name":"y"},{"name":"z"}]"#);
    assert_eq!(run.starts(), ["each[0]", "each[1]"]);
    assert_eq!(run.plan.message(&run.find("each[1]")).unwrap()[0].as_text(), Some("1 y"));
    run.start("each[0]");
    run.start("each[1]");
    run.finish("each[1]", "second");
    assert_eq!(run.starts(), ["each[2]"]);
    run.start("each[2]");
    run.finish("each[0]", "first");
    run.finish("each[2]", "{\"n\":3}");
    run.check(
        TaskState::Completed,
        &["in:completed", "topics:completed", "each:completed", "out:completed"],
    );
    assert_eq!(
        run.plan.outcome().unwrap().artifacts[0].text(),
        "first\n\nsecond\n\n{\"n\":3}|second|[\"first\",\"second\",{\"n\":3}]"
    );
}

#[test]
fn a_list_is_data_json_or_lines() {
    let workflow = workflow(
        &["in", "a", "each over: '{{a}}', max_items: 3, do: {type: agent}", "out"],
        &["in>a", "a>each", "each>out"],
    );
    let calls = |said: &str| {
        let mut run = Run::new(&workflow);
        run.start("a");
        run.finish("a", said);
        (run.starts().len(), run.plan.ending("each").cloned(), run)
    };
    assert_eq!(calls("[1,2]").0, 2);
    assert_eq!(calls("one\n\n two \n").0, 2);
    let (_, _, run) = calls("one\ntwo");
    assert_eq!(run.plan.message(&run.find("each[1]")).unwrap()[0].as_text(), Some("two"));
    assert_eq!(calls("[]").1, Some(Ending::Completed));
    let failed = |said: &str| match calls(said).1 {
        Some(Ending::Failed { reason, .. }) => reason,
        other => panic!("{other:?}"),
    };
    assert_eq!(failed("{\"a\":1}"), "`over` is an object, and no list");
    assert_eq!(failed("[1,2,3,4]"), "the list has 4 items, more than 3");
}

#[test]
fn an_item_that_fails_cancels_the_others() {
    let nodes = ["in", "each over: '[1,2,3]', max_parallel: 2, do: {type: agent}", "out"];
    let workflow_ = workflow(&nodes, &["in>each", "each>out"]);
    let mut run = Run::new(&workflow_);
    run.start("each[0]");
    run.start("each[1]");
    run.finish("each[0]", "!no");
    assert_eq!(run.starts(), [""; 0]);
    assert_eq!(run.cancels(), ["each[1]"]);
    assert_eq!(run.plan.ending("each"), None);
    run.apply(Event::Canceled { call: run.find("each[1]"), reason: "asked".to_owned() });
    run.check(TaskState::Failed, &["in:completed", "each:failed", "out:canceled"]);
    assert_eq!(run.plan.outcome().unwrap().reason.as_deref(), Some("`each`: item 0: no"));
    let nodes = [
        "in",
        "each over: '[1,2,3]', on_error: ignore, do: {type: agent}",
        "out prompt: '{{each.data}}'",
    ];
    let workflow = workflow(&nodes, &["in>each", "each>out"]);
    let run = Run::new(&workflow).answer(&[("each[1]", "!no")]).finish_all();
    run.check(TaskState::Completed, &["in:completed", "each:completed", "out:completed"]);
    let artifacts = run.plan.outcome().unwrap().artifacts;
    let data = artifacts[0].parts[0].as_data().map(Raw::as_str);
    assert_eq!(data, Some(r#"["said each[0]",null,"said each[2]"]"#));
}

#[test]
fn a_question_of_a_node_is_one_of_the_run() {
    let workflow = workflow(&["in", "a", "b", "out"], &["in>a", "in>b", "a>out", "b>out"]);
    let mut run = Run::new(&workflow);
    run.start("a");
    run.start("b");
    assert_eq!(run.plan.state(), TaskState::Working);
    run.apply(Event::Asked { call: run.find("b"), question: Question::Credential });
    assert_eq!(run.plan.state(), TaskState::AuthRequired);
    run.apply(Event::Asked { call: run.find("a"), question: Question::Input });
    assert_eq!(run.plan.state(), TaskState::InputRequired);
    assert_eq!(run.plan.questions().len(), 2);
    run.apply(Event::Answered { call: run.find("a") });
    run.finish("b", "x");
    assert_eq!(run.plan.state(), TaskState::Working);
    assert_eq!(run.plan.questions(), []);
    run.finish("a", "x");
    assert_eq!(run.plan.state(), TaskState::Completed);
}

#[test]
fn a_run_that_is_canceled_ends_when_its_calls_have() {
    let workflow = workflow(
        &["in", "a", "b", "each over: '[1,2]', do: {type: agent}", "out"],
        &["in>a", "in>b", "in>each", "a>out", "b>out", "each>out"],
    );
    let mut run = Run::new(&workflow);
    run.start("a");
    run.start("each[0]");
    run.apply(Event::StopRequested { cause: Cause::Canceled });
    assert_eq!(
        (run.starts().len(), run.cancels()),
        (0, vec!["a".to_owned(), "each[0]".to_owned()])
    );
    run.finish("a", "too late to stop");
    run.apply(Event::Failed {
        call: run.find("each[0]"),
        reason: "gone".to_owned(),
        is_final: false,
    });
    run.check(
        TaskState::Canceled,
        &["in:completed", "a:completed", "b:canceled", "each:failed", "out:canceled"],
    );
    let mut run = Run::new(&workflow);
    run.apply(Event::StopRequested { cause: Cause::TimedOut });
    run.check(
        TaskState::Failed,
        &["in:completed", "a:canceled", "b:canceled", "each:canceled", "out:canceled"],
    );
}

#[test]
fn a_call_that_somebody_else_cancels_has_failed() {
    let workflow = workflow(&["in", "a", "out"], &["in>a", "a>out"]);
    let mut run = Run::new(&workflow);
    run.start("a");
    run.apply(Event::Canceled { call: run.find("a"), reason: "by its owner".to_owned() });
    run.check(TaskState::Failed, &["in:completed", "a:failed", "out:canceled"]);
}

#[test]
fn as_many_calls_run_as_the_workflow_allows() {
    let text = "{name: w, max_parallel: 2, nodes: [{id: a, type: agent}, {id: b, type: agent},
        {id: c, type: agent}, {id: out, type: output}],
        edges: [{from: a, to: out}, {from: b, to: out}, {from: c, to: out}]}";
    let mut run = Run::new(&Arc::new(Workflow::read(text).unwrap()));
    assert_eq!(run.starts(), ["a", "b"]);
    run.start("a");
    assert_eq!(run.starts(), ["b"]);
    run.start("b");
    assert_eq!(run.starts(), [""; 0]);
    run.finish("a", "x");
    assert_eq!(run.starts(), ["c"]);
}

#[test]
fn without_an_output_node_the_last_nodes_are_the_output() {
    let workflow = workflow(&["in", "a", "b"], &["in>a", "in>b"]);
    let run = Run::new(&workflow).finish_all();
    let artifacts = run.plan.outcome().unwrap().artifacts;
    assert_eq!(artifacts.iter().map(Artifact::text).collect::<Vec<_>>(), ["said a", "said b"]);
}

#[test]
fn what_cannot_have_happened_is_refused() {
    let workflow = workflow(&["in", "a", "b", "out"], &["in>a", "a>b", "b>out"]);
    let mut run = Run::new(&workflow);
    let call = |node: &str, iteration, item, attempt| Call {
        node: crate::graph::NodeId::parse(node).unwrap(),
        iteration,
        item,
        attempt,
    };
    let a = call("a", 1, None, 1);
    for event in [
        Event::Started { call: call("nobody", 1, None, 1) },
        Event::Started { call: call("b", 1, None, 1) },
        Event::Started { call: call("in", 1, None, 1) },
        Event::Started { call: call("a", 2, None, 1) },
        Event::Started { call: call("a", 1, Some(0), 1) },
        Event::Started { call: call("a", 1, None, 2) },
        Event::Finished { call: a.clone(), artifacts: Vec::new() },
        Event::Answered { call: a.clone() },
        Event::Skipped { call: a.clone(), reason: String::new() },
    ] {
        assert!(run.plan.apply(event.clone()).is_err(), "{event}");
    }
    run.start("a");
    for event in [
        Event::Started { call: a.clone() },
        Event::Answered { call: a.clone() },
        Event::Skipped { call: a.clone(), reason: String::new() },
    ] {
        assert!(run.plan.apply(event.clone()).is_err(), "{event}");
    }
    run.finish("a", "x");
    let again = Event::Finished { call: a, artifacts: Vec::new() };
    assert_eq!(
        run.plan.apply(again).unwrap_err().to_string(),
        "`finished` of `a` cannot happen: it is not to be worked on"
    );
}

#[test]
fn a_run_needs_its_inputs() {
    let workflow = workflow(&["in", "a", "out"], &["in>a", "a>out"]);
    assert!(Plan::new(workflow.clone(), BTreeMap::new()).is_err());
    let inputs = [("in".to_owned(), vec![Part::text("x")]), ("on".to_owned(), vec![])].into();
    assert!(Plan::new(workflow, inputs).is_err());
}

#[track_caller]
fn check_rerun(run: &Run, from: &[&str], kept: &[&str], starts: &[&str]) {
    let workflow = run.plan.workflow().clone();
    let inputs = inputs(&workflow);
    let (plan, log) = Plan::rerun(workflow.clone(), inputs.clone(), run.log.clone(), from).unwrap();
    let again = Run { plan, log, answers: HashMap::new() };
    assert_eq!(again.started(), kept);
    assert_eq!(again.starts(), starts);
    let replayed = Plan::replay(workflow, inputs, again.log.clone()).unwrap();
    assert_eq!(replayed, again.plan);
    assert_eq!(again.finish_all().plan.state(), TaskState::Completed);
}

#[test]
fn a_rerun_takes_over_what_has_succeeded() {
    let workflow = workflow(
        &["in", "a", "b", "c", "each over: '[1,2]', do: {type: agent}", "out"],
        &["in>a", "in>b", "a>c", "b>c", "c>out", "in>each", "each>out"],
    );
    let run = Run::new(&workflow).answer(&[("b", "!no"), ("each[1]", "!no")]).finish_all();
    check_rerun(&run, &[], &["in", "each", "a"], &["b", "each[0]", "each[1]"]);
    let run = Run::new(&workflow).finish_all();
    check_rerun(&run, &[], &["in", "each", "a", "b", "c", "each[0]", "each[1]", "out"], &[]);
    check_rerun(&run, &["c"], &["in", "each", "a", "b", "each[0]", "each[1]"], &["c"]);
    check_rerun(&run, &["a"], &["in", "each", "b", "each[0]", "each[1]"], &["a"]);
    let refused = Plan::rerun(workflow.clone(), inputs(&workflow), run.log, &["nobody"]);
    assert_eq!(refused.unwrap_err().to_string(), "there is no node `nobody`");
}

#[test]
fn a_rerun_from_within_a_loop_begins_in_its_first_pass() {
    let workflow = workflow(
        &["in", "a", "b", "c", "out"],
        &["in>a", "a>b", "b>c", "c>b loop: {max_iterations: 2}", "c>out"],
    );
    let run = Run::new(&workflow).finish_all();
    check_rerun(&run, &["c"], &["in", "a", "b"], &["c"]);
    check_rerun(&run, &["b"], &["in", "a"], &["b"]);
    check_rerun(&run, &["out"], &["in", "a", "b", "c", "b#2", "c#2", "out"], &[]);
}

/// A chain of a thousand, and a thousand side by side.
#[test]
fn large_runs_end() {
    let names: Vec<String> = (0..1000).map(|number| format!("n{number}")).collect();
    let nodes: Vec<&str> =
        names.iter().map(String::as_str).chain(["out gather: parents"]).collect();
    let chain: Vec<String> = names
        .windows(2)
        .map(|pair| format!("{}>{}", pair[0], pair[1]))
        .chain(["n999>out".to_owned()])
        .collect();
    let run = Run::new(&workflow(&nodes, &chain.iter().map(String::as_str).collect::<Vec<_>>()))
        .finish_all();
    assert_eq!(run.plan.state(), TaskState::Completed);
    let star: Vec<String> = names.iter().map(|name| format!("{name}>out")).collect();
    let run = Run::new(&workflow(&nodes, &star.iter().map(String::as_str).collect::<Vec<_>>()))
        .finish_all();
    assert_eq!(run.plan.outcome().unwrap().artifacts.len(), 1000);
    let failed = Run::new(&workflow(&nodes, &chain.iter().map(String::as_str).collect::<Vec<_>>()))
        .answer(&[("n0", "!no")])
        .finish_all();
    assert_eq!(
        failed.plan.ending("out").map(|ending| matches!(ending, Ending::Canceled { .. })),
        Some(true)
    );
}

/// A random graph without circles: edges lead to higher numbers.
#[derive(Clone, Debug)]
struct Drawn {
    edges: Vec<(usize, usize, TriggerRule, Option<bool>)>,
    /// Which nodes fail, and how.
    fails: Vec<bool>,
    on_error: Vec<OnError>,
}

fn drawn() -> impl Strategy<Value = Drawn> {
    let rule = prop::sample::select(vec![
        TriggerRule::OnSuccess,
        TriggerRule::OnSuccess,
        TriggerRule::OnSuccess,
        TriggerRule::OnFailure,
        TriggerRule::Always,
    ]);
    let condition = prop::sample::select(vec![None, None, None, Some(true), Some(false)]);
    let on_error = prop::sample::select(vec![
        OnError::CancelDependants,
        OnError::CancelDependants,
        OnError::Ignore,
    ]);
    (2usize..10)
        .prop_flat_map(move |count| {
            let edge = (0..count, 0..count, rule.clone(), condition.clone());
            (
                prop::collection::vec(edge, 1..20),
                prop::collection::vec(prop::bool::weighted(0.3), count),
                prop::collection::vec(on_error.clone(), count),
            )
        })
        .prop_map(|(edges, fails, on_error)| {
            let edges = edges.into_iter().filter(|(from, to, ..)| from != to);
            let edges = edges
                .map(|(from, to, rule, condition)| (from.min(to), from.max(to), rule, condition));
            Drawn { edges: edges.collect(), fails, on_error }
        })
}

impl Drawn {
    fn text(&self) -> String {
        let nodes: Vec<String> = self
            .on_error
            .iter()
            .enumerate()
            .map(|(number, on_error)| {
                let (name, _) =
                    OnError::ALL.into_iter().find(|(_, known)| known == on_error).expect("a name");
                format!("{{id: n{number}, type: agent, config: {{on_error: {name}}}}}")
            })
            .collect();
        let edges: Vec<String> = self
            .edges
            .iter()
            .map(|(from, to, rule, condition)| {
                let rule = match rule {
                    TriggerRule::OnSuccess => "on_success",
                    TriggerRule::OnFailure => "on_failure",
                    TriggerRule::Always => "always",
                };
                let condition =
                    condition.map_or(String::new(), |holds| format!(", condition: '{holds}'"));
                format!("{{from: n{from}, to: n{to}, trigger_rule: {rule}{condition}}}")
            })
            .collect();
        // An input keeps every node connected.
        let starts = (0..self.fails.len())
            .filter(|number| !self.edges.iter().any(|edge| edge.1 == *number))
            .map(|number| format!("{{from: in, to: n{number}}}"));
        let edges: Vec<String> = edges.into_iter().chain(starts).collect();
        format!(
            "{{name: w, nodes: [{{id: in, type: input}}, {}], edges: [{}]}}",
            nodes.join(","),
            edges.join(",")
        )
    }

    /// Tells whether an edge leads on from the failure of a node.
    fn is_handled(&self, node: usize) -> bool {
        self.edges.iter().any(|(from, _, rule, condition)| {
            *from == node && *rule != TriggerRule::OnSuccess && *condition != Some(false)
        })
    }

    /// The reference: node by node, as the rules are written down.
    fn endings(&self) -> Vec<&'static str> {
        let mut endings: Vec<&'static str> = Vec::new();
        for to in 0..self.fails.len() {
            let edges: Vec<_> = self.edges.iter().filter(|edge| edge.1 == to).collect();
            let mut is_active = edges.is_empty();
            let mut is_broken = false;
            for (from, _, rule, condition) in edges {
                let is_meant = match (rule, endings[*from]) {
                    (TriggerRule::Always, _)
                    | (TriggerRule::OnSuccess, "completed" | "ignored")
                    | (TriggerRule::OnFailure, "failed" | "unhandled") => true,
                    (TriggerRule::OnSuccess, "canceled" | "unhandled") => {
                        is_broken = true;
                        false
                    }
                    _ => false,
                };
                is_active |= is_meant && *condition != Some(false);
            }
            endings.push(match (is_broken, is_active, self.fails[to]) {
                (true, ..) => "canceled",
                (_, false, _) => "skipped",
                (_, _, false) => "completed",
                (_, _, true) if self.on_error[to] == OnError::Ignore => "ignored",
                (_, _, true) if self.is_handled(to) => "failed",
                (_, _, true) => "unhandled",
            });
        }
        endings
    }
}

proptest! {
    /// Random graphs, executed in a random order, against the reference: every node ends once and
    /// as it must, nothing begins before what leads to it has ended, and any beginning of the log
    /// leads to the same next steps.
    #[test]
    fn any_graph_runs_as_the_rules_say(drawn in drawn(), choices in prop::collection::vec(any::<prop::sample::Index>(), 60)) {
        let workflow = Arc::new(Workflow::read(&drawn.text()).unwrap());
        let mut run = Run::new(&workflow);
        let mut running: Vec<Call> = Vec::new();
        let mut choices = choices.iter().cycle();
        let mut prefixes = Vec::new();
        loop {
            prefixes.push((run.log.len(), run.plan.steps().collect::<Vec<_>>()));
            let ready: Vec<Call> = run.plan.steps().filter_map(|step| match step {
                Step::Start { call, .. } => Some(call),
                Step::Cancel { .. } => None,
            }).collect();
            let all = ready.len() + running.len();
            if all == 0 {
                break;
            }
            let choice = choices.next().expect("an endless list").index(all);
            if choice < ready.len() {
                run.apply(Event::Started { call: ready[choice].clone() });
                running.push(ready[choice].clone());
            } else {
                let call = running.remove(choice - ready.len());
                let number: Option<usize> = call.node.as_str().strip_prefix('n').and_then(|number| number.parse().ok());
                let fails = number.is_some_and(|number| drawn.fails[number]);
                run.apply(ended(call, if fails { "!no" } else { "fine" }));
            }
        }
        let endings = drawn.endings();
        let shown = endings.iter().enumerate().map(|(number, ending)| {
            let ending = match *ending {
                "ignored" => "completed",
                "unhandled" => "failed",
                ending => ending,
            };
            format!("n{number}:{ending}")
        });
        let expected: Vec<String> = ["in:completed".to_owned()].into_iter().chain(shown).collect();
        prop_assert_eq!(run.endings(), expected);
        let is_failed = endings.contains(&"unhandled");
        let state = if is_failed { TaskState::Failed } else { TaskState::Completed };
        prop_assert_eq!(run.plan.state(), state);

        let mut ended: HashMap<String, usize> = HashMap::new();
        for (at, event) in run.log.iter().enumerate() {
            let Some(call) = event.call() else { continue };
            if matches!(event, Event::Finished { .. } | Event::Failed { .. } | Event::Canceled { .. } | Event::Skipped { .. }) {
                prop_assert!(ended.insert(call.node.to_string(), at).is_none(), "{} ended twice", call);
            }
            if matches!(event, Event::Started { .. }) {
                let before = workflow.edges().iter().filter(|edge| edge.to == call.node);
                for edge in before {
                    prop_assert!(ended.contains_key(edge.from.as_str()), "{} before {}", call, edge.from);
                }
            }
        }
        prop_assert_eq!(ended.len(), workflow.nodes().len());

        for (length, steps) in prefixes {
            let log = run.log[..length].to_vec();
            let replayed = Plan::replay(workflow.clone(), inputs(&workflow), log).unwrap();
            prop_assert_eq!(replayed.steps().collect::<Vec<_>>(), steps);
        }
        for length in 0..=run.log.len() {
            // Also where what was decided is not in the log yet.
            let mut replayed = Plan::replay(workflow.clone(), inputs(&workflow), run.log[..length].to_vec()).unwrap();
            let rest = replayed.decided();
            prop_assert_eq!(&run.log[length..length + rest.len()], &rest[..]);
        }
        let replayed = Plan::replay(workflow.clone(), inputs(&workflow), run.log.clone()).unwrap();
        prop_assert_eq!(replayed, run.plan);
    }

    /// Random graphs with loops end, whatever agents say, and no node runs more often than loops
    /// allow.
    #[test]
    fn any_graph_with_loops_ends(
        edges in prop::collection::vec((0usize..6, 0usize..6), 1..10),
        loops in prop::collection::vec((0usize..6, 0usize..6, 1u32..4, any::<bool>()), 1..4),
        fails in prop::collection::vec(prop::bool::weighted(0.1), 200),
    ) {
        let nodes: Vec<String> = (0..6).map(|number| format!("{{id: n{number}, type: agent}}")).collect();
        let plain = edges.iter().filter(|(a, b)| a != b).map(|(a, b)| format!("{{from: n{}, to: n{}}}", a.min(b), a.max(b)));
        let back = loops.iter().map(|(a, b, most, is_failure)| {
            let rule = if *is_failure { ", trigger_rule: always" } else { "" };
            format!("{{from: n{}, to: n{}, loop: {{max_iterations: {most}}}{rule}}}", a.max(b), a.min(b))
        });
        let all: Vec<String> = plain.chain(back).collect();
        let text = format!("{{name: w, nodes: [{}], edges: [{}]}}", nodes.join(","), all.join(","));
        let Ok(workflow) = Workflow::read(&text) else { return Ok(()) };
        let workflow = Arc::new(workflow);
        let mut run = Run::new(&workflow);
        let mut fails = fails.iter().cycle();
        let mut count = 0;
        loop {
            let next = run.plan.steps().next();
            let Some(Step::Start { call, .. }) = next else { break };
            count += 1;
            prop_assert!(count < 6 * 4 * 4 * 4 * 4, "it does not end");
            run.apply(Event::Started { call: call.clone() });
            run.apply(ended(call, if *fails.next().unwrap() { "!no" } else { "fine" }));
        }
        prop_assert!(run.plan.outcome().is_some(), "{:?}", run.endings());
        let most = workflow.topology().areas().iter().map(|area| area.passes).product::<u32>();
        for call in run.log.iter().filter_map(Event::call) {
            prop_assert!(call.iteration <= most);
        }
        let replayed = Plan::replay(workflow.clone(), inputs(&workflow), run.log.clone()).unwrap();
        prop_assert_eq!(replayed, run.plan);
    }

    #[test]
    fn events_are_written_and_read_again(
        kind in 0usize..8, node in "[a-z][a-z0-9_-]{0,8}", iteration in 1u32..9, item in prop::option::of(0u32..9),
        attempt in 1u32..9, text in ".{0,20}", flag in any::<bool>(),
    ) {
        let Ok(node) = crate::graph::NodeId::parse(&node) else { return Ok(()) };
        let call = Call { node, iteration, item, attempt };
        let event = match kind {
            0 => Event::Started { call },
            1 => Event::Finished { call, artifacts: artifact(Part::text(text)) },
            2 => Event::Failed { call, reason: text, is_final: flag },
            3 => Event::Canceled { call, reason: text },
            4 => Event::Skipped { call, reason: text },
            5 => Event::Asked { call, question: if flag { Question::Input } else { Question::Credential } },
            6 => Event::Answered { call },
            _ => Event::StopRequested { cause: if flag { Cause::Canceled } else { Cause::TimedOut } },
        };
        let written = json::to_string(&event);
        prop_assert_eq!(json::from_str::<Event>(&written), Ok(event));
    }
}
