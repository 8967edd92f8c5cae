//! The form of Harbor: the objects of 1.0 with keys in `snake_case`, under the methods of 0.3
//! and two of its own (H-14, HG-01).
//!
//! - A frame of a stream is the bare event, without the envelope of JSON-RPC; both are read
//!   (HG-02). An error in a stream has the envelope, since the event has no place for it.
//! - `1` is the code of a task that is not there, because Harbor knows no other for it; `-32001`
//!   is read, too (HG-03, C-16).
//! - `tasks/subscribe` follows a task; `tasks/resubscribe`, the method of 0.3, is read (C-04).
//! - A moment at the start of year 1 is Go's way to say that none is meant.
//!
//! What this form has no place for stands in `docs/reference/translation.md`.

mod card;

use super::{
    loose::{Loose, Outline},
    v03,
};
use crate::{
    card::AgentCard,
    error::{Error, ErrorKind},
    json::{self, KeyCase, Reader, ToJson, Writer, read_with, write_with},
    jsonrpc,
    operation::{Operation, Request, Response},
    task::StreamResponse,
    wire::{Echo, Frame, JsonRpcForm, StreamEnd, bad_answer, read_outcome},
};

/// The code of Harbor for a task that is not there.
const TASK_NOT_FOUND: i32 = 1;

/// The seconds between the start of year 1, which is Go's unset moment, and that of 1970.
const GO_ZERO_SECONDS: i64 = -62_135_596_800;

/// Harbor on JSON-RPC.
#[derive(Clone, Copy, Debug)]
pub struct Harbor;

/// The methods of H-14; those of 0.3 that differ are read as well (C-04).
const METHODS: [(Operation, &str); 12] = [
    (Operation::SendMessage, "message/send"),
    (Operation::SendStreamingMessage, "message/stream"),
    (Operation::GetTask, "tasks/get"),
    (Operation::ListTasks, "tasks/list"),
    (Operation::CancelTask, "tasks/cancel"),
    (Operation::SubscribeToTask, "tasks/subscribe"),
    (Operation::SubscribeToTask, "tasks/resubscribe"),
    (Operation::CreateTaskPushNotificationConfig, "tasks/pushNotificationConfig/set"),
    (Operation::GetTaskPushNotificationConfig, "tasks/pushNotificationConfig/get"),
    (Operation::ListTaskPushNotificationConfigs, "tasks/pushNotificationConfig/list"),
    (Operation::DeleteTaskPushNotificationConfig, "tasks/pushNotificationConfig/delete"),
    (Operation::GetExtendedAgentCard, "agent/getAuthenticatedExtendedCard"),
];

impl JsonRpcForm for Harbor {
    fn methods(&self) -> &'static [(Operation, &'static str)] {
        &METHODS
    }

    fn read_request(
        &self,
        operation: Operation,
        reader: &mut Reader<'_>,
    ) -> Result<Request, json::Error> {
        let mut request = match operation {
            Operation::SendMessage => Request::SendMessage(Loose::default().send(reader)?),
            Operation::SendStreamingMessage => {
                Request::SendStreamingMessage(Loose::default().send(reader)?)
            }
            operation => Request::read(operation, reader)?,
        };
        if let Request::ListTasks(filter) = &mut request {
            filter.status_timestamp_after = filter
                .status_timestamp_after
                .filter(|moment| moment.to_parts() != (GO_ZERO_SECONDS, 0));
        }
        request.check()?;
        Ok(request)
    }

    fn write_request(&self, request: &Request, writer: &mut Writer) {
        writer.with_key_case(KeyCase::Snake, |writer| request.write(writer));
    }

    fn read_response(
        &self,
        operation: Operation,
        reader: &mut Reader<'_>,
    ) -> Result<Response, json::Error> {
        v03::read_response(Loose::default(), operation, reader)
    }

    fn write_response(&self, _: Operation, response: &Response, writer: &mut Writer) {
        match response {
            Response::Card(card) => self.write_card(card, writer),
            _ => writer.with_key_case(KeyCase::Snake, |writer| response.write(writer)),
        }
    }

    fn read_event(&self, reader: &mut Reader<'_>) -> Result<StreamResponse, json::Error> {
        Loose::default().wrapped_event(reader)
    }

    fn write_event(&self, event: &StreamResponse, _: StreamEnd, writer: &mut Writer) {
        writer.with_key_case(KeyCase::Snake, |writer| event.write(writer));
    }

    fn read_error(&self, reader: &mut Reader<'_>) -> Result<Error, json::Error> {
        Error::read_jsonrpc_as(reader, |code, message| {
            let kind = match code {
                TASK_NOT_FOUND => ErrorKind::TaskNotFound,
                code => ErrorKind::from_jsonrpc_code(code),
            };
            Error::new(kind, message)
        })
    }

    fn write_error(&self, error: &Error, writer: &mut Writer) {
        let code = match error.kind() {
            ErrorKind::TaskNotFound => TASK_NOT_FOUND,
            kind => kind.jsonrpc_code(),
        };
        error.write_jsonrpc_as(code, writer);
    }

    fn write_card(&self, card: &AgentCard, writer: &mut Writer) {
        card::write(card, writer);
    }

    fn read_frame(&self, data: &str) -> Result<StreamResponse, Error> {
        let outline = read_with(data, Outline::read).map_err(|error| bad_answer(&error))?;
        if ["jsonrpc", "result", "error"].iter().any(|key| outline.has(key)) {
            return read_outcome(self, data, |reader| self.read_event(reader));
        }
        read_with(data, |reader| self.read_event(reader)).map_err(|error| bad_answer(&error))
    }

    fn write_frame(
        &self,
        echo: &Echo,
        outcome: Result<&StreamResponse, &Error>,
        end: StreamEnd,
    ) -> Frame {
        Frame::data(match outcome {
            Ok(event) => write_with(|writer| self.write_event(event, end, writer)),
            Err(error) => {
                jsonrpc::write_error(&echo.id(), |writer| self.write_error(error, writer))
            }
        })
    }
}

#[cfg(test)]
mod tests;
