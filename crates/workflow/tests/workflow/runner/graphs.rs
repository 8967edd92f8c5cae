//! What graphs do (T-17, U-22, U-23).

use nuncio_protocol::state::TaskState;

use super::site::{TestSite, completed, states, text};

const SERIAL: &str = "
name: serial
nodes:
  - {id: topic, type: input}
  - {id: draft, type: external, config: {agent: upper, prompt: 'about {{topic}}'}}
  - {id: out, type: output, config: {gather: parents}}
edges:
  - {from: topic, to: draft}
  - {from: draft, to: out}
";

#[tokio::test(flavor = "multi_thread")]
async fn serial_a_node_is_told_what_the_one_before_has_brought_about() {
    let site = TestSite::start(&[SERIAL]);
    let task = site.run("serial", &[("topic", "\"otters\"")]).await;
    completed(&task);
    assert_eq!(text(&task), "ABOUT OTTERS");
    let view = site.view("serial", &task.id).await;
    assert_eq!(
        states(&view),
        [("topic", "completed"), ("draft", "completed"), ("out", "completed")]
    );
    assert_eq!((view.state.as_str(), view.version), ("completed", 1));
}

#[tokio::test(flavor = "multi_thread")]
async fn parallel_branches_meet_in_the_output_in_the_order_of_the_graph() {
    let site = TestSite::start(&["
name: parallel
nodes:
  - {id: topic, type: input}
  - {id: a, type: external, config: {agent: upper}}
  - {id: b, type: external, config: {agent: echo}}
  - {id: out, type: output, config: {gather: parents}}
edges:
  - {from: topic, to: a}
  - {from: topic, to: b}
  - {from: a, to: out}
  - {from: b, to: out}
"]);
    let task = site.run("parallel", &[("topic", "\"x\"")]).await;
    completed(&task);
    assert_eq!(text(&task), "X\nx");
}

/// U-19, U-23: a failed *task*, not an error of the call.
#[tokio::test(flavor = "multi_thread")]
async fn a_failed_task_cancels_what_depends_on_it_and_lets_the_rest_finish() {
    let site = TestSite::start(&["
name: half
nodes:
  - {id: topic, type: input}
  - {id: bad, type: external, config: {agent: fails}}
  - {id: after, type: external, config: {agent: echo}}
  - {id: good, type: external, config: {agent: upper}}
  - {id: out, type: output}
edges:
  - {from: topic, to: bad}
  - {from: bad, to: after}
  - {from: after, to: out}
  - {from: topic, to: good}
"]);
    let task = site.run("half", &[("topic", "\"x\"")]).await;
    assert_eq!(task.status.state, TaskState::Failed);
    let word = task.status.message.expect("a reason").text();
    assert!(word.contains("bad") && word.contains("cannot do `x`"), "{word}");
    let view = site.view("half", &task.id).await;
    assert_eq!(
        states(&view),
        [
            ("topic", "completed"),
            ("bad", "failed"),
            ("after", "canceled"),
            ("good", "completed"),
            ("out", "canceled")
        ]
    );
    assert_eq!(site.told(), [("fails".into(), "x".into()), ("upper".into(), "x".into())]);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_an_agent_streams_is_one_text_to_those_after_it() {
    let site = TestSite::start(&["
name: streaming
nodes:
  - {id: topic, type: input}
  - {id: draft, type: external, config: {agent: streams}}
  - {id: again, type: external, config: {agent: upper, prompt: '<{{draft}}>'}}
edges:
  - {from: topic, to: draft}
  - {from: draft, to: again}
"]);
    let task = site.run("streaming", &[("topic", "\"one two three\"")]).await;
    completed(&task);
    assert_eq!(text(&task), "<ONE TWO THREE>");
}

/// After a crash the hub hears several pieces at once, or all of them again.
#[tokio::test(flavor = "multi_thread")]
async fn what_an_agent_streams_is_one_text_however_it_came() {
    let site = TestSite::start(&["
name: growing
nodes:
  - {id: topic, type: input}
  - {id: draft, type: external, config: {agent: grows}}
  - {id: again, type: external, config: {agent: upper, prompt: '<{{draft}}>'}}
edges:
  - {from: topic, to: draft}
  - {from: draft, to: again}
"]);
    for (said, told) in [("\"one two three\"", "<ONE TWO THREE>"), ("\"one two\"", "<ONE TWO>")] {
        let task = site.run("growing", &[("topic", said)]).await;
        completed(&task);
        assert_eq!(text(&task), told);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn words_of_an_agent_are_never_read_as_a_template() {
    let site = TestSite::start(&[SERIAL]);
    let task = site.run("serial", &[("topic", "\"{{topic}} and {{nothing}}\"")]).await;
    completed(&task);
    assert_eq!(text(&task), "ABOUT {{TOPIC}} AND {{NOTHING}}");
}

#[tokio::test(flavor = "multi_thread")]
async fn data_keeps_its_type_from_node_to_node() {
    let site = TestSite::start(&["
name: data
nodes:
  - {id: topic, type: input}
  - {id: made, type: external, config: {agent: json, prompt: '{\"n\": {{topic}}, \"list\": [1]}'}}
  - {id: told, type: external, config: {agent: echo, prompt: 'n={{made.data.n}} {{made.data.list}} {{made.parts[0].n}}'}}
edges:
  - {from: topic, to: made}
  - {from: made, to: told}
"]);
    let task = site.run("data", &[("topic", "7")]).await;
    completed(&task);
    assert_eq!(text(&task), "n=7 [1] 7");
}

#[tokio::test(flavor = "multi_thread")]
async fn edges_follow_their_rules_and_conditions() {
    let site = TestSite::start(&["
name: rules
nodes:
  - {id: topic, type: input}
  - {id: bad, type: external, config: {agent: fails}}
  - {id: rescue, type: external, config: {agent: echo, prompt: 'saved: {{bad.error}}'}}
  - {id: never, type: external, config: {agent: echo}}
  - {id: always, type: external, config: {agent: upper, prompt: '{{topic}}'}}
  - {id: out, type: output, config: {gather: [rescue, always]}}
edges:
  - {from: topic, to: bad}
  - {from: bad, to: rescue, trigger_rule: on_failure}
  - {from: topic, to: never, condition: \"topic == 'other'\"}
  - {from: bad, to: always, trigger_rule: always}
  - {from: rescue, to: out}
  - {from: always, to: out}
  - {from: never, to: out}
"]);
    let task = site.run("rules", &[("topic", "\"x\"")]).await;
    completed(&task);
    assert_eq!(text(&task), "saved: cannot do `x`\nX");
    let view = site.view("rules", &task.id).await;
    assert!(states(&view).contains(&("never", "skipped")));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_loop_runs_until_its_condition_holds() {
    let site = TestSite::start(&["
name: circles
nodes:
  - {id: topic, type: input}
  - {id: grow, type: external, config: {agent: echo, prompt: '{{grow}}{{topic}}'}}
  - {id: check, type: external, config: {agent: echo, prompt: '{{grow}}'}}
  - {id: out, type: output, config: {gather: [check]}}
edges:
  - {from: topic, to: grow}
  - {from: grow, to: check}
  - {from: check, to: grow, loop: {max_iterations: 9, exit_when: 'len(check) >= 3'}}
  - {from: check, to: out}
"]);
    let task = site.run("circles", &[("topic", "\"a\"")]).await;
    completed(&task);
    assert_eq!(text(&task), "aaa");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_list_is_worked_on_item_by_item() {
    let site = TestSite::start(&["
name: list
nodes:
  - {id: topics, type: input}
  - {id: each, type: map, config: {over: '{{topics}}', do: {type: external, config: {agent: upper, prompt: '{{index}}:{{item}}'}}}}
  - {id: out, type: output, config: {gather: [each]}}
edges:
  - {from: topics, to: each}
  - {from: each, to: out}
"]);
    let task = site.run("list", &[("topics", "[\"a\",\"b\",\"c\"]")]).await;
    completed(&task);
    assert_eq!(text(&task), "0:A\n1:B\n2:C");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_workflow_is_a_node_of_another() {
    let site = TestSite::start(&[
        SERIAL,
        "
name: outer
nodes:
  - {id: who, type: input}
  - {id: inner, type: workflow, config: {workflow: serial, inputs: {topic: 'my {{who}}'}}}
edges:
  - {from: who, to: inner}
",
    ]);
    let task = site.run("outer", &[("who", "\"cat\"")]).await;
    completed(&task);
    assert_eq!(text(&task), "ABOUT MY CAT");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_with_missing_or_unknown_inputs_is_refused_by_name() {
    let site = TestSite::start(&[SERIAL]);
    let missing = site.send("serial", &[], None).await.expect_err("no topic").to_string();
    assert!(missing.contains("`topic` is missing"), "{missing}");
    let unknown = site.send("serial", &[("topic", "1"), ("topc", "1")], None).await;
    let unknown = unknown.expect_err("no such input").to_string();
    assert!(unknown.contains("topc"), "{unknown}");
}

#[tokio::test(flavor = "multi_thread")]
async fn two_runs_of_one_workflow_do_not_meet() {
    let site = TestSite::start(&[SERIAL]);
    let (one, two) = ([("topic", "\"a\"")], [("topic", "\"b\"")]);
    let (one, two) = tokio::join!(site.run("serial", &one), site.run("serial", &two));
    assert_eq!((text(&one), text(&two)), ("ABOUT A".into(), "ABOUT B".into()));
}
