//! What runs when nothing goes wrong, in which order, and what comes of it.

use super::*;

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
fn a_run_needs_its_inputs() {
    let workflow = workflow(&["in", "a", "out"], &["in>a", "a>out"]);
    assert!(Plan::new(workflow.clone(), BTreeMap::new()).is_err());
    let inputs = [("in".to_owned(), vec![Part::text("x")]), ("on".to_owned(), vec![])].into();
    assert!(Plan::new(workflow, inputs).is_err());
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
