//! The inbox: what waits for a person, and who answers it.

use nuncio_protocol::json::Raw;
use serde_json::{Value, json};

use super::office::{Office, ask, done, refused};

fn items(page: &Value) -> Vec<&str> {
    let items = page["items"].as_array().expect("a page of questions");
    items.iter().map(|item| item["task"].as_str().expect("an id")).collect()
}

#[tokio::test]
async fn questions_outlive_a_restart_and_so_does_who_answered() {
    let office = Office::open().await;
    let bob = office.person("bob", &[]).await;
    let task = ask(&bob, "clerk", "pay 40").await;
    ask(&bob, "clerk", "echo and be done").await;
    let office = office.reopen().await;
    let page = office.done("GET", "/api/v1/inbox", &Value::Null).await;
    assert_eq!((items(&page), &page["total"]), (vec![&*task], &json!(1)));
    let item = &page["items"][0];
    assert_eq!((&item["agent_name"], &item["caller"]), (&json!("clerk"), &json!("user:bob")));
    assert_eq!((&item["needs"], &item["question"]), (&json!("input"), &json!("May I pay 40?")));
    assert_eq!(item["asked"], "pay 40");
    assert!(item["since"].is_string(), "{item}");
    assert_eq!(item["form"]["properties"]["account"]["type"], "string");
    assert_eq!(item["message"]["parts"][0]["text"], "May I pay 40?");

    let path = format!("/api/v1/inbox/{task}/approve");
    let form = json!({ "reason": "it is due", "data": { "account": "7" } });
    let answered = office.done("POST", &path, &form).await;
    assert_eq!(answered["task"]["id"], *task);
    let told = office.last_told();
    assert_eq!(told.parts[0].as_text(), Some("approved: it is due"));
    let data = |at: usize| told.parts[at].as_data().map(|data| data.as_str().to_owned());
    assert_eq!(data(1).as_deref(), Some(r#"{"approved":true,"reason":"it is due"}"#));
    assert_eq!(data(2).as_deref(), Some(r#"{"account":"7"}"#));

    let office = office.reopen().await;
    let page = office.done("GET", "/api/v1/inbox", &Value::Null).await;
    assert!(items(&page).is_empty(), "{page}");
    let whole = office.done("GET", &format!("/api/v1/tasks/{task}"), &Value::Null).await;
    let answer = &whole["task"]["history"].as_array().expect("a history")[..];
    let answer = answer.iter().find(|message| message["metadata"]["answeredBy"].is_string());
    let answer = answer.expect("somebody has answered");
    assert_eq!(answer["metadata"]["answeredBy"], "user:ann");
    let trail = office.done("GET", "/api/v1/audit?limit=1000&verify=true", &Value::Null).await;
    let lines = trail["lines"].as_array().expect("lines").iter().map(|line| &line["line"]);
    let deed = lines.into_iter().find(|line| line["action"] == "task.approve").expect("a line");
    assert_eq!((&deed["by"], &deed["subject"]), (&json!("user:ann"), &json!(task)));
    assert_eq!(trail["whole"], true);
}

/// Who needs a login says so to its caller, in every form, and in the inbox.
#[tokio::test]
async fn an_agent_that_needs_a_login_is_heard_by_its_caller_and_in_the_inbox() {
    let office = Office::open().await;
    let bob = office.person("bob", &[]).await;
    let modern = bob.clone().with("a2a-version", "1.0");
    let said =
        |id: &str| json!({ "messageId": id, "role": "ROLE_USER", "parts": [{ "text": "login" }] });
    let asked = json!({ "message": said("m1") });
    let told = done(&modern, "POST", "/agents/clerk/message:send", &asked).await["task"].clone();
    assert_eq!(told["status"]["state"], "TASK_STATE_AUTH_REQUIRED", "{told}");
    assert_eq!(told["status"]["message"]["parts"][0]["text"], "Log in there");
    let legacy = json!({ "jsonrpc": "2.0", "id": 1, "method": "message/send", "params": { "message": {
        "messageId": "m2", "kind": "message", "role": "user", "parts": [{ "kind": "text", "text": "login" }],
    } } });
    let reply = done(&bob, "POST", "/agents/clerk", &legacy).await;
    assert_eq!(reply["result"]["status"]["state"], "auth-required", "{reply}");

    let task = told["id"].as_str().expect("an id");
    let later = done(&modern, "GET", &format!("/agents/clerk/tasks/{task}"), &Value::Null).await;
    assert_eq!(later["status"]["state"], "TASK_STATE_AUTH_REQUIRED", "{later}");
    let page = office.done("GET", "/api/v1/inbox", &Value::Null).await;
    let item =
        page["items"].as_array().and_then(|all| all.iter().find(|item| item["task"] == task));
    let item = item.unwrap_or_else(|| panic!("it is not there: {page}"));
    assert_eq!((&item["needs"], &item["question"]), (&json!("auth"), &json!("Log in there")));
    assert_eq!((&item["agent_name"], &item["caller"]), (&json!("clerk"), &json!("user:bob")));

    // Who has logged in says so, and the task goes on.
    let mut answer = json!({ "message": said("m3") });
    answer["message"]["taskId"] = json!(task);
    answer["message"]["parts"][0]["text"] = json!("done");
    let ended = done(&modern, "POST", "/agents/clerk/message:send", &answer).await["task"].clone();
    assert_eq!(ended["status"]["state"], "TASK_STATE_COMPLETED", "{ended}");
    let page = office.done("GET", "/api/v1/inbox", &Value::Null).await;
    assert!(!items(&page).contains(&task), "{page}");
}

#[tokio::test]
async fn only_administrators_and_the_caller_itself_answer() {
    let office = Office::open().await;
    let (bob, carol) = (office.person("bob", &[]).await, office.person("carol", &[]).await);
    let viewer = office.person("vera", &["read"]).await;
    let (_, helper) = office.join("helper").await;
    let task = ask(&bob, "helper", "login there").await;
    for (http, expected) in [
        (&carol, (404, "NOT_FOUND")),
        (&viewer, (403, "FORBIDDEN")),
        // It works on it, so it cannot answer its own question.
        (&helper, (403, "FORBIDDEN")),
    ] {
        for deed in ["answer", "approve", "deny"] {
            let path = format!("/api/v1/inbox/{task}/{deed}");
            let body = if deed == "answer" { json!({ "text": "x" }) } else { json!({}) };
            refused(http, ("POST", &path), &body, expected).await;
        }
    }
    let list = async |http| {
        let page = done(http, "GET", "/api/v1/inbox", &Value::Null).await;
        items(&page).len()
    };
    assert_eq!((list(&viewer).await, list(&bob).await), (1, 1));
    assert_eq!((list(&carol).await, list(&helper).await), (0, 0));
    let page = done(&bob, "GET", "/api/v1/inbox?agent=helper", &Value::Null).await;
    assert_eq!(page["items"][0]["needs"], "auth");
    let path = format!("/api/v1/inbox/{task}/answer");
    let answered = done(&bob, "POST", &path, &json!({ "text": "done" })).await;
    assert_eq!(answered["task"]["id"], *task);
    let by = office.last_told().metadata.and_then(|all| all.get("answeredBy"));
    assert_eq!(by.and_then(|by| by.as_text()).as_deref(), Some("user:bob"));
    refused(&bob, ("POST", &path), &json!({ "text": "done" }), (409, "NOT_WAITING")).await;
}

#[tokio::test]
async fn of_many_answers_at_once_one_counts() {
    let office = Office::open().await;
    let task = ask(&office.administrator, "clerk", "pay 40").await;
    let path = format!("/api/v1/inbox/{task}/answer");
    let answers = (0..8).map(|number| {
        let (http, path) = (office.administrator.clone(), path.clone());
        async move {
            let body = json!({ "text": format!("answer {number}") }).to_string();
            let kind = [("content-type", "application/json")];
            http.request("POST", &path, &kind, body).await.status
        }
    });
    let statuses = futures_util::future::join_all(answers).await;
    let counted = statuses.iter().filter(|status| **status == 200).count();
    assert_eq!(counted, 1, "{statuses:?}");
    assert!(statuses.iter().all(|status| matches!(status, 200 | 409)), "{statuses:?}");
}

#[tokio::test]
async fn a_denial_is_told_and_ends_the_task_if_that_is_wanted() {
    let office = Office::open().await;
    let deny = async |text: &str, body: Value| {
        let task = ask(&office.administrator, "clerk", text).await;
        let path = format!("/api/v1/inbox/{task}/deny");
        office.done("POST", &path, &body).await
    };
    let answered = deny("pay 1", json!({ "reason": "too dear" })).await;
    let told = office.last_told();
    assert_eq!(told.parts[0].as_text(), Some("denied: too dear"));
    let data = told.parts[1].as_data().map(Raw::as_str);
    assert_eq!(data, Some(r#"{"approved":false,"reason":"too dear"}"#));
    assert_eq!(answered["canceled"], Value::Null);
    // No body is a denial without a reason.
    deny("pay 2", Value::Null).await;
    assert_eq!(office.last_told().parts[0].as_text(), Some("denied"));
    let answered = deny("pay 3", json!({ "cancel": true })).await;
    let state = answered["task"]["state"].as_str().expect("a state");
    assert!(["TASK_STATE_CANCELED", "TASK_STATE_COMPLETED"].contains(&state), "{answered}");
}

#[tokio::test]
async fn an_answer_that_cannot_be_delivered_leaves_the_question_open() {
    let office = Office::open().await;
    let task = ask(&office.administrator, "clerk", "pay 40").await;
    office.send_clerk_home();
    let path = format!("/api/v1/inbox/{task}/approve");
    refused(&office.administrator, ("POST", &path), &Value::Null, (503, "UNAVAILABLE")).await;
    let page = office.done("GET", "/api/v1/inbox", &Value::Null).await;
    assert_eq!(items(&page), [&*task]);
}
