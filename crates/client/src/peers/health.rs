//! How a peer has been lately.

use std::time::Duration;

use tokio::time::Instant;

/// So many failures in a row, and the peer is left out for a while.
const FAILURES: u32 = 5;
/// How long.
const REST: Duration = Duration::from_secs(10);
/// The weight of the newest measurement.
const WEIGHT: f64 = 0.2;

/// How a call went.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The peer answered, be it with an error that is the caller's fault.
    Answered,
    /// The peer could not be reached, broke off, or failed.
    Failed,
}

#[derive(Debug, Default)]
pub(super) struct Health {
    /// The average time of an answer in seconds, the newest counting most.
    average: Option<f64>,
    failures: u32,
    failed: Option<Instant>,
}

impl Health {
    /// Learns how a call went. The hint is what the first measurement is weighed against.
    pub(super) fn observe(
        &mut self,
        outcome: Outcome,
        duration: Duration,
        hint: Duration,
        now: Instant,
    ) {
        match outcome {
            Outcome::Answered => {
                let measured = duration.as_secs_f64();
                let prior = Some(hint.as_secs_f64()).filter(|hint| *hint > 0.0);
                let before = self.average.or(prior).unwrap_or(measured);
                self.average = Some(before + WEIGHT * (measured - before));
                (self.failures, self.failed) = (0, None);
            }
            // How long a failure took says nothing about answers.
            Outcome::Failed => {
                self.failures = self.failures.saturating_add(1);
                self.failed = Some(now);
            }
        }
    }

    /// Returns the average time of an answer.
    pub(super) fn measured(&self) -> Option<Duration> {
        self.average.and_then(|average| Duration::try_from_secs_f64(average).ok())
    }

    /// Returns how often the peer failed in a row, if it is to be left alone for now.
    pub(super) fn down(&self, now: Instant) -> Option<u32> {
        let is_resting = self.failed.is_some_and(|at| now.duration_since(at) < REST);
        (self.failures >= FAILURES && is_resting).then_some(self.failures)
    }
}
