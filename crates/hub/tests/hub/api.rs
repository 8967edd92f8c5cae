//! A hub on a port, and what its callers see of it.

mod access;
mod audit;
mod browsers;
mod catalog;
mod doctor;
mod events;
mod keeping;
mod limits;
mod openapi;
mod pairs;
mod signatures;

use std::{net::SocketAddr, sync::Arc, time::Duration};

use nuncio_auth::{ApiKey, Gatekeeper, pair::Minter};
use nuncio_hub::{
    Directory, Hub,
    directory::Options,
    hub::{Parts, Settings},
    memory::MemoryHub,
};
use nuncio_net::{Guard, Policy, listen::Listener};
use nuncio_protocol::ids::Organisation;
use nuncio_testkit::wire::{Http, Reply};
use serde_json::{Value, json};

/// A hub that is up for as long as this is held.
struct Running {
    hub: Hub,
    address: SocketAddr,
    /// Somebody without a credential.
    stranger: Http,
    administrator: Http,
}

/// An agent that has registered.
struct Member {
    id: String,
    name: String,
    token: String,
    http: Http,
}

impl Running {
    async fn start() -> Self {
        Self::with(|_, _| {}).await
    }

    async fn with(adjust: impl FnOnce(&mut Options, &mut Settings)) -> Self {
        Self::of(adjust, |_| {}).await
    }

    /// Starts with other settings, and with parts that are put in from outside.
    async fn of(
        adjust: impl FnOnce(&mut Options, &mut Settings),
        equip: impl FnOnce(&mut Parts),
    ) -> Self {
        let nowhere = SocketAddr::from(([127, 0, 0, 1], 0));
        let listener = Listener::bind(nowhere).await.expect("there is a free port");
        let address = listener.local_addr();
        let mut options = Options::default();
        let mut settings = Settings::new(acme(), format!("http://{address}"));
        adjust(&mut options, &mut settings);
        let store = Arc::new(MemoryHub::default());
        let directory = Directory::open(store, options).await.expect("it opens");
        let (key, _) = ApiKey::generate("ann");
        directory.admit_administrator(&acme(), &key, "ann").await.expect("it is let in");
        let keys = Gatekeeper::builder().api_keys(directory.clone());
        let gatekeeper = keys.build().expect("there is a way in");
        let guard = Guard::new(Policy::default().dangerously_open_loopback_to_callers());
        let minter = Minter::generate(settings.public_url.clone()).expect("there is randomness");
        let mut parts = Parts::new(directory, gatekeeper, guard, minter, settings);
        equip(&mut parts);
        let hub = Hub::new(parts);
        tokio::spawn(nuncio_hub::serve(hub.clone(), listener));
        let stranger = Http::new(address);
        let administrator = bearer(&stranger, &key.to_string());
        Self { hub, address, stranger, administrator }
    }

    /// Calls as an administrator, and expects it to be done.
    async fn done(&self, method: &str, path: &str, body: &Value) -> Value {
        let reply = send(&self.administrator, method, path, body).await;
        assert!(reply.status < 300, "{method} {path}: {} {}", reply.status, reply.text());
        if reply.body.is_empty() { Value::Null } else { reply.json() }
    }

    /// Lets an agent register, below another if it is said.
    async fn join(&self, name: &str, parent: Option<&str>) -> Member {
        let enrolment = self.done("POST", "/api/v1/enrolments", &json!({ "parent": parent })).await;
        let newcomer = bearer(&self.stranger, enrolment["key"].as_str().expect("a key"));
        let reply = send(&newcomer, "POST", "/api/v1/register", &registration(name)).await;
        assert_eq!(reply.status, 201, "{}", reply.text());
        let registered = reply.json();
        let text = |value: &Value| value.as_str().expect("a text").to_owned();
        let token = text(&registered["token"]);
        Member {
            id: text(&registered["agent"]["id"]),
            name: name.to_owned(),
            http: bearer(&self.stranger, &token),
            token,
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.hub.drain.begin(Duration::ZERO);
    }
}

fn acme() -> Organisation {
    Organisation::parse("acme").expect("a name")
}

fn bearer(http: &Http, key: &str) -> Http {
    http.clone().with("authorization", &format!("Bearer {key}"))
}

async fn send(http: &Http, method: &str, path: &str, body: &Value) -> Reply {
    let (headers, body): (&[(&str, &str)], _) = match body {
        Value::Null => (&[], String::new()),
        body => (&[("content-type", "application/json")], body.to_string()),
    };
    http.request(method, path, headers, body).await
}

async fn get(http: &Http, path: &str) -> Reply {
    send(http, "GET", path, &Value::Null).await
}

/// Expects a refusal with this status and code.
#[track_caller]
fn check_refused(reply: &Reply, status: u16, code: &str) {
    assert_eq!(reply.header("content-type"), "application/problem+json", "{}", reply.text());
    let problem = reply.json();
    assert_eq!((reply.status, problem["code"].as_str()), (status, Some(code)), "{problem}");
    assert_eq!(problem["status"], status, "{problem}");
}

fn registration(name: &str) -> Value {
    json!({ "name": name, "card": card(name, "http://127.0.0.1:9/") })
}

fn card(name: &str, url: &str) -> Value {
    json!({
        "name": name, "description": "d", "version": "1",
        "supportedInterfaces": [
            { "url": url, "protocolBinding": "JSONRPC", "protocolVersion": "1.0" }
        ],
        "skills": [{ "id": "write", "name": "w", "description": "d", "tags": ["text"] }],
        "defaultInputModes": ["text/plain"], "defaultOutputModes": ["text/plain"],
    })
}
