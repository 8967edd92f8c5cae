//! Why the hub did not do what it was asked for.

use nuncio_auth::rules::{Decision, MoveError};
use nuncio_net::egress::Refused;
use nuncio_protocol::ids::AgentId;
use nuncio_tasks::store;

use crate::{
    agent::InvalidCard,
    beat::InvalidBeat,
    name::{AgentName, InvalidName},
};

/// Why the hub did not do what it was asked for.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// There is no such thing, or none that the asker may know of.
    #[error("there is no such {what}")]
    Unknown {
        /// What there is not: `agent`, `rule`, `key`.
        what: &'static str,
    },
    /// The agent was removed.
    #[error("the agent {agent} was removed{}", match forwarded_to {
        Some(other) => format!("; {other} stands in for it"),
        None => String::new(),
    })]
    Gone {
        /// Which.
        agent: AgentId,
        /// Who stands in for it.
        forwarded_to: Option<AgentId>,
    },
    /// Another agent has the name.
    #[error("there is an agent called `{name}` already; choose another name")]
    NameTaken {
        /// The name.
        name: AgentName,
    },
    /// Another agent has a name that looks the same.
    #[error("`{name}` looks like `{other}`, which is another agent; choose another name")]
    LookAlike {
        /// The name.
        name: AgentName,
        /// The name of the other.
        other: AgentName,
    },
    /// Another agent has the id.
    #[error("there is an agent with the id {id} already")]
    IdTaken {
        /// The id.
        id: AgentId,
    },
    /// An agent that has others below it.
    #[error("{count} agents stand below it; say what becomes of them")]
    HasChildren {
        /// How many.
        count: usize,
    },
    /// A value that is not taken.
    #[error("`{field}` {problem}")]
    Invalid {
        /// Where.
        field: &'static str,
        /// What is wrong with it, and what would do.
        problem: String,
    },
    /// A name that is not taken.
    #[error(transparent)]
    Name(#[from] InvalidName),
    /// A card that is not taken.
    #[error(transparent)]
    Card(#[from] InvalidCard),
    /// A heartbeat that is not taken.
    #[error(transparent)]
    Beat(#[from] InvalidBeat),
    /// A move that is not possible.
    #[error(transparent)]
    Move(#[from] MoveError),
    /// An address that may not be used.
    #[error("`{field}` {refused}")]
    Address {
        /// Where.
        field: &'static str,
        /// Why.
        #[source]
        refused: Box<Refused>,
    },
    /// Somebody may not do this.
    #[error("{decision}")]
    Denied {
        /// Why.
        decision: Box<Decision>,
    },
    /// Somebody may not do this, whatever the rules say.
    #[error("{0}")]
    Forbidden(&'static str),
    /// There are as many as is allowed.
    #[error("there are {limit} {what} already, which is the limit")]
    TooMany {
        /// Of what.
        what: &'static str,
        /// How many.
        limit: usize,
    },
    /// Somebody else has saved a workflow meanwhile.
    #[error("version {found} is the newest, not {expected}; look at it and save again")]
    VersionChanged {
        /// The version that was seen.
        expected: u32,
        /// The version that there is.
        found: u32,
    },
    /// The agent is known, and nobody knows where it is.
    #[error("the agent has no address")]
    NoAddress,
    /// The database said no.
    #[error("the directory is not available")]
    Store(#[from] store::Error),
}

impl Error {
    pub(crate) fn invalid(field: &'static str, problem: impl Into<String>) -> Self {
        Self::Invalid { field, problem: problem.into() }
    }

    pub(crate) const fn no_agent() -> Self {
        Self::Unknown { what: "agent" }
    }

    /// Returns a word that programs may rely on.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Unknown { .. } => "NOT_FOUND",
            Self::Gone { .. } => "GONE",
            Self::NameTaken { .. } => "NAME_TAKEN",
            Self::LookAlike { .. } => "LOOK_ALIKE",
            Self::IdTaken { .. } => "ID_TAKEN",
            Self::HasChildren { .. } => "HAS_CHILDREN",
            Self::VersionChanged { .. } => "VERSION_CHANGED",
            Self::Invalid { .. } => "INVALID",
            Self::Name(_) => "INVALID_NAME",
            Self::Card(InvalidCard::Untrusted { .. }) => "CARD_NOT_TRUSTED",
            Self::Card(_) => "INVALID_CARD",
            Self::Beat(_) => "INVALID_HEARTBEAT",
            Self::Move(error) => match error {
                MoveError::UnknownAgent | MoveError::UnknownParent => "NOT_FOUND",
                MoveError::TooDeep => "TOO_DEEP",
                _ => "CYCLE",
            },
            Self::Address { .. } => "ADDRESS_REFUSED",
            Self::Denied { decision } => decision.reason().code(),
            Self::Forbidden(_) => "FORBIDDEN",
            Self::TooMany { .. } => "TOO_MANY",
            Self::NoAddress => "NO_ADDRESS",
            Self::Store(_) => "UNAVAILABLE",
        }
    }
}
