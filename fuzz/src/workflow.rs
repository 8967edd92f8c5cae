//! The same for workflows: their files, templates, conditions, and the log of a run.
//!
//! Apart from the others, so that the tests of `nuncio-workflow` can replay its corpus.

use std::{collections::BTreeMap, sync::Arc};

use nuncio_protocol::{ids::ArtifactId, json, json::Raw, message::Part, task::Artifact};
use nuncio_workflow::{
    condition::Condition,
    document::Value,
    graph::Workflow,
    plan::{Event, Plan, Step},
    template::{Limits, Output, Reference, Template},
};

/// Every reader by the name of its fuzz target and corpus folder.
pub const READERS: &[(&str, fn(&[u8]))] = &[
    ("workflow_file", file),
    ("workflow_template", template),
    ("workflow_condition", condition),
    ("workflow_log", log),
];

/// Runs one reader, known by name.
pub fn run(name: &str, bytes: &[u8]) {
    let (_, reader) = READERS.iter().find(|(known, _)| *known == name).expect("a known reader");
    reader(bytes);
}

/// A file: what is refused says why, what is read can be run, and a run can be replayed.
fn file(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    if let Ok(value) = Value::read(text) {
        let json = value.to_raw();
        let again = Value::read(json.as_str()).expect("what was written is read");
        assert_eq!(again.to_raw(), json);
    }
    let workflow = match Workflow::read(text) {
        Ok(workflow) => Arc::new(workflow),
        Err(invalid) => {
            assert!(invalid.problems().iter().any(|problem| !problem.is_warning()));
            return;
        }
    };
    let inputs: BTreeMap<String, Vec<Part>> = workflow
        .inputs()
        .map(|(node, _)| (node.id().to_string(), vec![Part::text("[1,2]")]))
        .collect();
    let mut plan = Plan::new(workflow.clone(), inputs.clone()).expect("all inputs are there");
    let mut log = plan.decided();
    // Enough for any corpus; loops within loops can take as long as they say.
    for _ in 0..200 {
        let next = plan.steps().next();
        let Some(Step::Start { call, .. } | Step::Cancel { call }) = next else {
            assert!(plan.outcome().is_some(), "nothing to do, and not over");
            break;
        };
        let told = plan.message(&call);
        for event in [Event::Started { call: call.clone() }, answer(call, told.is_ok())] {
            plan.apply(event.clone()).expect("what was to be done");
            log.push(event);
            log.extend(plan.decided());
        }
    }
    let replayed = Plan::replay(workflow, inputs, log).expect("the log of this run");
    assert_eq!(replayed, plan);
}

fn answer(call: nuncio_workflow::plan::Call, is_told: bool) -> Event {
    if !is_told {
        return Event::Failed { call, reason: "nothing to say".to_owned(), is_final: true };
    }
    let part = match call.iteration % 3 {
        0 => Part::text("{{in}} 9"),
        1 => Part::data(Raw::parse_text(r#"{"score":7,"list":[1]}"#).expect("JSON")),
        _ => Part::url("https://x.example/y"),
    };
    let id = ArtifactId::parse("a").expect("an id");
    Event::Finished { call, artifacts: vec![Artifact::new(id, vec![part])] }
}

fn outputs() -> BTreeMap<String, Output> {
    let of =
        |part| Output::new(vec![Artifact::new(ArtifactId::parse("a").expect("an id"), vec![part])]);
    let data = Raw::parse_text(r#"{"score":8,"tags":["a","b"],"deep":{"x":[null,true]}}"#);
    [
        ("a", of(Part::text("{{b}} and 'c'"))),
        ("b", of(Part::data(data.expect("JSON")))),
        ("c", of(Part::url("https://x.example/y"))),
        ("d", Output::failed("no answer")),
        ("e", Output::of_items(vec![of(Part::text("1")), Output::absent("skipped")])),
    ]
    .map(|(name, output)| (name.to_owned(), output))
    .into()
}

/// A template: it keeps its text, its references read as themselves, and what becomes of it is
/// bounded.
fn template(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let limits = Limits { rendered: 4096 };
    for template in [Template::parse(text), Template::parse_upal(text)].into_iter().flatten() {
        assert_eq!(template.as_str(), text);
        for reference in template.references() {
            let written = reference.to_string();
            let again = Reference::parse(&written).expect("what was written is read");
            assert_eq!(again.to_string(), written);
        }
        if let Ok(rendered) = template.render_text(&outputs(), limits) {
            assert!(rendered.len() <= limits.rendered);
        }
        let _ = template.render(&outputs(), limits);
    }
}

/// A condition: it has an answer or a reason, and its opposite the opposite.
fn condition(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let Ok(condition) = Condition::parse(text) else { return };
    let holds = condition.holds(&outputs());
    if let Ok(opposite) = Condition::parse(&format!("not ({text})")) {
        assert_eq!(opposite.holds(&outputs()), holds.map(|holds| !holds));
    }
}

/// A log, one event a line: what is read is written as the same, and no plan panics at it.
fn log(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let workflow = Workflow::read(
        "{name: w, nodes: [{id: in, type: input}, {id: a, type: agent, config: {retry: {attempts: 1}}},
          {id: b, type: agent, config: {on_error: fail_fast}},
          {id: each, type: map, config: {over: '[1,2,3]', do: {type: agent}, max_parallel: 2}},
          {id: out, type: output}], edges: [{from: in, to: a}, {from: a, to: b}, {from: in, to: each},
          {from: b, to: a, loop: {max_iterations: 3, exit_when: b.data.score > 7}},
          {from: b, to: out}, {from: each, to: out}]}",
    );
    let workflow = Arc::new(workflow.expect("a workflow"));
    let inputs = [("in".to_owned(), vec![Part::text("x")])].into();
    let mut plan = Plan::new(workflow, inputs).expect("a run");
    for line in text.lines() {
        let Ok(event) = json::from_str::<Event>(line) else { continue };
        let written = json::to_string(&event);
        assert_eq!(json::from_str::<Event>(&written).as_ref(), Ok(&event));
        let before = plan.clone();
        if plan.apply(event).is_err() {
            assert_eq!(plan, before, "what is refused changes nothing");
        }
        let _ = plan.decided();
        let is_over = plan.outcome().is_some();
        assert!(!is_over || plan.steps().next().is_none(), "over, and something to do");
    }
}
