//! How answers go over HTTP/1, and what becomes of those whom nobody waits for.

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use crate::support::{PIECES, Raw, Server, get};

/// Asks for one thing as the last, and returns head and body of the answer.
async fn ask(server: &Server, line: &str) -> (String, String) {
    let mut raw = server.raw().await;
    raw.send(format!("{line}\r\nhost: test\r\nconnection: close\r\n\r\n")).await;
    let answer = raw.rest().await;
    let (head, body) = answer.split_once("\r\n\r\n").expect("a head");
    (head.to_owned(), body.to_owned())
}

/// Puts chunks together. `None`: the last one is missing.
fn whole(mut chunks: &str) -> (String, Option<()>) {
    let mut body = String::new();
    while let Some((size, rest)) = chunks.split_once("\r\n") {
        let size = usize::from_str_radix(size, 16).expect("a size");
        if size == 0 {
            assert_eq!(rest, "\r\n");
            return (body, Some(()));
        }
        body += &rest[..size];
        chunks = rest[size..].strip_prefix("\r\n").expect("the end of a chunk");
    }
    (body, None)
}

#[tokio::test]
async fn a_body_of_known_length_says_it() {
    let server = Server::start().await;
    let (head, body) = ask(&server, "GET /path HTTP/1.1").await;
    assert!(head.starts_with("HTTP/1.1 200 OK\r\n"), "{head}");
    for line in ["\r\ncontent-length: 5", "\r\nconnection: close", "\r\ndate: "] {
        assert!(head.contains(line), "{head}");
    }
    assert_eq!(body, "/path");
}

#[tokio::test]
async fn a_body_of_unknown_length_comes_in_chunks() {
    let server = Server::start().await;
    let (head, body) = ask(&server, "GET /stream HTTP/1.1").await;
    assert!(head.contains("\r\ntransfer-encoding: chunked"), "{head}");
    assert!(!head.contains("content-length"), "{head}");
    assert_eq!(whole(&body), ("x".repeat(PIECES.iter().sum()), Some(())));
}

#[tokio::test]
async fn http_1_0_knows_no_chunks() {
    let server = Server::start().await;
    let mut raw = server.raw().await;
    raw.send("GET /stream HTTP/1.0\r\nconnection: keep-alive\r\n\r\n").await;
    let answer = raw.rest().await;
    let (head, body) = answer.split_once("\r\n\r\n").expect("a head");
    assert!(head.starts_with("HTTP/1.0 200 OK\r\n"), "{head}");
    assert!(!head.contains("transfer-encoding"), "{head}");
    assert_eq!(body.len(), PIECES.iter().sum());
}

#[tokio::test]
async fn http_1_0_goes_on_if_it_asks_for_that() {
    let server = Server::start().await;
    let mut raw = server.raw().await;
    raw.send("GET /one HTTP/1.0\r\nconnection: keep-alive\r\n\r\n").await;
    let answer = raw.answer().await;
    assert!(answer.contains("\r\nconnection: keep-alive\r\n"), "{answer}");
    raw.send("GET /two HTTP/1.0\r\n\r\n").await;
    assert!(raw.rest().await.ends_with("/two"));
}

#[tokio::test]
async fn a_head_without_a_body_tells_its_length() {
    let server = Server::start().await;
    let (head, body) = ask(&server, "HEAD /path HTTP/1.1").await;
    assert!(head.contains("\r\ncontent-length: 5"), "{head}");
    assert_eq!(body, "");
    let (head, body) = ask(&server, "HEAD /stream HTTP/1.1").await;
    assert!(!head.contains("content-length"), "{head}");
    assert_eq!(body, "");
}

#[tokio::test]
async fn what_has_no_body_says_no_length() {
    let server = Server::start().await;
    for (path, status) in [("/none", "204 No Content"), ("/same", "304 Not Modified")] {
        let (head, body) = ask(&server, &format!("GET {path} HTTP/1.1")).await;
        assert!(head.starts_with(&format!("HTTP/1.1 {status}\r\n")), "{head}");
        assert!(!head.contains("content-length") && !head.contains("chunked"), "{head}");
        assert_eq!(body, "");
    }
}

#[tokio::test]
async fn an_answer_that_would_be_none_is_an_error() {
    let server = Server::start().await;
    assert!(ask(&server, "GET /early HTTP/1.1").await.0.starts_with("HTTP/1.1 500 "));
}

#[tokio::test]
async fn framing_is_that_of_the_body_whatever_the_service_says() {
    let server = Server::start().await;
    let (head, body) = ask(&server, "GET /wrong HTTP/1.1").await;
    assert!(head.contains("\r\ncontent-length: 5"), "{head}");
    assert!(!head.contains("chunked") && !head.contains("keep-alive"), "{head}");
    assert_eq!(body, "right");
}

#[tokio::test]
async fn a_body_that_breaks_off_is_not_ended() {
    let server = Server::start().await;
    let (_, body) = ask(&server, "GET /break HTTP/1.1").await;
    assert_eq!(whole(&body), ("one".to_owned(), None));
    for path in ["/short", "/long"] {
        let mut raw = server.raw().await;
        raw.send(get(path) + &get("/next")).await;
        let answer = raw.rest().await;
        assert!(!answer.contains("/next"), "{answer}");
    }
}

#[tokio::test]
async fn requests_that_come_at_once_are_answered_in_order() {
    let server = Server::start().await;
    let mut raw = server.raw().await;
    let paths: Vec<String> = (0..300).map(|number| format!("/number/{number}")).collect();
    let last = "GET /last HTTP/1.1\r\nconnection: close\r\n\r\n";
    let all: String = paths.iter().map(|path| get(path)).chain([last.to_owned()]).collect();
    raw.send(all).await;
    let answers = raw.rest().await;
    let found = answers.split("\r\n\r\n").skip(1).filter_map(|text| text.split("HTTP/1.1").next());
    assert_eq!(found.collect::<Vec<_>>()[..300], paths);
    assert!(answers.ends_with("/last"));
}

async fn line(raw: &mut Raw) -> String {
    let mut read = Vec::new();
    while !read.ends_with(b"\r\n\r\n") {
        read.push(raw.tcp.read_u8().await.expect("a line"));
    }
    String::from_utf8(read).expect("a text")
}

#[tokio::test]
async fn who_waits_before_a_body_is_told_to_go_on() {
    let mut server = Server::start().await;
    let mut raw = server.raw().await;
    for (framing, body) in
        [("content-length: 4", "body"), ("transfer-encoding: chunked", "4\r\nbody\r\n0\r\n\r\n")]
    {
        let head = format!("POST /body HTTP/1.1\r\nexpect: 100-continue\r\n{framing}\r\n\r\n");
        raw.send(head).await;
        assert_eq!(line(&mut raw).await, "HTTP/1.1 100 Continue\r\n\r\n");
        raw.send(body).await;
        assert!(raw.answer().await.starts_with("HTTP/1.1 200"));
        assert_eq!(server.bodies.recv().await.unwrap().unwrap(), "body");
    }
}

#[tokio::test]
async fn a_body_that_comes_slowly_reaches_a_reader_in_another_task() {
    let mut server = Server::start().await;
    let mut raw = server.raw().await;
    for path in ["/body", "/body/elsewhere"] {
        raw.send(format!("POST {path} HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\n")).await;
        server.reached.notified().await;
        for piece in ["3\r\n", "one", "\r\n3\r", "\ntwo\r\n", "0\r\n", "\r\n"] {
            raw.send(piece).await;
            tokio::task::yield_now().await;
        }
        assert!(raw.answer().await.starts_with("HTTP/1.1 200"));
        assert_eq!(server.bodies.recv().await.unwrap().unwrap(), "onetwo");
    }
}

#[tokio::test]
async fn a_body_that_nobody_reads_is_passed_over_if_it_is_there() {
    let server = Server::start().await;
    let mut raw = server.raw().await;
    for framing in
        ["content-length: 4\r\n\r\nbody", "transfer-encoding: chunked\r\n\r\n1\r\nx\r\n0\r\n\r\n"]
    {
        raw.send(format!("POST /unread HTTP/1.1\r\n{framing}")).await;
        assert!(raw.answer().await.ends_with("unread"));
    }
    raw.send("POST /unread HTTP/1.1\r\ncontent-length: 5\r\n\r\nbody").await;
    let answer = raw.answer().await;
    assert!(answer.contains("\r\nconnection: close\r\n"), "{answer}");
    assert_eq!(raw.rest().await, "");
}

#[tokio::test]
async fn a_request_is_given_up_when_nobody_waits_for_it() {
    let server = Server::start().await;
    for path in ["/gone", "/gone/stream"] {
        for leaves_by_closing in [true, false] {
            let mut raw = server.raw().await;
            raw.send(get(path)).await;
            server.reached.notified().await;
            if leaves_by_closing {
                drop(raw);
                server.dropped.notified().await;
            } else {
                raw.tcp.shutdown().await.unwrap();
                server.dropped.notified().await;
            }
        }
    }
}
