//! The layer between the wire and the server, in which things go wrong.

use std::{
    convert::Infallible,
    fmt,
    future::{Future, pending},
    pin::Pin,
    sync::Arc,
    time::Duration,
};

use bytes::Bytes;
use http::{
    HeaderMap, HeaderValue, Request, Response, StatusCode,
    header::{CONTENT_LENGTH, CONTENT_TYPE, HeaderName, RETRY_AFTER},
    response::Parts,
};
use http_body_util::{BodyExt as _, Full};
use hyper::service::Service;
use nuncio_net::listen::{
    Incoming,
    body::{BodyLimits, Guarded},
};
use nuncio_protocol::{dialect::Offered, version::Version};
use nuncio_server::Front;

use super::{
    card::{Cards, is_card},
    document::{self, Asked, Kind},
    fault::{Faults, Moment, On, Plan},
    pause::Pause,
    stream::{self, Body},
};

const VERSION: HeaderName = HeaderName::from_static("a2a-version");

/// A server whose answers go wrong as a script says.
#[derive(Clone)]
pub(super) struct Faulty {
    server: Front,
    script: Arc<Wrong>,
}

/// What is wrong with a server.
#[derive(Debug)]
pub(super) struct Wrong {
    pub(super) faults: Faults,
    pub(super) cards: Option<Cards>,
    pub(super) offered: Offered,
}

impl Faulty {
    pub(super) fn new(server: Front, wrong: Wrong) -> Self {
        Self { server, script: Arc::new(wrong) }
    }

    async fn answer(self, request: Request<Incoming>) -> Response<Body> {
        if is_beside(request.uri().path()) {
            let Ok(response) = self.server.call(request).await;
            return response.map(boxed);
        }
        let (mut head, body) = request.into_parts();
        let Ok(body) = Guarded::new(body, BodyLimits::default()).collect().await else {
            return refusal(StatusCode::PAYLOAD_TOO_LARGE, None);
        };
        let is_card = is_card(head.uri.path());
        let offered = self.script.offered;
        let asked = Asked::find(&head.method, &head.uri, &head.headers, &body, offered);
        let on = match &asked {
            _ if is_card => Some(On::Card),
            asked => asked.as_ref().map(|asked| On::Operation(asked.operation)),
        };
        let mut plan = self.script.faults.happening(on, Moment::Request);
        if let Some(Pause(delay)) = plan.first(|does| does.delay) {
            tokio::time::sleep(delay).await;
        }
        if let Some(refusal) = refused(&plan) {
            return refusal;
        }
        if plan.any(|does| does.ignore_version) {
            pretend_to_know(&mut head.headers);
        }
        let response = match &self.script.cards {
            Some(cards) if is_card => shown(cards.find(head.uri.path(), &head.headers)),
            _ => {
                let answered = self.server.call(Request::from_parts(head, Full::new(body)));
                let Ok(response) = answered.await;
                response.map(boxed)
            }
        };
        if self.script.faults.is_empty() {
            return response;
        }
        let (head, body) = response.into_parts();
        if is_stream(&head) && !plan.is_empty() {
            let body = stream::change(body, asked, plan.clone());
            return finish(head, body, &plan).await;
        }
        if !is_json(&head) {
            return finish(head, body, &plan).await;
        }
        let Ok(body) = body.collect().await else {
            return refusal(StatusCode::INTERNAL_SERVER_ERROR, None);
        };
        // What the server writes is text.
        let text = String::from_utf8_lossy(&body.to_bytes()).into_owned();
        if head.status.is_client_error()
            || head.status.is_server_error()
            || document::is_error(&text)
        {
            plan.add(self.script.faults.happening(on, Moment::Error));
            if let Some(refusal) = refused(&plan) {
                return refusal;
            }
        }
        let text = document::change(&text, Kind::Answer, asked.as_ref(), &plan);
        finish(head, whole(text), &plan).await
    }
}

impl Service<Request<Incoming>> for Faulty {
    type Response = Response<Body>;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Response<Body>, Infallible>> + Send>>;

    fn call(&self, request: Request<Incoming>) -> Self::Future {
        let this = self.clone();
        Box::pin(async move { Ok(this.answer(request).await) })
    }
}

impl fmt::Debug for Faulty {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Faulty").field("script", &self.script).finish_non_exhaustive()
    }
}

/// Changes what is left of an answer: its head, its end, or all of it.
async fn finish(mut head: Parts, mut body: Body, plan: &Plan) -> Response<Body> {
    if plan.any(|does| does.silence) {
        if !is_stream(&head) {
            // Not even a head.
            pending::<()>().await;
        }
        body = stream::silent();
    }
    if let Some(garbage) = plan.first(|does| does.garbage.clone()) {
        body = whole(garbage);
    }
    if plan.any(|does| does.endless) {
        body = stream::endless();
    }
    if let Some(count) = plan.first(|does| does.cut_after_bytes) {
        body = stream::cut_after_bytes(body, count);
    }
    if !plan.is_empty() {
        head.headers.remove(CONTENT_LENGTH);
    }
    let content_type = plan.first(|does| does.content_type.as_deref());
    if let Some(value) = content_type.and_then(|text| HeaderValue::from_str(text).ok()) {
        head.headers.insert(CONTENT_TYPE, value);
    }
    let status = plan.first(|does| does.answer_status);
    if let Some(status) = status.and_then(|status| StatusCode::from_u16(status).ok()) {
        head.status = status;
    }
    Response::from_parts(head, body)
}

/// Refuses a request, if the plan says so.
fn refused(plan: &Plan) -> Option<Response<Body>> {
    let (status, retry_after) = plan.first(|does| Some((does.status?, does.retry_after)))?;
    let retry_after = retry_after.map(|Pause(time)| time);
    Some(refusal(StatusCode::from_u16(status).ok()?, retry_after))
}

fn refusal(status: StatusCode, retry_after: Option<Duration>) -> Response<Body> {
    let text = status.canonical_reason().unwrap_or("no");
    let mut response = Response::new(whole(text.to_owned()));
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/plain"));
    if let Some(time) = retry_after {
        let seconds = time.as_secs() + u64::from(time.subsec_nanos() > 0);
        headers.insert(RETRY_AFTER, HeaderValue::from(seconds));
    }
    response
}

fn shown(card: Bytes) -> Response<Body> {
    let mut response = Response::new(boxed(Full::new(card)));
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}

/// Takes a version that nobody knows for 1.0.
fn pretend_to_know(headers: &mut HeaderMap) {
    let version = headers.get(VERSION).and_then(|value| value.to_str().ok());
    if Version::requested(version).is_err() {
        headers.insert(VERSION, HeaderValue::from_static("1.0"));
    }
}

/// Tells whether a path is about the server and not about the agent: its health, its keys.
fn is_beside(path: &str) -> bool {
    let is_document = path.starts_with("/.well-known/") && !is_card(path);
    is_document || matches!(path, "/healthz" | "/readyz")
}

fn whole(text: String) -> Body {
    boxed(Full::new(Bytes::from(text)))
}

fn boxed<B>(body: B) -> Body
where
    B: http_body::Body<Data = Bytes> + Send + 'static,
    B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    body.map_err(Into::into).boxed_unsync()
}

fn is_stream(head: &Parts) -> bool {
    media_type(head).starts_with(b"text/event-stream")
}

fn is_json(head: &Parts) -> bool {
    let media_type = media_type(head);
    media_type.starts_with(b"application/") && media_type.ends_with(b"json")
}

fn media_type(head: &Parts) -> &[u8] {
    head.headers.get(CONTENT_TYPE).map_or(b"", HeaderValue::as_bytes)
}
