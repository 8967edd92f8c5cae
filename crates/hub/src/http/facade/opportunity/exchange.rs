//! One request and its answer: who asked for what, how it went, and the line about it.

use axum::{
    Json,
    extract::FromRequestParts as _,
    response::{IntoResponse, Response},
};
use http::{
    HeaderMap, StatusCode,
    header::{RETRY_AFTER, WWW_AUTHENTICATE},
    request::Parts,
};
use nuncio_protocol::{
    dialect::{WireForm, opportunity::PROTOCOL_VERSION},
    error::{Error as A2aError, ErrorKind},
    ids::MessageId,
    json::Raw,
    wire::Echo,
};
use serde::Serialize;
use tokio::time::Instant;

use crate::{
    error::Error,
    http::{facade::claim, problem::Problem, who::Who},
    hub::Hub,
    metrics::{A2aRequest, Direction, Status},
};

/// In which an agent says who it is.
pub(super) const SOURCE_AGENT: &str = "a2a-source-agent";

const VERSION: &str = "a2a-protocol-version";

/// Whom the line names that was asked: the hub itself.
pub(super) const REGISTRY: &str = "registry";

/// One request, as the line about it tells.
pub(super) struct Exchange {
    begun: Instant,
    source_agent: String,
    pub(super) capability: String,
    pub(super) request_id: String,
}

/// Why a request was not answered.
#[derive(Debug)]
pub(super) struct Refused {
    pub(super) code: &'static str,
    pub(super) problem: Problem,
}

/// An error as O-10 has it.
#[derive(Serialize)]
struct Body<'a> {
    protocol_version: &'a str,
    request_id: &'a str,
    agent_id: &'a str,
    capability: &'a str,
    status: &'a str,
    error: String,
}

impl Exchange {
    pub(super) fn begin(headers: &HeaderMap) -> Self {
        let request_id = headers.get("x-request-id").and_then(|value| value.to_str().ok());
        let request_id = request_id.filter(|id| (1..=256).contains(&id.len()));
        Self {
            begun: Instant::now(),
            source_agent: String::new(),
            capability: String::new(),
            request_id: request_id.map_or_else(|| MessageId::generate().to_string(), str::to_owned),
        }
    }

    /// Finds out who asks, and checks what every request says of itself (O-14).
    pub(super) async fn admit(&mut self, head: &mut Parts, hub: &Hub) -> Result<Who, Refused> {
        let who = self.recognise(head, hub).await?;
        check(&head.headers, &who)?;
        Ok(who)
    }

    /// Finds out who asks. What the head says is for [`check`], once the body has been read: who
    /// is answered before may still be sending, and the connection is lost.
    pub(super) async fn recognise(&mut self, head: &mut Parts, hub: &Hub) -> Result<Who, Refused> {
        let who = Who::from_request_parts(head, hub).await?;
        who.identity.name().unwrap_or("anonymous").clone_into(&mut self.source_agent);
        Ok(who)
    }

    /// Learns what a request says of itself.
    pub(super) fn name(&mut self, echo: &Echo) {
        self.capability.clone_from(&echo.capability);
        if let Some(id) =
            echo.id.as_ref().and_then(|id| Raw::parse_text(id.as_str()).ok()?.as_text())
        {
            self.request_id = id;
        }
    }

    /// Answers, and tells log and metrics how it went.
    pub(super) fn end(self, hub: &Hub, outcome: Result<Response, Refused>) -> Response {
        self.tell(
            hub,
            match &outcome {
                Ok(_) => Status::Success,
                Err(refused) => refused.status(),
            },
        );
        match outcome {
            Ok(response) => response,
            Err(refused) => {
                hub.metrics.a2a_error(refused.kind());
                refused.into_response(&self)
            }
        }
    }

    /// Tells log and metrics of a request that nobody was asked about.
    pub(super) fn tell_error(&self, hub: &Hub, error: &A2aError) {
        self.tell(
            hub,
            match error.kind() {
                ErrorKind::Unauthenticated | ErrorKind::PermissionDenied => Status::Denied,
                ErrorKind::Timeout => Status::Timeout,
                _ => Status::Error,
            },
        );
        hub.metrics.a2a_error(error.kind());
    }

    fn tell(&self, hub: &Hub, status: Status) {
        let duration = self.begun.elapsed();
        hub.metrics.a2a_request(&A2aRequest {
            direction: Direction::Received,
            operation: None,
            form: Some(WireForm::Opportunity),
            status,
            duration,
        });
        tracing::info!(
            target: "nuncio::a2a",
            event = "a2a_request",
            source_agent = self.source_agent,
            target_agent = REGISTRY,
            capability = self.capability,
            request_id = self.request_id,
            duration_ms = u64::try_from(duration.as_millis()).unwrap_or(u64::MAX),
            status = status.as_str(),
        );
    }
}

/// Checks what the head of a request says (O-06).
pub(super) fn check(headers: &HeaderMap, who: &Who) -> Result<(), Refused> {
    claim::check(headers, SOURCE_AGENT, who)?;
    match other_version(headers) {
        Some(_) => Err(Refused::version()),
        None => Ok(()),
    }
}

/// Returns the version that a head names, if it is not ours.
pub(super) fn other_version(headers: &HeaderMap) -> Option<&str> {
    let version = headers.get(VERSION).filter(|version| *version != PROTOCOL_VERSION)?;
    Some(version.to_str().unwrap_or("?"))
}

impl Refused {
    pub(super) fn version() -> Self {
        let detail = format!("`protocol_version` {PROTOCOL_VERSION} is spoken here");
        let problem = Problem::new(StatusCode::BAD_REQUEST, "VERSION_NOT_SUPPORTED", detail);
        Self { code: "INVALID_PROTOCOL_VERSION", problem }
    }

    fn status(&self) -> Status {
        match self.problem.status {
            StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => Status::Denied,
            StatusCode::REQUEST_TIMEOUT => Status::Timeout,
            _ => Status::Error,
        }
    }

    fn kind(&self) -> ErrorKind {
        match self.problem.status {
            _ if self.code == "INVALID_PROTOCOL_VERSION" => ErrorKind::VersionNotSupported,
            StatusCode::UNAUTHORIZED => ErrorKind::Unauthenticated,
            StatusCode::FORBIDDEN => ErrorKind::PermissionDenied,
            StatusCode::REQUEST_TIMEOUT => ErrorKind::Timeout,
            StatusCode::PAYLOAD_TOO_LARGE => ErrorKind::TooLarge,
            StatusCode::TOO_MANY_REQUESTS => ErrorKind::RateLimited,
            StatusCode::PAYMENT_REQUIRED => ErrorKind::BudgetExceeded,
            StatusCode::SERVICE_UNAVAILABLE => ErrorKind::Unavailable,
            status if status.is_server_error() => ErrorKind::Internal,
            _ => ErrorKind::InvalidRequest,
        }
    }

    fn into_response(self, exchange: &Exchange) -> Response {
        let Self { code, problem } = self;
        let place = problem.field.filter(|field| !problem.detail.contains(field.as_str()));
        let error = match place {
            Some(field) if !field.is_empty() => format!("{code}: `{field}`: {}", problem.detail),
            _ => format!("{code}: {}", problem.detail),
        };
        let body = Body {
            protocol_version: PROTOCOL_VERSION,
            request_id: &exchange.request_id,
            agent_id: REGISTRY,
            capability: &exchange.capability,
            status: "error",
            error,
        };
        let mut response = (problem.status, Json(body)).into_response();
        let headers = response.headers_mut();
        if let Some(seconds) = problem.retry_after {
            headers.insert(RETRY_AFTER, seconds.into());
        }
        if let Some(challenge) = problem.challenge {
            headers.insert(WWW_AUTHENTICATE, *challenge);
        }
        response
    }
}

impl From<Problem> for Refused {
    fn from(problem: Problem) -> Self {
        // Who may not is told so as in the rest of the dialect (catalogue §7.7).
        let code = match problem.status {
            StatusCode::REQUEST_TIMEOUT => "TIMEOUT",
            StatusCode::SERVICE_UNAVAILABLE => "AGENT_UNAVAILABLE",
            StatusCode::TOO_MANY_REQUESTS => "INTERNAL_ERROR",
            status if status.is_server_error() => "INTERNAL_ERROR",
            _ => "INVALID_REQUEST",
        };
        Self { code, problem }
    }
}

impl From<Error> for Refused {
    fn from(error: Error) -> Self {
        Problem::from(error).into()
    }
}
