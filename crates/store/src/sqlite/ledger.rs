//! What the thread that writes keeps in mind.
//!
//! Invariant: all of it is true of the transaction that goes on. What is counted is written
//! before the commit, and whoever undoes something [forgets](Ledger::forget) everything.

use std::{
    cell::RefCell,
    collections::{BTreeMap, HashMap},
};

use nuncio_protocol::state::TaskState;
use nuncio_tasks::scope::Place;
use rusqlite::Connection;

use super::place::{PlaceKey, WHOLE_TENANT};

/// How many places are remembered.
const MOST_PLACES: usize = 4096;

/// The numbers of places, and tallies that are not written yet: operations that share a
/// transaction change the same few rows.
#[derive(Debug, Default)]
pub(super) struct Ledger {
    places: RefCell<HashMap<Place, PlaceKey>>,
    /// By tenant, place and state.
    tallies: RefCell<BTreeMap<(i64, i64, i32), i64>>,
}

impl Ledger {
    /// Returns the numbers of a place, if they are known.
    pub(super) fn place(&self, place: &Place) -> Option<PlaceKey> {
        self.places.borrow().get(place).copied()
    }

    pub(super) fn remember(&self, place: &Place, key: PlaceKey) {
        let mut places = self.places.borrow_mut();
        if places.len() >= MOST_PLACES {
            places.clear();
        }
        places.insert(place.clone(), key);
    }

    /// Counts a task in or out.
    pub(super) fn tally(&self, key: PlaceKey, state: TaskState, change: i64) {
        let mut tallies = self.tallies.borrow_mut();
        for place in [key.place, WHOLE_TENANT] {
            *tallies.entry((key.tenant, place, state.number())).or_default() += change;
        }
    }

    /// Returns how many unfinished tasks of a place are counted and not written.
    pub(super) fn unfinished(&self, key: PlaceKey) -> i64 {
        let of_place = (key.tenant, key.place, i32::MIN)..=(key.tenant, key.place, i32::MAX);
        let tallies = self.tallies.borrow();
        let unfinished = tallies.range(of_place).filter(|((_, _, state), _)| {
            TaskState::from_number(*state).is_some_and(|state| !state.is_terminal())
        });
        unfinished.map(|(_, change)| change).sum()
    }

    /// Writes what was counted.
    pub(super) fn write(&self, connection: &Connection) -> rusqlite::Result<()> {
        let tallies = std::mem::take(&mut *self.tallies.borrow_mut());
        if tallies.is_empty() {
            return Ok(());
        }
        let mut statement = connection.prepare_cached(
            "INSERT INTO tallies (tenant, place, state, tasks) VALUES (?1, ?2, ?3, ?4) \
             ON CONFLICT DO UPDATE SET tasks = tasks + excluded.tasks",
        )?;
        for ((tenant, place, state), change) in tallies {
            if change != 0 {
                statement.execute((tenant, place, state, change))?;
            }
        }
        Ok(())
    }

    /// Forgets everything, because something was undone.
    pub(super) fn forget(&self) {
        self.places.borrow_mut().clear();
        self.tallies.borrow_mut().clear();
    }
}
