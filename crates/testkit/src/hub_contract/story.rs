//! The agents, records and events that the checks are about.

use std::{collections::BTreeMap, time::Duration};

use nuncio_hub::{
    audit::{Link, verify},
    store::{
        AuditLine, Beats, Changes, Commit, Committed, EventQuery, HubStore, Kind, LoggedEvent,
        NewEvent, Record, Version,
    },
};
use nuncio_protocol::{
    ids::{AgentId, Organisation},
    time::Timestamp,
};

/// As long as no check lasts.
pub(super) const LONG: Duration = Duration::from_secs(3600);

/// How long a check waits for what must come.
const PATIENCE: Duration = Duration::from_secs(30);

/// More than any check writes.
pub(super) const ALL: u32 = 100_000;

/// The documents of all records that are there.
pub(super) type Documents = BTreeMap<(Kind, String), String>;

pub(super) fn agent(name: &str) -> AgentId {
    AgentId::parse(name).expect("a short text is an identifier")
}

pub(super) fn organisation(name: &str) -> Organisation {
    Organisation::parse(name).expect("a short text is an identifier")
}

pub(super) fn record(kind: Kind, key: &str, body: &str) -> Record {
    Record { kind, key: key.to_owned(), body: Some(body.to_owned()) }
}

pub(super) fn removal(kind: Kind, key: &str) -> Record {
    Record { kind, key: key.to_owned(), body: None }
}

/// An event of Acme about Echo.
pub(super) fn event(name: &str) -> NewEvent {
    NewEvent {
        organisation: organisation("acme"),
        name: name.to_owned(),
        agent: Some(agent("echo")),
        at: Timestamp::from_parts(1_780_000_000, 123_456_789).expect("the year 2026 is there"),
        payload: format!(r#"{{"name":"{name}"}}"#),
    }
}

/// All events of Acme.
pub(super) fn all_of(name: &str) -> EventQuery {
    EventQuery { organisation: organisation(name), agent: None, name: None, after: 0, limit: ALL }
}

/// Commits at the newest version.
pub(super) async fn commit(store: &dyn HubStore, commit: Commit) -> (Version, u64) {
    let seen = version(store).await;
    match store.commit(Commit { seen, ..commit }).await.expect("answered") {
        Committed::Done { version, last_event } => (version, last_event),
        Committed::Behind => panic!("nobody else writes, and {seen:?} is not the newest"),
    }
}

/// Puts records at the newest version.
pub(super) async fn put(store: &dyn HubStore, records: Vec<Record>) -> Version {
    commit(store, Commit { records, ..Commit::default() }).await.0
}

pub(super) async fn version(store: &dyn HubStore) -> Version {
    changes(store, Version(u64::MAX)).await.version
}

/// Reads what changed, the records in order.
pub(super) async fn changes(store: &dyn HubStore, after: Version) -> Changes {
    let mut changes = store.changes(after).await.expect("answered");
    changes.records.sort_by(|one, other| (one.kind, &one.key).cmp(&(other.kind, &other.key)));
    changes
}

/// Brings documents from what they were to what they are. Each record is told once.
#[track_caller]
pub(super) fn apply(documents: &mut Documents, changes: &Changes) {
    let mut told = Vec::new();
    for Record { kind, key, body } in &changes.records {
        let place = (*kind, key.clone());
        assert!(!told.contains(&place), "{place:?} is told twice");
        told.push(place.clone());
        match body {
            Some(body) => documents.insert(place, body.clone()),
            None => documents.remove(&place),
        };
    }
}

pub(super) async fn events(store: &dyn HubStore, query: EventQuery) -> Vec<LoggedEvent> {
    store.events(query).await.expect("answered")
}

/// Reads heartbeats, by agent and without their stamps.
pub(super) async fn beats(store: &dyn HubStore, after: u64) -> (u64, Vec<(String, String)>) {
    let Beats { tick, beats } = store.beats(after).await.expect("answered");
    let said = beats.into_iter().map(|beat| (beat.agent.as_str().to_owned(), beat.body));
    let mut said: Vec<_> = said.collect();
    said.sort();
    (tick, said)
}

/// Reads the whole trail, and checks that it hangs together.
pub(super) async fn trail(store: &dyn HubStore) -> Vec<AuditLine> {
    let lines = store.audit_trail(0, ALL).await.expect("answered");
    verify(0, Link::START, &lines).expect("the trail hangs together");
    lines
}

/// Asks again and again, until there is an answer.
pub(super) async fn eventually<T>(what: &str, mut ask: impl AsyncFnMut() -> Option<T>) -> T {
    let wait = async {
        loop {
            if let Some(answer) = ask().await {
                return answer;
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    let answer = tokio::time::timeout(PATIENCE, wait).await;
    answer.unwrap_or_else(|_| panic!("it did not come to pass that {what}"))
}
