//! `/registry`, as molecule's agents use it.

use serde_json::{Value, json};

use super::{Member, Reply, World};

const ID: &str = "6f1c2a30-8c2e-4b52-9a45-0d7f3c1e9b11";

/// A card as molecule's guides have it (MD-64).
const CARD: &str = r#"{"name":"Developer PM","description":"Plans","version":"1.0.0","supportedInterfaces":[{"protocol":"JSONRPC","url":"https://pm.example/a2a"}],"skills":["planning",{"id":"review","name":"Review","description":"Reviews","tags":["code"]}]}"#;

fn registration(id: &str, url: &str) -> String {
    format!(r#"{{"id":"{id}","url":"{url}","agent_card":{CARD}}}"#)
}

async fn registered(world: &World, parent: Option<&Member>) -> String {
    let enrolment = world.enrolment(parent).await;
    let body = registration(ID, "https://pm.example");
    let reply = world.by(&enrolment, "POST", "/registry/register", &body).await;
    reply.check(200).at("/auth_token").as_str().expect("a token").to_owned()
}

async fn events(world: &World, id: &str) -> Vec<String> {
    let reply = world.admin("GET", &format!("/events/{id}"), "").await;
    let found = reply.check(200).json();
    let found = found.as_array().expect("a list").iter().rev();
    found.map(|event| event["event"].as_str().expect("a name").to_owned()).collect()
}

#[tokio::test]
async fn md01_the_first_registration_gives_a_token_and_later_ones_need_it() {
    let world = World::new().await;
    let other = world.add("other", None).await;
    let body = registration(ID, "https://pm.example");
    let register = async |token: &str| world.by(token, "POST", "/registry/register", &body).await;

    world.ask("POST", "/registry/register", &[], &body).await.check(401);
    register(&other.token).await.check(403);
    let enrolment = world.enrolment(None).await;
    let first = register(&enrolment).await;
    let token = first.check(200).at("/auth_token").as_str().expect("a token").to_owned();
    assert_eq!(first.body, format!(r#"{{"status":"registered","auth_token":"{token}"}}"#));

    // C18: nobody else takes its place.
    register(&enrolment).await.check(401);
    register(&world.enrolment(None).await).await.check(403);
    register(&other.token).await.check(403);
    let again = register(&token).await;
    assert_eq!(again.check(200).body, r#"{"status":"registered"}"#);

    let shown = world.get(&token, &format!("/workspaces/{ID}")).await;
    assert_eq!(shown.check(200).at("/status"), "online");
    assert_eq!(shown.at("/name"), "developer-pm");
    assert_eq!(shown.at("/agent_card"), serde_json::from_str::<Value>(CARD).unwrap());
    let mut names = events(&world, ID).await;
    names.sort();
    assert_eq!(names, ["AGENT_CARD_UPDATED", "WORKSPACE_ONLINE"]);
}

#[tokio::test]
async fn md01_an_address_that_was_mapped_to_this_host_stays() {
    let world = World::new().await;
    let made = world
        .admin("POST", "/workspaces", r#"{"name":"Developer PM","url":"http://127.0.0.1:49155"}"#)
        .await;
    let id = made.check(201).at("/id").as_str().unwrap().to_owned();
    let enrolment = made.at("/enrolment_token").as_str().unwrap().to_owned();
    let body = registration(&id, "https://pm.internal.example");
    let reply = world.by(&enrolment, "POST", "/registry/register", &body).await;
    let token = reply.check(200).at("/auth_token").as_str().unwrap().to_owned();

    let path = format!("/registry/discover/{id}");
    assert_eq!(world.get(&token, &path).await.at("/url"), "https://pm.internal.example");
    assert_eq!(world.admin("GET", &path, "").await.at("/url"), "http://127.0.0.1:49155");
}

#[tokio::test]
async fn a_new_address_takes_effect_at_once() {
    let world = World::new().await;
    let token = registered(&world, None).await;
    let path = format!("/registry/discover/{ID}");
    // Only agents can make something of a bare host name.
    let body = registration(ID, "http://ws-pm:8000");
    world.by(&token, "POST", "/registry/register", &body).await.check(200);
    assert_eq!(world.get(&token, &path).await.at("/url"), "http://ws-pm:8000");
    world.admin("GET", &path, "").await.check(503);
    let body = registration(ID, "https://elsewhere.example");
    world.by(&token, "POST", "/registry/register", &body).await.check(200);
    for token in [&token, &world.admin] {
        assert_eq!(world.get(token, &path).await.at("/url"), "https://elsewhere.example");
    }
}

#[tokio::test]
async fn md02_a_heartbeat_says_how_an_agent_is() {
    let world = World::new().await;
    let token = registered(&world, None).await;
    let other = world.add("other", None).await;
    let beat = |id: &str, rate: f64| {
        json!({
            "workspace_id": id, "error_rate": rate, "sample_error": "timeout", "active_tasks": 2,
            "uptime_seconds": 3600, "current_task": "Build the login feature", "monthly_spend": 12,
            "runtime_state": "", "runtime_metadata": {"capabilities": {"heartbeat": true}}
        })
        .to_string()
    };
    let send =
        async |token: &str, body: &str| world.by(token, "POST", "/registry/heartbeat", body).await;

    let reply = send(&token, &beat(ID, 0.5)).await;
    assert_eq!(reply.check(200).body, r#"{"status":"ok","min_epoch":0}"#);
    let shown = world.get(&token, &format!("/workspaces/{ID}")).await;
    assert_eq!(shown.at("/status"), "degraded");
    assert_eq!(shown.at("/active_tasks"), 2);
    assert_eq!(shown.at("/current_task"), "Build the login feature");
    assert_eq!(shown.at("/last_error_rate"), 0.5);

    send(&other.token, &beat(ID, 0.0)).await.check(403);
    send(&token, &beat(other.id().as_str(), 0.0)).await.check(403);
    send(&token, &beat(ID, 1.5)).await.check(400);
    send(&token, "{}").await.check(400);
    world.ask("POST", "/registry/heartbeat", &[], &beat(ID, 0.0)).await.check(401);
}

#[tokio::test]
async fn t06_flapping_makes_an_event_for_each_change_and_no_more() {
    let world = World::new().await;
    let token = registered(&world, None).await;
    for rate in [0.6, 0.7, 0.2, 0.05, 0.0, 0.5, 0.5, 0.0] {
        let body = json!({"workspace_id": ID, "error_rate": rate}).to_string();
        world.by(&token, "POST", "/registry/heartbeat", &body).await.check(200);
    }
    let names = events(&world, ID).await;
    let names: Vec<_> = names.iter().skip(2).collect();
    let expected = ["DEGRADED", "ONLINE", "DEGRADED", "ONLINE"];
    assert_eq!(names, expected.map(|name| format!("WORKSPACE_{name}")).iter().collect::<Vec<_>>());
}

#[tokio::test]
async fn t06_a_late_heartbeat_does_not_bring_a_removed_agent_back() {
    let world = World::new().await;
    let token = registered(&world, None).await;
    let state = format!("/workspaces/{ID}/state");
    let before = world.get(&token, &state).await;
    let expected =
        format!(r#"{{"workspace_id":"{ID}","status":"online","paused":false,"deleted":false}}"#);
    assert_eq!(before.check(200).body, expected);
    world.admin("DELETE", &format!("/workspaces/{ID}"), "").await.check(200);

    let beat = json!({"workspace_id": ID}).to_string();
    world.by(&token, "POST", "/registry/heartbeat", &beat).await.check(410);
    world.by(&world.admin, "POST", "/registry/heartbeat", &beat).await.check(404);
    let body = registration(ID, "https://pm.example");
    world.by(&token, "POST", "/registry/register", &body).await.check(410);
    world.by(&world.enrolment(None).await, "POST", "/registry/register", &body).await.check(410);
    // MD-28: it is told to shut itself down, and nothing else any more.
    for token in [&token, &world.admin] {
        let after = world.get(token, &state).await;
        assert_eq!((after.status, after.at("/deleted")), (404, json!(true)));
    }
    world.get(&token, "/workspaces").await.check(410);
    assert_eq!(world.admin("GET", "/workspaces", "").await.body, "[]");
}

#[tokio::test]
async fn md10_a_new_card_is_told() {
    let world = World::new().await;
    let token = registered(&world, None).await;
    let other = world.add("other", None).await;
    let body = format!(r#"{{"workspace_id":"{ID}","agent_card":{{"name":"PM","skills":["x"]}}}}"#);
    world.by(&other.token, "POST", "/registry/update-card", &body).await.check(404);
    let reply = world.by(&token, "POST", "/registry/update-card", &body).await;
    assert_eq!(reply.check(200).body, r#"{"status":"updated"}"#);
    assert_eq!(events(&world, ID).await.last().map(String::as_str), Some("AGENT_CARD_UPDATED"));
    let shown = world.get(&token, &format!("/workspaces/{ID}")).await;
    assert_eq!(shown.at("/agent_card"), json!({"name": "PM", "skills": ["x"]}));
}

/// A family: who may reach whom under the documents' rule (MD-20).
struct Family {
    world: World,
    lead: Member,
    writer: Member,
    editor: Member,
    cousin: Member,
}

async fn family() -> Family {
    let world = World::new().await;
    let root = world.add("root", None).await;
    let lead = world.add("lead", Some(&root)).await;
    let uncle = world.add("uncle", Some(&root)).await;
    let writer = world.add("writer", Some(&lead)).await;
    let editor = world.add("editor", Some(&lead)).await;
    let cousin = world.add("cousin", Some(&uncle)).await;
    Family { world, lead, writer, editor, cousin }
}

/// T-04: the credential decides, and the header only has to agree.
#[tokio::test]
async fn t04_identity_headers_are_claims() {
    let Family { world, lead, writer, editor, cousin } = family().await;
    let path = format!("/registry/discover/{}", editor.id());
    let upper = writer.id().as_str().to_uppercase();
    let ask = async |token: Option<&str>, claim: Option<&str>| {
        let bearer = token.map(|token| format!("Bearer {token}"));
        let mut headers = Vec::new();
        headers.extend(bearer.as_deref().map(|bearer| ("Authorization", bearer)));
        headers.extend(claim.map(|claim| ("X-Workspace-ID", claim)));
        world.ask("GET", &path, &headers, "").await.status
    };
    let forged = ["system:scheduler", "webhook:x", "test:x", "channel:x", "", "canvas"];

    for (caller, allowed) in [(&writer, 200), (&lead, 200), (&editor, 200), (&cousin, 403)] {
        let name = caller.agent.name.as_str();
        let token = Some(caller.token.as_str());
        let own = caller.id().as_str();
        assert_eq!(ask(token, None).await, allowed, "{name}");
        assert_eq!(ask(token, Some(own)).await, allowed, "{name}");
        let foreign = if own == lead.id().as_str() { &writer } else { &lead };
        assert_eq!(ask(token, Some(foreign.id().as_str())).await, 403, "{name}");
        for claim in forged {
            assert_eq!(ask(token, Some(claim)).await, 403, "{name} as {claim}");
        }
        // A claim is no credential, and neither is its absence.
        assert_eq!(ask(None, Some(own)).await, 401, "{name}");
    }
    assert_eq!(ask(None, None).await, 401);
    for claim in forged {
        assert_eq!(ask(None, Some(claim)).await, 401, "{claim}");
    }
    assert_eq!(ask(Some(&writer.token), Some(&upper)).await, 200);
    // An administrator is no agent.
    assert_eq!(ask(Some(&world.admin), None).await, 200);
    assert_eq!(ask(Some(&world.admin), Some(writer.id().as_str())).await, 403);
    // Twice is once too often.
    let bearer = format!("Bearer {}", writer.token);
    let twice = [
        ("Authorization", bearer.as_str()),
        ("X-Workspace-ID", writer.id().as_str()),
        ("X-Workspace-ID", lead.id().as_str()),
    ];
    assert_eq!(world.ask("GET", &path, &twice, "").await.status, 403);
}

/// M-04, M-05: the request of the documents, as it stands there.
#[tokio::test]
async fn m04_the_request_of_the_documents_is_answered() {
    let world = World::new().await;
    let core = world.add("business-core", None).await;
    let developer = world.add("developer-pm-id", Some(&core)).await;
    let request = format!(
        "GET /registry/discover/developer-pm-id HTTP/1.1\r\nHost: platform:8080\r\n\
         X-Workspace-ID: {}\r\nAuthorization: Bearer {}\r\nConnection: close\r\n\r\n",
        core.id(),
        core.token
    );
    let reply = world.raw(&request).await;
    assert_eq!(reply.check(200).at("/url"), "http://developer-pm-id:8000");
    assert_eq!(reply.at("/id"), developer.id().as_str());
}

#[tokio::test]
async fn m07_agents_get_the_internal_address_with_a_token_and_people_the_public_one() {
    let Family { world, writer, editor, .. } = family().await;
    let path = format!("/registry/discover/{}", editor.id());
    let found = world.get(&writer.token, &path).await;
    assert_eq!(found.check(200).at("/url"), "http://editor:8000");
    let token = found.at("/token").as_str().expect("a token").to_owned();
    assert_eq!(token.split('.').count(), 3);
    assert!(found.at("/token_expires_at").is_string(), "{}", found.body);
    assert_eq!(found.at("/epoch"), 0);

    let found = world.admin("GET", &path, "").await;
    assert_eq!(found.check(200).at("/url"), "https://editor.example");
    assert_eq!(found.at("/token"), Value::Null);
}

#[tokio::test]
async fn who_is_not_there_and_who_is_called_so_are_told_apart() {
    let Family { world, writer, .. } = family().await;
    let missing = "00000000-0000-4000-8000-000000000000";
    let ask = async |id: &str| world.get(&writer.token, &format!("/registry/discover/{id}")).await;
    ask(missing).await.check(404);
    ask("nobody").await.check(400);
    // Whoever takes somebody's id for a name does not get their calls.
    let lead = writer.agent.parent.clone().expect("a parent");
    let body = json!({"name": missing, "parent_id": lead}).to_string();
    world.admin("POST", "/workspaces", &body).await.check(201);
    ask(missing).await.check(404);
}

#[tokio::test]
async fn md13_a_removed_agent_is_forwarded_or_gone() {
    let Family { world, lead, writer, editor, cousin } = family().await;
    let old = world.add("old", Some(&lead)).await;
    let path = format!("/workspaces/{}?forwarded_to={}", old.id(), editor.id());
    world.admin("DELETE", &path, "").await.check(200);
    let moved = world.get(&writer.token, &format!("/registry/discover/{}", old.id())).await;
    assert_eq!(moved.status, 301, "{}", moved.body);
    let expected = format!("/registry/discover/{}", editor.id());
    assert_eq!(moved.header("location"), Some(expected.as_str()));
    assert_eq!(moved.at("/url"), "http://editor:8000");

    world.admin("DELETE", &format!("/workspaces/{}", editor.id()), "").await.check(200);
    let path = format!("/registry/discover/{}", editor.id());
    let gone = world.get(&writer.token, &path).await;
    assert_eq!(gone.status, 410, "{}", gone.body);
    assert_eq!(gone.at("/last_event/event"), "WORKSPACE_REMOVED");
    assert_eq!(gone.at("/last_event/workspace_id"), editor.id().as_str());
    // Who never could have called it does not learn that there was one.
    world.get(&cousin.token, &path).await.check(404);
}

#[tokio::test]
async fn md11_peers_have_exactly_the_members_of_the_documents() {
    let Family { world, lead, writer, editor, cousin } = family().await;
    let peers = async |token: &str, query: &str| -> Reply {
        world.get(token, &format!("/registry/{}/peers{query}", writer.id())).await
    };
    let found = peers(&writer.token, "").await;
    assert_eq!(
        found.check(200).json(),
        json!([
            {
                "id": editor.id().as_str(), "name": "editor", "role": null, "tier": 3,
                "status": "provisioning", "agent_card": null, "url": "http://editor:8000",
                "parent_id": lead.id().as_str(), "active_tasks": 0
            },
            {
                "id": lead.id().as_str(), "name": "lead", "role": null, "tier": 3,
                "status": "provisioning", "agent_card": null, "url": "http://lead:8000",
                "parent_id": lead.agent.parent.as_ref().unwrap().as_str(), "active_tasks": 0
            }
        ])
    );
    // MG-13: none of them has a role.
    assert_eq!(peers(&writer.token, "?q=EDIT").await.at("/0/name"), "editor");
    assert_eq!(peers(&writer.token, "?q=nobody").await.body, "[]");
    peers(&cousin.token, "").await.check(404);
    peers(&editor.token, "").await.check(403);
}

#[tokio::test]
async fn md12_access_is_checked_for_those_whom_it_concerns() {
    let Family { world, writer, editor, cousin, .. } = family().await;
    let check = async |token: &str, caller: &str, target: &str| {
        let body = json!({"caller_id": caller, "target_id": target}).to_string();
        world.by(token, "POST", "/registry/check-access", &body).await
    };
    let (one, other, far) = (writer.id().as_str(), editor.id().as_str(), cousin.id().as_str());
    assert_eq!(check(&writer.token, one, other).await.check(200).body, r#"{"allowed":true}"#);
    assert_eq!(check(&writer.token, one, far).await.check(200).body, r#"{"allowed":false}"#);
    assert_eq!(check(&editor.token, one, other).await.check(200).body, r#"{"allowed":true}"#);
    assert_eq!(check(&world.admin, far, one).await.check(200).body, r#"{"allowed":false}"#);
    let missing = "00000000-0000-4000-8000-000000000000";
    assert_eq!(check(&writer.token, one, missing).await.check(200).body, r#"{"allowed":false}"#);
    check(&writer.token, other, far).await.check(403);
    check(&writer.token, one, "not-an-id").await.check(400);
}

#[tokio::test]
async fn md63_fields_are_checked() {
    let world = World::new().await;
    let enrolment = world.enrolment(None).await;
    let register = async |id: &str, url: &str, card: &str| {
        let body = format!(r#"{{"id":"{id}","url":"{url}","agent_card":{card}}}"#);
        world.by(&enrolment, "POST", "/registry/register", &body).await
    };
    let long = format!(r#"{{"name":"{}"}}"#, "x".repeat(256));
    for (id, url, card) in [
        ("developer-pm", "https://a.example", CARD),
        ("", "https://a.example", CARD),
        (ID, "ftp://a.example", CARD),
        (ID, "https://169.254.169.254/", CARD),
        (ID, "https://a.example", "{}"),
        (ID, "https://a.example", "null"),
        (ID, "https://a.example", r#"{"name":"a\nb"}"#),
        (ID, "https://a.example", &long),
    ] {
        register(id, url, card).await.check(400);
    }
    for body in ["", "[]", "{", r#"{"id":"x"}"#, r#"{"id":1,"url":"x","agent_card":{}}"#] {
        let reply = world.by(&enrolment, "POST", "/registry/register", body).await;
        assert!(matches!(reply.status, 400 | 415), "{body}: {}", reply.body);
        assert!(reply.at("/error").is_string(), "{}", reply.body);
    }
    register(ID, "https://a.example", CARD).await.check(200);
}
