//! What calls leave behind: lines, counts, and a place in a trace.

use std::{
    fmt,
    sync::{Arc, Mutex},
};

use serde_json::{Value, json};
use tracing::{
    Event, Metadata, Subscriber,
    field::{Field, Visit},
    span::{Attributes, Id, Record},
    subscriber::Interest,
};

use super::office::{Office, ask, call, done, send};

/// The lines about calls that were written meanwhile.
#[derive(Clone, Default)]
struct Lines(Arc<Mutex<Vec<Value>>>);

#[derive(Default)]
struct Fields(serde_json::Map<String, Value>);

impl Visit for Fields {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.0.insert(field.name().to_owned(), format!("{value:?}").into());
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.0.insert(field.name().to_owned(), value.into());
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.0.insert(field.name().to_owned(), value.into());
    }
}

impl Subscriber for Lines {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.target() == "nuncio::a2a"
    }

    fn register_callsite(&self, _: &'static Metadata<'static>) -> Interest {
        // Other tests have other subscribers.
        Interest::sometimes()
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn event(&self, event: &Event<'_>) {
        let mut fields = Fields::default();
        event.record(&mut fields);
        self.0.lock().expect("nobody panics with it").push(fields.0.into());
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}
    fn record_follows_from(&self, _: &Id, _: &Id) {}
    fn enter(&self, _: &Id) {}
    fn exit(&self, _: &Id) {}
}

impl Lines {
    fn taken(&self) -> Vec<Value> {
        std::mem::take(&mut *self.0.lock().expect("nobody panics with it"))
    }
}

const PARENT: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

#[tokio::test]
async fn every_call_leaves_one_line_without_any_text_of_its_message() {
    let lines = Lines::default();
    let _listening = tracing::subscriber::set_default(lines.clone());
    let office = Office::open().await;
    let bob = office.person("bob", &[]).await;
    lines.taken();

    let traced = [("traceparent", PARENT)];
    let answer = call(&bob, "clerk", "pay geheim", &traced).await;
    let task = &answer["result"]["task"];
    let found = lines.taken();
    let [line] = &found[..] else { panic!("one line: {found:?}") };
    assert_eq!(line["event"], "a2a_request");
    assert_eq!((&line["agent"], &line["caller"]), (&json!("clerk"), &json!("user:bob")));
    assert_eq!((&line["a2a.method"], &line["status"]), (&json!("SendMessage"), &json!("success")));
    assert_eq!(line["a2a.dialect"], "A2A 1.0 JSON-RPC");
    assert_eq!((&line["a2a.task.id"], &line["a2a.context.id"]), (&task["id"], &task["contextId"]));
    assert_eq!(line["a2a.task.state"], "TASK_STATE_INPUT_REQUIRED");
    assert_eq!(line["trace_id"], "0af7651916cd43dd8448eb211c80319c");
    assert!(line["duration_ms"].is_u64(), "{line}");
    // The caller chose the message's id, which is the text in this test.
    let mut rest = line.clone();
    rest["request_id"].take();
    assert!(!rest.to_string().contains("geheim"), "{line}");
    assert_eq!((office.last_told().text().as_str(), &*office.last_trace()), ("pay geheim", PARENT));

    // A call that is part of no trace begins one.
    ask(&bob, "clerk", "echo 2").await;
    let found = lines.taken();
    let trace = found[0]["trace_id"].as_str().expect("there is one");
    assert_eq!(trace.len(), 32, "{found:?}");
    assert!(office.last_trace().starts_with(&format!("00-{trace}-")), "{}", office.last_trace());

    let body = json!({
        "jsonrpc": "2.0", "id": 1, "method": "GetTask", "params": { "id": "nothing" },
    });
    send(&bob.clone().with("a2a-version", "1.0"), "POST", "/agents/clerk", &body).await;
    let found = lines.taken();
    assert_eq!(
        (&found[0]["status"], &found[0]["error"]),
        (&json!("error"), &json!("TASK_NOT_FOUND"))
    );
    assert_eq!(found[0]["a2a.task.id"], "nothing");
}

#[tokio::test]
async fn a_stream_leaves_its_line_when_it_ends() {
    let lines = Lines::default();
    let _listening = tracing::subscriber::set_default(lines.clone());
    let office = Office::open().await;
    lines.taken();
    let body = json!({
        "jsonrpc": "2.0", "id": 1, "method": "SendStreamingMessage",
        "params": { "message": {
            "messageId": "m", "role": "ROLE_USER", "parts": [{ "text": "echo 1" }],
        } },
    });
    let headers = [("content-type", "application/json"), ("a2a-version", "1.0")];
    let http = &office.administrator;
    let mut frames = http.frames("POST", "/agents/clerk", &headers, body.to_string()).await;
    while frames.next().await.is_some() {}
    let found = lines.taken();
    let [line] = &found[..] else { panic!("one line: {found:?}") };
    assert_eq!(line["a2a.method"], "SendStreamingMessage");
    assert_eq!(
        (&line["status"], &line["a2a.task.state"]),
        (&json!("success"), &json!("TASK_STATE_COMPLETED"))
    );
}

#[tokio::test]
async fn calls_are_counted_in_and_out_and_by_agent() {
    let office = Office::open().await;
    ask(&office.administrator, "clerk", "echo 1").await;
    let reply = send(&office.administrator, "GET", "/metrics", &Value::Null).await;
    let text = reply.text();
    for sample in [
        r#"a2a_requests_total{direction="received",method="SendMessage",dialect="A2A 1.0 JSON-RPC",status="success"} 1"#,
        r#"a2a_requests_total{direction="sent",method="SendStreamingMessage",dialect="A2A 1.0 JSON-RPC",status="success"} 1"#,
        r#"nuncio_agent_requests_total{organisation="acme",agent="clerk",status="success"} 1"#,
    ] {
        assert!(text.contains(sample), "{sample}\n{text}");
    }
    // Names of agents that are not there make no series.
    let unknown = json!({
        "jsonrpc": "2.0", "id": 1, "method": "GetTask", "params": { "id": "x", "tenant": "nobody" },
    });
    send(&office.administrator, "POST", "/agents/nobody", &unknown).await;
    let page = done(&office.administrator, "GET", "/api/v1/whoami", &Value::Null).await;
    assert_eq!(page["name"], "ann");
    let reply = send(&office.administrator, "GET", "/metrics", &Value::Null).await;
    let text = reply.text();
    assert!(!text.contains("nobody"), "{text}");
}
