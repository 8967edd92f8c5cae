//! A hub in memory with agents behind it, for tests with the clients of others.
//!
//! `carry URL` carries calls to the agent there, which is called `agent`; `carry NAME=URL...` to
//! several. With `NUNCIO_CARRIED`, the program that it names is run with our arguments, and is the
//! agent. With `NUNCIO_CARRIED_KEY`, the agents are shown that API key. Says `listening on URL`
//! with the URL of the first agent at the hub. Everybody on this machine may call it, and webhooks
//! may go to this machine.

use std::{net::SocketAddr, process::Stdio, sync::Arc};

use anyhow::{Context as _, ensure};
use http::{HeaderName, HeaderValue, Method, header::CONTENT_TYPE};
use nuncio_auth::{Gatekeeper, pair::Minter};
use nuncio_client::{
    Credentials, Origin,
    credentials::{ApiKey, KeyPlace},
};
use nuncio_hub::{
    Directory, Gateway, Hub,
    directory::Options,
    gateway,
    hub::{Parts, Settings},
    memory::MemoryHub,
};
use nuncio_net::{
    Client, Errand, Guard, Policy, Purpose, Secret,
    client::Request,
    listen::{Listener, told_to_stop},
};
use nuncio_protocol::ids::{AgentId, Organisation};
use nuncio_tasks::{
    memory::MemoryStore,
    push::{Push, SealingKey},
};
use tokio::{
    io::{AsyncBufReadExt as _, BufReader},
    process::{Child, Command},
};

#[tokio::main]
#[expect(clippy::print_stderr, reason = "whoever has started it waits for the line")]
async fn main() -> anyhow::Result<()> {
    let (agents, _child) = agents().await?;
    let listener = Listener::bind(SocketAddr::from(([127, 0, 0, 1], 0))).await?;
    let address = listener.local_addr();
    let hub = hub(address, &agents).await?;
    tokio::spawn(nuncio_hub::serve(hub, listener));
    for agent in &agents {
        add(address, agent).await?;
    }
    eprintln!("listening on http://{address}/agents/{}", agents[0].name);
    told_to_stop().await;
    Ok(())
}

/// An agent behind the hub.
struct Carried {
    name: String,
    url: String,
}

impl Carried {
    /// Reads `URL` or `NAME=URL`.
    fn parse(text: &str) -> Self {
        let (name, url) =
            text.split_once('=').filter(|(name, _)| !name.contains('/')).unwrap_or(("agent", text));
        Self { name: name.to_owned(), url: url.to_owned() }
    }

    fn id(&self) -> anyhow::Result<AgentId> {
        Ok(AgentId::parse(&self.name)?)
    }
}

/// Finds the agents, or starts the only one.
async fn agents() -> anyhow::Result<(Vec<Carried>, Option<Child>)> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let Some(program) = std::env::var_os("NUNCIO_CARRIED") else {
        ensure!(!arguments.is_empty(), "which agent?");
        return Ok((arguments.iter().map(|text| Carried::parse(text)).collect(), None));
    };
    let mut child = Command::new(program)
        .args(arguments)
        .stderr(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .context("start the agent")?;
    let mut lines = BufReader::new(child.stderr.take().context("it is piped")?).lines();
    while let Some(line) = lines.next_line().await? {
        if let Some(url) = line.strip_prefix("listening on ") {
            let agent = Carried::parse(url);
            // It must not block when it says more.
            tokio::spawn(async move { while let Ok(Some(_)) = lines.next_line().await {} });
            return Ok((vec![agent], Some(child)));
        }
    }
    anyhow::bail!("the agent ended before it listened")
}

async fn hub(address: SocketAddr, agents: &[Carried]) -> anyhow::Result<Hub> {
    let organisation = Organisation::parse("main")?;
    let directory = Directory::open(Arc::new(MemoryHub::default()), Options::default()).await?;
    let gatekeeper =
        Gatekeeper::builder().api_keys(directory.clone()).open_to_loopback().build()?;
    let mut settings = Settings::new(organisation.clone(), format!("http://{address}"));
    settings.is_open = true;
    let minter = Minter::generate(settings.public_url.clone())?;
    let mut parts = Parts::new(directory, gatekeeper, Guard::new(local()), minter, settings);
    let mut settings = gateway::Settings::new(organisation);
    settings.is_open = true;
    let policy = Policy::default().dangerously_open_loopback_to_callers();
    let policy = policy.allow_http(Errand::caller(Purpose::Webhook));
    let push = Push::new(Client::new(Guard::new(policy)), SealingKey::generate());
    let store = Arc::new(MemoryStore::default());
    let gateway = Gateway::start(parts.ground(), settings, store, |engine| engine.push(push));
    gateway.prove_with(proofs(agents)?);
    parts.gateway = Some(gateway);
    Ok(Hub::new(parts))
}

/// Returns the key that agents are shown, if there is one.
fn proofs(agents: &[Carried]) -> anyhow::Result<Vec<(AgentId, Arc<dyn Credentials>)>> {
    let Ok(key) = std::env::var("NUNCIO_CARRIED_KEY") else { return Ok(Vec::new()) };
    let key = Secret::from(key);
    let proof = |agent: &Carried| {
        let place = KeyPlace::Header(HeaderName::from_static("x-api-key"));
        let shown = ApiKey::new(Origin::parse(&agent.url)?, place, &key)?;
        Ok((agent.id()?, Arc::new(shown) as Arc<dyn Credentials>))
    };
    agents.iter().map(proof).collect()
}

/// Opens this machine to whoever is an administrator.
fn local() -> Policy {
    let mut policy = Policy::default();
    for purpose in [Purpose::Card, Purpose::Agent] {
        policy = policy.open(purpose, "127.0.0.0/8".parse().expect("a range"));
        policy = policy.allow_http(Errand::administrator(purpose));
    }
    policy
}

/// Brings an agent in by its card.
async fn add(address: SocketAddr, agent: &Carried) -> anyhow::Result<()> {
    let client = Client::new(Guard::new(local()));
    let errand = Errand::administrator(Purpose::Agent);
    let target = client.guard().check_url(&format!("http://{address}/api/v1/agents"), errand)?;
    let Carried { name, url } = agent;
    let body = serde_json::json!({ "id": name, "name": name, "card_url": url }).to_string();
    let mut request = Request::new(Method::POST, &target, body);
    request.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    let response = client.send(request).await?;
    let status = response.status();
    let text = response.collect(1 << 20).await?;
    ensure!(status.is_success(), "the hub answered {status}: {}", String::from_utf8_lossy(&text));
    Ok(())
}
