//! What becomes of messages that come by the proxy, told to whoever listens (MD-50).
//!
//! It is told by the hub that has carried them, and not kept: the task and the activity of the
//! workspace say the same later.

use std::{pin::pin, sync::Arc};

use futures_util::StreamExt as _;
use nuncio_protocol::{
    error::{Error, ErrorKind},
    ids::AgentId,
    json::Raw,
    operation::{Request, Response},
    service::read,
    state::TaskState,
    task::{SendMessageResponse, Task},
    wire::{Echo, JsonRpcForm as _},
};
use nuncio_tasks::scope::{Name, Scope};
use serde::Serialize;
use tokio::time::Instant;

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

/// A message under way.
pub(super) struct Telling {
    target: Arc<Agent>,
    /// The agent that has sent it; none if it was a person.
    source: Option<AgentId>,
    summary: String,
    begun: Instant,
}

impl Telling {
    /// Begins to watch a request, if it is a message.
    pub(super) fn of(who: &Who, target: &Arc<Agent>, request: &Request) -> Option<Self> {
        let Request::SendMessage(send) = request else { return None };
        let source = match &who.role {
            Role::Agent(id) => Some(id.clone()),
            _ => None,
        };
        let summary = cut(&send.message.text(), SUMMARY);
        Some(Self { target: Arc::clone(target), source, summary, begun: Instant::now() })
    }

    /// Tells what has become of it, as soon as that is known.
    pub(super) async fn tell(self, hub: &Hub, echo: &Echo, answer: Result<Response, Error>) {
        let answer = match answer {
            Ok(Response::SendMessage(SendMessageResponse::Task(task))) if is_under_way(&task) => {
                // What is not known when the hub stops is told by nobody.
                let Some(task) = end_of(hub, &self.target, &task).await else { return };
                Ok(Response::SendMessage(SendMessageResponse::Task(task)))
            }
            answer => answer,
        };
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
    !task.status.state.is_terminal() && !task.status.state.is_interrupted()
}

/// Waits for the end of a task; `None` if it cannot be known.
async fn end_of(hub: &Hub, agent: &Agent, task: &Task) -> Option<Task> {
    let tasks = hub.gateway.as_ref()?.tasks();
    let scope = Scope::tenant(Name::parse(agent.organisation.as_str()).ok()?);
    let head = tasks.find(&scope, &task.id).await.ok()?;
    let mut entries = pin!(tasks.follow_log(&scope, &task.id, head.seq).await.ok()?);
    while let Some(entry) = entries.next().await {
        entry.ok()?;
    }
    let task = read(tasks.get_within(&scope, &task.id, Some(0)).await.ok()?.task).ok()?;
    (!is_under_way(&task)).then_some(task)
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
