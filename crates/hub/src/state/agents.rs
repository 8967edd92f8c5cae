//! All agents by their ids, found with as few steps through memory as can be.
//!
//! Decisions are made about agents that nobody has asked for in a while, so what they cost is
//! memory that is not at hand. A tree that shares its branches with the one before has ten
//! places to visit for each agent; this has four, and a change copies one part in 256.

use std::sync::Arc;

use nuncio_auth::rules::{AgentKey, KeyMap, SkillLimit};
use nuncio_protocol::ids::{AgentId, Organisation};

use crate::agent::{Agent, Status};

/// Into so many parts are agents divided; a change copies one.
const PARTS: usize = 256;

/// All agents, removed ones too.
#[derive(Clone, Debug)]
pub(super) struct Agents(Arc<[Arc<KeyMap<Kept>>]>);

/// An agent, with what is looked up at every decision.
#[derive(Clone, Debug)]
pub(super) struct Kept {
    pub(super) agent: Arc<Agent>,
    /// Whose it is. Agents of one organisation have the same text of it, not copies.
    pub(super) organisation: Organisation,
    pub(super) is_removed: bool,
    pub(super) limits: Arc<[SkillLimit]>,
    /// It, its parent, and so on up to the top; none if the tree above it is not sound.
    pub(super) line: Option<Arc<[AgentKey]>>,
}

impl Default for Agents {
    fn default() -> Self {
        let empty = Arc::<KeyMap<Kept>>::default();
        Self((0..PARTS).map(|_| Arc::clone(&empty)).collect())
    }
}

impl Agents {
    pub(super) fn get(&self, id: &AgentId) -> Option<&Kept> {
        self.entry(id).map(|(_, kept)| kept)
    }

    /// Returns an agent with its key, which all who stand below it share.
    pub(super) fn entry(&self, id: &AgentId) -> Option<(&AgentKey, &Kept)> {
        let key = AgentKey::new(id);
        self.0[part(&key)].get_key_value(&key)
    }

    pub(super) fn values(&self) -> impl Iterator<Item = &Kept> {
        self.0.iter().flat_map(|part| part.values())
    }

    pub(super) fn insert(&mut self, key: AgentKey, kept: Kept) {
        self.part(&key).insert(key, kept);
    }

    pub(super) fn remove(&mut self, id: &AgentId) {
        let key = AgentKey::new(id);
        self.part(&key).remove(&key);
    }

    fn part(&mut self, key: &AgentKey) -> &mut KeyMap<Kept> {
        Arc::make_mut(&mut Arc::make_mut(&mut self.0)[part(key)])
    }
}

/// Returns in which part an agent is. The map inside goes by the lowest and highest bits.
fn part(key: &AgentKey) -> usize {
    usize::from((key.hash() >> 32).to_le_bytes()[0])
}

impl Kept {
    /// Tells whether an agent stands where this one stood, so that nothing is different for those
    /// below it.
    pub(super) fn stands_like(&self, other: &Agent) -> bool {
        self.agent.parent == other.parent
            && self.organisation == other.organisation
            && self.is_removed == (other.status == Status::Removed)
    }
}
