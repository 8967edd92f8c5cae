//! What only some tasks have: notes and parents.

use std::collections::{BTreeSet, HashMap};

use bytes::Bytes;
use nuncio_protocol::ids::TaskId;
use tokio::time::Instant;

use super::tables::Tables;
use crate::{
    scope::{Name, Scope},
    store::{Head, RefMap, TaskRef},
};

/// Kept beside the tasks, so that those without take no more room.
#[derive(Debug, Default)]
pub(super) struct Extras {
    notes: RefMap<Bytes>,
    parents: RefMap<TaskId>,
    /// By tenant and parent. Handles are given in the order of opening. Callers choose
    /// identifiers, so the hash is one that they cannot make collide.
    children: HashMap<(Name, TaskId), BTreeSet<TaskRef>>,
}

impl Extras {
    pub(super) fn note(&self, task: TaskRef) -> Option<Bytes> {
        self.notes.get(&task).cloned()
    }

    /// Keeps a note in place of an earlier one, if there is one to keep.
    pub(super) fn set_note(&mut self, task: TaskRef, note: Option<Bytes>) {
        if let Some(note) = note {
            self.notes.insert(task, note);
        }
    }

    pub(super) fn parent(&self, task: TaskRef) -> Option<TaskId> {
        self.parents.get(&task).cloned()
    }

    pub(super) fn set_parent(&mut self, task: TaskRef, tenant: &Name, parent: Option<TaskId>) {
        if let Some(parent) = parent {
            self.parents.insert(task, parent.clone());
            self.children.entry((tenant.clone(), parent)).or_default().insert(task);
        }
    }

    pub(super) fn remove(&mut self, task: TaskRef, tenant: &Name) {
        self.notes.remove(&task);
        let Some(parent) = self.parents.remove(&task) else { return };
        let family = (tenant.clone(), parent);
        if let Some(children) = self.children.get_mut(&family) {
            children.remove(&task);
            if children.is_empty() {
                self.children.remove(&family);
            }
        }
    }
}

impl Tables {
    pub(super) fn children(
        &self,
        scope: &Scope,
        parent: &TaskId,
        most: usize,
        now: Instant,
    ) -> Vec<Head> {
        let family = (scope.tenant.clone(), parent.clone());
        let children = self.extras.children.get(&family).into_iter().flatten();
        let kept = children.filter_map(|task| Some((*task, self.tasks.get(task)?)));
        let seen = kept.filter(|(_, kept)| scope.sees(&kept.place));
        seen.take(most).map(|(task, kept)| kept.head(task, now)).collect()
    }
}
