//! Who gets what: nothing without a credential, and nothing that the rules keep from them.

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use nuncio_auth::{Gatekeeper, JwtIssuer};
use nuncio_hub::directory::{ADMIN, Actor};
use nuncio_protocol::{
    card::sign::{Algorithm, KeySet, Signer},
    ids::Organisation,
    time::Timestamp,
};
use nuncio_testkit::wire::Http;
use serde_json::{Value, json};

use super::{Running, bearer, check_refused, get, registration, send};

#[tokio::test]
async fn an_enrolment_token_lets_one_agent_in_which_then_has_a_token_of_its_own() {
    let running = Running::start().await;
    let enrolment = running.done("POST", "/api/v1/enrolments", &json!({})).await;
    let newcomer = bearer(&running.stranger, enrolment["key"].as_str().unwrap());
    check_refused(&get(&newcomer, "/api/v1/agents").await, 403, "FORBIDDEN");
    let reply = send(&newcomer, "POST", "/api/v1/register", &registration("writer")).await;
    assert_eq!(reply.status, 201, "{}", reply.text());
    let again = send(&newcomer, "POST", "/api/v1/register", &registration("other")).await;
    check_refused(&again, 401, "UNAUTHENTICATED");

    let writer = bearer(&running.stranger, reply.json()["token"].as_str().unwrap());
    let who = get(&writer, "/api/v1/whoami").await.json();
    assert_eq!((&who["role"], &who["organisation"]), (&json!("agent"), &json!("acme")));
    let beat = json!({ "error_rate": 0.6, "active_tasks": 2, "current_task": "a draft" });
    let heard = send(&writer, "POST", "/api/v1/agents/writer/heartbeat", &beat).await.json();
    assert_eq!(heard["status"], "degraded");
    let seen = running.done("GET", "/api/v1/agents/writer", &Value::Null).await;
    assert_eq!((&seen["active_tasks"], &seen["current_task"]), (&json!(2), &json!("a draft")));
}

#[tokio::test]
async fn an_address_is_taken_away_by_null_and_stays_if_it_is_not_said() {
    let running = Running::start().await;
    let both = json!({
        "name": "writer", "url": "http://127.0.0.1:9001/", "internal_url": "https://in.example/",
    });
    running.done("POST", "/api/v1/agents", &both).await;
    let edit = async |body: Value| running.done("PATCH", "/api/v1/agents/writer", &body).await;
    let left = edit(json!({ "url": null })).await;
    let addresses = [&left["addresses"]["public"], &left["addresses"]["internal"]];
    assert_eq!(addresses, [&Value::Null, &json!("https://in.example/")], "{left}");
    let left = edit(json!({ "internal_url": null, "url": "http://127.0.0.1:9002/" })).await;
    let addresses = [&left["addresses"]["public"], &left["addresses"]["internal"]];
    assert_eq!(addresses, [&json!("http://127.0.0.1:9002/"), &Value::Null], "{left}");
}

#[tokio::test]
async fn the_reach_of_an_agent_names_both_ends_and_the_reasons() {
    let running = Running::start().await;
    running.join("lead", None).await;
    let writer = running.join("writer", Some("lead")).await;
    running.join("auditor", None).await;
    let rule = json!({
        "effect": "allow", "caller": { "agent": "auditor" }, "target": { "agent": "writer" },
    });
    running.done("PUT", "/api/v1/rules/audit", &rule).await;
    let reach = running.done("GET", "/api/v1/agents/writer/reach", &Value::Null).await;
    let ends = |side: &str| {
        let related = reach[side].as_array().unwrap().iter();
        related.map(|one| json!([one["name"], one["code"], one["rule"]])).collect::<Vec<_>>()
    };
    assert_eq!(ends("may_call"), [json!(["lead", "CHILD", null])], "{reach}");
    let auditor = json!(["auditor", "RULE_ALLOWS", "audit"]);
    assert_eq!(ends("callers"), [auditor, json!(["lead", "PARENT", null])], "{reach}");
    check_refused(&get(&writer.http, "/api/v1/agents/writer/reach").await, 403, "FORBIDDEN");
}

#[tokio::test]
async fn a_rule_that_keeps_everybody_from_calling_hides_nothing_from_administrators() {
    let running = Running::start().await;
    running.join("lead", None).await;
    let writer = running.join("writer", Some("lead")).await;
    let rule = json!({ "effect": "deny", "caller": "any", "target": { "agent": "lead" } });
    running.done("PUT", "/api/v1/rules/closed", &rule).await;
    assert_eq!(get(&writer.http, "/api/v1/agents/lead").await.status, 404);

    let listed = running.done("GET", "/api/v1/agents", &Value::Null).await;
    let names: Vec<_> =
        listed["agents"].as_array().unwrap().iter().map(|one| &one["name"]).collect();
    assert_eq!(names, ["lead", "writer"]);
    let shown = running.done("GET", "/api/v1/agents/lead", &Value::Null).await;
    assert_eq!(shown["name"], "lead");
    let path = "/api/v1/policy/explain?caller=writer&target=lead";
    let explained = running.done("GET", path, &Value::Null).await;
    assert_eq!((&explained["code"], &explained["rule"]), (&json!("RULE_DENIES"), &json!("closed")));
    // What the agent below it shows has its name, too.
    let below = running.done("GET", "/api/v1/agents/writer", &Value::Null).await;
    assert_eq!(below["parent_name"], "lead");
    running.done("DELETE", "/api/v1/rules/closed", &Value::Null).await;
    assert_eq!(get(&writer.http, "/api/v1/agents/lead").await.status, 200);
}

#[tokio::test]
async fn t20_an_agent_that_may_not_be_known_of_is_like_one_that_is_not_there() {
    let running = Running::start().await;
    let lead = running.join("lead", None).await;
    let writer = running.join("writer", Some("lead")).await;
    let hidden = running.join("hidden", None).await;
    let names = |reply: &Value| {
        let agents = reply["agents"].as_array().unwrap();
        agents.iter().map(|agent| agent["name"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    let seen = get(&writer.http, "/api/v1/agents").await.json();
    assert_eq!(names(&seen), ["lead", "writer"]);
    assert_eq!(names(&get(&hidden.http, "/api/v1/agents").await.json()), ["hidden"]);
    assert_eq!(get(&writer.http, &format!("/api/v1/agents/{}", lead.id)).await.status, 200);

    let page = get(&writer.http, "/api/v1/agents?limit=1&status=online").await.json();
    let next = page["next"].as_str().unwrap();
    let rest = get(&writer.http, &format!("/api/v1/agents?after={next}")).await.json();
    assert_eq!([names(&page), names(&rest)].concat(), ["lead", "writer"]);

    for (method, below, body) in [
        ("GET", "", Value::Null),
        ("GET", "/card", Value::Null),
        ("PUT", "/card", super::card("x", "http://127.0.0.1:9/")),
        ("GET", "/peers", Value::Null),
        ("GET", "/discovery", Value::Null),
        ("POST", "/heartbeat", json!({})),
        ("GET", "/tokens", Value::Null),
        ("POST", "/tokens", Value::Null),
        ("DELETE", "/tokens/0123456789abcdef", Value::Null),
    ] {
        let ask = async |agent: &str| {
            let path = format!("/api/v1/agents/{agent}{below}");
            let reply = send(&writer.http, method, &path, &body).await;
            (reply.status, reply.body)
        };
        let unknown = ask("nobody").await;
        assert_eq!(unknown.0, 404, "{method} {below}");
        assert_eq!(ask("hidden").await, unknown, "{method} {below} by name");
        assert_eq!(ask(&hidden.id).await, unknown, "{method} {below} by id");
    }
}

#[tokio::test]
async fn a_newcomer_is_not_told_which_agents_there_are() {
    let running = Running::start().await;
    running.join("writer", None).await;
    let enrolment = running.done("POST", "/api/v1/enrolments", &json!({})).await;
    let newcomer = bearer(&running.stranger, enrolment["key"].as_str().unwrap());
    for (method, below, body) in [
        ("GET", "", Value::Null),
        ("GET", "/card", Value::Null),
        ("PUT", "/card", super::card("x", "http://127.0.0.1:9/")),
        ("GET", "/peers", Value::Null),
        ("GET", "/discovery", Value::Null),
        ("POST", "/heartbeat", json!({})),
        ("GET", "/tokens", Value::Null),
        ("POST", "/tokens", Value::Null),
        ("DELETE", "/tokens/0123456789abcdef", Value::Null),
    ] {
        for agent in ["writer", "nobody"] {
            let path = format!("/api/v1/agents/{agent}{below}");
            check_refused(&send(&newcomer, method, &path, &body).await, 403, "FORBIDDEN");
        }
    }
}

#[tokio::test]
async fn what_is_the_whole_hubs_is_for_administrators_of_its_own_organisation() {
    let running = Running::start().await;
    let other = Organisation::parse("other").unwrap();
    let scopes = [ADMIN.to_owned()];
    let actor = Actor::configuration();
    let key = running.hub.directory.new_key(&other, "eve", &scopes, None, &actor).await.unwrap();
    let eve = bearer(&running.stranger, &key.key.to_string());
    for path in ["/api/v1/audit", "/api/v1/configuration"] {
        check_refused(&get(&eve, path).await, 403, "FORBIDDEN");
    }
}

#[tokio::test]
async fn t20_whoever_is_two_steps_up_is_not_named() {
    let running = Running::start().await;
    let boss = running.join("boss", None).await;
    let lead = running.join("lead", Some("boss")).await;
    let writer = running.join("writer", Some("lead")).await;
    let seen = get(&writer.http, "/api/v1/agents/lead").await;
    assert_eq!(seen.json()["id"], json!(lead.id));
    assert_eq!(get(&lead.http, "/api/v1/agents/lead").await.json()["parent"], json!(boss.id));
    let away = json!({ "parent": null });
    running.done("PUT", "/api/v1/agents/lead/parent", &away).await;
    running.done("PUT", "/api/v1/agents/lead/parent", &json!({ "parent": "boss" })).await;
    let events = get(&writer.http, "/api/v1/events?limit=1000").await;
    assert!(events.text().contains("WORKSPACE_MOVED"), "{}", events.text());
    for reply in [
        seen,
        get(&writer.http, "/api/v1/agents").await,
        get(&writer.http, "/api/v1/agents/writer/peers").await,
        events,
    ] {
        assert!(!reply.text().contains("boss"), "{}", reply.text());
        assert!(!reply.text().contains(&boss.id), "{}", reply.text());
    }
}

#[tokio::test]
async fn a_hier_an_agent_cannot_move_itself_or_be_somebody_else() {
    let running = Running::start().await;
    let lead = running.join("lead", None).await;
    let writer = running.join("writer", Some("lead")).await;
    let to_the_top = json!({ "parent": null });
    let refused: &[(&str, &str, Value)] = &[
        ("PUT", "/api/v1/agents/writer/parent", to_the_top.clone()),
        ("PATCH", "/api/v1/agents/writer", json!({ "name": "boss" })),
        ("PATCH", "/api/v1/agents/writer", json!({ "trust": 5 })),
        ("DELETE", "/api/v1/agents/writer", Value::Null),
        ("POST", "/api/v1/agents/lead/pause", Value::Null),
        ("POST", "/api/v1/agents/lead/heartbeat", json!({})),
        ("POST", "/api/v1/agents/lead/tokens", Value::Null),
        ("PUT", "/api/v1/rules/r", json!({})),
        ("POST", "/api/v1/keys", json!({ "name": "me", "scopes": ["admin"] })),
        ("POST", "/api/v1/enrolments", json!({})),
        ("GET", "/api/v1/keys", Value::Null),
        ("GET", "/api/v1/rules", Value::Null),
        ("GET", "/metrics", Value::Null),
    ];
    for (method, path, body) in refused {
        let reply = send(&writer.http, method, path, body).await;
        assert_eq!(reply.status, 403, "{method} {path}: {}", reply.text());
    }
    let mut other = registration("lead-2");
    other["id"] = json!(lead.id);
    let reply = send(&writer.http, "POST", "/api/v1/register", &other).await;
    assert_eq!(reply.status, 403, "{}", reply.text());
    let place = running.done("GET", "/api/v1/agents/writer", &Value::Null).await;
    assert_eq!(place["parent"], json!(lead.id));
}

#[tokio::test]
async fn a_circle_a_look_alike_and_a_name_that_is_taken_are_conflicts() {
    let running = Running::start().await;
    running.join("lead", None).await;
    running.join("writer", Some("lead")).await;
    let below = json!({ "parent": "writer" });
    let reply = send(&running.administrator, "PUT", "/api/v1/agents/lead/parent", &below).await;
    check_refused(&reply, 409, "CYCLE");
    let reply =
        send(&running.administrator, "POST", "/api/v1/agents", &json!({ "name": "1ead" })).await;
    check_refused(&reply, 409, "LOOK_ALIKE");
    let reply =
        send(&running.administrator, "POST", "/api/v1/agents", &json!({ "name": "lead" })).await;
    check_refused(&reply, 409, "NAME_TAKEN");
}

#[tokio::test]
async fn mg01_headers_that_claim_an_identity_are_not_believed() {
    let running = Running::start().await;
    let lead = running.join("lead", None).await;
    let hidden = running.join("hidden", None).await;
    let forged: &[(&str, &str)] = &[
        ("x-workspace-id", &lead.id),
        ("x-agent-id", &lead.id),
        ("x-forwarded-for", "127.0.0.1"),
        ("x-forwarded-user", "ann"),
        ("x-forwarded-host", "evil.example"),
        ("x-real-ip", "127.0.0.1"),
        ("forwarded", "for=127.0.0.1;host=evil.example"),
        ("x-remote-user", "ann"),
    ];
    let with_all = |http: &Http| {
        forged.iter().fold(http.clone(), |http, (name, value)| http.with(name, value))
    };
    check_refused(
        &get(&with_all(&running.stranger), "/api/v1/agents").await,
        401,
        "UNAUTHENTICATED",
    );
    let plain = get(&hidden.http, "/api/v1/agents").await;
    let claimed = get(&with_all(&hidden.http), "/api/v1/agents").await;
    assert_eq!((claimed.status, claimed.body), (plain.status, plain.body));
}

#[tokio::test]
async fn a_token_that_was_revoked_or_whose_agent_is_gone_opens_nothing() {
    let running = Running::start().await;
    let writer = running.join("writer", None).await;
    let second = send(&writer.http, "POST", "/api/v1/agents/writer/tokens", &Value::Null).await;
    let second = second.json();
    let path = format!("/api/v1/agents/writer/tokens/{}", second["id"].as_str().unwrap());
    let second = bearer(&running.stranger, second["key"].as_str().unwrap());
    assert_eq!(get(&second, "/api/v1/whoami").await.status, 200);
    assert_eq!(send(&writer.http, "DELETE", &path, &Value::Null).await.status, 204);
    check_refused(&get(&second, "/api/v1/whoami").await, 401, "UNAUTHENTICATED");
    assert!(!writer.token.is_empty());
    running.done("DELETE", "/api/v1/agents/writer", &Value::Null).await;
    check_refused(&get(&writer.http, "/api/v1/whoami").await, 401, "UNAUTHENTICATED");
}

#[tokio::test]
async fn what_an_issuer_calls_admin_is_no_role_here() {
    let signer = Signer::generate(Algorithm::Es256).expect("a key").with_kid("k1");
    let keys: KeySet = [signer.public_key().clone()].into_iter().collect();
    let issuer = JwtIssuer::with_keys("https://login.example", "nuncio", keys);
    let gatekeeper = Gatekeeper::builder().jwt(issuer).build().expect("a way in");
    let running = Running::of(|_, _| {}, |parts| parts.gatekeeper = gatekeeper).await;
    let now = Timestamp::now().to_parts().0;
    let claims = json!({
        "iss": "https://login.example", "aud": "nuncio", "sub": "eve", "scope": "admin read",
        "iat": now, "exp": now + 300,
    });
    let encode = |bytes: &[u8]| URL_SAFE_NO_PAD.encode(bytes);
    let header = json!({ "alg": "ES256", "kid": "k1" }).to_string();
    let content = [encode(header.as_bytes()), encode(claims.to_string().as_bytes())].join(".");
    let signature = encode(&signer.sign_bytes(content.as_bytes()).expect("a signature"));
    let token = format!("{content}.{signature}");
    let eve = bearer(&running.stranger, &token);
    let who = get(&eve, "/api/v1/whoami").await.json();
    assert_eq!(who["role"], "person", "{who}");
    check_refused(&get(&eve, "/api/v1/keys").await, 403, "FORBIDDEN");
}
