//! A process that writes what a hub knows as fast as it can, and says what is acknowledged.
//!
//! The test kills it, reads from the store what is there, and compares ([`Told`]).

mod told;

use std::{
    io::{self, Write as _},
    sync::Arc,
};

use anyhow::Context as _;
use nuncio_hub::store::{Commit, Committed, HubStore, Kind, NewEvent, Record, Version};
use nuncio_protocol::{
    ids::{AgentId, Organisation},
    time::Timestamp,
};
use nuncio_store::{
    postgres::{self, PostgresStore},
    sqlite::{self, SqliteStore},
};

pub use told::{Compared, Told};

use crate::node::Kept;

/// How many agents send heartbeats.
const AGENTS: usize = 8;

/// The records that every commit writes, all or none.
const PAIR: [&str; 2] = ["left", "right"];

/// How many events every commit writes.
const EVENTS: u64 = 2;

/// Something that was acknowledged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ack {
    /// A commit, with its version.
    Commit(u64),
    /// A heartbeat: the agent, how many it has sent, and the stamp in milliseconds.
    Beat(usize, u64, i64),
    /// A line of the trail that needs no commit, which is the first of its writer, the second
    /// and so on.
    Line(String),
}

impl Ack {
    fn say(&self) -> io::Result<()> {
        let words = match self {
            Self::Commit(version) => format!("commit {version}"),
            Self::Beat(agent, number, at) => format!("beat {agent} {number} {at}"),
            Self::Line(line) => format!("line {line}"),
        };
        // One write: a kill tears at most the last line, which then lacks its end.
        io::stdout().lock().write_all(format!("{words} .\n").as_bytes())
    }

    /// Reads what was said. `None`: a line that a kill has torn.
    pub fn read(line: &str) -> Option<Self> {
        let words: Vec<&str> = line.split(' ').collect();
        match words[..] {
            ["commit", version, "."] => Some(Self::Commit(version.parse().ok()?)),
            ["beat", agent, number, at, "."] => {
                Some(Self::Beat(agent.parse().ok()?, number.parse().ok()?, at.parse().ok()?))
            }
            ["line", line, "."] => Some(Self::Line(line.to_owned())),
            _ => None,
        }
    }
}

/// Opens what a hub keeps things in.
pub async fn open(kept: &Kept) -> anyhow::Result<Arc<dyn HubStore>> {
    match kept {
        Kept::Memory => anyhow::bail!("memory does not outlive a kill"),
        Kept::Sqlite(directory) => {
            Ok(Arc::new(SqliteStore::open(directory, sqlite::Options::default())?))
        }
        Kept::Postgres(url) => {
            Ok(Arc::new(PostgresStore::open(&postgres::Options::new(url)).await?))
        }
    }
}

/// Writes until it is killed. The arguments say where, and give the run a name of its own.
pub fn main(mut arguments: impl Iterator<Item = String>) -> anyhow::Result<()> {
    let kept = Kept::parse(&arguments.next().context("where is everything kept?")?)?;
    let run = arguments.next().context("which run is it?")?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(async {
        let store = open(&kept).await?;
        tokio::select! {
            ended = commits(&*store) => ended,
            ended = beats(&*store) => ended,
            ended = lines(&*store, &run) => ended,
        }
    })
}

/// Commits one after the other. Each says its version in everything that it writes.
async fn commits(store: &dyn HubStore) -> anyhow::Result<()> {
    let mut seen = store.changes(Version(0)).await?.version;
    loop {
        let number = (seen.0 + 1).to_string();
        let record = |key: &str| Record {
            kind: Kind::Agent,
            key: key.to_owned(),
            body: Some(number.clone()),
        };
        let event = || {
            Ok::<_, anyhow::Error>(NewEvent {
                organisation: organisation()?,
                name: number.clone(),
                agent: None,
                at: Timestamp::now(),
                payload: "{}".to_owned(),
            })
        };
        let commit = Commit {
            seen,
            records: PAIR.map(record).to_vec(),
            events: (0..EVENTS).map(|_| event()).collect::<Result<_, _>>()?,
            audit: vec![format!("commit-{number}")],
        };
        let Committed::Done { version, .. } = store.commit(commit).await? else {
            anyhow::bail!("somebody else has written")
        };
        Ack::Commit(version.0).say()?;
        seen = version;
    }
}

/// Sends heartbeats of all agents in turn.
async fn beats(store: &dyn HubStore) -> anyhow::Result<()> {
    let mut number = store.beats(0).await?.tick;
    loop {
        for index in 0..AGENTS {
            number += 1;
            let at = store.beat(agent(index)?, number.to_string()).await?;
            Ack::Beat(index, number, at.as_millis()).say()?;
        }
    }
}

/// Appends to the trail.
async fn lines(store: &dyn HubStore, run: &str) -> anyhow::Result<()> {
    for number in 0_u64.. {
        let line = format!("{run}-{number}");
        store.audit(vec![line.clone()]).await?;
        Ack::Line(line).say()?;
    }
    Ok(())
}

fn agent(index: usize) -> anyhow::Result<AgentId> {
    AgentId::parse(&format!("agent-{index}")).context("an agent has a name")
}

fn organisation() -> anyhow::Result<Organisation> {
    Organisation::parse("acme").context("an organisation has a name")
}
