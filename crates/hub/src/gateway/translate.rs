//! One task under two names: ours, which callers know, and the agent's own.

use nuncio_protocol::{
    ids::{ContextId, TaskId},
    message::Message,
    operation::{SendMessageConfiguration, SendMessageRequest},
    state::TaskState,
    task::{
        RESUME_GAP, StreamResponse, Task, TaskArtifactUpdateEvent, TaskStatus,
        TaskStatusUpdateEvent,
    },
};
use nuncio_tasks::agent::Asked;

use super::note::Note;

/// What an agent is to answer a message with.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reply {
    /// Whether the task as it stands will do.
    pub(crate) at_once: bool,
    /// How many messages of the task; all, if nothing is said.
    pub(crate) history: Option<i32>,
}

/// Says a caller's message in the names that the agent knows.
pub(crate) fn outward(
    mut message: Message,
    ours: &Ours,
    note: &Note,
    asked: &Asked,
    reply: Reply,
) -> SendMessageRequest {
    message.task_id = note.task();
    message.context_id = context(&message, note, asked);
    for task in &mut message.reference_task_ids {
        let other = ours.others.iter().find(|(known, _)| known == task);
        let other = other.map(|(_, theirs)| theirs.clone());
        if let Some(theirs) = other.or_else(|| note.task().filter(|_| *task == ours.task)) {
            *task = theirs;
        }
    }
    let mut request = SendMessageRequest::new(message);
    request.metadata.clone_from(&asked.metadata);
    request.configuration = Some(SendMessageConfiguration {
        accepted_output_modes: asked.output_modes.clone(),
        return_immediately: reply.at_once,
        history_length: reply.history,
        ..SendMessageConfiguration::default()
    });
    request
}

/// Returns in which conversation a message goes to its agent; `None` if the agent is to begin one.
pub(crate) fn context(message: &Message, note: &Note, asked: &Asked) -> Option<ContextId> {
    // One that is not known may be a name that its caller chose, and the agent may know.
    let given = message.context_id.as_ref().filter(|_| asked.context_is_given);
    note.context().or_else(|| given.cloned())
}

/// The names of a task among ourselves.
#[derive(Clone, Debug)]
pub(crate) struct Ours {
    pub(crate) task: TaskId,
    pub(crate) context: ContextId,
    /// Other tasks that messages refer to, by our names and those of the agent.
    pub(crate) others: Vec<(TaskId, TaskId)>,
}

impl Ours {
    /// Says a message of the agent's in our names.
    pub(crate) fn message(&self, mut message: Message) -> Message {
        message.context_id = Some(self.context.clone());
        if message.task_id.is_some() {
            message.task_id = Some(self.task.clone());
        }
        for task in &mut message.reference_task_ids {
            if let Some((ours, _)) = self.others.iter().find(|(_, known)| known == task) {
                task.clone_from(ours);
            }
        }
        message
    }

    fn status(&self, mut status: TaskStatus) -> TaskStatus {
        status.message = status.message.map(|message| Box::new(self.message(*message)));
        status
    }

    /// Says an update of the agent's in our names.
    pub(crate) fn update(&self, event: StreamResponse) -> StreamResponse {
        let (task_id, context_id) = (self.task.clone(), self.context.clone());
        match event {
            StreamResponse::StatusUpdate(update) => {
                StreamResponse::StatusUpdate(TaskStatusUpdateEvent {
                    task_id,
                    context_id,
                    status: self.status(update.status),
                    metadata: update.metadata,
                })
            }
            StreamResponse::ArtifactUpdate(update) => {
                StreamResponse::ArtifactUpdate(TaskArtifactUpdateEvent {
                    task_id,
                    context_id,
                    ..update
                })
            }
            StreamResponse::Message(message) => StreamResponse::Message(self.message(message)),
            StreamResponse::Task(task) => StreamResponse::Task(Task {
                id: task_id,
                context_id: Some(context_id),
                status: self.status(task.status),
                ..task
            }),
        }
    }

    /// Makes updates of what a task of the agent's says that ours does not say yet.
    pub(crate) fn updates(&self, known: &Task, now: Task) -> Vec<StreamResponse> {
        let ended = now.status.state.is_terminal();
        let metadata = now.metadata.map(|metadata| match metadata.get(RESUME_GAP) {
            Some(_) => metadata.without(RESUME_GAP),
            None => metadata,
        });
        let metadata = metadata.filter(|now| match &known.metadata {
            Some(known) => known != now,
            None => !now.is_empty(),
        });
        let mut updates = Vec::new();
        for artifact in now.artifacts {
            let before = known.artifacts.iter().find(|one| one.artifact_id == artifact.artifact_id);
            if before == Some(&artifact) {
                continue;
            }
            updates.push(StreamResponse::ArtifactUpdate(TaskArtifactUpdateEvent {
                task_id: self.task.clone(),
                context_id: self.context.clone(),
                artifact,
                append: false,
                last_chunk: ended,
                metadata: None,
            }));
        }
        let mut status = self.status(now.status);
        let is_news = status.state != known.status.state || status.message.is_some();
        let is_news = is_news && status.state != TaskState::Submitted;
        if !is_news {
            status = self.status(known.status.clone());
        }
        if is_news || metadata.is_some() {
            let update = TaskStatusUpdateEvent {
                task_id: self.task.clone(),
                context_id: self.context.clone(),
                status,
                metadata: None,
            };
            updates.push(StreamResponse::StatusUpdate(match &metadata {
                Some(metadata) => update.with_task_metadata(metadata),
                None => update,
            }));
        }
        updates
    }

    /// Says a task of ours in the names that the agent knows.
    pub(crate) fn theirs(task: &Task, note: &Note) -> Option<Task> {
        let mut theirs = task.clone();
        theirs.id = note.task()?;
        if let Some(context) = note.context() {
            theirs.context_id = Some(context);
        }
        theirs.history.clear();
        Some(theirs)
    }
}
