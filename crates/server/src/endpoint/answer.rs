//! From a request to the form it is in, the caller, and the call.

use std::{
    borrow::Cow,
    collections::BTreeSet,
    fmt,
    future::ready,
    net::SocketAddr,
    pin::Pin,
    sync::{Arc, OnceLock},
    task::{Context, Poll, ready},
};

use bytes::Bytes;
use futures_util::{
    FutureExt as _,
    future::{BoxFuture, Either},
};
use http::{
    Extensions, HeaderMap, HeaderName, HeaderValue, Method, Request, Response, StatusCode,
    header::{CONTENT_ENCODING, CONTENT_TYPE, WWW_AUTHENTICATE},
    request::Parts,
};
use http_body_util::BodyExt as _;
use hyper::body::Body as HttpBody;
use nuncio_auth::{Certificate, Gatekeeper, Identity, Presented, Refusal};
use nuncio_net::listen::{
    Peer,
    body::{BodyLimits, Guarded},
};
use nuncio_protocol::{
    dialect::{Incoming, Offered, Refused, WireForm, choose},
    error::{Error, ErrorKind, ErrorTable},
    grpc::{
        v1::a2a_service_server::A2aServiceServer as V1Server,
        v03::a2a_service_server::A2aServiceServer as V03Server,
    },
    http::Query,
    operation::{Request as A2aRequest, Response as A2aResponse},
    service::{A2aService, Answered, CallContext, Calling, Outcome, call},
    version::Version,
};
use tokio::sync::SemaphorePermit;
use tower_service::Service as _;

use super::{
    BoxError, Tenants,
    builder::ExtensionsOf,
    refuse::{body_error, not_allowed},
};
use crate::{
    body::Body,
    capacity::Capacity,
    card::{CardReaders, Cards},
    context,
    dialects::{Spoken, names},
    grpc::{Calls, V1, V03},
    jsonrpc, permits, rest,
    streams::Place,
};

/// The only version that the opportunity agents name in a header of their own.
const CAPABILITY_VERSION: HeaderName = HeaderName::from_static("a2a-protocol-version");

/// What an endpoint is made of.
pub(crate) struct Inner {
    pub(crate) name: String,
    pub(crate) service: Arc<dyn A2aService>,
    /// Where there is no card, there are no documents.
    pub(super) cards: Option<Cards>,
    pub(super) card_readers: CardReaders,
    pub(super) extensions: Known,
    pub(super) offered: Offered,
    pub(crate) dialects: Spoken,
    pub(super) tenants: Tenants,
    pub(super) gatekeeper: Option<Gatekeeper>,
    pub(super) table: ErrorTable,
    pub(super) body_limits: BodyLimits,
    pub(super) capacity: Capacity,
}

/// The extensions that are known.
pub(super) enum Known {
    /// Those on the card.
    Card(BTreeSet<String>),
    /// Those of the agent that is called.
    Lookup(Arc<ExtensionsOf>),
}

/// Where a call leaves the extensions that are active in it, for the head of the answer.
#[derive(Clone, Default)]
struct Active(Arc<OnceLock<HeaderValue>>);

impl Inner {
    /// Answers a request, whatever it is.
    pub(super) fn answer<B>(
        self: Arc<Self>,
        request: Request<B>,
    ) -> impl Future<Output = Response<Body>> + Send + use<B>
    where
        B: HttpBody<Data = Bytes> + Send + Unpin + 'static,
        B::Error: Into<BoxError>,
    {
        // Taken apart before anybody waits: otherwise there is room for both, whole and parts.
        let (mut head, body) = request.into_parts();
        async move {
            if let Some(error) = self.dialects.disabled() {
                return self.refuse_all(&head, &error);
            }
            if self.card_readers == CardReaders::Everybody
                && let Some(document) = self.document(&head)
            {
                return document;
            }
            let identity = match self.admit(&head).await {
                Ok(identity) => identity,
                Err(refusal) => return self.turn_away(&head, &refusal),
            };
            if self.card_readers == CardReaders::Admitted
                && let Some(document) = self.document(&head)
            {
                return document;
            }
            head.extensions.insert(identity);
            if context::wants_extensions(&head.headers) {
                head.extensions.insert(Active::default());
            }
            if is_grpc(&head.headers) {
                // Boxed: it is large, and every other request would carry its size around.
                return Box::pin(self.grpc(head, body)).await;
            }
            if let Err(error) = check_encoding(&head) {
                return self.refuse_early(&head, &error, StatusCode::UNSUPPORTED_MEDIA_TYPE);
            }
            let body = match Guarded::new(body, self.body_limits).collect().await {
                Ok(body) => body,
                Err(error) => return self.refuse_body(&head, &error),
            };
            let mut response = self.http(&head, &body).await;
            if response.status() == StatusCode::UNAUTHORIZED
                && let Some(challenge) = Refusal::Missing.challenge()
            {
                response.headers_mut().insert(WWW_AUTHENTICATE, challenge);
            }
            response
        }
    }

    /// Answers a request of which the body has been read. It is read at once: what is waited for
    /// holds nothing of it.
    fn http<'a>(
        &'a self,
        head: &'a Parts,
        body: &'a Bytes,
    ) -> impl Future<Output = Response<Body>> + Send + use<'a> {
        let (form, ctx) = match self.read(head, body) {
            Ok(read) => read,
            Err(response) => return Either::Left(ready(*response)),
        };
        let is_legacy = ctx.version.is_legacy();
        let answering = if form.json_rpc("").is_some() {
            Either::Left(jsonrpc::answer(self, form, ctx, head, body))
        } else {
            Either::Right(rest::answer(self, form, ctx, head, body).boxed())
        };
        Either::Right(answering.map(move |mut response| {
            if let Some(active) = Active::of(&head.extensions) {
                let headers = response.headers_mut();
                if is_legacy {
                    headers.insert(context::LEGACY_EXTENSIONS, active.clone());
                }
                headers.insert(context::EXTENSIONS, active);
            }
            response
        }))
    }

    /// Finds out which form a request is in, and what its head says about the call.
    fn read(
        &self,
        head: &Parts,
        body: &Bytes,
    ) -> Result<(WireForm, CallContext), Box<Response<Body>>> {
        let version = version(head);
        let incoming = Incoming {
            method: head.method.as_str(),
            path: head.uri.path(),
            version: version.as_deref(),
            capability_version: self.capability_version(&head.headers),
            body,
        };
        let refuse = |form, error: &Error| Box::new(self.refuse(form, head, body, error));
        let form = choose(&incoming, self.offered)
            .map_err(|Refused { form, error }| refuse(form, &error))?;
        if form.json_rpc("").is_some() && head.method != Method::POST {
            return Err(Box::new(not_allowed()));
        }
        check_media_type(head, body).map_err(|error| refuse(form, &error))?;
        let spoken = if is_v1(form) { Version::V1_0 } else { Version::V0_3 };
        let mut ctx = self.context(head, spoken).map_err(|error| refuse(form, &error))?;
        ctx.form = Some(form);
        Ok((form, ctx))
    }

    async fn grpc<B>(self: Arc<Self>, mut head: Parts, body: B) -> Response<Body>
    where
        B: HttpBody<Data = Bytes> + Send + Unpin + 'static,
        B::Error: Into<BoxError>,
    {
        let version = version(&head);
        let incoming = Incoming {
            method: head.method.as_str(),
            path: head.uri.path(),
            version: version.as_deref(),
            ..Incoming::default()
        };
        let (form, ctx) = match choose(&incoming, self.offered) {
            Ok(form @ (WireForm::V1Grpc | WireForm::V03Grpc)) => {
                let spoken = if is_v1(form) { Version::V1_0 } else { Version::V0_3 };
                match self.read_metadata(&head, spoken) {
                    Ok(ctx) => (form, CallContext { form: Some(form), ..ctx }),
                    Err(error) => return self.refuse_grpc(&error),
                }
            }
            Ok(_) => {
                let text = format!("no service at {}", incoming.path);
                return self.refuse_grpc(&Error::new(ErrorKind::MethodNotFound, text));
            }
            Err(refused) => return self.refuse_grpc(&refused.error),
        };
        let active = head.extensions.get::<Active>().cloned();
        let calls = Calls::new(Arc::clone(&self), ctx.version);
        head.extensions.insert(ctx);
        let path = head.uri.path().to_owned();
        let limit = usize::try_from(self.body_limits.bytes).unwrap_or(usize::MAX);
        let says = calls.clone();
        let body = Guarded::new(body, self.body_limits);
        let body = body.map_err(move |error| says.status(&body_error(&error)));
        let request = Request::from_parts(head, body);
        let explains = calls.clone();
        let answered = match form {
            WireForm::V1Grpc => {
                V1Server::new(V1(calls)).max_decoding_message_size(limit).call(request).await
            }
            _ => V03Server::new(V03(calls)).max_decoding_message_size(limit).call(request).await,
        };
        let Ok(response) = answered;
        let mut response = explains.explain(response, &path).map(Body::grpc);
        if let Some(active) = active.as_ref().and_then(|active| active.0.get()) {
            response.headers_mut().insert(context::EXTENSIONS, active.clone());
        }
        response
    }

    /// Reads what the head of a request says about a call.
    pub(super) fn context(&self, head: &Parts, spoken: Version) -> Result<CallContext, Error> {
        let identity = Sender::of(&head.extensions).identity()?;
        let mut ctx = context::read(&head.headers, identity, spoken)?;
        ctx.tenant = self.tenants.fixed().cloned();
        Ok(ctx)
    }

    /// Reads a call's context over gRPC, where only metadata can say what has no field.
    fn read_metadata(&self, head: &Parts, spoken: Version) -> Result<CallContext, Error> {
        let identity = Sender::of(&head.extensions).identity()?;
        let mut ctx = context::read(&head.headers, identity, spoken)?;
        let named = match self.tenants {
            Tenants::Any => None,
            _ => context::agent(&head.headers)?,
        };
        ctx.tenant = named.or_else(|| self.tenants.fixed().cloned());
        Ok(ctx)
    }

    /// Calls the agent, and makes room for a stream before it asks for one. What is waited for
    /// holds neither context nor request.
    pub(crate) fn call<'a>(
        &'a self,
        ctx: CallContext,
        request: A2aRequest,
        alias: Option<String>,
        sender: Sender<'a>,
    ) -> impl Future<Output = Result<(Outcome, Option<Place>), Error>> + Send + use<'a> {
        match self.begin(ctx, request, alias, sender) {
            Ok(begun) => Either::Left(begun),
            Err(error) => Either::Right(ready(Err(error))),
        }
    }

    fn begin<'a>(
        &'a self,
        mut ctx: CallContext,
        mut request: A2aRequest,
        alias: Option<String>,
        sender: Sender<'a>,
    ) -> Result<Begun<'a>, Error> {
        permits::check(sender.identity()?, &mut request)?;
        let is_nameless = self.tenants.fixed().is_some() && request.tenant().is_none();
        ctx.tenant = self.tenants.find(ctx.tenant, request.tenant())?;
        // However it was named: two requests that ask for the same are the same.
        request.set_tenant(ctx.tenant.clone());
        ctx.task_alias = alias;
        context::complete(&mut ctx, &request);
        let room = match request {
            // It makes room, so it needs none.
            A2aRequest::CancelTask(_) => None,
            _ => Some(self.capacity.call()?),
        };
        let place = if request.operation().is_streaming() {
            Some(self.capacity.stream(sender.identity()?, sender.peer)?)
        } else {
            None
        };
        let active = sender.active.map(|active| (active, self.active_extensions(&ctx)));
        let calling = match ctx.task_alias.clone() {
            None => Either::Left(call(&*self.service, ctx, request)),
            // Boxed: it is large, and every other call would carry its size around.
            Some(name) => Either::Right(names::call(&*self.service, ctx, request, name).boxed()),
        };
        Ok(Begun { calling, _room: room, place, active, is_nameless })
    }

    pub(crate) fn table(&self) -> ErrorTable {
        self.table
    }

    /// Says who calls: whom the listener has found, or else whom the gatekeeper lets in.
    async fn admit(&self, head: &Parts) -> Result<Arc<Identity>, Refusal> {
        if let Some(identity) = head.extensions.get::<Arc<Identity>>() {
            return Ok(Arc::clone(identity));
        }
        let Some(gatekeeper) = &self.gatekeeper else { return Err(Refusal::Missing) };
        let peer = head.extensions.get::<Peer>();
        // Nobody is at this address: whoever comes without a connection is a stranger.
        let address = peer.map_or_else(|| SocketAddr::from(([0, 0, 0, 0], 0)), Peer::address);
        let presented = Presented {
            headers: &head.headers,
            query: head.uri.query(),
            address,
            certificate: peer.and_then(Peer::certificate).map(Certificate::from),
        };
        gatekeeper.admit(presented).await.map(Arc::new)
    }

    /// Returns the version that an opportunity agent says, where they are answered.
    fn capability_version<'a>(&self, headers: &'a HeaderMap) -> Option<&'a str> {
        if !self.offered.opportunity {
            return None;
        }
        headers.get(CAPABILITY_VERSION).and_then(|value| value.to_str().ok())
    }

    /// Answers a request for a document, if it is one.
    fn document(&self, head: &Parts) -> Option<Response<Body>> {
        if !matches!(head.method, Method::GET | Method::HEAD) {
            return None;
        }
        let path = head.uri.path();
        let find = |cards: &Cards| cards.find(path, version(head).as_deref(), &head.headers);
        let card = self.cards.as_ref().and_then(find);
        card.or_else(|| self.dialects.health(path, self.capacity.is_draining()))
    }

    /// Returns the extensions that are active in a call: those that both sides know.
    fn active_extensions(&self, ctx: &CallContext) -> Option<HeaderValue> {
        let active = match &self.extensions {
            Known::Card(known) => join(known, &ctx.extensions),
            Known::Lookup(lookup) => join(&lookup(ctx), &ctx.extensions),
        };
        HeaderValue::try_from(active).ok().filter(|value| !value.is_empty())
    }
}

impl Active {
    fn of(extensions: &Extensions) -> Option<HeaderValue> {
        extensions.get::<Self>()?.0.get().cloned()
    }
}

/// A call that is under way, and the room that was made for it.
struct Begun<'a> {
    calling: Either<Calling<'a>, BoxFuture<'a, Result<Outcome, Error>>>,
    _room: Option<SemaphorePermit<'a>>,
    place: Option<Place>,
    active: Option<(&'a Active, Option<HeaderValue>)>,
    /// Whether the caller need not know of the tenant: the URL alone says it.
    is_nameless: bool,
}

impl Future for Begun<'_> {
    type Output = Result<(Outcome, Option<Place>), Error>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let mut outcome = ready!(self.calling.poll_unpin(cx))?;
        if self.is_nameless {
            forget_tenant(&mut outcome);
        }
        if let Some((Active(slot), Some(active))) = self.active.take() {
            // The first of several calls in one request has said it.
            let _ = slot.set(active);
        }
        Poll::Ready(Ok((outcome, self.place.take())))
    }
}

/// Who has sent a request, and over which connection.
#[derive(Clone, Copy)]
pub(crate) struct Sender<'a> {
    identity: Option<&'a Identity>,
    peer: Option<&'a Peer>,
    active: Option<&'a Active>,
}

impl<'a> Sender<'a> {
    /// Finds out from what the endpoint and the listener have left with a request.
    pub(crate) fn of(extensions: &'a Extensions) -> Self {
        let identity = extensions.get::<Arc<Identity>>();
        Self {
            identity: identity.map(AsRef::as_ref),
            peer: extensions.get(),
            active: extensions.get(),
        }
    }

    /// Forgets the connection.
    pub(crate) const fn without_peer(self) -> Self {
        Self { peer: None, ..self }
    }

    fn identity(&self) -> Result<&'a Identity, Error> {
        // The endpoint leaves it with every request. If it were missing, nothing is permitted.
        self.identity.ok_or_else(|| Error::new(ErrorKind::Internal, "nobody has sent the request"))
    }
}

impl fmt::Debug for Inner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Endpoint").field("name", &self.name).finish_non_exhaustive()
    }
}

/// Takes the tenant off what repeats the one in the request.
fn forget_tenant(outcome: &mut Outcome) {
    let Outcome::Answer(Answered::Other(answer)) = outcome else { return };
    match &mut **answer {
        A2aResponse::PushConfig(config) => config.tenant = None,
        A2aResponse::PushConfigs(page) => {
            page.configs.iter_mut().for_each(|config| config.tenant = None);
        }
        _ => {}
    }
}

fn join(known: &BTreeSet<String>, wanted: &BTreeSet<String>) -> String {
    known.intersection(wanted).map(String::as_str).collect::<Vec<_>>().join(", ")
}

fn is_v1(form: WireForm) -> bool {
    matches!(form, WireForm::V1 | WireForm::V1Http | WireForm::V1Grpc)
}

pub(super) fn is_grpc(headers: &HeaderMap) -> bool {
    headers.get(CONTENT_TYPE).is_some_and(|value| value.as_bytes().starts_with(b"application/grpc"))
}

/// Returns `A2A-Version`, from the header or else from the query.
fn version(head: &Parts) -> Option<Cow<'_, str>> {
    if let Some(value) = head.headers.get(&context::VERSION) {
        // What is no text is no version either.
        return Some(value.to_str().unwrap_or("?").into());
    }
    let query = Query::parse(head.uri.query()?);
    query.get("A2A-Version", "a2a-version").map(|value| value.to_owned().into())
}

/// Refuses compressed bodies: what they become has no limit.
fn check_encoding(head: &Parts) -> Result<(), Error> {
    let encoding = head.headers.get(CONTENT_ENCODING).and_then(|value| value.to_str().ok());
    match encoding {
        None => Ok(()),
        Some(encoding) if encoding.eq_ignore_ascii_case("identity") => Ok(()),
        Some(encoding) => {
            let text = format!("Content-Encoding: {encoding} is not read; send it plain");
            Err(Error::new(ErrorKind::ContentTypeNotSupported, text))
        }
    }
}

/// Refuses bodies that are no JSON.
fn check_media_type(head: &Parts, body: &[u8]) -> Result<(), Error> {
    if body.is_empty() {
        return Ok(());
    }
    let Some(given) = head.headers.get(CONTENT_TYPE) else { return Ok(()) };
    let given = given.to_str().unwrap_or("?");
    let essence = given.split(';').next().unwrap_or_default().trim();
    let suffix = essence.len().checked_sub("+json".len()).and_then(|at| essence.get(at..));
    if essence.eq_ignore_ascii_case("application/json")
        || suffix.is_some_and(|suffix| suffix.eq_ignore_ascii_case("+json"))
    {
        return Ok(());
    }
    let text = format!("Content-Type: {given} is not read; send application/json");
    Err(Error::new(ErrorKind::ContentTypeNotSupported, text))
}
