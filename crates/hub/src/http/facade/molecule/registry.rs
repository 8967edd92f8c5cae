//! `/registry`: agents come, say how they are, and ask who else is there.

use axum::{
    Json,
    extract::{Path, State},
};
use http::HeaderMap;
use nuncio_auth::rules::{Asker, Question};
use nuncio_protocol::{ids::AgentId, json::Raw};
use serde::{Deserialize, Serialize};

use super::{
    asked::{
        Body, Caller, Params, WORKSPACE_ID, check_line, find, itself_or_overseer, uuid, visible,
    },
    refused::Refused,
    view::{Peer, network},
};
use crate::{
    agent::{Addresses, Agent, Card, Origin},
    beat::Beat,
    directory::Registration,
    error::Error,
    http::{
        api::register::registrar,
        body,
        facade::claim,
        problem::Problem,
        who::{Role, Who},
    },
    hub::Hub,
    metrics::Heartbeat,
};

/// The longest name on a card (MD-63).
const MAX_NAME: usize = 255;

/// An agent that comes by itself (MD-01).
#[derive(Debug, Deserialize)]
pub(super) struct Register {
    id: String,
    url: String,
    agent_card: Raw,
}

#[derive(Debug, Serialize)]
pub(super) struct Registered {
    status: &'static str,
    /// The agent's token, the first time and never again.
    #[serde(skip_serializing_if = "Option::is_none")]
    auth_token: Option<String>,
}

pub(super) async fn register(
    State(hub): State<Hub>,
    Caller(who): Caller,
    headers: HeaderMap,
    Body(register): Body<Register>,
) -> Result<Json<Registered>, Refused> {
    let id = uuid("id", &register.id)?;
    let by = registrar(&who)?;
    // A newcomer claims to be whom it registers, or nobody.
    claim::names(&headers, WORKSPACE_ID, &id)?;
    let card = card(&register.agent_card)?;
    let addresses = {
        let state = hub.directory.state();
        addresses(state.present(&who.organisation, &id).map(|agent| &**agent), &register.url)
    };
    hub.check_addresses(&addresses).await?;
    let registration = Registration { id, name: None, card, addresses, delivery: None };
    let registered =
        hub.directory.register(&who.organisation, registration, &by, &who.actor()).await?;
    let auth_token = registered.token.map(|token| token.to_string());
    Ok(Json(Registered { status: "registered", auth_token }))
}

fn card(text: &Raw) -> Result<Card, Refused> {
    let card = Card::parse(text.as_str()).map_err(Error::from)?;
    check_line("agent_card.name", &card.card().name, MAX_NAME)?;
    Ok(card)
}

/// Says where an agent is that gives one address.
///
/// What whoever started it mapped to this host stays, and the agent's own word is its address
/// among agents (MD-01, M-07). So is a host name without a dot, which means nothing elsewhere.
fn addresses(agent: Option<&Agent>, url: &str) -> Addresses {
    let given = agent.filter(|agent| agent.origin != Origin::Registration);
    let public = agent.and_then(|agent| agent.addresses.public.as_ref());
    let mapped = public.filter(|public| host(public) == "127.0.0.1" && ***public != *url);
    let is_bare = !host(url).contains(['.', '[']) && host(url) != "localhost";
    let url = Some(url.into());
    if let Some(mapped) = mapped {
        Addresses { public: Some(mapped.clone()), internal: url, card: None }
    } else if is_bare {
        let public = given.and_then(|agent| agent.addresses.public.clone());
        Addresses { public, internal: url, card: None }
    } else {
        Addresses { public: url, internal: None, card: None }
    }
}

/// Returns the host of a URL, roughly: what may be called is the guard's to say.
fn host(url: &str) -> &str {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let place = authority.rsplit_once('@').map_or(authority, |(_, place)| place);
    if place.starts_with('[') {
        return place.split_inclusive(']').next().unwrap_or_default();
    }
    place.split(':').next().unwrap_or_default()
}

#[derive(Debug, Deserialize)]
struct About {
    workspace_id: String,
}

/// What an agent is told when it says how it is.
#[derive(Debug, Serialize)]
pub(super) struct Heard {
    status: &'static str,
    /// Pair tokens older than this are no longer good.
    min_epoch: u64,
}

pub(super) async fn heartbeat(
    State(hub): State<Hub>,
    caller: Result<Caller, Refused>,
    body: Result<Body<Raw>, Refused>,
) -> Result<Json<Heard>, Refused> {
    let heard = async { beat(&hub, &caller?.0, &body?.0).await }.await;
    hub.metrics.heartbeat(match &heard {
        Ok(_) => Heartbeat::Accepted,
        Err(Refused(problem)) => match problem.status.as_u16() {
            404 | 410 => Heartbeat::Unknown,
            _ => Heartbeat::Refused,
        },
    });
    heard.map(Json)
}

async fn beat(hub: &Hub, who: &Who, body: &Raw) -> Result<Heard, Refused> {
    let body = body.as_str().as_bytes();
    let About { workspace_id } = body::read(body)?;
    let beat: Beat = body::read(body)?;
    let id = match &who.role {
        Role::Agent(id) if id.as_str() == workspace_id => id.clone(),
        Role::Administrator => find(hub, who, &workspace_id)?.id.clone(),
        // Others only speak for themselves, so nothing is said of who else is there.
        _ => uuid("workspace_id", &workspace_id)?,
    };
    who.itself_or_administrator(&id)?;
    let heard = hub.directory.heartbeat(&id, beat).await?;
    Ok(Heard { status: "ok", min_epoch: heard.min_epoch })
}

/// An agent that can do other things than before (MD-10).
#[derive(Debug, Deserialize)]
pub(super) struct UpdateCard {
    workspace_id: String,
    agent_card: Raw,
}

#[derive(Debug, Serialize)]
pub(super) struct Done {
    status: &'static str,
}

impl Done {
    pub(super) const fn new(status: &'static str) -> Json<Self> {
        Json(Self { status })
    }
}

pub(super) async fn update_card(
    State(hub): State<Hub>,
    Caller(who): Caller,
    Body(update): Body<UpdateCard>,
) -> Result<Json<Done>, Refused> {
    let agent = visible(&hub, &who, &update.workspace_id)?;
    who.itself_or_administrator(&agent.id)?;
    let card = card(&update.agent_card)?;
    let is_in_force =
        hub.directory.update_card(&who.organisation, &agent.id, &card, &who.actor()).await?;
    Ok(Done::new(if is_in_force { "updated" } else { "held" }))
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Search {
    q: String,
}

pub(super) async fn peers(
    State(hub): State<Hub>,
    Caller(who): Caller,
    Path(id): Path<String>,
    Params(Search { q }): Params<Search>,
) -> Result<Json<Vec<Peer>>, Refused> {
    let agent = visible(&hub, &who, &id)?;
    itself_or_overseer(&who, &agent.id)?;
    let peers = hub.directory.peers(&agent.id)?;
    let wanted = q.to_lowercase();
    let peers = peers.iter().filter(|peer| says(peer, &wanted));
    let peers = peers.map(|peer| Peer::new(&hub.directory, peer, network(&who)));
    Ok(Json(peers.collect()))
}

/// A peer without a role is a peer like any other (MG-13).
fn says(agent: &Agent, wanted: &str) -> bool {
    let texts = [agent.name.as_str(), agent.title(), agent.role.as_deref().unwrap_or_default()];
    texts.iter().any(|text| text.to_lowercase().contains(wanted))
}

/// Who would call whom (MD-12).
#[derive(Debug, Deserialize)]
pub(super) struct CheckAccess {
    caller_id: String,
    target_id: String,
}

#[derive(Debug, Serialize)]
pub(super) struct Access {
    allowed: bool,
}

pub(super) async fn check_access(
    State(hub): State<Hub>,
    Caller(who): Caller,
    Body(pair): Body<CheckAccess>,
) -> Result<Json<Access>, Refused> {
    who.somebody()?;
    let caller = known(&hub, &who, "caller_id", &pair.caller_id)?;
    let target = known(&hub, &who, "target_id", &pair.target_id)?;
    // Who may call others is for the two of them, and for those who may see everything.
    let is_one = matches!(&who.role, Role::Agent(id) if *id == caller || *id == target);
    if !is_one {
        who.overseer()
            .map_err(|_| Problem::forbidden("an agent may only ask about its own calls"))?;
    }
    let asker = Asker::Agent { id: &caller, organisation: &who.organisation };
    let decision = hub.directory.decide(&Question::new(asker, &target));
    hub.metrics.decision(decision.is_allowed(), decision.reason().code());
    Ok(Json(Access { allowed: decision.is_allowed() }))
}

/// Returns the id of an agent that may not be there, which then may nothing.
fn known(hub: &Hub, who: &Who, field: &str, text: &str) -> Result<AgentId, Refused> {
    match find(hub, who, text) {
        Ok(agent) => Ok(agent.id.clone()),
        Err(_) => uuid(field, text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_host_of_a_url_is_found() {
        let check = |url, expected| assert_eq!(host(url), expected, "{url}");
        check("http://ws-1:8000/", "ws-1");
        check("http://127.0.0.1:4711", "127.0.0.1");
        check("http://127.0.0.1.evil.example/", "127.0.0.1.evil.example");
        check("http://127.0.0.1@evil.example:1/", "evil.example");
        check("https://[::1]:8000/a", "[::1]");
        check("https://agent.example?x=1", "agent.example");
        check("nothing", "nothing");
    }

    #[test]
    fn a_bare_host_is_an_address_among_agents() {
        let found = addresses(None, "http://ws-1:8000");
        assert_eq!((found.public, found.internal.as_deref()), (None, Some("http://ws-1:8000")));
        let found = addresses(None, "https://agent.example");
        assert_eq!(
            (found.public.as_deref(), found.internal),
            (Some("https://agent.example"), None)
        );
    }
}
