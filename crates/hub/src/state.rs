//! Everything the hub has decided, as one value that is read without waiting.
//!
//! A state is never changed: the next one shares with it whatever is the same. Whoever holds
//! one sees the directory, the rules and the epochs of one moment.

mod agents;

use std::{collections::BTreeMap, hash::Hash, ops::Bound, sync::Arc};

use nuncio_auth::{
    KeyRecord,
    rules::{AgentKey, MAX_DEPTH, Place, Places, Rule, Rules, Settings, SkillLimit, Tree},
};
use nuncio_protocol::{
    ids::{AgentId, Organisation},
    json,
    service::Caller,
};
use nuncio_tasks::store::Error;
use rpds::{HashTrieMapSync, RedBlackTreeMapSync, RedBlackTreeSetSync};
use serde::{Deserialize, Serialize};

use self::agents::{Agents, Kept};
use crate::{
    agent::{Agent, Status},
    name::{AgentName, Look},
    store::{Changes, Kind, Record, Version},
    triggers::Trigger,
    workflow::{self, SavedWorkflow},
};

/// A map that shares most of its branches with the one before, and whose hash is made for speed:
/// every call looks into several.
type Map<K, V> = HashTrieMapSync<K, V, foldhash::fast::RandomState>;

/// How long a row of agents that stand in for one another may be (MD-13).
const MAX_FORWARDS: usize = 5;

/// What a hub knows at one version.
#[derive(Clone, Debug, Default)]
pub struct State {
    version: Version,
    agents: Agents,
    /// The names of organisations that have agents.
    homes: RedBlackTreeSetSync<Organisation>,
    /// Ordered, so that a page can begin anywhere.
    names: RedBlackTreeMapSync<(Organisation, AgentName), AgentId>,
    /// Who offers a skill or tag, ordered by name.
    capabilities: Map<(Organisation, Box<str>), RedBlackTreeSetSync<AgentName>>,
    looks: Map<(Organisation, Look), AgentId>,
    /// The names of agents that were removed while somebody stands in for them.
    left: Map<(Organisation, AgentName), AgentId>,
    children: Map<AgentId, RedBlackTreeSetSync<AgentId>>,
    organisations: Map<Organisation, OrganisationRecord>,
    rules: Arc<BTreeMap<Arc<str>, Rule>>,
    decider: Arc<Rules>,
    keys: Map<String, Arc<KeyRecord>>,
    /// Ordered, so that those of one sort stand together.
    notes: RedBlackTreeMapSync<String, Arc<str>>,
    workflows: Map<AgentId, Versions>,
    triggers: Map<String, Arc<Trigger>>,
    settings: Settings,
}

/// The versions of a workflow, by their numbers.
type Versions = RedBlackTreeMapSync<u32, Arc<SavedWorkflow>>;

/// What an organisation has decided.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct OrganisationRecord {
    /// Raised whenever somebody might lose access.
    pub epoch: u64,
}

impl State {
    /// Makes an empty state under these settings.
    pub fn new(settings: Settings) -> Self {
        Self { settings, decider: Arc::new(Rules::new(settings, [])), ..Self::default() }
    }

    /// Returns the state behind some changes.
    pub(crate) fn after(&self, changes: Changes) -> Result<Self, Error> {
        let mut state = self.clone();
        let mut rules = None;
        for record in changes.records {
            state.take(record, &mut rules)?;
        }
        if let Some(rules) = rules {
            state.rules = Arc::new(rules);
            state.index_rules();
        }
        state.version = changes.version;
        Ok(state)
    }

    /// Returns the same state with one agent more.
    pub(crate) fn with_agent(&self, agent: Agent) -> Self {
        let mut state = self.clone();
        state.put_agent(agent);
        state
    }

    /// Returns the same state under other settings.
    pub(crate) fn under(&self, settings: Settings) -> Self {
        let mut state = Self { settings, ..self.clone() };
        state.index_rules();
        state
    }

    fn index_rules(&mut self) {
        self.decider = Arc::new(Rules::new(self.settings, self.rules.values().cloned()));
    }

    fn take(
        &mut self,
        record: Record,
        rules: &mut Option<BTreeMap<Arc<str>, Rule>>,
    ) -> Result<(), Error> {
        let Record { kind, key, body } = record;
        let spoilt = |error: &dyn std::fmt::Display| {
            Error::Spoilt(format!("the record of {} {key}: {error}", kind.as_str()))
        };
        match (kind, body) {
            (Kind::Agent, Some(body)) => {
                let agent: Agent = serde_json::from_str(&body).map_err(|error| spoilt(&error))?;
                self.put_agent(agent);
            }
            (Kind::Agent, None) => {
                let id = AgentId::parse(&key).map_err(|error| spoilt(&error))?;
                self.drop_agent(&id);
            }
            (Kind::Key, Some(body)) => {
                let record: KeyRecord = json::from_str(&body).map_err(|error| spoilt(&error))?;
                self.keys.insert_mut(key, Arc::new(record));
            }
            (Kind::Key, None) => drop(self.keys.remove_mut(&key)),
            (Kind::Rule, body) => {
                let rules = rules.get_or_insert_with(|| (*self.rules).clone());
                match body {
                    Some(body) => {
                        let rule: Rule = json::from_str(&body).map_err(|error| spoilt(&error))?;
                        rules.insert(key.into(), rule);
                    }
                    None => drop(rules.remove(key.as_str())),
                }
            }
            (Kind::Organisation, body) => {
                let name = Organisation::parse(&key).map_err(|error| spoilt(&error))?;
                let body = body.as_deref().unwrap_or("{\"epoch\":0}");
                let record = serde_json::from_str(body).map_err(|error| spoilt(&error))?;
                self.organisations.insert_mut(name, record);
            }
            (Kind::Note, Some(body)) => self.notes.insert_mut(key, body.into()),
            (Kind::Note, None) => drop(self.notes.remove_mut(&key)),
            (Kind::Trigger, Some(body)) => {
                let trigger: Trigger =
                    serde_json::from_str(&body).map_err(|error| spoilt(&error))?;
                self.triggers.insert_mut(key, Arc::new(trigger));
            }
            (Kind::Trigger, None) => drop(self.triggers.remove_mut(&key)),
            (Kind::Workflow, body) => {
                let (agent, version) =
                    workflow::read_key(&key).ok_or_else(|| spoilt(&"its key"))?;
                let mut versions = self.workflows.get(&agent).cloned().unwrap_or_default();
                match body {
                    Some(body) => {
                        let saved = SavedWorkflow::read(&body).map_err(|error| spoilt(&error))?;
                        versions.insert_mut(version, Arc::new(saved));
                    }
                    None => drop(versions.remove_mut(&version)),
                }
                if versions.is_empty() {
                    self.workflows.remove_mut(&agent);
                } else {
                    self.workflows.insert_mut(agent, versions);
                }
            }
        }
        Ok(())
    }

    fn put_agent(&mut self, mut agent: Agent) {
        let before = self.unlink_agent(&agent.id);
        agent.organisation = self.one_of(agent.organisation);
        if agent.status != Status::Removed {
            let id = &agent.id;
            let organisation = &agent.organisation;
            self.names.insert_mut((organisation.clone(), agent.name.clone()), id.clone());
            self.looks.insert_mut((organisation.clone(), agent.name.look()), id.clone());
            for (capability, _) in agent.capabilities() {
                let key = (organisation.clone(), capability.into());
                add(&mut self.capabilities, key, agent.name.clone());
            }
            if let Some(parent) = &agent.parent {
                add(&mut self.children, parent.clone(), id.clone());
            }
        } else if agent.forwarded_to.is_some() {
            let place = (agent.organisation.clone(), agent.name.clone());
            let other = self.left.get(&place).and_then(|id| self.agent(id));
            // Of several that had the name, the last one counts.
            if other.is_none_or(|other| other.updated <= agent.updated) {
                self.left.insert_mut(place, agent.id.clone());
            }
        }
        let limits = agent.allowed_agents.iter();
        let limits = limits.map(|(skill, agents)| SkillLimit::new(skill, agents.iter().cloned()));
        let limits = limits.collect();
        let unmoved = before.filter(|before| before.stands_like(&agent));
        let has_moved = unmoved.is_none();
        let key = self.agent_key(&agent.id);
        let line = unmoved.map_or_else(|| self.line(&key, &agent), |before| before.line);
        let organisation = agent.organisation.clone();
        let is_removed = agent.status == Status::Removed;
        let agent = Arc::new(agent);
        let kept = Kept { agent: Arc::clone(&agent), organisation, is_removed, limits, line };
        self.agents.insert(key, kept);
        if has_moved {
            self.follow(&agent.id);
        }
    }

    fn drop_agent(&mut self, id: &AgentId) {
        if let Some(Kept { agent, .. }) = self.unlink_agent(id) {
            let place = (agent.organisation.clone(), agent.name.clone());
            if self.left.get(&place) == Some(id) {
                self.left.remove_mut(&place);
            }
        }
        self.agents.remove(id);
        self.follow(id);
    }

    /// Returns the one text of an organisation's name that all its agents have.
    fn one_of(&mut self, organisation: Organisation) -> Organisation {
        if let Some(known) = self.homes.get(&organisation) {
            return known.clone();
        }
        self.homes.insert_mut(organisation.clone());
        organisation
    }

    /// Returns the key of an agent: the one that it has, if it is known.
    fn agent_key(&self, id: &AgentId) -> AgentKey {
        self.agents.entry(id).map_or_else(|| AgentKey::new(id), |(key, _)| key.clone())
    }

    /// Returns an agent and all above it, if the tree there is sound.
    fn line(&self, key: &AgentKey, agent: &Agent) -> Option<Arc<[AgentKey]>> {
        let Some(parent) = &agent.parent else { return Some([key.clone()].into()) };
        let kept = self.agents.get(parent)?;
        let above = kept.line.as_ref()?;
        let is_sound = !kept.is_removed
            && kept.organisation == agent.organisation
            && !above.contains(key)
            && above.len() < MAX_DEPTH;
        is_sound.then(|| [key].into_iter().chain(above.iter()).cloned().collect())
    }

    /// Has those below an agent know that it stands elsewhere. Ends also where they stand in a
    /// circle: nothing is different there the second time.
    fn follow(&mut self, agent: &AgentId) {
        let below = |state: &Self, agent: &AgentId| state.children(agent).cloned().collect();
        let mut waiting: Vec<AgentId> = below(self, agent);
        while let Some(id) = waiting.pop() {
            let Some((key, kept)) = self.agents.entry(&id) else { continue };
            let line = self.line(key, &kept.agent);
            if line != kept.line {
                let (key, kept) = (key.clone(), Kept { line, ..kept.clone() });
                self.agents.insert(key, kept);
                waiting.extend::<Vec<_>>(below(self, &id));
            }
        }
    }

    /// Takes an agent out of all lists but the one by id, and returns it.
    fn unlink_agent(&mut self, id: &AgentId) -> Option<Kept> {
        let kept = self.agents.get(id).cloned()?;
        let agent = &kept.agent;
        if agent.status == Status::Removed {
            return Some(kept);
        }
        let organisation = &agent.organisation;
        self.names.remove_mut(&(organisation.clone(), agent.name.clone()));
        self.looks.remove_mut(&(organisation.clone(), agent.name.look()));
        for (capability, _) in agent.capabilities() {
            let key = (organisation.clone(), capability.into());
            take_out(&mut self.capabilities, &key, &agent.name);
        }
        if let Some(parent) = &agent.parent {
            take_out(&mut self.children, parent, id);
        }
        Some(kept)
    }
}

type Sets<K, V> = Map<K, RedBlackTreeSetSync<V>>;

fn add<K: Eq + Hash + Clone, V: Ord>(sets: &mut Sets<K, V>, key: K, value: V) {
    match sets.get_mut(&key) {
        Some(set) => set.insert_mut(value),
        None => sets.insert_mut(key, RedBlackTreeSetSync::new_sync().insert(value)),
    }
}

fn take_out<K: Eq + Hash + Clone, V: Ord>(sets: &mut Sets<K, V>, key: &K, value: &V) {
    let Some(set) = sets.get_mut(key) else { return };
    set.remove_mut(value);
    if set.is_empty() {
        sets.remove_mut(key);
    }
}

impl State {
    /// Returns the version that it is of.
    pub fn version(&self) -> Version {
        self.version
    }

    /// Returns an agent, also one that was removed.
    pub fn agent(&self, id: &AgentId) -> Option<&Arc<Agent>> {
        self.agents.get(id).map(|kept| &kept.agent)
    }

    /// Returns an agent of an organisation that was not removed.
    pub fn present(&self, organisation: &Organisation, id: &AgentId) -> Option<&Arc<Agent>> {
        self.agent(id)
            .filter(|agent| agent.status != Status::Removed && agent.organisation == *organisation)
    }

    /// Returns the agent of this name.
    pub fn named(&self, organisation: &Organisation, name: &AgentName) -> Option<&Arc<Agent>> {
        let id = self.names.get(&(organisation.clone(), name.clone()))?;
        self.agent(id)
    }

    /// Finds an agent by what people write: its name, or its id.
    pub fn find(&self, organisation: &Organisation, text: &str) -> Option<&Arc<Agent>> {
        let by_name = AgentName::parse(text).ok().and_then(|name| self.named(organisation, &name));
        let by_id = || AgentId::parse(text).ok().and_then(|id| self.present(organisation, &id));
        by_name.or_else(by_id)
    }

    /// Returns an agent that was removed, by its id, or by its name if somebody stands in for it.
    pub fn removed(&self, organisation: &Organisation, text: &str) -> Option<&Arc<Agent>> {
        let place = |name| (organisation.clone(), name);
        let by_name = AgentName::parse(text).ok().and_then(|name| self.left.get(&place(name)));
        let id = by_name.cloned().or_else(|| AgentId::parse(text).ok())?;
        self.agent(&id)
            .filter(|agent| agent.status == Status::Removed && agent.organisation == *organisation)
    }

    /// Returns who stands in for an agent that was removed (MD-13).
    pub fn stand_in(&self, removed: &Agent) -> Option<&Arc<Agent>> {
        let mut next = removed.forwarded_to.as_ref();
        for _ in 0..MAX_FORWARDS {
            let agent = self.agent(next?)?;
            if agent.status != Status::Removed {
                return Some(agent);
            }
            next = agent.forwarded_to.as_ref();
        }
        None
    }

    /// Finds an agent as [`find`](Self::find) does, or who stands in for it if it was removed.
    pub fn callee(&self, organisation: &Organisation, text: &str) -> Option<&Arc<Agent>> {
        let stand_in = || self.stand_in(self.removed(organisation, text)?);
        self.find(organisation, text).or_else(stand_in)
    }

    /// Returns the agent whose name cannot be told from this one at a glance.
    pub fn look_alike(&self, organisation: &Organisation, name: &AgentName) -> Option<&Arc<Agent>> {
        let id = self.looks.get(&(organisation.clone(), name.look()))?;
        self.agent(id)
    }

    /// Returns all agents, of every organisation, removed ones too, in no order.
    pub fn agents(&self) -> impl Iterator<Item = &Arc<Agent>> {
        self.agents.values().map(|kept| &kept.agent)
    }

    /// Returns the agents of an organisation behind a name, ordered by name, without removed ones.
    pub fn in_order<'s>(
        &'s self,
        organisation: &Organisation,
        after: Option<&AgentName>,
    ) -> impl Iterator<Item = &'s Arc<Agent>> {
        let organisation = organisation.clone();
        let first = match after {
            Some(name) => Bound::Excluded((organisation.clone(), name.clone())),
            None => Bound::Included((organisation.clone(), AgentName::first())),
        };
        let named = self.names.range((first, Bound::Unbounded));
        let named = named.take_while(move |((found, _), _)| *found == organisation);
        named.filter_map(|(_, id)| self.agent(id))
    }

    /// Returns the agents of an organisation that offer a capability, ordered by name.
    pub fn offering<'s>(
        &'s self,
        organisation: &'s Organisation,
        capability: &str,
    ) -> impl Iterator<Item = &'s Arc<Agent>> {
        let names = self.capabilities.get(&(organisation.clone(), capability.into()));
        let names = names.into_iter().flat_map(RedBlackTreeSetSync::iter);
        names.filter_map(|name| self.named(organisation, name))
    }

    /// Returns all rules, ordered by their ids.
    pub fn rules(&self) -> impl Iterator<Item = &Rule> {
        self.rules.values()
    }

    /// Returns a rule.
    pub fn rule(&self, id: &str) -> Option<&Rule> {
        self.rules.get(id)
    }

    /// Returns what decides.
    pub fn decider(&self) -> &Rules {
        &self.decider
    }

    /// Returns the epoch of an organisation: older pair tokens are refused.
    pub fn epoch(&self, organisation: &Organisation) -> u64 {
        self.organisations.get(organisation).map_or(0, |record| record.epoch)
    }

    /// Returns a key.
    pub fn key(&self, id: &str) -> Option<&Arc<KeyRecord>> {
        self.keys.get(id)
    }

    /// Returns all keys, in no order.
    pub fn keys(&self) -> impl Iterator<Item = &Arc<KeyRecord>> {
        self.keys.values()
    }

    /// Returns the keys of an agent that were not revoked, the oldest first.
    pub fn keys_of(&self, agent: &AgentId) -> Vec<&Arc<KeyRecord>> {
        let mut keys: Vec<_> = self.keys.values().filter(|key| is_of(key, agent)).collect();
        keys.sort_by(|a, b| (a.created(), a.id()).cmp(&(b.created(), b.id())));
        keys
    }

    /// Returns a workflow by its agent: the newest version, unless one is named.
    pub fn workflow(&self, agent: &AgentId, version: Option<u32>) -> Option<&Arc<SavedWorkflow>> {
        let versions = self.workflows.get(agent)?;
        match version {
            Some(version) => versions.get(&version),
            None => versions.last().map(|(_, saved)| saved),
        }
    }

    /// Returns all versions of a workflow that are kept, the oldest first.
    pub fn workflow_versions(&self, agent: &AgentId) -> impl Iterator<Item = &Arc<SavedWorkflow>> {
        self.workflows.get(agent).into_iter().flat_map(|versions| versions.values())
    }

    /// Returns a trigger.
    pub fn trigger(&self, id: &str) -> Option<&Arc<Trigger>> {
        self.triggers.get(id)
    }

    /// Returns all triggers, of every organisation, in no order.
    pub fn triggers(&self) -> impl Iterator<Item = &Arc<Trigger>> {
        self.triggers.values()
    }

    /// Returns a note of the hubs.
    pub fn note(&self, name: &str) -> Option<&Arc<str>> {
        self.notes.get(name)
    }

    /// Returns the notes whose names begin so, in the order of their names.
    pub fn notes<'a>(&'a self, prefix: &'a str) -> impl Iterator<Item = (&'a str, &'a Arc<str>)> {
        let behind = self.notes.range(prefix.to_owned()..);
        let notes = behind.map(|(name, note)| (name.as_str(), note));
        notes.take_while(move |(name, _)| name.starts_with(prefix))
    }
}

fn is_of(key: &KeyRecord, agent: &AgentId) -> bool {
    let is_owner = matches!(key.caller(), Caller::Agent(id) if **id == *agent.as_str());
    is_owner && key.revoked().is_none()
}

impl Places for State {
    fn place(&self, agent: &AgentId) -> Option<Place<'_>> {
        let kept = self.agents.get(agent)?;
        // The agent itself is the one thing here that is not at hand.
        let parent = match &kept.line {
            Some(line) => line.get(1).map(AgentKey::id),
            None => kept.agent.parent.as_ref(),
        };
        (!kept.is_removed).then_some(Place {
            organisation: &kept.organisation,
            parent,
            line: kept.line.as_deref(),
            limits: &kept.limits,
        })
    }
}

impl Tree for State {
    fn children(&self, agent: &AgentId) -> impl Iterator<Item = &AgentId> {
        self.children.get(agent).into_iter().flat_map(RedBlackTreeSetSync::iter)
    }
}
