//! `nuncio serve`: an agent in one line.

mod callers;
mod capabilities;
mod dialect;
mod member;

use std::{ffi::OsString, io::IsTerminal as _, path::PathBuf, sync::Arc};

use anyhow::{Context as _, bail};
use clap::Args;
use nuncio_net::listen::{ClientAuth, Tls};
use nuncio_protocol::card::{AgentCard, AgentSkill, CardBuilder};
use nuncio_server::{
    Bound, Server,
    kinds::{Command, Echo},
};
use nuncio_store::sqlite::{Options, SqliteStore};
use nuncio_tasks::push::SealingKey;

use self::{
    callers::{Callers, KeyFile},
    capabilities::Capabilities,
    dialect::{Dialect, dialects},
    member::Member,
};
use crate::{card::read_signer, data::Data, failure::Failure, hub, up, webhooks::Webhooks};

/// What is served, and how.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  nuncio serve                          an agent that echoes
  nuncio serve --name upper -- tr a-z A-Z
  nuncio serve --host 0.0.0.0 --tls-cert cert.pem --tls-key key.pem --keys keys.json
  nuncio serve --name upper --join -- tr a-z A-Z        as an agent of the local hub
  nuncio serve --port 8888 --pocketpaw ~/.pocketpaw/config.json -- ./assistant")]
pub(crate) struct Arguments {
    /// What the agent is called.
    #[arg(long, default_value = "echo")]
    name: String,

    /// What the agent does, for its card.
    #[arg(long)]
    description: Option<String>,

    /// The address to listen at; anywhere but on this machine callers must prove who they are.
    #[arg(long, default_value = "127.0.0.1")]
    host: String,

    /// The port to listen at; 0 takes any that is free.
    #[arg(long, default_value_t = 7420)]
    port: u16,

    /// The URL that callers are told, if it is not the address.
    #[arg(long)]
    public_url: Option<String>,

    /// Where tasks and secrets are kept; a folder of the user's otherwise.
    #[arg(long, value_name = "DIRECTORY", conflicts_with = "in_memory")]
    data_dir: Option<PathBuf>,

    /// Keep tasks in memory, and lose them at the end.
    #[arg(long)]
    in_memory: bool,

    #[command(flatten)]
    webhooks: Webhooks,

    /// Serve over TLS, with the certificate in this file (PEM) and those between it and its
    /// issuer.
    #[arg(long, value_name = "FILE", requires = "tls_key")]
    tls_cert: Option<PathBuf>,

    /// The private key of the certificate (PEM).
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    tls_key: Option<PathBuf>,

    /// Sign the card with this private key (PEM, or a JWK); `nuncio card keygen` makes one.
    #[arg(long, value_name = "FILE")]
    sign_key: Option<PathBuf>,

    #[command(flatten)]
    callers: Callers,

    /// Join a hub: register there, say how the agent is, and let in only whom the hub lets call
    /// it. Without a URL it is the hub of `NUNCIO_URL`, or the local one.
    #[arg(long, value_name = "HUB", num_args = 0..=1, default_missing_value = "", conflicts_with_all = ["keys", "jwt_issuer", "client_ca"])]
    join: Option<String>,

    /// The enrolment token for the first time; `nuncio token enrol` makes one. Without, the
    /// administrator's key of a local hub does. `NUNCIO_ENROL` keeps it to yourself.
    #[arg(long, value_name = "TOKEN", env = "NUNCIO_ENROL", hide_env_values = true)]
    enrol: Option<String>,

    /// Answer in the form of another system, too. Repeatable; of those that have methods with a
    /// slash, such as `message/send`, the last decides how these are answered.
    #[arg(long, value_enum, value_name = "SYSTEM")]
    dialect: Vec<Dialect>,

    /// Serve as an opportunity agent does, by its `agent.yaml`: what it can do
    /// (`a2a.capabilities`), with which payload and for whom.
    #[arg(long, value_name = "FILE")]
    opportunity: Option<PathBuf>,

    /// Serve as PocketPaw does, by its `config.json`: name, description, version, time limit and
    /// switch.
    #[arg(long, value_name = "FILE")]
    pocketpaw: Option<PathBuf>,

    /// A program to run for every message, with its arguments; without, the agent echoes.
    #[arg(last = true)]
    program: Vec<OsString>,
}

pub(crate) async fn run(arguments: Arguments) -> Result<(), Failure> {
    let serving = |error: anyhow::Error| Failure::serving(&error);
    let mut server = server(&arguments).map_err(serving)?;
    if let Some(key) = &arguments.sign_key {
        server = server.signer(read_signer(key)?);
    }
    let mut key_file = None;
    if let Some(entrance) = arguments.callers.entrance().map_err(serving)? {
        server = server.gatekeeper(entrance.gatekeeper);
        key_file = entrance.key_file;
    }
    let member = match &arguments.join {
        Some(url) => {
            let known = hub::at(Some(url.clone()).filter(|url| !url.is_empty()))?;
            Some(Member::open(&arguments.name, known, arguments.enrol.clone()).await?)
        }
        None => None,
    };
    if let Some(member) = &member {
        server = server.gatekeeper(member.gatekeeper().map_err(serving)?);
    }
    let address = format!("{}:{}", arguments.host, arguments.port);
    let bound = server.bind(&address).await;
    let bound = bound.map_err(|error| serving(up::not_bound(error, arguments.port)))?;
    let Some(member) = member else {
        announce(&bound, arguments.callers.have_keys());
        tokio::select! {
            () = bound.run_until_told() => return Ok(()),
            never = KeyFile::follow(key_file) => match never {},
        }
    };
    let member = member.register(bound.card()).await?;
    announce(&bound, true);
    tokio::select! {
        () = bound.run_until_told() => Ok(()),
        never = member.stay() => match never {},
    }
}

fn server(arguments: &Arguments) -> anyhow::Result<Server> {
    let is_local = matches!(arguments.host.as_str(), "127.0.0.1" | "::1" | "localhost");
    if !is_local && !arguments.callers.are_named() && arguments.join.is_none() {
        bail!(
            "{} can be reached from elsewhere, so callers must prove who they are: make a key \
             with `nuncio key new NAME --keys FILE`, and serve with --keys FILE; or serve with \
             --join as an agent of a hub",
            arguments.host
        );
    }
    let name = &arguments.name;
    let server = match arguments.program.split_first() {
        Some((program, rest)) => Server::new(name, Command::new(program, rest)),
        None => Server::new(name, Echo),
    };
    let capabilities = arguments.opportunity.as_deref().map(Capabilities::read).transpose()?;
    let (pocketpaw, capabilities) = (arguments.pocketpaw.as_deref(), capabilities.as_ref());
    let dialects = dialects(&arguments.dialect, capabilities, pocketpaw)?;
    let mut server = server.card(card(arguments, capabilities)).dialects(dialects);
    let sealing_key = if arguments.in_memory {
        SealingKey::generate()
    } else {
        let data = Data::open(arguments.data_dir.as_deref(), name)?;
        let store = SqliteStore::open(data.directory(), Options::default())?;
        server = server.store(Arc::new(store));
        data.sealing_key()?
    };
    server = server.push(arguments.webhooks.push(sealing_key));
    if let Some(tls) = tls(arguments)? {
        server = server.tls(tls);
    }
    if let Some(url) = &arguments.public_url {
        server = server.public_url(url);
    }
    Ok(server)
}

fn tls(arguments: &Arguments) -> anyhow::Result<Option<Tls>> {
    let (Some(certificate), Some(key)) = (&arguments.tls_cert, &arguments.tls_key) else {
        return Ok(None);
    };
    let shown = || format!("--tls-cert {} --tls-key {}", certificate.display(), key.display());
    let tls = Tls::from_files(certificate, key).with_context(shown)?;
    let Some(roots) = &arguments.callers.client_ca else { return Ok(Some(tls)) };
    let context = || format!("--client-ca {}", roots.display());
    let pem = std::fs::read(roots).with_context(context)?;
    Ok(Some(tls.client_roots(&pem, ClientAuth::Optional).with_context(context)?))
}

/// Says where it listens, and to people what to try.
#[expect(clippy::print_stderr, reason = "for people, and for scripts that wait for it")]
fn announce(bound: &Bound, needs_key: bool) {
    let url = bound.local_url();
    eprintln!("listening on {url}");
    if !std::io::stderr().is_terminal() {
        return;
    }
    let key = if needs_key { " -H \"X-API-Key: $KEY\"" } else { "" };
    eprintln!("its card:     {url}/.well-known/agent-card.json");
    eprintln!("try it:       curl -N {url}/message:stream{key} \\");
    eprintln!("                -H 'A2A-Version: 1.0' -H 'Content-Type: application/json' -d \\");
    eprintln!(
        "                '{{\"message\":{{\"messageId\":\"1\",\"role\":\"ROLE_USER\",\"parts\":[{{\"text\":\"hello\"}}]}}}}'"
    );
}

fn card(arguments: &Arguments, capabilities: Option<&Capabilities>) -> AgentCard {
    let name = &arguments.name;
    let description =
        arguments.description.clone().unwrap_or_else(|| match arguments.program.first() {
            Some(program) => format!("Runs {}", program.to_string_lossy()),
            None => "Says what it hears".to_owned(),
        });
    let skills = match capabilities {
        Some(capabilities) => capabilities.skills().collect(),
        None => vec![AgentSkill::new(name, name, &description, [name])],
    };
    let card = AgentCard::builder(name).description(&description).streaming().push_notifications();
    let card = skills.into_iter().fold(card, CardBuilder::skill);
    if arguments.program.is_empty() {
        return card.input_modes(["*/*"]).output_modes(["*/*"]).build();
    }
    card.input_modes(Command::TAKES).build()
}
