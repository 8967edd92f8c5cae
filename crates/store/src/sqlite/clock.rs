//! The two clocks: one that only goes on, for leases, and one that people set, for what must
//! outlast the process.

use std::time::Duration;

use nuncio_protocol::time::Timestamp;
use nuncio_tasks::store::order;
use tokio::time::Instant;

/// Tells the time of one run of the process.
#[derive(Clone, Copy, Debug)]
pub(super) struct Clock {
    run: i64,
    opened: Instant,
}

/// The time of one call.
#[derive(Clone, Copy, Debug)]
pub(super) struct Moment {
    /// The run, counted over the life of the database.
    pub(super) run: i64,
    /// Microseconds since the run began. Nobody can set this clock.
    pub(super) elapsed: i64,
    /// Microseconds since 1970 by the clock of the machine.
    pub(super) wall: i64,
}

impl Clock {
    pub(super) fn start(run: i64) -> Self {
        Self { run, opened: Instant::now() }
    }

    pub(super) fn now(&self) -> Moment {
        Moment {
            run: self.run,
            elapsed: micros(self.opened.elapsed()),
            wall: order(Timestamp::now()),
        }
    }
}

impl Moment {
    /// When a lease ends that begins now.
    pub(super) fn lease_end(&self, lasts: Duration) -> i64 {
        self.elapsed.saturating_add(micros(lasts))
    }

    /// Tells whether a lease of the given run and end is not over.
    pub(super) fn is_within(&self, run: i64, until: i64) -> bool {
        run == self.run && until > self.elapsed
    }

    /// The time so long after now, by the clock of the machine.
    pub(super) fn after(&self, delay: Duration) -> i64 {
        self.wall.saturating_add(micros(delay))
    }

    /// The time so long before now, by the clock of the machine.
    pub(super) fn before(&self, age: Duration) -> i64 {
        self.wall.saturating_sub(micros(age))
    }
}

/// Returns a length in microseconds; one that no number holds is the longest.
pub(super) fn micros(length: Duration) -> i64 {
    i64::try_from(length.as_micros()).unwrap_or(i64::MAX)
}
