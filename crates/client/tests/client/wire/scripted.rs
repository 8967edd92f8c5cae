//! A peer that answers with the bytes it is told to, one act for each request.

use std::{
    net::SocketAddr,
    sync::{Arc, Mutex, PoisonError},
};

use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpListener, TcpStream},
    sync::watch,
};

/// What a peer does about a request. `$ID` stands for the id of the request.
#[derive(Clone, Debug)]
pub(crate) enum Act {
    /// Says this, and waits for the next request.
    Say(String),
    /// Says this, and closes the connection.
    Leave(String),
    /// Says this, and nothing more.
    Hold(String),
    /// Says the first, and then the second for ever.
    Flood(String, String),
}

/// A peer on loopback.
#[derive(Clone, Debug)]
pub(crate) struct Peer {
    pub(crate) address: SocketAddr,
    requests: Arc<Mutex<Vec<String>>>,
    /// How many connections its callers have closed.
    closed: watch::Receiver<usize>,
}

impl Peer {
    /// Does one act after the other, the last one for ever.
    pub(crate) async fn start(acts: impl IntoIterator<Item = Act>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let address = listener.local_addr().expect("a bound address");
        let (closing, closed) = watch::channel(0);
        let peer = Self { address, requests: Arc::default(), closed };
        let acts = Arc::new(Mutex::new(acts.into_iter().collect::<Vec<_>>()));
        let (requests, closing) = (Arc::clone(&peer.requests), Arc::new(closing));
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let (requests, acts) = (Arc::clone(&requests), Arc::clone(&acts));
                let closing = Arc::clone(&closing);
                tokio::spawn(async move {
                    serve(stream, &requests, &acts).await;
                    closing.send_modify(|count| *count += 1);
                });
            }
        });
        peer
    }

    /// The requests so far, heads and bodies.
    pub(crate) fn requests(&self) -> Vec<String> {
        self.requests.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Waits until a caller has closed a connection.
    pub(crate) async fn left(&mut self) {
        self.closed.wait_for(|count| *count > 0).await.expect("the peer is there");
    }
}

async fn serve(mut stream: TcpStream, requests: &Mutex<Vec<String>>, acts: &Mutex<Vec<Act>>) {
    while let Some(request) = read(&mut stream).await {
        let id = id_of(&request);
        requests.lock().expect("nobody panics with it").push(request);
        let act = {
            let mut acts = acts.lock().expect("nobody panics with it");
            if acts.len() > 1 { acts.remove(0) } else { acts[0].clone() }
        };
        let told = |text: &str| text.replace("$ID", &id).into_bytes();
        let done = match act {
            Act::Say(text) => stream.write_all(&told(&text)).await,
            Act::Leave(text) => {
                // Whoever reads it sees the end, whatever became of the bytes.
                let _ = stream.write_all(&told(&text)).await;
                return;
            }
            Act::Hold(text) => {
                let _ = stream.write_all(&told(&text)).await;
                let mut rest = [0; 64];
                while let Ok(1..) = stream.read(&mut rest).await {}
                return;
            }
            Act::Flood(text, again) => {
                let _ = stream.write_all(&told(&text)).await;
                let again = again.repeat(1 + 8192 / again.len());
                while stream.write_all(again.as_bytes()).await.is_ok() {}
                return;
            }
        };
        if done.is_err() {
            return;
        }
    }
}

/// Reads a request whose body has a length.
async fn read(stream: &mut TcpStream) -> Option<String> {
    let mut bytes = Vec::new();
    loop {
        let text = String::from_utf8_lossy(&bytes).into_owned();
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let length = head.lines().find_map(|line| {
                let (name, value) = line.split_once(':')?;
                name.eq_ignore_ascii_case("content-length").then(|| value.trim().parse().ok())?
            });
            if body.len() >= length.unwrap_or(0) {
                return Some(text);
            }
        }
        match stream.read_buf(&mut bytes).await {
            Ok(1..) => {}
            _ => return None,
        }
    }
}

fn id_of(request: &str) -> String {
    let id = request.split_once("\"id\":").map_or("0", |(_, rest)| rest);
    id.chars().take_while(char::is_ascii_digit).collect()
}

/// An answer with a body of this type.
pub(crate) fn answer(status: &str, content_type: &str, body: &str) -> String {
    // The id that stands for `$ID` has one digit in every test.
    let length = body.replace("$ID", "1").len();
    format!(
        "HTTP/1.1 {status}\r\ncontent-type: {content_type}\r\ncontent-length: {length}\r\n\r\n{body}"
    )
}

/// An answer with this result of JSON-RPC.
pub(crate) fn result(result: &str) -> String {
    let body = format!(r#"{{"jsonrpc":"2.0","id":$ID,"result":{result}}}"#);
    answer("200 OK", "application/json", &body)
}

/// An answer with this error of JSON-RPC.
pub(crate) fn error(code: i32, message: &str) -> String {
    let error = format!(r#"{{"code":{code},"message":"{message}"}}"#);
    let body = format!(r#"{{"jsonrpc":"2.0","id":$ID,"error":{error}}}"#);
    answer("200 OK", "application/json", &body)
}

/// The head of a stream that ends with its connection.
pub(crate) const STREAM: &str = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n";

/// A stream of these events.
pub(crate) fn stream(events: &[&str]) -> String {
    let events: String = events.iter().map(|event| frame(event)).collect();
    format!("{STREAM}{events}")
}

/// One event in its envelope.
pub(crate) fn frame(event: &str) -> String {
    format!("data: {{\"jsonrpc\":\"2.0\",\"id\":$ID,\"result\":{event}}}\n\n")
}

pub(crate) const TASK: &str =
    r#"{"id":"t","contextId":"c","status":{"state":"TASK_STATE_WORKING"}}"#;

/// The event that begins a task.
pub(crate) fn begun() -> String {
    format!(r#"{{"task":{TASK}}}"#)
}

/// A piece of the one artifact.
pub(crate) fn piece(text: &str, append: bool) -> String {
    format!(
        r#"{{"artifactUpdate":{{"taskId":"t","contextId":"c","append":{append},"artifact":{{"artifactId":"a","parts":[{{"text":"{text}"}}]}}}}}}"#
    )
}

/// The event that ends a task.
pub(crate) fn done() -> String {
    r#"{"statusUpdate":{"taskId":"t","contextId":"c","status":{"state":"TASK_STATE_COMPLETED"}}}"#
        .to_owned()
}

/// The task with these pieces in this state.
pub(crate) fn task_with(texts: &[&str], state: &str) -> String {
    let parts: Vec<String> = texts.iter().map(|text| format!(r#"{{"text":"{text}"}}"#)).collect();
    let parts = parts.join(",");
    format!(
        r#"{{"id":"t","contextId":"c","status":{{"state":"TASK_STATE_{state}"}},"artifacts":[{{"artifactId":"a","parts":[{parts}]}}]}}"#
    )
}
