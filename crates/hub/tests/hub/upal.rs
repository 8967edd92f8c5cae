//! Upal's paths, and the hub's own agent.

mod nodes;
mod own;
mod runs;

use nuncio_testkit::wire::Http;
use serde_json::{Value, json};

use crate::tasks::office::{Office, done};

/// A file as Upal writes it: a title for a name, a version, and members that only Upal knows.
fn definition() -> Value {
    json!({
        "name": "My Report", "version": 1,
        "nodes": [
            { "id": "topic", "type": "input", "config": { "value": "", "label": "Topic" } },
            { "id": "draft", "type": "external",
              "config": { "agent": "clerk", "prompt": "write {{topic}}" } },
            { "id": "out", "type": "output", "config": {} },
        ],
        "edges": [{ "from": "topic", "to": "draft" }, { "from": "draft", "to": "out" }],
    })
}

/// The same, with a clerk who asks before it pays.
fn payment() -> Value {
    let mut payment = definition();
    payment["name"] = json!("payment");
    payment["nodes"][1] = json!({
        "id": "pay", "type": "external", "config": { "agent": "clerk", "prompt": "pay {{topic}}" },
    });
    payment["edges"] = json!([{ "from": "topic", "to": "pay" }, { "from": "pay", "to": "out" }]);
    payment
}

async fn office(definitions: &[Value]) -> Office {
    let office = Office::open().await;
    for definition in definitions {
        done(&office.administrator, "POST", "/api/workflows", definition).await;
    }
    office
}

/// Calls a node in Upal's form.
async fn call(http: &Http, path: &str, text: &str) -> Value {
    let body = json!({
        "jsonrpc": "2.0", "id": 1, "method": "a2a.sendMessage",
        "params": {
            "message": { "role": "user", "parts": [{ "type": "text", "text": text }] },
            "configuration": { "acceptedOutputModes": ["text/plain", "application/json"] },
        },
    });
    let headers = [("content-type", "application/json")];
    let reply = http.request("POST", path, &headers, body.to_string()).await;
    assert_eq!(reply.status, 200, "{}", reply.text());
    reply.json()
}
