//! What every request of molecule's brings along: who asks, about whom, and a body.

use std::sync::Arc;

use axum::extract::{FromRequest, FromRequestParts, Query, Request};
use http::{StatusCode, header::AUTHORIZATION, request::Parts};
use nuncio_auth::ApiKey;
use nuncio_protocol::{ids::AgentId, service};
use serde::de::DeserializeOwned;

use super::refused::Refused;
use crate::{
    agent::{Agent, Status},
    error::Error,
    http::{body, facade::claim, problem::Problem, who::Who},
    hub::Hub,
};

/// In which an agent says who it is.
pub(super) const WORKSPACE_ID: &str = "x-workspace-id";

/// Somebody who has proved who they are, and claims to be nobody else.
pub(super) struct Caller(pub(super) Who);

impl FromRequestParts<Hub> for Caller {
    type Rejection = Refused;

    async fn from_request_parts(head: &mut Parts, hub: &Hub) -> Result<Self, Refused> {
        let who = match Who::from_request_parts(head, hub).await {
            Ok(who) => who,
            Err(problem) if problem.status == StatusCode::UNAUTHORIZED => {
                let agent = departed(head, hub).ok_or(problem)?;
                let forwarded_to = agent.forwarded_to.clone();
                return Err(Error::Gone { agent: agent.id.clone(), forwarded_to }.into());
            }
            Err(problem) => return Err(problem.into()),
        };
        claim::check(&head.headers, WORKSPACE_ID, &who)?;
        Ok(Self(who))
    }
}

/// Returns the agent that was removed and shows a token it once had. It is told so, that it can
/// shut itself down (MD-28), and nothing else: its tokens ended with it. So their ids are all
/// that is looked at, which nobody else knows.
fn departed(head: &Parts, hub: &Hub) -> Option<Arc<Agent>> {
    let header = head.headers.get(AUTHORIZATION)?.to_str().ok()?;
    let (scheme, token) = header.split_once(' ')?;
    if !scheme.eq_ignore_ascii_case("bearer") {
        return None;
    }
    let token: ApiKey = token.trim().parse().ok()?;
    let state = hub.directory.state();
    let service::Caller::Agent(id) = state.key(token.id())?.caller() else { return None };
    let agent = state.agent(&AgentId::parse(id).ok()?)?;
    (agent.status == Status::Removed).then(|| Arc::clone(agent))
}

/// A JSON body. Members that are not known are ignored, as molecule does.
pub(super) struct Body<T>(pub(super) T);

impl<T: DeserializeOwned> FromRequest<Hub> for Body<T> {
    type Rejection = Refused;

    async fn from_request(request: Request, hub: &Hub) -> Result<Self, Refused> {
        let body::Json(value) = body::Json::from_request(request, hub).await?;
        Ok(Self(value))
    }
}

/// What stands behind the path. Members that are not known are ignored.
pub(super) struct Params<T>(pub(super) T);

impl<T: DeserializeOwned> FromRequestParts<Hub> for Params<T> {
    type Rejection = Refused;

    async fn from_request_parts(head: &mut Parts, hub: &Hub) -> Result<Self, Refused> {
        match Query::from_request_parts(head, hub).await {
            Ok(Query(value)) => Ok(Self(value)),
            Err(rejection) => Err(Problem::invalid("", rejection.body_text()).into()),
        }
    }
}

/// Reads an id as molecule writes it (MD-63).
pub(super) fn uuid(field: &str, text: &str) -> Result<AgentId, Refused> {
    let id = AgentId::parse(&text.to_ascii_lowercase()).ok().filter(|_| claim::is_uuid(text));
    id.ok_or_else(|| Refused::invalid(field, "is not a UUID"))
}

/// Finds an agent by its id. Agents that came another way may have an id or a name that is no
/// UUID, and are found by that.
pub(super) fn find(hub: &Hub, who: &Who, text: &str) -> Result<Arc<Agent>, Refused> {
    let state = hub.directory.state();
    let found = if claim::is_uuid(text) {
        // Somebody may be called as somebody else's id.
        state.present(&who.organisation, &uuid("id", text)?)
    } else {
        state.find(&who.organisation, text)
    };
    match found {
        Some(agent) => Ok(Arc::clone(agent)),
        None => uuid("id", text).and_then(|_| Err(Error::no_agent().into())),
    }
}

/// Finds an agent that somebody may know of.
pub(super) fn visible(hub: &Hub, who: &Who, text: &str) -> Result<Arc<Agent>, Refused> {
    who.somebody()?;
    let agent = find(hub, who, text)?;
    if hub.directory.sees(who.asker(), &agent.id) {
        return Ok(agent);
    }
    // As for one that is not there.
    uuid("id", text).and_then(|_| Err(Error::no_agent().into()))
}

/// Insists on the agent itself, or on somebody who may see the whole organisation.
pub(super) fn itself_or_overseer(who: &Who, agent: &AgentId) -> Result<(), Problem> {
    who.itself_or_administrator(agent).or_else(|problem| who.overseer().map_err(|_| problem))
}

/// Checks a line of text (MD-63).
pub(super) fn check_line(field: &str, text: &str, most: usize) -> Result<(), Refused> {
    if text.chars().count() > most {
        let detail = format!("has more than {most} characters");
        return Err(Refused::invalid(field, &detail));
    }
    if text.chars().any(char::is_control) {
        return Err(Refused::invalid(field, "has line breaks or control characters"));
    }
    Ok(())
}

/// Tells whether a refusal says that the caller itself was removed.
pub(super) fn is_gone(refused: &Refused) -> bool {
    refused.0.status == StatusCode::GONE
}
