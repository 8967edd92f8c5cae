//! Fetching work, doing it, and bringing back what came of it.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use futures_util::StreamExt as _;
use http::{Method, StatusCode};
use nuncio_protocol::{
    error::Error,
    ids::TaskId,
    json::{self, Raw},
    message::Message,
    operation::{CancelTaskRequest, SendMessageRequest},
    service::{CallContext, Caller, Event},
    state::TaskState,
    task::StreamResponse,
};
use serde::{Deserialize, Serialize};
use tokio::{sync::Semaphore, time::sleep};

use super::{
    agent::Behind,
    line::{Line, Work},
};
use crate::{
    failure::Failure,
    hub::{Hub, parse, segment},
    output::note,
};

/// How long to wait before a hub is asked again that does not answer, first and at most.
const FIRST_PAUSE: Duration = Duration::from_millis(200);
const LAST_PAUSE: Duration = Duration::from_secs(10);

/// A hub's desk with our work, and whoever does it.
pub(super) struct Desk {
    hub: Hub,
    behind: Behind,
    at_once: usize,
    room: Arc<Semaphore>,
    /// The worker's own names of the tasks that are under way.
    names: Mutex<HashMap<String, TaskId>>,
}

#[derive(Serialize)]
struct Results {
    events: Vec<Numbered>,
}

#[derive(Serialize)]
struct Numbered {
    seq: u64,
    event: Raw,
}

#[derive(Deserialize)]
struct Taken {
    ended: bool,
}

impl Desk {
    pub(super) fn new(hub: Hub, behind: Behind, at_once: usize) -> Self {
        let room = Arc::new(Semaphore::new(at_once));
        Self { hub, behind, at_once, room, names: Mutex::default() }
    }

    /// Returns how much is being done.
    pub(super) fn under_way(&self) -> usize {
        self.at_once - self.room.available_permits()
    }

    /// Fetches and does work for as long as the hub lets us.
    pub(super) async fn work(self: &Arc<Self>) -> Result<(), Failure> {
        let mut pause = FIRST_PAUSE;
        let mut is_cut = false;
        let mut line = Line::default();
        loop {
            let work = match line.next(&self.hub, self.at_once).await {
                Ok(work) => work,
                Err(failure) if failure.is_auth() => return Err(failure),
                Err(failure) => {
                    if !std::mem::replace(&mut is_cut, true) {
                        note(&format!(
                            "the hub does not answer; trying again: {}",
                            failure.message()
                        ));
                    }
                    sleep(pause).await;
                    pause = (pause * 2).min(LAST_PAUSE);
                    continue;
                }
            };
            if std::mem::take(&mut is_cut) {
                note("the hub answers again");
            }
            pause = FIRST_PAUSE;
            match work {
                Some(Work { task, cancel: true, .. }) => self.stop(&task).await,
                Some(Work { task, request: Some(request), .. }) => {
                    self.begin(task, &request).await;
                }
                Some(Work { .. }) | None => {}
            }
        }
    }

    /// Accepts a piece of work, and does it beside everything else.
    async fn begin(self: &Arc<Self>, task: String, request: &Raw) {
        let request: SendMessageRequest = match json::from_str(request.as_str()) {
            Ok(request) => request,
            Err(error) => return note(&format!("a message cannot be read: {error}")),
        };
        let Ok(room) = Arc::clone(&self.room).acquire_owned().await else { return };
        let path = format!("/api/v1/work/{}/accept", segment(&task));
        // Whoever does not get it has nothing to do with it.
        if self.hub.call(Method::POST, &path, None::<&()>).await.is_err() {
            return;
        }
        let desk = Arc::clone(self);
        tokio::spawn(async move {
            desk.carry_out(&task, request).await;
            desk.names.lock().unwrap_or_else(PoisonError::into_inner).remove(&task);
            drop(room);
        });
    }

    async fn carry_out(&self, task: &str, request: SendMessageRequest) {
        let ctx = CallContext::new(Caller::User("hub".into()));
        let (task_id, context_id) =
            (request.message.task_id.clone(), request.message.context_id.clone());
        let mut events = match self.behind.service.send_streaming_message(ctx, request).await {
            Ok(events) => events,
            Err(error) => {
                let told = refusal(&error, task_id, context_id);
                self.bring(task, 1, told).await;
                return;
            }
        };
        let mut seq = 0;
        while let Some(event) = events.next().await {
            seq += 1;
            let response = match event {
                Ok(Event { response, .. }) => match response.into_value() {
                    Ok(response) => response,
                    Err(error) => return note(&format!("an event cannot be read: {error}")),
                },
                Err(error) => refusal(&error, self.name_of(task), None),
            };
            self.learn(task, &response);
            if self.bring(task, seq, response).await {
                return;
            }
        }
    }

    /// Brings back an event, however long that takes. Tells whether nothing more is wanted.
    async fn bring(&self, task: &str, seq: u64, response: StreamResponse) -> bool {
        let path = format!("/api/v1/work/{}/events", segment(task));
        let Ok(event) = Raw::parse_text(&json::to_string(&response)) else { return true };
        let results = Results { events: vec![Numbered { seq, event }] };
        let mut pause = FIRST_PAUSE;
        loop {
            match self.hub.call(Method::POST, &path, Some(&results)).await {
                Ok(bytes) => return parse::<Taken>(&bytes).is_ok_and(|taken| taken.ended),
                Err(failure) if failure.is_hub_status(StatusCode::NOT_FOUND) => return true,
                Err(failure) => {
                    tracing::debug!(error = failure.message(), "an event was not taken");
                }
            }
            sleep(pause).await;
            pause = (pause * 2).min(LAST_PAUSE);
        }
    }

    /// Remembers what the worker calls a task.
    fn learn(&self, task: &str, response: &StreamResponse) {
        let own = match response {
            StreamResponse::Task(task) => &task.id,
            StreamResponse::StatusUpdate(update) => &update.task_id,
            StreamResponse::ArtifactUpdate(update) => &update.task_id,
            StreamResponse::Message(_) => return,
        };
        let mut names = self.names.lock().unwrap_or_else(PoisonError::into_inner);
        names.entry(task.to_owned()).or_insert_with(|| own.clone());
    }

    fn name_of(&self, task: &str) -> Option<TaskId> {
        self.names.lock().unwrap_or_else(PoisonError::into_inner).get(task).cloned()
    }

    /// Ends work that is no longer wanted.
    async fn stop(&self, task: &str) {
        let Some(id) = self.name_of(task) else { return };
        let ctx = CallContext::new(Caller::User("hub".into()));
        let request = CancelTaskRequest { tenant: None, id, metadata: None };
        if let Err(error) = self.behind.service.cancel_task(ctx, request).await {
            note(&format!("a task could not be canceled: {}", error.message()));
        }
    }
}

/// Says that a message was not taken.
fn refusal(
    error: &Error,
    task: Option<TaskId>,
    context: Option<nuncio_protocol::ids::ContextId>,
) -> StreamResponse {
    use nuncio_protocol::{
        ids::ContextId,
        task::{TaskStatus, TaskStatusUpdateEvent},
        time::Timestamp,
    };
    let mut status = TaskStatus::new(TaskState::Failed, Timestamp::now());
    status.message = Some(Box::new(Message::agent(error.message())));
    StreamResponse::StatusUpdate(TaskStatusUpdateEvent {
        task_id: task.unwrap_or_else(TaskId::generate),
        context_id: context.unwrap_or_else(ContextId::generate),
        status,
        metadata: None,
    })
}
