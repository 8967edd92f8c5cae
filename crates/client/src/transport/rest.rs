//! HTTP+JSON: method and path say what is asked.

use bytes::Bytes;
use http::{HeaderMap, Method, header::CONTENT_TYPE};
use nuncio_net::CheckedUrl;
use nuncio_protocol::{
    dialect::WireForm,
    http::{HttpForm, HttpTarget},
    json::{self, Shared},
    operation::Operation,
    service::Answered,
    task::StreamResponse,
};

use super::{Written, answer::Document, answered, jsonrpc::is_bad_answer, unread};
use crate::error::Error;

/// Writes a request.
pub(super) fn write(
    target: HttpTarget,
    base: &CheckedUrl,
    headers: &mut HeaderMap,
) -> Result<Written, Error> {
    let HttpTarget { method, path, body } = target;
    if body.is_none() {
        headers.remove(CONTENT_TYPE);
    }
    let method = match method {
        "GET" => Method::GET,
        "DELETE" => Method::DELETE,
        _ => Method::POST,
    };
    let url = base.below(&path)?;
    Ok(Written::Document { method, url, body: Bytes::from(body.unwrap_or_default()), id: 0 })
}

/// Reads an answer.
pub(super) fn read(
    form: &dyn HttpForm,
    wire: WireForm,
    operation: Operation,
    document: &Document,
) -> Result<Answered, Error> {
    if wire == WireForm::V1Http && document.status.is_success() {
        // Its syntax is checked by that, so that it can be passed on.
        if has_member(&document.body, &["error"]) == Some(false)
            && let Some(answer) = unread(operation, document.body.clone())
        {
            return Ok(answer);
        }
    }
    let status = document.status.as_u16();
    match form.read_reply(operation, status, &document.body) {
        Ok(response) => Ok(answered(response)),
        Err(error) if document.status.is_success() && is_bad_answer(&error) => {
            // Some peers answer 200 whatever they say; the errors of streams look the same.
            match json::text(&document.body).map(|text| form.read_frame(text)) {
                Ok(Err(said)) if !is_bad_answer(&said) => Err(document.peer(said)),
                _ => Err(document.not_a2a(error.message())),
            }
        }
        // The status alone made an error of a body that says nothing.
        Err(error) if !document.status.is_success() && !says_error(&document.body) => {
            Err(document.unreadable(error.message()))
        }
        Err(error) => Err(document.peer(error)),
    }
}

/// Tells whether a body says what is wrong, in any of the forms in which peers do.
fn says_error(body: &[u8]) -> bool {
    has_member(body, &["error", "message", "code", "detail"]) == Some(true)
}

/// Tells whether a body is an object with one of these members; `None` if it is none at all.
fn has_member(body: &[u8], keys: &[&str]) -> Option<bool> {
    let mut found = false;
    let read = json::text(body).and_then(|text| {
        json::read_with(text, |reader| {
            reader.members(|reader, key| {
                found |= keys.contains(&&*key);
                reader.skip()
            })
        })
    });
    read.is_ok().then_some(found)
}

/// Reads the data of one frame.
pub(super) fn read_frame(
    form: &dyn HttpForm,
    wire: WireForm,
    frame: u64,
    data: &Bytes,
) -> Result<Shared<StreamResponse>, Error> {
    if wire == WireForm::V1Http {
        // The text is kept as it came, so that whoever passes it on need not write it again.
        let event = Shared::from_json(data.clone());
        if event.value().is_ok() {
            return Ok(event);
        }
    }
    let malformed = |cause: String| Error::StreamMalformed { frame, cause };
    let text = json::text(data).map_err(|error| malformed(error.to_string()))?;
    match form.read_frame(text) {
        Ok(event) => Ok(Shared::new(event)),
        Err(error) if is_bad_answer(&error) => Err(malformed(error.message().to_owned())),
        Err(error) => Err(Error::Peer(error)),
    }
}
