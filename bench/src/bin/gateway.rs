//! The hub that benchmarks measure: it carries calls to one agent. Whoever measures it asks for
//! `/`; that becomes the path and the key that callers of a hub use.
//!
//!     PORT=7420 STORE=memory cargo run --release -p nuncio-bench --bin gateway 127.0.0.1:7421 1.0

use std::{
    env,
    net::{Ipv4Addr, SocketAddr},
    path::PathBuf,
    sync::Arc,
};

use anyhow::{Context as _, Result, bail};
use http::{HeaderValue, Request, Uri, header::AUTHORIZATION};
use hyper::service::service_fn;
use nuncio_auth::{Gatekeeper, pair::Minter};
use nuncio_client::{
    Client,
    discover::{Ask, Source},
};
use nuncio_hub::{
    Directory, Gateway, Hub,
    agent::{Addresses, Card, Delivery, Origin},
    directory::{ADMIN, Actor, NewAgent, Options},
    gateway,
    hub::{Parts, Settings},
    memory::MemoryHub,
    name::AgentName,
};
use nuncio_net::{
    Errand, Guard, Policy, Purpose, Trust,
    listen::{Drain, Incoming, Limits, Listener},
};
use nuncio_protocol::{
    card::{AgentCard, Binding},
    ids::Organisation,
    json,
    version::Version,
};
use nuncio_store::sqlite::{self, SqliteStore};
use nuncio_tasks::{memory::MemoryStore, store::Store};
use tower::ServiceExt as _;

/// As in the `nuncio` program.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const AGENT: &str = "echo";

#[tokio::main]
async fn main() -> Result<()> {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let [agent, version] = &*arguments else { bail!("the agent's address, and its version") };
    let port: u16 = env::var("PORT").context("PORT must be set")?.parse()?;
    let mut limits = Limits::default();
    limits.connections = 100_000;
    limits.connections_per_address = 100_000;
    let listener = Listener::bind((Ipv4Addr::LOCALHOST, port).into()).await?.limits(limits);
    let store = env::var("STORE").unwrap_or_else(|_| "memory".to_owned());
    let version = Version::parse(version).context("a version such as 1.0")?;
    serve(listener, agent.parse()?, version, &store).await
}

/// Serves on behalf of an agent that speaks one version.
async fn serve(listener: Listener, agent: SocketAddr, version: Version, store: &str) -> Result<()> {
    let address = listener.local_addr();
    let organisation = Organisation::parse("main")?;
    let directory = Directory::open(Arc::new(MemoryHub::default()), Options::default()).await?;
    let gatekeeper = Gatekeeper::builder().api_keys(directory.clone()).build()?;
    let mut settings = Settings::new(organisation.clone(), format!("http://{address}"));
    settings.limits.requests = u32::MAX;
    settings.limits.streams = 100_000;
    let minter = Minter::generate(settings.public_url.clone())?;
    let guard = Guard::new(local());
    let client = nuncio_net::Client::builder(guard.clone()).connections(100_000).build()?;
    let mut parts = Parts::new(directory, gatekeeper, guard, minter, settings);
    parts.client = Client::new(client.with_traces());
    let mut settings = gateway::Settings::new(organisation.clone());
    settings.limits.in_flight = 100_000;
    settings.limits.unfinished_tasks = 1_000_000;
    let gateway = Gateway::start(parts.ground(), settings, open(store)?, |engine| {
        let mut settings = nuncio_tasks::engine::Settings::default();
        settings.unfinished_tasks = 1_000_000;
        engine.settings(settings)
    });
    parts.gateway = Some(gateway);
    let hub = Hub::new(parts);
    let actor = Actor::configuration();
    let mut new = NewAgent::new(AgentName::parse(AGENT)?);
    new.delivery = Delivery::Gateway;
    new.addresses =
        Addresses { public: Some(format!("http://{agent}").into()), ..Addresses::default() };
    new.card = Some(Card::parse(&json::to_string(&card(&hub.client, agent, version).await?))?);
    hub.directory.add(&organisation, new, Origin::Administrator, &actor).await?;
    let scopes = [ADMIN.to_owned()];
    let key = hub.directory.new_key(&organisation, "bench", &scopes, None, &actor).await?;
    let key = HeaderValue::try_from(format!("Bearer {}", key.key))?;
    let router = nuncio_hub::http::router(hub);
    let service = service_fn(move |request| {
        router.clone().oneshot(as_caller(request, key.clone()).map(axum::body::Body::new))
    });
    listener.serve(service, Drain::new()).await;
    Ok(())
}

/// Makes a request to the hub of a request to the agent.
fn as_caller(mut request: Request<Incoming>, key: HeaderValue) -> Request<Incoming> {
    let path = request.uri().path().trim_end_matches('/');
    if let Ok(uri) = format!("/agents/{AGENT}{path}").parse::<Uri>() {
        *request.uri_mut() = uri;
    }
    request.headers_mut().insert(AUTHORIZATION, key);
    request
}

/// Returns the card that the agent serves, with the one interface that speaks the version.
async fn card(client: &Client, agent: SocketAddr, version: Version) -> Result<AgentCard> {
    let ask = Ask::new(Source::parse(&format!("http://{agent}"))?, Trust::Administrator);
    let mut card = client.cards().get(&ask).await?.found.card.clone();
    card.supported_interfaces.retain(|one| {
        one.protocol_binding == Binding::JsonRpc.as_str() && one.version() == Some(version)
    });
    if card.supported_interfaces.is_empty() {
        bail!("the agent does not speak {version}");
    }
    Ok(card)
}

fn open(store: &str) -> Result<Arc<dyn Store>> {
    match store {
        "memory" => Ok(Arc::new(MemoryStore::default())),
        other => {
            let path = other.strip_prefix("sqlite:").context("STORE is memory or sqlite:PATH")?;
            let path = PathBuf::from(path);
            let Some(directory) = path.parent() else { bail!("{} has no folder", path.display()) };
            Ok(Arc::new(SqliteStore::open(directory, sqlite::Options::default())?))
        }
    }
}

fn local() -> Policy {
    let mut policy = Policy::default();
    for purpose in [Purpose::Card, Purpose::Agent] {
        policy = policy.open(purpose, "127.0.0.0/8".parse().expect("a range"));
        policy = policy.allow_http(Errand::administrator(purpose));
    }
    policy
}
