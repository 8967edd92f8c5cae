//! What becomes of a message that no agent has answered (MD-32, catalogue §7.7).

use std::time::Duration;

use axum::{
    Json,
    response::{IntoResponse as _, Response},
};
use http::{StatusCode, header::RETRY_AFTER};
use nuncio_protocol::error::{Error, ErrorKind, reason};
use serde::Serialize;

use crate::{
    agent::Status,
    gateway::queue::{DELIVERY, UPSTREAM_STATUS},
};

/// When an agent may be asked again that is busy, comes up, or wakes up.
const BUSY: Duration = Duration::from_secs(30);
const RESTARTING: Duration = Duration::from_secs(15);
const WAKING: Duration = Duration::from_secs(15);

/// The reason of an error about money.
const BUDGET: &str = "BUDGET_EXCEEDED";

/// An answer in molecule's own shape.
#[derive(Debug)]
pub(super) struct Outcome {
    status: StatusCode,
    body: Body,
}

#[derive(Debug, Default, Serialize)]
struct Body {
    error: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    busy: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    restarting: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    waking: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    paused: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    delivery_confirmed: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    retry_after: Option<u64>,
}

/// Tells whether an error is about what was asked, and not about the way to the agent: then the
/// answer is one of JSON-RPC.
pub(super) fn is_rejected(error: &Error) -> bool {
    !error.metadata().contains_key(DELIVERY)
        && !matches!(
            error.kind(),
            ErrorKind::Unauthenticated
                | ErrorKind::PermissionDenied
                | ErrorKind::RateLimited
                | ErrorKind::BudgetExceeded
                | ErrorKind::TooLarge
                | ErrorKind::Unavailable
                | ErrorKind::Timeout
                | ErrorKind::InvalidAgentResponse
        )
}

impl Outcome {
    /// The body was no call.
    pub(super) fn unread(error: &Error) -> Self {
        Self::new(Self::status(error), error.message())
    }

    pub(super) fn paused() -> Self {
        let mut outcome = Self::new(StatusCode::SERVICE_UNAVAILABLE, "the workspace is paused");
        outcome.body.paused = Some(true);
        outcome
    }

    pub(super) fn too_large(limit: usize) -> Self {
        let text = format!("the answer has more than {limit} bytes; ask for less");
        let mut outcome = Self::new(StatusCode::BAD_GATEWAY, text);
        outcome.body.delivery_confirmed = Some(true);
        outcome
    }

    /// The agent has not answered, or not so that anybody understands it.
    pub(super) fn failed(error: &Error, agent: Status) -> Self {
        let delivery = error.metadata().get(DELIVERY).map(String::as_str);
        let upstream = error.metadata().get(UPSTREAM_STATUS);
        let upstream = upstream.and_then(|text| StatusCode::from_bytes(text.as_bytes()).ok());
        let unavailable = |text: &str| Self::new(StatusCode::SERVICE_UNAVAILABLE, text);
        let mut outcome = match (error.reason(), delivery, upstream) {
            (BUDGET, ..) => Self::new(StatusCode::PAYMENT_REQUIRED, error.message()),
            (reason::AGENT_BUSY, ..) => {
                let mut outcome = unavailable(error.message());
                outcome.body.busy = Some(true);
                outcome.retry(error.retry_after().unwrap_or(BUSY))
            }
            (_, Some("none"), _) => match agent {
                Status::Hibernated => {
                    let mut outcome = unavailable("the workspace sleeps, and is to be woken");
                    outcome.body.waking = Some(true);
                    outcome.retry(WAKING)
                }
                Status::Provisioning | Status::Offline | Status::Failed => {
                    let mut outcome = unavailable("the workspace is down, and is to come up again");
                    outcome.body.restarting = Some(true);
                    outcome.retry(RESTARTING)
                }
                _ => Self::new(StatusCode::BAD_GATEWAY, error.message()),
            },
            // Redirects are failures (MD-31); all other statuses are the agent's own.
            (_, _, Some(status)) if status.is_client_error() || status.is_server_error() => {
                Self::new(status, error.message())
            }
            (_, Some(delivery), _) => {
                let mut outcome = Self::new(StatusCode::BAD_GATEWAY, error.message());
                let is_fine = upstream.is_none_or(|status| status.is_success());
                outcome.body.delivery_confirmed = Some(delivery == "confirmed" && is_fine);
                outcome
            }
            (_, None, _) => Self::new(Self::status(error), error.message()),
        };
        if let (None, Some(after)) = (outcome.body.retry_after, error.retry_after()) {
            outcome = outcome.retry(after);
        }
        outcome
    }

    /// Returns the status of an error (catalogue §7.7).
    pub(super) fn status(error: &Error) -> StatusCode {
        match error.kind() {
            ErrorKind::Unauthenticated => StatusCode::UNAUTHORIZED,
            ErrorKind::PermissionDenied => StatusCode::FORBIDDEN,
            ErrorKind::MethodNotFound | ErrorKind::TaskNotFound => StatusCode::NOT_FOUND,
            ErrorKind::TaskNotCancelable => StatusCode::CONFLICT,
            ErrorKind::TooLarge => StatusCode::PAYLOAD_TOO_LARGE,
            ErrorKind::RateLimited => StatusCode::TOO_MANY_REQUESTS,
            ErrorKind::BudgetExceeded => StatusCode::PAYMENT_REQUIRED,
            ErrorKind::InvalidAgentResponse | ErrorKind::Timeout => StatusCode::BAD_GATEWAY,
            ErrorKind::Unavailable => StatusCode::SERVICE_UNAVAILABLE,
            ErrorKind::Internal | ErrorKind::Other(_) => StatusCode::INTERNAL_SERVER_ERROR,
            _ => StatusCode::BAD_REQUEST,
        }
    }

    fn new(status: StatusCode, error: impl Into<String>) -> Self {
        Self { status, body: Body { error: error.into(), ..Body::default() } }
    }

    fn retry(mut self, after: Duration) -> Self {
        // Rounded up, so that whoever waits as told is let in.
        let seconds = after.as_secs() + u64::from(after.subsec_nanos() > 0);
        self.body.retry_after = Some(seconds);
        self
    }

    pub(super) fn into_response(self) -> Response {
        let retry_after = self.body.retry_after;
        let mut response = (self.status, Json(self.body)).into_response();
        if let Some(seconds) = retry_after {
            response.headers_mut().insert(RETRY_AFTER, seconds.into());
        }
        response
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(error: &Error, agent: Status, status: u16, body: &str) {
        let outcome = Outcome::failed(error, agent);
        let found = serde_json::to_string(&outcome.body).expect("JSON");
        assert_eq!((outcome.status.as_u16(), found.as_str()), (status, body));
    }

    #[test]
    fn md32_every_outcome_has_its_status_and_its_flags() {
        use Status::{Hibernated, Offline, Online, Provisioning};
        let error = |kind| Error::new(kind, "why");
        let unavailable = || error(ErrorKind::Unavailable);
        let told = |delivery: &str| unavailable().with_metadata(DELIVERY, delivery);
        let unsent = told("none");
        check(&unsent, Online, 502, r#"{"error":"why"}"#);
        for (agent, body) in [
            (
                Offline,
                r#"{"error":"the workspace is down, and is to come up again","restarting":true,"retry_after":15}"#,
            ),
            (
                Provisioning,
                r#"{"error":"the workspace is down, and is to come up again","restarting":true,"retry_after":15}"#,
            ),
            (
                Hibernated,
                r#"{"error":"the workspace sleeps, and is to be woken","waking":true,"retry_after":15}"#,
            ),
        ] {
            check(&unsent, agent, 503, body);
        }
        let busy = unavailable().with_reason(reason::AGENT_BUSY);
        check(&busy, Online, 503, r#"{"error":"why","busy":true,"retry_after":30}"#);
        let money = error(ErrorKind::BudgetExceeded);
        check(&money, Online, 402, r#"{"error":"why"}"#);
        check(&unavailable(), Online, 503, r#"{"error":"why"}"#);
        check(&told("unknown"), Online, 502, r#"{"error":"why","delivery_confirmed":false}"#);
        let broken = told("confirmed").with_metadata(UPSTREAM_STATUS, "200");
        check(&broken, Online, 502, r#"{"error":"why","delivery_confirmed":true}"#);
        let redirected = told("confirmed").with_metadata(UPSTREAM_STATUS, "302");
        check(&redirected, Online, 502, r#"{"error":"why","delivery_confirmed":false}"#);
        let teapot = told("confirmed").with_metadata(UPSTREAM_STATUS, "418");
        check(&teapot, Online, 418, r#"{"error":"why"}"#);
        let later = error(ErrorKind::RateLimited).with_retry_after(Duration::from_millis(1_500));
        check(&later, Online, 429, r#"{"error":"why","retry_after":2}"#);
    }
}
