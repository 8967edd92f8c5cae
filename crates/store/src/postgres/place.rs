//! The numbers of places.

use std::{
    collections::{HashMap, HashSet},
    sync::{Mutex, PoisonError},
};

use nuncio_tasks::scope::Place;

use super::{connection::Connection, error::Failure, text::quote};

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

/// The numbers of a place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct PlaceKey {
    pub(super) tenant: i64,
    pub(super) place: i64,
}

/// Remembers the numbers of places, which never change.
#[derive(Default)]
pub(super) struct Places(Mutex<HashMap<Place, PlaceKey>>);

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
            let known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            for place in wanted {
                match known.get(place) {
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
            add(connection, &unknown).await?;
            added = find(connection, &unknown).await?;
        }
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if known.len() + added.len() > MOST {
            known.clear();
        }
        known.extend(added.iter().map(|(place, key)| (place.clone(), *key)));
        found.extend(added);
        Ok(found)
    }
}

async fn find(
    connection: &Connection,
    places: &[Place],
) -> Result<Vec<(Place, PlaceKey)>, Failure> {
    let [tenants, callers, agents] = names(places);
    let rows = connection.query(FIND, &[&tenants, &callers, &agents]).await?;
    let found = rows.iter().filter_map(|row| {
        let ordinal: i64 = row.get(0);
        let place = places.get(usize::try_from(ordinal - 1).ok()?)?;
        Some((place.clone(), PlaceKey { tenant: row.get(1), place: row.get(2) }))
    });
    Ok(found.collect())
}

async fn add(connection: &Connection, places: &[Place]) -> Result<(), Failure> {
    let [tenants, callers, agents] = names(places);
    connection.execute(ADD_TENANTS, &[&tenants]).await?;
    connection.execute(ADD, &[&tenants, &callers, &agents]).await?;
    Ok(())
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
