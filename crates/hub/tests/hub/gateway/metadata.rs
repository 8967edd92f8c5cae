//! What agents and their callers say beside what A2A has words for: it passes both ways, and stays
//! with the task.

use nuncio_client::Remote;
use nuncio_protocol::{
    dialect::WireForm,
    json::Object,
    message::Message,
    operation::{CancelTaskRequest, Request, Response},
    state::TaskState,
    task::{StreamResponse, Task},
};
use serde_json::{Value, json};

use super::{
    callers::{
        FORMS, ask, at_once, begin, follow, look, message, patiently, rest, somebody, value,
    },
    foreign::{Foreign, said, task},
    world::World,
};

/// What the agent says about its task. The number is one that no double holds.
const USAGE: &str = r#"{"https://example/usage":{"tokens":12345678901234567890}}"#;

fn usage() -> Value {
    serde_json::from_str(USAGE).expect("JSON")
}

fn with_usage(mut task: Value) -> Value {
    task["metadata"] = usage();
    task
}

fn metadata(task: &Task) -> Option<&str> {
    task.metadata.as_ref().map(Object::as_str)
}

async fn ann(world: &World, agent: &Foreign, form: WireForm) -> Remote {
    world.add("foreign", &agent.url()).await;
    world.remote(&world.key("ann").await, "foreign", form)
}

#[tokio::test(flavor = "multi_thread")]
async fn what_an_agent_says_of_its_task_is_in_the_answer_and_stays() {
    let agent = Foreign::start(false, |_, params| {
        let mut task = with_usage(task("COMPLETED", params));
        let history = task["history"].as_array_mut().expect("a list");
        history.push(said("w1", "first I looked it up"));
        vec![json!({ "task": task })]
    })
    .await;
    let world = World::start().await;
    world.add("foreign", &agent.url()).await;
    let key = world.key("ann").await;
    for form in FORMS {
        let ann = world.remote(&key, "foreign", form);
        let answered = begin(&ann, message("hello")).await;
        for task in [look(&ann, &answered.id).await, answered] {
            // Protobuf has no numbers but doubles.
            let is_grpc = matches!(form, WireForm::V1Grpc | WireForm::V03Grpc);
            let found = metadata(&task).unwrap_or_default();
            assert!(is_grpc || found == USAGE, "{}: {task:?}", form.name());
            assert!(found.contains("https://example/usage"), "{}: {task:?}", form.name());
            assert_eq!(task.status.state, TaskState::Completed);
            let words: Vec<_> = task.history.iter().map(Message::text).collect();
            assert_eq!(words, ["hello", "first I looked it up"], "{}", form.name());
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_an_agent_says_of_its_task_in_a_stream_is_heard_and_stays() {
    let agent = Foreign::start(true, |_, params| {
        let ended = json!({ "statusUpdate": {
            "taskId": "their-task", "contextId": "their-context",
            "status": { "state": "TASK_STATE_COMPLETED" }, "metadata": { "only": "the event's" },
        } });
        vec![json!({ "task": with_usage(task("SUBMITTED", params)) }), ended]
    })
    .await;
    let world = World::start().await;
    let ann = ann(&world, &agent, WireForm::V1).await;
    let request = Request::SendStreamingMessage(message("hello"));
    let events = rest(follow(&ann, somebody(), request).await).await;
    let told = events.iter().filter_map(|event| match value(event) {
        StreamResponse::StatusUpdate(update) => update.metadata.as_ref().map(Object::as_str),
        _ => None,
    });
    let expected =
        USAGE.strip_suffix('}').expect("an object").to_owned() + r#","taskMetadata":true}"#;
    assert_eq!(told.collect::<Vec<_>>(), [&*expected, r#"{"only":"the event's"}"#]);
    let StreamResponse::Task(first) = value(&events[0]) else { panic!("{events:?}") };
    let task = look(&ann, &first.id).await;
    assert_eq!((metadata(&task), task.status.state), (Some(USAGE), TaskState::Completed));
}

#[tokio::test(flavor = "multi_thread")]
async fn what_an_agent_says_of_its_task_when_it_is_asked_again_stays() {
    let agent = Foreign::start(false, |method, params| {
        if method == "SendMessage" {
            return vec![json!({ "task": task("WORKING", params) })];
        }
        let mut task = with_usage(task("COMPLETED", params));
        task["history"] = json!([]);
        vec![task]
    })
    .await;
    let world = World::start().await;
    let ann = ann(&world, &agent, WireForm::V1).await;
    let id = begin(&ann, at_once("hello")).await.id;
    let task = patiently(async {
        loop {
            let task = look(&ann, &id).await;
            if task.status.state.is_terminal() {
                return task;
            }
            tokio::task::yield_now().await;
        }
    })
    .await;
    assert_eq!(metadata(&task), Some(USAGE));
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_said_with_a_cancel_gets_to_the_agent_and_its_answer_back() {
    let agent = Foreign::start(false, |method, params| {
        if method == "SendMessage" {
            return vec![json!({ "task": task("INPUT_REQUIRED", params) })];
        }
        let mut task = with_usage(task("CANCELED", params));
        task["history"] = json!([]);
        vec![task]
    })
    .await;
    let world = World::start().await;
    let ann = ann(&world, &agent, WireForm::V1).await;
    let id = begin(&ann, message("hello")).await.id;
    let why = r#"{"https://example/why":"too late"}"#;
    let wish = Some(Object::parse_text(why).expect("an object"));
    let request = CancelTaskRequest { tenant: None, id: id.clone(), metadata: wish };
    let answered = ask(&ann, Request::CancelTask(request)).await;
    let Ok(Response::Task(ended)) = answered else { panic!("{answered:?}") };
    assert_eq!((metadata(&ended), ended.status.state), (Some(USAGE), TaskState::Canceled));
    assert_eq!(metadata(&look(&ann, &id).await), Some(USAGE));
    let [(_, heard)] = &agent.heard("CancelTask")[..] else { panic!("it is told once") };
    assert_eq!(heard["params"]["metadata"], json!({ "https://example/why": "too late" }));
}
