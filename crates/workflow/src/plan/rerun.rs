//! Runs that take over what an earlier one has brought about.

use std::{
    collections::{BTreeMap, HashMap},
    sync::Arc,
};

use nuncio_protocol::message::Part;

use super::{Error, Event, Plan};
use crate::graph::Workflow;

impl Plan {
    /// Begins another run of a workflow, or of a newer version of it, that makes no call again
    /// which has succeeded in an earlier run, but for those of the nodes `from` and of everything
    /// that depends on them. A list of which an item has failed is run again as a whole.
    ///
    /// Inputs may have changed; nodes that use those, or that have changed themselves, belong into
    /// `from`. Returns the beginning of the new run's log, too.
    pub fn rerun(
        workflow: Arc<Workflow>,
        inputs: BTreeMap<String, Vec<Part>>,
        log: impl IntoIterator<Item = Event>,
        from: &[&str],
    ) -> Result<(Self, Vec<Event>), Error> {
        let log: Vec<Event> = log.into_iter().collect();
        let again = again(&workflow, &log, from)?;
        let mut plan = Self::new(workflow, inputs)?;
        let mut kept = plan.decided();
        for event in log {
            let node =
                event.call().and_then(|call| plan.workflow.topology().index(call.node.as_str()));
            let is_kept = node.is_some_and(|node| !again[node]);
            // Refused is what was decided then and is decided anew, and what depends on calls that
            // are made again: it is not to be worked on yet.
            if is_kept && plan.apply(event.clone()).is_ok() {
                kept.push(event);
                kept.extend(plan.decided());
            }
        }
        Ok((plan, kept))
    }
}

/// Returns for every node whether its calls are made again whatever was before it.
fn again(workflow: &Workflow, log: &[Event], from: &[&str]) -> Result<Vec<bool>, Error> {
    let topology = workflow.topology();
    let mut has_succeeded: HashMap<&str, bool> = HashMap::new();
    for event in log {
        let Some(call) = event.call().filter(|call| call.item.is_none()) else { continue };
        let succeeded = matches!(event, Event::Finished { .. });
        has_succeeded.insert(call.node.as_str(), succeeded);
    }
    let nodes = workflow.nodes().iter();
    let mut again: Vec<bool> = nodes
        .map(|node| has_succeeded.get(node.id().as_str()).is_none_or(|succeeded| !succeeded))
        .collect();
    for name in from {
        let unknown = || Error::UnknownNode { node: (*name).to_owned() };
        again[topology.index(name).ok_or_else(unknown)?] = true;
    }
    Ok(again)
}
