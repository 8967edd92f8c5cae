//! What follows from a failure, and when a call is tried again.

use super::*;

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
