//! Why there is no answer.

use std::time::Duration;

use http::StatusCode;

/// Why a request brought nothing.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The request cannot be sent as it is written.
    #[error("the request is not valid: {what}")]
    Invalid {
        /// What is wrong with it.
        what: String,
    },
    /// Nothing, or not everything, came back.
    #[error("{}", in_words(.0))]
    Net(#[from] nuncio_net::Error),
    /// The server says no.
    #[error("{host} answered {status}{}", excerpt(.body))]
    Status {
        /// Who.
        host: String,
        /// The status: a redirect, or one from 400 on.
        status: StatusCode,
        /// The beginning of what it said.
        body: String,
        /// When it may say yes.
        retry_after: Option<Duration>,
    },
    /// The body is not what its type says.
    #[error("{host} answered with a body that is not {media_type}: {what}")]
    Unreadable {
        /// Who.
        host: String,
        /// What it claims to be.
        media_type: String,
        /// What is wrong with it.
        what: String,
    },
}

impl Error {
    /// Tells whether the same request may fare better later.
    pub fn may_pass(&self) -> bool {
        match self {
            Self::Net(nuncio_net::Error::Refused(_) | nuncio_net::Error::TooLarge { .. })
            | Self::Invalid { .. }
            | Self::Unreadable { .. } => false,
            Self::Net(_) => true,
            Self::Status { status, .. } => {
                status.is_server_error()
                    || matches!(
                        *status,
                        StatusCode::TOO_MANY_REQUESTS | StatusCode::REQUEST_TIMEOUT
                    )
            }
        }
    }

    /// Returns how long the server wants to be left alone, if it has said so.
    pub const fn retry_after(&self) -> Option<Duration> {
        match self {
            Self::Status { retry_after, .. } => *retry_after,
            _ => None,
        }
    }
}

/// Says what happened with its cause: an agent's caller sees no chain of errors.
pub(crate) fn in_words(error: &nuncio_net::Error) -> String {
    format!("{error} ({})", error.code().fix())
}

fn excerpt(body: &str) -> String {
    match body.trim() {
        "" => String::new(),
        text => format!(": {text}"),
    }
}
