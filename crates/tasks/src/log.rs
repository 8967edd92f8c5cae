//! The log of a task: what happened, in the one order there is.
//!
//! Invariant: a task is the fold of its log. Entries are numbered 1, 2, 3 … without a gap, and
//! every entry is an event that readers see, so a stream is a slice of the log and nothing
//! else.

mod batch;
mod fold;

use nuncio_protocol::{
    json::{Object, Shared},
    message::Message,
    task::StreamResponse,
};

pub use batch::{Batch, Refused};
pub(crate) use batch::{CANCEL_REFUSED, CANCEL_REQUESTED};
pub use fold::{Folded, Snapshot, SpoiltLog};

/// The place of an entry in its task's log. The first is 1; 0 stands before it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Seq(pub u64);

impl Seq {
    /// Before the first entry.
    pub const START: Self = Self(0);

    /// Returns the place behind this one.
    #[must_use]
    pub const fn next(self) -> Self {
        Self(self.0 + 1)
    }

    /// Returns the place so many entries behind this one.
    #[must_use]
    pub const fn plus(self, count: usize) -> Self {
        Self(self.0 + count as u64)
    }
}

impl std::fmt::Display for Seq {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(f)
    }
}

/// Who caused an entry, and what for. Numbers are those in the stores.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// The task began.
    Opened = 1,
    /// The agent said something: a status or an artifact.
    Output = 2,
    /// Somebody said something to the agent; the entry carries the message.
    Input = 3,
    /// Somebody wants the work to end.
    Cancel = 4,
}

impl Kind {
    /// Finds a kind by its number.
    pub const fn from_number(number: i64) -> Option<Self> {
        match number {
            1 => Some(Self::Opened),
            2 => Some(Self::Output),
            3 => Some(Self::Input),
            4 => Some(Self::Cancel),
            _ => None,
        }
    }
}

/// What is to be written into a log.
#[derive(Clone, Debug, PartialEq)]
pub struct Record {
    /// Who caused it.
    pub kind: Kind,
    /// What readers see.
    pub event: Shared<StreamResponse>,
    /// What was said to the agent, for the task's history.
    pub message: Option<Shared<Message>>,
}

impl Record {
    /// Returns why the agent cannot end the work, if it says that.
    pub(crate) fn cancel_refused(&self) -> Option<String> {
        if self.kind != Kind::Output {
            return None;
        }
        match self.event.value() {
            Ok(StreamResponse::StatusUpdate(update)) => {
                update.metadata.as_ref()?.get(CANCEL_REFUSED)?.as_text()
            }
            _ => None,
        }
    }

    /// Returns the metadata of a wish to cancel, if it is one that has any.
    pub(crate) fn cancel_wish(&self) -> Option<Object> {
        if self.kind != Kind::Cancel {
            return None;
        }
        let Ok(StreamResponse::StatusUpdate(update)) = self.event.value() else { return None };
        let wish = update.metadata.as_ref()?.without(CANCEL_REQUESTED);
        (!wish.is_empty()).then_some(wish)
    }

    /// Returns about how much text is in it. Nothing is written to find out.
    pub fn bytes(&self) -> usize {
        self.event.weight() + self.message.as_ref().map_or(0, Shared::weight)
    }
}

/// One entry of a log.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    /// Its place.
    pub seq: Seq,
    /// What it says.
    pub record: Record,
}

impl Entry {
    /// Tells whether the work on the task has to hear of it.
    pub(crate) const fn is_signal(&self) -> bool {
        matches!(self.record.kind, Kind::Input | Kind::Cancel)
    }
}
