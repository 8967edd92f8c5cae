//! Webhooks of a task, and what they would not take. Never their secrets.

use axum::{
    Json,
    extract::{Path, State},
};
use http::StatusCode;
use nuncio_protocol::{operation::Operation, time::Timestamp};
use nuncio_tasks::{
    scope::Scope,
    store::{DeadLetter, DeadLetterId, Head, Webhook},
};
use serde::Serialize;

use super::{note, sight};
use crate::{
    error::Error,
    http::{problem::Problem, who::Who},
    hub::Hub,
};

/// How many dead letters of a caller at an agent are looked through for those of a task.
const MOST_LETTERS: usize = 10_000;

/// What is sent about a task.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub(crate) struct PushView {
    webhooks: Vec<WebhookView>,
    /// Events that a webhook would not take, the newest first.
    dead_letters: Vec<LetterView>,
}

/// A webhook.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub(crate) struct WebhookView {
    id: String,
    /// Where events go; what stands behind a question mark is not shown.
    url: String,
    /// The version of A2A in which events are sent.
    version: String,
    /// The last event that was sent, or given up.
    sent: u64,
    /// How many events are still to be sent.
    waiting: u64,
}

/// An event that a webhook would not take.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub(crate) struct LetterView {
    id: i64,
    webhook: String,
    url: String,
    /// The event.
    seq: u64,
    attempts: u32,
    /// What went wrong the last time.
    error: String,
    #[schema(value_type = String, format = DateTime)]
    at: Timestamp,
}

#[utoipa::path(
    get,
    path = "/api/v1/tasks/{task}/push",
    operation_id = "showTaskPush",
    tag = "tasks",
    summary = "Shows the webhooks of a task, and what they would not take",
    params(("task" = String, Path, description = "The id of a task")),
    responses((status = 200, description = "Done", body = PushView)),
)]
pub(crate) async fn show(
    State(hub): State<Hub>,
    who: Who,
    Path(task): Path<String>,
) -> Result<Json<PushView>, Problem> {
    let head = sight::find(&hub, &who, &task).await?;
    // Webhooks are between the hub and whoever asked; the agent has no part in them.
    if who.overseer().is_err() && sight::caller(&who)? != head.place.caller {
        return Err(Problem::forbidden("only whoever asked for the task may see this"));
    }
    let tasks = sight::gateway(&hub)?.tasks();
    let webhooks = tasks.webhooks(&Scope::from(&head.place), &head.id).await?;
    let letters = letters(&hub, &head).await?;
    Ok(Json(PushView {
        webhooks: webhooks.iter().map(|webhook| WebhookView::new(webhook, &head)).collect(),
        dead_letters: letters.into_iter().map(LetterView::from).collect(),
    }))
}

#[utoipa::path(
    post,
    path = "/api/v1/tasks/{task}/push/{letter}/redeliver",
    operation_id = "redeliverTaskPush",
    tag = "tasks",
    summary = "Sends an event again that a webhook would not take",
    params(
        ("task" = String, Path, description = "The id of a task"),
        ("letter" = i64, Path, description = "The id of a dead letter"),
    ),
    responses((status = 202, description = "It is sent again")),
)]
pub(crate) async fn redeliver(
    State(hub): State<Hub>,
    who: Who,
    Path((task, letter)): Path<(String, String)>,
) -> Result<StatusCode, Problem> {
    let head = sight::find(&hub, &who, &task).await?;
    sight::may(&hub, &who, &head.place, Operation::CreateTaskPushNotificationConfig)?;
    let unknown = || Problem::from(Error::Unknown { what: "dead letter" });
    let id = DeadLetterId(letter.parse().map_err(|_| unknown())?);
    if !letters(&hub, &head).await?.iter().any(|letter| letter.id == id) {
        return Err(unknown());
    }
    let tasks = sight::gateway(&hub)?.tasks();
    if !tasks.resend(&Scope::from(&head.place), id).await? {
        return Err(unknown());
    }
    note(&hub, &who, ("push.redeliver", head.id.as_str(), &format!("letter {letter}"))).await;
    Ok(StatusCode::ACCEPTED)
}

async fn letters(hub: &Hub, head: &Head) -> Result<Vec<DeadLetter>, Problem> {
    let tasks = sight::gateway(hub)?.tasks();
    let mut letters = tasks.dead_letters(&Scope::from(&head.place), MOST_LETTERS).await?;
    letters.retain(|letter| letter.task == head.id);
    Ok(letters)
}

impl WebhookView {
    fn new(webhook: &Webhook, head: &Head) -> Self {
        Self {
            id: webhook.id.as_str().to_owned(),
            url: shown(&webhook.url),
            version: webhook.version.to_string(),
            sent: webhook.sent.0,
            waiting: head.seq.0.saturating_sub(webhook.sent.0),
        }
    }
}

impl From<DeadLetter> for LetterView {
    fn from(letter: DeadLetter) -> Self {
        Self {
            id: letter.id.0,
            webhook: letter.webhook.as_str().to_owned(),
            url: shown(&letter.url),
            seq: letter.seq.0,
            attempts: letter.attempts,
            error: letter.error,
            at: letter.at,
        }
    }
}

/// Tokens stand behind question marks only too often.
fn shown(url: &str) -> String {
    match url.split_once(['?', '#']) {
        Some((place, _)) => format!("{place}?…"),
        None => url.to_owned(),
    }
}
