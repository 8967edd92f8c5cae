//! Why no card was found, and what was tried.

use std::{fmt, io, path::PathBuf, sync::Arc};

use http::StatusCode;
use nuncio_net::Refused;
use nuncio_protocol::json;

use super::{Verdict, source::InvalidSource};

/// Why there is no card. Cheap to clone: everybody who waits for one fetch gets it.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The text names no place.
    #[error(transparent)]
    Source(#[from] InvalidSource),
    /// The guard does not let anything go there.
    #[error("the card of {source_name} may not be fetched")]
    Refused {
        /// Where the card was to be looked for.
        source_name: String,
        /// Why not.
        #[source]
        refused: Refused,
    },
    /// No card is at any place where one could be.
    #[error("no agent card for {source_name}: {}", list(tried))]
    NoCard {
        /// Where the card was to be looked for.
        source_name: String,
        /// Every place that was tried, in order.
        tried: Vec<Tried>,
    },
    /// Something answered, and it was no card (H-17).
    #[error("no valid agent card for {source_name}: {}", list(tried))]
    AgentCardSchemaInvalid {
        /// Where the card was to be looked for.
        source_name: String,
        /// Every place that was tried, in order.
        tried: Vec<Tried>,
    },
    /// The file cannot be read.
    #[error("read the card in {}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// What the system said.
        #[source]
        source: Arc<io::Error>,
    },
    /// The card has no signature by a key that is trusted, and must have one.
    #[error(
        "the card of {source_name} is refused: {verdict}, and the policy requires a verified signature"
    )]
    Signature {
        /// Where the card came from.
        source_name: String,
        /// What is the matter with its signatures.
        verdict: Verdict,
    },
    /// The fetch ended without an answer, because the program is ending.
    #[error("the fetch of the card was broken off")]
    BrokenOff,
}

/// A place that was tried, and what came of it.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Tried {
    /// The URL, without its query.
    pub url: String,
    /// What came of it.
    pub outcome: Outcome,
}

/// Why one place gave no card.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Outcome {
    /// Nothing was sent, or no whole answer came.
    #[error("{0}{cause}", cause = cause(.0))]
    Failed(nuncio_net::Error),
    /// The answer was not a card, by its status.
    #[error("{0}")]
    Status(StatusCode),
    /// The answer leads elsewhere. It is not followed: whoever answers could lead into places
    /// that the one who asked may not see.
    #[error("{status} to `{location}`, which is not followed; name that URL itself")]
    Redirected {
        /// Which redirect.
        status: StatusCode,
        /// Where to, as far as it can be shown.
        location: String,
    },
    /// The card is shown to known callers only.
    #[error("{0}: the card itself needs credentials, register some for this origin")]
    NeedsCredentials(StatusCode),
    /// There is a card, and it is not that of the agent that was asked for, which shows its own to
    /// known callers only.
    #[error("the card of another agent, `{0}`")]
    AnotherAgent(String),
    /// The answer is no card.
    #[error("not an agent card: {0}")]
    NotACard(json::Error),
}

impl Error {
    /// Returns every place that was tried, in order.
    pub fn tried(&self) -> &[Tried] {
        match self {
            Self::NoCard { tried, .. } | Self::AgentCardSchemaInvalid { tried, .. } => tried,
            _ => &[],
        }
    }

    /// Tells whether a card that was good until now may be used in place of the one that
    /// could not be had. Not if it is our own rule that forbids to go there.
    pub(super) fn allows_last_known_good(&self) -> bool {
        let is_refusal =
            |tried: &Tried| matches!(tried.outcome, Outcome::Failed(nuncio_net::Error::Refused(_)));
        match self {
            Self::Refused { .. } | Self::Source(_) => false,
            _ => !self.tried().iter().any(is_refusal),
        }
    }

    pub(super) fn nothing(source_name: String, tried: Vec<Tried>) -> Self {
        let is_invalid = |tried: &Tried| matches!(tried.outcome, Outcome::NotACard(_));
        if tried.iter().any(is_invalid) {
            Self::AgentCardSchemaInvalid { source_name, tried }
        } else {
            Self::NoCard { source_name, tried }
        }
    }
}

impl Outcome {
    /// Tells whether other places of the same origin are sure to fare no better.
    pub(super) const fn is_final(&self) -> bool {
        match self {
            Self::Failed(error) => {
                error.is_unsent() || matches!(error, nuncio_net::Error::Timeout { .. })
            }
            _ => false,
        }
    }
}

impl fmt::Display for Tried {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.url, self.outcome)
    }
}

fn list(tried: &[Tried]) -> String {
    tried.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
}

/// Returns what lies behind an error of the network, which it does not print itself.
fn cause(error: &nuncio_net::Error) -> String {
    let source = std::error::Error::source(error);
    source.map(|source| format!(": {source}")).unwrap_or_default()
}
