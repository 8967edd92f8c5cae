//! What the failures of a stream mean.

use nuncio_net::{Clock, Error as NetError};
use nuncio_protocol::{dialect::WireForm, error::ErrorKind};

use crate::error::Error;

/// Tells whether the way to the peer broke, rather than that the peer said something.
pub(super) fn is_break(error: &Error) -> bool {
    match error {
        Error::Net(source) | Error::BrokenOff { source, .. } => {
            !matches!(source, NetError::Timeout { clock: Clock::Whole, .. })
        }
        Error::Cut { .. } => true,
        // So says a server that stops, where streams have no other way to say it.
        Error::Peer(error) => error.kind() == ErrorKind::Unavailable,
        _ => false,
    }
}

/// Tells whether it may fare better another time.
pub(super) fn is_passing(error: &Error) -> bool {
    is_break(error)
        || matches!(error, Error::BreakerOpen { .. })
        || matches!(error, Error::Status { status, .. }
            if status.is_server_error() || *status == http::StatusCode::TOO_MANY_REQUESTS)
        || matches!(error, Error::Peer(error) if error.kind() == ErrorKind::RateLimited)
}

/// Tells whether a task is said to have no stream, which is so if it has ended.
pub(super) fn is_gone(error: &Error) -> bool {
    match error {
        Error::Unsayable { .. } => true,
        Error::Peer(error) => matches!(
            error.kind(),
            ErrorKind::UnsupportedOperation | ErrorKind::MethodNotFound | ErrorKind::TaskNotFound
        ),
        Error::Status { status, .. } => {
            matches!(status.as_u16(), 404 | 405 | 410 | 501)
        }
        _ => false,
    }
}

/// Tells whether a form is so old that who subscribes again need not be told what was missed.
pub(super) const fn is_older(form: WireForm) -> bool {
    matches!(form, WireForm::V03 | WireForm::V03Http | WireForm::V03Grpc | WireForm::V02)
}
