//! T-12: what is sent again is not delivered twice.

use nuncio_client::{Error, Remote};
use nuncio_protocol::{
    dialect::WireForm,
    operation::{Request, Response, SendMessageRequest},
    state::TaskState,
    task::{SendMessageResponse, Task},
};

use super::{
    agents::{Served, Skilled},
    callers::{FORMS, keyed, message, patiently},
    cutter::{Cutter, Fault},
    hostile::{Hostile, events},
    stage::Stage,
    world::World,
};

/// A hub, an agent, and a way between them that breaks.
struct Scene {
    world: World,
    stage: Stage,
    ann: Remote,
    _served: Served,
    _cutter: Cutter,
}

impl Scene {
    async fn new(form: WireForm, skilled: Skilled, faults: &[Fault]) -> Self {
        let world = World::start().await;
        let stage = Stage::default();
        let mut cutter = Cutter::new(faults.iter().copied()).await;
        let served = Served::behind(cutter.address, form, skilled, &stage).await;
        cutter.lead_to(served.address);
        world.add("script", &served.url()).await;
        let ann = world.key("ann").await;
        let ann = world.remote(&ann, "script", WireForm::V1);
        Self { world, stage, ann, _served: served, _cutter: cutter }
    }
}

/// Sends a message under a key, as often as somebody does who is told that it failed.
async fn insist(remote: &Remote, key: &str, request: &SendMessageRequest) -> Result<Task, Error> {
    let mut last = None;
    for _ in 0..3 {
        let request = Request::SendMessage(request.clone());
        match patiently(remote.call(keyed(key), request)).await {
            Ok(answered) => match answered.into_response().expect("it can be read") {
                Response::SendMessage(SendMessageResponse::Task(task)) => return Ok(task),
                other => panic!("no task, but {other:?}"),
            },
            Err(error) => last = Some(error),
        }
    }
    Err(last.expect("it was tried"))
}

/// A fault, and what comes of a message that meets it.
async fn check(fault: Fault, skilled: Skilled) {
    for form in FORMS {
        let what = format!("{fault:?}, {} {skilled:?}", form.name());
        let scene = Scene::new(form, skilled, &[fault]).await;
        let request = message("once:x");
        let outcome = insist(&scene.ann, "key", &request).await;
        let begun = scene.stage.begun("x");
        assert!(begun <= 1, "{what}: delivered {begun} times: {outcome:?}");
        let task = outcome.unwrap_or_else(|error| panic!("{what}: {error}"));
        match task.status.state {
            TaskState::Completed => assert_eq!(begun, 1, "{what}"),
            TaskState::Failed => {
                assert!(skilled != Skilled::Resumes, "{what}: who knows keys can be asked again");
                let why = task.status.message.as_ref().map(|message| message.text());
                let why = why.unwrap_or_default();
                assert!(why.contains("whether the agent got"), "{what}: {why}");
            }
            other => panic!("{what}: {other:?}"),
        }
        // Whoever asks once more is told the same.
        let again = insist(&scene.ann, "key", &request).await.expect("it is known");
        assert_eq!((again.id, again.status.state), (task.id, task.status.state), "{what}");
        let begun = scene.stage.begun("x");
        assert!(begun <= 1, "{what}: delivered {begun} times");
        drop(scene.world);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn t12_a_fault_before_the_body_is_sent_delivers_once_at_most() {
    for skilled in [Skilled::Resumes, Skilled::Streams, Skilled::Answers] {
        check(Fault::AtOnce, skilled).await;
        check(Fault::InRequest, skilled).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn t12_a_fault_after_the_body_is_sent_delivers_once() {
    for skilled in [Skilled::Resumes, Skilled::Streams, Skilled::Answers] {
        check(Fault::InsteadOfAnswer, skilled).await;
    }
}

/// A stream that begins and says nothing leaves it open whether the message was taken.
#[tokio::test(flavor = "multi_thread")]
async fn t12_a_stream_without_a_word_is_not_asked_for_twice() {
    let world = World::start().await;
    let hostile = Hostile::start(|request| events(request, &[])).await;
    hostile.join(&world, "1.0").await;
    let ann = world.key("ann").await;
    let ann = world.remote(&ann, "hostile", WireForm::V1);
    let task = insist(&ann, "key", &message("hello")).await.expect("it is known");
    assert_eq!(task.status.state, TaskState::Failed, "{task:?}");
    assert_eq!(hostile.methods(), ["SendStreamingMessage"]);
}

/// What surely never left may be sent again, under the same key too.
#[tokio::test(flavor = "multi_thread")]
async fn t12_an_agent_that_is_not_there_gets_the_message_once_it_is() {
    let world = World::with(|settings| settings.options.breaker.in_a_row = 1_000).await;
    let stage = Stage::default();
    let mut served = Served::script(WireForm::V1, Skilled::Streams, &stage).await;
    world.add("script", &served.url()).await;
    let ann = world.key("ann").await;
    let ann = world.remote(&ann, "script", WireForm::V1);
    let address = served.stop().await;
    let error = insist(&ann, "key", &message("once:x")).await.expect_err("nobody is there");
    assert!(error.peer().is_some_and(|error| error.message().contains("connect")), "{error}");
    let _served = Served::at(address, WireForm::V1, Skilled::Streams, &stage).await;
    let task = insist(&ann, "key", &message("once:x")).await.expect("it is there");
    assert_eq!((task.status.state, stage.begun("x")), (TaskState::Completed, 1));
}
