//! Requests, answers, events and cards, written as `PocketPaw` writes them.

use crate::{
    card::{AgentCard, AgentSkill},
    dialect::loose::{wrap_data, wrapped_metadata},
    ids::{ContextId, TaskId},
    json::{self, Members, Object, ToJson, Writer},
    message::{Content, Message, Part, Role},
    operation::{GetTaskRequest, Operation, Request, Response, SendMessageRequest},
    state::TaskState,
    task::{Artifact, SendMessageResponse, StreamResponse, Task, TaskStatus},
    wire::StreamEnd,
};

use super::read::{HISTORY, check_task_name};

/// The version that cards name, though the form is not that of A2A 0.2.5.
const PROTOCOL_VERSION: &str = "0.2.5";

/// Fails if a request is about a task that the form has no name for (PD-01).
pub(super) fn check_task(request: &Request) -> Result<(), json::Error> {
    let (task, path): (_, &[&str]) = match request {
        Request::SendMessage(request) | Request::SendStreamingMessage(request) => {
            (request.message.task_id.as_ref(), &["taskId", "message"])
        }
        Request::GetTask(request) => (Some(&request.id), &["id"]),
        Request::CancelTask(request) => (Some(&request.id), &["id"]),
        Request::SubscribeToTask(request) => (Some(&request.id), &["id"]),
        _ => (None, &[]),
    };
    let checked = task.map_or(Ok(()), |task| check_task_name(task.as_str()));
    checked.map_err(|error| path.iter().fold(error, |error, key| error.inside(key)))
}

pub(super) fn request(request: &Request, writer: &mut Writer) {
    match request {
        Request::SendMessage(request) | Request::SendStreamingMessage(request) => {
            send(request, writer);
        }
        Request::GetTask(GetTaskRequest { id, history_length, .. }) => writer.object(|object| {
            object.member("id", id);
            object.optional("history_length", history_length.as_ref());
        }),
        Request::CancelTask(request) => writer.object(|object| {
            object.member("id", &request.id);
            object.optional("metadata", request.metadata.as_ref());
        }),
        Request::SubscribeToTask(request) => {
            writer.object(|object| object.member("id", &request.id));
        }
        // Never called: `method` has no name for it.
        _ => request.write(writer),
    }
}

/// Writes the parameters of sending a message. Task and context stand beside the message; the
/// task, which could also be a name for a new one there, once more inside.
fn send(request: &SendMessageRequest, writer: &mut Writer) {
    let message = &request.message;
    let (history, metadata) = take_history(request.metadata.as_ref());
    writer.object(|object| {
        object.optional("id", message.task_id.as_ref());
        object.optional("context_id", message.context_id.as_ref());
        object.with("message", |writer| {
            writer.object(|object| {
                write_message_members(message, object);
                object.optional("task_id", message.task_id.as_ref());
            });
        });
        write_messages(HISTORY, &history, object);
        if let Some(wishes) = &request.configuration {
            object.with("configuration", |writer| {
                writer.object(|object| {
                    object.list("accepted_output_modes", &wishes.accepted_output_modes);
                    object.optional("history_length", wishes.history_length.as_ref());
                });
            });
        }
        object.optional("metadata", metadata.as_ref());
    });
}

/// Takes the messages that a client brought along out of the metadata.
fn take_history(metadata: Option<&Object>) -> (Vec<Message>, Option<Object>) {
    let history = metadata.and_then(|metadata| metadata.get(HISTORY));
    let history = history.and_then(|history| json::from_str::<Vec<Message>>(history.as_str()).ok());
    match (history, metadata) {
        (Some(history), Some(metadata)) if !history.is_empty() => {
            let rest = Some(metadata.without(HISTORY)).filter(|rest| !rest.is_empty());
            (history, rest)
        }
        _ => (Vec::new(), metadata.cloned()),
    }
}

pub(super) fn response(operation: Operation, response: &Response, writer: &mut Writer) {
    match response {
        Response::Task(task) if operation == Operation::CancelTask => writer.object(|object| {
            object.member("id", &task.id);
            object.member("status", state_word(task.status.state));
        }),
        Response::SendMessage(SendMessageResponse::Task(task)) | Response::Task(task) => {
            writer.object(|object| write_task(task, object));
        }
        Response::SendMessage(SendMessageResponse::Message(message)) => {
            writer.object(|object| {
                object.with("id", |writer| write_completed_id(message, writer));
                write_context(message.context_id.as_ref(), object);
                object.with("status", |writer| write_completed_status(message, writer));
                object.member::<[Message]>("history", &[]);
                object.member::<[Artifact]>("artifacts", &[]);
            });
        }
        // Never called: `method` has no name for the operation.
        _ => response.write(writer),
    }
}

pub(super) fn event(event: &StreamResponse, end: StreamEnd, writer: &mut Writer) {
    let last = event.is_last() || end == StreamEnd::Closing;
    writer.object(|object| match event {
        StreamResponse::Task(task) => {
            object.member("task_id", &task.id);
            write_task(task, object);
            object.member("final", &last);
        }
        StreamResponse::Message(message) => {
            object.with("task_id", |writer| write_completed_id(message, writer));
            object.optional("context_id", message.context_id.as_ref());
            object.with("status", |writer| write_completed_status(message, writer));
            object.member("final", &last);
        }
        StreamResponse::StatusUpdate(update) => {
            object.member("task_id", &update.task_id);
            write_event_context(&update.task_id, &update.context_id, object);
            object.with("status", |writer| write_status(&update.status, None, writer));
            object.member("final", &last);
        }
        StreamResponse::ArtifactUpdate(update) => {
            object.member("task_id", &update.task_id);
            write_event_context(&update.task_id, &update.context_id, object);
            object.with("artifact", |writer| write_artifact(&update.artifact, writer));
            object.member("append", &update.append);
            object.member("last_chunk", &update.last_chunk);
        }
    });
}

/// Writes the context of an event, unless it is the one that a reader makes up.
fn write_event_context(task: &TaskId, context: &ContextId, object: &mut Members<'_>) {
    if task.as_str() != context.as_str() {
        object.member("context_id", context);
    }
}

fn write_task(task: &Task, object: &mut Members<'_>) {
    object.member("id", &task.id);
    write_context(task.context_id.as_ref(), object);
    object.with("status", |writer| write_status(&task.status, Answer::of(task), writer));
    object.with("history", |writer| {
        writer.array(&task.history, |writer, message| write_message(message, writer));
    });
    object.with("artifacts", |writer| {
        writer.array(&task.artifacts, |writer, artifact| write_artifact(artifact, writer));
    });
    object.optional("metadata", task.metadata.as_ref());
}

/// Writes the context of a task, which is its session too.
fn write_context(context: Option<&ContextId>, object: &mut Members<'_>) {
    object.optional("context_id", context);
    object.optional("session_id", context);
}

/// Writes the identifier of the task that a reply without one is told as: the message's.
fn write_completed_id(message: &Message, writer: &mut Writer) {
    match &message.task_id {
        Some(task) => task.write(writer),
        None => message.message_id.write(writer),
    }
}

fn write_completed_status(message: &Message, writer: &mut Writer) {
    writer.object(|object| {
        object.member("state", state_word(TaskState::Completed));
        object.with("message", |writer| write_message(message, writer));
    });
}

/// What a completed task has to say whose agent has put all of it into artifacts. Clients look
/// for it in the status (P-15).
struct Answer<'a> {
    /// The same task always has the same answer.
    id: &'a TaskId,
    parts: Vec<&'a Part>,
}

impl<'a> Answer<'a> {
    fn of(task: &'a Task) -> Option<Self> {
        if task.status.state != TaskState::Completed || task.status.message.is_some() {
            return None;
        }
        // Files may be large, so they stand in the artifacts alone.
        let is_said = |part: &&Part| matches!(part.content, Content::Text(_) | Content::Data(_));
        let parts = task.artifacts.iter().flat_map(|artifact| &artifact.parts).filter(is_said);
        let parts: Vec<&Part> = parts.collect();
        (!parts.is_empty()).then_some(Self { id: &task.id, parts })
    }

    fn write(&self, writer: &mut Writer) {
        writer.object(|object| {
            object.member("message_id", self.id);
            object.member("role", "agent");
            write_parts(self.parts.iter().copied(), object);
        });
    }
}

fn write_status(status: &TaskStatus, answer: Option<Answer<'_>>, writer: &mut Writer) {
    writer.object(|object| {
        object.member("state", state_word(status.state));
        if let Some(message) = &status.message {
            object.with("message", |writer| write_message(message, writer));
        } else if let Some(answer) = answer {
            object.with("message", |writer| answer.write(writer));
        }
        object.optional("timestamp", status.timestamp.as_ref());
    });
}

/// Returns the word for a state; two of them are spelled unlike each other (PD-03).
fn state_word(state: TaskState) -> &'static str {
    match state {
        TaskState::Submitted => "submitted",
        TaskState::Working | TaskState::Unspecified => "working",
        TaskState::InputRequired => "input_required",
        TaskState::AuthRequired => "auth-required",
        TaskState::Completed => "completed",
        TaskState::Failed => "failed",
        TaskState::Canceled => "canceled",
        TaskState::Rejected => "rejected",
    }
}

fn write_artifact(artifact: &Artifact, writer: &mut Writer) {
    writer.object(|object| {
        object.member("artifact_id", &artifact.artifact_id);
        object.text("name", &artifact.name);
        object.text("description", &artifact.description);
        write_parts(&artifact.parts, object);
        object.optional("metadata", artifact.metadata.as_ref());
    });
}

fn write_messages(key: &'static str, messages: &[Message], object: &mut Members<'_>) {
    if !messages.is_empty() {
        object.with(key, |writer| {
            writer.array(messages, |writer, message| write_message(message, writer));
        });
    }
}

fn write_message(message: &Message, writer: &mut Writer) {
    writer.object(|object| write_message_members(message, object));
}

fn write_message_members(message: &Message, object: &mut Members<'_>) {
    object.member("message_id", &message.message_id);
    object.member("role", if message.role == Role::User { "user" } else { "agent" });
    write_parts(&message.parts, object);
    object.optional("metadata", message.metadata.as_ref());
}

fn write_parts<'a>(parts: impl IntoIterator<Item = &'a Part>, object: &mut Members<'_>) {
    object.with("parts", |writer| writer.array(parts, |writer, part| write_part(part, writer)));
}

fn write_part(part: &Part, writer: &mut Writer) {
    writer.object(|object| {
        let mut metadata = part.metadata.clone();
        match &part.content {
            Content::Text(text) => {
                object.member("type", "text");
                object.member("text", text);
            }
            Content::Data(data) => {
                let (data, wrapped) = wrap_data(data);
                metadata = wrapped_metadata(metadata.as_ref(), wrapped);
                object.member("type", "data");
                object.member("data", &data);
            }
            Content::Raw(bytes) => {
                write_file(part, object);
                object.with("bytes_data", |writer| writer.base64(bytes));
            }
            Content::Url(url) => {
                write_file(part, object);
                object.member("uri", url);
            }
        }
        object.optional("metadata", metadata.as_ref());
    });
}

fn write_file(part: &Part, object: &mut Members<'_>) {
    object.member("type", "file");
    object.text("name", &part.filename);
    object.text("media_type", &part.media_type);
}

/// Writes a card (P-24). `PocketPaw` reaches agents by JSON-RPC below `/a2a` of their URL, and
/// knows no webhooks.
pub(super) fn card(card: &AgentCard, writer: &mut Writer) {
    let interfaces = &card.supported_interfaces;
    let mut rpc = interfaces.iter().filter(|interface| interface.protocol_binding == "JSONRPC");
    let endpoint = rpc.clone().next().or_else(|| interfaces.first());
    let endpoint = endpoint.map(|interface| interface.url.as_str()).unwrap_or_default();
    writer.object(|object| {
        object.member("name", &card.name);
        object.member("description", &card.description);
        object.member("url", endpoint.strip_suffix("/a2a").unwrap_or(endpoint));
        object.member("version", &card.version);
        object.member("protocol_version", PROTOCOL_VERSION);
        object.optional("provider", card.provider.as_ref());
        object.with("capabilities", |writer| {
            writer.object(|object| {
                object.member("streaming", &card.capabilities.streaming.unwrap_or_default());
                object.member("push_notifications", &false);
                object.member("state_transition_history", &true);
            });
        });
        object.with("skills", |writer| {
            writer.array(&card.skills, |writer, skill| write_skill(skill, card, writer));
        });
        object.list("default_input_modes", &card.default_input_modes);
        object.list("default_output_modes", &card.default_output_modes);
        object.with("supported_interfaces", |writer| {
            writer.array(rpc.by_ref(), |writer, interface| {
                writer.object(|object| {
                    object.member("url", &interface.url);
                    object.member("protocol_binding", "jsonrpc-over-https");
                    object.member("protocol_version", PROTOCOL_VERSION);
                });
            });
        });
    });
}

/// Writes a skill, with the media types of the card where it has none of its own.
fn write_skill(skill: &AgentSkill, card: &AgentCard, writer: &mut Writer) {
    writer.object(|object| {
        object.member("id", &skill.id);
        object.member("name", &skill.name);
        object.member("description", &skill.description);
        object.list("tags", &skill.tags);
        object.member("input_modes", modes(&skill.input_modes, &card.default_input_modes));
        object.member("output_modes", modes(&skill.output_modes, &card.default_output_modes));
    });
}

fn modes<'a>(own: &'a [String], default: &'a [String]) -> &'a [String] {
    if own.is_empty() { default } else { own }
}
