//! Heartbeats, and what follows from them.

use nuncio_protocol::{json::Raw, time::Timestamp};
use serde::{Deserialize, Serialize};

use crate::agent::Status;

/// At this rate of errors an agent is no longer well (MD-06).
pub const DEGRADED_FROM: f64 = 0.5;

/// Below this rate of errors it is well again.
pub const WELL_BELOW: f64 = 0.1;

/// The most that an agent can have spent in a month, in cents (MD-02).
const MOST_SPENT: u64 = 1_000_000_000_000;

/// The longest sample of an error and the longest name of a task, in characters.
const MOST_TEXT: usize = 4096;

/// What an agent says of itself every 30 seconds (MD-02).
///
/// What it leaves out is unknown, not zero. What it adds is ignored.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(default)]
pub struct Beat {
    /// Which part of its calls failed in the last minute: 0 to 1.
    pub error_rate: f64,
    /// One of the errors.
    pub sample_error: String,
    /// How many tasks it works on.
    pub active_tasks: u32,
    /// How long it has been up.
    pub uptime_seconds: u64,
    /// What it works on, in words.
    pub current_task: String,
    /// What it has cost this month, in cents; 0 says nothing.
    #[serde(deserialize_with = "spent")]
    pub monthly_spend: u64,
    /// `wedged` if it knows that it is stuck.
    pub runtime_state: String,
    /// What its runtime can do.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    pub runtime_metadata: Option<Raw>,
}

/// Reads what was spent. Less than nothing is nothing.
fn spent<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<u64, D::Error> {
    let spent = i128::deserialize(deserializer)?;
    Ok(u64::try_from(spent.max(0)).unwrap_or(u64::MAX))
}

/// A beat that makes no sense.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum InvalidBeat {
    /// A rate outside of 0 to 1.
    #[error("`error_rate` is a number from 0 to 1, not {0}")]
    ErrorRate(f64),
    /// A word that is not known.
    #[error("`runtime_state` is empty or `wedged`, not `{}`", .0.escape_debug())]
    RuntimeState(String),
    /// A text that is too long.
    #[error("`{field}` has more than {MOST_TEXT} characters")]
    TooLong {
        /// Where.
        field: &'static str,
    },
}

/// A beat, and when it came.
#[derive(Clone, Debug, PartialEq)]
pub struct LastBeat {
    /// What was said.
    pub beat: Beat,
    /// When, by the clock of the store.
    pub at: Timestamp,
}

impl Beat {
    /// Checks what a stranger sent. Spending is brought into its range (MD-02).
    pub fn check(mut self) -> Result<Self, InvalidBeat> {
        if !(0.0..=1.0).contains(&self.error_rate) {
            return Err(InvalidBeat::ErrorRate(self.error_rate));
        }
        if !matches!(self.runtime_state.as_str(), "" | "wedged") {
            return Err(InvalidBeat::RuntimeState(self.runtime_state));
        }
        for (field, text) in
            [("sample_error", &self.sample_error), ("current_task", &self.current_task)]
        {
            if text.chars().count() > MOST_TEXT {
                return Err(InvalidBeat::TooLong { field });
            }
        }
        self.monthly_spend = self.monthly_spend.min(MOST_SPENT);
        Ok(self)
    }

    /// Returns how an agent is after this beat, if it is otherwise than before (MD-06, MD-07).
    ///
    /// One that rests goes on resting, and one that was removed stays so.
    pub fn changes(&self, before: Status) -> Option<Status> {
        let is_wedged = self.runtime_state == "wedged";
        let is_failing = is_wedged || self.error_rate >= DEGRADED_FROM;
        let is_well = !is_wedged && self.error_rate < WELL_BELOW;
        let after = match before {
            Status::Degraded if is_well => Status::Online,
            Status::Degraded | Status::Removed | Status::Paused | Status::Hibernated => {
                return None;
            }
            _ if is_failing => Status::Degraded,
            _ => Status::Online,
        };
        (after != before).then_some(after)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(before: Status, error_rate: f64, runtime_state: &str, after: Option<Status>) {
        let runtime_state = runtime_state.to_owned();
        let beat = Beat { error_rate, runtime_state, ..Beat::default() };
        assert_eq!(beat.changes(before), after, "{before} at {error_rate}");
    }

    #[test]
    fn md06_an_agent_is_degraded_from_a_half_and_well_below_a_tenth() {
        use Status::{Degraded, Online};
        check(Online, 0.49, "", None);
        check(Online, 0.5, "", Some(Degraded));
        check(Degraded, 0.5, "", None);
        check(Degraded, 0.1, "", None);
        check(Degraded, 0.09, "", Some(Online));
        check(Online, 0.0, "wedged", Some(Degraded));
        check(Degraded, 0.0, "wedged", None);
    }

    #[test]
    fn md07_a_beat_brings_back_what_was_lost_and_not_what_rests() {
        use Status::{
            Degraded, Failed, Hibernated, Offline, Online, Paused, Provisioning, Removed,
        };
        for lost in [Offline, Provisioning, Failed] {
            check(lost, 0.0, "", Some(Online));
            check(lost, 0.9, "", Some(Degraded));
        }
        for resting in [Removed, Paused, Hibernated] {
            check(resting, 0.0, "", None);
            check(resting, 0.9, "wedged", None);
        }
    }

    #[test]
    fn md02_spending_is_brought_into_its_range() {
        for (said, taken) in [("-1", 0), ("12", 12), ("18446744073709551616", MOST_SPENT)] {
            let beat: Beat =
                serde_json::from_str(&format!(r#"{{"monthly_spend":{said}}}"#)).unwrap();
            assert_eq!(beat.check().unwrap().monthly_spend, taken, "{said}");
        }
    }

    #[test]
    fn beats_that_make_no_sense_are_refused() {
        for error_rate in [-0.1, 1.1, f64::NAN, f64::INFINITY] {
            assert!(Beat { error_rate, ..Beat::default() }.check().is_err(), "{error_rate}");
        }
        let beat = Beat { runtime_state: "happy".to_owned(), ..Beat::default() };
        assert_eq!(beat.check(), Err(InvalidBeat::RuntimeState("happy".to_owned())));
        let beat = Beat { current_task: "x".repeat(5000), ..Beat::default() };
        assert_eq!(beat.check(), Err(InvalidBeat::TooLong { field: "current_task" }));
    }
}
