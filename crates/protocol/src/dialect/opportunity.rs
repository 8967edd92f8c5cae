//! The capability envelope of the opportunity agents (O-01 to O-24).
//!
//! A request names a capability and brings one object; the answer brings one object, or an
//! error as text. There is no JSON-RPC, no stream and no other operation, and callers always
//! wait. The capability is the skill (C-32), the request's id the message's (C-30).
//!
//! The request's metadata keeps `skillId`, and in `sourceAgent` who says to be asking. That is
//! a claim: nothing here uses its `endpoint` as an address, and nobody should (OG-07).
//!
//! Three members are ours, because a task that waits could not be answered without them: an
//! error that comes of a task says `task_id`, and a request may say `task_id` and
//! `context_id`. An error without `task_id` is an error; with one it is a task in that state.
//!
//! What is lost on the way stands in `docs/reference/translation.md`.

mod answer;
mod code;
mod content;
mod registry;
mod request;

use crate::{
    card::AgentCard,
    error::{Error, ErrorKind},
    json::{self, Reader, ToJson, Writer, read_with, write_with},
    jsonrpc::{Id, Refusal},
    operation::{Operation, Request, Response},
    task::{SendMessageResponse, StreamResponse},
    version::Version,
    wire::{Call, Echo, JsonRpcForm, StreamEnd, bad_answer, no_such_operation},
};

use answer::Answer;
use request::Envelope;

pub use registry::{AccessRule, Agents, Capabilities, Health, Registration};

/// The version that requests and answers name.
pub const PROTOCOL_VERSION: &str = "1.0";

/// The capability envelope, spoken by one agent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Opportunity {
    /// Who answers; also who asks, unless the request's metadata names a `sourceAgent`.
    pub agent_id: String,
}

impl JsonRpcForm for Opportunity {
    /// The envelope names no method; the operation's own name stands in for it.
    fn methods(&self) -> &'static [(Operation, &'static str)] {
        &[(Operation::SendMessage, "SendMessage")]
    }

    /// Reads a whole envelope.
    fn read_request(&self, _: Operation, reader: &mut Reader<'_>) -> Result<Request, json::Error> {
        Envelope::read(reader)?.into_request()
    }

    /// Writes a whole envelope; without the name of a skill its capability is empty.
    fn write_request(&self, request: &Request, writer: &mut Writer) {
        match request {
            Request::SendMessage(request) => {
                let capability = request::capability(request);
                request::write(request, &capability, &self.agent_id, writer);
            }
            _ => request.write(writer),
        }
    }

    fn read_response(
        &self,
        _: Operation,
        reader: &mut Reader<'_>,
    ) -> Result<Response, json::Error> {
        Answer::read(reader)?
            .into_response()
            .map_err(|error| json::Error::shape(error.message().to_owned()).inside("error"))
    }

    /// Writes a whole answer to nobody in particular.
    fn write_response(&self, operation: Operation, response: &Response, writer: &mut Writer) {
        self.write_answer(&Echo::new(Id::null(), operation), &Answer::of(Ok(response)), writer);
    }

    /// Never called: the form has no streams.
    fn read_event(&self, _: &mut Reader<'_>) -> Result<StreamResponse, json::Error> {
        Err(json::Error::shape("this wire form has no streams"))
    }

    /// Never called: the form has no streams. Writes a task or a message as if it were the
    /// answer, anything else as in A2A 1.0.
    fn write_event(&self, event: &StreamResponse, _: StreamEnd, writer: &mut Writer) {
        let response = match event {
            StreamResponse::Task(task) => SendMessageResponse::Task(task.clone()),
            StreamResponse::Message(message) => SendMessageResponse::Message(message.clone()),
            _ => return event.write(writer),
        };
        self.write_response(Operation::SendMessage, &Response::SendMessage(response), writer);
    }

    /// Reads `CODE: text`.
    fn read_error(&self, reader: &mut Reader<'_>) -> Result<Error, json::Error> {
        Ok(code::read(&reader.string()?))
    }

    /// Writes `CODE: text`.
    fn write_error(&self, error: &Error, writer: &mut Writer) {
        writer.string(&code::write(error));
    }

    /// Writes the body of `GET /a2a/capabilities`, all that the form tells about an agent.
    fn write_card(&self, card: &AgentCard, writer: &mut Writer) {
        Capabilities {
            agent_id: self.agent_id.clone(),
            protocol_version: PROTOCOL_VERSION.to_owned(),
            capabilities: card.skills.iter().map(|skill| skill.id.clone()).collect(),
        }
        .write(writer);
    }

    fn read_call(&self, body: &str) -> Result<Call, Refusal> {
        let refusal = |error| Refusal { id: request::find_id(body), error };
        let envelope =
            read_with(body, Envelope::read).map_err(|error| refusal(invalid_request(error)))?;
        // Another version may have other members, so its name is looked at first.
        if let Some(version) = envelope.other_version() {
            return Err(refusal(Error::version_not_supported(version, &[PROTOCOL_VERSION])));
        }
        let (id, capability) = envelope.echo();
        let request = envelope.into_request().map_err(|error| refusal(invalid_request(error)))?;
        let echo = Echo { id, operation: Operation::SendMessage, capability };
        Ok(Call { echo, request, task_alias: None })
    }

    /// Writes a request; the message's id is the request's, whatever `id` is.
    fn write_call(&self, _: &Id, request: &Request) -> Result<String, Error> {
        let Request::SendMessage(request) = request else {
            return Err(no_such_operation(request.operation()));
        };
        let capability = request::capability(request);
        if capability.is_empty() {
            return Err(json::Error::missing("skillId").inside("metadata").into());
        }
        Ok(write_with(|writer| request::write(request, &capability, &self.agent_id, writer)))
    }

    fn read_reply(&self, _: Operation, body: &str) -> Result<Response, Error> {
        read_with(body, Answer::read).map_err(|error| bad_answer(&error))?.into_response()
    }

    fn write_reply(&self, echo: &Echo, outcome: Result<&Response, &Error>) -> String {
        write_with(|writer| self.write_answer(echo, &Answer::of(outcome), writer))
    }
}

impl Opportunity {
    fn write_answer(&self, echo: &Echo, answer: &Answer, writer: &mut Writer) {
        writer.object(|object| {
            object.member("protocol_version", PROTOCOL_VERSION);
            object.with("request_id", |writer| request::write_id(&echo.id(), writer));
            object.member("agent_id", &self.agent_id);
            object.member("capability", &echo.capability);
            answer.write(object);
        });
    }
}

/// Tells whether a request's version is one we speak.
fn is_spoken(version: &str) -> bool {
    Version::parse(version) == Some(Version::V1_0)
}

/// Says what is wrong with a request: all of its members are its envelope (O-04).
fn invalid_request(error: json::Error) -> Error {
    match error.kind() {
        json::ErrorKind::Syntax => error.into(),
        json::ErrorKind::Shape => {
            Error::new(ErrorKind::InvalidRequest, format!("not a capability request: {error}"))
                .with_violation(error.path(), error.what())
        }
    }
}

#[cfg(test)]
mod tests;
