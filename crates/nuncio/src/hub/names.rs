//! What agents are called, whose ids a hub tells.

use std::collections::BTreeMap;

use super::{Hub, agents::Agent, segment};

/// Names of agents, asked for once.
pub(crate) struct Names<'a> {
    hub: &'a Hub,
    known: BTreeMap<String, String>,
}

impl<'a> Names<'a> {
    pub(crate) fn of(hub: &'a Hub) -> Self {
        Self { hub, known: BTreeMap::new() }
    }

    /// Returns the name of an agent; the id of one that is gone.
    pub(crate) async fn name(&mut self, id: &str) -> String {
        if let Some(name) = self.known.get(id) {
            return name.clone();
        }
        let path = format!("/api/v1/agents/{}", segment(id));
        let found: Result<(Agent, _), _> = self.hub.read(&path).await;
        let name = found.map_or_else(|_| id.to_owned(), |(agent, _)| agent.name);
        self.known.insert(id.to_owned(), name.clone());
        name
    }
}
