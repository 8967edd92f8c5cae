//! The operations of A2A, as the gateway does them: judged, then handed to the engine.

use std::sync::Arc;

use futures_util::{StreamExt as _, stream};
use nuncio_protocol::{
    card::AgentCard,
    error::{Error, ErrorKind},
    json::Shared,
    operation::{
        CancelTaskRequest, DeleteTaskPushNotificationConfigRequest, GetExtendedAgentCardRequest,
        GetTaskPushNotificationConfigRequest, GetTaskRequest,
        ListTaskPushNotificationConfigsRequest, ListTaskPushNotificationConfigsResponse,
        ListTasksRequest, ListTasksResponse, Operation, SendMessageRequest, SubscribeToTaskRequest,
    },
    push::TaskPushNotificationConfig,
    service::{A2aService, Answer, CallContext, Events},
    task::{SendMessageResponse, Task},
};
use nuncio_tasks::engine::Sent;
use tokio::sync::watch;

use super::{Gateway, Inner, answer, forward, tree};
use crate::agent::Agent;

impl A2aService for Gateway {
    fn send_message(
        &self,
        ctx: CallContext,
        mut request: SendMessageRequest,
    ) -> Answer<'_, Shared<SendMessageResponse>> {
        Box::pin(async move {
            answer::unsign(&mut request.message);
            let (_, call) = self.0.judge_send(&ctx, Operation::SendMessage, &request).await?;
            Ok(match self.0.tasks.send(&call, request).await? {
                Sent::Task(task) => SendMessageResponse::of_task(&task),
                Sent::Message(message) => Shared::new(SendMessageResponse::Message(message)),
            })
        })
    }

    fn send_streaming_message(
        &self,
        ctx: CallContext,
        mut request: SendMessageRequest,
    ) -> Answer<'_, Events> {
        Box::pin(async move {
            answer::unsign(&mut request.message);
            let operation = Operation::SendStreamingMessage;
            let (_, call) = self.0.judge_send(&ctx, operation, &request).await?;
            let events = self.0.tasks.stream(&call, request).await?;
            Ok(self.0.while_allowed(ctx, events))
        })
    }

    fn get_task(&self, ctx: CallContext, request: GetTaskRequest) -> Answer<'_, Shared<Task>> {
        Box::pin(async move {
            let (_, call) = self.0.judge(&ctx, Some(Operation::GetTask), &[None])?;
            self.0.tasks.get(&call, request).await
        })
    }

    fn list_tasks(
        &self,
        ctx: CallContext,
        request: ListTasksRequest,
    ) -> Answer<'_, Shared<ListTasksResponse>> {
        Box::pin(async move {
            let (_, call) = self.0.judge(&ctx, Some(Operation::ListTasks), &[None])?;
            self.0.tasks.list(&call, request).await
        })
    }

    fn cancel_task(
        &self,
        ctx: CallContext,
        request: CancelTaskRequest,
    ) -> Answer<'_, Shared<Task>> {
        Box::pin(async move {
            let (_, call) = self.0.judge(&ctx, Some(Operation::CancelTask), &[None])?;
            tree::cancel(&self.0.tasks, &call, request).await
        })
    }

    fn subscribe_to_task(
        &self,
        ctx: CallContext,
        request: SubscribeToTaskRequest,
    ) -> Answer<'_, Events> {
        Box::pin(async move {
            let (_, call) = self.0.judge(&ctx, Some(Operation::SubscribeToTask), &[None])?;
            let events = self.0.tasks.subscribe(&call, request).await?;
            Ok(self.0.while_allowed(ctx, events))
        })
    }

    fn create_push_config(
        &self,
        ctx: CallContext,
        request: TaskPushNotificationConfig,
    ) -> Answer<'_, TaskPushNotificationConfig> {
        Box::pin(async move {
            let operation = Operation::CreateTaskPushNotificationConfig;
            let (_, call) = self.0.judge(&ctx, Some(operation), &[None])?;
            self.0.tasks.create_push_config(&call, request).await
        })
    }

    fn get_push_config(
        &self,
        ctx: CallContext,
        request: GetTaskPushNotificationConfigRequest,
    ) -> Answer<'_, TaskPushNotificationConfig> {
        Box::pin(async move {
            let operation = Operation::GetTaskPushNotificationConfig;
            let (_, call) = self.0.judge(&ctx, Some(operation), &[None])?;
            self.0.tasks.get_push_config(&call, request).await
        })
    }

    fn list_push_configs(
        &self,
        ctx: CallContext,
        request: ListTaskPushNotificationConfigsRequest,
    ) -> Answer<'_, ListTaskPushNotificationConfigsResponse> {
        Box::pin(async move {
            let operation = Operation::ListTaskPushNotificationConfigs;
            let (_, call) = self.0.judge(&ctx, Some(operation), &[None])?;
            self.0.tasks.list_push_configs(&call, request).await
        })
    }

    fn delete_push_config(
        &self,
        ctx: CallContext,
        request: DeleteTaskPushNotificationConfigRequest,
    ) -> Answer<'_, ()> {
        Box::pin(async move {
            let operation = Operation::DeleteTaskPushNotificationConfig;
            let (_, call) = self.0.judge(&ctx, Some(operation), &[None])?;
            self.0.tasks.delete_push_config(&call, request).await
        })
    }

    fn get_extended_card(
        &self,
        ctx: CallContext,
        _: GetExtendedAgentCardRequest,
    ) -> Answer<'_, AgentCard> {
        Box::pin(async move {
            let (agent, _) = self.0.judge(&ctx, Some(Operation::GetExtendedAgentCard), &[None])?;
            self.0.extended_card(&agent, ctx).await
        })
    }
}

/// A stream, and whose it is.
struct Following {
    inner: Arc<Inner>,
    ctx: CallContext,
    changes: watch::Receiver<u64>,
    /// `None` once it was cut.
    events: Option<Events>,
}

impl Inner {
    /// Cuts a stream when its reader may no longer see it.
    fn while_allowed(self: &Arc<Self>, ctx: CallContext, events: Events) -> Events {
        let (inner, changes) = (Arc::clone(self), self.directory.feed().changes());
        let following = Following { inner, ctx, changes, events: Some(events) };
        // Boxed, because it is handed back and forth with every event.
        Box::pin(stream::unfold(Box::new(following), |mut following| async move {
            let Following { inner, ctx, changes, events } = &mut *following;
            let reading = events.as_mut()?;
            let event = loop {
                tokio::select! {
                    biased;
                    event = reading.next() => break event?,
                    news = changes.changed() => news.ok()?,
                }
                if let Err(error) = inner.judge(ctx, None, &[None]) {
                    *events = None;
                    break Err(error);
                }
            };
            Some((event, following))
        }))
    }

    /// Asks the agent for what its card says to those it knows.
    async fn extended_card(
        &self,
        agent: &Arc<Agent>,
        ctx: CallContext,
    ) -> Result<AgentCard, Error> {
        let promises = agent
            .card
            .as_ref()
            .is_some_and(|card| card.card().capabilities.extended_agent_card == Some(true));
        if !promises {
            let text = "the agent has no extended card; its public one says all";
            return Err(Error::new(ErrorKind::UnsupportedOperation, text));
        }
        let line = self.lines.line(agent, &ctx.caller, None).await?;
        let request = GetExtendedAgentCardRequest { tenant: None };
        let card = line.get_extended_card(CallContext::new(ctx.caller.clone()), request).await;
        let card = card.map_err(|error| forward::told(error, agent))?;
        // It names places that are nobody's business but ours.
        let shown = self
            .front
            .get()
            .map(|front| front.extended(card, agent, |skill| self.may_use(&ctx, skill)));
        shown.transpose().ok().flatten().ok_or_else(|| {
            Error::new(ErrorKind::Internal, "the extended card cannot be shown through the hub")
        })
    }
}
