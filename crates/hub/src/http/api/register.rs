//! What agents do for themselves: register, say how they are, and find others.

use axum::{
    Json,
    extract::{Path, State},
};
use http::StatusCode;
use nuncio_auth::pair::Pair;
use nuncio_protocol::{ids::AgentId, json::Raw, time::Timestamp};
use serde::{Deserialize, Serialize};

use crate::{
    agent::{Addresses, Card, Delivery, Status},
    beat::Beat,
    directory::{Network, Registrar, Registration},
    error::Error,
    http::{
        body,
        problem::Problem,
        query::Query,
        view::AgentView,
        who::{Role, Who},
    },
    hub::Hub,
    metrics::Heartbeat,
    name::AgentName,
};

/// An agent that comes by itself.
#[derive(Debug, Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Register {
    /// Names it for good; made up the first time if there is none.
    #[schema(value_type = Option<String>)]
    id: Option<AgentId>,
    #[schema(value_type = Option<String>)]
    name: Option<AgentName>,
    #[schema(value_type = Object)]
    card: Raw,
    /// Where it is reached; the first interface of its card, if it does not say.
    url: Option<String>,
    internal_url: Option<String>,
    /// How calls come to it: `pull`, if nobody can reach it and it fetches its work.
    delivery: Option<Delivery>,
}

#[derive(Debug, Serialize, utoipa::ToSchema)]
pub(crate) struct Registered {
    agent: AgentView,
    /// The agent's token, the first time and never again.
    #[serde(skip_serializing_if = "Option::is_none")]
    token: Option<String>,
    heartbeat_seconds: u64,
}

#[utoipa::path(
    post,
    path = "/api/v1/register",
    operation_id = "register",
    tag = "registration",
    summary = "Registers an agent by itself",
    request_body = Register,
    responses((status = 201, description = "Made", body = Registered), (status = 200, description = "Done", body = Registered)),
)]
pub(crate) async fn register(
    State(hub): State<Hub>,
    who: Who,
    body::Json(register): body::Json<Register>,
) -> Result<(StatusCode, Json<Registered>), Problem> {
    let by = registrar(&who)?;
    let id = match (&register.id, &who.role) {
        (Some(id), _) | (None, Role::Agent(id)) => id.clone(),
        (None, _) => AgentId::generate(),
    };
    let card = Card::parse(register.card.as_str()).map_err(Error::from)?;
    // Whoever fetches its work is at no address.
    let own = card.url().filter(|_| register.delivery != Some(Delivery::Pull));
    let addresses = Addresses {
        public: register.url.clone().or(own).map(Into::into),
        internal: register.internal_url.clone().map(Into::into),
        card: None,
    };
    hub.check_addresses(&addresses).await?;
    let Register { name, delivery, .. } = register;
    let registration = Registration { id, name, card, addresses, delivery };
    let registered =
        hub.directory.register(&who.organisation, registration, &by, &who.actor()).await?;
    let status = if registered.token.is_some() { StatusCode::CREATED } else { StatusCode::OK };
    let registered = Registered {
        agent: AgentView::new(&hub.directory, &registered.agent),
        token: registered.token.map(|token| token.to_string()),
        heartbeat_seconds: hub.directory.options().liveness.beat.as_secs(),
    };
    Ok((status, Json(registered)))
}

/// Says on whose word somebody registers.
pub(crate) fn registrar(who: &Who) -> Result<Registrar, Problem> {
    match &who.role {
        Role::Administrator => Ok(Registrar::Administrator),
        Role::Agent(id) => Ok(Registrar::Itself(id.clone())),
        Role::Newcomer(enrolment) => Ok(Registrar::Enrolled(enrolment.clone())),
        Role::Viewer | Role::Person => {
            Err(Problem::forbidden("registering an agent needs an enrolment token"))
        }
    }
}

/// What an agent is told when it says how it is.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub(crate) struct Heard {
    status: Status,
    /// Pair tokens older than this are no longer good.
    min_epoch: u64,
}

#[utoipa::path(
    post,
    path = "/api/v1/agents/{agent}/heartbeat",
    operation_id = "heartbeat",
    tag = "registration",
    summary = "Takes the word of an agent about itself",
    params(("agent" = String, Path, description = "The name or id of an agent")),
    request_body = Beat,
    responses((status = 200, description = "Done", body = Heard)),
)]
pub(crate) async fn heartbeat(
    State(hub): State<Hub>,
    who: Who,
    Path(agent): Path<String>,
    body::Json(beat): body::Json<Beat>,
) -> Result<Json<Heard>, Problem> {
    who.somebody()?;
    let agent = hub.directory.visible(who.asker(), &agent)?;
    who.itself_or_administrator(&agent.id)?;
    let heard = hub.directory.heartbeat(&agent.id, beat).await?;
    hub.metrics.heartbeat(Heartbeat::Accepted);
    Ok(Json(Heard { status: heard.status, min_epoch: heard.min_epoch }))
}

/// From where the asker means to call.
#[derive(Debug, Default, Deserialize, utoipa::IntoParams)]
#[serde(default, deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct Asked {
    #[param(inline)]
    network: NetworkWord,
}

#[derive(Clone, Copy, Debug, Default, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "snake_case")]
enum NetworkWord {
    /// Agents are on the internal network, everybody else is not.
    #[default]
    Usual,
    Internal,
    External,
}

/// Where an agent is, and the token that opens it.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub(crate) struct Discovered {
    #[schema(value_type = String)]
    pub(crate) id: AgentId,
    #[schema(value_type = String)]
    pub(crate) name: AgentName,
    pub(crate) status: Status,
    pub(crate) delivery: Delivery,
    pub(crate) url: String,
    /// Whether the agent that was asked for is gone, and this one stands in for it.
    pub(crate) forwarded: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) token: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, format = DateTime)]
    pub(crate) expires: Option<Timestamp>,
    pub(crate) epoch: u64,
}

#[utoipa::path(
    get,
    path = "/api/v1/agents/{agent}/discovery",
    operation_id = "discoverAgent",
    tag = "registration",
    summary = "Says where an agent is, with a token for the two",
    params(("agent" = String, Path, description = "The name or id of an agent"), Asked),
    responses((status = 200, description = "Done", body = Discovered)),
)]
pub(crate) async fn discover(
    State(hub): State<Hub>,
    who: Who,
    Path(target): Path<String>,
    Query(asked): Query<Asked>,
) -> Result<Json<Discovered>, Problem> {
    who.somebody()?;
    let network = match (asked.network, &who.role) {
        (NetworkWord::Internal, _) | (NetworkWord::Usual, Role::Agent(_)) => Network::Internal,
        (NetworkWord::External | NetworkWord::Usual, _) => Network::External,
    };
    let found = find(&hub, &who, &target, network);
    // Whoever may not call an agent is not told either that it is there.
    if found.as_ref().is_err_and(|problem| problem.status == StatusCode::FORBIDDEN) {
        hub.directory.visible(who.asker(), &target)?;
    }
    Ok(Json(found?))
}

/// Finds an agent for somebody, and makes the token for the two of them (M-17).
pub(crate) fn find(
    hub: &Hub,
    who: &Who,
    target: &str,
    network: Network,
) -> Result<Discovered, Problem> {
    let discovery = hub.directory.discover(who.asker(), target, network);
    let reason = match &discovery {
        Ok(_) => "ALLOWED",
        Err(error) => error.code(),
    };
    hub.metrics.decision(discovery.is_ok(), reason);
    if let Err(Error::Denied { decision }) = &discovery {
        let denied = ("decision.deny", target, decision.reason().code());
        hub.trail.refused(&who.actor(), Some(&who.organisation), denied);
    }
    let discovery = discovery?;
    let agent = &discovery.agent;
    let epoch = hub.directory.state().epoch(&who.organisation);
    let minted = match &who.role {
        Role::Agent(caller) if agent.delivery == Delivery::Direct => {
            let pair =
                Pair::new(caller, &agent.id, &who.organisation, epoch).grant(discovery.grant);
            let minted = hub.minter.mint(&pair, Timestamp::now()).map_err(|error| {
                tracing::error!(%error, "no pair token could be made");
                Problem::new(
                    StatusCode::INTERNAL_SERVER_ERROR,
                    "INTERNAL",
                    "no token could be made",
                )
            })?;
            Some(minted)
        }
        _ => None,
    };
    let own = || format!("{}/agents/{}", hub.settings.public_url, agent.name);
    Ok(Discovered {
        id: agent.id.clone(),
        name: agent.name.clone(),
        status: agent.status,
        delivery: agent.delivery,
        url: discovery.url.as_deref().map_or_else(own, str::to_owned),
        forwarded: discovery.is_forwarded,
        expires: minted.as_ref().map(|minted| minted.expires),
        token: minted.map(|minted| minted.token.expose().to_owned()),
        epoch,
    })
}
