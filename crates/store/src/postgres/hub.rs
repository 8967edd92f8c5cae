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
            async move { within(connection, write(connection, &commit)).await }.boxed()
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
            let spending = async move { budgets::spend(connection, day, &allowances).await };
            async move { within(connection, spending).await }.boxed()
        }))
    }

    fn audit(&self, lines: Vec<String>) -> Answer<'_, ()> {
        let lines = Arc::new(lines);
        Box::pin(self.pool.write(CALL, move |connection| {
            let lines = Arc::clone(&lines);
            async move { within(connection, trail::append(connection, &lines)).await }.boxed()
        }))
    }

    fn audit_trail(&self, after: u64, limit: u32) -> Answer<'_, Vec<AuditLine>> {
        Box::pin(self.pool.read(move |connection| {
            async move { trail::read(connection, after, limit).await }.boxed()
        }))
    }
}

/// Does something in one transaction, or does nothing.
async fn within<T>(
    connection: &Connection,
    work: impl Future<Output = Result<T, Failure>>,
) -> Result<T, Failure> {
    let client = connection.client();
    client.batch_execute("BEGIN").await?;
    let answer = work.await;
    match &answer {
        Ok(_) => client.batch_execute("COMMIT").await?,
        // The transaction ends with the connection.
        Err(failure) if failure.is_lost() => {}
        Err(_) => client.batch_execute("ROLLBACK").await?,
    }
    answer
}

async fn write(connection: &Connection, commit: &Commit) -> Result<Committed, Failure> {
    let (version, last_event) = records::lock(connection).await?;
    if version != commit.seen {
        return Ok(Committed::Behind);
    }
    let version = Version(version.0 + 1);
    records::put(connection, version, &commit.records).await?;
    let last_event = events::append(connection, last_event, &commit.events).await?;
    trail::append(connection, &commit.audit).await?;
    records::go_on(connection, version, last_event).await?;
    Ok(Committed::Done { version, last_event })
}

/// The row that numbers are counted in is not there.
fn gone() -> Failure {
    Error::Spoilt("a count of the hub is gone".to_owned()).into()
}
