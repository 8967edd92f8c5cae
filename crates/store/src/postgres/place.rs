//! The numbers of places.
//!
//! Invariant: numbers are given once and for good, so whoever knows one need not ask the database.
//! Statements that run often are about numbers alone, and names are put to them here.

use std::{
    collections::{HashMap, HashSet},
    sync::{Mutex, MutexGuard, PoisonError},
};

use nuncio_tasks::{
    scope::{Name, Place},
    store::Error,
};
use tokio_postgres::{Row, types::ToSql};

use super::{
    connection::Connection,
    error::Failure,
    row,
    text::{quote, unquote},
};

/// How many numbers are remembered.
const MOST: usize = 10_000;

const FIND: &str = "SELECT u.ordinal, n.key, p.key \
    FROM unnest($1::text[], $2::text[], $3::text[]) WITH ORDINALITY \
        u (tenant, caller, agent, ordinal) \
    JOIN tenants n ON n.name = u.tenant \
    JOIN places p ON p.tenant = n.key AND p.caller = u.caller AND p.agent = u.agent";

const ADD_TENANTS: &str = "INSERT INTO tenants (name) \
    SELECT DISTINCT name FROM unnest($1::text[]) name ORDER BY name ON CONFLICT DO NOTHING";

const ADD: &str = "INSERT INTO places (tenant, caller, agent) \
    SELECT DISTINCT n.key, u.caller, u.agent \
    FROM unnest($1::text[], $2::text[], $3::text[]) u (tenant, caller, agent) \
    JOIN tenants n ON n.name = u.tenant ORDER BY 1, 2, 3 ON CONFLICT DO NOTHING";

const FIND_TENANT: &str = "SELECT key FROM tenants WHERE name = $1";

const NAMES: &str = "SELECT p.key, n.name, p.agent, p.caller \
    FROM unnest($1::bigint[]) wanted (place) \
    CROSS JOIN LATERAL (SELECT * FROM places p WHERE p.key = wanted.place OFFSET 0) p \
    CROSS JOIN LATERAL (SELECT * FROM tenants n WHERE n.key = p.tenant OFFSET 0) n";

/// The numbers of a place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct PlaceKey {
    pub(super) tenant: i64,
    pub(super) place: i64,
}

/// Remembers the numbers of places.
#[derive(Default)]
pub(super) struct Places(Mutex<Known>);

#[derive(Default)]
struct Known {
    tenants: HashMap<Name, i64>,
    places: HashMap<Place, PlaceKey>,
    names: HashMap<i64, Place>,
    /// Of tenants and places, or whole tenants, those whose tasks were all in one state.
    uniform: HashSet<(i64, i64)>,
}

impl Known {
    fn remember(&mut self, place: &Place, key: PlaceKey) {
        if self.places.len() >= MOST {
            self.places.clear();
        }
        self.places.insert(place.clone(), key);
        self.remember_tenant(&place.tenant, key.tenant);
        self.remember_names(place, key.place);
    }

    fn remember_tenant(&mut self, name: &Name, key: i64) {
        if self.tenants.len() >= MOST {
            self.tenants.clear();
        }
        self.tenants.insert(name.clone(), key);
    }

    fn remember_names(&mut self, place: &Place, key: i64) {
        if self.names.len() >= MOST {
            self.names.clear();
        }
        self.names.insert(key, place.clone());
    }
}

impl Places {
    /// Returns the numbers of places, and gives numbers to new ones.
    ///
    /// Not within a transaction: a place without tasks does no harm.
    pub(super) async fn resolve<'p>(
        &self,
        connection: &Connection,
        wanted: impl Iterator<Item = &'p Place>,
    ) -> Result<HashMap<Place, PlaceKey>, Failure> {
        let mut found = HashMap::new();
        let mut unknown = HashSet::new();
        {
            let known = self.known();
            for place in wanted {
                match known.places.get(place) {
                    Some(key) => drop(found.insert(place.clone(), *key)),
                    None => drop(unknown.insert(place.clone())),
                }
            }
        }
        if unknown.is_empty() {
            return Ok(found);
        }
        let unknown: Vec<Place> = unknown.into_iter().collect();
        let mut added = find(connection, &unknown).await?;
        if added.len() < unknown.len() {
            added = add(connection, &unknown).await?;
        }
        let mut known = self.known();
        for (place, key) in &added {
            known.remember(place, *key);
        }
        found.extend(added);
        Ok(found)
    }

    /// Finds the numbers of a place, if anything was ever done there.
    pub(super) async fn find(
        &self,
        connection: &Connection,
        place: &Place,
    ) -> Result<Option<PlaceKey>, Failure> {
        if let Some(key) = self.known().places.get(place) {
            return Ok(Some(*key));
        }
        let found = find(connection, std::slice::from_ref(place)).await?;
        let key = found.first().map(|(_, key)| *key);
        if let Some(key) = key {
            self.known().remember(place, key);
        }
        Ok(key)
    }

    /// Finds the number of a tenant, if anything was ever done there.
    pub(super) async fn tenant(
        &self,
        connection: &Connection,
        name: &Name,
    ) -> Result<Option<i64>, Failure> {
        if let Some(key) = self.known().tenants.get(name) {
            return Ok(Some(*key));
        }
        let rows = connection.query(FIND_TENANT, &[&quote(name.as_str())]).await?;
        let key = rows.first().map(|row| row.get(0));
        if let Some(key) = key {
            self.known().remember_tenant(name, key);
        }
        Ok(key)
    }

    /// Finds the names of places.
    pub(super) async fn names(
        &self,
        connection: &Connection,
        keys: impl Iterator<Item = i64>,
    ) -> Result<Names, Failure> {
        let mut names = Names::default();
        let mut unknown = Vec::new();
        {
            let known = self.known();
            for key in keys {
                if names.0.iter().any(|(found, _)| *found == key) || unknown.contains(&key) {
                    continue;
                }
                match known.names.get(&key) {
                    Some(place) => names.0.push((key, place.clone())),
                    None => unknown.push(key),
                }
            }
        }
        if unknown.is_empty() {
            return Ok(names);
        }
        for row in connection.query(NAMES, &[&unknown]).await? {
            let name = |column: usize| row::name(&unquote(row.get(column)));
            let place = Place { tenant: name(1)?, agent: name(2)?, caller: name(3)? };
            let key = row.get(0);
            self.known().remember_names(&place, key);
            names.0.push((key, place));
        }
        Ok(names)
    }

    /// Tells whether all tasks of a tenant, or of a place of it, were in one state when somebody
    /// last looked. That may have changed since.
    pub(super) fn is_uniform(&self, source: (i64, i64)) -> bool {
        self.known().uniform.contains(&source)
    }

    pub(super) fn set_uniform(&self, source: (i64, i64), is_uniform: bool) {
        let mut known = self.known();
        if !is_uniform {
            known.uniform.remove(&source);
            return;
        }
        if known.uniform.len() >= MOST {
            known.uniform.clear();
        }
        known.uniform.insert(source);
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The names of a few places.
#[derive(Default)]
pub(super) struct Names(Vec<(i64, Place)>);

impl Names {
    pub(super) fn of(&self, key: i64) -> Result<&Place, Error> {
        let found = self.0.iter().find(|(found, _)| *found == key);
        found
            .map(|(_, place)| place)
            .ok_or_else(|| Error::Spoilt(format!("there is no place {key}")))
    }
}

/// Prepares what gives numbers to places.
pub(super) async fn prepare(connection: &Connection) -> Result<(), Failure> {
    let prepare = |sql| connection.prepare(sql);
    tokio::try_join!(prepare(FIND), prepare(ADD_TENANTS), prepare(ADD))?;
    Ok(())
}

async fn find(
    connection: &Connection,
    places: &[Place],
) -> Result<Vec<(Place, PlaceKey)>, Failure> {
    let [tenants, callers, agents] = names(places);
    let rows = connection.query(FIND, &[&tenants, &callers, &agents]).await?;
    Ok(found(&rows, places))
}

fn found(rows: &[Row], places: &[Place]) -> Vec<(Place, PlaceKey)> {
    let found = rows.iter().filter_map(|row| {
        let ordinal: i64 = row.get(0);
        let place = places.get(usize::try_from(ordinal - 1).ok()?)?;
        Some((place.clone(), PlaceKey { tenant: row.get(1), place: row.get(2) }))
    });
    found.collect()
}

/// Adds places that are not there, and finds all of them, in one round trip.
async fn add(connection: &Connection, places: &[Place]) -> Result<Vec<(Place, PlaceKey)>, Failure> {
    let prepare = |sql| connection.prepare(sql);
    let (add_tenants, add, find) =
        tokio::try_join!(prepare(ADD_TENANTS), prepare(ADD), prepare(FIND))?;
    let [tenants, callers, agents] = names(places);
    let parameters: [&(dyn ToSql + Sync); 3] = [&tenants, &callers, &agents];
    let client = connection.client();
    // Polled in order, and sent when first polled.
    let (_, _, rows) = tokio::try_join!(
        biased;
        client.execute(&add_tenants, &parameters[..1]),
        client.execute(&add, &parameters),
        client.query(&find, &parameters),
    )?;
    Ok(found(&rows, places))
}

fn names(places: &[Place]) -> [Vec<String>; 3] {
    let texts = |name: fn(&Place) -> &str| {
        places.iter().map(|place| quote(name(place)).into_owned()).collect()
    };
    [
        texts(|place| place.tenant.as_str()),
        texts(|place| place.caller.as_str()),
        texts(|place| place.agent.as_str()),
    ]
}
