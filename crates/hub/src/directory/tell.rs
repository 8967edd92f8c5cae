//! What agents tell of themselves that changes nothing, and is kept all the same.

use nuncio_protocol::{
    ids::{AgentId, Organisation},
    json::{Object, Raw},
    time::Timestamp,
};
use serde::{Deserialize, Serialize};

use super::{Actor, Change, Directory, Passing};
use crate::{error::Error, event, store::Kind};

/// Before the id of work that the hub carries from one agent to another, until it has ended.
const DELEGATED: &str = "delegated/";

/// Work that one agent has given to another, and that the hub carries (MD-34).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Delegation {
    /// The task.
    pub(crate) id: String,
    /// Who has given it.
    pub(crate) source: AgentId,
    /// Who has got it.
    pub(crate) target: String,
}

impl Delegation {
    fn note(&self) -> String {
        format!("{DELEGATED}{}", self.id)
    }
}

impl Directory {
    /// Keeps an event about an agent (MD-50).
    pub(crate) async fn tell(
        &self,
        agent: &AgentId,
        name: event::Name,
        payload: &[(&str, Raw)],
        actor: &Actor,
    ) -> Result<(), Error> {
        self.change(|state| {
            let mut change = Change::new(actor);
            let agent = state.agent(agent).ok_or(Error::no_agent())?;
            change.event(name, agent, payload);
            Ok((change, ()))
        })
        .await
    }

    /// Tells whoever listens of something that does not last.
    pub(crate) fn tell_passing(
        &self,
        (organisation, agent): (&Organisation, &AgentId),
        name: event::Name,
        payload: &[(&str, Raw)],
    ) {
        let payload = Object::from_members(payload.iter().cloned());
        self.0.feed.pass(Passing {
            organisation: organisation.clone(),
            name: name.as_str(),
            agent: agent.clone(),
            at: Timestamp::now(),
            payload: payload.as_str().to_owned(),
        });
    }

    /// Keeps that work was given to another, until it has ended.
    pub(crate) async fn delegated(
        &self,
        delegation: &Delegation,
        payload: &[(&str, Raw)],
        actor: &Actor,
    ) -> Result<(), Error> {
        self.change(|state| {
            let mut change = Change::new(actor);
            let source = state.agent(&delegation.source).ok_or(Error::no_agent())?;
            change.event(event::Name::DelegationSent, source, payload);
            let body = serde_json::to_string(delegation).unwrap_or_default();
            change.put(Kind::Note, &delegation.note(), Some(body));
            Ok((change, ()))
        })
        .await
    }

    /// Returns what has not ended of all work that was given to others.
    pub(crate) fn delegations(&self) -> Vec<Delegation> {
        let state = self.state();
        // What another version has written and this one cannot read is not for this one.
        state.notes(DELEGATED).filter_map(|(_, note)| serde_json::from_str(note).ok()).collect()
    }

    /// Keeps that work has ended which was given to another. Once: whoever comes second has
    /// nothing to tell.
    pub(crate) async fn delegation_ended(
        &self,
        delegation: &Delegation,
        name: event::Name,
        rest: &[(&str, Raw)],
    ) -> Result<(), Error> {
        let own = [
            ("delegation_id", Raw::string(&delegation.id)),
            ("target_id", Raw::string(&delegation.target)),
        ];
        let payload: Vec<_> = own.into_iter().chain(rest.iter().cloned()).collect();
        let note = delegation.note();
        self.change(|state| {
            let mut change = Change::new(&Actor::hub());
            if state.note(&note).is_some() {
                change.put(Kind::Note, &note, None);
                if let Some(source) = state.agent(&delegation.source) {
                    change.event(name, source, &payload);
                }
            }
            Ok((change, ()))
        })
        .await
    }
}
