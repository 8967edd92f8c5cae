//! The objects of 0.3, written.

use crate::{
    card::{AgentCard, LegacyCard},
    dialect::loose::{wrap_data, wrapped_metadata},
    error::Error,
    ids::{ContextId, TaskId},
    json::{Members, ToJson, Writer},
    message::{Content, Message, Part, Role},
    operation::ListTasksResponse,
    push::{AuthenticationInfo, TaskPushNotificationConfig},
    state::TaskState,
    task::{
        Artifact, SendMessageResponse, StreamResponse, Task, TaskArtifactUpdateEvent, TaskStatus,
        TaskStatusUpdateEvent,
    },
    wire::StreamEnd,
};

pub(in crate::dialect) fn answer(answer: &SendMessageResponse, writer: &mut Writer) {
    match answer {
        SendMessageResponse::Task(body) => task(body, writer),
        SendMessageResponse::Message(body) => message(body, writer),
    }
}

pub(in crate::dialect) fn event(event: &StreamResponse, end: StreamEnd, writer: &mut Writer) {
    match event {
        StreamResponse::Task(body) => task(body, writer),
        StreamResponse::Message(body) => message(body, writer),
        StreamResponse::StatusUpdate(update) => status_update(update, end, writer),
        StreamResponse::ArtifactUpdate(update) => artifact_update(update, writer),
    }
}

pub(in crate::dialect) fn task(task: &Task, writer: &mut Writer) {
    writer.object(|object| {
        object.member("kind", "task");
        object.member("id", &task.id);
        object.member("contextId", context_of(task.context_id.as_ref(), &task.id));
        object.with("status", |writer| status(&task.status, writer));
        if !task.artifacts.is_empty() {
            object.with("artifacts", |writer| {
                writer.array(&task.artifacts, |writer, body| artifact(body, writer));
            });
        }
        if !task.history.is_empty() {
            object.with("history", |writer| {
                writer.array(&task.history, |writer, body| message(body, writer));
            });
        }
        object.optional("metadata", task.metadata.as_ref());
    });
}

pub(in crate::dialect) fn status(status: &TaskStatus, writer: &mut Writer) {
    writer.object(|object| {
        object.member("state", state(status.state));
        if let Some(body) = &status.message {
            object.with("message", |writer| message(body, writer));
        }
        object.optional("timestamp", status.timestamp.as_ref());
    });
}

pub(in crate::dialect) fn artifact(artifact: &Artifact, writer: &mut Writer) {
    writer.object(|object| {
        object.member("artifactId", &artifact.artifact_id);
        object.text("name", &artifact.name);
        object.text("description", &artifact.description);
        object.with("parts", |writer| parts(&artifact.parts, writer));
        object.optional("metadata", artifact.metadata.as_ref());
        object.list("extensions", &artifact.extensions);
    });
}

pub(in crate::dialect) fn status_update(
    update: &TaskStatusUpdateEvent,
    end: StreamEnd,
    writer: &mut Writer,
) {
    writer.object(|object| {
        object.member("kind", "status-update");
        object.member("taskId", &update.task_id);
        object.member("contextId", &update.context_id);
        object.with("status", |writer| status(&update.status, writer));
        object.member("final", &is_final(update, end));
        object.optional("metadata", update.metadata.as_ref());
    });
}

/// Tells whether a client of 0.3 may stop listening: the task has ended, or it is paused and
/// the stream is about to be closed (C-37).
pub(in crate::dialect) fn is_final(update: &TaskStatusUpdateEvent, end: StreamEnd) -> bool {
    update.status.state.is_terminal() || end == StreamEnd::Closing
}

pub(in crate::dialect) fn artifact_update(update: &TaskArtifactUpdateEvent, writer: &mut Writer) {
    writer.object(|object| {
        object.member("kind", "artifact-update");
        object.member("taskId", &update.task_id);
        object.member("contextId", &update.context_id);
        object.with("artifact", |writer| artifact(&update.artifact, writer));
        if update.append {
            object.member("append", &true);
        }
        if update.last_chunk {
            object.member("lastChunk", &true);
        }
        object.optional("metadata", update.metadata.as_ref());
    });
}

pub(in crate::dialect) fn message(message: &Message, writer: &mut Writer) {
    writer.object(|object| {
        object.member("kind", "message");
        object.member("messageId", &message.message_id);
        object.optional("contextId", message.context_id.as_ref());
        object.optional("taskId", message.task_id.as_ref());
        object.member("role", role(message.role));
        object.with("parts", |writer| parts(&message.parts, writer));
        object.optional("metadata", message.metadata.as_ref());
        object.list("extensions", &message.extensions);
        object.list("referenceTaskIds", &message.reference_task_ids);
    });
}

fn parts(parts: &[Part], writer: &mut Writer) {
    writer.array(parts, |writer, body| part(body, writer));
}

pub(in crate::dialect) fn part(part: &Part, writer: &mut Writer) {
    writer.object(|object| {
        let mut wrapped = false;
        match &part.content {
            Content::Text(text) => {
                object.member("kind", "text");
                object.member("text", text);
            }
            Content::Data(value) => {
                let (data, is_wrapped) = wrap_data(value);
                wrapped = is_wrapped;
                object.member("kind", "data");
                object.member("data", &data);
            }
            Content::Raw(bytes) => {
                file(object, part, |object| object.with("bytes", |writer| writer.base64(bytes)));
            }
            Content::Url(url) => file(object, part, |object| object.member("uri", url)),
        }
        object.optional("metadata", wrapped_metadata(part.metadata.as_ref(), wrapped).as_ref());
    });
}

fn file(object: &mut Members<'_>, part: &Part, content: impl FnOnce(&mut Members<'_>)) {
    object.member("kind", "file");
    object.with("file", |writer| {
        writer.object(|object| {
            content(object);
            object.text("name", &part.filename);
            object.text("mimeType", &part.media_type);
        });
    });
}

/// Writes a webhook with its task.
pub(in crate::dialect) fn task_push_config(
    config: &TaskPushNotificationConfig,
    writer: &mut Writer,
) {
    writer.object(|object| {
        object.optional("taskId", config.task_id.as_ref());
        object.with("pushNotificationConfig", |writer| push_config(config, writer));
    });
}

/// Writes a webhook without its task.
pub(in crate::dialect) fn push_config(config: &TaskPushNotificationConfig, writer: &mut Writer) {
    writer.object(|object| {
        object.optional("id", config.id.as_ref());
        object.member("url", &config.url);
        object.text("token", &config.token);
        if let Some(info) = &config.authentication {
            object.with("authentication", |writer| authentication(info, writer));
        }
    });
}

fn authentication(info: &AuthenticationInfo, writer: &mut Writer) {
    writer.object(|object| {
        object.with("schemes", |writer| {
            let schemes = Some(&info.scheme).filter(|scheme| !scheme.is_empty());
            writer.array(schemes, |writer, scheme| scheme.write(writer));
        });
        object.text("credentials", &info.credentials);
    });
}

/// Writes a page of tasks, each by `task`; the members around them are those of 1.0.
pub(in crate::dialect) fn tasks(
    page: &ListTasksResponse,
    writer: &mut Writer,
    mut task: impl FnMut(&Task, &mut Writer),
) {
    writer.object(|object| {
        object.with("tasks", |writer| {
            writer.array(&page.tasks, |writer, body| task(body, writer));
        });
        object.member("nextPageToken", &page.next_page_token);
        object.member("pageSize", &page.page_size);
        object.member("totalSize", &page.total_size);
    });
}

/// Writes a card in an older form, or as it is if it has no interface of that form.
pub(in crate::dialect) fn card(
    card: &AgentCard,
    legacy: Result<LegacyCard<'_>, Error>,
    writer: &mut Writer,
) {
    match legacy {
        Ok(legacy) => legacy.write(writer),
        Err(_) => card.write(writer),
    }
}

/// Returns the text of a task's conversation. 0.3 requires one: a task without gets its own id.
pub(in crate::dialect) fn context_of<'a>(
    context: Option<&'a ContextId>,
    task: &'a TaskId,
) -> &'a str {
    context.map_or(task.as_str(), ContextId::as_str)
}

pub(in crate::dialect) fn state(state: TaskState) -> &'static str {
    match state {
        TaskState::Unspecified => "unknown",
        TaskState::Submitted => "submitted",
        TaskState::Working => "working",
        TaskState::Completed => "completed",
        TaskState::Failed => "failed",
        TaskState::Canceled => "canceled",
        TaskState::InputRequired => "input-required",
        TaskState::Rejected => "rejected",
        TaskState::AuthRequired => "auth-required",
    }
}

/// Returns the name of a role; 0.3 knows two, so whoever is not the user is the agent.
pub(in crate::dialect) fn role(role: Role) -> &'static str {
    match role {
        Role::User => "user",
        Role::Agent | Role::Unspecified => "agent",
    }
}
