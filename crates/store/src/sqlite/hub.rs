//! What a hub knows, in the same database as the tasks.
//!
//! There is one process and one thread that writes, so whoever reads within a write reads the
//! newest, and a version that is compared there cannot change before the commit.

mod beats;
mod budgets;
mod events;
mod records;
mod trail;

use std::time::Duration;

use nuncio_hub::store::{
    Allowance, Answer, AuditLine, Beats, Changes, Commit, Committed, EventQuery, HubStore,
    LoggedEvent, Version,
};
use nuncio_protocol::{ids::AgentId, time::Timestamp};

use super::{SqliteStore, fault::Fault, writer::Writing};

impl HubStore for SqliteStore {
    /// Its directory is locked.
    fn is_shared(&self) -> bool {
        false
    }

    fn changes(&self, after: Version) -> Answer<'_, Changes> {
        Box::pin(async move {
            // Whoever asks once a second is told "none" nearly always.
            let version = self.0.readers.read(records::version)?;
            if version <= after {
                return Ok(Changes { version, records: Vec::new() });
            }
            self.0.readers.read_long(move |connection| records::changes(connection, after)).await
        })
    }

    fn commit(&self, commit: Commit) -> Answer<'_, Committed> {
        Box::pin(self.0.writer.write(move |writing| write(writing, &commit)))
    }

    fn events(&self, query: EventQuery) -> Answer<'_, Vec<LoggedEvent>> {
        Box::pin(self.0.readers.read_long(move |connection| events::read(connection, &query)))
    }

    fn last_event(&self) -> Answer<'_, u64> {
        Box::pin(async move { self.0.readers.read(events::last) })
    }

    fn beat(&self, agent: AgentId, body: String) -> Answer<'_, Timestamp> {
        Box::pin(self.0.writer.write(move |writing| beats::write(writing, &agent, &body)))
    }

    fn beats(&self, after: u64) -> Answer<'_, Beats> {
        Box::pin(async move {
            let tick = self.0.readers.read(beats::tick)?;
            if tick <= after {
                return Ok(Beats { tick, beats: Vec::new() });
            }
            self.0.readers.read_long(move |connection| beats::read(connection, after)).await
        })
    }

    fn silent(&self, longer_than: Duration) -> Answer<'_, Vec<AgentId>> {
        let now = self.0.clock.now();
        Box::pin(
            self.0
                .readers
                .read_long(move |connection| beats::silent(connection, &now, longer_than)),
        )
    }

    fn forget_beats(&self, agent: AgentId) -> Answer<'_, ()> {
        Box::pin(self.0.writer.write(move |writing| beats::forget(writing, &agent)))
    }

    fn spend(&self, day: u32, allowances: Vec<Allowance>) -> Answer<'_, Option<usize>> {
        Box::pin(self.0.writer.write(move |writing| budgets::spend(writing, day, &allowances)))
    }

    fn audit(&self, lines: Vec<String>) -> Answer<'_, ()> {
        Box::pin(self.0.writer.write(move |writing| trail::append(writing.connection, &lines)))
    }

    fn audit_trail(&self, after: u64, limit: u32) -> Answer<'_, Vec<AuditLine>> {
        Box::pin(self.0.readers.read_long(move |connection| trail::read(connection, after, limit)))
    }
}

fn write(writing: Writing<'_>, commit: &Commit) -> Result<Committed, Fault> {
    let connection = writing.connection;
    let Some(version) = records::next_version(connection, commit.seen)? else {
        return Ok(Committed::Behind);
    };
    records::put(connection, version, &commit.records)?;
    let last_event = events::append(connection, &commit.events)?;
    trail::append(connection, &commit.audit)?;
    Ok(Committed::Done { version, last_event })
}
