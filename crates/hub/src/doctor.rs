//! Whoever examines agents, which is put in from outside.

use std::{
    collections::HashSet,
    fmt,
    pin::Pin,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use nuncio_client::Credentials;
use nuncio_net::Client;
use nuncio_protocol::ids::AgentId;

/// How long an examination may take.
pub(crate) const LONGEST: Duration = Duration::from_secs(120);

/// How many agents are examined at once.
const MOST: usize = 4;

/// A report as JSON, or why there is none.
pub type Report<'a> = Pin<Box<dyn Future<Output = Result<String, String>> + Send + 'a>>;

/// Finds out why an agent does not work.
pub trait Doctor: fmt::Debug + Send + Sync {
    /// Examines an agent. Dropping the future ends the examination.
    fn examine(&self, patient: Patient) -> Report<'_>;
}

/// An agent that is to be examined.
#[derive(Debug)]
#[non_exhaustive]
pub struct Patient {
    /// Where the agent or its card is.
    pub url: String,
    /// The way there, past the hub's own guard.
    pub net: Client,
    /// What proves that it is the hub who calls.
    pub credentials: Option<Arc<dyn Credentials>>,
    /// Whether nothing may be sent that changes anything.
    pub is_read_only: bool,
}

/// Who is examined now.
#[derive(Debug, Default)]
pub(crate) struct Visits(Arc<Mutex<HashSet<AgentId>>>);

/// Why there is no examination now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Busy {
    /// The agent is being examined.
    Agent,
    /// So are as many as may be.
    Doctor,
}

/// An examination under way. Dropping it makes room for the next.
#[derive(Debug)]
pub(crate) struct Visit {
    agent: AgentId,
    all: Arc<Mutex<HashSet<AgentId>>>,
}

impl Visits {
    pub(crate) fn begin(&self, agent: &AgentId) -> Result<Visit, Busy> {
        let mut visits = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if visits.contains(agent) {
            return Err(Busy::Agent);
        }
        if visits.len() >= MOST {
            return Err(Busy::Doctor);
        }
        visits.insert(agent.clone());
        Ok(Visit { agent: agent.clone(), all: Arc::clone(&self.0) })
    }
}

impl Drop for Visit {
    fn drop(&mut self) {
        self.all.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.agent);
    }
}
