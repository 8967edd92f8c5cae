//! A call to whoever does it best, and every later one to whoever has the task.

use std::{
    collections::HashMap,
    fmt,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use futures_util::StreamExt as _;
use nuncio_net::{Errand, Identity, Purpose};
use nuncio_protocol::{
    error::Error as ProtocolError,
    ids::TaskId,
    json::Shared,
    operation::{Request, SendMessageRequest},
    service::{Answered, CallContext, Events},
    task::{SendMessageResponse, StreamResponse},
};
use tokio::time::Instant;

use crate::{
    client::{Agent, Client, Find},
    error::Error,
    options::Options,
    peers::{Considered, Entry, Outcome, Peers, TaskOwners, Why, no_peer},
};

/// Calls the peers of a table: the best for a capability, or the one that has a task.
///
/// A peer that cannot be reached is passed over for the next, but only if the message surely
/// never got there. What is called is measured, so that the ranking learns. One router serves
/// any number of callers.
pub struct Router {
    client: Client,
    peers: Peers,
    owners: TaskOwners,
    options: Options,
    agents: Mutex<HashMap<String, (Arc<Entry>, Agent)>>,
}

/// An answer, and who gave it.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Routed<T> {
    /// The URL of the peer.
    pub peer: String,
    /// What it answered.
    pub answer: T,
}

impl Router {
    /// Calls the peers of a table.
    pub fn new(client: Client, peers: Peers) -> Self {
        Self::with_options(client, peers, Options::default())
    }

    /// Sets how all peers are called.
    pub fn with_options(client: Client, peers: Peers, options: Options) -> Self {
        let (owners, agents) = (TaskOwners::default(), Mutex::default());
        Self { client, peers, owners, options, agents }
    }

    /// Returns the table.
    pub const fn peers(&self) -> &Peers {
        &self.peers
    }

    /// Returns a peer by its URL, ready to be called. Fails if it is not one that may be (H-16).
    pub async fn agent(&self, url: &str) -> Result<Agent, Error> {
        let entry = self.peers.allowed(url)?;
        let key = entry.url().as_str().to_owned();
        if let Some((known, agent)) = self.agents().get(&key)
            && known.is_same_registration(&entry)
        {
            return Ok(agent.clone());
        }
        let options =
            Options { forwards_identity: entry.peer().forwards_identity(), ..self.options.clone() };
        let mut find = Find::new(entry.ask().clone()).terms(entry.terms()).options(options);
        if let Some(credentials) = entry.peer().proof() {
            find = find.credentials(Arc::clone(credentials));
        }
        if let Some(identity) = entry.peer().certificate() {
            self.identify(&entry, identity)?;
        }
        let agent = self.client.agent(find).await?;
        // One that is called without being in the table is not ranked either.
        self.peers.learn(url, &agent.card()).ok();
        if self.peers.get(url).is_some() {
            self.agents().insert(key, (entry, agent.clone()));
        }
        Ok(agent)
    }

    /// Reads the cards of all peers, so that the table knows what each of them offers. Returns
    /// what went wrong with which.
    pub async fn discover(&self) -> Vec<(String, Error)> {
        let mut failed = Vec::new();
        for entry in self.peers.all() {
            let url = entry.url().as_str().to_owned();
            if let Err(error) = self.agent(&url).await {
                self.peers.observe(&url, Outcome::Failed, Duration::ZERO);
                failed.push((url, error));
            }
        }
        failed
    }

    /// Sends a message: to the owner of the task that it names, else to the best peer for the
    /// capability.
    pub async fn send(
        &self,
        capability: &str,
        ctx: CallContext,
        request: SendMessageRequest,
    ) -> Result<Routed<Shared<SendMessageResponse>>, Error> {
        let sent = self.route(
            capability,
            ctx,
            Request::SendMessage(request),
            async |agent, ctx, request| agent.call(ctx, request).await,
        );
        let Routed { peer, answer } = Box::pin(sent).await?;
        let Answered::SendMessage(answer) = answer else {
            return Err(Error::Peer(crate::service::unexpected()));
        };
        if let Ok(SendMessageResponse::Task(task)) = answer.value() {
            self.owners.remember(&task.id, &peer);
        }
        Ok(Routed { peer, answer })
    }

    /// Sends a message in the same way, and follows what comes of it.
    pub async fn stream(
        self: &Arc<Self>,
        capability: &str,
        ctx: CallContext,
        request: SendMessageRequest,
    ) -> Result<Routed<Events>, Error> {
        let request = Request::SendStreamingMessage(request);
        let sent = self.route(capability, ctx, request, async |agent, ctx, request| {
            agent.stream(ctx, request).await
        });
        let Routed { peer, answer } = Box::pin(sent).await?;
        let (router, owner) = (Arc::clone(self), peer.clone());
        let events = answer.map(move |event| {
            if let Ok(event) = &event
                && let Ok(StreamResponse::Task(task)) = event.response.value()
            {
                router.owners.remember(&task.id, &owner);
            }
            event.map_err(ProtocolError::from)
        });
        Ok(Routed { peer, answer: Box::pin(events) })
    }

    /// Returns to whom a message would go, the best first, and who is left out and why: also
    /// those whom we leave alone since they failed.
    pub fn consider(&self, capability: &str) -> Considered {
        let agents = self.agents();
        self.peers.consider_with(capability, |url| agents.get(url)?.1.rest())
    }

    /// Makes a call about a task, to the peer that has it (HG-06).
    pub async fn about(&self, ctx: CallContext, request: Request) -> Result<Answered, Error> {
        let peer = self.owner(&request)?;
        Box::pin(self.observed(&peer, self.agent(&peer).await?.call(ctx, request))).await
    }

    /// Follows a task, at the peer that has it.
    pub async fn follow(&self, ctx: CallContext, request: Request) -> Result<Events, Error> {
        let peer = self.owner(&request)?;
        let agent = self.agent(&peer).await?;
        let followed = Box::pin(self.observed(&peer, agent.stream(ctx, request))).await?;
        Ok(Box::pin(followed.map(|event| event.map_err(ProtocolError::from))))
    }

    /// Says which peer has a task, when that is known from elsewhere.
    pub fn remember(&self, task: &TaskId, peer: &str) {
        self.owners.remember(task, peer);
    }

    /// Shows a certificate where a peer and its card are.
    fn identify(&self, entry: &Entry, identity: &Identity) -> Result<(), Error> {
        let net = self.client.net();
        for purpose in [Purpose::Card, Purpose::Agent] {
            let errand = Errand { purpose, trust: entry.trust() };
            net.identify(&net.guard().check_url(entry.url().as_str(), errand)?, identity.clone());
        }
        Ok(())
    }

    fn owner(&self, request: &Request) -> Result<Arc<str>, Error> {
        let unknown = |task: &TaskId| Error::Peer(ProtocolError::task_not_found(task));
        match task_of(request) {
            Some(task) => self.owners.owner(task)?.ok_or_else(|| unknown(task)),
            None => Err(Error::Peer(crate::service::unexpected())),
        }
    }

    async fn route<T>(
        &self,
        capability: &str,
        ctx: CallContext,
        request: Request,
        call: impl AsyncFn(Agent, CallContext, Request) -> Result<T, Error>,
    ) -> Result<Routed<T>, Error> {
        if task_of(&request).is_some() {
            let peer = self.owner(&request)?;
            let agent = self.agent(&peer).await?;
            let answer = self.observed(&peer, call(agent, ctx, request)).await?;
            return Ok(Routed { peer: peer.to_string(), answer });
        }
        let Considered { routes, left_out } = self.consider(capability);
        // Those who rest come last: their breakers say when to come back.
        let resting = left_out.iter().filter(|one| matches!(one.why, Why::Resting { .. }));
        let resting: Vec<String> = resting.map(|one| one.url.clone()).collect();
        if routes.is_empty() && resting.is_empty() {
            return Err(no_peer(capability, left_out).into());
        }
        let mut last = None;
        for peer in routes.into_iter().map(|route| route.url).chain(resting) {
            let attempt = async {
                let agent = self.agent(&peer).await?;
                call(agent, ctx.clone(), request.clone()).await
            };
            match self.observed(&peer, attempt).await {
                Ok(answer) => return Ok(Routed { peer, answer }),
                Err(error) if error.is_unsent() => last = Some(error),
                Err(error) => return Err(error),
            }
        }
        Err(last.unwrap_or(Error::DeadlineExceeded))
    }

    /// Tells the table how a call went.
    async fn observed<T>(
        &self,
        peer: &str,
        call: impl Future<Output = Result<T, Error>>,
    ) -> Result<T, Error> {
        let begun = Instant::now();
        let result = call.await;
        let outcome = match &result {
            Err(error) if error.is_failure_of_peer() || error.is_unsent() => Outcome::Failed,
            _ => Outcome::Answered,
        };
        self.peers.observe(peer, outcome, begun.elapsed());
        result
    }

    fn agents(&self) -> std::sync::MutexGuard<'_, HashMap<String, (Arc<Entry>, Agent)>> {
        self.agents.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Router {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Router").field("peers", &self.peers).finish_non_exhaustive()
    }
}

/// Returns the task that a request is about, if it is about one.
fn task_of(request: &Request) -> Option<&TaskId> {
    match request {
        Request::SendMessage(send) | Request::SendStreamingMessage(send) => {
            send.message.task_id.as_ref()
        }
        Request::GetTask(request) => Some(&request.id),
        Request::CancelTask(request) => Some(&request.id),
        Request::SubscribeToTask(request) => Some(&request.id),
        Request::CreateTaskPushNotificationConfig(request) => request.task_id.as_ref(),
        Request::GetTaskPushNotificationConfig(request) => Some(&request.task_id),
        Request::ListTaskPushNotificationConfigs(request) => Some(&request.task_id),
        Request::DeleteTaskPushNotificationConfig(request) => Some(&request.task_id),
        Request::ListTasks(_) | Request::GetExtendedAgentCard(_) => None,
    }
}
