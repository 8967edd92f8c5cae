//! A hub that carries messages, and outlives its process.

use std::{sync::Arc, time::Duration};

use hyper_util::service::TowerToHyperService;
use nuncio_hub::{
    Hub,
    agent::{Card, Origin},
    directory::{Actor, NewAgent, Options},
    gateway::{Gateway, Settings},
    hub::{self, Facades},
    memory::MemoryHub,
};
use nuncio_net::listen::Drain;
use nuncio_protocol::time::Timestamp;
use nuncio_tasks::{clock::Clock, engine, memory::MemoryStore};
use serde_json::{Value, json};
use tokio::runtime::Runtime;

use super::{Member, Reply, World, stub::Stub};

/// What is on disk.
#[derive(Clone, Default)]
pub(super) struct Disk {
    hub: Arc<MemoryHub>,
    tasks: Arc<MemoryStore>,
    /// Whether a hub on it also does what nobody asks it for.
    is_kept: bool,
}

impl Disk {
    /// A disk for hubs that also do what nobody asks them for.
    pub(super) fn kept() -> Self {
        Self { is_kept: true, ..Self::default() }
    }
}

impl World {
    /// A hub that carries messages.
    pub(super) async fn carrying(change: impl FnOnce(&mut Settings)) -> Self {
        Self::carrying_on(Disk::default(), change).await
    }

    pub(super) async fn carrying_on(disk: Disk, change: impl FnOnce(&mut Settings)) -> Self {
        Self::carrying_with(disk, change, |builder| builder).await
    }

    /// A hub whose clock is so late.
    pub(super) async fn carrying_as_of(ago: Duration) -> Self {
        let ago = i64::try_from(ago.as_millis()).expect("not so long ago");
        let late = move || Timestamp::from_millis(Timestamp::now().as_millis() - ago);
        let clock = Clock::new(move || late().expect("on the calendar"));
        Self::carrying_with(Disk::default(), |_| (), |builder| builder.clock(clock)).await
    }

    /// A hub whose callers wait so long unless they say for how long, and at most so long.
    pub(super) async fn carrying_for(wait: Duration, longest: Duration) -> Self {
        let mut settings = engine::Settings::default();
        (settings.wait, settings.longest_wait) = (wait, longest);
        Self::carrying_with(Disk::default(), |_| (), |builder| builder.settings(settings)).await
    }

    async fn carrying_with(
        disk: Disk,
        change: impl FnOnce(&mut Settings),
        engine: impl FnOnce(engine::Builder) -> engine::Builder,
    ) -> Self {
        let is_kept = disk.is_kept;
        let (hub, world) = Self::carrier(disk, |_| (), change, engine).await;
        if is_kept {
            return world.on(|listener| nuncio_hub::serve(hub, listener)).await;
        }
        let service = TowerToHyperService::new(nuncio_hub::http::router(hub));
        world.on(|listener| listener.serve(service, Drain::new())).await
    }

    /// Makes a hub that carries messages, and that nobody serves yet.
    pub(super) async fn carrier(
        disk: Disk,
        change_hub: impl FnOnce(&mut hub::Settings),
        change: impl FnOnce(&mut Settings),
        engine: impl FnOnce(engine::Builder) -> engine::Builder,
    ) -> (Hub, Self) {
        let facades = Facades { molecule: true, opportunity: true, upal: false };
        let (mut parts, world) = Self::parts(disk.hub, facades, Options::default()).await;
        // Tests ask until it is so.
        parts.settings.limits.requests = 1_000_000;
        change_hub(&mut parts.settings);
        let mut settings = Settings::new(world.acme.clone());
        settings.options.retries.pause = Duration::from_millis(1);
        settings.queueing.unreached = Duration::from_millis(300);
        change(&mut settings);
        let gateway = Gateway::start(parts.ground(), settings, disk.tasks, |builder| {
            let mut settings = engine::Settings::default();
            settings.lease = Duration::from_secs(1);
            engine(builder.settings(settings))
        });
        parts.gateway = Some(gateway);
        (Hub::new(parts), world)
    }

    /// Brings in an agent that is where the stub is, and is well.
    pub(super) async fn employ(&self, name: &str, stub: &Stub, parent: Option<&Member>) -> Member {
        let mut new = NewAgent::new(name.parse().expect("a name"));
        new.parent = parent.map(|parent| parent.agent.id.clone());
        new.card = Some(Card::parse(&stub.card(name).to_string()).expect("a card"));
        new.addresses.public = Some(format!("http://{}", stub.address).into());
        let actor = Actor::configuration();
        let agent = self.directory.add(&self.acme, new, Origin::Administrator, &actor).await;
        let agent = agent.expect("it can be added");
        let issued = self.directory.new_token(&self.acme, &agent.id, &actor).await;
        let member = Member { agent, token: issued.expect("a token").key.to_string() };
        self.beat(&member, json!({})).await;
        member
    }

    /// Sends a heartbeat.
    pub(super) async fn beat(&self, member: &Member, mut beat: Value) {
        beat["workspace_id"] = member.id().as_str().into();
        self.by(&member.token, "POST", "/registry/heartbeat", &beat.to_string()).await.check(200);
    }

    /// Posts a body to the proxy as the administrator.
    pub(super) async fn post(&self, member: &Member, body: &str) -> Reply {
        self.admin("POST", &format!("/workspaces/{}/a2a", member.id()), body).await
    }

    /// Sends a text by the proxy.
    pub(super) async fn say(&self, member: &Member, text: &str) -> Reply {
        self.post(member, &message(text).to_string()).await
    }

    /// Waits until a task is in a state, and returns it.
    pub(super) async fn settled(&self, id: &str, state: &str) -> Value {
        for _ in 0..2_000 {
            let reply = self.admin("GET", &format!("/tasks/{id}"), "").await;
            let task = reply.check(200).json();
            if task["status"]["state"] == state {
                return task;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        panic!("task {id} is never {state}");
    }
}

/// A message as molecule's canvas sends it.
pub(super) fn message(text: &str) -> Value {
    json!({"method": "message/send", "params": {"message": {
        "role": "user", "parts": [{"kind": "text", "text": text}]
    }}})
}

/// A hub in a process of its own, as far as a test can have one: what it does ends at once, in
/// the middle of everything.
pub(super) struct Process {
    runtime: Option<Runtime>,
    pub(super) world: World,
}

impl Process {
    pub(super) async fn start(disk: &Disk, change: fn(&mut Settings)) -> Self {
        let runtime = Runtime::new().expect("a runtime");
        let disk = disk.clone();
        let world = runtime.spawn(async move { World::carrying_on(disk, change).await });
        Self { world: world.await.expect("it starts"), runtime: Some(runtime) }
    }

    /// Ends it like a power cut.
    pub(super) fn kill(mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}
