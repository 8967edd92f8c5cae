//! Where an agent is, for somebody who may know (M-04 to M-09).

use axum::{
    Json,
    extract::{Path, State},
    response::{IntoResponse, Response},
};
use http::{HeaderName, StatusCode, header::LOCATION};
use nuncio_protocol::{ids::AgentId, time::Timestamp};
use serde::Serialize;

use super::{
    asked::{Caller, find, uuid},
    refused::Refused,
    view::network,
};
use crate::{
    agent::Status,
    error::Error,
    event,
    http::{
        api::register::{self, Discovered},
        problem::Problem,
        view::EventView,
        who::Who,
    },
    hub::Hub,
    name::AgentName,
    store::EventQuery,
};

/// Where an agent is, with the token that opens it (M-17).
#[derive(Debug, Serialize)]
struct Found {
    id: AgentId,
    name: AgentName,
    url: String,
    status: Status,
    #[serde(skip_serializing_if = "Option::is_none")]
    token: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    token_expires_at: Option<Timestamp>,
    epoch: u64,
}

/// An agent that was removed, and what was last heard of it (MD-13).
#[derive(Debug, Serialize)]
struct Gone {
    error: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    last_event: Option<EventView>,
}

pub(super) async fn discover(
    State(hub): State<Hub>,
    Caller(who): Caller,
    Path(target): Path<String>,
) -> Result<Response, Refused> {
    who.somebody()?;
    let target = name(&hub, &who, &target)?;
    match register::find(&hub, &who, &target, network(&who)) {
        Ok(found) if found.forwarded => {
            let location = format!("/registry/discover/{}", found.id);
            let headers: [(HeaderName, String); 1] = [(LOCATION, location)];
            let body = Json(Found::from(found));
            Ok((StatusCode::MOVED_PERMANENTLY, headers, body).into_response())
        }
        Ok(found) => Ok(Json(Found::from(found)).into_response()),
        Err(problem) if problem.status == StatusCode::GONE => {
            gone(&hub, &who, &target, problem).await
        }
        Err(problem) => Err(problem.into()),
    }
}

/// Returns what the directory knows an agent by; the id, for one that was removed.
fn name(hub: &Hub, who: &Who, text: &str) -> Result<String, Refused> {
    if let Ok(agent) = find(hub, who, text) {
        return Ok(agent.name.to_string());
    }
    let id = uuid("id", text)?;
    // Whoever is called as somebody's id does not get their calls.
    match hub.directory.state().find(&who.organisation, id.as_str()) {
        Some(_) => Err(Error::no_agent().into()),
        None => Ok(id.to_string()),
    }
}

async fn gone(hub: &Hub, who: &Who, id: &str, problem: Problem) -> Result<Response, Refused> {
    let query = EventQuery {
        organisation: who.organisation.clone(),
        agent: AgentId::parse(id).ok(),
        // Nothing happens to an agent behind that.
        name: Some(event::Name::Removed.as_str().to_owned()),
        after: 0,
        limit: 1,
    };
    let events = hub.directory.store().events(query).await.map_err(Error::from)?;
    let last_event = events.first().map(|logged| EventView::from(logged).seen_by(hub, who));
    Ok((StatusCode::GONE, Json(Gone { error: problem.detail, last_event })).into_response())
}

impl From<Discovered> for Found {
    fn from(found: Discovered) -> Self {
        Self {
            id: found.id,
            name: found.name,
            url: found.url,
            status: found.status,
            token: found.token,
            token_expires_at: found.expires,
            epoch: found.epoch,
        }
    }
}
