//! A hub that carries calls, in this process and on a port.

use std::{net::SocketAddr, sync::Arc, time::Duration};

use nuncio_auth::{Gatekeeper, pair::Minter};
use nuncio_hub::{
    Directory, Hub,
    directory::{ADMIN, Actor, Options},
    gateway::{self, Gateway},
    hub::{Parts, Settings},
    memory::MemoryHub,
};
use nuncio_net::{Client, Errand, Guard, Policy, Purpose, listen::Listener};
use nuncio_protocol::ids::{AgentId, Organisation};
use nuncio_tasks::{
    memory::MemoryStore,
    push::{Push, SealingKey},
    store::Store,
};
use nuncio_testkit::wire::Http;
use serde_json::{Value, json};

/// A hub that is up for as long as this is held.
pub(crate) struct World {
    pub(crate) hub: Hub,
    pub(crate) address: SocketAddr,
    pub(crate) administrator: Http,
    store: Arc<MemoryStore>,
}

impl World {
    pub(crate) async fn start() -> Self {
        Self::with(|_| {}).await
    }

    /// Starts with other settings of the gateway.
    pub(crate) async fn with(adjust: impl FnOnce(&mut gateway::Settings)) -> Self {
        Self::on(Arc::new(MemoryHub::default()), Options::default(), adjust).await
    }

    /// Starts on what an earlier one has kept of its agents.
    pub(crate) async fn on(
        store: Arc<MemoryHub>,
        options: Options,
        adjust: impl FnOnce(&mut gateway::Settings),
    ) -> Self {
        let nowhere = SocketAddr::from(([127, 0, 0, 1], 0));
        let listener = Listener::bind(nowhere).await.expect("there is a free port");
        let address = listener.local_addr();
        let directory = Directory::open(store, options).await.expect("it opens");
        let keys = Gatekeeper::builder().api_keys(directory.clone());
        let gatekeeper = keys.build().expect("there is a way in");
        let mut settings = Settings::new(acme(), format!("http://{address}"));
        // A test asks more in a second than anybody does in a minute.
        settings.limits.requests = 1_000_000;
        settings.limits.streams = 10_000;
        let minter = Minter::generate(settings.public_url.clone()).expect("there is randomness");
        let mut parts = Parts::new(directory, gatekeeper, guard(), minter, settings);
        let mut settings = gateway::Settings::new(acme());
        adjust(&mut settings);
        let push = Push::new(Client::new(webhook_guard()), SealingKey::generate());
        let store = Arc::new(MemoryStore::default());
        let kept: Arc<dyn Store> = Arc::clone(&store) as _;
        let mut patient = nuncio_tasks::engine::Settings::default();
        // On a machine that has much else to do, an agent takes longer to end.
        patient.cancel_wait = Duration::from_secs(60);
        let gateway = Gateway::start(parts.ground(), settings, kept, |engine| {
            engine.push(push).settings(patient)
        });
        parts.gateway = Some(gateway);
        let hub = Hub::new(parts);
        tokio::spawn(nuncio_hub::serve(hub.clone(), listener));
        let key = key(&hub, "root", &[ADMIN]).await;
        let administrator = Http::new(address).with("authorization", &format!("Bearer {key}"));
        Self { hub, address, administrator, store }
    }

    /// Ends the gateway in the middle of its work, and starts another on what it has kept.
    pub(crate) async fn next_gateway(&self) -> Gateway {
        self.gateway().stop(Duration::ZERO).await;
        let kept: Arc<dyn Store> = Arc::clone(&self.store) as _;
        Gateway::start(self.hub.ground(), gateway::Settings::new(acme()), kept, |engine| engine)
    }

    pub(crate) fn gateway(&self) -> &Gateway {
        self.hub.gateway.as_ref().expect("it carries calls")
    }

    /// Makes a key for a person.
    pub(crate) async fn key(&self, name: &str) -> String {
        key(&self.hub, name, &[]).await
    }

    /// Makes a token for an agent.
    pub(crate) async fn token(&self, agent: &AgentId) -> String {
        let actor = Actor::configuration();
        let issued = self.hub.directory.new_token(&acme(), agent, &actor).await;
        issued.expect("a token is made").key.to_string()
    }

    /// Brings in the agent whose card is found there.
    pub(crate) async fn add(&self, name: &str, card_url: &str) -> AgentId {
        self.add_as(&json!({ "name": name, "card_url": card_url })).await
    }

    /// Brings in an agent as the management API takes it.
    pub(crate) async fn add_as(&self, new: &Value) -> AgentId {
        let headers = [("content-type", "application/json")];
        let body = new.to_string();
        let reply = self.administrator.request("POST", "/api/v1/agents", &headers, body).await;
        assert_eq!(reply.status, 201, "{new}: {}", reply.text());
        let id = reply.json()["id"].as_str().expect("an id").to_owned();
        AgentId::parse(&id).expect("an id")
    }
}

impl Drop for World {
    fn drop(&mut self) {
        self.hub.drain.begin(Duration::ZERO);
    }
}

async fn key(hub: &Hub, name: &str, scopes: &[&str]) -> String {
    let scopes: Vec<String> = scopes.iter().map(|&scope| scope.to_owned()).collect();
    let actor = Actor::configuration();
    let issued = hub.directory.new_key(&acme(), name, &scopes, None, &actor).await;
    issued.expect("a key is made").key.to_string()
}

fn acme() -> Organisation {
    Organisation::parse("acme").expect("a name")
}

/// An administrator who opens this machine for cards and calls.
pub(crate) fn guard() -> Guard {
    let local = || "127.0.0.0/8".parse().expect("a range");
    let policy =
        [Purpose::Card, Purpose::Agent].into_iter().fold(Policy::default(), |policy, one| {
            policy.open(one, local()).allow_http(Errand::administrator(one))
        });
    Guard::new(policy)
}

/// Lets webhooks go to this machine.
fn webhook_guard() -> Guard {
    let policy = Policy::default().dangerously_open_loopback_to_callers();
    Guard::new(policy.allow_http(Errand::caller(Purpose::Webhook)))
}
