//! A change in the making: records, events and audit lines that belong together.

use std::collections::BTreeMap;

use nuncio_auth::KeyRecord;
use nuncio_protocol::{
    ids::Organisation,
    json::{self, Raw},
    service::Caller,
    time::Timestamp,
};
use serde::Serialize;

use crate::{
    agent::Agent,
    event,
    state::{OrganisationRecord, State},
    store::{Kind, NewEvent, Record},
};

/// Who changes something, for the audit trail.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Actor(String);

impl Actor {
    /// The configuration file.
    pub fn configuration() -> Self {
        Self("configuration".to_owned())
    }

    /// The hub itself.
    pub fn hub() -> Self {
        Self("hub".to_owned())
    }

    /// Somebody who has proved who they are.
    pub fn caller(caller: &Caller) -> Self {
        Self(match caller {
            Caller::Agent(id) => ["agent:", id].concat(),
            Caller::User(name) => ["user:", name].concat(),
            _ => "anonymous".to_owned(),
        })
    }

    /// Returns the words of the trail.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// A change in the making.
#[derive(Debug)]
pub(super) struct Change {
    actor: Actor,
    pub(super) now: Timestamp,
    records: BTreeMap<(Kind, String), Option<String>>,
    events: Vec<NewEvent>,
    audit: Vec<String>,
}

#[derive(Serialize)]
struct AuditBody<'a> {
    at: Timestamp,
    by: &'a str,
    action: &'a str,
    subject: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    detail: &'a str,
}

impl Change {
    pub(super) fn new(actor: &Actor) -> Self {
        Self {
            actor: actor.clone(),
            now: Timestamp::now(),
            records: BTreeMap::new(),
            events: Vec::new(),
            audit: Vec::new(),
        }
    }

    /// Puts an agent in its place. Serialising plain data cannot fail.
    pub(super) fn agent(&mut self, agent: &Agent) {
        let body = serde_json::to_string(agent).unwrap_or_default();
        self.put(Kind::Agent, agent.id.as_str(), Some(body));
    }

    pub(super) fn key(&mut self, key: &KeyRecord) {
        self.put(Kind::Key, key.id(), Some(json::to_string(key)));
    }

    pub(super) fn put(&mut self, kind: Kind, key: &str, body: Option<String>) {
        self.records.insert((kind, key.to_owned()), body);
    }

    /// Says that something happened to an agent.
    pub(super) fn event(&mut self, name: event::Name, agent: &Agent, payload: &[(&str, Raw)]) {
        let payload = json::Object::from_members(payload.iter().cloned());
        self.events.push(NewEvent {
            organisation: agent.organisation.clone(),
            name: name.as_str().to_owned(),
            agent: Some(agent.id.clone()),
            at: self.now,
            payload: payload.as_str().to_owned(),
        });
    }

    /// Says that something happened to an organisation.
    pub(super) fn happened(
        &mut self,
        name: event::Name,
        organisation: &Organisation,
        payload: &[(&str, Raw)],
    ) {
        let payload = json::Object::from_members(payload.iter().cloned());
        self.events.push(NewEvent {
            organisation: organisation.clone(),
            name: name.as_str().to_owned(),
            agent: None,
            at: self.now,
            payload: payload.as_str().to_owned(),
        });
    }

    /// Ends every pair token of an organisation.
    pub(super) fn raise_epoch(&mut self, state: &State, organisation: &Organisation) {
        let record = OrganisationRecord { epoch: state.epoch(organisation) + 1 };
        let body = serde_json::to_string(&record).unwrap_or_default();
        self.put(Kind::Organisation, organisation.as_str(), Some(body));
    }

    /// Adds a line to the audit trail.
    pub(super) fn note(&mut self, action: &str, subject: &str, detail: &str) {
        let body = AuditBody { at: self.now, by: self.actor.as_str(), action, subject, detail };
        self.audit.push(serde_json::to_string(&body).unwrap_or_default());
    }

    pub(super) fn is_empty(&self) -> bool {
        self.records.is_empty() && self.events.is_empty()
    }

    pub(super) fn into_parts(self) -> (Vec<Record>, Vec<NewEvent>, Vec<String>) {
        let records = self.records.into_iter();
        let records = records.map(|((kind, key), body)| Record { kind, key, body });
        (records.collect(), self.events, self.audit)
    }
}
