//! What a hub does unasked: it asks agents for their cards, and notices silence.

use std::{
    net::SocketAddr,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use axum::{Router, extract::State, routing::get};
use http::{HeaderMap, StatusCode};
use nuncio_hub::{directory::Item, event};
use nuncio_testkit::wire::Http;
use serde_json::{Value, json};
use tokio::sync::watch;

use super::{Running, acme, card};

/// An agent that shows a card, or fails.
#[derive(Clone)]
struct Agent {
    address: SocketAddr,
    is_well: Arc<AtomicBool>,
    /// In which traces it was asked.
    traces: watch::Sender<Vec<String>>,
}

async fn agent() -> Agent {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("there is a port");
    let address = listener.local_addr().expect("it has an address");
    let is_well = Arc::new(AtomicBool::new(true));
    let agent = Agent { address, is_well, traces: watch::Sender::default() };
    let show = async |State(agent): State<Agent>, headers: HeaderMap| {
        let trace = headers.get("traceparent").and_then(|value| value.to_str().ok());
        let trace = trace.unwrap_or_default().to_owned();
        agent.traces.send_modify(|traces| traces.push(trace));
        if agent.is_well.load(Ordering::SeqCst) {
            let card = card("asked", &format!("http://{}/", agent.address));
            Ok(([("content-type", "application/json")], card.to_string()))
        } else {
            Err(StatusCode::INTERNAL_SERVER_ERROR)
        }
    };
    let router = Router::new().route("/.well-known/agent-card.json", get(show));
    let service = axum::serve(listener, router.with_state(agent.clone()));
    tokio::spawn(service.into_future());
    agent
}

/// Waits until something happened to an agent.
async fn wait_for(running: &Running, after: u64, name: event::Name) -> u64 {
    let mut reader = running.hub.directory.feed().read(acme(), None, Some(after));
    loop {
        match reader.next().await.expect("it can be read") {
            Item::Logged(logged) if logged.event.name == name.as_str() => return logged.seq,
            _ => {}
        }
    }
}

#[tokio::test]
async fn an_agent_that_is_asked_goes_and_comes_with_its_answers() {
    let running = Running::with(|options, _| {
        options.liveness.probe = Duration::from_millis(20);
    })
    .await;
    let agent = agent().await;
    let url = format!("http://{}", agent.address);
    let added = running.done("POST", "/api/v1/agents", &json!({ "card_url": url })).await;
    assert_eq!((&added["watch"], &added["status"]), (&json!("probe"), &json!("online")));
    agent.is_well.store(false, Ordering::SeqCst);
    let gone = wait_for(&running, 0, event::Name::Offline).await;
    agent.is_well.store(true, Ordering::SeqCst);
    wait_for(&running, gone, event::Name::Online).await;
}

#[tokio::test]
async fn what_the_hub_fetches_is_part_of_the_trace_that_made_it_fetch() {
    let running = Running::with(|options, _| {
        options.liveness.probe = Duration::from_millis(20);
    })
    .await;
    let agent = agent().await;
    let trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
    let headers = [("content-type", "application/json"), ("traceparent", trace)];
    let body = json!({ "card_url": format!("http://{}", agent.address) }).to_string();
    let added = running.administrator.request("POST", "/api/v1/agents", &headers, body).await;
    assert_eq!(added.status, 201, "{}", added.text());
    let mut traces = agent.traces.subscribe();
    let traces = traces.wait_for(|traces| traces.len() >= 3).await.expect("it is asked").clone();
    assert_eq!(traces[0], trace, "the card that somebody wanted");
    let (one, other) = (&traces[1], &traces[2]);
    assert!(one.starts_with("00-") && one.len() == trace.len(), "{one}");
    assert!(one != other && one != trace, "nobody wanted these: each begins a trace");
}

#[tokio::test]
async fn a_card_is_looked_at_before_its_agent_is_kept() {
    let running = Running::start().await;
    let agent = agent().await;
    let url = format!("http://{}", agent.address);
    let look = json!({ "card_url": url });
    let found = running.done("POST", "/api/v1/cards/check", &look).await;
    assert_eq!((&found["name"], &found["card"]["name"]), (&json!("asked"), &json!("asked")));
    let agents = running.done("GET", "/api/v1/agents", &Value::Null).await;
    assert_eq!(agents["agents"], json!([]), "nothing is kept");

    let bad = json!({ "card": { "name": "bad", "description": "d", "version": "1" } });
    let found = running.done("POST", "/api/v1/cards/check", &bad).await;
    let problems = found["problems"].as_array().expect("a list");
    let missing = problems.iter().find(|problem| problem["code"] == "no-interface");
    let missing = missing.unwrap_or_else(|| panic!("{found}"));
    assert_eq!(missing["severity"], "error");
    assert!(missing["fix"].as_str().is_some_and(|fix| !fix.is_empty()), "{found}");

    let check = async |who: &Http, body: &Value| {
        super::send(who, "POST", "/api/v1/cards/check", body).await.status
    };
    let member = running.join("writer", None).await;
    assert_eq!(check(&member.http, &look).await, 403, "the hub goes where administrators send it");
    assert_eq!(check(&member.http, &bad).await, 200);
    assert_eq!(check(&running.stranger, &bad).await, 401);
    assert_eq!(check(&running.administrator, &json!({})).await, 400);
    let both = json!({ "card": {}, "card_url": url });
    assert_eq!(check(&running.administrator, &both).await, 400);
}

#[tokio::test]
async fn a_card_that_changed_is_taken_over() {
    let running = Running::with(|options, _| {
        options.liveness.probe = Duration::from_millis(20);
    })
    .await;
    let agent = agent().await;
    let url = format!("http://{}", agent.address);
    let mut old = card("asked", &format!("{url}/"));
    old["description"] = json!("what it was");
    let add = json!({ "card": old, "card_url": url });
    running.done("POST", "/api/v1/agents", &add).await;
    // The first card is told of like every later one.
    let first = wait_for(&running, 0, event::Name::CardUpdated).await;
    wait_for(&running, first, event::Name::CardUpdated).await;
    let card = running.done("GET", "/api/v1/agents/asked/card", &Value::Null).await;
    assert_eq!(card["description"], "d");
}

#[tokio::test]
async fn an_agent_that_says_nothing_any_more_is_offline() {
    let running = Running::with(|options, _| {
        options.liveness.sweep = Duration::from_millis(20);
        options.liveness.offline = Duration::from_millis(1);
    })
    .await;
    running.join("writer", None).await;
    wait_for(&running, 0, event::Name::Offline).await;
}

#[tokio::test]
async fn a_hub_that_drains_ends_by_itself_and_says_so_before() {
    let running = Running::start().await;
    assert_eq!(super::get(&running.stranger, "/readyz").await.status, 200);
    let address = running.address;
    running.hub.drain.begin(Duration::from_secs(30));
    // The port is free as soon as nobody is served any more.
    while nuncio_net::listen::Listener::bind(address).await.is_err() {
        tokio::task::yield_now().await;
    }
}
