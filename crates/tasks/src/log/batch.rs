//! Records that are written together, checked before they are.

use nuncio_protocol::{
    ids::{ContextId, TaskId},
    json::{Object, Raw, Shared},
    message::Message,
    state::{IllegalTransition, TaskState},
    task::{StreamResponse, Task, TaskStatus, TaskStatusUpdateEvent},
    time::Timestamp,
};

use super::{Kind, Record};

/// The member of an event's metadata that says that somebody wants the work to end.
const CANCEL_REQUESTED: &str = "cancelRequested";

/// Records that go into a log as one: all or none.
///
/// Invariant: the states inside follow the rules of A2A from [`from`](Self::from) to
/// [`to`](Self::to), and every event names the task. A store only compares `from` with the
/// state it finds.
#[derive(Clone, Debug)]
pub struct Batch {
    task: TaskId,
    context: ContextId,
    /// Unspecified for a batch that opens a task.
    from: TaskState,
    to: TaskState,
    /// The time of the newest status in it.
    updated: Option<Timestamp>,
    records: Vec<Record>,
    bytes: usize,
}

/// Why a record cannot go into a log.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Refused {
    /// Nothing can follow a terminal state.
    #[error("the task has ended as {}", .0.as_str())]
    AfterEnd(TaskState),
    /// The rules do not allow this change.
    #[error(transparent)]
    Illegal(#[from] IllegalTransition),
    /// The event is about another task or context.
    #[error("the event names {member} {found}, but the task has {expected}")]
    Foreign {
        /// `taskId` or `contextId`.
        member: &'static str,
        /// What the event says.
        found: String,
        /// What it should say.
        expected: String,
    },
    /// The event is not what it should be.
    #[error("the event cannot be read: {what}")]
    Unreadable {
        /// What is wrong.
        what: String,
    },
    /// Only status and artifact updates can follow in a log.
    #[error("a {0} cannot follow in the log of a task")]
    NotAnUpdate(&'static str),
    /// The event is larger than is allowed.
    #[error("the event has {bytes} bytes, at most {limit} are allowed")]
    TooLarge {
        /// Its size.
        bytes: usize,
        /// The limit.
        limit: usize,
    },
    /// The task has as many events, or as many bytes, as is allowed.
    #[error("the task has reached its limit of {limit} {what}")]
    Full {
        /// `events` or `bytes`.
        what: &'static str,
        /// The limit.
        limit: u64,
    },
}

impl Batch {
    /// Opens a task. Its history holds the message that asked for it.
    pub fn open(task: Task, context: ContextId) -> Result<Self, Refused> {
        let to = task.status.state.open()?.to();
        let mut batch = Self {
            task: task.id.clone(),
            context,
            from: TaskState::Unspecified,
            to,
            updated: task.status.timestamp,
            records: Vec::with_capacity(4),
            bytes: 0,
        };
        let event = Shared::new(StreamResponse::Task(task));
        batch.push(Record { kind: Kind::Opened, event, message: None });
        Ok(batch)
    }

    /// Continues a task that is in state `from`.
    pub fn follow(task: TaskId, context: ContextId, from: TaskState) -> Self {
        Self { task, context, from, to: from, updated: None, records: Vec::new(), bytes: 0 }
    }

    /// Adds what the agent says.
    pub fn output(&mut self, event: Shared<StreamResponse>) -> Result<(), Refused> {
        let response =
            event.value().map_err(|error| Refused::Unreadable { what: error.to_string() })?;
        let (task, context) = match response {
            StreamResponse::StatusUpdate(update) => (&update.task_id, &update.context_id),
            StreamResponse::ArtifactUpdate(update) => (&update.task_id, &update.context_id),
            StreamResponse::Task(_) => return Err(Refused::NotAnUpdate("task")),
            StreamResponse::Message(_) => return Err(Refused::NotAnUpdate("message")),
        };
        check_name("taskId", task.as_str(), self.task.as_str())?;
        check_name("contextId", context.as_str(), self.context.as_str())?;
        if self.to.is_terminal() {
            return Err(Refused::AfterEnd(self.to));
        }
        if let StreamResponse::StatusUpdate(update) = response {
            self.to = self.to.advance(update.status.state)?.to();
            self.updated = update.status.timestamp.or(self.updated);
        }
        self.push(Record { kind: Kind::Output, event, message: None });
        Ok(())
    }

    /// Adds what somebody says to the agent. A task that waited for it goes on.
    pub fn input(&mut self, message: Message, now: Timestamp) -> Result<(), Refused> {
        if self.to.is_interrupted() {
            self.to = self.to.advance(TaskState::Working)?.to();
        }
        self.signal(Kind::Input, Some(message), None, now)
    }

    /// Adds that somebody wants the work to end.
    pub fn cancel(&mut self, now: Timestamp) -> Result<(), Refused> {
        let metadata = Object::from_members([(CANCEL_REQUESTED, Raw::bool(true))]);
        self.signal(Kind::Cancel, None, Some(metadata), now)
    }

    /// Adds a status of the given state, with or without a word about it.
    pub fn status(
        &mut self,
        state: TaskState,
        message: Option<Message>,
        now: Timestamp,
    ) -> Result<(), Refused> {
        let mut status = TaskStatus::new(state, now);
        status.message = message.map(Box::new);
        self.output(Shared::new(StreamResponse::StatusUpdate(self.update(status, None))))
    }

    /// Returns the same records for a task that turns out to be in another state.
    pub fn rebase(&self, from: TaskState) -> Result<Self, Refused> {
        let mut batch = Self::follow(self.task.clone(), self.context.clone(), from);
        for record in &self.records {
            if batch.to.is_terminal() {
                return Err(Refused::AfterEnd(batch.to));
            }
            let state = match record.event.value() {
                Ok(event) if record.kind == Kind::Output => event.state(),
                _ => None,
            };
            if let Some(state) = state {
                batch.to = batch.to.advance(state)?.to();
            }
            batch.push(record.clone());
        }
        batch.updated = self.updated;
        Ok(batch)
    }

    /// Returns the task.
    pub fn task(&self) -> &TaskId {
        &self.task
    }

    /// Returns the conversation.
    pub fn context(&self) -> &ContextId {
        &self.context
    }

    /// Returns the state that the task must be in; unspecified if the batch opens it.
    pub fn from(&self) -> TaskState {
        self.from
    }

    /// Returns the state that the task is in afterwards.
    pub fn to(&self) -> TaskState {
        self.to
    }

    /// Returns the time of the newest status in it, if there is one.
    pub fn updated(&self) -> Option<Timestamp> {
        self.updated
    }

    /// Returns the records, in order.
    pub fn records(&self) -> &[Record] {
        &self.records
    }

    /// Returns the size of all text in it.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Tells whether there is nothing to write.
    pub fn is_empty(&self) -> bool {
        self.records.is_empty()
    }

    /// A signal repeats the state that the task is in: it is an event that readers see, but
    /// only the owner changes the state of running work.
    fn signal(
        &mut self,
        kind: Kind,
        message: Option<Message>,
        metadata: Option<Object>,
        now: Timestamp,
    ) -> Result<(), Refused> {
        if self.to.is_terminal() {
            return Err(Refused::AfterEnd(self.to));
        }
        self.updated = Some(now);
        let event = self.update(TaskStatus::new(self.to, now), metadata);
        self.push(Record {
            kind,
            event: Shared::new(StreamResponse::StatusUpdate(event)),
            message: message.map(Shared::new),
        });
        Ok(())
    }

    fn update(&self, status: TaskStatus, metadata: Option<Object>) -> TaskStatusUpdateEvent {
        TaskStatusUpdateEvent {
            task_id: self.task.clone(),
            context_id: self.context.clone(),
            status,
            metadata,
        }
    }

    fn push(&mut self, record: Record) {
        self.bytes += record.bytes();
        self.records.push(record);
    }
}

fn check_name(member: &'static str, found: &str, expected: &str) -> Result<(), Refused> {
    if found == expected {
        return Ok(());
    }
    Err(Refused::Foreign { member, found: found.to_owned(), expected: expected.to_owned() })
}
