//! Upal on JSON-RPC (U-05 to U-16): every node of a workflow is an agent.
//!
//! The objects are Go structures: keys in camelCase, `type` on parts, a task's status as a
//! bare word, its history as `messages`, artifacts numbered instead of named, and empty
//! members left out. There are two methods and no streams; messages have no identifiers, so
//! each reader makes them up (C-30).
//!
//! A status has no message of its own. It is written as the last of `messages`, and the last
//! of `messages`, if the agent speaks there, is read as the status's.
//!
//! Two states are unknown to Upal (catalogue §7.3). They are written as the nearest one, with
//! the true one in the task's `metadata.state`; a rejection gives its text in
//! `metadata.reason` too.
//!
//! Upal's own runner sends requests without `id` and waits for the answer. So in this form
//! such a request is no notification, and is answered with `"id":null`.
//!
//! What is lost on the way stands in `docs/reference/translation.md`.

mod write;

use crate::{
    card::AgentCard,
    error::{Error, ErrorKind, reason},
    json::{self, Object, Reader, ToJson, Writer, read_id, read_value},
    jsonrpc::{Envelope, Id, Refusal},
    message::Role,
    operation::{CancelTaskRequest, Operation, Request, Response},
    state::TaskState,
    task::{SendMessageResponse, StreamResponse, Task},
    wire::{Call, JsonRpcForm, StreamEnd, read_enveloped},
};

use super::loose::{Loose, once};

const LOOSE: Loose = Loose { makes_message_ids: true, omits_empty: true, nests_data: false };

/// The member of a task's metadata that tells a state unknown to Upal.
const STATE: &str = "state";
/// The member of a task's metadata that tells why it was rejected.
const REASON: &str = "reason";

/// Upal on JSON-RPC.
#[derive(Clone, Copy, Debug)]
pub struct Upal;

const METHODS: [(Operation, &str); 2] =
    [(Operation::SendMessage, "a2a.sendMessage"), (Operation::CancelTask, "a2a.cancelTask")];

impl JsonRpcForm for Upal {
    fn methods(&self) -> &'static [(Operation, &'static str)] {
        &METHODS
    }

    fn read_request(
        &self,
        operation: Operation,
        reader: &mut Reader<'_>,
    ) -> Result<Request, json::Error> {
        let request = match operation {
            Operation::SendMessage => Request::SendMessage(LOOSE.send(reader)?),
            Operation::CancelTask => Request::CancelTask(read_cancel(reader)?),
            _ => return Err(json::Error::shape("this wire form has no such operation")),
        };
        request.check()?;
        Ok(request)
    }

    fn write_request(&self, request: &Request, writer: &mut Writer) {
        match request {
            Request::SendMessage(request) => write::send(request, writer),
            Request::CancelTask(request) => {
                writer.object(|object| object.member("id", &request.id));
            }
            // Never called: `method` has no name for it.
            _ => request.write(writer),
        }
    }

    fn read_response(
        &self,
        operation: Operation,
        reader: &mut Reader<'_>,
    ) -> Result<Response, json::Error> {
        match operation {
            Operation::SendMessage => Ok(Response::SendMessage(match LOOSE.event(reader)? {
                StreamResponse::Task(task) => SendMessageResponse::Task(settle(task)),
                StreamResponse::Message(message) => SendMessageResponse::Message(message),
                _ => return Err(json::Error::shape("is neither a task nor a message")),
            })),
            Operation::CancelTask => Ok(Response::Task(settle(LOOSE.task(reader)?))),
            _ => Err(json::Error::shape("this wire form has no such operation")),
        }
    }

    fn write_response(&self, _: Operation, response: &Response, writer: &mut Writer) {
        match response {
            Response::SendMessage(SendMessageResponse::Task(task)) | Response::Task(task) => {
                write::task(task, writer);
            }
            Response::SendMessage(SendMessageResponse::Message(message)) => {
                write::completed(message, writer);
            }
            // Never called: `method` has no name for the operation.
            _ => response.write(writer),
        }
    }

    /// Never called: the form has no streams. Reads a whole task or message.
    fn read_event(&self, reader: &mut Reader<'_>) -> Result<StreamResponse, json::Error> {
        LOOSE.event(reader)
    }

    /// Never called: the form has no streams. Writes a task or a message as if it were the
    /// answer, anything else as in A2A 1.0.
    fn write_event(&self, event: &StreamResponse, _: StreamEnd, writer: &mut Writer) {
        match event {
            StreamResponse::Task(task) => write::task(task, writer),
            StreamResponse::Message(message) => write::completed(message, writer),
            _ => event.write(writer),
        }
    }

    fn write_error(&self, error: &Error, writer: &mut Writer) {
        error.write_jsonrpc_as(code(error), writer);
    }

    fn write_card(&self, card: &AgentCard, writer: &mut Writer) {
        write::card(card, writer);
    }

    fn read_call(&self, body: &str) -> Result<Call, Refusal> {
        let mut call = read_enveloped(self, Envelope::read(body)?)?;
        call.echo.id.get_or_insert_with(Id::null);
        Ok(call)
    }
}

/// Finds the code of an error (catalogue §7.7). Reading needs no table of its own: the reason
/// in the error's data decides over the code.
fn code(error: &Error) -> i32 {
    match error.kind() {
        _ if error.reason() == reason::SKILL_NOT_FOUND => -32001,
        ErrorKind::VersionNotSupported => -32600,
        kind => kind.jsonrpc_code(),
    }
}

fn read_cancel(reader: &mut Reader<'_>) -> Result<CancelTaskRequest, json::Error> {
    let mut id = None;
    let mut metadata = None;
    reader.members(|reader, key| match &*key {
        "id" | "taskId" | "task_id" => once(&mut id, read_id(reader)?),
        "metadata" => once(&mut metadata, read_value(reader)?),
        _ => reader.skip(),
    })?;
    let id = id.ok_or_else(|| json::Error::missing("id"))?;
    Ok(CancelTaskRequest { tenant: None, id, metadata })
}

/// Gives a task back what its form has no place for.
fn settle(mut task: Task) -> Task {
    if task.status.message.is_none() {
        let last = task.history.pop_if(|message| message.role != Role::User);
        task.status.message = last.map(Box::new);
    }
    let told = task.metadata.as_ref().and_then(|metadata| metadata.get(STATE)?.as_text());
    let state = match (task.status.state, told.as_deref()) {
        (TaskState::InputRequired, Some("auth-required")) => TaskState::AuthRequired,
        (TaskState::Failed, Some("rejected")) => TaskState::Rejected,
        _ => return task,
    };
    task.status.state = state;
    task.metadata = task
        .metadata
        .map(|metadata| metadata.without(STATE).without(REASON))
        .filter(|metadata: &Object| !metadata.is_empty());
    task
}

#[cfg(test)]
mod tests;
