//! What a store should say, worked out the simplest way there is.

use std::collections::HashMap;

use nuncio_protocol::{ids::TaskId, state::TaskState};
use nuncio_tasks::{
    log::{Batch, Entry, Folded, Record, Seq},
    scope::Place,
    store::{Epoch, Head, Reason},
};

use super::step::{Guess, Key, Tenancy, Write};

/// The changes of state that A2A allows (digest §14), and words about a task that has not begun:
/// from a state to any of those behind it. From all others there is no way.
const LEGAL: [(TaskState, &[TaskState]); 4] = {
    use TaskState::{
        AuthRequired, Canceled, Completed, Failed, InputRequired, Rejected, Submitted, Working,
    };
    [
        (
            Submitted,
            &[
                Submitted,
                Working,
                InputRequired,
                AuthRequired,
                Completed,
                Failed,
                Canceled,
                Rejected,
            ],
        ),
        (Working, &[Working, InputRequired, AuthRequired, Completed, Failed, Canceled, Rejected]),
        (InputRequired, &[Working, InputRequired, Completed, Failed, Canceled, Rejected]),
        (AuthRequired, &[Working, AuthRequired, Completed, Failed, Canceled, Rejected]),
    ]
};

pub(super) fn is_legal(from: TaskState, to: TaskState) -> bool {
    LEGAL.iter().any(|(state, next)| *state == from && next.contains(&to))
}

/// All tasks and keys there should be.
#[derive(Debug, Default)]
pub(super) struct Model {
    /// In the order of their opening.
    pub tasks: Vec<Known>,
    keys: HashMap<(Place, u8), Used>,
    /// The tasks that have ended, in the order of their ends.
    ended: Vec<usize>,
}

/// One task as it should be.
#[derive(Debug)]
pub(super) struct Known {
    pub head: Head,
    pub records: Vec<Record>,
    pub hold: Hold,
    pub abandoned: u32,
    pub has_wake_up: bool,
    pub note: Option<u8>,
    pub parent: Option<TaskId>,
    pub is_gone: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Hold {
    Free,
    Held,
    RunOut,
    Released,
}

#[derive(Clone, Copy, Debug)]
struct Used {
    request: u8,
    task: usize,
    seq: Seq,
}

/// What should come of a call with a key.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Lookup {
    New,
    Reused,
    Repeated { task: usize, seq: Seq },
}

/// What should come of an append.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    Gone,
    KeyReused,
    Repeated { task: usize, seq: Seq },
    Fenced { current: Epoch },
    StateChanged { found: TaskState },
    Done { taken: bool },
}

impl Model {
    pub(super) fn look_up(&self, place: &Place, key: Option<Key>) -> Lookup {
        match key.map(|(key, request)| (self.keys.get(&(place.clone(), key)), request)) {
            None | Some((None, _)) => Lookup::New,
            Some((Some(used), request)) if used.request != request => Lookup::Reused,
            Some((Some(&Used { task, seq, .. }), _)) => Lookup::Repeated { task, seq },
        }
    }

    /// Opens a task, which the store has said to be `head`.
    pub(super) fn open(&mut self, head: Head, batch: &Batch, hold: Hold, has_wake_up: bool) {
        let is_terminal = head.state.is_terminal();
        if is_terminal {
            self.ended.push(self.tasks.len());
        }
        self.tasks.push(Known {
            head,
            records: batch.records().to_vec(),
            hold: if is_terminal { Hold::Free } else { hold },
            abandoned: 0,
            has_wake_up,
            note: None,
            parent: None,
            is_gone: false,
        });
    }

    pub(super) fn keep_key(&mut self, place: &Place, key: Option<Key>, task: usize, seq: Seq) {
        if let Some((key, request)) = key {
            self.keys.insert((place.clone(), key), Used { request, task, seq });
        }
    }

    /// Writes, if it should be written.
    pub(super) fn append(&mut self, task: usize, write: &Write, batch: &Batch) -> Outcome {
        let known = &self.tasks[task];
        let place = known.head.place.clone();
        if known.is_gone {
            return Outcome::Gone;
        }
        match self.look_up(&place, write.key) {
            Lookup::New => {}
            Lookup::Reused => return Outcome::KeyReused,
            Lookup::Repeated { task, seq } => return Outcome::Repeated { task, seq },
        }
        let known = &mut self.tasks[task];
        if write.epoch.is_some_and(|guess| known.guess(guess) != known.head.epoch) {
            return Outcome::Fenced { current: known.head.epoch };
        }
        if batch.from() != known.head.state {
            return Outcome::StateChanged { found: known.head.state };
        }
        let first = known.head.seq.next();
        let was_terminal = known.head.state.is_terminal();
        let taken = known.write(write, batch);
        if known.head.state.is_terminal() && !was_terminal {
            self.ended.push(task);
        }
        if write.forgets_key {
            self.keys.retain(|_, used| (used.task, used.seq) != (task, Seq(1)));
        }
        self.keep_key(&place, write.key, task, first);
        Outcome::Done { taken }
    }

    /// Removes what should be removed, and returns how many that are.
    pub(super) fn sweep(&mut self, state: TaskState, keep: u64) -> usize {
        let matching: Vec<usize> = self
            .ended
            .iter()
            .copied()
            .filter(|task| self.tasks[*task].head.state == state)
            .collect();
        let keep = usize::try_from(keep).unwrap_or(usize::MAX);
        let removed = &matching[..matching.len().saturating_sub(keep)];
        for task in removed {
            self.tasks[*task].is_gone = true;
        }
        self.ended.retain(|task| !removed.contains(task));
        removed.len()
    }
}

impl Known {
    /// Returns the epoch that a guess comes to.
    pub(super) fn guess(&self, guess: Guess) -> Epoch {
        let Epoch(current) = self.head.epoch;
        Epoch(match guess {
            Guess::Right => current,
            // Before the first there is none, so that one is right.
            Guess::Older => current.saturating_sub(1),
            Guess::Newer => current + 1,
        })
    }

    fn write(&mut self, write: &Write, batch: &Batch) -> bool {
        self.records.extend(batch.records().iter().cloned());
        self.head.seq = Seq(self.records.len() as u64);
        self.head.state = batch.to();
        self.head.bytes += batch.bytes() as u64;
        self.head.updated = batch.updated().unwrap_or(self.head.updated);
        self.note = write.note.or(self.note);
        if self.head.state.is_terminal() {
            (self.hold, self.head.owned) = (Hold::Free, false);
            return false;
        }
        if let Some(wake) = write.wake {
            self.has_wake_up = wake;
        }
        let taken = match write.tenancy {
            Tenancy::Keep => false,
            Tenancy::End => {
                self.hold = Hold::Free;
                false
            }
            Tenancy::Take => self.hold != Hold::Held,
        };
        if taken {
            self.hold = Hold::Held;
            self.head.epoch.0 += 1;
        }
        self.head.owned = self.hold == Hold::Held;
        taken
    }

    /// Tells why the task should be claimed, if it should.
    pub(super) fn need(&self) -> Option<Reason> {
        let is_waiting = self.head.state.is_interrupted();
        match self.hold {
            _ if self.is_gone || self.head.state.is_terminal() => None,
            Hold::Held => None,
            Hold::RunOut => Some(Reason::Abandoned { times: self.abandoned + 1 }),
            Hold::Released => Some(Reason::Released),
            Hold::Free if !is_waiting => Some(Reason::Released),
            Hold::Free => self.has_wake_up.then_some(Reason::Woken),
        }
    }

    pub(super) fn claim(&mut self, reason: Reason) {
        match reason {
            Reason::Abandoned { times } => self.abandoned = times,
            Reason::Woken => self.has_wake_up = false,
            Reason::Released => {}
        }
        (self.hold, self.head.owned) = (Hold::Held, true);
        self.head.epoch.0 += 1;
    }

    /// Changes the lease, unless it is lost. Tells whether it is.
    pub(super) fn change_hold(&mut self, epoch: Epoch, hold: Hold) -> bool {
        let is_held = matches!(self.hold, Hold::Held | Hold::RunOut);
        if self.is_gone || !is_held || epoch != self.head.epoch {
            return false;
        }
        (self.hold, self.head.owned) = (hold, hold == Hold::Held);
        true
    }

    pub(super) fn entries(&self) -> Vec<Entry> {
        let records = self.records.iter().cloned();
        (1..).map(Seq).zip(records).map(|(seq, record)| Entry { seq, record }).collect()
    }

    /// The task with a batch that may yet be written.
    pub(super) fn fold_with(&self, batch: &Batch) -> Folded {
        let mut folded = Folded::from_log(None, &self.entries()).expect("the log can be folded");
        for record in batch.records() {
            folded.apply(record).expect("the log can be folded");
        }
        folded
    }
}
