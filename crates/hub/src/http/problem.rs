//! Refusals: what went wrong, where, and what would do.

use std::time::Duration;

use axum::{
    Json,
    response::{IntoResponse, Response},
};
use http::{
    HeaderValue, StatusCode,
    header::{CONTENT_TYPE, RETRY_AFTER, WWW_AUTHENTICATE},
};
use nuncio_auth::{Refusal, rules::MoveError};
use nuncio_net::listen::body::BodyError;
use nuncio_protocol::error::{Error as A2aError, ErrorKind, ErrorTable};
use serde::Serialize;

use crate::error::Error;

/// A refusal, as RFC 9457 has it.
#[derive(Debug)]
pub(crate) struct Problem {
    pub(crate) status: StatusCode,
    pub(crate) code: &'static str,
    pub(crate) detail: String,
    pub(crate) field: Option<String>,
    /// Seconds to wait before it is worth another try.
    pub(crate) retry_after: Option<u64>,
    pub(crate) challenge: Option<Box<HeaderValue>>,
}

#[derive(Serialize)]
struct Body<'a> {
    r#type: &'static str,
    title: &'a str,
    status: u16,
    code: &'a str,
    detail: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    field: Option<&'a str>,
}

impl Problem {
    pub(crate) fn new(status: StatusCode, code: &'static str, detail: impl Into<String>) -> Self {
        Self {
            status,
            code,
            detail: detail.into(),
            field: None,
            retry_after: None,
            challenge: None,
        }
    }

    pub(crate) fn invalid(field: impl Into<String>, detail: impl Into<String>) -> Self {
        let field = Some(field.into());
        Self { field, ..Self::new(StatusCode::BAD_REQUEST, "INVALID", detail) }
    }

    pub(crate) fn forbidden(detail: &'static str) -> Self {
        Self::new(StatusCode::FORBIDDEN, "FORBIDDEN", detail)
    }

    pub(crate) fn too_many(wait: Duration) -> Self {
        // Rounded up, so that whoever waits as told is let in.
        let seconds = wait.as_secs() + u64::from(wait.subsec_nanos() > 0);
        let detail = "too many requests; wait as long as `Retry-After` says";
        Self {
            retry_after: Some(seconds.max(1)),
            ..Self::new(StatusCode::TOO_MANY_REQUESTS, "TOO_MANY_REQUESTS", detail)
        }
    }

    pub(crate) fn too_many_streams() -> Self {
        let detail = "as many event streams are open as one caller may have";
        Self {
            retry_after: Some(1),
            ..Self::new(StatusCode::TOO_MANY_REQUESTS, "TOO_MANY_STREAMS", detail)
        }
    }

    pub(crate) fn not_found() -> Self {
        Self::new(StatusCode::NOT_FOUND, "NOT_FOUND", "there is nothing here")
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let body = Body {
            r#type: "about:blank",
            title: self.status.canonical_reason().unwrap_or("error"),
            status: self.status.as_u16(),
            code: self.code,
            detail: &self.detail,
            field: self.field.as_deref(),
        };
        let mut response = (self.status, Json(body)).into_response();
        let headers = response.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/problem+json"));
        if let Some(seconds) = self.retry_after {
            headers.insert(RETRY_AFTER, seconds.into());
        }
        if let Some(challenge) = self.challenge {
            headers.insert(WWW_AUTHENTICATE, *challenge);
        }
        response
    }
}

impl From<Refusal> for Problem {
    fn from(refusal: Refusal) -> Self {
        let code = match refusal.status() {
            StatusCode::UNAUTHORIZED => "UNAUTHENTICATED",
            StatusCode::TOO_MANY_REQUESTS => "TOO_MANY_REQUESTS",
            StatusCode::BAD_REQUEST => "SEVERAL_CREDENTIALS",
            _ => "FORBIDDEN",
        };
        Self {
            retry_after: refusal.retry_after().map(|wait| wait.as_secs().max(1)),
            challenge: refusal.challenge().map(Box::new),
            ..Self::new(refusal.status(), code, refusal.to_string())
        }
    }
}

impl From<BodyError> for Problem {
    fn from(error: BodyError) -> Self {
        let (status, code) = match error {
            BodyError::TooLarge { .. } => (StatusCode::PAYLOAD_TOO_LARGE, "TOO_LARGE"),
            BodyError::TooSlow => (StatusCode::REQUEST_TIMEOUT, "TOO_SLOW"),
            _ => (StatusCode::BAD_REQUEST, "BROKEN_BODY"),
        };
        Self::new(status, code, error.to_string())
    }
}

impl From<Error> for Problem {
    fn from(error: Error) -> Self {
        let status = status(&error);
        // What exactly the database said is for the operator.
        if let Error::Store(source) = &error {
            tracing::error!(error = %source, "the store failed");
        }
        let field = match &error {
            Error::Invalid { field, .. } | Error::Address { field, .. } => {
                Some((*field).to_owned())
            }
            Error::Name(_) => Some("name".to_owned()),
            Error::Card(_) => Some("card".to_owned()),
            _ => None,
        };
        let retry_after = matches!(error, Error::Store(_)).then_some(1);
        Self { field, retry_after, ..Self::new(status, error.code(), error.to_string()) }
    }
}

impl From<A2aError> for Problem {
    fn from(error: A2aError) -> Self {
        let kind = error.kind();
        let status = match kind {
            // It goes together with the task as it is now, or not.
            ErrorKind::TaskNotCancelable | ErrorKind::UnsupportedOperation => StatusCode::CONFLICT,
            kind => StatusCode::from_u16(kind.http_status(ErrorTable::V1_0_0))
                .unwrap_or(StatusCode::INTERNAL_SERVER_ERROR),
        };
        if kind == ErrorKind::TaskNotFound {
            return Error::Unknown { what: "task" }.into();
        }
        let wait = error.retry_after().map(|wait| wait.as_secs().max(1));
        Self {
            field: error.violations().first().map(|violation| violation.field.clone()),
            retry_after: wait,
            ..Self::new(status, kind.reason(), error.message())
        }
    }
}

pub(crate) fn status(error: &Error) -> StatusCode {
    match error {
        Error::Unknown { .. } | Error::Move(MoveError::UnknownAgent | MoveError::UnknownParent) => {
            StatusCode::NOT_FOUND
        }
        Error::Gone { .. } => StatusCode::GONE,
        Error::NameTaken { .. }
        | Error::LookAlike { .. }
        | Error::IdTaken { .. }
        | Error::HasChildren { .. }
        | Error::VersionChanged { .. }
        | Error::TooMany { .. }
        | Error::Move(_) => StatusCode::CONFLICT,
        // Who may not know of an agent is told what anybody is told of one that is not there.
        Error::Denied { decision } if decision.reason().code() == "NOT_FOUND" => {
            StatusCode::NOT_FOUND
        }
        Error::Denied { .. } | Error::Forbidden(_) => StatusCode::FORBIDDEN,
        Error::NoAddress | Error::Store(_) => StatusCode::SERVICE_UNAVAILABLE,
        _ => StatusCode::BAD_REQUEST,
    }
}
