//! Workflows that are saved, looked at and removed.

use serde_json::{Value, json};

use super::{REPORT, begin, ended, get, office, save};
use crate::tasks::office::{done, refused, send};

#[tokio::test]
async fn every_text_is_a_version_and_the_same_text_is_the_same() {
    let office = office(&[]).await;
    let ann = &office.administrator;
    let first = save(ann, "report", REPORT).await;
    assert_eq!((&first["version"], &first["updated_by"]), (&json!(1), &json!("user:ann")));
    assert_eq!(first["source"], REPORT);
    assert_eq!(first["graph"]["nodes"][1]["config"]["agent"], "clerk");
    let input = json!({ "name": "topic", "prompt": "About what?", "required": true });
    assert_eq!(first["inputs"], json!([input]));
    assert_eq!(save(ann, "report", REPORT).await["version"], 1);
    let second = save(ann, "report", &REPORT.replace("write", "sing")).await;
    assert_eq!(second["version"], 2);
    let versions: Vec<_> = second["versions"].as_array().expect("a list").iter().collect();
    assert_eq!(versions.len(), 2);
    let old = done(ann, "GET", "/api/v1/workflows/report?version=1", &Value::Null).await;
    assert_eq!((&old["version"], &old["source"]), (&json!(1), &json!(REPORT)));
    let list = done(ann, "GET", "/api/v1/workflows", &Value::Null).await;
    let found = &list["workflows"][0];
    assert_eq!((&found["name"], &found["version"]), (&json!("report"), &json!(2)));
    assert_eq!(found["description"], "Writes about something");
    let unknown = ("GET", "/api/v1/workflows/report?version=9");
    refused(ann, unknown, &Value::Null, (404, "NOT_FOUND")).await;
}

#[tokio::test]
async fn whoever_has_not_seen_the_newest_version_does_not_replace_it() {
    let office = office(&[("report", REPORT)]).await;
    let ann = &office.administrator;
    let path = "/api/v1/workflows/report";
    let newer = json!({ "source": REPORT.replace("write", "sing"), "expect_version": 1 });
    assert_eq!(done(ann, "PUT", path, &newer).await["version"], 2);
    let late = json!({ "source": REPORT.replace("write", "hum"), "expect_version": 1 });
    let reply = send(ann, "PUT", path, &late).await;
    assert_eq!((reply.status, &reply.json()["code"]), (409, &json!("VERSION_CHANGED")));
    let first = json!({ "source": REPORT, "expect_version": 0 });
    assert_eq!(send(ann, "PUT", path, &first).await.status, 409);
    // An agent that is no workflow keeps its name.
    let taken = json!({ "source": REPORT });
    assert_eq!(send(ann, "PUT", "/api/v1/workflows/clerk", &taken).await.status, 409);
}

#[tokio::test]
async fn what_cannot_run_is_refused_with_every_place() {
    let office = office(&[]).await;
    let ann = &office.administrator;
    let source = "
name: broken
nodes:
  - {id: a, type: external, config: {agent: clark, prompt: hello}}
  - {id: b, type: external, config: {agent: clerk, prompt: '{{c}}'}}
edges:
  - {from: a, to: d}
";
    let reply = send(ann, "PUT", "/api/v1/workflows/broken", &json!({ "source": source })).await;
    assert_eq!(reply.status, 422, "{}", reply.text());
    assert_eq!(reply.header("content-type"), "application/problem+json");
    let problem = reply.json();
    assert_eq!(problem["code"], "INVALID_WORKFLOW");
    let flaws = problem["problems"].as_array().expect("a list");
    let at = |key: &str| {
        let found = flaws.iter().find(|flaw| flaw["key"].as_str().is_some_and(|at| at == key));
        found.unwrap_or_else(|| panic!("nothing at {key}: {problem}"))
    };
    let nobody = at("nodes[0].config");
    assert_eq!((&nobody["line"], &nobody["node"]), (&json!(4), &json!("a")));
    assert!(nobody["fix"].as_str().is_some_and(|fix| fix.contains("clerk")), "{nobody}");
    assert_eq!(at("edges[0].to")["line"], 7);
    assert_eq!(get(ann, "/api/v1/workflows/broken").await.status, 404);

    let draft = json!({ "source": source });
    let judged = done(ann, "POST", "/api/v1/workflows/validate", &draft).await;
    assert_eq!(judged["problems"], problem["problems"]);
    assert_eq!(judged["graph"]["nodes"][1]["id"], "b");
    let draft = json!({ "source": REPORT });
    let judged = done(ann, "POST", "/api/v1/workflows/validate", &draft).await;
    assert_eq!((&judged["problems"], &judged["inputs"][0]["name"]), (&json!([]), &json!("topic")));
    assert_eq!(get(ann, "/api/v1/workflows/report").await.status, 404);
}

#[tokio::test]
async fn a_workflow_that_was_removed_leaves_its_runs() {
    let office = office(&[("report", REPORT)]).await;
    let ann = &office.administrator;
    let run = begin(ann, "report", &json!({ "topic": "otters" })).await;
    ended(ann, &run).await;
    done(ann, "DELETE", "/api/v1/workflows/report", &Value::Null).await;
    assert_eq!(get(ann, "/api/v1/workflows/report").await.status, 404);
    assert_eq!(get(ann, "/agents/report/.well-known/agent-card.json").await.status, 404);
    let left = get(ann, &format!("/api/v1/runs/{run}")).await.json();
    assert_eq!((&left["workflow"], &left["state"]), (&json!("report"), &json!("completed")));
}
