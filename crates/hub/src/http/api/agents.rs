//! Agents, as an administrator sees and places them.

mod hosted;

use std::{collections::BTreeMap, sync::Arc};

use axum::{
    Json,
    extract::{Path, State},
};
use http::StatusCode;
use nuncio_client::discover::{Ask, Source};
use nuncio_net::egress::Trust;
use nuncio_protocol::ids::AgentId;
use serde::{Deserialize, Deserializer, Serialize};

use crate::{
    agent::{Addresses, Agent, Card, Delivery, Origin, Standing, Status, Watch},
    directory::{self, Below, NewAgent, Patch, Probed},
    error::Error,
    http::{body, problem::Problem, query::Query, view::AgentView, who::Who},
    hub::Hub,
    name::AgentName,
};

/// What is looked for.
#[derive(Debug, Default, Deserialize, utoipa::IntoParams)]
#[serde(default, deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct Search {
    q: Option<String>,
    skill: Option<String>,
    tag: Option<String>,
    capability: Option<String>,
    #[param(inline)]
    status: Option<Status>,
    parent: Option<String>,
    #[param(value_type = Option<String>)]
    after: Option<AgentName>,
    limit: Option<usize>,
}

/// A page of agents.
#[derive(Debug, Serialize, utoipa::ToSchema)]
pub(crate) struct AgentPage {
    agents: Vec<AgentView>,
    /// What to ask with as `after` for the next page; absent on the last one.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    next: Option<AgentName>,
}

#[utoipa::path(
    get,
    path = "/api/v1/agents",
    operation_id = "searchAgents",
    tag = "agents",
    summary = "Searches agents that the caller may call",
    params(Search),
    responses((status = 200, description = "Done", body = AgentPage)),
)]
pub(crate) async fn search(
    State(hub): State<Hub>,
    who: Who,
    Query(search): Query<Search>,
) -> Result<Json<AgentPage>, Problem> {
    who.somebody()?;
    let parent = match &search.parent {
        Some(text) => Some(hub.directory.visible(who.asker(), text)?.id.clone()),
        None => None,
    };
    let query = directory::Query {
        text: search.q,
        skill: search.skill,
        tag: search.tag,
        capability: search.capability,
        status: search.status,
        parent,
        after: search.after,
        limit: search.limit.unwrap_or(100),
    };
    let page = hub.directory.search(who.asker(), &query);
    let agents = page.agents.iter();
    let agents =
        agents.map(|agent| AgentView::new(&hub.directory, agent).seen_by(&hub, &who)).collect();
    Ok(Json(AgentPage { agents, next: page.next }))
}

#[utoipa::path(
    get,
    path = "/api/v1/agents/{agent}",
    operation_id = "showAgent",
    tag = "agents",
    summary = "Shows an agent",
    params(("agent" = String, Path, description = "The name or id of an agent")),
    responses((status = 200, description = "Done", body = AgentView)),
)]
pub(crate) async fn show(
    State(hub): State<Hub>,
    who: Who,
    Path(agent): Path<String>,
) -> Result<Json<AgentView>, Problem> {
    who.somebody()?;
    let agent = hub.directory.visible(who.asker(), &agent)?;
    Ok(Json(AgentView::new(&hub.directory, &agent).seen_by(&hub, &who)))
}

/// An agent to bring in.
#[derive(Debug, Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Add {
    /// Names it for good; made up if there is none.
    #[schema(value_type = Option<String>)]
    id: Option<AgentId>,
    /// What it is called; made of its card's name if there is none.
    #[schema(value_type = Option<String>)]
    name: Option<AgentName>,
    role: Option<String>,
    /// Its card, as a JSON value.
    #[schema(value_type = Option<Object>)]
    card: Option<nuncio_protocol::json::Raw>,
    /// Where its card is found, or the agent itself: it is fetched now.
    card_url: Option<String>,
    /// The name or id of the agent above it.
    parent: Option<String>,
    url: Option<String>,
    internal_url: Option<String>,
    delivery: Option<Delivery>,
    trust: Option<u8>,
    latency_hint_ms: Option<u32>,
    /// Whether it says how it is; an agent that is added by its card is asked instead.
    watch: Option<Watch>,
    #[serde(default)]
    allowed_agents: BTreeMap<String, Vec<String>>,
    /// What the hub is to run for it itself: `echo`, `llm`, `http` or `mcp`. Programs are started
    /// on the word of the configuration file only.
    kind: Option<String>,
    /// What that kind needs to know, with the keys that it has in the configuration file.
    #[schema(value_type = Option<Object>)]
    settings: Option<nuncio_protocol::json::Raw>,
}

#[utoipa::path(
    post,
    path = "/api/v1/agents",
    operation_id = "addAgent",
    tag = "agents",
    summary = "Brings in an agent",
    request_body = Add,
    responses((status = 201, description = "Made", body = AgentView)),
)]
pub(crate) async fn add(
    State(hub): State<Hub>,
    who: Who,
    body::Json(add): body::Json<Add>,
) -> Result<(StatusCode, Json<AgentView>), Problem> {
    who.administrator()?;
    let hosted = hosted::check(&hub, &add).await?;
    let mut addresses = Addresses {
        public: add.url.map(Into::into),
        internal: add.internal_url.map(Into::into),
        card: add.card_url.as_deref().map(Into::into),
    };
    let card = match (&add.card, &add.card_url) {
        (Some(card), _) => Some(Card::parse(card.as_str()).map_err(Error::from)?),
        (None, Some(url)) => Some(fetch_card(&hub, url).await?),
        (None, None) => None,
    };
    let was_seen = add.card.is_none() && card.is_some();
    let (hosting, card) = match hosted {
        Some((hosting, card)) => (Some(hosting), Some(card)),
        None => (None, card),
    };
    if addresses.public.is_none() && hosting.is_none() {
        addresses.public = card.as_ref().and_then(Card::url).map(Into::into);
    }
    hub.check_addresses(&addresses).await?;
    let title = card.as_ref().map(|card| card.card().name.clone());
    let name = match (add.name, title) {
        (Some(name), _) => name,
        (None, Some(title)) => AgentName::from_title(&title)
            .ok_or_else(|| Problem::invalid("name", "is needed: the card's name makes none"))?,
        (None, None) => return Err(Problem::invalid("name", "is needed, or `card_url`")),
    };
    let mut new = NewAgent::new(name);
    new.id = add.id;
    new.role = add.role;
    new.parent =
        add.parent.map(|text| find(&hub, &who, &text)).transpose()?.map(|agent| agent.id.clone());
    let usual_watch = if card.is_some() { Watch::Probe } else { Watch::Heartbeat };
    new.watch = add.watch.unwrap_or(usual_watch);
    new.card = card;
    new.addresses = addresses;
    new.delivery = add.delivery.unwrap_or_default();
    if hosting.is_some() {
        // Nobody but the hub can call it.
        (new.watch, new.delivery) = (Watch::Hosted, Delivery::Gateway);
    }
    new.hosting = hosting;
    new.standing = Standing {
        trust: add.trust.unwrap_or_else(|| Standing::default().trust),
        latency_hint_ms: add.latency_hint_ms,
    };
    new.allowed_agents = limits(&hub, &who, add.allowed_agents)?;
    let mut agent =
        hub.directory.add(&who.organisation, new, Origin::Administrator, &who.actor()).await?;
    if was_seen {
        // It has just shown its card, so nobody need wait for the next round of questions.
        hub.directory.probed(&agent.id, Probed::Answered).await?;
        agent = find(&hub, &who, agent.id.as_str())?;
    }
    Ok((StatusCode::CREATED, Json(AgentView::new(&hub.directory, &agent))))
}

/// What is to be different; what is not said stays.
#[derive(Debug, Default, Deserialize, utoipa::ToSchema)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Edit {
    #[schema(value_type = Option<String>)]
    name: Option<AgentName>,
    role: Option<String>,
    /// Where it is reached; `null` for nowhere.
    #[schema(value_type = Option<String>)]
    url: Url,
    /// Where agents on its own network reach it; `null` for nowhere.
    #[schema(value_type = Option<String>)]
    internal_url: Url,
    delivery: Option<Delivery>,
    trust: Option<u8>,
    latency_hint_ms: Option<u32>,
    watch: Option<Watch>,
    allowed_agents: Option<BTreeMap<String, Vec<String>>>,
}

/// What an edit says of an address: `null` takes it away, and silence does not.
#[derive(Debug, Default, Serialize)]
#[serde(untagged)]
enum Url {
    #[default]
    Stays,
    Becomes(Option<String>),
}

impl<'de> Deserialize<'de> for Url {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Option::deserialize(deserializer).map(Self::Becomes)
    }
}

#[utoipa::path(
    patch,
    path = "/api/v1/agents/{agent}",
    operation_id = "editAgent",
    tag = "agents",
    summary = "Changes an agent",
    params(("agent" = String, Path, description = "The name or id of an agent")),
    request_body = Edit,
    responses((status = 200, description = "Done", body = AgentView)),
)]
pub(crate) async fn edit(
    State(hub): State<Hub>,
    who: Who,
    Path(agent): Path<String>,
    body::Json(edit): body::Json<Edit>,
) -> Result<Json<AgentView>, Problem> {
    who.administrator()?;
    let agent = find(&hub, &who, &agent)?;
    let mut addresses = agent.addresses.clone();
    if let Url::Becomes(url) = edit.url {
        addresses.public = url.map(Into::into);
    }
    if let Url::Becomes(url) = edit.internal_url {
        addresses.internal = url.map(Into::into);
    }
    if addresses != agent.addresses {
        hub.check_addresses(&addresses).await?;
    }
    let mut standing = agent.standing;
    standing.trust = edit.trust.unwrap_or(standing.trust);
    standing.latency_hint_ms = edit.latency_hint_ms.or(standing.latency_hint_ms);
    let allowed_agents =
        edit.allowed_agents.map(|allowed| limits(&hub, &who, allowed)).transpose()?;
    let patch = Patch {
        name: edit.name,
        role: edit.role,
        addresses: Some(addresses),
        delivery: edit.delivery,
        standing: Some(standing),
        watch: edit.watch,
        allowed_agents,
    };
    let agent = hub.directory.edit(&who.organisation, &agent.id, &patch, &who.actor()).await?;
    Ok(Json(AgentView::new(&hub.directory, &agent)))
}

/// What becomes of those below, and who stands in.
#[derive(Debug, Default, Deserialize, utoipa::IntoParams)]
#[serde(default, deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct Remove {
    #[param(inline)]
    below: BelowWord,
    forwarded_to: Option<String>,
}

#[derive(Clone, Copy, Debug, Default, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "snake_case")]
enum BelowWord {
    #[default]
    Refuse,
    Lift,
    Remove,
}

#[derive(Debug, Serialize, utoipa::ToSchema)]
pub(crate) struct Removed {
    removed: usize,
}

#[utoipa::path(
    delete,
    path = "/api/v1/agents/{agent}",
    operation_id = "removeAgent",
    tag = "agents",
    summary = "Removes an agent for good",
    params(("agent" = String, Path, description = "The name or id of an agent"), Remove),
    responses((status = 200, description = "Done", body = Removed)),
)]
pub(crate) async fn remove(
    State(hub): State<Hub>,
    who: Who,
    Path(agent): Path<String>,
    Query(remove): Query<Remove>,
) -> Result<Json<Removed>, Problem> {
    who.administrator()?;
    let agent = find(&hub, &who, &agent)?;
    let heir = remove.forwarded_to.map(|text| find(&hub, &who, &text)).transpose()?;
    let below = match remove.below {
        BelowWord::Refuse => Below::Refuse,
        BelowWord::Lift => Below::Lift,
        BelowWord::Remove => Below::Remove,
    };
    let heir = heir.as_ref().map(|heir| &heir.id);
    let removed =
        hub.directory.remove(&who.organisation, &agent.id, below, heir, &who.actor()).await?;
    Ok(Json(Removed { removed }))
}

/// A place in the hierarchy.
#[derive(Debug, Deserialize, utoipa::ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Place {
    /// The name or id of the agent above; `null` for none.
    #[serde(deserialize_with = "said")]
    #[schema(required = true)]
    parent: Option<String>,
}

/// Moving to the top has to be said; a forgotten member must not do it.
fn said<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    Option::deserialize(deserializer)
}

#[utoipa::path(
    put,
    path = "/api/v1/agents/{agent}/parent",
    operation_id = "placeAgent",
    tag = "agents",
    summary = "Moves an agent in the hierarchy",
    params(("agent" = String, Path, description = "The name or id of an agent")),
    request_body = Place,
    responses((status = 200, description = "Done", body = AgentView)),
)]
pub(crate) async fn place(
    State(hub): State<Hub>,
    who: Who,
    Path(agent): Path<String>,
    body::Json(place): body::Json<Place>,
) -> Result<Json<AgentView>, Problem> {
    who.administrator()?;
    let agent = find(&hub, &who, &agent)?;
    let parent = place.parent.map(|text| find(&hub, &who, &text)).transpose()?;
    let parent = parent.as_ref().map(|parent| &parent.id);
    let agent = hub.directory.move_to(&who.organisation, &agent.id, parent, &who.actor()).await?;
    Ok(Json(AgentView::new(&hub.directory, &agent)))
}

#[utoipa::path(
    post,
    path = "/api/v1/agents/{agent}/pause",
    operation_id = "pauseAgent",
    tag = "agents",
    summary = "Lets an agent rest",
    params(("agent" = String, Path, description = "The name or id of an agent")),
    responses((status = 200, description = "Done", body = AgentView)),
)]
pub(crate) async fn pause(
    State(hub): State<Hub>,
    who: Who,
    Path(agent): Path<String>,
) -> Result<Json<AgentView>, Problem> {
    who.administrator()?;
    let agent = find(&hub, &who, &agent)?;
    let agent = hub.directory.pause(&who.organisation, &agent.id, &who.actor()).await?;
    Ok(Json(AgentView::new(&hub.directory, &agent)))
}

#[utoipa::path(
    post,
    path = "/api/v1/agents/{agent}/resume",
    operation_id = "resumeAgent",
    tag = "agents",
    summary = "Wakes an agent that rests",
    params(("agent" = String, Path, description = "The name or id of an agent")),
    responses((status = 200, description = "Done", body = AgentView)),
)]
pub(crate) async fn resume(
    State(hub): State<Hub>,
    who: Who,
    Path(agent): Path<String>,
) -> Result<Json<AgentView>, Problem> {
    who.administrator()?;
    let agent = find(&hub, &who, &agent)?;
    let agent = hub.directory.resume(&who.organisation, &agent.id, &who.actor()).await?;
    Ok(Json(AgentView::new(&hub.directory, &agent)))
}

#[utoipa::path(
    get,
    path = "/api/v1/agents/{agent}/peers",
    operation_id = "listPeers",
    tag = "agents",
    summary = "Lists whom an agent may call",
    params(("agent" = String, Path, description = "The name or id of an agent")),
    responses((status = 200, description = "Done", body = AgentPage)),
)]
pub(crate) async fn peers(
    State(hub): State<Hub>,
    who: Who,
    Path(agent): Path<String>,
) -> Result<Json<AgentPage>, Problem> {
    who.somebody()?;
    let agent = hub.directory.visible(who.asker(), &agent)?;
    who.itself_or_administrator(&agent.id)
        .or_else(|problem| who.overseer().map_err(|_| problem))?;
    let peers = hub.directory.peers(&agent.id)?;
    let agents = peers.iter();
    let agents =
        agents.map(|agent| AgentView::new(&hub.directory, agent).seen_by(&hub, &who)).collect();
    Ok(Json(AgentPage { agents, next: None }))
}

/// Finds an agent by its name or id.
pub(crate) fn find(hub: &Hub, who: &Who, text: &str) -> Result<Arc<Agent>, Error> {
    hub.directory.state().find(&who.organisation, text).cloned().ok_or(Error::no_agent())
}

fn limits(
    hub: &Hub,
    who: &Who,
    limits: BTreeMap<String, Vec<String>>,
) -> Result<BTreeMap<String, Vec<AgentId>>, Error> {
    let limits = limits.into_iter().map(|(skill, agents)| {
        let ids = agents.iter().map(|text| Ok(find(hub, who, text)?.id.clone()));
        Ok((skill, ids.collect::<Result<_, Error>>()?))
    });
    limits.collect()
}

/// Fetches a card on an administrator's word.
pub(crate) async fn fetch_card(hub: &Hub, url: &str) -> Result<Card, Problem> {
    let source =
        Source::parse(url).map_err(|error| Problem::invalid("card_url", error.to_string()))?;
    if source.as_url().is_none() {
        return Err(Problem::invalid("card_url", "is not an http or https URL"));
    }
    let found = hub.client.cards().get(&Ask::new(source, Trust::Administrator)).await;
    let found = found.map_err(|error| {
        let detail = format!("no card could be fetched: {error}");
        Problem {
            field: Some("card_url".to_owned()),
            ..Problem::new(StatusCode::BAD_GATEWAY, "CARD_UNREACHABLE", detail)
        }
    })?;
    Ok(Card::parse(&found.found.text).map_err(Error::from)?)
}
