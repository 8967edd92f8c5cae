//! Names of tenants, agents and callers, kept once, and how many tasks each place has.

use nuncio_protocol::state::TaskState;
use nuncio_tasks::scope::{Place, Scope};
use rusqlite::{Connection, OptionalExtension};

use super::{fault::Fault, writer::Writing};

/// Under this number the tally of a whole tenant is kept.
pub(super) const WHOLE_TENANT: i64 = 0;

/// The numbers of a place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct PlaceKey {
    pub(super) tenant: i64,
    pub(super) place: i64,
}

/// Finds the numbers of a place, and gives it some if it is new.
pub(super) fn intern(writing: Writing<'_>, place: &Place) -> Result<PlaceKey, Fault> {
    let Writing { connection, ledger, .. } = writing;
    if let Some(key) = ledger.place(place) {
        return Ok(key);
    }
    let tenant = match tenant(connection, place.tenant.as_str())? {
        Some(key) => key,
        None => connection
            .prepare_cached("INSERT INTO tenants (name) VALUES (?1)")?
            .insert((place.tenant.as_str(),))?,
    };
    let names = (tenant, place.caller.as_str(), place.agent.as_str());
    let found =
        connection.prepare_cached(FIND_PLACE)?.query_row(names, |row| row.get(0)).optional()?;
    let number = match found {
        Some(key) => key,
        None => connection
            .prepare_cached("INSERT INTO places (tenant, caller, agent) VALUES (?1, ?2, ?3)")?
            .insert(names)?,
    };
    let key = PlaceKey { tenant, place: number };
    ledger.remember(place, key);
    Ok(key)
}

/// Finds the number of a place, if anything was ever done there.
pub(super) fn find(connection: &Connection, place: &Place) -> Result<Option<i64>, Fault> {
    let Some(tenant) = tenant(connection, place.tenant.as_str())? else { return Ok(None) };
    let names = (tenant, place.caller.as_str(), place.agent.as_str());
    let mut statement = connection.prepare_cached(FIND_PLACE)?;
    Ok(statement.query_row(names, |row| row.get(0)).optional()?)
}

const FIND_PLACE: &str = "SELECT key FROM places WHERE tenant = ?1 AND caller = ?2 AND agent = ?3";

pub(super) fn tenant(connection: &Connection, name: &str) -> Result<Option<i64>, Fault> {
    let found = connection
        .prepare_cached("SELECT key FROM tenants WHERE name = ?1")?
        .query_row((name,), |row| row.get(0))
        .optional()?;
    Ok(found)
}

/// Finds the places of a tenant that a scope sees, if it does not see all.
pub(super) fn within(
    connection: &Connection,
    tenant: i64,
    scope: &Scope,
) -> Result<Option<Vec<i64>>, Fault> {
    let collect = |sql: &str, names: &[&dyn rusqlite::ToSql]| {
        let places = connection
            .prepare_cached(sql)?
            .query_map(names, |row| row.get(0))?
            .collect::<Result<_, _>>()?;
        Ok(Some(places))
    };
    match (&scope.agent, &scope.caller) {
        (None, None) => Ok(None),
        (Some(agent), Some(caller)) => {
            collect(FIND_PLACE, &[&tenant, &caller.as_str(), &agent.as_str()])
        }
        (None, Some(caller)) => collect(
            "SELECT key FROM places WHERE tenant = ?1 AND caller = ?2",
            &[&tenant, &caller.as_str()],
        ),
        (Some(agent), None) => collect(
            "SELECT key FROM places WHERE tenant = ?1 AND agent = ?2",
            &[&tenant, &agent.as_str()],
        ),
    }
}

/// Counts the unfinished tasks of a caller, whichever agent works on them.
pub(super) fn unfinished(writing: Writing<'_>, tenant: i64, caller: &str) -> Result<i64, Fault> {
    // A left join keeps its order: SQLite would rather go through all tallies of the tenant.
    let mut statement = writing.connection.prepare_cached(
        "SELECT p.key, t.state, t.tasks FROM places p \
         LEFT JOIN tallies t ON t.tenant = p.tenant AND t.place = p.key \
         WHERE p.tenant = ?1 AND p.caller = ?2 ORDER BY p.key",
    )?;
    let mut rows = statement.query((tenant, caller))?;
    let mut count = 0;
    let mut last = None;
    while let Some(row) = rows.next()? {
        let place: i64 = row.get(0)?;
        if last.replace(place) != Some(place) {
            count += writing.ledger.unfinished(PlaceKey { tenant, place });
        }
        let state: Option<i32> = row.get(1)?;
        let state = state.and_then(TaskState::from_number);
        if state.is_some_and(|state| !state.is_terminal()) {
            count += row.get::<_, i64>(2)?;
        }
    }
    Ok(count)
}
