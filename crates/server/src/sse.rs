//! Server-sent events: how a stream looks on HTTP.

use std::fmt::Write as _;

use bytes::Bytes;
use futures_util::{FutureExt as _, stream};
use http::{
    HeaderMap, HeaderValue, Response, StatusCode,
    header::{ACCEPT, CACHE_CONTROL, CONTENT_TYPE},
};
use nuncio_protocol::{
    error::Error,
    http::HttpForm,
    json::write_with,
    operation::Operation,
    service::{Event, Events},
    state::TaskState,
    task::StreamResponse,
    wire::{Echo, Frame, JsonRpcForm, StreamEnd},
};

use crate::{
    body::Body,
    respond,
    streams::{Next, Place},
};

const EVENT_STREAM: &str = "text/event-stream";

/// Events that are ready together go out together, up to so many bytes.
const MAX_TOGETHER: usize = 16 << 10;

/// A line that keeps the connection alive and that readers pass over.
const HEARTBEAT: &str = ": alive\n\n";

/// Said before the server closes a stream because it stops.
const GOODBYE: &str = "retry: 1000\n: the server stops; resume with Last-Event-ID\n\n";

/// Answers with a stream, from the place that was made for it.
pub(crate) fn answer(events: Events, place: Option<Place>, encoder: Encoder) -> Response<Body> {
    let Some(place) = place else {
        // Only operations that stream give events, and all of them have a place.
        return respond::status(StatusCode::INTERNAL_SERVER_ERROR);
    };
    let following = place.follow(events);
    let pieces = stream::unfold((following, encoder), |(mut following, encoder)| async move {
        let mut text = String::new();
        let mut next = following.next().await;
        loop {
            match next {
                Next::Event(event) => encoder.event(&event, &mut text),
                Next::Silence => text.push_str(HEARTBEAT),
                Next::Error(error) => encoder.error(&error, &mut text),
                Next::Draining => text.push_str(GOODBYE),
                Next::End => break,
            }
            if text.len() >= MAX_TOGETHER {
                break;
            }
            match following.next().now_or_never() {
                Some(ready) => next = ready,
                None => break,
            }
        }
        (!text.is_empty()).then(|| (Bytes::from(text), (following, encoder)))
    });
    opened(Body::pieces(pieces))
}

/// Answers with a stream that is an error and nothing else.
pub(crate) fn refuse(error: &Error, encoder: &Encoder) -> Response<Body> {
    let mut text = String::new();
    encoder.error(error, &mut text);
    opened(Body::whole(Bytes::from(text)))
}

/// Tells whether somebody reads events and no other documents.
pub(crate) fn is_all_that_is_read(headers: &HeaderMap) -> bool {
    let accepted = headers.get_all(ACCEPT).iter().filter_map(|value| value.to_str().ok());
    let mut types = accepted
        .flat_map(|list| list.split(','))
        .map(|item| item.split_once(';').map_or(item, |(name, _)| name).trim())
        .filter(|name| !name.is_empty())
        .peekable();
    types.peek().is_some() && types.all(|name| name.eq_ignore_ascii_case(EVENT_STREAM))
}

fn opened(body: Body) -> Response<Body> {
    let mut response = Response::new(body);
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(EVENT_STREAM));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    // Otherwise some proxies hold events back.
    headers.insert("x-accel-buffering", HeaderValue::from_static("no"));
    response
}

/// Writes the frames of one stream.
pub(crate) struct Encoder {
    form: Form,
    /// Whether the stream ends when the task asks for input.
    until_input: bool,
}

enum Form {
    /// A2A 1.0 on JSON-RPC: the text of an event goes between these two as it is.
    V1 {
        before: String,
    },
    /// A2A 1.0 on HTTP: the text of an event is the frame.
    V1Http(Box<dyn HttpForm>),
    JsonRpc(Box<dyn JsonRpcForm>, Echo),
    Http(Box<dyn HttpForm>),
}

impl Encoder {
    pub(crate) fn v1(echo: &Echo) -> Self {
        let before = format!("{{\"jsonrpc\":\"2.0\",\"id\":{},\"result\":", echo.id().as_str());
        Self::new(Form::V1 { before }, echo.operation)
    }

    pub(crate) fn v1_http(form: Box<dyn HttpForm>, operation: Operation) -> Self {
        Self::new(Form::V1Http(form), operation)
    }

    pub(crate) fn json_rpc(form: Box<dyn JsonRpcForm>, echo: Echo) -> Self {
        let operation = echo.operation;
        Self::new(Form::JsonRpc(form, echo), operation)
    }

    pub(crate) fn http(form: Box<dyn HttpForm>, operation: Operation) -> Self {
        Self::new(Form::Http(form), operation)
    }

    fn new(form: Form, operation: Operation) -> Self {
        Self { form, until_input: operation == Operation::SendStreamingMessage }
    }

    fn event(&self, event: &Event, out: &mut String) {
        if let Some(seq) = event.seq {
            // Writing to a string cannot fail.
            let _ = writeln!(out, "id: {seq}");
        }
        match &self.form {
            Form::V1 { before } => {
                out.push_str("data: ");
                out.push_str(before);
                push_json(event, out);
                out.push_str("}\n\n");
            }
            Form::V1Http(_) => {
                out.push_str("data: ");
                push_json(event, out);
                out.push_str("\n\n");
            }
            Form::JsonRpc(form, echo) => match event.response.value() {
                Ok(value) => push(&form.write_frame(echo, Ok(value), self.end(value)), out),
                Err(error) => self.error(&error.into(), out),
            },
            Form::Http(form) => match event.response.value() {
                Ok(value) => push(&form.write_frame(Ok(value), self.end(value)), out),
                Err(error) => self.error(&error.into(), out),
            },
        }
    }

    /// Tells whether the stream goes on behind an event that is not the last of its task.
    fn end(&self, event: &StreamResponse) -> StreamEnd {
        if self.until_input && event.state() == Some(TaskState::InputRequired) {
            StreamEnd::Closing
        } else {
            StreamEnd::Open
        }
    }

    fn error(&self, error: &Error, out: &mut String) {
        match &self.form {
            Form::V1 { before } => {
                // The same envelope with another member.
                let before = before.trim_end_matches("\"result\":");
                let error = write_with(|writer| error.write_jsonrpc(writer));
                let _ = write!(out, "data: {before}\"error\":{error}}}\n\n");
            }
            Form::JsonRpc(form, echo) => {
                push(&form.write_frame(echo, Err(error), StreamEnd::Closing), out);
            }
            Form::V1Http(form) | Form::Http(form) => {
                push(&form.write_frame(Err(error), StreamEnd::Closing), out);
            }
        }
    }
}

/// Appends the text of an event, which was written once for all readers.
fn push_json(event: &Event, out: &mut String) {
    match std::str::from_utf8(event.response.json()) {
        Ok(text) => out.push_str(text),
        // It was written by us, and from text.
        Err(_) => out.push_str("null"),
    }
}

fn push(frame: &Frame, out: &mut String) {
    if let Some(name) = frame.event {
        let _ = writeln!(out, "event: {name}");
    }
    let _ = write!(out, "data: {}\n\n", frame.data);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(accept: &[&'static str], expected: bool) {
        let mut headers = HeaderMap::new();
        for value in accept {
            headers.append(ACCEPT, HeaderValue::from_static(value));
        }
        assert_eq!(is_all_that_is_read(&headers), expected, "{accept:?}");
    }

    #[test]
    fn only_who_names_events_alone_reads_nothing_else() {
        check(&["text/event-stream"], true);
        check(&["Text/Event-Stream; q=0.9, "], true);
        check(&[], false);
        check(&[""], false);
        check(&["*/*"], false);
        check(&["text/event-stream, application/json"], false);
        check(&["text/event-stream", "application/json"], false);
    }
}
