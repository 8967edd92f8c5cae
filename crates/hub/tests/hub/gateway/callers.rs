//! Callers of agents behind a hub, each in one form.

use std::{net::SocketAddr, time::Duration};

use futures_util::StreamExt as _;
use http::{HeaderName, HeaderValue};
use nuncio_client::{Error, Followed, Interface, Options, Remote};
use nuncio_hub::Limits;
use nuncio_net::{Client, Errand, Purpose};
use nuncio_protocol::{
    dialect::WireForm,
    error::{Error as ProtocolError, ErrorKind},
    ids::{PushConfigId, TaskId, Tenant},
    message::{Content, Message, Part},
    operation::{
        CancelTaskRequest, GetTaskPushNotificationConfigRequest, GetTaskRequest,
        ListTaskPushNotificationConfigsRequest, Request, Response, SendMessageConfiguration,
        SendMessageRequest, SubscribeToTaskRequest,
    },
    push::TaskPushNotificationConfig,
    service::{CallContext, Caller, Event},
    task::{SendMessageResponse, StreamResponse, Task},
    version::Version,
};
use nuncio_testkit::wire::{Binding, Http, Refused, Wire};

use super::{
    agents::{RESUME, Served, Skilled},
    stage::Stage,
    world::{World, guard},
};

/// A2A itself on all bindings and in both versions.
pub(crate) const FORMS: [WireForm; 6] = [
    WireForm::V1,
    WireForm::V1Http,
    WireForm::V1Grpc,
    WireForm::V03,
    WireForm::V03Http,
    WireForm::V03Grpc,
];

impl World {
    /// Calls an agent through the hub in one form, as the owner of a key.
    pub(crate) fn remote(&self, key: &str, agent: &str, form: WireForm) -> Remote {
        let mut options = Options::default();
        let value = HeaderValue::try_from(format!("Bearer {key}")).expect("a key is text");
        options.headers.insert(http::header::AUTHORIZATION, value);
        options.resumes.pause = Duration::from_millis(1);
        self.remote_with(agent, form, options)
    }

    /// Calls an agent through the hub in one form.
    pub(crate) fn remote_with(&self, agent: &str, form: WireForm, options: Options) -> Remote {
        remote_by(self.address, agent, form, options)
    }
}

/// Calls an agent through whatever leads to the hub.
pub(crate) fn remote_by(
    way: SocketAddr,
    agent: &str,
    form: WireForm,
    mut options: Options,
) -> Remote {
    let is_grpc = matches!(form, WireForm::V1Grpc | WireForm::V03Grpc);
    // gRPC has no paths; 0.3 has no word for the agent behind a shared endpoint either.
    let path = if is_grpc { String::new() } else { format!("agents/{agent}") };
    let tenant = (form == WireForm::V1Grpc).then(|| Tenant::parse(agent).expect("a name"));
    if form == WireForm::V03Grpc {
        let value = HeaderValue::try_from(agent).expect("a name is text");
        options.headers.insert(HeaderName::from_static("a2a-agent"), value);
    }
    let client = Client::new(guard());
    let url = format!("http://{way}/{path}");
    let url = client.guard().check_url(&url, Errand::administrator(Purpose::Agent));
    let interface = Interface { url: url.expect("it is open"), form, tenant };
    Remote::builder(client, interface).options(options).build()
}

/// Calls an agent itself, past the hub.
pub(crate) fn direct(address: SocketAddr, form: WireForm) -> Remote {
    let client = Client::new(guard());
    let url = format!("http://{address}/");
    let url = client.guard().check_url(&url, Errand::administrator(Purpose::Agent));
    Remote::new(client, Interface { url: url.expect("it is open"), form, tenant: None })
}

pub(crate) fn somebody() -> CallContext {
    CallContext::new(Caller::Anonymous)
}

/// Calls with an idempotency key.
pub(crate) fn keyed(key: &str) -> CallContext {
    CallContext { idempotency_key: Some(key.to_owned()), ..somebody() }
}

/// Comes back behind an event.
pub(crate) fn behind(seq: u64) -> CallContext {
    CallContext { last_event: Some(seq), ..somebody() }
}

pub(crate) fn message(text: &str) -> SendMessageRequest {
    SendMessageRequest::new(Message::user(text))
}

/// A message that is answered as soon as it is taken.
pub(crate) fn at_once(text: &str) -> SendMessageRequest {
    let mut request = message(text);
    let wishes = SendMessageConfiguration { return_immediately: true, ..Default::default() };
    request.configuration = Some(wishes);
    request
}

pub(crate) fn get(id: &TaskId) -> Request {
    Request::GetTask(GetTaskRequest { tenant: None, id: id.clone(), history_length: None })
}

pub(crate) fn cancel(id: &TaskId) -> Request {
    Request::CancelTask(CancelTaskRequest { tenant: None, id: id.clone(), metadata: None })
}

pub(crate) fn subscribe(id: &TaskId) -> Request {
    Request::SubscribeToTask(SubscribeToTaskRequest { tenant: None, id: id.clone() })
}

/// Makes a call that is answered once.
pub(crate) async fn ask(remote: &Remote, request: Request) -> Result<Response, Error> {
    let answered = patiently(remote.call(somebody(), request)).await?;
    Ok(answered.into_response().expect("what the hub says can be read"))
}

/// Sends a message, and returns the task that comes of it.
pub(crate) async fn begin(remote: &Remote, request: SendMessageRequest) -> Task {
    let name = remote.interface().form.name();
    match ask(remote, Request::SendMessage(request)).await {
        Ok(Response::SendMessage(SendMessageResponse::Task(task))) => task,
        other => panic!("{name}: no task, but {other:?}"),
    }
}

/// Looks at a task.
pub(crate) async fn look(remote: &Remote, id: &TaskId) -> Task {
    match ask(remote, get(id)).await {
        Ok(Response::Task(task)) => task,
        other => panic!("no task, but {other:?}"),
    }
}

/// Makes a call that is to be refused, and returns why it is.
pub(crate) async fn refused(remote: &Remote, request: Request) -> ProtocolError {
    let what = format!("{} in {}", request.operation().name(), remote.interface().form.name());
    let error = if request.operation().is_streaming() {
        match patiently(Box::pin(remote.stream(somebody(), request))).await {
            // To readers of events alone a server of 0.3 says it in an event.
            Ok(mut events) => match patiently(events.next()).await {
                Some(Err(error)) => error,
                other => panic!("{what} is not refused: {other:?}"),
            },
            Err(error) => error,
        }
    } else {
        match patiently(remote.call(somebody(), request)).await {
            Ok(answered) => panic!("{what} is not refused: {answered:?}"),
            Err(error) => error,
        }
    };
    match error {
        Error::Peer(error) => error,
        other => panic!("{what}: not in words of A2A: {other:?}"),
    }
}

/// Begins to follow.
pub(crate) async fn follow(remote: &Remote, ctx: CallContext, request: Request) -> Followed {
    let form = remote.interface().form.name();
    patiently(remote.stream(ctx, request)).await.unwrap_or_else(|error| panic!("{form}: {error:?}"))
}

/// Returns the next event of a stream.
pub(crate) async fn next(events: &mut Followed) -> Event {
    let event = patiently(events.next()).await.expect("the stream goes on");
    event.unwrap_or_else(|error| panic!("the stream broke: {error:?}"))
}

/// Reads a stream to its end.
pub(crate) async fn rest(events: Followed) -> Vec<Event> {
    let events: Vec<_> = patiently(events.collect()).await;
    let events: Result<Vec<_>, _> = events.into_iter().collect();
    events.unwrap_or_else(|error| panic!("the stream broke: {error:?}"))
}

pub(crate) fn value(event: &Event) -> &StreamResponse {
    event.response.value().expect("it has been read before")
}

/// Returns the task that an event is about.
pub(crate) fn task_of(event: &Event) -> &TaskId {
    match value(event) {
        StreamResponse::Task(task) => &task.id,
        StreamResponse::StatusUpdate(update) => &update.task_id,
        StreamResponse::ArtifactUpdate(update) => &update.task_id,
        StreamResponse::Message(message) => panic!("about no task: {message:?}"),
    }
}

/// The text of all artifacts that events bring.
pub(crate) fn pieces(events: &[Event]) -> String {
    let mut text = String::new();
    for event in events {
        match value(event) {
            StreamResponse::ArtifactUpdate(update) => text += &said(&update.artifact.parts),
            StreamResponse::Task(task) => text += &result(task),
            _ => {}
        }
    }
    text
}

/// The text of all artifacts of a task.
pub(crate) fn result(task: &Task) -> String {
    task.artifacts.iter().map(|artifact| said(&artifact.parts)).collect()
}

fn said(parts: &[Part]) -> String {
    let texts = parts.iter().filter_map(|part| match &part.content {
        Content::Text(text) => Some(text.as_str()),
        _ => None,
    });
    texts.collect()
}

/// Waits for what comes sooner or later; a test that waits in vain fails instead of hanging.
pub(crate) async fn patiently<T>(wait: impl Future<Output = T>) -> T {
    tokio::time::timeout(Duration::from_secs(60), wait).await.expect("it comes in a minute")
}

const V1: (&str, &str) = ("a2a-version", "1.0");

/// Asks for a task on every binding, and checks that each refuses it in its own form.
async fn check_refused(http: &Http, kind: ErrorKind, status: u16) -> Vec<Refused> {
    let id = TaskId::parse("0197a000-0000-7000-8000-00000000beef").expect("an id");
    let mut all = Vec::new();
    for wire in Wire::current(http) {
        let binding = wire.binding;
        let refused = wire.call(get(&id)).await.expect_err("it is refused");
        assert_eq!(refused.error.kind(), kind, "{binding:?}: {refused:?}");
        let expected = if binding == Binding::Grpc { 200 } else { status };
        assert_eq!(refused.status, expected, "{binding:?}: {refused:?}");
        all.push(refused);
    }
    all
}

#[tokio::test(flavor = "multi_thread")]
async fn whom_the_hub_does_not_let_in_reads_so_in_the_form_of_the_call() {
    let world = World::start().await;
    let hub = Http::new(world.address);
    let stranger = hub.clone().below("/agents/script");
    let bearer = |key: &str| stranger.clone().with("authorization", &format!("Bearer {key}"));
    check_refused(&stranger, ErrorKind::Unauthenticated, 401).await;
    check_refused(&bearer("nonsense"), ErrorKind::Unauthenticated, 401).await;
    for (method, path) in [("POST", ""), ("GET", "/tasks/t"), ("GET", "/tasks/%ff")] {
        let reply = stranger.request(method, path, &[V1], "").await;
        assert_eq!((reply.status, reply.header("content-type")), (401, "application/json"));
        assert_eq!(reply.header("www-authenticate"), r#"Bearer realm="nuncio""#, "{path}");
    }

    let body = ("content-type", "application/json");
    let token = world.administrator.request("POST", "/api/v1/enrolments", &[body], "{}").await;
    let newcomer = bearer(token.json()["key"].as_str().expect("a token"));
    check_refused(&newcomer, ErrorKind::PermissionDenied, 403).await;
    let audit = world.administrator.request("GET", "/api/v1/audit?limit=100", &[], "").await;
    let denied = audit.text().matches("request.deny").count();
    assert_eq!(denied, Binding::ALL.len(), "all are noted: {}", audit.text());

    let bob = bearer(&world.key("bob").await);
    let mut limits = Limits::default();
    limits.requests = 1;
    world.hub.limit(limits);
    bob.request("GET", "/tasks/t", &[V1], "").await;
    for refused in check_refused(&bob, ErrorKind::RateLimited, 429).await {
        assert!(refused.error.retry_after().is_some(), "{refused:?}");
    }
    let reply = bob.request("GET", "/tasks/t", &[V1], "").await;
    assert_ne!(reply.header("retry-after"), "", "{:?}", reply.headers);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_that_is_not_there_is_not_found_in_the_form_of_the_call() {
    let world = World::start().await;
    let key = format!("Bearer {}", world.key("ann").await);
    for name in ["nobody", "~nothing", "%ff", "no:cancel"] {
        let ann = Http::new(world.address).below(&format!("/agents/{name}"));
        let ann = ann.with("authorization", &key);
        for (binding, method, path) in
            [(Binding::JsonRpc, "POST", "/"), (Binding::HttpJson, "GET", "/tasks/t")]
        {
            let reply = ann.request(method, path, &[V1], "{}").await;
            let refused = Refused::read(binding, Version::V1_0, &reply);
            let found = (refused.status, refused.error.kind());
            assert_eq!(found, (404, ErrorKind::MethodNotFound), "{name}: {refused:?}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_path_that_is_no_text_is_refused_in_the_form_of_the_call() {
    let world = World::start().await;
    let served = Served::script(WireForm::V1, Skilled::Streams, &Stage::default()).await;
    world.add("script", &served.url()).await;
    let key = format!("Bearer {}", world.key("ann").await);
    let ann = Http::new(world.address).with("authorization", &key);
    let reply = ann.request("GET", "/agents/script/tasks/%ff", &[V1], "").await;
    let refused = Refused::read(Binding::HttpJson, Version::V1_0, &reply);
    assert_eq!((refused.status, refused.error.kind()), (400, ErrorKind::InvalidParams));
}

#[tokio::test(flavor = "multi_thread")]
async fn the_extensions_of_a_call_are_told_over_grpc_too() {
    let world = World::start().await;
    let served = Served::script(WireForm::V1, Skilled::Streams, &Stage::default()).await;
    world.add("script", &served.url()).await;
    let key = format!("Bearer {}", world.key("ann").await);
    let ann = Http::new(world.address).http2().with("authorization", &key);
    // A `ListTasksRequest` that names its tenant, in its frame.
    let mut body = vec![0, 0, 0, 0, 8, 0x0a, 6];
    body.extend_from_slice(b"script");
    let wished = format!("{RESUME}, urn:test:unknown");
    let headers =
        [("content-type", "application/grpc"), ("te", "trailers"), ("a2a-extensions", &wished)];
    let reply = ann.request("POST", "/lf.a2a.v1.A2AService/ListTasks", &headers, body).await;
    assert_eq!((reply.status, reply.header("a2a-extensions")), (200, RESUME), "{reply:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_webhook_names_a_tenant_only_to_callers_who_do() {
    let world = World::start().await;
    let served = Served::script(WireForm::V1, Skilled::Streams, &Stage::default()).await;
    world.add("script", &served.url()).await;
    let ann = world.key("ann").await;
    for form in FORMS {
        let remote = world.remote(&ann, "script", form);
        let task = begin(&remote, message("hello")).await.id;
        let mut config = TaskPushNotificationConfig::new("http://127.0.0.1:9/hook");
        config.task_id = Some(task.clone());
        config.id = Some(PushConfigId::parse("hook").expect("an id"));
        let id = config.id.clone().expect("an id");
        let requests = [
            Request::CreateTaskPushNotificationConfig(config),
            Request::GetTaskPushNotificationConfig(GetTaskPushNotificationConfigRequest {
                tenant: None,
                task_id: task.clone(),
                id,
            }),
            Request::ListTaskPushNotificationConfigs(ListTaskPushNotificationConfigsRequest {
                tenant: None,
                task_id: task,
                page_size: 0,
                page_token: String::new(),
            }),
        ];
        for request in requests {
            let name = format!("{} in {}", request.operation().name(), form.name());
            let configs = match ask(&remote, request).await {
                Ok(Response::PushConfig(config)) => vec![config],
                Ok(Response::PushConfigs(page)) => page.configs,
                other => panic!("{name}: no webhook, but {other:?}"),
            };
            let tenants: Vec<_> = configs.iter().map(|one| one.tenant.as_ref()).collect();
            let named = remote.interface().tenant.as_ref();
            assert_eq!(tenants, [named], "{name}");
        }
    }
}
