//! `/workspaces` and `/events`, as molecule's canvas and agents use them.

use serde_json::{Value, json};

use super::World;

#[tokio::test]
async fn a_workspace_is_made_and_its_agent_registers() {
    let world = World::new().await;
    let lead = world.add("lead", None).await;
    let body = json!({
        "name": "SEO Agent", "role": "Finds words", "tier": 2, "parent_id": lead.id().as_str(),
        "runtime": "langgraph", "canvas": {"x": 1, "y": 2}
    });
    world.by(&lead.token, "POST", "/workspaces", &body.to_string()).await.check(403);
    let made = world.admin("POST", "/workspaces", &body.to_string()).await;
    assert_eq!(made.check(201).at("/status"), "provisioning");
    let id = made.at("/id").as_str().unwrap().to_owned();
    let shown = world.admin("GET", &format!("/workspaces/{id}"), "").await;
    assert_eq!(shown.at("/name"), "seo-agent");
    assert_eq!(shown.at("/role"), "Finds words");
    assert_eq!(shown.at("/tier"), 2);
    assert_eq!(shown.at("/parent_id"), lead.id().as_str());

    // The token is for this agent, and for no other.
    let enrolment = made.at("/enrolment_token").as_str().unwrap().to_owned();
    let register = async |id: &str| {
        let body = json!({"id": id, "url": "https://seo.example", "agent_card": {"name": "SEO"}});
        world.by(&enrolment, "POST", "/registry/register", &body.to_string()).await
    };
    register("00000000-0000-4000-8000-000000000000").await.check(403);
    assert!(register(&id).await.check(200).at("/auth_token").is_string());

    for body in [
        json!({"name": ""}),
        json!({"name": "a\nb"}),
        json!({"name": "x".repeat(256)}),
        json!({"name": "a", "role": "x".repeat(1001)}),
        json!({"name": "a", "role": "x\ny"}),
        json!({"name": "a", "runtime": "x".repeat(101)}),
        json!({"name": "a", "parent_id": "nobody"}),
    ] {
        world.admin("POST", "/workspaces", &body.to_string()).await.check(400);
    }
}

/// MG-12: an agent must not move itself to where it may reach more.
#[tokio::test]
async fn mg12_only_an_administrator_changes_the_hierarchy() {
    let world = World::new().await;
    let lead = world.add("lead", None).await;
    let writer = world.add("writer", Some(&lead)).await;
    let other = world.add("other", None).await;
    let path = format!("/workspaces/{}", writer.id());
    let parent = |id: &str| json!({"parent_id": id}).to_string();
    for token in [&writer.token, &lead.token] {
        world.by(token, "PATCH", &path, &parent(other.id().as_str())).await.check(403);
    }
    let up = format!("/workspaces/{}", lead.id());
    let renamed = json!({"name": "x", "parent_id": writer.id().as_str()}).to_string();
    world.admin("PATCH", &up, &renamed).await.check(409);
    assert_eq!(world.admin("GET", &up, "").await.at("/name"), "lead");

    let epoch = async || {
        let body = json!({"workspace_id": writer.id().as_str()}).to_string();
        world.by(&writer.token, "POST", "/registry/heartbeat", &body).await.at("/min_epoch")
    };
    assert_eq!(epoch().await, 0);
    let reply = world.admin("PATCH", &path, &parent(other.id().as_str())).await;
    assert_eq!(reply.check(200).body, r#"{"status":"updated"}"#);
    // Tokens of before have ended.
    assert_eq!(epoch().await, 1);
    let discover = format!("/registry/discover/{}", lead.id());
    world.get(&writer.token, &discover).await.check(403);

    world.admin("PATCH", &path, r#"{"role":"Writes","name":"The Writer"}"#).await.check(200);
    let shown = world.admin("GET", &path, "").await;
    assert_eq!(shown.at("/parent_id"), other.id().as_str());
    assert_eq!((shown.at("/role"), shown.at("/name")), (json!("Writes"), json!("the-writer")));
    world.admin("PATCH", &path, r#"{"parent_id":null}"#).await.check(200);
    assert_eq!(world.admin("GET", &path, "").await.at("/parent_id"), Value::Null);
}

#[tokio::test]
async fn those_below_are_removed_only_if_that_is_meant() {
    let world = World::new().await;
    let lead = world.add("lead", None).await;
    let writer = world.add("writer", Some(&lead)).await;
    let path = format!("/workspaces/{}", lead.id());
    world.by(&lead.token, "DELETE", &path, "").await.check(403);
    world.admin("DELETE", &format!("{path}?confirm=perhaps"), "").await.check(400);
    let asked = world.admin("DELETE", &path, "").await;
    assert_eq!(asked.check(409).at("/status"), "confirmation_required");
    assert_eq!(asked.at("/children"), json!([{"id": writer.id().as_str(), "name": "writer"}]));
    let done = world.admin("DELETE", &format!("{path}?confirm=true"), "").await;
    assert_eq!(done.check(200).body, r#"{"status":"removed","cascade_deleted":1}"#);
    assert_eq!(world.admin("GET", "/workspaces", "").await.body, "[]");

    let lead = world.add("second", None).await;
    let writer = world.add("third", Some(&lead)).await;
    let path = format!("/workspaces/{}?cascade=false", lead.id());
    assert_eq!(world.admin("DELETE", &path, "").await.check(200).at("/cascade_deleted"), 0);
    let shown = world.admin("GET", &format!("/workspaces/{}", writer.id()), "").await;
    assert_eq!(shown.check(200).at("/parent_id"), Value::Null);
}

#[tokio::test]
async fn md27_tokens_are_made_listed_and_revoked() {
    let world = World::new().await;
    let writer = world.add("writer", None).await;
    let other = world.add("other", Some(&writer)).await;
    let path = format!("/workspaces/{}/tokens", writer.id());
    world.by(&other.token, "POST", &path, "").await.check(403);
    let made = world.by(&writer.token, "POST", &path, "").await;
    let token = made.check(201).at("/auth_token").as_str().unwrap().to_owned();
    let id = made.at("/id").as_str().unwrap().to_owned();
    let listed = world.get(&token, &path).await;
    assert_eq!(listed.check(200).at("/count"), 2);
    assert!(!listed.body.contains(&token[token.len() - 20..]), "a list has no secrets");

    let foreign = format!("/workspaces/{}/tokens/{id}", other.id());
    world.admin("DELETE", &foreign, "").await.check(404);
    let reply = world.by(&writer.token, "DELETE", &format!("{path}/{id}"), "").await;
    assert_eq!(reply.check(200).body, r#"{"status":"revoked"}"#);
    world.get(&token, &path).await.check(401);
    assert_eq!(world.get(&writer.token, &path).await.at("/count"), 1);
}

#[tokio::test]
async fn a_pause_holds_for_those_below() {
    let world = World::new().await;
    let lead = world.add("lead", None).await;
    let writer = world.add("writer", Some(&lead)).await;
    let path = |id: &str, what: &str| format!("/workspaces/{id}/{what}");
    let (up, down) = (lead.id().as_str(), writer.id().as_str());
    world.by(&lead.token, "POST", &path(up, "pause"), "").await.check(403);
    let reply = world.admin("POST", &path(up, "pause"), "").await;
    assert_eq!(reply.check(200).body, r#"{"status":"paused"}"#);
    let state = world.get(&writer.token, &path(down, "state")).await;
    assert_eq!((state.at("/paused"), state.at("/status")), (json!(true), json!("paused")));
    world.admin("POST", &path(down, "resume"), "").await.check(400);
    let reply = world.admin("POST", &path(up, "resume"), "").await;
    assert_eq!(reply.check(200).body, r#"{"status":"provisioning"}"#);
    world.get(&writer.token, &path(up, "state")).await.check(403);
}

#[tokio::test]
async fn agents_see_only_whom_they_may_reach() {
    let world = World::new().await;
    let lead = world.add("lead", None).await;
    let writer = world.add("writer", Some(&lead)).await;
    let stranger = world.add("stranger", None).await;
    let names = |list: &Value| -> Vec<String> {
        let list = list.as_array().expect("a list").iter();
        list.map(|agent| agent["name"].as_str().expect("a name").to_owned()).collect()
    };
    let all = world.admin("GET", "/workspaces", "").await;
    assert_eq!(names(&all.check(200).json()), ["lead", "stranger", "writer"]);
    let some = world.get(&writer.token, "/workspaces").await;
    assert_eq!(names(&some.check(200).json()), ["lead", "writer"]);
    world.get(&writer.token, &format!("/workspaces/{}", stranger.id())).await.check(404);
    world.get(&writer.token, &format!("/events/{}", stranger.id())).await.check(404);

    let about = |list: &Value| -> Vec<String> {
        let list = list.as_array().expect("a list").iter();
        list.map(|event| event["workspace_id"].as_str().expect("an id").to_owned()).collect()
    };
    let ids = [stranger.id(), writer.id(), lead.id()].map(ToString::to_string);
    assert_eq!(about(&world.admin("GET", "/events", "").await.json()), ids);
    assert_eq!(about(&world.get(&writer.token, "/events").await.json()), ids[1..]);
    let rest = world.admin("GET", "/events?after=1&limit=1", "").await.json();
    assert_eq!(about(&rest), ids[1..2]);
    assert_eq!(rest[0]["event"], "WORKSPACE_PROVISIONING");
}
