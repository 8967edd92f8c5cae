//! What the directory looks like from outside.

use std::{collections::BTreeMap, sync::Arc};

use nuncio_auth::KeyRecord;
use nuncio_protocol::{
    ids::{AgentId, Organisation},
    json::Raw,
    service::Caller,
    time::Timestamp,
};
use serde::Serialize;

use super::who::{Role, Who};
use crate::{
    Directory,
    agent::{Addresses, Agent, Card, Delivery, Origin, Status, Watch},
    beat::Beat,
    directory::{Item, Passing},
    event::Name,
    hub::Hub,
    name::AgentName,
    store::LoggedEvent,
};

/// An agent.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub(crate) struct AgentView {
    #[schema(value_type = String)]
    pub(crate) id: AgentId,
    #[schema(value_type = String)]
    pub(crate) name: AgentName,
    #[schema(value_type = String)]
    pub(crate) organisation: Organisation,
    /// The name on its card.
    pub(crate) title: String,
    /// What its card says that it is for.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(crate) description: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) role: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    pub(crate) parent: Option<AgentId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    pub(crate) parent_name: Option<AgentName>,
    pub(crate) addresses: Addresses,
    pub(crate) delivery: Delivery,
    pub(crate) trust: u8,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) latency_hint_ms: Option<u32>,
    pub(crate) watch: Watch,
    /// What the hub runs for it itself, if somebody has said so over this API.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) kind: Option<String>,
    pub(crate) status: Status,
    #[schema(value_type = String, format = DateTime)]
    pub(crate) status_since: Timestamp,
    pub(crate) origin: Origin,
    pub(crate) skills: Vec<SkillView>,
    /// The versions of A2A that its card says it speaks.
    pub(crate) versions: Vec<String>,
    /// The bindings that its card says it speaks.
    pub(crate) bindings: Vec<String>,
    /// Whether its card carries a signature; who made it, `nuncio card verify` tells.
    pub(crate) is_signed: bool,
    pub(crate) active_tasks: u32,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(crate) current_task: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) heartbeat: Option<BeatView>,
    pub(crate) has_held_card: bool,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    #[schema(value_type = BTreeMap<String, Vec<String>>)]
    pub(crate) allowed_agents: BTreeMap<String, Vec<AgentId>>,
    #[schema(value_type = String, format = DateTime)]
    pub(crate) created: Timestamp,
    #[schema(value_type = String, format = DateTime)]
    pub(crate) updated: Timestamp,
}

/// A skill, in short.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub(crate) struct SkillView {
    pub(crate) id: String,
    pub(crate) name: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub(crate) description: String,
    pub(crate) tags: Vec<String>,
}

/// What an agent last said of itself.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub(crate) struct BeatView {
    #[schema(value_type = String, format = DateTime)]
    pub(crate) at: Timestamp,
    #[serde(flatten)]
    pub(crate) beat: Beat,
}

impl AgentView {
    pub(crate) fn new(directory: &Directory, agent: &Agent) -> Self {
        let last = directory.last_beat(&agent.id);
        let state = directory.state();
        let parent = agent.parent.as_ref().and_then(|parent| state.agent(parent));
        let card = agent.card.as_ref().map(Card::card);
        let skills = card.iter().flat_map(|card| &card.skills);
        let ways = || card.iter().flat_map(|card| &card.supported_interfaces);
        Self {
            id: agent.id.clone(),
            name: agent.name.clone(),
            organisation: agent.organisation.clone(),
            title: agent.title().to_owned(),
            description: card.map(|card| card.description.clone()).unwrap_or_default(),
            role: agent.role.clone(),
            parent: agent.parent.clone(),
            parent_name: parent.map(|parent| parent.name.clone()),
            addresses: agent.addresses.clone(),
            delivery: agent.delivery,
            trust: agent.standing.trust,
            latency_hint_ms: agent.standing.latency_hint_ms,
            watch: agent.watch,
            kind: agent.hosting.as_ref().map(|hosting| hosting.kind.clone()),
            status: agent.status,
            status_since: agent.status_since,
            origin: agent.origin,
            skills: skills
                .map(|skill| SkillView {
                    id: skill.id.clone(),
                    name: skill.name.clone(),
                    description: skill.description.clone(),
                    tags: skill.tags.clone(),
                })
                .collect(),
            versions: distinct(ways().map(|way| &way.protocol_version)),
            bindings: distinct(ways().map(|way| &way.protocol_binding)),
            is_signed: card.is_some_and(|card| !card.signatures.is_empty()),
            active_tasks: last.as_ref().map_or(0, |last| last.beat.active_tasks),
            current_task: last
                .as_ref()
                .map(|last| last.beat.current_task.clone())
                .unwrap_or_default(),
            heartbeat: last.map(|last| BeatView { at: last.at, beat: last.beat }),
            has_held_card: agent.held_card.is_some(),
            allowed_agents: agent.allowed_agents.clone(),
            created: agent.created,
            updated: agent.updated,
        }
    }
}

fn distinct<'a>(texts: impl Iterator<Item = &'a String>) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    for text in texts {
        if !found.contains(text) {
            found.push(text.clone());
        }
    }
    found
}

impl AgentView {
    /// Leaves out agents that a reader may not know of.
    pub(crate) fn seen_by(mut self, hub: &Hub, who: &Who) -> Self {
        if !self.parent.as_ref().is_none_or(|parent| who.sees(hub, Some(parent))) {
            self.parent = None;
            self.parent_name = None;
        }
        for agents in self.allowed_agents.values_mut() {
            agents.retain(|agent| who.sees(hub, Some(agent)));
        }
        self
    }
}

/// A key or token: everything but the secret.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub(crate) struct KeyView {
    pub(crate) id: String,
    /// Whose it is: `agent` or `user`.
    #[schema(value_type = String)]
    pub(crate) kind: &'static str,
    pub(crate) name: String,
    #[schema(value_type = Vec<String>)]
    pub(crate) scopes: Arc<[String]>,
    #[schema(value_type = String, format = DateTime)]
    pub(crate) created: Timestamp,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, format = DateTime)]
    pub(crate) expires: Option<Timestamp>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, format = DateTime)]
    pub(crate) revoked: Option<Timestamp>,
    /// When it was last shown to a hub on this database.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, format = DateTime)]
    pub(crate) last_used: Option<Timestamp>,
}

impl KeyView {
    pub(crate) fn new(directory: &Directory, record: &KeyRecord) -> Self {
        Self { last_used: directory.last_use(record.id()), ..record.into() }
    }
}

impl From<&KeyRecord> for KeyView {
    fn from(record: &KeyRecord) -> Self {
        let (kind, name) = match record.caller() {
            Caller::Agent(id) => ("agent", id.to_string()),
            Caller::User(name) => ("user", name.to_string()),
            _ => ("nobody", String::new()),
        };
        Self {
            id: record.id().to_owned(),
            kind,
            name,
            scopes: Arc::clone(record.scopes()),
            created: record.created(),
            expires: record.expires(),
            revoked: record.revoked(),
            last_used: None,
        }
    }
}

/// A key that was made. Its secret is here and never again.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub(crate) struct IssuedView {
    pub(crate) key: String,
    #[serde(flatten)]
    pub(crate) record: KeyView,
}

impl From<&crate::directory::Issued> for IssuedView {
    fn from(issued: &crate::directory::Issued) -> Self {
        Self { key: issued.key.to_string(), record: (&issued.record).into() }
    }
}

/// An event in the form of MD-50, with its place in the log if it has one.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub(crate) struct EventView {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) seq: Option<u64>,
    pub(crate) event: String,
    pub(crate) workspace_id: String,
    #[schema(value_type = String, format = DateTime)]
    pub(crate) timestamp: Timestamp,
    #[schema(value_type = Object)]
    pub(crate) payload: Raw,
}

const DELEGATION_SENT: &str = Name::DelegationSent.as_str();
const DELEGATION_COMPLETE: &str = Name::DelegationComplete.as_str();
const DELEGATION_FAILED: &str = Name::DelegationFailed.as_str();
const APPROVAL_REQUESTED: &str = Name::ApprovalRequested.as_str();
const APPROVAL_ESCALATED: &str = Name::ApprovalEscalated.as_str();
const ACTIVITY_LOGGED: &str = Name::ActivityLogged.as_str();
const A2A_RESPONSE: &str = Name::A2aResponse.as_str();
const CARD_HELD: &str = Name::CardHeld.as_str();

impl From<&LoggedEvent> for EventView {
    fn from(logged: &LoggedEvent) -> Self {
        let event = &logged.event;
        Self {
            seq: Some(logged.seq),
            event: event.name.clone(),
            workspace_id: event.agent.as_ref().map(ToString::to_string).unwrap_or_default(),
            timestamp: event.at,
            payload: payload(&event.payload),
        }
    }
}

impl From<&Passing> for EventView {
    fn from(passing: &Passing) -> Self {
        Self {
            seq: None,
            event: passing.name.to_owned(),
            workspace_id: passing.agent.to_string(),
            timestamp: passing.at,
            payload: payload(&passing.payload),
        }
    }
}

impl From<&Item> for EventView {
    fn from(item: &Item) -> Self {
        match item {
            Item::Logged(logged) => logged.into(),
            Item::Passing(passing) => (&**passing).into(),
        }
    }
}

impl EventView {
    /// Leaves out agents that a reader may not know of, such as the one above the one above,
    /// and what is between the agent and those who oversee it.
    pub(crate) fn seen_by(mut self, hub: &Hub, who: &Who) -> Self {
        let Some(payload) = self.payload.as_object() else { return self };
        let state = hub.directory.state();
        let is_hidden = |value: &Raw| {
            let id = value.as_text().and_then(|text| AgentId::parse(&text).ok());
            id.is_some_and(|id| state.agent(&id).is_some() && !who.sees(hub, Some(&id)))
        };
        let members = payload.members();
        let confidential = self.confidential(who);
        let is_kept_back = |name: &str| confidential.contains(&name);
        let hidden = members.iter().filter(|(name, value)| is_kept_back(name) || is_hidden(value));
        let kept = hidden.fold(payload, |payload, (name, _)| payload.without(name));
        self.payload = kept.into_raw();
        self
    }

    /// Returns the members that a reader may not see: texts of tasks, and a card that nobody has
    /// agreed to. Elsewhere they are refused to the same readers.
    fn confidential(&self, who: &Who) -> &'static [&'static str] {
        let is_its_own = matches!(&who.role, Role::Agent(id) if id.as_str() == self.workspace_id);
        if is_its_own || who.overseer().is_ok() {
            return &[];
        }
        match self.event.as_str() {
            DELEGATION_SENT | DELEGATION_COMPLETE | DELEGATION_FAILED => {
                &["task_preview", "response_preview", "error"]
            }
            APPROVAL_REQUESTED | APPROVAL_ESCALATED => &["action", "reason", "task_id"],
            ACTIVITY_LOGGED => &[
                "activity_type",
                "method",
                "summary",
                "status",
                "source_id",
                "target_id",
                "duration_ms",
            ],
            A2A_RESPONSE => &["method", "duration_ms", "task_id", "response_body"],
            CARD_HELD => &["agent_card"],
            _ => &[],
        }
    }
}

fn payload(text: &str) -> Raw {
    Raw::parse_text(text).unwrap_or_else(|_| Raw::string(text))
}
