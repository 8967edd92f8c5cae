//! Nodes as agents of their own (U-13, U-16, U-18).

use serde_json::{Value, json};

use super::{call, definition, office, payment};
use crate::tasks::office::{done, send};

#[tokio::test]
async fn u18_u22_nodes_have_cards_and_there_is_one_for_all() {
    let office = office(&[definition()]).await;
    let ann = &office.administrator;
    let card = done(ann, "GET", "/a2a/nodes/draft/agent-card", &Value::Null).await;
    assert_eq!(card["name"], "draft");
    let url = format!("http://{}/a2a/nodes/draft", office.address);
    assert_eq!(card["url"], *url);
    let card = done(ann, "GET", "/a2a/agent-card", &Value::Null).await;
    let skills = card["skills"].as_array().expect("skills");
    assert!(skills.iter().any(|skill| skill["id"] == "my-report"), "{card}");
    assert_eq!(send(ann, "GET", "/a2a/nodes/nobody/agent-card", &Value::Null).await.status, 404);
}

#[tokio::test]
async fn u16_a_node_is_called_with_a_message_in_place_of_its_inputs() {
    let office = office(&[definition()]).await;
    let ann = &office.administrator;
    let task = &call(ann, "/a2a/nodes/draft", "seals").await["result"];
    assert_eq!(task["status"], "completed", "{task}");
    assert_eq!(task["artifacts"][0]["parts"][0]["text"], "heard write seals");
    let task = &call(ann, "/a2a/nodes/topic", "seals").await["result"];
    assert_eq!(task["artifacts"][0]["parts"][0]["text"], "seals", "{task}");
}

#[tokio::test]
async fn a_node_of_several_workflows_is_named_with_its_workflow() {
    let office = office(&[definition(), payment()]).await;
    let ann = &office.administrator;
    let reply = send(ann, "POST", "/a2a/nodes/topic", &json!({})).await;
    assert_eq!(reply.status, 409, "{}", reply.text());
    let error = reply.json()["error"].as_str().expect("a text").to_owned();
    assert!(error.contains("/a2a/nodes/payment/topic"), "{error}");
    for path in ["/a2a/nodes/payment/topic", "/a2a/nodes/payment.topic"] {
        let task = &call(ann, path, "7").await["result"];
        assert_eq!(task["artifacts"][0]["parts"][0]["text"], "7", "{task}");
    }
}

#[tokio::test]
async fn whoever_may_not_call_a_workflow_finds_none_of_its_nodes() {
    let office = office(&[definition()]).await;
    let bob = office.person("bob", &[]).await;
    let deny = json!({
        "effect": "deny", "caller": { "user": "bob" }, "target": { "agent": "my-report" },
    });
    done(&office.administrator, "PUT", "/api/v1/rules/no", &deny).await;
    assert_eq!(send(&bob, "GET", "/a2a/nodes/draft/agent-card", &Value::Null).await.status, 404);
    assert_eq!(send(&bob, "POST", "/a2a/nodes/draft", &json!({})).await.status, 404);
}
