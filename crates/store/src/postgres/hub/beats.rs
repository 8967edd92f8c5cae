//! Heartbeats, and silence, by the clock of the database.

use std::time::Duration;

use nuncio_hub::store::{Beats, StoredBeat};
use nuncio_protocol::{ids::AgentId, time::Timestamp};
use nuncio_tasks::store::Error;
use tokio_postgres::Row;

use super::gone;
use crate::postgres::{
    connection::Connection,
    error::Failure,
    row::{micros, moment, signed, unsigned},
    text::{quote, unquote},
};

/// A moment of the database's clock in microseconds since 1970, without a detour through
/// floating point.
macro_rules! micros_of {
    ($moment:literal) => {
        concat!("(extract(epoch FROM ", $moment, ")::numeric * 1000000)::bigint")
    };
}

/// The row of the tick is locked first, so the stamp is read when it is this one's turn.
const WRITE: &str = concat!(
    "WITH next AS MATERIALIZED (UPDATE hub_tick SET tick = tick + 1 RETURNING tick) \
     INSERT INTO hub_beats (agent, tick, at, body) \
     SELECT $1, next.tick, clock_timestamp(), $2 FROM next ON CONFLICT (agent) \
     DO UPDATE SET tick = excluded.tick, at = excluded.at, body = excluded.body RETURNING ",
    micros_of!("at")
);

/// One statement, so that tick and heartbeats are of the same moment.
const READ: &str = concat!(
    "SELECT t.tick, b.agent, b.body, ",
    micros_of!("b.at"),
    " FROM hub_tick t LEFT JOIN hub_beats b ON b.tick > $1"
);

const SILENT: &str = "SELECT agent FROM hub_beats \
    WHERE at < (SELECT clock_timestamp()) - $1::bigint * interval '1 microsecond'";

const FORGET: &str = "DELETE FROM hub_beats WHERE agent = $1";

pub(super) async fn write(
    connection: &Connection,
    agent: &AgentId,
    body: &str,
) -> Result<Timestamp, Failure> {
    let rows = connection.query(WRITE, &[&quote(agent.as_str()), &quote(body)]).await?;
    let row = rows.first().ok_or_else(gone)?;
    Ok(moment(row.get(0), 0)?)
}

pub(super) async fn read(connection: &Connection, after: u64) -> Result<Beats, Failure> {
    let rows = connection.query(READ, &[&signed(after)]).await?;
    let tick = rows.first().map(|row| unsigned(row.get(0)));
    let tick = tick.ok_or_else(gone)?;
    // Without any there is one row, without an agent.
    let beats = rows.iter().filter_map(|row| row.get::<_, Option<&str>>(1).map(|_| beat(row)));
    Ok(Beats { tick, beats: beats.collect::<Result<_, _>>()? })
}

fn beat(row: &Row) -> Result<StoredBeat, Error> {
    Ok(StoredBeat {
        agent: agent(row.get(1))?,
        body: unquote(row.get(2)).into_owned(),
        at: moment(row.get(3), 0)?,
    })
}

pub(super) async fn silent(
    connection: &Connection,
    longer_than: Duration,
) -> Result<Vec<AgentId>, Failure> {
    let rows = connection.query(SILENT, &[&micros(longer_than)]).await?;
    Ok(rows.iter().map(|row| agent(row.get(0))).collect::<Result<_, _>>()?)
}

pub(super) async fn forget(connection: &Connection, agent: &AgentId) -> Result<(), Failure> {
    connection.execute(FORGET, &[&quote(agent.as_str())]).await?;
    Ok(())
}

fn agent(text: &str) -> Result<AgentId, Error> {
    AgentId::parse(&unquote(text)).map_err(|error| Error::Spoilt(error.to_string()))
}
