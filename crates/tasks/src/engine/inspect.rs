//! What those see who look after the tasks of many: rows of a list, logs, webhooks.
//!
//! Callers have no part in this. Whoever serves it must have decided who may see the scopes.

use std::{cmp::Reverse, sync::Arc};

use futures_util::{Stream, StreamExt as _, TryStreamExt as _, stream};
use nuncio_protocol::{
    error::Error,
    ids::TaskId,
    state::TaskState,
    task::{StreamResponse, Task, TaskStatus},
    time::Timestamp,
};

use super::{Engine, Tasks, bridge};
use crate::{
    live::{Cursor, Next},
    log::{Entry, Seq},
    paging,
    scope::Scope,
    store::{Filter, Head, Limit, Loaded, Page, Position, Tail, Want, Webhook, order},
};

/// How much of what a task began with is told, in characters.
const MOST_ASKED: usize = 1_000;

/// How many rows are completed at once.
const AT_ONCE: usize = 8;

/// A task in short.
#[derive(Clone, Debug)]
pub struct Row {
    /// Whose it is, and where it stands.
    pub head: Head,
    /// Its newest status.
    pub status: TaskStatus,
    /// How the text begins that the task began with: at most 1,000 characters.
    pub asked: String,
    /// When it was opened; unknown once the beginning of its log is gone.
    pub began: Option<Timestamp>,
    /// The task because of which it was opened.
    pub parent: Option<TaskId>,
}

/// A page of tasks in short.
#[derive(Clone, Debug)]
pub struct Rows {
    /// The tasks, those with the newest status first.
    pub rows: Vec<Row>,
    /// Asks for the next page; empty on the last one.
    pub next_page_token: String,
    /// How many there are on all pages. A task in several scopes counts in each.
    pub total: u64,
}

/// A piece of a log.
#[derive(Clone, Debug)]
pub struct LogPage {
    /// The entries, without a gap among them.
    pub entries: Vec<Entry>,
    /// The newest entry there is.
    pub reached: Seq,
    /// The state after it.
    pub state: TaskState,
    /// Whether the log no longer reaches back to the place that was asked for.
    pub is_gap: bool,
}

/// What a reader of a log sees.
#[derive(Clone, Debug)]
pub enum Logged {
    /// The next entry.
    Entry(Entry),
    /// The log no longer reaches back to the reader: this is the task instead.
    Snapshot(Seq, Box<Task>),
}

impl Tasks {
    /// Returns a page of the tasks in any of several scopes, in short.
    pub async fn rows(
        &self,
        scopes: &[Scope],
        filter: Filter,
        (token, size): (&str, usize),
    ) -> Result<Rows, Error> {
        let after = match token {
            "" => None,
            token => Some(paging::read(token, scopes, &filter).ok_or_else(|| {
                bridge::invalid("pageToken", "was not made for this list; ask without it")
            })?),
        };
        let page = Page { after, size, history: false, artifacts: false };
        let (mut found, mut total, mut more) = (Vec::new(), 0, false);
        for scope in scopes {
            let listed = self.0.store.list(scope, filter.clone(), page.clone()).await?;
            total += listed.total;
            more |= listed.more;
            found.extend(listed.tasks);
        }
        if scopes.len() > 1 {
            let place = |Loaded { head, .. }: &Loaded| (order(head.updated), head.id.clone());
            found.sort_by_cached_key(|loaded| Reverse(place(loaded)));
            found.dedup_by(|one, other| one.head.reference == other.head.reference);
            more |= found.len() > size;
            found.truncate(size);
        }
        let last = found.last().map(|Loaded { head, .. }| Position {
            updated: order(head.updated),
            id: head.id.clone(),
        });
        let next_page_token = match last {
            Some(position) if more => paging::write(&position, scopes, &filter),
            _ => String::new(),
        };
        let rows = stream::iter(found).map(|loaded| self.0.row(loaded)).buffered(AT_ONCE);
        Ok(Rows { rows: rows.try_collect().await?, next_page_token, total })
    }

    /// Returns a task in a scope, in short.
    pub async fn row(&self, scope: &Scope, id: &TaskId) -> Result<Row, Error> {
        let want = Want { at: None, history: false, artifacts: false };
        let loaded = self.0.store.load(scope, id, want).await?;
        self.0.row(loaded.ok_or_else(|| Error::task_not_found(id))?).await
    }

    /// Finds a task in a scope.
    pub async fn find(&self, scope: &Scope, id: &TaskId) -> Result<Head, Error> {
        let head = self.0.store.find(scope, id).await?;
        head.ok_or_else(|| Error::task_not_found(id))
    }

    /// Reads the log of a task in a scope, behind a place.
    pub async fn log(
        &self,
        scope: &Scope,
        id: &TaskId,
        after: Seq,
        limit: Limit,
    ) -> Result<LogPage, Error> {
        let head = self.find(scope, id).await?;
        let Tail { entries, mark } = self.0.store.tail(head.reference, after, limit).await?;
        let mark = mark.ok_or_else(|| Error::task_not_found(id))?;
        let is_gap = match entries.first() {
            Some(first) => first.seq != after.next(),
            None => mark.seq > after,
        };
        Ok(LogPage { entries, reached: mark.seq, state: mark.state, is_gap })
    }

    /// Follows the log of a task in a scope, behind a place, until the task has ended.
    pub async fn follow_log(
        &self,
        scope: &Scope,
        id: &TaskId,
        after: Seq,
    ) -> Result<impl Stream<Item = Result<Logged, Error>> + Send + use<>, Error> {
        let head = self.find(scope, id).await?;
        if after > head.seq {
            let text = format!("the task has only {} events", head.seq);
            return Err(bridge::invalid("after", &text));
        }
        let live = self.0.at_hand(&head).await?;
        let (engine, head) = (Arc::clone(&self.0), head);
        let reader = LogReader { engine, head, cursor: Some(Cursor::new(live, after)) };
        Ok(stream::unfold(reader, LogReader::step))
    }

    /// Returns the webhooks of a task in a scope, in the order of their making.
    pub async fn webhooks(&self, scope: &Scope, id: &TaskId) -> Result<Vec<Webhook>, Error> {
        let head = self.find(scope, id).await?;
        Ok(self.0.store.webhooks(head.reference).await?)
    }
}

impl Engine {
    async fn row(&self, loaded: Loaded) -> Result<Row, Error> {
        let status = loaded.fold()?.task.status;
        let head = loaded.head;
        let parent = self.store.parent(head.reference).await?;
        let (asked, began) = self.beginning(&head).await?;
        Ok(Row { head, status, asked, began, parent })
    }

    /// Returns how the text begins that a task began with, and when that was.
    async fn beginning(&self, head: &Head) -> Result<(String, Option<Timestamp>), Error> {
        let first = Limit { entries: 1, bytes: 1 };
        let tail = self.store.tail(head.reference, Seq::START, first).await?;
        let begin = |task: &Task| {
            let text = task.history.first().map(nuncio_protocol::message::Message::text);
            text.unwrap_or_default().chars().take(MOST_ASKED).collect()
        };
        if let Some(Entry { seq: Seq(1), record }) = tail.entries.first()
            && let Ok(StreamResponse::Task(task)) = record.event.value()
        {
            return Ok((begin(task), task.status.timestamp));
        }
        // The log is gone before the task is.
        let want = Want { at: None, history: true, artifacts: false };
        let loaded = self.store.load(&Scope::from(&head.place), &head.id, want).await?;
        let asked = match loaded {
            Some(loaded) => begin(&loaded.fold()?.task),
            None => String::new(),
        };
        Ok((asked, None))
    }
}

/// A reader of a log.
struct LogReader {
    engine: Arc<Engine>,
    head: Head,
    /// `None` when nothing more is to come.
    cursor: Option<Cursor>,
}

impl LogReader {
    async fn step(mut self) -> Option<(Result<Logged, Error>, Self)> {
        let next = self.cursor.as_mut()?.next(&*self.engine.store).await;
        let item = match next {
            Ok(Next::Entry(entry)) => Ok(Logged::Entry(entry)),
            Ok(Next::End) => return None,
            Ok(Next::Gap) => self.snapshot().await,
            Err(error) => Err(error.into()),
        };
        if item.is_err() {
            self.cursor = None;
        }
        Some((item, self))
    }

    async fn snapshot(&mut self) -> Result<Logged, Error> {
        let (place, id) = (&self.head.place, &self.head.id);
        let head = self.engine.head(place, id).await?;
        let live = self.engine.at_hand(&head).await?;
        let loaded = self.engine.store.load(&Scope::from(place), id, Want::ALL).await?;
        let folded = loaded.ok_or_else(|| Error::task_not_found(id))?.fold()?;
        self.cursor = Some(Cursor::new(live, folded.seq));
        Ok(Logged::Snapshot(folded.seq, Box::new(folded.task)))
    }
}
