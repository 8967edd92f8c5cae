//! The HTTP+JSON binding: how method, path, query and body say what is asked.

pub(crate) mod v1;

use std::borrow::Cow;

use percent_encoding::{AsciiSet, CONTROLS, percent_decode_str, utf8_percent_encode};

use crate::{
    error::{Error, ErrorKind},
    ids::{ContextId, InvalidId, TaskId},
    json::{self, Object, read_value, read_with},
    operation::{CancelTaskRequest, ListTasksRequest, Operation, Request, Response},
    state::TaskState,
    task::StreamResponse,
    wire::{Frame, StreamEnd},
};

pub use v1::V1Http;

/// A request as it came over HTTP.
#[derive(Clone, Copy, Debug)]
pub struct HttpCall<'a> {
    /// `GET`, `POST` or `DELETE`.
    pub method: &'a str,
    /// The path below the interface's URL, with its leading slash, still encoded.
    pub path: &'a str,
    /// What stands behind the `?`, still encoded.
    pub query: &'a str,
    /// The body; empty if there is none.
    pub body: &'a [u8],
}

/// A request to be sent over HTTP.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HttpTarget {
    /// `GET`, `POST` or `DELETE`.
    pub method: &'static str,
    /// Path and query below the interface's URL, encoded.
    pub path: String,
    /// The JSON body, if there is one.
    pub body: Option<String>,
}

/// An answer to be sent over HTTP.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HttpReply {
    /// The status.
    pub status: u16,
    /// The JSON body.
    pub body: String,
}

/// A wire form in which method and path say what is asked.
pub trait HttpForm: Send + Sync {
    /// Reads a request. [`ErrorKind::MethodNotFound`] if the path is not of this form.
    fn read_call(&self, call: &HttpCall<'_>) -> Result<Request, Error>;

    /// Returns the name under which the client wants to find the new task, in forms in which
    /// clients choose one (C-29). The call has been read before.
    fn task_alias(&self, _call: &HttpCall<'_>) -> Option<String> {
        None
    }

    /// Writes a request; fails if the form lacks the operation.
    fn write_call(&self, request: &Request) -> Result<HttpTarget, Error>;

    /// Reads an answer: the answer, or the error the peer answered with, or what is wrong with
    /// the body.
    fn read_reply(&self, operation: Operation, status: u16, body: &[u8])
    -> Result<Response, Error>;

    /// Writes an answer.
    fn write_reply(&self, operation: Operation, outcome: Result<&Response, &Error>) -> HttpReply;

    /// Reads the data of one frame: the event, or the error that ends the stream.
    fn read_frame(&self, data: &str) -> Result<StreamResponse, Error>;

    /// Writes one frame.
    fn write_frame(&self, outcome: Result<&StreamResponse, &Error>, end: StreamEnd) -> Frame;
}

/// What a path names, whoever is asked to do what with it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Resource {
    /// `message:send`
    Send,
    /// `message:stream`
    Stream,
    /// `tasks`
    Tasks,
    /// `tasks/{id}`
    Task(String),
    /// `tasks/{id}:cancel`
    Cancel(String),
    /// `tasks/{id}:subscribe`
    Subscribe(String),
    /// `tasks/{id}/pushNotificationConfigs`
    PushConfigs(String),
    /// `tasks/{id}/pushNotificationConfigs/{id}`
    PushConfig(String, String),
    /// `extendedAgentCard`
    ExtendedCard,
}

/// What must be encoded inside a path segment.
const SEGMENT: &AsciiSet =
    &CONTROLS.add(b' ').add(b'"').add(b'#').add(b'%').add(b'/').add(b'<').add(b'>').add(b'?');

/// The same for a text that would look like an identifier with a verb behind it.
const SEGMENT_WITHOUT_COLON: &AsciiSet = &SEGMENT.add(b':');

/// The verbs that stand behind the identifier of a task.
const CANCEL: &str = ":cancel";
const SUBSCRIBE: &str = ":subscribe";

impl Resource {
    /// Finds the resource that path segments name, in the form that 1.0 and 0.3 share.
    pub fn parse(segments: &[Cow<'_, str>]) -> Option<Self> {
        Some(match segments {
            [one] if one == "message:send" => Self::Send,
            [one] if one == "message:stream" => Self::Stream,
            [one] if one == "extendedAgentCard" => Self::ExtendedCard,
            [one] if one == "tasks" => Self::Tasks,
            [tasks, id] if tasks == "tasks" => Self::Task(id.clone().into_owned()),
            [tasks, id, verb] if tasks == "tasks" && verb == CANCEL => {
                Self::Cancel(id.clone().into_owned())
            }
            [tasks, id, verb] if tasks == "tasks" && verb == SUBSCRIBE => {
                Self::Subscribe(id.clone().into_owned())
            }
            [tasks, id, configs] if tasks == "tasks" && configs == "pushNotificationConfigs" => {
                Self::PushConfigs(id.clone().into_owned())
            }
            [tasks, id, configs, config]
                if tasks == "tasks" && configs == "pushNotificationConfigs" =>
            {
                Self::PushConfig(id.clone().into_owned(), config.clone().into_owned())
            }
            _ => return None,
        })
    }
}

/// Splits a path at its slashes, and before the verb at its end, and decodes the segments.
///
/// Identifiers may contain colons, so only the last can start a verb; one that is encoded
/// never does, and that is how an identifier ending in `:cancel` is told from the verb.
pub fn segments(path: &str) -> Result<Vec<Cow<'_, str>>, Error> {
    let path = path.strip_prefix('/').unwrap_or(path);
    let path = path.strip_suffix('/').unwrap_or(path);
    let verb = [CANCEL, SUBSCRIBE].into_iter().find(|verb| path.ends_with(verb));
    let path = path.strip_suffix(verb.unwrap_or_default()).unwrap_or(path);
    path.split('/')
        .chain(verb)
        .map(|segment| percent_decode_str(segment).decode_utf8())
        .collect::<Result<_, _>>()
        .map_err(|_| Error::new(ErrorKind::InvalidParams, "the path is not UTF-8"))
}

/// Encodes a text as one path segment that does not end in a verb.
pub fn encode_segment(text: &str) -> impl std::fmt::Display + '_ {
    let ends_in_verb = text.ends_with(CANCEL) || text.ends_with(SUBSCRIBE);
    utf8_percent_encode(text, if ends_in_verb { SEGMENT_WITHOUT_COLON } else { SEGMENT })
}

/// The parameters of a query, each known by its camelCase or its `snake_case` name.
#[derive(Clone, Debug)]
pub struct Query<'a>(Vec<(Cow<'a, str>, Cow<'a, str>)>);

impl<'a> Query<'a> {
    /// Takes a query apart.
    pub fn parse(query: &'a str) -> Self {
        Self(form_urlencoded::parse(query.as_bytes()).collect())
    }

    /// Returns a parameter that is there and not empty.
    pub fn get(&self, camel: &str, snake: &str) -> Option<&str> {
        let found = self.0.iter().find(|(key, _)| key == camel || key == snake);
        found.map(|(_, value)| &**value).filter(|value| !value.is_empty())
    }

    /// Reads a parameter by a function; the error names it.
    pub fn read<T>(
        &self,
        camel: &str,
        snake: &str,
        read: impl FnOnce(&str) -> Option<T>,
        expected: &'static str,
    ) -> Result<Option<T>, Error> {
        let Some(text) = self.get(camel, snake) else { return Ok(None) };
        read(text).map(Some).ok_or_else(|| json::Error::shape(expected).inside(camel).into())
    }

    /// Reads a whole number.
    pub fn int(&self, camel: &str, snake: &str) -> Result<Option<i32>, Error> {
        self.read(camel, snake, |text| text.parse().ok(), "expected a 32-bit integer")
    }
}

/// Reads a frame that holds an error instead of an event.
pub(crate) fn error_frame(data: &str) -> Option<Error> {
    let mut status = None;
    read_with(data, |reader| {
        reader.members(|reader, key| {
            if key != "error" {
                return reader.skip();
            }
            reader.members(|reader, key| {
                if key == "code" {
                    status = reader.int32().ok();
                    return Ok(());
                }
                reader.skip()
            })
        })
    })
    .ok()?;
    Some(Error::read_http(u16::try_from(status?).ok()?, data.as_bytes()))
}

/// Says that a form has no operation there.
pub(crate) fn not_found(call: &HttpCall<'_>) -> Error {
    let HttpCall { method, path, .. } = call;
    Error::new(ErrorKind::MethodNotFound, format!("no operation at {method} {path}"))
}

/// Checks an identifier that came in the path or the query.
pub(crate) fn id<T>(
    text: &str,
    field: &str,
    parse: impl FnOnce(&str) -> Result<T, InvalidId>,
) -> Result<T, Error> {
    parse(text).map_err(|error| json::Error::shape(error.to_string()).inside(field).into())
}

/// Reads a cancellation, whose body may be missing or `null`.
pub(crate) fn read_cancel(call: &HttpCall<'_>, task: &str) -> Result<Request, Error> {
    let mut tenant = None;
    let mut metadata: Option<Object> = None;
    let text = json::text(call.body)?.trim();
    if !text.is_empty() && text != "null" {
        read_with(text, |reader| {
            reader.members(|reader, key| {
                match &*key {
                    "tenant" => tenant = json::read_id(reader)?,
                    "metadata" => metadata = read_value(reader)?,
                    _ => reader.skip()?,
                }
                Ok(())
            })
        })?;
    }
    Ok(Request::CancelTask(CancelTaskRequest {
        tenant,
        id: id(task, "id", TaskId::parse)?,
        metadata,
    }))
}

fn read_state(text: &str) -> Option<TaskState> {
    TaskState::from_name(text).or_else(|| TaskState::from_number(text.parse().ok()?))
}

/// Reads the filters of a list; the form says how states are spelled.
pub(crate) fn read_list(
    query: &Query<'_>,
    state: impl FnOnce(&str) -> Option<TaskState>,
) -> Result<ListTasksRequest, Error> {
    let context = query.get("contextId", "context_id");
    Ok(ListTasksRequest {
        tenant: None,
        context_id: context.map(|text| id(text, "contextId", ContextId::parse)).transpose()?,
        status: query
            .read("status", "status", state, "expected a state such as TASK_STATE_WORKING")?
            .unwrap_or_default(),
        page_size: query.int("pageSize", "page_size")?,
        page_token: query.get("pageToken", "page_token").unwrap_or_default().to_owned(),
        history_length: query.int("historyLength", "history_length")?,
        status_timestamp_after: query.read(
            "statusTimestampAfter",
            "status_timestamp_after",
            |text| text.parse().ok(),
            "expected an RFC 3339 moment",
        )?,
        include_artifacts: query.read(
            "includeArtifacts",
            "include_artifacts",
            |text| text.parse().ok(),
            "expected true or false",
        )?,
    })
}

/// Puts a query together.
#[derive(Default)]
pub(crate) struct QueryWriter(Vec<(&'static str, String)>);

impl QueryWriter {
    pub(crate) fn add(&mut self, key: &'static str, value: Option<impl ToString>) {
        self.0.extend(value.map(|value| (key, value.to_string())));
    }

    pub(crate) fn onto(self, path: String) -> String {
        if self.0.is_empty() {
            return path;
        }
        let query = form_urlencoded::Serializer::new(String::new()).extend_pairs(self.0).finish();
        format!("{path}?{query}")
    }
}

#[cfg(test)]
mod tests;
