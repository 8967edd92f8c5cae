//! The one interface of everything that can be called.

use std::{collections::BTreeSet, fmt, pin::Pin, sync::Arc, time::Instant};

use bytes::Bytes;
use futures_core::Stream;

use crate::{
    card::AgentCard,
    dialect::WireForm,
    error::Error,
    ids::{TaskId, Tenant},
    json::{FromJson, Shared, ToJson, to_string},
    operation::{
        CancelTaskRequest, DeleteTaskPushNotificationConfigRequest, GetExtendedAgentCardRequest,
        GetTaskPushNotificationConfigRequest, GetTaskRequest,
        ListTaskPushNotificationConfigsRequest, ListTaskPushNotificationConfigsResponse,
        ListTasksRequest, ListTasksResponse, Request, Response, SendMessageRequest,
        SubscribeToTaskRequest,
    },
    push::TaskPushNotificationConfig,
    task::{SendMessageResponse, StreamResponse, Task},
    version::Version,
    wire::bad_answer,
};

/// The future of an answer.
pub type Answer<'a, T> = Pin<Box<dyn Future<Output = Result<T, Error>> + Send + 'a>>;

/// The events of a task. An error ends it.
pub type Events = Pin<Box<dyn Stream<Item = Result<Event, Error>> + Send>>;

/// One event of a stream.
#[derive(Clone, Debug, PartialEq)]
pub struct Event {
    /// The event's place in the task's log, if the service keeps one; a reader who comes back
    /// goes on behind it.
    pub seq: Option<u64>,
    /// What happened.
    pub response: Shared<StreamResponse>,
}

/// The eleven operations of A2A.
///
/// A local agent, a remote one behind a client, the gateway and a workflow are all this, so
/// anything can be registered, called, nested and proxied. Dropping an answer or a stream
/// ends the caller's interest, never the task. Tasks are answered as a value or as its text,
/// whichever is at hand: those who only pass them on look at neither.
pub trait A2aService: Send + Sync {
    /// Sends a message and waits for the answer.
    fn send_message(
        &self,
        ctx: CallContext,
        request: SendMessageRequest,
    ) -> Answer<'_, Shared<SendMessageResponse>>;

    /// Sends a message and follows what comes of it.
    fn send_streaming_message(
        &self,
        ctx: CallContext,
        request: SendMessageRequest,
    ) -> Answer<'_, Events>;

    /// Returns a task.
    fn get_task(&self, ctx: CallContext, request: GetTaskRequest) -> Answer<'_, Shared<Task>>;

    /// Returns the tasks the caller may see.
    fn list_tasks(
        &self,
        ctx: CallContext,
        request: ListTasksRequest,
    ) -> Answer<'_, Shared<ListTasksResponse>>;

    /// Asks for a task to end.
    fn cancel_task(&self, ctx: CallContext, request: CancelTaskRequest)
    -> Answer<'_, Shared<Task>>;

    /// Follows a task.
    fn subscribe_to_task(
        &self,
        ctx: CallContext,
        request: SubscribeToTaskRequest,
    ) -> Answer<'_, Events>;

    /// Registers a webhook for a task.
    fn create_push_config(
        &self,
        ctx: CallContext,
        request: TaskPushNotificationConfig,
    ) -> Answer<'_, TaskPushNotificationConfig>;

    /// Returns a webhook.
    fn get_push_config(
        &self,
        ctx: CallContext,
        request: GetTaskPushNotificationConfigRequest,
    ) -> Answer<'_, TaskPushNotificationConfig>;

    /// Returns all webhooks of a task.
    fn list_push_configs(
        &self,
        ctx: CallContext,
        request: ListTaskPushNotificationConfigsRequest,
    ) -> Answer<'_, ListTaskPushNotificationConfigsResponse>;

    /// Removes a webhook.
    fn delete_push_config(
        &self,
        ctx: CallContext,
        request: DeleteTaskPushNotificationConfigRequest,
    ) -> Answer<'_, ()>;

    /// Returns the card with what only known callers may see.
    fn get_extended_card(
        &self,
        ctx: CallContext,
        request: GetExtendedAgentCardRequest,
    ) -> Answer<'_, AgentCard>;
}

/// What comes back from [`call`].
pub enum Outcome {
    /// One answer.
    Answer(Answered),
    /// A stream of events.
    Events(Events),
}

/// One answer, as a value or as its text.
#[derive(Clone, Debug)]
pub enum Answered {
    /// To [`Request::SendMessage`].
    SendMessage(Shared<SendMessageResponse>),
    /// To [`Request::GetTask`] and [`Request::CancelTask`].
    Task(Shared<Task>),
    /// To [`Request::ListTasks`].
    Tasks(Shared<ListTasksResponse>),
    /// To everything else.
    Other(Box<Response>),
}

impl Answered {
    /// Returns the text of the answer in A2A 1.0.
    pub fn json(&self) -> Bytes {
        match self {
            Self::SendMessage(answer) => answer.json().clone(),
            Self::Task(task) => task.json().clone(),
            Self::Tasks(page) => page.json().clone(),
            Self::Other(response) => to_string(&**response).into(),
        }
    }

    /// Returns the answer as a value. Fails if it was a text and that is spoilt.
    pub fn into_response(self) -> Result<Response, Error> {
        Ok(match self {
            Self::SendMessage(answer) => Response::SendMessage(read(answer)?),
            Self::Task(task) => Response::Task(read(task)?),
            Self::Tasks(page) => Response::Tasks(read(page)?),
            Self::Other(response) => *response,
        })
    }
}

/// Returns an answer as a value. Fails if it was a text and that is spoilt.
pub fn read<T: FromJson + ToJson + Clone>(answer: Shared<T>) -> Result<T, Error> {
    answer.into_value().map_err(|error| bad_answer(&error))
}

impl fmt::Debug for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Answer(answer) => f.debug_tuple("Answer").field(answer).finish(),
            Self::Events(_) => f.write_str("Events(..)"),
        }
    }
}

/// Calls the operation that a request asks for.
pub async fn call(
    service: &dyn A2aService,
    ctx: CallContext,
    request: Request,
) -> Result<Outcome, Error> {
    let other = |response| Answered::Other(Box::new(response));
    let answer = match request {
        Request::SendMessage(request) => {
            Answered::SendMessage(service.send_message(ctx, request).await?)
        }
        Request::SendStreamingMessage(request) => {
            return service.send_streaming_message(ctx, request).await.map(Outcome::Events);
        }
        Request::GetTask(request) => Answered::Task(service.get_task(ctx, request).await?),
        Request::ListTasks(request) => Answered::Tasks(service.list_tasks(ctx, request).await?),
        Request::CancelTask(request) => Answered::Task(service.cancel_task(ctx, request).await?),
        Request::SubscribeToTask(request) => {
            return service.subscribe_to_task(ctx, request).await.map(Outcome::Events);
        }
        Request::CreateTaskPushNotificationConfig(request) => {
            other(Response::PushConfig(service.create_push_config(ctx, request).await?))
        }
        Request::GetTaskPushNotificationConfig(request) => {
            other(Response::PushConfig(service.get_push_config(ctx, request).await?))
        }
        Request::ListTaskPushNotificationConfigs(request) => {
            other(Response::PushConfigs(service.list_push_configs(ctx, request).await?))
        }
        Request::DeleteTaskPushNotificationConfig(request) => {
            service.delete_push_config(ctx, request).await?;
            other(Response::Deleted)
        }
        Request::GetExtendedAgentCard(request) => {
            other(Response::Card(service.get_extended_card(ctx, request).await?))
        }
    };
    Ok(Outcome::Answer(answer))
}

/// All that is known about a call besides the request itself.
#[derive(Clone, Debug)]
pub struct CallContext {
    /// Who calls, as a credential has proved.
    pub caller: Caller,
    /// The organisation the caller belongs to, if the credential names one. Nothing crosses it.
    pub organisation: Option<Arc<str>>,
    /// The agent that is called, behind a shared endpoint.
    pub tenant: Option<Tenant>,
    /// When the caller stops waiting.
    pub deadline: Option<Instant>,
    /// What goes first when not everything can.
    pub priority: Priority,
    /// The caller's place in a distributed trace.
    pub trace: Option<TraceContext>,
    /// The version of A2A the caller speaks.
    pub version: Version,
    /// The form in which the caller asked, if it came over the wire.
    pub form: Option<WireForm>,
    /// URIs of the extensions the caller wants.
    pub extensions: BTreeSet<String>,
    /// Two calls with the same key are one.
    pub idempotency_key: Option<String>,
    /// The last event a returning reader has seen.
    pub last_event: Option<u64>,
    /// The name by which the caller begins a task or asks for one, in forms in which callers name
    /// them (C-29).
    pub task_alias: Option<String>,
    /// The task because of which this call is made, if it sends a message (MD-39).
    pub parent: Option<TaskId>,
    /// Somebody for whom the caller acts: what either may do is allowed. Only those within the
    /// process say so, never the wire.
    pub on_behalf_of: Option<Caller>,
    /// The identifier of the task that a message to no task begins. Only those within the process
    /// say so, never the wire.
    pub new_task: Option<TaskId>,
}

impl CallContext {
    /// Calls as somebody, without any wishes.
    pub fn new(caller: Caller) -> Self {
        Self {
            caller,
            organisation: None,
            tenant: None,
            deadline: None,
            priority: Priority::Normal,
            trace: None,
            version: Version::V1_0,
            form: None,
            extensions: BTreeSet::new(),
            idempotency_key: None,
            last_event: None,
            task_alias: None,
            parent: None,
            on_behalf_of: None,
            new_task: None,
        }
    }
}

/// Who calls.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Caller {
    /// Nobody has proved who they are. Only where an endpoint is explicitly open.
    Anonymous,
    /// An agent known by this name.
    Agent(Arc<str>),
    /// A person or program known by this name.
    User(Arc<str>),
}

/// What goes first when not everything can (C-44).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Priority {
    /// When there is time.
    Low,
    /// In its turn.
    #[default]
    Normal,
    /// Before the others.
    High,
}

impl Priority {
    /// Reads the value of an `A2A-Priority` header (O-07).
    pub fn from_name(name: &str) -> Option<Self> {
        match name {
            "low" => Some(Self::Low),
            "normal" => Some(Self::Normal),
            "high" => Some(Self::High),
            _ => None,
        }
    }

    /// Returns the weight in a queue, larger first; 100 is reserved for the system.
    pub const fn weight(self) -> u8 {
        match self {
            Self::Low => 10,
            Self::Normal => 50,
            Self::High => 80,
        }
    }
}

/// A W3C trace context, passed on as it came.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TraceContext {
    /// The `traceparent` header.
    pub parent: String,
    /// The `tracestate` header; empty if there is none.
    pub state: String,
}
