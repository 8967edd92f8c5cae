//! Too much, too slow, too deep, too often (R15 to R17, R19, R20).

use std::{
    convert::Infallible,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    task::{Context, Poll},
    time::Duration,
};

use bytes::Bytes;
use hyper::body::{Body, Frame};
use nuncio_protocol::{
    operation::{Request, SendMessageRequest},
    version::Version,
};
use nuncio_server::{Limits, Server};
use nuncio_testkit::wire::{Binding, Refused, Wire};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
    task::JoinSet,
};

use crate::outside::support::{Served, begin, patiently, scripted};

const V1: (&str, &str) = ("a2a-version", "1.0");

fn limited(change: impl FnOnce(&mut Limits)) -> Server {
    let mut limits = Limits::default();
    change(&mut limits);
    scripted().limits(limits)
}

async fn connect(served: &Served) -> TcpStream {
    TcpStream::connect(served.address).await.expect("the server listens")
}

/// Reads until the server closes, however it does.
async fn rest(mut tcp: TcpStream) -> String {
    let mut read = Vec::new();
    while let Ok(1..) = tcp.read_buf(&mut read).await {}
    String::from_utf8_lossy(&read).into_owned()
}

/// What the kernel may hold of what was written and not taken.
const IN_BETWEEN: usize = 16 << 20;

#[tokio::test]
async fn a_body_that_announces_too_much_is_refused_unread() {
    let served = Served::start(scripted()).await;
    for (path, length) in [("/", "10737418240"), ("/message:send", "10485761")] {
        let mut tcp = connect(&served).await;
        let head = format!(
            "POST {path} HTTP/1.1\r\nhost: x\r\na2a-version: 1.0\r\ncontent-length: {length}\r\n\r\n"
        );
        tcp.write_all(head.as_bytes()).await.expect("it is taken");
        let answer = rest(tcp).await;
        assert!(answer.starts_with("HTTP/1.1 413"), "{answer}");
        assert!(answer.contains("TOO_LARGE") && answer.contains("connection: close"), "{answer}");
    }
}

#[tokio::test]
async fn endless_chunks_are_cut() {
    let served = Served::start(limited(|limits| limits.bodies.bytes = 1 << 20)).await;
    for path in ["/", "/message:send"] {
        let (mut reader, mut writer) = connect(&served).await.into_split();
        let head = format!("POST {path} HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n");
        writer.write_all(head.as_bytes()).await.expect("it is taken");
        let reading = tokio::spawn(async move {
            let mut read = Vec::new();
            while let Ok(1..) = reader.read_buf(&mut read).await {}
            String::from_utf8_lossy(&read).into_owned()
        });
        let chunk = format!("4000\r\n{}\r\n", "x".repeat(0x4000));
        let mut written = 0;
        while writer.write_all(chunk.as_bytes()).await.is_ok() {
            written += chunk.len();
            assert!(written < (1 << 20) + IN_BETWEEN, "it takes all there is");
        }
        let answer = reading.await.expect("no panic");
        assert!(answer.is_empty() || answer.starts_with("HTTP/1.1 413"), "{answer}");
    }
}

#[tokio::test]
async fn lengths_that_are_wrong_are_refused() {
    let served = Served::start(scripted()).await;
    let body = r#"{"jsonrpc":"2.0","id":1,"method":"ListTasks","params":{}}"#;
    for head in [
        "content-length: 1000".to_owned(),
        format!("content-length: {}\r\ncontent-length: 3", body.len()),
        format!("content-length: {}\r\ntransfer-encoding: chunked", body.len()),
        "content-length: -1".to_owned(),
        "content-length: 1x".to_owned(),
        "transfer-encoding: gzip, chunked".to_owned(),
    ] {
        let mut tcp = connect(&served).await;
        let request =
            format!("POST / HTTP/1.1\r\nhost: x\r\na2a-version: 1.0\r\n{head}\r\n\r\n{body}");
        tcp.write_all(request.as_bytes()).await.expect("it is taken");
        tcp.shutdown().await.expect("it is open");
        let answer = rest(tcp).await;
        assert!(answer.is_empty() || answer.starts_with("HTTP/1.1 4"), "{head}: {answer}");
    }
}

/// A body without end, that counts what was taken of it.
struct Endless {
    start: Option<Bytes>,
    taken: Arc<AtomicUsize>,
}

impl Body for Endless {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let piece = self.start.take().unwrap_or(Bytes::from_static(&[b'x'; 16 << 10]));
        self.taken.fetch_add(piece.len(), Ordering::Relaxed);
        Poll::Ready(Some(Ok(Frame::data(piece))))
    }
}

#[tokio::test]
async fn endless_data_of_http2_is_cut() {
    let served = Served::start(limited(|limits| limits.bodies.bytes = 1 << 20)).await;
    // For gRPC, a message that says how long it is: more than is taken, or just not all.
    let grpc = "/lf.a2a.v1.A2AService/SendMessage";
    for (path, kind, start) in [
        ("/", "application/json", &b"{"[..]),
        ("/message:send", "application/json", &b"{"[..]),
        (grpc, "application/grpc", &[0, 255, 255, 255, 255][..]),
        (grpc, "application/grpc", &[0, 0, 15, 255, 255][..]),
    ] {
        let (mut sender, connection) = hyper::client::conn::http2::handshake(
            nuncio_testkit::wire::executor(),
            nuncio_testkit::wire::io(connect(&served).await),
        )
        .await
        .expect("HTTP/2 is spoken");
        tokio::spawn(connection);
        let taken = Arc::new(AtomicUsize::new(0));
        let body =
            Endless { start: Some(Bytes::copy_from_slice(start)), taken: Arc::clone(&taken) };
        let request = http::Request::post(format!("http://x{path}"))
            .header("content-type", kind)
            .header("a2a-version", "1.0")
            .header("te", "trailers")
            .body(body)
            .expect("a request");
        match sender.send_request(request).await {
            Err(error) => assert!(!error.is_timeout(), "{error}"),
            Ok(answer) if kind == "application/grpc" => {
                let status = answer.headers().get("grpc-status").map(http::HeaderValue::as_bytes);
                assert!([Some(&b"8"[..]), Some(&b"3"[..])].contains(&status), "{answer:?}");
            }
            Ok(answer) => assert_eq!(answer.status(), 413, "{path}"),
        }
        let taken = taken.load(Ordering::Relaxed);
        assert!(taken < (1 << 20) + IN_BETWEEN, "{path}: {taken}");
    }
}

#[tokio::test]
async fn a_message_of_grpc_that_does_not_come_is_given_up() {
    let grace = Duration::from_millis(200);
    let served = Served::start(limited(|limits| limits.bodies.grace = grace)).await;
    let (mut sender, connection) = hyper::client::conn::http2::handshake(
        nuncio_testkit::wire::executor(),
        nuncio_testkit::wire::io(connect(&served).await),
    )
    .await
    .expect("HTTP/2 is spoken");
    tokio::spawn(connection);
    let request = http::Request::post("http://x/lf.a2a.v1.A2AService/SendMessage")
        .header("content-type", "application/grpc")
        .header("a2a-version", "1.0")
        .body(Silent)
        .expect("a request");
    let answer = sender.send_request(request).await.expect("an answer");
    let status = tonic::Status::from_header_map(answer.headers()).expect("a refusal");
    let refused = nuncio_protocol::error::Error::from_tonic(&status);
    assert_eq!((i32::from(status.code()), refused.reason()), (4, "TIMEOUT"), "{status:?}");
}

/// A body that never comes.
struct Silent;

impl Body for Silent {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        Poll::Pending
    }
}

#[tokio::test]
async fn what_is_no_json_is_refused_as_such() {
    let served = Served::start(scripted()).await;
    let deep = "[".repeat(1_000_000);
    let part = |content: &str| -> Vec<u8> {
        let message =
            format!(r#""message":{{"messageId":"m","role":"ROLE_USER","parts":[{{{content}}}]}}"#);
        format!("{{{message}}}").into_bytes()
    };
    let mut cases = vec![
        format!(r#"{{"unknown":{deep}"#).into_bytes(),
        part(&format!(r#""text":"a","metadata":{{"a":{deep}}}"#)),
        part(r#""text":"a","text":"b""#),
        part(r#""text":"a","metadata":{"a":1,"a":2}"#),
        part(r#""text":"a","metadata":{"a":1e999}"#),
        part(r#""text":"a","metadata":{"a":-1e999}"#),
        part(r#""text":"\ud800""#),
        part(r#""text":"a","metadata":{"a":"\udc00x"}"#),
        part(r#""text":"a","metadata":{"a":NaN}"#),
        part(r#""text":"a","metadata":{"a":01}"#),
        part("\"text\":\"a\nb\""),
        part(r#""text":"a","#),
    ];
    cases.push([&part("\"text\":\"a")[..], b"\xff\xfe\"}"].concat());
    for (version, send, path) in
        [("1.0", "SendMessage", "/message:send"), ("0.3", "message/send", "/v1/message:send")]
    {
        let shown = if version == "1.0" { Version::V1_0 } else { Version::V0_3 };
        let headers = [("a2a-version", version)];
        for case in &cases {
            let name = String::from_utf8_lossy(&case[..case.len().min(120)]).into_owned();
            let start = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"{send}","params":"#);
            let call = [start.as_bytes(), case, b"}"].concat();
            let reply = served.http().request("POST", "/", &headers, call).await;
            let refused = Refused::read(Binding::JsonRpc, shown, &reply);
            assert_eq!((reply.status, refused.code), (200, -32700), "{version} {name}");
            let reply = served.http().request("POST", path, &headers, case.clone()).await;
            let refused = Refused::read(Binding::HttpJson, shown, &reply);
            assert_eq!(refused.code, 400, "{version} {name}");
            assert_eq!(refused.error.reason(), "PARSE_ERROR", "{version} {name}");
        }
    }
}

/// A field of protobuf that has a length.
fn field(number: u8, bytes: &[u8]) -> Vec<u8> {
    let mut length = bytes.len();
    let mut field = vec![number << 3 | 2];
    while length > 127 {
        field.push(u8::try_from(length & 127).expect("seven bits") | 128);
        length >>= 7;
    }
    field.push(u8::try_from(length).expect("seven bits"));
    [&field[..], bytes].concat()
}

#[tokio::test]
async fn what_is_no_message_is_refused_as_such() {
    let served = Served::start(scripted()).await;
    // A value within lists within lists: Value.list_value = 6, ListValue.values = 1.
    let deep = (0..2_000)
        .fold(vec![0x11, 0, 0, 0, 0, 0, 0, 0xf0, 0x3f], |value, _| field(6, &field(1, &value)));
    let infinite = [0x11, 0, 0, 0, 0, 0, 0, 0xf0, 0x7f];
    let send = |part: Vec<u8>| {
        let message = [field(1, b"m"), vec![0x20, 1], field(5, &part)].concat();
        field(2, &message)
    };
    for wire in Wire::current(&served.http()).iter().filter(|wire| wire.binding == Binding::Grpc) {
        for (name, message) in [
            ("truncated", b"\x12\xff".to_vec()),
            ("wrong wire type", b"\x17".to_vec()),
            ("lone surrogate", send(field(1, b"\xed\xa0\x80"))),
            ("too deep", send(field(4, &deep))),
            ("infinite", send(field(4, &infinite))),
        ] {
            let refused = wire.rpc("SendMessage", &message).await.expect_err(name);
            assert_eq!(refused.code, 3, "{name}: {refused:?}");
            assert!(!refused.bytes.is_empty(), "{name} is refused without a reason: {refused:?}");
        }
        let refused = wire.rpc("NoSuchThing", b"").await.expect_err("it has no such thing");
        assert_eq!((refused.code, refused.bytes.is_empty()), (12, false), "{refused:?}");
    }
}

#[tokio::test]
async fn compressed_bodies_are_not_read() {
    let served = Served::start(scripted()).await;
    let http = served.http();
    // The first bytes of a file of gzip, whatever it becomes.
    let bomb = &b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03\xed\xc1"[..];
    for encoding in ["gzip", "br", "deflate", "zstd", "gzip, gzip", "x-gzip"] {
        let headers = [V1, ("content-encoding", encoding), ("content-type", "application/json")];
        for (path, binding) in [("/", Binding::JsonRpc), ("/message:send", Binding::HttpJson)] {
            let reply = http.request("POST", path, &headers, bomb).await;
            assert_eq!(reply.status, 415, "{encoding} {path}: {}", reply.text());
            if binding == Binding::JsonRpc {
                let refused = Refused::read(binding, Version::V1_0, &reply);
                assert_eq!(refused.code, -32005);
            }
            assert!(reply.text().contains("CONTENT_TYPE_NOT_SUPPORTED"));
        }
    }
    // Nor are messages of gRPC.
    let framed = [&[1, 0, 0, 0, 12][..], bomb].concat();
    let headers =
        [V1, ("content-type", "application/grpc"), ("grpc-encoding", "gzip"), ("te", "trailers")];
    let path = "/lf.a2a.v1.A2AService/SendMessage";
    let reply = http.clone().http2().request("POST", path, &headers, framed).await;
    assert_eq!(reply.header("grpc-status"), "12", "{:?}", reply.headers);
    // And nothing that is sent is compressed, however it is asked for.
    let headers = [V1, ("accept-encoding", "gzip, br")];
    let reply = http.request("GET", "/tasks", &headers, "").await;
    assert_eq!((reply.status, reply.header("content-encoding")), (200, ""));
}

#[tokio::test(flavor = "multi_thread")]
async fn slow_callers_are_closed_and_healthy_ones_served() {
    const EACH: usize = 100;
    let short = Duration::from_millis(1500);
    let served = Served::start(limited(|limits| {
        limits.connections.header_timeout = short;
        limits.connections.write_stall = short;
        limits.bodies.grace = short;
        limits.streams.stall = short;
        limits.streams.heartbeat = Duration::from_millis(100);
    }))
    .await;
    let wire = Wire::current(&served.http()).swap_remove(1);
    let big = begin(&wire, "fill:300").await.id;
    let reading = format!(
        "GET /tasks/{big}:subscribe HTTP/1.1\r\nhost: x\r\na2a-version: 1.0\r\n\
         last-event-id: 0\r\n\r\n"
    );
    let kinds = [
        "POST / HTTP/1.1\r\nhost: x\r\na2a-",
        "POST / HTTP/1.1\r\nhost: x\r\na2a-version: 1.0\r\ncontent-length: 5000\r\n\r\n{",
        &reading,
    ];
    let mut slow = Vec::new();
    for (kind, text) in kinds.iter().enumerate() {
        // Each that does not read makes the server write what the kernel holds.
        let count = if kind == 2 { EACH / 10 } else { EACH };
        for _ in 0..count {
            let mut tcp = connect(&served).await;
            tcp.write_all(text.as_bytes()).await.expect("it is taken");
            slow.push((kind, tcp));
        }
    }
    for _ in 0..50 {
        begin(&wire, "healthy").await;
    }
    let mut closing = JoinSet::new();
    for (kind, tcp) in slow {
        closing.spawn(async move {
            if kind == 2 {
                // Whoever reads again too late finds the connection closed in the midst.
                tokio::time::sleep(2 * short).await;
            }
            (kind, rest(tcp).await)
        });
    }
    while let Some(closed) = closing.join_next().await {
        let (kind, text) = closed.expect("no panic");
        match kind {
            0 => assert_eq!(text, ""),
            1 => assert!(text.starts_with("HTTP/1.1 408"), "{text}"),
            _ => assert!(!text.contains("TASK_STATE_COMPLETED"), "it was given all"),
        }
    }
    begin(&wire, "healthy").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn more_calls_than_there_is_room_for_are_told_to_come_back() {
    let served = Served::start(limited(|limits| limits.calls = 2)).await;
    let wires = Wire::current(&served.http());
    // They wait for a task that does not end. Whoever asks below may be there before them.
    let mut waiting = JoinSet::new();
    for _ in 0..2 {
        let wire = wires[0].clone();
        let hold = SendMessageRequest::new(nuncio_protocol::message::Message::user("hold"));
        waiting.spawn(async move {
            while wire.call(Request::SendMessage(hold.clone())).await.is_err() {}
        });
    }
    let list = || Request::ListTasks(nuncio_protocol::operation::ListTasksRequest::default());
    for wire in &wires {
        let refused = patiently(async {
            loop {
                // The two take their places in their own time.
                if let Err(refused) = wire.call(list()).await {
                    break refused;
                }
            }
        });
        let refused = refused.await;
        let code = match wire.binding {
            Binding::JsonRpc => -32603,
            Binding::HttpJson => 503,
            Binding::Grpc => 14,
        };
        assert_eq!((refused.code, refused.error.reason()), (code, "UNAVAILABLE"));
        assert!(refused.error.retry_after().is_some(), "{refused:?}");
    }
    let reply = served.http().request("GET", "/tasks", &[V1], "").await;
    assert_eq!((reply.status, reply.header("retry-after")), (503, "1"));
    for path in ["/healthz", "/readyz", "/.well-known/agent-card.json"] {
        assert_eq!(served.http().request("GET", path, &[], "").await.status, 200, "{path}");
    }
    // A flood is refused to the last, and does no harm.
    let mut flood = JoinSet::new();
    for index in 0..300 {
        let wire = wires[index % 3].clone();
        flood.spawn(async move { wire.call(list()).await });
    }
    while let Some(answer) = flood.join_next().await {
        let refused = answer.expect("no panic").expect_err("there is no room");
        assert_eq!(refused.error.reason(), "UNAVAILABLE");
    }
    // Who goes away leaves room.
    waiting.shutdown().await;
    patiently(async { while wires[0].call(list()).await.is_err() {} }).await;
}

#[tokio::test]
async fn a_cancel_finds_room_where_nothing_else_does() {
    let served = Served::start(limited(|limits| limits.calls = 1)).await;
    for wire in Wire::current(&served.http()) {
        let task = begin(&wire, "hold").await;
        let waiting = tokio::spawn({
            let wire = wire.clone();
            let hold = SendMessageRequest::new(nuncio_protocol::message::Message::user("hold"));
            async move { while wire.call(Request::SendMessage(hold.clone())).await.is_err() {} }
        });
        let list = || Request::ListTasks(nuncio_protocol::operation::ListTasksRequest::default());
        patiently(async { while wire.call(list()).await.is_ok() {} }).await;
        let cancel = nuncio_protocol::operation::CancelTaskRequest {
            tenant: None,
            id: task.id,
            metadata: None,
        };
        wire.call(Request::CancelTask(cancel)).await.expect("a cancel needs no room");
        waiting.abort();
        patiently(async { while wire.call(list()).await.is_err() {} }).await;
    }
}
