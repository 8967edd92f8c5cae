//! Callers who wait for the end, and agents that are asked for it before they are followed.

use nuncio_client::Remote;
use nuncio_protocol::{
    dialect::WireForm,
    error::ErrorKind,
    ids::TaskId,
    message::{Message, Part, Role},
    operation::{Request, Response, SendMessageRequest},
    state::TaskState,
    task::Task,
};
use tokio::task::JoinHandle;

use super::{
    agents::{Served, Skilled},
    callers::{FORMS, ask, begin, cancel, look, message, refused, result},
    cutter::{Cutter, Fault},
    stage::{Calls, Stage, counted},
    world::World,
};

/// A hub and an agent that knows keys, called for an answer before.
struct Scene {
    ann: Remote,
    stage: Stage,
    form: WireForm,
    _world: World,
    _served: Served,
    cutter: Option<Cutter>,
}

impl Scene {
    async fn new(form: WireForm) -> Self {
        let stage = Stage::default();
        let served = Served::script(form, Skilled::Resumes, &stage).await;
        Self::of(form, stage, served, None).await
    }

    async fn of(form: WireForm, stage: Stage, served: Served, cutter: Option<Cutter>) -> Self {
        let world = World::start().await;
        world.add("script", &served.url()).await;
        let ann = world.remote(&world.key("ann").await, "script", WireForm::V1);
        // Whether it speaks as its card says is found out by a call like all others.
        begin(&ann, message("hello")).await;
        stage.take_calls();
        Self { ann, stage, form, _world: world, _served: served, cutter }
    }

    /// Sends a message whose end is waited for meanwhile.
    fn send(&self, text: &str) -> JoinHandle<Task> {
        let (ann, request) = (self.ann.clone(), message(text));
        tokio::spawn(async move { begin(&ann, request).await })
    }

    /// Returns the hub's name of the task that the agent was called for last.
    fn task(&self) -> TaskId {
        let parent = self.stage.parent().expect("it was called");
        TaskId::parse(&parent).expect("a task")
    }
}

fn said(task: &Task) -> Vec<String> {
    task.history.iter().map(Message::text).collect()
}

fn answer_to(task: &Task, text: &str) -> SendMessageRequest {
    let mut request = message(text);
    request.message.task_id = Some(task.id.clone());
    request
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_in_a_moment_is_taken_whole() {
    for form in FORMS {
        let scene = Scene::new(form).await;
        let task = begin(&scene.ann, message("say:x:one,two")).await;
        assert_eq!(task.status.state, TaskState::Completed, "{}", form.name());
        assert_eq!(result(&task), "said", "{}", form.name());
        assert_eq!(said(&task), ["say:x:one,two", "one", "two"], "{}", form.name());
        let calls = scene.stage.take_calls();
        assert_eq!(calls, Calls { asked: 1, followed: 0 }, "{}", form.name());
        let later = look(&scene.ann, &task.id).await;
        assert_eq!(said(&later), said(&task), "{}", form.name());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_said_before_is_not_said_again() {
    for form in FORMS {
        let scene = Scene::new(form).await;
        let asked = begin(&scene.ann, message("ask:")).await;
        assert_eq!(asked.status.state, TaskState::InputRequired, "{}", form.name());
        let asked = begin(&scene.ann, answer_to(&asked, "ask:again")).await;
        assert_eq!(asked.status.state, TaskState::InputRequired, "{}", form.name());
        let task = begin(&scene.ann, answer_to(&asked, "say:x:one,two")).await;
        assert_eq!(task.status.state, TaskState::Completed, "{}", form.name());
        let question = "which one?";
        let all = ["ask:", question, "ask:again", question, "say:x:one,two", "one", "two"];
        assert_eq!(said(&task), all, "{}", form.name());
        let calls = scene.stage.take_calls();
        assert_eq!(calls, Calls { asked: 3, followed: 0 }, "{}", form.name());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_identifier_of_a_message_may_be_used_again_within_a_task() {
    let scene = Scene::new(WireForm::V1).await;
    let first = message("ask:");
    let asked = begin(&scene.ann, first.clone()).await;
    let mut second = answer_to(&asked, "say:x:one");
    second.message.message_id = first.message.message_id;
    let task = begin(&scene.ann, second).await;
    assert_eq!(task.status.state, TaskState::Completed);
    assert_eq!(scene.stage.begun("x"), 1);
}

/// More than is asked for of a task that is not new.
#[tokio::test(flavor = "multi_thread")]
async fn who_says_too_much_is_followed() {
    let scene = Scene::new(WireForm::V1).await;
    let asked = begin(&scene.ann, message("ask:")).await;
    let words: Vec<String> = (0..40).map(|word| word.to_string()).collect();
    let task = begin(&scene.ann, answer_to(&asked, &format!("say:x:{}", words.join(",")))).await;
    assert_eq!(task.status.state, TaskState::Completed);
    assert_eq!(said(&task)[3..], words);
    assert_eq!(scene.stage.take_calls(), Calls { asked: 2, followed: 1 });
    assert_eq!(scene.stage.begun("x"), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn who_takes_longer_is_followed_in_the_same_task() {
    for form in FORMS {
        let scene = Scene::new(form).await;
        let sent = scene.send("gated:x:3");
        scene.stage.is_followed().await;
        scene.stage.open("x", 1);
        scene.stage.open("x", 2);
        let task = sent.await.expect("nobody panics");
        assert_eq!(task.status.state, TaskState::Completed, "{}", scene.form.name());
        assert_eq!(result(&task), counted(3), "{}", scene.form.name());
        assert_eq!(scene.stage.begun("x"), 1, "{}", scene.form.name());
        let calls = scene.stage.take_calls();
        assert_eq!(calls, Calls { asked: 1, followed: 1 }, "{}", scene.form.name());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_that_takes_longer_is_followed_too() {
    for form in FORMS {
        let scene = Scene::new(form).await;
        let asked = begin(&scene.ann, message("ask:")).await;
        let (ann, request) = (scene.ann.clone(), answer_to(&asked, "gated:x:2"));
        let sent = tokio::spawn(async move { begin(&ann, request).await });
        scene.stage.is_followed().await;
        scene.stage.open("x", 2);
        let task = sent.await.expect("nobody panics");
        assert_eq!((task.id, task.status.state), (asked.id, TaskState::Completed));
        assert_eq!(scene.stage.begun("x"), 1, "{}", scene.form.name());
    }
}

/// Cancels a task in the moment in which its answer is waited for, or behind it.
async fn check_cancel(form: WireForm, is_followed: bool) {
    let scene = Scene::new(form).await;
    let sent = scene.send("hold:x");
    scene.stage.runs("x").await;
    if is_followed {
        scene.stage.is_followed().await;
    }
    match ask(&scene.ann, cancel(&scene.task())).await {
        Ok(Response::Task(task)) => assert_eq!(task.status.state, TaskState::Canceled),
        other => panic!("{}: no task, but {other:?}", form.name()),
    }
    scene.stage.has_stopped("x").await;
    let task = sent.await.expect("nobody panics");
    assert_eq!(task.status.state, TaskState::Canceled, "{}", form.name());
    assert_eq!(scene.stage.begun("x"), 1, "{}", form.name());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cancel_reaches_whoever_was_asked() {
    for form in FORMS {
        check_cancel(form, false).await;
        check_cancel(form, true).await;
    }
}

/// A scene in which the way to the agent breaks more often than a call is made again.
async fn with_answers_lost() -> Scene {
    let stage = Stage::default();
    let mut cutter = Cutter::new([]).await;
    let served = Served::behind(cutter.address, WireForm::V1, Skilled::Resumes, &stage).await;
    cutter.lead_to(served.address);
    let scene = Scene::of(WireForm::V1, stage, served, Some(cutter)).await;
    let cutter = scene.cutter.as_ref().expect("it is there");
    cutter.cut_all([Fault::InsteadOfAnswer; 6]);
    scene
}

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_that_may_have_the_message_is_looked_for_again() {
    let scene = with_answers_lost().await;
    let task = begin(&scene.ann, message("once:x")).await;
    assert_eq!(task.status.state, TaskState::Completed, "{task:?}");
    assert_eq!(scene.stage.begun("x"), 1);
}

/// Had the agent taken the message the first time, it would not refuse it the second.
#[tokio::test(flavor = "multi_thread")]
async fn what_an_agent_refuses_when_it_is_asked_again_is_refused() {
    let scene = with_answers_lost().await;
    let picture = Part::raw(&b"\x89PNG"[..]).with_media_type("image/png");
    let request = SendMessageRequest::new(Message::new(Role::User, picture));
    let error = refused(&scene.ann, Request::SendMessage(request)).await;
    assert_eq!(error.kind(), ErrorKind::ContentTypeNotSupported, "{error}");
}
