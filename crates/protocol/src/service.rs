//! The one interface of everything that can be called.

use std::{
    collections::BTreeSet,
    fmt,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
    time::Instant,
};

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
pub fn call(service: &dyn A2aService, ctx: CallContext, request: Request) -> Calling<'_> {
    match request {
        Request::SendMessage(request) => Calling::Send(service.send_message(ctx, request)),
        Request::SendStreamingMessage(request) => {
            Calling::Events(service.send_streaming_message(ctx, request))
        }
        Request::GetTask(request) => Calling::Task(service.get_task(ctx, request)),
        Request::ListTasks(request) => Calling::Tasks(service.list_tasks(ctx, request)),
        Request::CancelTask(request) => Calling::Task(service.cancel_task(ctx, request)),
        Request::SubscribeToTask(request) => {
            Calling::Events(service.subscribe_to_task(ctx, request))
        }
        Request::CreateTaskPushNotificationConfig(request) => {
            Calling::PushConfig(service.create_push_config(ctx, request))
        }
        Request::GetTaskPushNotificationConfig(request) => {
            Calling::PushConfig(service.get_push_config(ctx, request))
        }
        Request::ListTaskPushNotificationConfigs(request) => {
            Calling::PushConfigs(service.list_push_configs(ctx, request))
        }
        Request::DeleteTaskPushNotificationConfig(request) => {
            Calling::Deleted(service.delete_push_config(ctx, request))
        }
        Request::GetExtendedAgentCard(request) => {
            Calling::Card(service.get_extended_card(ctx, request))
        }
    }
}

/// A call that is under way. It has handed context and request to the service, and is small:
/// whoever waits for it carries neither of them.
#[must_use = "nothing is done unless it is awaited"]
pub enum Calling<'a> {
    /// A message.
    Send(Answer<'a, Shared<SendMessageResponse>>),
    /// Something about one task.
    Task(Answer<'a, Shared<Task>>),
    /// A page of tasks.
    Tasks(Answer<'a, Shared<ListTasksResponse>>),
    /// A stream.
    Events(Answer<'a, Events>),
    /// A webhook.
    PushConfig(Answer<'a, TaskPushNotificationConfig>),
    /// The webhooks of a task.
    PushConfigs(Answer<'a, ListTaskPushNotificationConfigsResponse>),
    /// The end of a webhook.
    Deleted(Answer<'a, ()>),
    /// A card.
    Card(Answer<'a, AgentCard>),
}

impl Future for Calling<'_> {
    type Output = Result<Outcome, Error>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let other = |response| Answered::Other(Box::new(response));
        let answer = match self.get_mut() {
            Self::Send(answer) => Answered::SendMessage(ready!(answer.as_mut().poll(cx))?),
            Self::Task(answer) => Answered::Task(ready!(answer.as_mut().poll(cx))?),
            Self::Tasks(answer) => Answered::Tasks(ready!(answer.as_mut().poll(cx))?),
            Self::Events(answer) => return answer.as_mut().poll(cx).map_ok(Outcome::Events),
            Self::PushConfig(answer) => {
                other(Response::PushConfig(ready!(answer.as_mut().poll(cx))?))
            }
            Self::PushConfigs(answer) => {
                other(Response::PushConfigs(ready!(answer.as_mut().poll(cx))?))
            }
            Self::Deleted(answer) => {
                ready!(answer.as_mut().poll(cx))?;
                other(Response::Deleted)
            }
            Self::Card(answer) => other(Response::Card(ready!(answer.as_mut().poll(cx))?)),
        };
        Poll::Ready(Ok(Outcome::Answer(answer)))
    }
}

impl fmt::Debug for Calling<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Calling")
    }
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
    /// When somebody stops waiting for whom the caller works. Whoever is called is told, and the
    /// call goes on all the same.
    pub waited_until: Option<Instant>,
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
            waited_until: None,
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
