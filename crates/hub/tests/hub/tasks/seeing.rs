//! Who sees which tasks, and what of them.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::timeout;

use super::office::{Office, ask, call, done, follow, refused};

/// How long a test waits for what must come before it fails.
const PATIENCE: Duration = Duration::from_secs(60);

fn ids(page: &Value) -> Vec<&str> {
    let tasks = page["tasks"].as_array().expect("a page of tasks");
    tasks.iter().map(|task| task["id"].as_str().expect("an id")).collect()
}

#[tokio::test]
async fn a_list_says_who_asked_whom_what_and_how_it_stands() {
    let office = Office::open().await;
    let bob = office.person("bob", &[]).await;
    let task = ask(&bob, "clerk", "pay 40\nEUR").await;
    let page = office.done("GET", "/api/v1/tasks", &Value::Null).await;
    let row = &page["tasks"][0];
    assert_eq!(ids(&page), [&*task]);
    assert_eq!(page["total"], 1);
    assert_eq!(row["agent_name"], "clerk");
    assert_eq!(row["caller"], "user:bob");
    assert_eq!(row["state"], "TASK_STATE_INPUT_REQUIRED");
    assert_eq!((&row["asked"], &row["said"]), (&json!("pay 40 EUR"), &json!("May I pay 40 EUR?")));
    assert!(row["context_id"].is_string() && row["updated"].is_string(), "{row}");
    assert!(row["began"].is_string(), "{row}");

    let whole = office.done("GET", &format!("/api/v1/tasks/{task}"), &Value::Null).await;
    assert_eq!(whole["task"]["id"], *task);
    assert_eq!(whole["task"]["history"][0]["parts"][0]["text"], "pay 40\nEUR");
    let path = format!("/api/v1/tasks/{task}?history=0");
    let short = office.done("GET", &path, &Value::Null).await;
    assert_eq!(short["task"]["history"], Value::Null);
}

#[tokio::test]
async fn a_list_is_narrowed_down_and_goes_on_page_by_page() {
    let office = Office::open().await;
    let bob = office.person("bob", &[]).await;
    let carol = office.person("carol", &[]).await;
    let mut all = Vec::new();
    for text in ["pay 1", "echo 2", "login 3"] {
        all.push(ask(&bob, "clerk", text).await);
    }
    all.push(ask(&carol, "clerk", "echo 4").await);
    let list = async |query: &str| {
        let page = office.done("GET", &format!("/api/v1/tasks?{query}"), &Value::Null).await;
        ids(&page).into_iter().map(str::to_owned).collect::<Vec<_>>()
    };
    let newest = |picked: &[usize]| picked.iter().map(|at| all[*at].clone()).collect::<Vec<_>>();
    assert_eq!(list("").await, newest(&[3, 2, 1, 0]));
    assert_eq!(list("caller=user:bob").await, newest(&[2, 1, 0]));
    assert_eq!(list("caller=carol").await, newest(&[3]));
    assert_eq!(list("state=input-required,TASK_STATE_AUTH_REQUIRED").await, newest(&[2, 0]));
    assert_eq!(list("agent=clerk&state=completed").await, newest(&[3, 1]));
    assert!(list("agent=nobody").await.is_empty());
    let row = office.done("GET", &format!("/api/v1/tasks/{}", all[2]), &Value::Null).await;
    let text = |name: &str| row[name].as_str().expect("a text").to_owned();
    assert_eq!(list(&format!("context={}", text("context_id"))).await, newest(&[2]));
    assert_eq!(list(&format!("updated_after={}", text("updated"))).await, newest(&[3, 2]));

    let mut found = Vec::new();
    let mut after = String::new();
    loop {
        let path = format!("/api/v1/tasks?limit=3{after}");
        let page = office.done("GET", &path, &Value::Null).await;
        assert_eq!(page["total"], 4);
        found.extend(ids(&page).into_iter().map(str::to_owned));
        let Some(next) = page["next"].as_str() else { break };
        after = format!("&after={next}");
    }
    assert_eq!(found, newest(&[3, 2, 1, 0]));
    let http = &office.administrator;
    let foreign = format!("/api/v1/tasks?state=failed{after}");
    for path in [&*foreign, "/api/v1/tasks?state=sleeping", "/api/v1/tasks?updated_after=noon"] {
        refused(http, ("GET", path), &Value::Null, (400, "INVALID")).await;
    }
}

#[tokio::test]
async fn people_see_what_they_asked_for_and_agents_also_what_they_work_on() {
    let office = Office::open().await;
    let viewer = office.person("vera", &["read"]).await;
    let (bob, carol) = (office.person("bob", &[]).await, office.person("carol", &[]).await);
    let (_, helper) = office.join("helper").await;
    let of_bob = ask(&bob, "helper", "echo 1").await;
    let of_helper = ask(&helper, "clerk", "echo 2").await;
    let of_carol = ask(&carol, "clerk", "echo 3").await;
    let list = async |http| ids_of(&done(http, "GET", "/api/v1/tasks", &Value::Null).await);
    assert_eq!(list(&viewer).await, [&*of_carol, &*of_helper, &*of_bob]);
    assert_eq!(list(&helper).await, [&*of_helper, &*of_bob]);
    assert_eq!(list(&bob).await, [&*of_bob]);
    assert_eq!(list(&carol).await, [&*of_carol]);
    let page = done(&helper, "GET", "/api/v1/tasks?limit=1", &Value::Null).await;
    let next = page["next"].as_str().expect("there is more");
    let path = format!("/api/v1/tasks?limit=1&after={next}");
    assert_eq!(ids_of(&done(&helper, "GET", &path, &Value::Null).await), [&*of_bob]);

    // What is not theirs is not there.
    for below in ["", "/events", "/tree", "/push"] {
        let path = format!("/api/v1/tasks/{of_carol}{below}");
        refused(&bob, ("GET", &path), &Value::Null, (404, "NOT_FOUND")).await;
        refused(&helper, ("GET", &path), &Value::Null, (404, "NOT_FOUND")).await;
    }
    for below in ["tasks/{}/cancel", "inbox/{}/approve"] {
        let path = format!("/api/v1/{}", below.replace("{}", &of_carol));
        refused(&bob, ("POST", &path), &Value::Null, (404, "NOT_FOUND")).await;
    }
    // Whoever works does not learn for whom.
    let whole = done(&helper, "GET", &format!("/api/v1/tasks/{of_bob}"), &Value::Null).await;
    assert_eq!((&whole["agent_name"], &whole["caller"]), (&json!("helper"), &Value::Null));
    // A person of another name does not become an agent of that name.
    let impostor = office.person("helper", &[]).await;
    assert!(list(&impostor).await.is_empty());
}

fn ids_of(page: &Value) -> Vec<String> {
    ids(page).into_iter().map(str::to_owned).collect()
}

#[tokio::test]
async fn nobody_sees_what_an_agent_does_whom_they_may_no_longer_call() {
    let office = Office::open().await;
    let bob = office.person("bob", &[]).await;
    let task = ask(&bob, "clerk", "wait here").await;
    let mut following = follow(&bob, &task, None).await;
    assert!(following.next().await.is_some());
    let deny = json!({ "effect": "deny", "caller": { "user": "bob" }, "target": "any" });
    office.done("PUT", "/api/v1/rules/away", &deny).await;
    let cut = async { while following.next().await.is_some() {} };
    timeout(PATIENCE, cut).await.expect("the stream is cut");
    let path = format!("/api/v1/tasks/{task}");
    refused(&bob, ("GET", &path), &Value::Null, (404, "NOT_FOUND")).await;
    let page = done(&bob, "GET", "/api/v1/tasks", &Value::Null).await;
    assert!(ids(&page).is_empty(), "{page}");
    office.done("POST", &format!("{path}/cancel"), &Value::Null).await;
}

#[tokio::test]
async fn events_come_in_pages_and_as_they_happen_with_the_same_numbers() {
    let office = Office::open().await;
    let bob = office.person("bob", &[]).await;
    let task = ask(&bob, "clerk", "pay 40").await;
    let path = format!("/api/v1/tasks/{task}/events");
    let page = done(&bob, "GET", &path, &Value::Null).await;
    let pages = page["events"].as_array().expect("events").clone();
    assert_eq!(page["ended"], false);
    assert_eq!(pages[0]["kind"], "opened");
    let last = page["last"].as_u64().expect("a number");
    assert_eq!(last, pages.len() as u64);

    let mut following = follow(&office.administrator, &task, Some(1)).await;
    for expected in &pages[1..] {
        let frame = following.next().await.expect("there is an event");
        assert_eq!(frame.id, expected["seq"].as_u64());
        assert_eq!(serde_json::from_str::<Value>(&frame.data).expect("JSON"), *expected);
    }
    let answer = json!({ "text": "yes" });
    done(&bob, "POST", &format!("/api/v1/tasks/{task}/messages"), &answer).await;
    let mut frames = Vec::new();
    while let Some(frame) = following.next().await {
        frames.push(frame);
    }
    let numbers: Vec<u64> = frames.iter().filter_map(|frame| frame.id).collect();
    let expected: Vec<u64> = (last + 1..=last + frames.len() as u64).collect();
    assert_eq!(numbers, expected);
    let said: Value = serde_json::from_str(&frames[0].data).expect("JSON");
    assert_eq!(
        (&said["kind"], &said["message"]["parts"][0]["text"]),
        (&json!("input"), &json!("yes"))
    );
    let page = done(&bob, "GET", &format!("{path}?after={last}&limit=1"), &Value::Null).await;
    assert_eq!((&page["events"][0], &page["more"]), (&said, &json!(true)));

    // Whoever has seen the end need not come back.
    let end = numbers.last().expect("there were some").to_string();
    let headers = [("accept", "text/event-stream"), ("last-event-id", end.as_str())];
    assert_eq!(bob.request("GET", &path, &headers, "").await.status, 204);
    let beyond = [("accept", "text/event-stream"), ("last-event-id", "x")];
    assert_eq!(bob.request("GET", &path, &beyond, "").await.status, 400);
}

#[tokio::test]
async fn a_tree_names_only_agents_that_its_reader_may_know_of() {
    let office = Office::open().await;
    let (boss, of_boss) = office.join("boss").await;
    let bob = office.person("bob", &[]).await;
    let task = ask(&bob, "boss", "wait for others").await;
    let because = [("a2a-parent-task", task.as_str())];
    let below = call(&of_boss, "clerk", "wait too", &because).await;
    let below = below["result"]["task"]["id"].as_str().expect("a task").to_owned();

    let path = format!("/api/v1/tasks/{task}/tree");
    let tree = office.done("GET", &path, &Value::Null).await;
    assert_eq!((&tree["id"], &tree["agent"]), (&json!(task), &json!(boss)));
    assert_eq!((&tree["agent_name"], &tree["caller"]), (&json!("boss"), &json!("user:bob")));
    let call = &tree["calls"][0];
    assert_eq!((&call["id"], &call["agent_name"]), (&json!(below), &json!("clerk")));
    assert_eq!(call["caller"], format!("agent:{boss}"));
    let row = office.done("GET", &format!("/api/v1/tasks/{below}"), &Value::Null).await;
    assert_eq!((&row["parent"], &row["caller_name"]), (&json!(task), &json!("boss")));

    let deny = json!({
        "effect": "deny", "caller": { "user": "bob" }, "target": { "agent": "clerk" },
    });
    office.done("PUT", "/api/v1/rules/hide", &deny).await;
    let tree = done(&bob, "GET", &path, &Value::Null).await;
    assert_eq!(tree["agent_name"], "boss");
    assert_eq!(
        (&tree["calls"][0]["id"], &tree["calls"][0]["agent"]),
        (&json!(below), &Value::Null)
    );
    office.done("POST", &format!("/api/v1/tasks/{task}/cancel"), &Value::Null).await;
}
