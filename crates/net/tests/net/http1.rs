//! HTTP/1.1 without TLS, byte by byte.

use std::time::Duration;

use http::{Method, StatusCode};
use nuncio_net::{Client, Clock, Code, Error, Request, Timeouts};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpListener, TcpStream},
};

use crate::support::{CALLER, Server, checked, fetch, ok, on_loopback};

async fn listen() -> (TcpListener, String) {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let url = format!("http://{}/", listener.local_addr().expect("a bound address"));
    (listener, url)
}

/// Reads a request up to the end of its head.
async fn read_head(stream: &mut TcpStream) -> Vec<u8> {
    let mut read = Vec::new();
    while !read.windows(4).any(|window| window == b"\r\n\r\n") {
        assert!(
            stream.read_buf(&mut read).await.expect("the connection holds") > 0,
            "the request is cut"
        );
    }
    read
}

#[tokio::test]
async fn what_goes_before_the_answer_is_passed_over() {
    let interim = "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nlink: x\r\n\r\n";
    let server = Server::start(format!("{interim}{}", ok("hello"))).await;
    let client = Client::new(on_loopback());
    assert_eq!(fetch(&client, &server.url(), CALLER).await.unwrap(), "hello");
}

#[tokio::test]
async fn an_answer_may_arrive_in_any_pieces() {
    let (listener, url) = listen().await;
    let answer = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n\
                  5;a=b\r\nhello\r\n6\r\n world\r\n0\r\nx: y\r\n\r\n";
    let serve = async {
        let (mut stream, _) = listener.accept().await.unwrap();
        stream.set_nodelay(true).unwrap();
        for _ in 0..2 {
            read_head(&mut stream).await;
            for byte in answer.as_bytes() {
                stream.write_all(&[*byte]).await.unwrap();
                tokio::task::yield_now().await;
            }
        }
    };
    let client = Client::new(on_loopback());
    let calls = async {
        for _ in 0..2 {
            assert_eq!(fetch(&client, &url, CALLER).await.unwrap(), "hello world");
        }
    };
    tokio::join!(serve, calls);
}

#[tokio::test]
async fn an_answer_without_a_length_ends_with_its_connection() {
    let (listener, url) = listen().await;
    let serve = async {
        let (mut stream, _) = listener.accept().await.unwrap();
        read_head(&mut stream).await;
        stream.write_all(b"HTTP/1.1 200 OK\r\n\r\nhello").await.unwrap();
    };
    let client = Client::new(on_loopback());
    let (answer, ()) = tokio::join!(fetch(&client, &url, CALLER), serve);
    assert_eq!(answer.unwrap(), "hello");
}

#[tokio::test]
async fn an_answer_shorter_than_it_says_is_an_error() {
    for cut in ["content-length: 10\r\n\r\nhello", "transfer-encoding: chunked\r\n\r\n9\r\nhello"] {
        let (listener, url) = listen().await;
        let serve = async {
            let (mut stream, _) = listener.accept().await.unwrap();
            read_head(&mut stream).await;
            stream.write_all(format!("HTTP/1.1 200 OK\r\n{cut}").as_bytes()).await.unwrap();
        };
        let client = Client::new(on_loopback());
        let (answer, ()) = tokio::join!(fetch(&client, &url, CALLER), serve);
        assert!(matches!(answer, Err(Error::Http { .. })), "{cut}: {answer:?}");
    }
}

#[tokio::test]
async fn large_bodies_go_both_ways() {
    let body = "0123456789".repeat(300_000);
    let (listener, url) = listen().await;
    let client = Client::new(on_loopback());
    let url = checked(client.guard(), &url);
    let serve = async {
        let (mut stream, _) = listener.accept().await.unwrap();
        let mut read = read_head(&mut stream).await;
        let head = read.windows(4).position(|window| window == b"\r\n\r\n").unwrap() + 4;
        while read.len() < head + body.len() {
            assert!(stream.read_buf(&mut read).await.unwrap() > 0, "the body is cut");
        }
        assert!(read[head..] == *body.as_bytes());
        stream.write_all(ok(&body).as_bytes()).await.unwrap();
    };
    let call = async {
        let answer = client.send(Request::post(&url, body.clone())).await.unwrap();
        assert!(answer.collect(body.len()).await.unwrap() == body);
    };
    tokio::join!(call, serve);
}

/// A peer that refuses what it has seen of a request answers, and closes without reading on.
#[tokio::test]
async fn who_is_refused_before_everything_is_written_hears_of_it() {
    let (listener, url) = listen().await;
    let client = Client::new(on_loopback());
    let url = checked(client.guard(), &url);
    let served = tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        read_head(&mut stream).await;
        let refused = "HTTP/1.1 413 Too Large\r\ncontent-length: 0\r\nconnection: close\r\n\r\n";
        stream.write_all(refused.as_bytes()).await.unwrap();
        stream
    });
    let answer = client.send(Request::post(&url, vec![b'x'; 64 << 20])).await.unwrap();
    assert_eq!(answer.status(), StatusCode::PAYLOAD_TOO_LARGE);
    drop(served.await.unwrap());
}

#[tokio::test]
async fn the_answer_to_a_head_request_has_no_body() {
    let server = Server::start("HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\n").await;
    let client = Client::new(on_loopback());
    let url = checked(client.guard(), &server.url());
    for _ in 0..2 {
        let answer = client.send(Request::new(Method::HEAD, &url, "")).await.unwrap();
        assert_eq!(answer.collect(10).await.unwrap(), "");
    }
}

/// What a peer says unasked could be taken for the answer to the next request.
#[tokio::test]
async fn a_connection_on_which_more_came_than_was_asked_for_is_not_used_again() {
    let (listener, url) = listen().await;
    let serve = async {
        let mut open = Vec::new();
        for text in [format!("{}{}", ok("first"), ok("forged")), ok("second")] {
            let (mut stream, _) = listener.accept().await.unwrap();
            read_head(&mut stream).await;
            stream.write_all(text.as_bytes()).await.unwrap();
            open.push(stream);
        }
        open
    };
    let client = Client::new(on_loopback());
    let calls = async {
        assert_eq!(fetch(&client, &url, CALLER).await.unwrap(), "first");
        assert_eq!(fetch(&client, &url, CALLER).await.unwrap(), "second");
    };
    tokio::join!(serve, calls);
}

#[tokio::test]
async fn another_protocol_is_no_answer() {
    let switch = "HTTP/1.1 101 Switching Protocols\r\nupgrade: x\r\nconnection: upgrade\r\n\r\n";
    let server = Server::start(switch).await;
    let error = fetch(&Client::new(on_loopback()), &server.url(), CALLER).await.unwrap_err();
    assert_eq!(error.code(), Code::Http);
}

/// The timer goes with its connection; the clocks do not.
#[tokio::test]
async fn each_exchange_on_a_connection_has_its_own_clocks() {
    let (listener, url) = listen().await;
    let (soon, late) = (Duration::from_millis(100), Duration::from_secs(60));
    tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        for pause in [Duration::ZERO, soon * 2, late] {
            read_head(&mut stream).await;
            tokio::time::sleep(pause).await;
            stream.write_all(ok("hello").as_bytes()).await.unwrap();
        }
    });
    let client = Client::new(on_loopback());
    let url = checked(client.guard(), &url);
    let call = async |first_byte| {
        let request = Request::get(&url).timeouts(Timeouts::default().first_byte(first_byte));
        client.send(request).await?.collect(10).await
    };
    assert_eq!(call(soon).await.unwrap(), "hello");
    assert_eq!(call(late).await.unwrap(), "hello", "the first clock has stopped");
    let error = call(soon).await.unwrap_err();
    assert!(matches!(error, Error::Timeout { clock: Clock::FirstByte, .. }), "{error}");
}
