use proptest::prelude::*;

use super::*;
use crate::problem::Code;

/// Puts a workflow together from lines for nodes and edges.
fn file(nodes: &[&str], edges: &[&str]) -> String {
    let lines = |lines: &[&str]| {
        let lines: Vec<String> = lines.iter().map(|line| format!("  - {{{line}}}\n")).collect();
        lines.concat()
    };
    format!("name: test\nnodes:\n{}edges:\n{}", lines(nodes), lines(edges))
}

/// The same of bare names, the first of which is an input and the last an output.
fn graph(names: &[&str], edges: &[&str]) -> String {
    let nodes: Vec<String> = names
        .iter()
        .enumerate()
        .map(|(number, name)| match number {
            0 => format!("id: {name}, type: input"),
            _ if number + 1 == names.len() => format!("id: {name}, type: output"),
            _ => format!("id: {name}, type: agent"),
        })
        .collect();
    let edges: Vec<String> = edges
        .iter()
        .map(|edge| {
            let (way, rest) = edge.split_once(' ').unwrap_or((edge, ""));
            let (from, to) = way.split_once('>').expect("two nodes");
            let rest = if rest.is_empty() { String::new() } else { format!(", {rest}") };
            format!("from: {from}, to: {to}{rest}")
        })
        .collect();
    let nodes: Vec<&str> = nodes.iter().map(String::as_str).collect();
    let edges: Vec<&str> = edges.iter().map(String::as_str).collect();
    file(&nodes, &edges)
}

#[track_caller]
fn check(text: &str, expected: &[(&str, u32, u32, &str)]) {
    let problems = match Workflow::read(text) {
        Ok(workflow) => workflow.warnings().to_vec(),
        Err(invalid) => invalid.problems().to_vec(),
    };
    let found: Vec<_> = problems
        .iter()
        .map(|problem| {
            let place = problem.place();
            (problem.code().as_str(), place.line(), place.column(), problem.what())
        })
        .collect();
    let beginning: String = text.chars().take(3000).collect();
    assert_eq!(found, expected, "{beginning}");
    assert!(problems.iter().all(|problem| !problem.fix().is_empty()));
}

/// UD-01: the example of the design, with every member.
#[test]
fn a_workflow_is_read_from_yaml_and_json() {
    let yaml = include_str!("../../../../examples/workflows/report.yaml");
    let workflow = Workflow::read(yaml).unwrap_or_else(|invalid| panic!("{invalid}"));
    assert_eq!(workflow.name(), "report");
    assert_eq!(workflow.version(), 1);
    assert_eq!(workflow.warnings(), []);
    let json = crate::document::Value::read(yaml).unwrap().to_raw();
    let again = Workflow::read(json.as_str()).unwrap();
    let names = |workflow: &Workflow| -> Vec<String> {
        workflow.order().map(|node| format!("{} {}", node.id(), node.kind().name())).collect()
    };
    assert_eq!(names(&again), names(&workflow));
}

#[test]
fn settings_of_a_node_are_read() {
    let text = file(
        &["id: a, type: agent, config: {label: A, description: d, timeout: 1m, on_error: ignore,
               retry: {attempts: 3, backoff: 500ms}, model: openai/gpt-5, max_turns: 4,
               temperature: 0.5, tools: [x], output_extract: {mode: tagged, tag: t}}, group: g"],
        &[],
    );
    let workflow = Workflow::read(&text).unwrap();
    let node = workflow.node("a").unwrap();
    let settings = node.settings();
    assert_eq!(settings.timeout.map(Time::get), Some(std::time::Duration::from_secs(60)));
    assert_eq!(settings.retry.attempts, 3);
    assert_eq!(settings.on_error, Some(OnError::Ignore));
    assert_eq!(node.group(), Some("g"));
    let Kind::Agent(agent) = node.kind() else { panic!("{node:?}") };
    assert_eq!(agent.output_extract, Some(Extract::Tagged { tag: "t".to_owned() }));
    assert_eq!((agent.max_turns, agent.temperature), (Some(4), Some(0.5)));
}

/// UD-01, UD-02: Upal's files are read as they are, and what only Upal knows is left out.
#[test]
fn a_file_of_upal_is_read_as_it_is() {
    let json = r##"{
      "name": "article", "description": "요약", "version": 3, "thumbnail_svg": "<svg/>",
      "nodes": [
        {"id": "url", "type": "input", "config": {"label": "URL", "prompt": "…", "input_type": "text"}},
        {"id": "doc", "type": "asset", "config": {"asset_id": "a1"}},
        {"id": "s", "type": "agent", "position": {"x": 1}, "config": {
          "model": "anthropic/claude", "system_prompt": "p", "prompt": "{{url}} {{#each}} {{doc}}",
          "tools": ["web_search", "mcp://brave"], "max_turns": 5, "output": "…", "aspect_ratio": "1:1",
          "output_extract": {"mode": "json"}}},
        {"id": "x", "type": "external", "config": {
          "endpoint_url": "http://127.0.0.1:9000", "timeout": 30, "description": "d"}},
        {"id": "t", "type": "tool", "config": {"tool": "tts", "input": {"text": "{{s}}"}}},
        {"id": "o", "type": "output", "config": {"output_format": "md", "prompt": "# {{s.output}}"}}
      ],
      "edges": [
        {"from": "url", "to": "s"}, {"from": "doc", "to": "s"},
        {"from": "s", "to": "x", "condition": "", "trigger_rule": ""},
        {"from": "x", "to": "t", "trigger_rule": "on_failure"}, {"from": "t", "to": "o"}, {"from": "s", "to": "o"}
      ],
      "groups": [{"id": "g", "label": "G", "color": "#fff"}]
    }"##;
    let workflow = Workflow::read(json).unwrap_or_else(|invalid| panic!("{invalid}"));
    assert!(workflow.is_upal());
    assert_eq!((workflow.name(), workflow.version()), ("article", 3));
    let ignored: Vec<&str> = workflow.warnings().iter().map(Problem::key).collect();
    assert_eq!(
        ignored,
        [
            "thumbnail_svg",
            "nodes[0].config.input_type",
            "nodes[2].position",
            "nodes[2].config.aspect_ratio",
            "nodes[5].config.output_format",
        ]
    );
    let timeout = workflow.node("x").unwrap().settings().timeout;
    assert_eq!(timeout.map(Time::get), Some(std::time::Duration::from_secs(30)));
    assert_eq!(workflow.edges()[3].trigger_rule, TriggerRule::OnFailure);
    assert_eq!(workflow.groups()[0].color, "#fff");
    assert_eq!(workflow.inputs().count(), 1);
}

/// UD-02 of what Upal had later: `run_input` is an input.
#[test]
fn upals_types_and_numbers_have_a_meaning() {
    let text = file(
        &["id: a, type: run_input", "id: o, type: output, config: {}"],
        &["from: a, to: o, loop: null"],
    );
    let workflow = Workflow::read(&text).unwrap();
    assert!(workflow.is_upal());
    assert_eq!(workflow.inputs().count(), 1);
}

#[test]
fn what_nobody_knows_is_refused_with_what_may_be_meant() {
    let text = "
nmae: x
name: test
nodes:
  - {id: a, type: agnet}
  - {id: b, type: agent, config: {promt: hi, retry: {atempts: 1}}, colour: red}
  - {id: o, type: output}
edges:
  - {from: a, to: b, trigger: always}
  - {from: b, to: o, trigger_rule: on_succes}
";
    check(
        text,
        &[
            ("unknown-member", 2, 1, "nobody knows `nmae`"),
            ("unknown-type", 5, 19, "`agnet` is no type of node"),
            ("unknown-member", 6, 35, "nobody knows `promt`"),
            ("unknown-member", 6, 54, "nobody knows `atempts`"),
            ("unknown-member", 6, 68, "nobody knows `colour`"),
            ("unknown-member", 9, 22, "nobody knows `trigger`"),
            ("bad-value", 10, 36, "`on_succes` is not possible"),
        ],
    );
    let invalid = Workflow::read(text).unwrap_err();
    let fixes: Vec<&str> = invalid.problems().iter().map(Problem::fix).collect();
    assert_eq!(
        fixes[..4],
        [
            "did you mean `name`?",
            "did you mean `agent`?",
            "did you mean `prompt`?",
            "did you mean `attempts`?",
        ]
    );
}

#[test]
fn what_is_of_the_wrong_sort_is_told_all_at_once() {
    check(
        "
name: 5
version: -1
nodes:
  - {id: 7, type: agent}
  - {id: a b, type: agent}
  - {id: c, type: agent, config: {temperature: 9, tools: x, max_turns: 1.5, timeout: 60}}
  - {id: d, type: wait, config: {for: soon}}
  - {id: e, type: external, config: {agent: x, card: 'https://y'}}
  - {id: f, type: external}
  - {id: g, type: tool, config: []}
  - {id: h, type: external, config: {card: y}}
  - {id: i, type: map, config: {over: x, do: {type: output}}}
  - {type: agent}
edges: {}
",
        &[
            ("no-output", 0, 0, "there is no output node"),
            ("wrong-type", 2, 7, "this is a number"),
            ("bad-value", 3, 10, "-1 is not possible"),
            ("wrong-type", 5, 10, "this is a number"),
            ("bad-id", 6, 10, "`a b` is no name of a node"),
            ("unreachable-node", 7, 10, "no edge leads to `c` or away from it"),
            ("bad-value", 7, 48, "9 is not possible"),
            ("wrong-type", 7, 58, "this is a text"),
            ("bad-value", 7, 72, "1.5 is not possible"),
            ("bad-duration", 7, 86, "60 of what?"),
            ("unreachable-node", 8, 10, "no edge leads to `d` or away from it"),
            ("bad-duration", 8, 39, "`soon` is no length of time"),
            ("unreachable-node", 9, 10, "no edge leads to `e` or away from it"),
            ("bad-value", 9, 37, "`agent` and `card` cannot both be set"),
            ("missing-member", 10, 5, "one thing is missing"),
            ("unreachable-node", 10, 10, "no edge leads to `f` or away from it"),
            ("unreachable-node", 11, 10, "no edge leads to `g` or away from it"),
            ("wrong-type", 11, 33, "this is a list"),
            ("unreachable-node", 12, 10, "no edge leads to `h` or away from it"),
            ("bad-value", 12, 44, "`y` is no URL"),
            ("unreachable-node", 13, 10, "no edge leads to `i` or away from it"),
            ("bad-value", 13, 53, "a node of type `output` cannot be done for each item"),
            ("missing-member", 14, 5, "there is no `id`"),
            ("wrong-type", 15, 8, "this is a mapping"),
        ]
        .map(|found| found),
    );
}

/// UD-04: duplicate names, unknown nodes, circles.
#[test]
fn edges_lead_from_node_to_node_and_in_no_circle() {
    check(
        &graph(&["in", "a", "a", "out"], &["in>a", "a>out"]),
        &[
            ("duplicate-id", 5, 10, "`a` is the name of the node in line 4, too"),
            ("unreachable-node", 5, 10, "no edge leads to `a` or away from it"),
        ],
    );
    check(
        &graph(&["in", "draft", "out"], &["in>draft", "drafft>out", "draft>nowhere"]),
        &[
            ("unreachable-node", 5, 10, "no edge leads to `out` or away from it"),
            ("unknown-node", 8, 5, "there is no node `drafft`"),
            ("unknown-node", 9, 5, "there is no node `nowhere`"),
        ],
    );
    check(
        &graph(&["in", "a", "b", "c", "out"], &["in>a", "a>b", "b>c", "c>a", "c>out"]),
        &[("cycle", 12, 5, "edges lead in a circle: a → b → c → a")],
    );
    check(
        &graph(&["in", "a", "b", "out"], &["in>a", "a>a", "a>b", "b>out"]),
        &[("cycle", 9, 5, "edges lead in a circle: a → a")],
    );
    check(
        &graph(
            &["in", "a", "b", "c", "d", "out"],
            &["in>a", "a>b", "b>a", "b>c", "c>d", "d>c", "d>out"],
        ),
        &[
            ("cycle", 12, 5, "edges lead in a circle: a → b → a"),
            ("cycle", 15, 5, "edges lead in a circle: c → d → c"),
        ],
    );
}

/// UD-03: an edge back is a loop.
#[test]
fn loops_lead_back_and_lie_within_each_other() {
    let fine: [&[&str]; 5] = [
        &["in>a", "a>b", "b>a loop: {max_iterations: 3}", "b>c", "c>out"],
        &["in>a", "a>a loop: {}", "a>b", "b>c", "c>out"],
        &["in>a", "a>b", "b>c", "c>b loop: {}", "c>a loop: {}", "c>out"],
        &["in>a", "a>b", "b>b loop: {}", "b>c", "c>a loop: {}", "c>out"],
        // As in Upal's design: on the edge that leads in.
        &["in>a", "a>b loop: {max_iterations: 3}", "b>a", "a>c", "c>out"],
    ];
    for edges in fine {
        check(&graph(&["in", "a", "b", "c", "out"], edges), &[]);
    }
    check(
        &graph(&["in", "a", "b", "out"], &["in>a", "a>b", "in>b loop: {}", "b>out"]),
        &[("bad-loop", 10, 5, "the loop does not lead back: no edges lead from `b` to `in`")],
    );
    check(
        &graph(
            &["in", "a", "b", "c", "out"],
            &["in>a", "a>b", "b>c", "c>out", "b>a loop: {}", "c>b loop: {}"],
        ),
        &[("overlapping-loops", 14, 5, "this loop and the one in line 13 share nodes")],
    );
    check(
        &graph(&["in", "a", "b", "out"], &["in>a", "a>b", "b>out", "b>a loop: {}", "b>a loop: {}"]),
        &[("overlapping-loops", 12, 5, "this loop and the one in line 11 share nodes")],
    );
    let area = |edges: &[&str]| {
        let workflow = Workflow::read(&graph(&["in", "a", "b", "c", "out"], edges)).unwrap();
        let area = workflow.topology().areas()[0].clone();
        (area.head, area.tail, area.nodes().to_vec(), area.passes, area.has_gate)
    };
    assert_eq!(area(fine[0]), (1, 2, vec![1, 2], 3, false));
    assert_eq!(area(fine[4]), (1, 2, vec![1, 2], 4, true));
}

#[test]
fn nodes_that_nothing_leads_to_are_told() {
    check(
        &graph(&["in", "a", "b", "out"], &["in>out"]),
        &[
            ("unreachable-node", 4, 10, "no edge leads to `a` or away from it"),
            ("unreachable-node", 5, 10, "no edge leads to `b` or away from it"),
        ],
    );
    check(
        &graph(&["in", "a", "b", "out"], &["in>a", "a>out", "b>out"]),
        &[("nothing-leads-here", 5, 10, "nothing leads to `b`, so it runs at the start")],
    );
    check(
        &file(&["id: in, type: input", "id: a, type: agent"], &["from: in, to: a"]),
        &[("no-output", 0, 0, "there is no output node")],
    );
}

#[test]
fn references_name_what_has_run() {
    let nodes = [
        "id: topic, type: input",
        "id: draft, type: agent, config: {prompt: 'On {{tpoic}} and {{review}}'}",
        "id: review, type: agent, config: {prompt: '{{draft.dta}} {{inputs.draft}} {{review}}'}",
        "id: side, type: agent, config: {prompt: '{{topic}} {{inputs.topic}} {{draft'}",
        "id: out, type: output, config: {gather: [draft, side, nobody]}",
    ];
    let edges = [
        "from: topic, to: draft",
        "from: draft, to: review, condition: \"draft contains 'x' and side == 1\"",
        "from: review, to: out, condition: 'draft ='",
        "from: topic, to: side",
    ];
    check(
        &file(&nodes, &edges),
        &[
            ("unknown-reference", 4, 51, "there is no node `tpoic` for `tpoic`"),
            ("not-upstream", 4, 65, "`review` has not run when `draft` does"),
            ("unknown-reference", 5, 49, "`draft.dta`: a node has no `dta`"),
            ("unknown-reference", 5, 63, "`draft` is a node and no input"),
            ("not-upstream", 5, 80, "`review` is what the node itself has yet to bring about"),
            ("bad-template", 6, 74, "`{{` is never closed"),
            ("not-upstream", 7, 54, "`side` has not run when `out` does"),
            ("unknown-reference", 7, 60, "there is no node `nobody` for `nobody`"),
            ("not-upstream", 10, 66, "`side` has not run when `draft` does"),
            ("bad-condition", 11, 47, "at character 7: write `==` to compare"),
        ],
    );
}

#[test]
fn nodes_of_a_loop_know_each_other() {
    let nodes = [
        "id: topic, type: input",
        "id: draft, type: agent, config: {prompt: '{{topic}} {{draft}} {{review.data.note}}'}",
        "id: review, type: agent, config: {prompt: '{{draft}}'}",
        "id: out, type: output",
    ];
    let edges = [
        "from: topic, to: draft",
        "from: draft, to: review",
        "from: review, to: draft, loop: {max_iterations: 3, exit_when: 'review.data.score >= 8'}",
        "from: review, to: out",
    ];
    check(&file(&nodes, &edges), &[]);
}

#[test]
fn items_of_a_list_are_known_within() {
    let nodes = [
        "id: topics, type: input",
        "id: each, type: map, config: {over: '{{topics}} {{item}}', do: {type: agent, config: {prompt: '{{item.name}} {{index}} {{topics}} {{itme}}'}}}",
        "id: out, type: output",
    ];
    check(
        &file(&nodes, &["from: topics, to: each", "from: each, to: out"]),
        &[
            ("unknown-reference", 4, 54, "there is no node `item` for `item`"),
            ("unknown-reference", 4, 136, "there is no node `itme` for `itme`"),
        ],
    );
}

#[test]
fn order_is_that_of_the_file_but_for_what_must_come_before() {
    let text = graph(&["in", "z", "a", "m", "out"], &["in>z", "in>m", "m>a", "z>out", "a>out"]);
    let workflow = Workflow::read(&text).unwrap();
    let order: Vec<&str> = workflow.order().map(|node| node.id().as_str()).collect();
    assert_eq!(order, ["in", "z", "m", "a", "out"]);
}

#[test]
fn what_is_too_much_is_refused() {
    let nodes: Vec<String> =
        (0..=MAX_NODES).map(|number| format!("{{id: n{number}, type: agent}}")).collect();
    let text = format!("{{name: w, nodes: [{}]}}", nodes.join(","));
    check(&text, &[("too-many", 1, 1, "there are 10001 nodes")]);
    let edges: Vec<&str> =
        ["in>a"].into_iter().chain(vec!["a>a loop: {}"; 300]).chain(["a>out"]).collect();
    check(&graph(&["in", "a", "out"], &edges), &[("too-many", 264, 5, "there are 300 loops")]);
    let long = "x".repeat(300 << 10);
    let text = file(&[&format!("id: a, type: agent, config: {{prompt: {long}}}")], &[]);
    check(
        &text,
        &[
            ("bad-template", 3, 43, "the template has more than 262144 bytes"),
            ("no-output", 0, 0, "there is no output node"),
        ]
        .into_iter()
        .rev()
        .collect::<Vec<_>>(),
    );
}

/// A file as large and as connected as can be.
#[test]
fn the_largest_graph_is_read() {
    let nodes: Vec<String> =
        (0..MAX_NODES).map(|number| format!("{{id: n{number}, type: agent}}")).collect();
    let edges: Vec<String> = (1..MAX_NODES)
        .map(|number| format!("{{from: n{}, to: n{number}}}", number - 1))
        .chain(
            (0..20)
                .map(|number| format!("{{from: n{}, to: n{number}, loop: {{}}}}", 9990 - number)),
        )
        .collect();
    let text = format!("{{name: w, nodes: [{}], edges: [{}]}}", nodes.join(","), edges.join(","));
    let workflow = Workflow::read(&text).unwrap_or_else(|invalid| panic!("{invalid}"));
    assert_eq!(workflow.topology().areas_of(5000).len(), 20);
    assert_eq!(workflow.topology().areas_of(9999).len(), 0);
}

#[test]
fn many_warnings_hide_no_error() {
    let members: Vec<String> = (0..300).map(|number| format!("m{number}: 1")).collect();
    let members = members.join(", ");
    let text = format!(
        "{{name: w, {members}, nodes: [{{id: a, type: run_input}}, {{id: b, type: agnet}}]}}"
    );
    let invalid = Workflow::read(&text).unwrap_err();
    assert!(invalid.problems().iter().any(|problem| problem.code() == Code::UnknownType));
}

proptest! {
    /// Any small graph: what is read has a sound order, and what is refused says why.
    #[test]
    fn any_graph_is_read_or_refused(
        count in 1usize..8,
        edges in prop::collection::vec((0usize..8, 0usize..8, any::<bool>()), 0..14),
    ) {
        let nodes: Vec<String> = (0..count).map(|number| format!("{{id: n{number}, type: tool, config: {{tool: t}}}}")).collect();
        let edges: Vec<String> = edges.iter().map(|(from, to, repeat)| {
            let repeat = if *repeat { ", loop: {max_iterations: 2}" } else { "" };
            format!("{{from: n{from}, to: n{to}{repeat}}}")
        }).collect();
        let text = format!("{{name: w, nodes: [{}], edges: [{}]}}", nodes.join(","), edges.join(","));
        match Workflow::read(&text) {
            Ok(workflow) => {
                let topology = workflow.topology();
                let mut seen = vec![false; count];
                for node in topology.order() {
                    for wire in topology.incoming(*node) {
                        prop_assert!(seen[wire.from]);
                        prop_assert!(topology.is_before(wire.from, *node));
                    }
                    seen[*node] = true;
                }
                prop_assert!(seen.iter().all(|seen| *seen));
                for area in topology.areas() {
                    prop_assert!(area.contains(area.head) && area.contains(area.tail));
                }
            }
            Err(invalid) => prop_assert!(invalid.problems().iter().any(|problem| !problem.is_warning())),
        }
    }
}
