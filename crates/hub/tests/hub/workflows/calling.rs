//! Workflows called over A2A, as any agent is.

use serde_json::{Value, json};

use super::{PAYMENT, REPORT, begin, ended, get, office, until};
use crate::tasks::office::{call, done};

const A2A: [(&str, &str); 2] = [("content-type", "application/json"), ("a2a-version", "1.0")];

fn message(id: &str, text: &str) -> Value {
    json!({ "message": { "messageId": id, "role": "ROLE_USER", "parts": [{ "text": text }] } })
}

#[tokio::test]
async fn u13_a_workflow_has_a_card_with_one_skill() {
    let office = office(&[("report", REPORT)]).await;
    let reply = get(&office.administrator, "/agents/report/.well-known/agent-card.json").await;
    let card = reply.json();
    assert_eq!(card["description"], "Writes about something");
    assert_eq!(card["skills"][0]["id"], "report");
    assert_eq!(card["capabilities"]["streaming"], true);
}

#[tokio::test]
async fn a_message_is_a_run_and_the_answer_what_came_of_it() {
    let office = office(&[("report", REPORT)]).await;
    let ann = &office.administrator;
    let answer = call(ann, "report", "otters", &[]).await;
    let task = &answer["result"]["task"];
    assert_eq!(task["status"]["state"], "TASK_STATE_COMPLETED", "{answer}");
    assert_eq!(task["artifacts"][0]["parts"][0]["text"], "heard write otters");
    let run = task["id"].as_str().expect("an id");
    assert_eq!(ended(ann, run).await["state"], "completed");

    let body = message("m2", "seals").to_string();
    let reply = ann.request("POST", "/agents/report/message:send", &A2A, body).await;
    assert_eq!(reply.status, 200, "{}", reply.text());
    let text = &reply.json()["task"]["artifacts"][0]["parts"][0]["text"];
    assert_eq!(text, "heard write seals");
}

#[tokio::test]
async fn a_stream_tells_the_run_from_its_beginning_to_its_end() {
    let office = office(&[("report", REPORT)]).await;
    let body = message("m1", "otters").to_string();
    let path = "/agents/report/message:stream";
    let frames = office.administrator.frames("POST", path, &A2A, body).await.rest().await;
    let events: Vec<Value> =
        frames.iter().map(|frame| serde_json::from_str(&frame.data).expect("JSON")).collect();
    assert!(events[0]["task"]["id"].is_string(), "{}", events[0]);
    let artifact = events.iter().find(|event| event["artifactUpdate"].is_object());
    let artifact = &artifact.expect("an artifact")["artifactUpdate"]["artifact"];
    assert_eq!(artifact["parts"][0]["text"], "heard write otters");
    let last = events.last().expect("an end");
    assert_eq!(last["statusUpdate"]["status"]["state"], "TASK_STATE_COMPLETED");
}

#[tokio::test]
async fn a_question_comes_up_through_nested_workflows_and_its_answer_goes_down() {
    let outer = "
name: outer
nodes:
  - {id: inner, type: workflow, config: {workflow: payment, inputs: {sum: '7'}}}
";
    let office = office(&[("payment", PAYMENT), ("outer", outer)]).await;
    let ann = &office.administrator;
    let run = begin(ann, "outer", &json!({})).await;
    until(ann, &run, "node.waiting").await;
    // Three tasks wait: the run, the run in it, and the clerk. One question is asked.
    let page = done(ann, "GET", "/api/v1/inbox", &Value::Null).await;
    let items: Vec<_> =
        page["items"].as_array().expect("a page").iter().map(|i| &i["task"]).collect();
    assert_eq!(items, [&json!(run)]);
    let answer = json!({
        "jsonrpc": "2.0", "id": 1, "method": "SendMessage",
        "params": { "message": {
            "messageId": "m9", "role": "ROLE_USER", "taskId": run,
            "parts": [{ "text": "echo surely" }],
        } },
    });
    let reply = ann.request("POST", "/agents/outer", &A2A, answer.to_string()).await;
    let task = &reply.json()["result"]["task"];
    assert_eq!(task["status"]["state"], "TASK_STATE_COMPLETED", "{task}");
    assert_eq!(task["artifacts"][0]["parts"][0]["text"], "heard echo surely");
    let tree = done(ann, "GET", &format!("/api/v1/tasks/{run}/tree"), &Value::Null).await;
    assert!(tree.to_string().contains("payment"), "{tree}");
}
