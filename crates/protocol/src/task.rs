//! Tasks, their artifacts, and the events that change them.

use crate::{
    ids::{ArtifactId, ContextId, TaskId},
    json::{Object, Raw, Shared, bytes_with, proto_union, record},
    message::{Message, Part, join_text},
    state::TaskState,
    time::Timestamp,
};

/// The member of a status update's metadata that says that the other members are from now on the
/// metadata of the task: A2A has no event of its own for that.
pub const TASK_METADATA: &str = "taskMetadata";

/// The member of a task's metadata that says that events of its stream were missed for good. It is
/// about the stream, and no property of the task.
pub const RESUME_GAP: &str = "resumeGap";

record! {
    /// A piece of work and all that came of it.
    pub struct Task {
        /// Made by the server.
        id: TaskId = required "id",
        /// The conversation it belongs to.
        context_id: Option<ContextId> = id "contextId" | "context_id",
        /// Where it stands.
        status: TaskStatus = required "status",
        /// What came of it.
        artifacts: Vec<Artifact> = implicit "artifacts",
        /// What was said, oldest first.
        history: Vec<Message> = implicit "history",
        /// Data of extensions.
        metadata: Option<Object> = optional "metadata",
    }
}

impl Task {
    /// Starts a task with nothing in it yet.
    pub fn new(id: TaskId, context_id: ContextId, status: TaskStatus) -> Self {
        Self {
            id,
            context_id: Some(context_id),
            status,
            artifacts: Vec::new(),
            history: Vec::new(),
            metadata: None,
        }
    }

    /// Keeps at most the newest `limit` messages of the history.
    pub fn truncate_history(&mut self, limit: usize) {
        let surplus = self.history.len().saturating_sub(limit);
        self.history.drain(..surplus);
    }
}

record! {
    /// Where a task stands, since when, and why.
    pub struct TaskStatus {
        /// The state.
        state: TaskState = required "state",
        /// A word about it: progress, a question, the reason of a failure.
        message: Option<Box<Message>> = optional "message",
        /// Since when.
        timestamp: Option<Timestamp> = optional "timestamp",
    }
}

impl TaskStatus {
    /// Makes a status without message.
    pub fn new(state: TaskState, timestamp: Timestamp) -> Self {
        Self { state, message: None, timestamp: Some(timestamp) }
    }

    /// Adds a word about it.
    #[must_use]
    pub fn with_message(mut self, message: Message) -> Self {
        self.message = Some(Box::new(message));
        self
    }
}

record! {
    /// A result.
    pub struct Artifact {
        /// Unique within the task.
        artifact_id: ArtifactId = required "artifactId" | "artifact_id",
        /// A name for people; empty if there is none.
        name: String = implicit "name",
        /// What it is; empty if it is not said.
        description: String = implicit "description",
        /// The content.
        parts: Vec<Part> = always "parts",
        /// Data of extensions.
        metadata: Option<Object> = optional "metadata",
        /// URIs of the extensions present in this artifact.
        extensions: Vec<String> = implicit "extensions",
    }
}

impl Artifact {
    /// Makes an unnamed artifact.
    pub fn new(artifact_id: ArtifactId, parts: Vec<Part>) -> Self {
        Self {
            artifact_id,
            name: String::new(),
            description: String::new(),
            parts,
            metadata: None,
            extensions: Vec::new(),
        }
    }

    /// Returns all text parts, one line each.
    pub fn text(&self) -> String {
        join_text(&self.parts)
    }
}

record! {
    /// A task has a new status.
    pub struct TaskStatusUpdateEvent {
        /// The task.
        task_id: TaskId = required "taskId" | "task_id",
        /// Its conversation.
        context_id: ContextId = required "contextId" | "context_id",
        /// The new status.
        status: TaskStatus = required "status",
        /// Data of extensions.
        metadata: Option<Object> = optional "metadata",
    }
}

impl TaskStatusUpdateEvent {
    /// Says also what the metadata of the task is from now on.
    #[must_use]
    pub fn with_task_metadata(self, metadata: &Object) -> Self {
        Self { metadata: Some(metadata.with(TASK_METADATA, Raw::bool(true))), ..self }
    }

    /// Returns what the metadata of the task is from now on, if the update says that.
    pub fn task_metadata(&self) -> Option<Object> {
        let metadata = self.metadata.as_ref()?;
        let is_said = metadata.get(TASK_METADATA)? == Raw::bool(true);
        is_said.then(|| metadata.without(TASK_METADATA))
    }
}

record! {
    /// A task has a new artifact, or more of one.
    pub struct TaskArtifactUpdateEvent {
        /// The task.
        task_id: TaskId = required "taskId" | "task_id",
        /// Its conversation.
        context_id: ContextId = required "contextId" | "context_id",
        /// The artifact, whole or a chunk.
        artifact: Artifact = required "artifact",
        /// Whether the parts go behind those of the stored artifact, instead of in their place.
        append: bool = implicit "append",
        /// Whether the artifact is finished.
        last_chunk: bool = implicit "lastChunk" | "last_chunk",
        /// Data of extensions.
        metadata: Option<Object> = optional "metadata",
    }
}

proto_union! {
    /// One event of a stream.
    pub enum StreamResponse {
        /// The whole task as it is now.
        Task(Task) = "task",
        /// A reply that makes no task.
        Message(Message) = "message",
        /// A new status.
        StatusUpdate(TaskStatusUpdateEvent) = "statusUpdate" | "status_update",
        /// A new artifact, or more of one.
        ArtifactUpdate(TaskArtifactUpdateEvent) = "artifactUpdate" | "artifact_update",
    }
}

impl StreamResponse {
    /// Returns the state that the event puts the task in.
    pub fn state(&self) -> Option<TaskState> {
        match self {
            Self::Task(task) => Some(task.status.state),
            Self::StatusUpdate(update) => Some(update.status.state),
            Self::Message(_) | Self::ArtifactUpdate(_) => None,
        }
    }

    /// Tells whether nothing can follow on the stream.
    pub fn is_last(&self) -> bool {
        matches!(self, Self::Message(_)) || self.state().is_some_and(TaskState::is_terminal)
    }
}

proto_union! {
    /// The answer to a message.
    pub enum SendMessageResponse {
        /// The message began or continued a task.
        Task(Task) = "task",
        /// A reply that makes no task.
        Message(Message) = "message",
    }
}

impl StreamResponse {
    /// Says a whole task, by its text.
    pub fn of_task(task: &Task) -> Shared<Self> {
        Shared::from_json(bytes_with(|writer| {
            writer.object(|object| object.member("task", task));
        }))
    }
}

impl SendMessageResponse {
    /// Answers with the text of a task, unread.
    pub fn of_task(task: &Shared<Task>) -> Shared<Self> {
        let text = task.json();
        let mut answer = Vec::with_capacity(text.len() + 9);
        answer.extend_from_slice(br#"{"task":"#);
        answer.extend_from_slice(text);
        answer.push(b'}');
        Shared::from_json(answer.into())
    }
}
