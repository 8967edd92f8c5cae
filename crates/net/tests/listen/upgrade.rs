//! Connections that stop speaking HTTP, and those that were not allowed to.

use nuncio_net::listen::Limits;
use tokio::{io::AsyncReadExt as _, time::Instant};

use crate::support::{Raw, SECOND, Server, get};

fn ask(path: &str, more: &str) -> String {
    let upgrade = "connection: upgrade\r\nupgrade: echo\r\n";
    format!("GET {path} HTTP/1.1\r\nhost: test\r\n{upgrade}{more}\r\n")
}

/// Asks for an upgrade and reads the head of the answer.
async fn upgraded(server: &Server, path: &str) -> Raw {
    let mut raw = server.raw().await;
    raw.send(ask(path, "")).await;
    let head = head(&mut raw).await;
    assert!(head.starts_with("HTTP/1.1 101 "), "{head}");
    assert!(head.contains("\r\nupgrade: echo\r\n"), "{head}");
    raw
}

async fn head(raw: &mut Raw) -> String {
    let mut read = Vec::new();
    while !read.ends_with(b"\r\n\r\n") {
        read.push(raw.tcp.read_u8().await.expect("a head"));
    }
    String::from_utf8(read).expect("a text")
}

async fn check_echo(raw: &mut Raw, text: &str) {
    raw.send(text).await;
    let mut read = vec![0; text.len()];
    raw.tcp.read_exact(&mut read).await.expect("an echo");
    assert_eq!(String::from_utf8_lossy(&read), text);
}

#[tokio::test]
async fn an_upgraded_connection_carries_any_bytes() {
    let server = Server::start().await;
    let mut raw = upgraded(&server, "/upgrade").await;
    check_echo(&mut raw, "hello").await;
    // What looks like a request, sound or not, is none.
    check_echo(&mut raw, &get("/hidden")).await;
    let both = "POST / HTTP/1.1\r\ncontent-length: 5\r\ntransfer-encoding: chunked\r\n\r\n";
    check_echo(&mut raw, both).await;
}

#[tokio::test]
async fn bytes_that_come_along_with_the_question_are_not_lost() {
    let server = Server::start().await;
    let mut raw = server.raw().await;
    raw.send(ask("/upgrade", "") + &get("/hidden")).await;
    head(&mut raw).await;
    check_echo(&mut raw, "").await;
    let mut read = vec![0; get("/hidden").len()];
    raw.tcp.read_exact(&mut read).await.unwrap();
    assert_eq!(read, get("/hidden").as_bytes());
}

#[tokio::test(start_paused = true)]
async fn an_upgraded_connection_has_the_clocks_of_its_owner() {
    let server = Server::start().await;
    let mut raw = upgraded(&server, "/upgrade").await;
    tokio::time::sleep(3600 * SECOND).await;
    check_echo(&mut raw, "still there").await;
}

#[tokio::test]
async fn an_upgraded_connection_takes_its_place_until_it_is_dropped() {
    let change = |limits: &mut Limits| limits.connections_per_address = 1;
    let server = Server::limited(change).await;
    let mut first = upgraded(&server, "/upgrade").await;
    check_echo(&mut first, "first").await;
    assert_eq!(server.raw().await.rest().await, "");
    drop(first);
    // Its owner has to notice first.
    loop {
        let mut next = server.raw().await;
        next.send(get("/next")).await;
        let mut answer = Vec::new();
        if next.tcp.read_buf(&mut answer).await.is_ok_and(|count| count > 0) {
            break;
        }
    }
}

#[tokio::test]
async fn an_owner_who_drops_the_connection_closes_it() {
    let server = Server::start().await;
    let mut raw = upgraded(&server, "/upgrade/drop").await;
    assert_eq!(raw.rest().await, "");
}

#[tokio::test(start_paused = true)]
async fn a_drain_waits_for_upgraded_connections_and_then_ends_them() {
    let server = Server::start().await;
    let mut leaving = upgraded(&server, "/upgrade").await;
    let mut staying = upgraded(&server, "/upgrade").await;
    let start = Instant::now();
    server.drain.begin(30 * SECOND);
    tokio::time::sleep(SECOND).await;
    check_echo(&mut leaving, "bye").await;
    drop(leaving);
    check_echo(&mut staying, "not yet").await;
    assert_eq!(staying.rest().await, "");
    server.serving.await.unwrap();
    assert_eq!(start.elapsed().as_secs(), 30);
}

#[tokio::test(start_paused = true)]
async fn a_drain_ends_when_the_last_upgraded_connection_is_gone() {
    let server = Server::start().await;
    let raw = upgraded(&server, "/upgrade").await;
    let start = Instant::now();
    server.drain.begin(3600 * SECOND);
    drop(raw);
    server.serving.await.unwrap();
    assert_eq!(start.elapsed().as_secs(), 0);
}

#[tokio::test(start_paused = true)]
async fn an_upgraded_peer_that_takes_nothing_is_closed() {
    let mut server = Server::start().await;
    let raw = upgraded(&server, "/upgrade/endless").await;
    let start = Instant::now();
    server.drain.begin(3600 * SECOND);
    (&mut server.serving).await.unwrap();
    assert_eq!(start.elapsed().as_secs(), 30);
    drop(raw);
}

#[tokio::test]
async fn a_handle_of_the_peer_closes_an_upgraded_connection() {
    let server = Server::start().await;
    let mut raw = upgraded(&server, "/upgrade/close").await;
    check_echo(&mut raw, "open").await;
    server.gate.add_permits(1);
    assert_eq!(raw.rest().await, "");
}

/// Sends something with a request hidden behind it, which must reach nobody.
async fn check_refused(request: String, status: &str) {
    let server = Server::start().await;
    let mut raw = server.raw().await;
    raw.send(request.clone() + &get("/hidden")).await;
    let answers = raw.rest().await;
    let found = answers.split(' ').nth(1);
    assert_eq!(found, Some(status), "{request:?}: {answers}");
    assert!(answers.contains("\r\nconnection: close\r\n"), "{request:?}: {answers}");
    assert!(!answers.contains("hidden"), "{request:?}: {answers}");
}

#[tokio::test]
async fn nothing_is_read_behind_an_upgrade_that_was_refused() {
    check_refused(ask("/no", ""), "200").await;
    check_refused(ask("/body", ""), "200").await;
    // With a body nobody could say where the other protocol begins.
    check_refused(ask("/upgrade", "content-length: 4\r\n") + "body", "500").await;
    check_refused(ask("/upgrade", "transfer-encoding: chunked\r\n") + "0\r\n\r\n", "500").await;
    check_refused(ask("/upgrade", "").replacen("GET", "POST", 1), "500").await;
    check_refused(ask("/upgrade", "").replacen("/1.1", "/1.0", 1), "500").await;
    // Nobody asked.
    check_refused(get("/upgrade"), "500").await;
    check_refused(get("/upgrade/never"), "500").await;
    check_refused("CONNECT test:80 HTTP/1.1\r\nhost: test:80\r\n\r\n".to_owned(), "405").await;
}

#[tokio::test]
async fn an_ambiguous_upgrade_is_refused_before_anybody_judges_it() {
    let both = "content-length: 0\r\ntransfer-encoding: chunked\r\n";
    check_refused(ask("/upgrade", both) + "0\r\n\r\n", "400").await;
}

#[tokio::test]
async fn who_offers_http2_with_a_request_is_answered_and_may_go_on() {
    let server = Server::start().await;
    let mut raw = server.raw().await;
    let settings = "http2-settings: AAMAAABkAAQAAP__\r\n";
    for _ in 0..2 {
        raw.send(ask("/first", settings).replace("upgrade: echo", "upgrade: h2c")).await;
        assert!(raw.answer().await.ends_with("/first"));
    }
}
