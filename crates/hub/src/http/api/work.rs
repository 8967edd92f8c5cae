//! Work for agents that nobody can reach: they fetch it, and bring back what came of it.

use std::time::Duration;

use axum::{
    Json,
    extract::{Path, State},
    response::{IntoResponse, Response},
};
use bytes::Bytes;
use futures_util::stream;
use http::{HeaderMap, StatusCode};
use nuncio_protocol::{
    ids::{AgentId, TaskId},
    json::{self, Raw, Shared},
    service::Event,
    task::StreamResponse,
};
use nuncio_tasks::scope::{Name, Scope};
use serde::{Deserialize, Serialize};
use tokio::time::sleep;

use crate::{
    agent::Delivery,
    gateway::{
        Gateway,
        pull::{Desk, Found, Shift},
    },
    http::{
        body,
        problem::Problem,
        query::Query,
        sse,
        who::{Role, Who},
    },
    hub::Hub,
};

/// The longest wait for work.
const MOST_WAIT: Duration = Duration::from_secs(60);

/// How many events are taken at once.
const MOST_EVENTS: usize = 256;

/// The last word of a stream: the next hub is there soon.
const GOODBYE: &[u8] = b"retry: 1000\n: the hub stops; come back\n\n";

/// How long an agent waits for work.
#[derive(Debug, Default, Deserialize, utoipa::IntoParams)]
#[serde(default, deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct Asked {
    /// At most so many seconds, and no more than 60. A stream waits for as long as it is read.
    wait: u32,
    /// On a stream: how many messages are handed over at a time that the agent has not ended; 1
    /// if it does not say.
    room: Option<u16>,
}

/// Something to be done, or to be ended.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub(crate) struct Work {
    /// The hub's name of the task.
    #[schema(value_type = String)]
    task: TaskId,
    /// The message, as a request of `SendMessage` in A2A 1.0, in the names that the agent has
    /// given to task and conversation. To be accepted before anything is done.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    request: Option<Raw>,
    /// Whether work on it is to end.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    cancel: bool,
}

/// What came of a piece of work.
#[derive(Debug, Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Results {
    /// In order. What was brought before counts once.
    events: Vec<Numbered>,
}

/// An event of a stream, as A2A 1.0 has it.
#[derive(Debug, Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Numbered {
    /// From 1 upwards, for each message that was accepted.
    seq: u64,
    #[schema(value_type = Object)]
    event: Raw,
}

/// Whether more is wanted.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub(crate) struct Taken {
    /// Whether the task has ended, and nothing more is.
    ended: bool,
}

#[utoipa::path(
    get,
    path = "/api/v1/work",
    operation_id = "fetchWork",
    tag = "work",
    summary = "Waits for something to do, once or as a stream",
    description = "With `Accept: text/event-stream` work is handed over as it comes, for as long \
        as the stream is read; each event is one piece of it. A stream that ends is opened anew.",
    params(Asked),
    responses(
        (status = 200, description = "There is something", content(
            (Work = "application/json"),
            (String = "text/event-stream"),
        )),
        (status = 204, description = "There is nothing; ask again"),
    ),
)]
pub(crate) async fn fetch(
    State(hub): State<Hub>,
    who: Who,
    Query(asked): Query<Asked>,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let worker = Worker::find(&hub, &who)?;
    if sse::is_wanted(&headers) {
        let room = usize::from(asked.room.unwrap_or(1).max(1));
        let shift = Shift::new(worker.desk, room);
        return hand_over(hub, who, shift);
    }
    let wait = Duration::from_secs(asked.wait.into()).min(MOST_WAIT);
    let found = tokio::select! {
        found = worker.desk.fetch(wait) => found,
        () = hub.drain.begun() => None,
    };
    match found {
        Some(found) => Ok(Json(Work::of(found)?).into_response()),
        None => Ok(StatusCode::NO_CONTENT.into_response()),
    }
}

impl Work {
    fn of(found: Found) -> Result<Self, Problem> {
        Ok(match found {
            Found::Work(task, request) => {
                let request = Raw::parse_text(&json::to_string(&*request));
                let request =
                    request.map_err(|error| Problem::invalid("request", error.to_string()))?;
                Self { task, request: Some(request), cancel: false }
            }
            Found::Cancel(task) => Self { task, request: None, cancel: true },
        })
    }
}

/// Hands over work as it comes, while the agent may have it.
fn hand_over(hub: Hub, who: Who, shift: Shift) -> Result<Response, Problem> {
    let place = hub.meter.stream(&who.meter_name()).ok_or_else(|| {
        hub.metrics.rate_limited("streams");
        Problem::too_many_streams()
    })?;
    let open = hub.metrics.stream();
    let ended = Box::pin(who.identity.ended());
    let changes = hub.directory.feed().changes();
    let handing = (hub, who, shift, (ended, changes), (place, open));
    Ok(sse::answer(stream::unfold(Some(handing), |handing| async move {
        let (hub, who, mut shift, (mut ended, mut changes), kept) = handing?;
        let found = loop {
            let found = tokio::select! {
                biased;
                () = hub.drain.begun() => return Some((Bytes::from_static(GOODBYE), None)),
                () = &mut ended => return None,
                found = shift.next() => Some(found),
                // Nobody is kept waiting for what they will not get.
                _ = changes.changed() => None,
                () = sleep(sse::HEARTBEAT) => None,
            };
            if !who.is_let_in(&hub) || Worker::find(&hub, &who).is_err() {
                return None;
            }
            if let Some(found) = found {
                break found;
            }
        };
        let frame = sse::frame(None, &Work::of(found).ok()?);
        Some((frame, Some((hub, who, shift, (ended, changes), kept))))
    })))
}

#[utoipa::path(
    post,
    path = "/api/v1/work/{task}/accept",
    operation_id = "acceptWork",
    tag = "work",
    summary = "Takes a piece of work, which nobody else gets then",
    params(("task" = String, Path, description = "The hub's name of the task")),
    responses((status = 204, description = "It is yours")),
)]
pub(crate) async fn accept(
    State(hub): State<Hub>,
    who: Who,
    Path(task): Path<String>,
) -> Result<StatusCode, Problem> {
    let worker = Worker::find(&hub, &who)?;
    if worker.desk.accept(&read_task(&task)?).await {
        return Ok(StatusCode::NO_CONTENT);
    }
    let detail = "somebody has it already, or it is no longer wanted";
    Err(Problem::new(StatusCode::CONFLICT, "NOT_OFFERED", detail))
}

#[utoipa::path(
    post,
    path = "/api/v1/work/{task}/events",
    operation_id = "bringResults",
    tag = "work",
    summary = "Brings back what came of a piece of work",
    params(("task" = String, Path, description = "The hub's name of the task")),
    request_body = Results,
    responses((status = 200, description = "It is kept", body = Taken)),
)]
pub(crate) async fn bring(
    State(hub): State<Hub>,
    who: Who,
    Path(task): Path<String>,
    body::Json(results): body::Json<Results>,
) -> Result<Json<Taken>, Problem> {
    let worker = Worker::find(&hub, &who)?;
    let task = read_task(&task)?;
    if results.events.len() > MOST_EVENTS {
        let detail = format!("at most {MOST_EVENTS} events are taken at once");
        return Err(Problem::invalid("events", detail));
    }
    let events = results.events.into_iter().enumerate().map(|(index, numbered)| {
        let field = format!("events[{index}].event");
        let event: StreamResponse = json::from_str(numbered.event.as_str())
            .map_err(|error| Problem::invalid(field, error.to_string()))?;
        Ok(Event { seq: Some(numbered.seq), response: Shared::new(event) })
    });
    let events = events.collect::<Result<Vec<_>, Problem>>()?;
    let is_taken = worker.desk.bring(&task, events).await;
    let ended = worker.has_ended(&task).await?;
    if is_taken || ended {
        return Ok(Json(Taken { ended }));
    }
    Err(Problem {
        retry_after: Some(1),
        ..Problem::new(
            StatusCode::SERVICE_UNAVAILABLE,
            "NOT_EXPECTED",
            "nobody waits for this yet; bring it again, or accept the work first",
        )
    })
}

/// An agent that fetches its work.
struct Worker<'h> {
    gateway: &'h Gateway,
    scope: Scope,
    desk: std::sync::Arc<Desk>,
}

impl<'h> Worker<'h> {
    fn find(hub: &'h Hub, who: &Who) -> Result<Self, Problem> {
        let gateway = hub.gateway.as_ref().ok_or_else(Problem::not_found)?;
        let Role::Agent(id) = &who.role else {
            return Err(Problem::forbidden("only an agent fetches work, with its own token"));
        };
        let state = hub.directory.state();
        let agent = state.present(&who.organisation, id).ok_or_else(Problem::not_found)?;
        if agent.delivery != Delivery::Pull {
            let detail = "this agent is called; register it with `delivery: pull` to fetch work";
            return Err(Problem::new(StatusCode::CONFLICT, "NOT_PULLING", detail));
        }
        let scope = scope(who, id)?;
        Ok(Self { gateway, scope, desk: gateway.desk(id) })
    }

    async fn has_ended(&self, task: &TaskId) -> Result<bool, Problem> {
        let kin = self.gateway.tasks().kin(&self.scope, task).await;
        let kin = kin.map_err(|error| {
            Problem::new(StatusCode::SERVICE_UNAVAILABLE, "UNAVAILABLE", error.message())
        })?;
        Ok(kin.ok_or_else(Problem::not_found)?.state.is_terminal())
    }
}

/// An agent sees the tasks that it works on.
fn scope(who: &Who, agent: &AgentId) -> Result<Scope, Problem> {
    let name = |text: &str| {
        Name::parse(text).map_err(|error| Problem::invalid("agent", error.to_string()))
    };
    let (tenant, agent) = (name(who.organisation.as_str())?, name(agent.as_str())?);
    Ok(Scope { tenant, agent: Some(agent), caller: None })
}

fn read_task(text: &str) -> Result<TaskId, Problem> {
    TaskId::parse(text).map_err(|error| Problem::invalid("task", error.to_string()))
}
