//! Which edges lead on.

use super::*;

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
