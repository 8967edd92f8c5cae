//! Work that one agent gives to another, and comes back for later (MD-34, MD-35).
//!
//! A delegation is a task of the hub, asked for by the agent that delegates. What an agent has
//! given to another by itself it may have written down here, too: then it says how it went.

mod ended;

use std::{collections::HashMap, sync::Arc};

use axum::{
    Json,
    extract::{FromRequest as _, Path, Request, State},
    response::{IntoResponse as _, Response},
};
use http::StatusCode;
use nuncio_auth::rules::{Asker, Question};
use nuncio_protocol::{
    dialect::WireForm,
    error::{Error as A2aError, ErrorKind},
    ids::{AgentId, MessageId, TaskId},
    json::Raw,
    message::Message,
    operation::{Request as A2aRequest, SendMessageConfiguration, SendMessageRequest},
    service::{Answered, read},
    state::TaskState,
    task::{Artifact, SendMessageResponse, Task},
    time::Timestamp,
};
use nuncio_tasks::{
    engine::reasons,
    scope::{Name, Scope},
};
use serde::{Deserialize, Serialize};

pub(crate) use self::ended::tell_ended;
use super::{
    asked::{Body, Caller, check_line, find, itself_or_overseer, visible},
    events::newest,
    outcome::Outcome,
    refused::Refused,
};
use crate::{
    agent::Agent,
    directory::Delegation,
    error::Error,
    event,
    gateway::{
        Gateway,
        queue::{QUEUE, depth},
    },
    http::{
        calls::Callee,
        problem::Problem,
        who::{Role, Who},
    },
    hub::Hub,
    store::LoggedEvent,
};

/// How many delegations are shown.
const SHOWN: usize = 50;

/// How far back it is looked for how a delegation went.
const RESULTS: usize = 500;

/// The longest id or key that an agent may choose, in characters.
const MAX_ID: usize = 200;

/// How much of a task and of an answer is shown, in characters.
const PREVIEW: usize = 300;

#[derive(Debug, Deserialize)]
pub(super) struct Delegate {
    target_id: String,
    task: String,
    #[serde(default)]
    idempotency_key: Option<String>,
}

#[derive(Debug, Serialize)]
struct Delegated {
    delegation_id: String,
    status: &'static str,
    target_id: AgentId,
    #[serde(skip_serializing_if = "Option::is_none")]
    idempotent_hit: Option<bool>,
}

pub(super) async fn delegate(
    State(hub): State<Hub>,
    Caller(who): Caller,
    Path(id): Path<String>,
    request: Request,
) -> Result<Response, Refused> {
    let (head, body) = request.into_parts();
    let request = Request::from_parts(head.clone(), body);
    let Body(asked) = Body::<Delegate>::from_request(request, &hub).await?;
    let source = visible(&hub, &who, &id)?;
    who.itself_or_administrator(&source.id)?;
    let target = target(&hub, &who, &source, &asked)?;
    let callee = match who.role {
        Role::Agent(_) => Callee::new(&hub, &who, &target, head)?,
        _ => Callee::on_behalf_of(&hub, &source, &target, head)?,
    };
    let key = asked.idempotency_key.as_ref().map(|key| format!("delegation:{key}"));
    let begun = Timestamp::now();
    let answered = callee.call(message(&asked)?, |ctx| {
        ctx.form = Some(WireForm::Molecule);
        ctx.extensions.insert(QUEUE.to_owned());
        ctx.idempotency_key = key;
    });
    let task = match answered.await.and_then(task_of) {
        Ok(task) => task,
        Err(error) => return Ok(refuse(&error)),
    };
    // The same request has opened a task that was there before this one came.
    let is_hit = task.status.timestamp.is_some_and(|opened| opened.as_millis() < begun.as_millis());
    let is_told = is_hit && told(&hub, &who, &source, task.id.as_str()).await?.is_some();
    if !is_told {
        tell(&hub, &who, &source, &target, (task.id.as_str(), &asked.task), true).await?;
    }
    let delegated = Delegated {
        delegation_id: task.id.as_str().to_owned(),
        status: if is_hit { now(&hub, &source, &task.id).await.0 } else { "delegated" },
        target_id: target.id.clone(),
        idempotent_hit: is_hit.then_some(true),
    };
    let status = if is_hit { StatusCode::OK } else { StatusCode::ACCEPTED };
    Ok((status, Json(delegated)).into_response())
}

/// Finds the agent that work is given to, if the other may call it.
fn target(hub: &Hub, who: &Who, source: &Agent, asked: &Delegate) -> Result<Arc<Agent>, Refused> {
    if asked.task.trim().is_empty() {
        return Err(Refused::invalid("task", "must say what is to be done"));
    }
    check_line("idempotency_key", asked.idempotency_key.as_deref().unwrap_or_default(), MAX_ID)?;
    let target = find(hub, who, &asked.target_id)?;
    if target.id == source.id {
        return Err(Refused::invalid("target_id", "is the workspace itself"));
    }
    let caller = Asker::Agent { id: &source.id, organisation: &source.organisation };
    let decision = hub.directory.decide(&Question::new(caller, &target.id));
    if decision.is_allowed() {
        Ok(target)
    } else {
        Err(Error::Denied { decision: Box::new(decision) }.into())
    }
}

fn message(asked: &Delegate) -> Result<A2aRequest, Refused> {
    let mut message = Message::user(&asked.task);
    if let Some(key) = &asked.idempotency_key {
        // The same request is the same message.
        message.message_id = MessageId::parse(&format!("delegation-{key}"))
            .map_err(|error| Refused::invalid("idempotency_key", &error.to_string()))?;
    }
    let mut request = SendMessageRequest::new(message);
    request.configuration =
        Some(SendMessageConfiguration { return_immediately: true, ..Default::default() });
    Ok(A2aRequest::SendMessage(request))
}

fn task_of(answered: Answered) -> Result<Task, A2aError> {
    let unexpected = || A2aError::new(ErrorKind::Internal, "no task");
    let Answered::SendMessage(answer) = answered else { return Err(unexpected()) };
    match read(answer)? {
        SendMessageResponse::Task(task) => Ok(task),
        SendMessageResponse::Message(_) => Err(unexpected()),
    }
}

fn refuse(error: &A2aError) -> Response {
    let mut response = Outcome::unread(error).into_response();
    if error.reason() == reasons::KEY_REUSED {
        *response.status_mut() = StatusCode::CONFLICT;
    }
    response
}

/// Writes down that work was given to another.
async fn tell(
    hub: &Hub,
    who: &Who,
    source: &Agent,
    target: &Agent,
    (id, task): (&str, &str),
    is_carried: bool,
) -> Result<(), Refused> {
    let payload = [
        ("delegation_id", Raw::string(id)),
        ("target_id", Raw::string(target.id.as_str())),
        ("task_preview", Raw::string(&cut(task, PREVIEW))),
        ("carried", Raw::bool(is_carried)),
    ];
    if is_carried {
        let delegation = Delegation {
            id: id.to_owned(),
            source: source.id.clone(),
            target: target.id.as_str().to_owned(),
        };
        return Ok(hub.directory.delegated(&delegation, &payload, &who.actor()).await?);
    }
    let name = event::Name::DelegationSent;
    Ok(hub.directory.tell(&source.id, name, &payload, &who.actor()).await?)
}

/// Finds a delegation that was written down.
async fn told(
    hub: &Hub,
    who: &Who,
    source: &Agent,
    id: &str,
) -> Result<Option<LoggedEvent>, Refused> {
    let sent = newest(hub, who, &source.id, event::Name::DelegationSent, RESULTS).await?;
    Ok(sent
        .into_iter()
        .find(|logged| Sent::of(logged).is_some_and(|sent| sent.delegation_id == id)))
}

/// A delegation, as molecule shows it.
#[derive(Debug, Serialize)]
pub(super) struct Shown {
    id: String,
    delegation_id: String,
    #[serde(rename = "type")]
    kind: &'static str,
    source_id: AgentId,
    target_id: String,
    summary: String,
    status: &'static str,
    created_at: Timestamp,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    response_preview: Option<String>,
}

#[derive(Debug, Deserialize)]
struct Sent {
    delegation_id: String,
    target_id: String,
    task_preview: String,
    #[serde(default)]
    carried: bool,
}

impl Sent {
    fn of(logged: &LoggedEvent) -> Option<Self> {
        serde_json::from_str(&logged.event.payload).ok()
    }
}

/// How a delegation went that the hub has not carried.
#[derive(Debug, Deserialize)]
struct Reported {
    delegation_id: String,
    #[serde(default)]
    error: Option<String>,
    #[serde(default)]
    response_preview: Option<String>,
}

pub(super) async fn list(
    State(hub): State<Hub>,
    Caller(who): Caller,
    Path(id): Path<String>,
) -> Result<Json<Vec<Shown>>, Refused> {
    let source = visible(&hub, &who, &id)?;
    itself_or_overseer(&who, &source.id)?;
    let sent = newest(&hub, &who, &source.id, event::Name::DelegationSent, SHOWN).await?;
    let mut results = HashMap::new();
    if sent.iter().filter_map(Sent::of).any(|sent| !sent.carried) {
        for (name, status) in [
            (event::Name::DelegationComplete, "completed"),
            (event::Name::DelegationFailed, "failed"),
        ] {
            for logged in newest(&hub, &who, &source.id, name, RESULTS).await? {
                if let Ok(result) = serde_json::from_str::<Reported>(&logged.event.payload) {
                    results.insert(result.delegation_id.clone(), (status, result));
                }
            }
        }
    }
    let mut shown = Vec::new();
    for logged in &sent {
        let Some(sent) = Sent::of(logged) else { continue };
        let (status, error, response_preview) = match TaskId::parse(&sent.delegation_id) {
            Ok(task) if sent.carried => now(&hub, &source, &task).await,
            _ => match results.remove(&sent.delegation_id) {
                Some((status, result)) => (status, result.error, result.response_preview),
                None => ("dispatched", None, None),
            },
        };
        shown.push(Shown {
            id: logged.seq.to_string(),
            delegation_id: sent.delegation_id,
            kind: "delegation",
            source_id: source.id.clone(),
            target_id: sent.target_id,
            summary: sent.task_preview,
            status,
            created_at: logged.event.at,
            error,
            response_preview,
        });
    }
    Ok(Json(shown))
}

/// Says where a delegation stands that the hub carries, and what came of it.
async fn now(
    hub: &Hub,
    source: &Agent,
    id: &TaskId,
) -> (&'static str, Option<String>, Option<String>) {
    let gone = ("failed", Some("the task was removed".to_owned()), None);
    let (Some(gateway), Some(scope)) = (&hub.gateway, scope_of(source)) else { return gone };
    match task_within(gateway, &scope, id).await {
        Ok(Some(task)) => outcome_of(&task),
        Ok(None) | Err(_) => gone,
    }
}

/// Returns where the tasks are that an agent has asked for.
fn scope_of(source: &Agent) -> Option<Scope> {
    let caller = Name::parse(&format!("agent:{}", source.id)).ok()?;
    let tenant = Name::parse(source.organisation.as_str()).ok()?;
    Some(Scope { caller: Some(caller), ..Scope::tenant(tenant) })
}

async fn task_within(
    gateway: &Gateway,
    scope: &Scope,
    id: &TaskId,
) -> Result<Option<Task>, A2aError> {
    match gateway.tasks().get_within(scope, id, Some(0)).await {
        Ok(overseen) => read(overseen.task).map(Some),
        Err(error) if error.kind() == ErrorKind::TaskNotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// Says where a task stands: a word, what went wrong, and what came of it.
fn outcome_of(task: &Task) -> (&'static str, Option<String>, Option<String>) {
    let said = cut(&words(task), PREVIEW);
    match (status(task), said) {
        (status @ "failed", said) => (status, Some(said), None),
        (status @ "completed", said) => (status, None, Some(said)),
        (status, _) => (status, None, None),
    }
}

/// Returns the word of molecule for where a task stands.
fn status(task: &Task) -> &'static str {
    match (task.status.state, depth(task)) {
        // It waits to be tried again.
        (TaskState::Submitted, Some(0)) => "pending",
        (TaskState::Submitted, Some(_)) => "queued",
        (TaskState::Submitted, None) => "dispatched",
        (TaskState::Completed, _) => "completed",
        (TaskState::Failed | TaskState::Canceled | TaskState::Rejected, _) => "failed",
        _ => "in_progress",
    }
}

/// Returns what a task has to say: its results, or else its last word (MD-36).
fn words(task: &Task) -> String {
    let texts: Vec<String> = task.artifacts.iter().map(Artifact::text).collect();
    let said = task.status.message.as_ref().map(|message| message.text());
    let is_done = task.status.state == TaskState::Completed;
    if is_done && texts.iter().any(|text| !text.is_empty()) {
        texts.join("\n")
    } else {
        said.unwrap_or_default()
    }
}

pub(super) fn cut(text: &str, most: usize) -> String {
    text.chars().take(most).collect()
}

/// Work that an agent has given to another by itself.
#[derive(Debug, Deserialize)]
pub(super) struct Record {
    target_id: String,
    task: String,
    delegation_id: String,
}

#[derive(Debug, Serialize)]
pub(super) struct Recorded {
    delegation_id: String,
    status: &'static str,
}

pub(super) async fn record(
    State(hub): State<Hub>,
    Caller(who): Caller,
    Path(id): Path<String>,
    Body(record): Body<Record>,
) -> Result<(StatusCode, Json<Recorded>), Refused> {
    let source = visible(&hub, &who, &id)?;
    who.itself_or_administrator(&source.id)?;
    check_line("delegation_id", &record.delegation_id, MAX_ID)?;
    if record.delegation_id.is_empty() {
        return Err(Refused::invalid("delegation_id", "must not be empty"));
    }
    let target = find(&hub, &who, &record.target_id)?;
    let delegation_id = record.delegation_id;
    if told(&hub, &who, &source, &delegation_id).await?.is_none() {
        tell(&hub, &who, &source, &target, (&delegation_id, &record.task), false).await?;
    }
    Ok((StatusCode::ACCEPTED, Json(Recorded { delegation_id, status: "recorded" })))
}

#[derive(Debug, Deserialize)]
pub(super) struct Update {
    status: String,
    #[serde(default)]
    error: Option<String>,
    #[serde(default)]
    response_preview: Option<String>,
}

pub(super) async fn update(
    State(hub): State<Hub>,
    Caller(who): Caller,
    Path((id, delegation_id)): Path<(String, String)>,
    Body(update): Body<Update>,
) -> Result<Json<Recorded>, Refused> {
    let source = visible(&hub, &who, &id)?;
    who.itself_or_administrator(&source.id)?;
    let (name, status) = match update.status.as_str() {
        "completed" => (event::Name::DelegationComplete, "completed"),
        "failed" => (event::Name::DelegationFailed, "failed"),
        _ => return Err(Refused::invalid("status", "must be `completed` or `failed`")),
    };
    let sent = told(&hub, &who, &source, &delegation_id).await?;
    let sent = sent.as_ref().and_then(Sent::of).ok_or(Error::Unknown { what: "delegation" })?;
    if sent.carried {
        // What the hub carries it knows better.
        let text = "the hub carries this delegation itself";
        return Err(Problem::new(StatusCode::CONFLICT, "CARRIED", text).into());
    }
    let mut payload = vec![
        ("delegation_id", Raw::string(&delegation_id)),
        ("target_id", Raw::string(&sent.target_id)),
    ];
    let texts = [("error", update.error), ("response_preview", update.response_preview)];
    for (member, text) in texts {
        payload.extend(text.map(|text| (member, Raw::string(&cut(&text, PREVIEW)))));
    }
    hub.directory.tell(&source.id, name, &payload, &who.actor()).await?;
    Ok(Json(Recorded { delegation_id, status }))
}
