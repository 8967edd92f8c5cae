//! The time of day, as a value that tests can hold.

use std::{fmt, sync::Arc};

use nuncio_protocol::time::Timestamp;

/// Tells the time that is written into statuses.
///
/// Nothing is ordered or decided by it: that is the log's and the database's part.
#[derive(Clone)]
pub struct Clock(Arc<dyn Fn() -> Timestamp + Send + Sync>);

impl Clock {
    /// Uses a clock of one's own.
    pub fn new(now: impl Fn() -> Timestamp + Send + Sync + 'static) -> Self {
        Self(Arc::new(now))
    }

    /// Returns the present moment, to the millisecond.
    pub fn now(&self) -> Timestamp {
        let now = (self.0)();
        Timestamp::from_millis(now.as_millis()).unwrap_or(now)
    }
}

impl Default for Clock {
    fn default() -> Self {
        Self::new(Timestamp::now)
    }
}

impl fmt::Debug for Clock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Clock")
    }
}
