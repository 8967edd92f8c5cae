//! When an event is tried again.

use std::time::Duration;

const SECOND: u64 = 1;
const MINUTE: u64 = 60;
const HOUR: u64 = 3600;

/// When an event that was not taken is tried again.
///
/// A new event is tried at once; each pause stands before one more attempt. There is no jitter:
/// a receiver gets the events of a webhook one by one, however many are waiting.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Schedule {
    pauses: Vec<Duration>,
}

impl Schedule {
    /// Makes one more attempt after each pause.
    pub fn new(pauses: impl IntoIterator<Item = Duration>) -> Self {
        Self { pauses: pauses.into_iter().collect() }
    }

    /// Returns the pause after so many failed attempts; `None` if that was the last.
    pub fn pause(&self, failed: u32) -> Option<Duration> {
        let index = usize::try_from(failed).ok()?.checked_sub(1)?;
        self.pauses.get(index).copied()
    }
}

impl Default for Schedule {
    /// Ten attempts within 23 hours: at once, and after 5 s, 30 s, 2 min, 10 min, 30 min, 1 h,
    /// 3 h, 6 h and 12 h more.
    fn default() -> Self {
        let pauses = [
            5 * SECOND,
            30 * SECOND,
            2 * MINUTE,
            10 * MINUTE,
            30 * MINUTE,
            HOUR,
            3 * HOUR,
            6 * HOUR,
            12 * HOUR,
        ];
        Self::new(pauses.map(Duration::from_secs))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ten_attempts_are_made_by_default() {
        let schedule = Schedule::default();
        let seconds: Vec<u64> =
            (1..).map_while(|failed| Some(schedule.pause(failed)?.as_secs())).collect();
        assert_eq!(seconds, [5, 30, 120, 600, 1800, 3600, 10800, 21600, 43200]);
    }

    #[test]
    fn a_schedule_without_pauses_has_one_attempt() {
        assert_eq!(Schedule::new([]).pause(1), None);
        assert_eq!(Schedule::default().pause(u32::MAX), None);
    }
}
