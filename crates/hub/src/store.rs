//! What a database must do for a hub.
//!
//! A store knows nothing of agents. It keeps *records*, small JSON documents under a kind and a
//! key, and a *log* of events; both change together, in one transaction, and only for somebody
//! who has seen the newest version. So the hub decides in memory, on what it has read, and its
//! decision holds for every process on the same database.
//!
//! Beside them stand three things that need no version: the last heartbeat of each agent, which
//! only ever replaces the one before, what was spent today, and the audit trail, which only grows.
//!
//! Invariant: versions, events and lines of the trail are numbered without a gap, from 1.

use std::{fmt, pin::Pin, time::Duration};

use nuncio_protocol::{
    ids::{AgentId, Organisation},
    time::Timestamp,
};
use nuncio_tasks::store::Error;

use crate::audit::Link;

/// The future of a store's answer.
pub type Answer<'a, T> = Pin<Box<dyn Future<Output = Result<T, Error>> + Send + 'a>>;

/// How often the records have changed. Nothing was ever written at 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Version(pub u64);

/// What a record is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// An agent; its key is the agent's id.
    Agent,
    /// A key or token, hashed; its key is the id of the key.
    Key,
    /// A rule; its key is the rule's id.
    Rule,
    /// What an organisation has decided; its key is the name of the organisation.
    Organisation,
    /// What hubs on one database tell one another; its key says of what.
    Note,
    /// A version of a workflow; its key is the id of its agent, and the version.
    Workflow,
    /// What begins runs; its key is the id of the trigger.
    Trigger,
}

impl Kind {
    /// All of them.
    pub const ALL: [Self; 7] = [
        Self::Agent,
        Self::Key,
        Self::Rule,
        Self::Organisation,
        Self::Note,
        Self::Workflow,
        Self::Trigger,
    ];

    /// Returns the word that stands in databases.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Agent => "agent",
            Self::Key => "key",
            Self::Rule => "rule",
            Self::Organisation => "organisation",
            Self::Note => "note",
            Self::Workflow => "workflow",
            Self::Trigger => "trigger",
        }
    }

    /// Reads the word that stands in databases.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.as_str() == name)
    }
}

/// A record, as it is or as it shall be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// What it is about.
    pub kind: Kind,
    /// Which of its kind.
    pub key: String,
    /// The document; `None` if the record was removed.
    pub body: Option<String>,
}

/// What changed behind a version.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Changes {
    /// The version now.
    pub version: Version,
    /// Every record that is different, once, as it is now, in no order.
    pub records: Vec<Record>,
}

/// What is written at once, or not at all.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Commit {
    /// The version that the writer has seen.
    pub seen: Version,
    /// Records to put in place of those with the same kind and key; no two of them are the same.
    pub records: Vec<Record>,
    /// Events to append.
    pub events: Vec<NewEvent>,
    /// Lines for the audit trail.
    pub audit: Vec<String>,
}

/// Whether something was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Committed {
    /// It was, and this is the version now: one more than was seen.
    Done {
        /// The version now.
        version: Version,
        /// The number of the last event in the log, new or old.
        last_event: u64,
    },
    /// Nothing was: others have written since.
    Behind,
}

/// An event that has no number yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewEvent {
    /// In which organisation it happened.
    pub organisation: Organisation,
    /// What it is called, such as `WORKSPACE_ONLINE`.
    pub name: String,
    /// The agent that it is about, if it is about one.
    pub agent: Option<AgentId>,
    /// When it happened.
    pub at: Timestamp,
    /// A JSON object with the rest.
    pub payload: String,
}

/// An event of the log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoggedEvent {
    /// Its place in the log.
    pub seq: u64,
    /// What happened.
    pub event: NewEvent,
}

/// Which events are wanted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EventQuery {
    /// Only events of this organisation.
    pub organisation: Organisation,
    /// Only events about this agent.
    pub agent: Option<AgentId>,
    /// Only events with this name.
    pub name: Option<String>,
    /// Only events behind this one.
    pub after: u64,
    /// At most so many, the oldest first.
    pub limit: u32,
}

/// The last word of an agent about itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredBeat {
    /// The agent.
    pub agent: AgentId,
    /// A JSON object with what it said.
    pub body: String,
    /// When it said so, by the clock of the store.
    pub at: Timestamp,
}

/// Heartbeats that came in behind a tick.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Beats {
    /// The newest tick.
    pub tick: u64,
    /// The last beat of each agent that has sent one since.
    pub beats: Vec<StoredBeat>,
}

/// A line of the audit trail.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AuditLine {
    /// Its place in the trail.
    pub seq: u64,
    /// What ties it to the lines before it.
    pub link: Link,
    /// A JSON object.
    pub body: String,
}

/// How much may be spent in a day.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Allowance {
    /// By whom, or on whom.
    pub key: String,
    /// So much.
    pub limit: u64,
}

/// Keeps what a hub knows.
///
/// Writing is durable before it is answered. A future that is dropped may have written.
pub trait HubStore: Send + Sync + fmt::Debug + 'static {
    /// Tells whether other processes may write here too, so that what they have written has to be
    /// looked for.
    fn is_shared(&self) -> bool {
        true
    }

    /// Returns what changed behind a version; everything, behind version 0. Records that were
    /// made and removed in between may be among them, without a body.
    fn changes(&self, after: Version) -> Answer<'_, Changes>;

    /// Writes everything at once if the version is still the one that was seen.
    fn commit(&self, commit: Commit) -> Answer<'_, Committed>;

    /// Returns events, the oldest first.
    fn events(&self, query: EventQuery) -> Answer<'_, Vec<LoggedEvent>>;

    /// Returns the number of the last event of all.
    fn last_event(&self) -> Answer<'_, u64>;

    /// Puts a heartbeat in place of the agent's last one, stamped by the clock of the store, and
    /// returns the stamp.
    fn beat(&self, agent: AgentId, body: String) -> Answer<'_, Timestamp>;

    /// Returns the heartbeats that came in behind a tick.
    fn beats(&self, after: u64) -> Answer<'_, Beats>;

    /// Returns agents whose last beat is older than this by the clock of the store. Agents that
    /// never sent one are not among them.
    fn silent(&self, longer_than: Duration) -> Answer<'_, Vec<AgentId>>;

    /// Forgets the heartbeats of an agent.
    fn forget_beats(&self, agent: AgentId) -> Answer<'_, ()>;

    /// Spends one of each allowance of a day, or of none if one of them is used up: then its
    /// place in the list is returned.
    ///
    /// Days are numbered from 1970. Of each key only the newest day is kept: who is a day behind
    /// spends of that, and what was spent days before may be forgotten.
    fn spend(&self, day: u32, allowances: Vec<Allowance>) -> Answer<'_, Option<usize>>;

    /// Appends to the audit trail. Each line is tied to the one before it by
    /// [`Link::after`].
    fn audit(&self, lines: Vec<String>) -> Answer<'_, ()>;

    /// Returns lines of the audit trail behind one, the oldest first.
    fn audit_trail(&self, after: u64, limit: u32) -> Answer<'_, Vec<AuditLine>>;
}
