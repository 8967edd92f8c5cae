//! A hub that forgets everything at the end.

use std::{
    collections::BTreeMap,
    future::ready,
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use nuncio_protocol::{ids::AgentId, time::Timestamp};

use crate::{
    audit::Link,
    store::{
        Allowance, Answer, AuditLine, Beats, Changes, Commit, Committed, EventQuery, HubStore,
        Kind, LoggedEvent, Record, StoredBeat, Version,
    },
};

/// Keeps what a hub knows in memory.
#[derive(Debug, Default)]
pub struct MemoryHub(Mutex<Tables>);

#[derive(Debug, Default)]
struct Tables {
    version: Version,
    records: BTreeMap<(Kind, String), (Version, Option<String>)>,
    events: Vec<LoggedEvent>,
    beats: BTreeMap<AgentId, (u64, StoredBeat)>,
    tick: u64,
    trail: Vec<AuditLine>,
    spent: BTreeMap<String, (u32, u64)>,
}

impl MemoryHub {
    fn tables(&self) -> MutexGuard<'_, Tables> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl HubStore for MemoryHub {
    fn changes(&self, after: Version) -> Answer<'_, Changes> {
        let tables = self.tables();
        let newer = tables.records.iter().filter(|(_, (version, _))| *version > after);
        let records = newer.map(|((kind, key), (_, body))| Record {
            kind: *kind,
            key: key.clone(),
            body: body.clone(),
        });
        let changes = Changes { version: tables.version, records: records.collect() };
        Box::pin(ready(Ok(changes)))
    }

    fn commit(&self, commit: Commit) -> Answer<'_, Committed> {
        Box::pin(ready(Ok(self.tables().commit(commit))))
    }

    fn events(&self, query: EventQuery) -> Answer<'_, Vec<LoggedEvent>> {
        let tables = self.tables();
        let skipped = usize::try_from(query.after).unwrap_or(usize::MAX).min(tables.events.len());
        let wanted = tables.events[skipped..].iter().filter(|logged| {
            logged.event.organisation == query.organisation
                && query
                    .agent
                    .as_ref()
                    .is_none_or(|agent| logged.event.agent.as_ref() == Some(agent))
                && query.name.as_ref().is_none_or(|name| logged.event.name == *name)
        });
        let events = wanted.take(query.limit as usize).cloned().collect();
        Box::pin(ready(Ok(events)))
    }

    fn last_event(&self) -> Answer<'_, u64> {
        Box::pin(ready(Ok(self.tables().events.len() as u64)))
    }

    fn beat(&self, agent: AgentId, body: String) -> Answer<'_, Timestamp> {
        let mut tables = self.tables();
        tables.tick += 1;
        let at = Timestamp::now();
        let beat = (tables.tick, StoredBeat { agent: agent.clone(), body, at });
        tables.beats.insert(agent, beat);
        Box::pin(ready(Ok(at)))
    }

    fn beats(&self, after: u64) -> Answer<'_, Beats> {
        let tables = self.tables();
        let fresh = tables.beats.values().filter(|(tick, _)| *tick > after);
        let beats = fresh.map(|(_, beat)| beat.clone()).collect();
        Box::pin(ready(Ok(Beats { tick: tables.tick, beats })))
    }

    fn silent(&self, longer_than: Duration) -> Answer<'_, Vec<AgentId>> {
        let most = i64::try_from(longer_than.as_millis()).unwrap_or(i64::MAX);
        let now = Timestamp::now().as_millis();
        let tables = self.tables();
        let silent = tables.beats.iter().filter(|(_, (_, beat))| now - beat.at.as_millis() > most);
        let silent = silent.map(|(agent, _)| agent.clone()).collect();
        Box::pin(ready(Ok(silent)))
    }

    fn forget_beats(&self, agent: AgentId) -> Answer<'_, ()> {
        self.tables().beats.remove(&agent);
        Box::pin(ready(Ok(())))
    }

    fn spend(&self, day: u32, allowances: Vec<Allowance>) -> Answer<'_, Option<usize>> {
        Box::pin(ready(Ok(self.tables().spend(day, allowances))))
    }

    fn audit(&self, lines: Vec<String>) -> Answer<'_, ()> {
        self.tables().audit(lines);
        Box::pin(ready(Ok(())))
    }

    fn audit_trail(&self, after: u64, limit: u32) -> Answer<'_, Vec<AuditLine>> {
        let tables = self.tables();
        let skipped = usize::try_from(after).unwrap_or(usize::MAX).min(tables.trail.len());
        let lines = tables.trail[skipped..].iter().take(limit as usize).cloned().collect();
        Box::pin(ready(Ok(lines)))
    }
}

impl Tables {
    fn commit(&mut self, commit: Commit) -> Committed {
        if commit.seen != self.version {
            return Committed::Behind;
        }
        self.version = Version(self.version.0 + 1);
        for Record { kind, key, body } in commit.records {
            self.records.insert((kind, key), (self.version, body));
        }
        for event in commit.events {
            let seq = self.events.len() as u64 + 1;
            self.events.push(LoggedEvent { seq, event });
        }
        self.audit(commit.audit);
        Committed::Done { version: self.version, last_event: self.events.len() as u64 }
    }

    fn spend(&mut self, day: u32, allowances: Vec<Allowance>) -> Option<usize> {
        self.spent.retain(|_, (spent_at, _)| *spent_at + 1 >= day);
        let spent = |key: &str| match self.spent.get(key) {
            Some((spent_at, spent)) if *spent_at >= day => *spent,
            _ => 0,
        };
        let mut all = allowances.iter();
        if let Some(used_up) = all.position(|one| spent(&one.key) >= one.limit) {
            return Some(used_up);
        }
        for Allowance { key, .. } in allowances {
            let (spent_at, spent) = self.spent.entry(key).or_default();
            if *spent_at < day {
                (*spent_at, *spent) = (day, 0);
            }
            *spent += 1;
        }
        None
    }

    fn audit(&mut self, lines: Vec<String>) {
        for body in lines {
            let last = self.trail.last().map_or(Link::START, |line| line.link);
            let seq = self.trail.len() as u64 + 1;
            self.trail.push(AuditLine { seq, link: last.after(&body), body });
        }
    }
}
