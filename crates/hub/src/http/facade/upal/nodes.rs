//! Nodes as agents of their own (U-13, U-16, U-18).
//!
//! A node is named by its id, or by its workflow and its id, with a dot or a slash between, where
//! several workflows have one of that id.

use std::sync::Arc;

use axum::{
    body::Body,
    extract::{Path, Request, State},
    response::Response,
};
use http::{StatusCode, Uri};
use nuncio_protocol::{
    card::{AgentCard, AgentSkill, Binding},
    error::{Error as A2aError, ErrorKind},
    http::encode_segment,
    ids::Tenant,
    json::Shared,
    operation::{
        CancelTaskRequest, DeleteTaskPushNotificationConfigRequest, GetExtendedAgentCardRequest,
        GetTaskPushNotificationConfigRequest, GetTaskRequest,
        ListTaskPushNotificationConfigsRequest, ListTaskPushNotificationConfigsResponse,
        ListTasksRequest, ListTasksResponse, SendMessageRequest, SubscribeToTaskRequest,
    },
    push::TaskPushNotificationConfig,
    service::{A2aService, Answer, CallContext, Events},
    task::{SendMessageResponse, Task},
    version::Version,
};
use nuncio_server::{CardReaders, Endpoint, Tenants, dialects::Dialects};
use nuncio_workflow::graph::Node;

use super::Refused;
use crate::{
    Gateway,
    agent::Agent,
    error::Error,
    http::{calls::identity, own, problem::Problem, who::Who},
    hub::Hub,
};

/// What stands behind a node where its card is.
const CARD: &str = "agent-card";

/// How many workflows a refusal names.
const MOST_NAMED: usize = 5;

/// Shows the card of everything.
pub(super) async fn all(
    State(hub): State<Hub>,
    who: Who,
    request: Request,
) -> Result<Response, Refused> {
    who.somebody()?;
    Ok(own::show(&hub, Some(&who), request).await?)
}

/// Answers for a node: its card, or a call to it.
pub(super) async fn node(
    State(hub): State<Hub>,
    who: Who,
    Path(path): Path<String>,
    mut request: Request,
) -> Result<Response, Refused> {
    who.somebody()?;
    let (name, tail) = match path.strip_suffix(CARD).and_then(|rest| rest.strip_suffix('/')) {
        Some(name) => (name, format!("/{CARD}")),
        None => (path.trim_end_matches('/'), String::new()),
    };
    let found = find(&hub, &who, name)?;
    let named = name.replace('/', ".");
    let endpoint = found.endpoint(&hub, &named)?;
    let path = format!("/a2a/nodes/{}{tail}", encode_segment(&named));
    *request.uri_mut() = path.parse::<Uri>().map_err(|_| Problem::not_found())?;
    request.extensions_mut().insert(identity(&who));
    Ok(endpoint.answer(request).await.map(Body::new))
}

/// A node that somebody may call.
struct Found {
    workflow: Arc<Agent>,
    card: AgentCard,
    node: String,
}

/// Finds a node by its name.
fn find(hub: &Hub, who: &Who, name: &str) -> Result<Found, Refused> {
    let state = hub.directory.state();
    let agents = state.in_order(&who.organisation, None);
    let seen = agents.filter(|agent| hub.directory.sees(who.asker(), &agent.id));
    let workflows =
        seen.filter_map(|agent| Some((agent, state.workflow(&agent.id, None)?.workflow()?)));
    let mut fitting = Vec::new();
    for (agent, workflow) in workflows {
        let within = name.strip_prefix(agent.name.as_str());
        let within = within.and_then(|rest| rest.strip_prefix(['.', '/']));
        if let Some(node) = within.and_then(|id| workflow.node(id)) {
            fitting = vec![found(hub, agent, node)];
            break;
        }
        fitting.extend(workflow.node(name).map(|node| found(hub, agent, node)));
    }
    match fitting.len() {
        0 => Err(Error::Unknown { what: "node" }.into()),
        1 => Ok(fitting.swap_remove(0)),
        _ => {
            let names = fitting.iter().take(MOST_NAMED);
            let names = names.map(|one| format!("/a2a/nodes/{}/{name}", one.workflow.name));
            let names: Vec<String> = names.collect();
            let count = fitting.len();
            let text =
                format!("{count} workflows have a node `{name}`; say which: {}", names.join(", "));
            Err(Problem::new(StatusCode::CONFLICT, "SEVERAL_NODES", text).into())
        }
    }
}

fn found(hub: &Hub, workflow: &Arc<Agent>, node: &Node) -> Found {
    let id = node.id().as_str();
    let kind = node.kind().name();
    let what = format!("The node {id} of the workflow {}, of type {kind}", workflow.name);
    let card = AgentCard::builder(id)
        .description(&what)
        .skill(AgentSkill::new(id, id, &what, [kind]))
        .interface(&hub.settings.public_url, Binding::JsonRpc, Version::V0_3)
        .output_modes(["text/plain", "application/json"])
        .build();
    Found { workflow: Arc::clone(workflow), card, node: id.to_owned() }
}

impl Found {
    /// Makes what answers for the node, under the name that it was called by.
    fn endpoint(self, hub: &Hub, named: &str) -> Result<Endpoint, Problem> {
        let endpoints = hub.endpoints.as_ref().ok_or_else(Problem::not_found)?;
        let unfit = |error: &dyn std::fmt::Display| Error::invalid("node", error.to_string());
        let tenant = Tenant::parse(self.workflow.name.as_str()).map_err(|error| unfit(&error))?;
        let updated = self.workflow.updated;
        let service = Alone { gateway: endpoints.gateway.clone(), node: self.node };
        let endpoint = Endpoint::builder(named, Arc::new(service), endpoints.capacity.clone())
            .url(hub.settings.public_url.clone())
            .card(self.card, updated)
            .card_readers(CardReaders::Admitted)
            .dialects(Dialects::none().upal())
            .tenants(Tenants::Fixed(tenant))
            .body_limits(hub.settings.call_bodies)
            .build();
        Ok(endpoint.map_err(|error| unfit(&error))?)
    }
}

/// A node by itself. Upal's form has two methods, so there are no others.
struct Alone {
    gateway: Gateway,
    node: String,
}

macro_rules! absent {
    ($($method:ident($request:ty) -> $answer:ty;)*) => {
        $(
            fn $method(&self, _: CallContext, _: $request) -> Answer<'_, $answer> {
                let text = "a node takes messages and cancellations; ask its workflow";
                Box::pin(async move { Err(A2aError::new(ErrorKind::UnsupportedOperation, text)) })
            }
        )*
    };
}

impl A2aService for Alone {
    fn send_message(
        &self,
        ctx: CallContext,
        request: SendMessageRequest,
    ) -> Answer<'_, Shared<SendMessageResponse>> {
        Box::pin(self.gateway.call_node(ctx, &self.node, request))
    }

    fn cancel_task(
        &self,
        ctx: CallContext,
        request: CancelTaskRequest,
    ) -> Answer<'_, Shared<Task>> {
        Box::pin(self.gateway.cancel_node(ctx, request))
    }

    absent! {
        send_streaming_message(SendMessageRequest) -> Events;
        get_task(GetTaskRequest) -> Shared<Task>;
        list_tasks(ListTasksRequest) -> Shared<ListTasksResponse>;
        subscribe_to_task(SubscribeToTaskRequest) -> Events;
        create_push_config(TaskPushNotificationConfig) -> TaskPushNotificationConfig;
        get_push_config(GetTaskPushNotificationConfigRequest) -> TaskPushNotificationConfig;
        list_push_configs(ListTaskPushNotificationConfigsRequest)
            -> ListTaskPushNotificationConfigsResponse;
        delete_push_config(DeleteTaskPushNotificationConfigRequest) -> ();
        get_extended_card(GetExtendedAgentCardRequest) -> AgentCard;
    }
}
