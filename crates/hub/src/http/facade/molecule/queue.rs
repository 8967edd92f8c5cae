//! `POST /admin/a2a-queue/drop-stale`: messages that nobody wants delivered any more (MD-33).

use std::time::Duration;

use axum::{Json, extract::State};
use nuncio_protocol::{
    operation::{CancelTaskRequest, ListTasksRequest},
    state::TaskState,
    time::Timestamp,
};
use nuncio_tasks::{
    engine::{Call, Tasks},
    scope::{Name, Place, Scope},
};
use serde::{Deserialize, Serialize};

use super::{
    asked::{Caller, Params, find},
    refused::Refused,
};
use crate::{gateway::queue::depth, http::problem::Problem, hub::Hub};

/// How old a message is at least, if it is not said, in minutes.
const USUAL_AGE: u64 = 60;

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Stale {
    max_age_minutes: Option<String>,
    workspace_id: Option<String>,
}

#[derive(Debug, Serialize)]
pub(super) struct Dropped {
    dropped: usize,
}

pub(super) async fn drop_stale(
    State(hub): State<Hub>,
    Caller(who): Caller,
    Params(stale): Params<Stale>,
) -> Result<Json<Dropped>, Refused> {
    who.administrator()?;
    let minutes = stale.max_age_minutes.map_or(Ok(USUAL_AGE), |text| text.parse());
    let minutes = minutes.ok().filter(|minutes| *minutes > 0);
    let minutes = minutes.ok_or_else(|| {
        Refused::invalid("max_age_minutes", "must be a positive number of minutes")
    })?;
    let agent = match stale.workspace_id.as_deref().filter(|id| !id.is_empty()) {
        Some(id) => Some(find(&hub, &who, id)?),
        None => None,
    };
    let gateway = hub.gateway.as_ref().ok_or_else(Problem::not_found)?;
    let name =
        |text: &str| Name::parse(text).map_err(|error| Refused::invalid("id", &error.to_string()));
    let scope = Scope {
        agent: agent.map(|agent| name(agent.id.as_str())).transpose()?,
        ..Scope::tenant(name(who.organisation.as_str())?)
    };
    let age = Duration::from_secs(minutes.saturating_mul(60));
    let dropped = drop_older(gateway.tasks(), &scope, age).await;
    let dropped = dropped.map_err(|error| {
        Problem::new(
            http::StatusCode::SERVICE_UNAVAILABLE,
            "STORE_UNAVAILABLE",
            error.message().to_owned(),
        )
    })?;
    Ok(Json(Dropped { dropped }))
}

/// Ends all tasks that have waited for their agents for so long.
async fn drop_older(
    tasks: &Tasks,
    scope: &Scope,
    age: Duration,
) -> Result<usize, nuncio_protocol::error::Error> {
    let age = i64::try_from(age.as_millis()).unwrap_or(i64::MAX);
    let oldest = Timestamp::now().as_millis().saturating_sub(age);
    let mut stale: Vec<(Place, nuncio_protocol::ids::TaskId)> = Vec::new();
    let mut page_token = String::new();
    loop {
        let request = ListTasksRequest {
            page_size: Some(100),
            history_length: Some(0),
            page_token,
            ..ListTasksRequest::default()
        };
        let page = tasks.list_within(scope, &[TaskState::Submitted], request).await?;
        for overseen in page.tasks {
            let Ok(task) = overseen.task.into_value() else { continue };
            let since = task.status.timestamp.map_or(0, Timestamp::as_millis);
            if depth(&task).is_some() && since <= oldest {
                stale.push((overseen.place, task.id));
            }
        }
        if page.next_page_token.is_empty() {
            break;
        }
        page_token = page.next_page_token;
    }
    let mut dropped = 0;
    for (place, id) in stale {
        let request = CancelTaskRequest { tenant: None, id, metadata: None };
        // One that has just been handed over is no longer in the queue.
        dropped += usize::from(tasks.cancel(&Call::new(place), request).await.is_ok());
    }
    Ok(dropped)
}
