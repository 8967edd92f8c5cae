//! A server: an agent, its engine, its endpoint and the listener before it.

mod builder;

use std::{
    convert::Infallible, error::Error as StdError, future::Future, io, net::SocketAddr, pin::Pin,
    time::Duration,
};

use bytes::Bytes;
use futures_util::FutureExt as _;
use http::{Method, Request, Response, StatusCode};
use hyper::{body::Body as HttpBody, service::Service};
use nuncio_net::listen::{Drain, Incoming, Listener, told_to_stop};
use nuncio_protocol::card::AgentCard;
use nuncio_tasks::engine::Tasks;

pub use builder::{Limits, Server};

use crate::{body::Body, capacity::Capacity, endpoint::Endpoint, respond};

/// Why a server could not start.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The address cannot be listened at.
    #[error("{0}")]
    Bind(#[source] io::Error),
    /// What it was told does not fit together.
    #[error("{0}")]
    Settings(String),
    /// The card cannot be signed.
    #[error("the card cannot be signed")]
    Signing(#[from] nuncio_protocol::card::sign::Error),
}

/// A server that has its addresses and does not answer yet.
#[derive(Debug)]
#[must_use = "it answers once `run` is called"]
pub struct Bound {
    listeners: Vec<Listener>,
    endpoint: Endpoint,
    card: AgentCard,
    tasks: Tasks,
    capacity: Capacity,
    drain: Drain,
    patience: Duration,
    url: String,
    local_url: String,
}

/// Stops a server from anywhere.
#[derive(Clone, Debug)]
pub struct Stopper {
    drain: Drain,
    patience: Duration,
}

impl Stopper {
    /// Begins to stop: no new connections; calls under way are answered; streams are told to
    /// resume.
    pub fn stop(&self) {
        self.drain.begin(self.patience);
    }

    /// Stops without waiting for anybody: calls and streams are cut, work is given back.
    pub fn stop_at_once(&self) {
        self.drain.begin(Duration::ZERO);
    }
}

impl Bound {
    /// Returns where it listens.
    pub fn address(&self) -> SocketAddr {
        // There is always the first.
        self.listeners
            .first()
            .map_or_else(|| SocketAddr::from(([127, 0, 0, 1], 0)), Listener::local_addr)
    }

    /// Returns the URL that the card tells callers.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Returns the URL of the address that it listens at.
    pub fn local_url(&self) -> &str {
        &self.local_url
    }

    /// Returns the public card.
    pub fn card(&self) -> &AgentCard {
        &self.card
    }

    /// Returns the engine, to look after tasks from beside the wire.
    pub fn tasks(&self) -> &Tasks {
        &self.tasks
    }

    /// Returns what stops it.
    pub fn stopper(&self) -> Stopper {
        Stopper { drain: self.drain.clone(), patience: self.patience }
    }

    /// Answers until the process is told to stop, by Ctrl-C or SIGTERM. Told once more, it waits
    /// for nobody.
    pub async fn run_until_told(self) {
        self.run_until_told_behind(|front| front).await;
    }

    /// Answers until the process is told to stop, behind a service that stands between the
    /// wire and everything that is answered here, and hands on to [`Front`] what it likes.
    pub async fn run_until_told_behind<S, B>(self, wrap: impl FnOnce(Front) -> S)
    where
        S: Service<Request<Incoming>, Response = Response<B>, Error = Infallible>,
        S: Clone + Send + Sync + 'static,
        S::Future: Send + 'static,
        B: HttpBody + Send + 'static,
        B::Data: Send,
        B::Error: Into<Box<dyn StdError + Send + Sync>>,
    {
        let stopper = self.stopper();
        let signals = tokio::spawn(async move {
            told_to_stop().await;
            tracing::info!("stopping");
            stopper.stop();
            told_to_stop().await;
            tracing::info!("stopping at once");
            stopper.stop_at_once();
        });
        self.run_behind(wrap).await;
        signals.abort();
    }

    /// Answers until it is stopped; returns when everything has ended.
    pub async fn run(self) {
        self.run_behind(|front| front).await;
    }

    async fn run_behind<S, B>(self, wrap: impl FnOnce(Front) -> S)
    where
        S: Service<Request<Incoming>, Response = Response<B>, Error = Infallible>,
        S: Clone + Send + Sync + 'static,
        S::Future: Send + 'static,
        B: HttpBody + Send + 'static,
        B::Data: Send,
        B::Error: Into<Box<dyn StdError + Send + Sync>>,
    {
        let watching = {
            let capacity = self.capacity.clone();
            tokio::spawn(async move { capacity.watch().await })
        };
        let service = wrap(Front { endpoint: self.endpoint, drain: self.drain.clone() });
        let mut serving = tokio::task::JoinSet::new();
        for listener in self.listeners {
            serving.spawn(listener.serve(service.clone(), self.drain.clone()));
        }
        // Work gets most of the time. Calls that wait for what does not end by then are answered
        // with the task as it stands, in the rest of it.
        let stopping = async {
            self.drain.begun().await;
            tokio::select! {
                () = self.tasks.stop(self.patience * 3 / 4) => {}
                () = self.drain.cut() => self.tasks.stop(Duration::ZERO).await,
            }
        };
        tokio::join!(stopping, async { while serving.join_next().await.is_some() {} });
        watching.abort();
    }
}

/// Answers every request of a server, whichever connection it came over.
#[derive(Clone, Debug)]
pub struct Front {
    endpoint: Endpoint,
    drain: Drain,
}

impl<B> Service<Request<B>> for Front
where
    B: HttpBody<Data = Bytes> + Send + Unpin + 'static,
    B::Error: Into<Box<dyn StdError + Send + Sync>>,
{
    type Response = Response<Body>;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Response<Body>, Infallible>> + Send>>;

    fn call(&self, request: Request<B>) -> Self::Future {
        if request.method() == Method::GET {
            match request.uri().path() {
                "/readyz" if self.drain.has_begun() => {
                    return ready(StatusCode::SERVICE_UNAVAILABLE);
                }
                "/healthz" | "/readyz" => return ready(StatusCode::OK),
                _ => {}
            }
        }
        Box::pin(self.endpoint.answer(request).map(Ok))
    }
}

fn ready(
    status: StatusCode,
) -> Pin<Box<dyn Future<Output = Result<Response<Body>, Infallible>> + Send>> {
    Box::pin(std::future::ready(Ok(respond::status(status))))
}
