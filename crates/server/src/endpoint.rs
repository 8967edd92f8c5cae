//! One A2A service behind one URL.

mod answer;
mod builder;
mod refuse;
mod tenants;

use std::{
    convert::Infallible,
    fmt,
    future::Future,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};

use bytes::Bytes;
use futures_util::FutureExt as _;
use http::{Request, Response, Uri, request::Parts, uri::PathAndQuery};
use hyper::body::Body as HttpBody;
use nuncio_protocol::{
    error::{Error, ErrorKind},
    operation::Request as A2aRequest,
    service::{A2aService, Answered, CallContext, Events, Outcome},
    version::Version,
};
use tower_service::Service;

pub(crate) use self::answer::{Inner, Sender};
pub use self::{builder::Builder, tenants::Tenants};
use crate::{body::Body, capacity::Capacity};

type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// Answers requests for one [`A2aService`], below any path of any listener.
///
/// Whoever has the listener routes requests here, with paths as seen from the endpoint's own
/// URL: `/` for JSON-RPC, `/tasks/…` and `/v1/…` for HTTP, `/.well-known/agent-card.json` for the
/// card. Routers that nest services take the prefix off; [`answer_below`](Self::answer_below)
/// does so for others. gRPC has no prefix, so its paths have to come as they are.
///
/// # Who calls
///
/// If the [extensions](http::Extensions) of a request hold an `Arc<nuncio_auth::Identity>`, that
/// is who calls, and no gatekeeper is asked: the listener has found out. It must have done so by
/// a credential that it verified, and never puts there what a caller merely says. Otherwise the
/// endpoint's own [gatekeeper](Builder::gatekeeper) decides. Where there is neither, nobody is
/// let in.
///
/// # Example
///
/// ```
/// use std::sync::Arc;
///
/// use nuncio_auth::Gatekeeper;
/// use nuncio_net::listen::Drain;
/// use nuncio_protocol::{card::AgentCard, service::A2aService, time::Timestamp};
/// use nuncio_server::{Capacity, Endpoint, Error, StreamLimits};
///
/// fn routes(weather: Arc<dyn A2aService>, card: AgentCard) -> Result<axum::Router, Error> {
///     // All endpoints of a listener share it; the listener's owner runs `capacity.watch()`.
///     let capacity = Capacity::new(1_000, StreamLimits::default(), Drain::new());
///     let weather = Endpoint::builder("weather", weather, capacity)
///         .card(card, Timestamp::now())
///         .gatekeeper(Gatekeeper::open())
///         .build()?;
///     Ok(axum::Router::new().nest_service("/agents/weather", weather))
/// }
/// ```
///
/// Cheap to clone.
#[derive(Clone)]
pub struct Endpoint {
    inner: Arc<Inner>,
}

impl Endpoint {
    /// Answers for a service. The name is what dialects call the agent in which callers name it.
    pub fn builder(
        name: impl Into<String>,
        service: Arc<dyn A2aService>,
        capacity: Capacity,
    ) -> Builder {
        Builder::new(name.into(), service, capacity)
    }

    /// Answers a request, whatever it is.
    pub fn answer<B>(
        &self,
        request: Request<B>,
    ) -> impl Future<Output = Response<Body>> + Send + use<B>
    where
        B: HttpBody<Data = Bytes> + Send + Unpin + 'static,
        B::Error: Into<BoxError>,
    {
        Arc::clone(&self.inner).answer(request)
    }

    /// Answers a request whose path leads to the endpoint with so many segments: two, if the
    /// endpoint is at `/agents/weather`.
    pub fn answer_below<B>(
        &self,
        segments: usize,
        mut request: Request<B>,
    ) -> impl Future<Output = Response<Body>> + Send + use<B>
    where
        B: HttpBody<Data = Bytes> + Send + Unpin + 'static,
        B::Error: Into<BoxError>,
    {
        *request.uri_mut() = below(request.uri(), segments);
        self.answer(request)
    }

    /// Refuses a request whose path leads to the endpoint with so many segments, in a form that
    /// its sender reads: for listeners that find out themselves who calls, and do not let
    /// everybody in. The body is not looked at.
    pub fn refuse_below<B>(
        &self,
        segments: usize,
        request: Request<B>,
        error: &Error,
    ) -> Response<Body> {
        let (mut head, _) = request.into_parts();
        head.uri = below(&head.uri, segments);
        self.inner.refuse_at_the_door(&head, error)
    }

    /// Reads what the head of a request says about a call. Who calls must be in its extensions.
    pub fn context(&self, head: &Parts, version: Version) -> Result<CallContext, Error> {
        self.inner.context(head, version)
    }

    /// Makes a call that somebody else has read, by the rules for those that come as requests: for
    /// listeners with paths of their own. The context is one of [`context`](Self::context).
    ///
    /// Streams are for those who can count their readers: they are refused here.
    pub async fn call(
        &self,
        head: &Parts,
        ctx: CallContext,
        request: A2aRequest,
    ) -> Result<Answered, Error> {
        let streams =
            || Error::new(ErrorKind::UnsupportedOperation, "this is no place for streams");
        if request.operation().is_streaming() {
            return Err(streams());
        }
        let sender = Sender::of(&head.extensions);
        match self.inner.call(ctx, request, None, sender).await? {
            (Outcome::Answer(answer), _) => Ok(answer),
            (Outcome::Events(_), _) => Err(streams()),
        }
    }

    /// Opens a stream that somebody else has read, by the same rules as [`call`](Self::call): for
    /// those who read events in this process. It counts among the caller's streams while it
    /// lives, and ends with their credential and with the drain.
    pub async fn follow(
        &self,
        head: &Parts,
        ctx: CallContext,
        request: A2aRequest,
    ) -> Result<Events, Error> {
        let no_stream =
            || Error::new(ErrorKind::UnsupportedOperation, "this is a place for streams alone");
        if !request.operation().is_streaming() {
            return Err(no_stream());
        }
        // Nobody reads it from the connection: it is no reason to close that.
        let sender = Sender::of(&head.extensions).without_peer();
        match self.inner.call(ctx, request, None, sender).await? {
            (Outcome::Events(events), Some(place)) => Ok(place.follow(events).into_events()),
            _ => Err(no_stream()),
        }
    }
}

impl<B> Service<Request<B>> for Endpoint
where
    B: HttpBody<Data = Bytes> + Send + Unpin + 'static,
    B::Error: Into<BoxError>,
{
    type Response = Response<Body>;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Response<Body>, Infallible>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        Box::pin(self.answer(request).map(Ok))
    }
}

impl fmt::Debug for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.inner.fmt(f)
    }
}

/// Takes segments off the beginning of a path.
fn below(uri: &Uri, segments: usize) -> Uri {
    let mut path = uri.path();
    for _ in 0..segments {
        let Some(rest) = path.strip_prefix('/') else { break };
        path = rest.find('/').map_or("", |end| &rest[end..]);
    }
    let path = if path.is_empty() { "/" } else { path };
    let path = match uri.query() {
        Some(query) => format!("{path}?{query}"),
        None => path.to_owned(),
    };
    let mut parts = uri.clone().into_parts();
    parts.path_and_query = PathAndQuery::try_from(path).ok();
    // A part of a path is one, so this is a URI again.
    Uri::from_parts(parts).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(uri: &str, segments: usize, expected: &str) {
        let uri: Uri = uri.parse().unwrap();
        assert_eq!(below(&uri, segments).to_string(), expected);
    }

    #[test]
    fn a_prefix_is_taken_off_by_its_segments() {
        check("/agents/a", 2, "/");
        check("/agents/a/", 2, "/");
        check("/agents/a?x=1", 2, "/?x=1");
        check("/agents/a/tasks/1:cancel?x=%2F", 2, "/tasks/1:cancel?x=%2F");
        check("/agents/a%2Fb/tasks", 2, "/tasks");
        check("https://hub.example/agents/a/v1/card", 2, "https://hub.example/v1/card");
        check("https://hub.example", 2, "https://hub.example/");
        check("/agents", 2, "/");
        check("/tasks", 0, "/tasks");
        check("*", 2, "*");
        check("/agents/a//b/c", 2, "//b/c");
    }
}
