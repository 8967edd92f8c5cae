//! Whose tasks there are, and the lists of them.

use std::{
    collections::{HashMap, VecDeque},
    sync::Arc,
};

use nuncio_protocol::{
    ids::{ContextId, TaskId},
    state::TaskState,
};
use tokio::time::Instant;

use super::{kept::Kept, keys::Used, ranked::Ranked};
use crate::{
    scope::{Name, Place},
    store::{TaskRef, order},
};

/// Where a task stands in a list: by time, then by identifier.
pub(super) type Rank = (i64, TaskId);

/// Where a task stands among those of its conversation.
pub(super) type ContextRank = (ContextId, Arc<Place>, TaskState, i64, TaskId);

/// By what we or an administrator have named, and a caller cannot choose to collide: a hash that
/// is only fast will do.
type Map<K, V> = HashMap<K, V, foldhash::fast::RandomState>;

/// The tenants, for as long as there is anything in them.
#[derive(Debug, Default)]
pub(super) struct Places(Map<Name, Tenant>);

/// All that a tenant has.
#[derive(Debug, Default)]
pub(super) struct Tenant {
    pub ids: Map<TaskId, TaskRef>,
    pub rooms: Map<Arc<Place>, Room>,
    pub contexts: Ranked<ContextRank>,
    /// How many unfinished tasks each caller has.
    unfinished: Map<Name, u32>,
    /// What has ended, by state.
    pub ended: Map<TaskState, Ended>,
}

/// All tasks and keys of a place.
#[derive(Debug, Default)]
pub(super) struct Room {
    /// By state.
    shelves: [Ranked<Rank>; TaskState::ALL.len()],
    pub keys: HashMap<Arc<str>, Used>,
}

/// Tasks that have ended, in the order of their ends.
#[derive(Debug, Default)]
pub(super) struct Ended {
    pub tasks: VecDeque<(Instant, TaskRef)>,
    /// So many from the first on have no log any more.
    pub trimmed: usize,
}

impl Places {
    pub(super) fn tenant(&self, name: &Name) -> Option<&Tenant> {
        self.0.get(name)
    }

    /// Returns a tenant, which is made if there is none.
    pub(super) fn tenant_mut(&mut self, name: &Name) -> &mut Tenant {
        self.0.entry(name.clone()).or_default()
    }

    pub(super) fn tenants(&self) -> impl Iterator<Item = &Tenant> {
        self.0.values()
    }

    pub(super) fn tenants_mut(&mut self) -> impl Iterator<Item = &mut Tenant> {
        self.0.values_mut()
    }

    /// Returns the one copy of a place that all share who keep it.
    pub(super) fn share(&mut self, place: &Place) -> Arc<Place> {
        let tenant = self.tenant_mut(&place.tenant);
        if let Some((place, _)) = tenant.rooms.get_key_value(place) {
            return Arc::clone(place);
        }
        let place = Arc::new(place.clone());
        tenant.rooms.insert(Arc::clone(&place), Room::default());
        place
    }

    pub(super) fn room(&self, place: &Place) -> Option<&Room> {
        self.tenant(&place.tenant)?.rooms.get(place)
    }

    /// Returns what a place has; it is made if there is none.
    pub(super) fn room_mut(&mut self, place: &Arc<Place>) -> &mut Room {
        self.tenant_mut(&place.tenant).room_mut(place)
    }

    /// Forgets a place that has become empty, and its tenant with the last of them.
    pub(super) fn leave(&mut self, place: &Place) {
        let Some(tenant) = self.0.get_mut(&place.tenant) else { return };
        if tenant.rooms.get(place).is_some_and(Room::is_empty) {
            tenant.rooms.remove(place);
        }
        if tenant.rooms.is_empty() {
            self.0.remove(&place.tenant);
        }
    }

    /// Puts a task into the lists that it belongs in.
    pub(super) fn shelve(&mut self, task: &Kept) {
        self.tenant_mut(&task.place.tenant).shelve(task);
    }

    /// Takes a task out of the lists, before it changes.
    pub(super) fn unshelve(&mut self, task: &Kept) {
        let tenant = self.tenant_mut(&task.place.tenant);
        tenant.contexts.remove(&context_rank(task));
        tenant.room_mut(&task.place).shelves[task.state as usize].remove(&rank(task));
    }
}

impl Tenant {
    /// Takes a new task.
    pub(super) fn add(&mut self, task: TaskRef, kept: &Kept, now: Instant) {
        self.ids.insert(kept.id.clone(), task);
        self.shelve(kept);
        if kept.state.is_terminal() {
            self.end(kept.state, task, now);
        } else {
            *self.unfinished.entry(kept.place.caller.clone()).or_default() += 1;
        }
    }

    fn shelve(&mut self, task: &Kept) {
        self.contexts.insert(context_rank(task));
        self.room_mut(&task.place).shelves[task.state as usize].insert(rank(task));
    }

    fn room_mut(&mut self, place: &Arc<Place>) -> &mut Room {
        self.rooms.entry(Arc::clone(place)).or_default()
    }

    /// Returns how many unfinished tasks a caller has.
    pub(super) fn unfinished(&self, caller: &Name) -> u32 {
        self.unfinished.get(caller).copied().unwrap_or(0)
    }

    /// Puts a task among those that have ended.
    pub(super) fn end(&mut self, state: TaskState, task: TaskRef, now: Instant) {
        self.ended.entry(state).or_default().tasks.push_back((now, task));
    }

    /// Counts a task no longer among the unfinished ones of its caller.
    pub(super) fn finish(&mut self, caller: &Name) {
        if let Some(count) = self.unfinished.get_mut(caller) {
            *count -= 1;
            if *count == 0 {
                self.unfinished.remove(caller);
            }
        }
    }

    /// Returns the places that have tasks in a conversation.
    pub(super) fn places_in(&self, context: &ContextId) -> Vec<&Arc<Place>> {
        let mut places = Vec::new();
        let mut start = self.contexts.rank(|(other, ..)| other < context);
        // The key at `start` is the greatest below the next rank.
        while let Some((found, place, ..)) = self.contexts.down_from(start + 1).next()
            && start < self.contexts.len()
            && found == context
        {
            places.push(place);
            start = self.contexts.rank(|(other, room, ..)| (other, room) <= (context, place));
        }
        places
    }
}

impl Room {
    pub(super) fn shelf(&self, state: TaskState) -> &Ranked<Rank> {
        &self.shelves[state as usize]
    }

    fn is_empty(&self) -> bool {
        self.keys.is_empty() && self.shelves.iter().all(|shelf| shelf.len() == 0)
    }
}

fn rank(task: &Kept) -> Rank {
    (order(task.updated), task.id.clone())
}

fn context_rank(task: &Kept) -> ContextRank {
    let Kept { context, place, state, updated, id, .. } = task;
    (context.clone(), Arc::clone(place), *state, order(*updated), id.clone())
}
