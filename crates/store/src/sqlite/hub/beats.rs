//! Heartbeats, and silence.

use std::time::Duration;

use nuncio_hub::store::{Beats, StoredBeat};
use nuncio_protocol::{ids::AgentId, time::Timestamp};
use rusqlite::Connection;

use crate::sqlite::{
    clock::{Moment, micros},
    fault::Fault,
    row::{integer, moment, natural, parse},
    writer::Writing,
};

pub(super) fn write(writing: Writing<'_>, agent: &AgentId, body: &str) -> Result<Timestamp, Fault> {
    let Writing { connection, now, .. } = writing;
    let tick: i64 = connection
        .prepare_cached("UPDATE hub_state SET tick = tick + 1 RETURNING tick")?
        .query_row((), |row| row.get(0))?;
    connection
        .prepare_cached(
            "INSERT INTO hub_beats (agent, tick, at, run, elapsed, body) \
             VALUES (?1, ?2, ?3, ?4, ?5, ?6) ON CONFLICT (agent) DO UPDATE SET \
             tick = excluded.tick, at = excluded.at, run = excluded.run, \
             elapsed = excluded.elapsed, body = excluded.body",
        )?
        .execute((agent.as_str(), tick, now.wall, now.run, now.elapsed, body))?;
    moment(now.wall, 0)
}

pub(super) fn tick(connection: &Connection) -> Result<u64, Fault> {
    let mut statement = connection.prepare_cached("SELECT tick FROM hub_state")?;
    let mut rows = statement.query(())?;
    rows.next()?.map_or_else(|| Err(Fault::spoilt("the tick is gone")), |row| natural(row, 0))
}

/// Reads the heartbeats behind a tick, and the newest tick, in one state of the database.
pub(super) fn read(connection: &Connection, after: u64) -> Result<Beats, Fault> {
    let tick = tick(connection)?;
    let mut statement =
        connection.prepare_cached("SELECT agent, body, at FROM hub_beats WHERE tick > ?1")?;
    let mut rows = statement.query((integer(after),))?;
    let mut beats = Vec::new();
    while let Some(row) = rows.next()? {
        beats.push(StoredBeat {
            agent: parse(row, 0, AgentId::parse)?,
            body: row.get(1)?,
            at: moment(row.get(2)?, 0)?,
        });
    }
    Ok(Beats { tick, beats })
}

/// Reads who has been silent for longer. Only what an earlier process took goes by the clock of
/// the machine: setting that clock must not silence everybody.
pub(super) fn silent(
    connection: &Connection,
    now: &Moment,
    longer_than: Duration,
) -> Result<Vec<AgentId>, Fault> {
    let mut statement = connection.prepare_cached(
        "SELECT agent FROM hub_beats WHERE run = ?1 AND elapsed < ?2 \
         UNION ALL SELECT agent FROM hub_beats WHERE run < ?1 AND at < ?3",
    )?;
    let since = now.elapsed.saturating_sub(micros(longer_than));
    let mut rows = statement.query((now.run, since, now.before(longer_than)))?;
    let mut agents = Vec::new();
    while let Some(row) = rows.next()? {
        agents.push(parse(row, 0, AgentId::parse)?);
    }
    Ok(agents)
}

pub(super) fn forget(writing: Writing<'_>, agent: &AgentId) -> Result<(), Fault> {
    writing
        .connection
        .prepare_cached("DELETE FROM hub_beats WHERE agent = ?1")?
        .execute((agent.as_str(),))?;
    Ok(())
}
