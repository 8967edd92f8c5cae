//! Leaves a peer alone that fails.
//!
//! [`Circuit`] is the state machine, without a clock of its own; [`Breaker`] is one that calls
//! share. Only failures of the peer count: an answer is a success, even if it is an error.

use std::{
    sync::{Mutex, PoisonError},
    time::Duration,
};

use tokio::time::Instant;

/// When a peer is left alone, and for how long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub struct Trip {
    /// So many failures in a row.
    pub in_a_row: u32,
    /// So many failures among the last [`Trip::WINDOW`] calls.
    pub in_window: u32,
    /// For so long; then one call tries whether it is well again.
    pub pause: Duration,
}

impl Trip {
    /// How many calls are remembered.
    pub const WINDOW: u32 = 32;
}

impl Default for Trip {
    /// 5 in a row or 16 of the last 32, for 10 s.
    fn default() -> Self {
        Self { in_a_row: 5, in_window: 16, pause: Duration::from_secs(10) }
    }
}

/// Counts the failures of one peer.
#[derive(Debug)]
pub(crate) struct Circuit {
    trip: Trip,
    state: State,
    /// The last calls, the newest in the lowest bit; failures are ones.
    recent: u32,
    in_a_row: u32,
    /// Raised with every change of state: what began in another state says nothing about
    /// this one.
    epoch: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Closed,
    /// Nobody is let through before then.
    Open(Instant),
    /// One call is on its way.
    Probing,
}

/// The leave to make a call, to be given back with what came of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub(crate) struct Leave(u64);

/// What came of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// The peer answered, whatever it said.
    Answered,
    /// The peer failed.
    Failed,
    /// Nobody waited for the answer, or it never was the peer's turn.
    Unknown,
}

impl Circuit {
    pub(crate) fn new(trip: Trip) -> Self {
        Self { trip, state: State::Closed, recent: 0, in_a_row: 0, epoch: 0 }
    }

    /// Lets a call through, or says for how long nobody is.
    pub(crate) fn ask(&mut self, now: Instant) -> Result<Leave, Duration> {
        match self.state {
            State::Closed => Ok(Leave(self.epoch)),
            State::Open(until) if now >= until => {
                self.change(State::Probing);
                Ok(Leave(self.epoch))
            }
            State::Open(until) => Err(until - now),
            // The probe will tell; whoever comes meanwhile may ask again soon.
            State::Probing => Err(Duration::ZERO),
        }
    }

    /// Returns for how long nobody is let through, without asking for leave. Nothing is known
    /// of the end while a call probes.
    pub(crate) fn rest(&self, now: Instant) -> Option<Duration> {
        match self.state {
            State::Open(until) if now < until => Some(until - now),
            State::Probing => Some(Duration::ZERO),
            State::Closed | State::Open(_) => None,
        }
    }

    /// Hears what came of a call.
    pub(crate) fn tell(&mut self, Leave(epoch): Leave, outcome: Outcome, now: Instant) {
        if epoch != self.epoch {
            return;
        }
        match (self.state, outcome) {
            (State::Closed, Outcome::Answered) => {
                self.recent <<= 1;
                self.in_a_row = 0;
            }
            (State::Closed, Outcome::Failed) => {
                self.recent = self.recent << 1 | 1;
                self.in_a_row += 1;
                let too_many = self.recent.count_ones() >= self.trip.in_window;
                if self.in_a_row >= self.trip.in_a_row || too_many {
                    self.open(now);
                }
            }
            (State::Probing, Outcome::Answered) => self.change(State::Closed),
            (State::Probing, Outcome::Failed) => self.open(now),
            // The next one probes.
            (State::Probing, Outcome::Unknown) => self.change(State::Open(now)),
            (State::Closed, Outcome::Unknown) | (State::Open(_), _) => {}
        }
    }

    fn open(&mut self, now: Instant) {
        let until = now.checked_add(self.trip.pause).unwrap_or(now);
        self.change(State::Open(until));
    }

    fn change(&mut self, state: State) {
        self.state = state;
        self.epoch += 1;
        self.recent = 0;
        self.in_a_row = 0;
    }
}

/// A [`Circuit`] that calls share.
#[derive(Debug)]
pub(crate) struct Breaker(Mutex<Circuit>);

/// A call that was let through. Dropped without a word, it says nothing about the peer.
#[derive(Debug)]
#[must_use]
pub(crate) struct Passage<'a> {
    breaker: &'a Breaker,
    leave: Leave,
    outcome: Outcome,
}

impl Breaker {
    pub(crate) fn new(trip: Trip) -> Self {
        Self(Mutex::new(Circuit::new(trip)))
    }

    /// Lets a call through, or says for how long nobody is.
    pub(crate) fn ask(&self) -> Result<Passage<'_>, Duration> {
        let leave = self.lock().ask(Instant::now())?;
        Ok(Passage { breaker: self, leave, outcome: Outcome::Unknown })
    }

    /// Returns for how long nobody is let through.
    pub(crate) fn rest(&self) -> Option<Duration> {
        self.lock().rest(Instant::now())
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Circuit> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Passage<'_> {
    /// Says what came of the call.
    pub(crate) fn tell(mut self, outcome: Outcome) {
        self.outcome = outcome;
    }
}

impl Drop for Passage<'_> {
    fn drop(&mut self) {
        // A call that nobody waited for changes something only if it was the probe.
        self.breaker.lock().tell(self.leave, self.outcome, Instant::now());
    }
}

#[cfg(test)]
mod tests;
