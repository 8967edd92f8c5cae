//! Rules, and why somebody may or may not.

use axum::{
    Json,
    extract::{Path, State},
};
use nuncio_auth::rules::{self, Asker, Question, Rule};
use nuncio_protocol::{
    ids::AgentId,
    json::{self, Raw},
    operation::Operation,
};
use serde::{Deserialize, Serialize};

use super::agents::find;
use crate::{
    agent::Agent,
    error::Error,
    http::{body, problem::Problem, query::Query, who::Who},
    hub::Hub,
    name::AgentName,
};

/// How many agents are listed at either end of the calls of one.
const MOST_RELATED: usize = 500;

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
    let rule = Rule {
        caller: known(&hub, &who, rule.caller, "caller")?,
        target: known(&hub, &who, rule.target, "target")?,
        ..rule
    };
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

/// Lets people name agents by their names; a rule keeps to the id.
fn known(
    hub: &Hub,
    who: &Who,
    named: rules::Who,
    field: &'static str,
) -> Result<rules::Who, Problem> {
    let id = |text: &AgentId| match find(hub, who, text.as_str()) {
        Ok(agent) => Ok(agent.id.clone()),
        Err(_) => Err(Problem::invalid(field, format!("there is no agent `{text}`"))),
    };
    Ok(match named {
        rules::Who::Agent(text) => rules::Who::Agent(id(&text)?),
        rules::Who::Team(text) => rules::Who::Team(id(&text)?),
        named => named,
    })
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

/// Whom an agent may call, and who may call it.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub(crate) struct Reach {
    may_call: Vec<Related>,
    callers: Vec<Related>,
    /// Whether there are more on a side than are listed.
    is_cut: bool,
}

/// An agent at the other end of a call, and why the call is allowed.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub(crate) struct Related {
    #[schema(value_type = String)]
    id: AgentId,
    #[schema(value_type = String)]
    name: AgentName,
    #[schema(value_type = String)]
    code: &'static str,
    /// The decision in a sentence.
    reason: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    rule: Option<String>,
}

#[utoipa::path(
    get,
    path = "/api/v1/agents/{agent}/reach",
    operation_id = "showReach",
    tag = "rules",
    summary = "Lists whom an agent may call and who may call it, with the reasons",
    params(("agent" = String, Path, description = "The name or id of an agent")),
    responses((status = 200, description = "Done", body = Reach)),
)]
pub(crate) async fn reach(
    State(hub): State<Hub>,
    who: Who,
    Path(agent): Path<String>,
) -> Result<Json<Reach>, Problem> {
    who.overseer()?;
    let own = find(&hub, &who, &agent)?.id.clone();
    let organisation = &who.organisation;
    let state = hub.directory.state();
    let related = |caller: &AgentId, target: &AgentId, other: &Agent| {
        let asker = Asker::Agent { id: caller, organisation };
        let decision = state.decider().decide(&**state, &Question::new(asker, target));
        decision.is_allowed().then(|| Related {
            id: other.id.clone(),
            name: other.name.clone(),
            code: decision.reason().code(),
            reason: decision.to_string(),
            rule: decision.rule().map(str::to_owned),
        })
    };
    let others = || state.in_order(organisation, None).filter(|other| other.id != own);
    let list = |mut found: Vec<Related>| {
        let is_cut = found.len() > MOST_RELATED;
        found.truncate(MOST_RELATED);
        (found, is_cut)
    };
    let calls = others().filter_map(|other| related(&own, &other.id, other));
    let (may_call, are_cut) = list(calls.take(MOST_RELATED + 1).collect());
    let callers = others().filter_map(|other| related(&other.id, &own, other));
    let (callers, is_cut) = list(callers.take(MOST_RELATED + 1).collect());
    Ok(Json(Reach { may_call, callers, is_cut: is_cut || are_cut }))
}
