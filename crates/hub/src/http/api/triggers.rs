//! Triggers, as administrators make them, and the webhooks of those that have one.

use std::{collections::BTreeMap, sync::Arc};

use axum::{
    Json,
    extract::{Path, Request, State},
};
use http::StatusCode;
use nuncio_protocol::{
    ids::TaskId,
    json::{Object, Raw},
    time::Timestamp,
};
use serde::{Deserialize, Serialize};

use super::workflows;
use crate::{
    error::Error,
    gateway::runs,
    http::{
        body,
        problem::Problem,
        who::{Who, count_stranger},
    },
    hub::Hub,
    triggers::{self, Delivery, Fired, Schedule, Trigger, inputs, is_signed, new_secret},
};

/// The longest name of a trigger, in characters.
const LONGEST_NAME: usize = 100;

/// A trigger.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub(crate) struct TriggerView {
    id: String,
    name: String,
    /// The name of the workflow; absent if it was removed.
    #[serde(skip_serializing_if = "Option::is_none")]
    workflow: Option<String>,
    #[schema(value_type = Object)]
    inputs: Raw,
    #[serde(skip_serializing_if = "Option::is_none")]
    schedule: Option<Schedule>,
    #[serde(skip_serializing_if = "Option::is_none")]
    webhook: Option<HookView>,
    paused: bool,
    /// Whoever made it, on whose behalf runs act.
    by: String,
    #[schema(value_type = String, format = DateTime)]
    created_at: Timestamp,
    /// When it fires next.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, format = DateTime)]
    next_at: Option<Timestamp>,
    /// What came of it the last time.
    #[serde(skip_serializing_if = "Option::is_none")]
    last: Option<Fired>,
    /// What deliveries are signed with. Only ever shown when the trigger is made.
    #[serde(skip_serializing_if = "Option::is_none")]
    secret: Option<String>,
}

/// Where a trigger is fired from outside.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub(crate) struct HookView {
    /// Where deliveries go.
    url: String,
}

impl TriggerView {
    fn new(hub: &Hub, trigger: &Trigger) -> Self {
        let state = hub.directory.state();
        let agent = state.present(&trigger.organisation, &trigger.workflow);
        let schedule = trigger.schedule.as_ref().filter(|_| !trigger.is_paused);
        let url = || format!("{}/api/v1/hooks/{}", hub.settings.public_url, trigger.id);
        Self {
            id: trigger.id.clone(),
            name: trigger.name.clone(),
            workflow: agent.map(|agent| agent.name.as_str().to_owned()),
            inputs: trigger.inputs.clone(),
            next_at: schedule.and_then(|schedule| schedule.next(Timestamp::now())),
            schedule: trigger.schedule.clone(),
            webhook: trigger.secret.as_ref().map(|_| HookView { url: url() }),
            paused: trigger.is_paused,
            by: trigger.by.clone(),
            created_at: trigger.created,
            last: trigger.last.clone(),
            secret: None,
        }
    }
}

/// All triggers of an organisation.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub(crate) struct Triggers {
    triggers: Vec<TriggerView>,
}

/// What is to begin runs: a schedule, a webhook, or both.
#[derive(Debug, Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct NewTrigger {
    /// A name for people.
    name: String,
    /// The name of the workflow.
    workflow: String,
    /// What runs are given, by the names of inputs.
    #[serde(default)]
    #[schema(value_type = Object)]
    inputs: BTreeMap<String, Raw>,
    schedule: Option<Schedule>,
    webhook: Option<NewWebhook>,
}

/// A webhook, of which there is nothing to say.
#[derive(Debug, Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct NewWebhook {}

#[utoipa::path(
    get,
    path = "/api/v1/triggers",
    operation_id = "listTriggers",
    tag = "triggers",
    summary = "Lists triggers, ordered by name",
    responses((status = 200, description = "Done", body = Triggers)),
)]
pub(crate) async fn list(State(hub): State<Hub>, who: Who) -> Result<Json<Triggers>, Problem> {
    who.overseer()?;
    let state = hub.directory.state();
    let ours = state.triggers().filter(|trigger| trigger.organisation == who.organisation);
    let mut ours: Vec<&Arc<Trigger>> = ours.collect();
    ours.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(Json(Triggers { triggers: ours.iter().map(|one| TriggerView::new(&hub, one)).collect() }))
}

#[utoipa::path(
    post,
    path = "/api/v1/triggers",
    operation_id = "addTrigger",
    tag = "triggers",
    summary = "Makes a trigger. Its runs act on behalf of the caller",
    request_body = NewTrigger,
    responses((status = 201, description = "Done", body = TriggerView)),
)]
pub(crate) async fn add(
    State(hub): State<Hub>,
    who: Who,
    body::Json(new): body::Json<NewTrigger>,
) -> Result<(StatusCode, Json<TriggerView>), Problem> {
    who.administrator()?;
    let name = new.name.trim();
    if !(1..=LONGEST_NAME).contains(&name.chars().count()) || name.chars().any(char::is_control) {
        let text = format!("must be one line of 1 to {LONGEST_NAME} characters");
        return Err(Problem::invalid("name", text));
    }
    if new.schedule.is_none() && new.webhook.is_none() {
        return Err(Problem::invalid("schedule", "is needed, or `webhook`: {}"));
    }
    if let Some(schedule) = &new.schedule {
        schedule.check()?;
    }
    let agent = workflows::find(&hub, &who, &new.workflow)
        .map_err(|_| Problem::invalid("workflow", format!("there is no `{}`", new.workflow)))?;
    check_inputs(&hub, &agent.id, &new)?;
    let secret = match &new.webhook {
        Some(_) => Some(new_secret().ok_or_else(|| {
            let text = "the system gives no randomness now";
            Problem::new(StatusCode::SERVICE_UNAVAILABLE, "UNAVAILABLE", text)
        })?),
        None => None,
    };
    let inputs = new.inputs.iter().map(|(name, value)| (name.as_str(), value.clone()));
    let now = Timestamp::now();
    let trigger = Trigger {
        id: TaskId::generate().to_string(),
        organisation: who.organisation.clone(),
        name: name.to_owned(),
        workflow: agent.id.clone(),
        inputs: Object::from_members(inputs).into_raw(),
        schedule: new.schedule,
        secret: secret.clone(),
        by: runs::name_of(&who.identity.caller),
        is_paused: false,
        created: now,
        seen: now,
        last: None,
    };
    hub.directory.add_trigger(trigger.clone(), &who.actor()).await?;
    let view = TriggerView { secret, ..TriggerView::new(&hub, &trigger) };
    Ok((StatusCode::CREATED, Json(view)))
}

/// Checks that runs are given nothing that the workflow does not know.
fn check_inputs(
    hub: &Hub,
    agent: &nuncio_protocol::ids::AgentId,
    new: &NewTrigger,
) -> Result<(), Problem> {
    let state = hub.directory.state();
    let Some(workflow) = state.workflow(agent, None).and_then(|saved| saved.workflow()) else {
        return Err(Problem::invalid("workflow", "cannot run any more; save it again"));
    };
    let names: Vec<&str> = workflow.inputs().map(|(node, _)| node.id().as_str()).collect();
    match new.inputs.keys().find(|name| !names.contains(&name.as_str())) {
        None => Ok(()),
        Some(name) => {
            let text = format!("the workflow has no input `{name}`; it has: {}", names.join(", "));
            Err(Problem::invalid(format!("inputs.{name}"), text))
        }
    }
}

fn find(hub: &Hub, who: &Who, id: &str) -> Result<Arc<Trigger>, Problem> {
    let state = hub.directory.state();
    let found = state.trigger(id).filter(|found| found.organisation == who.organisation);
    Ok(found.cloned().ok_or(Error::Unknown { what: "trigger" })?)
}

#[utoipa::path(
    get,
    path = "/api/v1/triggers/{trigger}",
    operation_id = "showTrigger",
    tag = "triggers",
    summary = "Shows a trigger",
    params(("trigger" = String, Path, description = "The id of a trigger")),
    responses((status = 200, description = "Done", body = TriggerView)),
)]
pub(crate) async fn show(
    State(hub): State<Hub>,
    who: Who,
    Path(id): Path<String>,
) -> Result<Json<TriggerView>, Problem> {
    who.overseer()?;
    Ok(Json(TriggerView::new(&hub, &*find(&hub, &who, &id)?)))
}

#[utoipa::path(
    post,
    path = "/api/v1/triggers/{trigger}/pause",
    operation_id = "pauseTrigger",
    tag = "triggers",
    summary = "Has a trigger rest",
    params(("trigger" = String, Path, description = "The id of a trigger")),
    responses((status = 200, description = "Done", body = TriggerView)),
)]
pub(crate) async fn pause(
    State(hub): State<Hub>,
    who: Who,
    Path(id): Path<String>,
) -> Result<Json<TriggerView>, Problem> {
    set_paused(&hub, &who, &id, true).await
}

#[utoipa::path(
    post,
    path = "/api/v1/triggers/{trigger}/resume",
    operation_id = "resumeTrigger",
    tag = "triggers",
    summary = "Has a trigger go on. What it has missed is not made up for",
    params(("trigger" = String, Path, description = "The id of a trigger")),
    responses((status = 200, description = "Done", body = TriggerView)),
)]
pub(crate) async fn resume(
    State(hub): State<Hub>,
    who: Who,
    Path(id): Path<String>,
) -> Result<Json<TriggerView>, Problem> {
    set_paused(&hub, &who, &id, false).await
}

async fn set_paused(
    hub: &Hub,
    who: &Who,
    id: &str,
    is_paused: bool,
) -> Result<Json<TriggerView>, Problem> {
    who.administrator()?;
    let actor = who.actor();
    let next = hub.directory.pause_trigger(&who.organisation, id, is_paused, &actor).await?;
    Ok(Json(TriggerView::new(hub, &next)))
}

#[utoipa::path(
    delete,
    path = "/api/v1/triggers/{trigger}",
    operation_id = "removeTrigger",
    tag = "triggers",
    summary = "Removes a trigger. Runs that have begun go on",
    params(("trigger" = String, Path, description = "The id of a trigger")),
    responses((status = 204, description = "Done")),
)]
pub(crate) async fn remove(
    State(hub): State<Hub>,
    who: Who,
    Path(id): Path<String>,
) -> Result<StatusCode, Problem> {
    who.administrator()?;
    hub.directory.remove_trigger(&who.organisation, &id, &who.actor()).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// What became of a delivery.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub(crate) struct Accepted {
    /// `accepted`
    status: &'static str,
    trigger: String,
    /// The run that has begun; the same if the delivery is repeated.
    run_id: String,
}

#[utoipa::path(
    post,
    path = "/api/v1/hooks/{trigger}",
    operation_id = "deliver",
    tag = "triggers",
    summary = "Fires a trigger: for whoever can sign",
    security(()),
    params(
        ("trigger" = String, Path, description = "The id of a trigger"),
        ("X-Webhook-Signature" = String, Header, description = "HMAC-SHA256 of the body with the trigger's secret, in hexadecimal digits"),
        ("X-Webhook-Id" = Option<String>, Header, description = "Runs once, however often it is delivered"),
        ("X-Webhook-Timestamp" = Option<String>, Header, description = "Without an id: the same body of the same time runs once"),
    ),
    request_body(content = String, description = "Inputs by name, or the only input"),
    responses((status = 202, description = "A run has begun", body = Accepted)),
)]
pub(crate) async fn hook(
    State(hub): State<Hub>,
    Path(id): Path<String>,
    request: Request,
) -> Result<(StatusCode, Json<Accepted>), Problem> {
    let (head, body) = request.into_parts();
    let refused = |problem: Problem| match count_stranger(&head, &hub) {
        Ok(()) => problem,
        Err(too_many) => too_many,
    };
    let trigger = hub.directory.state().trigger(&id).cloned();
    let trigger = trigger.filter(|trigger| trigger.secret.is_some());
    let trigger =
        trigger.ok_or_else(|| refused(Problem::from(Error::Unknown { what: "trigger" })))?;
    let body = nuncio_net::listen::body::Guarded::new(body, hub.settings.bodies).collect().await?;
    if !is_signed(&trigger, &head.headers, &body) {
        let text = "`X-Webhook-Signature` must be the HMAC-SHA256 of the body with the trigger's \
                    secret, in hexadecimal digits";
        return Err(refused(Problem::new(StatusCode::UNAUTHORIZED, "BAD_SIGNATURE", text)));
    }
    if trigger.is_paused {
        return Err(Problem::new(StatusCode::FORBIDDEN, "PAUSED", "the trigger rests"));
    }
    let saved = hub.directory.state().workflow(&trigger.workflow, None).cloned();
    let workflow = saved.as_ref().and_then(|saved| saved.workflow());
    let workflow = workflow.ok_or(Error::Unknown { what: "workflow" })?;
    let inputs =
        inputs(workflow, trigger.given(), &body).map_err(|why| Problem::invalid("body", why))?;
    let key = Delivery { trigger: &trigger, headers: &head.headers, body: &body }.key();
    let begun = triggers::start(&hub, &trigger, inputs, key).await;
    let fired = Fired {
        at: Timestamp::now(),
        run: begun.as_ref().ok().cloned(),
        error: begun.as_ref().err().map(|error| error.message().to_owned()),
    };
    hub.directory.note_fired(&trigger.id, None, fired).await?;
    let run_id = begun?;
    Ok((StatusCode::ACCEPTED, Json(Accepted { status: "accepted", trigger: id, run_id })))
}
