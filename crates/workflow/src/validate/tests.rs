use super::*;

const FILE: &str = "
name: all
nodes:
  - {id: topic, type: input}
  - {id: a, type: external, config: {agent: wirter}}
  - {id: b, type: external, config: {capability: sing}}
  - {id: c, type: external, config: {card: 'https://x.example/card'}}
  - {id: d, type: agent, config: {tools: [search, serach, 'mcp://any', 'agent://writer', 'workflow://gone']}}
  - {id: e, type: tool, config: {tool: search}}
  - {id: f, type: command, config: {command: rm}}
  - {id: g, type: workflow, config: {workflow: report, inputs: {tpoic: x}}}
  - id: h
    type: map
    config:
      over: '{{topic}}'
      do: {type: external, config: {agent: nobody}}
  - {id: out, type: output}
edges:
  - {from: topic, to: a}
  - {from: a, to: b}
  - {from: b, to: c}
  - {from: c, to: d}
  - {from: d, to: e}
  - {from: e, to: f}
  - {from: f, to: g}
  - {from: g, to: h}
  - {from: h, to: out}
";

fn known() -> Known {
    let inputs =
        Inputs { needed: ["topic".to_owned()].into(), optional: ["style".to_owned()].into() };
    Known::default()
        .agents(["writer", "critic"])
        .capabilities(["write"])
        .tools(["search"])
        .commands(["resize"])
        .workflows([("report".to_owned(), inputs)])
}

#[test]
fn what_is_not_there_is_told_with_what_is() {
    let (workflow, problems) = validate(FILE, &known());
    assert!(workflow.is_none());
    let found: Vec<String> = problems
        .iter()
        .map(|problem| {
            format!(
                "{} {}:{} {}; {}",
                problem.code(),
                problem.place().line(),
                problem.place().column(),
                problem.what(),
                problem.fix()
            )
        })
        .collect();
    assert_eq!(
        found,
        [
            "unknown-agent 5:45 there is no agent `wirter`; did you mean `writer`?",
            "unknown-agent 6:50 there is no agent that can `sing`; set it up first, or name another one",
            "unknown-tool 8:5 there is no tool `serach`; did you mean `search`?",
            "unknown-workflow 8:5 there is no workflow `gone`; set it up first, or name another one",
            "unknown-command 10:5 there is no command `rm`; set it up first, or name another one",
            "missing-input 11:48 the input `topic` is missing; give it a value",
            "unknown-input 11:48 there is no input `tpoic`; did you mean `topic`?",
            "unknown-agent 16:44 there is no agent `nobody`; set it up first, or name another one",
        ]
    );
}

#[test]
fn what_nobody_has_said_is_not_looked_at() {
    let (workflow, problems) = validate(FILE, &Known::default());
    assert_eq!(problems, []);
    let workflow = workflow.unwrap();
    assert_eq!(recheck(&workflow, &Known::default()), []);
    assert_eq!(recheck(&workflow, &known()).len(), 8, "agents may go later");
}

#[test]
fn a_run_needs_its_inputs() {
    let workflow = Workflow::read(
        "{name: w, nodes: [{id: a, type: input}, {id: b, type: input, config: {default: 1}},
          {id: c, type: input, config: {optional: true}}, {id: out, type: output}],
          edges: [{from: a, to: out}]}",
    )
    .unwrap();
    assert_eq!(inputs(&workflow, ["a"]), Ok(()));
    assert_eq!(inputs(&workflow, ["a", "b", "c"]), Ok(()));
    let codes = |given: &[&str]| {
        let refused = inputs(&workflow, given.iter().copied()).expect_err("refused");
        refused.problems().iter().map(Problem::code).collect::<Vec<_>>()
    };
    assert_eq!(codes(&["b"]), [Code::MissingInput]);
    assert_eq!(codes(&["a", "x"]), [Code::UnknownInput]);
}
