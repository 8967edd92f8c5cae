//! JSON-RPC: one POST, one document, and the forms that are nearly so.

use std::borrow::Cow;

use bytes::Bytes;
use nuncio_protocol::{
    dialect::WireForm,
    error::{Error as ProtocolError, ErrorKind},
    json::{self, FromJson, Shared, ToJson, read_with},
    jsonrpc::Id,
    operation::{Operation, Request},
    service::Answered,
    task::StreamResponse,
    wire::JsonRpcForm,
};

use super::{answer::Document, answered, is_official, unread};
use crate::error::Error;

/// Writes a request.
pub(super) fn write(
    form: &dyn JsonRpcForm,
    id: u64,
    request: &Request,
) -> Result<Bytes, ProtocolError> {
    form.write_call(&Id::number(id), request).map(Bytes::from)
}

/// Reads an answer.
pub(super) fn read(
    form: &dyn JsonRpcForm,
    wire: WireForm,
    operation: Operation,
    id: u64,
    document: &Document,
) -> Result<Answered, Error> {
    let text = document.text()?;
    if wire == WireForm::Opportunity {
        // Its envelope is its own.
        return form
            .read_reply(operation, text)
            .map(answered)
            .map_err(|error| refused(document, error, false));
    }
    if wire == WireForm::V1
        && let Some(answer) = read_at_once(operation, id, &document.body, text)
    {
        return Ok(answer);
    }
    let envelope = match read_with(text, Envelope::read) {
        Ok(envelope) => envelope,
        Err(error) => return Err(document.unreadable(&error.to_string())),
    };
    envelope.check_id(wire, id)?;
    match envelope {
        Envelope { error: Some(error), .. } => {
            match read_with(error, |reader| form.read_error(reader)) {
                Ok(error) => Err(document.peer(error)),
                Err(error) => Err(document.unreadable(&error.to_string())),
            }
        }
        // What is no answer of JSON-RPC is one of whatever stands before the peer.
        Envelope { result: None, .. } if !document.status.is_success() => {
            Err(document.unreadable("neither result nor error"))
        }
        Envelope { result, .. } if is_official(wire) => {
            if wire == WireForm::V1
                && let Some(result) = result
                && let Some(answer) = unread(operation, document.body.slice_ref(result.as_bytes()))
            {
                return Ok(answer);
            }
            read_with(result.unwrap_or("null"), |reader| form.read_response(operation, reader))
                .map(answered)
                .map_err(|error| document.not_a2a(&error.to_string()))
        }
        Envelope { .. } => {
            let read = form.read_reply(operation, text);
            read.map(answered).map_err(|error| refused(document, error, true))
        }
    }
}

/// Reads an answer of 1.0 and its envelope in one go, if nothing is wrong with either.
fn read_at_once(operation: Operation, id: u64, body: &Bytes, text: &str) -> Option<Answered> {
    Some(match operation {
        Operation::SendMessage => Answered::SendMessage(result(id, body, text)?),
        Operation::GetTask | Operation::CancelTask => Answered::Task(result(id, body, text)?),
        Operation::ListTasks => Answered::Tasks(result(id, body, text)?),
        _ => return None,
    })
}

/// Reads the result that a document is the envelope of, and keeps its text, so that whoever
/// passes it on need not write it again. `None` if it is anything but the result of our request.
fn result<T: FromJson + ToJson>(id: u64, document: &Bytes, text: &str) -> Option<Shared<T>> {
    let mut found = None;
    let envelope = read_with(text, |reader| {
        Envelope::read_with(reader, |reader| {
            let (value, text) = reader.with_text(T::read)?;
            found = Some(value);
            Ok(text)
        })
    });
    let envelope = envelope.ok()?;
    if envelope.error.is_some() || envelope.check_id(WireForm::V1, id).is_err() {
        return None;
    }
    Some(Shared::with_json(found?, document.slice_ref(envelope.result?.as_bytes())))
}

/// Tells what a peer says from what is wrong with how it says it.
fn refused(document: &Document, error: ProtocolError, is_result: bool) -> Error {
    if is_result || is_bad_answer(&error) {
        document.unreadable(error.message())
    } else {
        document.peer(error)
    }
}

/// Tells whether an error is about the answer, and not the answer.
pub(super) fn is_bad_answer(error: &ProtocolError) -> bool {
    error.kind() == ErrorKind::InvalidAgentResponse && !error.violations().is_empty()
}

/// Reads the data of one frame.
pub(super) fn read_frame(
    form: &dyn JsonRpcForm,
    wire: WireForm,
    id: u64,
    frame: u64,
    data: &Bytes,
) -> Result<Shared<StreamResponse>, Error> {
    let malformed = |cause: String| Error::StreamMalformed { frame, cause };
    let text = json::text(data).map_err(|error| malformed(error.to_string()))?;
    if !is_official(wire) {
        return match form.read_frame(text) {
            Ok(event) => Ok(Shared::new(event)),
            Err(error) if is_bad_answer(&error) => Err(malformed(error.message().to_owned())),
            Err(error) => Err(Error::Peer(error)),
        };
    }
    if wire == WireForm::V1
        && let Some(event) = result(id, data, text)
    {
        return Ok(event);
    }
    let envelope = read_with(text, Envelope::read).map_err(|error| malformed(error.to_string()))?;
    envelope.check_id(wire, id)?;
    match (envelope.error, envelope.result) {
        (Some(error), _) => match read_with(error, |reader| form.read_error(reader)) {
            Ok(error) => Err(Error::Peer(error)),
            Err(error) => Err(malformed(error.to_string())),
        },
        (None, None) => Err(malformed("neither result nor error".to_owned())),
        (None, Some(result)) => read_with(result, |reader| form.read_event(reader))
            .map(Shared::new)
            .map_err(|error| malformed(error.to_string())),
    }
}

/// An answer as it stands in its envelope, still unread.
struct Envelope<'a> {
    id: Option<Cow<'a, str>>,
    result: Option<&'a str>,
    error: Option<&'a str>,
}

impl<'a> Envelope<'a> {
    fn read(reader: &mut json::Reader<'a>) -> Result<Self, json::Error> {
        Self::read_with(reader, json::Reader::value_text)
    }

    /// Reads an envelope and, with `result`, what is in it.
    fn read_with(
        reader: &mut json::Reader<'a>,
        mut result: impl FnMut(&mut json::Reader<'a>) -> Result<&'a str, json::Error>,
    ) -> Result<Self, json::Error> {
        let mut envelope = Self { id: None, result: None, error: None };
        reader.members(|reader, key| {
            match &*key {
                "id" if reader.peek()? == json::Kind::String => {
                    envelope.id = Some(reader.string()?);
                }
                "id" => {
                    let text = reader.value_text()?;
                    envelope.id = Some(text).filter(|text| *text != "null").map(Cow::from);
                }
                "result" => envelope.result = Some(result(reader)?),
                "error" => {
                    envelope.error = Some(reader.value_text()?).filter(|text| *text != "null");
                }
                _ => reader.skip()?,
            }
            Ok(())
        })?;
        Ok(envelope)
    }

    /// Checks that the answer is to our request (HG-11). Who could not read a request cannot
    /// say its id, and dialects do not always; one that is said must be ours, as a number or
    /// as its text.
    fn check_id(&self, wire: WireForm, sent: u64) -> Result<(), Error> {
        let fits = match &self.id {
            Some(id) => id.parse() == Ok(sent),
            None => self.error.is_some() || self.result.is_none() || !is_official(wire),
        };
        if fits {
            return Ok(());
        }
        let answered = self.id.as_deref().unwrap_or("null");
        Err(Error::WrongId { sent, answered: crate::error::snippet(answered.as_bytes()) })
    }
}
