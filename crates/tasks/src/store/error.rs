use nuncio_protocol::{ids::TaskId, state::TaskState};

use super::{Epoch, MAX_NOTE_BYTES};
use crate::log::SpoiltLog;

/// Why a store did not do what it was asked for.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The task has been removed.
    #[error("the task is gone")]
    Gone,
    /// Somebody else owns the task now.
    #[error("the task is at epoch {}, not {}", current.0, held.0)]
    Fenced {
        /// The writer's epoch.
        held: Epoch,
        /// The task's epoch.
        current: Epoch,
    },
    /// The task is in another state than the batch was made for.
    #[error("the task is {}, not {}", found.as_str(), expected.as_str())]
    StateChanged {
        /// The state the batch was made for.
        expected: TaskState,
        /// The state the task is in.
        found: TaskState,
    },
    /// A task with this identifier is there already.
    #[error("there is a task {0} already")]
    Exists(TaskId),
    /// The idempotency key was used for another request.
    #[error("the idempotency key was used for another request")]
    KeyReused,
    /// The conversation belongs to another caller.
    #[error("the context belongs to another caller")]
    ForeignContext,
    /// There are as many as is allowed.
    #[error("there are {limit} {what} already, which is the limit")]
    TooMany {
        /// What there are too many of: `unfinished tasks` or `webhooks`.
        what: &'static str,
        /// The limit.
        limit: u32,
    },
    /// The note is larger than [`MAX_NOTE_BYTES`].
    #[error("the note has {bytes} bytes, at most {MAX_NOTE_BYTES} are allowed")]
    NoteTooLarge {
        /// Its size.
        bytes: usize,
    },
    /// The disk is full. Reading goes on; writing can be tried again later.
    #[error("the disk is full")]
    DiskFull(#[source] Source),
    /// The store cannot be reached. It can be tried again later; nothing was written.
    #[error("the store is not available")]
    Unavailable(#[source] Source),
    /// What was read makes no sense: the store was spoilt from outside.
    #[error("the store is spoilt: {0}")]
    Spoilt(String),
}

/// What a database said.
pub type Source = Box<dyn std::error::Error + Send + Sync>;

impl Error {
    /// Tells whether the same call may succeed later, with nothing changed by the caller.
    pub fn is_temporary(&self) -> bool {
        matches!(self, Self::DiskFull(_) | Self::Unavailable(_))
    }
}

impl From<SpoiltLog> for Error {
    fn from(error: SpoiltLog) -> Self {
        Self::Spoilt(error.to_string())
    }
}
