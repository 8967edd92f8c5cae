//! Triggers: runs that begin without anybody asking.

use std::{fmt::Write as _, time::Duration};

use aws_lc_rs::hmac;
use nuncio_hub::{
    directory::Actor,
    triggers::{Schedule, Trigger},
};
use nuncio_protocol::{json::Raw, time::Timestamp};
use nuncio_testkit::wire::{Http, Reply};
use serde_json::{Value, json};

use crate::{
    tasks::office::{Office, done, refused, send},
    workflows::{REPORT, ended, office},
};

/// A webhook, and what its deliveries are signed with.
struct Hook {
    id: String,
    secret: String,
}

async fn webhook(http: &Http, inputs: Value) -> Hook {
    let new = json!({ "name": "ping", "workflow": "report", "inputs": inputs, "webhook": {} });
    let made = done(http, "POST", "/api/v1/triggers", &new).await;
    let text = |value: &Value| value.as_str().expect("a text").to_owned();
    Hook { id: text(&made["id"]), secret: text(&made["secret"]) }
}

fn sign(secret: &str, body: &str) -> String {
    let key = hmac::Key::new(hmac::HMAC_SHA256, secret.as_bytes());
    let mut signature = String::new();
    for byte in hmac::sign(&key, body.as_bytes()).as_ref() {
        write!(signature, "{byte:02x}").expect("a text takes everything");
    }
    signature
}

/// Delivers something, signed, by somebody without a credential.
async fn deliver(office: &Office, hook: &Hook, body: &str, headers: &[(&str, &str)]) -> Reply {
    let signature = sign(&hook.secret, body);
    let mut all = vec![("x-webhook-signature", signature.as_str())];
    all.extend(headers);
    let path = format!("/api/v1/hooks/{}", hook.id);
    Http::new(office.address).request("POST", &path, &all, body.to_owned()).await
}

fn run_of(reply: &Reply) -> String {
    assert_eq!(reply.status, 202, "{}", reply.text());
    reply.json()["run_id"].as_str().expect("a run").to_owned()
}

#[tokio::test]
async fn ud08_a_signed_delivery_begins_a_run_for_whoever_made_the_trigger() {
    let office = office(&[("report", REPORT)]).await;
    let ann = &office.administrator;
    let hook = webhook(ann, json!({})).await;
    let run = run_of(&deliver(&office, &hook, r#"{"topic":"otters","more":1}"#, &[]).await);
    let view = ended(ann, &run).await;
    assert_eq!(view["output"][0]["parts"][0]["text"], "heard write otters");
    assert_eq!(view["caller"], "user:ann");
    let run = run_of(&deliver(&office, &hook, "seals", &[]).await);
    assert_eq!(ended(ann, &run).await["inputs"], json!({ "topic": "seals" }));
    let shown = done(ann, "GET", &format!("/api/v1/triggers/{}", hook.id), &Value::Null).await;
    assert_eq!(shown["last"]["run"], *run);
    // The secret was shown once.
    assert!(!shown.to_string().contains(&hook.secret), "{shown}");
    let list = done(ann, "GET", "/api/v1/triggers", &Value::Null).await;
    assert!(!list.to_string().contains(&hook.secret), "{list}");
    // Upal's path is another way to the same.
    let body = r#"{"topic":"x"}"#;
    let signature = sign(&hook.secret, body);
    let path = format!("/api/hooks/{}", hook.id);
    let headers = [("x-webhook-signature", signature.as_str())];
    run_of(&Http::new(office.address).request("POST", &path, &headers, body).await);
}

#[tokio::test]
async fn what_is_not_signed_begins_nothing() {
    let office = office(&[("report", REPORT)]).await;
    let ann = &office.administrator;
    let hook = webhook(ann, json!({ "topic": "otters" })).await;
    let other = Hook { id: hook.id.clone(), secret: "another".to_owned() };
    assert_eq!(deliver(&office, &other, "{}", &[]).await.status, 401);
    let path = format!("/api/v1/hooks/{}", hook.id);
    let stranger = Http::new(office.address);
    for signature in ["", "00", "zz", &sign(&hook.secret, "something else")] {
        let headers = [("x-webhook-signature", signature)];
        let reply = stranger.request("POST", &path, &headers, "{}").await;
        assert_eq!(reply.status, 401, "{signature}: {}", reply.text());
    }
    assert_eq!(stranger.request("POST", &path, &[], "{}").await.status, 401);
    assert_eq!(stranger.request("POST", "/api/v1/hooks/nothing", &[], "{}").await.status, 404);
    let large = "x".repeat(3 << 20);
    assert_eq!(deliver(&office, &hook, &large, &[]).await.status, 413);
    let page = done(ann, "GET", "/api/v1/runs", &Value::Null).await;
    assert_eq!(page["runs"], json!([]));
}

#[tokio::test]
async fn a_repeated_delivery_runs_once_at_whichever_hub() {
    let office = office(&[("report", REPORT)]).await;
    let ann = &office.administrator;
    let hook = webhook(ann, json!({})).await;
    let body = r#"{"topic":"otters"}"#;
    for headers in [[("x-webhook-id", "d1")], [("x-webhook-timestamp", "1794855966")]] {
        let first = run_of(&deliver(&office, &hook, body, &headers).await);
        assert_eq!(run_of(&deliver(&office, &hook, body, &headers).await), first);
    }
    let once = run_of(&deliver(&office, &hook, body, &[]).await);
    assert_ne!(run_of(&deliver(&office, &hook, body, &[]).await), once);

    let (hub, there) = office.beside().await;
    hub.directory.refresh().await.expect("it reads what there is");
    let signature = sign(&hook.secret, body);
    let headers = [("x-webhook-signature", signature.as_str()), ("x-webhook-id", "d2")];
    let path = format!("/api/v1/hooks/{}", hook.id);
    let (here, there) = tokio::join!(
        deliver(&office, &hook, body, &[("x-webhook-id", "d2")]),
        there.request("POST", &path, &headers, body),
    );
    assert_eq!(run_of(&here), run_of(&there));
    hub.drain.begin(Duration::ZERO);
}

#[tokio::test]
async fn triggers_are_for_administrators_and_rest_when_told() {
    let office = office(&[("report", REPORT)]).await;
    let ann = &office.administrator;
    let hook = webhook(ann, json!({ "topic": "otters" })).await;
    let path = format!("/api/v1/triggers/{}", hook.id);
    assert_eq!(done(ann, "POST", &format!("{path}/pause"), &Value::Null).await["paused"], true);
    assert_eq!(deliver(&office, &hook, "", &[]).await.status, 403);
    done(ann, "POST", &format!("{path}/resume"), &Value::Null).await;
    run_of(&deliver(&office, &hook, "", &[]).await);
    let (viewer, bob) = (office.person("vera", &["read"]).await, office.person("bob", &[]).await);
    assert_eq!(send(&viewer, "GET", &path, &Value::Null).await.status, 200);
    assert_eq!(send(&bob, "GET", &path, &Value::Null).await.status, 403);
    for http in [&viewer, &bob] {
        let new = json!({ "name": "x", "workflow": "report", "webhook": {} });
        for (method, path, body) in [
            ("POST", "/api/v1/triggers".to_owned(), new),
            ("POST", format!("{path}/pause"), Value::Null),
            ("DELETE", path.clone(), Value::Null),
        ] {
            refused(http, (method, &path), &body, (403, "FORBIDDEN")).await;
        }
    }
    done(ann, "DELETE", &path, &Value::Null).await;
    assert_eq!(deliver(&office, &hook, "", &[]).await.status, 404);
}

#[tokio::test]
async fn a_trigger_that_cannot_fire_is_refused_with_the_field() {
    let office = office(&[("report", REPORT)]).await;
    for (change, field) in [
        (json!({ "workflow": "nothing" }), "workflow"),
        (json!({ "inputs": { "topik": "x" } }), "inputs.topik"),
        (json!({ "schedule": { "cron": "now and then" } }), "schedule.cron"),
        (json!({ "schedule": { "cron": "0 9 * * *", "timezone": "Mars" } }), "schedule.timezone"),
        (json!({ "schedule": null }), "schedule"),
        (json!({ "name": "" }), "name"),
    ] {
        let mut new = json!({
            "name": "daily", "workflow": "report", "inputs": { "topic": "x" },
            "schedule": { "cron": "0 9 * * *" },
        });
        for (name, value) in change.as_object().expect("an object") {
            new[name] = value.clone();
        }
        let reply = send(&office.administrator, "POST", "/api/v1/triggers", &new).await;
        assert_eq!((reply.status, &reply.json()["field"]), (400, &json!(field)), "{new}");
    }
}

/// Waits until a trigger has fired, and returns the run.
async fn fired(http: &Http, id: &str) -> String {
    loop {
        let shown = done(http, "GET", &format!("/api/v1/triggers/{id}"), &Value::Null).await;
        if let Some(run) = shown["last"]["run"].as_str() {
            return run.to_owned();
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

/// A trigger of every new year, made by ann long ago.
fn yearly(office: &Office, name: &str) -> Trigger {
    let state = office.hub.directory.state();
    let acme = nuncio_protocol::ids::Organisation::parse("acme").expect("a name");
    let agent = state.find(&acme, "report").expect("a workflow");
    let long_ago: Timestamp = "2020-06-01T00:00:00Z".parse().expect("a moment");
    Trigger {
        id: name.to_owned(),
        organisation: acme,
        name: name.to_owned(),
        workflow: agent.id.clone(),
        inputs: Raw::parse_text(&format!(r#"{{"topic":"{name}"}}"#)).expect("JSON"),
        schedule: Some(Schedule { cron: "0 0 1 1 *".to_owned(), timezone: "UTC".to_owned() }),
        secret: None,
        by: "user:ann".to_owned(),
        is_paused: false,
        created: long_ago,
        seen: long_ago,
        last: None,
    }
}

#[tokio::test]
async fn of_the_moments_that_were_missed_the_last_one_fires_once() {
    let office = office(&[("report", REPORT)]).await;
    let actor = Actor::configuration();
    let first = yearly(&office, "first");
    office.hub.directory.add_trigger(first, &actor).await.expect("it is kept");
    let run = fired(&office.administrator, "first").await;
    let view = ended(&office.administrator, &run).await;
    let expected = (&json!("completed"), &json!("user:ann"));
    assert_eq!((&view["state"], &view["caller"]), expected);
    // Whoever looks after the second has looked after the first.
    let office = office.reopen().await;
    let second = yearly(&office, "second");
    office.hub.directory.add_trigger(second, &actor).await.expect("it is kept");
    fired(&office.administrator, "second").await;
    let page = done(&office.administrator, "GET", "/api/v1/runs", &Value::Null).await;
    assert_eq!(page["runs"].as_array().map(Vec::len), Some(2), "{page}");
}

#[tokio::test]
async fn a_schedule_fires_by_itself() {
    let office = office(&[("report", REPORT)]).await;
    let ann = &office.administrator;
    let new = json!({
        "name": "often", "workflow": "report", "inputs": { "topic": "otters" },
        "schedule": { "cron": "* * * * * *" },
    });
    let made = done(ann, "POST", "/api/v1/triggers", &new).await;
    assert!(made["next_at"].is_string() && made["secret"].is_null(), "{made}");
    let run = fired(ann, made["id"].as_str().expect("an id")).await;
    assert_eq!(ended(ann, &run).await["output"][0]["parts"][0]["text"], "heard write otters");
}
