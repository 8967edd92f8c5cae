//! A workflow that is kept: each version of it, as it was written.

use std::{fmt, sync::Arc};

use nuncio_protocol::{
    card::{AgentCard, AgentSkill},
    ids::AgentId,
    json,
    time::Timestamp,
};
use nuncio_workflow::graph::Workflow;
use serde::{Deserialize, Serialize};

use crate::{
    agent::{Card, InvalidCard},
    name::AgentName,
};

/// One version of a workflow.
#[derive(Clone)]
pub struct SavedWorkflow {
    /// Which version it is, from 1.
    pub version: u32,
    /// What was written.
    pub source: Arc<str>,
    /// When it was saved.
    pub at: Timestamp,
    /// By whom.
    pub by: String,
    /// What it means. What an older program has taken, a newer one may refuse.
    workflow: Option<Arc<Workflow>>,
}

#[derive(Serialize, Deserialize)]
struct Body {
    version: u32,
    source: Arc<str>,
    at: Timestamp,
    by: String,
}

impl SavedWorkflow {
    /// Makes a version of a workflow.
    pub(crate) fn new(version: u32, source: &str, at: Timestamp, by: &str) -> Self {
        let workflow = Workflow::read(source).ok().map(Arc::new);
        Self { version, source: source.into(), at, by: by.to_owned(), workflow }
    }

    pub(crate) fn read(body: &str) -> Result<Self, serde_json::Error> {
        let Body { version, source, at, by } = serde_json::from_str(body)?;
        Ok(Self::new(version, &source, at, &by))
    }

    pub(crate) fn write(&self) -> String {
        let Self { version, source, at, by, .. } = self.clone();
        // Plain data becomes JSON.
        serde_json::to_string(&Body { version, source, at, by }).unwrap_or_default()
    }

    /// Returns what it means; nothing if it cannot be read any more.
    pub fn workflow(&self) -> Option<&Arc<Workflow>> {
        self.workflow.as_ref()
    }
}

impl fmt::Debug for SavedWorkflow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SavedWorkflow").field("version", &self.version).finish_non_exhaustive()
    }
}

/// Returns the key of a version.
pub(crate) fn key(agent: &AgentId, version: u32) -> String {
    format!("{agent}@{version}")
}

/// Reads the key of a version.
pub(crate) fn read_key(key: &str) -> Option<(AgentId, u32)> {
    let (agent, version) = key.rsplit_once('@')?;
    Some((AgentId::parse(agent).ok()?, version.parse().ok()?))
}

/// Writes the card of a workflow: one skill, which is to run it (U-13, UD-11).
pub(crate) fn card(name: &AgentName, workflow: &Workflow) -> Result<Card, InvalidCard> {
    let inputs: Vec<&str> = workflow.inputs().map(|(node, _)| node.id().as_str()).collect();
    let what = match (workflow.description(), inputs.as_slice()) {
        ("", []) => format!("Runs the workflow {}", workflow.name()),
        ("", inputs) => format!("Runs the workflow {} with {}", workflow.name(), inputs.join(", ")),
        (description, _) => description.to_owned(),
    };
    let card = AgentCard::builder(workflow.name())
        .description(&what)
        .skill(AgentSkill::new(name.as_str(), workflow.name(), &what, ["workflow"]))
        .streaming()
        .push_notifications()
        .build();
    Card::parse(&json::to_string(&card))
}
