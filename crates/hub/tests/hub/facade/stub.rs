//! An agent that does exactly what a test tells it.

use std::{
    collections::VecDeque,
    net::SocketAddr,
    sync::{Arc, Mutex},
    time::Duration,
};

use serde_json::{Value, json};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpListener, TcpStream},
    sync::{Notify, Semaphore},
    task::JoinHandle,
};

/// An agent on loopback that speaks A2A 0.3 and streams nothing.
pub(super) struct Stub {
    pub(super) address: SocketAddr,
    state: Arc<State>,
    serving: JoinHandle<()>,
}

#[derive(Default)]
struct State {
    acts: Mutex<VecDeque<Act>>,
    requests: Mutex<Vec<String>>,
    came: Notify,
}

/// What becomes of one request.
#[derive(Clone)]
pub(super) enum Act {
    /// It is answered with a message of this text.
    Say(&'static str),
    /// It is answered with these bytes.
    Raw(String),
    /// It is answered with a status, headers and a body, in which `$ID` is the request's.
    Answer(String, String, String),
    /// The connection is closed before anything is read.
    Hang,
    /// Nothing happens until somebody adds a permit; then the rest.
    After(Arc<Semaphore>, Box<Self>),
}

impl Act {
    /// Answers with a status, headers and a body.
    pub(super) fn status(status: &str, headers: &str, body: &str) -> Self {
        Self::Answer(status.to_owned(), headers.to_owned(), body.to_owned())
    }

    /// Answers with a result of JSON-RPC.
    pub(super) fn result(result: &Value) -> Self {
        let body = format!(r#"{{"jsonrpc":"2.0","id":$ID,"result":{result}}}"#);
        Self::status("200 OK", "", &body)
    }

    pub(super) fn after(gate: &Arc<Semaphore>, act: Self) -> Self {
        Self::After(Arc::clone(gate), Box::new(act))
    }
}

impl Stub {
    /// Does these things, and says `done` to everything that comes then.
    pub(super) async fn start(acts: impl IntoIterator<Item = Act>) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.expect("a free port");
        Self::on(listener, acts)
    }

    pub(super) fn on(listener: TcpListener, acts: impl IntoIterator<Item = Act>) -> Self {
        let address = listener.local_addr().expect("an address");
        let acts = Mutex::new(acts.into_iter().collect());
        let state = Arc::new(State { acts, ..State::default() });
        let serving = tokio::spawn(serve(listener, Arc::clone(&state)));
        Self { address, state, serving }
    }

    /// The bodies of all requests so far.
    pub(super) fn bodies(&self) -> Vec<Value> {
        let requests = self.state.requests.lock().expect("no panic");
        let bodies = requests.iter().filter_map(|request| request.split_once("\r\n\r\n"));
        bodies.map(|(_, body)| serde_json::from_str(body).expect("JSON")).collect()
    }

    /// The head of the newest request.
    pub(super) fn head(&self) -> String {
        let requests = self.state.requests.lock().expect("no panic");
        let newest = requests.last().expect("a request");
        newest.split("\r\n\r\n").next().unwrap_or_default().to_lowercase()
    }

    /// The texts of all messages so far.
    pub(super) fn texts(&self) -> Vec<String> {
        let text = |body: &Value| body.pointer("/params/message/parts/0/text").cloned();
        let texts = self.bodies().iter().filter_map(text).collect::<Vec<_>>();
        texts.iter().map(|text| text.as_str().expect("a text").to_owned()).collect()
    }

    /// Waits until so many requests have come.
    pub(super) async fn has(&self, count: usize) {
        let wait = async {
            loop {
                let came = self.state.came.notified();
                if self.state.requests.lock().expect("no panic").len() >= count {
                    return;
                }
                came.await;
            }
        };
        tokio::time::timeout(Duration::from_secs(20), wait).await.expect("they come");
    }

    /// A card of this agent, as molecule's guides have it (MD-64).
    pub(super) fn card(&self, name: &str) -> Value {
        json!({
            "name": name, "description": "Does as it is told", "version": "1.0.0",
            "url": format!("http://{}/", self.address), "preferredTransport": "JSONRPC",
            "protocolVersion": "0.3.0", "capabilities": {},
            "skills": [{"id": "work", "name": "Work", "description": "Works", "tags": ["labour"]}],
            "defaultInputModes": ["text/plain"], "defaultOutputModes": ["text/plain"]
        })
    }
}

impl Drop for Stub {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

async fn serve(listener: TcpListener, state: Arc<State>) {
    loop {
        let Ok((tcp, _)) = listener.accept().await else { return };
        tokio::spawn(answer(tcp, Arc::clone(&state)));
    }
}

async fn answer(mut tcp: TcpStream, state: Arc<State>) {
    let hangs_up = {
        let mut acts = state.acts.lock().expect("no panic");
        let hangs_up = matches!(acts.front(), Some(Act::Hang));
        if hangs_up {
            acts.pop_front();
        }
        hangs_up
    };
    if hangs_up {
        state.requests.lock().expect("no panic").push(String::new());
        state.came.notify_waiters();
        return;
    }
    let Some(request) = read(&mut tcp).await else { return };
    let body = request.split_once("\r\n\r\n").map_or("", |(_, body)| body);
    let body: Value = serde_json::from_str(body).unwrap_or_default();
    let id = body["id"].to_string();
    let task = |state: &str| {
        let status = json!({"state": state});
        Act::result(&json!({"kind": "task", "id": "theirs", "contextId": "c", "status": status}))
    };
    let mut act = match body["method"].as_str() {
        Some("tasks/get") => task("working"),
        Some("tasks/cancel") => task("canceled"),
        _ => {
            state.requests.lock().expect("no panic").push(request);
            let act = state.acts.lock().expect("no panic").pop_front();
            act.unwrap_or(Act::Say("done"))
        }
    };
    state.came.notify_waiters();
    while let Act::After(gate, next) = act {
        let Ok(permit) = gate.acquire().await else { return };
        permit.forget();
        act = *next;
    }
    if let Act::Say(text) = act {
        let parts = json!([{"kind": "text", "text": text}]);
        let said = json!({"kind": "message", "messageId": "m", "role": "agent", "parts": parts});
        act = Act::result(&said);
    }
    let text = match act {
        Act::Raw(text) => text,
        Act::Answer(status, headers, body) => {
            let body = body.replace("$ID", &id);
            format!(
                "HTTP/1.1 {status}\r\ncontent-type: application/json\r\nconnection: close\r\n\
                 {headers}content-length: {}\r\n\r\n{body}",
                body.len()
            )
        }
        Act::Say(_) | Act::Hang | Act::After(..) => return,
    };
    tcp.write_all(text.as_bytes()).await.ok();
    tcp.shutdown().await.ok();
}

/// Reads one request with its body.
async fn read(tcp: &mut TcpStream) -> Option<String> {
    let mut bytes = Vec::new();
    loop {
        let text = String::from_utf8_lossy(&bytes).into_owned();
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let length = head.lines().find_map(|line| {
                let (name, value) = line.split_once(':')?;
                name.eq_ignore_ascii_case("content-length").then(|| value.trim().parse().ok())?
            });
            if body.len() >= length.unwrap_or(0usize) {
                return Some(text);
            }
        }
        if tcp.read_buf(&mut bytes).await.ok()? == 0 {
            return None;
        }
    }
}
