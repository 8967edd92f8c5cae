//! HTTP/2 without TLS, next to HTTP/1.1 on the same port.

use bytes::Bytes;
use http::{Request, StatusCode, Version};
use http_body_util::Full;

use crate::support::{Client, SECOND, Server};

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
    let start = tokio::time::Instant::now();
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
    let start = tokio::time::Instant::now();
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
