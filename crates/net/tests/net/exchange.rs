//! Requests and answers over real sockets (HG-07, A-SSRF).

use std::{process::Command, time::Duration};

use bytes::Bytes;
use http::{HeaderValue, Method, StatusCode, header};
use http_body_util::{BodyExt, StreamBody};
use hyper::body::Frame;
use nuncio_net::{Body, Client, Clock, Code, Error, Request, Timeouts};

use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpListener,
};

use crate::support::{CALLER, Recorder, Server, checked, fetch, ok, on_loopback};

async fn start(answer: &str) -> (Server, Client) {
    (Server::start(answer).await, Client::new(on_loopback()))
}

#[tokio::test]
async fn redirects_are_answers() {
    for status in [301, 302, 303, 307, 308] {
        let answer =
            format!("HTTP/1.1 {status} Elsewhere\r\nlocation: /other\r\ncontent-length: 0\r\n\r\n");
        let server = Server::start(answer).await;
        let recorder = Recorder::leading_to(server.address);
        let client = Client::builder(on_loopback()).dialer(recorder.clone()).build().unwrap();
        let url = checked(client.guard(), &server.url());
        let answer = client.send(Request::get(&url)).await.unwrap();
        assert_eq!(answer.status().as_u16(), status);
        assert_eq!(answer.headers()[header::LOCATION], "/other");
        assert_eq!((server.requests().len(), recorder.dialed().len()), (1, 1));
    }
}

#[tokio::test]
async fn a_call_can_be_spawned() {
    let (server, client) = start(&ok("hello")).await;
    let url = checked(client.guard(), &server.url());
    let call = tokio::spawn(async move { client.send(Request::get(&url)).await?.collect(5).await });
    assert_eq!(call.await.unwrap().unwrap(), "hello");
}

#[tokio::test]
async fn a_post_arrives_with_its_headers_and_body() {
    let (server, client) = start(&ok("thanks")).await;
    let url = checked(client.guard(), &format!("{}hook?a=b", server.url()));
    let request = Request::post(&url, "payload")
        .header(header::CONTENT_TYPE, HeaderValue::from_static("text/plain"));
    let answer = client.send(request).await.unwrap();
    assert_eq!(answer.status(), StatusCode::OK);
    assert_eq!(answer.collect(6).await.unwrap(), "thanks");
    let sent = server.requests().concat();
    assert!(sent.starts_with("POST /hook?a=b HTTP/1.1\r\n"), "{sent}");
    assert!(sent.contains("content-type: text/plain\r\n"), "{sent}");
    assert!(sent.contains("content-length: 7\r\n"), "{sent}");
    assert!(sent.ends_with("\r\n\r\npayload"), "{sent}");
}

#[tokio::test]
async fn host_and_framing_are_not_the_senders_to_say() {
    let (server, client) = start(&ok("")).await;
    let url = checked(client.guard(), &server.url());
    let mut request = Request::new(Method::PUT, &url, "payload");
    for (name, value) in [
        (header::HOST, "elsewhere.example"),
        (header::CONTENT_LENGTH, "3"),
        (header::TRANSFER_ENCODING, "chunked"),
        (header::CONNECTION, "upgrade"),
        (header::UPGRADE, "websocket"),
    ] {
        request.headers_mut().insert(name, HeaderValue::from_static(value));
    }
    drop(client.send(request).await.unwrap());
    let sent = server.requests().concat();
    let host = format!("host: {}\r\n", server.address);
    assert!(sent.contains(&host) && sent.contains("content-length: 7\r\n"), "{sent}");
    for bad in ["elsewhere", "content-length: 3", "chunked", "upgrade"] {
        assert!(!sent.contains(bad), "{sent}");
    }
}

#[tokio::test]
async fn a_body_can_be_sent_as_a_stream() {
    let (server, client) = start(&ok("")).await;
    let url = checked(client.guard(), &server.url());
    let frame = Ok::<_, std::convert::Infallible>(Frame::data(Bytes::from_static(b"piece")));
    let stream = StreamBody::new(futures_util::stream::iter([frame]));
    drop(client.send(Request::post(&url, Body::stream(stream))).await.unwrap());
    let sent = server.requests().concat();
    assert!(sent.contains("transfer-encoding: chunked\r\n"), "{sent}");
}

#[tokio::test]
async fn a_body_is_collected_up_to_the_limit() {
    let chunked = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5\r\nhello\r\n5\r\nworld\r\n0\r\n\r\n";
    for answer in [ok("helloworld"), chunked.to_owned()] {
        let (server, client) = start(&answer).await;
        let url = checked(client.guard(), &server.url());
        for limit in [10, 11, usize::MAX] {
            let answer = client.send(Request::get(&url)).await.unwrap();
            assert_eq!(answer.collect(limit).await.unwrap(), "helloworld");
        }
        for limit in [0, 1, 4, 5, 6, 9] {
            let answer = client.send(Request::get(&url)).await.unwrap();
            let error = answer.collect(limit).await.unwrap_err();
            assert!(matches!(error, Error::TooLarge { limit: told } if told == limit), "{error}");
            assert!(!error.is_unsent());
        }
    }
}

#[tokio::test]
async fn an_endless_body_is_left_at_the_limit() {
    let chunk = format!("400\r\n{}\r\n", "x".repeat(0x400)).repeat(100);
    let endless = format!("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n{chunk}");
    let (server, client) = start(&endless).await;
    let url = checked(client.guard(), &server.url());
    let answer = client.send(Request::get(&url)).await.unwrap();
    let error = answer.collect(4096).await.unwrap_err();
    assert_eq!(error.code(), Code::TooLarge);
}

#[tokio::test]
async fn a_body_can_be_read_as_it_arrives() {
    let (server, client) =
        start("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5\r\nhello\r\n").await;
    let url = checked(client.guard(), &server.url());
    let request = Request::get(&url).timeouts(Timeouts::streaming());
    let mut body = client.send(request).await.unwrap().into_body();
    assert_eq!(body.chunk().await.unwrap().unwrap(), "hello");
    let (server, client) = start(&ok("hello")).await;
    let url = checked(client.guard(), &server.url());
    let answer = client.send(Request::get(&url)).await.unwrap().into_http();
    assert_eq!(BodyExt::collect(answer.into_body()).await.unwrap().to_bytes(), "hello");
}

#[track_caller]
fn ran_out(error: &Error, expected: Clock) {
    assert!(matches!(error, Error::Timeout { clock, .. } if *clock == expected), "{error}");
    assert!(!error.is_unsent(), "the request may have arrived");
}

#[tokio::test]
async fn a_server_that_never_answers_runs_out_of_time() {
    let (server, client) = start("").await;
    let url = checked(client.guard(), &server.url());
    let soon = Duration::from_millis(50);
    let request = Request::get(&url).timeouts(Timeouts::default().first_byte(soon));
    ran_out(&client.send(request).await.unwrap_err(), Clock::FirstByte);
    let request = Request::get(&url).timeouts(Timeouts::default().whole(soon));
    ran_out(&client.send(request).await.unwrap_err(), Clock::Whole);
}

#[tokio::test]
async fn a_body_that_stops_runs_out_of_time() {
    let (server, client) = start("HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nhello").await;
    let url = checked(client.guard(), &server.url());
    let soon = Duration::from_millis(50);
    for (timeouts, clock) in [
        (Timeouts::streaming().idle(soon), Clock::Idle),
        (Timeouts::default().whole(soon), Clock::Whole),
    ] {
        let answer = client.send(Request::get(&url).timeouts(timeouts)).await.unwrap();
        ran_out(&answer.collect(100).await.unwrap_err(), clock);
    }
}

/// Time stands still but where the test moves it: a thread at work keeps the runtime from
/// skipping to the next timer.
#[tokio::test(start_paused = true)]
async fn a_body_may_take_long_if_it_never_pauses_long() {
    let (finish, finished) = std::sync::mpsc::channel::<()>();
    let at_work = tokio::task::spawn_blocking(move || finished.recv());
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let client = Client::new(on_loopback());
    let url = checked(client.guard(), &format!("http://{}/", listener.local_addr().unwrap()));
    let pause = Duration::from_secs(1);
    let request = Request::get(&url).timeouts(Timeouts::streaming().idle(pause));
    let serve = async {
        let (mut stream, _) = listener.accept().await.unwrap();
        assert!(stream.read(&mut [0; 1024]).await.unwrap() > 0);
        let head = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n";
        stream.write_all(head).await.unwrap();
        stream
    };
    let (answer, mut stream) = tokio::join!(client.send(request), serve);
    let mut body = answer.unwrap().into_body();
    for _ in 0..5 {
        let later = async {
            tokio::time::advance(pause * 9 / 10).await;
            stream.write_all(b"1\r\na\r\n").await.unwrap();
        };
        let (chunk, ()) = tokio::join!(body.chunk(), later);
        assert_eq!(chunk.unwrap().unwrap(), "a");
    }
    let (chunk, ()) = tokio::join!(body.chunk(), tokio::time::advance(pause));
    ran_out(&chunk.unwrap_err(), Clock::Idle);
    assert_eq!(body.chunk().await.unwrap(), None);
    drop(finish);
    assert!(at_work.await.unwrap().is_err());
}

#[tokio::test]
async fn a_server_that_breaks_off_may_have_acted() {
    for answer in ["HTTP/1.1 200 OK\r\ncontent-length", "nonsense\r\n\r\n"] {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/", listener.local_addr().unwrap());
        let serve = async {
            let (mut stream, _) = listener.accept().await.unwrap();
            assert!(stream.read(&mut [0; 1024]).await.unwrap() > 0);
            stream.write_all(answer.as_bytes()).await.unwrap();
        };
        let client = Client::new(on_loopback());
        let (outcome, ()) = tokio::join!(fetch(&client, &url, CALLER), serve);
        let error = outcome.unwrap_err();
        assert!(matches!(error, Error::Http { .. }), "{error}");
        assert!(!error.is_unsent() && !error.is_retryable());
    }
}

#[tokio::test]
async fn a_head_far_larger_than_64_kib_is_refused() {
    let answer = format!("HTTP/1.1 200 OK\r\nx: {}\r\n\r\n", "y".repeat(300_000));
    let (server, client) = start(&answer).await;
    let error = fetch(&client, &server.url(), CALLER).await.unwrap_err();
    assert_eq!(error.code(), Code::Http);
}

const PROXIED_URL: &str = "NUNCIO_TEST_PROXIED_URL";

/// Runs in a child process whose environment names a proxy; elsewhere it has nothing to do.
#[tokio::test]
async fn child_with_a_proxy_in_its_environment() {
    let Ok(url) = std::env::var(PROXIED_URL) else { return };
    let client = Client::new(on_loopback());
    assert_eq!(fetch(&client, &url, CALLER).await.unwrap(), "direct");
}

#[tokio::test]
async fn a_proxy_in_the_environment_is_ignored() {
    let (direct, proxy) = (Server::start(ok("direct")).await, Server::start(ok("proxy")).await);
    let mut child = Command::new(std::env::current_exe().unwrap());
    child.args(["--exact", "exchange::child_with_a_proxy_in_its_environment"]);
    child.env(PROXIED_URL, direct.url()).env_remove("NO_PROXY").env_remove("no_proxy");
    for name in ["HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"]
    {
        child.env(name, proxy.url());
    }
    let output = tokio::task::spawn_blocking(move || child.output()).await.unwrap().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
    assert_eq!((direct.requests().len(), proxy.requests().len()), (1, 0));
}
