//! Who sends a request. Without a credential there is nobody, and nothing to be had.

use std::{net::SocketAddr, sync::Arc};

use axum::extract::{FromRequestParts, MatchedPath};
use http::{
    HeaderName,
    header::{AUTHORIZATION, COOKIE},
    request::Parts,
};
use nuncio_auth::{
    ApiKey, Certificate, Identity, KeyRecord, Method, Presented, Refusal, Why,
    rules::{Asker, Question},
};
use nuncio_net::listen::Peer;
use nuncio_protocol::{
    ids::{AgentId, Organisation},
    service::Caller,
    time::Timestamp,
};

use tokio::time::Instant;

use super::{front::Tab, problem::Problem};
use crate::{
    directory::{ADMIN, Actor, Enrolment, READ},
    hub::Hub,
    limits::{Bucket, address_name},
    session::{Session, SessionId},
};

/// The cookie of a browser that was let in.
pub(crate) const COOKIE_NAME: &str = "nuncio_session";

/// Where keys stand that are not in `Authorization`.
const KEY_HEADER: HeaderName = HeaderName::from_static("x-api-key");

/// Somebody who has proved who they are.
#[derive(Clone, Debug)]
pub(crate) struct Who {
    pub(crate) identity: Arc<Identity>,
    pub(crate) organisation: Organisation,
    pub(crate) role: Role,
    /// The browser that it is, if it came in by a link.
    pub(crate) session: Option<SessionId>,
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
        let found = Self::find(head, hub).await;
        count(head, hub, &found)?;
        let who = found?;
        head.extensions.insert(who.clone());
        Ok(who)
    }
}

/// Counts a request for whoever sent it, and refuses one that is too many.
fn count(head: &Parts, hub: &Hub, found: &Result<Who, Problem>) -> Result<(), Problem> {
    let is_beat = || {
        let route = head.extensions.get::<MatchedPath>();
        route.is_some_and(|route| route.as_str().ends_with("/heartbeat"))
    };
    let (bucket, name) = match found {
        // Whoever sits at an open hub has it for themselves.
        Ok(who) if who.identity.caller == Caller::Anonymous => return Ok(()),
        Ok(who) if is_beat() => (Bucket::Heartbeats, who.meter_name()),
        Ok(who) => (Bucket::Requests, who.meter_name()),
        Err(_) => (Bucket::Strangers, address_name(address(head).ip())),
    };
    let level = hub.meter.take(bucket, &name, Instant::now());
    if let Some(tab) = head.extensions.get::<Tab>() {
        tab.note(level, found.as_ref().ok());
    }
    match level.wait {
        Some(wait) => {
            hub.metrics.rate_limited(bucket.as_str());
            Err(Problem::too_many(wait))
        }
        None => Ok(()),
    }
}

/// Counts a request of somebody who has not proved anything.
pub(crate) fn count_stranger(head: &Parts, hub: &Hub) -> Result<(), Problem> {
    let name = address_name(address(head).ip());
    match hub.meter.take(Bucket::Strangers, &name, Instant::now()).wait {
        Some(wait) => {
            hub.metrics.rate_limited(Bucket::Strangers.as_str());
            Err(Problem::too_many(wait))
        }
        None => Ok(()),
    }
}

fn address(head: &Parts) -> SocketAddr {
    // Nobody is at this address: whoever comes without a connection is a stranger.
    let nowhere = || SocketAddr::from(([0, 0, 0, 0], 0));
    head.extensions.get::<Peer>().map_or_else(nowhere, Peer::address)
}

impl Who {
    pub(crate) async fn find(head: &Parts, hub: &Hub) -> Result<Self, Problem> {
        if let Some(who) = Self::browser(head, hub)? {
            return Ok(who);
        }
        let peer = head.extensions.get::<Peer>();
        let presented = Presented {
            headers: &head.headers,
            query: head.uri.query(),
            address: address(head),
            certificate: peer.and_then(Peer::certificate).map(Certificate::from),
        };
        let admitted = hub.gatekeeper.admit(presented).await;
        if let Err(Refusal::Invalid { why }) = admitted {
            note_refusal(head, hub, why);
        }
        let identity = admitted?;
        if let Some(key) = &identity.key {
            hub.directory.note_use(key.id());
        }
        Self::of(identity, hub)
    }

    /// A browser shows its cookie, and then nothing else.
    fn browser(head: &Parts, hub: &Hub) -> Result<Option<Self>, Refusal> {
        let Some(secret) = cookie(head) else { return Ok(None) };
        if [AUTHORIZATION, KEY_HEADER].iter().any(|name| head.headers.contains_key(name)) {
            return Err(Refusal::Several);
        }
        let found = hub.sessions.find(secret);
        Ok(found.and_then(|(id, session)| Self::within(id, session, hub)))
    }

    /// A browser is let in for as long as the key is by which it came.
    fn within(id: SessionId, Session { login, key }: Session, hub: &Hub) -> Option<Self> {
        let state = hub.directory.state();
        let key = match key {
            Some(id) => Some(state.key(&id).filter(|key| is_good(key))?.clone()),
            None => None,
        };
        let mut identity = Identity::new(Caller::User(login.name.into()), Method::Open);
        identity.expires = key.as_ref().and_then(|key| key.expires());
        identity.key = key;
        let role = if login.is_administrator { Role::Administrator } else { Role::Viewer };
        let organisation = login.organisation;
        Some(Self { identity: Arc::new(identity), organisation, role, session: Some(id) })
    }

    fn of(mut identity: Identity, hub: &Hub) -> Result<Self, Problem> {
        let organisation = match &identity.organisation {
            Some(name) => Organisation::parse(name)
                .map_err(|_| Problem::forbidden("the credential names no organisation"))?,
            None => hub.settings.organisation.clone(),
        };
        // Only keys are ours: what an issuer elsewhere calls `admin` is a word of its own.
        let scopes = identity.key.as_deref().map(KeyRecord::scopes);
        let has = |scope| scopes.is_some_and(|all| all.iter().any(|found| found == scope));
        let role = match &identity.caller {
            Caller::Anonymous if hub.settings.is_open => Role::Administrator,
            Caller::Anonymous => return Err(Refusal::Missing.into()),
            _ if identity.key.as_deref().is_some_and(|key| Enrolment::of(key).is_some()) => {
                let enrolment = identity.key.as_deref().and_then(Enrolment::of);
                Role::Newcomer(enrolment.unwrap_or_default())
            }
            Caller::Agent(text) => {
                let id = known(hub, &organisation, text)?;
                if **text != *id.as_str() {
                    identity.caller = Caller::Agent(id.as_str().into());
                }
                Role::Agent(id)
            }
            _ if has(ADMIN) => Role::Administrator,
            _ if has(READ) => Role::Viewer,
            _ => Role::Person,
        };
        Ok(Self { identity: Arc::new(identity), organisation, role, session: None })
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

    /// Returns for whom requests are counted.
    pub(crate) fn meter_name(&self) -> String {
        match (&self.role, &self.identity.key) {
            // Newcomers have no name yet, only the token that lets them in.
            (Role::Newcomer(enrolment), _) => {
                format!("{}/key:{}", self.organisation, enrolment.key)
            }
            _ => [self.organisation.as_str(), "/", self.actor().as_str()].concat(),
        }
    }

    /// Tells whether they would still be let in, as far as the directory knows.
    pub(crate) fn is_let_in(&self, hub: &Hub) -> bool {
        let state = hub.directory.state();
        let key = self.identity.key.as_deref().map(|shown| state.key(shown.id()));
        let is_good = key.is_none_or(|kept| kept.is_some_and(|kept| kept.revoked().is_none()));
        let is_there = match &self.role {
            Role::Agent(id) => state.present(&self.organisation, id).is_some(),
            _ => true,
        };
        let is_in = self.session.is_none_or(|session| hub.sessions.is_open(&session));
        is_good && is_there && is_in
    }

    /// Tells whether they may see what happens to an agent, or to nobody in particular.
    pub(crate) fn sees(&self, hub: &Hub, agent: Option<&AgentId>) -> bool {
        match (&self.role, agent) {
            (Role::Administrator | Role::Viewer, _) => true,
            (_, Some(agent)) => hub.directory.sees(self.asker(), agent),
            (_, None) => false,
        }
    }

    /// Tells whether they may use a skill of an agent that they see.
    pub(crate) fn may_use(&self, hub: &Hub, agent: &AgentId, skill: &str) -> bool {
        let question = Question { skill: Some(skill), ..Question::new(self.asker(), agent) };
        let is_overseer = matches!(self.role, Role::Administrator | Role::Viewer);
        is_overseer || hub.directory.decide(&question).is_allowed()
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

/// Tells whether a key has neither been revoked nor expired.
fn is_good(key: &KeyRecord) -> bool {
    key.revoked().is_none() && key.expires().is_none_or(|expires| expires > Timestamp::now())
}

/// Notes in the audit trail that a key was refused which is known here.
fn note_refusal(head: &Parts, hub: &Hub, why: Why) {
    let header = |name: &str| head.headers.get(name).and_then(|value| value.to_str().ok());
    let bearer = header("authorization").and_then(|value| value.split_once(' '));
    let text = bearer.map(|(_, key)| key.trim()).or_else(|| header("x-api-key"));
    let Some(key) = text.and_then(|text| text.parse::<ApiKey>().ok()) else { return };
    let state = hub.directory.state();
    let Some(record) = state.key(key.id()) else { return };
    // Whoever knows the name of a key and not its secret is not its owner.
    let actor = match why {
        Why::WrongKey => Actor::caller(&Caller::Anonymous),
        _ => Actor::caller(record.caller()),
    };
    let organisation = record.organisation().and_then(|name| Organisation::parse(name).ok());
    let detail = why.to_string();
    hub.trail.refused(&actor, organisation.as_ref(), ("credential.refuse", key.id(), &detail));
}

/// Finds an agent by its id, or by its name, as issuers elsewhere call it. One that was removed
/// is nobody, whatever it shows.
fn known(hub: &Hub, organisation: &Organisation, text: &str) -> Result<AgentId, Problem> {
    let state = hub.directory.state();
    let id = AgentId::parse(text).map_err(|_| Refusal::Missing)?;
    let found = match state.agent(&id) {
        Some(_) => state.present(organisation, &id),
        None => state.find(organisation, text),
    };
    found.map(|agent| agent.id.clone()).ok_or_else(|| Refusal::Missing.into())
}

/// Returns the secret in a browser's cookie.
pub(crate) fn cookie(head: &Parts) -> Option<&str> {
    let cookies = head.headers.get_all(COOKIE).iter().filter_map(|value| value.to_str().ok());
    cookies
        .flat_map(|value| value.split(';'))
        .find_map(|pair| pair.trim().strip_prefix(COOKIE_NAME)?.strip_prefix('='))
}
