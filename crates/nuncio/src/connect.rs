//! `nuncio connect`: an agent that nobody can reach joins a hub, and fetches its work there.

mod agent;
mod line;
mod work;

use std::{ffi::OsString, io::IsTerminal as _, str::FromStr, sync::Arc};

use clap::Args;
use nuncio_net::listen::told_to_stop;

use self::{agent::Behind, work::Desk};
use crate::{
    failure::Failure,
    hub::Flags,
    join::{Beat, Delivery, Joined, Joining},
    output::note,
};

/// Make a program or an agent on this machine an agent of a hub, from behind any firewall.
///
/// Nothing listens here: the agent dials out, fetches its work and brings back what came of it.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  nuncio connect laptop -- ./answer.sh
  nuncio connect laptop --exec './answer.sh --short'
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

    /// A program to run for every message, with its arguments in one text, as after `--`. Quotes
    /// and backslashes count as in a shell; nothing else does.
    #[arg(long, value_name = "COMMAND", conflicts_with_all = ["program", "agent"])]
    exec: Option<Words>,

    #[command(flatten)]
    flags: Flags,

    /// A program to run for every message, with its arguments.
    #[arg(last = true)]
    program: Vec<OsString>,
}

/// The words of a command line.
#[derive(Clone, Debug)]
struct Words(Vec<OsString>);

impl FromStr for Words {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let words = shlex::split(text).ok_or("a quote in it does not end")?;
        if words.is_empty() {
            return Err("expected a program and its arguments");
        }
        Ok(Self(words.into_iter().map(OsString::from).collect()))
    }
}

impl Arguments {
    /// Returns the program and its arguments.
    fn program(&self) -> &[OsString] {
        self.exec.as_ref().map_or(&self.program, |Words(words)| words)
    }
}

pub(crate) async fn run(arguments: Arguments) -> Result<(), Failure> {
    if arguments.agent.is_none() && arguments.program().is_empty() {
        return Err(Failure::usage("who does the work?")
            .hint("name a program after `--` or with --exec, or an agent with --agent"));
    }
    let behind = Behind::open(&arguments).await?;
    let joining =
        Joining::open(&arguments.name, arguments.flags.known()?, arguments.enrol.clone())?;
    let joined = joining.register(None, behind.card(), Delivery::Pull).await?;
    tell(&joined);
    let desk = Arc::new(Desk::new(joined.own_hub()?, behind, arguments.at_once.max(1)));
    let counting = Arc::clone(&desk);
    let beats = joined.beat(move || Beat { active_tasks: Some(counting.under_way()) });
    tokio::select! {
        ended = desk.work() => ended,
        never = beats => match never {},
        () = told_to_stop() => Ok(()),
    }
}

/// Says that it is there, for people and for scripts that wait for it.
fn tell(joined: &Joined) {
    note(&format!("connected as {}", joined.name()));
    if std::io::stderr().is_terminal() {
        note(&format!("try it:       nuncio send -a {} hello", joined.name()));
    }
}
