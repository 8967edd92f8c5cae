//! `POST /register`: an agent says where it is and what it can do.

use std::collections::BTreeMap;

use axum::{
    Json,
    extract::{FromRequest as _, Request, State},
    response::{IntoResponse, Response},
};
use http::HeaderMap;
use nuncio_protocol::{dialect::opportunity::PROTOCOL_VERSION, ids::AgentId};
use serde::{Deserialize, Serialize};

use super::{
    card,
    exchange::{Exchange, Refused, SOURCE_AGENT, check},
};
use crate::{
    agent::{Addresses, Watch},
    directory::{Patch, Registered, Registration},
    error::Error,
    http::{api::register::registrar, body, facade::claim, problem::Problem, who::Who},
    hub::Hub,
};

/// The longest id, and the longest capability, in bytes.
const MAX_WORD: usize = 256;

/// An agent that comes by itself (OD-01).
#[derive(Debug, Deserialize)]
struct Asked {
    #[serde(alias = "agentId")]
    agent_id: String,
    endpoint: String,
    #[serde(default)]
    capabilities: Vec<Capability>,
    #[serde(default, alias = "protocolVersion")]
    protocol_version: Option<String>,
    #[serde(default)]
    metadata: Option<Metadata>,
    #[serde(default)]
    allowed_agents: Option<Limits>,
}

/// A capability, or one with those who may use it (O-13).
#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum Capability {
    Open(String),
    Limited(Limit),
}

#[derive(Debug, Deserialize)]
struct Limit {
    capability: String,
    #[serde(default, alias = "allowedAgents")]
    allowed_agents: Option<Vec<String>>,
}

/// Who may use what, in either way of writing it down.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum Limits {
    List(Vec<Limit>),
    Map(BTreeMap<String, Vec<String>>),
}

/// What we understand of an agent's own data; the rest is its own.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Metadata {
    pub(super) name: Option<String>,
    pub(super) description: Option<String>,
    pub(super) version: Option<String>,
    allowed_agents: Option<Limits>,
}

/// Seeds say nothing of the answer; this is ours.
#[derive(Debug, Serialize)]
struct Answer {
    status: &'static str,
    agent_id: AgentId,
    protocol_version: &'static str,
    /// The agent's token, the first time and never again.
    #[serde(skip_serializing_if = "Option::is_none")]
    token: Option<String>,
}

pub(super) async fn register(State(hub): State<Hub>, request: Request) -> Response {
    let mut exchange = Exchange::begin(request.headers());
    let outcome = answer(&hub, &mut exchange, request).await;
    exchange.end(&hub, outcome)
}

async fn answer(hub: &Hub, exchange: &mut Exchange, request: Request) -> Result<Response, Refused> {
    let (mut head, body) = request.into_parts();
    let who = exchange.recognise(&mut head, hub).await?;
    let headers = head.headers.clone();
    let request = Request::from_parts(head, body);
    let body::Json(asked) = body::Json::<Asked>::from_request(request, hub).await?;
    check(&headers, &who)?;
    let registered = take(hub, &who, &headers, asked).await?;
    let answer = Answer {
        status: "registered",
        agent_id: registered.agent.id.clone(),
        protocol_version: PROTOCOL_VERSION,
        token: registered.token.map(|token| token.to_string()),
    };
    Ok(Json(answer).into_response())
}

async fn take(
    hub: &Hub,
    who: &Who,
    headers: &HeaderMap,
    asked: Asked,
) -> Result<Registered, Refused> {
    if asked.protocol_version.as_deref().is_some_and(|version| version != PROTOCOL_VERSION) {
        return Err(Refused::version());
    }
    check_word("agent_id", &asked.agent_id)?;
    let id = AgentId::parse(&asked.agent_id)
        .map_err(|error| Problem::invalid("agent_id", error.to_string()))?;
    // A newcomer claims to be whom it registers, or nobody.
    claim::names(headers, SOURCE_AGENT, &id)?;
    let by = registrar(who)?;
    let metadata = asked.metadata.unwrap_or_default();
    let (capabilities, mut limits) = split(asked.capabilities);
    limits.extend(metadata.allowed_agents.as_ref().map(Limits::pairs).into_iter().flatten());
    limits.extend(asked.allowed_agents.as_ref().map(Limits::pairs).into_iter().flatten());
    for capability in capabilities.iter().chain(limits.keys()) {
        check_word("capabilities", capability)?;
    }
    let limits = resolve(hub, who, limits)?;
    let card = card::write(id.as_str(), &asked.endpoint, &capabilities, &metadata);
    let card = card.map_err(Error::from)?;
    let public = Some(card::base(&asked.endpoint).into());
    let addresses = Addresses { public, ..Addresses::default() };
    hub.check_addresses(&addresses).await?;

    let registration = Registration { id: id.clone(), name: None, card, addresses, delivery: None };
    let actor = who.actor();
    let registered = hub.directory.register(&who.organisation, registration, &by, &actor).await?;
    // These agents send no heartbeats, so they are asked.
    let watch = registered.token.is_some().then_some(Watch::Probe);
    let allowed_agents = (!limits.is_empty()).then_some(limits);
    let patch = Patch { watch, allowed_agents, ..Patch::default() };
    // Ends the tokens that were given out before the limits were known.
    let agent = hub.directory.edit(&who.organisation, &id, &patch, &actor).await?;
    Ok(Registered { agent, ..registered })
}

type Names = BTreeMap<String, Vec<String>>;

fn split(capabilities: Vec<Capability>) -> (Vec<String>, Names) {
    let mut names = Vec::new();
    let mut limits = Names::new();
    for capability in capabilities {
        let name = match capability {
            Capability::Open(name) => name,
            Capability::Limited(limit) => {
                if let Some(agents) = limit.allowed_agents {
                    limits.insert(limit.capability.clone(), agents);
                }
                limit.capability
            }
        };
        if !names.contains(&name) {
            names.push(name);
        }
    }
    (names, limits)
}

impl Limits {
    fn pairs(&self) -> Vec<(String, Vec<String>)> {
        match self {
            Self::List(list) => {
                let limited = list.iter().filter_map(|limit| {
                    Some((limit.capability.clone(), limit.allowed_agents.clone()?))
                });
                limited.collect()
            }
            Self::Map(map) => map.clone().into_iter().collect(),
        }
    }
}

/// Finds the agents that are named. One that is not there yet is known by its id when it comes.
fn resolve(hub: &Hub, who: &Who, limits: Names) -> Result<BTreeMap<String, Vec<AgentId>>, Refused> {
    let state = hub.directory.state();
    let mut resolved = BTreeMap::new();
    for (capability, agents) in limits {
        let ids = agents.iter().map(|text| {
            check_word("allowed_agents", text)?;
            let id = AgentId::parse(text)
                .map_err(|error| Problem::invalid("allowed_agents", error.to_string()))?;
            if state.present(&who.organisation, &id).is_some() {
                return Ok(id);
            }
            Ok(state.find(&who.organisation, text).map_or(id, |agent| agent.id.clone()))
        });
        resolved.insert(capability, ids.collect::<Result<_, Problem>>()?);
    }
    Ok(resolved)
}

fn check_word(field: &str, text: &str) -> Result<(), Problem> {
    let is_word = (1..=MAX_WORD).contains(&text.len()) && !text.chars().any(char::is_control);
    if is_word {
        return Ok(());
    }
    let detail = format!("has 1 to {MAX_WORD} bytes and no control characters");
    Err(Problem::invalid(field, detail))
}
