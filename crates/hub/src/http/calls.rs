//! Calls to agents: `/agents/{name}` on every binding, gRPC at the root.

use std::{
    collections::BTreeSet,
    sync::{Arc, Mutex, OnceLock, PoisonError},
    time::Duration,
};

use axum::{
    body::Body,
    extract::{Request, State},
    response::{IntoResponse as _, Response},
};
use bytes::Bytes;
use foldhash::HashMap;
use http::{StatusCode, Uri, header::WWW_AUTHENTICATE, request::Parts};
use nuncio_auth::{
    Gatekeeper, Identity, Method,
    rules::{Grant, Operations, Skills},
};
use nuncio_net::listen::Drain;
use nuncio_protocol::{
    card::sign::Signer,
    error::{Error as A2aError, ErrorKind},
    http::segments,
    ids::{AgentId, Organisation, Tenant},
    operation::{Operation, Request as A2aRequest},
    service::{Answered, CallContext, Caller},
    time::Timestamp,
    version::Version,
};
use nuncio_server::{
    Capacity, CardReaders, Endpoint, StreamLimits, Tenants,
    dialects::{Dialects, Molecule},
};

use super::{
    problem::Problem,
    who::{Role, Who},
};
use crate::{
    agent::Agent,
    directory::Directory,
    error::Error,
    gateway::{
        Gateway,
        capability::SIGN,
        card::{Frame, of_all, through},
    },
    hub::{Hub, Settings},
};

/// The segments of a path before what belongs to the agent.
const PREFIX: usize = 2;

/// What stands in the paths of cards.
const WELL_KNOWN: &str = "/.well-known/";

/// What answers calls to agents, made when they are first called and anew when they change.
#[derive(Debug)]
pub(crate) struct Endpoints {
    pub(super) gateway: Gateway,
    pub(crate) capacity: Capacity,
    signer: Option<Signer>,
    /// For gRPC, which has no paths: callers name the agent as a tenant.
    shared: OnceLock<Option<Endpoint>>,
    /// For the hub's own agent.
    pub(super) own: Option<Endpoint>,
    /// By the agent, and the skills that a caller may not use.
    made: Mutex<HashMap<(AgentId, BTreeSet<String>), Made>>,
}

#[derive(Debug)]
struct Made {
    record: Arc<Agent>,
    endpoint: Endpoint,
}

impl Endpoints {
    pub(crate) fn new(
        gateway: Gateway,
        settings: &Settings,
        signer: Option<Signer>,
        drain: Drain,
    ) -> Self {
        let mut streams = StreamLimits::default();
        streams.open_per_caller = settings.limits.streams;
        let capacity = Capacity::new(settings.calls, streams, drain);
        let own = Self::make_own(gateway.service(), &capacity, settings.call_bodies);
        let shared = OnceLock::new();
        Self { gateway, capacity, signer, shared, own, made: Mutex::default() }
    }

    /// Closes the connections of those who do not read. Never returns.
    pub(crate) async fn watch(&self) {
        self.capacity.watch().await;
    }

    /// Returns what answers for whichever agent a call names.
    fn shared(&self, hub: &Hub) -> Result<&Endpoint, Problem> {
        let shared = self.shared.get_or_init(|| {
            let known = Known::of(hub);
            let shared = Endpoint::builder("hub", self.gateway.service(), self.capacity.clone())
                .tenants(Tenants::Named)
                .extensions(move |ctx| known.extensions(ctx).unwrap_or_default())
                .body_limits(hub.settings.call_bodies)
                .build();
            // Only cards can fail, and it has none.
            shared.ok()
        });
        shared.as_ref().ok_or_else(Problem::not_found)
    }

    /// Refuses a call as an agent itself would: whoever calls one reads A2A, not our API.
    fn refuse(&self, hub: &Hub, segments: usize, request: Request, problem: Problem) -> Response {
        let Ok(shared) = self.shared(hub) else { return problem.into_response() };
        let mut response = shared.refuse_below(segments, request, &error_of(&problem));
        if let Some(challenge) = problem.challenge {
            response.headers_mut().insert(WWW_AUTHENTICATE, *challenge);
        }
        response.map(Body::new)
    }

    /// Returns what answers for an agent.
    fn of(&self, hub: &Hub, agent: &Arc<Agent>) -> Result<Endpoint, Problem> {
        self.without(hub, agent, BTreeSet::new())
    }

    /// Returns what shows the card of an agent without some of its skills.
    fn without(
        &self,
        hub: &Hub,
        agent: &Arc<Agent>,
        skills: BTreeSet<String>,
    ) -> Result<Endpoint, Problem> {
        let key = (agent.id.clone(), skills);
        let mut made = self.made.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(Made { record, endpoint }) = made.get(&key) {
            let is_same = Arc::ptr_eq(record, agent)
                || (record.card == agent.card && record.name == agent.name);
            if is_same {
                return Ok(endpoint.clone());
            }
        }
        let endpoint = self.make(hub, agent, &key.1).map_err(|error| {
            tracing::warn!(agent = %agent.id, %error, "an agent's card cannot be shown");
            Problem::from(Error::invalid("card", error.to_string()))
        })?;
        made.retain(|(id, _), _| hub.directory.state().agent(id).is_some());
        let record = Arc::clone(agent);
        made.insert(key, Made { record, endpoint: endpoint.clone() });
        Ok(endpoint)
    }

    /// Returns what answers for whom a caller names: an agent, or whoever can do something.
    pub(super) fn named(&self, hub: &Hub, who: &Who, name: &str) -> Result<Endpoint, Problem> {
        match name.strip_prefix(SIGN) {
            Some(capability) => self.by_capability(hub, who, capability),
            None => self.of(hub, &hub.directory.callee(who.asker(), name)?),
        }
    }

    /// Returns what shows the card of whom a caller names, with the skills that it may use.
    fn shown(&self, hub: &Hub, who: &Who, name: &str) -> Result<Endpoint, Problem> {
        if name.starts_with(SIGN) {
            return self.named(hub, who, name);
        }
        let agent = hub.directory.callee(who.asker(), name)?;
        let skills = agent.card.iter().flat_map(|card| &card.card().skills);
        let hidden = skills.filter(|skill| !who.may_use(hub, &agent.id, &skill.id));
        let hidden = hidden.map(|skill| skill.id.clone()).collect();
        self.without(hub, &agent, hidden)
    }

    /// Returns what answers for whoever can do something.
    fn by_capability(&self, hub: &Hub, who: &Who, capability: &str) -> Result<Endpoint, Problem> {
        let ranking = self.gateway.rank(who.asker(), capability);
        let mut offering = ranking.allowed().peekable();
        if offering.peek().is_none() {
            return Err(Problem::from(Error::Unknown { what: "capability" }));
        }
        let settings = &hub.settings;
        let unfit = |error: &dyn std::fmt::Display| {
            Problem::from(Error::invalid("capability", error.to_string()))
        };
        let name = format!("{SIGN}{capability}");
        let tenant = Tenant::parse(&name).map_err(|error| unfit(&error))?;
        let may_use = |agent: &Agent, skill: &str| who.may_use(hub, &agent.id, skill);
        let card = of_all(capability, offering, may_use, &self.frame(hub));
        let card = card.map_err(|error| unfit(&error))?;
        Endpoint::builder(capability, self.gateway.service(), self.capacity.clone())
            .url(format!("{}/agents/{name}", settings.public_url))
            .card(card, Timestamp::now())
            .card_readers(CardReaders::Admitted)
            .tenants(Tenants::Fixed(tenant))
            .body_limits(settings.call_bodies)
            .build()
            .map_err(|error| unfit(&error))
    }

    pub(super) fn frame<'a>(&'a self, hub: &'a Hub) -> Frame<'a> {
        Frame {
            public_url: &hub.settings.public_url,
            gatekeeper: &hub.gatekeeper,
            signer: self.signer.as_ref(),
        }
    }

    /// Returns what answers streams for an agent in molecule's form.
    fn molecule(&self, hub: &Hub, agent: &Agent) -> Result<Endpoint, nuncio_server::Error> {
        Endpoint::builder(agent.name.as_str(), self.gateway.service(), self.capacity.clone())
            .dialects(Dialects::none().molecule(Molecule::default()))
            .tenants(Tenants::Fixed(tenant(agent)?))
            .body_limits(hub.settings.call_bodies)
            .build()
    }

    fn make(
        &self,
        hub: &Hub,
        agent: &Agent,
        hidden: &BTreeSet<String>,
    ) -> Result<Endpoint, nuncio_server::Error> {
        let settings = &hub.settings;
        let card = through(agent, hidden, &self.frame(hub))?;
        let tenant = tenant(agent)?;
        let service = self.gateway.service();
        Endpoint::builder(agent.name.as_str(), service, self.capacity.clone())
            .url(format!("{}/agents/{}", settings.public_url, agent.name))
            .card(card, agent.updated)
            .card_readers(CardReaders::Admitted)
            .tenants(Tenants::Fixed(tenant))
            .body_limits(settings.call_bodies)
            .build()
    }
}

/// An agent that is called by a path which reads requests itself. The caller is judged, counted
/// and limited as on every other.
pub(super) struct Callee {
    endpoint: Endpoint,
    head: Parts,
}

impl Callee {
    /// Calls as whoever sends the request.
    pub(super) fn new(
        hub: &Hub,
        who: &Who,
        agent: &Arc<Agent>,
        head: Parts,
    ) -> Result<Self, Problem> {
        Self::as_identity(hub, identity(who), agent, head)
    }

    /// Calls for an agent, as an administrator may.
    pub(super) fn on_behalf_of(
        hub: &Hub,
        caller: &Agent,
        agent: &Arc<Agent>,
        head: Parts,
    ) -> Result<Self, Problem> {
        let name = Caller::Agent(caller.id.as_str().into());
        let mut identity = Identity::new(name, Method::Open);
        identity.organisation = Some(caller.organisation.as_str().into());
        Self::as_identity(hub, Arc::new(identity), agent, head)
    }

    fn as_identity(
        hub: &Hub,
        identity: Arc<Identity>,
        agent: &Arc<Agent>,
        mut head: Parts,
    ) -> Result<Self, Problem> {
        let endpoints = hub.endpoints.as_ref().ok_or_else(Problem::not_found)?;
        let endpoint = endpoints.of(hub, agent)?;
        head.extensions.insert(identity);
        Ok(Self { endpoint, head })
    }

    /// Makes a call. What the head says about it may be changed before.
    pub(super) async fn call(
        &self,
        request: A2aRequest,
        change: impl FnOnce(&mut CallContext),
    ) -> Result<Answered, A2aError> {
        let mut ctx = self.endpoint.context(&self.head, Version::V0_3)?;
        change(&mut ctx);
        self.endpoint.call(&self.head, ctx, request).await
    }

    /// Answers a request in molecule's form, whatever it asks for.
    pub(super) async fn answer_molecule(
        self,
        hub: &Hub,
        agent: &Agent,
        body: Bytes,
    ) -> Result<Response, Problem> {
        let endpoints = hub.endpoints.as_ref().ok_or_else(Problem::not_found)?;
        let endpoint = endpoints.molecule(hub, agent);
        let endpoint = endpoint.map_err(|error| Error::invalid("workspace", error.to_string()))?;
        let mut request = Request::from_parts(self.head, Body::from(body));
        *request.uri_mut() = Uri::from_static("/");
        Ok(endpoint.answer(request).await.map(Body::new))
    }
}

fn tenant(agent: &Agent) -> Result<Tenant, nuncio_server::Error> {
    Tenant::parse(agent.name.as_str())
        .map_err(|error| nuncio_server::Error::Settings(error.to_string()))
}

/// Carries a call to the agent that the path names.
pub(super) async fn call(
    State(hub): State<Hub>,
    who: Result<Who, Problem>,
    mut request: Request,
) -> Result<Response, Problem> {
    let endpoints = hub.endpoints.as_ref().ok_or_else(Problem::not_found)?;
    let found = who.and_then(|who| {
        who.somebody()?;
        let path = request.uri().path();
        let name = named_in(path);
        let endpoint = if path.contains(WELL_KNOWN) {
            endpoints.shown(&hub, &who, &name)?
        } else {
            endpoints.named(&hub, &who, &name)?
        };
        Ok((who, endpoint))
    });
    match found {
        Ok((who, endpoint)) => {
            request.extensions_mut().insert(identity(&who));
            Ok(endpoint.answer_below(PREFIX, request).await.map(Body::new))
        }
        Err(problem) => Ok(endpoints.refuse(&hub, PREFIX, request, problem)),
    }
}

/// Carries a gRPC call to the agent that it names as its tenant.
pub(super) async fn grpc(
    State(hub): State<Hub>,
    who: Result<Who, Problem>,
    mut request: Request,
) -> Result<Response, Problem> {
    let endpoints = hub.endpoints.as_ref().ok_or_else(Problem::not_found)?;
    let who = match who {
        Ok(who) => who,
        Err(problem) => return Ok(endpoints.refuse(&hub, 0, request, problem)),
    };
    if let Err(problem) = who.somebody() {
        // Over gRPC the status of HTTP does not say it, by which others are noted.
        let subject = format!("{} {}", request.method(), request.uri().path());
        let line = ("request.deny", subject.as_str(), "");
        hub.trail.refused(&who.actor(), Some(&who.organisation), line);
        return Ok(endpoints.refuse(&hub, 0, request, problem));
    }
    request.extensions_mut().insert(identity(&who));
    Ok(endpoints.shared(&hub)?.answer(request).await.map(Body::new))
}

/// Returns the agent that a path names. The rest of the path is for its endpoint to read.
fn named_in(path: &str) -> String {
    let name = path.split('/').nth(PREFIX).unwrap_or_default();
    segments(name).map(|parts| parts.concat()).unwrap_or_default()
}

/// Says in words of A2A why the hub does not let a call through.
fn error_of(problem: &Problem) -> A2aError {
    let kind = match problem.status {
        StatusCode::UNAUTHORIZED => ErrorKind::Unauthenticated,
        StatusCode::FORBIDDEN => ErrorKind::PermissionDenied,
        StatusCode::NOT_FOUND | StatusCode::GONE => ErrorKind::MethodNotFound,
        StatusCode::TOO_MANY_REQUESTS => ErrorKind::RateLimited,
        StatusCode::SERVICE_UNAVAILABLE => ErrorKind::Unavailable,
        status if status.is_client_error() => ErrorKind::InvalidRequest,
        _ => ErrorKind::Internal,
    };
    let error = A2aError::new(kind, problem.detail.clone());
    match problem.retry_after {
        Some(seconds) => error.with_retry_after(Duration::from_secs(seconds)),
        None => error,
    }
}

/// Knows the cards of all agents, as far as it takes to say which extensions are on them.
struct Known {
    directory: Directory,
    organisation: Organisation,
    public_url: String,
    gatekeeper: Gatekeeper,
}

impl Known {
    fn of(hub: &Hub) -> Self {
        Self {
            directory: hub.directory.clone(),
            organisation: hub.settings.organisation.clone(),
            public_url: hub.settings.public_url.clone(),
            gatekeeper: hub.gatekeeper.clone(),
        }
    }

    /// Returns the extensions on the card of whomever a call names, as it is shown here.
    fn extensions(&self, ctx: &CallContext) -> Option<BTreeSet<String>> {
        // What is not shown need not be signed.
        let Self { public_url, gatekeeper, .. } = self;
        let frame = Frame { public_url, gatekeeper, signer: None };
        let name = ctx.tenant.as_ref()?.as_str();
        let card = if let Some(capability) = name.strip_prefix(SIGN) {
            of_all(capability, [], |_, _| true, &frame)
        } else {
            let named = ctx.organisation.as_deref().map(Organisation::parse);
            let organisation = named.transpose().ok()?;
            let organisation = organisation.as_ref().unwrap_or(&self.organisation);
            through(self.directory.state().callee(organisation, name)?, &BTreeSet::new(), &frame)
        };
        let extensions = card.ok()?.capabilities.extensions;
        Some(extensions.into_iter().map(|extension| extension.uri).collect())
    }
}

/// Returns who calls, as the gateway knows them.
pub(super) fn identity(who: &Who) -> Arc<Identity> {
    let mut identity = Arc::clone(&who.identity);
    // One that a credential names is the same.
    if identity.organisation.is_none() {
        Arc::make_mut(&mut identity).organisation = Some(who.organisation.as_str().into());
    }
    if who.role == Role::Viewer {
        // Whoever may only look may look at tasks, too.
        let looks = [Operation::GetTask, Operation::ListTasks, Operation::SubscribeToTask];
        let operations: Operations = looks.into_iter().collect();
        Arc::make_mut(&mut identity).grant = Grant { operations, skills: Skills::Any };
    }
    identity
}
