//! Nodes that run over a list.

use super::*;

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
