//! A receiver of webhooks that answers as it is told.

use std::{sync::Arc, time::Duration};

use nuncio_testkit::webhook::{Answer, Receiver};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::sync::Notify;
use tokio::time::timeout;

/// Posts over a connection of its own; returns all that comes back until the server closes.
async fn post(receiver: &Receiver, target: &str, body: &str) -> String {
    post_with(receiver, target, "x-name: v\r\n", body).await
}

/// Posts with header lines of the test's own.
async fn post_with(receiver: &Receiver, target: &str, lines: &str, body: &str) -> String {
    let mut connection = TcpStream::connect(receiver.address()).await.expect("it listens");
    let length = body.len();
    let head = format!("POST {target} HTTP/1.1\r\nhost: h\r\nconnection: close\r\n{lines}");
    let request = format!("{head}content-length: {length}\r\n\r\n{body}");
    connection.write_all(request.as_bytes()).await.expect("it reads");
    let mut answer = String::new();
    // A server that closes at once may reset the connection.
    let _ = connection.read_to_string(&mut answer).await;
    answer
}

#[tokio::test]
async fn requests_are_recorded_in_order() {
    let receiver = Receiver::start().await;
    assert!(post(&receiver, "/a?x=1", "first").await.starts_with("HTTP/1.1 200 "));
    post(&receiver, "/b", "second").await;
    post(&receiver, "/a", "third").await;
    let all = receiver.requests();
    assert_eq!(
        all.iter().map(|request| &request.body[..]).collect::<Vec<_>>(),
        [b"first".as_slice(), b"second", b"third"]
    );
    assert_eq!((all[0].method.as_str(), all[0].path.as_str()), ("POST", "/a"));
    assert_eq!(all[0].query.as_deref(), Some("x=1"));
    assert_eq!(all[0].headers["x-name"], "v");
    assert!(all[0].at <= all[2].at);
    assert_eq!(receiver.url("/a"), format!("http://{}/a", receiver.address()));
}

#[tokio::test]
async fn answers_follow_the_script_of_their_path() {
    let receiver = Receiver::start().await;
    let redirect = Answer::Redirect("http://elsewhere.invalid/".to_owned());
    let told = Arc::new(Notify::new());
    told.notify_one();
    receiver.answer("/a", [Answer::Status(503), redirect]);
    receiver.answer("/a", [Answer::Close, Answer::Held(Arc::clone(&told), 202)]);
    receiver.otherwise("/a", Answer::Status(410));
    for (path, expected) in [
        ("/a", "HTTP/1.1 503 "),
        ("/b", "HTTP/1.1 200 "),
        ("/a", "HTTP/1.1 307 "),
        ("/a", ""),
        ("/a", "HTTP/1.1 202 "),
        ("/a", "HTTP/1.1 410 "),
        ("/a", "HTTP/1.1 410 "),
    ] {
        let answer = post(&receiver, path, "").await;
        assert_eq!(&answer[..answer.len().min(13)], expected);
        let redirects = answer.contains("location: http://elsewhere.invalid/\r\n");
        assert_eq!(redirects, expected.contains("307"));
    }
    assert_eq!(receiver.requests().len(), 7);
}

#[tokio::test]
async fn each_event_has_tries_of_its_own() {
    let receiver = Receiver::start().await;
    receiver.answer_each("/a", [Answer::Status(500), Answer::Status(503)]);
    for (event, expected) in [("x", 500), ("y", 500), ("x", 503), ("x", 200), ("y", 503)] {
        let head = format!("webhook-id: {event}\r\n");
        let answer = post_with(&receiver, "/a", &head, "").await;
        assert!(answer.starts_with(&format!("HTTP/1.1 {expected} ")), "{event}: {answer}");
    }
}

#[tokio::test]
async fn a_hanging_answer_is_recorded_and_never_comes() {
    let receiver = Receiver::start().await;
    receiver.answer("/a", [Answer::Hang]);
    let posting = post(&receiver, "/a", "hello");
    tokio::pin!(posting);
    assert!(timeout(Duration::from_millis(200), &mut posting).await.is_err());
    assert_eq!(&receiver.until("/a", 1).await[0].body[..], b"hello");
    assert!(timeout(Duration::from_millis(200), &mut posting).await.is_err());
}

#[tokio::test]
async fn requests_can_be_awaited() {
    let receiver = Receiver::start().await;
    let (came, ()) = tokio::join!(receiver.until("/a", 2), async {
        for (path, body) in [("/a", "1"), ("/b", "2"), ("/a", "3")] {
            post(&receiver, path, body).await;
        }
    });
    assert_eq!(came.iter().map(|request| &request.body[..]).collect::<Vec<_>>(), [b"1", b"3"]);
}

#[tokio::test]
async fn a_dropped_receiver_closes_its_port_and_connections() {
    let receiver = Receiver::start().await;
    receiver.answer("/a", [Answer::Hang]);
    let address = receiver.address();
    let mut connection = TcpStream::connect(address).await.unwrap();
    connection.write_all(b"GET /a HTTP/1.1\r\nhost: h\r\n\r\n").await.unwrap();
    receiver.until("/a", 1).await;
    drop(receiver);
    let mut rest = Vec::new();
    let _ = connection.read_to_end(&mut rest).await;
    assert!(rest.is_empty());
    assert!(TcpStream::connect(address).await.is_err());
}
