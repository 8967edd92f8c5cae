//! The way to agents by their URLs.

use std::{sync::Arc, time::Duration};

use futures_util::{StreamExt as _, stream};
use nuncio_client::{
    Agent, Client, Credentials, Find,
    discover::{Ask, Source},
};
use nuncio_net::Trust;
use nuncio_protocol::{
    error::Error as A2aError,
    json::Shared,
    operation::{GetTaskRequest, Request},
    service::{Answered, CallContext, Caller, Event, Events},
    task::{SendMessageResponse, StreamResponse, Task},
};
use tokio::time::sleep;

use super::ways::Told;

/// How often an agent that cannot stream is asked.
const POLL: Duration = Duration::from_secs(1);

/// Calls agents by their URLs.
pub(super) struct Outside {
    client: Client,
    trust: Trust,
    credentials: Option<Arc<dyn Credentials>>,
}

impl Outside {
    /// Calls on somebody's word; the client's guard knows what that is worth.
    pub(super) fn new(client: Client, trust: Trust) -> Self {
        Self { client, trust, credentials: None }
    }

    /// Proves who calls. The credential goes to its own origin and nowhere else.
    pub(super) fn credentials(mut self, credentials: Arc<dyn Credentials>) -> Self {
        self.credentials = Some(credentials);
        self
    }

    pub(super) async fn call(&self, url: &str, request: Request) -> Result<Answered, Told> {
        let agent = self.agent(url).await?;
        let called = Box::pin(agent.call(context(), request)).await;
        called.map_err(|error| A2aError::from(error).into())
    }

    pub(super) async fn follow(&self, url: &str, request: Request) -> Result<Events, Told> {
        let agent = self.agent(url).await?;
        let failed = |error| Told::from(A2aError::from(error));
        if agent.card().capabilities.streaming == Some(true) {
            let opened = Box::pin(agent.stream(context(), request)).await.map_err(failed)?;
            return Ok(Box::pin(opened.map(|event| event.map_err(A2aError::from))));
        }
        let task = match request {
            Request::SendStreamingMessage(request) => {
                let sent = Box::pin(agent.call(context(), Request::SendMessage(request))).await;
                let Answered::SendMessage(answer) = sent.map_err(failed)? else {
                    return Err(unexpected());
                };
                match nuncio_protocol::service::read(answer)? {
                    SendMessageResponse::Task(task) => task,
                    SendMessageResponse::Message(message) => {
                        let said = event(StreamResponse::Message(message));
                        return Ok(Box::pin(stream::iter([Ok(said)])));
                    }
                }
            }
            Request::SubscribeToTask(request) => {
                let asked =
                    GetTaskRequest { tenant: None, id: request.id, history_length: Some(0) };
                get(&agent, asked).await?
            }
            _ => return Err(unexpected()),
        };
        Ok(polled(agent, task))
    }

    async fn agent(&self, url: &str) -> Result<Agent, Told> {
        let mut ask = Ask::new(Source::url(url), self.trust);
        if let Some(credentials) = &self.credentials {
            ask = ask.credentials(Arc::clone(credentials));
        }
        let mut find = Find::new(ask);
        if let Some(credentials) = &self.credentials {
            find = find.credentials(Arc::clone(credentials));
        }
        let found = Box::pin(self.client.agent(find)).await;
        found.map_err(|error| A2aError::from(error).into())
    }
}

/// Asks for a task until it has ended or wants something, and tells how it stands each time.
fn polled(agent: Agent, task: Task) -> Events {
    let ask = move |last: Option<Task>| {
        let agent = agent.clone();
        async move {
            let last = last?;
            let state = last.status.state;
            if state.is_terminal() || state.is_interrupted() {
                return None;
            }
            sleep(POLL).await;
            let asked = GetTaskRequest { tenant: None, id: last.id, history_length: Some(0) };
            match get(&agent, asked).await {
                Ok(task) => Some((Ok(event(StreamResponse::Task(task.clone()))), Some(task))),
                Err(error) => Some((Err(error), None)),
            }
        }
    };
    let first = event(StreamResponse::Task(task.clone()));
    Box::pin(stream::iter([Ok(first)]).chain(stream::unfold(Some(task), ask)))
}

async fn get(agent: &Agent, request: GetTaskRequest) -> Result<Task, A2aError> {
    match Box::pin(agent.call(context(), Request::GetTask(request))).await? {
        Answered::Task(task) => nuncio_protocol::service::read(task),
        _ => Err(A2aError::new(nuncio_protocol::error::ErrorKind::Internal, UNEXPECTED)),
    }
}

const UNEXPECTED: &str = "the answer is not of its operation";

fn unexpected() -> Told {
    Told::new("INTERNAL", UNEXPECTED)
}

fn event(response: StreamResponse) -> Event {
    Event { seq: None, response: Shared::new(response) }
}

/// Nobody in particular calls: who we are is for credentials to prove.
fn context() -> CallContext {
    CallContext::new(Caller::Anonymous)
}
