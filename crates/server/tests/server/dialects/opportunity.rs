//! The capability envelope of the opportunity agents.

use std::time::Duration;

use nuncio_auth::{ApiKey, ApiKeys, Gatekeeper};
use nuncio_server::{Dialects, Server, dialects::Opportunity};
use serde_json::{Value, json};

use crate::dialects::world::{Reply, World, server};

const SCHEMA: &str = r#"{
    "type": "object",
    "required": ["problem"],
    "properties": {
        "problem": {"type": "string"},
        "subreddits": {"type": "array", "items": {"type": "string"}}
    }
}"#;

/// The request of the documents' first example (O-24).
fn request(capability: &str, payload: &Value) -> Value {
    json!({
        "protocol_version": "1.0",
        "source_agent": {"id": "orchestrator-agent", "endpoint": "https://orchestrator.example.com"},
        "capability": capability,
        "payload": payload,
        "request_id": "abc-123-def"
    })
}

fn example() -> Value {
    let payload = json!({
        "problem": "construction equipment tracking",
        "subreddits": ["construction", "contractors"],
        "competitors": ["ToolTracker"],
        "timeframe": "month"
    });
    request("pain_point_validation", &payload)
}

fn text(capability: &str, text: &str) -> Value {
    request(capability, &json!({"text": text}))
}

fn speaking(settings: Opportunity) -> Server {
    server().dialects(Dialects::default().opportunity(settings))
}

async fn world(settings: Opportunity) -> World {
    World::of(speaking(settings)).await
}

async fn post(world: &World, headers: &[(&str, &str)], body: &Value) -> Reply {
    world.ask("POST", "/a2a", headers, &body.to_string()).await
}

fn error(reply: &Reply) -> String {
    reply.at("/error").as_str().unwrap_or_default().to_owned()
}

/// O-04 to O-08, O-24: the documents' own request and answer.
#[tokio::test]
async fn the_example_of_the_documents_is_answered() {
    let world =
        world(Opportunity::default().schema("pain_point_validation", SCHEMA).expect("a schema"))
            .await;
    let headers = [
        ("A2A-Protocol-Version", "1.0"),
        ("A2A-Source-Agent", "orchestrator-agent"),
        ("A2A-Priority", "high"),
    ];
    let reply = post(&world, &headers, &example()).await;
    assert_eq!(reply.status, 200);
    let expected = json!({
        "protocol_version": "1.0",
        "request_id": "abc-123-def",
        "agent_id": "validation-agent",
        "capability": "pain_point_validation",
        "status": "success",
        "result": {"validation_score": 87, "recommendation": "STRONG VALIDATION"}
    });
    assert_eq!(reply.json(), expected);
    world.stop().await;
}

/// O-08, C-17: both can be read without a credential.
#[tokio::test]
async fn capabilities_and_health_are_shown() {
    let (_, record) = ApiKey::generate("orchestrator-agent");
    let gatekeeper =
        Gatekeeper::builder().api_keys(ApiKeys::from_iter([record])).build().expect("a gatekeeper");
    let world = World::of(speaking(Opportunity::default()).gatekeeper(gatekeeper)).await;
    let capabilities = json!({
        "agent_id": "validation-agent",
        "protocol_version": "1.0",
        "capabilities": ["pain_point_validation", "competitor_analysis"]
    });
    assert_eq!(world.get("/a2a/capabilities").await.json(), capabilities);
    let health = world.get("/a2a/health").await;
    assert_eq!((health.status, health.at("/status")), (200, json!("ok")));
    assert_eq!(post(&world, &[], &example()).await.status, 401);
    world.stop().await;
}

/// O-10: each is `CODE: text`, and echoes what it answers (OG-03).
#[tokio::test]
async fn errors_have_the_codes_of_the_documents() {
    let world =
        world(Opportunity::default().schema("pain_point_validation", SCHEMA).expect("a schema"))
            .await;
    let with = |key: &str, value: Value| {
        let mut request = example();
        request[key] = value;
        request
    };
    let cases = [
        (
            "INVALID_PROTOCOL_VERSION: ",
            &[] as &[(&str, &str)],
            with("protocol_version", json!("2.0")),
        ),
        ("INVALID_PROTOCOL_VERSION: ", &[("A2A-Protocol-Version", "0.9")], example()),
        (
            "CAPABILITY_NOT_SUPPORTED: pain_point_analysis is not a supported capability",
            &[],
            with("capability", json!("pain_point_analysis")),
        ),
        ("INVALID_REQUEST: ", &[("A2A-Priority", "urgent")], example()),
        ("INVALID_REQUEST: ", &[("A2A-Request-Timeout", "soon")], example()),
        ("INVALID_REQUEST: ", &[], with("source_agent", Value::Null)),
    ];
    for (code, headers, body) in cases {
        let reply = post(&world, headers, &body).await;
        assert!(error(&reply).starts_with(code), "{code}: {}", reply.body);
        assert_eq!(reply.status, 200, "{}", reply.body);
        assert_eq!(reply.at("/status"), "error");
        assert_eq!(reply.at("/request_id"), "abc-123-def", "{}", reply.body);
    }
    world.stop().await;
}

/// O-14: the payload is checked before the agent hears of it, and the field is named.
#[tokio::test]
async fn a_payload_against_the_schema_is_refused_by_its_field() {
    let world =
        world(Opportunity::default().schema("pain_point_validation", SCHEMA).expect("a schema"))
            .await;
    for (payload, field) in [
        (json!({}), "payload.problem: is missing"),
        (json!({"problem": 7}), "payload.problem: "),
        (json!({"problem": "x", "subreddits": ["a", 7]}), "payload.subreddits.1: "),
    ] {
        let reply = post(&world, &[], &request("pain_point_validation", &payload)).await;
        let expected = format!("INVALID_REQUEST: {field}");
        assert!(error(&reply).starts_with(&expected), "{expected}: {}", reply.body);
    }
    // The other capability has no schema.
    let reply = post(&world, &[], &request("competitor_analysis", &json!({}))).await;
    assert_eq!(reply.at("/status"), "success", "{}", reply.body);
    world.stop().await;
}

#[test]
fn a_schema_that_is_none_is_refused_at_once() {
    for schema in ["{", r#"{"type": 7}"#, r#"{"$ref": "https://example.com/schema.json"}"#] {
        let error = Opportunity::default().schema("x", schema).expect_err("no schema");
        assert!(error.to_string().contains("`x`"), "{error}");
    }
}

/// O-13, C-20: who may ask is judged by the credential, whatever the request says of itself.
#[tokio::test]
async fn allowed_agents_are_known_by_their_credentials() {
    let (allowed, first) = ApiKey::generate("orchestrator-agent");
    let (other, second) = ApiKey::generate("research-agent");
    let (person, third) = ApiKey::generate("orchestrator-agent");
    let keys = ApiKeys::from_iter([first.for_agent(), second.for_agent(), third]);
    let gatekeeper = Gatekeeper::builder().api_keys(keys).build().expect("a gatekeeper");
    let settings = Opportunity::default().allow("pain_point_validation", ["orchestrator-agent"]);
    let world = World::of(speaking(settings).gatekeeper(gatekeeper)).await;

    let ask = async |key: &ApiKey, body: Value| {
        let key = format!("Bearer {key}");
        post(&world, &[("Authorization", &key), ("A2A-Source-Agent", "orchestrator-agent")], &body)
            .await
    };
    let reply = ask(&allowed, example()).await;
    assert_eq!((reply.status, reply.at("/status")), (200, json!("success")), "{}", reply.body);
    // It says to be the orchestrator, and is not; a person of that name is not the agent.
    for key in [&other, &person] {
        let reply = ask(key, example()).await;
        assert_eq!(reply.status, 403, "{}", reply.body);
        assert!(error(&reply).starts_with("INVALID_REQUEST: "), "{}", reply.body);
        assert_eq!(reply.at("/request_id"), "abc-123-def");
    }
    // An agent that says who it is, is not allowed either.
    let mut honest = example();
    honest["source_agent"] = json!({"id": "research-agent"});
    let key = format!("Bearer {other}");
    let reply = post(&world, &[("Authorization", &key)], &honest).await;
    assert_eq!(reply.status, 403, "{}", reply.body);
    assert!(error(&reply).contains("may ask for pain_point_validation"), "{}", reply.body);
    // What has no rule is for everybody who is let in.
    let reply = ask(&person, request("competitor_analysis", &json!({}))).await;
    assert_eq!(reply.at("/status"), "success", "{}", reply.body);
    world.stop().await;
}

/// O-07, C-27, catalogue §7.7: whoever no longer waits is told the task, which goes on.
#[tokio::test]
async fn the_task_goes_on_behind_a_timeout() {
    let world = world(Opportunity::default()).await;
    let reply =
        post(&world, &[("A2A-Request-Timeout", "50")], &text("competitor_analysis", "hang")).await;
    // O-10: a code, and a text.
    assert!(error(&reply).starts_with("TIMEOUT: "), "{}", reply.body);
    let task = reply.at("/task_id");
    let get = json!({"jsonrpc": "2.0", "id": 1, "method": "GetTask", "params": {"id": task}});
    let found = world.ask("POST", "/", &[("A2A-Version", "1.0")], &get.to_string()).await;
    let state = found.at("/result/status/state");
    assert!(
        matches!(state.as_str(), Some("TASK_STATE_SUBMITTED" | "TASK_STATE_WORKING")),
        "{state}"
    );
    world.stop().await;
}

/// O-17: the same without a header, after the default of the dialect.
#[tokio::test]
async fn the_default_timeout_is_that_of_the_dialect() {
    let settings = Opportunity::default().request_timeout(Duration::from_millis(50));
    let world = world(settings).await;
    let reply = post(&world, &[], &text("competitor_analysis", "hang")).await;
    assert!(error(&reply).starts_with("TIMEOUT"), "{}", reply.body);
    world.stop().await;
}

/// C-32: the capability is the skill, and the agent is told which.
#[tokio::test]
async fn the_agent_is_told_the_capability() {
    let world = world(Opportunity::default()).await;
    let reply = post(&world, &[], &text("competitor_analysis", "skill")).await;
    assert_eq!(reply.at("/result/text"), "\"competitor_analysis\"", "{}", reply.body);
    world.stop().await;
}
