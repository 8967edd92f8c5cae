//! What went over the wire between hub and agent, as people see it: translated, and without
//! credentials.

use std::sync::Arc;

use axum::{Router, extract::Request};
use nuncio_client::{Origin, credentials::Bearer};
use nuncio_net::Secret;
use nuncio_protocol::dialect::WireForm;
use nuncio_tasks::agent::Employed;
use nuncio_testkit::wire::Http;
use serde_json::{Value, json};
use tokio::net::TcpListener;

use super::{
    agents::{Served, Skilled},
    callers::patiently,
    stage::{Script, Stage},
    world::World,
};

const WIRE: &str = "urn:nuncio:extension:wire:v1";

/// What nobody may see.
const SECRET: &str = "swordfish-of-the-hub";

fn bearer(world: &World, key: &str) -> Http {
    Http::new(world.address).with("authorization", &format!("Bearer {key}"))
}

/// Says something to an agent in 1.0 on JSON-RPC, and returns the id of the task.
async fn say(http: &Http, agent: &str, text: &str, extensions: &str) -> String {
    let answer = answer(http, agent, text, extensions).await;
    let id = answer["result"]["task"]["id"].as_str();
    id.unwrap_or_else(|| panic!("no task: {answer}")).to_owned()
}

async fn answer(http: &Http, agent: &str, text: &str, extensions: &str) -> Value {
    let body = json!({
        "jsonrpc": "2.0", "id": 1, "method": "SendMessage",
        "params": { "message": { "messageId": text, "role": "ROLE_USER", "parts": [{ "text": text }] } },
    });
    let headers = [
        ("content-type", "application/json"),
        ("a2a-version", "1.0"),
        ("a2a-extensions", extensions),
    ];
    let path = format!("/agents/{agent}");
    let reply = patiently(http.request("POST", &path, &headers, body.to_string())).await;
    assert_eq!(reply.status, 200, "{}", reply.text());
    reply.json()
}

async fn wire(http: &Http, task: &str) -> Value {
    let reply = http.request("GET", &format!("/api/v1/tasks/{task}/wire"), &[], "").await;
    assert_eq!(reply.status, 200, "{}", reply.text());
    reply.json()
}

/// Waits until what was recorded has ended: the last word comes behind the answer.
async fn ended(http: &Http, task: &str) -> Vec<Value> {
    let found = async {
        loop {
            let items = wire(http, task).await["items"].as_array().expect("a list").clone();
            let is_over = |item: &Value| {
                let is_whole = item["kind"] == "answer" && item["body"].is_string();
                is_whole || matches!(item["kind"].as_str(), Some("ended" | "failed" | "left"))
            };
            if items.last().is_some_and(is_over) {
                return items;
            }
            tokio::task::yield_now().await;
        }
    };
    patiently(found).await
}

fn header<'a>(item: &'a Value, name: &str) -> Option<&'a Value> {
    let headers = item["headers"].as_array()?;
    Some(&headers.iter().find(|header| header["name"] == name)?["value"])
}

#[tokio::test]
async fn a_call_in_1_0_on_json_rpc_is_seen_as_the_agent_gets_it_in_0_3_on_http() {
    let (world, stage) = (World::start().await, Stage::default());
    let served = Served::script(WireForm::V03Http, Skilled::Streams, &stage).await;
    world.add("old", &served.url()).await;
    let task = say(&world.administrator, "old", "count:2", WIRE).await;
    let items = ended(&world.administrator, &task).await;

    let request = &items[0];
    assert_eq!(request["kind"], "request", "{items:#?}");
    assert_eq!(
        (&request["method"], &request["path"]),
        (&json!("POST"), &json!("/v1/message:stream"))
    );
    assert_eq!(request["form"], "A2A 0.3 HTTP+JSON");
    assert_eq!(header(request, "a2a-version"), Some(&json!("0.3")));
    let body = request["body"].as_str().expect("a body");
    let sent: Value = serde_json::from_str(body).expect("JSON");
    // 0.3 on HTTP+JSON has neither an envelope nor parts as 1.0 writes them.
    assert!(sent.get("jsonrpc").is_none() && sent.get("message").is_some(), "{body}");
    assert!(body.contains("count:2") && !body.contains(r#""parts":[{"text":"#), "{body}");
    assert_eq!(request["bytes"], body.len());

    assert_eq!((&items[1]["kind"], &items[1]["status"]), (&json!("answer"), &json!(200)));
    let events: Vec<_> = items.iter().filter(|item| item["kind"] == "event").collect();
    assert!(events.len() >= 3, "{items:#?}");
    assert!(events.iter().any(|event| event["body"].as_str().unwrap().contains("artifactUpdate")));
    let seqs: Vec<u64> = items.iter().map(|item| item["seq"].as_u64().unwrap()).collect();
    assert_eq!(seqs, (1..=items.len() as u64).collect::<Vec<_>>());
    assert!(items.iter().all(|item| item["exchange"] == 1 && item["at"].is_string()));

    // What was asked of the hub is no wish to the agent.
    let asked = header(request, "a2a-extensions").and_then(Value::as_str).unwrap_or_default();
    assert!(!asked.contains(WIRE), "{asked}");
    let path = format!("/api/v1/tasks/{task}/wire?after=1");
    let rest = world.administrator.request("GET", &path, &[], "").await.json();
    assert_eq!(rest["items"].as_array().map(Vec::len), Some(items.len() - 1));
    assert_eq!(rest["last"], items.len());
}

#[tokio::test]
async fn every_form_has_a_wire_that_can_be_seen() {
    let (world, stage) = (World::start().await, Stage::default());
    let forms = [
        (WireForm::V1, Skilled::Resumes, "/"),
        (WireForm::V1, Skilled::Answers, "/"),
        (WireForm::V1Http, Skilled::Answers, "/message:send"),
        (WireForm::V1Grpc, Skilled::Streams, "/lf.a2a.v1.A2AService/SendStreamingMessage"),
        (WireForm::V1Grpc, Skilled::Answers, "/lf.a2a.v1.A2AService/SendMessage"),
        (WireForm::V03, Skilled::Streams, "/"),
        (WireForm::V03Grpc, Skilled::Streams, "/a2a.v1.A2AService/SendStreamingMessage"),
    ];
    for (index, (form, skilled, path)) in forms.into_iter().enumerate() {
        let served = Served::script(form, skilled, &stage).await;
        let name = format!("agent{index}");
        world.add(&name, &served.url()).await;
        let task = say(&world.administrator, &name, "count:1", WIRE).await;
        let items = ended(&world.administrator, &task).await;
        assert_eq!(items[0]["path"], path, "{name}: {items:#?}");
        assert_eq!(items[0]["form"], form.name());
        let all = Value::from(items).to_string();
        assert!(all.contains("count:1") && all.contains("0 "), "{name}: {all}");
    }
}

/// An agent that answers every call with an error that repeats what it was shown.
async fn parrot() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let address = listener.local_addr().expect("a bound address");
    let url = format!("http://{address}/in?key={SECRET}-in-the-url");
    let card = json!({
        "name": "parrot", "description": "d", "version": "1",
        "capabilities": {}, "skills": [], "defaultInputModes": [], "defaultOutputModes": [],
        "supportedInterfaces":
            [{ "url": url, "protocolBinding": "JSONRPC", "protocolVersion": "1.0" }],
    });
    let router = Router::new().fallback(move |request: Request| {
        let card = card.to_string();
        async move {
            if request.uri().path().starts_with("/.well-known") {
                return card;
            }
            let shown = request.headers()["authorization"].to_str().unwrap_or_default();
            let (_, token) = shown.split_once(' ').unwrap_or_default();
            let text = format!("you said {shown}, that is {token}, at {}", request.uri());
            json!({ "jsonrpc": "2.0", "id": null, "error": { "code": -32603, "message": text } })
                .to_string()
        }
    });
    tokio::spawn(async move { axum::serve(listener, router).await });
    format!("http://{address}/")
}

#[tokio::test]
async fn a_credential_is_never_seen_even_if_the_agent_repeats_it() {
    let world = World::start().await;
    let url = parrot().await;
    let id = world.add("parrot", &url).await;
    let origin = Origin::parse(&url).expect("an origin");
    let proof = Bearer::new(origin, &Secret::new(SECRET)).expect("a token");
    world.gateway().prove_with([(id, Arc::new(proof) as Arc<dyn nuncio_client::Credentials>)]);
    answer(&world.administrator, "parrot", "hello", WIRE).await;
    let tasks = world.administrator.request("GET", "/api/v1/tasks", &[], "").await.json();
    let task = tasks["tasks"][0]["id"].as_str().expect("a task").to_owned();
    let items = ended(&world.administrator, &task).await;

    let all = Value::from(items.clone()).to_string();
    assert!(!all.contains(SECRET), "{all}");
    assert_eq!(items[0]["path"], "/in?key=•••", "{all}");
    assert_eq!(header(&items[0], "authorization"), Some(&Value::Null));
    let said = items[1]["body"].as_str().expect("an answer");
    assert!(said.contains("you said •••, that is •••, at /in?key=•••"), "{said}");
}

#[tokio::test]
async fn only_administrators_and_the_person_who_asked_see_the_wire() {
    let (world, stage) = (World::start().await, Stage::default());
    let served = Served::script(WireForm::V1, Skilled::Resumes, &stage).await;
    let agent = world.add("agent", &served.url()).await;
    let rule = json!({ "effect": "allow", "caller": "any", "target": "any" }).to_string();
    let json = [("content-type", "application/json")];
    world.administrator.request("PUT", "/api/v1/rules/all", &json, rule).await;
    let bob = bearer(&world, &world.key("bob").await);
    let carol = bearer(&world, &world.key("carol").await);
    let worker = bearer(&world, &world.token(&agent).await);
    let body = json!({ "name": "vera", "scopes": ["read"] }).to_string();
    let made = world.administrator.request("POST", "/api/v1/keys", &json, body).await.json();
    let viewer = bearer(&world, made["key"].as_str().expect("a key"));

    let task = say(&bob, "agent", "hello", WIRE).await;
    for http in [&bob, &world.administrator] {
        let seen = wire(http, &task).await;
        assert_eq!((&seen["is_recorded"], &seen["reach"]), (&json!(true), &json!("called")));
    }
    for (http, status) in [(&viewer, 403), (&worker, 403), (&carol, 404)] {
        let path = format!("/api/v1/tasks/{task}/wire");
        let reply = http.request("GET", &path, &[], "").await;
        assert_eq!(reply.status, status, "{}", reply.text());
    }

    // An agent does not learn by asking how others are called.
    let other = world.add("other", &served.url()).await;
    let other = bearer(&world, &world.token(&other).await);
    let of_agent = say(&other, "agent", "hello again", WIRE).await;
    assert_eq!(wire(&world.administrator, &of_agent).await["is_recorded"], false);
}

#[tokio::test]
async fn what_nobody_asked_for_is_not_kept_and_what_has_no_wire_says_so() {
    let (world, stage) = (World::start().await, Stage::default());
    let served = Served::script(WireForm::V1, Skilled::Resumes, &stage).await;
    world.add("agent", &served.url()).await;
    let home = world.add("home", &served.url()).await;
    let check = async |agent: &str, extensions: &str, reach: &str, note: &str| {
        let task = say(&world.administrator, agent, "hello", extensions).await;
        let seen = wire(&world.administrator, &task).await;
        assert_eq!((&seen["is_recorded"], &seen["reach"]), (&json!(false), &json!(reach)));
        assert!(seen["note"].as_str().expect("a reason").contains(note), "{seen}");
        assert_eq!(seen["items"], json!([]));
    };
    check("agent", "", "called", "not recorded: send the message with `A2A-Extensions:").await;
    world.gateway().host([(home, Employed::new(Script(stage.clone())))]);
    check("home", WIRE, "in_process", "called in this process, no wire").await;
}
