//! Agents, found by where they are and called in whatever they speak.

use std::{
    fmt,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use arc_swap::ArcSwap;
use http::StatusCode;
use nuncio_net::Client as NetClient;
use nuncio_protocol::{
    card::AgentCard,
    error::{Error as ProtocolError, ErrorKind},
    operation::Request,
    service::{Answered, CallContext},
    task::Task,
};

use crate::{
    credentials::Credentials,
    discover::{Ask, CardCache, Found},
    error::Error,
    interface::Interface,
    negotiate::{Negotiated, Remembered, Terms, negotiate, next_after},
    options::Options,
    remote::Remote,
    stream::Followed,
    watch::Observer,
};

/// Finds agents and calls them. Cheap to clone; all clones share one cache of cards.
#[derive(Clone)]
pub struct Client {
    shared: Arc<Shared>,
}

struct Shared {
    net: NetClient,
    cards: CardCache,
    remembered: Remembered,
}

impl Client {
    /// Calls over an HTTP client, whose guard decides where calls may go.
    pub fn new(net: NetClient) -> Self {
        let cards = CardCache::new(net.clone());
        let remembered = Remembered::default();
        Self { shared: Arc::new(Shared { net, cards, remembered }) }
    }

    /// Returns the cards that were found.
    pub fn cards(&self) -> &CardCache {
        &self.shared.cards
    }

    /// Returns the HTTP client.
    pub fn net(&self) -> &NetClient {
        &self.shared.net
    }

    /// Finds an agent. Fails if it has no card, or none of its interfaces can be called.
    pub async fn agent(&self, find: Find) -> Result<Agent, Error> {
        let found = match &find.card {
            Wanted::Asked(ask) => self.shared.cards.get(ask).await?.found,
            Wanted::Given(found) => Arc::clone(found),
        };
        let known = Known::new(&found, &find.terms, &self.shared.net)?;
        Ok(Agent {
            credentials: find.credentials.clone(),
            observer: None,
            inner: Arc::new(Inner {
                client: self.clone(),
                find,
                known: ArcSwap::from_pointee(known),
                remotes: Mutex::default(),
            }),
        })
    }
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client").field("net", &self.shared.net).finish_non_exhaustive()
    }
}

/// Which agent, and how it is to be called.
#[derive(Clone, Debug)]
#[must_use]
pub struct Find {
    card: Wanted,
    terms: Terms,
    credentials: Option<Arc<dyn Credentials>>,
    options: Options,
}

/// Where the card comes from.
#[derive(Clone, Debug)]
enum Wanted {
    /// It is looked for, and looked at again when it is old.
    Asked(Ask),
    /// It is known, and stays as it is.
    Given(Arc<Found>),
}

impl Find {
    /// Looks for a card.
    pub fn new(ask: Ask) -> Self {
        Self::from(Wanted::Asked(ask))
    }

    /// Calls by a card that somebody else keeps. Nothing is fetched.
    pub fn known(found: Found) -> Self {
        Self::from(Wanted::Given(Arc::new(found)))
    }

    fn from(card: Wanted) -> Self {
        Self { card, terms: Terms::default(), credentials: None, options: Options::default() }
    }

    /// Sets what is wanted of the agent's interfaces.
    pub fn terms(mut self, terms: Terms) -> Self {
        self.terms = terms;
        self
    }

    /// Proves with every call who we are. Credentials go to the origin that they belong to, and
    /// nowhere else.
    pub fn credentials(mut self, credentials: Arc<dyn Credentials>) -> Self {
        self.credentials = Some(credentials);
        self
    }

    /// Sets how the agent is called.
    pub fn options(mut self, options: Options) -> Self {
        self.options = options;
        self
    }
}

/// An agent that was found, to be called by any number of callers at once. Cheap to clone.
///
/// It is an [`A2aService`](nuncio_protocol::service::A2aService); [`Agent::call`] and
/// [`Agent::stream`] do the same with errors that say what happened. A call goes to the best
/// interface of the card. If that does not take connections, or does not speak what the card
/// says, the next way is tried, and what worked is remembered; nothing is sent twice that could
/// have been acted on. The card is looked at again when it is old.
#[derive(Clone)]
pub struct Agent {
    inner: Arc<Inner>,
    /// What proves who calls.
    credentials: Option<Arc<dyn Credentials>>,
    /// Who sees what goes over the wire.
    observer: Option<Arc<dyn Observer>>,
}

struct Inner {
    client: Client,
    find: Find,
    known: ArcSwap<Known>,
    /// One for every interface that was ever called: each has its breaker.
    remotes: Mutex<Vec<Remote>>,
}

/// A card, and the ways to reach its agent.
struct Known {
    found: Arc<Found>,
    ways: Negotiated,
    /// Whether a call has succeeded, so that there is nothing left to be found out.
    is_proven: AtomicBool,
}

impl Known {
    fn new(found: &Arc<Found>, terms: &Terms, net: &NetClient) -> Result<Self, Error> {
        let ways = negotiate(found, terms, net.guard());
        ways.best()?;
        Ok(Self { found: Arc::clone(found), ways, is_proven: AtomicBool::new(false) })
    }
}

impl Agent {
    /// Returns the same agent for somebody else, who proves who they are with every call. What
    /// is known about the agent, and how it fares, is shared.
    #[must_use]
    pub fn on_behalf_of(&self, credentials: Option<Arc<dyn Credentials>>) -> Self {
        Self { credentials, ..self.clone() }
    }

    /// Returns the same agent, with somebody who sees what goes over the wire of its calls.
    #[must_use]
    pub fn watched_by(&self, observer: Arc<dyn Observer>) -> Self {
        Self { observer: Some(observer), ..self.clone() }
    }

    /// Returns the same agent, with nobody who sees what goes over the wire of its calls.
    #[must_use]
    pub fn unwatched(&self) -> Self {
        Self { observer: None, ..self.clone() }
    }

    /// Returns the card, as it was when the agent was last called.
    pub fn card(&self) -> AgentCard {
        self.inner.known.load().found.card.clone()
    }

    /// Returns the card and all that is known about it.
    pub fn found(&self) -> Arc<Found> {
        Arc::clone(&self.inner.known.load().found)
    }

    /// Returns the ways to reach the agent, and those that are none.
    pub fn ways(&self) -> Negotiated {
        self.inner.known.load().ways.clone()
    }

    /// Returns the interface that the next call goes to.
    pub fn interface(&self) -> Option<Interface> {
        let known = self.inner.known.load();
        let declared = known.ways.interfaces.first()?;
        Some(self.inner.client.shared.remembered.instead_of(declared))
    }

    /// Tells whether a call has succeeded, so that nothing is left to be found out about how the
    /// agent is called.
    pub fn is_proven(&self) -> bool {
        self.inner.known.load().is_proven.load(Ordering::Relaxed)
    }

    /// Returns for how long the interface that the next call goes to is left alone, if its
    /// breaker is open.
    pub fn rest(&self) -> Option<Duration> {
        let interface = self.interface()?;
        let remotes = self.inner.remotes.lock().unwrap_or_else(PoisonError::into_inner);
        remotes.iter().find(|remote| *remote.interface() == interface)?.rest()
    }

    /// Makes a call that is answered once.
    pub async fn call(&self, ctx: CallContext, request: Request) -> Result<Answered, Error> {
        self.reach(ctx, request, async |remote, ctx, request| remote.call(ctx, request).await).await
    }

    /// Tries once to make a call that is answered once, and no other way than the best. `None` if
    /// the agent has the request, and does not begin to answer within a moment.
    pub async fn call_briefly(
        &self,
        ctx: CallContext,
        request: Request,
        moment: Duration,
    ) -> Result<Option<Answered>, Error> {
        let known = self.known().await?;
        let interface = self.inner.client.shared.remembered.instead_of(known.ways.best()?);
        self.remote(&interface).call_briefly(ctx, request, moment).await
    }

    /// Makes a call that is answered with a stream, which is resumed when it breaks off.
    pub async fn stream(&self, ctx: CallContext, request: Request) -> Result<Followed, Error> {
        self.reach(ctx, request, async |remote, ctx, request| remote.stream(ctx, request).await)
            .await
    }

    /// Follows a task of which somebody knows how it once was, and tells what has happened
    /// since: behind `last_event` if the agent has numbered its events, otherwise the difference
    /// between then and now. `asks` is for agents that cannot be subscribed to.
    pub async fn follow(
        &self,
        ctx: CallContext,
        known: &Task,
        last_event: Option<u64>,
        asks: bool,
    ) -> Result<Followed, Error> {
        let ways = self.known().await?;
        let declared = ways.ways.best()?;
        let interface = self.inner.client.shared.remembered.instead_of(declared);
        Ok(Followed::again(self.remote(&interface), ctx, known, last_event, asks))
    }

    async fn reach<T>(
        &self,
        ctx: CallContext,
        request: Request,
        call: impl AsyncFn(Remote, CallContext, Request) -> Result<T, Error>,
    ) -> Result<T, Error> {
        let known = self.known().await?;
        let remembered = &self.inner.client.shared.remembered;
        let declared = known.ways.best()?;
        let first = remembered.instead_of(declared);
        if known.is_proven.load(Ordering::Relaxed) {
            return call(self.remote(&first), ctx, request).await;
        }
        let mut tried = vec![first];
        while let Some(interface) = tried.last() {
            let error = match call(self.remote(interface), ctx.clone(), request.clone()).await {
                Ok(answer) => {
                    remembered.remember(declared, interface);
                    known.is_proven.store(true, Ordering::Relaxed);
                    return Ok(answer);
                }
                Err(error) => error,
            };
            match next_way(&error, &tried, &known.ways.interfaces) {
                Some(next) => tried.push(next),
                None => return Err(error),
            }
        }
        Err(Error::DeadlineExceeded)
    }

    /// Returns what is known now: the cache decides when the card is looked at again.
    async fn known(&self) -> Result<Arc<Known>, Error> {
        let known = self.inner.known.load_full();
        let Wanted::Asked(ask) = &self.inner.find.card else { return Ok(known) };
        let Shared { net, cards, .. } = &*self.inner.client.shared;
        let cached = cards.get(ask).await?;
        if Arc::ptr_eq(&cached.found, &known.found) {
            return Ok(known);
        }
        let fresh = Arc::new(Known::new(&cached.found, &self.inner.find.terms, net)?);
        self.inner.known.store(Arc::clone(&fresh));
        Ok(fresh)
    }

    fn remote(&self, interface: &Interface) -> Remote {
        let mut remotes = self.inner.remotes.lock().unwrap_or_else(PoisonError::into_inner);
        let ours = |remote: &Remote| {
            remote.on_behalf_of(self.credentials.clone()).watched_by(self.observer.clone())
        };
        if let Some(remote) = remotes.iter().find(|remote| remote.interface() == interface) {
            return ours(remote);
        }
        let net = self.inner.client.shared.net.clone();
        let options = self.inner.find.options.clone();
        let remote = Remote::builder(net, interface.clone()).options(options).build();
        remotes.push(remote.clone());
        ours(&remote)
    }
}

impl fmt::Debug for Agent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Agent")
            .field("name", &self.inner.known.load().found.card.name)
            .field("interface", &self.interface())
            .finish_non_exhaustive()
    }
}

/// Returns where else to call after an error behind which nothing can have been done.
fn next_way(error: &Error, tried: &[Interface], offered: &[Interface]) -> Option<Interface> {
    let wrong_form = || ProtocolError::new(ErrorKind::MethodNotFound, "");
    match error {
        Error::Peer(error) => next_after(error, tried, offered),
        // Nobody there knows the path, so nobody has read what was asked.
        Error::Status { status, .. }
            if matches!(*status, StatusCode::NOT_FOUND | StatusCode::METHOD_NOT_ALLOWED) =>
        {
            next_after(&wrong_form(), tried, offered)
        }
        Error::Net(_) if error.is_unsent() => {
            offered.iter().find(|one| !tried.contains(one)).cloned()
        }
        _ => None,
    }
}
