//! What becomes of messages that come by the proxy, told to whoever listens (MD-50).
//!
//! It is told by the hub that has carried them, and not kept: the task and the activity of the
//! workspace say the same later.

use std::{
    collections::VecDeque,
    mem,
    pin::pin,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use futures_util::StreamExt as _;
use nuncio_protocol::{
    error::{Error, ErrorKind},
    ids::AgentId,
    json::Raw,
    operation::{Request, Response},
    service::read,
    state::TaskState,
    task::{SendMessageResponse, StreamResponse, Task},
    wire::{Echo, JsonRpcForm as _},
};
use nuncio_tasks::{
    engine::Logged,
    scope::{Name, Scope},
};
use serde::Serialize;
use tokio::{sync::Semaphore, task::JoinSet, time::Instant};

use super::{activity::SUMMARY, delegations::cut, proxy::FORM};
use crate::{
    agent::Agent,
    event,
    http::who::{Role, Who},
    hub::Hub,
};

/// The longest answer that is told. Of longer ones the task is named.
const MAX_BODY: usize = 64 << 10;

/// The method that is told about.
const METHOD: &str = "message/send";

/// So many messages are remembered, so that a repeated one is not told twice.
const MOST_TOLD: usize = 1_024;

/// Carries messages and tells what becomes of them, also when nobody waits any more; until the
/// hub ends.
#[derive(Debug)]
pub(crate) struct Tellers {
    carrying: Mutex<JoinSet<()>>,
    /// Room for tasks that are followed to their end.
    room: Semaphore,
    /// What the last messages were known by.
    told: Mutex<VecDeque<Key>>,
}

/// What a message is known by, so that a repeated one is the same: who has sent it, to whom, and
/// the name that it was given.
type Key = (String, AgentId, String);

/// A message under way.
pub(super) struct Telling {
    target: Arc<Agent>,
    /// The agent that has sent it; none if it was a person.
    source: Option<AgentId>,
    summary: String,
    begun: Instant,
    key: Option<Key>,
}

impl Tellers {
    /// Follows so many tasks at once.
    pub(crate) fn new(followed: usize) -> Self {
        Self {
            carrying: Mutex::default(),
            room: Semaphore::new(followed.min(Semaphore::MAX_PERMITS)),
            told: Mutex::default(),
        }
    }

    /// Does what goes on if whoever has asked for it goes away.
    pub(super) fn carry(&self, work: impl Future<Output = ()> + Send + 'static) {
        let mut carrying = lock(&self.carrying);
        while carrying.try_join_next().is_some() {}
        carrying.spawn(work);
    }

    /// Ends everything that is still under way.
    pub(crate) async fn end(&self) {
        let mut carrying = mem::take(&mut *lock(&self.carrying));
        carrying.shutdown().await;
    }

    /// Takes note of a message, unless it is a repeated one.
    fn is_new(&self, key: &Key) -> bool {
        let mut told = lock(&self.told);
        if told.contains(key) {
            return false;
        }
        if told.len() == MOST_TOLD {
            told.pop_front();
        }
        told.push_back(key.clone());
        true
    }

    /// Forgets a message that may be sent again: it has got nowhere.
    fn forget(&self, key: &Key) {
        lock(&self.told).retain(|told| told != key);
    }
}

fn lock<T>(of: &Mutex<T>) -> MutexGuard<'_, T> {
    of.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Telling {
    /// Begins to watch a request, if it is a message, and none that was sent before under the
    /// name that its sender has given it.
    pub(super) fn of(
        hub: &Hub,
        who: &Who,
        target: &Arc<Agent>,
        request: &Request,
        name: Option<String>,
    ) -> Option<Self> {
        let Request::SendMessage(send) = request else { return None };
        let key = name.map(|name| (who.actor().as_str().to_owned(), target.id.clone(), name));
        if key.as_ref().is_some_and(|key| !hub.tellers.is_new(key)) {
            return None;
        }
        let source = match &who.role {
            Role::Agent(id) => Some(id.clone()),
            _ => None,
        };
        let summary = cut(&send.message.text(), SUMMARY);
        Some(Self { target: Arc::clone(target), source, summary, begun: Instant::now(), key })
    }

    /// Tells what has become of it, as soon as that is known.
    pub(super) async fn tell(self, hub: &Hub, echo: &Echo, answer: Result<Response, Error>) {
        let answer = match answer {
            Ok(Response::SendMessage(SendMessageResponse::Task(task))) if is_under_way(&task) => {
                let Ok(_room) = hub.tellers.room.try_acquire() else {
                    tracing::debug!(task = %task.id, "too many are followed to tell of this one");
                    return;
                };
                // What is not known when the hub stops is told by nobody.
                let Some(task) = settled(hub, &self.target, &task).await else { return };
                Ok(Response::SendMessage(SendMessageResponse::Task(task)))
            }
            answer => answer,
        };
        if let (Some(key), Err(_)) = (&self.key, &answer) {
            hub.tellers.forget(key);
        }
        let millis = u64::try_from(self.begun.elapsed().as_millis()).unwrap_or(u64::MAX);
        let duration = ("duration_ms", raw(&millis));
        let method = ("method", Raw::string(METHOD));
        let source = self.source.as_ref();
        let ends = [("a2a_receive", Some(&self.target.id)), ("a2a_send", source)];
        for (kind, agent) in ends {
            let Some(agent) = agent else { continue };
            let payload = [
                ("activity_type", Raw::string(kind)),
                method.clone(),
                ("summary", Raw::string(&self.summary)),
                ("status", Raw::string(status(&answer))),
                ("source_id", raw(&source)),
                ("target_id", Raw::string(self.target.id.as_str())),
                duration.clone(),
            ];
            let about = (&self.target.organisation, agent);
            hub.directory.tell_passing(about, event::Name::ActivityLogged, &payload);
        }
        let (None, Ok(answer)) = (source, &answer) else { return };
        let mut payload = vec![method, duration];
        if let Response::SendMessage(SendMessageResponse::Task(task)) = answer {
            payload.push(("task_id", Raw::string(task.id.as_str())));
        }
        let text = FORM.write_reply(echo, Ok(answer));
        let body = Raw::parse_text(&text).ok().filter(|_| text.len() <= MAX_BODY);
        payload.extend(body.map(|body| ("response_body", body)));
        let about = (&self.target.organisation, &self.target.id);
        hub.directory.tell_passing(about, event::Name::A2aResponse, &payload);
    }
}

fn is_under_way(task: &Task) -> bool {
    !is_settled(task.status.state)
}

fn is_settled(state: TaskState) -> bool {
    state.is_terminal() || state.is_interrupted()
}

/// Waits until a task ends or needs somebody; `None` if that cannot be known.
async fn settled(hub: &Hub, agent: &Agent, task: &Task) -> Option<Task> {
    let tasks = hub.gateway.as_ref()?.tasks();
    let scope = Scope::tenant(Name::parse(agent.organisation.as_str()).ok()?);
    let head = tasks.find(&scope, &task.id).await.ok()?;
    let mut entries = pin!(tasks.follow_log(&scope, &task.id, head.seq).await.ok()?);
    loop {
        let now = read(tasks.get_within(&scope, &task.id, Some(0)).await.ok()?.task).ok()?;
        if !is_under_way(&now) {
            return Some(now);
        }
        // Somebody may have answered before it could be read: then it goes on.
        while !settles(&entries.next().await?.ok()?) {}
    }
}

fn settles(logged: &Logged) -> bool {
    let state = match logged {
        Logged::Snapshot(_, task) => task.status.state,
        Logged::Entry(entry) => match entry.record.event.value() {
            Ok(StreamResponse::StatusUpdate(update)) => update.status.state,
            Ok(StreamResponse::Task(task)) => task.status.state,
            _ => return false,
        },
    };
    is_settled(state)
}

fn status(answer: &Result<Response, Error>) -> &'static str {
    match answer {
        Ok(Response::SendMessage(SendMessageResponse::Task(task))) => match task.status.state {
            TaskState::Failed | TaskState::Canceled | TaskState::Rejected => "error",
            _ => "ok",
        },
        Ok(_) => "ok",
        Err(error) if error.kind() == ErrorKind::Timeout => "timeout",
        Err(_) => "error",
    }
}

fn raw(value: &impl Serialize) -> Raw {
    // Plain data always can be written.
    Raw::from_value(value).unwrap_or_else(|_| Raw::string(""))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn what_is_under_way_ends_with_the_hub() {
        let tellers = Tellers::new(1);
        let held = Arc::new(());
        let working = Arc::clone(&held);
        tellers.carry(async move {
            std::future::pending::<()>().await;
            drop(working);
        });
        tellers.end().await;
        assert_eq!(Arc::strong_count(&held), 1);
    }

    #[test]
    fn no_more_messages_are_remembered_than_that() {
        let tellers = Tellers::new(1);
        let key = |name: usize| ("user:ann".to_owned(), AgentId::generate(), name.to_string());
        let first = key(0);
        assert!(tellers.is_new(&first));
        assert!(!tellers.is_new(&first));
        assert!((1..=MOST_TOLD).all(|name| tellers.is_new(&key(name))));
        assert!(tellers.is_new(&first), "it has made room for others");
        assert_eq!(lock(&tellers.told).len(), MOST_TOLD);
    }
}
