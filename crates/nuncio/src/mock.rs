//! `nuncio mock`: an agent that follows a script, for tests of whatever calls agents.
//!
//! The script is a YAML file (`script`): who the agent is, which steps follow which message
//! (`rule`, `step`, `agent`), and what goes wrong (`fault`). Everything that goes right is the
//! real `nuncio_server` with the real task engine, so that what a test learns here holds for
//! agents that exist.
//!
//! What goes wrong, goes wrong in a layer between the wire and the server (`wire`), and not in a
//! proxy before it: there is one connection to break and not two, callers keep their address,
//! HTTP/2 and gRPC pass through untouched, and a port is all that is needed.
//!
//! Nothing is random: faults count requests, and delays are what the file says.

mod agent;
mod card;
mod document;
mod fault;
mod pause;
mod rule;
mod script;
mod step;
mod stream;
mod template;
mod wire;

use std::{path::PathBuf, time::Duration};

use anyhow::{Context as _, anyhow, bail};
use clap::Args;
use nuncio_auth::{ApiKey, ApiKeys, Gatekeeper};
use nuncio_protocol::json;
use nuncio_server::{Bound, Dialects, Limits, Server};
use nuncio_tasks::push::SealingKey;

use self::{
    agent::Scripted,
    card::Cards,
    fault::{Faults, Signature},
    script::Script,
    wire::{Faulty, Wrong},
};
use crate::{failure::Failure, up, webhooks::Webhooks};

/// Work is not worth waiting for when a test ends.
const PATIENCE: Duration = Duration::from_secs(1);

/// What is served, and where.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  nuncio mock agent.yaml
  nuncio mock agent.yaml --port 0")]
pub(crate) struct Arguments {
    /// The script; `{}` is one, and echoes.
    file: PathBuf,

    /// The address to listen at; anything but this machine needs `auth` in the script.
    #[arg(long, default_value = "127.0.0.1")]
    host: String,

    /// The port to listen at; 0 takes any that is free.
    #[arg(long, default_value_t = 7420)]
    port: u16,

    #[command(flatten)]
    webhooks: Webhooks,
}

pub(crate) async fn run(arguments: Arguments) -> Result<(), Failure> {
    let file = arguments.file.display();
    let text = std::fs::read_to_string(&arguments.file)
        .map_err(|error| Failure::usage(format!("read {file}: {error}")))?;
    let script = Script::read(&text).map_err(|error| Failure::usage(format!("{file}:{error}")))?;
    let is_local = matches!(arguments.host.as_str(), "127.0.0.1" | "::1" | "localhost");
    if !is_local && script.auth.is_none() {
        return Err(Failure::usage(format!(
            "{} can be reached from elsewhere, so callers must prove who they are: give {file} \
             `auth: {{keys: […]}}`, with keys of `nuncio key new NAME --keys FILE`",
            arguments.host
        )));
    }
    let server = server(&script).map_err(|error| Failure::usage(format!("{file}: {error:#}")))?;
    let server = server.push(arguments.webhooks.push(SealingKey::generate()));
    let address = format!("{}:{}", arguments.host, arguments.port);
    let bound = server.bind(&address).await;
    let bound = bound.map_err(|error| Failure::serving(&up::not_bound(error, arguments.port)))?;
    let mock = Mock::new(&script, bound);
    announce(&mock.bound);
    mock.run_until_told().await;
    Ok(())
}

/// An agent that follows a script, at its place.
pub(crate) struct Mock {
    bound: Bound,
    wrong: Wrong,
}

impl Mock {
    /// Takes a place on this machine for the agent of a script that is part of the program.
    pub(crate) async fn own(script: &str) -> anyhow::Result<Self> {
        let script = Script::read(script).map_err(|error| anyhow!("{error}"))?;
        let server = server(&script).context("the script")?;
        Ok(Self::new(&script, server.bind("127.0.0.1:0").await?))
    }

    fn new(script: &Script, bound: Bound) -> Self {
        let wrong = Wrong {
            faults: Faults::new(&script.faults),
            cards: Cards::new(script, bound.card(), bound.local_url()),
            offered: script.offered(),
        };
        Self { bound, wrong }
    }

    /// Returns where it listens.
    pub(crate) fn url(&self) -> &str {
        self.bound.local_url()
    }

    /// Returns its card, as it is told to those who name no version.
    pub(crate) fn card(&self) -> String {
        match &self.wrong.cards {
            Some(cards) => cards.unversioned(),
            None => json::to_string(self.bound.card()),
        }
    }

    /// Answers until the process is told to stop.
    pub(crate) async fn run_until_told(self) {
        let Self { bound, wrong } = self;
        // An old agent has a card of its own.
        if wrong.faults.is_empty() && wrong.cards.is_none() {
            bound.run_until_told().await;
        } else {
            bound.run_until_told_behind(|front| Faulty::new(front, wrong)).await;
        }
    }
}

#[expect(clippy::print_stderr, reason = "for people, and for scripts that wait for it")]
fn announce(bound: &Bound) {
    eprintln!("listening on {}", bound.local_url());
}

/// Puts together what goes right.
fn server(script: &Script) -> anyhow::Result<Server> {
    let agent = Scripted::new(script.rules.clone(), script.otherwise.clone());
    let mut limits = Limits::default();
    limits.drain = PATIENCE;
    let card = script.card.build();
    let mut server = Server::new(&script.card.name, agent)
        .limits(limits)
        .dialects(Dialects::from(script.offered()));
    if script.card.capabilities.extended_agent_card {
        if script.auth.is_none() {
            bail!("an extended card is for known callers: give the script `auth`, or leave it out");
        }
        server = server.extended_card(card.clone());
    }
    server = server.card(card);
    let is_signed = script.card.signed
        || script.card_faults().any(|fault| fault.signature == Some(Signature::Bad));
    if is_signed {
        if !script.card.interfaces.is_empty() {
            bail!("`card.interfaces` are put in after signing; leave them out, or `signed`");
        }
        server = server.sign()?;
    }
    if let Some(auth) = &script.auth {
        let keys = ApiKeys::new();
        for (index, key) in auth.keys.iter().enumerate() {
            let key: ApiKey = key.parse().with_context(|| {
                format!("auth.keys[{index}]: make one with `nuncio key new NAME --keys FILE`")
            })?;
            keys.add(key.record(format!("caller-{}", index + 1)));
        }
        server = server.gatekeeper(Gatekeeper::builder().api_keys(keys).build()?);
    }
    Ok(server)
}
