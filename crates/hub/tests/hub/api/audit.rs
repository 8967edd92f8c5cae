//! The audit trail from outside (A-LOG).

use serde_json::{Value, json};

use super::{Running, check_refused, get, send};

/// Returns the trail once it has a line with this action.
async fn trail_with(running: &Running, action: &str) -> Value {
    loop {
        let path = "/api/v1/audit?limit=1000&verify=true";
        let page = running.done("GET", path, &Value::Null).await;
        let lines = page["lines"].as_array().expect("lines");
        if lines.iter().any(|line| line["line"]["action"] == action) {
            return page;
        }
    }
}

fn line<'a>(page: &'a Value, action: &str) -> &'a Value {
    let lines = page["lines"].as_array().expect("lines");
    let found = lines.iter().find(|line| line["line"]["action"] == action);
    &found.expect("there is such a line")["line"]
}

#[tokio::test]
async fn changes_and_refusals_are_in_the_trail_and_secrets_are_not() {
    let running = Running::with(|_, settings| settings.limits.requests = 100_000).await;
    let writer = running.join("writer", None).await;
    running.join("hidden", None).await;
    let reply = send(&writer.http, "DELETE", "/api/v1/agents/hidden", &Value::Null).await;
    assert_eq!(reply.status, 403);
    let page = trail_with(&running, "request.deny").await;
    let denied = line(&page, "request.deny");
    assert_eq!(denied["by"], json!(format!("agent:{}", writer.id)));
    assert_eq!(denied["subject"], "DELETE /api/v1/agents/hidden");

    get(&writer.http, "/api/v1/agents/hidden/discovery").await;
    let page = trail_with(&running, "decision.deny").await;
    assert_eq!(line(&page, "decision.deny")["subject"], "hidden");

    let key = running.done("POST", "/api/v1/keys", &json!({ "name": "v", "scopes": [] })).await;
    let path = format!("/api/v1/keys/{}", key["id"].as_str().unwrap());
    running.done("DELETE", &path, &Value::Null).await;
    let secret = key["key"].as_str().unwrap();
    get(&super::bearer(&running.stranger, secret), "/api/v1/whoami").await;
    let page = trail_with(&running, "credential.refuse").await;
    let refused = line(&page, "credential.refuse");
    assert_eq!((&refused["by"], &refused["subject"]), (&json!("user:v"), &key["id"]));

    assert_eq!((&page["whole"], &page["more"]), (&json!(true), &json!(false)));
    let text = page.to_string();
    for secret in [secret, &writer.token] {
        let secret = secret.splitn(3, '_').nth(2).unwrap();
        assert!(!text.contains(secret));
    }
    let last = page["last"].as_u64().unwrap();
    let rest = format!("/api/v1/audit?after={}&verify=true", last - 1);
    let rest = running.done("GET", &rest, &Value::Null).await;
    assert_eq!(rest["whole"], true, "{rest}");
    check_refused(&get(&writer.http, "/api/v1/audit").await, 403, "FORBIDDEN");
}
