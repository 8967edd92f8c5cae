//! A peer that can be called like anything else.

use std::{sync::Arc, time::Duration};

use http::HeaderMap;
use nuncio_net::{Client, Clock, Error as NetError};
use nuncio_protocol::{
    operation::Request,
    service::{Answered, CallContext},
};
use tokio::time::{Instant, sleep};

use crate::{
    breaker::{Breaker, Outcome},
    credentials::{Credentials, prove},
    error::Error,
    interface::Interface,
    options::{Options, waits},
    peers::Identity,
    retry,
    service::unexpected,
    stream::Followed,
    transport::{self, Attempt, Frames, Opened, Prepared, Proof, Transport},
    watch::{Observer, Watching},
};

/// One interface of a peer, to be called by any number of callers at once. Cheap to clone.
///
/// It is an [`A2aService`](nuncio_protocol::service::A2aService), whose errors are those that a peer can see; [`Remote::call`] and
/// [`Remote::stream`] do the same with errors that say what happened.
#[derive(Clone, Debug)]
pub struct Remote {
    inner: Arc<Inner>,
    /// What proves who calls.
    credentials: Option<Arc<dyn Credentials>>,
    /// Who sees what goes over the wire.
    observer: Option<Arc<dyn Observer>>,
}

#[derive(Debug)]
struct Inner {
    transport: Transport,
    breaker: Breaker,
    options: Options,
}

/// What is asked of a peer.
struct Asked {
    prepared: Prepared,
    /// Whether the answer comes only when the task has ended.
    waits: bool,
    deadline: Option<Instant>,
    watching: Option<Watching>,
}

/// Options of a [`Remote`].
#[derive(Debug)]
#[must_use]
pub struct Builder {
    client: Client,
    interface: Interface,
    credentials: Option<Arc<dyn Credentials>>,
    options: Options,
}

impl Remote {
    /// Calls an interface without credentials, with default options.
    pub fn new(client: Client, interface: Interface) -> Self {
        Self::builder(client, interface).build()
    }

    /// Sets options first.
    pub fn builder(client: Client, interface: Interface) -> Builder {
        Builder { client, interface, credentials: None, options: Options::default() }
    }

    /// Returns the same peer for somebody else, who proves who they are with every call. How it
    /// fares is shared.
    #[must_use]
    pub fn on_behalf_of(&self, credentials: Option<Arc<dyn Credentials>>) -> Self {
        Self { credentials, ..self.clone() }
    }

    /// Returns the same peer, with somebody who sees what goes over the wire.
    #[must_use]
    pub fn watched_by(&self, observer: Option<Arc<dyn Observer>>) -> Self {
        Self { observer, ..self.clone() }
    }

    /// Returns the interface that is called.
    pub fn interface(&self) -> &Interface {
        self.inner.transport.interface()
    }

    /// Returns for how long the peer is left alone, if its breaker is open.
    pub fn rest(&self) -> Option<Duration> {
        self.inner.breaker.rest()
    }

    /// Makes a call that is answered once.
    pub fn call(
        &self,
        ctx: CallContext,
        request: Request,
    ) -> impl Future<Output = Result<Answered, Error>> + Send {
        // Written before anybody waits, so that whoever waits need not carry what was asked.
        let asked = self.ask(&ctx, request, None);
        drop(ctx);
        async move {
            match self.open(asked?).await? {
                Opened::Answer(response) => Ok(response),
                Opened::Frames(_) => Err(Error::Peer(unexpected())),
            }
        }
    }

    /// Tries once to make a call that is answered once. `None` if the peer has the request, and
    /// does not begin to answer within a moment. That says nothing about how it fares.
    pub fn call_briefly(
        &self,
        ctx: CallContext,
        request: Request,
        moment: Duration,
    ) -> impl Future<Output = Result<Option<Answered>, Error>> + Send {
        let asked = self.ask(&ctx, request, None);
        drop(ctx);
        async move {
            let mut asked = asked?;
            // There is no other attempt that would need them.
            let headers = std::mem::take(&mut asked.prepared.headers);
            match self.attempt(&asked, headers, Some(moment)).await {
                Ok(Opened::Answer(response)) => Ok(Some(response)),
                Ok(Opened::Frames(_)) => Err(Error::Peer(unexpected())),
                Err(error) if is_late(&error) => Ok(None),
                Err(error) => Err(error),
            }
        }
    }

    /// Makes a call that is answered with a stream, and resumes it when it breaks off.
    pub async fn stream(&self, ctx: CallContext, request: Request) -> Result<Followed, Error> {
        Followed::open(self.clone(), ctx, request).await
    }

    pub(crate) fn options(&self) -> &Options {
        &self.inner.options
    }

    /// Opens a stream once more, behind the event of an id.
    pub(crate) fn open_stream(
        &self,
        ctx: &CallContext,
        request: Request,
        last_id: Option<&[u8]>,
    ) -> impl Future<Output = Result<Frames, Error>> + Send + use<'_> {
        let asked = self.ask(ctx, request, last_id);
        async move {
            match self.open(asked?).await? {
                Opened::Frames(frames) => Ok(frames),
                Opened::Answer(_) => Err(Error::Peer(unexpected())),
            }
        }
    }

    /// Writes a request, for however many attempts.
    fn ask(
        &self,
        ctx: &CallContext,
        request: Request,
        last_id: Option<&[u8]>,
    ) -> Result<Box<Asked>, Error> {
        let Inner { transport, options, .. } = &*self.inner;
        let waits = waits(&request);
        let watching = self.observer.as_ref().map(|observer| Watching::new(observer, &request));
        let mut headers = transport::headers(ctx, transport.interface().form, request.operation());
        if !options.headers.is_empty() {
            headers.extend(options.headers.clone());
        }
        if options.forwards_identity {
            let identity = Identity::of(ctx, &request, &options.agent);
            identity.tell_in(Some(transport.interface().form), &mut headers);
        }
        let mut prepared = transport.prepare(request, headers)?;
        if let Some(id) = last_id.and_then(|id| http::HeaderValue::from_bytes(id).ok()) {
            prepared.headers.insert(transport::LAST_EVENT_ID, id);
        }
        let deadline = ctx.deadline.map(Instant::from_std);
        Ok(Box::new(Asked { prepared, waits, deadline, watching }))
    }

    async fn open(&self, asked: Box<Asked>) -> Result<Opened, Error> {
        let options = &self.inner.options;
        let mut attempts = 0;
        let mut may_prove_again = true;
        loop {
            attempts += 1;
            let headers = asked.prepared.headers.clone();
            let error = match self.attempt(&asked, headers, None).await {
                Ok(opened) => return Ok(opened),
                Err(error) => error,
            };
            if error.is_unauthenticated() && std::mem::take(&mut may_prove_again) {
                let credentials = self.credentials.as_ref();
                if credentials.is_some_and(|credentials| credentials.refused()) {
                    continue;
                }
            }
            let operation = asked.prepared.operation;
            let Some(pause) = options.retries.next(operation, &error, attempts, retry::random())
            else {
                return Err(error);
            };
            // Who cannot come back in time is told now.
            if asked.deadline.is_some_and(|end| Instant::now() + pause >= end) {
                return Err(error);
            }
            sleep(pause).await;
        }
    }

    /// Makes one attempt, whose answer is to begin within a moment if somebody says so.
    async fn attempt(
        &self,
        asked: &Asked,
        headers: HeaderMap,
        moment: Option<Duration>,
    ) -> Result<Opened, Error> {
        let Inner { transport, breaker, options } = &*self.inner;
        let Asked { prepared, waits, deadline, watching } = asked;
        let credentials = &self.credentials;
        let passage = breaker.ask().map_err(|until| Error::BreakerOpen { until })?;
        let timeouts = options.clocks.of(prepared.operation, *waits, *deadline)?;
        let timeouts = match moment {
            Some(moment) => timeouts.first_byte(moment),
            None => timeouts,
        };
        let proof = match credentials {
            None => None,
            Some(credentials) => {
                let mut headers = HeaderMap::new();
                let (guard, url) = (transport.guard(), prepared.url(transport.interface()));
                let url = prove(&**credentials, guard, url, &mut headers).await?;
                Some(Box::new(Proof { headers, url }))
            }
        };
        let attempt = Attempt { headers, proof, timeouts };
        let watched =
            watching.as_ref().map(|watching| transport.watch(watching, prepared, &attempt));
        let outcome = transport.send(prepared, attempt, watched.as_ref()).await;
        if let (Some(watched), Err(error)) = (&watched, &outcome) {
            watched.failed(error);
        }
        passage.tell(match &outcome {
            Err(error) if moment.is_some() && is_late(error) => Outcome::Unknown,
            Err(error) if error.is_failure_of_peer() => Outcome::Failed,
            Err(error) if error.is_unsent() => Outcome::Unknown,
            _ => Outcome::Answered,
        });
        outcome
    }
}

/// Tells whether a peer that has a request has not begun to answer in time.
const fn is_late(error: &Error) -> bool {
    matches!(error, Error::Net(NetError::Timeout { clock: Clock::FirstByte, .. }))
}

impl Builder {
    /// Proves with every request who we are.
    pub fn credentials(mut self, credentials: Arc<dyn Credentials>) -> Self {
        self.credentials = Some(credentials);
        self
    }

    /// Sets how the peer is called.
    pub fn options(mut self, options: Options) -> Self {
        self.options = options;
        self
    }

    /// Makes the peer callable. Nothing is sent yet.
    pub fn build(self) -> Remote {
        let Self { client, interface, credentials, options } = self;
        let transport = Transport::new(client, interface, &options.agent, options.limits);
        let breaker = Breaker::new(options.breaker);
        let inner = Arc::new(Inner { transport, breaker, options });
        Remote { inner, credentials, observer: None }
    }
}
