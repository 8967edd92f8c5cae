//! How a peer is called.

use std::time::Duration;

use http::HeaderMap;
use nuncio_net::Timeouts;
use nuncio_protocol::operation::{Operation, Request};
use tokio::time::Instant;

use crate::{breaker::Trip, error::Error, retry::Retries, transport::Limits};

/// How a peer is called. The defaults suit a peer that nothing is known about.
#[derive(Clone, Debug, Default)]
#[must_use]
pub struct Options {
    /// How long things may take.
    pub clocks: Clocks,
    /// How much may come back.
    pub limits: Limits,
    /// How often calls are made again.
    pub retries: Retries,
    /// When the peer is left alone.
    pub breaker: Trip,
    /// How streams are resumed.
    pub resumes: Resumes,
    /// The name of ours that calls, for peers to whom callers name themselves.
    pub agent: String,
    /// Headers of every request.
    pub headers: HeaderMap,
    /// Whether the peer is told on whose behalf we call, by the headers that its dialect has
    /// for that (H-11, C-20).
    pub forwards_identity: bool,
}

/// How long things may take. Connecting has its own clock in
/// [`nuncio_net::client::Builder::connect_limit`], 5 s by default.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub struct Clocks {
    /// From the connection to the head of the answer.
    pub first_byte: Duration,
    /// The same for a message that waits until the task has ended.
    pub wait: Duration,
    /// Silence within a stream or an answer.
    pub idle: Duration,
    /// A whole call that is no stream.
    pub whole: Duration,
}

impl Default for Clocks {
    /// First byte 30 s, an answer that is waited for 120 s, silence 5 min, all of it 30 min.
    fn default() -> Self {
        Self {
            first_byte: Duration::from_secs(30),
            wait: Duration::from_secs(120),
            idle: Duration::from_secs(300),
            whole: Duration::from_secs(1800),
        }
    }
}

impl Clocks {
    /// Returns the clocks of one attempt of a call.
    pub(crate) fn of(
        &self,
        operation: Operation,
        waits: bool,
        deadline: Option<Instant>,
    ) -> Result<Timeouts, Error> {
        let left = match deadline {
            None => None,
            Some(end) => {
                let left = end.saturating_duration_since(Instant::now());
                if left.is_zero() {
                    return Err(Error::DeadlineExceeded);
                }
                Some(left)
            }
        };
        let first_byte = if waits { self.wait } else { self.first_byte };
        let timeouts = Timeouts::streaming().first_byte(first_byte).idle(self.idle);
        let whole = (!operation.is_streaming()).then_some(self.whole);
        Ok(match (whole, left) {
            (None, None) => timeouts,
            (Some(limit), None) | (None, Some(limit)) => timeouts.whole(limit),
            (Some(whole), Some(left)) => timeouts.whole(whole.min(left)),
        })
    }
}

/// Tells whether the answer to a request comes only when the task has ended.
pub(crate) fn waits(request: &Request) -> bool {
    match request {
        Request::SendMessage(request) => !request.returns_immediately(),
        _ => false,
    }
}

/// How a stream that broke off is resumed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub struct Resumes {
    /// How often in a row without anything new; 0: never.
    pub in_vain: u32,
    /// How long the second pause is; the first resume comes at once, and each pause is about
    /// twice as long as the one before.
    pub pause: Duration,
    /// The longest pause.
    pub longest: Duration,
}

impl Default for Resumes {
    /// 5 in a row without anything new, pauses from 100 ms to 5 s.
    fn default() -> Self {
        Self { in_vain: 5, pause: Duration::from_millis(100), longest: Duration::from_secs(5) }
    }
}
