//! Peers that take their time. The clock is paused: it jumps whenever everybody waits.

use std::time::Duration;

use tokio::{io::AsyncReadExt as _, time::Instant};

use crate::support::{Raw, SECOND, Server, get};

/// How long until the server closes, in whole seconds.
async fn closed_after(raw: &mut Raw) -> (u64, String) {
    let start = Instant::now();
    let rest = raw.rest().await;
    (start.elapsed().as_secs(), rest)
}

#[tokio::test(start_paused = true)]
async fn a_head_that_is_not_sent_in_time_closes_the_connection() {
    for head in ["", "G", "GET / HTTP/1.1\r\nhost: te", "PRI * HTTP/2.0\r\n"] {
        let server = Server::start().await;
        let mut raw = server.raw().await;
        raw.send(head).await;
        assert_eq!(closed_after(&mut raw).await, (10, String::new()), "{head:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_head_in_small_pieces_gets_no_more_time() {
    let server = Server::start().await;
    let mut raw = server.raw().await;
    let start = Instant::now();
    for piece in get("/").as_bytes().chunks(1).take(20) {
        tokio::time::sleep(Duration::from_millis(499)).await;
        raw.send(piece).await;
    }
    assert_eq!(raw.rest().await, "");
    assert_eq!(start.elapsed().as_secs(), 10);
}

#[tokio::test(start_paused = true)]
async fn an_idle_connection_is_kept_for_longer_than_a_head_may_take() {
    let server = Server::start().await;
    let mut raw = server.raw().await;
    for _ in 0..3 {
        assert!(raw.get("/again").await.ends_with("/again"));
        tokio::time::sleep(74 * SECOND).await;
    }
    assert!(raw.get("/again").await.ends_with("/again"));
    assert_eq!(closed_after(&mut raw).await, (75, String::new()));
}

#[tokio::test(start_paused = true)]
async fn the_head_of_a_later_request_is_timed_from_its_first_byte() {
    let server = Server::start().await;
    let mut raw = server.raw().await;
    assert!(raw.get("/first").await.ends_with("/first"));
    tokio::time::sleep(70 * SECOND).await;
    raw.send("GET /second HT").await;
    assert_eq!(closed_after(&mut raw).await, (10, String::new()));
}

#[tokio::test(start_paused = true)]
async fn an_answer_may_take_as_long_as_it_takes() {
    let server = Server::start().await;
    let mut raw = server.raw().await;
    raw.send(get("/wait")).await;
    tokio::time::sleep(3600 * SECOND).await;
    server.gate.add_permits(1);
    assert!(raw.answer().await.ends_with("waited"));
    assert!(raw.get("/next").await.ends_with("/next"));
}

#[tokio::test(start_paused = true)]
async fn a_reader_that_takes_nothing_is_closed() {
    let mut server = Server::start().await;
    let mut raw = server.raw().await;
    raw.send(get("/endless")).await;
    server.reached.notified().await;
    let start = Instant::now();
    server.drain.begin(3600 * SECOND);
    (&mut server.serving).await.unwrap();
    assert_eq!(start.elapsed().as_secs(), 30);
    // What the kernel had taken is still there.
    assert!(!raw.rest().await.is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_slow_reader_is_not_closed() {
    let server = Server::start().await;
    let mut raw = server.raw().await;
    raw.send(get("/endless")).await;
    let mut buffer = vec![0; 8 * 1024 * 1024];
    for _ in 0..5 {
        tokio::time::sleep(29 * SECOND).await;
        // The kernel moves so much in its own time.
        tokio::time::resume();
        raw.tcp.read_exact(&mut buffer).await.unwrap();
        tokio::time::pause();
    }
}

#[tokio::test(start_paused = true)]
async fn a_handle_of_the_peer_closes_the_connection() {
    let server = Server::start().await;
    let mut raw = server.raw().await;
    raw.send(get("/close")).await;
    assert_eq!(closed_after(&mut raw).await, (0, String::new()));
}
