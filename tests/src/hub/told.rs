//! What the test was told, and whether the store agrees.

use std::collections::BTreeMap;

use nuncio_hub::{
    audit::{Link, verify},
    store::{AuditLine, EventQuery, HubStore, Kind, LoggedEvent, Version},
};

use super::{AGENTS, Ack, EVENTS, PAIR, agent, organisation};

/// How much is read at a time.
const PAGE: u32 = 1000;

/// Everything that was acknowledged, over all runs.
#[derive(Debug, Default)]
pub struct Told {
    version: u64,
    beats: BTreeMap<usize, (u64, i64)>,
    lines: Vec<String>,
    acked: usize,
}

/// What was compared.
#[derive(Clone, Copy, Debug)]
pub struct Compared {
    /// What was acknowledged.
    pub acked: usize,
    /// Commits in the store.
    pub commits: u64,
    /// Lines of the trail.
    pub lines: usize,
}

impl Told {
    /// Takes note.
    pub fn note(&mut self, ack: Ack) {
        self.acked += 1;
        match ack {
            Ack::Commit(version) => self.version = self.version.max(version),
            Ack::Beat(agent, number, at) => drop(self.beats.insert(agent, (number, at))),
            Ack::Line(line) => self.lines.push(line),
        }
    }

    /// Compares with what a store has.
    ///
    /// # Panics
    /// If anything that was told is not so, or something was written in part.
    pub async fn check(&self, store: &dyn HubStore) -> Compared {
        let commits = self.check_records(store).await;
        check_events(store, commits).await;
        self.check_beats(store).await;
        let lines = self.check_trail(store, commits).await;
        Compared { acked: self.acked, commits, lines }
    }

    async fn check_records(&self, store: &dyn HubStore) -> u64 {
        let changes = store.changes(Version(0)).await.expect("answered");
        let Version(version) = changes.version;
        assert!(version >= self.version, "version {} is lost, {version} is left", self.version);
        let found: BTreeMap<&str, Option<&str>> = changes
            .records
            .iter()
            .map(|record| (record.key.as_str(), record.body.as_deref()))
            .collect();
        let number = version.to_string();
        let whole = PAIR.map(|key| (key, Some(number.as_str())));
        let whole = if version > 0 { BTreeMap::from(whole) } else { BTreeMap::new() };
        assert_eq!(found, whole, "version {version} is there in part");
        assert!(changes.records.iter().all(|record| record.kind == Kind::Agent));
        version
    }

    async fn check_beats(&self, store: &dyn HubStore) {
        let found = store.beats(0).await.expect("answered").beats;
        for index in 0..AGENTS {
            let Some((number, at)) = self.beats.get(&index) else { continue };
            let name = agent(index).expect("an agent has a name");
            let beat = found.iter().find(|beat| beat.agent == name);
            let beat = beat.unwrap_or_else(|| panic!("all beats of {name} are lost"));
            let last: u64 = beat.body.parse().expect("a number was written");
            assert!(last >= *number, "beat {number} of {name} is lost, {last} is left");
            assert!(last != *number || beat.at.as_millis() == *at, "{name} has another stamp");
        }
    }

    /// Every commit has its line, and every line that was told is there, in order.
    async fn check_trail(&self, store: &dyn HubStore, commits: u64) -> usize {
        let mut trail: Vec<AuditLine> = Vec::new();
        let mut link = Link::START;
        loop {
            let seq = trail.len() as u64;
            let page = store.audit_trail(seq, PAGE).await.expect("answered");
            link = verify(seq, link, &page).expect("the trail hangs together");
            if page.is_empty() {
                break;
            }
            trail.extend(page);
        }
        let of_commits = trail.iter().filter_map(|line| line.body.strip_prefix("commit-"));
        let expected: Vec<String> = (1..=commits).map(|number| number.to_string()).collect();
        assert_eq!(of_commits.collect::<Vec<_>>(), expected, "commits and trail differ");
        let mut bodies = trail.iter().map(|line| &line.body);
        for line in &self.lines {
            assert!(bodies.any(|body| body == line), "line {line} is lost");
        }
        trail.len()
    }
}

/// Every commit has its events, and they are numbered without a gap.
async fn check_events(store: &dyn HubStore, commits: u64) {
    let mut events: Vec<LoggedEvent> = Vec::new();
    loop {
        let query = EventQuery {
            organisation: organisation().expect("an organisation has a name"),
            agent: None,
            name: None,
            after: events.len() as u64,
            limit: PAGE,
        };
        let page = store.events(query).await.expect("answered");
        if page.is_empty() {
            break;
        }
        events.extend(page);
    }
    let found: Vec<(u64, &str)> =
        events.iter().map(|logged| (logged.seq, logged.event.name.as_str())).collect();
    let names: Vec<String> =
        (0..commits * EVENTS).map(|event| (event / EVENTS + 1).to_string()).collect();
    let expected: Vec<(u64, &str)> = (1..).zip(names.iter().map(String::as_str)).collect();
    assert_eq!(found, expected, "commits and events differ");
    let last = store.last_event().await.expect("answered");
    assert_eq!(last, commits * EVENTS);
}
