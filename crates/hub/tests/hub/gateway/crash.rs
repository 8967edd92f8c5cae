//! A hub that ends between the message and the agent's first word.

use nuncio_hub::gateway::Gateway;
use nuncio_protocol::{
    dialect::WireForm,
    error::Error,
    ids::{ContextId, Tenant},
    json::{Object, Raw},
    operation::{SendMessageConfiguration, SendMessageRequest},
    service::{A2aService as _, CallContext, Caller},
    state::TaskState,
    task::{SendMessageResponse, Task},
};

use super::{
    agents::{Served, Skilled},
    callers::{FORMS, message, patiently},
    stage::Stage,
    world::World,
};

/// What agents can do.
const ALL: [Skilled; 4] =
    [Skilled::Resumes, Skilled::KnowsKeys, Skilled::Streams, Skilled::Answers];

/// Ann calls the script, with a key.
fn keyed(key: &str) -> CallContext {
    CallContext {
        organisation: Some("acme".into()),
        tenant: Tenant::parse("script").ok(),
        idempotency_key: Some(key.to_owned()),
        ..CallContext::new(Caller::User("ann".into()))
    }
}

/// A message that says more about itself than it must.
fn wordy(text: &str) -> SendMessageRequest {
    let mut request = message(text);
    request.metadata = Some(Object::from_members([("why", Raw::string("to prove it"))]));
    let wishes = SendMessageConfiguration {
        accepted_output_modes: vec!["text/plain".to_owned()],
        return_immediately: true,
        ..Default::default()
    };
    request.configuration = Some(wishes);
    request
}

async fn send(gateway: &Gateway, key: &str, request: &SendMessageRequest) -> Result<Task, Error> {
    let answer = patiently(gateway.send_message(keyed(key), request.clone())).await?;
    match answer.into_value().expect("it can be read") {
        SendMessageResponse::Task(task) => Ok(task),
        SendMessageResponse::Message(message) => panic!("no task, but {message:?}"),
    }
}

/// Sends again until the task has ended or asks for something.
async fn settled(gateway: &Gateway, key: &str, request: &SendMessageRequest) -> Task {
    patiently(async {
        loop {
            let task = send(gateway, key, request).await.expect("it is known");
            let id = nuncio_protocol::operation::GetTaskRequest {
                tenant: None,
                id: task.id,
                history_length: None,
            };
            let task = gateway.get_task(keyed(key), id).await.expect("it is there");
            let task = task.into_value().expect("it can be read");
            if task.status.state.is_terminal() || task.status.state.is_interrupted() {
                return task;
            }
            tokio::task::yield_now().await;
        }
    })
    .await
}

/// A hub and a script of one kind.
async fn scene(form: WireForm, skilled: Skilled) -> (World, Stage, Served) {
    let world = World::start().await;
    let stage = Stage::default();
    let served = Served::script(form, skilled, &stage).await;
    world.add("script", &served.url()).await;
    (world, stage, served)
}

/// The hub ends when the agent has the message, and has not said a word about it.
async fn check(form: WireForm, skilled: Skilled, waits: bool) {
    let what = format!("{} {skilled:?}, waits: {waits}", form.name());
    let (world, stage, _served) = scene(form, skilled).await;
    // Who has never answered is not asked briefly.
    settled(world.gateway(), "before", &wordy("once:before")).await;
    let mut request = if waits { message("once:first") } else { wordy("once:first") };
    request.message.context_id = ContextId::parse("our-own").ok();
    stage.hold_answers(true);
    let sent = world.gateway().clone();
    let sent = tokio::spawn({
        let request = request.clone();
        async move { send(&sent, "first", &request).await }
    });
    stage.has_stopped("first").await;
    if !waits {
        sent.await.expect("nobody panics").expect("it is taken");
    }
    let gateway = world.next_gateway().await;
    stage.hold_answers(false);
    let task = settled(&gateway, "first", &request).await;
    assert_eq!(stage.begun("first"), 1, "{what}: {task:?}");
    let why = task.status.message.as_ref().map(|message| message.text()).unwrap_or_default();
    match skilled {
        Skilled::Resumes | Skilled::KnowsKeys => {
            assert_eq!(task.status.state, TaskState::Completed, "{what}: {why}");
        }
        Skilled::Streams | Skilled::Answers => {
            assert_eq!(task.status.state, TaskState::Failed, "{what}");
            assert!(why.contains("nobody knows whether the agent got it"), "{what}: {why}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn r01_a_message_that_was_handed_over_when_the_hub_ended_is_done_once() {
    for skilled in ALL {
        for form in FORMS {
            check(form, skilled, false).await;
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn r01_a_message_whose_answer_was_waited_for_is_done_once() {
    for form in FORMS {
        check(form, Skilled::Resumes, true).await;
    }
}

/// The same with an answer to a question: the task itself says whether it has got there.
async fn check_answer(form: WireForm, skilled: Skilled) {
    let what = format!("{} {skilled:?}", form.name());
    let (world, stage, _served) = scene(form, skilled).await;
    let asked = settled(world.gateway(), "question", &wordy("ask:")).await;
    assert_eq!(asked.status.state, TaskState::InputRequired, "{what}");
    let mut request = wordy("once:answer");
    request.message.task_id = Some(asked.id.clone());
    stage.hold_answers(true);
    send(world.gateway(), "answer", &request).await.expect("it is taken");
    stage.has_stopped("answer").await;
    let gateway = world.next_gateway().await;
    stage.hold_answers(false);
    let task = settled(&gateway, "answer", &request).await;
    assert_eq!((task.id, task.status.state), (asked.id, TaskState::Completed), "{what}");
    assert_eq!(stage.begun("answer"), 1, "{what}");
}

#[tokio::test(flavor = "multi_thread")]
async fn r01_an_answer_that_was_handed_over_when_the_hub_ended_is_heard_once() {
    for skilled in ALL {
        for form in FORMS {
            check_answer(form, skilled).await;
        }
    }
}
