//! `GET /discover` and `GET /agents`: who is there, and can do what.

use std::{cmp::Reverse, collections::BTreeSet, sync::Arc};

use axum::{
    Json,
    extract::{FromRequestParts as _, Query, Request, State},
    response::{IntoResponse, Response},
};
use http::{HeaderValue, StatusCode, header::CONTENT_TYPE};
use nuncio_auth::rules::Question;
use nuncio_protocol::{
    dialect::opportunity::{Capabilities, Health, PROTOCOL_VERSION},
    ids::AgentId,
    json,
};
use serde::{Deserialize, Serialize};

use super::{
    card,
    exchange::{Exchange, REGISTRY, Refused},
};
use crate::{
    agent::{Agent, Delivery, Match, Status},
    http::{
        problem::Problem,
        who::{Role, Who},
    },
    hub::Hub,
};

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Asked {
    capability: String,
}

#[derive(Debug, Serialize)]
struct Agents {
    agents: Vec<Entry>,
}

/// An agent, as it registered.
#[derive(Debug, Serialize)]
struct Entry {
    agent_id: AgentId,
    endpoint: String,
    capabilities: Vec<String>,
    protocol_version: &'static str,
    status: Status,
}

pub(super) async fn discover(State(hub): State<Hub>, request: Request) -> Response {
    let mut exchange = Exchange::begin(request.headers());
    let outcome = offering(&hub, &mut exchange, request).await;
    exchange.end(&hub, outcome.map(IntoResponse::into_response))
}

async fn offering(
    hub: &Hub,
    exchange: &mut Exchange,
    request: Request,
) -> Result<Json<Agents>, Refused> {
    let mut head = request.into_parts().0;
    let who = exchange.admit(&mut head, hub).await?;
    who.somebody()?;
    let asked = Query::<Asked>::from_request_parts(&mut head, hub).await;
    let capability = asked.map(|Query(asked)| asked.capability).unwrap_or_default();
    if capability.is_empty() {
        let detail = "is needed, as in `/discover?capability=pain_point_validation`";
        return Err(Problem::invalid("capability", detail).into());
    }
    exchange.capability = capability;
    Ok(Json(find(hub, &who, Some(&exchange.capability))))
}

pub(super) async fn agents(State(hub): State<Hub>, request: Request) -> Response {
    let mut exchange = Exchange::begin(request.headers());
    let mut head = request.into_parts().0;
    let who = exchange.admit(&mut head, &hub).await;
    let who = who.and_then(|who| Ok(who.somebody().map(|()| who)?));
    let outcome = who.map(|who| Json(find(&hub, &who, None)).into_response());
    exchange.end(&hub, outcome)
}

/// Says what all agents together can do that somebody may ask (O-08).
pub(super) async fn capabilities(State(hub): State<Hub>, request: Request) -> Response {
    let mut exchange = Exchange::begin(request.headers());
    let mut head = request.into_parts().0;
    let who = exchange.admit(&mut head, &hub).await;
    let who = who.and_then(|who| Ok(who.somebody().map(|()| who)?));
    let outcome = who.map(|who| {
        let agents = find(&hub, &who, None).agents.into_iter();
        let all: BTreeSet<String> = agents.flat_map(|agent| agent.capabilities).collect();
        let (agent_id, protocol_version) = names();
        let capabilities = all.into_iter().collect();
        let text = json::to_string(&Capabilities { agent_id, protocol_version, capabilities });
        document(StatusCode::OK, text)
    });
    exchange.end(&hub, outcome)
}

/// Says whether the hub takes requests.
pub(super) async fn health(State(hub): State<Hub>) -> Response {
    let is_stopping = hub.drain.has_begun();
    let status = if is_stopping { StatusCode::SERVICE_UNAVAILABLE } else { StatusCode::OK };
    let word = if is_stopping { "stopping" } else { "ok" };
    let (agent_id, protocol_version) = names();
    let health = Health { status: word.to_owned(), agent_id, protocol_version };
    document(status, json::to_string(&health))
}

fn names() -> (String, String) {
    (REGISTRY.to_owned(), PROTOCOL_VERSION.to_owned())
}

fn document(status: StatusCode, text: String) -> Response {
    let json = HeaderValue::from_static("application/json");
    (status, [(CONTENT_TYPE, json)], text).into_response()
}

/// Finds agents that somebody may ask, those first that most likely answer.
fn find(hub: &Hub, who: &Who, capability: Option<&str>) -> Agents {
    let state = hub.directory.state();
    let may_ask = |agent: &&Arc<Agent>| {
        let question = Question { skill: capability, ..Question::new(who.asker(), &agent.id) };
        state.decider().decide(&**state, &question).is_allowed()
    };
    let mut found: Vec<&Arc<Agent>> = match capability {
        Some(capability) => state.offering(&who.organisation, capability).filter(may_ask).collect(),
        None => state.in_order(&who.organisation, None).filter(may_ask).collect(),
    };
    found.sort_by_cached_key(|agent| {
        let by = capability.and_then(|capability| agent.offers(capability));
        let latency = agent.standing.latency_hint_ms.unwrap_or(u32::MAX);
        (likelihood(agent.status), by != Some(Match::Skill), Reverse(agent.standing.trust), latency)
    });
    let agents = found.into_iter().filter(|agent| likelihood(agent.status) < RESTS);
    Agents { agents: agents.filter_map(|agent| entry(hub, who, agent)).collect() }
}

/// Agents that nobody is to ask now.
const RESTS: u8 = 4;

/// The smaller, the more likely an agent answers.
fn likelihood(status: Status) -> u8 {
    match status {
        Status::Online => 0,
        Status::Degraded => 1,
        Status::Provisioning => 2,
        Status::Offline => 3,
        Status::Failed | Status::Paused | Status::Hibernated | Status::Removed => RESTS,
    }
}

/// Clients add `/a2a` to an endpoint, whether it is the agent's or ours.
fn entry(hub: &Hub, who: &Who, agent: &Agent) -> Option<Entry> {
    let addresses = &agent.addresses;
    let url = match (agent.delivery, &who.role) {
        (Delivery::Gateway | Delivery::Pull, _) => {
            format!("{}/agents/{}", hub.settings.public_url, agent.name)
        }
        (Delivery::Direct, Role::Agent(_)) => {
            addresses.internal.as_ref().or(addresses.public.as_ref())?.to_string()
        }
        (Delivery::Direct, _) => addresses.public.as_ref()?.to_string(),
    };
    let skills = agent.card.iter().flat_map(|card| &card.card().skills);
    Some(Entry {
        agent_id: agent.id.clone(),
        endpoint: card::base(&url).to_owned(),
        capabilities: skills.map(|skill| skill.id.clone()).collect(),
        protocol_version: PROTOCOL_VERSION,
        status: agent.status,
    })
}
