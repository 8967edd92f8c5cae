//! What happened to a task: in pages, and as it happens over SSE.

use std::{pin::Pin, time::Duration};

use axum::{
    Json,
    extract::{Path, State},
    response::{IntoResponse, Response},
};
use bytes::Bytes;
use futures_util::{Stream, StreamExt as _, stream};
use http::{HeaderMap, StatusCode};
use nuncio_protocol::{error::Error as A2aError, json::Raw, task::StreamResponse};
use nuncio_tasks::{
    engine::Logged,
    log::{Entry, Kind, Seq},
    scope::{Place, Scope},
    store::{Head, Limit},
};
use serde::{Deserialize, Serialize};
use tokio::time::{Interval, MissedTickBehavior, interval};

use super::sight;
use crate::{
    http::{problem::Problem, query::Query, sse, who::Who},
    hub::Hub,
    limits,
    metrics::OpenStream,
};

/// How many events a page has, usually and at most.
const USUAL: usize = 100;
const MOST: usize = 1_000;

/// No further event comes on a page once there is so much on it.
const PAGE_BYTES: usize = 4 << 20;

/// So often is looked whether a reader may still see the task.
const LOOK: Duration = Duration::from_secs(1);

/// Which events are wanted.
#[derive(Debug, Default, Deserialize, utoipa::IntoParams)]
#[serde(default, deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct Asked {
    /// Only those behind this one; all without.
    after: Option<u64>,
    limit: Option<usize>,
}

/// An event of a task.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub(crate) struct TaskEvent {
    /// Its place in the task's log.
    seq: u64,
    /// `opened`, `output` (the agent said it), `input` (somebody said it to the agent), `cancel`
    /// (somebody wants the task to end), or `snapshot`: the log no longer reaches back, and this
    /// is the task instead.
    #[schema(value_type = String)]
    kind: &'static str,
    /// What readers of the task see, as A2A 1.0 has it.
    #[schema(value_type = Object)]
    event: Raw,
    /// What was said to the agent.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    message: Option<Raw>,
}

/// A page of events.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub(crate) struct TaskEventPage {
    events: Vec<TaskEvent>,
    /// What to ask with as `after` for what comes behind.
    last: u64,
    /// Whether there is more already.
    more: bool,
    /// Whether the task is over: nothing comes behind its last event.
    ended: bool,
}

#[utoipa::path(
    get,
    path = "/api/v1/tasks/{task}/events",
    operation_id = "listTaskEvents",
    tag = "tasks",
    summary = "Lists the events of a task, or streams them over SSE",
    params(("task" = String, Path, description = "The id of a task"), Asked),
    responses(
        (status = 200, description = "Done", content(
            (TaskEventPage = "application/json"),
            (String = "text/event-stream"),
        )),
        (status = 204, description = "The task is over, and the reader has seen everything"),
    ),
)]
pub(crate) async fn list(
    State(hub): State<Hub>,
    who: Who,
    headers: HeaderMap,
    Path(task): Path<String>,
    Query(asked): Query<Asked>,
) -> Result<Response, Problem> {
    let head = sight::find(&hub, &who, &task).await?;
    if !sse::is_wanted(&headers) {
        return Ok(Json(page(&hub, &head, &asked).await?).into_response());
    }
    let after = sse::last_event_id(&headers)?.or(asked.after).unwrap_or_default();
    if head.state.is_terminal() && after >= head.seq.0 {
        // A browser that is told nothing would come back for ever.
        return Ok(StatusCode::NO_CONTENT.into_response());
    }
    let watching = Watching::new(&hub, who, &head, Seq(after)).await?;
    Ok(sse::answer(stream::unfold(watching, |mut watching| async move {
        let event = match watching.next().await? {
            Logged::Entry(entry) => (&entry).into(),
            Logged::Snapshot(seq, task) => TaskEvent::snapshot(seq, *task),
        };
        Some((sse::frame(Some(event.seq), &event), watching))
    })))
}

async fn page(hub: &Hub, head: &Head, asked: &Asked) -> Result<TaskEventPage, Problem> {
    let tasks = sight::gateway(hub)?.tasks();
    let scope = Scope::from(&head.place);
    let after = Seq(asked.after.unwrap_or_default());
    let limit = Limit { entries: asked.limit.unwrap_or(USUAL).clamp(1, MOST), bytes: PAGE_BYTES };
    let found = tasks.log(&scope, &head.id, after, limit).await?;
    let events: Vec<TaskEvent> = if found.is_gap {
        let task = tasks.get_within(&scope, &head.id, None).await?.task;
        let task = nuncio_protocol::service::read(task)?;
        vec![TaskEvent::snapshot(found.reached, task)]
    } else {
        found.entries.iter().map(TaskEvent::from).collect()
    };
    let last = events.last().map_or(after.0, |event| event.seq);
    let more = last < found.reached.0;
    Ok(TaskEventPage { events, last, more, ended: !more && found.state.is_terminal() })
}

/// Somebody who follows a task, for as long as they may.
pub(crate) struct Watching {
    hub: Hub,
    who: Who,
    place: Place,
    entries: Pin<Box<dyn Stream<Item = Result<Logged, A2aError>> + Send>>,
    ended: Pin<Box<dyn Future<Output = ()> + Send>>,
    look: Interval,
    _place: limits::Place,
    _open: OpenStream,
}

impl Watching {
    pub(crate) async fn new(hub: &Hub, who: Who, head: &Head, after: Seq) -> Result<Self, Problem> {
        let place = hub.meter.stream(&who.meter_name()).ok_or_else(|| {
            hub.metrics.rate_limited("streams");
            Problem::too_many_streams()
        })?;
        let mut look = interval(LOOK);
        look.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let tasks = sight::gateway(hub)?.tasks();
        let entries = tasks.follow_log(&Scope::from(&head.place), &head.id, after).await?;
        Ok(Self {
            entries: Box::pin(entries),
            ended: Box::pin(who.identity.ended()),
            place: head.place.clone(),
            look,
            _place: place,
            _open: hub.metrics.stream(),
            hub: hub.clone(),
            who,
        })
    }

    /// Waits for the next event; `None` if there is none, or none for this reader.
    pub(crate) async fn next(&mut self) -> Option<Logged> {
        loop {
            let item = tokio::select! {
                biased;
                () = self.hub.drain.begun() => return None,
                () = &mut self.ended => return None,
                _ = self.look.tick() => None,
                item = self.entries.next() => Some(item?),
            };
            if !self.who.is_let_in(&self.hub) || !sight::sees(&self.hub, &self.who, &self.place) {
                return None;
            }
            match item {
                Some(Ok(logged)) => return Some(logged),
                Some(Err(error)) => {
                    tracing::error!(%error, "the events of a task cannot be read");
                    return None;
                }
                None => {}
            }
        }
    }
}

impl TaskEvent {
    fn snapshot(seq: Seq, task: nuncio_protocol::task::Task) -> Self {
        let event = nuncio_protocol::json::to_string(&StreamResponse::Task(task));
        Self { seq: seq.0, kind: "snapshot", event: raw(&event.into()), message: None }
    }
}

impl From<&Entry> for TaskEvent {
    fn from(Entry { seq, record }: &Entry) -> Self {
        Self {
            seq: seq.0,
            kind: match record.kind {
                Kind::Opened => "opened",
                Kind::Output => "output",
                Kind::Input => "input",
                Kind::Cancel => "cancel",
            },
            event: raw(record.event.json()),
            message: record.message.as_ref().map(|message| raw(message.json())),
        }
    }
}

/// Takes a text that is JSON already.
pub(crate) fn raw(json: &Bytes) -> Raw {
    let text = std::str::from_utf8(json).unwrap_or_default();
    Raw::parse_text(text).unwrap_or_else(|_| Raw::string(text))
}
