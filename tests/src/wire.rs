//! What a test and a node say to each other: one JSON object a line.
//!
//! Every request has a number, and every line that belongs to its answer has the same. Many
//! requests are under way at once, on one pair of pipes.

use std::time::Duration;

use nuncio_protocol::state::TaskState;
use serde::{Deserialize, Serialize};

/// The line that a node says first, when it can be asked.
pub const READY: &str = "ready";

/// A line to a node.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Request {
    /// Chosen by the test.
    pub id: u64,
    /// What is asked.
    pub ask: Ask,
}

/// What a node can be asked.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Ask {
    /// Sends a message; the answer is [`Reply::Task`].
    Send(Order),
    /// Sends a message and follows its task: [`Reply::Event`]s and [`Reply::End`].
    Stream(Order),
    /// Follows a task: [`Reply::Event`]s and [`Reply::End`].
    Subscribe {
        /// The task.
        task: TaskName,
        /// The last event that was seen.
        last_event: Option<u64>,
        /// How many events the reader takes before it stalls; without, it takes all.
        credit: Option<u32>,
    },
    /// Lets a stalled reader take more: [`Reply::Done`].
    Credit {
        /// The number of its request.
        stream: u64,
        /// How many more.
        more: u32,
    },
    /// Lets readers within the node follow a task from its start: [`Reply::Watching`] when all
    /// do, and [`Reply::Watched`] at the end.
    Watch {
        /// The task.
        task: TaskName,
        /// How many readers.
        readers: u32,
        /// Whether they stall after the first event until [`Ask::Unstall`].
        stall: bool,
    },
    /// Lets all readers within the node go on: [`Reply::Done`].
    Unstall,
    /// Reads a task: [`Reply::Task`].
    Get(TaskName),
    /// Ends a task: [`Reply::Task`].
    Cancel(TaskName),
    /// Lists tasks, of all agents and callers or of one caller: [`Reply::Tasks`].
    List {
        /// The caller.
        caller: Option<String>,
    },
    /// Reads the logs of the same tasks: [`Reply::Log`]s and [`Reply::End`].
    Logs {
        /// The caller.
        caller: Option<String>,
    },
    /// Reads the same without entries, which is fast: [`Reply::Log`]s and [`Reply::End`].
    Heads {
        /// The caller.
        caller: Option<String>,
    },
    /// Registers a webhook: [`Reply::Done`].
    Webhook {
        /// The task.
        task: TaskName,
        /// Its identifier.
        id: String,
        /// Where events go.
        url: String,
    },
    /// Lists dead letters: [`Reply::DeadLetters`].
    DeadLetters,
    /// Reads the counters of what agents may not say: [`Reply::Refusals`].
    Refusals,
    /// Reads how much memory the process has: [`Reply::Memory`].
    Memory,
    /// Reads how long processors have worked for the process: [`Reply::ProcessorTime`].
    ProcessorTime,
    /// Stops in good order: [`Reply::Done`], then the process ends.
    Stop {
        /// How long work may go on, in milliseconds.
        grace: u64,
    },
}

/// A message to be sent.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Order {
    /// The agent.
    pub agent: String,
    /// Who sends.
    pub caller: String,
    /// The identifier of the message.
    pub message: String,
    /// What it says.
    pub text: String,
    /// The idempotency key.
    pub key: Option<String>,
    /// The task it goes to; without, a new one.
    pub task: Option<String>,
    /// Whether the answer is wanted at once.
    pub at_once: bool,
    /// Where the events of a new task go.
    pub webhook: Option<String>,
}

impl Order {
    /// Sends a text as a new task.
    pub fn new(agent: &str, caller: &str, text: impl Into<String>) -> Self {
        let message = nuncio_protocol::ids::MessageId::generate().as_str().to_owned();
        Self {
            agent: agent.to_owned(),
            caller: caller.to_owned(),
            message,
            text: text.into(),
            key: None,
            task: None,
            at_once: false,
            webhook: None,
        }
    }

    /// Makes it the only message with this key.
    #[must_use]
    pub fn key(mut self, key: impl Into<String>) -> Self {
        self.key = Some(key.into());
        self
    }

    /// Asks for the task as soon as there is one.
    #[must_use]
    pub fn at_once(mut self) -> Self {
        self.at_once = true;
        self
    }

    /// Sends it to a task that is there.
    #[must_use]
    pub fn to(mut self, task: &str) -> Self {
        self.task = Some(task.to_owned());
        self
    }

    /// Lets the events of the task go to a webhook.
    #[must_use]
    pub fn webhook(mut self, url: impl Into<String>) -> Self {
        self.webhook = Some(url.into());
        self
    }
}

/// A task, and who asks for it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct TaskName {
    /// The agent.
    pub agent: String,
    /// Who asks.
    pub caller: String,
    /// The identifier.
    pub id: String,
}

impl TaskName {
    /// Names a task.
    pub fn new(agent: &str, caller: &str, id: &str) -> Self {
        Self { agent: agent.to_owned(), caller: caller.to_owned(), id: id.to_owned() }
    }
}

/// A line from a node.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Line {
    /// The number of the request.
    pub id: u64,
    /// What the node says.
    pub reply: Reply,
}

/// What a node says.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Reply {
    /// A task.
    Task(TaskView),
    /// Tasks.
    Tasks(Vec<TaskView>),
    /// An event of a stream.
    Event(EventView),
    /// There is nothing more.
    End,
    /// The log of a task.
    Log(LogView),
    /// Readers within the node have begun.
    Watching,
    /// What readers within the node have seen.
    Watched(Watched),
    /// Dead letters.
    DeadLetters(Vec<DeadLetterView>),
    /// How often agents said what they may not.
    Refusals(RefusalsView),
    /// How much memory the process has, in bytes.
    Memory(u64),
    /// How long processors have worked for the process.
    ProcessorTime(Duration),
    /// It is done.
    Done,
    /// It was refused.
    Refused(Refusal),
}

/// A task.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskView {
    /// Its identifier.
    pub id: String,
    /// Its state.
    pub state: TaskState,
    /// What its status says.
    pub says: String,
    /// How many parts its artifacts have.
    pub parts: usize,
}

/// An event of a stream.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EventView {
    /// The task, if the event says it.
    pub task: Option<String>,
    /// Its place in the log.
    pub seq: u64,
    /// The hash of its text.
    pub hash: u64,
    /// The state it says the task is in, if it says that.
    pub state: Option<TaskState>,
    /// Whether it is the task as of a place, and not an entry of the log.
    pub is_snapshot: bool,
}

/// The log of a task.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct LogView {
    /// The task.
    pub task: String,
    /// Its state.
    pub state: TaskState,
    /// Its newest entry.
    pub seq: u64,
    /// How often it had a new owner.
    pub epoch: u64,
    /// Whether it has an owner.
    pub owned: bool,
    /// The entries, as the store gives them.
    pub entries: Vec<EntryView>,
}

/// An entry of a log.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EntryView {
    /// Its place.
    pub seq: u64,
    /// The hash of its text.
    pub hash: u64,
    /// The state it says the task is in, if it says that.
    pub state: Option<TaskState>,
    /// The text in it.
    pub text: String,
}

/// What readers within the node have seen.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Watched {
    /// How many events each has seen.
    pub events: Vec<u64>,
    /// The hash of all that each has seen.
    pub hashes: Vec<u64>,
}

/// An event that a webhook would not take.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct DeadLetterView {
    /// The task.
    pub task: String,
    /// Where it was to go.
    pub url: String,
    /// The event.
    pub seq: u64,
    /// How often it was tried.
    pub attempts: u32,
}

/// How often agents said what they may not.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RefusalsView {
    /// After the end.
    pub after_end: u64,
    /// Against the rules.
    pub illegal: u64,
    /// About another task.
    pub foreign: u64,
    /// No updates.
    pub malformed: u64,
    /// Too much.
    pub too_large: u64,
}

/// Why something was refused.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Refusal {
    /// The kind of error that a peer would see.
    pub kind: String,
    /// The reason that a peer would see.
    pub reason: String,
    /// The words.
    pub message: String,
}

/// Hashes text; the same text has the same hash in every process (FNV-1a).
pub fn hash(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
    })
}
