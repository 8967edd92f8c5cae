//! Runs that repeat others.

use super::*;

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
