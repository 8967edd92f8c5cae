//! What every request passes before the service sees it.

use std::{
    convert::Infallible,
    future::{Ready, ready},
};

use futures_util::future::{BoxFuture, Either as EitherFuture, FutureExt as _, Join, Map, join};
use http::{HeaderMap, HeaderValue, Method, Request, Response, StatusCode, Version, header};
use http_body::Body;
use http_body_util::{Either, Empty};
use hyper::{service::Service, upgrade::OnUpgrade};

use super::{Incoming, Peer, unread::Watched, watch::Phase};

/// Tells the service who calls, and keeps back what no service should have to judge.
#[derive(Clone)]
pub(super) struct Entrance<S> {
    service: S,
    peer: Peer,
    headers: usize,
}

impl<S> Entrance<S> {
    pub(super) fn new(service: S, peer: Peer, headers: usize) -> Self {
        Self { service, peer, headers }
    }

    fn refusal(&self, request: &Request<Incoming>) -> Option<StatusCode> {
        // HTTP/1 was held to it before, HTTP/2 was not.
        if request.headers().len() > self.headers {
            return Some(StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE);
        }
        // It would turn the connection into something else without saying into what.
        if request.method() == Method::CONNECT {
            return Some(StatusCode::METHOD_NOT_ALLOWED);
        }
        // Two names for one host would let a request be judged by one and routed by the other.
        let authority = request.uri().authority();
        let mut hosts = request.headers().get_all(header::HOST).iter();
        let host = hosts.next();
        let is_ambiguous = hosts.next().is_some()
            || authority.zip(host).is_some_and(|(authority, host)| {
                !authority.as_str().as_bytes().eq_ignore_ascii_case(host.as_bytes())
            });
        is_ambiguous.then_some(StatusCode::BAD_REQUEST)
    }
}

const CLOSE: HeaderValue = HeaderValue::from_static("close");

type Answer<B> = Response<Either<B, Empty<<B as Body>::Data>>>;
type Wrap<B> = fn(Result<Response<B>, Infallible>) -> Result<Answer<B>, Infallible>;
type Answered<B> = Result<Answer<B>, Infallible>;

/// Passes an answer on to somebody who did not ask for an upgrade.
fn wrap<B: Body>(answer: Result<Response<B>, Infallible>) -> Answered<B> {
    answer.map(|answer| match answer.status() {
        // To go on with HTTP after this would be to guess who speaks what.
        StatusCode::SWITCHING_PROTOCOLS => refuse(StatusCode::INTERNAL_SERVER_ERROR, true),
        _ => answer.map(Either::Left),
    })
}

/// Passes an answer on to somebody who asked for an upgrade.
///
/// If it is no upgrade, a proxy in between may still take it for one, and let through what is
/// then a request to us that it has not judged. So the connection ends with the answer.
fn wrap_upgrade<B: Body>(answer: Response<B>, peer: &Peer) -> Answer<B> {
    if answer.status() == StatusCode::SWITCHING_PROTOCOLS {
        peer.watch().enter(Phase::Upgraded);
        return answer.map(Either::Left);
    }
    let mut answer = answer.map(Either::Left);
    answer.headers_mut().insert(header::CONNECTION, CLOSE);
    answer
}

fn refuse<B: Body>(status: StatusCode, closes: bool) -> Answer<B> {
    let mut response = Response::new(Either::Right(Empty::new()));
    *response.status_mut() = status;
    if closes {
        response.headers_mut().insert(header::CONNECTION, CLOSE);
    }
    response
}

/// What a request wants besides an answer.
enum Wish {
    Nothing,
    /// To speak something else on this connection, and it may.
    Upgrade,
    /// The same, but it may not: it has a body, or is not a GET of HTTP/1.1.
    WrongUpgrade,
}

impl Wish {
    fn of<B>(request: &Request<B>) -> Self {
        let headers = request.headers();
        let Some(protocol) = headers.get(header::UPGRADE) else { return Self::Nothing };
        // Many clients offer HTTP/2 along with a request that they want answered.
        if request.version() >= Version::HTTP_2 || protocol.as_bytes().eq_ignore_ascii_case(b"h2c")
        {
            return Self::Nothing;
        }
        let is_fit = request.version() == Version::HTTP_11
            && request.method() == Method::GET
            && !has_body(headers);
        if is_fit { Self::Upgrade } else { Self::WrongUpgrade }
    }
}

/// Tells whether a request asks for an upgrade that it may have.
pub(super) fn wants_upgrade<B>(request: &Request<B>) -> bool {
    matches!(Wish::of(request), Wish::Upgrade)
}

fn has_body(headers: &HeaderMap) -> bool {
    headers.contains_key(header::TRANSFER_ENCODING)
        || headers.get(header::CONTENT_LENGTH).is_some_and(|length| length != "0")
}

/// What becomes of a request.
pub(super) type Answering<F, B> = EitherFuture<
    Map<F, Wrap<B>>,
    EitherFuture<Ready<Answered<B>>, BoxFuture<'static, Answered<B>>>,
>;

impl<S, B> Entrance<S>
where
    S: Service<Request<Incoming>, Response = Response<B>, Error = Infallible>,
    S::Future: Send + 'static,
    B: Body + 'static,
{
    /// Has a request answered, unless it must not be.
    pub(super) fn answer(&self, mut request: Request<Incoming>) -> Answering<S::Future, B> {
        if let Some(status) = self.refusal(&request) {
            let refused = refuse(status, request.version() < Version::HTTP_2);
            return EitherFuture::Right(EitherFuture::Left(ready(Ok(refused))));
        }
        request.extensions_mut().insert(self.peer.clone());
        let wish = Wish::of(&request);
        if !matches!(wish, Wish::Upgrade) {
            request.extensions_mut().remove::<OnUpgrade>();
        }
        match wish {
            Wish::Nothing => EitherFuture::Left(self.service.call(request).map(wrap)),
            Wish::Upgrade => {
                let (answer, peer) = (self.service.call(request), self.peer.clone());
                let answer =
                    answer.map(move |answer| answer.map(|answer| wrap_upgrade(answer, &peer)));
                EitherFuture::Right(EitherFuture::Right(answer.boxed()))
            }
            Wish::WrongUpgrade => {
                let answer = self.service.call(request).map(wrap);
                let answer = answer.map(|answer| {
                    answer.map(|mut answer| {
                        answer.headers_mut().insert(header::CONNECTION, CLOSE);
                        answer
                    })
                });
                EitherFuture::Right(EitherFuture::Right(answer.boxed()))
            }
        }
    }
}

type Watching<F, B> = Map<Join<Ready<Peer>, Answering<F, B>>, Watch<B>>;
type Watch<B> = fn((Peer, Answered<B>)) -> Result<WatchedAnswer<B>, Infallible>;
type WatchedAnswer<B> = Response<Watched<Either<B, Empty<<B as Body>::Data>>>>;

/// Has the connection's clock run while the reader of an answer takes nothing.
fn watch<B: Body>((peer, answer): (Peer, Answered<B>)) -> Result<WatchedAnswer<B>, Infallible> {
    answer.map(|answer| answer.map(|body| Watched::new(body, peer)))
}

/// What the library reads.
impl<S, B> Service<Request<hyper::body::Incoming>> for Entrance<S>
where
    S: Service<Request<Incoming>, Response = Response<B>, Error = Infallible>,
    S::Future: Send + 'static,
    B: Body + 'static,
{
    type Response = WatchedAnswer<B>;
    type Error = Infallible;
    type Future = Watching<S::Future, B>;

    fn call(&self, request: Request<hyper::body::Incoming>) -> Self::Future {
        let answering = self.answer(request.map(Incoming::library));
        join(ready(self.peer.clone()), answering).map(watch as Watch<B>)
    }
}
