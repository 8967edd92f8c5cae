//! Calls to whoever can do something: `~translate` in place of an agent's name.
//!
//! The best of those who offer it is called, and the next one if the message surely never got
//! there. A task stays with whoever has begun it.

use nuncio_auth::rules::Asker;
use nuncio_protocol::{
    card::AgentCard,
    error::{Error, ErrorKind, reason},
    ids::{AgentId, TaskId, Tenant},
    json::{Raw, Shared},
    operation::{
        CancelTaskRequest, DeleteTaskPushNotificationConfigRequest, GetExtendedAgentCardRequest,
        GetTaskPushNotificationConfigRequest, GetTaskRequest,
        ListTaskPushNotificationConfigsRequest, ListTaskPushNotificationConfigsResponse,
        ListTasksRequest, ListTasksResponse, SendMessageRequest, SubscribeToTaskRequest,
    },
    push::TaskPushNotificationConfig,
    service::{A2aService, Answer, CallContext, Caller, Events},
    task::{SendMessageResponse, Task},
};
use nuncio_server::dialects::SKILL_ID;
use nuncio_tasks::scope::{Name, Scope, caller_name};

use super::{Gateway, observe::Observed, queue::DELIVERY};
use crate::agent::Agent;

/// With which the name of a capability begins, and no agent's does.
pub(crate) const SIGN: char = '~';

/// A gateway that also finds whom to call.
#[derive(Clone, Debug)]
pub(crate) struct Routed {
    gateway: Gateway,
    observed: Observed,
}

impl Routed {
    pub(super) fn new(gateway: Gateway) -> Self {
        Self { observed: Observed::new(gateway.clone()), gateway }
    }

    /// Sends a message to one agent after the other, until one has got it.
    async fn send<T>(
        &self,
        capability: String,
        (ctx, request): (CallContext, SendMessageRequest),
        send: impl AsyncFn(&Observed, CallContext, SendMessageRequest) -> Result<T, Error>,
    ) -> Result<T, Error> {
        if let Some(task) = &request.message.task_id {
            let ctx = self.to_owner(&ctx, task).await?;
            return send(&self.observed, ctx, request).await;
        }
        let mut last = None;
        for name in self.candidates(&ctx, &capability)? {
            let mut ctx = ctx.clone();
            ctx.tenant = Some(name.clone());
            let mut request = request.clone();
            let organisation = self.gateway.0.organisation(&ctx)?;
            let agent =
                self.gateway.0.directory.state().find(&organisation, name.as_str()).cloned();
            if let Some(agent) = agent {
                name_skill(&mut request, &agent, &capability);
            }
            request.tenant = Some(name);
            match send(&self.observed, ctx, request).await {
                // Nobody has done anything yet.
                Err(error) if error.metadata().get(DELIVERY).is_some_and(|one| one == "none") => {
                    last = Some(error);
                }
                answer => return answer,
            }
        }
        Err(last.unwrap_or_else(|| nobody(&capability)))
    }

    /// Returns the names of those who can be called, the best first.
    fn candidates(&self, ctx: &CallContext, capability: &str) -> Result<Vec<Tenant>, Error> {
        let organisation = self.gateway.0.organisation(ctx)?;
        let id = match &ctx.caller {
            Caller::Agent(id) => Some(AgentId::parse(id).map_err(|_| nobody(capability))?),
            _ => None,
        };
        let asker = match (&ctx.caller, &id) {
            (_, Some(id)) => Asker::Agent { id, organisation: &organisation },
            (Caller::User(name), _) => Asker::User { name, organisation: &organisation },
            _ => Asker::Administrator { organisation: &organisation },
        };
        let ranking = self.gateway.rank(asker, capability);
        let names = ranking.ranked.iter().map(|ranked| Tenant::parse(ranked.agent.name.as_str()));
        Ok(names.filter_map(Result::ok).collect())
    }

    /// Calls whoever has the task, if it is one of the caller's.
    async fn to_owner(&self, ctx: &CallContext, task: &TaskId) -> Result<CallContext, Error> {
        if capability(ctx).is_none() {
            return Ok(ctx.clone());
        }
        let inner = &self.gateway.0;
        let unknown = || Error::task_not_found(task);
        let tenant = Name::parse(inner.organisation(ctx)?.as_str()).map_err(|_| unknown())?;
        let caller = caller_name(&ctx.caller).map_err(|_| unknown())?;
        let scope = Scope { tenant, agent: None, caller: Some(caller) };
        let kin = inner.tasks.kin(&scope, task).await?.ok_or_else(unknown)?;
        let mut ctx = ctx.clone();
        ctx.tenant = Tenant::parse(kin.place.agent.as_str()).ok();
        Ok(ctx)
    }
}

fn capability(ctx: &CallContext) -> Option<String> {
    Some(ctx.tenant.as_ref()?.as_str().strip_prefix(SIGN)?.to_owned())
}

/// Tells an agent which of its skills is meant, if the caller has not, and if it is not by a tag
/// that the agent was found (C-32).
pub(super) fn name_skill(request: &mut SendMessageRequest, agent: &Agent, capability: &str) {
    let told = [&request.metadata, &request.message.metadata];
    let is_named = told.into_iter().flatten().any(|told| told.get(SKILL_ID).is_some());
    let mut skills = agent.card.iter().flat_map(|card| &card.card().skills);
    if !is_named && skills.any(|skill| skill.id == capability) {
        let told = request.message.metadata.take().unwrap_or_default();
        request.message.metadata = Some(told.with(SKILL_ID, Raw::string(capability)));
    }
}

fn nobody(capability: &str) -> Error {
    let text = format!("nobody whom you may call offers `{capability}` now");
    Error::new(ErrorKind::Unavailable, text).with_reason(reason::AGENT_UNAVAILABLE)
}

/// Calls whoever has the task that a request names.
macro_rules! to_owner {
    ($($method:ident($request:ty, $task:ident) -> $answer:ty;)*) => {
        $(
            fn $method(&self, ctx: CallContext, request: $request) -> Answer<'_, $answer> {
                Box::pin(async move {
                    let mut request = request;
                    let ctx = self.to_owner(&ctx, &request.$task).await?;
                    request.tenant.clone_from(&ctx.tenant);
                    self.observed.$method(ctx, request).await
                })
            }
        )*
    };
}

impl A2aService for Routed {
    fn send_message(
        &self,
        ctx: CallContext,
        request: SendMessageRequest,
    ) -> Answer<'_, Shared<SendMessageResponse>> {
        // Nobody has to be found whom the caller has named.
        let Some(capability) = capability(&ctx) else {
            return self.observed.send_message(ctx, request);
        };
        Box::pin(self.send(capability, (ctx, request), async |gateway, ctx, request| {
            gateway.send_message(ctx, request).await
        }))
    }

    fn send_streaming_message(
        &self,
        ctx: CallContext,
        request: SendMessageRequest,
    ) -> Answer<'_, Events> {
        let Some(capability) = capability(&ctx) else {
            return self.observed.send_streaming_message(ctx, request);
        };
        Box::pin(self.send(capability, (ctx, request), async |gateway, ctx, request| {
            gateway.send_streaming_message(ctx, request).await
        }))
    }

    fn list_tasks(
        &self,
        ctx: CallContext,
        request: ListTasksRequest,
    ) -> Answer<'_, Shared<ListTasksResponse>> {
        Box::pin(async move {
            if capability(&ctx).is_some() {
                let text = "tasks are listed for one agent; name it";
                return Err(Error::new(ErrorKind::UnsupportedOperation, text));
            }
            self.observed.list_tasks(ctx, request).await
        })
    }

    fn create_push_config(
        &self,
        ctx: CallContext,
        mut request: TaskPushNotificationConfig,
    ) -> Answer<'_, TaskPushNotificationConfig> {
        Box::pin(async move {
            let ctx = match &request.task_id {
                Some(task) => self.to_owner(&ctx, task).await?,
                None => ctx,
            };
            request.tenant.clone_from(&ctx.tenant);
            self.observed.create_push_config(ctx, request).await
        })
    }

    fn get_extended_card(
        &self,
        ctx: CallContext,
        request: GetExtendedAgentCardRequest,
    ) -> Answer<'_, AgentCard> {
        Box::pin(async move {
            if capability(&ctx).is_some() {
                let text = "a capability has no extended card; name an agent";
                return Err(Error::new(ErrorKind::UnsupportedOperation, text));
            }
            self.observed.get_extended_card(ctx, request).await
        })
    }

    to_owner! {
        get_task(GetTaskRequest, id) -> Shared<Task>;
        cancel_task(CancelTaskRequest, id) -> Shared<Task>;
        subscribe_to_task(SubscribeToTaskRequest, id) -> Events;
        get_push_config(GetTaskPushNotificationConfigRequest, task_id) -> TaskPushNotificationConfig;
        list_push_configs(ListTaskPushNotificationConfigsRequest, task_id)
            -> ListTaskPushNotificationConfigsResponse;
        delete_push_config(DeleteTaskPushNotificationConfigRequest, task_id) -> ();
    }
}
