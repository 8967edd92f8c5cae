//! Two agents behind one router: `one` nested by the router, `two` by a handler that takes the
//! prefix off, and both by tenant at the root, where gRPC comes in.

use std::{
    collections::BTreeSet,
    net::SocketAddr,
    sync::{Arc, Mutex},
};

use axum::{Router, extract::Request, middleware, response::Response, routing::any};
use hyper_util::service::TowerToHyperService;
use nuncio_auth::{Identity, Method};
use nuncio_net::listen::{Drain, Listener};
use nuncio_protocol::{
    card::{AgentCard, AgentExtension, AgentInterface, AgentSkill, Binding as CardBinding},
    error::{Error, ErrorKind},
    ids::Tenant,
    json::Shared,
    operation::{
        CancelTaskRequest, DeleteTaskPushNotificationConfigRequest, GetExtendedAgentCardRequest,
        GetTaskPushNotificationConfigRequest, GetTaskRequest,
        ListTaskPushNotificationConfigsRequest, ListTaskPushNotificationConfigsResponse,
        ListTasksRequest, ListTasksResponse, Request as Call, SendMessageRequest,
        SubscribeToTaskRequest,
    },
    push::TaskPushNotificationConfig,
    service::{A2aService, Answer, CallContext, Caller, Events},
    task::{SendMessageResponse, Task},
    time::Timestamp,
    version::Version,
};
use nuncio_server::{
    Capacity, Endpoint, LocalAgent, StreamLimits, Tenants, endpoint::Builder as EndpointBuilder,
};
use nuncio_tasks::{engine::Tasks, memory::MemoryStore, scope::Name};
use nuncio_testkit::wire::{Binding, Http, Wire};
use tokio::task::JoinHandle;

use crate::outside::support::Script;

pub(crate) const AGENTS: [&str; 2] = ["one", "two"];

/// When the cards were last changed.
pub(crate) const MODIFIED: &str = "Fri, 14 Aug 2026 09:30:00 GMT";

/// The extension that both agents know.
pub(crate) const KNOWN: &str = "urn:test:known";

/// One service for all agents: it learns from the call which one is meant.
pub(crate) struct Switchboard {
    agents: Vec<(&'static str, LocalAgent)>,
    seen: Mutex<Vec<CallContext>>,
}

impl Switchboard {
    fn start() -> Arc<Self> {
        let name = |name| Name::parse(name).expect("a name");
        let engine = Tasks::builder(Arc::new(MemoryStore::default()));
        let engine = AGENTS.iter().fold(engine, |engine, agent| engine.agent(name(agent), Script));
        let tasks = engine.start();
        let agents = AGENTS.map(|agent| {
            let local = LocalAgent::new(tasks.clone(), name(agent), &card(agent));
            (agent, local.expect("a name"))
        });
        Arc::new(Self { agents: agents.into(), seen: Mutex::default() })
    }

    fn agent(&self, ctx: &CallContext) -> Result<&LocalAgent, Error> {
        self.seen.lock().expect("nobody panics with it").push(ctx.clone());
        let tenant = ctx.tenant.as_ref().map(Tenant::as_str);
        let found = self.agents.iter().find(|(name, _)| Some(*name) == tenant);
        found
            .map(|(_, agent)| agent)
            .ok_or_else(|| Error::new(ErrorKind::Internal, format!("no agent {tenant:?}")))
    }

    /// Returns the context of the last call.
    pub(crate) fn last(&self) -> CallContext {
        self.seen.lock().expect("nobody panics with it").last().expect("a call").clone()
    }
}

macro_rules! hand_on {
    ($($operation:ident($request:ty) -> $answer:ty;)*) => {
        impl A2aService for Switchboard {
            $(fn $operation(&self, ctx: CallContext, request: $request) -> Answer<'_, $answer> {
                Box::pin(async move { self.agent(&ctx)?.$operation(ctx, request).await })
            })*
        }
    };
}

hand_on! {
    send_message(SendMessageRequest) -> Shared<SendMessageResponse>;
    send_streaming_message(SendMessageRequest) -> Events;
    get_task(GetTaskRequest) -> Shared<Task>;
    list_tasks(ListTasksRequest) -> Shared<ListTasksResponse>;
    cancel_task(CancelTaskRequest) -> Shared<Task>;
    subscribe_to_task(SubscribeToTaskRequest) -> Events;
    create_push_config(TaskPushNotificationConfig) -> TaskPushNotificationConfig;
    get_push_config(GetTaskPushNotificationConfigRequest) -> TaskPushNotificationConfig;
    list_push_configs(ListTaskPushNotificationConfigsRequest)
        -> ListTaskPushNotificationConfigsResponse;
    delete_push_config(DeleteTaskPushNotificationConfigRequest) -> ();
    get_extended_card(GetExtendedAgentCardRequest) -> AgentCard;
}

/// The finished card of an agent, in the words of whoever puts it there.
pub(crate) fn card(agent: &str) -> AgentCard {
    let skill = AgentSkill::new(agent, agent, agent, [agent]);
    let mut card = AgentCard::builder(agent).description(agent).skill(skill).streaming().build();
    card.capabilities.extensions = vec![AgentExtension::new(KNOWN)];
    let url = format!("https://hub.example/agents/{agent}");
    card.supported_interfaces = [Version::V1_0, Version::V0_3]
        .into_iter()
        .flat_map(|version| {
            [CardBinding::JsonRpc, CardBinding::HttpJson]
                .map(|binding| AgentInterface::new(&*url, binding, version))
        })
        .collect();
    card
}

pub(crate) fn tenant(name: &str) -> Tenant {
    Tenant::parse(name).expect("a fit name")
}

/// A router that answers until this is dropped.
pub(crate) struct World {
    pub(crate) address: SocketAddr,
    pub(crate) switchboard: Arc<Switchboard>,
    pub(crate) drain: Drain,
    pub(crate) running: JoinHandle<()>,
}

impl World {
    pub(crate) async fn start() -> Self {
        Self::with(StreamLimits::default(), |endpoint| endpoint).await
    }

    /// Starts with other limits, and with the agents' endpoints changed.
    pub(crate) async fn with(
        limits: StreamLimits,
        change: impl Fn(EndpointBuilder) -> EndpointBuilder,
    ) -> Self {
        let drain = Drain::new();
        let capacity = Capacity::new(64, limits, drain.clone());
        let switchboard = Switchboard::start();
        let service: Arc<dyn A2aService> = Arc::clone(&switchboard) as _;
        let [one, two] = AGENTS.map(|agent| {
            let endpoint = Endpoint::builder(agent, Arc::clone(&service), capacity.clone())
                .card(card(agent), moment())
                .tenants(Tenants::Fixed(tenant(agent)));
            change(endpoint).build().expect("a card that can be shown")
        });
        let shared = Endpoint::builder("hub", service, capacity.clone())
            .tenants(Tenants::Named)
            .extensions(|ctx| {
                let known = ctx.tenant.as_ref().is_some_and(|tenant| tenant.as_str() == "one");
                BTreeSet::from_iter(known.then(|| KNOWN.to_owned()))
            })
            .build()
            .expect("without a card nothing is wrong with it");
        let by_handler = any(move |request: Request| {
            let two = two.clone();
            async move { two.answer_below(2, request).await }
        });
        let router = Router::new()
            .nest_service("/agents/one", one)
            .route("/agents/{name}", by_handler.clone())
            .route("/agents/{name}/", by_handler.clone())
            .route("/agents/{name}/{*rest}", by_handler)
            .nest_service("/shared", shared.clone())
            .route_service("/lf.a2a.v1.A2AService/{method}", shared.clone())
            .route_service("/a2a.v1.A2AService/{method}", shared)
            .layer(middleware::from_fn(recognise));

        let listener = Listener::bind("127.0.0.1:0".parse().expect("an address")).await;
        let listener = listener.expect("a free port");
        let address = listener.local_addr();
        let serving = listener.serve(TowerToHyperService::new(router), drain.clone());
        let running = tokio::spawn(async move {
            tokio::select! {
                () = serving => {}
                () = capacity.watch() => {}
            }
        });
        Self { address, switchboard, drain, running }
    }

    /// A client that nobody knows, below the path of an agent.
    pub(crate) fn stranger(&self, agent: &str) -> Http {
        Http::new(self.address).below(&format!("/agents/{agent}"))
    }

    pub(crate) fn ann(&self, agent: &str) -> Http {
        self.stranger(agent).with("cookie", "ann@acme")
    }

    /// Every binding and version, as Ann calls an agent.
    pub(crate) fn wires(&self, agent: &str) -> Vec<Wire> {
        Wire::all(&self.ann(agent)).into_iter().map(|wire| addressed(wire, agent)).collect()
    }
}

impl Drop for World {
    fn drop(&mut self) {
        self.running.abort();
    }
}

/// Names the agent in the metadata, where neither path nor request can.
pub(crate) fn addressed(wire: Wire, agent: &str) -> Wire {
    match (wire.binding, wire.version) {
        (Binding::Grpc, Version::V0_3) => wire.with("a2a-agent", agent),
        _ => wire,
    }
}

/// Names the agent in the request, where that is the only way.
pub(crate) fn to(wire: &Wire, agent: &str, mut request: Call) -> Call {
    if (wire.binding, wire.version) == (Binding::Grpc, Version::V1_0) {
        request.set_tenant(Some(tenant(agent)));
    }
    request
}

/// Finds out who calls, in a way that no gatekeeper knows: by a cookie `name@organisation`.
async fn recognise(mut request: Request, next: middleware::Next) -> Response {
    let cookie = request.headers().get("cookie").and_then(|value| value.to_str().ok());
    if let Some((name, organisation)) = cookie.and_then(|cookie| cookie.split_once('@')) {
        let mut identity = Identity::new(Caller::User(name.into()), Method::Open);
        identity.organisation = Some(organisation.into());
        request.extensions_mut().insert(Arc::new(identity));
    }
    next.run(request).await
}

fn moment() -> Timestamp {
    "2026-08-14T09:30:00Z".parse().expect("a moment")
}
