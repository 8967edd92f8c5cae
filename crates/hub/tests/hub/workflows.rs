//! Workflows of a hub, over its API and as the agents that they are.

mod access;
mod approving;
mod calling;
mod running;
mod saving;

use nuncio_testkit::wire::{Frames, Http, Reply};
use serde_json::{Value, json};

use crate::tasks::office::{Office, done, send};

/// Asks the clerk once, about one thing.
pub(crate) const REPORT: &str = "
name: report
description: Writes about something
nodes:
  - {id: topic, type: input, config: {prompt: About what?}}
  - {id: draft, type: external, config: {agent: clerk, prompt: 'write {{topic}}'}}
  - {id: out, type: output, config: {gather: parents}}
edges:
  - {from: topic, to: draft}
  - {from: draft, to: out}
";

/// Has the clerk pay, who asks first.
const PAYMENT: &str = "
name: payment
nodes:
  - {id: sum, type: input}
  - {id: pay, type: external, config: {agent: clerk, prompt: 'pay {{sum}}'}}
  - {id: out, type: output, config: {gather: parents}}
edges:
  - {from: sum, to: pay}
  - {from: pay, to: out}
";

/// Saves a workflow under its own name.
async fn save(http: &Http, name: &str, source: &str) -> Value {
    done(http, "PUT", &format!("/api/v1/workflows/{name}"), &json!({ "source": source })).await
}

/// Begins a run, and returns its id.
async fn begin(http: &Http, name: &str, inputs: &Value) -> String {
    let path = format!("/api/v1/workflows/{name}/runs");
    let run = done(http, "POST", &path, &json!({ "inputs": inputs })).await;
    run["id"].as_str().expect("an id").to_owned()
}

async fn show(http: &Http, run: &str) -> Value {
    done(http, "GET", &format!("/api/v1/runs/{run}"), &Value::Null).await
}

/// Follows a run, behind an event.
async fn follow(http: &Http, run: &str, after: Option<u64>) -> Frames {
    let http = http.clone().with("accept", "text/event-stream");
    let after = after.map(|after| after.to_string());
    let headers: Vec<(&str, &str)> =
        after.iter().map(|after| ("last-event-id", after.as_str())).collect();
    http.frames("GET", &format!("/api/v1/runs/{run}/events"), &headers, "").await
}

/// Follows a run to its end.
pub(crate) async fn ended(http: &Http, run: &str) -> Value {
    let frames = follow(http, run, None).await.rest().await;
    let last = frames.last().expect("a run has events");
    assert!(last.event.starts_with("run."), "{last:?}");
    show(http, run).await
}

/// Follows a run until something happens in it.
async fn until(http: &Http, run: &str, event: &str) {
    let mut frames = follow(http, run, None).await;
    loop {
        let frame = frames.next().await.unwrap_or_else(|| panic!("no {event} in {run}"));
        if frame.event == event {
            return;
        }
    }
}

/// Opens an office that keeps some workflows.
pub(crate) async fn office(workflows: &[(&str, &str)]) -> Office {
    let office = Office::open().await;
    for (name, source) in workflows {
        save(&office.administrator, name, source).await;
    }
    office
}

async fn get(http: &Http, path: &str) -> Reply {
    send(http, "GET", path, &Value::Null).await
}
