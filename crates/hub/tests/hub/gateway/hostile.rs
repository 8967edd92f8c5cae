//! Agents that do not do as they should: bounded, explained, and nobody else is harmed.

use std::{
    convert::Infallible,
    net::SocketAddr,
    sync::{Arc, Mutex},
    time::Duration,
};

use axum::{Router, body::Body, extract::State, response::Response};
use bytes::Bytes;
use futures_util::stream;
use nuncio_client::{Error, Remote};
use nuncio_protocol::{
    dialect::WireForm,
    operation::{Request, Response as Answer},
    state::TaskState,
    task::{SendMessageResponse, StreamResponse},
    time::Timestamp,
};
use serde_json::{Value, json};
use tokio::{net::TcpListener, task::JoinHandle};

use super::{
    agents::{Served, Skilled},
    callers::{ask, begin, follow, look, message, rest, result, somebody, task_of, value},
    stage::Stage,
    world::World,
};

/// What the agent answers to a request of JSON-RPC.
type Script = fn(&Value) -> Response;

/// An agent that answers as it likes, for as long as this is held.
pub(crate) struct Hostile {
    pub(crate) address: SocketAddr,
    requests: Arc<Mutex<Vec<Value>>>,
    serving: JoinHandle<()>,
}

impl Hostile {
    pub(crate) async fn start(script: Script) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let address = listener.local_addr().expect("a bound address");
        let requests = Arc::<Mutex<Vec<Value>>>::default();
        let heard = Arc::clone(&requests);
        let answer = move |State(script): State<Script>, body: Bytes| async move {
            let request: Value = serde_json::from_slice(&body).unwrap_or_default();
            let response = script(&request);
            heard.lock().expect("nobody panics with it").push(request);
            response
        };
        let router = Router::new().fallback(answer).with_state(script);
        let serving = tokio::spawn(async move {
            axum::serve(listener, router).await.expect("it serves");
        });
        Self { address, requests, serving }
    }

    /// Brings it in as one that speaks a version of JSON-RPC.
    pub(crate) async fn join(&self, world: &World, version: &str) {
        let url = format!("http://{}/", self.address);
        let card = json!({
            "name": "hostile", "description": "d", "version": "1",
            "capabilities": { "streaming": true },
            "supportedInterfaces":
                [{ "url": url, "protocolBinding": "JSONRPC", "protocolVersion": version }],
            "skills": [], "defaultInputModes": [], "defaultOutputModes": [],
        });
        let new = json!({ "name": "hostile", "card": card, "watch": "heartbeat" });
        world.add_as(&new).await;
    }

    /// Returns the methods that it was asked for.
    pub(crate) fn methods(&self) -> Vec<String> {
        let requests = self.requests.lock().expect("nobody panics with it");
        let methods = requests.iter().filter_map(|request| request["method"].as_str());
        methods.map(str::to_owned).collect()
    }
}

impl Drop for Hostile {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

fn answer(content_type: &str, body: impl Into<Body>) -> Response {
    let response = Response::builder().header("content-type", content_type);
    response.body(body.into()).expect("a response")
}

/// A stream of these events.
pub(crate) fn events(request: &Value, events: &[Value]) -> Response {
    let frame = |event: &Value| {
        let frame = json!({ "jsonrpc": "2.0", "id": request["id"], "result": event });
        format!("data: {frame}\n\n")
    };
    answer("text/event-stream", events.iter().map(frame).collect::<String>())
}

fn failure(request: &Value, code: i32) -> Response {
    let error = json!({ "code": code, "message": "no" });
    let body = json!({ "jsonrpc": "2.0", "id": request["id"], "error": error });
    answer("application/json", body.to_string())
}

pub(crate) fn task(state: &str) -> Value {
    json!({ "task": { "id": "t", "contextId": "c", "status": { "state": state } } })
}

fn status(task: &str, state: &str) -> Value {
    let update = json!({ "taskId": task, "contextId": "c", "status": { "state": state } });
    json!({ "statusUpdate": update })
}

fn piece(task: &str, text: &str) -> Value {
    let artifact = json!({ "artifactId": "a", "parts": [{ "text": text }] });
    json!({ "artifactUpdate": { "taskId": task, "contextId": "c", "artifact": artifact } })
}

const WORKING: &str = "TASK_STATE_WORKING";
const COMPLETED: &str = "TASK_STATE_COMPLETED";

fn is_send(request: &Value) -> bool {
    request["method"] == "SendStreamingMessage"
}

/// A hub that does not wait long for those who are out of reach.
async fn world() -> World {
    World::with(|settings| {
        settings.lost = Duration::from_millis(300);
        settings.options.resumes.pause = Duration::from_millis(1);
        settings.options.resumes.longest = Duration::from_millis(10);
        settings.options.breaker.in_a_row = 1_000;
        settings.options.breaker.in_window = 1_000;
    })
    .await
}

/// What a caller sees: the text of a result, or why there is none.
async fn seen(remote: &Remote) -> Result<String, String> {
    match ask(remote, Request::SendMessage(message("hello"))).await {
        Ok(Answer::SendMessage(SendMessageResponse::Task(task))) => match task.status.state {
            TaskState::Completed => Ok(result(&task)),
            state => {
                let why = task.status.message.as_ref().map(|message| message.text());
                Err(format!("{}: {}", state.as_str(), why.unwrap_or_default()))
            }
        },
        Err(Error::Peer(error)) => Err(format!("{:?}: {}", error.kind(), error.message())),
        other => panic!("neither a task nor an error: {other:?}"),
    }
}

/// Plays a script against a caller, and expects to be told this. Returns what the agent was
/// asked for.
async fn check(script: Script, expected: &str) -> Vec<String> {
    let world = world().await;
    let hostile = Hostile::start(script).await;
    hostile.join(&world, "1.0").await;
    let stage = Stage::default();
    let healthy = Served::script(WireForm::V1, Skilled::Resumes, &stage).await;
    world.add("healthy", &healthy.url()).await;
    let ann = world.key("ann").await;
    let told = seen(&world.remote(&ann, "hostile", WireForm::V1)).await;
    let told = told.unwrap_or_else(|why| why);
    assert!(told.contains(expected), "told `{told}` instead of `{expected}`");
    let methods = hostile.methods();
    let older = seen(&world.remote(&ann, "hostile", WireForm::V03Grpc)).await;
    let older = older.unwrap_or_else(|why| why);
    assert!(older.contains(expected), "told `{older}` in 0.3 instead of `{expected}`");
    let task = begin(&world.remote(&ann, "healthy", WireForm::V1), message("well")).await;
    assert_eq!(result(&task), "well", "nobody else is harmed");
    methods
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stream_that_breaks_for_good_fails_the_task() {
    let script: Script = |request| {
        if is_send(request) {
            events(request, &[task(WORKING), piece("t", "a")])
        } else {
            failure(request, -32603)
        }
    };
    check(script, "FAILED: the agent can no longer be followed: no").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stream_that_breaks_in_a_frame_is_taken_up_again() {
    let script: Script = |request| match request["method"].as_str() {
        Some("SendStreamingMessage") => {
            let begun = json!({ "jsonrpc": "2.0", "id": request["id"], "result": task(WORKING) });
            answer("text/event-stream", format!("data: {begun}\n\ndata: {{\"jsonr"))
        }
        _ => events(request, &[task(WORKING), piece("t", "whole"), status("t", COMPLETED)]),
    };
    let methods = check(script, "whole").await;
    assert_eq!(methods, ["SendStreamingMessage", "SubscribeToTask"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn t08_a_frame_that_is_no_event_is_named_by_its_number() {
    let script: Script = |request| {
        let begun = json!({ "jsonrpc": "2.0", "id": request["id"], "result": task(WORKING) });
        answer("text/event-stream", format!("data: {begun}\n\ndata: nonsense\n\n"))
    };
    check(script, "frame 2 of the stream is no event").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn who_answers_for_another_task_is_not_believed_and_told_to_stop() {
    let script: Script = |request| {
        if is_send(request) {
            events(request, &[task(WORKING), piece("other", "stolen")])
        } else {
            failure(request, -32001)
        }
    };
    let methods = check(script, "FAILED: the agent answered for another task, `other`").await;
    assert_eq!(methods, ["SendStreamingMessage", "CancelTask"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn who_ends_twice_has_ended_once() {
    let script: Script = |request| {
        let end = status("t", COMPLETED);
        let all = [task(WORKING), piece("t", "once"), end.clone(), piece("t", "late"), end];
        events(request, &all)
    };
    check(script, "once").await;

    let world = world().await;
    let hostile = Hostile::start(script).await;
    hostile.join(&world, "1.0").await;
    let ann = world.key("ann").await;
    let remote = world.remote(&ann, "hostile", WireForm::V1);
    let request = Request::SendStreamingMessage(message("hello"));
    let events = rest(follow(&remote, somebody(), request).await).await;
    let ends = events.iter().filter(|event| value(event).is_last()).count();
    assert_eq!(ends, 1, "{events:?}");
    assert!(events.last().is_some_and(|event| value(event).is_last()), "{events:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_state_that_may_not_follow_is_not_heard() {
    let script: Script = |request| {
        let back = json!({ "statusUpdate": { "taskId": "t", "contextId": "c",
            "status": { "state": "TASK_STATE_SUBMITTED" } } });
        events(request, &[task(WORKING), back, piece("t", "on"), status("t", COMPLETED)])
    };
    check(script, "on").await;
}

/// Lists are in the order of these times, and people ask since when.
#[tokio::test(flavor = "multi_thread")]
async fn a_status_that_comes_without_a_time_has_the_hubs() {
    let script: Script =
        |request| events(request, &[task(WORKING), piece("t", "a"), status("t", COMPLETED)]);
    let world = world().await;
    let hostile = Hostile::start(script).await;
    hostile.join(&world, "1.0").await;
    let ann = world.key("ann").await;
    let remote = world.remote(&ann, "hostile", WireForm::V1);
    let before = Timestamp::now().as_millis();
    let request = Request::SendStreamingMessage(message("hello"));
    let events = rest(follow(&remote, somebody(), request).await).await;
    let id = task_of(&events[0]).clone();
    let statuses = events.iter().filter_map(|event| match value(event) {
        StreamResponse::Task(task) => Some(&task.status),
        StreamResponse::StatusUpdate(update) => Some(&update.status),
        _ => None,
    });
    let ended = look(&remote, &id).await;
    for status in statuses.chain([&ended.status]) {
        let at = status.timestamp.unwrap_or_else(|| panic!("since when? {status:?}"));
        assert!((before..=Timestamp::now().as_millis()).contains(&at.as_millis()), "{status:?}");
    }
    assert_eq!(ended.status.state, TaskState::Completed);
}

/// 20 MB: more than any event may have.
fn huge() -> String {
    "x".repeat(20 << 20)
}

#[tokio::test(flavor = "multi_thread")]
async fn an_event_of_20_mb_is_not_taken() {
    let script: Script = |request| events(request, &[task(WORKING), piece("t", &huge())]);
    check(script, "more than").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_of_20_mb_is_not_taken() {
    let script: Script = |request| {
        let body = json!({ "jsonrpc": "2.0", "id": request["id"], "result": { "x": huge() } });
        answer("application/json", body.to_string())
    };
    check(script, "more than").await;
}

/// T-08: a line without an end.
#[tokio::test(flavor = "multi_thread")]
async fn t08_an_endless_line_is_left() {
    let script: Script = |request| {
        let begun = json!({ "jsonrpc": "2.0", "id": request["id"], "result": task(WORKING) });
        let first = stream::iter([Bytes::from(format!("data: {begun}\n\ndata: "))]);
        let endless = stream::repeat(Bytes::from_static(&[b'x'; 8 << 10]));
        let all = futures_util::StreamExt::chain(first, endless);
        let all = futures_util::StreamExt::map(all, Ok::<_, Infallible>);
        answer("text/event-stream", Body::from_stream(all))
    };
    check(script, "a line of more than").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_no_answer_of_a2a_is_shown() {
    let html: Script = |_| answer("text/html", "<h1>It works!</h1>");
    check(html, "It works!").await;
    let other_id: Script = |_| {
        let body = json!({ "jsonrpc": "2.0", "id": "another", "result": task(COMPLETED) });
        answer("application/json", body.to_string())
    };
    check(other_id, "another").await;
    let elsewhere: Script = |_| {
        let response = Response::builder().status(302).header("location", "http://127.0.0.1:9/");
        response.body(Body::empty()).expect("a response")
    };
    check(elsewhere, "redirects are not followed").await;
}

/// The card says one version; on the wire there is only the other.
async fn check_liar(declared: &str, script: Script) {
    let world = world().await;
    let hostile = Hostile::start(script).await;
    hostile.join(&world, declared).await;
    let ann = world.key("ann").await;
    for form in [WireForm::V1, WireForm::V03Grpc, WireForm::V1Http] {
        let told = seen(&world.remote(&ann, "hostile", form)).await;
        assert_eq!(told, Ok("truth".to_owned()), "{declared} in {}", form.name());
    }
    let methods = hostile.methods();
    assert_eq!(methods.len(), 4, "what works is remembered: {methods:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_that_lies_about_its_version_is_found_out_once() {
    check_liar("0.3", |request| {
        if is_send(request) {
            events(request, &[task(WORKING), piece("t", "truth"), status("t", COMPLETED)])
        } else {
            failure(request, -32601)
        }
    })
    .await;
    check_liar("1.0", |request| match request["method"].as_str() {
        Some("message/stream") => {
            let parts = json!([{ "kind": "text", "text": "truth" }]);
            let task = json!({ "kind": "task", "id": "t", "contextId": "c",
                "status": { "state": "completed" },
                "artifacts": [{ "artifactId": "a", "parts": parts }] });
            events(request, &[task])
        }
        _ => failure(request, -32601),
    })
    .await;
}
