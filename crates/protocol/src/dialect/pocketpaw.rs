//! `PocketPaw`, on JSON-RPC and on its own HTTP routes (P-10 to P-28).
//!
//! It says A2A 0.2.5 and is not: keys are in `snake_case`, parts have a `type`, files stand
//! flat in their part, and three error codes mean something else (C-14, C-15). Sending always
//! waits, whatever `blocking` says: its clients send `false` without meaning it (PG-07).
//!
//! Clients name their tasks (C-29): `id` beside a message is the name for a new task, or of
//! one to go on with. It is handed on ([`Call::task_alias`],
//! [`HttpForm::task_alias`](crate::http::HttpForm::task_alias)) and never taken for one of our
//! identifiers. When we go on with a task we say so in the message's `task_id` as well, which
//! `PocketPaw` passes over.
//!
//! Earlier messages that a client brings along in `history` (PD-06) go into the request's
//! metadata under the same name, as messages of A2A 1.0.
//!
//! A whole task in a stream is written as a task and a status event in one: `id` and
//! `task_id`, `final` beside `status`. Clients that know status events only find all they
//! look for.
//!
//! What is lost on the way stands in `docs/reference/translation.md`.

mod batch;
mod code;
mod http;
mod read;
mod write;

use crate::{
    card::AgentCard,
    error::{Error, ErrorKind},
    json::{self, Reader, Writer},
    jsonrpc::{self, Envelope, Id, Refusal},
    operation::{Operation, Request, Response},
    task::StreamResponse,
    wire::{Call, Echo, Frame, JsonRpcForm, StreamEnd, no_such_operation, read_enveloped},
};

pub use batch::{MAX_BATCH, read_batch, write_batch};
pub use http::PocketPawHttp;

/// `PocketPaw` on JSON-RPC.
#[derive(Clone, Copy, Debug)]
pub struct PocketPaw;

const METHODS: [(Operation, &str); 5] = [
    (Operation::SendMessage, "message/send"),
    (Operation::SendStreamingMessage, "message/stream"),
    (Operation::GetTask, "tasks/get"),
    (Operation::CancelTask, "tasks/cancel"),
    (Operation::SubscribeToTask, "tasks/resubscribe"),
];

impl JsonRpcForm for PocketPaw {
    fn methods(&self) -> &'static [(Operation, &'static str)] {
        &METHODS
    }

    fn read_request(
        &self,
        operation: Operation,
        reader: &mut Reader<'_>,
    ) -> Result<Request, json::Error> {
        read::request(operation, reader)
    }

    fn write_request(&self, request: &Request, writer: &mut Writer) {
        write::request(request, writer);
    }

    fn read_response(
        &self,
        operation: Operation,
        reader: &mut Reader<'_>,
    ) -> Result<Response, json::Error> {
        read::response(operation, reader)
    }

    fn write_response(&self, operation: Operation, response: &Response, writer: &mut Writer) {
        write::response(operation, response, writer);
    }

    fn read_event(&self, reader: &mut Reader<'_>) -> Result<StreamResponse, json::Error> {
        read::event(reader)
    }

    fn write_event(&self, event: &StreamResponse, end: StreamEnd, writer: &mut Writer) {
        write::event(event, end, writer);
    }

    fn read_error(&self, reader: &mut Reader<'_>) -> Result<Error, json::Error> {
        code::read(reader)
    }

    fn write_error(&self, error: &Error, writer: &mut Writer) {
        code::write(error, writer);
    }

    fn write_card(&self, card: &AgentCard, writer: &mut Writer) {
        write::card(card, writer);
    }

    fn read_call(&self, body: &str) -> Result<Call, Refusal> {
        let envelope = Envelope::read(body)?;
        // Webhooks are refused by name, not unknown (PD-04).
        if envelope.method.starts_with("tasks/pushNotificationConfig/") {
            let error = Error::new(
                ErrorKind::PushNotificationNotSupported,
                "push notifications are not supported in this form; subscribe or poll instead",
            );
            return Err(Refusal { id: envelope.id.unwrap_or_else(Id::null), error });
        }
        let params = envelope.params;
        let mut call = read_enveloped(self, envelope)?;
        if is_send(call.echo.operation) {
            call.task_alias = params.and_then(read::task_alias);
        }
        Ok(call)
    }

    fn write_call(&self, id: &Id, request: &Request) -> Result<String, Error> {
        let operation = request.operation();
        let method = self.method(operation).ok_or_else(|| no_such_operation(operation))?;
        write::check_task(request)?;
        Ok(jsonrpc::write_request(id, method, |writer| self.write_request(request, writer)))
    }

    fn write_frame(
        &self,
        echo: &Echo,
        outcome: Result<&StreamResponse, &Error>,
        end: StreamEnd,
    ) -> Frame {
        let id = echo.id();
        let data = match outcome {
            Ok(event) => jsonrpc::write_result(&id, |writer| self.write_event(event, end, writer)),
            Err(error) => jsonrpc::write_error(&id, |writer| self.write_error(error, writer)),
        };
        Frame { event: Some("message"), data }
    }
}

fn is_send(operation: Operation) -> bool {
    matches!(operation, Operation::SendMessage | Operation::SendStreamingMessage)
}

#[cfg(test)]
mod tests;
