//! Agents that the hub runs itself: those of the configuration, and those that an administrator
//! has brought in by the management API.
//!
//! The first are told as they are made. The second are in the directory, and made when they are
//! first called; so every hub on the database runs them.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use arc_swap::ArcSwap;
use nuncio_protocol::ids::AgentId;
use nuncio_tasks::{
    agent::{Agent as TaskAgent, Employed, Failure, Turn},
    output::Output,
};
use tokio::sync::watch;

use crate::{
    agent::{Agent, Card, Hosting},
    name::AgentName,
};

/// Makes agents of what an administrator says about them over the management API.
///
/// That is the word of somebody on the network: whatever it says, no program may be started that
/// the configuration does not name.
pub trait Employer: Send + Sync {
    /// Checks whether an agent can be made of this.
    fn check(&self, name: &AgentName, role: Option<&str>, hosting: &Hosting) -> Result<Fit, Unfit>;

    /// Makes an agent. Fails with what its callers are told.
    fn employ(&self, agent: &Arc<Agent>, hosting: &Hosting) -> Result<Employed, String>;
}

/// What can be made of somebody's word.
#[derive(Clone, Debug)]
pub struct Fit {
    /// What others are told about the agent.
    pub card: Card,
    /// What it will call, and where that was said.
    pub urls: Vec<(String, String)>,
}

/// Why nothing can be made of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unfit {
    /// Where: `kind`, or a way into the settings.
    pub field: String,
    /// What is wrong, and what would do.
    pub detail: String,
}

/// The agents that the hub runs itself.
#[derive(Default)]
pub(super) struct Hosted {
    configured: ArcSwap<HashMap<AgentId, Employed>>,
    /// Whether they have been told.
    is_told: watch::Sender<bool>,
    hiring: Mutex<Hiring>,
}

#[derive(Default)]
struct Hiring {
    employer: Option<Arc<dyn Employer>>,
    /// Whom it has made, and of what.
    hired: HashMap<AgentId, (Hosting, Employed)>,
}

/// One that cannot be made any more, such as after its provider was taken out of the file.
struct Missing(String);

impl Hosted {
    /// Starts with nobody; `awaits` if some are yet to be told.
    pub(super) fn new(awaits: bool) -> Self {
        let hosted = Self::default();
        hosted.is_told.send_replace(!awaits);
        hosted
    }

    pub(super) fn tell(&self, agents: HashMap<AgentId, Employed>) {
        self.configured.store(Arc::new(agents));
        self.is_told.send_replace(true);
    }

    /// Waits until the configured ones have been told.
    pub(super) async fn complete(&self) {
        // The sender is as old as we are.
        let _ = self.is_told.subscribe().wait_for(|is_told| *is_told).await;
    }

    /// Makes agents with this from now on, and those anew that were made before.
    pub(super) fn hire_with(&self, employer: Option<Arc<dyn Employer>>) {
        *self.hiring() = Hiring { employer, hired: HashMap::new() };
    }

    pub(super) fn employer(&self) -> Option<Arc<dyn Employer>> {
        self.hiring().employer.clone()
    }

    /// Whether the hub runs an agent itself.
    pub(super) fn runs(&self, agent: &Agent) -> bool {
        agent.hosting.is_some() || self.configured.load().contains_key(&agent.id)
    }

    /// Returns who does the work of an agent, if the hub runs it.
    pub(super) fn find(
        &self,
        agent: &Arc<Agent>,
        is_there: impl Fn(&AgentId) -> bool,
    ) -> Option<Employed> {
        if let Some(employed) = self.configured.load().get(&agent.id) {
            return Some(employed.clone());
        }
        let hosting = agent.hosting.as_ref()?;
        let mut hiring = self.hiring();
        if let Some((known, employed)) = hiring.hired.get(&agent.id)
            && known == hosting
        {
            return Some(employed.clone());
        }
        let made = match &hiring.employer {
            Some(employer) => employer.employ(agent, hosting),
            None => Err("this hub runs no agents itself".to_owned()),
        };
        let employed = made.unwrap_or_else(|why| Employed::new(Missing(why)));
        hiring.hired.retain(|id, _| is_there(id));
        hiring.hired.insert(agent.id.clone(), (hosting.clone(), employed.clone()));
        Some(employed)
    }

    fn hiring(&self) -> MutexGuard<'_, Hiring> {
        self.hiring.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl TaskAgent for Missing {
    async fn run(&self, _: Turn, _: Output) -> Result<(), Failure> {
        Err(Failure::new(self.0.clone()))
    }
}
