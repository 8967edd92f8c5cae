//! The log of events.

use nuncio_hub::store::{EventQuery, LoggedEvent, NewEvent};
use nuncio_protocol::ids::{AgentId, InvalidId, Organisation};
use nuncio_tasks::store::Error;
use tokio_postgres::{Row, Statement};

use crate::postgres::{
    connection::Connection,
    error::Failure,
    row::{moment, moment_columns, signed, unsigned},
    text::{quote, unquote},
};

/// Selects events for [`event`]. The parameters are the same for all: organisation, agent,
/// name, the event before, how many.
macro_rules! select_events {
    ($condition:literal) => {
        concat!(
            "SELECT seq, organisation, name, agent, at, at_nanos, payload FROM hub_events WHERE ",
            $condition,
            " AND seq > $4 ORDER BY seq LIMIT $5"
        )
    };
}

// One for each index.
const OF_ORGANISATION: &str =
    select_events!("organisation = $1 AND $2::text IS NULL AND $3::text IS NULL");
const BY_NAME: &str = select_events!("organisation = $1 AND $2::text IS NULL AND name = $3");
const OF_AGENT: &str =
    select_events!("organisation = $1 AND agent = $2 AND ($3::text IS NULL OR name = $3)");

const LAST: &str = "SELECT event FROM hub_version";

const APPEND: &str = "INSERT INTO hub_events \
    (seq, organisation, name, agent, at, at_nanos, payload) \
    SELECT $1 + u.place, u.organisation, u.name, u.agent, u.at, u.at_nanos, u.payload FROM \
    unnest($2::text[], $3::text[], $4::text[], $5::bigint[], $6::smallint[], $7::text[]) \
    WITH ORDINALITY u (organisation, name, agent, at, at_nanos, payload, place)";

pub(super) async fn read(
    connection: &Connection,
    query: &EventQuery,
) -> Result<Vec<LoggedEvent>, Failure> {
    let sql = match (&query.agent, &query.name) {
        (Some(_), _) => OF_AGENT,
        (None, Some(_)) => BY_NAME,
        (None, None) => OF_ORGANISATION,
    };
    let organisation = quote(query.organisation.as_str());
    let agent = query.agent.as_ref().map(|agent| quote(agent.as_str()));
    let name = query.name.as_deref().map(quote);
    let (after, limit) = (signed(query.after), i64::from(query.limit));
    let rows = connection.query(sql, &[&organisation, &agent, &name, &after, &limit]).await?;
    Ok(rows.iter().map(event).collect::<Result<_, _>>()?)
}

fn event(row: &Row) -> Result<LoggedEvent, Error> {
    let spoilt = |error: InvalidId| Error::Spoilt(error.to_string());
    let agent: Option<&str> = row.get(3);
    let agent = agent.map(|agent| AgentId::parse(&unquote(agent))).transpose();
    let event = NewEvent {
        organisation: Organisation::parse(&unquote(row.get(1))).map_err(spoilt)?,
        name: unquote(row.get(2)).into_owned(),
        agent: agent.map_err(spoilt)?,
        at: moment(row.get(4), row.get(5))?,
        payload: unquote(row.get(6)).into_owned(),
    };
    Ok(LoggedEvent { seq: unsigned(row.get(0)), event })
}

pub(super) async fn last(connection: &Connection) -> Result<u64, Failure> {
    let rows = connection.query(LAST, &[]).await?;
    Ok(rows.first().map_or(0, |row| unsigned(row.get(0))))
}

/// What appends events.
pub(super) async fn prepare(connection: &Connection) -> Result<Statement, Failure> {
    let [append] = connection.prepare_all([APPEND]).await?;
    Ok(append)
}

/// Appends events behind the last one.
pub(super) async fn append(
    connection: &Connection,
    statement: &Statement,
    last: u64,
    events: &[NewEvent],
) -> Result<(), Failure> {
    if events.is_empty() {
        return Ok(());
    }
    let organisations: Vec<_> =
        events.iter().map(|event| quote(event.organisation.as_str())).collect();
    let names: Vec<_> = events.iter().map(|event| quote(&event.name)).collect();
    let agents: Vec<_> = events
        .iter()
        .map(|event| event.agent.as_ref().map(|agent| quote(agent.as_str())))
        .collect();
    let (at, nanos): (Vec<i64>, Vec<i16>) =
        events.iter().map(|event| moment_columns(event.at)).unzip();
    let payloads: Vec<_> = events.iter().map(|event| quote(&event.payload)).collect();
    let parameters: [&(dyn tokio_postgres::types::ToSql + Sync); 7] =
        [&signed(last), &organisations, &names, &agents, &at, &nanos, &payloads];
    connection.run(statement, &parameters).await?;
    Ok(())
}
