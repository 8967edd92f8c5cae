//! A hub with a clerk behind it, whose store outlives the hub.

use std::{
    net::SocketAddr,
    sync::{Arc, Mutex},
    time::Duration,
};

use nuncio_auth::{ApiKey, Gatekeeper, pair::Minter};
use nuncio_hub::{
    Directory, Gateway, Hub,
    directory::Options,
    gateway,
    hub::{Parts, Settings},
    memory::MemoryHub,
};
use nuncio_net::{Client, Guard, Policy, listen::Listener};
use nuncio_protocol::{
    ids::Organisation,
    json::Raw,
    message::{Message, Part},
    service::TraceContext,
    state::TaskState,
};
use nuncio_server::{Server, Stopper};
use nuncio_tasks::{
    agent::{Agent, Failure, Turn},
    memory::MemoryStore,
    output::Output,
    push::{Push, SealingKey},
};
use nuncio_testkit::wire::{Frames, Http, Reply};
use serde_json::{Value, json};

/// The form that the clerk wants to have filled in.
const FORM: &str = r#"{"type":"object","properties":{"account":{"type":"string"}}}"#;

/// An agent that pays if it may, waits if it must, and writes down what it is told.
#[derive(Clone, Default)]
struct Clerk {
    told: Arc<Mutex<Vec<Told>>>,
}

/// What the clerk was told, and as part of which trace.
#[derive(Clone)]
struct Told {
    message: Message,
    trace: Option<TraceContext>,
}

impl Agent for Clerk {
    async fn run(&self, turn: Turn, output: Output) -> Result<(), Failure> {
        let told = Told { message: turn.message.clone(), trace: turn.asked.trace.clone() };
        self.told.lock().expect("nobody panics with it").push(told);
        let text = turn.message.text();
        let is_first = turn.task.history.len() == 1;
        match text.split(' ').next().unwrap_or_default() {
            "pay" if is_first => {
                let mut question = Message::agent(format!("May I {text}?"));
                let form = Raw::parse_text(&format!(r#"{{"schema":{FORM}}}"#))?;
                question.parts.push(Part::data(form));
                output.status(TaskState::InputRequired, Some(question)).await?;
            }
            "login" if is_first => {
                let question = Message::agent("Log in there");
                output.status(TaskState::AuthRequired, Some(question)).await?;
            }
            "wait" => {
                output.working("waiting").await?;
                std::future::pending::<()>().await;
            }
            _ => output.text(format!("heard {text}")).await?,
        }
        Ok(())
    }
}

/// A hub, its store, and the clerk.
pub(crate) struct Office {
    pub(crate) address: SocketAddr,
    pub(crate) hub: Hub,
    pub(crate) administrator: Http,
    key: String,
    store: Arc<MemoryHub>,
    tasks: Arc<MemoryStore>,
    clerk: Clerk,
    clerk_url: String,
    stopper: Stopper,
}

impl Office {
    /// Opens with a clerk in the directory whom everybody may call.
    pub(crate) async fn open() -> Self {
        let clerk = Clerk::default();
        let bound = Server::new("clerk", clerk.clone()).bind("127.0.0.1:0").await;
        let bound = bound.expect("there is a free port");
        let clerk_url = bound.local_url().to_owned();
        let stopper = bound.stopper();
        tokio::spawn(bound.run());
        let (key, _) = ApiKey::generate("ann");
        let (store, tasks) = (Arc::new(MemoryHub::default()), Arc::new(MemoryStore::default()));
        let (address, hub) = start(&store, &tasks, &key).await;
        let key = key.to_string();
        let administrator = bearer(address, &key);
        let office =
            Self { address, hub, administrator, key, store, tasks, clerk, clerk_url, stopper };
        let card_url = office.clerk_url.clone();
        let clerk = json!({ "name": "clerk", "card_url": card_url });
        office.done("POST", "/api/v1/agents", &clerk).await;
        let rule = json!({ "effect": "allow", "caller": "any", "target": "any" });
        let put = send(&office.administrator, "PUT", "/api/v1/rules/all", &rule).await;
        assert!(put.status < 300, "{}", put.text());
        office
    }

    /// Closes the hub, and opens another on the same store.
    pub(crate) async fn reopen(self) -> Self {
        self.hub.drain.begin(Duration::ZERO);
        let gateway = self.hub.gateway.as_ref().expect("it has one");
        gateway.stop(Duration::ZERO).await;
        let key: ApiKey = self.key.parse().expect("a key");
        let (address, hub) = start(&self.store, &self.tasks, &key).await;
        Self {
            address,
            hub,
            administrator: bearer(address, &self.key),
            key: self.key.clone(),
            store: Arc::clone(&self.store),
            tasks: Arc::clone(&self.tasks),
            clerk: self.clerk.clone(),
            clerk_url: self.clerk_url.clone(),
            stopper: self.stopper.clone(),
        }
    }

    /// Opens another hub on the same store.
    pub(crate) async fn beside(&self) -> (Hub, Http) {
        let key: ApiKey = self.key.parse().expect("a key");
        let (address, hub) = start(&self.store, &self.tasks, &key).await;
        (hub, bearer(address, &self.key))
    }

    /// Returns what the clerk was told last.
    pub(crate) fn last_told(&self) -> Message {
        self.last().message
    }

    /// Returns the trace that what the clerk was told last is part of.
    pub(crate) fn last_trace(&self) -> String {
        self.last().trace.expect("every call is part of one").parent
    }

    fn last(&self) -> Told {
        let told = self.clerk.told.lock().expect("nobody panics with it");
        told.last().expect("it was told something").clone()
    }

    /// Ends the clerk's process, as it were.
    pub(crate) fn send_clerk_home(&self) {
        self.stopper.stop_at_once();
    }

    /// Calls as an administrator, and expects it to be done.
    pub(crate) async fn done(&self, method: &str, path: &str, body: &Value) -> Value {
        done(&self.administrator, method, path, body).await
    }

    /// Lets a person in.
    pub(crate) async fn person(&self, name: &str, scopes: &[&str]) -> Http {
        let new = json!({ "name": name, "scopes": scopes });
        let made = self.done("POST", "/api/v1/keys", &new).await;
        bearer(self.address, made["key"].as_str().expect("a key"))
    }

    /// Lets an agent register that is served by the clerk's program, and returns its id.
    pub(crate) async fn join(&self, name: &str) -> (String, Http) {
        let enrolment = self.done("POST", "/api/v1/enrolments", &json!({})).await;
        let newcomer = bearer(self.address, enrolment["key"].as_str().expect("a key"));
        let card = json!({
            "name": name, "description": "d", "version": "1",
            "supportedInterfaces": [
                { "url": self.clerk_url, "protocolBinding": "JSONRPC", "protocolVersion": "1.0" }
            ],
            "capabilities": { "streaming": true },
            "skills": [{ "id": "write", "name": "w", "description": "d", "tags": ["text"] }],
            "defaultInputModes": ["text/plain"], "defaultOutputModes": ["text/plain"],
        });
        let registration = json!({ "name": name, "card": card });
        let registered = done(&newcomer, "POST", "/api/v1/register", &registration).await;
        let text = |value: &Value| value.as_str().expect("a text").to_owned();
        let token = text(&registered["token"]);
        (text(&registered["agent"]["id"]), bearer(self.address, &token))
    }
}

impl Drop for Office {
    fn drop(&mut self) {
        self.hub.drain.begin(Duration::ZERO);
    }
}

async fn start(
    store: &Arc<MemoryHub>,
    tasks: &Arc<MemoryStore>,
    key: &ApiKey,
) -> (SocketAddr, Hub) {
    let nowhere = SocketAddr::from(([127, 0, 0, 1], 0));
    let listener = Listener::bind(nowhere).await.expect("there is a free port");
    let address = listener.local_addr();
    let mut settings = Settings::new(acme(), format!("http://{address}"));
    settings.facades.upal = true;
    let store = Arc::clone(store);
    let directory = Directory::open(store, Options::default()).await.expect("it opens");
    directory.admit_administrator(&acme(), key, "ann").await.expect("it is let in");
    let gatekeeper = Gatekeeper::builder().api_keys(directory.clone()).build().expect("a way in");
    let guard = Guard::new(Policy::default().dangerously_open_loopback_to_callers());
    let minter = Minter::generate(settings.public_url.clone()).expect("there is randomness");
    let mut parts = Parts::new(directory, gatekeeper, guard.clone(), minter, settings);
    let push = Push::new(Client::new(guard), SealingKey::generate());
    let settings = gateway::Settings::new(acme());
    let tasks = Arc::<MemoryStore>::clone(tasks);
    let ground = parts.ground();
    parts.gateway = Some(Gateway::start(ground, settings, tasks, |engine| engine.push(push)));
    let hub = Hub::new(parts);
    tokio::spawn(nuncio_hub::serve(hub.clone(), listener));
    (address, hub)
}

fn acme() -> Organisation {
    Organisation::parse("acme").expect("a name")
}

fn bearer(address: SocketAddr, key: &str) -> Http {
    Http::new(address).with("authorization", &format!("Bearer {key}"))
}

pub(crate) async fn send(http: &Http, method: &str, path: &str, body: &Value) -> Reply {
    let (headers, body): (&[(&str, &str)], _) = match body {
        Value::Null => (&[], String::new()),
        body => (&[("content-type", "application/json")], body.to_string()),
    };
    http.request(method, path, headers, body).await
}

/// Calls, and expects it to be done.
pub(crate) async fn done(http: &Http, method: &str, path: &str, body: &Value) -> Value {
    let reply = send(http, method, path, body).await;
    assert!(reply.status < 300, "{method} {path}: {} {}", reply.status, reply.text());
    if reply.body.is_empty() { Value::Null } else { reply.json() }
}

/// Expects a refusal with this status and code.
pub(crate) async fn refused(
    http: &Http,
    (method, path): (&str, &str),
    body: &Value,
    expected: (u16, &str),
) {
    let reply = send(http, method, path, body).await;
    let problem = reply.json();
    let found = (reply.status, problem["code"].as_str().unwrap_or_default());
    assert_eq!(found, expected, "{method} {path}: {problem}");
}

/// Says something to an agent, and returns the answer.
pub(crate) async fn call(http: &Http, agent: &str, text: &str, headers: &[(&str, &str)]) -> Value {
    let body = json!({
        "jsonrpc": "2.0", "id": 1, "method": "SendMessage",
        "params": {
            "message": { "messageId": text, "role": "ROLE_USER", "parts": [{ "text": text }] },
            "configuration": { "returnImmediately": text.starts_with("wait") },
        },
    });
    let mut all = vec![("content-type", "application/json"), ("a2a-version", "1.0")];
    all.extend(headers);
    let reply = http.request("POST", &format!("/agents/{agent}"), &all, body.to_string()).await;
    assert_eq!(reply.status, 200, "{}", reply.text());
    reply.json()
}

/// Says something to an agent, and returns the id of the task.
pub(crate) async fn ask(http: &Http, agent: &str, text: &str) -> String {
    let answer = call(http, agent, text, &[]).await;
    answer["result"]["task"]["id"]
        .as_str()
        .unwrap_or_else(|| panic!("no task: {answer}"))
        .to_owned()
}

/// Follows the events of a task, behind one.
pub(crate) async fn follow(http: &Http, task: &str, after: Option<u64>) -> Frames {
    let http = http.clone().with("accept", "text/event-stream");
    let path = format!("/api/v1/tasks/{task}/events");
    let after = after.map(|after| after.to_string());
    let headers: Vec<(&str, &str)> =
        after.iter().map(|after| ("last-event-id", after.as_str())).collect();
    http.frames("GET", &path, &headers, "").await
}
