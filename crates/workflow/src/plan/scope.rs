//! What the templates and conditions of a run refer to.

use nuncio_protocol::json::Raw;

use super::{Call, Plan, run::State};
use crate::template::{Found, Scope};

/// What all nodes have brought about so far.
pub(super) struct RunScope<'a>(pub(super) &'a Plan);

impl Scope for RunScope<'_> {
    fn find(&self, name: &str) -> Option<Found<'_>> {
        let number = self.0.workflow.topology().index(name)?;
        Some(self.0.nodes[number].output.as_ref().map_or(Found::Nothing, Found::Output))
    }

    fn names(&self) -> Vec<&str> {
        self.0.workflow.nodes().iter().map(|node| node.id().as_str()).collect()
    }
}

/// What the templates of a call refer to: what all nodes have brought about so far, and its item.
#[derive(Debug)]
pub struct CallScope<'a> {
    plan: &'a Plan,
    item: Option<(&'a Raw, Raw)>,
}

impl<'a> CallScope<'a> {
    pub(super) fn new(plan: &'a Plan, call: &Call) -> Self {
        let node = plan.workflow.topology().index(call.node.as_str());
        let item = node.and_then(|node| match (&plan.nodes[node].state, call.item) {
            (State::Each(items), Some(item)) => {
                let index = Raw::parse_text(&item.to_string()).ok()?;
                Some((items.values.get(item as usize)?, index))
            }
            _ => None,
        });
        Self { plan, item }
    }

    /// Returns the item that the call is for.
    pub(super) fn item(&self) -> Option<&'a Raw> {
        self.item.as_ref().map(|(item, _)| *item)
    }
}

impl Scope for CallScope<'_> {
    fn find(&self, name: &str) -> Option<Found<'_>> {
        match (&self.item, name) {
            (Some((item, _)), "item") => Some(Found::Value(item)),
            (Some((_, index)), "index") => Some(Found::Value(index)),
            _ => {
                let number = self.plan.workflow.topology().index(name)?;
                let output = self.plan.nodes[number].output.as_ref();
                Some(output.map_or(Found::Nothing, Found::Output))
            }
        }
    }

    fn names(&self) -> Vec<&str> {
        let nodes = self.plan.workflow.nodes().iter().map(|node| node.id().as_str());
        nodes.chain(self.item.is_some().then_some("item")).collect()
    }
}
