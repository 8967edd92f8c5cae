//! The objects of 0.3 in the JSON of its protobuf messages, written (compatibility digest §5).

use crate::{
    dialect::{
        loose::{wrap_data, wrapped_metadata},
        v03,
    },
    json::{Members, Writer},
    message::{Content, Message, Part},
    operation::{
        ListTaskPushNotificationConfigsResponse, SendMessageConfiguration, SendMessageRequest,
    },
    push::TaskPushNotificationConfig,
    state::TaskState,
    task::{Artifact, SendMessageResponse, StreamResponse, Task, TaskStatus},
    wire::StreamEnd,
};

pub(super) fn send(
    request: &SendMessageRequest,
    wishes: Option<&SendMessageConfiguration>,
    writer: &mut Writer,
) {
    writer.object(|object| {
        object.with("message", |writer| message(&request.message, writer));
        if let Some(wishes) = wishes {
            object.with("configuration", |writer| configuration(wishes, writer));
        }
        object.optional("metadata", request.metadata.as_ref());
    });
}

fn configuration(wishes: &SendMessageConfiguration, writer: &mut Writer) {
    writer.object(|object| {
        object.list("acceptedOutputModes", &wishes.accepted_output_modes);
        if let Some(config) = &wishes.task_push_notification_config {
            object.with("pushNotification", |writer| v03::write::push_config(config, writer));
        }
        object.optional(
            "historyLength",
            wishes.history_length.filter(|length| *length != 0).as_ref(),
        );
        object.member("blocking", &!wishes.return_immediately);
    });
}

pub(super) fn answer(answer: &SendMessageResponse, writer: &mut Writer) {
    writer.object(|object| match answer {
        SendMessageResponse::Task(body) => object.with("task", |writer| task(body, writer)),
        SendMessageResponse::Message(body) => {
            object.with("message", |writer| message(body, writer));
        }
    });
}

pub(super) fn event(event: &StreamResponse, end: StreamEnd, writer: &mut Writer) {
    writer.object(|object| match event {
        StreamResponse::Task(body) => object.with("task", |writer| task(body, writer)),
        StreamResponse::Message(body) => object.with("message", |writer| message(body, writer)),
        StreamResponse::StatusUpdate(update) => object.with("statusUpdate", |writer| {
            writer.object(|object| {
                object.member("taskId", &update.task_id);
                object.member("contextId", &update.context_id);
                object.with("status", |writer| status(&update.status, writer));
                if v03::write::is_final(update, end) {
                    object.member("final", &true);
                }
                object.optional("metadata", update.metadata.as_ref());
            });
        }),
        StreamResponse::ArtifactUpdate(update) => object.with("artifactUpdate", |writer| {
            writer.object(|object| {
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
        }),
    });
}

pub(super) fn task(task: &Task, writer: &mut Writer) {
    writer.object(|object| {
        object.member("id", &task.id);
        object.member("contextId", v03::write::context_of(task.context_id.as_ref(), &task.id));
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

fn status(status: &TaskStatus, writer: &mut Writer) {
    writer.object(|object| {
        object.member("state", state(status.state));
        if let Some(body) = &status.message {
            object.with("message", |writer| message(body, writer));
        }
        object.optional("timestamp", status.timestamp.as_ref());
    });
}

fn artifact(artifact: &Artifact, writer: &mut Writer) {
    writer.object(|object| {
        object.member("artifactId", &artifact.artifact_id);
        object.text("name", &artifact.name);
        object.text("description", &artifact.description);
        object.with("parts", |writer| parts(&artifact.parts, writer));
        object.optional("metadata", artifact.metadata.as_ref());
        object.list("extensions", &artifact.extensions);
    });
}

fn message(message: &Message, writer: &mut Writer) {
    writer.object(|object| {
        object.member("messageId", &message.message_id);
        object.optional("contextId", message.context_id.as_ref());
        object.optional("taskId", message.task_id.as_ref());
        object.member("role", &message.role);
        object.with("content", |writer| parts(&message.parts, writer));
        object.optional("metadata", message.metadata.as_ref());
        object.list("extensions", &message.extensions);
    });
}

fn parts(parts: &[Part], writer: &mut Writer) {
    writer.array(parts, |writer, body| part(body, writer));
}

fn part(part: &Part, writer: &mut Writer) {
    writer.object(|object| {
        let mut wrapped = false;
        match &part.content {
            Content::Text(text) => object.member("text", text),
            Content::Data(value) => {
                let (data, is_wrapped) = wrap_data(value);
                wrapped = is_wrapped;
                object.with("data", |writer| writer.object(|object| object.member("data", &data)));
            }
            Content::Raw(bytes) => file(object, part, |object| {
                object.with("fileWithBytes", |writer| writer.base64(bytes));
            }),
            Content::Url(url) => file(object, part, |object| object.member("fileWithUri", url)),
        }
        object.optional("metadata", wrapped_metadata(part.metadata.as_ref(), wrapped).as_ref());
    });
}

fn file(object: &mut Members<'_>, part: &Part, content: impl FnOnce(&mut Members<'_>)) {
    object.with("file", |writer| {
        writer.object(|object| {
            content(object);
            object.text("mimeType", &part.media_type);
            object.text("name", &part.filename);
        });
    });
}

/// Writes the request that creates a webhook; servers read this of the three forms seen.
pub(super) fn creation(config: &TaskPushNotificationConfig, writer: &mut Writer) {
    writer.object(|object| {
        if let Some(task) = &config.task_id {
            object.member("parent", &format!("tasks/{task}"));
        }
        object.optional("configId", config.id.as_ref());
        object.with("config", |writer| task_push_config(config, writer));
    });
}

/// Writes a webhook under its resource name.
pub(super) fn task_push_config(config: &TaskPushNotificationConfig, writer: &mut Writer) {
    writer.object(|object| {
        if let Some(task) = &config.task_id {
            let id = config.id.as_ref().map_or("", |id| id.as_str());
            object.member("name", &format!("tasks/{task}/pushNotificationConfigs/{id}"));
        }
        object.with("pushNotificationConfig", |writer| v03::write::push_config(config, writer));
    });
}

pub(super) fn push_configs(page: &ListTaskPushNotificationConfigsResponse, writer: &mut Writer) {
    writer.object(|object| {
        object.with("configs", |writer| {
            writer.array(&page.configs, |writer, config| task_push_config(config, writer));
        });
        object.text("nextPageToken", &page.next_page_token);
    });
}

/// Returns the name of a state; 0.3 spells one of them otherwise than 1.0.
fn state(state: TaskState) -> &'static str {
    match state {
        TaskState::Canceled => "TASK_STATE_CANCELLED",
        state => state.as_str(),
    }
}
