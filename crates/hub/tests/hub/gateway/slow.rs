//! R14: agents that hang, trickle or go silent.

use std::{convert::Infallible, time::Duration};

use axum::{body::Body, response::Response};
use bytes::Bytes;
use futures_util::{StreamExt as _, future::join_all, stream};
use http::HeaderValue;
use nuncio_client::{Options, Remote};
use nuncio_protocol::{
    dialect::WireForm,
    error::ErrorKind,
    operation::{Request, Response as Answer},
    state::TaskState,
};
use serde_json::Value;
use tokio::time::{Instant, sleep};

use super::{
    agents::{Served, Skilled},
    callers::{
        FORMS, ask, at_once, begin, behind, cancel, follow, look, message, next, patiently,
        refused, result, somebody, subscribe, task_of, value,
    },
    hostile::{Hostile, events, task},
    stage::Stage,
    world::World,
};

/// Says the head of a stream, and then nothing for ever.
fn hang(_: &Value) -> Response {
    endless(stream::pending().boxed())
}

/// Says that it is there, again and again, and never what it does.
fn trickle(_: &Value) -> Response {
    endless(
        stream::unfold((), |()| async {
            sleep(Duration::from_millis(20)).await;
            Some((Bytes::from_static(b":\n"), ()))
        })
        .boxed(),
    )
}

/// Begins, and goes silent.
fn go_silent(request: &Value) -> Response {
    if request["method"] != "SendStreamingMessage" {
        return hang(request);
    }
    let (_, begun) = events(request, &[task("TASK_STATE_WORKING")]).into_parts();
    let begun = begun.into_data_stream().map(Result::unwrap_or_default);
    endless(begun.chain(stream::pending()).boxed())
}

fn endless(bytes: stream::BoxStream<'static, Bytes>) -> Response {
    let body = Body::from_stream(bytes.map(Ok::<_, Infallible>));
    let response = Response::builder().header("content-type", "text/event-stream");
    response.body(body).expect("a response")
}

/// A hub with an agent that is slow and one that is not.
struct Scene {
    world: World,
    ann: String,
    _slow: Hostile,
    _healthy: Served,
}

impl Scene {
    async fn new(script: fn(&Value) -> Response) -> Self {
        let world = World::with(|settings| {
            settings.limits.in_flight = 4;
            settings.limits.queue = 2;
            settings.limits.queue_wait = Duration::from_millis(200);
            settings.cancel = Duration::from_millis(400);
            settings.lost = Duration::from_millis(300);
            settings.limits.clocks.idle = Duration::from_millis(300);
            settings.options.resumes.pause = Duration::from_millis(1);
            settings.options.resumes.in_vain = 2;
        })
        .await;
        let slow = Hostile::start(script).await;
        slow.join(&world, "1.0").await;
        let stage = Stage::default();
        let healthy = Served::script(WireForm::V1, Skilled::Resumes, &stage).await;
        world.add("healthy", &healthy.url()).await;
        let ann = world.key("ann").await;
        Self { world, ann, _slow: slow, _healthy: healthy }
    }

    /// Calls the slow one, and says for how long it waits.
    fn impatient(&self, form: WireForm, millis: u64) -> Remote {
        let mut options = Options::default();
        let value = HeaderValue::try_from(format!("Bearer {}", self.ann)).expect("a key is text");
        options.headers.insert(http::header::AUTHORIZATION, value);
        options.headers.insert("a2a-request-timeout", HeaderValue::from(millis));
        self.world.remote_with("hostile", form, options)
    }
}

/// However an agent fails to answer, its caller is answered in the time that it gave, and those
/// who call another agent do not notice.
async fn check(script: fn(&Value) -> Response) -> String {
    let scene = Scene::new(script).await;
    let healthy = scene.world.remote(&scene.ann, "healthy", WireForm::V1);
    let usual = rounds(&healthy).await;

    // As many as it takes, as many as wait for their turn, and more.
    let stuck = scene.world.remote(&scene.ann, "hostile", WireForm::V1);
    let stuck = join_all((0..4).map(|_| begin(&stuck, at_once("hello")))).await;
    let waiting = FORMS.map(|form| scene.impatient(form, 300));
    let waiting = join_all(waiting.iter().map(|remote| {
        let request = Request::SendMessage(message("hello"));
        patiently(remote.call(somebody(), request))
    }));
    let (answers, meanwhile) = tokio::join!(waiting, rounds(&healthy));
    for answer in answers {
        match answer {
            // Over its limit a wait brings the task as it stands.
            Ok(_) => {}
            Err(error) => {
                let error = error.peer().cloned().unwrap_or_else(|| panic!("{error:?}"));
                assert_eq!(error.kind(), ErrorKind::Unavailable, "{error}");
            }
        }
    }
    let caller = scene.world.remote(&scene.ann, "hostile", WireForm::V1);
    for task in stuck {
        let ended = ask(&caller, cancel(&task.id)).await;
        match ended {
            Ok(Answer::Task(ended)) => assert!(ended.status.state.is_terminal(), "{ended:?}"),
            // It does not know how to stop, or was given up before.
            Err(_) => {
                let mut events = follow(&caller, behind(0), subscribe(&task.id)).await;
                while let Some(event) = patiently(events.next()).await {
                    event.expect("no error");
                }
                assert!(look(&caller, &task.id).await.status.state.is_terminal());
            }
            other => panic!("no task, but {other:?}"),
        }
    }
    format!("R14: a healthy agent answers in {usual:?}, and beside a slow one in {meanwhile:?}")
}

/// Calls a healthy agent now and then; returns how long the slowest call took.
async fn rounds(remote: &Remote) -> Duration {
    let mut slowest = Duration::ZERO;
    for _ in 0..40 {
        let begun = Instant::now();
        let task = begin(remote, message("well")).await;
        assert_eq!(result(&task), "well");
        slowest = slowest.max(begun.elapsed());
    }
    slowest
}

#[tokio::test(flavor = "multi_thread")]
async fn r14_an_agent_that_hangs_harms_nobody_else() {
    println!("{}", check(hang).await);
}

#[tokio::test(flavor = "multi_thread")]
async fn r14_an_agent_that_trickles_harms_nobody_else() {
    println!("{}", check(trickle).await);
}

#[tokio::test(flavor = "multi_thread")]
async fn r14_an_agent_that_goes_silent_harms_nobody_else() {
    println!("{}", check(go_silent).await);
}

/// Who is silent for too long is given up, and whoever follows is told why.
#[tokio::test(flavor = "multi_thread")]
async fn r14_an_agent_that_goes_silent_is_given_up_in_the_end() {
    let scene = Scene::new(go_silent).await;
    let remote = scene.world.remote(&scene.ann, "hostile", WireForm::V1);
    let request = Request::SendStreamingMessage(message("hello"));
    let mut events = follow(&remote, somebody(), request).await;
    let first = next(&mut events).await;
    let id = task_of(&first).clone();
    let mut last = first;
    while let Some(event) = patiently(events.next()).await {
        last = event.expect("no error");
    }
    assert_eq!(value(&last).state(), Some(TaskState::Failed), "{last:?}");
    let task = look(&remote, &id).await;
    let why = task.status.message.as_ref().map(|message| message.text()).unwrap_or_default();
    assert!(why.contains("resumes brought nothing new"), "{why}");
    assert_eq!(refused(&remote, subscribe(&id)).await.kind(), ErrorKind::UnsupportedOperation);
}

/// Who finds all turns taken is told so, and when to come back.
#[tokio::test(flavor = "multi_thread")]
async fn r14_who_finds_the_queue_full_is_told_when_to_come_back() {
    let scene = Scene::new(hang).await;
    let remote = scene.world.remote(&scene.ann, "hostile", WireForm::V1);
    join_all((0..4).map(|_| begin(&remote, at_once("hello")))).await;
    let error = refused(&remote, Request::SendMessage(message("hello"))).await;
    assert_eq!(error.kind(), ErrorKind::Unavailable, "{error}");
    assert!(error.message().contains("4 calls under way"), "{error}");
    assert!(error.retry_after().is_some(), "{error:?}");
}
