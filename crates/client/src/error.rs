//! Why a call failed.

use std::time::Duration;

use http::StatusCode;
use nuncio_net::{
    Clock, Error as NetError, Refused,
    sse::{Part, TooLong},
};
use nuncio_protocol::{
    error::{Error as ProtocolError, ErrorKind, reason},
    operation::Operation,
};

use crate::{
    credentials::Unavailable,
    discover,
    negotiate::NoInterface,
    peers::{self, AmbiguousTask},
};

/// Why a call failed.
///
/// What the peer itself says is [`Error::Peer`]; everything else is about the way to it. Cheap
/// enough to clone, and names of a URL no more than its origin.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The guard does not let anything go there (H-15, H-21).
    #[error(transparent)]
    Refused(#[from] Refused),
    /// Nothing, or not everything, came back.
    #[error(transparent)]
    Net(NetError),
    /// The head of an answer came, and the rest of it did not: the peer has got the request.
    #[error("the answer broke off behind its head, which said {status}")]
    BrokenOff {
        /// What it began with.
        status: StatusCode,
        /// What happened then.
        source: NetError,
    },
    /// The peer answered with an error of A2A: its code, message and data (H-18).
    #[error("the peer answered: {0}")]
    Peer(ProtocolError),
    /// The peer refused without a word of A2A.
    #[error("the peer answered {status}{}", quote(.snippet))]
    Status {
        /// What it answered with.
        status: StatusCode,
        /// When it wants to be asked again.
        retry_after: Option<Duration>,
        /// How the body begins, at most 256 bytes.
        snippet: String,
    },
    /// The answer is not one of A2A.
    #[error("{status} with `{content_type}` is no answer of A2A: {cause}{}", quote(.snippet))]
    NotA2a {
        /// The status it came with.
        status: StatusCode,
        /// What it says to be; empty if it does not say.
        content_type: String,
        /// What is wrong with it.
        cause: String,
        /// How the body begins, at most 256 bytes.
        snippet: String,
    },
    /// The peer answered to another request than ours (HG-11).
    #[error("the answer is to request {answered}, not to {sent}")]
    WrongId {
        /// The id of our request.
        sent: u64,
        /// The id in the answer.
        answered: String,
    },
    /// The peer wants us to ask elsewhere. Nobody does: credentials belong to one origin.
    #[error("the peer answered {status} and names `{origin}`; redirects are not followed")]
    Redirected {
        /// The status.
        status: StatusCode,
        /// The origin of where it leads; empty if it says none.
        origin: String,
    },
    /// The answer is larger than allowed. It is not cut: it is not read.
    #[error("the answer has more than {limit} bytes")]
    TooLarge {
        /// The most bytes that were wanted.
        limit: usize,
    },
    /// A frame of a stream is no event (H-19).
    #[error("frame {frame} of the stream is no event: {cause}")]
    StreamMalformed {
        /// Which one, counted from 1.
        frame: u64,
        /// What is wrong with it.
        cause: String,
    },
    /// A line of a stream is longer than allowed (H-20).
    #[error("frame {frame} of the stream has a line of more than {limit} bytes")]
    LineTooLong {
        /// The most bytes of a line.
        limit: u64,
        /// The frame it belongs to, counted from 1.
        frame: u64,
    },
    /// A frame, or the whole stream, is longer than allowed.
    #[error("the stream is too long: {0}")]
    StreamTooLong(TooLong),
    /// The stream ended before the task did, and however often it was resumed.
    #[error("the stream broke off and {resumes} resumes brought nothing new")]
    Interrupted {
        /// How often it was resumed in vain.
        resumes: u32,
        /// What happened last.
        #[source]
        last: Box<Self>,
    },
    /// The stream ended before the task did.
    #[error("the stream ended before frame {frame} was complete")]
    Cut {
        /// The frame that is missing or not complete, counted from 1.
        frame: u64,
    },
    /// There is no card to call by.
    #[error(transparent)]
    Discover(#[from] discover::Error),
    /// The peer has no interface that we speak (H-10).
    #[error(transparent)]
    NoInterface(#[from] NoInterface),
    /// The peer is not one that may be called (H-15, H-16, H-21, H-23).
    #[error(transparent)]
    Peers(#[from] peers::Error),
    /// The task belongs to nobody in particular.
    #[error(transparent)]
    AmbiguousTask(#[from] AmbiguousTask),
    /// The peer's wire form cannot say what is asked.
    #[error("{} cannot be said in {form}: {cause}", .operation.name())]
    Unsayable {
        /// What is asked.
        operation: Operation,
        /// The form.
        form: &'static str,
        /// Why not.
        cause: ProtocolError,
    },
    /// There is no credential for the peer.
    #[error(transparent)]
    Unproven(#[from] Unavailable),
    /// The peer failed too often and is left alone for a while.
    #[error("the peer failed too often; it is asked again in {until:?}")]
    BreakerOpen {
        /// How long from now.
        until: Duration,
    },
    /// The caller's deadline has passed.
    #[error("the caller waits no longer")]
    DeadlineExceeded,
}

/// The longest piece of a foreign body that an error shows (HD-04).
const SNIPPET: usize = 256;

impl Error {
    /// Tells whether the request surely never reached the peer.
    pub fn is_unsent(&self) -> bool {
        match self {
            Self::Refused(_)
            | Self::Discover(_)
            | Self::NoInterface(_)
            | Self::Peers(_)
            | Self::AmbiguousTask(_)
            | Self::Unsayable { .. }
            | Self::Unproven(_)
            | Self::BreakerOpen { .. } => true,
            Self::Net(error) => error.is_unsent(),
            _ => false,
        }
    }

    /// Tells whether the peer, or the way to it, is at fault, and not what was asked: that is
    /// what breakers count.
    pub fn is_failure_of_peer(&self) -> bool {
        match self {
            Self::Net(NetError::Busy { .. } | NetError::Refused(_)) => false,
            Self::Net(_) | Self::BrokenOff { .. } | Self::Cut { .. } | Self::Interrupted { .. } => {
                true
            }
            Self::Status { status, .. } | Self::NotA2a { status, .. } => status.is_server_error(),
            Self::Peer(error) => {
                matches!(error.kind(), ErrorKind::Unavailable | ErrorKind::Timeout)
            }
            _ => false,
        }
    }

    /// Tells whether the peer did not accept our credential.
    pub fn is_unauthenticated(&self) -> bool {
        match self {
            Self::Status { status, .. } => *status == StatusCode::UNAUTHORIZED,
            Self::Peer(error) => error.kind() == ErrorKind::Unauthenticated,
            _ => false,
        }
    }

    /// Returns how long the peer wants us to wait before we ask again, if it has said so.
    pub fn retry_after(&self) -> Option<Duration> {
        match self {
            Self::Status { retry_after, .. } => *retry_after,
            Self::Peer(error) => error.retry_after(),
            _ => None,
        }
    }

    /// Returns the error of A2A that the peer answered with.
    pub const fn peer(&self) -> Option<&ProtocolError> {
        match self {
            Self::Peer(error) => Some(error),
            _ => None,
        }
    }
}

/// Returns how a body begins, as text for people: no more than a few bytes, and nothing that a
/// terminal would act on.
pub(crate) fn snippet(body: &[u8]) -> String {
    let mut text = String::new();
    for letter in String::from_utf8_lossy(&body[..body.len().min(SNIPPET)]).chars() {
        let letter = if letter.is_control() { ' ' } else { letter };
        if text.len() + letter.len_utf8() > SNIPPET {
            break;
        }
        text.push(letter);
    }
    text
}

fn quote(snippet: &str) -> String {
    if snippet.is_empty() { String::new() } else { format!(": `{snippet}`") }
}

impl From<NetError> for Error {
    fn from(error: NetError) -> Self {
        match error {
            NetError::Refused(refused) => Self::Refused(refused),
            NetError::TooLarge { limit } => Self::TooLarge { limit },
            error => Self::Net(error),
        }
    }
}

impl From<TooLong> for Error {
    fn from(error: TooLong) -> Self {
        match error.what {
            Part::Line => Self::LineTooLong { limit: error.limit, frame: error.frame },
            _ => Self::StreamTooLong(error),
        }
    }
}

impl From<Error> for ProtocolError {
    /// Says to our own caller what is wrong with somebody whom we called for them.
    fn from(error: Error) -> Self {
        let text = error.to_string();
        match error {
            Error::Peer(error) | Error::Unsayable { cause: error, .. } => error,
            Error::Interrupted { last, .. } => {
                Self::new(Self::from(*last).kind(), text).with_reason(reason::AGENT_UNAVAILABLE)
            }
            Error::Status { status, retry_after, .. } => {
                let kind = match status {
                    // Our credential, not the caller's: the caller can do nothing about it.
                    StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => ErrorKind::Unavailable,
                    status => ErrorKind::from_http_status(status.as_u16()),
                };
                let error = Self::new(kind, text);
                match retry_after {
                    Some(delay) => error.with_retry_after(delay),
                    None => error,
                }
            }
            Error::BreakerOpen { until } => Self::new(ErrorKind::Unavailable, text)
                .with_reason(reason::AGENT_UNAVAILABLE)
                .with_retry_after(until),
            Error::Peers(_) => Self::new(ErrorKind::PermissionDenied, text),
            Error::AmbiguousTask(_) => Self::new(ErrorKind::InvalidParams, text),
            Error::DeadlineExceeded
            | Error::Net(NetError::Timeout {
                clock: Clock::FirstByte | Clock::Idle | Clock::Whole,
                ..
            })
            | Error::BrokenOff { source: NetError::Timeout { .. }, .. } => {
                Self::new(ErrorKind::Timeout, text)
            }
            // Where the agent is and how it is reached is nothing that a caller could mend.
            Error::Net(_)
            | Error::BrokenOff { .. }
            | Error::Unproven(_)
            | Error::Cut { .. }
            | Error::Refused(_)
            | Error::Discover(_)
            | Error::NoInterface(_) => {
                Self::new(ErrorKind::Unavailable, text).with_reason(reason::AGENT_UNAVAILABLE)
            }
            Error::NotA2a { .. }
            | Error::WrongId { .. }
            | Error::Redirected { .. }
            | Error::TooLarge { .. }
            | Error::StreamMalformed { .. }
            | Error::LineTooLong { .. }
            | Error::StreamTooLong(_) => Self::new(ErrorKind::InvalidAgentResponse, text),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_snippet_is_short_and_harmless() {
        let long = "é\u{1b}[2J".repeat(200);
        let shown = snippet(long.as_bytes());
        assert!(shown.len() <= SNIPPET && !shown.contains('\u{1b}'), "{shown}");
        assert_eq!(snippet(b"plain"), "plain");
    }

    #[test]
    fn only_the_peer_is_to_blame_for_its_failures() {
        let status = |code| Error::Status {
            status: StatusCode::from_u16(code).unwrap(),
            retry_after: None,
            snippet: String::new(),
        };
        let cases = [(404, false), (429, false), (401, false), (500, true), (503, true)];
        for (code, expected) in cases {
            assert_eq!(status(code).is_failure_of_peer(), expected, "{code}");
        }
        let peer = |kind| Error::Peer(ProtocolError::new(kind, "no"));
        assert!(!peer(ErrorKind::TaskNotFound).is_failure_of_peer());
        assert!(!peer(ErrorKind::Internal).is_failure_of_peer());
        assert!(peer(ErrorKind::Unavailable).is_failure_of_peer());
    }
}
