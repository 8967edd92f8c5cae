//! The hub's own agent (UD-11).

use nuncio_testkit::wire::Http;
use serde_json::{Value, json};

use super::{definition, office, payment};
use crate::tasks::office::{done, send};

async fn say(http: &Http, path: &str, message: Value) -> Value {
    let mut message = message;
    message["messageId"] = json!("m1");
    message["role"] = json!("ROLE_USER");
    let body = json!({
        "jsonrpc": "2.0", "id": 1, "method": "SendMessage", "params": { "message": message },
    });
    let headers = [("content-type", "application/json"), ("a2a-version", "1.0")];
    let reply = http.request("POST", path, &headers, body.to_string()).await;
    assert_eq!(reply.status, 200, "{}", reply.text());
    reply.json()
}

#[tokio::test]
async fn the_hubs_card_has_a_skill_for_what_the_asker_may_call() {
    let office = office(&[definition(), payment()]).await;
    let bob = office.person("bob", &[]).await;
    let deny = json!({
        "effect": "deny", "caller": { "user": "bob" }, "target": { "agent": "payment" },
    });
    done(&office.administrator, "PUT", "/api/v1/rules/no", &deny).await;
    let skills = |card: &Value| -> Vec<String> {
        let skills = card["skills"].as_array().map(Vec::as_slice).unwrap_or_default();
        skills.iter().map(|skill| skill["id"].as_str().expect("an id").to_owned()).collect()
    };
    for path in ["/.well-known/agent-card.json", "/.well-known/agent.json"] {
        let card = done(&office.administrator, "GET", path, &Value::Null).await;
        assert_eq!(skills(&card), ["my-report", "payment"], "{path}");
        let card = done(&bob, "GET", path, &Value::Null).await;
        assert_eq!(skills(&card), ["my-report"], "{path}");
        let reply = send(&Http::new(office.address), "GET", path, &Value::Null).await;
        assert_eq!((reply.status, skills(&reply.json())), (200, vec![]), "{path}");
        assert!(reply.header("cache-control").contains("private"), "{path}");
    }
}

#[tokio::test]
async fn ud11_a_message_says_which_workflow_it_is_for() {
    let office = office(&[definition(), payment()]).await;
    let ann = &office.administrator;
    let upal = json!({ "workflow": "My Report", "inputs": { "topic": "otters" } });
    let text = json!([{ "text": "otters" }]);
    for (path, message) in [
        ("/a2a", json!({ "parts": [{ "text": upal.to_string() }] })),
        ("/", json!({ "parts": [{ "data": upal }] })),
        ("/a2a", json!({ "parts": text, "metadata": { "workflow": "my-report" } })),
        ("/a2a", json!({ "parts": text, "metadata": { "skillId": "my-report" } })),
    ] {
        let answer = say(ann, path, message.clone()).await;
        let task = &answer["result"]["task"];
        assert_eq!(task["artifacts"][0]["parts"][0]["text"], "otters", "{answer}");
        let said = &task["artifacts"][1]["parts"][0]["text"];
        assert_eq!(said, "heard write otters", "{message}: {answer}");
    }
    let answer = say(ann, "/a2a", json!({ "parts": text })).await;
    let error = answer["error"]["message"].as_str().expect("a refusal");
    assert!(error.contains("metadata.skillId"), "{error}");
}

#[tokio::test]
async fn what_follows_goes_to_whoever_has_the_task() {
    let office = office(&[payment()]).await;
    let ann = &office.administrator;
    let first = json!({ "parts": [{ "text": "40" }], "metadata": { "skillId": "payment" } });
    let answer = say(ann, "/a2a", first).await;
    let task = &answer["result"]["task"];
    assert_eq!(task["status"]["state"], "TASK_STATE_INPUT_REQUIRED", "{answer}");
    let next = json!({ "parts": [{ "text": "echo yes" }], "taskId": task["id"] });
    let answer = say(ann, "/a2a", next).await;
    let state = &answer["result"]["task"]["status"]["state"];
    assert_eq!(state, "TASK_STATE_COMPLETED", "{answer}");
    let path = format!("/a2a/tasks/{}", task["id"].as_str().expect("an id"));
    let reply = ann.request("GET", &path, &[("a2a-version", "1.0")], "").await;
    assert_eq!(reply.status, 200, "{}", reply.text());
}
