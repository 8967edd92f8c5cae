//! A clock for work that takes turns.

use std::time::{Duration, Instant};

/// How long one turn lasts, about.
const TURN: Duration = Duration::from_micros(500);

/// How many turns each contender gets.
const TURNS: usize = 301;

/// Nanoseconds for one repetition, turn by turn.
#[derive(Clone, Debug)]
pub struct Series(Vec<f64>);

/// The middle of a series and where most of it lies.
#[derive(Clone, Copy, Debug)]
pub struct Spread {
    /// A tenth of the series is below.
    pub low: f64,
    /// Half of the series is below.
    pub median: f64,
    /// A tenth of the series is above.
    pub high: f64,
}

/// Lets all the work take turns and returns the times of each.
///
/// The order changes from round to round, so that nobody always runs after the same one.
pub fn interleave(work: &[&dyn Fn(u32)]) -> Vec<Series> {
    let repetitions: Vec<u32> = work.iter().map(|work| calibrate(*work)).collect();
    let mut series = vec![Series(Vec::with_capacity(TURNS)); work.len()];
    for round in 0..TURNS {
        for turn in 0..work.len() {
            let who = (round + turn) % work.len();
            let elapsed = time(|| work[who](repetitions[who]));
            series[who].0.push(nanoseconds(elapsed) / f64::from(repetitions[who]));
        }
    }
    series
}

impl Series {
    /// Returns the middle and where most of it lies.
    pub fn spread(&self) -> Spread {
        let mut sorted = self.0.clone();
        sorted.sort_by(f64::total_cmp);
        let at = |tenths: usize| sorted[(sorted.len() - 1) * tenths / 10];
        Spread { low: at(1), median: at(5), high: at(9) }
    }

    /// Divides turn by turn: what ran at the same time had the same neighbours.
    #[must_use]
    pub fn relative_to(&self, other: &Self) -> Self {
        Self(self.0.iter().zip(&other.0).map(|(mine, theirs)| mine / theirs).collect())
    }
}

/// Finds how many repetitions fill a turn; warms the caches on the way.
fn calibrate(work: &dyn Fn(u32)) -> u32 {
    let mut repetitions = 1;
    while time(|| work(repetitions)) < TURN {
        repetitions *= 2;
    }
    repetitions
}

fn time(work: impl FnOnce()) -> Duration {
    let start = now();
    work();
    now() - start
}

#[expect(clippy::disallowed_methods, reason = "the true clock is what a benchmark is about")]
fn now() -> Instant {
    Instant::now()
}

fn nanoseconds(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1e9
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_spread_is_ordered_and_ratios_are_taken_turn_by_turn() {
        let slow = Series((1..=11).map(|turn| f64::from(turn) * 4.0).collect());
        let fast = Series((1..=11).map(|turn| f64::from(turn) * 2.0).collect());
        let spread = slow.spread();
        assert_eq!((spread.low, spread.median, spread.high), (8.0, 24.0, 40.0));
        let ratio = slow.relative_to(&fast).spread();
        assert_eq!((ratio.low, ratio.median, ratio.high), (2.0, 2.0, 2.0));
    }
}
