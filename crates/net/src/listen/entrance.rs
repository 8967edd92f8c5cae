//! What every request passes before the service sees it.

use std::{
    convert::Infallible,
    future::{Ready, ready},
};

use futures_util::future::{Either as EitherFuture, FutureExt as _, Map};
use http::{HeaderValue, Request, Response, StatusCode, Version, header};
use http_body::Body;
use http_body_util::{Either, Empty};
use hyper::{body::Incoming, service::Service};

use super::Peer;

/// Tells the service who calls, and keeps back what no service should have to judge.
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
        if !self.peer.watch().is_clear() {
            return Some(StatusCode::BAD_REQUEST);
        }
        // HTTP/1 is held to it by hyper, HTTP/2 is not.
        if request.headers().len() > self.headers {
            return Some(StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE);
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

fn wrap<B: Body>(answer: Result<Response<B>, Infallible>) -> Result<Answer<B>, Infallible> {
    answer.map(|answer| answer.map(Either::Left))
}

impl<S, B> Service<Request<Incoming>> for Entrance<S>
where
    S: Service<Request<Incoming>, Response = Response<B>, Error = Infallible>,
    B: Body,
{
    type Response = Answer<B>;
    type Error = Infallible;
    type Future = EitherFuture<Map<S::Future, Wrap<B>>, Ready<Result<Self::Response, Infallible>>>;

    fn call(&self, mut request: Request<Incoming>) -> Self::Future {
        if let Some(status) = self.refusal(&request) {
            let mut response = Response::new(Either::Right(Empty::new()));
            *response.status_mut() = status;
            if request.version() < Version::HTTP_2 {
                response.headers_mut().insert(header::CONNECTION, CLOSE);
            }
            return EitherFuture::Right(ready(Ok(response)));
        }
        request.extensions_mut().insert(self.peer.clone());
        EitherFuture::Left(self.service.call(request).map(wrap))
    }
}
