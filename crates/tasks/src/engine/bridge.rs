//! From what went wrong inside to what a peer is told.

use std::time::Duration;

use nuncio_protocol::{
    error::{Error, ErrorKind, reason},
    ids::TaskId,
    state::TaskState,
};

use crate::{agent::Failure, log::SpoiltLog, scope::Name, store};

/// When a peer may try again after the store was not available.
const RETRY_AFTER: Duration = Duration::from_secs(1);

/// Reasons that A2A has no name for.
pub mod reasons {
    /// A key was used for another request.
    pub const KEY_REUSED: &str = "IDEMPOTENCY_KEY_REUSED";
    /// The caller has as many unfinished tasks as is allowed.
    pub const TOO_MANY: &str = "TOO_MANY";
    /// The store cannot take or give anything now.
    pub const STORE_UNAVAILABLE: &str = "STORE_UNAVAILABLE";
}

pub(super) fn no_agent(name: &Name) -> Error {
    Error::new(ErrorKind::Unavailable, format!("no agent {name} runs here"))
        .with_reason(reason::AGENT_UNAVAILABLE)
}

/// The agent could not answer. Only what it meant for the caller is told.
pub(super) fn agent_failed(failure: &Failure) -> Error {
    if let Some(error) = failure.source() {
        tracing::warn!(%error, "an agent failed");
    }
    Error::new(ErrorKind::Internal, failure.told())
}

pub(super) fn agent_panicked() -> Error {
    tracing::error!("an agent panicked");
    Error::new(ErrorKind::Internal, "the agent failed")
}

/// A finished task takes no messages (A2A digest §13).
pub(super) fn ended(task: &TaskId, state: TaskState) -> Error {
    let message = format!("task {task} has ended as {}; begin a new one", state.as_str());
    Error::new(ErrorKind::UnsupportedOperation, message)
        .with_reason(reason::TASK_NOT_MODIFIABLE)
        .with_metadata("taskId", task.as_str())
}

/// A task takes no messages while its agent works, unless that listens.
pub(super) fn busy(task: &TaskId) -> Error {
    let message = format!("task {task} is being worked on and takes no messages now");
    Error::new(ErrorKind::UnsupportedOperation, message)
}

pub(crate) fn invalid(field: &str, description: &str) -> Error {
    Error::new(ErrorKind::InvalidParams, format!("{field}: {description}"))
        .with_violation(field, description)
}

pub(super) fn key_of_a_removed_task() -> Error {
    Error::new(ErrorKind::InvalidParams, "the task of this idempotency key has been removed")
        .with_reason(reasons::KEY_REUSED)
}

impl From<store::Error> for Error {
    fn from(error: store::Error) -> Self {
        let message = error.to_string();
        match error {
            store::Error::DiskFull(_) | store::Error::Unavailable(_) => {
                Self::new(ErrorKind::Unavailable, message)
                    .with_reason(reasons::STORE_UNAVAILABLE)
                    .with_retry_after(RETRY_AFTER)
            }
            store::Error::KeyReused => {
                Self::new(ErrorKind::InvalidParams, message).with_reason(reasons::KEY_REUSED)
            }
            store::Error::ForeignContext => invalid("message.contextId", &message),
            // To wait does not help: only to remove one does.
            store::Error::TooMany { what: "webhooks", .. } => {
                Self::new(ErrorKind::InvalidParams, message).with_reason(reasons::TOO_MANY)
            }
            store::Error::TooMany { .. } => Self::new(ErrorKind::RateLimited, message)
                .with_reason(reasons::TOO_MANY)
                .with_retry_after(RETRY_AFTER),
            error => {
                // What a spoilt store or a lost race looks like inside is not for peers.
                tracing::error!(%error, "the store did what it should not");
                Self::new(ErrorKind::Internal, "the task could not be read or written")
            }
        }
    }
}

impl From<SpoiltLog> for Error {
    fn from(error: SpoiltLog) -> Self {
        store::Error::from(error).into()
    }
}
