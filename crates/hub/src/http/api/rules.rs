//! Rules, and why somebody may or may not.

use axum::{
    Json,
    extract::{Path, State},
};
use nuncio_auth::rules::{Asker, Question, Rule};
use nuncio_protocol::{
    ids::AgentId,
    json::{self, Raw},
    operation::Operation,
};
use serde::{Deserialize, Serialize};

use super::agents::find;
use crate::{
    error::Error,
    http::{body, problem::Problem, query::Query, who::Who},
    hub::Hub,
};

#[derive(Debug, Serialize, utoipa::ToSchema)]
pub(crate) struct RuleList {
    #[schema(value_type = Vec<Object>)]
    rules: Vec<Raw>,
}

#[utoipa::path(
    get,
    path = "/api/v1/rules",
    operation_id = "listRules",
    tag = "rules",
    summary = "Lists rules",
    responses((status = 200, description = "Done", body = RuleList)),
)]
pub(crate) async fn list(State(hub): State<Hub>, who: Who) -> Result<Json<RuleList>, Problem> {
    who.overseer()?;
    let state = hub.directory.state();
    let ours = state.rules().filter(|rule| rule.organisation == who.organisation);
    Ok(Json(RuleList { rules: ours.map(view).collect() }))
}

#[utoipa::path(
    get,
    path = "/api/v1/rules/{id}",
    operation_id = "showRule",
    tag = "rules",
    summary = "Shows a rule",
    params(("id" = String, Path, description = "The id of a rule")),
    responses((status = 200, description = "Done", body = Object)),
)]
pub(crate) async fn show(
    State(hub): State<Hub>,
    who: Who,
    Path(id): Path<String>,
) -> Result<Json<Raw>, Problem> {
    who.overseer()?;
    let state = hub.directory.state();
    let rule = state.rule(&id).filter(|rule| rule.organisation == who.organisation);
    Ok(Json(view(rule.ok_or(Error::Unknown { what: "rule" })?)))
}

/// Takes a rule without its id and organisation: both are known.
#[utoipa::path(
    put,
    path = "/api/v1/rules/{id}",
    operation_id = "putRule",
    tag = "rules",
    summary = "Puts a rule in force",
    params(("id" = String, Path, description = "The id of a rule")),
    request_body = Object,
    responses((status = 200, description = "Done", body = Object)),
)]
pub(crate) async fn put(
    State(hub): State<Hub>,
    who: Who,
    Path(id): Path<String>,
    body::Raw(body): body::Raw,
) -> Result<Json<Raw>, Problem> {
    who.administrator()?;
    let text = json::text(&body).map_err(|error| Problem::invalid("", error.to_string()))?;
    let object = json::Object::parse_text(text);
    let object = object.map_err(|error| Problem::invalid("", error.to_string()))?;
    let object = object.with("id", Raw::string(&id));
    let object = object.with("organisation", Raw::string(who.organisation.as_str()));
    let rule: Rule = json::from_str(object.as_str())
        .map_err(|error| Problem::invalid(error.path().clone(), error.to_string()))?;
    hub.directory.put_rule(&rule, &who.actor()).await?;
    Ok(Json(view(&rule)))
}

#[utoipa::path(
    delete,
    path = "/api/v1/rules/{id}",
    operation_id = "removeRule",
    tag = "rules",
    summary = "Removes a rule",
    params(("id" = String, Path, description = "The id of a rule")),
    responses((status = 204, description = "Done")),
)]
pub(crate) async fn remove(
    State(hub): State<Hub>,
    who: Who,
    Path(id): Path<String>,
) -> Result<http::StatusCode, Problem> {
    who.administrator()?;
    hub.directory.remove_rule(&who.organisation, &id, &who.actor()).await?;
    Ok(http::StatusCode::NO_CONTENT)
}

fn view(rule: &Rule) -> Raw {
    Raw::parse_text(&json::to_string(rule)).unwrap_or_else(|_| Raw::string(&rule.id))
}

/// Who calls whom, for what.
#[derive(Debug, Deserialize, utoipa::IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct Asked {
    /// An agent's name or id, or `user:` and a name.
    caller: String,
    target: String,
    operation: Option<String>,
    skill: Option<String>,
}

#[derive(Debug, Serialize, utoipa::ToSchema)]
pub(crate) struct Explained {
    allowed: bool,
    #[schema(value_type = String)]
    code: &'static str,
    /// The decision in a sentence.
    reason: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    rule: Option<String>,
    epoch: u64,
}

#[utoipa::path(
    get,
    path = "/api/v1/policy/explain",
    operation_id = "explain",
    tag = "rules",
    summary = "Says why somebody may call an agent or not",
    params(Asked),
    responses((status = 200, description = "Done", body = Explained)),
)]
pub(crate) async fn explain(
    State(hub): State<Hub>,
    who: Who,
    Query(query): Query<Asked>,
) -> Result<Json<Explained>, Problem> {
    who.overseer()?;
    let organisation = &who.organisation;
    let operation = match query.operation.as_deref() {
        Some(name) => Some(Operation::from_name(name).ok_or_else(|| {
            let names: Vec<_> = Operation::ALL.iter().map(|operation| operation.name()).collect();
            Problem::invalid("operation", format!("is one of {}", names.join(", ")))
        })?),
        None => None,
    };
    // An agent that is not there is asked about all the same: the answer says so.
    let target = find(&hub, &who, &query.target).map(|agent| agent.id.clone());
    let target = target.or_else(|_| AgentId::parse(&query.target));
    let target = target.map_err(|error| Problem::invalid("target", error.to_string()))?;
    let caller;
    let asker = if let Some(name) = query.caller.strip_prefix("user:") {
        Asker::User { name, organisation }
    } else {
        caller = find(&hub, &who, &query.caller)?;
        Asker::Agent { id: &caller.id, organisation }
    };
    let question =
        Question { operation, skill: query.skill.as_deref(), ..Question::new(asker, &target) };
    let decision = hub.directory.decide(&question);
    Ok(Json(Explained {
        allowed: decision.is_allowed(),
        code: decision.reason().code(),
        reason: decision.to_string(),
        rule: decision.rule().map(str::to_owned),
        epoch: hub.directory.state().epoch(organisation),
    }))
}
