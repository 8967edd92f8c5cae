//! Heads of requests that are too large, or that two readers could understand in two ways.

use crate::support::{Server, get};

/// Sends a request, and returns the status of the answer that the connection ends with.
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
async fn a_request_with_two_lengths_is_refused() {
    let server = Server::start().await;
    let chunked = "transfer-encoding: chunked";
    for headers in [
        format!("content-length: 3\r\n{chunked}"),
        format!("{chunked}\r\ncontent-length: 3"),
        format!("{chunked}\r\nContent-Length : 3"),
        "content-length: 3\r\ncontent-length: 3".to_owned(),
        "content-length: 3\r\ncontent-length: 4".to_owned(),
        "content-length: 3, 3".to_owned(),
        "content-length: +3".to_owned(),
        "transfer-encoding: chunked, gzip".to_owned(),
        "transfer-encoding: xchunked".to_owned(),
    ] {
        let request = format!("POST / HTTP/1.1\r\nhost: test\r\n{headers}\r\n\r\n");
        assert_eq!(status(&server, &(request + "0\r\n\r\n")).await, "400", "{headers:?}");
    }
    let http10 = format!("POST / HTTP/1.0\r\nhost: test\r\n{chunked}\r\n\r\n0\r\n\r\n");
    assert_eq!(status(&server, &http10).await, "400");
}

#[tokio::test]
async fn lines_that_two_readers_would_end_in_two_places_are_refused() {
    let server = Server::start().await;
    for head in [
        "GET / HTTP/1.1\nhost: test\n\n",
        "GET / HTTP/1.1\r\nhost: test\nfolded: no\r\n\r\n",
        "GET / HTTP/1.1\r\nhost: test\r\n folded\r\n\r\n",
        "GET / HTTP/1.1\r\nhost: test\r\n\tfolded\r\n\r\n",
        "GET / HTTP/1.1\r\nhost: te\rst\r\n\r\n",
        "GET / HTTP/1.1\r\nhost : test\r\n\r\n",
        "GET / HTTP/1.1\r\n: test\r\n\r\n",
        "GET / HTTP/1.1\r\nhost: te\0st\r\n\r\n",
        "GET  / HTTP/1.1\r\nhost: test\r\n\r\n",
    ] {
        assert_eq!(status(&server, head).await, "400", "{head:?}");
    }
}

#[tokio::test]
async fn a_request_hidden_behind_another_reaches_nobody() {
    let server = Server::start().await;
    let mut raw = server.raw().await;
    let (first, hidden) = (get("/first"), get("/hidden"));
    let both = "POST / HTTP/1.1\r\nhost: test\r\ntransfer-encoding: chunked\r\n\
                content-length: 5\r\n\r\n0\r\n\r\n";
    raw.send(format!("{first}{both}{hidden}")).await;
    let answers = raw.rest().await;
    assert!(answers.contains("/first") && !answers.contains("/hidden"), "{answers}");
    assert!(answers.contains("HTTP/1.1 400"), "{answers}");
    // Nobody but the first was let in.
    server.reached.notified().await;
    let reached = server.reached.notified();
    tokio::pin!(reached);
    assert!(futures_util::poll!(reached).is_pending());
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
