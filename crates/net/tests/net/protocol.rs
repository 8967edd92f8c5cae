//! What is spoken: HTTP/1.1 unless a server or a request says otherwise.

use std::convert::Infallible;

use bytes::Bytes;
use http::Version;
use http_body_util::Full;
use hyper::{body::Incoming, service::service_fn};
use hyper_util::rt::{TokioExecutor, TokioIo};
use nuncio_net::{Client, Protocol, Refused, Request};
use tokio::net::TcpListener;

use crate::support::{CALLER, Recorder, Server, checked, ok, on_loopback};

/// A server that speaks HTTP/2 from the first byte, and nothing else.
async fn only_http2() -> std::net::SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let address = listener.local_addr().expect("a bound address");
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let service = service_fn(async |request: http::Request<Incoming>| {
                let said = format!("{} {:?}", request.uri().path(), request.version());
                Ok::<_, Infallible>(http::Response::new(Full::<Bytes>::from(said)))
            });
            tokio::spawn(
                hyper::server::conn::http2::Builder::new(TokioExecutor::new())
                    .serve_connection(TokioIo::new(stream), service),
            );
        }
    });
    address
}

#[tokio::test]
async fn http2_is_spoken_over_plain_http_where_a_request_says_so() {
    let address = only_http2().await;
    let recorder = Recorder::leading_to(address);
    let client = Client::builder(on_loopback()).dialer(recorder.clone()).build().unwrap();
    let url = checked(client.guard(), &format!("http://{address}/call"));
    for _ in 0..3 {
        let request = Request::post(&url, "hello").protocol(Protocol::Http2);
        let answer = client.send(request).await.unwrap();
        assert_eq!(answer.version(), Version::HTTP_2);
        assert_eq!(answer.collect(1024).await.unwrap(), "/call HTTP/2.0");
    }
    // One connection for all of them, dialed through the dialer like any other.
    assert_eq!(recorder.dialed(), [address]);
}

#[tokio::test]
async fn connections_of_the_two_protocols_are_kept_apart() {
    let server = Server::start(ok("one")).await;
    let client = Client::new(on_loopback());
    let url = checked(client.guard(), &server.url());
    let answer = client.send(Request::get(&url)).await.unwrap();
    assert_eq!(answer.collect(1024).await.unwrap(), "one");
    // The server understands no HTTP/2, and the connection to it is not tried.
    assert!(client.send(Request::get(&url).protocol(Protocol::Http2)).await.is_err());
}

#[test]
fn what_is_below_a_url_has_its_origin_and_errand() {
    let guard = on_loopback();
    let base = checked(&guard, "http://localhost:8080/a2a/?key=1");
    for (path, expected) in [
        ("/tasks", "http://localhost:8080/a2a/tasks?key=1"),
        ("/tasks?pageSize=5", "http://localhost:8080/a2a/tasks?key=1&pageSize=5"),
        ("/tasks/{x}:cancel", "http://localhost:8080/a2a/tasks/%7Bx%7D:cancel?key=1"),
    ] {
        let below = base.below(path).unwrap();
        assert_eq!((below.as_str(), below.errand()), (expected, CALLER));
    }
    let root = checked(&guard, "http://localhost:8080");
    assert_eq!(root.below("/x").unwrap().as_str(), "http://localhost:8080/x");
    for path in ["/tasks/..", "/tasks/.", "/tasks/%2e%2E/x", "/..", "/tasks/.%2e"] {
        assert!(matches!(base.below(path), Err(Refused::Ambiguous { .. })), "{path}");
    }
    for path in ["@evil.example/", ":80@evil.example", ".evil.example"] {
        assert!(root.below(path).is_err(), "{path}");
    }
}
