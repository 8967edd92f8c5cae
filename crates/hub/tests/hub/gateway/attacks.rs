//! A-GW: requests that mean one thing to us and another to somebody else, and answers that carry
//! more than an answer. What is refused is refused exactly, and the agent has seen nothing of it.

use std::sync::{Arc, Mutex};

use axum::{Router, body::Bytes, extract::State, response::Response};
use http::HeaderMap;
use nuncio_testkit::wire::Http;
use serde_json::{Value, json};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpListener, TcpStream},
    task::JoinHandle,
};

use super::{callers::patiently, world::World};

/// What an agent has got, heads and bodies.
type Seen = Arc<Mutex<Vec<(HeaderMap, Value)>>>;

/// An agent that keeps all it gets, and answers with more than it should.
struct Recorder {
    seen: Seen,
    serving: JoinHandle<()>,
    world: World,
    key: String,
}

impl Recorder {
    async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let address = listener.local_addr().expect("a bound address");
        let seen = Arc::<Mutex<Vec<(HeaderMap, Value)>>>::default();
        let router = Router::new().fallback(answer).with_state(Arc::clone(&seen));
        let serving = tokio::spawn(async move {
            axum::serve(listener, router).await.expect("it serves");
        });
        let world = World::start().await;
        let card = json!({
            "name": "recorder", "description": "d", "version": "1", "capabilities": {},
            "supportedInterfaces": [{ "url": format!("http://{address}/"),
                "protocolBinding": "JSONRPC", "protocolVersion": "1.0" }],
            "skills": [], "defaultInputModes": [], "defaultOutputModes": [],
        });
        let new = json!({ "name": "recorder", "card": card, "watch": "heartbeat" });
        world.add_as(&new).await;
        let key = world.key("ann").await;
        Self { seen, serving, world, key }
    }

    fn seen(&self) -> Vec<(HeaderMap, Value)> {
        self.seen.lock().expect("nobody panics with it").clone()
    }

    /// Writes bytes to the hub as they are, and returns what it says until it closes or has
    /// answered.
    async fn raw(&self, bytes: &str) -> String {
        let mut stream = TcpStream::connect(self.world.address).await.expect("it listens");
        stream.write_all(bytes.as_bytes()).await.expect("it is written");
        let mut answer = Vec::new();
        let mut piece = [0; 4096];
        while !is_whole(&answer) {
            match patiently(stream.read(&mut piece)).await {
                Ok(0) | Err(_) => break,
                Ok(count) => answer.extend_from_slice(&piece[..count]),
            }
        }
        String::from_utf8_lossy(&answer).into_owned()
    }

    fn head(&self, more: &str) -> String {
        format!(
            "POST /agents/recorder HTTP/1.1\r\nhost: {}\r\nauthorization: Bearer {}\r\n\
             content-type: application/json\r\na2a-version: 1.0\r\n{more}",
            self.world.address, self.key
        )
    }

    fn http(&self) -> Http {
        Http::new(self.world.address)
            .with("authorization", &format!("Bearer {}", self.key))
            .with("a2a-version", "1.0")
    }

    async fn post(&self, path: &str, body: impl Into<String>) -> (u16, String) {
        let headers = [("content-type", "application/json")];
        let reply = self.http().request("POST", path, &headers, body.into()).await;
        (reply.status, reply.text().to_owned())
    }
}

impl Drop for Recorder {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

/// Tells whether an answer has come to its end, as far as its head says.
fn is_whole(answer: &[u8]) -> bool {
    let text = String::from_utf8_lossy(answer);
    let Some((head, body)) = text.split_once("\r\n\r\n") else { return false };
    let length = head.to_ascii_lowercase().lines().find_map(|line| {
        line.strip_prefix("content-length:").and_then(|length| length.trim().parse().ok())
    });
    length.is_some_and(|length: usize| body.len() >= length)
}

async fn answer(State(seen): State<Seen>, headers: HeaderMap, body: Bytes) -> Response {
    let request: Value = serde_json::from_slice(&body).unwrap_or_default();
    let status = json!({ "state": "TASK_STATE_COMPLETED" });
    let task = json!({ "id": "t", "contextId": "c", "status": status });
    let body = json!({ "jsonrpc": "2.0", "id": request["id"], "result": { "task": task } });
    seen.lock().expect("nobody panics with it").push((headers, request));
    Response::builder()
        .header("content-type", "application/json")
        .header("set-cookie", "nuncio_session=stolen")
        .header("access-control-allow-origin", "*")
        .header("strict-transport-security", "max-age=1")
        .header("location", "http://elsewhere.example/")
        .header("x-evil", "1")
        .header("www-authenticate", "Basic realm=\"give me your password\"")
        .header("connection", "x-evil")
        .body(body.to_string().into())
        .expect("a response")
}

fn call() -> String {
    let said = json!({ "messageId": "m", "role": "ROLE_USER", "parts": [{ "text": "x" }] });
    let params = json!({ "message": said });
    json!({ "jsonrpc": "2.0", "id": 1, "method": "SendMessage", "params": params }).to_string()
}

#[tokio::test(flavor = "multi_thread")]
async fn requests_that_can_be_read_in_two_ways_are_refused_and_nobody_is_called() {
    let agent = Recorder::start().await;
    let body = call();
    let length = body.len();
    let chunked = format!("{length:x}\r\n{body}\r\n0\r\n\r\n");
    for (what, request) in [
        (
            "both framings",
            agent.head(&format!(
                "content-length: {length}\r\ntransfer-encoding: chunked\r\n\r\n{chunked}"
            )),
        ),
        (
            "two lengths",
            agent.head(&format!("content-length: {length}\r\ncontent-length: 1\r\n\r\n{body}")),
        ),
        ("a signed length", agent.head(&format!("content-length: +{length}\r\n\r\n{body}"))),
        (
            "a coding that is none",
            agent.head(&format!("transfer-encoding: xchunked\r\n\r\n{chunked}")),
        ),
        (
            "a folded header",
            agent.head(&format!("x-a: b\r\n c\r\ncontent-length: {length}\r\n\r\n{body}")),
        ),
        (
            "a space before the colon",
            agent.head(&format!("content-length : {length}\r\n\r\n{body}")),
        ),
        ("bare line feeds", agent.head("").replace("\r\n", "\n") + "content-length: 0\n\n"),
        (
            "two hosts",
            agent.head(&format!("host: other\r\ncontent-length: {length}\r\n\r\n{body}")),
        ),
    ] {
        let answer = agent.raw(&request).await;
        assert!(answer.starts_with("HTTP/1.1 400"), "{what}: {answer}");
        assert!(agent.seen().is_empty(), "{what}: the agent saw {:?}", agent.seen());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_smuggled_behind_an_upgrade_or_within_a_body() {
    let agent = Recorder::start().await;
    let body = call();
    let smuggled = agent.head(&format!("content-length: {}\r\n\r\n{body}", body.len()));
    for upgrade in ["h2c", "websocket", "anything"] {
        let head = format!(
            "GET /healthz HTTP/1.1\r\nhost: {}\r\nconnection: upgrade, http2-settings\r\n\
             upgrade: {upgrade}\r\nhttp2-settings: AAMAAABkAAQAAP__\r\ncontent-length: {}\r\n\r\n",
            agent.world.address,
            smuggled.len()
        );
        let answer = agent.raw(&(head + &smuggled)).await;
        assert!(!answer.starts_with("HTTP/1.1 101"), "{upgrade}: {answer}");
        assert!(agent.seen().is_empty(), "{upgrade}: the agent saw {:?}", agent.seen());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_authority_that_is_not_the_host_is_refused() {
    let agent = Recorder::start().await;
    let headers = [("content-type", "application/json"), ("host", "other.example")];
    let reply = agent.http().http2().request("POST", "/agents/recorder", &headers, call()).await;
    assert_eq!(reply.status, 400, "{}", reply.text());
    assert!(agent.seen().is_empty(), "{:?}", agent.seen());
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_judged_is_what_is_carried_or_it_is_refused() {
    let agent = Recorder::start().await;
    let twice = call().replacen(r#""method""#, r#""method":"GetTask","method""#, 1);
    let batch = format!("[{},{}]", call(), call());
    let escaped = call().replacen("\"method\"", "\"\\u006dethod\":\"GetTask\",\"method\"", 1);
    let unknown = call().replace("SendMessage", "SendMessages");
    let trailing = call() + &call();
    for (what, body) in [
        ("a method twice", twice),
        ("a method twice, once escaped", escaped),
        ("a batch", batch),
        ("an unknown operation", unknown),
        ("two requests in one body", trailing),
    ] {
        let (status, told) = agent.post("/agents/recorder", body).await;
        assert!(told.contains(r#""error""#), "{what}: {status} {told}");
        assert!(agent.seen().is_empty(), "{what}: the agent saw {:?}", agent.seen());
    }
    for path in [
        "/agents/nobody/../recorder",
        "/agents/nobody/%2e%2e/recorder",
        "/agents/nobody%2f..%2frecorder",
        "/agents//recorder",
        "/agents/recorder%00",
        "/agents/RECORDER%20",
        "/agents/./recorder",
    ] {
        let (status, told) = agent.post(path, call()).await;
        assert!((400..500).contains(&status), "{path}: {status} {told}");
        assert!(agent.seen().is_empty(), "{path}: the agent saw {:?}", agent.seen());
    }
    // Compressed, nobody could judge it.
    let headers = [("content-type", "application/json"), ("content-encoding", "gzip")];
    let reply = agent.http().request("POST", "/agents/recorder", &headers, call()).await;
    assert_eq!(reply.status, 415, "{}", reply.text());
    assert!(agent.seen().is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn one_byte_over_the_limit_is_too_large_and_one_less_is_not() {
    let agent = Recorder::start().await;
    let limit = usize::try_from(agent.world.hub.settings.call_bodies.bytes).expect("it is small");
    let fit = call();
    let padded = |bytes: usize| fit.clone() + &" ".repeat(bytes - fit.len());
    let headers = [("content-type", "application/json")];
    let (http, path) = (agent.http(), "/agents/recorder");
    // It may be cut off while it still sends, before it reads why (R16).
    if let Ok(reply) = http.try_request("POST", path, &headers, padded(limit + 1)).await {
        assert_eq!(reply.status, 413, "{}", reply.text());
    }
    assert!(agent.seen().is_empty(), "{:?}", agent.seen());
    let (status, told) = agent.post("/agents/recorder", padded(limit)).await;
    assert_eq!(status, 200, "{told}");
}

#[tokio::test(flavor = "multi_thread")]
async fn neither_side_sees_the_headers_of_the_other() {
    let agent = Recorder::start().await;
    let hostile = [
        ("content-type", "application/json"),
        ("x-workspace-id", "admin"),
        ("x-forwarded-for", "10.0.0.1"),
        ("forwarded", "for=10.0.0.1"),
        ("x-real-ip", "10.0.0.1"),
        ("proxy-authorization", "Basic eDp5"),
        ("te", "trailers"),
        ("x-hop", "1"),
        ("connection", "x-hop"),
        ("x-nuncio-caller", "root"),
        ("cookie", "a=b"),
    ];
    let reply = agent.http().request("POST", "/agents/recorder", &hostile, call()).await;
    // Browsers alone send cookies, and this is none of our hosts' pages; without it goes.
    let reply = if reply.status == 200 {
        reply
    } else {
        agent.http().request("POST", "/agents/recorder", &hostile[..10], call()).await
    };
    assert_eq!(reply.status, 200, "{}", reply.text());
    let seen = agent.seen();
    let (headers, _) = seen.first().expect("the agent is called");
    let known = ["x-workspace-id", "x-forwarded-for", "forwarded", "x-real-ip", "te", "x-hop"];
    let secret = ["proxy-authorization", "x-nuncio-caller", "cookie"];
    for name in known.into_iter().chain(secret) {
        assert!(!headers.contains_key(name), "`{name}` went on: {headers:?}");
    }
    // What the hub shows is a token for this agent, not what the caller has shown to the hub.
    let shown = headers.get("authorization").map(|value| value.to_str().expect("a token"));
    assert!(!shown.is_some_and(|shown| shown.contains(&agent.key)), "{shown:?}");
    for name in
        ["set-cookie", "location", "x-evil", "www-authenticate", "strict-transport-security"]
    {
        assert_eq!(reply.header(name), "", "`{name}` came back");
    }
    assert_eq!(reply.header("access-control-allow-origin"), "");
}

/// R15 in small: ten times as many as the hub takes at once. Every call is answered or refused as
/// it should be, and all that were taken come to an end.
#[tokio::test(flavor = "multi_thread")]
async fn r15_overload_is_refused_in_words_and_what_is_taken_is_done() {
    let world = World::with(|settings| {
        settings.limits.in_flight = 8;
        settings.limits.queue = 24;
    })
    .await;
    let stage = super::stage::Stage::default();
    let form = nuncio_protocol::dialect::WireForm::V1;
    let agent = super::agents::Served::script(form, super::agents::Skilled::Resumes, &stage).await;
    world.add("worker", &agent.url()).await;
    let ann = world.key("ann").await;
    let before = resident();
    // All are held until all have come, so that load does not depend on how fast this machine is.
    let calls: Vec<_> = (0..320)
        .map(|_| {
            let remote = world.remote(&ann, "worker", form);
            tokio::spawn(async move {
                let request = super::callers::message("gated:load:1");
                super::callers::ask(
                    &remote,
                    nuncio_protocol::operation::Request::SendMessage(request),
                )
                .await
            })
        })
        .collect();
    stage.runs("load").await;
    let mut refused = 0;
    let mut done = 0;
    let mut calls = calls;
    // Those that find no room are told at once, while the others wait.
    while refused < 320 - 8 - 24 {
        let (first, _, rest) = futures_util::future::select_all(calls).await;
        calls = rest;
        match first.expect("no panic") {
            Err(nuncio_client::Error::Peer(error)) => {
                assert_eq!(error.kind(), nuncio_protocol::error::ErrorKind::Unavailable);
                assert!(error.retry_after().is_some(), "{error:?}");
                refused += 1;
            }
            other => panic!("answered while nobody works: {other:?}"),
        }
    }
    let growth = resident().saturating_sub(before);
    assert!(growth < 512 << 20, "{growth} bytes more");
    stage.open("load", 1_000);
    for call in calls {
        assert!(call.await.expect("no panic").is_ok());
        done += 1;
    }
    assert_eq!((done, stage.begun("load")), (32, 32), "nothing is lost, nothing is done twice");
}

/// Returns how much memory this process has, in bytes.
fn resident() -> usize {
    let text = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages = text.split(' ').nth(1).and_then(|pages| pages.parse::<usize>().ok());
    pages.unwrap_or(0) * 4096
}
