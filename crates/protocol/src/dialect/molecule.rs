//! The form of molecule: 0.3 with a method of its own, and a flat view of what comes of a
//! message (M-10 to M-30, M-33, M-34).
//!
//! - Streams are asked for with `message/sendSubscribe`; `message/stream` is read, too (C-03).
//! - A body without `jsonrpc` is taken for a request all the same, and gets an id if it has
//!   none (M-33); a message without `messageId` gets one (M-34).
//! - Parts are known by `kind` and by `type` (C-06), answers by `result.parts`,
//!   `result.artifacts` and `result.message.parts` as well as in the form of 0.3 (MD-36).
//! - Two states are unknown to molecule. A task that needs a credential is written as
//!   `input-required`, a rejected one as `failed`; the metadata members `state` and `reason`
//!   tell the truth, and our reader restores it (catalogue §7.3).
//! - Where an answer in the flat view does not name its task, the id of the request does, as in
//!   molecule's own example.
//! - A task is looked up by `GET /tasks/{id}` (M-27), which is [`MoleculeHttp`].
//!
//! What this form has no place for stands in `docs/reference/translation.md`. The flat view is
//! for looking at, and shows neither contexts nor history, moments, metadata, the names and
//! grouping of artifacts, nor whatever of a status message is not text. What it shows survives.

mod flat;
mod http;
mod state;

pub use self::http::MoleculeHttp;

use self::flat::Flat;
use super::{
    loose::{Loose, Outline},
    v03::{
        self, V03,
        request::{self, EmptyModes},
        write,
    },
};
use crate::{
    card::AgentCard,
    error::{Error, ErrorKind},
    ids::{MessageId, TaskId},
    json::{self, Kind, Reader, ToJson, Writer, read_with},
    jsonrpc::{Envelope, Id, Refusal},
    message::{Message, Role},
    operation::{Operation, Request, Response},
    task::{SendMessageResponse, StreamResponse, Task},
    wire::{Call, JsonRpcForm, StreamEnd, read_enveloped, read_outcome},
};

/// Molecule on JSON-RPC.
#[derive(Clone, Copy, Debug, Default)]
pub struct Molecule {
    /// Whether tasks and events are written in the flat view. Both are always read.
    pub flat: bool,
}

const LOOSE: Loose = Loose { makes_message_ids: true, omits_empty: false, nests_data: false };

/// The methods, `message/stream` being read as well (C-03).
const METHODS: [(Operation, &str); 4] = [
    (Operation::SendMessage, "message/send"),
    (Operation::SendStreamingMessage, "message/sendSubscribe"),
    (Operation::SendStreamingMessage, "message/stream"),
    (Operation::CancelTask, "tasks/cancel"),
];

impl JsonRpcForm for Molecule {
    fn methods(&self) -> &'static [(Operation, &'static str)] {
        &METHODS
    }

    fn read_request(
        &self,
        operation: Operation,
        reader: &mut Reader<'_>,
    ) -> Result<Request, json::Error> {
        request::read(LOOSE, operation, reader)
    }

    fn write_request(&self, request: &Request, writer: &mut Writer) {
        match request {
            // Molecule always waits, so silence says what the default configuration would.
            Request::SendMessage(request) | Request::SendStreamingMessage(request) => {
                let wishes = request.configuration.as_ref();
                request::write_send(request, wishes, EmptyModes::Omitted, writer);
            }
            _ => V03.write_request(request, writer),
        }
    }

    fn read_response(
        &self,
        operation: Operation,
        reader: &mut Reader<'_>,
    ) -> Result<Response, json::Error> {
        read_response(operation, None, reader)
    }

    fn write_response(&self, operation: Operation, response: &Response, writer: &mut Writer) {
        match response {
            Response::SendMessage(answer) if self.flat => flat::write_answer(answer, writer),
            Response::SendMessage(SendMessageResponse::Task(task)) | Response::Task(task) => {
                self.write_task(task, writer);
            }
            Response::Tasks(page) => {
                write::tasks(page, writer, |task, writer| self.write_task(task, writer));
            }
            Response::Card(card) => self.write_card(card, writer),
            _ => V03.write_response(operation, response, writer),
        }
    }

    fn read_event(&self, reader: &mut Reader<'_>) -> Result<StreamResponse, json::Error> {
        read_event(None, reader)
    }

    fn write_event(&self, event: &StreamResponse, end: StreamEnd, writer: &mut Writer) {
        match event {
            _ if self.flat => flat::write_event(event, writer),
            StreamResponse::Task(task) => self.write_task(task, writer),
            StreamResponse::StatusUpdate(update) => {
                write::status_update(&state::lower_update(update), end, writer);
            }
            _ => write::event(event, end, writer),
        }
    }

    fn read_error(&self, reader: &mut Reader<'_>) -> Result<Error, json::Error> {
        // Molecule's proxy answers with a bare text.
        if reader.peek()? == Kind::String {
            return Ok(Error::new(ErrorKind::Internal, reader.string()?));
        }
        v03::error::read(reader)
    }

    fn write_error(&self, error: &Error, writer: &mut Writer) {
        v03::error::write(error, writer);
    }

    fn write_card(&self, card: &AgentCard, writer: &mut Writer) {
        card.write(writer);
    }

    fn read_call(&self, body: &str) -> Result<Call, Refusal> {
        let (mut envelope, version) = Envelope::read_loosely(body)?;
        if version.is_some() {
            envelope = Envelope::read(body)?;
        } else {
            let id = envelope.id.filter(|id| *id != Id::null());
            envelope.id = id.or_else(|| Some(Id::text(MessageId::generate().as_str())));
        }
        read_enveloped(self, envelope)
    }

    fn read_reply(&self, operation: Operation, body: &str) -> Result<Response, Error> {
        let task = answered(body);
        read_outcome(self, body, |reader| read_response(operation, task, reader))
    }

    fn read_frame(&self, data: &str) -> Result<StreamResponse, Error> {
        let task = answered(data);
        read_outcome(self, data, |reader| read_event(task, reader))
    }
}

impl Molecule {
    fn write_task(self, task: &Task, writer: &mut Writer) {
        if self.flat {
            flat::write_task(task, writer);
        } else {
            write::task(&state::lower_task(task), writer);
        }
    }
}

/// Returns the request that a body answers, as the name of a task that has no other.
fn answered(body: &str) -> Option<TaskId> {
    let mut id = None;
    // What is wrong with the body is found by who reads it next.
    let _ = read_with(body, |reader| {
        reader.members(|reader, key| {
            if key == "id" {
                id = Some(reader.raw()?);
                return Ok(());
            }
            reader.skip()
        })
    });
    let id = id.filter(|id| id.as_str() != "null")?;
    TaskId::parse(&id.as_text().unwrap_or_else(|| id.as_str().to_owned())).ok()
}

fn read_response(
    operation: Operation,
    task: Option<TaskId>,
    reader: &mut Reader<'_>,
) -> Result<Response, json::Error> {
    Ok(match operation {
        Operation::SendMessage => Response::SendMessage(read_answer(task, reader)?),
        Operation::GetTask | Operation::CancelTask => Response::Task(read_task(task, reader)?),
        _ => v03::read_response(LOOSE, operation, reader)?,
    })
}

fn read_answer(
    task: Option<TaskId>,
    reader: &mut Reader<'_>,
) -> Result<SendMessageResponse, json::Error> {
    let outline = Outline::read(reader)?;
    read_with(outline.text, |reader| {
        if Flat::is(&outline) {
            let mut answer = Flat::read(reader)?.or_task(task).into_answer();
            if let SendMessageResponse::Task(task) = &mut answer {
                state::raise_task(task);
            }
            return Ok(answer);
        }
        if let Some(message) = read_bare_message(&outline)? {
            reader.skip()?;
            return Ok(SendMessageResponse::Message(message));
        }
        let mut answer = LOOSE.answer(reader)?;
        if let SendMessageResponse::Task(task) = &mut answer {
            state::raise_task(task);
        }
        Ok(answer)
    })
}

fn read_task(task: Option<TaskId>, reader: &mut Reader<'_>) -> Result<Task, json::Error> {
    let outline = Outline::read(reader)?;
    let mut task = read_with(outline.text, |reader| {
        if Flat::is(&outline) {
            return Ok(Flat::read(reader)?.or_task(task).into_task());
        }
        LOOSE.task(reader)
    })?;
    state::raise_task(&mut task);
    Ok(task)
}

fn read_event(
    task: Option<TaskId>,
    reader: &mut Reader<'_>,
) -> Result<StreamResponse, json::Error> {
    let outline = Outline::read(reader)?;
    let mut event = read_with(outline.text, |reader| {
        if Flat::is(&outline) {
            return Ok(Flat::read(reader)?.or_task(task).into_event());
        }
        if let Some(message) = read_bare_message(&outline)? {
            reader.skip()?;
            return Ok(StreamResponse::Message(message));
        }
        LOOSE.wrapped_event(reader)
    })?;
    state::raise_event(&mut event);
    Ok(event)
}

/// Reads a message that stands as `{"parts":…}` or `{"message":{"parts":…}}` without saying who
/// speaks: in an answer that is the agent (MD-36).
fn read_bare_message(outline: &Outline<'_>) -> Result<Option<Message>, json::Error> {
    if outline.has("kind") || outline.has("status") || outline.has("artifact") {
        return Ok(None);
    }
    let message = |reader: &mut Reader<'_>| LOOSE.message_by(Some(Role::Agent), reader);
    if outline.has("parts") {
        return read_with(outline.text, message).map(Some);
    }
    if !outline.has("message") {
        return Ok(None);
    }
    let mut found = None;
    read_with(outline.text, |reader| {
        reader.members(|reader, key| {
            if key == "message" && reader.peek()? == Kind::Object {
                found = Some(message(reader)?);
                return Ok(());
            }
            reader.skip()
        })
    })?;
    Ok(found)
}

#[cfg(test)]
mod tests;
