//! Leave that agents ask for before they do something (MD-56).

use std::time::Duration;

use nuncio_hub::directory::Options;
use serde_json::{Value, json};

use super::{
    Member, Reply, World,
    discretion::next_of,
    live::{listen, listen_from},
};

/// A lead and two below it.
struct Team {
    world: World,
    lead: Member,
    pm: Member,
    sibling: Member,
}

impl Team {
    async fn in_(world: World) -> Self {
        let lead = world.add("lead", None).await;
        let pm = world.add("pm", Some(&lead)).await;
        let sibling = world.add("sibling", Some(&lead)).await;
        Self { world, lead, pm, sibling }
    }

    async fn new() -> Self {
        Self::in_(World::new().await).await
    }

    fn path(&self) -> String {
        format!("/workspaces/{}/approvals", self.pm.id())
    }

    async fn ask(&self, token: &str, body: &Value) -> Reply {
        self.world.by(token, "POST", &self.path(), &body.to_string()).await
    }

    /// Asks for leave to deploy.
    async fn asked(&self) -> String {
        let body = json!({"action": "deploy", "reason": "tests pass", "task_id": "t-1"});
        let reply = self.ask(&self.pm.token, &body).await;
        assert_eq!(reply.check(201).at("/status"), "pending");
        reply.at("/approval_id").as_str().expect("an id").to_owned()
    }

    async fn decide(&self, token: &str, approval: &str, decision: &str) -> Reply {
        let path = format!("{}/{approval}/decide", self.path());
        let body = json!({"decision": decision, "decided_by": "somebody else"});
        self.world.by(token, "POST", &path, &body.to_string()).await
    }

    async fn pending(&self, token: &str) -> Value {
        self.world.get(token, "/approvals/pending").await.check(200).json()
    }

    /// The newest event about an agent.
    async fn newest(&self, about: &Member) -> Value {
        let path = format!("/events/{}", about.id());
        self.world.admin("GET", &path, "").await.check(200).at("/0")
    }
}

#[tokio::test]
async fn md56_the_workspace_above_is_asked_and_decides() {
    let team = Team::new().await;
    let id = team.asked().await;
    let event = team.newest(&team.pm).await;
    assert_eq!(event["event"], "APPROVAL_REQUESTED");
    let payload = json!({
        "approval_id": id, "action": "deploy", "reason": "tests pass", "task_id": "t-1"
    });
    assert_eq!(event["payload"], payload);
    let event = team.newest(&team.lead).await;
    assert_eq!(event["event"], "APPROVAL_ESCALATED");
    let payload = json!({
        "approval_id": id, "from_workspace_id": team.pm.id().as_str(),
        "action": "deploy", "reason": "tests pass"
    });
    assert_eq!(event["payload"], payload);

    for token in [&team.world.admin, &team.lead.token, &team.pm.token] {
        let pending = team.pending(token).await;
        assert_eq!(pending.as_array().map(Vec::len), Some(1), "{pending}");
        let one = &pending[0];
        assert_eq!((&one["id"], &one["status"]), (&json!(id), &json!("pending")));
        assert_eq!(one["workspace_id"], team.pm.id().as_str());
        assert_eq!((&one["workspace_name"], &one["action"]), (&json!("pm"), &json!("deploy")));
        assert!(one["created_at"].is_string(), "{one}");
    }
    assert_eq!(team.pending(&team.sibling.token).await, json!([]));

    assert_eq!(
        team.decide(&team.lead.token, &id, "approved").await.check(200).json(),
        json!({
            "approval_id": id, "status": "approved"
        })
    );
    assert_eq!(team.pending(&team.world.admin).await, json!([]));
    let by = format!("agent:{}", team.lead.id());
    let event = team.newest(&team.pm).await;
    assert_eq!(event["event"], "APPROVAL_APPROVED");
    let payload = json!({"approval_id": id, "decision": "approved", "decided_by": by});
    assert_eq!(event["payload"], payload);
    let list = team.world.get(&team.pm.token, &team.path()).await.check(200).json();
    assert_eq!((&list[0]["id"], &list[0]["status"]), (&json!(id), &json!("approved")));
    assert_eq!((&list[0]["decided_by"], &list[0]["task_id"]), (&json!(by), &json!("t-1")));
    assert!(list[0]["decided_at"].is_string() && list[0]["created_at"].is_string(), "{list}");
}

#[tokio::test]
async fn md56_at_the_top_an_administrator_decides() {
    let team = Team::new().await;
    let path = format!("/workspaces/{}/approvals", team.lead.id());
    let body = json!({"action": "spend", "context": {"euro": 7}}).to_string();
    let asked = team.world.by(&team.lead.token, "POST", &path, &body).await;
    let id = asked.check(201).at("/approval_id").as_str().expect("an id").to_owned();
    let path = format!("{path}/{id}/decide");
    let denied = team.world.admin("POST", &path, r#"{"decision":"denied"}"#).await;
    assert_eq!(denied.check(200).at("/status"), "denied");
    let event = team.newest(&team.lead).await;
    assert_eq!(
        (&event["event"], &event["payload"]["decided_by"]),
        (&json!("APPROVAL_DENIED"), &json!("user:ann"))
    );
    let trail = team.world.admin("GET", "/api/v1/audit?limit=1000", "").await.json();
    let lines = trail["lines"].as_array().expect("lines").iter().map(|line| &line["line"]);
    let deed = lines.into_iter().find(|line| line["action"] == "approval.denied");
    let deed = deed.unwrap_or_else(|| panic!("{trail}"));
    assert_eq!((&deed["by"], &deed["detail"]), (&json!("user:ann"), &json!("spend")));
}

#[tokio::test]
async fn nobody_decides_for_themselves_and_nothing_is_decided_twice() {
    let team = Team::new().await;
    let id = team.asked().await;
    for token in [&team.pm.token, &team.sibling.token] {
        team.decide(token, &id, "approved").await.check(403);
    }
    team.decide(&team.lead.token, &id, "perhaps").await.check(400);
    team.decide(&team.lead.token, "unknown", "denied").await.check(404);
    let path = format!("/workspaces/{}/approvals/{id}/decide", team.sibling.id());
    let body = r#"{"decision":"approved"}"#;
    team.world.by(&team.lead.token, "POST", &path, body).await.check(404);
    team.decide(&team.lead.token, &id, "denied").await.check(200);
    team.decide(&team.world.admin, &id, "approved").await.check(404);

    // Nor does anybody ask in the name of another, or read what is none of theirs.
    let body = json!({"action": "deploy"});
    team.ask(&team.sibling.token, &body).await.check(403);
    team.ask(&team.lead.token, &body).await.check(403);
    team.world.get(&team.sibling.token, &team.path()).await.check(403);
}

#[tokio::test]
async fn what_is_asked_for_is_said_and_there_is_an_end_to_it() {
    let team = Team::new().await;
    for body in [
        json!({}),
        json!({"action": " "}),
        json!({"action": "a\nb"}),
        json!({"action": "a".repeat(257)}),
        json!({"action": "a", "reason": "r".repeat(4_097)}),
    ] {
        team.ask(&team.pm.token, &body).await.check(400);
    }
    for _ in 0..50 {
        team.asked().await;
    }
    team.ask(&team.pm.token, &json!({"action": "deploy"})).await.check(409);
}

#[tokio::test]
async fn md56_what_nobody_decides_is_denied_after_a_while() {
    let mut options = Options::default();
    assert_eq!(options.approval_wait, Duration::from_secs(600));
    options.approval_wait = Duration::ZERO;
    let team = Team::in_(World::serving(options).await).await;
    let mut canvas = listen(&team.world, &team.world.admin).await;
    let id = team.asked().await;
    let event = next_of(&mut canvas, "APPROVAL_DENIED").await;
    let payload = json!({"approval_id": id, "decision": "denied", "decided_by": "auto-expired"});
    assert_eq!(event["payload"], payload);
    assert_eq!(team.pending(&team.world.admin).await, json!([]));
    team.decide(&team.lead.token, &id, "approved").await.check(404);
}

#[tokio::test]
async fn what_is_asked_for_is_not_in_the_events_of_others() {
    let team = Team::new().await;
    team.asked().await;
    let mut sibling = listen_from(&team.world, &team.sibling.token, 0).await;
    let event = next_of(&mut sibling, "APPROVAL_REQUESTED").await;
    let members: Vec<&String> = event["payload"].as_object().expect("an object").keys().collect();
    assert_eq!(members, ["approval_id"]);
    let event = next_of(&mut sibling, "APPROVAL_ESCALATED").await;
    assert_eq!(
        (&event["payload"]["action"], &event["payload"]["reason"]),
        (&Value::Null, &Value::Null)
    );
}
