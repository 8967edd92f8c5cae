//! Heads of requests that are too large, or that two readers could understand in two ways.

use crate::support::{Server, get};

/// Sends a head, and returns the status of the answer, and whether the connection is closed.
async fn status(server: &Server, head: &str) -> String {
    let mut raw = server.raw().await;
    raw.send(head).await;
    let answer = raw.rest().await;
    answer.split(' ').nth(1).unwrap_or("none").to_owned()
}

#[tokio::test]
async fn a_head_that_is_too_large_is_refused() {
    let server = Server::start().await;
    let filler = "x".repeat(64 * 1024);
    let head = format!("GET / HTTP/1.1\r\nhost: test\r\nfiller: {filler}\r\n\r\n");
    assert_eq!(status(&server, &head).await, "431");
}

#[tokio::test]
async fn a_head_with_too_many_headers_is_refused() {
    for limit in [100, 7] {
        let server = Server::limited(|limits| limits.headers = limit).await;
        let head = |count: usize| {
            let headers = "a: b\r\n".repeat(count - 2);
            format!("GET /fits HTTP/1.1\r\nhost: test\r\nconnection: close\r\n{headers}\r\n")
        };
        assert_eq!(status(&server, &head(limit)).await, "200");
        assert_eq!(status(&server, &head(limit + 1)).await, "431");
    }
}

#[tokio::test]
async fn a_head_that_is_not_http_is_refused() {
    let server = Server::start().await;
    for head in ["\u{16}\u{3}\u{1} hello\r\n\r\n", "GET / HTTP/1.1\r\nno colon\r\n\r\n"] {
        assert_eq!(status(&server, head).await, "400", "{head:?}");
    }
}

#[tokio::test]
async fn two_names_for_one_host_are_refused() {
    let server = Server::start().await;
    for head in [
        "GET http://one/ HTTP/1.1\r\nhost: two\r\nconnection: close\r\n\r\n",
        "GET / HTTP/1.1\r\nhost: one\r\nhost: two\r\nconnection: close\r\n\r\n",
    ] {
        assert_eq!(status(&server, head).await, "400", "{head:?}");
    }
    let head = "GET http://One/ HTTP/1.1\r\nhost: one\r\nconnection: close\r\n\r\n";
    assert_eq!(status(&server, head).await, "200");
}

#[tokio::test]
async fn a_service_that_panics_leaves_others_unharmed() {
    let server = Server::start().await;
    let mut other = server.raw().await;
    assert!(other.get("/before").await.ends_with("/before"));
    let mut raw = server.raw().await;
    raw.send(get("/panic")).await;
    assert_eq!(raw.rest().await, "");
    assert!(other.get("/after").await.ends_with("/after"));
    assert!(server.raw().await.get("/new").await.ends_with("/new"));
}
