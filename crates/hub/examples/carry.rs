//! A hub in memory with one agent behind it, for tests with the clients of others.
//!
//! `carry URL` carries calls to the agent there. With `NUNCIO_CARRIED`, the program that it names
//! is run with our arguments, and is the agent. Says `listening on URL` with the URL of the agent
//! at the hub. Everybody on this machine may call it, and webhooks may go to this machine.

use std::{net::SocketAddr, process::Stdio, sync::Arc};

use anyhow::{Context as _, ensure};
use http::{HeaderValue, Method, header::CONTENT_TYPE};
use nuncio_auth::{Gatekeeper, pair::Minter};
use nuncio_hub::{
    Directory, Gateway, Hub,
    directory::Options,
    gateway,
    hub::{Parts, Settings},
    memory::MemoryHub,
};
use nuncio_net::{
    Client, Errand, Guard, Policy, Purpose,
    client::Request,
    listen::{Listener, told_to_stop},
};
use nuncio_protocol::ids::Organisation;
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
    let (url, _agent) = agent().await?;
    let listener = Listener::bind(SocketAddr::from(([127, 0, 0, 1], 0))).await?;
    let address = listener.local_addr();
    let hub = hub(address).await?;
    tokio::spawn(nuncio_hub::serve(hub, listener));
    add(address, &url).await?;
    eprintln!("listening on http://{address}/agents/agent");
    told_to_stop().await;
    Ok(())
}

/// Finds the agent, or starts it.
async fn agent() -> anyhow::Result<(String, Option<Child>)> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let Some(program) = std::env::var_os("NUNCIO_CARRIED") else {
        return Ok((arguments.first().context("which agent?")?.clone(), None));
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
            let url = url.to_owned();
            // It must not block when it says more.
            tokio::spawn(async move { while let Ok(Some(_)) = lines.next_line().await {} });
            return Ok((url, Some(child)));
        }
    }
    anyhow::bail!("the agent ended before it listened")
}

async fn hub(address: SocketAddr) -> anyhow::Result<Hub> {
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
    parts.gateway = Some(gateway);
    Ok(Hub::new(parts))
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

/// Brings the agent in by its card.
async fn add(address: SocketAddr, url: &str) -> anyhow::Result<()> {
    let client = Client::new(Guard::new(local()));
    let errand = Errand::administrator(Purpose::Agent);
    let target = client.guard().check_url(&format!("http://{address}/api/v1/agents"), errand)?;
    let body = serde_json::json!({ "name": "agent", "card_url": url }).to_string();
    let mut request = Request::new(Method::POST, &target, body);
    request.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    let response = client.send(request).await?;
    let status = response.status();
    let text = response.collect(1 << 20).await?;
    ensure!(status.is_success(), "the hub answered {status}: {}", String::from_utf8_lossy(&text));
    Ok(())
}
