//! Events: in pages, over SSE and over WebSocket, for those who may see them.

use std::time::Duration;

use futures_util::StreamExt as _;
use nuncio_testkit::wire::{Frame, Frames, Http};
use serde_json::{Value, json};
use tokio::net::TcpStream;
use tokio_tungstenite::{
    WebSocketStream, client_async,
    tungstenite::{Error as SocketError, Message, client::IntoClientRequest as _},
};

use super::{Member, Running, check_refused, get, send};

async fn follow(http: &Http, path: &str, headers: &[(&str, &str)]) -> Frames {
    http.clone().with("accept", "text/event-stream").frames("GET", path, headers, "").await
}

/// Returns the name of an event and the agent it is about.
fn said(frame: &Frame) -> (String, String) {
    let event: Value = serde_json::from_str(&frame.data).expect("an event is JSON");
    let text = |name: &str| event[name].as_str().expect("a text").to_owned();
    assert_eq!(event["seq"].as_u64(), frame.id, "{event}");
    (text("event"), text("workspace_id"))
}

async fn beat(member: &Member, beat: &Value) {
    let path = format!("/api/v1/agents/{}/heartbeat", member.name);
    let reply = send(&member.http, "POST", &path, beat).await;
    assert_eq!(reply.status, 200, "{}", reply.text());
}

#[tokio::test]
async fn pages_go_on_where_the_last_one_ended() {
    let running = Running::start().await;
    for name in ["a", "b", "c"] {
        running.join(name, None).await;
    }
    let mut names = Vec::new();
    let mut after = 0;
    loop {
        let path = format!("/api/v1/events?after={after}&limit=2");
        let page = running.done("GET", &path, &Value::Null).await;
        names.extend(page["events"].as_array().unwrap().iter().map(|event| event["event"].clone()));
        after = page["last"].as_u64().unwrap();
        if page["more"] == false {
            break;
        }
    }
    assert_eq!(after, running.hub.directory.feed().last());
    assert_eq!(names.len() as u64, after, "{names:?}");
    let page = running.done("GET", "/api/v1/events?agent=b", &Value::Null).await;
    let about_b = page["events"].as_array().unwrap();
    let id = &running.done("GET", "/api/v1/agents/b", &Value::Null).await["id"];
    assert!(!about_b.is_empty() && about_b.iter().all(|event| event["workspace_id"] == *id));
    let unknown = get(&running.administrator, "/api/v1/events?wrong=1").await;
    check_refused(&unknown, 400, "INVALID");
}

#[tokio::test]
async fn a_stream_begins_behind_the_last_event_that_its_reader_has_seen() {
    let running = Running::start().await;
    let writer = running.join("writer", None).await;
    let all = follow(&running.administrator, "/api/v1/events?after=0", &[]).await;
    let (mut all, last) = (all, running.hub.directory.feed().last());
    let mut seen = Vec::new();
    for _ in 0..last {
        seen.push(all.next().await.expect("there are events"));
    }
    let second = &[("last-event-id", "1")];
    let mut resumed = follow(&running.administrator, "/api/v1/events", second).await;
    for expected in &seen[1..] {
        assert_eq!(resumed.next().await.as_ref(), Some(expected));
    }
    beat(&writer, &json!({ "error_rate": 0.9, "current_task": "a draft" })).await;
    let degraded = resumed.next().await.unwrap();
    assert_eq!(said(&degraded), ("WORKSPACE_DEGRADED".to_owned(), writer.id.clone()));
    assert_eq!(degraded.id, Some(last + 1));
    // Those that do not last have no number, and come beside the log.
    let passing = [resumed.next().await.unwrap(), resumed.next().await.unwrap()];
    let names = passing.iter().map(|frame| (said(frame).0, frame.id)).collect::<Vec<_>>();
    let expected = ["TASK_UPDATED", "WORKSPACE_HEARTBEAT"].map(|name| (name.to_owned(), None));
    assert_eq!(names, expected);
    let wrong = &[("last-event-id", "x"), ("accept", "text/event-stream")];
    let reply = running.administrator.request("GET", "/api/v1/events", wrong, "").await;
    check_refused(&reply, 400, "INVALID");
}

#[tokio::test]
async fn an_agent_is_told_of_those_it_may_call_and_a_move_counts_at_once() {
    let running = Running::start().await;
    let lead = running.join("lead", None).await;
    let writer = running.join("writer", Some("lead")).await;
    let hidden = running.join("hidden", None).await;
    let mut stream = follow(&lead.http, "/api/v1/events", &[]).await;
    let wrong = json!({ "error_rate": 1.0 });
    beat(&hidden, &wrong).await;
    beat(&writer, &wrong).await;
    let told = said(&stream.next().await.unwrap());
    assert_eq!(told, ("WORKSPACE_DEGRADED".to_owned(), writer.id.clone()));

    let away = json!({ "parent": null });
    running.done("PUT", "/api/v1/agents/writer/parent", &away).await;
    beat(&writer, &json!({})).await;
    beat(&lead, &wrong).await;
    // Everything of the writer that was not sent before the move stays unsent.
    loop {
        let (name, agent) = said(&stream.next().await.unwrap());
        if agent == lead.id {
            break;
        }
        let is_passing = matches!(name.as_str(), "TASK_UPDATED" | "WORKSPACE_HEARTBEAT");
        assert!(agent == writer.id && is_passing, "{name} of {agent}");
    }
    let page = get(&lead.http, "/api/v1/events?limit=1000").await.json();
    let agents = page["events"].as_array().unwrap().iter().map(|event| &event["workspace_id"]);
    assert!(agents.clone().all(|agent| *agent == json!(lead.id)), "{page}");
    let path = format!("/api/v1/events?agent={}", hidden.id);
    check_refused(&get(&lead.http, &path).await, 404, "NOT_FOUND");
}

#[tokio::test]
async fn a_stream_ends_with_its_readers_key_and_with_the_hub() {
    let running = Running::start().await;
    let key =
        running.done("POST", "/api/v1/keys", &json!({ "name": "v", "scopes": ["read"] })).await;
    let viewer = super::bearer(&running.stranger, key["key"].as_str().unwrap());
    let mut revoked = follow(&viewer, "/api/v1/events", &[]).await;
    let mut drained = follow(&running.administrator, "/api/v1/events", &[]).await;
    let path = format!("/api/v1/keys/{}", key["id"].as_str().unwrap());
    running.done("DELETE", &path, &Value::Null).await;
    assert_eq!(revoked.next().await, None);
    running.hub.drain.begin(Duration::from_secs(60));
    assert_eq!(drained.next().await, None);
}

type Socket = WebSocketStream<TcpStream>;

async fn connect(
    running: &Running,
    path: &str,
    headers: &[(&'static str, String)],
) -> Result<Socket, SocketError> {
    let url = format!("ws://{}{path}", running.address);
    let mut request = url.into_client_request().expect("a request");
    for (name, value) in headers {
        request.headers_mut().insert(*name, value.parse().expect("a header"));
    }
    let stream = TcpStream::connect(running.address).await.expect("the hub listens");
    client_async(request, stream).await.map(|(socket, _)| socket)
}

fn shown(member: &Member) -> (&'static str, String) {
    ("authorization", format!("Bearer {}", member.token))
}

/// Returns the next event of a socket.
async fn next(socket: &mut Socket) -> Value {
    loop {
        let message = socket.next().await.expect("it is open").expect("it is sound");
        if let Message::Text(text) = message {
            return serde_json::from_str(&text).expect("an event is JSON");
        }
    }
}

#[track_caller]
fn check_status(connected: Result<Socket, SocketError>, status: u16) {
    match connected {
        Err(SocketError::Http(response)) => assert_eq!(response.status().as_u16(), status),
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn a_web_socket_tells_the_same_and_resumes() {
    let running = Running::start().await;
    let writer = running.join("writer", None).await;
    let last = running.hub.directory.feed().last();
    let mut socket = connect(&running, "/api/v1/events/ws", &[shown(&writer)]).await.unwrap();
    beat(&writer, &json!({ "error_rate": 0.7 })).await;
    let event = next(&mut socket).await;
    assert_eq!(event["event"], "WORKSPACE_DEGRADED");
    assert_eq!(event["seq"], last + 1);
    let path = format!("/api/v1/events/ws?after={last}");
    let mut resumed = connect(&running, &path, &[shown(&writer)]).await.unwrap();
    assert_eq!(next(&mut resumed).await, event);
    running.hub.drain.begin(Duration::from_secs(60));
    let close = loop {
        let message = resumed.next().await.expect("a close comes first").expect("it is sound");
        if let Message::Close(Some(frame)) = message {
            break frame;
        }
    };
    assert_eq!(u16::from(close.code), 1001, "{close:?}");
}

#[tokio::test]
async fn a_browser_opens_a_web_socket_by_a_ticket_once_and_only_from_our_page() {
    let running = Running::start().await;
    check_status(connect(&running, "/api/v1/events/ws", &[]).await, 401);
    let ticket = running.done("POST", "/api/v1/tickets", &Value::Null).await;
    let ticket = ticket["ticket"].as_str().unwrap();
    let path = format!("/api/v1/events/ws?ticket={ticket}");
    for foreign in ["https://evil.example", "http://localhost:1", "http://127.0.0.1:1"] {
        let foreign = [("origin", foreign.to_owned())];
        check_status(connect(&running, &path, &foreign).await, 403);
    }
    let ours = [("origin", running.hub.settings.public_url.clone())];
    let mut socket = connect(&running, &path, &ours).await.unwrap();
    check_status(connect(&running, &path, &ours).await, 401);
    let writer = running.join("writer", None).await;
    assert_eq!(next(&mut socket).await["workspace_id"], json!(writer.id));
    let plain = get(&running.administrator, "/api/v1/events/ws").await;
    check_refused(&plain, 426, "NO_WEBSOCKET");
}
