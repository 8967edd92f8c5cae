//! An agent on somebody else's server, which answers as its test says.

use std::{
    net::SocketAddr,
    sync::{Arc, Mutex},
};

use axum::{
    Json, Router,
    extract::State,
    response::{IntoResponse as _, Response},
    routing::{get, post},
};
use http::{HeaderMap, header::CONTENT_TYPE};
use serde_json::{Value, json};
use tokio::{net::TcpListener, task::JoinHandle};

/// An agent on JSON-RPC, for as long as this is held.
pub(crate) struct Foreign {
    address: SocketAddr,
    heard: Heard,
    serving: JoinHandle<()>,
}

/// Returns what the agent answers a method with: one result, or those of a stream.
type Answer = Arc<dyn Fn(&str, &Value) -> Vec<Value> + Send + Sync>;

type Heard = Arc<Mutex<Vec<(HeaderMap, Value)>>>;

impl Foreign {
    /// Serves an agent that streams, or can only be asked.
    pub(crate) async fn start(
        streams: bool,
        answer: impl Fn(&str, &Value) -> Vec<Value> + Send + Sync + 'static,
    ) -> Self {
        Self::with_card(json!({ "capabilities": { "streaming": streams } }), answer).await
    }

    /// Serves an agent with this on its card.
    pub(crate) async fn with_card(
        more: Value,
        answer: impl Fn(&str, &Value) -> Vec<Value> + Send + Sync + 'static,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let address = listener.local_addr().expect("a bound address");
        let mut card = json!({
            "name": "foreign", "description": "d", "version": "1", "capabilities": {},
            "skills": [], "defaultInputModes": [], "defaultOutputModes": [],
            "supportedInterfaces": [{
                "url": format!("http://{address}/"),
                "protocolBinding": "JSONRPC",
                "protocolVersion": "1.0",
            }],
        });
        for (key, value) in more.as_object().expect("an object") {
            card[key] = value.clone();
        }
        let heard = Heard::default();
        let router = Router::new()
            .route("/.well-known/agent-card.json", get(async move || Json(card)))
            .route("/", post(hear))
            .with_state((Arc::new(answer) as Answer, Arc::clone(&heard)));
        let serving = tokio::spawn(async move {
            axum::serve(listener, router).await.expect("it serves");
        });
        Self { address, heard, serving }
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}/", self.address)
    }

    /// Returns what came with a method, the newest last.
    pub(crate) fn heard(&self, method: &str) -> Vec<(HeaderMap, Value)> {
        let heard = self.heard.lock().expect("nobody panics with it");
        heard.iter().filter(|(_, body)| body["method"] == method).cloned().collect()
    }
}

impl Drop for Foreign {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

async fn hear(
    State((answer, heard)): State<(Answer, Heard)>,
    headers: HeaderMap,
    Json(body): Json<Value>,
) -> Response {
    let method = body["method"].as_str().unwrap_or_default().to_owned();
    let results = answer(&method, &body["params"]);
    heard.lock().expect("nobody panics with it").push((headers, body.clone()));
    let envelopes = results
        .iter()
        .map(|result| json!({ "jsonrpc": "2.0", "id": body["id"], "result": result }));
    let (kind, text) = match method.as_str() {
        "SendStreamingMessage" | "SubscribeToTask" => {
            let frames = envelopes.map(|envelope| format!("data: {envelope}\n\n"));
            ("text/event-stream", frames.collect::<String>())
        }
        _ => ("application/json", envelopes.map(|envelope| envelope.to_string()).collect()),
    };
    ([(CONTENT_TYPE, kind)], text).into_response()
}

/// A task of the agent's, whose history begins with the message that it was asked by.
pub(crate) fn task(state: &str, asked: &Value) -> Value {
    let mut message = asked["message"].clone();
    message["taskId"] = json!("their-task");
    message["contextId"] = json!("their-context");
    json!({
        "id": "their-task",
        "contextId": "their-context",
        "status": { "state": format!("TASK_STATE_{state}"), "timestamp": "2026-01-01T00:00:00Z" },
        "history": [message],
    })
}

/// What the agent says.
pub(crate) fn said(id: &str, text: &str) -> Value {
    json!({
        "messageId": id, "role": "ROLE_AGENT", "parts": [{ "text": text }],
        "taskId": "their-task", "contextId": "their-context",
    })
}
