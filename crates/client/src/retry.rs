//! When a call may be made again, and after how long (C-28).

use std::time::Duration;

use http::StatusCode;
use nuncio_protocol::{error::ErrorKind, operation::Operation};

use crate::error::Error;

/// How often calls are made again.
///
/// A request that surely never reached the peer is always sent again; one that may have is
/// only if doing it twice is doing it once: reading, subscribing, and messages to a peer that
/// is known to honour `Idempotency-Key`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub struct Retries {
    /// How often a request is tried that never leaves, the first time included.
    pub unsent: u32,
    /// How often a request is tried that may be made twice, if the peer says when to come
    /// again.
    pub told: u32,
    /// How often a request is tried that may be made twice, if the exchange breaks off.
    pub broken: u32,
    /// How long the first pause is. Each is about twice as long as the one before.
    pub pause: Duration,
    /// The longest pause, also if the peer asks for a longer one: then nobody waits.
    pub longest: Duration,
    /// Whether the peer is known to treat messages of the same `Idempotency-Key` as one.
    pub keys_are_honoured: bool,
}

impl Default for Retries {
    /// 3 attempts if the peer is not reached or says when to come again, 1 otherwise; pauses
    /// from 100 ms to 30 s.
    fn default() -> Self {
        Self {
            unsent: 3,
            told: 3,
            broken: 1,
            pause: Duration::from_millis(100),
            longest: Duration::from_secs(30),
            keys_are_honoured: false,
        }
    }
}

impl Retries {
    /// Never makes a call twice.
    pub fn none() -> Self {
        Self { unsent: 1, told: 1, broken: 1, ..Self::default() }
    }

    /// Returns how long to wait before the next attempt, or `None`: the error is final.
    /// `attempts` have been made; `random` is any number.
    pub(crate) fn next(
        &self,
        operation: Operation,
        error: &Error,
        attempts: u32,
        random: u32,
    ) -> Option<Duration> {
        let pause = pause(self.pause, attempts, random).min(self.longest);
        if error.is_unsent() {
            let is_passing = matches!(error, Error::Net(error) if error.is_retryable());
            return (is_passing && attempts < self.unsent).then_some(pause);
        }
        if !self.may_repeat(operation) {
            return None;
        }
        if let Some(delay) = error.retry_after().filter(|_| is_refusal(error)) {
            let patience = attempts < self.told && delay <= self.longest;
            return patience.then(|| delay.max(pause));
        }
        let is_broken =
            matches!(error, Error::Net(_) | Error::BrokenOff { .. }) || is_refusal(error);
        (is_broken && attempts < self.broken).then_some(pause)
    }

    /// Tells whether doing it twice is doing it once.
    pub(crate) fn may_repeat(&self, operation: Operation) -> bool {
        match operation {
            Operation::GetTask
            | Operation::ListTasks
            | Operation::SubscribeToTask
            | Operation::GetTaskPushNotificationConfig
            | Operation::ListTaskPushNotificationConfigs
            | Operation::GetExtendedAgentCard => true,
            Operation::SendMessage | Operation::SendStreamingMessage => self.keys_are_honoured,
            Operation::CancelTask
            | Operation::CreateTaskPushNotificationConfig
            | Operation::DeleteTaskPushNotificationConfig => false,
        }
    }
}

/// Tells whether a peer says that it cannot now.
fn is_refusal(error: &Error) -> bool {
    match error {
        Error::Status { status, .. } => matches!(
            *status,
            StatusCode::TOO_MANY_REQUESTS
                | StatusCode::BAD_GATEWAY
                | StatusCode::SERVICE_UNAVAILABLE
                | StatusCode::GATEWAY_TIMEOUT
        ),
        Error::Peer(error) => {
            matches!(error.kind(), ErrorKind::RateLimited | ErrorKind::Unavailable)
        }
        _ => false,
    }
}

/// Returns a pause that doubles with every attempt, and by chance is up to half of it shorter,
/// so that those who failed together do not come back together.
pub(crate) fn pause(first: Duration, attempts: u32, random: u32) -> Duration {
    let whole = first.saturating_mul(1 << attempts.saturating_sub(1).min(16));
    let share = f64::from(random % 1000) / 2000.0;
    whole.saturating_sub(whole.mul_f64(share))
}

/// Returns a number that nobody can foresee.
pub(crate) fn random() -> u32 {
    // Without randomness all pauses are whole, which is no harm.
    getrandom::u32().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use std::{io, sync::Arc};

    use nuncio_net::{Clock, Error as NetError};

    use super::*;

    fn connect() -> Error {
        let source = Arc::new(io::Error::from(io::ErrorKind::ConnectionRefused));
        Error::Net(NetError::Connect { host: "peer".into(), source })
    }

    fn silence() -> Error {
        Error::Net(NetError::Timeout { clock: Clock::FirstByte, limit: Duration::from_secs(30) })
    }

    fn busy(retry_after: Option<u64>) -> Error {
        let retry_after = retry_after.map(Duration::from_secs);
        let status = StatusCode::SERVICE_UNAVAILABLE;
        Error::Status { status, retry_after, snippet: String::new() }
    }

    /// How often an operation is tried that always fails so.
    #[track_caller]
    fn check(retries: Retries, operation: Operation, error: &Error, expected: u32) {
        let tries = (1..10).find(|tries| retries.next(operation, error, *tries, 7).is_none());
        assert_eq!(tries, Some(expected), "{operation:?} {error}");
    }

    #[test]
    fn only_what_never_left_or_does_no_harm_is_sent_again() {
        let usual = Retries::default();
        let send = Operation::SendMessage;
        check(usual, send, &connect(), 3);
        check(usual, send, &silence(), 1);
        check(usual, send, &busy(Some(1)), 1);
        check(usual, Operation::CancelTask, &connect(), 3);
        check(usual, Operation::CancelTask, &silence(), 1);
        check(usual, Operation::GetTask, &busy(Some(1)), 3);
        check(usual, Operation::GetTask, &busy(None), 1);
        check(usual, Operation::GetTask, &busy(Some(3600)), 1);
        check(usual, Operation::GetTask, &silence(), 1);
        let eager = Retries { broken: 4, keys_are_honoured: true, ..usual };
        check(eager, Operation::GetTask, &silence(), 4);
        check(eager, send, &silence(), 4);
        check(eager, send, &busy(Some(1)), 3);
        check(eager, Operation::DeleteTaskPushNotificationConfig, &silence(), 1);
        check(Retries::none(), Operation::GetTask, &connect(), 1);
    }

    #[test]
    fn what_cannot_pass_is_never_tried_again() {
        let refused = Error::Refused(nuncio_net::Refused::Scheme);
        check(Retries::default(), Operation::GetTask, &refused, 1);
        let open = Error::BreakerOpen { until: Duration::ZERO };
        check(Retries::default(), Operation::GetTask, &open, 1);
    }

    #[test]
    fn pauses_double_and_vary() {
        let first = Duration::from_millis(100);
        assert_eq!(pause(first, 1, 0), first);
        assert_eq!(pause(first, 3, 0), first * 4);
        let shortest = pause(first, 3, 999);
        assert!(shortest >= first * 2 && shortest < first * 4, "{shortest:?}");
        assert!(pause(Duration::MAX, 99, 5) > first);
    }
}
