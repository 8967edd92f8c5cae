//! Reading the tasks of others: for whoever may see more than their own.
//!
//! Callers have no part in this. Whoever serves it must have decided who may see the scope.

use nuncio_protocol::{
    error::Error, ids::TaskId, json::Shared, operation::ListTasksRequest, state::TaskState,
    task::Task,
};

use super::{Tasks, read::messages};
use crate::{
    scope::{Place, Scope},
    store::{Head, Loaded, Want},
};

/// A task, and whose it is.
#[derive(Clone, Debug)]
pub struct Overseen {
    /// Which agent works on it, and for whom.
    pub place: Place,
    /// The task as its caller sees it.
    pub task: Shared<Task>,
}

/// A page of tasks of many.
#[derive(Clone, Debug)]
pub struct Overview {
    /// The tasks, those with the newest status first.
    pub tasks: Vec<Overseen>,
    /// Asks for the next page; empty on the last one.
    pub next_page_token: String,
    /// How many there are on all pages together.
    pub total: u64,
}

impl Tasks {
    /// Returns a page of the tasks in a scope: in any of the given states, or, if there are
    /// none, as the request says.
    pub async fn list_within(
        &self,
        scope: &Scope,
        states: &[TaskState],
        request: ListTasksRequest,
    ) -> Result<Overview, Error> {
        let history = messages(request.history_length);
        let page = self.0.page(scope, states, request).await?;
        let tasks: Result<_, _> =
            page.tasks.into_iter().map(|loaded| overseen(loaded, history)).collect();
        Ok(Overview { tasks: tasks?, next_page_token: page.next_page_token, total: page.total })
    }

    /// Returns a task in a scope, with at most so many messages of its history.
    pub async fn get_within(
        &self,
        scope: &Scope,
        id: &TaskId,
        history: Option<usize>,
    ) -> Result<Overseen, Error> {
        let want = Want { history: history != Some(0), ..Want::ALL };
        let loaded = self.0.store.load(scope, id, want).await?;
        overseen(loaded.ok_or_else(|| Error::task_not_found(id))?, history)
    }

    /// Returns the task that one in a scope was opened for, if it was for one.
    pub async fn parent(&self, scope: &Scope, id: &TaskId) -> Result<Option<TaskId>, Error> {
        let head = self.0.store.find(scope, id).await?;
        let head = head.ok_or_else(|| Error::task_not_found(id))?;
        Ok(self.0.store.parent(head.reference).await?)
    }

    /// Returns the tasks in a scope that were opened for another, in the order of their opening.
    /// There may be some when that one is gone, or is not seen itself.
    pub async fn children(
        &self,
        scope: &Scope,
        id: &TaskId,
        most: usize,
    ) -> Result<Vec<Head>, Error> {
        Ok(self.0.store.children(scope, id, most).await?)
    }
}

fn overseen(loaded: Loaded, history: Option<usize>) -> Result<Overseen, Error> {
    let task = loaded.task(history)?;
    Ok(Overseen { place: loaded.head.place, task })
}
