//! One interface of the agent, and what the cases ask of it.

use futures_util::{FutureExt as _, StreamExt as _, future::BoxFuture};
use nuncio_client::{Agent, Error, Followed, Interface, Remote};
use nuncio_net::{Client as NetClient, Errand, Purpose};
use nuncio_protocol::{
    dialect::WireForm,
    error::ErrorKind,
    ids::TaskId,
    message::{Message, Part},
    operation::{
        CancelTaskRequest, GetTaskRequest, Request, Response, SendMessageConfiguration,
        SendMessageRequest,
    },
    service::{Answered, CallContext, Caller},
    task::{Artifact, SendMessageResponse, StreamResponse, Task},
};

use crate::Failure;

/// What comes of a case; the error says what is wrong.
pub(crate) type Outcome = Result<(), Failure>;

/// Fails a case unless something holds.
macro_rules! ensure {
    ($holds:expr, $($problem:tt)+) => {
        if !$holds {
            return Err(format!($($problem)+).into());
        }
    };
}
pub(crate) use ensure;

/// One interface of the agent.
#[derive(Clone)]
pub(crate) struct Target {
    agent: Agent,
    net: NetClient,
    interface: Interface,
}

impl Target {
    pub(crate) fn new(net: NetClient, agent: Agent) -> Result<Self, Failure> {
        let interface = agent.interface().ok_or("the agent has no interface")?;
        Ok(Self { agent, net, interface })
    }

    pub(crate) const fn form(&self) -> WireForm {
        self.interface.form
    }

    /// Returns where the interface listens, as `host:port`.
    pub(crate) fn address(&self) -> String {
        format!("{}:{}", self.interface.url.host_text(), self.interface.url.port())
    }

    /// Returns the same interface, reached at another port.
    pub(crate) fn behind(&self, address: &str) -> Result<Remote, Failure> {
        let url = self.interface.url.as_str().replacen(&self.address(), address, 1);
        let url = self.net.guard().check_url(&url, Errand::administrator(Purpose::Agent))?;
        let interface = Interface { url, ..self.interface.clone() };
        Ok(Remote::new(self.net.clone(), interface))
    }

    /// Opens a stream. Boxed like the next: what it takes is large.
    pub(crate) fn open(&self, request: Request) -> BoxFuture<'_, Result<Followed, Error>> {
        self.agent.stream(nobody(), request).boxed()
    }

    fn answer(&self, request: Request) -> BoxFuture<'_, Result<Answered, Error>> {
        self.agent.call(nobody(), request).boxed()
    }

    pub(crate) async fn call(&self, request: Request) -> Result<Response, Failure> {
        Ok(self.answer(request).await?.into_response()?)
    }

    /// Sends a message that becomes a task.
    pub(crate) async fn send(&self, request: SendMessageRequest) -> Result<Task, Failure> {
        match self.call(Request::SendMessage(request)).await? {
            Response::SendMessage(SendMessageResponse::Task(task)) => Ok(task),
            other => Err(format!("no task, but {other:?}").into()),
        }
    }

    /// Begins a task, and comes back at once.
    pub(crate) async fn begin(&self, text: &str) -> Result<Task, Failure> {
        let mut request = saying(text);
        request.configuration =
            Some(SendMessageConfiguration { return_immediately: true, ..Default::default() });
        self.send(request).await
    }

    pub(crate) async fn get(&self, id: &TaskId) -> Result<Task, Failure> {
        let request = GetTaskRequest { tenant: None, id: id.clone(), history_length: None };
        match self.call(Request::GetTask(request)).await? {
            Response::Task(task) => Ok(task),
            other => Err(format!("no task, but {other:?}").into()),
        }
    }

    pub(crate) async fn cancel(&self, id: &TaskId) -> Result<Task, Failure> {
        match self.call(cancelling(id)).await? {
            Response::Task(task) => Ok(task),
            other => Err(format!("no task, but {other:?}").into()),
        }
    }

    /// Streams what becomes of a request to the end.
    pub(crate) async fn stream(&self, request: Request) -> Result<Vec<StreamResponse>, Failure> {
        all(self.open(request).await?).await
    }

    /// Makes a call that is to be refused, and fails if it is refused otherwise.
    pub(crate) async fn refuses(&self, request: Request, kind: ErrorKind) -> Outcome {
        let name = request.operation().name();
        let error = if request.operation().is_streaming() {
            match self.open(request).await {
                Err(error) => error,
                Ok(mut events) => match events.next().await {
                    Some(Err(error)) => error,
                    other => return Err(format!("{name} gives {other:?}").into()),
                },
            }
        } else {
            match self.answer(request).await {
                Err(error) => error,
                Ok(answer) => return Err(format!("{name} gives {answer:?}").into()),
            }
        };
        let found = error.peer().map(nuncio_protocol::error::Error::kind);
        ensure!(found == Some(kind), "{name} is refused with {}", told(&error));
        Ok(())
    }
}

/// Reads a stream to its end.
pub(crate) async fn all(mut events: Followed) -> Result<Vec<StreamResponse>, Failure> {
    let mut seen = Vec::new();
    while let Some(event) = events.next().await {
        seen.push(event?.response.value()?.clone());
    }
    Ok(seen)
}

/// Says what an error is, to those who look for the cause.
fn told(error: &Error) -> String {
    match error.peer() {
        Some(peer) => format!("{:?}: {peer}", peer.kind()),
        None => format!("{error:?}"),
    }
}

pub(crate) fn nobody() -> CallContext {
    CallContext::new(Caller::Anonymous)
}

pub(crate) fn saying(text: &str) -> SendMessageRequest {
    SendMessageRequest::new(Message::user(text))
}

pub(crate) fn cancelling(id: &TaskId) -> Request {
    Request::CancelTask(CancelTaskRequest { tenant: None, id: id.clone(), metadata: None })
}

/// The text of all artifacts of a task.
pub(crate) fn text_of(task: &Task) -> String {
    task.artifacts.iter().map(text_in).collect()
}

/// The text of an artifact, without anything between its parts.
pub(crate) fn text_in(artifact: &Artifact) -> String {
    artifact.parts.iter().filter_map(Part::as_text).collect()
}
