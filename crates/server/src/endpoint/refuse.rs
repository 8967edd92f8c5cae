//! How requests are refused that never become a call, each in a form that its sender reads.

use http::{
    HeaderValue, Response, StatusCode,
    header::{ALLOW, WWW_AUTHENTICATE},
    request::Parts,
};
use nuncio_auth::Refusal;
use nuncio_net::listen::body::BodyError;
use nuncio_protocol::{
    dialect::{WireForm, is_endpoint, pocketpaw::PocketPawHttp},
    error::{Error, ErrorKind},
};

use super::answer::{Inner, is_grpc};
use crate::{body::Body, jsonrpc, respond, rest};

impl Inner {
    /// Refuses whoever asks, whatever they ask.
    pub(super) fn refuse_all(&self, head: &Parts, error: &Error) -> Response<Body> {
        if is_grpc(&head.headers) {
            return self.refuse_grpc(error);
        }
        rest::refuse(&PocketPawHttp, &head.headers, error)
    }

    /// Refuses somebody who has not proved who they are, or may not come in.
    pub(super) fn turn_away(&self, head: &Parts, refusal: &Refusal) -> Response<Body> {
        let mut response = self.refuse_at_the_door(head, &refusal.to_error());
        if let Some(challenge) = refusal.challenge() {
            response.headers_mut().insert(WWW_AUTHENTICATE, challenge);
        }
        response
    }

    /// Refuses a request before anybody has looked whose it is or what it asks. On every binding
    /// but gRPC the status of HTTP says so, too.
    pub(super) fn refuse_at_the_door(&self, head: &Parts, error: &Error) -> Response<Body> {
        if is_grpc(&head.headers) {
            return self.refuse_grpc(error);
        }
        let status = StatusCode::from_u16(error.kind().http_status(self.table));
        self.refuse_early(head, error, status.unwrap_or(StatusCode::INTERNAL_SERVER_ERROR))
    }

    pub(super) fn refuse_body(&self, head: &Parts, error: &BodyError) -> Response<Body> {
        let status = match error {
            BodyError::TooLarge { .. } => StatusCode::PAYLOAD_TOO_LARGE,
            BodyError::TooSlow => StatusCode::REQUEST_TIMEOUT,
            _ => StatusCode::BAD_REQUEST,
        };
        let mut response = self.refuse_early(head, &body_error(error), status);
        // What is left of the body is not read.
        response.headers_mut().insert("connection", HeaderValue::from_static("close"));
        response
    }

    /// Refuses a request whose body is not looked at.
    pub(super) fn refuse_early(
        &self,
        head: &Parts,
        error: &Error,
        status: StatusCode,
    ) -> Response<Body> {
        let form = if is_endpoint(head.uri.path()) { WireForm::V1 } else { WireForm::V1Http };
        let mut response = self.refuse(form, head, &[], error);
        *response.status_mut() = status;
        response
    }

    /// Refuses a request in a form its sender reads.
    pub(super) fn refuse(
        &self,
        form: WireForm,
        head: &Parts,
        body: &[u8],
        error: &Error,
    ) -> Response<Body> {
        if let Some(rules) = form.json_rpc(&self.name) {
            return jsonrpc::refuse_unread(&*rules, body, error);
        }
        match self.dialects.http(form, self.table) {
            Some(rules) => rest::refuse(&*rules, &head.headers, error),
            None => self.refuse_grpc(error),
        }
    }

    pub(super) fn refuse_grpc(&self, error: &Error) -> Response<Body> {
        error.to_tonic(self.table).into_http::<tonic::body::Body>().map(Body::grpc)
    }
}

/// Says what is wrong with a body.
pub(super) fn body_error(error: &BodyError) -> Error {
    let kind = match error {
        BodyError::TooLarge { .. } => ErrorKind::TooLarge,
        BodyError::TooSlow => ErrorKind::Timeout,
        _ => ErrorKind::InvalidRequest,
    };
    Error::new(kind, error.to_string())
}

/// Says that calls are posted.
pub(super) fn not_allowed() -> Response<Body> {
    let mut response = respond::status(StatusCode::METHOD_NOT_ALLOWED);
    response.headers_mut().insert(ALLOW, HeaderValue::from_static("POST"));
    response
}
