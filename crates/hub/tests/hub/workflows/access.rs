//! Who may do what with workflows, and what their runs may do.

use serde_json::{Value, json};

use super::{REPORT, begin, ended, get, office};
use crate::tasks::office::{ask, done, refused, send};

#[tokio::test]
async fn only_administrators_save_and_remove() {
    let office = office(&[("report", REPORT)]).await;
    let viewer = office.person("vera", &["read"]).await;
    let bob = office.person("bob", &[]).await;
    let body = json!({ "source": REPORT.replace("write", "sing") });
    for http in [&viewer, &bob] {
        let put = ("PUT", "/api/v1/workflows/report");
        refused(http, put, &body, (403, "FORBIDDEN")).await;
        let delete = ("DELETE", "/api/v1/workflows/report");
        refused(http, delete, &Value::Null, (403, "FORBIDDEN")).await;
    }
    let judged = send(&viewer, "POST", "/api/v1/workflows/validate", &body).await;
    assert_eq!(judged.status, 200, "{}", judged.text());
    let run = begin(&bob, "report", &json!({ "topic": "otters" })).await;
    assert_eq!(ended(&bob, &run).await["caller"], "user:bob");
    // A viewer sees the run, and ends or begins none.
    assert_eq!(get(&viewer, &format!("/api/v1/runs/{run}")).await.status, 200);
    let begin = ("POST", "/api/v1/workflows/report/runs");
    let inputs = json!({ "inputs": { "topic": "x" } });
    let reply = send(&viewer, begin.0, begin.1, &inputs).await;
    assert_eq!(reply.status, 403, "{}", reply.text());
    // Whoever has not asked for a run does not know of it.
    let carol = office.person("carol", &[]).await;
    assert_eq!(get(&carol, &format!("/api/v1/runs/{run}")).await.status, 404);
}

#[tokio::test]
async fn an_agent_that_may_not_call_a_workflow_does_not_see_it() {
    let office = office(&[("report", REPORT)]).await;
    let (_, helper) = office.join("helper").await;
    let list = done(&helper, "GET", "/api/v1/workflows", &Value::Null).await;
    assert_eq!(list["workflows"].as_array().map(Vec::len), Some(1));
    let deny = json!({
        "effect": "deny", "caller": { "agent": "helper" }, "target": { "agent": "report" },
    });
    done(&office.administrator, "PUT", "/api/v1/rules/no", &deny).await;
    let list = done(&helper, "GET", "/api/v1/workflows", &Value::Null).await;
    assert_eq!(list["workflows"], json!([]));
    assert_eq!(get(&helper, "/api/v1/workflows/report").await.status, 404);
    let begin = ("POST", "/api/v1/workflows/report/runs");
    refused(&helper, begin, &json!({ "inputs": { "topic": "x" } }), (404, "NOT_FOUND")).await;
}

#[tokio::test]
async fn a_run_may_call_whom_its_workflow_or_whoever_began_it_may() {
    let office = office(&[("report", REPORT)]).await;
    let ann = &office.administrator;
    let bob = office.person("bob", &[]).await;
    let deny = |caller: Value| json!({ "effect": "deny", "caller": caller, "target": { "agent": "clerk" } });
    done(ann, "PUT", "/api/v1/rules/w", &deny(json!({ "agent": "report" }))).await;
    let run = begin(&bob, "report", &json!({ "topic": "otters" })).await;
    assert_eq!(ended(&bob, &run).await["state"], "completed");
    done(ann, "PUT", "/api/v1/rules/b", &deny(json!({ "user": "bob" }))).await;
    let run = begin(&bob, "report", &json!({ "topic": "otters" })).await;
    let view = ended(&bob, &run).await;
    assert_eq!(view["state"], "failed", "{view}");
    done(ann, "DELETE", "/api/v1/rules/w", &Value::Null).await;
    let run = begin(&bob, "report", &json!({ "topic": "otters" })).await;
    assert_eq!(ended(&bob, &run).await["state"], "completed");
    // Alone, bob still may not.
    let reply = get(&bob, "/agents/clerk/.well-known/agent-card.json").await;
    assert_eq!(reply.status, 404);
    ask(ann, "clerk", "echo").await;
}

/// To such an agent the hub proves who calls, and it is not the workflow that may.
#[tokio::test]
async fn a_run_may_call_an_agent_that_registered_itself_for_whoever_began_it() {
    let office = office(&[]).await;
    office.join("joined").await;
    let source = json!({ "source": REPORT.replace("clerk", "joined") });
    done(&office.administrator, "PUT", "/api/v1/workflows/report", &source).await;
    let deny = json!({
        "effect": "deny", "caller": { "agent": "report" }, "target": { "agent": "joined" },
    });
    done(&office.administrator, "PUT", "/api/v1/rules/w", &deny).await;
    let bob = office.person("bob", &[]).await;
    let run = begin(&bob, "report", &json!({ "topic": "otters" })).await;
    let view = ended(&bob, &run).await;
    assert_eq!(view["state"], "completed", "{view}");
}
