//! Calls to agents that were removed, and for whom another stands in (MD-13).

use nuncio_protocol::{card::read_any, dialect::WireForm, error::ErrorKind, operation::Request};
use nuncio_testkit::wire::Http;
use serde_json::json;

use super::{
    agents::{Served, Skilled},
    callers::{FORMS, ask, begin, get, message, refused},
    stage::Stage,
    world::World,
};

/// Removes an agent, and says who stands in for it.
async fn retire(world: &World, agent: &str, heir: &str) {
    let path = format!("/api/v1/agents/{agent}?forwarded_to={heir}");
    let reply = world.administrator.request("DELETE", &path, &[], "").await;
    assert_eq!(reply.status, 200, "{}", reply.text());
}

#[tokio::test(flavor = "multi_thread")]
async fn md13_whoever_calls_a_removed_agent_comes_to_who_stands_in_for_it() {
    let world = World::start().await;
    let served = Served::script(WireForm::V1, Skilled::Resumes, &Stage::default()).await;
    let old = world.add("old", &served.url()).await;
    for name in ["next", "heir"] {
        world.add(name, &served.url()).await;
    }
    retire(&world, "old", "next").await;
    retire(&world, "next", "heir").await;
    let ann = world.key("ann").await;
    for name in ["old", old.as_str(), "next"] {
        for form in FORMS {
            let task = begin(&world.remote(&ann, name, form), message("hello")).await;
            let found = ask(&world.remote(&ann, "heir", form), get(&task.id)).await;
            assert!(found.is_ok(), "{name} in {}: {found:?}", form.name());
        }
        let http = Http::new(world.address).with("authorization", &format!("Bearer {ann}"));
        let path = format!("/agents/{name}/.well-known/agent-card.json");
        let card = http.request("GET", &path, &[], "").await;
        let (card, _) = read_any(card.text()).expect("a card");
        let url = &card.supported_interfaces.first().expect("an interface").url;
        assert!(url.ends_with("/agents/heir"), "{url}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn nobody_is_carried_past_the_rules_or_past_an_agent_of_that_name() {
    let world = World::start().await;
    let served = Served::script(WireForm::V1, Skilled::Resumes, &Stage::default()).await;
    for name in ["old", "heir"] {
        world.add(name, &served.url()).await;
    }
    retire(&world, "old", "heir").await;
    let ann = world.key("ann").await;
    let rule =
        json!({ "effect": "deny", "caller": { "user": "ann" }, "target": { "agent": "heir" } });
    let headers = [("content-type", "application/json")];
    let path = "/api/v1/rules/not-ann";
    let reply = world.administrator.request("PUT", path, &headers, rule.to_string()).await;
    assert!(reply.status < 300, "{}", reply.text());
    for form in FORMS {
        let remote = world.remote(&ann, "old", form);
        let error = refused(&remote, Request::SendMessage(message("hello"))).await;
        let kinds = [ErrorKind::MethodNotFound, ErrorKind::InvalidParams];
        assert!(kinds.contains(&error.kind()), "{}: {error}", form.name());
        assert!(!error.to_string().contains("heir"), "{}: {error}", form.name());
    }
    let bob = world.key("bob").await;
    world.add("old", &served.url()).await;
    let task = begin(&world.remote(&bob, "old", WireForm::V1), message("hello")).await;
    let error = refused(&world.remote(&bob, "heir", WireForm::V1), get(&task.id)).await;
    assert_eq!(error.kind(), ErrorKind::TaskNotFound, "{error}");
}
