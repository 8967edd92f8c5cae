//! Workspaces as molecule writes them.

use std::sync::Arc;

use nuncio_protocol::{ids::AgentId, json::Raw, time::Timestamp};
use serde::Serialize;

use crate::{
    agent::{Agent, Card, Status},
    beat::LastBeat,
    directory::{Directory, Network},
    http::who::{Role, Who},
    name::AgentName,
};

/// A peer, with exactly the members of MD-11. What is not known is null.
#[derive(Debug, Serialize)]
pub(super) struct Peer {
    id: AgentId,
    name: AgentName,
    role: Option<String>,
    tier: u8,
    status: Status,
    agent_card: Option<Raw>,
    url: Option<Arc<str>>,
    parent_id: Option<AgentId>,
    active_tasks: u32,
}

/// A workspace, with its last heartbeat.
#[derive(Debug, Serialize)]
pub(super) struct Workspace {
    #[serde(flatten)]
    peer: Peer,
    current_task: String,
    last_error_rate: f64,
    last_sample_error: String,
    uptime_seconds: u64,
    last_heartbeat_at: Option<Timestamp>,
    created_at: Timestamp,
    updated_at: Timestamp,
}

impl Peer {
    pub(super) fn new(directory: &Directory, agent: &Agent, network: Network) -> Self {
        Self::with(agent, network, directory.last_beat(&agent.id).as_ref())
    }

    fn with(agent: &Agent, network: Network, last: Option<&LastBeat>) -> Self {
        let text = agent.card.as_ref().map(Card::text);
        let addresses = &agent.addresses;
        let url = match network {
            Network::Internal => addresses.internal.as_ref().or(addresses.public.as_ref()),
            Network::External => addresses.public.as_ref(),
        };
        Self {
            id: agent.id.clone(),
            name: agent.name.clone(),
            role: agent.role.clone(),
            tier: agent.standing.trust,
            status: agent.status,
            agent_card: text.and_then(|text| Raw::parse_text(text).ok()),
            url: url.cloned(),
            parent_id: agent.parent.clone(),
            active_tasks: last.map_or(0, |last| last.beat.active_tasks),
        }
    }
}

impl Workspace {
    pub(super) fn new(directory: &Directory, agent: &Agent, network: Network) -> Self {
        let last = directory.last_beat(&agent.id);
        let peer = Peer::with(agent, network, last.as_ref());
        let last_heartbeat_at = last.as_ref().map(|last| last.at);
        let beat = last.map(|last| last.beat).unwrap_or_default();
        Self {
            peer,
            current_task: beat.current_task,
            last_error_rate: beat.error_rate,
            last_sample_error: beat.sample_error,
            uptime_seconds: beat.uptime_seconds,
            last_heartbeat_at,
            created_at: agent.created,
            updated_at: agent.updated,
        }
    }
}

/// Says from where somebody calls: agents share a network, everybody else is outside (MG-02).
pub(super) fn network(who: &Who) -> Network {
    match who.role {
        Role::Agent(_) => Network::Internal,
        _ => Network::External,
    }
}
