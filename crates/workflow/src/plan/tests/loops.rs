//! Loops: how often they run, and what follows them.

use super::*;

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
