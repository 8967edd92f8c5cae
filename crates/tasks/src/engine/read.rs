//! Reading tasks: one, many, and as they go on.

use std::{slice::from_ref, sync::Arc};

use futures_util::stream;
use nuncio_protocol::{
    error::{Error, ErrorKind},
    ids::TaskId,
    json::{Object, Raw, Shared},
    operation::{GetTaskRequest, ListTasksRequest, ListTasksResponse, SubscribeToTaskRequest},
    service::{Event, Events},
    state::TaskState,
    task::{RESUME_GAP, StreamResponse, Task},
};

use super::{Call, Engine, Tasks, bridge};
use crate::{
    live::{Cursor, Live, Next},
    log::{Entry, Kind, Seq},
    paging,
    scope::{Place, Scope},
    store::{Filter, Head, Listed, Loaded, Page, Position, Want, order},
};

/// The page size when none is asked for.
const DEFAULT_PAGE_SIZE: usize = 50;

/// How a stream is to be.
#[derive(Clone, Copy)]
pub(super) struct Follow {
    /// Whether it ends when the task asks for input.
    pub(super) until_input: bool,
    /// How much history tasks in it have.
    pub(super) history: Option<usize>,
}

impl Tasks {
    /// Returns a task.
    pub fn get<'a>(
        &'a self,
        call: &Call,
        request: GetTaskRequest,
    ) -> impl Future<Output = Result<Shared<Task>, Error>> + Send + use<'a> {
        let GetTaskRequest { id, history_length, .. } = request;
        let want = Want { history: history_length != Some(0), ..Want::ALL };
        self.0.load(&call.place, &id, want, messages(history_length))
    }

    /// Tells whether the caller has this task.
    pub async fn has(&self, call: &Call, task: &TaskId) -> Result<bool, Error> {
        Ok(self.0.store.find(&Scope::from(&call.place), task).await?.is_some())
    }

    /// Returns a page of the caller's tasks, those with the newest status first.
    pub async fn list(
        &self,
        call: &Call,
        request: ListTasksRequest,
    ) -> Result<Shared<ListTasksResponse>, Error> {
        let history = messages(request.history_length);
        let page = self.0.page(&Scope::from(&call.place), &[], request).await?;
        let tasks: Result<Vec<_>, _> =
            page.tasks.iter().map(|loaded| loaded.task(history)).collect();
        let rest = ListTasksResponse {
            tasks: Vec::new(),
            next_page_token: page.next_page_token,
            page_size: i32::try_from(page.size).unwrap_or(i32::MAX),
            total_size: i32::try_from(page.total).unwrap_or(i32::MAX),
        };
        Ok(rest.with_tasks(&tasks?))
    }

    /// Follows a task: first the task as it is now, then what happens to it. A returning reader
    /// gets the task as of the last event it has seen, and everything behind that, also if the
    /// task has ended.
    pub async fn subscribe(
        &self,
        call: &Call,
        request: SubscribeToTaskRequest,
    ) -> Result<Events, Error> {
        let head = self.0.head(&call.place, &request.id).await?;
        let from = match call.last_event {
            None if head.state.is_terminal() => {
                let text = format!("task {} has ended; get it instead", request.id);
                return Err(Error::new(ErrorKind::UnsupportedOperation, text));
            }
            None => head.seq,
            Some(seen) if seen > head.seq.0 => {
                let text = format!("the task has only {} events", head.seq);
                return Err(bridge::invalid("Last-Event-ID", &text));
            }
            Some(seen) => Seq(seen),
        };
        let live = self.0.at_hand(&head).await?;
        let follow = Follow { until_input: false, history: None };
        self.0.follow(&call.place, &request.id, live, from, follow).await
    }
}

/// One page of a list.
pub(super) struct FoundPage {
    pub(super) tasks: Vec<Loaded>,
    /// Empty on the last page.
    pub(super) next_page_token: String,
    /// How many were asked for.
    pub(super) size: usize,
    pub(super) total: u64,
}

impl Engine {
    /// Reads a page of the tasks in a scope: in any of the given states, or as the request says
    /// if there are none.
    pub(super) async fn page(
        &self,
        scope: &Scope,
        states: &[TaskState],
        request: ListTasksRequest,
    ) -> Result<FoundPage, Error> {
        let asked = Some(request.status).filter(|state| *state != TaskState::Unspecified);
        let filter = Filter {
            context: request.context_id,
            states: if states.is_empty() { Vec::from_iter(asked) } else { states.to_vec() },
            updated_from: request.status_timestamp_after,
        };
        let after = match request.page_token.as_str() {
            "" => None,
            token => Some(paging::read(token, from_ref(scope), &filter).ok_or_else(|| {
                bridge::invalid("pageToken", "was not made for this list; ask without it")
            })?),
        };
        let size = request
            .page_size
            .and_then(|size| usize::try_from(size).ok())
            .unwrap_or(DEFAULT_PAGE_SIZE);
        let page = Page {
            after,
            size,
            history: request.history_length != Some(0),
            artifacts: request.include_artifacts.unwrap_or(false),
        };
        let Listed { tasks, total, more } = self.store.list(scope, filter.clone(), page).await?;
        let last = tasks.last().map(|Loaded { head, .. }| Position {
            updated: order(head.updated),
            id: head.id.clone(),
        });
        let next_page_token = match last {
            Some(position) if more => paging::write(&position, from_ref(scope), &filter),
            _ => String::new(),
        };
        Ok(FoundPage { tasks, next_page_token, size, total })
    }

    /// Finds a task of the caller's.
    pub(crate) async fn head(&self, place: &Place, id: &TaskId) -> Result<Head, Error> {
        let found = self.store.find(&Scope::from(place), id).await?;
        found.ok_or_else(|| Error::task_not_found(id))
    }

    /// Reads a task of the caller's.
    pub(super) fn load<'a>(
        &'a self,
        place: &Place,
        id: &TaskId,
        want: Want,
        history: Option<usize>,
    ) -> impl Future<Output = Result<Shared<Task>, Error>> + Send + use<'a> {
        let loading = self.store.load(&Scope::from(place), id, want);
        let id = id.clone();
        async move {
            let loaded = loading.await?.ok_or_else(|| Error::task_not_found(&id))?;
            Ok(loaded.task(history)?)
        }
    }

    /// Makes a stream of a task as of `from` and all that comes behind.
    pub(super) async fn follow(
        self: &Arc<Self>,
        place: &Place,
        id: &TaskId,
        live: Arc<Live>,
        from: Seq,
        follow: Follow,
    ) -> Result<Events, Error> {
        // The cursor comes first: what happens while the task is read is not lost.
        let (first, cursor) = if from <= Seq(1) {
            // The first entry is the task as of itself.
            (None, Cursor::new(live, Seq::START))
        } else {
            let scope = Scope::from(place);
            let missing = || Error::task_not_found(id);
            let loaded = self.store.load(&scope, id, Want::at(from)).await?.ok_or_else(missing)?;
            let (seq, mut task) = if loaded.is_gap() {
                let loaded = self.store.load(&scope, id, Want::ALL).await?.ok_or_else(missing)?;
                let folded = loaded.fold()?;
                (folded.seq, with_gap(folded.task))
            } else {
                let folded = loaded.fold()?;
                (folded.seq, folded.task)
            };
            if let Some(limit) = follow.history {
                task.truncate_history(limit);
            }
            let response = Shared::new(StreamResponse::Task(task));
            (Some(Event { seq: Some(seq.0), response }), Cursor::new(live, seq))
        };
        // Boxed: a stream has room for it twice, and most of its life it waits.
        let reader = Box::new(Reader {
            engine: Arc::clone(self),
            place: place.clone(),
            id: id.clone(),
            first,
            cursor: Some(cursor),
            follow,
        });
        Ok(Box::pin(stream::unfold(reader, Reader::step)))
    }
}

/// A stream of one reader.
struct Reader {
    engine: Arc<Engine>,
    place: Place,
    id: TaskId,
    first: Option<Event>,
    /// `None` when nothing more is to come.
    cursor: Option<Cursor>,
    follow: Follow,
}

impl Reader {
    async fn step(mut self: Box<Self>) -> Option<(Result<Event, Error>, Box<Self>)> {
        if let Some(first) = self.first.take() {
            return Some((Ok(first), self));
        }
        let next = self.cursor.as_mut()?.next(&*self.engine.store).await;
        let item = match next {
            Ok(Next::Entry(entry)) => self.event(entry),
            Ok(Next::End) => return None,
            // Boxed: it is rare, and every reader would have room for it.
            Ok(Next::Gap) => Box::pin(self.after_gap()).await,
            Err(error) => Err(error.into()),
        };
        if item.is_err() {
            self.cursor = None;
        }
        Some((item, self))
    }

    fn event(&mut self, entry: Entry) -> Result<Event, Error> {
        let Entry { seq, record } = entry;
        let mut response = record.event;
        // Only these two look inside; everybody else passes the text on.
        if let Some(limit) = self.follow.history.filter(|_| seq == Seq(1)) {
            if let Ok(StreamResponse::Task(task)) = response.value() {
                let mut task = task.clone();
                task.truncate_history(limit);
                response = Shared::new(StreamResponse::Task(task));
            }
        } else if self.follow.until_input && record.kind != Kind::Opened {
            let state = response.value().map_err(spoilt(seq))?.state();
            if state == Some(TaskState::InputRequired) {
                self.cursor = None;
            }
        }
        Ok(Event { seq: Some(seq.0), response })
    }

    /// The log no longer reaches back to the reader: it gets the task as it is now.
    async fn after_gap(&mut self) -> Result<Event, Error> {
        let head = self.engine.head(&self.place, &self.id).await?;
        let live = self.engine.at_hand(&head).await?;
        let scope = Scope::from(&self.place);
        let loaded = self.engine.store.load(&scope, &self.id, Want::ALL).await?;
        let folded = loaded.ok_or_else(|| Error::task_not_found(&self.id))?.fold()?;
        self.cursor = Some(Cursor::new(live, folded.seq));
        let response = Shared::new(StreamResponse::Task(with_gap(folded.task)));
        Ok(Event { seq: Some(folded.seq.0), response })
    }
}

fn spoilt(seq: Seq) -> impl Fn(nuncio_protocol::json::Error) -> Error {
    move |error| crate::log::SpoiltLog { seq, what: error.to_string() }.into()
}

fn with_gap(mut task: Task) -> Task {
    let metadata = task.metadata.unwrap_or_else(|| Object::from_members([]));
    task.metadata = Some(metadata.with(RESUME_GAP, Raw::bool(true)));
    task
}

/// Returns how many messages of a history were asked for; all without a number (A2A digest §11).
pub(super) fn messages(history_length: Option<i32>) -> Option<usize> {
    history_length.map(|length| usize::try_from(length).unwrap_or(0))
}
