//! Answers that are no streams, and those that are none of A2A.

use std::time::Duration;

use bytes::Bytes;
use http::{
    HeaderMap, StatusCode, Uri,
    header::{CONTENT_TYPE, LOCATION, RETRY_AFTER},
};
use nuncio_net::Response;
use nuncio_protocol::{
    error::{Error as ProtocolError, ErrorKind},
    json,
};

use crate::error::{Error, snippet};

/// A whole answer.
#[derive(Debug)]
pub(super) struct Document {
    pub(super) status: StatusCode,
    content_type: String,
    retry_after: Option<Duration>,
    pub(super) body: Bytes,
}

/// What an answer says to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ContentType {
    Events,
    /// It does not say.
    Missing,
    Other,
}

impl Document {
    /// Reads an answer that has no more bytes than the limit.
    pub(super) async fn read(response: Response, limit: usize) -> Result<Self, Error> {
        let status = response.status();
        let (kind, text) = content_type(response.headers());
        let retry_after = retry_after(response.headers());
        let content_type = text;
        if kind == ContentType::Events && status.is_success() {
            let cause = "a stream, where one answer was asked for".to_owned();
            return Err(Error::NotA2a { status, content_type, cause, snippet: String::new() });
        }
        let body = response.collect(limit).await?;
        Ok(Self { status, content_type, retry_after, body })
    }

    /// Returns the body as text.
    pub(super) fn text(&self) -> Result<&str, Error> {
        json::text(&self.body).map_err(|error| self.unreadable(&error.to_string()))
    }

    /// Says what an answer is that nobody can read: by its status, if that says enough.
    pub(super) fn unreadable(&self, cause: &str) -> Error {
        if self.status.is_success() {
            return self.not_a2a(cause);
        }
        Error::Status {
            status: self.status,
            retry_after: self.retry_after,
            snippet: snippet(&self.body),
        }
    }

    /// Says that an answer is none of A2A.
    pub(super) fn not_a2a(&self, cause: &str) -> Error {
        Error::NotA2a {
            status: self.status,
            content_type: self.content_type.clone(),
            cause: cause.to_owned(),
            snippet: snippet(&self.body),
        }
    }

    /// Says what the peer said, and what only the status and the headers tell.
    pub(super) fn peer(&self, error: ProtocolError) -> Error {
        let mut error = error;
        // JSON-RPC has no codes for these (A2A digest §7).
        if error.kind() == ErrorKind::Internal && !self.status.is_success() {
            let kind = ErrorKind::from_http_status(self.status.as_u16());
            if matches!(
                kind,
                ErrorKind::Unauthenticated
                    | ErrorKind::PermissionDenied
                    | ErrorKind::RateLimited
                    | ErrorKind::TooLarge
                    | ErrorKind::Unavailable
                    | ErrorKind::Timeout
            ) {
                error = with_kind(&error, kind);
            }
        }
        match self.retry_after {
            Some(delay) if error.retry_after().is_none() => {
                Error::Peer(error.with_retry_after(delay))
            }
            _ => Error::Peer(error),
        }
    }
}

/// Says the same of another kind.
fn with_kind(error: &ProtocolError, kind: ErrorKind) -> ProtocolError {
    let mut other = ProtocolError::new(kind, error.message());
    for (key, value) in error.metadata() {
        other = other.with_metadata(key, value);
    }
    for detail in error.details() {
        other = other.with_detail(detail.clone());
    }
    match error.retry_after() {
        Some(delay) => other.with_retry_after(delay),
        None => other,
    }
}

/// Refuses to go where an answer points to.
pub(super) fn check_redirect(response: &Response) -> Result<(), Error> {
    let status = response.status();
    if !status.is_redirection() {
        return Ok(());
    }
    let location = response.headers().get(LOCATION).and_then(|value| value.to_str().ok());
    let target = location.and_then(|text| text.parse::<Uri>().ok()).unwrap_or_default();
    let origin = match (target.scheme_str(), target.host(), target.port()) {
        (Some(scheme), Some(host), Some(port)) => format!("{scheme}://{host}:{port}"),
        (Some(scheme), Some(host), None) => format!("{scheme}://{host}"),
        _ => String::new(),
    };
    Err(Error::Redirected { status, origin })
}

/// Returns what an answer says to be, for us and for people.
pub(super) fn content_type(headers: &HeaderMap) -> (ContentType, String) {
    let Some(value) = headers.get(CONTENT_TYPE) else {
        return (ContentType::Missing, String::new());
    };
    let text = snippet(value.as_bytes());
    let essence = text.split(';').next().unwrap_or_default().trim();
    let kind = if essence.eq_ignore_ascii_case("text/event-stream") {
        ContentType::Events
    } else if essence.is_empty() {
        ContentType::Missing
    } else {
        ContentType::Other
    };
    (kind, text)
}

/// Reads when the peer wants to be asked again: a number of seconds. A date is passed over,
/// since clocks differ.
pub(super) fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let seconds = headers.get(RETRY_AFTER)?.to_str().ok()?.trim().parse().ok()?;
    Some(Duration::from_secs(seconds))
}
