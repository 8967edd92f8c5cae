//! What happens: in pages, and as it happens over SSE or `WebSocket`.

use std::time::Duration;

use axum::{
    Json,
    extract::{
        FromRequestParts, State, WebSocketUpgrade,
        ws::{CloseFrame, Message, WebSocket, close_code},
    },
    response::{IntoResponse, Response},
};
use bytes::Bytes;
use futures_util::stream;
use http::{HeaderMap, StatusCode, request::Parts};
use nuncio_protocol::ids::AgentId;
use serde::{Deserialize, Serialize};
use tokio::time::{MissedTickBehavior, interval, timeout};

use crate::{
    error::Error,
    http::{
        following::{End, Following},
        problem::Problem,
        query::Query,
        sse,
        view::EventView,
        who::{Role, Who},
    },
    hub::Hub,
    store::EventQuery,
};

/// How many events a page has at most.
const MOST: u32 = 1000;

/// How long a reader may take to take an event.
const STALL: Duration = Duration::from_secs(30);

/// Which events are wanted.
#[derive(Debug, Default, Deserialize, utoipa::IntoParams)]
#[serde(default, deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct Asked {
    after: Option<u64>,
    limit: Option<u32>,
    /// The name or id of an agent.
    agent: Option<String>,
    name: Option<String>,
    /// Lets a browser's `WebSocket` in, once.
    ticket: Option<String>,
}

/// A page of events.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub(crate) struct EventPage {
    events: Vec<EventView>,
    /// What to ask with as `after` for what comes behind.
    last: u64,
    /// Whether there is more already.
    more: bool,
}

#[utoipa::path(
    get,
    path = "/api/v1/events",
    operation_id = "listEvents",
    tag = "events",
    summary = "Lists events, or streams them over SSE",
    params(Asked),
    responses((status = 200, description = "Done", content(
        (EventPage = "application/json"),
        (String = "text/event-stream"),
    ))),
)]
pub(crate) async fn list(
    State(hub): State<Hub>,
    who: Who,
    headers: HeaderMap,
    Query(asked): Query<Asked>,
) -> Result<Response, Problem> {
    who.somebody()?;
    let agent = about(&hub, &who, asked.agent.as_deref())?;
    if sse::is_wanted(&headers) {
        let after = sse::last_event_id(&headers)?.or(asked.after);
        return Ok(stream_of(Following::new(&hub, who, (agent, asked.name), after)?));
    }
    let limit = asked.limit.unwrap_or(100).clamp(1, MOST);
    let after = asked.after.unwrap_or_default();
    let organisation = who.organisation.clone();
    let query = EventQuery { organisation, agent, name: asked.name, after, limit };
    let found = hub.directory.store().events(query).await.map_err(Error::from)?;
    let seen = found.iter().filter(|logged| who.sees(&hub, logged.event.agent.as_ref()));
    let seen = seen.map(|logged| EventView::from(logged).seen_by(&hub, &who));
    let page = EventPage {
        events: seen.collect(),
        last: found.last().map_or(after, |logged| logged.seq),
        more: found.len() == limit as usize,
    };
    Ok(Json(page).into_response())
}

/// Finds the agent that events are wanted about. Whoever sees everything may ask about one that
/// is gone.
fn about(hub: &Hub, who: &Who, text: Option<&str>) -> Result<Option<AgentId>, Problem> {
    let Some(text) = text else { return Ok(None) };
    match (hub.directory.visible(who.asker(), text), &who.role) {
        (Ok(agent), _) => Ok(Some(agent.id.clone())),
        (Err(error), Role::Administrator | Role::Viewer) => {
            AgentId::parse(text).map(Some).map_err(|_| error.into())
        }
        (Err(error), _) => Err(error.into()),
    }
}

fn stream_of(following: Following) -> Response {
    sse::answer(stream::unfold(following, |mut following| async move {
        let event = following.next().await.ok()?;
        Some((sse::frame(event.seq, &event), following))
    }))
}

/// A ticket for a `WebSocket`, which browsers cannot open with a header.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub(crate) struct TicketView {
    ticket: String,
    expires_seconds: u64,
}

#[utoipa::path(
    post,
    path = "/api/v1/tickets",
    operation_id = "newTicket",
    tag = "events",
    summary = "Makes a ticket that opens a WebSocket, once",
    responses((status = 201, description = "Made", body = TicketView)),
)]
pub(crate) async fn new_ticket(
    State(hub): State<Hub>,
    who: Who,
) -> Result<(StatusCode, Json<TicketView>), Problem> {
    who.somebody()?;
    let ticket = hub.passes.issue(who).map_err(|_| {
        let detail = "too many tickets wait to be used";
        Problem {
            retry_after: Some(60),
            ..Problem::new(StatusCode::TOO_MANY_REQUESTS, "TOO_MANY_REQUESTS", detail)
        }
    })?;
    let view = TicketView { ticket: ticket.expose().to_owned(), expires_seconds: 60 };
    Ok((StatusCode::CREATED, Json(view)))
}

/// Whoever opens a `WebSocket`: by a ticket, or by what they show as anybody does.
pub(crate) struct Guest(Who);

impl FromRequestParts<Hub> for Guest {
    type Rejection = Problem;

    async fn from_request_parts(head: &mut Parts, hub: &Hub) -> Result<Self, Problem> {
        let Query(asked) = Query::<Asked>::from_request_parts(head, hub).await?;
        let ticket = asked.ticket;
        let Some(ticket) = ticket else {
            return Who::from_request_parts(head, hub).await.map(Self);
        };
        let who = hub.passes.redeem(&ticket).filter(|who| who.is_let_in(hub));
        who.map(Self).ok_or_else(|| {
            let detail = "this ticket was used or is too old; ask for another";
            Problem::new(StatusCode::UNAUTHORIZED, "TICKET_USED", detail)
        })
    }
}

#[utoipa::path(
    get,
    path = "/api/v1/events/ws",
    operation_id = "followEvents",
    tag = "events",
    summary = "Streams events over a WebSocket",
    params(Asked),
    responses((status = 101, description = "Events follow")),
)]
pub(crate) async fn socket(
    State(hub): State<Hub>,
    Guest(who): Guest,
    Query(asked): Query<Asked>,
    upgrade: Result<WebSocketUpgrade, axum::extract::ws::rejection::WebSocketUpgradeRejection>,
) -> Result<Response, Problem> {
    who.somebody()?;
    let upgrade = upgrade.map_err(|error| {
        Problem::new(StatusCode::UPGRADE_REQUIRED, "NO_WEBSOCKET", error.body_text())
    })?;
    let agent = about(&hub, &who, asked.agent.as_deref())?;
    let following = Following::new(&hub, who, (agent, asked.name), asked.after)?;
    // Readers have nothing to say here.
    let upgrade = upgrade.max_message_size(4096).max_frame_size(4096);
    Ok(upgrade.on_upgrade(move |socket| follow(socket, following)))
}

async fn follow(mut socket: WebSocket, mut following: Following) {
    let mut pings = interval(sse::HEARTBEAT);
    pings.set_missed_tick_behavior(MissedTickBehavior::Delay);
    pings.reset();
    let mut is_answered = true;
    loop {
        let message = tokio::select! {
            event = following.next() => match event {
                Ok(event) => Message::Text(sse::line(&event).into()),
                Err(end) => break say_goodbye(socket, end).await,
            },
            said = socket.recv() => match said {
                Some(Ok(Message::Close(_)) | Err(_)) | None => break,
                Some(Ok(_)) => {
                    is_answered = true;
                    continue;
                }
            },
            _ = pings.tick() => {
                if !is_answered {
                    break;
                }
                is_answered = false;
                Message::Ping(Bytes::new())
            }
        };
        // Who takes nothing is not waited for.
        if !matches!(timeout(STALL, socket.send(message)).await, Ok(Ok(()))) {
            break;
        }
    }
}

async fn say_goodbye(mut socket: WebSocket, end: End) {
    let (code, reason) = match end {
        End::Draining => (close_code::AWAY, "the hub is stopping"),
        End::Refused => (close_code::POLICY, "the credential is no longer valid"),
        End::Failed => (close_code::ERROR, "events cannot be read now"),
    };
    let close = Message::Close(Some(CloseFrame { code, reason: reason.into() }));
    // Whether it arrives makes no difference any more.
    let _ = timeout(STALL, socket.send(close)).await;
}
