//! Nodes that ask, and what is answered.

use nuncio_protocol::{
    json::{Object, Raw},
    message::Message,
    state::TaskState,
};

use nuncio_workflow::runner::Settings;

use super::site::{TestSite, completed, text};

const ASKING: &str = "
name: asking
nodes:
  - {id: topic, type: input}
  - {id: check, type: external, config: {agent: asks, prompt: 'is {{topic}} right'}}
  - {id: out, type: output, config: {gather: parents}}
edges:
  - {from: topic, to: check}
  - {from: check, to: out}
";

#[tokio::test(flavor = "multi_thread")]
async fn a_question_of_a_node_is_the_runs_own_and_its_answer_goes_back() {
    let site = TestSite::start(&[ASKING]);
    let task = site.run("asking", &[("topic", "\"it\"")]).await;
    assert_eq!(task.status.state, TaskState::InputRequired);
    let question = task.status.message.expect("a question");
    assert_eq!(question.text(), "is it right?");
    let task = site.say("asking", &task.id, Message::user("yes")).await;
    completed(&task);
    assert_eq!(text(&task), "heard yes");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_question_from_deep_within_comes_up_and_its_answer_goes_down() {
    let site = TestSite::start(&[
        ASKING,
        "
name: outer
nodes:
  - {id: inner, type: workflow, config: {workflow: asking, inputs: {topic: all}}}
",
    ]);
    let task = site.run("outer", &[]).await;
    assert_eq!(task.status.state, TaskState::InputRequired);
    assert_eq!(task.status.message.expect("a question").text(), "is all right?");
    let task = site.say("outer", &task.id, Message::user("surely")).await;
    completed(&task);
    assert_eq!(text(&task), "heard surely");
}

#[tokio::test(flavor = "multi_thread")]
async fn of_several_questions_a_message_may_name_the_one_it_answers() {
    let site = TestSite::start(&["
name: two
nodes:
  - {id: a, type: external, config: {agent: asks, prompt: a}}
  - {id: b, type: external, config: {agent: asks, prompt: b}}
  - {id: out, type: output, config: {gather: parents}}
edges:
  - {from: a, to: out}
  - {from: b, to: out}
"]);
    let run = site.begin("two", &[]).await;
    site.until("two", &run, |view| view.questions.len() == 2).await;
    let named = Message {
        metadata: Some(Object::from_members([("node", Raw::string("b"))])),
        ..Message::user("for b")
    };
    site.say("two", &run, named).await;
    site.until("two", &run, |view| view.questions.len() == 1).await;
    let task = site.say("two", &run, Message::user("for a")).await;
    completed(&task);
    assert_eq!(text(&task), "heard for a\nheard for b");
}

const APPROVAL: &str = "
name: approval
nodes:
  - {id: topic, type: input}
  - {id: ok, type: approval, config: {prompt: 'Publish {{topic}}?'}}
  - {id: done, type: external, config: {agent: upper, prompt: '{{topic}}'}}
edges:
  - {from: topic, to: ok}
  - {from: ok, to: done}
";

#[tokio::test(flavor = "multi_thread")]
async fn a_person_approves() {
    let site = TestSite::start(&[APPROVAL]);
    let task = site.run("approval", &[("topic", "\"it\"")]).await;
    assert_eq!(task.status.state, TaskState::InputRequired);
    assert_eq!(task.status.message.expect("a question").text(), "Publish it?");
    let again = site.say("approval", &task.id, Message::user("hmm")).await;
    assert_eq!(again.status.state, TaskState::InputRequired);
    let told = again.status.message.expect("what can be said").text();
    assert_eq!(told, "answer one of: approve, reject");
    let task = site.say("approval", &task.id, Message::user("yes")).await;
    completed(&task);
    assert_eq!(text(&task), "IT");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_question_goes_on_naming_its_options() {
    let release = "
name: release
nodes:
  - {id: ok, type: approval, config: {prompt: Release it?, options: [ship, wait]}}
";
    let site = TestSite::start(&[release]);
    let task = site.run("release", &[]).await;
    let again = site.say("release", &task.id, Message::user("hmm")).await;
    for task in [task, again] {
        let metadata = task.status.message.expect("a question").metadata.expect("it has some");
        let options: Vec<String> = metadata.get("options").expect("options").parse().unwrap();
        assert_eq!(options, ["ship", "wait"]);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_person_rejects() {
    let site = TestSite::start(&[APPROVAL]);
    let task = site.run("approval", &[("topic", "\"it\"")]).await;
    let task = site.say("approval", &task.id, Message::user("no: too long")).await;
    assert_eq!(task.status.state, TaskState::Failed);
    assert!(task.status.message.expect("why").text().contains("too long"));
    assert!(site.told().is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn only_what_is_no_option_of_an_approval_is_objected_to() {
    let outer = "
name: outer
nodes:
  - {id: inner, type: workflow, config: {workflow: approval, inputs: {topic: all}}}
";
    let site = TestSite::start(&[ASKING, APPROVAL, outer]);
    let unclear = Some("answer one of: approve, reject".to_owned());
    for (workflow, expected) in [("approval", &unclear), ("outer", &unclear), ("asking", &None)] {
        let inputs: &[_] = if workflow == "outer" { &[] } else { &[("topic", "\"it\"")] };
        let task = site.run(workflow, inputs).await;
        for text in ["", "hmm", "I approve of nothing"] {
            let object = site.objection(workflow, &task.id, &Message::user(text)).await;
            assert_eq!(object, *expected, "{workflow}: `{text}`");
        }
        for text in ["yes", "Approved: well done", "no"] {
            let object = site.objection(workflow, &task.id, &Message::user(text)).await;
            assert_eq!(object, None, "{workflow}: `{text}`");
        }
        let task = site.say(workflow, &task.id, Message::user("yes")).await;
        completed(&task);
        let late = site.objection(workflow, &task.id, &Message::user("hmm")).await;
        assert_eq!(late, None, "{workflow} asks nothing any more");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_that_names_the_node_of_a_run_within_goes_down_too() {
    let outer = "
name: outer
nodes:
  - {id: inner, type: workflow, config: {workflow: approval, inputs: {topic: all}}}
";
    let site = TestSite::start(&[APPROVAL, outer]);
    let task = site.run("outer", &[]).await;
    let named = Message {
        metadata: Some(Object::from_members([("node", Raw::string("inner"))])),
        ..Message::user("yes")
    };
    let task = site.say("outer", &task.id, named).await;
    completed(&task);
    assert_eq!(text(&task), "ALL");
}

/// R24, in one process: what waits for a person waits through a restart.
#[tokio::test(flavor = "multi_thread")]
async fn questions_survive_a_restart() {
    let site = TestSite::start(&[APPROVAL, ASKING]);
    let approval = site.run("approval", &[("topic", "\"it\"")]).await;
    let asking = site.run("asking", &[("topic", "\"it\"")]).await;
    let site = site.restart().await;
    let task = site.say("approval", &approval.id, Message::user("yes")).await;
    completed(&task);
    let task = site.say("asking", &asking.id, Message::user("yes")).await;
    completed(&task);
    assert_eq!(text(&task), "heard yes");
}

/// Limits that leave room for one call.
fn narrow() -> Settings {
    let mut settings = Settings::default();
    settings.over_all = 1;
    settings
}

#[tokio::test(flavor = "multi_thread")]
async fn whoever_waits_for_an_answer_takes_no_room() {
    let site = TestSite::start_with(narrow(), &[ASKING]);
    let one = site.run("asking", &[("topic", "\"one\"")]).await;
    let two = site.run("asking", &[("topic", "\"two\"")]).await;
    assert_eq!(two.status.state, TaskState::InputRequired);
    for task in [one, two] {
        completed(&site.say("asking", &task.id, Message::user("yes")).await);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_within_a_run_takes_room_for_its_calls_alone() {
    let nested = "
name: outer
nodes:
  - {id: inner, type: workflow, config: {workflow: inner}}
";
    let inner = "
name: inner
nodes:
  - {id: shout, type: external, config: {agent: upper, prompt: hey}}
";
    let site = TestSite::start_with(narrow(), &[nested, inner]);
    let task = site.run("outer", &[]).await;
    completed(&task);
    assert_eq!(text(&task), "HEY");
}
