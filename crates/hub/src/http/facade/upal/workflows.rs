//! Workflows as Upal has them: the definition itself, and nothing around it.

use std::sync::Arc;

use axum::{
    Json,
    extract::{Path, State},
};
use http::StatusCode;
use nuncio_protocol::json::{Object, Raw};
use nuncio_workflow::{document, problem::Problem as Flaw, validate::validate};

use super::{Refused, name};
use crate::{
    agent::Agent,
    directory::Below,
    error::Error,
    http::{api::workflows, body, problem::Problem, who::Who},
    hub::Hub,
    name::AgentName,
    workflow::SavedWorkflow,
};

/// A member that only files of Upal have, and that says nothing.
const MARK: &str = "thumbnail_svg";

pub(super) async fn list(State(hub): State<Hub>, who: Who) -> Result<Json<Vec<Raw>>, Refused> {
    who.somebody()?;
    let state = hub.directory.state();
    let agents = state.in_order(&who.organisation, None);
    let seen = agents.filter(|agent| hub.directory.sees(who.asker(), &agent.id));
    let saved = seen.filter_map(|agent| state.workflow(&agent.id, None));
    Ok(Json(saved.map(|saved| definition(saved)).collect()))
}

pub(super) async fn show(
    State(hub): State<Hub>,
    who: Who,
    Path(called): Path<String>,
) -> Result<Json<Raw>, Refused> {
    let agent = find(&hub, &who, &called)?;
    let saved = hub.directory.state().workflow(&agent.id, None).cloned();
    let saved = saved.ok_or(Error::Unknown { what: "workflow" })?;
    Ok(Json(definition(&saved)))
}

pub(super) async fn create(
    State(hub): State<Hub>,
    who: Who,
    body::Json(written): body::Json<Raw>,
) -> Result<(StatusCode, Json<Raw>), Refused> {
    who.administrator()?;
    let object = written.as_object();
    let called = object.as_ref().and_then(|object| object.get("name")?.as_text());
    let called = called.ok_or_else(|| Refused::invalid("name", "is needed, a text"))?;
    let saved = save(&hub, &who, &name(&called)?, &written, Some(0)).await?;
    Ok((StatusCode::CREATED, Json(definition(&saved))))
}

pub(super) async fn update(
    State(hub): State<Hub>,
    who: Who,
    Path(called): Path<String>,
    body::Json(written): body::Json<Raw>,
) -> Result<Json<Raw>, Refused> {
    who.administrator()?;
    let agent = find(&hub, &who, &called)?;
    let saved = save(&hub, &who, &agent.name, &written, None).await?;
    Ok(Json(definition(&saved)))
}

pub(super) async fn remove(
    State(hub): State<Hub>,
    who: Who,
    Path(called): Path<String>,
) -> Result<StatusCode, Refused> {
    who.administrator()?;
    let agent = find(&hub, &who, &called)?;
    let actor = who.actor();
    hub.directory.remove(&who.organisation, &agent.id, Below::Lift, None, &actor).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Finds a workflow that somebody may run, by what Upal calls it.
pub(super) fn find(hub: &Hub, who: &Who, called: &str) -> Result<Arc<Agent>, Refused> {
    Ok(workflows::find(hub, who, name(called)?.as_str())?)
}

/// Saves a definition, read as one of Upal's.
pub(super) async fn save(
    hub: &Hub,
    who: &Who,
    name: &AgentName,
    written: &Raw,
    expected: Option<u32>,
) -> Result<Arc<SavedWorkflow>, Refused> {
    let object = written.as_object();
    let object = object.ok_or_else(|| Refused::invalid("", "a workflow is a JSON object"))?;
    let object = match object.get(MARK) {
        Some(_) => object,
        None => object.with(MARK, Raw::string("")),
    };
    let source = object.as_str();
    let (workflow, flaws) = validate(source, &workflows::known(hub, who));
    let workflow = workflow.ok_or_else(|| unfit(&flaws))?;
    let (written, actor) = ((source, &workflow), who.actor());
    let saving = hub.directory.save_workflow(&who.organisation, name, written, expected, &actor);
    Ok(saving.await?.1)
}

/// Says all that is wrong with a definition.
fn unfit(flaws: &[Flaw]) -> Refused {
    let wrong = flaws.iter().filter(|flaw| !flaw.is_warning());
    let wrong: Vec<String> =
        wrong.map(|flaw| format!("{}: {} ({})", flaw.key(), flaw.what(), flaw.fix())).collect();
    Problem::new(StatusCode::BAD_REQUEST, "INVALID_WORKFLOW", wrong.join("; ")).into()
}

/// Returns a workflow as JSON, without what was added to it.
fn definition(saved: &SavedWorkflow) -> Raw {
    let document = document::Value::read(&saved.source).ok();
    let raw = document.as_ref().map_or_else(|| Raw::bool(false), document::Value::to_raw);
    let Some(object) = raw.as_object() else { return raw };
    let is_added = object.get(MARK).and_then(|mark| mark.as_text()).is_some_and(|it| it.is_empty());
    let object = if is_added { object.without(MARK) } else { object };
    version(&object, saved.version).into_raw()
}

/// The version is ours to count.
fn version(object: &Object, version: u32) -> Object {
    match Raw::from_value(&version) {
        Ok(version) => object.with("version", version),
        Err(_) => object.clone(),
    }
}
