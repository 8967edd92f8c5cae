//! Which edges lead on.

use super::{Ending, LoopEnd, Plan, scope::RunScope};
use crate::{
    condition::Condition,
    graph::{Area, Edge, TriggerRule, Wire},
};

/// Whether an edge leads on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Lead {
    Active,
    /// It does not, this time; why not.
    Inactive(String),
    /// It would, had something not failed; what that is.
    Broken(String),
}

impl Plan {
    /// Tells whether it can be said where an edge leads: its first node has ended, and so have the
    /// loops that it leads out of.
    pub(super) fn is_settled(&self, wire: Wire) -> bool {
        self.nodes[wire.from].ending().is_some()
            && self.left_by(wire).all(|area| self.loops[area].end.is_some())
    }

    /// Returns the loops that an edge leads out of.
    fn left_by(&self, wire: Wire) -> impl Iterator<Item = usize> {
        let topology = self.workflow.topology();
        let areas = topology.areas_of(wire.from).iter().copied();
        areas.filter(move |area| !topology.areas()[*area].contains(wire.to))
    }

    /// Tells whether an edge leads on, or why nobody can tell.
    pub(super) fn lead(&self, wire: Wire) -> Result<Lead, String> {
        let edge = &self.workflow.edges()[wire.edge];
        let from = &edge.from;
        let broken = self.left_by(wire).find_map(|area| match &self.loops[area].end {
            Some(LoopEnd::Broken(reason)) => Some(reason),
            _ => None,
        });
        if let Some(reason) = broken {
            return Ok(Lead::Broken(format!("the loop around `{from}` broke: {reason}")));
        }
        match self.rule(wire, edge) {
            Lead::Active => {}
            other => return Ok(other),
        }
        if let Some(condition) = &edge.condition
            && !self.holds(condition).map_err(|error| format!("the edge from `{from}`: {error}"))?
        {
            return Ok(Lead::Inactive(format!("`{}` does not hold", condition.as_str())));
        }
        if let Some(number) = wire.gate {
            let area = &self.workflow.topology().areas()[number];
            let goes_on = self.goes_on_by_itself(number, area);
            if !goes_on.map_err(|error| format!("the loop from `{from}`: {error}"))? {
                return Ok(Lead::Inactive(format!("the loop from `{from}` is over")));
            }
        }
        Ok(Lead::Active)
    }

    /// Tells whether the end of the first node is what an edge asks for.
    fn rule(&self, wire: Wire, edge: &Edge) -> Lead {
        let (rule, from) = (edge.trigger_rule, &edge.from);
        let node = &self.nodes[wire.from];
        let Some(ending) = node.ending() else {
            return Lead::Inactive(format!("`{from}` has not ended"));
        };
        // What was skipped in the last pass of a loop counts outside by the pass before.
        let is_kept = node
            .kept_by
            .is_some_and(|area| !self.workflow.topology().areas()[area].contains(wire.to));
        match (rule, ending) {
            (TriggerRule::Always, _)
            | (TriggerRule::OnSuccess, Ending::Completed)
            | (TriggerRule::OnFailure, Ending::Failed { .. }) => Lead::Active,
            (TriggerRule::OnSuccess, Ending::Skipped { .. }) if is_kept => Lead::Active,
            (TriggerRule::OnSuccess, Ending::Failed { reason, is_handled: false }) => {
                Lead::Broken(format!("`{from}` failed: {reason}"))
            }
            (TriggerRule::OnSuccess, Ending::Canceled { .. }) => {
                Lead::Broken(format!("`{from}` was canceled"))
            }
            (TriggerRule::OnSuccess, Ending::Failed { .. }) => {
                Lead::Inactive(format!("`{from}` failed"))
            }
            (TriggerRule::OnFailure, Ending::Completed) => {
                Lead::Inactive(format!("`{from}` succeeded"))
            }
            (_, Ending::Skipped { .. }) => Lead::Inactive(format!("`{from}` was skipped")),
            (TriggerRule::OnFailure, Ending::Canceled { .. }) => {
                Lead::Inactive(format!("`{from}` was canceled"))
            }
        }
    }

    /// Tells whether an edge leads on from the failure of a node. One whose condition nobody can
    /// evaluate does not.
    pub(super) fn is_handled(&self, node: usize) -> bool {
        let mut edges = self.workflow.topology().outgoing(node);
        edges.any(|wire| {
            let edge = &self.workflow.edges()[wire.edge];
            let holds = |condition| self.holds(condition).unwrap_or(false);
            edge.trigger_rule != TriggerRule::OnSuccess && edge.condition.as_ref().is_none_or(holds)
        })
    }

    /// Tells whether the nodes of a loop run again, now that its last has ended.
    pub(super) fn goes_on(&self, number: usize) -> Result<bool, String> {
        let area = &self.workflow.topology().areas()[number];
        let edge = &self.workflow.edges()[area.back];
        let is_meant = matches!(
            (edge.trigger_rule, self.nodes[area.tail].ending()),
            (TriggerRule::Always, _)
                | (TriggerRule::OnSuccess, Some(Ending::Completed))
                | (TriggerRule::OnFailure, Some(Ending::Failed { .. }))
        );
        let is_skipped = matches!(self.nodes[area.tail].ending(), Some(Ending::Skipped { .. }));
        // A gate that is closed has ended the loop.
        if !is_meant || self.stop.is_some() || (area.has_gate && is_skipped) {
            return Ok(false);
        }
        if let Some(condition) = &edge.condition
            && !self.holds(condition)?
        {
            return Ok(false);
        }
        // Where there is a gate, that has decided.
        if area.has_gate {
            return Ok(self.loops[number].pass < area.passes);
        }
        self.goes_on_by_itself(number, area)
    }

    /// Tells whether a loop has passes left, and nothing ends it sooner.
    fn goes_on_by_itself(&self, number: usize, area: &Area) -> Result<bool, String> {
        let repeat = self.workflow.edges()[area.edge].repeat.as_ref();
        let exit_when = repeat.and_then(|repeat| repeat.exit_when.as_ref());
        if self.loops[number].pass >= area.passes {
            return Ok(false);
        }
        exit_when.map_or(Ok(true), |condition| Ok(!self.holds(condition)?))
    }

    fn holds(&self, condition: &Condition) -> Result<bool, String> {
        let holds = condition.holds(&RunScope(self));
        holds.map_err(|error| format!("`{}`: {error}", condition.as_str()))
    }
}
