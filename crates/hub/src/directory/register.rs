//! How agents come into the directory.

use std::{collections::BTreeMap, sync::Arc};

use nuncio_auth::{ApiKey, rules::check_move};
use nuncio_protocol::{
    ids::{AgentId, Organisation},
    json::Raw,
};

use super::{
    Actor, Change, Directory,
    edit::put_card,
    health::set_status,
    keys::{self, Enrolment},
};
use crate::{
    agent::{
        Addresses, Agent, Card, Delivery, Hosting, MAX_ROLE_BYTES, Origin, Standing, Status, Watch,
    },
    error::Error,
    event,
    name::AgentName,
    state::State,
};

/// An agent that somebody brings in.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct NewAgent {
    /// Names it for good; made up if there is none.
    pub id: Option<AgentId>,
    /// What it is called.
    pub name: AgentName,
    /// What it is for.
    pub role: Option<String>,
    /// Its card, if it is known.
    pub card: Option<Card>,
    /// The agent above it.
    pub parent: Option<AgentId>,
    /// Where it is reached.
    pub addresses: Addresses,
    /// How calls come to it.
    pub delivery: Delivery,
    /// How far it is trusted.
    pub standing: Standing,
    /// How its health is known.
    pub watch: Watch,
    /// Skills that only some agents may use, and which.
    pub allowed_agents: BTreeMap<String, Vec<AgentId>>,
    /// What the hub runs for it itself.
    pub hosting: Option<Hosting>,
}

impl NewAgent {
    /// An agent of which nothing is known but its name.
    pub fn new(name: AgentName) -> Self {
        Self {
            id: None,
            name,
            role: None,
            card: None,
            parent: None,
            addresses: Addresses::default(),
            delivery: Delivery::default(),
            standing: Standing::default(),
            watch: Watch::default(),
            allowed_agents: BTreeMap::new(),
            hosting: None,
        }
    }
}

/// An agent that comes by itself (MD-01, OD-01).
#[derive(Clone, Debug)]
pub struct Registration {
    /// Names it for good.
    pub id: AgentId,
    /// What it wants to be called; made of its card's name, or of its id, if it does not say.
    pub name: Option<AgentName>,
    /// Its card.
    pub card: Card,
    /// Where it is reached.
    pub addresses: Addresses,
    /// How calls come to it; as before, or directly, if it does not say.
    pub delivery: Option<Delivery>,
}

/// On whose word an agent registers.
#[derive(Clone, Debug)]
pub enum Registrar {
    /// An administrator's.
    Administrator,
    /// Its own: it has shown its token.
    Itself(AgentId),
    /// That of whoever gave it an enrolment token.
    Enrolled(Enrolment),
}

/// An agent that has registered.
#[derive(Debug)]
pub struct Registered {
    /// The agent.
    pub agent: Arc<Agent>,
    /// Its token, the first time; it cannot be had again.
    pub token: Option<ApiKey>,
}

impl Directory {
    /// Brings in an agent.
    pub async fn add(
        &self,
        organisation: &Organisation,
        new: NewAgent,
        origin: Origin,
        actor: &Actor,
    ) -> Result<Arc<Agent>, Error> {
        let id = new.id.clone().unwrap_or_else(AgentId::generate);
        // The cards of agents that the hub runs are its own.
        if let Some(card) = new.card.as_ref().filter(|_| new.watch != Watch::Hosted) {
            self.0.options.signatures.judge(card, &new.addresses)?;
        }
        self.change(|state| {
            let mut change = Change::new(actor);
            add(state, &mut change, (&id, organisation), &new, origin)?;
            Ok((change, ()))
        })
        .await?;
        self.state().agent(&id).cloned().ok_or(Error::no_agent())
    }

    /// Takes the registration of an agent that comes by itself, the first time or again.
    ///
    /// The first time needs an enrolment token, and gives the agent a token of its own; later
    /// ones need that. What was removed never comes back (MD-01).
    pub async fn register(
        &self,
        organisation: &Organisation,
        registration: Registration,
        by: &Registrar,
        actor: &Actor,
    ) -> Result<Registered, Error> {
        let id = registration.id.clone();
        self.0.options.signatures.judge(&registration.card, &registration.addresses)?;
        let issued = self
            .change(|state| {
                let mut change = Change::new(actor);
                let issued = match state.agent(&id) {
                    Some(agent) if agent.organisation != *organisation => {
                        // Ids are everybody's, so a foreign one is taken, and no more is said.
                        return Err(Error::IdTaken { id: id.clone() });
                    }
                    Some(agent) if agent.status == Status::Removed => {
                        let forwarded_to = agent.forwarded_to.clone();
                        return Err(Error::Gone { agent: id.clone(), forwarded_to });
                    }
                    Some(agent) => self.again(state, &mut change, agent, &registration, by)?,
                    None => first(state, &mut change, organisation, &registration, by)?,
                };
                Ok((change, issued))
            })
            .await?;
        self.heard_of(&id).await?;
        let agent = self.state().agent(&id).cloned().ok_or(Error::no_agent())?;
        Ok(Registered { agent, token: issued })
    }

    fn again(
        &self,
        state: &State,
        change: &mut Change,
        agent: &Agent,
        registration: &Registration,
        by: &Registrar,
    ) -> Result<Option<ApiKey>, Error> {
        let token = match by {
            Registrar::Administrator => None,
            Registrar::Itself(id) if *id == agent.id => None,
            Registrar::Itself(_) => return Err(Error::Forbidden(NOT_ITS_TOKEN)),
            Registrar::Enrolled(enrolment) if enrolment.agent.as_ref() == Some(&agent.id) => {
                Some(keys::enrol(state, change, enrolment, agent)?)
            }
            // Whoever has a token for newcomers must not take the place of somebody.
            Registrar::Enrolled(_) => return Err(Error::Forbidden(NOT_A_NEWCOMER)),
        };
        // What an administrator says needs no agreement, and an enrolment token for this agent is
        // an administrator's word.
        let is_itself = matches!(by, Registrar::Itself(_));
        let hold = self.0.options.hold_cards && is_itself;
        let mut next = agent.clone();
        if registration.addresses != agent.addresses {
            next.addresses =
                Addresses { card: agent.addresses.card.clone(), ..registration.addresses.clone() };
        }
        if next.addresses != agent.addresses {
            if hold && agent.addresses.is_any() {
                return Err(Error::Forbidden(NEW_ADDRESS));
            }
            next.updated = change.now;
            change.event(event::Name::AddressChanged, agent, &address_payload(&next));
        }
        if let Some(delivery) = delivery(registration, agent, is_itself) {
            // Who has no address and is called directly cannot be called at all yet.
            if hold && (agent.addresses.is_any() || agent.delivery != Delivery::Direct) {
                return Err(Error::Forbidden(NEW_DELIVERY));
            }
            next.delivery = delivery;
            next.updated = change.now;
        }
        put_card(change, &mut next, &registration.card, hold);
        let is_up = next.status.is_up();
        let is_resting = matches!(next.status, Status::Paused | Status::Hibernated);
        if is_up || is_resting {
            if next != *agent {
                change.agent(&next);
            }
        } else {
            set_status(change, &next, Status::Online, &address_payload(&next));
        }
        if next != *agent || token.is_some() {
            change.note("agent.register", agent.id.as_str(), agent.name.as_str());
        }
        Ok(token)
    }
}

/// Returns how calls are to come to an agent from now on, if that is another way than before.
fn delivery(registration: &Registration, agent: &Agent, is_itself: bool) -> Option<Delivery> {
    let delivery = registration.delivery?;
    // Either way it is called at its address. That the hub is in between is not for it to undo.
    let is_overruled =
        is_itself && (agent.delivery, delivery) == (Delivery::Gateway, Delivery::Direct);
    (delivery != agent.delivery && !is_overruled).then_some(delivery)
}

const NOT_ITS_TOKEN: &str = "this token belongs to another agent";
const NEW_ADDRESS: &str = "this is another address than before, and `hold_cards` leaves that to an \
                           administrator: PATCH /api/v1/agents/{agent} with it, then register again";
const NEW_DELIVERY: &str = "this is another `delivery` than before, and `hold_cards` leaves that to \
                            an administrator: PATCH /api/v1/agents/{agent} with it, then register \
                            again";
const NOT_A_NEWCOMER: &str = "this agent is registered already; register again with its own token";

fn first(
    state: &State,
    change: &mut Change,
    organisation: &Organisation,
    registration: &Registration,
    by: &Registrar,
) -> Result<Option<ApiKey>, Error> {
    let enrolment = match by {
        Registrar::Administrator => None,
        // A token of an agent that is not there any more, or of another.
        Registrar::Itself(_) => return Err(Error::Forbidden(NOT_ITS_TOKEN)),
        Registrar::Enrolled(enrolment) => Some(enrolment),
    };
    if let Some(bound) = enrolment.and_then(|enrolment| enrolment.agent.as_ref())
        && *bound != registration.id
    {
        return Err(Error::Forbidden("this enrolment token is for another agent"));
    }
    let name = pick_name(state, organisation, registration)?;
    let agent = Agent {
        id: registration.id.clone(),
        organisation: organisation.clone(),
        name,
        role: None,
        card: Some(registration.card.clone()),
        held_card: None,
        parent: enrolment.and_then(|enrolment| enrolment.parent.clone()),
        addresses: registration.addresses.clone(),
        delivery: registration.delivery.unwrap_or_default(),
        standing: Standing::default(),
        watch: Watch::Heartbeat,
        status: Status::Online,
        status_since: change.now,
        origin: Origin::Registration,
        forwarded_to: None,
        allowed_agents: BTreeMap::new(),
        hosting: None,
        created: change.now,
        updated: change.now,
    };
    check_place(state, &agent)?;
    begin(change, &agent);
    change.note("agent.register", agent.id.as_str(), agent.name.as_str());
    match enrolment {
        Some(enrolment) => keys::enrol(state, change, enrolment, &agent).map(Some),
        None => Ok(Some(keys::issue(change, &agent))),
    }
}

/// Makes an agent part of a change.
pub(super) fn add(
    state: &State,
    change: &mut Change,
    (id, organisation): (&AgentId, &Organisation),
    new: &NewAgent,
    origin: Origin,
) -> Result<(), Error> {
    check_role(new.role.as_deref())?;
    check_standing(new.standing)?;
    check_new_name(state, organisation, id, &new.name)?;
    if state.agent(id).is_some() {
        return Err(Error::IdTaken { id: id.clone() });
    }
    let status = new.watch.first_status();
    let agent = Agent {
        id: id.clone(),
        organisation: organisation.clone(),
        name: new.name.clone(),
        role: new.role.clone(),
        card: new.card.clone(),
        held_card: None,
        parent: new.parent.clone(),
        addresses: new.addresses.clone(),
        delivery: new.delivery,
        standing: new.standing,
        watch: new.watch,
        status,
        status_since: change.now,
        origin,
        forwarded_to: None,
        allowed_agents: new.allowed_agents.clone(),
        hosting: new.hosting.clone(),
        created: change.now,
        updated: change.now,
    };
    check_place(state, &agent)?;
    begin(change, &agent);
    change.note("agent.add", agent.id.as_str(), agent.name.as_str());
    Ok(())
}

/// Puts a new agent into a change. Nobody loses access, so tokens stay good.
fn begin(change: &mut Change, agent: &Agent) {
    let name = match agent.status {
        Status::Online => event::Name::Online,
        _ => event::Name::Provisioning,
    };
    change.agent(agent);
    change.event(name, agent, &address_payload(agent));
    if let Some(card) = &agent.card {
        change.event(event::Name::CardUpdated, agent, &card_payload(card));
    }
}

pub(super) fn address_payload(agent: &Agent) -> Vec<(&'static str, Raw)> {
    let mut payload = vec![("name", Raw::string(agent.title()))];
    let url = agent.addresses.public.as_ref().or(agent.addresses.internal.as_ref());
    payload.extend(url.map(|url| ("url", Raw::string(url))));
    payload
}

/// The whole card: the log is its history.
pub(super) fn card_payload(card: &Card) -> Vec<(&'static str, Raw)> {
    let text = Raw::parse_text(card.text()).unwrap_or_else(|_| Raw::string(card.text()));
    vec![("agent_card", text)]
}

/// Picks a name for an agent that comes by itself. One that asks for a name gets that or none.
fn pick_name(
    state: &State,
    organisation: &Organisation,
    registration: &Registration,
) -> Result<AgentName, Error> {
    let id = &registration.id;
    if let Some(name) = &registration.name {
        check_new_name(state, organisation, id, name)?;
        return Ok(name.clone());
    }
    let title = AgentName::from_title(&registration.card.card().name);
    let own = AgentName::from_title(id.as_str());
    let mut candidates = [title, own].into_iter().flatten();
    let free = candidates.find(|name| check_new_name(state, organisation, id, name).is_ok());
    free.ok_or_else(|| {
        Error::invalid(
            "name",
            "is needed: neither the card's name nor the id make one that is free",
        )
    })
}

pub(super) fn check_new_name(
    state: &State,
    organisation: &Organisation,
    id: &AgentId,
    name: &AgentName,
) -> Result<(), Error> {
    if state.named(organisation, name).is_some_and(|agent| agent.id != *id) {
        return Err(Error::NameTaken { name: name.clone() });
    }
    // Agents are found by name or id, so a name must not be somebody's id.
    if name.as_str() != id.as_str()
        && AgentId::parse(name.as_str()).is_ok_and(|other| state.agent(&other).is_some())
    {
        return Err(Error::NameTaken { name: name.clone() });
    }
    if AgentName::parse(id.as_str())
        .is_ok_and(|other| state.named(organisation, &other).is_some_and(|agent| agent.id != *id))
    {
        return Err(Error::IdTaken { id: id.clone() });
    }
    match state.look_alike(organisation, name).filter(|agent| agent.id != *id) {
        Some(agent) => Err(Error::LookAlike { name: name.clone(), other: agent.name.clone() }),
        None => Ok(()),
    }
}

/// Checks that a new agent can stand where it wants to.
fn check_place(state: &State, agent: &Agent) -> Result<(), Error> {
    let Some(parent) = &agent.parent else { return Ok(()) };
    let alone = Agent { parent: None, ..agent.clone() };
    let with = state.with_agent(alone);
    Ok(check_move(&with, &agent.id, Some(parent))?)
}

pub(super) fn check_role(role: Option<&str>) -> Result<(), Error> {
    match role {
        Some(role) if role.len() > MAX_ROLE_BYTES => {
            Err(Error::invalid("role", format!("has more than {MAX_ROLE_BYTES} bytes")))
        }
        Some(role) if role.chars().any(char::is_control) => {
            Err(Error::invalid("role", "has control characters; write one line of text"))
        }
        _ => Ok(()),
    }
}

pub(super) fn check_standing(standing: Standing) -> Result<(), Error> {
    if (1..=5).contains(&standing.trust) {
        return Ok(());
    }
    Err(Error::invalid("trust", format!("is a number from 1 to 5, not {}", standing.trust)))
}
