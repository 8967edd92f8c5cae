//! What happens, as it happens: over a WebSocket, and as server-sent events (MD-51).

use std::{convert::Infallible, pin::Pin, time::Duration};

use axum::{
    extract::{
        Path, State, WebSocketUpgrade,
        ws::{Message, WebSocket},
    },
    response::{
        IntoResponse, Response,
        sse::{Event, Sse},
    },
};
use futures_util::{StreamExt as _, stream};
use http::{HeaderMap, StatusCode};
use nuncio_protocol::{ids::AgentId, json::Raw};
use serde::{Deserialize, Serialize};
use tokio::time::{Interval, MissedTickBehavior, interval, timeout};

use super::{
    asked::{Caller, Params, itself_or_overseer, visible},
    events::Sight,
    refused::Refused,
};
use crate::{
    directory::{Item, Reader},
    http::{problem::Problem, view::EventView, who::Who},
    hub::Hub,
    limits::Place,
    metrics::OpenStream,
};

/// How often a silent stream says that it is there, and looks whether its reader may go on.
const TICK: Duration = Duration::from_secs(15);

/// A reader that takes nothing for so long is gone.
const PATIENCE: Duration = Duration::from_secs(30);

/// Readers have nothing to say.
const MAX_MESSAGE: usize = 4096;

/// From where a reader goes on.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct From {
    after: Option<u64>,
}

pub(super) async fn socket(
    State(hub): State<Hub>,
    Caller(who): Caller,
    Params(from): Params<From>,
    upgrade: WebSocketUpgrade,
) -> Result<Response, Refused> {
    who.somebody()?;
    let live = Live::new(hub, who, None, from.after)?;
    let upgrade = upgrade.max_message_size(MAX_MESSAGE).max_frame_size(MAX_MESSAGE);
    Ok(upgrade.on_upgrade(|socket| tell(socket, live)))
}

async fn tell(mut socket: WebSocket, mut live: Live) {
    loop {
        let message = tokio::select! {
            told = live.next() => match told {
                Some(Told::Event(event)) => {
                    // Plain data always can be written.
                    let Ok(text) = serde_json::to_string(&event) else { continue };
                    Message::Text(text.into())
                }
                Some(Told::Nothing) => Message::Ping(bytes::Bytes::new()),
                None => break,
            },
            heard = socket.recv() => match heard {
                Some(Ok(Message::Close(_)) | Err(_)) | None => return,
                Some(Ok(_)) => continue,
            },
        };
        if !matches!(timeout(PATIENCE, socket.send(message)).await, Ok(Ok(()))) {
            return;
        }
    }
    // Whoever is gone already does not mind.
    let _ = timeout(PATIENCE, socket.send(Message::Close(None))).await;
}

pub(super) async fn stream(
    State(hub): State<Hub>,
    Caller(who): Caller,
    Path(id): Path<String>,
    Params(from): Params<From>,
    headers: HeaderMap,
) -> Result<Response, Refused> {
    let agent = visible(&hub, &who, &id)?;
    itself_or_overseer(&who, &agent.id)?;
    let last = headers.get("last-event-id").and_then(|value| value.to_str().ok());
    let after = last.and_then(|value| value.parse().ok()).or(from.after);
    let live = Live::new(hub, who, Some(agent.id.clone()), after)?;
    let first = stream::once(async { Ok::<_, Infallible>(ping()) });
    let rest = stream::unfold(live, async |mut live| {
        let event = match live.next().await? {
            Told::Event(event) => frame(event),
            Told::Nothing => ping(),
        };
        Some((Ok(event), live))
    });
    Ok(Sse::new(first.chain(rest)).into_response())
}

fn ping() -> Event {
    Event::default().comment("ping")
}

/// An event in the envelope of AG-UI.
#[derive(Debug, Serialize)]
struct Envelope {
    r#type: String,
    timestamp: i64,
    data: Raw,
}

fn frame(event: EventView) -> Event {
    let envelope = Envelope {
        r#type: event.event,
        timestamp: event.timestamp.as_millis(),
        data: event.payload,
    };
    let frame = match event.seq {
        Some(seq) => Event::default().id(seq.to_string()),
        None => Event::default(),
    };
    // Plain data always can be written.
    frame.data(serde_json::to_string(&envelope).unwrap_or_default())
}

/// Events for one reader, for as long as it may have them.
struct Live {
    hub: Hub,
    reader: Reader,
    sight: Sight,
    ended: Pin<Box<dyn Future<Output = ()> + Send>>,
    ticks: Interval,
    _place: Place,
    _open: OpenStream,
}

enum Told {
    Event(EventView),
    Nothing,
}

impl Live {
    fn new(
        hub: Hub,
        who: Who,
        agent: Option<AgentId>,
        after: Option<u64>,
    ) -> Result<Self, Problem> {
        let place = hub.meter.stream(&who.meter_name()).ok_or_else(|| {
            hub.metrics.rate_limited("streams");
            let detail = "as many event streams are open as one caller may have";
            Problem {
                retry_after: Some(1),
                ..Problem::new(StatusCode::TOO_MANY_REQUESTS, "TOO_MANY_STREAMS", detail)
            }
        })?;
        let reader = hub.directory.feed().read(who.organisation.clone(), agent, after);
        let mut ticks = interval(TICK);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        ticks.reset();
        Ok(Self {
            reader,
            ended: Box::pin(who.identity.ended()),
            sight: Sight::new(&hub, who),
            ticks,
            _place: place,
            _open: hub.metrics.stream(),
            hub,
        })
    }

    /// Waits for the next event. Nothing is lost if the future is dropped.
    async fn next(&mut self) -> Option<Told> {
        loop {
            let item = tokio::select! {
                item = self.reader.next() => match item {
                    Ok(item) => item,
                    Err(error) => {
                        tracing::warn!(%error, "a stream of events ends early");
                        return None;
                    }
                },
                _ = self.ticks.tick() => return self.sight.lasts(&self.hub).then_some(Told::Nothing),
                () = self.hub.drain.begun() => return None,
                () = &mut self.ended => return None,
            };
            if !self.sight.lasts(&self.hub) {
                return None;
            }
            let agent = match &item {
                Item::Logged(logged) => logged.event.agent.as_ref(),
                Item::Passing(passing) => Some(&passing.agent),
            };
            if self.sight.sees(&self.hub, agent) {
                return Some(Told::Event(self.sight.view(&self.hub, &item)));
            }
        }
    }
}
