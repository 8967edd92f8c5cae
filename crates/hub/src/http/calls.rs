//! Calls to agents: `/agents/{name}` on every binding, gRPC at the root.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
};

use axum::{
    body::Body,
    extract::{Path, Request, State},
    response::Response,
};
use nuncio_auth::{
    Identity,
    rules::{Grant, Operations, Skills},
};
use nuncio_net::listen::Drain;
use nuncio_protocol::{
    card::sign::Signer,
    ids::{AgentId, Tenant},
    operation::Operation,
};
use nuncio_server::{Capacity, CardReaders, Endpoint, StreamLimits, Tenants};

use super::{
    problem::Problem,
    who::{Role, Who},
};
use crate::{
    agent::Agent,
    error::Error,
    gateway::{
        Gateway,
        card::{Frame, through},
    },
    hub::{Hub, Settings},
};

/// The segments of a path before what belongs to the agent.
const PREFIX: usize = 2;

/// What answers calls to agents, made when they are first called and anew when they change.
#[derive(Debug)]
pub(crate) struct Endpoints {
    gateway: Gateway,
    capacity: Capacity,
    signer: Option<Signer>,
    /// For gRPC, which has no paths: callers name the agent as a tenant.
    shared: Option<Endpoint>,
    made: Mutex<HashMap<AgentId, Made>>,
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
        let shared = Endpoint::builder("hub", gateway.observed(), capacity.clone())
            .tenants(Tenants::Named)
            .body_limits(settings.call_bodies)
            .build();
        // Only cards can fail, and it has none.
        let shared = shared.ok();
        Self { gateway, capacity, signer, shared, made: Mutex::default() }
    }

    /// Closes the connections of those who do not read. Never returns.
    pub(crate) async fn watch(&self) {
        self.capacity.watch().await;
    }

    /// Returns what answers for an agent.
    fn of(&self, hub: &Hub, agent: &Arc<Agent>) -> Result<Endpoint, Problem> {
        let mut made = self.made.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(Made { record, endpoint }) = made.get(&agent.id) {
            let is_same = Arc::ptr_eq(record, agent)
                || (record.card == agent.card && record.name == agent.name);
            if is_same {
                return Ok(endpoint.clone());
            }
        }
        let endpoint = self.make(hub, agent).map_err(|error| {
            tracing::warn!(agent = %agent.id, %error, "an agent's card cannot be shown");
            Problem::from(Error::invalid("card", error.to_string()))
        })?;
        made.retain(|id, _| hub.directory.state().agent(id).is_some());
        let record = Arc::clone(agent);
        made.insert(agent.id.clone(), Made { record, endpoint: endpoint.clone() });
        Ok(endpoint)
    }

    fn make(&self, hub: &Hub, agent: &Agent) -> Result<Endpoint, nuncio_server::Error> {
        let settings = &hub.settings;
        let frame = Frame {
            public_url: &settings.public_url,
            gatekeeper: &hub.gatekeeper,
            signer: self.signer.as_ref(),
        };
        let card = through(agent, &frame)?;
        let tenant = Tenant::parse(agent.name.as_str())
            .map_err(|error| nuncio_server::Error::Settings(error.to_string()))?;
        let service = self.gateway.observed();
        Endpoint::builder(agent.name.as_str(), service, self.capacity.clone())
            .url(format!("{}/agents/{}", settings.public_url, agent.name))
            .card(card, agent.updated)
            .card_readers(CardReaders::Admitted)
            .tenants(Tenants::Fixed(tenant))
            .body_limits(settings.call_bodies)
            .build()
    }
}

/// Carries a call to the agent that the path names.
pub(super) async fn call(
    State(hub): State<Hub>,
    who: Who,
    Path(path): Path<HashMap<String, String>>,
    mut request: Request,
) -> Result<Response, Problem> {
    who.somebody()?;
    let endpoints = hub.endpoints.as_ref().ok_or_else(Problem::not_found)?;
    let name = path.get("agent").map(String::as_str).unwrap_or_default();
    let agent = hub.directory.visible(who.asker(), name)?;
    let endpoint = endpoints.of(&hub, &agent)?;
    request.extensions_mut().insert(identity(&who));
    Ok(endpoint.answer_below(PREFIX, request).await.map(Body::new))
}

/// Carries a gRPC call to the agent that it names as its tenant.
pub(super) async fn grpc(
    State(hub): State<Hub>,
    who: Who,
    mut request: Request,
) -> Result<Response, Problem> {
    who.somebody()?;
    let endpoints = hub.endpoints.as_ref().ok_or_else(Problem::not_found)?;
    request.extensions_mut().insert(identity(&who));
    let shared = endpoints.shared.as_ref().ok_or_else(Problem::not_found)?;
    Ok(shared.answer(request).await.map(Body::new))
}

/// Returns who calls, as the gateway knows them.
fn identity(who: &Who) -> Arc<Identity> {
    let mut identity = who.identity.clone();
    identity.organisation = Some(who.organisation.as_str().into());
    if who.role == Role::Viewer {
        // Whoever may only look may look at tasks, too.
        let looks = [Operation::GetTask, Operation::ListTasks, Operation::SubscribeToTask];
        let operations: Operations = looks.into_iter().collect();
        identity.grant = Grant { operations, skills: Skills::Any };
    }
    Arc::new(identity)
}
