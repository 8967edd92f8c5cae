//! Events over SSE: who wants them, from where on, and how they are framed.

use std::{convert::Infallible, time::Duration};

use axum::{
    body::Body,
    response::{IntoResponse, Response},
};
use bytes::Bytes;
use futures_util::{Stream, StreamExt as _, stream};
use http::{
    HeaderMap, HeaderValue,
    header::{ACCEPT, CONTENT_TYPE},
};
use serde::Serialize;
use tokio::time::timeout;

use super::problem::Problem;

/// So often a stream shows that it is alive.
pub(crate) const HEARTBEAT: Duration = Duration::from_secs(15);

/// Tells whether somebody wants events as they happen.
pub(crate) fn is_wanted(headers: &HeaderMap) -> bool {
    let accept = headers.get(ACCEPT).and_then(|value| value.to_str().ok());
    accept.is_some_and(|accept| accept.contains("text/event-stream"))
}

/// Returns the last event that a returning reader has seen.
pub(crate) fn last_event_id(headers: &HeaderMap) -> Result<Option<u64>, Problem> {
    let Some(value) = headers.get("last-event-id") else { return Ok(None) };
    let number = value.to_str().ok().and_then(|text| text.parse().ok());
    number.map(Some).ok_or_else(|| Problem::invalid("Last-Event-ID", "is the number of an event"))
}

/// Frames an event.
pub(crate) fn frame(id: Option<u64>, event: &impl Serialize) -> Bytes {
    let id = id.map(|id| format!("id: {id}\n")).unwrap_or_default();
    format!("{id}data: {}\n\n", line(event)).into()
}

/// Frames an event that has a name.
pub(crate) fn named(id: Option<u64>, name: &str, event: &impl Serialize) -> Bytes {
    let id = id.map(|id| format!("id: {id}\n")).unwrap_or_default();
    format!("{id}event: {name}\ndata: {}\n\n", line(event)).into()
}

/// Writes an event on one line. In JSON a line can only end between tokens.
pub(crate) fn line(event: &impl Serialize) -> String {
    serde_json::to_string(event).unwrap_or_default().replace(['\n', '\r'], " ")
}

/// Answers with frames as they come, and shows that the stream is alive meanwhile.
pub(crate) fn answer(frames: impl Stream<Item = Bytes> + Send + 'static) -> Response {
    let begin = Bytes::from_static(b"retry: 2000\n: the hub is listening\n\n");
    let frames = Box::pin(frames);
    let frames = stream::unfold((Some(begin), frames), |(begin, mut frames)| async move {
        if let Some(begin) = begin {
            return Some((Ok::<_, Infallible>(begin), (None, frames)));
        }
        let frame = match timeout(HEARTBEAT, frames.next()).await {
            Ok(frame) => frame?,
            Err(_) => Bytes::from_static(b": still here\n\n"),
        };
        Some((Ok(frame), (None, frames)))
    });
    let kind = [(CONTENT_TYPE, HeaderValue::from_static("text/event-stream"))];
    (kind, Body::from_stream(frames)).into_response()
}
