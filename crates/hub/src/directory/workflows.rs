//! Workflows of the directory: each is an agent, and keeps its versions.

use std::sync::Arc;

use nuncio_protocol::ids::{AgentId, Organisation};
use nuncio_workflow::graph::Workflow;

use super::{Actor, Change, Directory, NewAgent, edit::put_card, register};
use crate::{
    agent::{Agent, Delivery, Origin, Watch},
    error::Error,
    name::AgentName,
    store::Kind,
    workflow::{self, SavedWorkflow},
};

/// How many versions of a workflow are kept.
pub const MAX_VERSIONS: usize = 50;

/// How many workflows an organisation may have.
pub const MAX_WORKFLOWS: usize = 1_000;

impl Directory {
    /// Saves a workflow under a name: as an agent of its own, or as the newest version of the one
    /// that is there. The same text is the same version. `expected` is the version that whoever
    /// saves it has seen, if they care.
    pub async fn save_workflow(
        &self,
        organisation: &Organisation,
        name: &AgentName,
        (source, workflow): (&str, &Workflow),
        expected: Option<u32>,
        actor: &Actor,
    ) -> Result<(Arc<Agent>, Arc<SavedWorkflow>), Error> {
        let card = workflow::card(name, workflow)?;
        let fresh = AgentId::generate();
        let id = self
            .change(|state| {
                let mut change = Change::new(actor);
                let found = state.named(organisation, name);
                let newest = found.and_then(|agent| state.workflow(&agent.id, None));
                let seen = newest.map_or(0, |saved| saved.version);
                if let Some(expected) = expected.filter(|expected| *expected != seen) {
                    return Err(Error::VersionChanged { expected, found: seen });
                }
                let id = match (found, newest) {
                    (Some(_), None) => return Err(Error::NameTaken { name: name.clone() }),
                    (Some(agent), Some(newest)) => {
                        if *newest.source == *source {
                            return Ok((change, agent.id.clone()));
                        }
                        let mut next = Agent::clone(agent);
                        put_card(&mut change, &mut next, &card, false);
                        change.agent(&next);
                        agent.id.clone()
                    }
                    (None, _) => {
                        let many = state
                            .in_order(organisation, None)
                            .filter(|agent| state.workflow(&agent.id, None).is_some());
                        if many.count() >= MAX_WORKFLOWS {
                            let what = "workflows";
                            return Err(Error::TooMany { what, limit: MAX_WORKFLOWS });
                        }
                        let mut new = NewAgent::new(name.clone());
                        new.card = Some(card.clone());
                        new.delivery = Delivery::Gateway;
                        new.watch = Watch::Hosted;
                        let whose = (&fresh, organisation);
                        register::add(state, &mut change, whose, &new, Origin::Administrator)?;
                        fresh.clone()
                    }
                };
                let saved = SavedWorkflow::new(seen + 1, source, change.now, actor.as_str());
                let key = workflow::key(&id, saved.version);
                change.put(Kind::Workflow, &key, Some(saved.write()));
                let kept = state.workflow_versions(&id).count();
                for old in
                    state.workflow_versions(&id).take((kept + 1).saturating_sub(MAX_VERSIONS))
                {
                    change.put(Kind::Workflow, &workflow::key(&id, old.version), None);
                }
                let version = format!("version {}", saved.version);
                change.note("workflow.save", name.as_str(), &version);
                Ok((change, id))
            })
            .await?;
        let state = self.state();
        let agent = state.agent(&id).cloned().ok_or(Error::no_agent())?;
        let saved = state.workflow(&id, None).cloned();
        Ok((agent, saved.ok_or(Error::Unknown { what: "workflow" })?))
    }
}
