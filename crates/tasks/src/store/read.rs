use nuncio_protocol::{
    ids::{ContextId, TaskId},
    json::Shared,
    state::TaskState,
    task::Task,
    time::Timestamp,
};

use super::{Head, TaskRef};
use crate::log::{Entry, Folded, Seq, Snapshot, SpoiltLog};

/// Which parts of a task are wanted, and as of when.
#[derive(Clone, Copy, Debug)]
pub struct Want {
    /// As of this place in the log; otherwise as of now.
    pub at: Option<Seq>,
    /// Whether the history is wanted.
    pub history: bool,
    /// Whether the artifacts are wanted.
    pub artifacts: bool,
}

impl Want {
    /// Everything, as of now.
    pub const ALL: Self = Self { at: None, history: true, artifacts: true };

    /// Everything, as of a place in the log.
    pub const fn at(seq: Seq) -> Self {
        Self { at: Some(seq), history: true, artifacts: true }
    }
}

/// A task as it was read.
#[derive(Clone, Debug)]
pub struct Loaded {
    /// Where it stands now.
    pub head: Head,
    /// A snapshot, if there is one that helps.
    pub snapshot: Option<Snapshot>,
    /// The entries behind it, up to the place that was asked for.
    pub entries: Vec<Entry>,
    /// Which parts were asked for.
    pub want: Want,
}

impl Loaded {
    /// Tells whether the log no longer reaches back to the place that was asked for.
    pub fn is_gap(&self) -> bool {
        self.snapshot.is_none() && self.entries.is_empty()
    }

    /// Returns the task with at most so many messages of its history. It is not looked into if
    /// a snapshot says all.
    pub fn task(&self, history: Option<usize>) -> Result<Shared<Task>, SpoiltLog> {
        if let Some(snapshot) = self.snapshot.as_ref().filter(|_| self.entries.is_empty()) {
            let mut wanted = snapshot.clone();
            if !self.want.history {
                wanted.history.clear();
            }
            if !self.want.artifacts {
                wanted.artifacts.clear();
            }
            return wanted.task(history);
        }
        let mut task = self.fold()?.task;
        if let Some(limit) = history {
            task.truncate_history(limit);
        }
        Ok(Shared::new(task))
    }

    /// Returns the task, without the parts that were not asked for.
    pub fn fold(&self) -> Result<Folded, SpoiltLog> {
        let mut folded = Folded::from_log(self.snapshot.as_ref(), &self.entries)?;
        if !self.want.history {
            folded.task.history.clear();
        }
        if !self.want.artifacts {
            folded.task.artifacts.clear();
        }
        Ok(folded)
    }
}

/// How much is read at once.
#[derive(Clone, Copy, Debug)]
pub struct Limit {
    /// At most so many entries.
    pub entries: usize,
    /// No further entry once so many bytes are there.
    pub bytes: usize,
}

/// A piece of a log.
#[derive(Clone, Debug)]
pub struct Tail {
    /// The entries, without a gap among them. If the first does not follow the place that was
    /// asked for, or there are none although the mark is behind it, the log no longer reaches
    /// back so far.
    pub entries: Vec<Entry>,
    /// How far the task had come; `None` if it is gone.
    pub mark: Option<Mark>,
}

/// How far a task has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mark {
    /// The task.
    pub task: TaskRef,
    /// The newest entry.
    pub seq: Seq,
    /// The state after it.
    pub state: TaskState,
}

/// Which tasks are listed. All conditions must hold.
#[derive(Clone, Debug, Default)]
pub struct Filter {
    /// Of this conversation.
    pub context: Option<ContextId>,
    /// In one of these states; in any if there are none.
    pub states: Vec<TaskState>,
    /// With a status of this time or later, as [`order_from`] counts.
    pub updated_from: Option<Timestamp>,
}

impl Filter {
    /// Tells whether tasks in a state are listed.
    pub fn wants(&self, state: TaskState) -> bool {
        self.states.is_empty() || self.states.contains(&state)
    }

    /// Returns every state in which tasks are listed, each once.
    pub fn wanted_states(&self) -> impl Iterator<Item = TaskState> {
        TaskState::ALL.iter().copied().filter(|state| self.wants(*state))
    }
}

/// Which page of a list.
#[derive(Clone, Debug)]
pub struct Page {
    /// Behind this place; from the start without.
    pub after: Option<Position>,
    /// At most so many.
    pub size: usize,
    /// Whether histories are wanted.
    pub history: bool,
    /// Whether artifacts are wanted.
    pub artifacts: bool,
}

/// A place in a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Position {
    /// [`order`] of the time of the status of the last task on the page before.
    pub updated: i64,
    /// Its identifier.
    pub id: TaskId,
}

/// One page of tasks.
#[derive(Clone, Debug)]
pub struct Listed {
    /// The tasks.
    pub tasks: Vec<Loaded>,
    /// How many there are on all pages together.
    pub total: u64,
    /// Whether there are more behind this page.
    pub more: bool,
}

/// Returns the number by which stores order moments: microseconds since 1970, rounded down.
pub fn order(moment: Timestamp) -> i64 {
    let (seconds, nanos) = moment.to_parts();
    seconds * 1_000_000 + i64::from(nanos / 1_000)
}

/// Returns the number of [`order`] from which on a task is listed by
/// [`updated_from`](Filter::updated_from).
///
/// It is rounded down too: callers ask for what has changed since the last status they have
/// seen, and a status of that very moment must not be lost between two microseconds.
pub fn order_from(moment: Timestamp) -> i64 {
    order(moment)
}
