//! Triggers: what begins runs of workflows without anybody asking. A schedule does so at its
//! moments, a webhook whenever somebody sends what it signs (UD-08).
//!
//! A trigger is a record of the hub's. A moment has a name that follows from the trigger and the
//! moment alone, and the run that it begins has that name as its key: so however many hubs there
//! are on one database, one run begins.

mod fire;
mod hook;

use croner::Cron;
use jiff::{Zoned, tz::TimeZone};
use nuncio_protocol::{
    ids::{AgentId, Organisation},
    json::{Object, Raw},
    time::Timestamp,
};
use serde::{Deserialize, Serialize};

pub(crate) use self::{
    fire::{fire_due, start},
    hook::{Delivery, inputs, is_signed, new_secret},
};
use crate::error::Error;

/// How many triggers an organisation may have.
pub const MAX_TRIGGERS: usize = 1_000;

/// What begins runs of a workflow.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Trigger {
    /// Its name for programs, which nobody can guess.
    pub id: String,
    /// Whose it is.
    pub organisation: Organisation,
    /// Its name for people.
    pub name: String,
    /// The agent that the workflow is.
    pub workflow: AgentId,
    /// What runs are given, an object of inputs by their names.
    pub inputs: Raw,
    /// When it fires by itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub schedule: Option<Schedule>,
    /// What those who fire it sign with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub secret: Option<String>,
    /// Whoever made it, on whose behalf runs act: `user:ann`.
    pub by: String,
    /// Whether it rests.
    #[serde(default)]
    pub is_paused: bool,
    /// When it was made.
    pub created: Timestamp,
    /// Moments up to this one are dealt with.
    pub seen: Timestamp,
    /// What came of it the last time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last: Option<Fired>,
}

/// When a trigger fires.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub struct Schedule {
    /// Minute, hour, day of the month, month and day of the week: `0 9 * * 1-5`. Seconds may
    /// stand before them.
    pub cron: String,
    /// Such as `Europe/Berlin`; `UTC` without.
    #[serde(default = "utc")]
    pub timezone: String,
}

fn utc() -> String {
    "UTC".to_owned()
}

/// What came of a trigger.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct Fired {
    /// When.
    #[schema(value_type = String, format = DateTime)]
    pub at: Timestamp,
    /// The run that has begun.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<String>,
    /// Why none has.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

impl Schedule {
    /// Checks that it can be understood, and that there is ever a moment.
    pub fn check(&self) -> Result<(), Error> {
        let zone = self.zone().map_err(|problem| Error::invalid("schedule.timezone", problem))?;
        let cron = self.read().map_err(|problem| Error::invalid("schedule.cron", problem))?;
        let now = Zoned::now().with_time_zone(zone);
        let next = cron.find_next_occurrence(&now, false);
        next.map(drop)
            .map_err(|error| Error::invalid("schedule.cron", format!("never fires: {error}")))
    }

    /// Returns the first moment behind one.
    pub fn next(&self, after: Timestamp) -> Option<Timestamp> {
        let found = self.read().ok()?.find_next_occurrence(&self.at(after)?, false).ok()?;
        Timestamp::from_millis(found.timestamp().as_millisecond())
    }

    /// Returns the last moment that has come, this one included.
    pub fn last(&self, now: Timestamp) -> Option<Timestamp> {
        let found = self.read().ok()?.find_previous_occurrence(&self.at(now)?, true).ok()?;
        Timestamp::from_millis(found.timestamp().as_millisecond())
    }

    fn read(&self) -> Result<Cron, String> {
        let cron = self.cron.trim().parse::<Cron>();
        cron.map_err(|error| format!("is not understood: {error}; write such as `0 9 * * 1-5`"))
    }

    fn zone(&self) -> Result<TimeZone, String> {
        let name = self.timezone.trim();
        if ["UTC", "Z", "Etc/UTC", ""].contains(&name) {
            return Ok(TimeZone::UTC);
        }
        TimeZone::get(name).map_err(|_| {
            format!("`{name}` is not known here; write such as `Europe/Berlin`, or `UTC`")
        })
    }

    fn at(&self, moment: Timestamp) -> Option<Zoned> {
        let moment = jiff::Timestamp::from_millisecond(moment.as_millis()).ok()?;
        Some(moment.to_zoned(self.zone().ok()?))
    }
}

impl Trigger {
    /// Returns the moment that has come and is not dealt with. Of several the last one: what was
    /// missed while no hub was there is made up for once.
    pub fn due(&self, now: Timestamp) -> Option<Timestamp> {
        let schedule = self.schedule.as_ref().filter(|_| !self.is_paused)?;
        schedule.last(now).filter(|moment| *moment > self.seen)
    }

    /// Returns the inputs that runs are given.
    pub(crate) fn given(&self) -> Object {
        self.inputs.as_object().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn moment(text: &str) -> Timestamp {
        text.parse().expect("a moment")
    }

    fn schedule(cron: &str) -> Schedule {
        Schedule { cron: cron.to_owned(), timezone: utc() }
    }

    #[test]
    fn of_several_moments_that_were_missed_the_last_one_fires() {
        let mut trigger = Trigger {
            id: "t".to_owned(),
            organisation: Organisation::parse("acme").expect("a name"),
            name: "t".to_owned(),
            workflow: AgentId::generate(),
            inputs: Raw::bool(false),
            schedule: Some(schedule("0 9 * * *")),
            secret: None,
            by: "user:ann".to_owned(),
            is_paused: false,
            created: moment("2026-11-10T10:00:00Z"),
            seen: moment("2026-11-10T10:00:00Z"),
            last: None,
        };
        assert_eq!(trigger.due(moment("2026-11-11T08:59:59Z")), None);
        let due = moment("2026-11-11T09:00:00Z");
        assert_eq!(trigger.due(due), Some(due));
        let last = moment("2026-11-14T09:00:00Z");
        assert_eq!(trigger.due(moment("2026-11-14T20:00:00Z")), Some(last));
        trigger.seen = last;
        assert_eq!(trigger.due(moment("2026-11-14T20:00:00Z")), None);
        trigger.is_paused = true;
        assert_eq!(trigger.due(moment("2026-11-20T20:00:00Z")), None);
    }

    #[test]
    fn a_schedule_goes_by_the_clocks_of_its_place() {
        let night = Schedule { timezone: "Europe/Berlin".to_owned(), ..schedule("30 2 * * *") };
        let next = |after: &str| night.next(moment(after)).expect("every night").to_string();
        assert_eq!(next("2026-07-01T00:00:00Z"), "2026-07-01T00:30:00.000Z");
        assert_eq!(next("2026-12-01T00:00:00Z"), "2026-12-01T01:30:00.000Z");
        // There is no half past two in the night when the clocks go forward.
        assert_eq!(next("2026-03-28T12:00:00Z"), "2026-03-29T01:00:00.000Z");
    }

    #[test]
    fn a_schedule_that_cannot_be_says_why() {
        let told = |schedule: Schedule| schedule.check().expect_err("it cannot be").to_string();
        assert!(told(schedule("every day")).contains("schedule.cron"));
        assert!(told(schedule("0 0 30 2 *")).contains("never fires"));
        let nowhere = Schedule { timezone: "Mars/Olympus".to_owned(), ..schedule("* * * * *") };
        assert!(told(nowhere).contains("Mars/Olympus"));
        schedule("0 9 * * 1-5").check().expect("on weekdays");
    }
}
