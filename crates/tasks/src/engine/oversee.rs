//! Reading the tasks of others: for whoever may see more than their own.
//!
//! Callers have no part in this. Whoever serves it must have decided who may see the scope.

use bytes::Bytes;
use futures_util::{StreamExt as _, TryStreamExt as _, stream};
use nuncio_protocol::{
    error::Error,
    ids::{ContextId, TaskId},
    json::Shared,
    operation::ListTasksRequest,
    state::TaskState,
    task::Task,
};

use super::{Tasks, read::messages};
use crate::{
    scope::{Place, Scope},
    store::{Filter, Head, Loaded, Page, Want},
};

/// How many notes are read at once.
const NOTES_AT_ONCE: usize = 8;

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

/// Whose a task is, and what it belongs to.
#[derive(Clone, Debug)]
pub struct Kin {
    /// Whose it is.
    pub place: Place,
    /// Its state.
    pub state: TaskState,
    /// The task because of which it was opened.
    pub parent: Option<TaskId>,
}

/// The notes of tasks.
#[derive(Clone, Debug)]
pub struct NotePage {
    /// The tasks.
    pub notes: Vec<(TaskId, Option<Bytes>)>,
    /// Whether there are more tasks.
    pub more: bool,
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

    /// Returns whose a task in a scope is, where it stands, and for which one it was opened.
    pub async fn kin(&self, scope: &Scope, id: &TaskId) -> Result<Option<Kin>, Error> {
        let Some(head) = self.0.store.find(scope, id).await? else { return Ok(None) };
        let parent = self.0.store.parent(head.reference).await?;
        Ok(Some(Kin { place: head.place, state: head.state, parent }))
    }

    /// Returns the note of the newest task in a conversation of a caller's with an agent.
    pub async fn note_in(
        &self,
        place: &Place,
        context: &ContextId,
    ) -> Result<Option<Bytes>, Error> {
        let filter = Filter { context: Some(context.clone()), ..Filter::default() };
        let page = Page { after: None, size: 1, history: false, artifacts: false };
        let listed = self.0.store.list(&Scope::from(place), filter, page).await?;
        match listed.tasks.first() {
            Some(Loaded { head, .. }) => Ok(self.0.store.note(head.reference).await?),
            None => Ok(None),
        }
    }

    /// Returns the note of a task in a scope, if it is there and has one.
    pub async fn note(&self, scope: &Scope, id: &TaskId) -> Result<Option<Bytes>, Error> {
        match self.0.store.find(scope, id).await? {
            Some(head) => Ok(self.0.store.note(head.reference).await?),
            None => Ok(None),
        }
    }

    /// Returns the tasks in a scope that a filter lets through, those with the newest status
    /// first, each with its note if it has one.
    pub async fn notes(
        &self,
        scope: &Scope,
        filter: Filter,
        most: usize,
    ) -> Result<NotePage, Error> {
        let store = &self.0.store;
        let page = Page { after: None, size: most, history: false, artifacts: false };
        let listed = store.list(scope, filter, page).await?;
        let notes = stream::iter(listed.tasks).map(|Loaded { head, .. }| async move {
            let note = store.note(head.reference).await?;
            Ok::<_, Error>((head.id, note))
        });
        let notes = notes.buffered(NOTES_AT_ONCE).try_collect().await?;
        Ok(NotePage { notes, more: listed.more })
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
