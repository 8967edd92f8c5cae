//! Events say to everybody what happened, and only to some what was said.

use nuncio_hub::directory::{Actor, Options};
use serde_json::{Value, json};

use super::{
    Member, World,
    live::{Socket, listen, listen_from, next},
};

impl World {
    /// Makes a key for somebody who may call agents, and no more.
    async fn person(&self) -> String {
        let actor = Actor::configuration();
        let issued = self.directory.new_key(&self.acme, "bob", &[], None, &actor).await;
        issued.expect("a key").key.to_string()
    }

    async fn done(&self, member: &Member, (method, path): (&str, &str), body: &Value) {
        let reply = self.by(&member.token, method, path, &body.to_string()).await;
        assert!(reply.status < 300, "{path}: {}", reply.body);
    }

    /// Returns what somebody reads about an agent, in every way in which one can ask.
    async fn read(&self, token: &str, about: &Member) -> Vec<String> {
        let one = format!("/events/{}?after=0&limit=500", about.id());
        let mut read = Vec::new();
        for path in ["/events?limit=500", &one, "/api/v1/events?limit=1000"] {
            read.push(self.get(token, path).await.check(200).body.clone());
        }
        read
    }

    async fn check_hidden(&self, token: &str, about: &Member, (event, text): (&str, &str)) {
        for read in self.read(token, about).await {
            assert!(read.contains(event), "no {event} in {read}");
            assert!(!read.contains(text), "{text} in {read}");
        }
    }

    async fn check_shown(&self, token: &str, about: &Member, (_, text): (&str, &str)) {
        for read in self.read(token, about).await {
            assert!(read.contains(text), "no {text} in {read}");
        }
    }
}

/// Returns the next event of a name.
pub(super) async fn next_of(socket: &mut Socket, name: &str) -> Value {
    loop {
        let event = next(socket).await.expect("an event");
        if event["event"] == name {
            return event;
        }
    }
}

#[tokio::test]
async fn what_agents_say_to_each_other_is_not_in_the_events_of_others() {
    let world = World::carrying(|_| ()).await;
    let lead = world.add("lead", None).await;
    let child = world.add("child", Some(&lead)).await;
    let mut sockets = [listen(&world, &child.token).await, listen(&world, &lead.token).await];
    let path = format!("/workspaces/{}/delegations", lead.id());
    for (id, said) in [
        ("one", json!({ "status": "completed", "response_preview": "planted-answer" })),
        ("other", json!({ "status": "failed", "error": "planted-error" })),
    ] {
        let target = child.id().as_str();
        let record = json!({ "target_id": target, "task": "planted-task", "delegation_id": id });
        world.done(&lead, ("POST", &format!("{path}/record")), &record).await;
        world.done(&lead, ("POST", &format!("{path}/{id}/update")), &said).await;
    }
    for planted in [
        ("DELEGATION_SENT", "planted-task"),
        ("DELEGATION_COMPLETE", "planted-answer"),
        ("DELEGATION_FAILED", "planted-error"),
    ] {
        world.check_hidden(&child.token, &lead, planted).await;
        world.check_hidden(&world.person().await, &lead, planted).await;
        world.check_shown(&lead.token, &lead, planted).await;
        world.check_shown(&world.admin, &lead, planted).await;
    }
    for (socket, is_shown) in sockets.iter_mut().zip([false, true]) {
        let event = next_of(socket, "DELEGATION_SENT").await;
        assert_eq!(event["payload"].get("task_preview").is_some(), is_shown, "{event}");
    }
}

fn card(skill: &str) -> Value {
    let way = json!({
        "url": "https://lead.example/", "protocolBinding": "JSONRPC", "protocolVersion": "1.0",
    });
    json!({
        "name": "lead", "description": "d", "version": "1", "capabilities": {},
        "supportedInterfaces": [way],
        "defaultInputModes": ["text/plain"], "defaultOutputModes": ["text/plain"],
        "skills": [{ "id": skill, "name": skill, "description": "d", "tags": ["t"] }],
    })
}

#[tokio::test]
async fn a_card_that_is_held_is_for_the_agent_and_for_those_who_decide() {
    let mut options = Options::default();
    options.hold_cards = true;
    let world = World::serving(options).await;
    let lead = world.add("lead", None).await;
    let child = world.add("child", Some(&lead)).await;
    for skill in ["write", "planted-skill"] {
        world.done(&lead, ("PUT", "/api/v1/agents/lead/card"), &card(skill)).await;
    }
    let planted = ("AGENT_CARD_HELD", "planted-skill");
    world.check_hidden(&child.token, &lead, planted).await;
    world.check_hidden(&world.person().await, &lead, planted).await;
    world.check_shown(&lead.token, &lead, planted).await;
    world.check_shown(&world.admin, &lead, planted).await;
    // One that is in force is for everybody.
    world.check_shown(&child.token, &lead, ("", "write")).await;
}

#[tokio::test]
async fn t20_whoever_is_two_steps_up_is_not_named_in_events() {
    let world = World::new().await;
    let boss = world.add("boss", None).await;
    let lead = world.add("lead", None).await;
    let child = world.add("child", Some(&lead)).await;
    let above = json!({ "parent": "boss" }).to_string();
    world.admin("PUT", "/api/v1/agents/lead/parent", &above).await.check(200);
    let planted = ("WORKSPACE_MOVED", boss.id().as_str());
    world.check_hidden(&child.token, &lead, planted).await;
    world.check_shown(&lead.token, &lead, planted).await;
    let mut socket = listen_from(&world, &child.token, 0).await;
    let moved = next_of(&mut socket, "WORKSPACE_MOVED").await;
    assert!(!moved.to_string().contains(boss.id().as_str()), "{moved}");
}
