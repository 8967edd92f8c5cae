//! Finding agents.

use std::sync::Arc;

use nuncio_auth::rules::{Asker, Question, Tree as _};
use nuncio_protocol::ids::AgentId;

use super::Directory;
use crate::{
    agent::{Agent, Status},
    error::Error,
    name::AgentName,
    state::State,
};

/// How many agents a page has at most.
pub const MAX_PAGE: usize = 500;

/// What is looked for. Everything that is said has to fit.
#[derive(Clone, Debug, Default)]
pub struct Query {
    /// In its name, title, role or description, whatever the case.
    pub text: Option<String>,
    /// A skill of this id.
    pub skill: Option<String>,
    /// A skill with this tag.
    pub tag: Option<String>,
    /// A skill of this id or with this tag (C-32).
    pub capability: Option<String>,
    /// How it is.
    pub status: Option<Status>,
    /// The agent above it.
    pub parent: Option<AgentId>,
    /// Only those behind this name.
    pub after: Option<AgentName>,
    /// At most so many; as many as a page has, if it is 0.
    pub limit: usize,
}

/// A page of agents, ordered by name.
#[derive(Clone, Debug, Default)]
pub struct Page {
    /// The agents.
    pub agents: Vec<Arc<Agent>>,
    /// Behind whom the next page begins, if there is one.
    pub next: Option<AgentName>,
}

impl Directory {
    /// Finds agents that the asker may know of.
    pub fn search(&self, asker: Asker<'_>, query: &Query) -> Page {
        let state = self.state();
        let limit = if query.limit == 0 { MAX_PAGE } else { query.limit.min(MAX_PAGE) };
        let text = query.text.as_ref().map(|text| text.to_lowercase());
        let fits = |agent: &&Arc<Agent>| {
            query.fits(agent, text.as_deref()) && may_see(&state, asker, &agent.id)
        };
        // One more than asked for tells whether there is another page.
        let indexed = query.capability.as_ref().or(query.skill.as_ref()).or(query.tag.as_ref());
        let organisation = asker.organisation();
        let mut agents: Vec<_> = if let Some(capability) = indexed {
            let offering = state.offering(organisation, capability);
            let behind = offering.filter(|agent| Some(&agent.name) > query.after.as_ref());
            behind.filter(fits).take(limit + 1).cloned().collect()
        } else {
            let all = state.in_order(organisation, query.after.as_ref());
            all.filter(fits).take(limit + 1).cloned().collect()
        };
        let has_more = agents.len() > limit;
        agents.truncate(limit);
        let next = agents.last().filter(|_| has_more).map(|agent| agent.name.clone());
        Page { agents, next }
    }

    /// Returns the peers of an agent: those beside, above and below it (MD-11), if the rules let
    /// it call them, ordered by name.
    pub fn peers(&self, id: &AgentId) -> Result<Vec<Arc<Agent>>, Error> {
        let state = self.state();
        let agent = state.agent(id).filter(|agent| agent.status != Status::Removed);
        let agent = agent.ok_or(Error::no_agent())?;
        let asker = Asker::Agent { id, organisation: &agent.organisation };
        let siblings = agent.parent.iter().flat_map(|parent| state.children(parent));
        let near = agent.parent.iter().chain(state.children(id)).chain(siblings);
        let near = near.filter(|other| *other != id && may_see(&state, asker, other));
        let mut peers: Vec<_> = near.filter_map(|id| state.agent(id)).cloned().collect();
        peers.sort_by(|a, b| a.name.cmp(&b.name));
        peers.dedup_by(|a, b| a.id == b.id);
        Ok(peers)
    }

    /// Returns all agents that somebody may know of, ordered by name.
    pub fn reachable(&self, asker: Asker<'_>) -> Vec<Arc<Agent>> {
        let state = self.state();
        let all = state.in_order(asker.organisation(), None);
        all.filter(|agent| may_see(&state, asker, &agent.id)).cloned().collect()
    }
}

/// Tells whether somebody may know of an agent. Whoever may call it may, and administrators know
/// of all agents of their organisation: a rule that denies them a call does not hide from them
/// what it is about.
pub(super) fn may_see(state: &State, asker: Asker<'_>, agent: &AgentId) -> bool {
    match asker {
        Asker::Administrator { organisation } => state.present(organisation, agent).is_some(),
        Asker::Agent { .. } | Asker::User { .. } => {
            state.decider().decide(state, &Question::new(asker, agent)).is_allowed()
        }
    }
}

impl Query {
    fn fits(&self, agent: &Agent, text: Option<&str>) -> bool {
        let skills = || agent.card.iter().flat_map(|card| &card.card().skills);
        text.is_none_or(|text| says(agent, text))
            && self.status.is_none_or(|status| agent.status == status)
            && self.parent.as_ref().is_none_or(|parent| agent.parent.as_ref() == Some(parent))
            && self.skill.as_ref().is_none_or(|id| skills().any(|skill| skill.id == *id))
            && self.tag.as_ref().is_none_or(|tag| skills().any(|skill| skill.tags.contains(tag)))
            && self.capability.as_ref().is_none_or(|name| agent.offers(name).is_some())
    }
}

fn says(agent: &Agent, text: &str) -> bool {
    let description = agent.card.as_ref().map_or("", |card| &card.card().description);
    let role = agent.role.as_deref().unwrap_or_default();
    let texts = [agent.name.as_str(), agent.title(), role, description];
    texts.iter().any(|found| found.to_lowercase().contains(text))
}
