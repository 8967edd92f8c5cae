//! The hub's own agent: one card for everything that the hub does itself, and one place to call.
//!
//! It is at `/`, `/a2a` and `/.well-known/agent-card.json`. A message says whom it is for (UD-11):
//! as `workflow` or `skillId` in its metadata, or as `{"workflow": …, "inputs": {…}}` in its data
//! or text. What follows goes to whoever has the task.

use std::sync::Arc;

use axum::{
    Router,
    body::Body,
    extract::{Request, State},
    response::Response,
    routing::{any, get, post},
};
use http::{
    HeaderValue, Uri,
    header::{CACHE_CONTROL, VARY},
};
use nuncio_protocol::{
    card::AgentCard,
    error::{Error as A2aError, ErrorKind},
    ids::Tenant,
    json::{Object, Shared},
    message::Message,
    operation::{
        CancelTaskRequest, DeleteTaskPushNotificationConfigRequest, GetExtendedAgentCardRequest,
        GetTaskPushNotificationConfigRequest, GetTaskRequest,
        ListTaskPushNotificationConfigsRequest, ListTaskPushNotificationConfigsResponse,
        ListTasksRequest, ListTasksResponse, SendMessageRequest, SubscribeToTaskRequest,
    },
    push::TaskPushNotificationConfig,
    service::{A2aService, Answer, CallContext, Events},
    task::{SendMessageResponse, Task},
    time::Timestamp,
};
use nuncio_server::{
    Endpoint,
    dialects::{Dialects, SKILL_ID},
};

use super::{
    calls::{Endpoints, identity},
    catalog::Visitor,
    problem::Problem,
    who::{Role, Who},
};
use crate::{
    agent::{Agent, Watch},
    error::Error,
    gateway::card::of_hub,
    hub::Hub,
    name::AgentName,
};

/// The member of metadata, and of data, that names a workflow (UD-11).
const WORKFLOW: &str = "workflow";

/// Stands for whoever has the task.
const ANYBODY: &str = "~any";

/// Returns the paths of the hub's own agent. Those of the opportunity agents have `/a2a` for
/// themselves, and hand on what is not in their form.
pub(super) fn router(has_a2a: bool) -> Router<Hub> {
    let router = Router::new()
        .route("/", post(call))
        .route("/a2a/", any(call))
        .route("/a2a/{*rest}", any(call))
        .route("/.well-known/agent-card.json", get(card))
        .route("/.well-known/agent.json", get(card));
    if has_a2a { router.route("/a2a", any(call)) } else { router }
}

/// Answers a call to whomever it names.
async fn call(State(hub): State<Hub>, who: Who, mut request: Request) -> Result<Response, Problem> {
    who.somebody()?;
    let endpoints = hub.endpoints.as_ref().ok_or_else(Problem::not_found)?;
    let endpoint = endpoints.own.as_ref().ok_or_else(Problem::not_found)?;
    request.extensions_mut().insert(identity(&who));
    let segments = usize::from(request.uri().path() != "/");
    Ok(endpoint.answer_below(segments, request).await.map(Body::new))
}

/// Shows the card, with what the asker may call.
async fn card(
    State(hub): State<Hub>,
    Visitor(visitor): Visitor,
    request: Request,
) -> Result<Response, Problem> {
    show(&hub, visitor.as_ref(), request).await
}

/// Shows the card at the path of a request.
pub(super) async fn show(
    hub: &Hub,
    visitor: Option<&Who>,
    mut request: Request,
) -> Result<Response, Problem> {
    let endpoints = hub.endpoints.as_ref().ok_or_else(Problem::not_found)?;
    let unfit = |error: &dyn std::fmt::Display| Error::invalid("card", error.to_string());
    let card = of_hub(skills(hub, visitor).iter().map(|agent| &**agent), &endpoints.frame(hub));
    let card = card.map_err(|error| unfit(&error))?;
    let service = endpoints.gateway.service();
    let endpoint = Endpoint::builder("Nuncio", service, endpoints.capacity.clone())
        .url(hub.settings.public_url.clone())
        .card(card, Timestamp::now())
        .dialects(Dialects::default().upal())
        .build()
        .map_err(|error| unfit(&error))?;
    if let Some(who) = visitor {
        request.extensions_mut().insert(identity(who));
    }
    let mut response = endpoint.answer(request).await.map(Body::new);
    // Everybody sees another one.
    let headers = response.headers_mut();
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("private, max-age=30"));
    headers.append(VARY, HeaderValue::from_static("Authorization"));
    Ok(response)
}

/// Returns what the hub does itself and somebody may call.
fn skills(hub: &Hub, visitor: Option<&Who>) -> Vec<Arc<Agent>> {
    let Some(who) = visitor.filter(|who| !matches!(who.role, Role::Newcomer(_))) else {
        return Vec::new();
    };
    let state = hub.directory.state();
    let agents = state.in_order(&who.organisation, None);
    let own = agents.filter(|agent| agent.watch == Watch::Hosted);
    own.filter(|agent| hub.directory.sees(who.asker(), &agent.id)).cloned().collect()
}

impl Endpoints {
    /// Makes what answers calls to the hub's own agent.
    pub(super) fn make_own(
        service: Arc<dyn A2aService>,
        capacity: &nuncio_server::Capacity,
        limits: nuncio_net::listen::body::BodyLimits,
    ) -> Option<Endpoint> {
        let own = Arc::new(Own { service });
        let endpoint = Endpoint::builder("Nuncio", own, capacity.clone()).body_limits(limits);
        // Only cards can fail, and it has none.
        endpoint.build().ok()
    }
}

/// Answers a call of JSON-RPC whose body was read already.
pub(super) async fn answer(
    hub: &Hub,
    who: &Who,
    head: http::request::Parts,
    body: bytes::Bytes,
) -> Result<Response, Problem> {
    let endpoints = hub.endpoints.as_ref().ok_or_else(Problem::not_found)?;
    let endpoint = endpoints.own.as_ref().ok_or_else(Problem::not_found)?;
    let mut request = Request::from_parts(head, Body::from(body));
    *request.uri_mut() = Uri::from_static("/");
    request.extensions_mut().insert(identity(who));
    Ok(endpoint.answer(request).await.map(Body::new))
}

/// The hub's own agent: it does nothing itself.
struct Own {
    service: Arc<dyn A2aService>,
}

/// Finds whom a message is for.
fn addressee(request: &SendMessageRequest) -> Option<String> {
    let message = &request.message;
    let both = || [request.metadata.as_ref(), message.metadata.as_ref()].into_iter().flatten();
    let named = [WORKFLOW, SKILL_ID]
        .into_iter()
        .find_map(|member| both().find_map(|metadata| metadata.get(member)?.as_text()));
    named.or_else(|| in_parts(message))
}

fn in_parts(message: &Message) -> Option<String> {
    message.parts.iter().find_map(|part| {
        let object = match (part.as_data(), part.as_text()) {
            (Some(data), _) => data.as_object()?,
            (None, text) => {
                Object::parse_text(text.filter(|text| text.trim_start().starts_with('{'))?).ok()?
            }
        };
        object.get(WORKFLOW)?.as_text()
    })
}

/// Addresses a message to whom it is for.
fn address(ctx: &mut CallContext, request: &mut SendMessageRequest) -> Result<(), A2aError> {
    if ctx.tenant.is_some() || request.message.task_id.is_some() {
        anywhere(ctx);
        return Ok(());
    }
    let Some(name) = addressee(request) else {
        let text = "say which workflow or agent is to do it, by a name on the card: as \
                    metadata.skillId, metadata.workflow, or data {\"workflow\": …, \"inputs\": …}";
        let error = A2aError::new(ErrorKind::InvalidParams, text);
        return Err(error.with_violation("message.metadata.skillId", text));
    };
    // Upal's names may be titles.
    let known = AgentName::parse(&name).ok().or_else(|| AgentName::from_title(&name));
    let tenant = known.and_then(|name| Tenant::parse(name.as_str()).ok());
    ctx.tenant = Some(tenant.ok_or_else(|| {
        let text = format!("there is no workflow `{name}`");
        A2aError::new(ErrorKind::InvalidParams, text)
    })?);
    request.tenant.clone_from(&ctx.tenant);
    // The names on the card are those of agents, not of what each of them can do.
    for metadata in [&mut request.metadata, &mut request.message.metadata] {
        let rest = metadata.take().map(|metadata| metadata.without(SKILL_ID));
        *metadata = rest.filter(|metadata| !metadata.is_empty());
    }
    Ok(())
}

/// Calls whoever has the task, unless somebody is named.
fn anywhere(ctx: &mut CallContext) {
    if ctx.tenant.is_none() {
        ctx.tenant = Tenant::parse(ANYBODY).ok();
    }
}

macro_rules! pass_on {
    ($($method:ident($request:ty) -> $answer:ty;)*) => {
        $(
            fn $method(&self, mut ctx: CallContext, request: $request) -> Answer<'_, $answer> {
                anywhere(&mut ctx);
                self.service.$method(ctx, request)
            }
        )*
    };
}

impl A2aService for Own {
    fn send_message(
        &self,
        mut ctx: CallContext,
        mut request: SendMessageRequest,
    ) -> Answer<'_, Shared<SendMessageResponse>> {
        Box::pin(async move {
            address(&mut ctx, &mut request)?;
            self.service.send_message(ctx, request).await
        })
    }

    fn send_streaming_message(
        &self,
        mut ctx: CallContext,
        mut request: SendMessageRequest,
    ) -> Answer<'_, Events> {
        Box::pin(async move {
            address(&mut ctx, &mut request)?;
            self.service.send_streaming_message(ctx, request).await
        })
    }

    pass_on! {
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
}
