//! Answers that are no streams, and those that are none of A2A.

use std::{
    sync::Arc,
    time::{Duration, SystemTime},
};

use bytes::Bytes;
use http::{
    HeaderMap, HeaderValue, StatusCode, Uri,
    header::{CONTENT_TYPE, DATE, LOCATION, RETRY_AFTER},
};
use nuncio_net::{Error as NetError, Response};
use nuncio_protocol::{
    error::{Error as ProtocolError, ErrorKind},
    json,
};

use crate::{
    error::{Error, snippet},
    watch::{Head, Watched},
};

/// A whole answer.
#[derive(Debug)]
pub(super) struct Document {
    pub(super) status: StatusCode,
    content_type: Option<HeaderValue>,
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
    pub(super) fn read(
        response: Response,
        limit: usize,
        watched: Option<&Arc<Watched>>,
    ) -> impl Future<Output = Result<Self, Error>> + Send {
        let watched = watched.map(|watched| Box::new((Arc::clone(watched), Head::of(&response))));
        let status = response.status();
        let content_type = response.headers().get(CONTENT_TYPE).cloned();
        let retry_after = retry_after(response.headers());
        // Nothing else of the head is kept while the body comes.
        let body = response.into_body();
        async move {
            if kind(content_type.as_ref()) == ContentType::Events && status.is_success() {
                let cause = "a stream, where one answer was asked for".to_owned();
                let content_type = shown(content_type.as_ref());
                return Err(Error::NotA2a { status, content_type, cause, snippet: String::new() });
            }
            let body = body.collect(limit).await.map_err(|source| match source {
                NetError::Http { .. } | NetError::Timeout { .. } => {
                    Error::BrokenOff { status, source }
                }
                source => source.into(),
            })?;
            if let Some(watched) = watched {
                let (watched, head) = &*watched;
                watched.answer(head, Some(&body));
            }
            Ok(Self { status, content_type, retry_after, body })
        }
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
            content_type: shown(self.content_type.as_ref()),
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
                    | ErrorKind::BudgetExceeded
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
    let value = headers.get(CONTENT_TYPE);
    (kind(value), shown(value))
}

fn kind(value: Option<&HeaderValue>) -> ContentType {
    let text = value.map_or(&[][..], HeaderValue::as_bytes);
    let essence = text.split(|byte| *byte == b';').next().unwrap_or_default().trim_ascii();
    if essence.eq_ignore_ascii_case(b"text/event-stream") {
        ContentType::Events
    } else if essence.is_empty() {
        ContentType::Missing
    } else {
        ContentType::Other
    }
}

fn shown(value: Option<&HeaderValue>) -> String {
    value.map(|value| snippet(value.as_bytes())).unwrap_or_default()
}

/// Reads when the peer wants to be asked again: a number of seconds, or a date (RFC 9110
/// §10.2.3). Clocks differ, so a date is held against the peer's own `Date` where it has one.
pub(super) fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    retry_after_at(headers, SystemTime::now)
}

fn retry_after_at(headers: &HeaderMap, now: impl FnOnce() -> SystemTime) -> Option<Duration> {
    let text = headers.get(RETRY_AFTER)?.to_str().ok()?.trim();
    if let Ok(seconds) = text.parse() {
        return Some(Duration::from_secs(seconds));
    }
    let moment = httpdate::parse_http_date(text).ok()?;
    let said =
        headers.get(DATE).and_then(|date| httpdate::parse_http_date(date.to_str().ok()?).ok());
    Some(moment.duration_since(said.unwrap_or_else(now)).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    #[track_caller]
    fn check(retry_after: &'static str, date: Option<&'static str>, expected: Option<u64>) {
        let mut headers = HeaderMap::new();
        headers.insert(RETRY_AFTER, HeaderValue::from_static(retry_after));
        if let Some(date) = date {
            headers.insert(DATE, HeaderValue::from_static(date));
        }
        // 06 Nov 1994 08:49:37
        let now = SystemTime::UNIX_EPOCH + Duration::from_secs(784_111_777);
        assert_eq!(retry_after_at(&headers, || now), expected.map(Duration::from_secs));
    }

    #[test]
    fn seconds_and_dates_say_when_to_come_back() {
        check("120", None, Some(120));
        check("Sun, 06 Nov 1994 08:50:00 GMT", None, Some(23));
        check("Sunday, 06-Nov-94 08:50:00 GMT", None, Some(23));
        check("Sun, 06 Nov 1994 08:00:00 GMT", None, Some(0));
        check("soon", None, None);
        check("-1", None, None);
    }

    #[test]
    fn a_date_is_held_against_the_peers_own_clock() {
        let moment = "Sun, 06 Nov 1994 08:50:00 GMT";
        check(moment, Some("Sun, 06 Nov 1994 08:49:50 GMT"), Some(10));
        check(moment, Some("Sun, 06 Nov 1994 09:00:00 GMT"), Some(0));
        check(moment, Some("today"), Some(23));
    }
}
