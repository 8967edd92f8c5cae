//! Approvals: what is a yes, what is a no, and what is neither, however it is said.

use serde_json::{Value, json};

use super::{begin, ended, office, show, until};
use crate::tasks::office::{done, send};

/// Asks with its own words, and tells what was chosen.
const RELEASE: &str = "
name: release
nodes:
  - {id: ok, type: approval, config: {prompt: Release it?, options: [ship, wait]}}
  - {id: told, type: external, config: {agent: clerk, prompt: 'write {{ok}}'}}
edges:
  - {from: ok, to: told}
";

/// Asks twice, for a yes first.
const TWICE: &str = "
name: twice
nodes:
  - {id: first, type: approval, config: {prompt: Go on?}}
  - {id: second, type: approval, config: {prompt: And now?, options: [ship, wait]}}
edges:
  - {from: first, to: second}
";

const OUTER: &str = "
name: outer
nodes:
  - {id: inner, type: workflow, config: {workflow: release}}
";

const A2A: [(&str, &str); 2] = [("content-type", "application/json"), ("a2a-version", "1.0")];

/// Says something to a run as its caller does, over JSON-RPC.
fn spoken(method: &str, run: &str, text: &str) -> String {
    json!({
        "jsonrpc": "2.0", "id": 1, "method": method,
        "params": { "message": {
            "messageId": text, "role": "ROLE_USER", "taskId": run, "parts": [{ "text": text }],
        } },
    })
    .to_string()
}

#[tokio::test]
async fn what_is_none_of_the_options_is_refused_however_it_is_said() {
    let office = office(&[("release", RELEASE)]).await;
    let ann = &office.administrator;
    let run = begin(ann, "release", &json!({})).await;
    until(ann, &run, "node.waiting").await;
    let ways = [
        (format!("/api/v1/runs/{run}/nodes/ok/answer"), json!({ "text": "hmm" })),
        (format!("/api/v1/runs/{run}/nodes/ok/answer"), json!({ "data": { "why": "not" } })),
        (format!("/api/v1/inbox/{run}/answer"), json!({ "text": "perhaps" })),
        (format!("/api/v1/inbox/{run}/approve"), json!({ "reason": "fine" })),
        (format!("/api/v1/inbox/{run}/deny"), json!({})),
        (format!("/api/v1/tasks/{run}/messages"), json!({ "text": "shipment" })),
        (format!("/api/runs/{run}/nodes/ok/resume"), json!({ "text": "yes" })),
    ];
    for (path, body) in ways {
        let reply = send(ann, "POST", &path, &body).await;
        assert_eq!(reply.status, 400, "{path} {body}: {}", reply.text());
        let told = reply.text();
        assert!(told.contains("answer one of: ship, wait"), "{path} {body}: {told}");
    }
    for method in ["SendMessage", "SendStreamingMessage"] {
        let said = spoken(method, &run, "whatever");
        let reply = ann.request("POST", "/agents/release", &A2A, said).await;
        let error = reply.json()["error"].clone();
        assert_eq!(error["code"], -32602, "{method}: {}", reply.text());
        assert_eq!(error["message"], "answer one of: ship, wait", "{method}");
    }
    let view = show(ann, &run).await;
    assert_eq!(view["state"], "input_required", "{view}");
    assert_eq!(view["questions"][0]["text"], "Release it?", "{view}");

    let path = format!("/api/v1/inbox/{run}/answer");
    done(ann, "POST", &path, &json!({ "text": "Ship: today" })).await;
    let view = ended(ann, &run).await;
    assert_eq!(view["output"][0]["parts"][0]["text"], "heard write ship", "{view}");
}

#[tokio::test]
async fn a_yes_and_a_no_of_the_inbox_answer_an_approval() {
    let office = office(&[("twice", TWICE)]).await;
    let ann = &office.administrator;
    let run = begin(ann, "twice", &json!({})).await;
    until(ann, &run, "node.waiting").await;
    let answer = format!("/api/v1/inbox/{run}/answer");
    let reply = send(ann, "POST", &answer, &json!({ "text": "I do not know" })).await;
    assert!(reply.text().contains("answer one of: approve, reject"), "{}", reply.text());
    done(ann, "POST", &format!("/api/v1/inbox/{run}/deny"), &json!({ "reason": "no" })).await;
    let view = ended(ann, &run).await;
    assert_eq!((&view["state"], &view["nodes"][0]["state"]), (&json!("failed"), &json!("failed")));
}

/// A no is none of these options, and ends the run all the same if that is wanted.
#[tokio::test]
async fn a_denial_with_a_cancel_ends_a_run_whatever_its_options_are() {
    let office = office(&[("release", RELEASE), ("outer", OUTER)]).await;
    let ann = &office.administrator;
    for workflow in ["release", "outer"] {
        let run = begin(ann, workflow, &json!({})).await;
        until(ann, &run, "node.waiting").await;
        let path = format!("/api/v1/inbox/{run}/deny");
        let denial = json!({ "reason": "not today", "cancel": true });
        let answered = done(ann, "POST", &path, &denial).await;
        assert_eq!(answered["canceled"]["stopped"][0]["id"], json!(run), "{workflow}: {answered}");
        assert_eq!(ended(ann, &run).await["state"], "canceled", "{workflow}");
    }
}

/// Whoever shows the question can show what may be answered.
#[tokio::test]
async fn a_question_of_a_run_names_its_options_also_from_within() {
    let office = office(&[("release", RELEASE), ("outer", OUTER)]).await;
    let ann = &office.administrator;
    for workflow in ["release", "outer"] {
        let run = begin(ann, workflow, &json!({})).await;
        until(ann, &run, "node.waiting").await;
        let inbox =
            done(ann, "GET", &format!("/api/v1/inbox?agent={workflow}"), &Value::Null).await;
        let options = &inbox["items"][0]["message"]["metadata"]["options"];
        assert_eq!(*options, json!(["ship", "wait"]), "{workflow}: {inbox}");
    }
}

/// What was an answer to one question is not judged by the next.
#[tokio::test]
async fn an_answer_that_is_sent_again_is_no_answer_to_what_is_asked_next() {
    let office = office(&[("twice", TWICE)]).await;
    let ann = office.administrator.clone().with("idempotency-key", "once");
    let run = begin(&office.administrator, "twice", &json!({})).await;
    until(&ann, &run, "node.waiting").await;
    let path = format!("/api/v1/inbox/{run}/approve");
    done(&ann, "POST", &path, &Value::Null).await;
    until(&ann, &run, "node.completed").await;
    done(&ann, "POST", &path, &Value::Null).await;
    let view = show(&ann, &run).await;
    assert_eq!(view["questions"][0]["node"], "second", "{view}");
    let path = format!("/api/v1/inbox/{run}/answer");
    done(&office.administrator, "POST", &path, &json!({ "text": "wait" })).await;
    assert_eq!(ended(&ann, &run).await["state"], "completed");
}

#[tokio::test]
async fn an_approval_within_a_run_within_a_run_is_answered_at_the_outer_node() {
    let office = office(&[("release", RELEASE), ("outer", OUTER)]).await;
    let ann = &office.administrator;
    let run = begin(ann, "outer", &json!({})).await;
    until(ann, &run, "node.waiting").await;
    let path = format!("/api/v1/runs/{run}/nodes/inner/answer");
    let reply = send(ann, "POST", &path, &json!({ "text": "hmm" })).await;
    assert_eq!(reply.status, 400, "{}", reply.text());
    assert!(reply.text().contains("answer one of: ship, wait"), "{}", reply.text());
    done(ann, "POST", &path, &json!({ "text": "ship" })).await;
    let view = ended(ann, &run).await;
    assert_eq!(view["output"][0]["parts"][0]["text"], "heard write ship", "{view}");
}
