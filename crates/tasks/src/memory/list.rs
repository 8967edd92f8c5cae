//! Lists of tasks.

use std::{collections::BinaryHeap, sync::Arc};

use nuncio_protocol::{
    ids::{ContextId, TaskId},
    state::TaskState,
};
use tokio::time::Instant;

use super::{places::Tenant, read::Found, tables::Tables};
use crate::{
    scope::{Place, Scope},
    store::{Filter, Page, Position, Want, order_from},
};

/// One page of a list, to be read without the lock.
#[derive(Debug, Default)]
pub(super) struct FoundPage {
    pub tasks: Vec<Found>,
    pub total: u64,
    pub more: bool,
}

/// The tasks of one place in one state, as far as a filter wants them.
struct Run<'a> {
    /// On all pages.
    total: usize,
    /// On this page and those behind it.
    left: usize,
    /// What is left, the newest first.
    keys: Box<dyn Iterator<Item = (i64, &'a TaskId)> + 'a>,
}

impl Tables {
    /// Finds one page. What matches is never counted one by one: totals are differences of
    /// ranks, and the page is merged from as many runs as there are places and states.
    pub(super) fn list(
        &self,
        scope: &Scope,
        filter: &Filter,
        page: &Page,
        now: Instant,
    ) -> FoundPage {
        let Some(tenant) = self.places.tenant(&scope.tenant) else {
            return FoundPage::default();
        };
        let mut runs = runs(tenant, scope, filter, page.after.as_ref());
        let total: usize = runs.iter().map(|run| run.total).sum();
        let left: usize = runs.iter().map(|run| run.left).sum();
        let want = Want { at: None, history: page.history, artifacts: page.artifacts };
        let mut tasks = Vec::with_capacity(page.size.min(left));
        let mut newest: BinaryHeap<_> = (0..)
            .zip(&mut runs)
            .filter_map(|(number, run)| Some((run.keys.next()?, number)))
            .collect();
        while tasks.len() < page.size
            && let Some(((_, id), number)) = newest.pop()
        {
            newest.extend(runs[number].keys.next().map(|key| (key, number)));
            let task = tenant.ids.get(id);
            let kept = task.and_then(|task| Some((*task, self.tasks.get(task)?)));
            tasks.extend(kept.map(|(task, kept)| Found::new(task, kept, want, now)));
        }
        FoundPage { tasks, total: total as u64, more: left > page.size }
    }
}

/// Returns the runs that a list is merged from.
fn runs<'a>(
    tenant: &'a Tenant,
    scope: &Scope,
    filter: &'a Filter,
    after: Option<&Position>,
) -> Vec<Run<'a>> {
    let states: Vec<TaskState> = filter.wanted_states().collect();
    let from = filter.updated_from.map_or(i64::MIN, order_from);
    let mut runs = Vec::new();
    if let Some(context) = &filter.context {
        for place in tenant.places_in(context).into_iter().filter(|place| scope.sees(place)) {
            let places = states.iter().map(|state| (context, place, *state));
            runs.extend(places.map(|place| context_run(tenant, place, from, after)));
        }
        return runs;
    }
    for place in seen(tenant, scope) {
        runs.extend(states.iter().map(|state| state_run(tenant, place, *state, from, after)));
    }
    runs
}

/// Returns the places that a scope sees.
fn seen<'a>(tenant: &'a Tenant, scope: &Scope) -> Vec<&'a Arc<Place>> {
    if let Scope { tenant: name, agent: Some(agent), caller: Some(caller) } = scope {
        let (tenant_name, agent, caller) = (name.clone(), agent.clone(), caller.clone());
        let place = Place { tenant: tenant_name, agent, caller };
        return tenant.rooms.get_key_value(&place).map(|(place, _)| place).into_iter().collect();
    }
    tenant.rooms.keys().filter(|place| scope.sees(place)).collect()
}

fn state_run<'a>(
    tenant: &'a Tenant,
    place: &Place,
    state: TaskState,
    from: i64,
    after: Option<&Position>,
) -> Run<'a> {
    let Some(room) = tenant.rooms.get(place) else {
        return Run { total: 0, left: 0, keys: Box::new(std::iter::empty()) };
    };
    let shelf = room.shelf(state);
    let start = shelf.rank(|(updated, _)| *updated < from);
    let end = after.map_or(shelf.len(), |after| {
        shelf.rank(|(updated, id)| (*updated, id) < (after.updated, &after.id))
    });
    let left = end.saturating_sub(start);
    let keys = shelf.down_from(end).map(|(updated, id)| (*updated, id));
    Run { total: shelf.len() - start, left, keys: Box::new(keys.take(left)) }
}

fn context_run<'a>(
    tenant: &'a Tenant,
    (context, place, state): (&ContextId, &Arc<Place>, TaskState),
    from: i64,
    after: Option<&Position>,
) -> Run<'a> {
    let all = &tenant.contexts;
    let run = (context, place, &state);
    let start = all.rank(|(c, p, s, updated, _)| ((c, p, s), *updated) < (run, from));
    let whole = all.rank(|(c, p, s, ..)| (c, p, s) <= run);
    let end = after.map_or(whole, |after| {
        all.rank(|(c, p, s, updated, id)| {
            ((c, p, s), *updated, id) < (run, after.updated, &after.id)
        })
    });
    let left = end.saturating_sub(start);
    let keys = all.down_from(end).map(|(.., updated, id)| (*updated, id));
    Run { total: whole - start, left, keys: Box::new(keys.take(left)) }
}
