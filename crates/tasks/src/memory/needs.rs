//! Which tasks need an owner, and who takes them.

use std::collections::{BTreeSet, HashMap};

use tokio::time::{Duration, Instant};

use super::{
    kept::{Hold, later},
    tables::Tables,
};
use crate::{
    scope::Name,
    store::{Claim, Claimed, Lease, Reason, TaskRef, Tenure},
};

/// A moment from which on a task needs an owner, and why.
pub(super) type Need = (Instant, Reason);

/// Tasks by the moment from which on they need an owner, for each agent.
#[derive(Debug, Default)]
pub(super) struct Needs(HashMap<Name, BTreeSet<(Instant, TaskRef)>>);

impl Needs {
    /// Says that a task needs an owner from another moment on than before, or no longer.
    pub(super) fn change(
        &mut self,
        agent: &Name,
        task: TaskRef,
        before: Option<Need>,
        after: Option<Need>,
    ) {
        let (before, after) = (before.map(|need| need.0), after.map(|need| need.0));
        if before == after {
            return;
        }
        if let (Some(before), Some(tasks)) = (before, self.0.get_mut(agent)) {
            tasks.remove(&(before, task));
            if tasks.is_empty() && after.is_none() {
                self.0.remove(agent);
            }
        }
        if let Some(after) = after {
            self.0.entry(agent.clone()).or_default().insert((after, task));
        }
    }

    /// Returns tasks of the given agents that need an owner now, and tasks of others that have
    /// needed one for long; those that have waited longest first.
    fn due(
        &self,
        agents: &[Name],
        orphaned_after: Duration,
        most: usize,
        now: Instant,
    ) -> Vec<TaskRef> {
        let mut due = Vec::new();
        for (agent, tasks) in &self.0 {
            let since =
                if agents.contains(agent) { Some(now) } else { now.checked_sub(orphaned_after) };
            if let Some(since) = since {
                due.extend(tasks.range(..=(since, TaskRef(i64::MAX))).take(most));
            }
        }
        due.sort_unstable();
        due.truncate(most);
        due.into_iter().map(|(_, task)| task).collect()
    }
}

impl Tables {
    pub(super) fn claim(&mut self, claim: &Claim, now: Instant) -> Vec<Claimed> {
        let Claim { lease, agents, orphaned_after, most } = claim;
        let due = self.needs.due(agents, *orphaned_after, *most, now);
        due.into_iter().filter_map(|task| self.take_over(task, lease, now)).collect()
    }

    fn take_over(&mut self, task: TaskRef, lease: &Lease, now: Instant) -> Option<Claimed> {
        let kept = self.tasks.get_mut(&task)?;
        let need = kept.need()?;
        kept.epoch.0 += 1;
        let open = kept.open_mut()?;
        match need.1 {
            Reason::Abandoned { times } => open.abandoned = times,
            Reason::Woken => open.wake = None,
            Reason::Released => {}
        }
        open.hold = Hold::Held { until: later(now, lease.lasts) };
        self.needs.change(&kept.place.agent, task, Some(need), kept.need());
        Some(Claimed { head: kept.head(task, now), reason: need.1 })
    }

    /// Prolongs leases, and returns those that are lost.
    pub(super) fn renew(&mut self, lease: &Lease, held: &[Tenure], now: Instant) -> Vec<TaskRef> {
        let longer = Hold::Held { until: later(now, lease.lasts) };
        let lost = held.iter().filter(|tenure| !self.change_held(tenure, longer));
        lost.map(|tenure| tenure.task).collect()
    }

    pub(super) fn release(&mut self, held: &[Tenure], now: Instant) {
        for tenure in held {
            self.change_held(tenure, Hold::Released { since: now });
        }
    }

    /// Changes a lease, unless it is lost.
    fn change_held(&mut self, tenure: &Tenure, hold: Hold) -> bool {
        let Some(kept) = self.tasks.get_mut(&tenure.task) else { return false };
        if kept.epoch != tenure.epoch || kept.state.is_terminal() {
            return false;
        }
        let need = kept.need();
        match kept.open_mut() {
            Some(open) if matches!(open.hold, Hold::Held { .. }) => open.hold = hold,
            _ => return false,
        }
        self.needs.change(&kept.place.agent, tenure.task, need, kept.need());
        true
    }
}
