//! Reading what is kept.

use nuncio_protocol::ids::{ContextId, TaskId};
use tokio::time::Instant;

use super::{
    kept::{Kept, Log},
    packed::{Names, Packed},
    tables::Tables,
};
use crate::{
    log::{Entry, Seq, Snapshot},
    scope::Scope,
    store::{Head, Limit, Loaded, Mark, Tail, TaskRef, Want},
};

/// A task as it was found under the lock, to be read without it.
#[derive(Debug)]
pub(super) struct Found {
    head: Head,
    want: Want,
    text: Text,
}

/// What a task is read from.
#[derive(Debug)]
enum Text {
    Entries(Option<Snapshot>, Vec<Entry>),
    Packed(Packed),
}

/// A piece of a log, to be read without the lock.
#[derive(Debug)]
pub(super) enum FoundTail {
    Gone,
    Entries(Mark, Vec<Entry>),
    Packed(Mark, Packed, TaskId, ContextId),
}

impl Found {
    pub(super) fn new(task: TaskRef, kept: &Kept, want: Want, now: Instant) -> Self {
        let at = want.at.unwrap_or(kept.seq);
        let wanted = |snapshot: &&Snapshot| snapshot.seq <= at;
        let text = match &kept.log {
            Log::Packed(packed) => Text::Packed(packed.clone()),
            Log::Trimmed(snapshot) => {
                Text::Entries(Some(&**snapshot).filter(wanted).cloned(), Vec::new())
            }
            Log::Open(open) => {
                let snapshot = open.snapshot.as_ref().filter(wanted);
                let after = snapshot.map_or(Seq::START, |snapshot| snapshot.seq);
                let entries = open.entries.iter().filter(|entry| entry.seq > after);
                let entries = entries.take_while(|entry| entry.seq <= at).cloned().collect();
                Text::Entries(snapshot.cloned(), entries)
            }
        };
        Self { head: kept.head(task, now), want, text }
    }

    pub(super) fn into_loaded(self) -> Loaded {
        let Self { head, want, text } = self;
        let (mut snapshot, entries) = match text {
            Text::Entries(snapshot, entries) => (snapshot, entries),
            Text::Packed(packed) => {
                let at = want.at.unwrap_or(head.seq);
                let names = Names { task: &head.id, context: &head.context };
                let end = if at == head.seq { packed.end(at, names) } else { None };
                let entries = if end.is_some() {
                    Vec::new()
                } else {
                    let entries = packed.entries(Seq::START, names);
                    entries.take_while(|entry| entry.seq <= at).collect()
                };
                (end, entries)
            }
        };
        if let Some(snapshot) = &mut snapshot {
            if !want.history {
                snapshot.history.clear();
            }
            if !want.artifacts {
                snapshot.artifacts.clear();
            }
        }
        Loaded { head, snapshot, entries, want }
    }
}

impl FoundTail {
    pub(super) fn into_tail(self, after: Seq, limit: Limit) -> Tail {
        match self {
            Self::Gone => Tail { entries: Vec::new(), mark: None },
            Self::Entries(mark, entries) => Tail { entries, mark: Some(mark) },
            Self::Packed(mark, packed, task, context) => {
                let names = Names { task: &task, context: &context };
                let entries = fill(packed.entries(after, names), limit);
                Tail { entries, mark: Some(mark) }
            }
        }
    }
}

impl Tables {
    pub(super) fn load(
        &self,
        scope: &Scope,
        id: &TaskId,
        want: Want,
        now: Instant,
    ) -> Option<Found> {
        self.find(scope, id).map(|(task, kept)| Found::new(task, kept, want, now))
    }

    pub(super) fn tail(&self, task: TaskRef, after: Seq, limit: Limit) -> FoundTail {
        let Some(kept) = self.tasks.get(&task) else { return FoundTail::Gone };
        let mark = kept.mark(task);
        match &kept.log {
            Log::Open(open) => {
                let start = open.entries.partition_point(|entry| entry.seq <= after);
                FoundTail::Entries(mark, fill(open.entries[start..].iter().cloned(), limit))
            }
            Log::Packed(packed) => {
                FoundTail::Packed(mark, packed.clone(), kept.id.clone(), kept.context.clone())
            }
            Log::Trimmed(_) => FoundTail::Entries(mark, Vec::new()),
        }
    }

    pub(super) fn marks(&self, tasks: &[TaskRef]) -> Vec<Mark> {
        tasks.iter().filter_map(|task| Some(self.tasks.get(task)?.mark(*task))).collect()
    }
}

/// Takes entries until the limit is reached, but one at least.
fn fill(entries: impl Iterator<Item = Entry>, limit: Limit) -> Vec<Entry> {
    let mut bytes = 0;
    let fitting = entries.take(limit.entries.max(1)).take_while(|entry| {
        let is_wanted = bytes == 0 || bytes < limit.bytes;
        bytes += entry.record.bytes();
        is_wanted
    });
    fitting.collect()
}
