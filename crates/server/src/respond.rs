//! Answers that are not streams.

use std::time::Duration;

use bytes::Bytes;
use http::{
    HeaderValue, Response, StatusCode,
    header::{CONTENT_TYPE, RETRY_AFTER},
};
use nuncio_protocol::error::{Error, ErrorKind};

use crate::body::Body;

pub(crate) const JSON: HeaderValue = HeaderValue::from_static("application/json");
pub(crate) const A2A_JSON: HeaderValue = HeaderValue::from_static("application/a2a+json");

/// Answers with a document.
pub(crate) fn document(
    status: StatusCode,
    media_type: HeaderValue,
    text: impl Into<Bytes>,
) -> Response<Body> {
    let mut response = Response::new(Body::whole(text));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, media_type);
    response
}

/// Answers with nothing but a status.
pub(crate) fn status(status: StatusCode) -> Response<Body> {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = status;
    response
}

/// Says when it may be tried again, if that is known.
pub(crate) fn retry_after(response: &mut Response<Body>, error: &Error) {
    if let Some(delay) = error.retry_after() {
        let seconds = delay.as_secs() + u64::from(delay.subsec_nanos() > 0);
        response.headers_mut().insert(RETRY_AFTER, HeaderValue::from(seconds));
    }
}

/// Returns the status of an answer that carries a JSON-RPC error: 200, unless it is not about
/// the call but about the caller or the server.
pub(crate) fn json_rpc_status(error: &Error) -> StatusCode {
    match error.kind() {
        ErrorKind::Unauthenticated => StatusCode::UNAUTHORIZED,
        ErrorKind::PermissionDenied => StatusCode::FORBIDDEN,
        ErrorKind::TooLarge => StatusCode::PAYLOAD_TOO_LARGE,
        ErrorKind::RateLimited => StatusCode::TOO_MANY_REQUESTS,
        ErrorKind::BudgetExceeded => StatusCode::PAYMENT_REQUIRED,
        ErrorKind::Unavailable => StatusCode::SERVICE_UNAVAILABLE,
        _ => StatusCode::OK,
    }
}

/// Says that the server has no room for a call.
pub(crate) fn busy() -> Error {
    Error::new(ErrorKind::Unavailable, "the server is busy; try again")
        .with_retry_after(Duration::from_secs(1))
}
