//! The log of events.

use nuncio_hub::store::{EventQuery, LoggedEvent, NewEvent};
use nuncio_protocol::ids::{AgentId, Organisation};
use nuncio_tasks::store::order;
use rusqlite::{Connection, Row, types::ValueRef};

use crate::sqlite::{
    fault::Fault,
    row::{integer, moment, nanos_beyond, natural, parse},
};

/// Selects events for [`event`]. The parameters are the same for all: organisation, agent,
/// name, the event before, how many.
macro_rules! select_events {
    ($condition:literal) => {
        concat!(
            "SELECT seq, organisation, name, agent, at, at_nanos, payload FROM hub_events WHERE ",
            $condition,
            " AND seq > ?4 ORDER BY seq LIMIT ?5"
        )
    };
}

// A plus keeps a column out of the choice of an index, so that there is one for each question.
const OF_ORGANISATION: &str = select_events!("organisation = ?1 AND ?2 IS NULL AND ?3 IS NULL");
const BY_NAME: &str = select_events!("organisation = ?1 AND ?2 IS NULL AND name = ?3");
const OF_AGENT: &str =
    select_events!("agent = ?2 AND +organisation = ?1 AND (?3 IS NULL OR +name = ?3)");

pub(super) fn read(connection: &Connection, query: &EventQuery) -> Result<Vec<LoggedEvent>, Fault> {
    let EventQuery { organisation, agent, name, after, limit } = query;
    let sql = match (agent, name) {
        (Some(_), _) => OF_AGENT,
        (None, Some(_)) => BY_NAME,
        (None, None) => OF_ORGANISATION,
    };
    let mut statement = connection.prepare_cached(sql)?;
    let agent = agent.as_ref().map(AgentId::as_str);
    let mut rows =
        statement.query((organisation.as_str(), agent, name.as_ref(), integer(*after), limit))?;
    let mut events = Vec::new();
    while let Some(row) = rows.next()? {
        events.push(event(row)?);
    }
    Ok(events)
}

fn event(row: &Row<'_>) -> Result<LoggedEvent, Fault> {
    let agent = match row.get_ref(3)? {
        ValueRef::Null => None,
        _ => Some(parse(row, 3, AgentId::parse)?),
    };
    let event = NewEvent {
        organisation: parse(row, 1, Organisation::parse)?,
        name: row.get(2)?,
        agent,
        at: moment(row.get(4)?, row.get(5)?)?,
        payload: row.get(6)?,
    };
    Ok(LoggedEvent { seq: natural(row, 0)?, event })
}

/// Returns the number of the last event; 0 if there is none.
pub(super) fn last(connection: &Connection) -> Result<u64, Fault> {
    let mut statement =
        connection.prepare_cached("SELECT coalesce(max(seq), 0) FROM hub_events")?;
    let mut rows = statement.query(())?;
    rows.next()?.map_or(Ok(0), |row| natural(row, 0))
}

/// Appends events, and returns the number of the last one, new or old.
pub(super) fn append(connection: &Connection, events: &[NewEvent]) -> Result<u64, Fault> {
    let mut seq = last(connection)?;
    let mut statement = connection.prepare_cached(
        "INSERT INTO hub_events (seq, organisation, name, agent, at, at_nanos, payload) \
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
    )?;
    for NewEvent { organisation, name, agent, at, payload } in events {
        seq += 1;
        statement.execute((
            integer(seq),
            organisation.as_str(),
            name,
            agent.as_ref().map(AgentId::as_str),
            order(*at),
            nanos_beyond(*at),
            payload,
        ))?;
    }
    Ok(seq)
}
