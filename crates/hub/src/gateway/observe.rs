//! The gateway with somebody who writes down what goes through it.
//!
//! Every call leaves one line and is counted, when its answer is there or its stream has ended;
//! and a call that is part of no trace begins one.

use std::{
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};

use futures_core::Stream;
use nuncio_protocol::{
    card::AgentCard,
    dialect::WireForm,
    error::{Error, ErrorKind},
    ids::{MessageId, TaskId, Tenant},
    json::Shared,
    operation::{
        CancelTaskRequest, DeleteTaskPushNotificationConfigRequest, GetExtendedAgentCardRequest,
        GetTaskPushNotificationConfigRequest, GetTaskRequest,
        ListTaskPushNotificationConfigsRequest, ListTaskPushNotificationConfigsResponse,
        ListTasksRequest, ListTasksResponse, Operation, SendMessageRequest, SubscribeToTaskRequest,
    },
    push::TaskPushNotificationConfig,
    service::{A2aService, Answer, CallContext, Event, Events},
    task::{SendMessageResponse, Task},
};
use nuncio_server::dialects::SKILL_ID;
use tokio::time::Instant;
use tracing::{Instrument as _, Span};

use super::{
    Gateway,
    gist::{self, Gist},
    trace,
};
use crate::{
    access::{self, AccessLine},
    agent::Agent,
    directory::Actor,
    metrics::{A2aRequest, Direction, Metrics, OpenStream, Status},
};

/// A gateway whose calls are written down.
#[derive(Clone, Debug)]
pub(crate) struct Observed(Gateway);

/// A call under way. Writes its line when it ends, or when nobody waits for its end any more.
struct UnderWay {
    metrics: Metrics,
    begun: Instant,
    operation: Operation,
    form: Option<WireForm>,
    /// Whom the caller has named, and the agent, if there is such an agent.
    named: Option<Tenant>,
    agent: Option<Arc<Agent>>,
    caller: Actor,
    capability: Option<String>,
    request_id: Option<MessageId>,
    trace_id: String,
    gist: Gist,
    span: Span,
    is_told: bool,
}

/// A stream under way.
struct Following {
    events: Events,
    call: Option<UnderWay>,
    _open: OpenStream,
}

impl Observed {
    pub(crate) fn new(gateway: Gateway) -> Self {
        Self(gateway)
    }

    /// Begins to watch a call, and gives it a trace if it has none.
    fn begin(&self, ctx: &mut CallContext, operation: Operation) -> UnderWay {
        let trace_id = ctx.trace.as_ref().and_then(trace::trace_id).map(str::to_owned);
        let trace_id = trace_id.unwrap_or_else(|| {
            let root = trace::root();
            let trace_id = trace::trace_id_of_root(&root).to_owned();
            ctx.trace = Some(root);
            trace_id
        });
        let inner = &self.0.0;
        let named = ctx.tenant.clone();
        let organisation = inner.organisation(ctx).ok();
        let state = inner.directory.state();
        let agent = organisation.as_ref().and_then(|all| state.callee(all, text(named.as_ref())));
        let name = called(agent, named.as_ref());
        UnderWay {
            metrics: inner.metrics.clone(),
            begun: Instant::now(),
            operation,
            form: ctx.form,
            caller: Actor::caller(&ctx.caller),
            capability: None,
            request_id: None,
            gist: Gist::default(),
            span: access::span(Some(operation), name, Some(&trace_id)),
            is_told: false,
            agent: agent.cloned(),
            named,
            trace_id,
        }
    }

    fn begin_send(
        &self,
        ctx: &mut CallContext,
        operation: Operation,
        request: &SendMessageRequest,
    ) -> UnderWay {
        let mut call = self.begin(ctx, operation);
        let message = &request.message;
        let mut named = [&message.metadata, &request.metadata].into_iter().flatten();
        call.capability = named.find_map(|metadata| metadata.get(SKILL_ID)?.as_text());
        call.request_id = Some(message.message_id.clone());
        call.gist.task = message.task_id.as_ref().map(|task| task.as_str().to_owned());
        call.gist.context = message.context_id.as_ref().map(|id| id.as_str().to_owned());
        call
    }

    fn begin_on(&self, ctx: &mut CallContext, operation: Operation, task: &TaskId) -> UnderWay {
        let mut call = self.begin(ctx, operation);
        call.gist.task = Some(task.as_str().to_owned());
        call
    }
}

impl UnderWay {
    /// Waits for an answer, and tells of it.
    async fn watch<T>(
        mut self,
        answer: Answer<'_, T>,
        about: impl FnOnce(&T) -> Gist,
    ) -> Result<T, Error> {
        let answer = answer.instrument(self.span.clone()).await;
        match &answer {
            Ok(answer) => {
                self.learn(about(answer));
                self.tell(Status::Success, None);
            }
            Err(error) => self.tell(status(error), Some(error)),
        }
        answer
    }

    /// Waits for a stream, and tells of its end.
    async fn follow(mut self, events: Answer<'_, Events>) -> Result<Events, Error> {
        let events = events.instrument(self.span.clone()).await;
        match events {
            Ok(events) => {
                let open = self.metrics.stream();
                Ok(Box::pin(Following { events, call: Some(self), _open: open }))
            }
            Err(error) => {
                self.tell(status(&error), Some(&error));
                Err(error)
            }
        }
    }

    /// Learns from an event of a stream. Pieces of results are most of them, and say no state.
    fn hear(&mut self, event: &[u8]) {
        if self.gist.task.is_none() || !event.starts_with(br#"{"artifactUpdate""#) {
            self.learn(gist::of(event));
        }
    }

    fn learn(&mut self, gist: Gist) {
        let Gist { task, context, state } = gist;
        self.gist.task = task.or_else(|| self.gist.task.take());
        self.gist.context = context.or_else(|| self.gist.context.take());
        self.gist.state = state.or(self.gist.state);
    }

    /// Writes the line, once.
    fn tell(&mut self, status: Status, error: Option<&Error>) {
        if std::mem::replace(&mut self.is_told, true) {
            return;
        }
        let duration = self.begun.elapsed();
        let (operation, form) = (Some(self.operation), self.form);
        let direction = Direction::Received;
        self.metrics.a2a_request(&A2aRequest { direction, operation, form, status, duration });
        let name = called(self.agent.as_ref(), self.named.as_ref());
        if let Some(agent) = &self.agent {
            self.metrics.agent_request((&agent.organisation, &agent.name), status, duration);
        }
        if let Some(error) = error {
            self.metrics.a2a_error(error.kind());
        }
        if let Some(task) = &self.gist.task {
            self.span.record("a2a.task.id", task);
        }
        self.span.record("status", status.as_str());
        self.span.in_scope(|| {
            AccessLine {
                direction,
                operation,
                form,
                caller: self.caller.as_str(),
                agent: name,
                capability: self.capability.as_deref(),
                request_id: self.request_id.as_ref().map(MessageId::as_str),
                duration,
                status,
                error: error.map(Error::reason),
                task_id: self.gist.task.as_deref(),
                context_id: self.gist.context.as_deref(),
                state: self.gist.state,
                trace_id: Some(&self.trace_id),
            }
            .log();
        });
    }
}

impl Drop for UnderWay {
    fn drop(&mut self) {
        self.tell(Status::Left, None);
    }
}

impl Stream for Following {
    type Item = Result<Event, Error>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let item = std::task::ready!(self.events.as_mut().poll_next(cx));
        match (&item, &mut self.call) {
            (Some(Ok(event)), Some(call)) => call.hear(event.response.json()),
            (Some(Err(error)), Some(call)) => call.tell(status(error), Some(error)),
            (None, Some(call)) => call.tell(Status::Success, None),
            (_, None) => {}
        }
        if item.is_none() {
            self.call = None;
        }
        Poll::Ready(item)
    }
}

/// Returns what an agent is called. Callers may name one by its id, or one that is not there.
fn called<'a>(agent: Option<&'a Arc<Agent>>, named: Option<&'a Tenant>) -> &'a str {
    agent.map_or_else(|| text(named), |agent| agent.name.as_str())
}

fn text(named: Option<&Tenant>) -> &str {
    named.map(Tenant::as_str).unwrap_or_default()
}

/// Tells how a call ended that ended with an error.
pub(super) fn status(error: &Error) -> Status {
    match error.kind() {
        ErrorKind::Unauthenticated | ErrorKind::PermissionDenied => Status::Denied,
        ErrorKind::Timeout => Status::Timeout,
        _ => Status::Error,
    }
}

fn nothing<T>(_: &T) -> Gist {
    Gist::default()
}

fn task(task: &Shared<Task>) -> Gist {
    gist::of(task.json())
}

impl A2aService for Observed {
    fn send_message(
        &self,
        mut ctx: CallContext,
        request: SendMessageRequest,
    ) -> Answer<'_, Shared<SendMessageResponse>> {
        let call = self.begin_send(&mut ctx, Operation::SendMessage, &request);
        let answer = self.0.send_message(ctx, request);
        Box::pin(call.watch(answer, |answer| gist::of(answer.json())))
    }

    fn send_streaming_message(
        &self,
        mut ctx: CallContext,
        request: SendMessageRequest,
    ) -> Answer<'_, Events> {
        let call = self.begin_send(&mut ctx, Operation::SendStreamingMessage, &request);
        Box::pin(call.follow(self.0.send_streaming_message(ctx, request)))
    }

    fn get_task(&self, mut ctx: CallContext, request: GetTaskRequest) -> Answer<'_, Shared<Task>> {
        let call = self.begin_on(&mut ctx, Operation::GetTask, &request.id);
        Box::pin(call.watch(self.0.get_task(ctx, request), task))
    }

    fn list_tasks(
        &self,
        mut ctx: CallContext,
        request: ListTasksRequest,
    ) -> Answer<'_, Shared<ListTasksResponse>> {
        let call = self.begin(&mut ctx, Operation::ListTasks);
        Box::pin(call.watch(self.0.list_tasks(ctx, request), nothing))
    }

    fn cancel_task(
        &self,
        mut ctx: CallContext,
        request: CancelTaskRequest,
    ) -> Answer<'_, Shared<Task>> {
        let call = self.begin_on(&mut ctx, Operation::CancelTask, &request.id);
        Box::pin(call.watch(self.0.cancel_task(ctx, request), task))
    }

    fn subscribe_to_task(
        &self,
        mut ctx: CallContext,
        request: SubscribeToTaskRequest,
    ) -> Answer<'_, Events> {
        let call = self.begin_on(&mut ctx, Operation::SubscribeToTask, &request.id);
        Box::pin(call.follow(self.0.subscribe_to_task(ctx, request)))
    }

    fn create_push_config(
        &self,
        mut ctx: CallContext,
        request: TaskPushNotificationConfig,
    ) -> Answer<'_, TaskPushNotificationConfig> {
        let call = self.begin(&mut ctx, Operation::CreateTaskPushNotificationConfig);
        Box::pin(call.watch(self.0.create_push_config(ctx, request), nothing))
    }

    fn get_push_config(
        &self,
        mut ctx: CallContext,
        request: GetTaskPushNotificationConfigRequest,
    ) -> Answer<'_, TaskPushNotificationConfig> {
        let operation = Operation::GetTaskPushNotificationConfig;
        let call = self.begin_on(&mut ctx, operation, &request.task_id);
        Box::pin(call.watch(self.0.get_push_config(ctx, request), nothing))
    }

    fn list_push_configs(
        &self,
        mut ctx: CallContext,
        request: ListTaskPushNotificationConfigsRequest,
    ) -> Answer<'_, ListTaskPushNotificationConfigsResponse> {
        let operation = Operation::ListTaskPushNotificationConfigs;
        let call = self.begin_on(&mut ctx, operation, &request.task_id);
        Box::pin(call.watch(self.0.list_push_configs(ctx, request), nothing))
    }

    fn delete_push_config(
        &self,
        mut ctx: CallContext,
        request: DeleteTaskPushNotificationConfigRequest,
    ) -> Answer<'_, ()> {
        let operation = Operation::DeleteTaskPushNotificationConfig;
        let call = self.begin_on(&mut ctx, operation, &request.task_id);
        Box::pin(call.watch(self.0.delete_push_config(ctx, request), nothing))
    }

    fn get_extended_card(
        &self,
        mut ctx: CallContext,
        request: GetExtendedAgentCardRequest,
    ) -> Answer<'_, AgentCard> {
        let call = self.begin(&mut ctx, Operation::GetExtendedAgentCard);
        Box::pin(call.watch(self.0.get_extended_card(ctx, request), nothing))
    }
}
