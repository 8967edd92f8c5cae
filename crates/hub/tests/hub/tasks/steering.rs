//! Ending tasks, speaking to them, and their webhooks.

use nuncio_protocol::json::Raw;
use nuncio_testkit::webhook::{Answer, Receiver};
use serde_json::{Value, json};

use super::office::{Office, ask, call, done, refused, send};

#[tokio::test]
async fn a_cancel_ends_the_whole_tree_and_says_what_it_stopped() {
    let office = Office::open().await;
    let (_, boss) = office.join("boss").await;
    let bob = office.person("bob", &[]).await;
    let task = ask(&bob, "boss", "wait for others").await;
    let because = [("a2a-parent-task", task.as_str())];
    call(&boss, "clerk", "wait too", &because).await;
    call(&boss, "clerk", "echo and be done", &because).await;

    let path = format!("/api/v1/tasks/{task}/cancel");
    let viewer = office.person("vera", &["read"]).await;
    refused(&viewer, ("POST", &path), &Value::Null, (403, "FORBIDDEN")).await;
    refused(&boss, ("POST", &path), &Value::Null, (403, "FORBIDDEN")).await;
    let ended = done(&bob, "POST", &path, &Value::Null).await;
    let stopped = ended["stopped"].as_array().expect("a list");
    let agents: Vec<&Value> = stopped.iter().map(|task| &task["agent_name"]).collect();
    assert_eq!(agents, ["boss", "clerk"], "{ended}");
    assert_eq!(stopped[0]["id"], *task);
    assert!(stopped.iter().all(|task| task["state"] == "TASK_STATE_CANCELED"), "{ended}");
    assert_eq!(ended["going_on"], json!([]));
    refused(&bob, ("POST", &path), &Value::Null, (409, "TASK_NOT_CANCELABLE")).await;
    let trail = office.done("GET", "/api/v1/audit?limit=1000", &Value::Null).await;
    let lines = trail["lines"].as_array().expect("lines").iter().map(|line| &line["line"]);
    let deed = lines.into_iter().find(|line| line["action"] == "task.cancel").expect("a line");
    assert_eq!((&deed["by"], &deed["subject"]), (&json!("user:bob"), &json!(task)));
}

#[tokio::test]
async fn a_task_can_be_ended_without_the_calls_below_it() {
    let office = Office::open().await;
    let (_, boss) = office.join("boss").await;
    let task = ask(&office.administrator, "boss", "wait for others").await;
    let because = [("a2a-parent-task", task.as_str())];
    let below = call(&boss, "clerk", "wait too", &because).await;
    let below = below["result"]["task"]["id"].as_str().expect("an id");

    let path = format!("/api/v1/tasks/{task}/cancel?below=keep");
    let ended = office.done("POST", &path, &Value::Null).await;
    assert_eq!(ended["stopped"].as_array().map(Vec::len), Some(1), "{ended}");
    assert_eq!(ended["stopped"][0]["id"], *task);
    let left = office.done("GET", &format!("/api/v1/tasks/{below}"), &Value::Null).await;
    assert_eq!(left["state"], "TASK_STATE_WORKING");
    let administrator = &office.administrator;
    refused(administrator, ("POST", &path), &Value::Null, (409, "TASK_NOT_CANCELABLE")).await;
    let path = format!("/api/v1/tasks/{task}/cancel?below=rescue");
    refused(administrator, ("POST", &path), &Value::Null, (400, "INVALID")).await;
}

#[tokio::test]
async fn calls_of_a_task_that_has_ended_can_still_be_ended_with_it() {
    let office = Office::open().await;
    let (_, boss) = office.join("boss").await;
    let task = ask(&office.administrator, "boss", "pay 1").await;
    let because = [("a2a-parent-task", task.as_str())];
    let below = call(&boss, "clerk", "wait too", &because).await;
    let answer = json!({ "text": "go on" });
    office.done("POST", &format!("/api/v1/tasks/{task}/messages"), &answer).await;
    let path = format!("/api/v1/tasks/{task}/cancel");
    let ended = office.done("POST", &path, &Value::Null).await;
    assert_eq!(ended["stopped"][0]["id"], below["result"]["task"]["id"], "{ended}");
}

#[tokio::test]
async fn what_is_said_to_a_task_reaches_the_agent_once_and_says_who_spoke() {
    let office = Office::open().await;
    let bob = office.person("bob", &[]).await;
    let task = ask(&bob, "clerk", "pay 40").await;
    let path = format!("/api/v1/tasks/{task}/messages");
    refused(&bob, ("POST", &path), &json!({}), (400, "INVALID")).await;
    refused(&bob, ("POST", &path), &json!({ "words": "x" }), (400, "INVALID")).await;
    let said = json!({ "text": "yes", "data": { "account": "7" }, "parts": [{ "text": "more" }] });
    let keyed = office.administrator.clone().with("idempotency-key", "k1");
    done(&keyed, "POST", &path, &said).await;
    let told = office.last_told();
    assert_eq!(told.text(), "yes\nmore");
    assert_eq!(told.parts[1].as_data().map(Raw::as_str), Some(r#"{"account":"7"}"#));
    let by = told.metadata.as_ref().and_then(|all| all.get("answeredBy"));
    assert_eq!(by.and_then(|by| by.as_text()).as_deref(), Some("user:ann"));
    // Sent again it is the same word, though the task has ended.
    let again = done(&keyed, "POST", &path, &said).await;
    assert_eq!(again["state"], "TASK_STATE_COMPLETED");
    assert_eq!(office.last_told(), told);
    refused(&keyed, ("POST", &path), &json!({ "text": "no" }), (400, "INVALID_PARAMS")).await;
    refused(&bob, ("POST", &path), &said, (409, "UNSUPPORTED_OPERATION")).await;
}

#[tokio::test]
async fn callers_cannot_claim_that_somebody_else_has_answered() {
    let office = Office::open().await;
    let body = json!({
        "jsonrpc": "2.0", "id": 1, "method": "SendMessage",
        "params": { "message": {
            "messageId": "m", "role": "ROLE_USER", "parts": [{ "text": "echo" }],
            "metadata": { "answeredBy": "user:ann", "mine": 1 },
        } },
    });
    let bob = office.person("bob", &[]).await.with("a2a-version", "1.0");
    let reply = send(&bob, "POST", "/agents/clerk", &body).await;
    assert_eq!(reply.status, 200, "{}", reply.text());
    let metadata = office.last_told().metadata.expect("there is some");
    assert_eq!(metadata.as_str(), r#"{"mine":1}"#);
}

#[tokio::test]
async fn webhooks_are_shown_without_secrets_and_what_they_refused_is_sent_again() {
    let office = Office::open().await;
    let bob = office.person("bob", &[]).await;
    let receiver = Receiver::start().await;
    let task = ask(&bob, "clerk", "pay 40").await;
    // Not to be tried again: it is a dead letter at once.
    receiver.answer("/hook", [Answer::Status(410)]);
    let url = format!("{}?token=geheim", receiver.url("/hook"));
    let config = json!({
        "jsonrpc": "2.0", "id": 1, "method": "CreateTaskPushNotificationConfig",
        "params": {
            "taskId": task, "id": "hook", "url": url, "token": "geheim",
            "authentication": { "scheme": "Bearer", "credentials": "geheim" },
        },
    });
    let headers = [("content-type", "application/json"), ("a2a-version", "1.0")];
    let made = bob.request("POST", "/agents/clerk", &headers, config.to_string()).await;
    assert!(made.json()["error"].is_null(), "{}", made.text());
    let yes = json!({ "text": "yes" });
    done(&bob, "POST", &format!("/api/v1/inbox/{task}/answer"), &yes).await;
    receiver.until("/hook", 1).await;

    let path = format!("/api/v1/tasks/{task}/push");
    let push = loop {
        let push = done(&bob, "GET", &path, &Value::Null).await;
        if push["dead_letters"].as_array().is_some_and(|letters| !letters.is_empty()) {
            break push;
        }
        tokio::task::yield_now().await;
    };
    assert!(!push.to_string().contains("geheim"), "{push}");
    assert_eq!(push["webhooks"][0]["id"], "hook");
    assert!(push["webhooks"][0]["url"].as_str().expect("a URL").ends_with("/hook?…"));
    let letter = &push["dead_letters"][0];
    assert_eq!((&letter["webhook"], &letter["attempts"]), (&json!("hook"), &json!(1)));
    let again = |id: &str| format!("{path}/{id}/redeliver");
    refused(&bob, ("POST", &again("999")), &Value::Null, (404, "NOT_FOUND")).await;
    refused(&bob, ("POST", &again("x")), &Value::Null, (404, "NOT_FOUND")).await;
    let before = receiver.requests().len();
    let reply = send(&bob, "POST", &again(&letter["id"].to_string()), &Value::Null).await;
    assert_eq!(reply.status, 202, "{}", reply.text());
    receiver.until("/hook", before + 1).await;
    let other = ask(&bob, "clerk", "echo 2").await;
    let path = format!("/api/v1/tasks/{other}/push/{}/redeliver", letter["id"]);
    refused(&bob, ("POST", &path), &Value::Null, (404, "NOT_FOUND")).await;
}

#[tokio::test]
async fn a_paused_agent_is_not_called() {
    let office = Office::open().await;
    let ann = &office.administrator;
    let task = ask(ann, "clerk", "echo").await;
    done(ann, "POST", "/api/v1/agents/clerk/pause", &Value::Null).await;
    let message = json!({ "messageId": "m", "role": "ROLE_USER", "parts": [{ "text": "echo" }] });
    let path = "/agents/clerk/message:send?A2A-Version=1.0";
    let reply = send(ann, "POST", path, &json!({ "message": message })).await;
    assert_eq!(reply.status, 503, "{}", reply.text());
    assert!(reply.text().contains("`clerk` is paused"), "{}", reply.text());
    // What it has done can still be seen.
    done(ann, "GET", &format!("/api/v1/tasks/{task}"), &Value::Null).await;
    done(ann, "POST", "/api/v1/agents/clerk/resume", &Value::Null).await;
    ask(ann, "clerk", "echo").await;
}
