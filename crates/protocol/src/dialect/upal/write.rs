//! The objects as Upal's Go structures write them: members that are empty are left out where
//! the structures say so.

use crate::{
    card::{AgentCard, AgentSkill},
    json::{Members, Object, Raw, Writer},
    message::{Content, Message, Part, Role},
    operation::SendMessageRequest,
    state::TaskState,
    task::{Artifact, Task},
};

use super::{REASON, STATE};

/// Writes the parameters of sending a message.
///
/// Upal's messages do not say what they belong to. Ours do when it is known: Upal passes over
/// such members, and without them a message to a waiting task would begin another.
pub(super) fn send(request: &SendMessageRequest, writer: &mut Writer) {
    writer.object(|object| {
        let message = &request.message;
        object.with("message", |writer| {
            writer.object(|object| {
                write_message(message, object);
                object.optional("contextId", message.context_id.as_ref());
                object.optional("taskId", message.task_id.as_ref());
            });
        });
        if let Some(wishes) = &request.configuration {
            object.with("configuration", |writer| {
                writer.object(|object| {
                    object.list("acceptedOutputModes", &wishes.accepted_output_modes);
                    object.member("blocking", &!wishes.return_immediately);
                });
            });
        }
    });
}

pub(super) fn task(task: &Task, writer: &mut Writer) {
    let status = &task.status;
    let last = status.message.as_deref().filter(|message| {
        task.history.last().is_none_or(|newest| newest.message_id != message.message_id)
    });
    let messages: Vec<&Message> = task.history.iter().chain(last).collect();
    writer.object(|object| {
        object.member("id", &task.id);
        object.optional("contextId", task.context_id.as_ref());
        object.member("status", state_word(status.state));
        write_messages(&messages, object);
        if !task.artifacts.is_empty() {
            object.with("artifacts", |writer| {
                writer.array(task.artifacts.iter().enumerate(), |writer, (index, artifact)| {
                    write_artifact(index, artifact, writer);
                });
            });
        }
        object.optional("metadata", unknown_state(task).as_ref());
    });
}

/// Writes a reply that made no task as a task that is done. It takes the message's identifier,
/// and has the content as an artifact, because that is where Upal looks for results (U-14).
pub(super) fn completed(message: &Message, writer: &mut Writer) {
    writer.object(|object| {
        match &message.task_id {
            Some(task) => object.member("id", task),
            None => object.member("id", &message.message_id),
        }
        object.optional("contextId", message.context_id.as_ref());
        object.member("status", state_word(TaskState::Completed));
        write_messages(&[message], object);
        object.with("artifacts", |writer| {
            writer.array([&message.parts], |writer, parts| {
                writer.object(|object| {
                    write_parts(parts, object);
                    object.member("index", &0);
                });
            });
        });
    });
}

/// Writes a card (U-10). Upal reaches agents by JSON-RPC only.
pub(super) fn card(card: &AgentCard, writer: &mut Writer) {
    let interfaces = &card.supported_interfaces;
    let rpc = interfaces.iter().find(|interface| interface.protocol_binding == "JSONRPC");
    let url = rpc.or_else(|| interfaces.first()).map(|interface| interface.url.as_str());
    writer.object(|object| {
        object.member("name", &card.name);
        object.member("description", &card.description);
        object.member("url", url.unwrap_or_default());
        object.with("capabilities", |writer| {
            writer.object(|object| {
                let capabilities = &card.capabilities;
                object.member("streaming", &capabilities.streaming.unwrap_or_default());
                let push = capabilities.push_notifications.unwrap_or_default();
                object.member("pushNotifications", &push);
            });
        });
        object.with("skills", |writer| {
            writer.array(&card.skills, |writer, skill| write_skill(skill, card, writer));
        });
        object.member("defaultInputModes", &card.default_input_modes);
        object.member("defaultOutputModes", &card.default_output_modes);
    });
}

/// Writes a skill. Upal's skills always say their media types; ours only where they differ
/// from the card's.
fn write_skill(skill: &AgentSkill, card: &AgentCard, writer: &mut Writer) {
    writer.object(|object| {
        object.member("id", &skill.id);
        object.member("name", &skill.name);
        object.member("description", &skill.description);
        object.member("inputModes", modes(&skill.input_modes, &card.default_input_modes));
        object.member("outputModes", modes(&skill.output_modes, &card.default_output_modes));
    });
}

fn modes<'a>(own: &'a [String], default: &'a [String]) -> &'a [String] {
    if own.is_empty() { default } else { own }
}

fn state_word(state: TaskState) -> &'static str {
    match state {
        TaskState::Submitted => "created",
        TaskState::Working | TaskState::Unspecified => "working",
        TaskState::InputRequired | TaskState::AuthRequired => "input-required",
        TaskState::Completed => "completed",
        TaskState::Failed | TaskState::Rejected => "failed",
        TaskState::Canceled => "canceled",
    }
}

/// Returns the metadata that tells a state unknown to Upal.
fn unknown_state(task: &Task) -> Option<Object> {
    match task.status.state {
        TaskState::AuthRequired => {
            Some(Object::from_members([(STATE, Raw::string("auth-required"))]))
        }
        TaskState::Rejected => {
            let told = Object::from_members([(STATE, Raw::string("rejected"))]);
            let text = task.status.message.as_ref().map(|message| message.text());
            Some(match text.filter(|text| !text.is_empty()) {
                Some(text) => told.with(REASON, Raw::string(&text)),
                None => told,
            })
        }
        _ => None,
    }
}

fn write_artifact(index: usize, artifact: &Artifact, writer: &mut Writer) {
    writer.object(|object| {
        object.text("name", &artifact.name);
        object.text("description", &artifact.description);
        write_parts(&artifact.parts, object);
        object.with("index", |writer| writer.int(index.try_into().unwrap_or(i64::MAX)));
        if let Some(metadata) = artifact.metadata.as_ref().filter(|metadata| !metadata.is_empty()) {
            object.member("metadata", &stringified(metadata));
        }
    });
}

/// Turns each value into a text, since Upal's artifacts have no others.
fn stringified(metadata: &Object) -> Object {
    let members = metadata.members();
    Object::from_members(members.iter().map(|(key, value)| {
        let is_text = value.as_str().starts_with('"');
        (key.as_str(), if is_text { value.clone() } else { Raw::string(value.as_str()) })
    }))
}

fn write_messages(messages: &[&Message], object: &mut Members<'_>) {
    if messages.is_empty() {
        return;
    }
    object.with("messages", |writer| {
        writer.array(messages, |writer, message| {
            writer.object(|object| write_message(message, object));
        });
    });
}

fn write_message(message: &Message, object: &mut Members<'_>) {
    object.member("role", if message.role == Role::User { "user" } else { "agent" });
    write_parts(&message.parts, object);
}

fn write_parts(parts: &[Part], object: &mut Members<'_>) {
    object.with("parts", |writer| writer.array(parts, |writer, part| write_part(part, writer)));
}

fn write_part(part: &Part, writer: &mut Writer) {
    writer.object(|object| match &part.content {
        Content::Text(text) => {
            object.member("type", "text");
            object.text("text", text);
            object.text("mimeType", &part.media_type);
        }
        Content::Data(data) => {
            object.member("type", "data");
            let media_type = Some(&*part.media_type).filter(|media_type| !media_type.is_empty());
            object.member("mimeType", media_type.unwrap_or("application/json"));
            if data.as_str() != "null" {
                object.member("data", data);
            }
        }
        Content::Raw(_) | Content::Url(_) => {
            object.member("type", "file");
            object.with("file", |writer| write_file(part, writer));
        }
    });
}

fn write_file(part: &Part, writer: &mut Writer) {
    writer.object(|object| {
        match &part.content {
            Content::Raw(bytes) => object.with("bytes", |writer| writer.base64(bytes)),
            Content::Url(url) => object.member("uri", url),
            Content::Text(_) | Content::Data(_) => {}
        }
        object.text("name", &part.filename);
        object.text("mimeType", &part.media_type);
    });
}
