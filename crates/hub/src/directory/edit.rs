//! What becomes of an agent that is there.

use std::{collections::BTreeMap, sync::Arc};

use nuncio_auth::rules::{Tree as _, check_move};
use nuncio_protocol::{
    ids::{AgentId, Organisation},
    json::Raw,
};

use super::{
    Actor, Change, Directory,
    health::set_status,
    register::{address_payload, card_payload, check_new_name, check_role, check_standing},
};
use crate::{
    agent::{Addresses, Agent, Card, Delivery, Origin, Standing, Status, Watch},
    error::Error,
    event,
    name::AgentName,
    state::State,
    store::Kind,
    workflow,
};

/// What is to be different about an agent; what is not said stays.
#[derive(Clone, Debug, Default)]
pub struct Patch {
    /// What it is called.
    pub name: Option<AgentName>,
    /// What it is for.
    pub role: Option<String>,
    /// Where it is reached.
    pub addresses: Option<Addresses>,
    /// How calls come to it.
    pub delivery: Option<Delivery>,
    /// How far it is trusted.
    pub standing: Option<Standing>,
    /// How its health is known.
    pub watch: Option<Watch>,
    /// Skills that only some agents may use, and which.
    pub allowed_agents: Option<BTreeMap<String, Vec<AgentId>>>,
}

/// What becomes of those below an agent that is removed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Below {
    /// Then it is not removed.
    #[default]
    Refuse,
    /// They come to stand below the one above.
    Lift,
    /// They are removed too.
    Remove,
}

impl Directory {
    /// Changes what is said of an agent.
    pub async fn edit(
        &self,
        organisation: &Organisation,
        id: &AgentId,
        patch: &Patch,
        actor: &Actor,
    ) -> Result<Arc<Agent>, Error> {
        self.change(|state| {
            let mut change = Change::new(actor);
            let agent = present(state, organisation, id)?;
            let next = edited(state, &change, agent, patch)?;
            if next == **agent {
                return Ok((change, ()));
            }
            let name = if next.addresses == agent.addresses {
                event::Name::Changed
            } else {
                event::Name::AddressChanged
            };
            change.event(name, &next, &address_payload(&next));
            if next.allowed_agents != agent.allowed_agents {
                change.raise_epoch(state, organisation);
            }
            change.agent(&next);
            change.note("agent.edit", id.as_str(), next.name.as_str());
            Ok((change, ()))
        })
        .await?;
        self.current(id)
    }

    /// Takes a new card of an agent (MD-10). Says whether it is in force, or held until somebody
    /// agrees.
    pub async fn update_card(
        &self,
        organisation: &Organisation,
        id: &AgentId,
        card: &Card,
        actor: &Actor,
    ) -> Result<bool, Error> {
        // What an administrator says needs no agreement.
        let hold = self.0.options.hold_cards && actor.as_str().starts_with("agent:");
        self.change(|state| {
            let mut change = Change::new(actor);
            let agent = present(state, organisation, id)?;
            if agent.watch != Watch::Hosted {
                self.0.options.signatures.judge(card, &agent.addresses)?;
            }
            let mut next = Agent::clone(agent);
            let is_held = put_card(&mut change, &mut next, card, hold);
            if next != **agent {
                change.agent(&next);
                change.note("agent.card", id.as_str(), if is_held { "held" } else { "" });
            }
            Ok((change, !is_held))
        })
        .await
    }

    /// Puts a card in force that was held, or drops it.
    pub async fn decide_card(
        &self,
        organisation: &Organisation,
        id: &AgentId,
        is_agreed: bool,
        actor: &Actor,
    ) -> Result<Arc<Agent>, Error> {
        self.change(|state| {
            let mut change = Change::new(actor);
            let agent = present(state, organisation, id)?;
            let mut next = Agent::clone(agent);
            let card = next.held_card.take().ok_or(Error::Unknown { what: "held card" })?;
            if is_agreed {
                put_card(&mut change, &mut next, &card, false);
            } else {
                next.updated = change.now;
                change.event(event::Name::Changed, &next, &[]);
            }
            change.agent(&next);
            let what = if is_agreed { "agent.card.accept" } else { "agent.card.reject" };
            change.note(what, id.as_str(), "");
            Ok((change, ()))
        })
        .await?;
        self.current(id)
    }

    /// Gives an agent another place in the hierarchy. Everything that rested on the old one ends:
    /// the epoch is raised in the same transaction (MG-12).
    pub async fn move_to(
        &self,
        organisation: &Organisation,
        id: &AgentId,
        parent: Option<&AgentId>,
        actor: &Actor,
    ) -> Result<Arc<Agent>, Error> {
        self.change(|state| {
            let mut change = Change::new(actor);
            let agent = present(state, organisation, id)?;
            if agent.parent.as_ref() == parent {
                return Ok((change, ()));
            }
            check_move(state, id, parent)?;
            let old = agent.parent.as_ref();
            place(&mut change, agent, parent);
            change.raise_epoch(state, organisation);
            let detail = format!("from {} to {}", shown(old), shown(parent));
            change.note("agent.move", id.as_str(), &detail);
            Ok((change, ()))
        })
        .await?;
        self.current(id)
    }

    /// Removes an agent for good. Its keys end with it; another may stand in for it.
    pub async fn remove(
        &self,
        organisation: &Organisation,
        id: &AgentId,
        below: Below,
        forwarded_to: Option<&AgentId>,
        actor: &Actor,
    ) -> Result<usize, Error> {
        let removed = self
            .change(|state| {
                let mut change = Change::new(actor);
                let agent = present(state, organisation, id)?;
                if let Some(other) = forwarded_to {
                    present(state, organisation, other)?;
                    if other == id {
                        return Err(Error::invalid("forwarded_to", "is the agent itself"));
                    }
                }
                let removed = with_those_below(state, &mut change, agent, below)?;
                if let Some(other) = forwarded_to
                    && removed.contains(other)
                {
                    return Err(Error::invalid("forwarded_to", "is removed too"));
                }
                for gone in &removed {
                    let Some(agent) = state.agent(gone) else { continue };
                    let forwarded_to = if gone == id { forwarded_to } else { None };
                    take_out(state, &mut change, agent, forwarded_to);
                }
                change.raise_epoch(state, organisation);
                change.note("agent.remove", id.as_str(), &shown(forwarded_to));
                Ok((change, removed))
            })
            .await?;
        for id in &removed {
            self.0.beats.forget(id);
            self.0.store.forget_beats(id.clone()).await?;
        }
        Ok(removed.len())
    }

    /// Lets an agent rest, with all below it (MD-07).
    pub async fn pause(
        &self,
        organisation: &Organisation,
        id: &AgentId,
        actor: &Actor,
    ) -> Result<Arc<Agent>, Error> {
        self.change(|state| {
            let mut change = Change::new(actor);
            present(state, organisation, id)?;
            for id in below_and(state, id) {
                let Some(agent) = state.agent(&id) else { continue };
                if agent.status != Status::Paused {
                    set_status(&mut change, agent, Status::Paused, &[]);
                }
            }
            change.note("agent.pause", id.as_str(), "");
            Ok((change, ()))
        })
        .await?;
        self.current(id)
    }

    /// Ends the rest of an agent. One below another that rests cannot be woken alone.
    pub async fn resume(
        &self,
        organisation: &Organisation,
        id: &AgentId,
        actor: &Actor,
    ) -> Result<Arc<Agent>, Error> {
        self.change(|state| {
            let mut change = Change::new(actor);
            let agent = present(state, organisation, id)?;
            if !matches!(agent.status, Status::Paused | Status::Hibernated) {
                return Ok((change, ()));
            }
            let parent = agent.parent.as_ref().and_then(|parent| state.agent(parent));
            if parent.is_some_and(|parent| parent.status == Status::Paused) {
                return Err(Error::invalid("parent", "rests too; resume that one first"));
            }
            set_status(&mut change, agent, agent.watch.first_status(), &[]);
            change.note("agent.resume", id.as_str(), "");
            Ok((change, ()))
        })
        .await?;
        self.current(id)
    }

    pub(super) fn current(&self, id: &AgentId) -> Result<Arc<Agent>, Error> {
        self.state().agent(id).cloned().ok_or(Error::no_agent())
    }
}

pub(super) fn present<'s>(
    state: &'s State,
    organisation: &Organisation,
    id: &AgentId,
) -> Result<&'s Arc<Agent>, Error> {
    state.present(organisation, id).ok_or(Error::no_agent())
}

fn edited(state: &State, change: &Change, agent: &Agent, patch: &Patch) -> Result<Agent, Error> {
    let mut next = agent.clone();
    if let Some(name) = &patch.name {
        check_new_name(state, &agent.organisation, &agent.id, name)?;
        next.name = name.clone();
    }
    if let Some(role) = &patch.role {
        check_role(Some(role))?;
        next.role = (!role.is_empty()).then(|| role.clone());
    }
    if let Some(standing) = patch.standing {
        check_standing(standing)?;
        next.standing = standing;
    }
    next.addresses = patch.addresses.clone().unwrap_or(next.addresses);
    next.delivery = patch.delivery.unwrap_or(next.delivery);
    next.watch = patch.watch.unwrap_or(next.watch);
    next.allowed_agents = patch.allowed_agents.clone().unwrap_or(next.allowed_agents);
    if next != *agent {
        next.updated = change.now;
    }
    Ok(next)
}

/// Puts a card on an agent, or holds it. Says whether it is held.
pub(super) fn put_card(change: &mut Change, agent: &mut Agent, card: &Card, hold: bool) -> bool {
    let current = agent.card.as_ref();
    if current == Some(card) {
        return false;
    }
    if hold && current.is_some_and(|current| !current.says_the_same_as(card)) {
        if agent.held_card.as_ref() != Some(card) {
            agent.held_card = Some(card.clone());
            agent.updated = change.now;
            change.event(event::Name::CardHeld, agent, &card_payload(card));
        }
        return true;
    }
    agent.card = Some(card.clone());
    agent.held_card = None;
    agent.updated = change.now;
    change.event(event::Name::CardUpdated, agent, &card_payload(card));
    false
}

fn place(change: &mut Change, agent: &Agent, parent: Option<&AgentId>) {
    let mut next = agent.clone();
    next.parent = parent.cloned();
    next.updated = change.now;
    let parent = |parent: Option<&AgentId>| match parent {
        Some(parent) => Raw::string(parent.as_str()),
        None => Raw::string(""),
    };
    let payload = [
        ("parent_id", parent(next.parent.as_ref())),
        ("old_parent_id", parent(agent.parent.as_ref())),
    ];
    change.agent(&next);
    change.event(event::Name::Moved, &next, &payload);
}

/// Returns who is removed with an agent, itself first, and lifts who is not.
fn with_those_below(
    state: &State,
    change: &mut Change,
    agent: &Agent,
    below: Below,
) -> Result<Vec<AgentId>, Error> {
    let children: Vec<_> = state.children(&agent.id).cloned().collect();
    match below {
        Below::Refuse if !children.is_empty() => Err(Error::HasChildren { count: children.len() }),
        Below::Refuse => Ok(vec![agent.id.clone()]),
        Below::Lift => {
            for child in children.iter().filter_map(|child| state.agent(child)) {
                place(change, child, agent.parent.as_ref());
            }
            Ok(vec![agent.id.clone()])
        }
        Below::Remove => Ok(below_and(state, &agent.id)),
    }
}

/// Returns an agent and all below it.
fn below_and(state: &State, id: &AgentId) -> Vec<AgentId> {
    let mut found = vec![id.clone()];
    let mut next = 0;
    // The tree has no loops: every move was checked.
    while let Some(id) = found.get(next).cloned() {
        found.extend(state.children(&id).cloned());
        next += 1;
    }
    found
}

fn take_out(state: &State, change: &mut Change, agent: &Agent, forwarded_to: Option<&AgentId>) {
    for key in state.keys_of(&agent.id) {
        change.key(&nuncio_auth::KeyRecord::clone(key).into_revoked());
    }
    for saved in state.workflow_versions(&agent.id) {
        change.put(Kind::Workflow, &workflow::key(&agent.id, saved.version), None);
    }
    let mut gone = agent.clone();
    gone.forwarded_to = forwarded_to.cloned();
    set_status(change, &gone, Status::Removed, &[]);
    if let Some(other) = forwarded_to {
        change.event(
            event::Name::Replaced,
            &gone,
            &[("forwarded_to", Raw::string(other.as_str()))],
        );
    }
}

fn shown(agent: Option<&AgentId>) -> String {
    agent.map_or_else(|| "nobody".to_owned(), |agent| agent.as_str().to_owned())
}

impl Agent {
    /// Tells whether the configuration file brought it in.
    pub fn is_configured(&self) -> bool {
        self.origin == Origin::Configuration
    }
}
