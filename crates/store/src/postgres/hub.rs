//! What a hub knows, for several processes that share it.
//!
//! Invariant: a commit locks the row of the version before that of the audit trail, and nobody
//! locks them the other way round.
//!
//! A commit whose outcome is not known is answered with
//! [`Unavailable`](nuncio_tasks::store::Error::Unavailable): the hub reads on from the version
//! it has seen, and finds what became of it.

mod beats;
mod budgets;
mod events;
mod records;
mod trail;

use std::{sync::Arc, time::Duration};

use futures_util::FutureExt as _;
use nuncio_hub::store::{
    Allowance, Answer, AuditLine, Beats, Changes, Commit, Committed, EventQuery, HubStore,
    LoggedEvent, Version,
};
use nuncio_protocol::{ids::AgentId, time::Timestamp};
use nuncio_tasks::store::Error;

use super::{
    PostgresStore,
    connection::{CALL, Connection},
    error::Failure,
};

impl HubStore for PostgresStore {
    fn changes(&self, after: Version) -> Answer<'_, Changes> {
        Box::pin(self.pool.read(move |connection| {
            async move { records::changes(connection, after).await }.boxed()
        }))
    }

    fn commit(&self, commit: Commit) -> Answer<'_, Committed> {
        let commit = Arc::new(commit);
        Box::pin(self.pool.write(CALL, move |connection| {
            let commit = Arc::clone(&commit);
            async move { connection.or_roll_back(write(connection, &commit).await).await }.boxed()
        }))
    }

    fn events(&self, query: EventQuery) -> Answer<'_, Vec<LoggedEvent>> {
        let query = Arc::new(query);
        Box::pin(self.pool.read(move |connection| {
            let query = Arc::clone(&query);
            async move { events::read(connection, &query).await }.boxed()
        }))
    }

    fn last_event(&self) -> Answer<'_, u64> {
        Box::pin(self.pool.read(move |connection| events::last(connection).boxed()))
    }

    fn beat(&self, agent: AgentId, body: String) -> Answer<'_, Timestamp> {
        let beat = Arc::new((agent, body));
        Box::pin(self.pool.write(CALL, move |connection| {
            let beat = Arc::clone(&beat);
            async move { beats::write(connection, &beat.0, &beat.1).await }.boxed()
        }))
    }

    fn beats(&self, after: u64) -> Answer<'_, Beats> {
        Box::pin(
            self.pool.read(move |connection| {
                async move { beats::read(connection, after).await }.boxed()
            }),
        )
    }

    fn silent(&self, longer_than: Duration) -> Answer<'_, Vec<AgentId>> {
        Box::pin(self.pool.read(move |connection| {
            async move { beats::silent(connection, longer_than).await }.boxed()
        }))
    }

    fn forget_beats(&self, agent: AgentId) -> Answer<'_, ()> {
        let agent = Arc::new(agent);
        Box::pin(self.pool.write(CALL, move |connection| {
            let agent = Arc::clone(&agent);
            async move { beats::forget(connection, &agent).await }.boxed()
        }))
    }

    fn spend(&self, day: u32, allowances: Vec<Allowance>) -> Answer<'_, Option<usize>> {
        let allowances = Arc::new(allowances);
        Box::pin(self.pool.write(CALL, move |connection| {
            let allowances = Arc::clone(&allowances);
            let spending = async move {
                connection.command("BEGIN").await?;
                let used_up = budgets::spend(connection, day, &allowances).await?;
                connection.command("COMMIT").await?;
                Ok(used_up)
            };
            async move { connection.or_roll_back(spending.await).await }.boxed()
        }))
    }

    fn audit(&self, lines: Vec<String>) -> Answer<'_, ()> {
        let lines = Arc::new(lines);
        Box::pin(self.pool.write(CALL, move |connection| {
            let lines = Arc::clone(&lines);
            async move { connection.or_roll_back(append(connection, &lines).await).await }.boxed()
        }))
    }

    fn audit_trail(&self, after: u64, limit: u32) -> Answer<'_, Vec<AuditLine>> {
        Box::pin(self.pool.read(move |connection| {
            async move { trail::read(connection, after, limit).await }.boxed()
        }))
    }
}

/// Commits: two round trips, however much there is to write.
async fn write(connection: &Connection, commit: &Commit) -> Result<Committed, Failure> {
    let (records, append, trail) = tokio::try_join!(
        records::Statements::prepare(connection),
        events::prepare(connection),
        trail::Statements::prepare(connection),
    )?;
    let ((), (version, last_event), end) = tokio::try_join!(
        biased;
        connection.command("BEGIN"),
        records.lock(connection),
        trail.lock(connection, &commit.audit),
    )?;
    if version != commit.seen {
        connection.command("ROLLBACK").await?;
        return Ok(Committed::Behind);
    }
    let version = Version(version.0 + 1);
    let after = last_event + commit.events.len() as u64;
    // If one of them fails, those behind it do, and the last one writes nothing.
    tokio::try_join!(
        biased;
        records.put(connection, version, &commit.records),
        events::append(connection, &append, last_event, &commit.events),
        trail.append(connection, end, &commit.audit),
        records.go_on(connection, version, after),
        connection.command("COMMIT"),
    )?;
    Ok(Committed::Done { version, last_event: after })
}

/// Appends lines to the audit trail, in two round trips.
async fn append(connection: &Connection, lines: &[String]) -> Result<(), Failure> {
    let trail = trail::Statements::prepare(connection).await?;
    let ((), end) = tokio::try_join!(
        biased;
        connection.command("BEGIN"),
        trail.lock(connection, lines),
    )?;
    tokio::try_join!(
        biased;
        trail.append(connection, end, lines),
        connection.command("COMMIT"),
    )?;
    Ok(())
}

/// The row that numbers are counted in is not there.
fn gone() -> Failure {
    Error::Spoilt("a count of the hub is gone".to_owned()).into()
}
