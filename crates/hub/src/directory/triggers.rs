//! Triggers of the directory.

use nuncio_protocol::{ids::Organisation, time::Timestamp};

use super::{Actor, Change, Directory};
use crate::{
    error::Error,
    store::Kind,
    triggers::{Fired, MAX_TRIGGERS, Trigger},
};

impl Directory {
    /// Keeps a new trigger.
    pub async fn add_trigger(&self, trigger: Trigger, actor: &Actor) -> Result<(), Error> {
        self.change(|state| {
            let mut change = Change::new(actor);
            let ours =
                || state.triggers().filter(|other| other.organisation == trigger.organisation);
            if ours().count() >= MAX_TRIGGERS {
                return Err(Error::TooMany { what: "triggers", limit: MAX_TRIGGERS });
            }
            if ours().any(|other| other.name == trigger.name) {
                let problem = "is the name of another trigger already";
                return Err(Error::invalid("name", problem.to_owned()));
            }
            put(&mut change, &trigger);
            change.note("trigger.add", &trigger.name, &trigger.id);
            Ok((change, ()))
        })
        .await
    }

    /// Has a trigger rest, or go on. What it has missed meanwhile is not made up for.
    pub async fn pause_trigger(
        &self,
        organisation: &Organisation,
        id: &str,
        is_paused: bool,
        actor: &Actor,
    ) -> Result<Trigger, Error> {
        self.change(|state| {
            let mut change = Change::new(actor);
            let found = state.trigger(id).filter(|found| found.organisation == *organisation);
            let mut next = Trigger::clone(found.ok_or(Error::Unknown { what: "trigger" })?);
            if next.is_paused != is_paused {
                next.is_paused = is_paused;
                next.seen = change.now;
                put(&mut change, &next);
                let word = if is_paused { "trigger.pause" } else { "trigger.resume" };
                change.note(word, &next.name, id);
            }
            Ok((change, next))
        })
        .await
    }

    /// Removes a trigger. Runs that have begun go on.
    pub async fn remove_trigger(
        &self,
        organisation: &Organisation,
        id: &str,
        actor: &Actor,
    ) -> Result<(), Error> {
        self.change(|state| {
            let mut change = Change::new(actor);
            let found = state.trigger(id).filter(|found| found.organisation == *organisation);
            let found = found.ok_or(Error::Unknown { what: "trigger" })?;
            change.put(Kind::Trigger, id, None);
            change.note("trigger.remove", &found.name, id);
            Ok((change, ()))
        })
        .await
    }

    /// Notes what came of a trigger, and up to which moment it is dealt with.
    pub(crate) async fn note_fired(
        &self,
        id: &str,
        moment: Option<Timestamp>,
        fired: Fired,
    ) -> Result<(), Error> {
        self.change(|state| {
            let mut change = Change::new(&Actor::hub());
            // It may be gone, and another hub may have been faster.
            let Some(found) = state.trigger(id) else { return Ok((change, ())) };
            if moment.is_some_and(|moment| moment <= found.seen) {
                return Ok((change, ()));
            }
            let seen = moment.unwrap_or(found.seen);
            put(&mut change, &Trigger { seen, last: Some(fired.clone()), ..Trigger::clone(found) });
            Ok((change, ()))
        })
        .await
    }
}

fn put(change: &mut Change, trigger: &Trigger) {
    // Plain data becomes JSON.
    let body = serde_json::to_string(trigger).unwrap_or_default();
    change.put(Kind::Trigger, &trigger.id, Some(body));
}
