//! The numbers of tenants and the names of places, remembered for reading.
//!
//! Invariant: numbers are given once and for good, and readers see what is committed alone. So
//! whoever knows one need not ask the database, and reading a task is a matter of one table.

use std::{
    collections::HashMap,
    sync::{Mutex, MutexGuard, PoisonError},
};

use nuncio_tasks::scope::{Name, Place};
use rusqlite::Connection;

use super::{fault::Fault, place, row::parse};

/// How many tenants and places are remembered.
const MOST: usize = 4096;

#[derive(Debug, Default)]
pub(super) struct Names(Mutex<Known>);

#[derive(Debug, Default)]
struct Known {
    tenants: HashMap<Name, i64>,
    places: HashMap<i64, Place>,
}

impl Names {
    /// Finds the number of a tenant, if anything was ever done there.
    pub(super) fn tenant(
        &self,
        connection: &Connection,
        name: &Name,
    ) -> Result<Option<i64>, Fault> {
        if let Some(key) = self.known().tenants.get(name) {
            return Ok(Some(*key));
        }
        let found = place::tenant(connection, name.as_str())?;
        if let Some(key) = found {
            let mut known = self.known();
            if known.tenants.len() >= MOST {
                known.tenants.clear();
            }
            known.tenants.insert(name.clone(), key);
        }
        Ok(found)
    }

    /// Finds the names of a place of a tenant.
    pub(super) fn place(
        &self,
        connection: &Connection,
        key: i64,
        tenant: &Name,
    ) -> Result<Place, Fault> {
        if let Some(place) = self.known().places.get(&key) {
            return Ok(place.clone());
        }
        let mut statement =
            connection.prepare_cached("SELECT agent, caller FROM places WHERE key = ?1")?;
        let mut rows = statement.query((key,))?;
        let missing = || Fault::spoilt(format!("there is no place {key}"));
        let row = rows.next()?.ok_or_else(missing)?;
        let place = Place {
            tenant: tenant.clone(),
            agent: parse(row, 0, Name::parse)?,
            caller: parse(row, 1, Name::parse)?,
        };
        let mut known = self.known();
        if known.places.len() >= MOST {
            known.places.clear();
        }
        known.places.insert(key, place.clone());
        Ok(place)
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
