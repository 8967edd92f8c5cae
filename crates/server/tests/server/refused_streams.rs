//! How a stream is refused before it opens, to callers of either version.

use nuncio_server::{Agent, Failure, Output, Server, Turn};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
};

struct Silent;

impl Agent for Silent {
    async fn run(&self, _: Turn, _: Output) -> Result<(), Failure> {
        Ok(())
    }
}

/// Subscribes to a task that nobody has, and requires an answer of a media type that says so.
async fn check(version: &str, method: &str, accept: &str, media_type: &str, body: &str) {
    let bound = Server::new("silent", Silent).bind("127.0.0.1:0").await.expect("a free port");
    let (address, stopper) = (bound.address(), bound.stopper());
    let running = tokio::spawn(bound.run());
    let call =
        format!(r#"{{"jsonrpc":"2.0","id":7,"method":"{method}","params":{{"id":"nobody"}}}}"#);
    let length = call.len();
    let request = format!(
        "POST / HTTP/1.1\r\nHost: a\r\nConnection: close\r\nContent-Type: application/json\r\n\
         A2A-Version: {version}\r\nAccept: {accept}\r\nContent-Length: {length}\r\n\r\n{call}"
    );
    let mut connection = TcpStream::connect(address).await.expect("a connection");
    connection.write_all(request.as_bytes()).await.expect("to write");
    let mut answer = String::new();
    connection.read_to_string(&mut answer).await.expect("to read");
    stopper.stop();
    running.await.expect("an orderly end");

    let (head, said) = answer.split_once("\r\n\r\n").expect("a head");
    assert!(head.starts_with("HTTP/1.1 200 "), "{answer}");
    assert!(head.contains(&format!("content-type: {media_type}\r\n")), "{answer}");
    assert!(said.starts_with(body), "{answer}");
}

#[tokio::test]
async fn in_1_0_by_a_document() {
    let body = r#"{"jsonrpc":"2.0","id":7,"error":{"code":-32001,"#;
    check("1.0", "SubscribeToTask", "text/event-stream", "application/json", body).await;
}

/// Its SDKs, in Python and in JavaScript, read nothing else.
#[tokio::test]
async fn in_0_3_by_an_event_to_those_who_read_events_alone() {
    let body = r#"data: {"jsonrpc":"2.0","id":7,"error":{"code":-32001,"#;
    check("0.3", "tasks/resubscribe", "text/event-stream", "text/event-stream", body).await;
}

#[tokio::test]
async fn in_0_3_by_a_document_to_everybody_else() {
    let body = r#"{"jsonrpc":"2.0","id":7,"error":{"code":-32001,"#;
    for accept in ["*/*", "application/json, text/event-stream"] {
        check("0.3", "tasks/resubscribe", accept, "application/json", body).await;
    }
}
