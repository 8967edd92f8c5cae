//! `nuncio connect`: an agent that nobody can reach joins a hub, and fetches its work there.

mod agent;
mod work;

use std::{ffi::OsString, io::IsTerminal as _, path::PathBuf, sync::Arc, time::Duration};

use clap::Args;
use http::Method;
use nuncio_net::listen::told_to_stop;
use nuncio_protocol::{
    card::AgentCard,
    json::{self, Raw},
};
use serde::{Deserialize, Serialize};
use tokio::time::sleep;

use self::{agent::Behind, work::Desk};
use crate::{
    data,
    failure::Failure,
    hub::{Flags, Hub, parse, segment},
    output::note,
};

/// Make a program or an agent on this machine an agent of a hub, from behind any firewall.
///
/// Nothing listens here: the agent dials out, fetches its work and brings back what came of it.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  nuncio connect laptop -- ./answer.sh
  nuncio connect laptop --agent http://127.0.0.1:9000")]
pub(crate) struct Arguments {
    /// What the agent is called in the hub's directory.
    name: String,

    /// The agent that does the work, if it is no program: a URL that this machine reaches.
    #[arg(long, value_name = "URL", conflicts_with = "program")]
    agent: Option<String>,

    /// What the agent does, for its card.
    #[arg(long)]
    description: Option<String>,

    /// The enrolment token for the first time; `nuncio token enrol` makes one. Without, the
    /// administrator's key of a local hub does. `NUNCIO_ENROL` keeps it to yourself.
    #[arg(long, value_name = "TOKEN", env = "NUNCIO_ENROL", hide_env_values = true)]
    enrol: Option<String>,

    /// How much is done at once.
    #[arg(long, value_name = "COUNT", default_value_t = 8)]
    at_once: usize,

    #[command(flatten)]
    flags: Flags,

    /// A program to run for every message, with its arguments.
    #[arg(last = true)]
    program: Vec<OsString>,
}

/// Who we are to a hub.
#[derive(Debug, Serialize, Deserialize)]
struct Kept {
    hub: String,
    id: String,
    token: String,
}

#[derive(Serialize)]
struct Register<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<&'a str>,
    name: &'a str,
    card: Raw,
    delivery: &'static str,
}

#[derive(Deserialize)]
struct Registered {
    agent: Registrant,
    token: Option<String>,
    heartbeat_seconds: u64,
}

#[derive(Deserialize)]
struct Registrant {
    id: String,
    name: String,
}

pub(crate) async fn run(arguments: Arguments) -> Result<(), Failure> {
    if arguments.agent.is_none() && arguments.program.is_empty() {
        return Err(Failure::usage("who does the work?")
            .hint("name a program after `--`, or an agent with --agent"));
    }
    let behind = Behind::open(&arguments).await?;
    let joined = join(&arguments, behind.card()).await?;
    tell(&joined);
    let desk = Arc::new(Desk::new(joined.hub, behind, arguments.at_once.max(1)));
    let beats = beat(Arc::clone(&desk), joined.id.clone(), joined.every);
    tokio::select! {
        ended = desk.work() => ended,
        never = beats => never,
        () = told_to_stop() => Ok(()),
    }
}

/// A hub that knows us.
struct Joined {
    hub: Hub,
    id: String,
    name: String,
    every: Duration,
}

/// Registers, the first time with somebody else's word, later with the agent's own.
async fn join(arguments: &Arguments, card: &AgentCard) -> Result<Joined, Failure> {
    let path = kept_at(&arguments.name)?;
    let known = arguments.flags.known();
    let kept = read(&path).filter(|kept| kept.hub == known.url);
    let word = match (&kept, &arguments.enrol) {
        (Some(kept), _) => Some(kept.token.clone()),
        (None, Some(token)) => Some(token.clone()),
        (None, None) => known.key,
    };
    let hub = Hub::new(&known.url, word.as_deref())?;
    let card = Raw::parse_text(&json::to_string(card));
    let card = card.map_err(|error| Failure::internal(error.to_string()))?;
    let id = kept.as_ref().map(|kept| kept.id.as_str());
    let register = Register { id, name: &arguments.name, card, delivery: "pull" };
    let bytes = hub.call(Method::POST, "/api/v1/register", Some(&register)).await;
    let bytes = bytes.map_err(|failure| match kept {
        Some(_) => failure.or_hint(|| {
            format!("if the hub has forgotten this agent, remove {} and try again", path.display())
        }),
        None => failure,
    })?;
    let Registered { agent, token, heartbeat_seconds } = parse(&bytes)?;
    let token = token.or_else(|| kept.map(|kept| kept.token)).ok_or_else(|| {
        Failure::usage("an agent of this name is registered already, and its token is not here")
            .hint("choose another name, or remove the agent with `nuncio agents remove`")
    })?;
    let kept = Kept { hub: known.url.clone(), id: agent.id.clone(), token };
    let text = serde_json::to_vec(&kept).map_err(|error| Failure::internal(error.to_string()))?;
    data::write_secret(&path, &text).map_err(|error| Failure::internal(format!("{error:#}")))?;
    let every = Duration::from_secs(heartbeat_seconds.max(1));
    let hub = Hub::new(&known.url, Some(&kept.token))?;
    Ok(Joined { hub, id: agent.id, name: agent.name, every })
}

fn kept_at(name: &str) -> Result<PathBuf, Failure> {
    data::connected(name).map_err(|error| Failure::internal(format!("{error:#}")))
}

fn read(path: &PathBuf) -> Option<Kept> {
    serde_json::from_slice(&std::fs::read(path).ok()?).ok()
}

/// Says that it is there, for people and for scripts that wait for it.
fn tell(joined: &Joined) {
    note(&format!("connected as {}", joined.name));
    if std::io::stderr().is_terminal() {
        note(&format!("try it:       nuncio send -a {} hello", joined.name));
    }
}

#[derive(Serialize)]
struct Beat {
    active_tasks: usize,
}

/// Says how the agent is, for as long as it is there.
async fn beat(desk: Arc<Desk>, id: String, every: Duration) -> Result<(), Failure> {
    let path = format!("/api/v1/agents/{}/heartbeat", segment(&id));
    loop {
        let beat = Beat { active_tasks: desk.under_way() };
        if let Err(failure) = desk.hub().call(Method::POST, &path, Some(&beat)).await {
            tracing::debug!(error = failure.message(), "a heartbeat was not heard");
        }
        sleep(every).await;
    }
}
