//! Agents as tools: `nuncio mcp`, and `/mcp` on the hub, as a client on the other side sees them.

mod stdio;
mod web;

use serde_json::{Value, json};

/// What a client says first.
fn hello() -> Value {
    json!({
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"},
    })
}

fn request(id: u32, method: &str, params: &Value) -> String {
    json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}).to_string()
}

/// Returns all words of a tool's answer.
fn words(result: &Value) -> String {
    let blocks = result["content"].as_array().expect("a result has content");
    let texts = blocks.iter().filter_map(|block| block["text"].as_str());
    texts.collect::<Vec<_>>().join("\n")
}

fn is_error(result: &Value) -> bool {
    result["isError"] == true
}
