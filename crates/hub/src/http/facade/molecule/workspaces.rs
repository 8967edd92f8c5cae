//! `/workspaces`: agents, as an administrator sees and places them.

use std::time::Duration;

use axum::{
    Json,
    extract::{Path, State},
    response::{IntoResponse, Response},
};
use http::StatusCode;
use nuncio_auth::rules::{Tree as _, check_move};
use nuncio_protocol::{ids::AgentId, time::Timestamp};
use serde::{Deserialize, Serialize};

use super::{
    asked::{Body, Caller, Params, check_line, find, is_gone, itself_or_overseer, visible},
    refused::Refused,
    registry::Done,
    view::{Workspace, network},
};
use crate::{
    agent::{Addresses, MAX_ROLE_BYTES, Origin, Standing, Status},
    directory::{Below, Enrolment, NewAgent, Patch},
    error::Error,
    http::who::Who,
    hub::Hub,
    name::AgentName,
};

/// The longest name, and the longest name of a model or runtime, in characters (MD-63).
const MAX_NAME: usize = 255;
const MAX_WORD: usize = 100;

/// How long the token is good with which a new workspace's agent registers.
const ENROLMENT: Duration = Duration::from_secs(24 * 60 * 60);

pub(super) async fn list(
    State(hub): State<Hub>,
    Caller(who): Caller,
) -> Result<Json<Vec<Workspace>>, Refused> {
    who.somebody()?;
    let agents = hub.directory.reachable(who.asker());
    let all = agents.iter().map(|agent| Workspace::new(&hub.directory, agent, network(&who)));
    Ok(Json(all.collect()))
}

pub(super) async fn show(
    State(hub): State<Hub>,
    Caller(who): Caller,
    Path(id): Path<String>,
) -> Result<Json<Workspace>, Refused> {
    let agent = visible(&hub, &who, &id)?;
    Ok(Json(Workspace::new(&hub.directory, &agent, network(&who))))
}

/// A workspace to make. What says how to start its agent is for whoever does that.
#[derive(Debug, Deserialize)]
pub(super) struct New {
    name: String,
    role: Option<String>,
    tier: Option<u8>,
    parent_id: Option<String>,
    url: Option<String>,
    model: Option<String>,
    runtime: Option<String>,
}

#[derive(Debug, Serialize)]
pub(super) struct Created {
    id: AgentId,
    name: AgentName,
    status: Status,
    /// Lets the agent of this workspace register, once.
    enrolment_token: String,
}

pub(super) async fn create(
    State(hub): State<Hub>,
    Caller(who): Caller,
    Body(workspace): Body<New>,
) -> Result<(StatusCode, Json<Created>), Refused> {
    who.administrator()?;
    for (field, word) in [("model", &workspace.model), ("runtime", &workspace.runtime)] {
        check_line(field, word.as_deref().unwrap_or_default(), MAX_WORD)?;
    }
    let mut new = NewAgent::new(name(&workspace.name)?);
    new.role = workspace.role.map(|role| checked_role(&role).map(|()| role)).transpose()?;
    let parent = workspace.parent_id.map(|parent| find(&hub, &who, &parent)).transpose()?;
    new.parent = parent.map(|parent| parent.id.clone());
    new.addresses = Addresses { public: workspace.url.map(Into::into), ..Addresses::default() };
    new.standing.trust = workspace.tier.unwrap_or_else(|| Standing::default().trust);
    hub.check_addresses(&new.addresses).await?;
    let actor = who.actor();
    let agent = hub.directory.add(&who.organisation, new, Origin::Administrator, &actor).await?;
    let enrolment = Enrolment {
        agent: Some(agent.id.clone()),
        expires: after(ENROLMENT),
        ..Enrolment::default()
    };
    let issued = hub.directory.new_enrolment(&who.organisation, &enrolment, &actor).await?;
    let created = Created {
        id: agent.id.clone(),
        name: agent.name.clone(),
        status: agent.status,
        enrolment_token: issued.key.to_string(),
    };
    Ok((StatusCode::CREATED, Json(created)))
}

fn after(lifetime: Duration) -> Option<Timestamp> {
    let millis = i64::try_from(lifetime.as_millis()).ok()?;
    Timestamp::from_millis(Timestamp::now().as_millis().checked_add(millis)?)
}

/// Makes the directory's name of molecule's, which is free text.
fn name(text: &str) -> Result<AgentName, Refused> {
    check_line("name", text, MAX_NAME)?;
    AgentName::from_title(text).ok_or_else(|| Refused::invalid("name", "has no letter or digit"))
}

fn checked_role(role: &str) -> Result<(), Refused> {
    check_line("role", role, MAX_ROLE_BYTES)
}

/// What is to be different; what is not said stays.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Edit {
    name: Option<String>,
    role: Option<String>,
    parent_id: Place,
}

/// Where a workspace is to stand: null is the top, and absent is no change.
#[derive(Debug, Default, Deserialize)]
#[serde(from = "Option<String>")]
enum Place {
    #[default]
    Same,
    Top,
    Below(String),
}

impl From<Option<String>> for Place {
    fn from(parent: Option<String>) -> Self {
        parent.map_or(Self::Top, Self::Below)
    }
}

/// Its place in the hierarchy is what an agent may reach, so no agent changes its own (MG-12).
pub(super) async fn edit(
    State(hub): State<Hub>,
    Caller(who): Caller,
    Path(id): Path<String>,
    Body(edit): Body<Edit>,
) -> Result<Json<Done>, Refused> {
    who.administrator()?;
    let agent = find(&hub, &who, &id)?;
    let patch = Patch {
        name: edit.name.map(|text| name(&text)).transpose()?,
        role: edit.role.map(|role| checked_role(&role).map(|()| role)).transpose()?,
        ..Patch::default()
    };
    let (moves, parent) = match edit.parent_id {
        Place::Same => (false, None),
        Place::Top => (true, None),
        Place::Below(parent) => (true, Some(find(&hub, &who, &parent)?.id.clone())),
    };
    let parent = parent.as_ref();
    if moves {
        // Looked at before anything else is changed.
        let state = hub.directory.state();
        check_move(&**state, &agent.id, parent).map_err(Error::from)?;
    }
    hub.directory.edit(&who.organisation, &agent.id, &patch, &who.actor()).await?;
    if moves {
        hub.directory.move_to(&who.organisation, &agent.id, parent, &who.actor()).await?;
    }
    Ok(Done::new("updated"))
}

/// Whether those below may go too.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Remove {
    /// Those below are removed as well.
    confirm: bool,
    /// If false, those below come to stand below the one above instead.
    cascade: Option<bool>,
    /// Who stands in for the workspace (MD-13).
    forwarded_to: Option<String>,
}

#[derive(Debug, Serialize)]
struct Removed {
    status: &'static str,
    cascade_deleted: usize,
}

/// Asks whether those below are meant too.
#[derive(Debug, Serialize)]
struct Unconfirmed {
    error: String,
    status: &'static str,
    children: Vec<Child>,
}

#[derive(Debug, Serialize)]
struct Child {
    id: AgentId,
    name: AgentName,
}

pub(super) async fn remove(
    State(hub): State<Hub>,
    Caller(who): Caller,
    Path(id): Path<String>,
    Params(remove): Params<Remove>,
) -> Result<Response, Refused> {
    who.administrator()?;
    let agent = find(&hub, &who, &id)?;
    let heir = remove.forwarded_to.map(|text| find(&hub, &who, &text)).transpose()?;
    let below = match (remove.confirm, remove.cascade) {
        (_, Some(false)) => Below::Lift,
        (true, None) | (_, Some(true)) => Below::Remove,
        (false, None) => Below::Refuse,
    };
    let heir = heir.as_ref().map(|heir| &heir.id);
    let removed =
        hub.directory.remove(&who.organisation, &agent.id, below, heir, &who.actor()).await;
    match removed {
        Ok(count) => {
            let cascade_deleted = count.saturating_sub(1);
            Ok(Json(Removed { status: "removed", cascade_deleted }).into_response())
        }
        Err(error @ Error::HasChildren { .. }) => Ok(unconfirmed(&hub, &agent.id, &error)),
        Err(error) => Err(error.into()),
    }
}

fn unconfirmed(hub: &Hub, id: &AgentId, error: &Error) -> Response {
    let state = hub.directory.state();
    let children = state.children(id).filter_map(|child| state.agent(child));
    let children =
        children.map(|child| Child { id: child.id.clone(), name: child.name.clone() }).collect();
    let error = format!("{error}: `?confirm=true` removes them too, `?cascade=false` keeps them");
    let body = Unconfirmed { error, status: "confirmation_required", children };
    (StatusCode::CONFLICT, Json(body)).into_response()
}

/// How a workspace is, for an agent that asks now and then (MD-28).
#[derive(Debug, Serialize)]
struct StateView {
    workspace_id: String,
    status: Status,
    paused: bool,
    deleted: bool,
}

pub(super) async fn state(
    State(hub): State<Hub>,
    caller: Result<Caller, Refused>,
    Path(id): Path<String>,
) -> Result<Response, Refused> {
    let deleted = |workspace_id: String| {
        let status = Status::Removed;
        let view = StateView { workspace_id, status, paused: false, deleted: true };
        (StatusCode::NOT_FOUND, Json(view)).into_response()
    };
    let Caller(who) = match caller {
        Ok(caller) => caller,
        // It asks about itself: it can about nobody else.
        Err(refused) if is_gone(&refused) => return Ok(deleted(id)),
        Err(refused) => return Err(refused),
    };
    let agent = match visible(&hub, &who, &id) {
        Ok(agent) => agent,
        Err(_) if was_removed(&hub, &who, &id) => return Ok(deleted(id)),
        Err(refused) => return Err(refused),
    };
    itself_or_overseer(&who, &agent.id)?;
    let view = StateView {
        workspace_id: agent.id.to_string(),
        status: agent.status,
        paused: agent.status == Status::Paused,
        deleted: false,
    };
    Ok(Json(view).into_response())
}

/// Tells those who may see everything whether there was such an agent.
fn was_removed(hub: &Hub, who: &Who, id: &str) -> bool {
    let Ok(id) = AgentId::parse(&id.to_ascii_lowercase()) else { return false };
    let state = hub.directory.state();
    let gone = state.agent(&id).filter(|agent| agent.organisation == who.organisation);
    who.overseer().is_ok() && gone.is_some_and(|agent| agent.status == Status::Removed)
}

pub(super) async fn pause(
    State(hub): State<Hub>,
    Caller(who): Caller,
    Path(id): Path<String>,
) -> Result<Json<Done>, Refused> {
    who.administrator()?;
    let agent = find(&hub, &who, &id)?;
    let agent = hub.directory.pause(&who.organisation, &agent.id, &who.actor()).await?;
    Ok(Done::new(agent.status.as_str()))
}

pub(super) async fn resume(
    State(hub): State<Hub>,
    Caller(who): Caller,
    Path(id): Path<String>,
) -> Result<Json<Done>, Refused> {
    who.administrator()?;
    let agent = find(&hub, &who, &id)?;
    let agent = hub.directory.resume(&who.organisation, &agent.id, &who.actor()).await?;
    Ok(Done::new(agent.status.as_str()))
}
