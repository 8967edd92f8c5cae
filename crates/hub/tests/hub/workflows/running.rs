//! Runs: begun, followed, answered, ended and repeated.

use serde_json::{Value, json};

use super::{PAYMENT, REPORT, begin, ended, follow, office, save, show, until};
use crate::tasks::office::{done, refused, send};

fn kinds(frames: &[nuncio_testkit::wire::Frame]) -> Vec<&str> {
    frames.iter().map(|frame| frame.event.as_str()).collect()
}

#[tokio::test]
async fn a_run_shows_what_its_nodes_have_brought_about() {
    let office = office(&[("report", REPORT)]).await;
    let ann = &office.administrator;
    let run = begin(ann, "report", &json!({ "topic": "otters" })).await;
    let view = ended(ann, &run).await;
    assert_eq!((&view["state"], &view["version"]), (&json!("completed"), &json!(1)));
    assert_eq!((&view["caller"], &view["workflow"]), (&json!("user:ann"), &json!("report")));
    assert_eq!(view["inputs"], json!({ "topic": "otters" }));
    assert_eq!(view["output"][0]["parts"][0]["text"], "heard write otters");
    let states: Vec<_> =
        view["nodes"].as_array().expect("nodes").iter().map(|n| &n["state"]).collect();
    assert_eq!(states, ["completed"; 3]);
    let task = view["nodes"][1]["task_id"].as_str().expect("a task");
    let child = done(ann, "GET", &format!("/api/v1/tasks/{task}"), &Value::Null).await;
    assert_eq!((&child["agent_name"], &child["parent"]), (&json!("clerk"), &json!(run)));
}

#[tokio::test]
async fn events_resume_behind_the_last_one_seen() {
    let office = office(&[("report", REPORT)]).await;
    let ann = &office.administrator;
    let run = begin(ann, "report", &json!({ "topic": "otters" })).await;
    let all = follow(ann, &run, None).await.rest().await;
    let expected = ["run.started", "node.started", "node.completed"];
    assert_eq!(kinds(&all)[..3], expected, "{all:?}");
    assert_eq!(kinds(&all).last(), Some(&"run.completed"));
    let seen = all[1].id.expect("a number");
    let rest = follow(ann, &run, Some(seen)).await.rest().await;
    let texts = |frames: &[nuncio_testkit::wire::Frame]| -> Vec<String> {
        frames.iter().map(|frame| frame.data.clone()).collect()
    };
    assert_eq!(texts(&rest), texts(&all[2..]));
    let path = format!("/api/v1/runs/{run}/events?after={seen}");
    let page = done(ann, "GET", &path, &Value::Null).await;
    assert_eq!(page["events"].as_array().map(Vec::len), Some(all.len() - 2));
    assert_eq!(page["ended"], true);
    // Whoever has seen everything is told not to come back.
    let last = all.last().and_then(|frame| frame.id).expect("a number").to_string();
    let http = ann.clone().with("accept", "text/event-stream").with("last-event-id", &last);
    let path = format!("/api/v1/runs/{run}/events");
    assert_eq!(http.request("GET", &path, &[], "").await.status, 204);
}

#[tokio::test]
async fn a_question_is_answered_at_its_node_or_in_the_inbox_and_stands_there_once() {
    let office = office(&[("payment", PAYMENT)]).await;
    let ann = &office.administrator;
    for way in ["node", "inbox"] {
        let run = begin(ann, "payment", &json!({ "sum": "40" })).await;
        until(ann, &run, "node.waiting").await;
        let view = show(ann, &run).await;
        assert_eq!(view["state"], "input_required");
        let question = &view["questions"][0];
        assert_eq!(
            (&question["node"], &question["text"]),
            (&json!("pay"), &json!("May I pay 40?"))
        );
        // The clerk's task waits as well, and for the same answer.
        let page = done(ann, "GET", "/api/v1/inbox", &Value::Null).await;
        let items = page["items"].as_array().expect("a page");
        assert_eq!(items.len(), 1, "{page}");
        assert_eq!(
            (&items[0]["task"], &items[0]["question"]),
            (&json!(run), &json!("May I pay 40?"))
        );
        let path = format!("/api/v1/runs/{run}/nodes/draft/answer");
        refused(ann, ("POST", &path), &json!({ "text": "yes" }), (409, "NOT_WAITING")).await;
        let path = match way {
            "node" => format!("/api/v1/runs/{run}/nodes/pay/answer"),
            _ => format!("/api/v1/inbox/{run}/answer"),
        };
        done(ann, "POST", &path, &json!({ "text": "echo yes" })).await;
        let view = ended(ann, &run).await;
        assert_eq!(view["output"][0]["parts"][0]["text"], "heard echo yes", "{view}");
        let page = done(ann, "GET", "/api/v1/inbox", &Value::Null).await;
        assert_eq!(page["items"], json!([]));
    }
}

#[tokio::test]
async fn a_run_that_is_canceled_ends_what_it_has_under_way() {
    let office = office(&[("report", &REPORT.replace("write", "wait"))]).await;
    let ann = &office.administrator;
    let run = begin(ann, "report", &json!({ "topic": "long" })).await;
    until(ann, &run, "node.started").await;
    done(ann, "POST", &format!("/api/v1/runs/{run}/cancel"), &Value::Null).await;
    let view = ended(ann, &run).await;
    assert_eq!(view["state"], "canceled");
    let task = view["nodes"][1]["task_id"].as_str().expect("a task");
    let child = done(ann, "GET", &format!("/api/v1/tasks/{task}"), &Value::Null).await;
    assert_eq!(child["state"], "TASK_STATE_CANCELED");
    let again = format!("/api/v1/runs/{run}/cancel");
    assert_eq!(send(ann, "POST", &again, &Value::Null).await.status, 409);
}

#[tokio::test]
async fn a_rerun_keeps_what_has_succeeded_unless_it_is_told_otherwise() {
    let office = office(&[("report", REPORT)]).await;
    let ann = &office.administrator;
    let run = begin(ann, "report", &json!({ "topic": "otters" })).await;
    let first = ended(ann, &run).await;
    let path = format!("/api/v1/runs/{run}/rerun");
    let kept = done(ann, "POST", &path, &json!({})).await;
    let kept = ended(ann, kept["id"].as_str().expect("an id")).await;
    assert_eq!((&kept["rerun_of"], &kept["state"]), (&json!(run), &json!("completed")));
    assert_eq!(kept["output"], first["output"]);
    save(ann, "report", &REPORT.replace("write", "sing")).await;
    let body = json!({ "inputs": { "topic": "seals" }, "newest": true });
    let other = done(ann, "POST", &path, &body).await;
    let other = ended(ann, other["id"].as_str().expect("an id")).await;
    assert_eq!(other["version"], 2);
    assert_eq!(other["output"][0]["parts"][0]["text"], "heard sing seals");
}

#[tokio::test]
async fn the_same_key_begins_one_run_and_runs_are_listed() {
    let office = office(&[("report", REPORT), ("payment", PAYMENT)]).await;
    let ann = &office.administrator;
    let keyed = ann.clone().with("idempotency-key", "once");
    let run = begin(&keyed, "report", &json!({ "topic": "otters" })).await;
    assert_eq!(begin(&keyed, "report", &json!({ "topic": "otters" })).await, run);
    ended(ann, &run).await;
    let waiting = begin(ann, "payment", &json!({ "sum": "1" })).await;
    until(ann, &waiting, "node.waiting").await;
    for (query, expected) in [
        ("", vec![&waiting, &run]),
        ("?workflow=report", vec![&run]),
        ("?state=input-required", vec![&waiting]),
        ("?limit=1", vec![&waiting]),
    ] {
        let page = done(ann, "GET", &format!("/api/v1/runs{query}"), &Value::Null).await;
        let found: Vec<_> =
            page["runs"].as_array().expect("a list").iter().map(|run| &run["id"]).collect();
        assert_eq!(found, expected, "{query}");
    }
}

#[tokio::test]
async fn a_run_without_what_it_needs_does_not_begin() {
    let office = office(&[("report", REPORT)]).await;
    let ann = &office.administrator;
    let path = "/api/v1/workflows/report/runs";
    for (inputs, word) in [(json!({}), "topic"), (json!({ "topik": "x" }), "topik")] {
        let reply = send(ann, "POST", path, &json!({ "inputs": inputs })).await;
        assert_eq!(reply.status, 400, "{}", reply.text());
        assert!(reply.text().contains(word), "{}", reply.text());
    }
    let page = done(ann, "GET", "/api/v1/runs", &Value::Null).await;
    assert!(
        page["runs"]
            .as_array()
            .is_some_and(|runs| runs.iter().all(|run| run["state"] != "working")),
        "{page}"
    );
}

#[tokio::test]
async fn runs_go_on_after_a_restart_of_the_hub() {
    let office = office(&[("payment", PAYMENT)]).await;
    let run = begin(&office.administrator, "payment", &json!({ "sum": "40" })).await;
    until(&office.administrator, &run, "node.waiting").await;
    let office = office.reopen().await;
    let ann = &office.administrator;
    let path = format!("/api/v1/runs/{run}/nodes/pay/answer");
    done(ann, "POST", &path, &json!({ "text": "echo yes" })).await;
    let view = ended(ann, &run).await;
    assert_eq!(view["output"][0]["parts"][0]["text"], "heard echo yes", "{view}");
}
