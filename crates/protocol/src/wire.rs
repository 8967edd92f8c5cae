//! What every wire form can do, and the form of A2A 1.0 itself.
//!
//! A form is a reader and a writer for each thing that is said: requests, answers, stream
//! events, errors and cards. Readers are tolerant, writers are exact. All of them are pure
//! functions between text and the 1.0 model; nothing behind them knows which form was used.
//!
//! [`JsonRpcForm`] is for forms in which every call is a POST of one JSON document;
//! [`HttpForm`](crate::http::HttpForm) for those in which method and path speak too.

use crate::{
    card::AgentCard,
    error::{Error, ErrorKind},
    json::{FromJson, Reader, ToJson, Writer, read_with, write_with},
    jsonrpc::{self, Envelope, Id, Refusal, Reply},
    operation::{Operation, Request, Response},
    task::StreamResponse,
};

/// A request and what its answer has to echo.
#[derive(Clone, Debug, PartialEq)]
pub struct Call {
    /// What the answer has to echo.
    pub echo: Echo,
    /// What is asked.
    pub request: Request,
    /// The name under which the client wants to find the new task, in forms in which clients
    /// choose one (C-29).
    pub task_alias: Option<String>,
}

/// What an answer has to echo of its request.
#[derive(Clone, Debug, PartialEq)]
pub struct Echo {
    /// The request's id; nothing, if no answer is wanted.
    pub id: Option<Id>,
    /// The operation, which decides the form of the answer.
    pub operation: Operation,
    /// The capability asked for, in forms that name one.
    pub capability: String,
}

impl Echo {
    /// Answers a request by its id.
    pub fn new(id: Id, operation: Operation) -> Self {
        Self { id: Some(id), operation, capability: String::new() }
    }

    /// Returns the id to answer to.
    pub fn id(&self) -> Id {
        self.id.clone().unwrap_or_else(Id::null)
    }
}

/// One frame of a server-sent event stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frame {
    /// The `event:` line, if the form has one.
    pub event: Option<&'static str>,
    /// The `data:` line. It has no line breaks.
    pub data: String,
}

impl Frame {
    /// Makes a frame that has data only.
    pub fn data(data: String) -> Self {
        Self { event: None, data }
    }
}

/// Whether a stream goes on behind an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StreamEnd {
    /// More may come.
    Open,
    /// This is the last event, though the task may not have ended.
    Closing,
}

/// A wire form in which every call is a POST of one JSON document.
///
/// A form supplies the shapes; the envelope, unless it differs, is JSON-RPC 2.0.
pub trait JsonRpcForm: Send + Sync {
    /// Returns the methods and what they stand for. An operation that is not there is one the
    /// form lacks; of several methods for one, the first is written.
    fn methods(&self) -> &'static [(Operation, &'static str)];

    /// Finds the operation that a method stands for.
    fn operation(&self, method: &str) -> Option<Operation> {
        self.methods().iter().find(|(_, name)| *name == method).map(|(operation, _)| *operation)
    }

    /// Returns the method of an operation, if the form has that operation.
    fn method(&self, operation: Operation) -> Option<&'static str> {
        self.methods().iter().find(|(known, _)| *known == operation).map(|(_, name)| *name)
    }

    /// Reads the parameters of an operation.
    fn read_request(
        &self,
        operation: Operation,
        reader: &mut Reader<'_>,
    ) -> Result<Request, crate::json::Error>;

    /// Writes the parameters of an operation.
    fn write_request(&self, request: &Request, writer: &mut Writer);

    /// Reads the result of an operation.
    fn read_response(
        &self,
        operation: Operation,
        reader: &mut Reader<'_>,
    ) -> Result<Response, crate::json::Error>;

    /// Writes the result of an operation.
    fn write_response(&self, operation: Operation, response: &Response, writer: &mut Writer);

    /// Reads the result of one stream event.
    fn read_event(&self, reader: &mut Reader<'_>) -> Result<StreamResponse, crate::json::Error>;

    /// Writes the result of one stream event.
    fn write_event(&self, event: &StreamResponse, end: StreamEnd, writer: &mut Writer);

    /// Reads an `error` member.
    fn read_error(&self, reader: &mut Reader<'_>) -> Result<Error, crate::json::Error> {
        Error::read_jsonrpc(reader)
    }

    /// Writes an `error` member.
    fn write_error(&self, error: &Error, writer: &mut Writer) {
        error.write_jsonrpc(writer);
    }

    /// Writes a card as callers in this form expect it.
    fn write_card(&self, card: &AgentCard, writer: &mut Writer);

    /// Reads a request body.
    fn read_call(&self, body: &str) -> Result<Call, Refusal> {
        if let Some(call) = read_at_once(self, body) {
            return Ok(call);
        }
        read_enveloped(self, Envelope::read(body)?)
    }

    /// Writes a request body; fails if the form lacks the operation.
    fn write_call(&self, id: &Id, request: &Request) -> Result<String, Error> {
        let method = self
            .method(request.operation())
            .ok_or_else(|| no_such_operation(request.operation()))?;
        Ok(jsonrpc::write_request(id, method, |writer| self.write_request(request, writer)))
    }

    /// Reads an answer body: the answer, or the error that the peer answered with, or what is
    /// wrong with the body.
    fn read_reply(&self, operation: Operation, body: &str) -> Result<Response, Error> {
        read_outcome(self, body, |reader| self.read_response(operation, reader))
    }

    /// Writes an answer body.
    fn write_reply(&self, echo: &Echo, outcome: Result<&Response, &Error>) -> String {
        match outcome {
            Ok(response) => jsonrpc::write_result(&echo.id(), |writer| {
                self.write_response(echo.operation, response, writer);
            }),
            Err(error) => {
                jsonrpc::write_error(&echo.id(), |writer| self.write_error(error, writer))
            }
        }
    }

    /// Reads the data of one frame: the event, or the error that ends the stream.
    fn read_frame(&self, data: &str) -> Result<StreamResponse, Error> {
        read_outcome(self, data, |reader| self.read_event(reader))
    }

    /// Writes one frame.
    fn write_frame(
        &self,
        echo: &Echo,
        outcome: Result<&StreamResponse, &Error>,
        end: StreamEnd,
    ) -> Frame {
        Frame::data(match outcome {
            Ok(event) => {
                jsonrpc::write_result(&echo.id(), |writer| self.write_event(event, end, writer))
            }
            Err(error) => {
                jsonrpc::write_error(&echo.id(), |writer| self.write_error(error, writer))
            }
        })
    }
}

/// Reads a request in one pass, if it is as most are: without fault, and with its method before
/// its parameters. All others are for [`Envelope::read`], which finds out what is wrong with
/// them.
fn read_at_once<F: JsonRpcForm + ?Sized>(form: &F, body: &str) -> Option<Call> {
    let (mut id, mut is_version_2, mut operation, mut request) = (None, false, None, None);
    let mut reader = Reader::new(body);
    let mut fields = reader.begin_object().ok()?;
    while let Some(key) = reader.next_key(&mut fields).ok()? {
        reader.unknown(&mut fields, &key).ok()?;
        match &*key {
            "jsonrpc" => is_version_2 = reader.string().ok()? == "2.0",
            "id" => id = Some(Id::read(&mut reader).ok()?),
            "method" => operation = Some(form.operation(&reader.string().ok()?)?),
            "params" => request = Some(form.read_request(operation?, &mut reader).ok()?),
            _ => return None,
        }
    }
    reader.finish().ok()?;
    let (operation, request) = (operation?, request?);
    let echo = Echo { id, operation, capability: String::new() };
    is_version_2.then_some(Call { echo, request, task_alias: None })
}

/// Reads what an envelope holds.
pub(crate) fn read_enveloped<F: JsonRpcForm + ?Sized>(
    form: &F,
    envelope: Envelope<'_>,
) -> Result<Call, Refusal> {
    let Envelope { id, method, params } = envelope;
    let refusal = |error: Error| Refusal { id: id.clone().unwrap_or_else(Id::null), error };
    let operation = form.operation(&method).ok_or_else(|| {
        refusal(Error::new(ErrorKind::MethodNotFound, format!("no method `{method}`")))
    })?;
    let request = read_with(params.unwrap_or("{}"), |reader| form.read_request(operation, reader))
        .map_err(|error| refusal(error.into()))?;
    let echo = Echo { id, operation, capability: String::new() };
    Ok(Call { echo, request, task_alias: None })
}

/// Reads what an envelope answers with: a result, or the error that the peer answered with, or
/// what is wrong with either.
pub(crate) fn read_outcome<'a, F: JsonRpcForm + ?Sized, T>(
    form: &F,
    body: &'a str,
    read: impl FnOnce(&mut Reader<'a>) -> Result<T, crate::json::Error>,
) -> Result<T, Error> {
    let bad = |error: crate::json::Error| bad_answer(&error);
    match jsonrpc::read_reply(body).map_err(bad)? {
        Reply::Result(result) => read_with(result, read).map_err(bad),
        Reply::Error(error) => {
            Err(read_with(error, |reader| form.read_error(reader)).map_err(bad)?)
        }
    }
}

/// Says that a form has no way to ask for an operation.
pub(crate) fn no_such_operation(operation: Operation) -> Error {
    Error::new(
        ErrorKind::UnsupportedOperation,
        format!("this wire form has no {}", operation.name()),
    )
}

/// Says that a peer's answer is not as it should be.
pub(crate) fn bad_answer(error: &crate::json::Error) -> Error {
    Error::new(ErrorKind::InvalidAgentResponse, format!("the peer's answer is invalid: {error}"))
        .with_violation(error.path(), error.what())
}

/// A2A 1.0 on JSON-RPC.
#[derive(Clone, Copy, Debug)]
pub struct V1;

impl JsonRpcForm for V1 {
    fn methods(&self) -> &'static [(Operation, &'static str)] {
        Operation::NAMES
    }

    fn read_request(
        &self,
        operation: Operation,
        reader: &mut Reader<'_>,
    ) -> Result<Request, crate::json::Error> {
        Request::read(operation, reader)
    }

    fn write_request(&self, request: &Request, writer: &mut Writer) {
        request.write(writer);
    }

    fn read_response(
        &self,
        operation: Operation,
        reader: &mut Reader<'_>,
    ) -> Result<Response, crate::json::Error> {
        Response::read(operation, reader)
    }

    fn write_response(&self, _: Operation, response: &Response, writer: &mut Writer) {
        response.write(writer);
    }

    fn read_event(&self, reader: &mut Reader<'_>) -> Result<StreamResponse, crate::json::Error> {
        StreamResponse::read(reader)
    }

    fn write_event(&self, event: &StreamResponse, _: StreamEnd, writer: &mut Writer) {
        event.write(writer);
    }

    fn write_card(&self, card: &AgentCard, writer: &mut Writer) {
        card.write(writer);
    }
}

/// Writes a card as a document of its own.
pub fn card_document(form: &dyn JsonRpcForm, card: &AgentCard) -> String {
    write_with(|writer| form.write_card(card, writer))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Reads a body at once and by its envelope; what one pass takes must be what two take.
    #[track_caller]
    fn check(body: &str, at_once: bool) {
        let slowly = Envelope::read(body).and_then(|envelope| read_enveloped(&V1, envelope));
        let quickly = read_at_once(&V1, body);
        assert_eq!(quickly.is_some(), at_once, "{body}");
        if let Some(quickly) = quickly {
            assert_eq!(Ok(&quickly), slowly.as_ref(), "{body}");
        }
        assert_eq!(V1.read_call(body), slowly, "{body}");
    }

    #[test]
    fn requests_that_are_as_most_are_read_in_one_pass() {
        check(r#"{"jsonrpc":"2.0","id":1,"method":"GetTask","params":{"id":"t"}}"#, true);
        check(
            r#" { "method" : "GetTask", "params": {"id":"t", "x":[{}]}, "jsonrpc":"2.0"} "#,
            true,
        );
        check(r#"{"id":"\u00e9","jsonrpc":"2.0","method":"GetTask","params":{"id":"t"}}"#, true);
    }

    #[test]
    fn all_others_are_read_as_carefully_as_ever() {
        for body in [
            r#"{"jsonrpc":"2.0","id":1,"params":{"id":"t"},"method":"GetTask"}"#,
            r#"{"jsonrpc":"2.0","id":1,"method":"GetExtendedAgentCard"}"#,
            r#"{"jsonrpc":"2.0","id":1,"method":"GetExtendedAgentCard","params":null}"#,
            r#"{"jsonrpc":"2.0","id":1,"method":"GetTask","params":{"id":"t"},"more":1}"#,
            r#"{"jsonrpc":"1.0","id":1,"method":"GetTask","params":{"id":"t"}}"#,
            r#"{"id":1,"method":"GetTask","params":{"id":"t"}}"#,
            r#"{"jsonrpc":"2.0","id":{},"method":"GetTask","params":{"id":"t"}}"#,
            r#"{"jsonrpc":"2.0","id":1,"method":"GetTask","params":{"id":7}}"#,
            r#"{"jsonrpc":"2.0","method":"GetTask","params":{"id":7},"id":1}"#,
            r#"{"jsonrpc":"2.0","id":1,"method":"GetTask","params":{"id":"t"},"id":2}"#,
            r#"{"jsonrpc":"2.0","id":1,"method":"GetTask","params":{"id":"t"}} {}"#,
            r#"{"jsonrpc":"2.0","id":1,"method":"GetTask","params":{"id":"t""#,
            r#"{"jsonrpc":"2.0","id":1,"method":"Nothing","params":{}}"#,
            "[]",
            "",
        ] {
            check(body, false);
        }
        let deep = format!("{}{}", "[".repeat(127), "]".repeat(127));
        check(
            &format!(r#"{{"jsonrpc":"2.0","method":"GetTask","params":{{"id":"t","x":{deep}}}}}"#),
            false,
        );
    }
}
