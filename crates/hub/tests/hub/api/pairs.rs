//! Discovery, and pair tokens that hold exactly as long as the rules do (T-05).

use std::time::Duration;

use http::{HeaderMap, HeaderValue};
use nuncio_auth::{
    Gatekeeper, Identity, Presented, Refusal, Why,
    pair::{self, Verifier},
};
use nuncio_net::{Client, Guard, Policy, Secret};
use nuncio_protocol::ids::AgentId;
use serde_json::{Value, json};

use super::{Member, Running, acme, check_refused, get};

/// How an agent checks its callers, by what the hub publishes.
fn doorkeeper(running: &Running, agent: &Member) -> Gatekeeper {
    let guard = Guard::new(Policy::default().dangerously_open_loopback_to_callers());
    let client = Client::new(guard);
    let issuer = running.hub.settings.public_url.as_str();
    let keys = format!("{issuer}/.well-known/jwks.json");
    let id = AgentId::parse(&agent.id).expect("an id");
    let verifier = Verifier::with_key_url(issuer, id, acme(), (&client, &keys)).expect("a URL");
    let hub = pair::Hub::new(&client, issuer).expect("a URL");
    let verifier = verifier.hub(hub.bearer(&Secret::from(agent.token.clone())));
    Gatekeeper::builder().pair_tokens(verifier).build().expect("there is a way in")
}

async fn admit(door: &Gatekeeper, token: &str) -> Result<Identity, Refusal> {
    let mut headers = HeaderMap::new();
    let value = HeaderValue::from_str(&format!("Bearer {token}")).expect("a header");
    headers.insert("authorization", value);
    let address = ([127, 0, 0, 1], 9).into();
    door.admit(Presented { headers: &headers, query: None, address, certificate: None }).await
}

#[tokio::test]
async fn t05_a_pair_token_opens_one_agent_to_one_caller_until_the_tree_changes() {
    let running = Running::start().await;
    let lead = running.join("lead", None).await;
    let writer = running.join("writer", Some("lead")).await;
    let found = get(&writer.http, "/api/v1/agents/lead/discovery").await.json();
    assert_eq!((&found["id"], &found["url"]), (&json!(lead.id), &json!("http://127.0.0.1:9/")));
    let token = found["token"].as_str().unwrap();

    let door = doorkeeper(&running, &lead);
    let identity = admit(&door, token).await.expect("the token is for this agent");
    assert_eq!(identity.name(), Some(writer.id.as_str()));
    let elsewhere = doorkeeper(&running, &writer);
    assert_eq!(admit(&elsewhere, token).await, Err(Refusal::Invalid { why: Why::Audience }));

    running.done("PUT", "/api/v1/agents/writer/parent", &json!({ "parent": null })).await;
    // Ends when the agent has heard of it; the limit only keeps a failing test from hanging.
    tokio::time::timeout(Duration::from_secs(20), identity.ended()).await.expect("it is told");
    assert_eq!(admit(&door, token).await, Err(Refusal::Invalid { why: Why::Epoch }));
    let reply = get(&writer.http, "/api/v1/agents/lead/discovery").await;
    check_refused(&reply, 404, "NOT_FOUND");
}

#[tokio::test]
async fn whoever_waits_for_the_epoch_is_answered_when_it_rises() {
    let running = Running::start().await;
    let lead = running.join("lead", None).await;
    let writer = running.join("writer", Some("lead")).await;
    let now = get(&lead.http, "/api/v1/epoch").await.json()["epoch"].as_u64().unwrap();
    let path = format!("/api/v1/epoch?organisation=acme&after={now}&wait=30");
    let waiting = tokio::spawn({
        let http = lead.http.clone();
        async move { get(&http, &path).await.json()["epoch"].as_u64().unwrap() }
    });
    let path = format!("/api/v1/agents/{}/parent", writer.name);
    running.done("PUT", &path, &json!({ "parent": null })).await;
    assert!(waiting.await.unwrap() > now);
    let other = get(&lead.http, "/api/v1/epoch?organisation=other").await;
    check_refused(&other, 403, "FORBIDDEN");
}

#[tokio::test]
async fn only_agents_get_tokens_for_agents() {
    let running = Running::start().await;
    running.join("lead", None).await;
    let found = running.done("GET", "/api/v1/agents/lead/discovery", &Value::Null).await;
    assert_eq!(found["token"], Value::Null, "{found}");
}
