//! Where an agent is, for somebody who may know (M-04 to M-09).

use std::sync::Arc;

use nuncio_auth::rules::{Asker, Grant, Question};

use super::Directory;
use crate::{
    agent::{Agent, Delivery},
    error::Error,
    state::State,
};

/// From where an agent is to be reached (MG-02).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Network {
    /// The network that agents of the hub share.
    Internal,
    /// Anywhere else.
    External,
}

/// Where an agent is, and what may be asked of it.
#[derive(Clone, Debug)]
pub struct Discovery {
    /// The agent.
    pub agent: Arc<Agent>,
    /// Its address on the asker's network; none if calls go through the hub.
    pub url: Option<Arc<str>>,
    /// What the asker may ask of it.
    pub grant: Grant,
    /// Whether the agent that was asked for is gone, and this one stands in for it.
    pub is_forwarded: bool,
}

impl Directory {
    /// Says where an agent is, if the asker may call it.
    ///
    /// Decided anew each time: topology is never pushed, and nothing is remembered (M-12).
    pub fn discover(
        &self,
        asker: Asker<'_>,
        target: &str,
        network: Network,
    ) -> Result<Discovery, Error> {
        let state = self.state();
        let (agent, is_forwarded) = match state.find(asker.organisation(), target) {
            Some(agent) => (agent, false),
            None => (stand_in(&state, asker, target)?, true),
        };
        let skills = agent.card.iter().flat_map(|card| &card.card().skills);
        let skills = skills.map(|skill| skill.id.as_str());
        let grant = state
            .decider()
            .grant(&**state, (asker, &agent.id), skills)
            .map_err(|decision| Error::Denied { decision: Box::new(decision) })?;
        let url = match agent.delivery {
            Delivery::Direct => Some(address(agent, network)?),
            Delivery::Gateway | Delivery::Pull => None,
        };
        Ok(Discovery { agent: Arc::clone(agent), url, grant, is_forwarded })
    }
}

fn address(agent: &Agent, network: Network) -> Result<Arc<str>, Error> {
    let addresses = &agent.addresses;
    let (first, second) = match network {
        Network::Internal => (&addresses.internal, &addresses.public),
        Network::External => (&addresses.public, &None),
    };
    first.as_ref().or(second.as_ref()).cloned().ok_or(Error::NoAddress)
}

/// Returns who stands in for an agent that was removed (MD-13).
///
/// Only those who could have called the agent learn that there was one.
fn stand_in<'s>(state: &'s State, asker: Asker<'_>, target: &str) -> Result<&'s Arc<Agent>, Error> {
    let gone = state.removed(asker.organisation(), target).ok_or(Error::no_agent())?;
    if let Some(agent) = state.stand_in(gone) {
        let may_see = state.decider().decide(state, &Question::new(asker, &agent.id));
        return if may_see.is_allowed() { Ok(agent) } else { Err(Error::no_agent()) };
    }
    if was_near(state, asker, gone) {
        return Err(Error::Gone { agent: gone.id.clone(), forwarded_to: None });
    }
    Err(Error::no_agent())
}

fn was_near(state: &State, asker: Asker<'_>, gone: &Agent) -> bool {
    match asker {
        Asker::Agent { id, .. } => {
            let parent = state.agent(id).and_then(|agent| agent.parent.as_ref());
            gone.parent.as_ref() == Some(id) || (parent.is_some() && gone.parent.as_ref() == parent)
        }
        Asker::User { .. } | Asker::Administrator { .. } => true,
    }
}
