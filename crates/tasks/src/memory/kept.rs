//! One task as it is kept.

use std::{sync::Arc, time::Duration};

use nuncio_protocol::{
    ids::{ContextId, TaskId},
    state::{Phase, TaskState},
    time::Timestamp,
};
use tokio::time::Instant;

use super::packed::Packed;
use crate::{
    log::{Entry, Record, Seq, Snapshot},
    scope::Place,
    store::{Epoch, Head, Mark, Reason, TaskRef, Tenancy, Wake},
};

/// One task: its head, and its log in the form that its state asks for.
#[derive(Debug)]
pub(super) struct Kept {
    pub id: TaskId,
    pub context: ContextId,
    pub place: Arc<Place>,
    pub state: TaskState,
    pub updated: Timestamp,
    pub seq: Seq,
    pub bytes: u64,
    pub epoch: Epoch,
    pub log: Log,
}

/// What has happened to a task.
#[derive(Debug)]
pub(super) enum Log {
    /// Entries as they were written, shared with those who wrote and read them.
    Open(Box<Open>),
    /// The task has ended, and its entries are one text.
    Packed(Packed),
    /// The task has ended, and only its end is known.
    Trimmed(Box<Snapshot>),
}

/// What an unfinished task has beside its head.
#[derive(Debug)]
pub(super) struct Open {
    pub entries: Vec<Entry>,
    pub snapshot: Option<Snapshot>,
    pub hold: Hold,
    /// How often a claim has found its owner gone.
    pub abandoned: u32,
    pub wake: Option<Instant>,
}

/// Who has a task.
#[derive(Clone, Copy, Debug)]
pub(super) enum Hold {
    /// Nobody, since then or since it began to work again.
    Free { since: Instant },
    /// Its owner, until then.
    Held { until: Instant },
    /// Nobody since its owner gave it back.
    Released { since: Instant },
}

impl Kept {
    pub(super) fn head(&self, task: TaskRef, now: Instant) -> Head {
        Head {
            reference: task,
            id: self.id.clone(),
            context: self.context.clone(),
            place: Place::clone(&self.place),
            state: self.state,
            updated: self.updated,
            seq: self.seq,
            bytes: self.bytes,
            epoch: self.epoch,
            owned: self.is_held(now),
        }
    }

    pub(super) fn mark(&self, task: TaskRef) -> Mark {
        Mark { task, seq: self.seq, state: self.state }
    }

    pub(super) fn open(&self) -> Option<&Open> {
        match &self.log {
            Log::Open(open) => Some(open),
            Log::Packed(_) | Log::Trimmed(_) => None,
        }
    }

    pub(super) fn open_mut(&mut self) -> Option<&mut Open> {
        match &mut self.log {
            Log::Open(open) => Some(open),
            Log::Packed(_) | Log::Trimmed(_) => None,
        }
    }

    /// Tells whether somebody has a lease that is not over.
    pub(super) fn is_held(&self, now: Instant) -> bool {
        !self.state.is_terminal() && self.open().is_some_and(|open| open.hold.is_held(now))
    }

    /// Returns from when on the task needs an owner, and why: the one rule behind
    /// [`claim`](crate::store::Store::claim).
    pub(super) fn need(&self) -> Option<(Instant, Reason)> {
        let open = self.open().filter(|_| !self.state.is_terminal())?;
        match open.hold {
            Hold::Held { until } => {
                Some((until, Reason::Abandoned { times: open.abandoned.saturating_add(1) }))
            }
            Hold::Released { since } => Some((since, Reason::Released)),
            Hold::Free { since } if self.state.phase() == Phase::Active => {
                Some((since, Reason::Released))
            }
            Hold::Free { .. } => open.wake.map(|due| (due, Reason::Woken)),
        }
    }
}

impl Open {
    /// Writes records behind a place.
    pub(super) fn extend(&mut self, mut seq: Seq, records: &[Record]) {
        self.entries.reserve(records.len());
        for record in records {
            seq = seq.next();
            self.entries.push(Entry { seq, record: record.clone() });
        }
    }

    /// Keeps the fold of all entries that are there, if it is that.
    pub(super) fn set_snapshot(&mut self, snapshot: Option<Snapshot>) {
        let end = self.entries.last().map_or(Seq::START, |entry| entry.seq);
        if let Some(snapshot) = snapshot.filter(|snapshot| snapshot.seq == end) {
            self.snapshot = Some(snapshot);
        }
    }

    /// Does to the lease what an append asks for, and tells whether it was taken.
    pub(super) fn change_hold(&mut self, tenancy: &Tenancy, now: Instant) -> bool {
        match tenancy {
            Tenancy::Take(lease) if !self.hold.is_held(now) => {
                self.hold = Hold::Held { until: later(now, lease.lasts) };
                return true;
            }
            Tenancy::End => self.hold = Hold::Free { since: now },
            Tenancy::Take(_) | Tenancy::Keep => {}
        }
        false
    }

    /// Does to the wake-up what a write asks for.
    pub(super) fn set_wake(&mut self, wake: Wake, now: Instant) {
        match wake {
            Wake::Keep => {}
            Wake::Never => self.wake = None,
            Wake::After(duration) => self.wake = Some(later(now, duration)),
        }
    }
}

impl Hold {
    pub(super) fn is_held(self, now: Instant) -> bool {
        matches!(self, Self::Held { until } if now < until)
    }
}

/// Returns the moment so long after another; what is too far to be counted is in a century.
pub(super) fn later(moment: Instant, by: Duration) -> Instant {
    const CENTURY: Duration = Duration::from_secs(100 * 365 * 24 * 60 * 60);
    moment.checked_add(by.min(CENTURY)).unwrap_or(moment)
}
