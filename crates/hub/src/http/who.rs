//! Who sends a request. Without a credential there is nobody, and nothing to be had.

use std::{net::SocketAddr, sync::Arc};

use axum::extract::FromRequestParts;
use http::{header::COOKIE, request::Parts};
use nuncio_auth::{Certificate, Identity, Method, Presented, rules::Asker};
use nuncio_net::listen::Peer;
use nuncio_protocol::{
    ids::{AgentId, Organisation},
    service::Caller,
};

use super::problem::Problem;
use crate::{
    directory::{ADMIN, Actor, Enrolment, READ},
    hub::Hub,
};

/// The cookie of a browser that was let in.
pub(crate) const COOKIE_NAME: &str = "nuncio_session";

/// Somebody who has proved who they are.
#[derive(Clone, Debug)]
pub(crate) struct Who {
    pub(crate) identity: Identity,
    pub(crate) organisation: Organisation,
    pub(crate) role: Role,
}

/// What somebody is to the hub.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    /// May do everything.
    Administrator,
    /// May look at everything.
    Viewer,
    /// May call agents.
    Person,
    /// An agent of the directory.
    Agent(AgentId),
    /// A newcomer, who may register.
    Newcomer(Enrolment),
}

impl FromRequestParts<Hub> for Who {
    type Rejection = Problem;

    async fn from_request_parts(head: &mut Parts, hub: &Hub) -> Result<Self, Problem> {
        if let Some(who) = head.extensions.get::<Self>() {
            return Ok(who.clone());
        }
        let who = Self::find(head, hub).await?;
        head.extensions.insert(who.clone());
        Ok(who)
    }
}

impl Who {
    pub(crate) async fn find(head: &Parts, hub: &Hub) -> Result<Self, Problem> {
        if let Some(who) = Self::browser(head, hub) {
            return Ok(who);
        }
        let peer = head.extensions.get::<Peer>();
        // Nobody is at this address: whoever comes without a connection is a stranger.
        let address = peer.map_or_else(|| SocketAddr::from(([0, 0, 0, 0], 0)), Peer::address);
        let presented = Presented {
            headers: &head.headers,
            query: head.uri.query(),
            address,
            certificate: peer.and_then(Peer::certificate).map(Certificate::from),
        };
        let identity = hub.gatekeeper.admit(presented).await?;
        Self::of(identity, hub)
    }

    /// A browser shows its cookie, and then nothing else.
    fn browser(head: &Parts, hub: &Hub) -> Option<Self> {
        if head.headers.contains_key(http::header::AUTHORIZATION) {
            return None;
        }
        let login = hub.sessions.find(cookie(head)?)?;
        let identity = Identity::new(Caller::User(login.name.into()), Method::Open);
        let role = if login.is_administrator { Role::Administrator } else { Role::Viewer };
        Some(Self { identity, organisation: login.organisation, role })
    }

    fn of(identity: Identity, hub: &Hub) -> Result<Self, Problem> {
        let organisation = match &identity.organisation {
            Some(name) => Organisation::parse(name)
                .map_err(|_| Problem::forbidden("the credential names no organisation"))?,
            None => hub.settings.organisation.clone(),
        };
        let has = |scope: &str| identity.scopes.iter().any(|found| found == scope);
        let role = match &identity.caller {
            Caller::Anonymous if hub.settings.is_open => Role::Administrator,
            Caller::Anonymous => return Err(nuncio_auth::Refusal::Missing.into()),
            _ if identity.key.as_deref().is_some_and(|key| Enrolment::of(key).is_some()) => {
                let enrolment = identity.key.as_deref().and_then(Enrolment::of);
                Role::Newcomer(enrolment.unwrap_or_default())
            }
            Caller::Agent(id) => Role::Agent(known(hub, &organisation, id)?),
            _ if has(ADMIN) => Role::Administrator,
            _ if has(READ) => Role::Viewer,
            _ => Role::Person,
        };
        Ok(Self { identity, organisation, role })
    }

    /// Returns whom the rules are asked about.
    pub(crate) fn asker(&self) -> Asker<'_> {
        let organisation = &self.organisation;
        match &self.role {
            Role::Administrator | Role::Viewer => Asker::Administrator { organisation },
            Role::Agent(id) => Asker::Agent { id, organisation },
            Role::Person | Role::Newcomer(_) => {
                Asker::User { name: self.identity.name().unwrap_or_default(), organisation }
            }
        }
    }

    /// Returns whom the audit trail names.
    pub(crate) fn actor(&self) -> Actor {
        Actor::caller(&self.identity.caller)
    }

    /// Insists on an administrator.
    pub(crate) fn administrator(&self) -> Result<(), Problem> {
        match self.role {
            Role::Administrator => Ok(()),
            _ => Err(Problem::forbidden("only an administrator may do this")),
        }
    }

    /// Insists on somebody who may see the whole organisation.
    pub(crate) fn overseer(&self) -> Result<(), Problem> {
        match self.role {
            Role::Administrator | Role::Viewer => Ok(()),
            _ => Err(Problem::forbidden("only an administrator or a viewer may see this")),
        }
    }

    /// Insists on an administrator, or on the agent itself.
    pub(crate) fn itself_or_administrator(&self, agent: &AgentId) -> Result<(), Problem> {
        match &self.role {
            Role::Agent(id) if id == agent => Ok(()),
            _ => self.administrator(),
        }
    }

    /// Insists on somebody who is more than a newcomer.
    pub(crate) fn somebody(&self) -> Result<(), Problem> {
        match self.role {
            Role::Newcomer(_) => {
                Err(Problem::forbidden("an enrolment token only lets an agent register"))
            }
            _ => Ok(()),
        }
    }
}

/// An agent that was removed is nobody, whatever token it shows.
fn known(hub: &Hub, organisation: &Organisation, id: &Arc<str>) -> Result<AgentId, Problem> {
    let id = AgentId::parse(id).map_err(|_| nuncio_auth::Refusal::Missing)?;
    match hub.directory.state().present(organisation, &id) {
        Some(_) => Ok(id),
        None => Err(nuncio_auth::Refusal::Missing.into()),
    }
}

/// Returns the secret in a browser's cookie.
pub(crate) fn cookie(head: &Parts) -> Option<&str> {
    let cookies = head.headers.get_all(COOKIE).iter().filter_map(|value| value.to_str().ok());
    cookies
        .flat_map(|value| value.split(';'))
        .find_map(|pair| pair.trim().strip_prefix(COOKIE_NAME)?.strip_prefix('='))
}
