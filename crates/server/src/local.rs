//! An agent of this process as a service: the engine behind the terms of its card.

use std::{future::ready, sync::Arc};

use futures_util::TryFutureExt as _;
use nuncio_protocol::{
    card::AgentCard,
    error::{Error, ErrorKind},
    ids::TaskId,
    json::Shared,
    message::Message,
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
use nuncio_tasks::{
    agent::Asked,
    engine::{Call, Sent, Tasks},
    scope::{InvalidName, Name, Place, caller_name},
};
use tokio::time::Instant;

use crate::{dialects::names, terms::Terms};

/// Calls an agent that a task engine of this process runs.
#[derive(Clone, Debug)]
pub struct LocalAgent {
    tasks: Tasks,
    name: Name,
    /// Where tasks belong that no organisation and no tenant claims.
    nobody: Name,
    terms: Terms,
    extended: Option<Arc<AgentCard>>,
    promises_extended: bool,
}

impl LocalAgent {
    /// Calls the agent of this name, on the terms of its card.
    pub fn new(tasks: Tasks, name: Name, card: &AgentCard) -> Result<Self, InvalidName> {
        Ok(Self {
            tasks,
            name,
            nobody: Name::parse("default")?,
            terms: Terms::of(card),
            extended: None,
            promises_extended: card.capabilities.extended_agent_card == Some(true),
        })
    }

    /// Shows callers who have proved who they are a card with more on it.
    #[must_use]
    pub fn extended_card(mut self, card: AgentCard) -> Self {
        self.extended = Some(Arc::new(card));
        self
    }

    fn call(&self, ctx: &CallContext) -> Result<Call, Error> {
        let named = |field: &'static str| {
            move |error: InvalidName| {
                let text = error.to_string();
                Error::new(ErrorKind::InvalidParams, format!("{field}: {text}"))
                    .with_violation(field, text)
            }
        };
        let tenant = match (&ctx.organisation, &ctx.tenant) {
            (None, None) => self.nobody.clone(),
            // Lengths keep the two apart, whatever they contain.
            (organisation, tenant) => {
                let organisation = organisation.as_deref().unwrap_or_default();
                let tenant = tenant.as_ref().map_or("", |tenant| tenant.as_str());
                let name = format!("{}:{organisation}/{tenant}", organisation.len());
                Name::parse(&name).map_err(named("tenant"))?
            }
        };
        let caller = caller_name(&ctx.caller).map_err(named("caller"))?;
        let place = Place { tenant, agent: self.name.clone(), caller };
        Ok(Call {
            key: ctx.idempotency_key.clone(),
            version: ctx.version,
            last_event: ctx.last_event,
            wait: ctx.deadline.map(|deadline| {
                Instant::from_std(deadline).saturating_duration_since(Instant::now())
            }),
            asked: Asked {
                extensions: ctx.extensions.clone(),
                priority: ctx.priority,
                trace: ctx.trace.clone(),
                deadline: ctx.deadline,
                ..Asked::default()
            },
            parent: ctx.parent.clone(),
            ..Call::new(place)
        })
    }

    /// Finds the task that a message belongs to, if its caller calls that by a name (C-29): one
    /// that was begun under the name, one with this identifier, or else a new one.
    async fn address(
        &self,
        ctx: &CallContext,
        call: &mut Call,
        message: &mut Message,
    ) -> Result<(), Error> {
        let Some(name) = &ctx.task_alias else { return Ok(()) };
        if message.task_id.as_ref().is_some_and(|task| task.as_str() != name) {
            let text = "differs from the name of the task beside the message";
            return Err(Error::new(ErrorKind::InvalidParams, format!("message.taskId: {text}"))
                .with_violation("message.taskId", text));
        }
        let named = names::task_of(&call.place, name);
        if message.task_id.is_some() {
            message.task_id = Some(self.find(ctx, call, name_as_id(name)?).await?);
        } else if self.tasks.has(call, &named).await? {
            // With a key the request must stay what it was when it opened the task.
            match call.key {
                Some(_) => call.new_task = Some(named),
                None => message.task_id = Some(named),
            }
        } else {
            let id = name_as_id(name)?;
            if self.tasks.has(call, &id).await? {
                message.task_id = Some(id);
            } else {
                call.new_task = Some(named);
            }
        }
        Ok(())
    }

    /// Finds a task by its identifier, or by the name that its caller has given it.
    async fn find(&self, ctx: &CallContext, call: &Call, id: TaskId) -> Result<TaskId, Error> {
        let Some(name) = &ctx.task_alias else { return Ok(id) };
        let named = names::task_of(&call.place, name);
        Ok(if self.tasks.has(call, &named).await? { named } else { id })
    }
}

impl A2aService for LocalAgent {
    fn send_message(
        &self,
        ctx: CallContext,
        mut request: SendMessageRequest,
    ) -> Answer<'_, Shared<SendMessageResponse>> {
        let mut call = match self.terms.check_send(&ctx, &request).and_then(|()| self.call(&ctx)) {
            Ok(call) => call,
            Err(error) => return refused(error),
        };
        if ctx.task_alias.is_none() {
            return Box::pin(self.tasks.send(&call, request).map_ok(answer));
        }
        Box::pin(async move {
            self.address(&ctx, &mut call, &mut request.message).await?;
            self.tasks.send(&call, request).await.map(answer)
        })
    }

    fn send_streaming_message(
        &self,
        ctx: CallContext,
        mut request: SendMessageRequest,
    ) -> Answer<'_, Events> {
        let checked = self.terms.check_streaming();
        let checked = checked.and_then(|()| self.terms.check_send(&ctx, &request));
        let mut call = match checked.and_then(|()| self.call(&ctx)) {
            Ok(call) => call,
            Err(error) => return refused(error),
        };
        if ctx.task_alias.is_none() {
            return Box::pin(self.tasks.stream(&call, request));
        }
        Box::pin(async move {
            self.address(&ctx, &mut call, &mut request.message).await?;
            self.tasks.stream(&call, request).await
        })
    }

    fn get_task(&self, ctx: CallContext, mut request: GetTaskRequest) -> Answer<'_, Shared<Task>> {
        let call = match self.call(&ctx) {
            Ok(call) => call,
            Err(error) => return refused(error),
        };
        if ctx.task_alias.is_none() {
            return Box::pin(self.tasks.get(&call, request));
        }
        Box::pin(async move {
            request.id = self.find(&ctx, &call, request.id).await?;
            self.tasks.get(&call, request).await
        })
    }

    fn list_tasks(
        &self,
        ctx: CallContext,
        request: ListTasksRequest,
    ) -> Answer<'_, Shared<ListTasksResponse>> {
        Box::pin(async move { self.tasks.list(&self.call(&ctx)?, request).await })
    }

    fn cancel_task(
        &self,
        ctx: CallContext,
        mut request: CancelTaskRequest,
    ) -> Answer<'_, Shared<Task>> {
        Box::pin(async move {
            let call = self.call(&ctx)?;
            request.id = self.find(&ctx, &call, request.id).await?;
            self.tasks.cancel(&call, request).await
        })
    }

    fn subscribe_to_task(
        &self,
        ctx: CallContext,
        mut request: SubscribeToTaskRequest,
    ) -> Answer<'_, Events> {
        Box::pin(async move {
            self.terms.check_streaming()?;
            let call = self.call(&ctx)?;
            request.id = self.find(&ctx, &call, request.id).await?;
            self.tasks.subscribe(&call, request).await
        })
    }

    fn create_push_config(
        &self,
        ctx: CallContext,
        request: TaskPushNotificationConfig,
    ) -> Answer<'_, TaskPushNotificationConfig> {
        Box::pin(async move {
            self.terms.check_push()?;
            self.tasks.create_push_config(&self.call(&ctx)?, request).await
        })
    }

    fn get_push_config(
        &self,
        ctx: CallContext,
        request: GetTaskPushNotificationConfigRequest,
    ) -> Answer<'_, TaskPushNotificationConfig> {
        Box::pin(async move {
            self.terms.check_push()?;
            self.tasks.get_push_config(&self.call(&ctx)?, request).await
        })
    }

    fn list_push_configs(
        &self,
        ctx: CallContext,
        request: ListTaskPushNotificationConfigsRequest,
    ) -> Answer<'_, ListTaskPushNotificationConfigsResponse> {
        Box::pin(async move {
            self.terms.check_push()?;
            self.tasks.list_push_configs(&self.call(&ctx)?, request).await
        })
    }

    fn delete_push_config(
        &self,
        ctx: CallContext,
        request: DeleteTaskPushNotificationConfigRequest,
    ) -> Answer<'_, ()> {
        Box::pin(async move {
            self.terms.check_push()?;
            self.tasks.delete_push_config(&self.call(&ctx)?, request).await
        })
    }

    fn get_extended_card(
        &self,
        ctx: CallContext,
        _: GetExtendedAgentCardRequest,
    ) -> Answer<'_, AgentCard> {
        Box::pin(async move {
            if !self.promises_extended {
                let text = "the agent has no extended card; its public one says all";
                return Err(Error::new(ErrorKind::UnsupportedOperation, text));
            }
            if ctx.caller == Caller::Anonymous {
                let text = "the extended card is for callers who prove who they are";
                return Err(Error::new(ErrorKind::Unauthenticated, text));
            }
            let card = self.extended.as_deref().cloned();
            card.ok_or_else(|| {
                let text = "the agent promises an extended card and has none";
                Error::new(ErrorKind::ExtendedAgentCardNotConfigured, text)
            })
        })
    }
}

/// Says what came of a message.
fn answer(sent: Sent) -> Shared<SendMessageResponse> {
    match sent {
        Sent::Task(task) => SendMessageResponse::of_task(&task),
        Sent::Message(message) => Shared::new(SendMessageResponse::Message(message)),
    }
}

fn refused<'a, T: Send + 'a>(error: Error) -> Answer<'a, T> {
    Box::pin(ready(Err(error)))
}

fn name_as_id(name: &str) -> Result<TaskId, Error> {
    TaskId::parse(name)
        .map_err(|error| Error::new(ErrorKind::InvalidParams, format!("the task's name: {error}")))
}
