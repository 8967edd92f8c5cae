//! What was said in a conversation before.

use std::{fmt, sync::Arc};

use nuncio_protocol::{
    json,
    message::{Content, Part, Role},
    operation::ListTasksRequest,
    state::TaskState,
    task::Task,
};
use nuncio_tasks::{
    engine::{Call, Tasks},
    scope::{Place, Scope},
    store::{Filter, Page, Store},
};

use super::{Error, Said};
use crate::kinds::tool::Boxed;

/// Remembers what was said.
pub trait Memory: Send + Sync + fmt::Debug {
    /// Returns the newest of what was said in the conversation of a task before it, oldest
    /// first, at most so many bytes of text.
    fn earlier<'a>(
        &'a self,
        place: &'a Place,
        task: &'a Task,
        most: usize,
    ) -> Boxed<'a, Result<Vec<Said>, Error>>;
}

/// How many tasks are looked at.
const MAX_TASKS: usize = 50;

/// An engine remembers its tasks: those of the same caller and agent only, and only those that
/// were completed.
impl Memory for Tasks {
    fn earlier<'a>(
        &'a self,
        place: &'a Place,
        task: &'a Task,
        most: usize,
    ) -> Boxed<'a, Result<Vec<Said>, Error>> {
        Box::pin(async move {
            let request = ListTasksRequest {
                context_id: task.context_id.clone(),
                status: TaskState::Completed,
                page_size: i32::try_from(MAX_TASKS).ok(),
                include_artifacts: Some(true),
                ..ListTasksRequest::default()
            };
            if task.context_id.is_none() {
                return Ok(Vec::new());
            }
            let page = self.list(&Call::new(place.clone()), request).await;
            let page = page.map_err(|_| Error::Memory)?.into_value().map_err(|_| Error::Memory)?;
            Ok(told(page.tasks, task, most))
        })
    }
}

/// The same for programs that have the store at hand and not the engine.
#[derive(Clone)]
pub struct StoredTasks(Arc<dyn Store>);

impl StoredTasks {
    /// Reads from a store.
    pub fn new(store: Arc<dyn Store>) -> Self {
        Self(store)
    }

    async fn read(&self, place: &Place, task: &Task) -> Result<Vec<Task>, Error> {
        if task.context_id.is_none() {
            return Ok(Vec::new());
        }
        let filter = Filter {
            context: task.context_id.clone(),
            states: vec![TaskState::Completed],
            ..Filter::default()
        };
        let page = Page { after: None, size: MAX_TASKS, history: true, artifacts: true };
        let listed = self.0.list(&Scope::from(place), filter, page).await;
        let tasks = listed.map_err(|_| Error::Memory)?.tasks;
        let read = tasks.iter().map(|loaded| Ok(loaded.fold().map_err(|_| Error::Memory)?.task));
        read.collect()
    }
}

impl Memory for StoredTasks {
    fn earlier<'a>(
        &'a self,
        place: &'a Place,
        task: &'a Task,
        most: usize,
    ) -> Boxed<'a, Result<Vec<Said>, Error>> {
        Box::pin(async move { Ok(told(self.read(place, task).await?, task, most)) })
    }
}

impl fmt::Debug for StoredTasks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("StoredTasks")
    }
}

/// Tells tasks as what was said, the newest first to be taken, the oldest first to be told.
fn told(newest_first: Vec<Task>, current: &Task, most: usize) -> Vec<Said> {
    let mut left = most;
    let mut kept = Vec::new();
    for task in newest_first.into_iter().filter(|task| task.id != current.id) {
        let exchange = exchange(&task);
        let bytes: usize = exchange.iter().map(size).sum();
        // One that does not fit ends it: a conversation with a hole in it would mislead.
        let Some(rest) = left.checked_sub(bytes) else { break };
        left = rest;
        kept.push(exchange);
    }
    kept.into_iter().rev().flatten().collect()
}

/// Tells a task as what was said by its caller, and as its answer.
fn exchange(task: &Task) -> Vec<Said> {
    let asked = task.history.iter().filter(|message| message.role == Role::User);
    let mut said: Vec<Said> = asked.map(|message| Said::User(message.parts.clone())).collect();
    let parts = task.artifacts.iter().flat_map(|artifact| &artifact.parts);
    said.push(Said::Model { text: parts.filter_map(words).collect(), calls: Vec::new() });
    said
}

fn words(part: &Part) -> Option<&str> {
    match &part.content {
        Content::Text(text) => Some(text),
        Content::Data(data) => Some(data.as_str()),
        Content::Raw(_) | Content::Url(_) => None,
    }
}

fn size(said: &Said) -> usize {
    match said {
        Said::User(parts) => json::to_string(parts).len(),
        Said::Model { text, .. } => text.len(),
        Said::Results(results) => results.iter().map(|result| result.content.len()).sum(),
    }
}
