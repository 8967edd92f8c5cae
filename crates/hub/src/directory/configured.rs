//! Agents of the configuration file: what it says is so, and what it no longer says is not.

use std::collections::{BTreeMap, BTreeSet};

use nuncio_protocol::ids::{AgentId, Organisation};

use super::{Actor, Below, Directory, NewAgent, Patch};
use crate::{agent::Origin, error::Error, name::AgentName};

/// An agent of the configuration file.
#[derive(Clone, Debug)]
pub struct ConfiguredAgent {
    /// What it is; its id, parent and limits are made of the names below.
    pub agent: NewAgent,
    /// The name of the agent above it.
    pub parent: Option<AgentName>,
    /// Skills that only some agents may use, and their names.
    pub allowed_agents: BTreeMap<String, Vec<AgentName>>,
}

/// What came of it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Configured {
    /// Who is new.
    pub added: Vec<AgentName>,
    /// Who is gone.
    pub removed: Vec<AgentName>,
}

impl Directory {
    /// Brings the directory in line with the configuration file. Agents that came by another way
    /// are left alone, and their names cannot be taken.
    pub async fn configure(
        &self,
        organisation: &Organisation,
        agents: &[ConfiguredAgent],
    ) -> Result<Configured, Error> {
        let actor = Actor::configuration();
        let mut configured = Configured::default();
        let wanted: BTreeSet<&AgentName> = agents.iter().map(|new| &new.agent.name).collect();
        let gone: Vec<_> = {
            let state = self.state();
            let ours = state.in_order(organisation, None).filter(|agent| agent.is_configured());
            ours.filter(|agent| !wanted.contains(&agent.name)).cloned().collect()
        };
        for agent in gone {
            self.remove(organisation, &agent.id, Below::Lift, None, &actor).await?;
            configured.removed.push(agent.name.clone());
        }
        for new in agents {
            if self.put(organisation, new, &actor).await? {
                configured.added.push(new.agent.name.clone());
            }
        }
        // Only now everybody is there whom somebody could stand below.
        for new in agents {
            let id = self.id_of(organisation, &new.agent.name)?;
            let parent = new.parent.as_ref().map(|name| self.id_of(organisation, name));
            self.move_to(organisation, &id, parent.transpose()?.as_ref(), &actor).await?;
            let limits = new.allowed_agents.iter().map(|(skill, names)| {
                let ids = names.iter().map(|name| self.id_of(organisation, name));
                Ok((skill.clone(), ids.collect::<Result<Vec<_>, Error>>()?))
            });
            let limits = limits.collect::<Result<_, Error>>()?;
            let patch = Patch { allowed_agents: Some(limits), ..Patch::default() };
            self.edit(organisation, &id, &patch, &actor).await?;
        }
        Ok(configured)
    }

    /// Adds an agent, or changes the one that is there. Says whether it is new.
    async fn put(
        &self,
        organisation: &Organisation,
        new: &ConfiguredAgent,
        actor: &Actor,
    ) -> Result<bool, Error> {
        let agent = &new.agent;
        let found = self.state().named(organisation, &agent.name).cloned();
        let Some(found) = found else {
            self.add(organisation, agent.clone(), Origin::Configuration, actor).await?;
            return Ok(true);
        };
        if !found.is_configured() {
            return Err(Error::NameTaken { name: agent.name.clone() });
        }
        let patch = Patch {
            name: None,
            role: Some(agent.role.clone().unwrap_or_default()),
            addresses: Some(agent.addresses.clone()),
            delivery: Some(agent.delivery),
            standing: Some(agent.standing),
            watch: Some(agent.watch),
            allowed_agents: None,
        };
        self.edit(organisation, &found.id, &patch, actor).await?;
        if let Some(card) = &agent.card {
            self.update_card(organisation, &found.id, card, actor).await?;
        }
        Ok(false)
    }

    fn id_of(&self, organisation: &Organisation, name: &AgentName) -> Result<AgentId, Error> {
        let state = self.state();
        let agent = state.named(organisation, name).map(|agent| agent.id.clone());
        agent.ok_or_else(|| {
            Error::invalid("agents", format!("name `{name}`, and there is no such agent"))
        })
    }
}
