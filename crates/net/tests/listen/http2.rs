//! HTTP/2 without TLS, next to HTTP/1.1 on the same port.

use bytes::Bytes;
use http::{Request, StatusCode, Version};
use http_body_util::{BodyExt as _, Full};
use hyper::client::conn::http2;
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio::{io::AsyncWriteExt as _, time::Instant};

use crate::support::{Client, PIECES, SECOND, Server};

async fn client(server: &Server) -> Client {
    Client::on(server.connect().await, true).await.expect("a handshake")
}

#[tokio::test]
async fn both_versions_are_served_on_one_port() {
    let server = Server::start().await;
    let mut client = client(&server).await;
    let (version, peer) = client.get("/peer").await.unwrap();
    assert_eq!(version, Version::HTTP_2);
    assert!(peer.starts_with("127.0.0.1:") && peer.ends_with(" false None"), "{peer}");
    assert!(server.raw().await.get("/one").await.ends_with("/one"));
}

#[tokio::test]
async fn a_panic_ends_one_stream_only() {
    let server = Server::start().await;
    let mut client = client(&server).await;
    assert!(client.get("/panic").await.is_err());
    assert_eq!(client.get("/after").await.unwrap().1, "/after");
}

#[tokio::test]
async fn too_many_headers_and_two_hosts_are_refused() {
    let server = Server::start().await;
    let mut client = client(&server).await;
    let request = |headers: &[(&str, &str)]| {
        let mut request = Request::get(format!("http://{}/", server.address));
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        request.body(Full::<Bytes>::default()).expect("a request")
    };
    for (headers, status) in [
        (vec![("a", "b"); 100], StatusCode::OK),
        (vec![("a", "b"); 101], StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE),
        (vec![("host", "other")], StatusCode::BAD_REQUEST),
    ] {
        assert_eq!(client.send(request(&headers)).await.unwrap().status(), status);
    }
}

#[tokio::test(start_paused = true)]
async fn a_drain_answers_what_is_in_flight() {
    let server = Server::start().await;
    let mut client = client(&server).await;
    let waiting = client.clone().get_later("/wait");
    server.reached.notified().await;
    server.drain.begin(30 * SECOND);
    tokio::time::sleep(SECOND).await;
    assert!(client.get("/late").await.is_err());
    server.gate.add_permits(1);
    assert_eq!(waiting.await.unwrap().unwrap().1, "waited");
    server.serving.await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn an_open_stream_is_cut_after_the_patience() {
    let server = Server::start().await;
    let waiting = client(&server).await.get_later("/wait");
    server.reached.notified().await;
    let start = Instant::now();
    server.drain.begin(30 * SECOND);
    assert!(waiting.await.unwrap().is_err());
    server.serving.await.unwrap();
    assert_eq!(start.elapsed().as_secs(), 30);
}

#[tokio::test(start_paused = true)]
async fn a_connection_without_requests_is_kept_while_it_answers_pings() {
    let server = Server::start().await;
    let mut client = client(&server).await;
    assert_eq!(client.get("/first").await.unwrap().1, "/first");
    for _ in 0..20 {
        tokio::time::sleep(30 * SECOND).await;
    }
    assert_eq!(client.get("/second").await.unwrap().1, "/second");
}

#[tokio::test(start_paused = true)]
async fn a_peer_that_answers_no_pings_is_closed() {
    let server = Server::start().await;
    let mut raw = server.raw().await;
    let start = Instant::now();
    // The preface and empty settings, and nothing more.
    raw.send("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\u{4}\0\0\0\0\0").await;
    raw.rest().await;
    assert_eq!(start.elapsed().as_secs(), 40);
}

#[tokio::test(start_paused = true)]
async fn a_handle_of_the_peer_closes_every_stream() {
    let server = Server::start().await;
    let mut client = client(&server).await;
    let waiting = client.clone().get_later("/wait");
    server.reached.notified().await;
    assert!(client.get("/close").await.is_err());
    assert!(waiting.await.unwrap().is_err());
    server.drain.begin(30 * SECOND);
    server.serving.await.unwrap();
}

/// R19: pings are answered all the while, and of two readers one reads.
#[tokio::test(start_paused = true)]
async fn a_peer_whose_window_stays_shut_is_closed_and_a_slow_one_is_not() {
    for (path, window, is_closed) in [
        ("/small", 0, true),
        ("/endless", 0, true),
        ("/endless", 10_000, true),
        ("/wait", 0, false),
    ] {
        let server = Server::start().await;
        let io = TokioIo::new(server.connect().await);
        let mut builder = http2::Builder::new(TokioExecutor::new());
        let handshake = builder.initial_stream_window_size(window).handshake(io);
        let (mut sender, connection) = handshake.await.expect("a handshake");
        let connection = tokio::spawn(connection);
        let request = Request::get(format!("http://test{path}"));
        let request = request.body(Full::<Bytes>::default()).expect("a request");
        let start = Instant::now();
        let answer = sender.send_request(request);
        if is_closed {
            // Its window is never opened: nobody reads the body.
            let _unread = answer.await.expect("the head needs no window");
            let _ = connection.await;
            assert_eq!(start.elapsed().as_secs(), 30, "{path} {window}");
        } else {
            let later = async {
                tokio::time::sleep(100 * SECOND).await;
                server.gate.add_permits(1);
            };
            let (answer, ()) = tokio::join!(answer, later);
            assert_eq!(answer.expect("it took its time").status(), StatusCode::OK);
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_reader_that_takes_a_little_at_a_time_has_all_of_it() {
    let server = Server::start().await;
    let mut client = client(&server).await;
    let request = Request::get("http://test/stream").body(Full::default()).expect("a request");
    let mut body = client.send(request).await.unwrap().into_body();
    let mut read = 0;
    while let Some(frame) = body.frame().await {
        read += frame.unwrap().into_data().map_or(0, |data| data.len());
        tokio::time::sleep(20 * SECOND).await;
    }
    assert_eq!(read, PIECES.iter().sum::<usize>());
}

/// Begins HTTP/2 with empty settings.
const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0";

#[tokio::test]
async fn a_peer_whose_headers_never_end_is_sent_away() {
    let server = Server::start().await;
    let mut raw = server.raw().await;
    raw.send(PREFACE).await;
    // HEADERS of stream 1 that do not end; then CONTINUATIONs of one small header each.
    let mut flood = vec![0, 0, 3, 1, 1, 0, 0, 0, 1, 0x82, 0x84, 0x86];
    for _ in 0..200_000 {
        flood.extend([0, 0, 4, 9, 0, 0, 0, 0, 1, 0, 1, b'a', 0]);
    }
    // The server may close before it has all of it, and then takes no more.
    let _ = raw.tcp.write_all(&flood).await;
    raw.rest().await;
    assert!(server.raw().await.get("/other").await.ends_with("/other"));
}

#[tokio::test(start_paused = true)]
async fn a_peer_that_pings_and_reads_no_answer_is_closed() {
    let server = Server::start().await;
    let mut raw = server.raw().await;
    raw.send(PREFACE).await;
    let mut ping = vec![0, 0, 8, 6, 0, 0, 0, 0, 0];
    ping.extend([7; 8]);
    let pings = ping.repeat(1_000);
    // It takes no more when its answers stay where they are, and then closes.
    while raw.tcp.write_all(&pings).await.is_ok() {}
    assert!(server.raw().await.get("/other").await.ends_with("/other"));
}

#[tokio::test]
async fn a_peer_that_resets_all_it_asks_for_is_sent_away() {
    let server = Server::start().await;
    let mut raw = server.raw().await;
    raw.send("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\u{4}\0\0\0\0\0").await;
    let mut flood = Vec::new();
    for stream in (1u32..20_001).step_by(2) {
        // GET / over http, all from the static table, with both end flags; then a reset.
        flood.extend([0, 0, 3, 1, 5]);
        flood.extend(stream.to_be_bytes());
        flood.extend([0x82, 0x84, 0x86]);
        flood.extend([0, 0, 4, 3, 0]);
        flood.extend(stream.to_be_bytes());
        flood.extend(8u32.to_be_bytes());
    }
    // The server may close before it has all of it, and then takes no more.
    let _ = tokio::io::AsyncWriteExt::write_all(&mut raw.tcp, &flood).await;
    raw.rest().await;
    assert!(server.raw().await.get("/other").await.ends_with("/other"));
}
