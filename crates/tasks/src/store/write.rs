use std::{collections::BTreeMap, time::Duration};

use bytes::Bytes;
use nuncio_protocol::{ids::TaskId, state::TaskState};

use super::{Epoch, Error, Head, Lease, NewWebhook, TaskRef};
use crate::{
    log::{Batch, Seq, Snapshot},
    scope::Place,
};

/// The largest note, in bytes.
pub const MAX_NOTE_BYTES: usize = 64 << 10;

/// A task to be opened.
#[derive(Clone, Debug)]
pub struct Create {
    /// Whose it is.
    pub place: Place,
    /// Its log so far, the opening entry first.
    pub batch: Batch,
    /// The fold of the batch. Not kept if its place is not that of the last entry.
    pub snapshot: Option<Snapshot>,
    /// Who works on it, in epoch 1; nobody, if the batch ends or interrupts it. Without, the
    /// epoch is 0.
    pub lease: Option<Lease>,
    /// Makes it the only task with this key.
    pub key: Option<Key>,
    /// Webhooks, which get every event from the first.
    pub webhooks: Vec<NewWebhook>,
    /// When to wake it.
    pub wake: Wake,
    /// Whether the caller chose the conversation. Then no other caller of the tenant may have a
    /// task in it, for whichever agent; not even one that is opened at the same time.
    pub context_is_given: bool,
    /// How many unfinished tasks the caller may have in this tenant, this one included unless
    /// it is opened and ended at once. Tasks opened at the same time may not count each other.
    pub most_unfinished: u32,
    /// What the agent keeps for itself: at most [`MAX_NOTE_BYTES`], never shown to a caller.
    pub note: Option<Bytes>,
    /// The task of the same tenant that it is opened for. Nobody checks that it is there.
    pub parent: Option<TaskId>,
}

impl Create {
    /// Opens a task of nobody's, without limits and without anything else.
    pub fn new(place: Place, batch: Batch) -> Self {
        Self {
            place,
            batch,
            snapshot: None,
            lease: None,
            key: None,
            webhooks: Vec::new(),
            wake: Wake::Keep,
            context_is_given: false,
            most_unfinished: u32::MAX,
            note: None,
            parent: None,
        }
    }

    /// Refuses a note that is too large: what every store does first.
    pub fn check_note(&self) -> Result<(), Error> {
        check_note(self.note.as_ref())
    }
}

/// What came of a [`Create`].
#[derive(Clone, Debug)]
pub enum Created {
    /// The task is new.
    New(Head),
    /// The same request with the same key has opened this task before, whose head is as of
    /// now; `None` if it has been removed since.
    Repeated(Option<Head>),
}

/// An idempotency key with what it stands for.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Key {
    /// The key as the caller sent it. It counts within the place, for tasks and messages
    /// alike.
    pub text: String,
    /// A hash of the request.
    pub request: [u8; 32],
}

/// Entries to be written behind a log.
#[derive(Clone, Debug)]
pub struct Append {
    /// The task.
    pub task: TaskRef,
    /// The writer's epoch; `None` for signals, which anybody may write.
    pub epoch: Option<Epoch>,
    /// The entries.
    pub batch: Batch,
    /// The fold of the log with the batch. Not kept if its place is not that of the last entry
    /// once written.
    pub snapshot: Option<Snapshot>,
    /// What becomes of the lease.
    pub tenancy: Tenancy,
    /// Makes it the only message with this key.
    pub key: Option<Key>,
    /// Webhooks to be kept with it; new ones get the events from this batch on. Others take the
    /// place of those with their identifier, as in
    /// [`put_webhook`](super::Store::put_webhook).
    pub webhooks: Vec<NewWebhook>,
    /// When to wake the task.
    pub wake: Wake,
    /// What the agent keeps for itself, in place of an earlier note: at most
    /// [`MAX_NOTE_BYTES`]. Without, the note stays as it is.
    pub note: Option<Bytes>,
    /// Whether the key that opened the task is let go, so that the same key opens another. Keys
    /// of messages to the task stay.
    pub forget_key: bool,
}

impl Append {
    /// Writes a batch as anybody may, and nothing else.
    pub fn signal(task: TaskRef, batch: Batch) -> Self {
        Self {
            task,
            epoch: None,
            batch,
            snapshot: None,
            tenancy: Tenancy::Keep,
            key: None,
            webhooks: Vec::new(),
            wake: Wake::Keep,
            note: None,
            forget_key: false,
        }
    }

    /// Writes a batch as the owner of that epoch, and nothing else.
    pub fn output(task: TaskRef, epoch: Epoch, batch: Batch) -> Self {
        Self { epoch: Some(epoch), ..Self::signal(task, batch) }
    }

    /// Refuses a note that is too large: what every store does first.
    pub fn check_note(&self) -> Result<(), Error> {
        check_note(self.note.as_ref())
    }
}

fn check_note(note: Option<&Bytes>) -> Result<(), Error> {
    match note.map(Bytes::len) {
        Some(bytes) if bytes > MAX_NOTE_BYTES => Err(Error::NoteTooLarge { bytes }),
        _ => Ok(()),
    }
}

/// What becomes of a lease.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Tenancy {
    /// It stays as it is.
    Keep,
    /// It ends with the batch. A lease always ends when the task does.
    End,
    /// It is taken if nobody has one that is not over: the epoch goes up by one. Not if the
    /// batch ends the task.
    Take(Lease),
}

/// What becomes of a task's wake-up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Wake {
    /// It stays as it is. A wake-up always ends when the task does.
    #[default]
    Keep,
    /// There is none.
    Never,
    /// After so long by the database's clock.
    After(Duration),
}

/// What came of an [`Append`].
#[derive(Clone, Debug)]
pub enum Appended {
    /// It is written.
    Done {
        /// The task afterwards. The batch ends at its seq.
        head: Head,
        /// Whether the lease was taken.
        taken: bool,
    },
    /// The same request with the same key was written before.
    Repeated {
        /// The task it went to.
        task: TaskId,
        /// The first entry it became.
        seq: Seq,
    },
}

/// What is kept for how long, and how many of it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Retention {
    /// By state: how long ended tasks are kept, and how many in each tenant. States that have
    /// no rule, and states that are not terminal, are kept for ever.
    pub tasks: BTreeMap<TaskState, Keep>,
    /// How long logs of ended tasks are kept, since their end. They go if there is a snapshot
    /// of the end, which a store may make itself.
    pub logs: Option<Duration>,
    /// How long idempotency keys are kept, since their first use.
    pub keys: Option<Duration>,
    /// How long dead letters are kept, since they were given up.
    pub dead_letters: Option<Duration>,
}

/// How long, and how many. What fulfils either is removed; an age that is just reached counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Keep {
    /// Since their end, by the database's clock.
    pub age: Option<Duration>,
    /// Those that ended last.
    pub count: Option<u64>,
}

/// What was removed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Swept {
    /// Tasks with all that belongs to them.
    pub tasks: usize,
    /// Logs of tasks that stay.
    pub logs: usize,
    /// Keys.
    pub keys: usize,
    /// Dead letters.
    pub dead_letters: usize,
}
