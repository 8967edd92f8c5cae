//! Stopping while there are callers.

use std::time::Duration;

use tokio::{net::TcpStream, time::Instant};

use crate::support::{SECOND, Server, get};

#[tokio::test(start_paused = true)]
async fn a_request_in_flight_is_answered_and_its_connection_closed() {
    let server = Server::start().await;
    let mut raw = server.raw().await;
    raw.send(get("/wait")).await;
    server.reached.notified().await;
    server.drain.begin(30 * SECOND);
    tokio::time::sleep(5 * SECOND).await;
    server.gate.add_permits(1);
    let answer = raw.rest().await;
    assert!(answer.contains("connection: close") && answer.ends_with("waited"), "{answer}");
    let start = Instant::now();
    server.serving.await.unwrap();
    assert_eq!(start.elapsed(), Duration::ZERO);
}

#[tokio::test(start_paused = true)]
async fn idle_connections_are_closed_and_new_ones_refused() {
    let server = Server::start().await;
    let mut idle = server.raw().await;
    assert!(idle.get("/once").await.ends_with("/once"));
    assert!(!server.drain.has_begun());
    server.drain.begin(30 * SECOND);
    assert!(server.drain.has_begun());
    assert_eq!(idle.rest().await, "");
    server.serving.await.unwrap();
    assert!(TcpStream::connect(server.address).await.is_err());
}

#[tokio::test(start_paused = true)]
async fn a_request_whose_head_is_on_its_way_is_answered() {
    let server = Server::start().await;
    let mut begun = server.raw().await;
    assert!(begun.get("/first").await.ends_with("/first"));
    let mut fresh = server.raw().await;
    let (start, end) = ("GET /second HTTP/1.1\r\nho", "st: test\r\n\r\n");
    begun.send(start).await;
    tokio::time::sleep(SECOND).await;
    server.drain.begin(30 * SECOND);
    tokio::time::sleep(SECOND).await;
    begun.send(end).await;
    fresh.send(get("/third")).await;
    let answer = begun.rest().await;
    assert!(answer.ends_with("/second"), "{answer:?}");
    assert!(fresh.rest().await.ends_with("/third"));
    server.serving.await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn what_is_left_after_the_patience_is_cut() {
    let server = Server::start().await;
    let mut raw = server.raw().await;
    raw.send(get("/wait")).await;
    server.reached.notified().await;
    let start = Instant::now();
    server.drain.begin(30 * SECOND);
    // Only the first call counts.
    server.drain.begin(60 * SECOND);
    assert_eq!(raw.rest().await, "");
    server.serving.await.unwrap();
    assert_eq!(start.elapsed().as_secs(), 30);
}

#[tokio::test(start_paused = true)]
async fn a_call_without_patience_cuts_at_once() {
    let server = Server::start().await;
    let mut raw = server.raw().await;
    raw.send(get("/wait")).await;
    server.reached.notified().await;
    let start = Instant::now();
    server.drain.begin(30 * SECOND);
    tokio::time::sleep(SECOND).await;
    server.drain.begin(Duration::ZERO);
    assert_eq!(raw.rest().await, "");
    server.serving.await.unwrap();
    assert_eq!(start.elapsed().as_secs(), 1);
}
