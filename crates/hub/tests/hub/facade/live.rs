//! Events as they happen.

use std::time::Duration;

use futures_util::{SinkExt as _, StreamExt as _};
use serde_json::{Value, json};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
    time::timeout,
};
use tokio_tungstenite::{
    MaybeTlsStream, WebSocketStream, connect_async,
    tungstenite::{self, Message, client::IntoClientRequest as _},
};

use super::{Member, World};

pub(super) type Socket = WebSocketStream<MaybeTlsStream<TcpStream>>;

/// Only ends a test that would hang.
const LONG: Duration = Duration::from_secs(30);

async fn connect(
    world: &World,
    path: &str,
    headers: &[(&'static str, &str)],
) -> Result<Socket, tungstenite::Error> {
    let url = format!("ws://{}{path}", world.address);
    let mut request = url.into_client_request().expect("a request");
    for (name, value) in headers {
        request.headers_mut().insert(*name, value.parse().expect("a header"));
    }
    connect_async(request).await.map(|(socket, _)| socket)
}

pub(super) async fn listen(world: &World, token: &str) -> Socket {
    let bearer = format!("Bearer {token}");
    connect(world, "/ws", &[("authorization", &bearer)]).await.expect("it is let in")
}

/// Begins behind an event.
pub(super) async fn listen_from(world: &World, token: &str, after: u64) -> Socket {
    let bearer = format!("Bearer {token}");
    let path = format!("/ws?after={after}");
    connect(world, &path, &[("authorization", &bearer)]).await.expect("it is let in")
}

/// Returns the next event; none if the other side says goodbye.
pub(super) async fn next(socket: &mut Socket) -> Option<Value> {
    loop {
        match timeout(LONG, socket.next()).await.expect("an event")? {
            Ok(Message::Text(text)) => return Some(serde_json::from_str(&text).expect("JSON")),
            Ok(Message::Close(_)) | Err(_) => return None,
            Ok(_) => {}
        }
    }
}

async fn beat(world: &World, member: &Member) {
    let body = json!({"workspace_id": member.id().as_str()}).to_string();
    world.by(&member.token, "POST", "/registry/heartbeat", &body).await.check(200);
}

#[tokio::test]
async fn mg01_nobody_listens_without_a_credential() {
    let world = World::new().await;
    let writer = world.add("writer", None).await;
    let status =
        async |headers: &[(&'static str, &str)]| match connect(&world, "/ws", headers).await {
            Err(tungstenite::Error::Http(response)) => response.status().as_u16(),
            other => panic!("{other:?}"),
        };
    assert_eq!(status(&[]).await, 401);
    assert_eq!(status(&[("x-workspace-id", writer.id().as_str())]).await, 401);
    let bearer = format!("Bearer {}", writer.token);
    assert_eq!(status(&[("authorization", &bearer), ("x-workspace-id", "system:x")]).await, 403);
    let enrolment = format!("Bearer {}", world.enrolment(None).await);
    assert_eq!(status(&[("authorization", &enrolment)]).await, 403);
    // A page of somebody else's.
    let foreign = [("authorization", bearer.as_str()), ("origin", "https://evil.example")];
    assert_eq!(status(&foreign).await, 403);
}

#[tokio::test]
async fn md51_agents_hear_of_peers_and_the_canvas_of_all() {
    let world = World::new().await;
    let lead = world.add("lead", None).await;
    let writer = world.add("writer", Some(&lead)).await;
    let stranger = world.add("stranger", None).await;
    let mut canvas = listen(&world, &world.admin).await;
    let mut agent = listen(&world, &writer.token).await;

    beat(&world, &stranger).await;
    beat(&world, &lead).await;
    let mut heard = Vec::new();
    while heard.len() < 2 {
        let event = next(&mut canvas).await.expect("an event");
        if event["event"] == "WORKSPACE_ONLINE" {
            heard.push(event["workspace_id"].as_str().unwrap().to_owned());
        }
    }
    assert_eq!(heard, [stranger.id().as_str(), lead.id().as_str()]);
    let event = next(&mut agent).await.expect("an event");
    assert_eq!(event["workspace_id"], lead.id().as_str(), "{event}");
    for member in ["event", "workspace_id", "timestamp", "payload"] {
        assert!(event.get(member).is_some(), "{event}");
    }

    // That a peer is gone is the last that is heard of it.
    world.admin("DELETE", &format!("/workspaces/{}?cascade=false", lead.id()), "").await.check(200);
    loop {
        let event = next(&mut agent).await.expect("an event");
        assert_ne!(event["workspace_id"], stranger.id().as_str());
        if event["event"] == "WORKSPACE_REMOVED" {
            assert_eq!(event["workspace_id"], lead.id().as_str());
            break;
        }
    }
    // And whoever is gone hears nothing more.
    world.admin("DELETE", &format!("/workspaces/{}", writer.id()), "").await.check(200);
    while next(&mut agent).await.is_some() {}
    agent.close(None).await.ok();
}

#[tokio::test]
async fn a_socket_goes_on_where_it_was() {
    let world = World::new().await;
    world.add("lead", None).await;
    world.add("writer", None).await;
    let bearer = format!("Bearer {}", world.admin);
    let mut socket = connect(&world, "/ws?after=1", &[("authorization", &bearer)]).await.unwrap();
    let event = next(&mut socket).await.unwrap();
    assert_eq!((&event["seq"], &event["event"]), (&json!(2), &json!("WORKSPACE_PROVISIONING")));
    socket.send(Message::Close(None)).await.unwrap();
}

/// Reads a stream until it has said something.
async fn read_until(tcp: &mut TcpStream, text: &mut String, wanted: &str) {
    while !text.contains(wanted) {
        let mut part = [0; 4096];
        let count = timeout(LONG, tcp.read(&mut part)).await.expect("a line").expect("a line");
        assert_ne!(count, 0, "{text} ended without {wanted}");
        text.push_str(std::str::from_utf8(&part[..count]).expect("a text"));
    }
}

#[tokio::test]
async fn md51_the_stream_of_a_workspace_is_in_the_envelope_of_ag_ui() {
    let world = World::new().await;
    let writer = world.add("writer", None).await;
    let other = world.add("other", Some(&writer)).await;
    let path = format!("/workspaces/{}/events/stream", writer.id());
    world.ask("GET", &path, &[], "").await.check(401);
    world.get(&other.token, &path).await.check(403);

    let mut tcp = TcpStream::connect(world.address).await.unwrap();
    let request = format!(
        "GET {path} HTTP/1.1\r\nhost: hub\r\nauthorization: Bearer {}\r\nlast-event-id: 0\r\n\r\n",
        writer.token
    );
    tcp.write_all(request.as_bytes()).await.unwrap();
    let mut text = String::new();
    read_until(&mut tcp, &mut text, "WORKSPACE_PROVISIONING").await;
    let (head, body) = text.split_once("\r\n\r\n").unwrap();
    assert!(head.to_lowercase().contains("content-type: text/event-stream"), "{head}");
    // Behind the size of the first chunk.
    let (_, body) = body.split_once("\r\n").unwrap();
    assert!(body.starts_with(": ping\n\n"), "{body:?}");

    beat(&world, &other).await;
    beat(&world, &writer).await;
    read_until(&mut tcp, &mut text, "WORKSPACE_HEARTBEAT").await;
    read_until(&mut tcp, &mut text, "runtime_state").await;
    let data = text.lines().filter_map(|line| line.strip_prefix("data: "));
    let events: Vec<Value> = data.map(|line| serde_json::from_str(line).unwrap()).collect();
    let kinds: Vec<_> = events.iter().map(|event| event["type"].as_str().unwrap()).collect();
    assert!(kinds.starts_with(&["WORKSPACE_PROVISIONING"]), "{kinds:?}");
    assert_eq!(kinds.iter().filter(|kind| **kind == "WORKSPACE_ONLINE").count(), 1, "{kinds:?}");
    for event in &events {
        assert!(event["timestamp"].as_i64().unwrap() > 1_600_000_000_000, "{event}");
        assert!(event["data"].is_object(), "{event}");
    }
}
