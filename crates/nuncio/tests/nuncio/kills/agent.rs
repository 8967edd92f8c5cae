//! An agent that counts what it does, and outlives the hub.

use std::{
    collections::HashMap,
    net::SocketAddr,
    sync::{Arc, Mutex},
    time::Duration,
};

use axum::{
    Router,
    extract::{Request, State},
    middleware::{Next, from_fn_with_state},
    response::Response,
};
use nuncio_auth::{Identity, Method};
use nuncio_net::listen::Drain;
use nuncio_protocol::{
    card::{AgentCard, AgentExtension, AgentInterface, AgentSkill, Binding},
    ids::ArtifactId,
    message::Part,
    service::Caller,
    task::Artifact,
    time::Timestamp,
    version::Version,
};
use nuncio_server::{
    Agent, Capacity, Chunk, Endpoint, Failure, LocalAgent, Output, StreamLimits, Turn,
};
use nuncio_tasks::{engine::Tasks, memory::MemoryStore, scope::Name};
use tokio::{net::TcpListener, task::JoinHandle, time::sleep};

/// Whether an agent numbers its events and knows a message again by its key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Keys {
    Known,
    Unknown,
}

/// How many pieces a file has.
pub(super) const PIECES: u32 = 40;

/// Gives a file in pieces, slowly, and counts how often it was asked for each.
#[derive(Clone, Default)]
pub(super) struct Counting(Arc<Mutex<HashMap<String, usize>>>);

impl Counting {
    /// Returns how often a file was begun.
    pub(super) fn begun(&self, name: &str) -> usize {
        self.0.lock().expect("nobody panics with it").get(name).copied().unwrap_or_default()
    }
}

impl Agent for Counting {
    async fn run(&self, turn: Turn, output: Output) -> Result<(), Failure> {
        let name = turn.message.text();
        *self.0.lock().expect("nobody panics with it").entry(name).or_default() += 1;
        for index in 0..PIECES {
            sleep(Duration::from_millis(10)).await;
            let id = ArtifactId::parse("count")?;
            let artifact = Artifact::new(id, vec![Part::text(format!("{index} "))]);
            let chunk = Chunk { append: index > 0, last: index + 1 == PIECES };
            output.put(artifact, chunk).await?;
        }
        Ok(())
    }
}

/// An agent on a port, for as long as this is held.
pub(super) struct Served {
    address: SocketAddr,
    serving: JoinHandle<()>,
}

impl Served {
    pub(super) async fn start(keys: Keys, agent: impl Agent) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let address = listener.local_addr().expect("a bound address");
        let card = card(address, keys);
        let name = Name::parse("count").expect("a name");
        let tasks = Tasks::builder(Arc::new(MemoryStore::default()));
        let tasks = tasks.agent(name.clone(), agent).start();
        let local = LocalAgent::new(tasks, name, &card).expect("a name");
        let capacity = Capacity::new(1_000, StreamLimits::default(), Drain::new());
        let endpoint = Endpoint::builder("count", Arc::new(local), capacity)
            .card(card, Timestamp::now())
            .build()
            .expect("a card that can be shown");
        let router =
            Router::new().fallback_service(endpoint).layer(from_fn_with_state(keys, let_in));
        let serving = tokio::spawn(async move {
            axum::serve(listener, router).await.expect("it serves");
        });
        Self { address, serving }
    }

    pub(super) fn url(&self) -> String {
        format!("http://{}/", self.address)
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

/// Lets everybody in, and hides from an agent what it is not to know.
async fn let_in(State(keys): State<Keys>, mut request: Request, next: Next) -> Response {
    let somebody = Identity::new(Caller::Anonymous, Method::Open);
    request.extensions_mut().insert(Arc::new(somebody));
    if keys == Keys::Unknown {
        for header in ["idempotency-key", "last-event-id", "a2a-extensions"] {
            request.headers_mut().remove(header);
        }
    }
    next.run(request).await
}

fn card(address: SocketAddr, keys: Keys) -> AgentCard {
    let skill = AgentSkill::new("count", "count", "counts", ["count"]);
    let card = AgentCard::builder("count").description("counts").skill(skill).streaming();
    let mut card = card.build();
    let url = format!("http://{address}/");
    card.supported_interfaces = vec![AgentInterface::new(url, Binding::JsonRpc, Version::V1_0)];
    if keys == Keys::Known {
        let resume = AgentExtension::new("urn:nuncio:extension:resume:v1");
        card.capabilities.extensions.push(resume);
    }
    card
}
