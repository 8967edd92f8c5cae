//! Which peer has which task.

use std::{
    collections::{HashMap, VecDeque},
    fmt,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use nuncio_protocol::ids::TaskId;

/// Which peer has which task, so that later calls about a task go to its owner (HG-06).
///
/// Bounded: the task that was remembered first is forgotten first.
pub struct TaskOwners {
    most: usize,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    owners: HashMap<TaskId, Owner>,
    order: VecDeque<TaskId>,
}

enum Owner {
    One(Arc<str>),
    Several,
}

/// Two peers gave tasks the same identifier, so it names neither.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("several peers have a task `{task}`; name the peer as well")]
pub struct AmbiguousTask {
    /// The identifier.
    pub task: TaskId,
}

impl Default for TaskOwners {
    fn default() -> Self {
        Self::new(100_000)
    }
}

impl TaskOwners {
    /// Remembers so many tasks at most.
    pub fn new(most: usize) -> Self {
        Self { most: most.max(1), state: Mutex::default() }
    }

    /// Remembers that a peer has a task.
    pub fn remember(&self, task: &TaskId, peer: &str) {
        let mut state = self.state();
        match state.owners.get_mut(task) {
            Some(Owner::One(known)) if **known == *peer => {}
            Some(owner) => *owner = Owner::Several,
            None => {
                state.owners.insert(task.clone(), Owner::One(peer.into()));
                state.order.push_back(task.clone());
                if state.order.len() > self.most
                    && let Some(oldest) = state.order.pop_front()
                {
                    state.owners.remove(&oldest);
                }
            }
        }
    }

    /// Returns the URL of the peer that has a task, if that is known.
    pub fn owner(&self, task: &TaskId) -> Result<Option<Arc<str>>, AmbiguousTask> {
        match self.state().owners.get(task) {
            None => Ok(None),
            Some(Owner::One(peer)) => Ok(Some(Arc::clone(peer))),
            Some(Owner::Several) => Err(AmbiguousTask { task: task.clone() }),
        }
    }

    /// Returns how many tasks are remembered.
    pub fn len(&self) -> usize {
        self.state().owners.len()
    }

    /// Tells whether no task is remembered.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for TaskOwners {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TaskOwners").field("tasks", &self.len()).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(text: &str) -> TaskId {
        TaskId::parse(text).expect("an id")
    }

    #[test]
    fn hg_06_a_task_is_found_at_its_owner() {
        let owners = TaskOwners::new(2);
        assert_eq!(owners.owner(&id("1")), Ok(None));
        for _ in 0..2 {
            owners.remember(&id("1"), "https://a.example/");
        }
        assert_eq!(owners.owner(&id("1")), Ok(Some("https://a.example/".into())));
        owners.remember(&id("1"), "https://b.example/");
        assert_eq!(owners.owner(&id("1")), Err(AmbiguousTask { task: id("1") }));
    }

    #[test]
    fn no_more_tasks_are_remembered_than_allowed() {
        let owners = TaskOwners::new(3);
        for number in 0..100 {
            owners.remember(&id(&number.to_string()), "https://a.example/");
            assert!(owners.len() <= 3);
        }
        assert_eq!(owners.owner(&id("96")), Ok(None));
        assert!(owners.owner(&id("97")).unwrap().is_some());
    }
}
