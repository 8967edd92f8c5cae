//! Pair tokens at an agent: what they permit, and when open streams end (A-TOK).

use nuncio_auth::{
    Gatekeeper,
    pair::{Hub, Minter, Pair, Verifier},
    rules::{Grant, Operations, Skills},
};
use nuncio_net::{
    Client, Guard, Policy,
    egress::{Errand, Purpose},
};
use nuncio_protocol::{
    error::ErrorKind,
    ids::{AgentId, Organisation},
    json::{Object, Raw},
    operation::{GetTaskRequest, ListTasksRequest, Operation, Request, SendMessageRequest},
    time::Timestamp,
    version::Version,
};
use nuncio_testkit::wire::{Refused, Wire};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpListener, TcpStream},
    sync::watch,
    task::JoinHandle,
};

use crate::outside::support::{Served, begin, patiently, scripted, send};

const ISSUER: &str = "https://hub.example";

/// A hub that makes tokens and tells its epoch.
struct Script {
    minter: Minter,
    epoch: watch::Sender<u64>,
    url: String,
    serving: JoinHandle<()>,
}

impl Script {
    async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let url = format!("http://{}", listener.local_addr().expect("an address"));
        let epoch = watch::Sender::new(1);
        let told = epoch.subscribe();
        let serving = tokio::spawn(async move {
            while let Ok((connection, _)) = listener.accept().await {
                tokio::spawn(tell_epoch(connection, told.clone()));
            }
        });
        Self { minter: Minter::generate(ISSUER).expect("a key"), epoch, url, serving }
    }

    /// An agent that lets in who has a token for it.
    async fn serve_agent(&self) -> Served {
        let policy = Policy::default()
            .open(Purpose::Keys, "127.0.0.0/8".parse().expect("a range"))
            .allow_http(Errand::administrator(Purpose::Keys));
        let client = Client::new(Guard::new(policy));
        let hub = Hub::new(&client, &self.url).expect("an open range");
        let verifier =
            Verifier::with_keys(ISSUER, agent("writer"), acme(), self.minter.key_set()).hub(hub);
        let gatekeeper = Gatekeeper::builder().pair_tokens(verifier).build().expect("a way in");
        Served::start(scripted().gatekeeper(gatekeeper)).await
    }

    /// A token of the present epoch that is as old as this.
    fn token(&self, grant: Grant, age: i64) -> String {
        let (seconds, _) = Timestamp::now().to_parts();
        let issued = Timestamp::from_parts(seconds - age, 0).expect("on the calendar");
        let (lead, writer, acme) = (agent("lead"), agent("writer"), acme());
        let pair = Pair::new(&lead, &writer, &acme, *self.epoch.borrow()).grant(grant);
        let token = self.minter.mint(&pair, issued).expect("a token");
        token.token.expose().to_owned()
    }
}

impl Drop for Script {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

/// Answers one question for the epoch, when it is above the one that is known.
async fn tell_epoch(mut connection: TcpStream, mut told: watch::Receiver<u64>) {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        match connection.read_u8().await {
            Ok(byte) => head.push(byte),
            Err(_) => return,
        }
    }
    let head = String::from_utf8(head).expect("a text");
    let line = head.lines().next().expect("a line").to_owned();
    assert!(line.starts_with("GET /api/v1/epoch?organisation=acme"), "{line}");
    let after = line.split_once("&after=").map_or(0, |(_, rest)| {
        rest.split('&').next().and_then(|number| number.parse().ok()).expect("a number")
    });
    let Ok(epoch) = told.wait_for(|epoch| *epoch > after).await.map(|epoch| *epoch) else { return };
    let body = format!(r#"{{"epoch":{epoch}}}"#);
    let length = body.len();
    let answer = format!("HTTP/1.1 200 OK\r\ncontent-length: {length}\r\n\r\n{body}");
    // The agent may be gone.
    let _ = connection.write_all(answer.as_bytes()).await;
}

fn agent(text: &str) -> AgentId {
    AgentId::parse(text).expect("an id")
}

fn acme() -> Organisation {
    Organisation::parse("acme").expect("an organisation")
}

fn wires(served: &Served, token: &str) -> Vec<Wire> {
    Wire::all(&served.http().with("authorization", &format!("Bearer {token}")))
}

fn for_skill(value: Raw) -> Object {
    Object::from_members([("skillId", value)])
}

#[track_caller]
fn assert_kind<T: std::fmt::Debug>(wire: &Wire, found: Result<T, Refused>, expected: ErrorKind) {
    let refused = found.expect_err("it is not permitted");
    assert_eq!(refused.error.kind(), expected, "{:?} {}: {refused:?}", wire.binding, wire.version);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_permits_its_operations_and_skills_and_no_others() {
    let hub = Script::start().await;
    let served = hub.serve_agent().await;
    let operations = [Operation::SendMessage, Operation::GetTask];
    let grant = Grant {
        operations: operations.into_iter().collect::<Operations>(),
        skills: Skills::from_iter(["write"]),
    };
    for wire in wires(&served, &hub.token(grant, 0)) {
        let message = |skill: Option<Raw>, of_request: Option<Raw>| {
            let mut request = send("hello");
            request.message.metadata = skill.map(for_skill);
            request.metadata = of_request.map(for_skill);
            Request::SendMessage(request)
        };
        let text = |skill: &str| Some(Raw::string(skill));
        let denied = ErrorKind::PermissionDenied;
        assert_kind(&wire, wire.call(message(None, None)).await, denied);
        assert_kind(&wire, wire.call(message(text("pay"), None)).await, denied);
        assert_kind(&wire, wire.call(message(None, text("pay"))).await, denied);
        // The one that is permitted does not carry the other in.
        assert_kind(&wire, wire.call(message(text("pay"), text("write"))).await, denied);
        assert_kind(&wire, wire.call(message(text("write"), text("pay"))).await, denied);
        let garbled = message(Some(Raw::bool(true)), None);
        assert_kind(&wire, wire.call(garbled).await, ErrorKind::InvalidParams);
        wire.call(message(text("write"), None)).await.expect("it is permitted");
        wire.call(message(None, text("write"))).await.expect("it is permitted");

        let streaming = Request::SendStreamingMessage(send("hello"));
        assert_kind(&wire, wire.stream(streaming, None).await.map(drop), denied);
        if wire.has(Operation::ListTasks) {
            let list = Request::ListTasks(ListTasksRequest::default());
            assert_kind(&wire, wire.call(list).await, denied);
        }
        let id = crate::outside::support::task_id("never-was");
        let get = Request::GetTask(GetTaskRequest { tenant: None, id, history_length: None });
        assert_kind(&wire, wire.call(get).await, ErrorKind::TaskNotFound);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_without_limits_permits_everything_to_its_target() {
    let hub = Script::start().await;
    let served = hub.serve_agent().await;
    for wire in wires(&served, &hub.token(Grant::ALL, 0)) {
        begin(&wire, "hello").await;
    }
    let (lead, editor, acme) = (agent("lead"), agent("editor"), acme());
    let other = hub.minter.mint(&Pair::new(&lead, &editor, &acme, 1), Timestamp::now());
    let other = other.expect("a token").token.expose().to_owned();
    for wire in Wire::current(&served.http().with("authorization", &format!("Bearer {other}"))) {
        let refused = wire.call(Request::SendMessage(send("hello"))).await;
        assert_kind(&wire, refused, ErrorKind::Unauthenticated);
    }
}

/// Opens a stream that would never end, and waits for its end.
async fn check_stream_ends(wire: Wire, end: impl FnOnce()) {
    let request: SendMessageRequest = send("hold");
    let opened = wire.stream(Request::SendStreamingMessage(request), None).await;
    let mut events = opened.expect("a stream");
    events.next().await.expect("the task").expect("without an error");
    end();
    let refused = loop {
        match patiently(events.next()).await {
            Some(Ok(_)) => {}
            Some(Err(refused)) => break refused,
            None => panic!("{:?} {}: it ended without a word", wire.binding, wire.version),
        }
    };
    assert_eq!(refused.error.kind(), ErrorKind::Unauthenticated, "{refused:?}");
    assert!(events.next().await.is_none());
    if wire.version == Version::V1_0 {
        let again = wire.call(Request::SendMessage(send("hello"))).await;
        assert_kind(&wire, again, ErrorKind::Unauthenticated);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn open_streams_end_when_the_hub_raises_the_epoch() {
    let hub = Script::start().await;
    let served = hub.serve_agent().await;
    let count = wires(&served, "").len();
    for index in 0..count {
        let wire = wires(&served, &hub.token(Grant::ALL, 0)).swap_remove(index);
        check_stream_ends(wire, || hub.epoch.send_modify(|epoch| *epoch += 1)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn open_streams_end_when_the_token_does() {
    let hub = Script::start().await;
    let served = hub.serve_agent().await;
    // It has expired 58 of the 60 seconds ago that clocks may differ.
    let age = i64::try_from(nuncio_auth::pair::LIFETIME.as_secs()).expect("few") + 58;
    let token = hub.token(Grant::ALL, age);
    let checks = wires(&served, &token).into_iter().map(|wire| check_stream_ends(wire, || ()));
    futures_util::future::join_all(checks).await;
}
