//! Agents that speak one version on one binding, and hear nothing else.

use std::{
    net::SocketAddr,
    sync::{Arc, Mutex},
    time::Duration,
};

use axum::{
    Router,
    extract::{Request, State},
    middleware::{Next, from_fn_with_state},
    response::{IntoResponse as _, Response},
};
use http::{Method, StatusCode};
use hyper_util::service::TowerToHyperService;
use nuncio_auth::Gatekeeper;
use nuncio_net::listen::{Drain, Listener};
use nuncio_protocol::{
    card::{AgentCard, AgentExtension, AgentInterface, AgentSkill, Binding},
    dialect::WireForm,
    time::Timestamp,
    version::Version,
};
use nuncio_server::{
    Agent, Capacity, Endpoint, LocalAgent, StreamLimits, Tenants, dialects::Dialects,
};
use nuncio_tasks::{engine::Tasks, memory::MemoryStore, scope::Name};
use tokio::task::JoinHandle;

use super::stage::{Script, Stage};

/// Says on a card that its agent numbers events and knows keys.
pub(crate) const RESUME: &str = "urn:nuncio:extension:resume:v1";

/// Names the task because of which an agent is called.
pub(crate) const PARENT: &str = "a2a-parent-task";

/// What an agent can do beside answering.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Skilled {
    /// It streams, numbers its events and knows keys.
    Resumes,
    /// It streams, and that is all.
    Streams,
    /// It can only be asked.
    Answers,
    /// It can only be asked, and knows keys.
    KnowsKeys,
}

/// An agent on a port, for as long as this is held.
pub(crate) struct Served {
    pub(crate) address: SocketAddr,
    entrance: Entrance,
    drain: Drain,
    serving: JoinHandle<()>,
}

/// Lets requests in that speak one form, and remembers the others.
#[derive(Clone)]
struct Entrance {
    form: WireForm,
    strays: Arc<Mutex<Vec<String>>>,
    stage: Stage,
}

impl Entrance {
    fn new(form: WireForm, stage: &Stage) -> Self {
        Self { form, strays: Arc::default(), stage: stage.clone() }
    }
}

impl Served {
    /// Serves scripts in one form.
    pub(crate) async fn script(form: WireForm, skilled: Skilled, stage: &Stage) -> Self {
        Self::start(form, skilled, stage, Script(stage.clone())).await
    }

    /// Serves an agent in one form.
    pub(crate) async fn start(
        form: WireForm,
        skilled: Skilled,
        stage: &Stage,
        agent: impl Agent,
    ) -> Self {
        let listener = listener(SocketAddr::from(([127, 0, 0, 1], 0))).await;
        let card = card(listener.local_addr(), form, skilled);
        Self::on(listener, card, Entrance::new(form, stage), agent)
    }

    /// Serves scripts, by a card that leads elsewhere.
    pub(crate) async fn behind(
        front: SocketAddr,
        form: WireForm,
        skilled: Skilled,
        stage: &Stage,
    ) -> Self {
        let listener = listener(SocketAddr::from(([127, 0, 0, 1], 0))).await;
        let entrance = Entrance::new(form, stage);
        Self::on(listener, card(front, form, skilled), entrance, Script(stage.clone()))
    }

    /// Serves scripts at an address.
    pub(crate) async fn at(
        address: SocketAddr,
        form: WireForm,
        skilled: Skilled,
        stage: &Stage,
    ) -> Self {
        let card = card(address, form, skilled);
        let entrance = Entrance::new(form, stage);
        Self::on(listener(address).await, card, entrance, Script(stage.clone()))
    }

    fn on(listener: Listener, card: AgentCard, entrance: Entrance, agent: impl Agent) -> Self {
        let address = listener.local_addr();
        let name = Name::parse("script").expect("a name");
        let tasks = Tasks::builder(Arc::new(MemoryStore::default()));
        let tasks = tasks.agent(name.clone(), agent).start();
        let local = LocalAgent::new(tasks, name, &card).expect("a name");
        let drain = Drain::new();
        let capacity = Capacity::new(4_096, StreamLimits::default(), drain.clone());
        let dialects = if is_older(entrance.form) { Dialects::default() } else { Dialects::none() };
        let endpoint = Endpoint::builder("script", Arc::new(local), capacity.clone())
            .url(format!("http://{address}"))
            .card(card, Timestamp::now())
            .dialects(dialects)
            .tenants(Tenants::Any)
            .gatekeeper(Gatekeeper::open())
            .build()
            .expect("a card that can be shown");
        let router = Router::new()
            .fallback_service(endpoint)
            .layer(from_fn_with_state(entrance.clone(), let_in));
        let served = drain.clone();
        let serving = tokio::spawn(async move {
            tokio::select! {
                () = listener.serve(TowerToHyperService::new(router), served) => {}
                () = capacity.watch() => {}
            }
        });
        Self { address, entrance, drain, serving }
    }

    /// Stops at once, and returns where it was.
    pub(crate) async fn stop(&mut self) -> SocketAddr {
        self.drain.begin(Duration::ZERO);
        (&mut self.serving).await.expect("it stops");
        self.address
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}/", self.address)
    }

    /// Returns the requests that came in another form than the agent's.
    pub(crate) fn strays(&self) -> Vec<String> {
        self.entrance.strays.lock().expect("nobody panics with it").clone()
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

async fn listener(address: SocketAddr) -> Listener {
    Listener::bind(address).await.expect("the port is free")
}

fn card(address: SocketAddr, form: WireForm, skilled: Skilled) -> AgentCard {
    let skill = AgentSkill::new("play", "play", "plays", ["play"]);
    let card = AgentCard::builder("script").description("plays scripts").skill(skill);
    let mut card = card.input_modes(["text/plain"]).output_modes(["text/plain"]).build();
    let (binding, version) = spoken(form);
    let url = match binding {
        Binding::Grpc => address.to_string(),
        _ => format!("http://{address}/"),
    };
    card.supported_interfaces = vec![AgentInterface::new(url, binding, version)];
    let streams = matches!(skilled, Skilled::Resumes | Skilled::Streams);
    card.capabilities.streaming = Some(streams);
    if matches!(skilled, Skilled::Resumes | Skilled::KnowsKeys) {
        card.capabilities.extensions.push(AgentExtension::new(RESUME));
    }
    card
}

/// Returns binding and version of a form of A2A itself.
fn spoken(form: WireForm) -> (Binding, Version) {
    match form {
        WireForm::V1 => (Binding::JsonRpc, Version::V1_0),
        WireForm::V1Http => (Binding::HttpJson, Version::V1_0),
        WireForm::V1Grpc => (Binding::Grpc, Version::V1_0),
        WireForm::V03 => (Binding::JsonRpc, Version::V0_3),
        WireForm::V03Http => (Binding::HttpJson, Version::V0_3),
        WireForm::V03Grpc => (Binding::Grpc, Version::V0_3),
        other => panic!("{} is no form of A2A itself", other.name()),
    }
}

pub(crate) fn is_older(form: WireForm) -> bool {
    spoken(form).1 == Version::V0_3
}

async fn let_in(State(entrance): State<Entrance>, request: Request, next: Next) -> Response {
    let path = request.uri().path();
    if let Some(Ok(parent)) = request.headers().get(PARENT).map(http::HeaderValue::to_str) {
        entrance.stage.hear_of(parent);
    }
    if path.starts_with("/.well-known/") {
        return next.run(request).await;
    }
    if form_of(&request) == entrance.form {
        // Who only looks is answered all the same.
        let is_look = *request.method() != Method::POST;
        if !is_look {
            entrance.stage.hear_call(asks_for_stream(&request));
        }
        let response = next.run(request).await;
        if !is_look {
            entrance.stage.let_out().await;
        }
        return response;
    }
    let stray = format!("{} {path}", request.method());
    entrance.strays.lock().expect("nobody panics with it").push(stray);
    StatusCode::NOT_FOUND.into_response()
}

/// Tells whether a request is to be answered with a stream.
fn asks_for_stream(request: &Request) -> bool {
    let accept = request.headers().get(http::header::ACCEPT);
    // gRPC has a method for it, and says nothing more.
    let path = request.uri().path();
    accept.is_some_and(|types| types == "text/event-stream") || path.ends_with("StreamingMessage")
}

/// Tells the form of a request by what every form has of its own.
fn form_of(request: &Request) -> WireForm {
    let path = request.uri().path();
    let version = request.headers().get("a2a-version").map(http::HeaderValue::as_bytes);
    match path {
        _ if path.starts_with("/lf.a2a.v1.") => WireForm::V1Grpc,
        _ if path.starts_with("/a2a.v1.") => WireForm::V03Grpc,
        _ if path.starts_with("/v1/") => WireForm::V03Http,
        "/" if *request.method() == Method::POST => match version {
            Some(b"1.0") => WireForm::V1,
            _ => WireForm::V03,
        },
        _ => WireForm::V1Http,
    }
}
