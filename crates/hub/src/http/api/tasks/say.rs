//! What people say to a task.

use axum::{
    Json,
    extract::{Path, State},
};
use http::HeaderMap;
use nuncio_protocol::{json::Raw, message::Part, operation::Operation};
use nuncio_tasks::{scope::Scope, store::Head};
use serde::Deserialize;

use super::{TaskView, note, sight};
use crate::{
    gateway::{Word, trace},
    http::{body, problem::Problem, who::Who},
    hub::Hub,
};

/// What is said: at least one of these.
#[derive(Debug, Default, Deserialize, utoipa::ToSchema)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Said {
    pub(crate) text: Option<String>,
    /// Any JSON value: the filled-in form, if one was asked for.
    #[schema(value_type = Option<Object>)]
    pub(crate) data: Option<Raw>,
    /// Further parts, as A2A 1.0 has them.
    #[schema(value_type = Vec<Object>)]
    pub(crate) parts: Vec<Part>,
}

impl Said {
    pub(crate) fn into_parts(self) -> Vec<Part> {
        let text = self.text.filter(|text| !text.is_empty()).map(Part::text);
        text.into_iter().chain(self.data.map(Part::data)).chain(self.parts).collect()
    }
}

#[utoipa::path(
    post,
    path = "/api/v1/tasks/{task}/messages",
    operation_id = "replyToTask",
    tag = "tasks",
    summary = "Says something to a task",
    params(
        ("task" = String, Path, description = "The id of a task"),
        ("Idempotency-Key" = Option<String>, Header, description = "Said once, however often it is sent"),
    ),
    request_body = Said,
    responses((status = 200, description = "The agent has got it", body = TaskView)),
)]
pub(crate) async fn reply(
    State(hub): State<Hub>,
    who: Who,
    Path(task): Path<String>,
    headers: HeaderMap,
    body::Json(said): body::Json<Said>,
) -> Result<Json<TaskView>, Problem> {
    let head = sight::find(&hub, &who, &task).await?;
    sight::may(&hub, &who, &head.place, Operation::SendMessage)?;
    let parts = said.into_parts();
    if parts.is_empty() {
        return Err(Problem::invalid("text", "is needed, or `data` or `parts`"));
    }
    Ok(Json(say(&hub, &who, &head, (&headers, "task.message"), parts).await?))
}

/// Says something to a task, and writes down who did.
pub(crate) async fn say(
    hub: &Hub,
    who: &Who,
    head: &Head,
    deed: (&HeaderMap, &str),
    parts: Vec<Part>,
) -> Result<TaskView, Problem> {
    speak(hub, who, head, deed, parts, false).await
}

/// The same, for what is said to a task before it is canceled.
pub(crate) async fn say_last(
    hub: &Hub,
    who: &Who,
    head: &Head,
    deed: (&HeaderMap, &str),
    parts: Vec<Part>,
) -> Result<TaskView, Problem> {
    speak(hub, who, head, deed, parts, true).await
}

async fn speak(
    hub: &Hub,
    who: &Who,
    head: &Head,
    (headers, deed): (&HeaderMap, &str),
    parts: Vec<Part>,
    is_last: bool,
) -> Result<TaskView, Problem> {
    let by = who.actor();
    let key = headers.get("idempotency-key").map(|value| {
        value.to_str().map_err(|_| Problem::invalid("Idempotency-Key", "must be printable ASCII"))
    });
    let trace = trace::from_headers(headers);
    let word = Word { parts, by: by.as_str(), node: None, key: key.transpose()?, is_last, trace };
    say_word(hub, who, head, deed, word).await
}

/// The same, for a word that is put together already.
pub(crate) async fn say_word(
    hub: &Hub,
    who: &Who,
    head: &Head,
    deed: &str,
    word: Word<'_>,
) -> Result<TaskView, Problem> {
    let gateway = sight::gateway(hub)?;
    gateway.say(head, word).await?;
    let place = &head.place;
    let detail = format!("for {} at {}", place.caller, place.agent);
    note(hub, who, (deed, head.id.as_str(), &detail)).await;
    let row = gateway.tasks().row(&Scope::from(place), &head.id).await?;
    Ok(TaskView::new(hub, who, row))
}
