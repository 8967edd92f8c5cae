//! Workflows and runs on Upal's paths (U-17, UD-06 to UD-08).

use serde_json::{Value, json};

use super::{definition, office, payment};
use crate::tasks::office::{done, send};

#[tokio::test]
async fn u17_workflows_are_kept_by_the_names_that_upal_gives_them() {
    let office = office(&[definition()]).await;
    let ann = &office.administrator;
    let kept = done(ann, "GET", "/api/workflows/My%20Report", &Value::Null).await;
    assert_eq!(kept, definition());
    assert_eq!(done(ann, "GET", "/api/workflows", &Value::Null).await, json!([definition()]));
    let mut other = definition();
    other["nodes"][1]["config"]["prompt"] = json!("sing {{topic}}");
    let saved = done(ann, "PUT", "/api/workflows/my-report", &other).await;
    assert_eq!((&saved["version"], &saved["nodes"]), (&json!(2), &other["nodes"]));
    // It is the same workflow as everywhere else.
    let native = done(ann, "GET", "/api/v1/workflows/my-report", &Value::Null).await;
    assert_eq!(native["version"], 2);
    assert_eq!(send(ann, "POST", "/api/workflows", &definition()).await.status, 409);
    done(ann, "DELETE", "/api/workflows/My%20Report", &Value::Null).await;
    let gone = send(ann, "GET", "/api/workflows/my-report", &Value::Null).await;
    assert_eq!((gone.status, gone.json()["error"].is_string()), (404, true));
}

#[tokio::test]
async fn what_cannot_run_is_refused_in_upals_shape() {
    let office = office(&[]).await;
    let mut broken = definition();
    broken["edges"][0]["to"] = json!("nowhere");
    let reply = send(&office.administrator, "POST", "/api/workflows", &broken).await;
    assert_eq!(reply.status, 400, "{}", reply.text());
    let error = reply.json()["error"].as_str().expect("a text").to_owned();
    assert!(error.contains("edges[0].to"), "{error}");
    let bob = office.person("bob", &[]).await;
    let reply = send(&bob, "POST", "/api/workflows", &definition()).await;
    assert_eq!(reply.status, 403);
}

#[tokio::test]
async fn ud07_a_run_is_begun_and_followed_in_upals_words() {
    let office = office(&[definition()]).await;
    let ann = &office.administrator;
    let path = "/api/workflows/My%20Report/run";
    let reply = send(ann, "POST", path, &json!({ "inputs": { "topic": "otters" } })).await;
    assert_eq!(reply.status, 202, "{}", reply.text());
    let run = reply.json()["run_id"].as_str().expect("an id").to_owned();
    let events = format!("/api/runs/{run}/events");
    let frames = ann.frames("GET", &events, &[], "").await.rest().await;
    let names: Vec<_> = frames.iter().map(|frame| frame.event.as_str()).collect();
    assert_eq!(names[2..4], ["node_started", "node_completed"]);
    assert_eq!(names.last(), Some(&"done"));
    let data = |at: usize| serde_json::from_str::<Value>(&frames[at].data).expect("JSON");
    assert_eq!(data(2)["node_id"], "draft");
    assert!(data(2)["started_at"].is_u64(), "{}", data(2));
    assert_eq!(data(3)["output"], "heard write otters");
    let end = data(frames.len() - 1);
    assert_eq!((&end["status"], &end["session_id"]), (&json!("completed"), &json!(run)));
    assert_eq!(end["state"]["topic"], "otters");
    assert_eq!(end["state"]["draft"], "heard write otters");
    // Whoever comes back goes on behind what they have seen.
    let seen = frames[0].id.expect("a number").to_string();
    let rest = ann.frames("GET", &events, &[("last-event-id", &seen)], "").await.rest().await;
    assert_eq!(rest.len(), frames.len() - 1);

    let record = done(ann, "GET", &format!("/api/runs/{run}"), &Value::Null).await;
    assert_eq!(
        (&record["status"], &record["workflow_name"]),
        (&json!("success"), &json!("my-report"))
    );
    assert_eq!(record["outputs"]["draft"], "heard write otters");
    assert_eq!(record["node_runs"][1]["status"], "completed");
    for path in ["/api/runs?status=success", "/api/workflows/my-report/runs"] {
        let page = done(ann, "GET", path, &Value::Null).await;
        assert_eq!((&page["runs"][0]["id"], &page["total"]), (&json!(run), &json!(1)), "{path}");
    }
    let page = done(ann, "GET", "/api/runs?status=failed", &Value::Null).await;
    assert_eq!(page, json!({ "runs": [], "total": 0 }));
}

#[tokio::test]
async fn u17_whoever_asks_for_events_gets_them_at_once() {
    let office = office(&[definition()]).await;
    let ann = &office.administrator;
    let headers = [("content-type", "application/json"), ("accept", "text/event-stream")];
    let body = json!({ "inputs": { "topic": "otters" } }).to_string();
    let frames = ann.frames("POST", "/api/workflows/my-report/run", &headers, body).await;
    let frames = frames.rest().await;
    assert_eq!(frames.last().map(|frame| frame.event.as_str()), Some("done"));
}

#[tokio::test]
async fn a_definition_that_comes_with_a_run_is_the_one_that_runs() {
    let office = office(&[definition()]).await;
    let ann = &office.administrator;
    let mut other = definition();
    other["nodes"][1]["config"]["prompt"] = json!("sing {{topic}}");
    let body = json!({ "inputs": { "topic": "otters" }, "workflow": other });
    let reply = send(ann, "POST", "/api/workflows/my-report/run", &body).await;
    let run = reply.json()["run_id"].as_str().expect("an id").to_owned();
    let frames = ann.frames("GET", &format!("/api/runs/{run}/events"), &[], "").await.rest().await;
    assert!(frames[3].data.contains("heard sing otters"), "{frames:?}");
    let bob = office.person("bob", &[]).await;
    let reply = send(&bob, "POST", "/api/workflows/my-report/run", &body).await;
    assert_eq!(reply.status, 403, "{}", reply.text());
}

#[tokio::test]
async fn ud08_a_node_that_waits_is_resumed() {
    let office = office(&[payment()]).await;
    let ann = &office.administrator;
    let body = json!({ "inputs": { "topic": "40" } });
    let reply = send(ann, "POST", "/api/workflows/payment/run", &body).await;
    let run = reply.json()["run_id"].as_str().expect("an id").to_owned();
    let mut frames = ann.frames("GET", &format!("/api/runs/{run}/events"), &[], "").await;
    let waiting = loop {
        let frame = frames.next().await.expect("it waits");
        if frame.event == "node_waiting" {
            break frame;
        }
    };
    assert!(waiting.data.contains("May I pay 40?"), "{waiting:?}");
    let wrong = format!("/api/runs/{run}/nodes/topic/resume");
    assert_eq!(send(ann, "POST", &wrong, &json!({ "text": "yes" })).await.status, 409);
    let path = format!("/api/runs/{run}/nodes/pay/resume");
    let resumed = done(ann, "POST", &path, &json!({ "text": "echo yes" })).await;
    assert_eq!(resumed, json!({ "status": "resumed" }));
    let rest = frames.rest().await;
    let names: Vec<_> = rest.iter().map(|frame| frame.event.as_str()).collect();
    assert_eq!(names.first(), Some(&"node_resumed"), "{rest:?}");
    assert!(rest.last().is_some_and(|frame| frame.data.contains("heard echo yes")), "{rest:?}");
}
