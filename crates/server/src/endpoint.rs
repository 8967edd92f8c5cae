//! One agent behind one URL: from a request to the form it is in, the caller, and the call.

use std::{borrow::Cow, fmt, net::SocketAddr, sync::Arc};

use bytes::Bytes;
use http::{
    Extensions, HeaderMap, HeaderValue, Method, Request, Response, StatusCode,
    header::{ALLOW, CONTENT_ENCODING, CONTENT_TYPE, WWW_AUTHENTICATE},
    request::Parts,
};
use http_body_util::BodyExt as _;
use hyper::body::Body as HttpBody;
use nuncio_auth::{Certificate, Gatekeeper, Identity, Presented, Refusal};
use nuncio_net::listen::{
    Peer,
    body::{BodyError, BodyLimits, Guarded},
};
use nuncio_protocol::{
    dialect::{
        Incoming, Offered, Refused, WireForm, choose, is_endpoint, pocketpaw::PocketPawHttp,
    },
    error::{Error, ErrorKind, ErrorTable},
    grpc::{
        v1::a2a_service_server::A2aServiceServer as V1Server,
        v03::a2a_service_server::A2aServiceServer as V03Server,
    },
    http::Query,
    ids::Tenant,
    operation::Request as A2aRequest,
    service::{A2aService, CallContext, Outcome, call},
    version::Version,
};
use tokio::sync::Semaphore;
use tower_service::Service as _;

use crate::{
    body::Body,
    card::Cards,
    context,
    dialects::{Spoken, names},
    grpc::{Calls, V1, V03},
    jsonrpc, permits, respond, rest,
    streams::{Place, Streams},
    terms::Terms,
};

type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// The only version that the opportunity agents name in a header of their own.
const CAPABILITY_VERSION: &str = "a2a-protocol-version";

/// One agent behind one URL.
pub(crate) struct Endpoint {
    pub(crate) name: String,
    pub(crate) service: Arc<dyn A2aService>,
    pub(crate) terms: Terms,
    pub(crate) cards: Cards,
    pub(crate) offered: Offered,
    pub(crate) dialects: Spoken,
    /// The tenants that are served; all, if there are none.
    pub(crate) tenants: Vec<Tenant>,
    pub(crate) gatekeeper: Gatekeeper,
    pub(crate) table: ErrorTable,
    pub(crate) body_limits: BodyLimits,
    pub(crate) streams: Arc<Streams>,
    /// How many calls may be under way.
    pub(crate) room: Semaphore,
}

impl Endpoint {
    /// Answers a request, whatever it is.
    pub(crate) async fn answer<B>(self: Arc<Self>, request: Request<B>) -> Response<Body>
    where
        B: HttpBody<Data = Bytes> + Send + Unpin + 'static,
        B::Error: Into<BoxError>,
    {
        let (mut head, body) = request.into_parts();
        let path = head.uri.path();
        if let Some(error) = self.dialects.disabled() {
            return self.refuse_all(&head, &error);
        }
        if matches!(head.method, Method::GET | Method::HEAD) {
            let health = || self.dialects.health(path, self.streams.is_draining());
            let document = self.cards.find(path, &head.headers).or_else(health);
            if let Some(document) = document {
                return document;
            }
        }
        let identity = match self.admit(&head).await {
            Ok(identity) => Arc::new(identity),
            Err(refusal) => return self.turn_away(&head, &refusal),
        };
        head.extensions.insert(Arc::clone(&identity));
        if is_grpc(&head.headers) {
            // Boxed: it is large, and every other request would carry its size around.
            return Box::pin(self.grpc(head, body, &identity)).await;
        }
        if let Err(error) = check_encoding(&head) {
            return self.refuse_early(&head, &error, StatusCode::UNSUPPORTED_MEDIA_TYPE);
        }
        let body = match Guarded::new(body, self.body_limits).collect().await {
            Ok(body) => body,
            Err(error) => return self.refuse_body(&head, &error),
        };
        let mut response = self.http(&head, &body, &identity).await;
        if response.status() == StatusCode::UNAUTHORIZED
            && let Some(challenge) = Refusal::Missing.challenge()
        {
            response.headers_mut().insert(WWW_AUTHENTICATE, challenge);
        }
        response
    }

    /// Answers a request of which the body has been read.
    async fn http(&self, head: &Parts, body: &Bytes, identity: &Identity) -> Response<Body> {
        let path = head.uri.path();
        let version = version(head);
        let incoming = Incoming {
            method: head.method.as_str(),
            path,
            version: version.as_deref(),
            capability_version: header(&head.headers, CAPABILITY_VERSION),
            body,
        };
        let form = match choose(&incoming, self.offered) {
            Ok(form) => form,
            Err(Refused { form, error }) => return self.refuse(form, head, body, &error),
        };
        let is_json_rpc = form.json_rpc("").is_some();
        if is_json_rpc && head.method != Method::POST {
            return not_allowed();
        }
        if let Err(error) = check_media_type(head, body) {
            return self.refuse(form, head, body, &error);
        }
        let spoken = if is_v1(form) { Version::V1_0 } else { Version::V0_3 };
        let ctx = match context::read(&head.headers, identity, spoken) {
            Ok(ctx) => ctx,
            Err(error) => return self.refuse(form, head, body, &error),
        };
        let active = self.active_extensions(&ctx);
        let mut response = if is_json_rpc {
            jsonrpc::answer(self, form, ctx, head, body).await
        } else {
            Box::pin(rest::answer(self, form, ctx, head, path, body)).await
        };
        if let Some(active) = active {
            let headers = response.headers_mut();
            if spoken.is_legacy() {
                headers.insert(context::LEGACY_EXTENSIONS, active.clone());
            }
            headers.insert(context::EXTENSIONS, active);
        }
        response
    }

    async fn grpc<B>(
        self: Arc<Self>,
        mut head: Parts,
        body: B,
        identity: &Identity,
    ) -> Response<Body>
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
                match context::read(&head.headers, identity, spoken) {
                    Ok(ctx) => (form, ctx),
                    Err(error) => return self.refuse_grpc(&error),
                }
            }
            Ok(_) => {
                let text = format!("no service at {}", incoming.path);
                return self.refuse_grpc(&Error::new(ErrorKind::MethodNotFound, text));
            }
            Err(refused) => return self.refuse_grpc(&refused.error),
        };
        let active = self.active_extensions(&ctx);
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
        if let Some(active) = active {
            response.headers_mut().insert(context::EXTENSIONS, active);
        }
        response
    }

    /// Calls the agent, and makes room for a stream before it asks for one.
    pub(crate) async fn call(
        &self,
        mut ctx: CallContext,
        mut request: A2aRequest,
        alias: Option<String>,
        sender: Sender<'_>,
    ) -> Result<(Outcome, Option<Place>), Error> {
        permits::check(sender.identity()?, &mut request)?;
        ctx.tenant = request.tenant().cloned();
        ctx.task_alias = alias;
        self.check_tenant(ctx.tenant.as_ref())?;
        let _room = match request {
            // It makes room, so it needs none.
            A2aRequest::CancelTask(_) => None,
            _ => Some(self.room.try_acquire().map_err(|_| respond::busy())?),
        };
        let place = if request.operation().is_streaming() {
            Some(self.streams.admit(sender.identity()?, sender.peer)?)
        } else {
            None
        };
        let outcome = match ctx.task_alias.clone() {
            None => call(&*self.service, ctx, request).await?,
            // Boxed: it is large, and every other call would carry its size around.
            Some(name) => Box::pin(names::call(&*self.service, ctx, request, &name)).await?,
        };
        Ok((outcome, place))
    }

    pub(crate) fn table(&self) -> ErrorTable {
        self.table
    }

    async fn admit(&self, head: &Parts) -> Result<Identity, Refusal> {
        let peer = head.extensions.get::<Peer>();
        // Nobody is at this address: whoever comes without a connection is a stranger.
        let address = peer.map_or_else(|| SocketAddr::from(([0, 0, 0, 0], 0)), Peer::address);
        let presented = Presented {
            headers: &head.headers,
            query: head.uri.query(),
            address,
            certificate: peer.and_then(Peer::certificate).map(Certificate::from),
        };
        self.gatekeeper.admit(presented).await
    }

    fn check_tenant(&self, tenant: Option<&Tenant>) -> Result<(), Error> {
        if self.tenants.is_empty() || tenant.is_some_and(|tenant| self.tenants.contains(tenant)) {
            return Ok(());
        }
        let text = match tenant {
            Some(tenant) => format!("no tenant `{tenant}` is served here; the card lists them"),
            None => "must name one of the tenants on the card".to_owned(),
        };
        Err(Error::new(ErrorKind::InvalidParams, format!("tenant: {text}"))
            .with_violation("tenant", text))
    }

    fn active_extensions(&self, ctx: &CallContext) -> Option<HeaderValue> {
        if ctx.extensions.is_empty() {
            return None;
        }
        let active = self.terms.active(ctx).collect::<Vec<_>>().join(", ");
        HeaderValue::try_from(active).ok().filter(|value| !value.is_empty())
    }

    /// Refuses whoever asks, whatever they ask.
    fn refuse_all(&self, head: &Parts, error: &Error) -> Response<Body> {
        if is_grpc(&head.headers) {
            return self.refuse_grpc(error);
        }
        rest::refuse(&PocketPawHttp, &head.headers, error)
    }

    /// Refuses somebody who has not proved who they are, or may not come in.
    fn turn_away(&self, head: &Parts, refusal: &Refusal) -> Response<Body> {
        let error = refusal.to_error();
        let mut response = if is_grpc(&head.headers) {
            self.refuse_grpc(&error)
        } else {
            self.refuse_early(head, &error, refusal.status())
        };
        if let Some(challenge) = refusal.challenge() {
            response.headers_mut().insert(WWW_AUTHENTICATE, challenge);
        }
        response
    }

    fn refuse_body(&self, head: &Parts, error: &BodyError) -> Response<Body> {
        let status = match error {
            BodyError::TooLarge { .. } => StatusCode::PAYLOAD_TOO_LARGE,
            BodyError::TooSlow => StatusCode::REQUEST_TIMEOUT,
            _ => StatusCode::BAD_REQUEST,
        };
        let mut response = self.refuse_early(head, &body_error(error), status);
        // What is left of the body is not read.
        response.headers_mut().insert("connection", HeaderValue::from_static("close"));
        response
    }

    /// Refuses a request whose body is not looked at.
    fn refuse_early(&self, head: &Parts, error: &Error, status: StatusCode) -> Response<Body> {
        let form = if is_endpoint(head.uri.path()) { WireForm::V1 } else { WireForm::V1Http };
        let mut response = self.refuse(form, head, &[], error);
        *response.status_mut() = status;
        response
    }

    /// Refuses a request in a form its sender reads.
    fn refuse(&self, form: WireForm, head: &Parts, body: &[u8], error: &Error) -> Response<Body> {
        if let Some(rules) = form.json_rpc(&self.name) {
            return jsonrpc::refuse_unread(&*rules, body, error);
        }
        match self.dialects.http(form, self.table) {
            Some(rules) => rest::refuse(&*rules, &head.headers, error),
            None => self.refuse_grpc(error),
        }
    }

    fn refuse_grpc(&self, error: &Error) -> Response<Body> {
        error.to_tonic(self.table).into_http::<tonic::body::Body>().map(Body::grpc)
    }
}

/// Who has sent a request, and over which connection.
#[derive(Clone, Copy)]
pub(crate) struct Sender<'a> {
    identity: Option<&'a Identity>,
    peer: Option<&'a Peer>,
}

impl<'a> Sender<'a> {
    /// Finds out from what the endpoint and the listener have left with a request.
    pub(crate) fn of(extensions: &'a Extensions) -> Self {
        let identity = extensions.get::<Arc<Identity>>();
        Self { identity: identity.map(AsRef::as_ref), peer: extensions.get() }
    }

    fn identity(&self) -> Result<&'a Identity, Error> {
        // The endpoint leaves it with every request. If it were missing, nothing is permitted.
        self.identity.ok_or_else(|| Error::new(ErrorKind::Internal, "nobody has sent the request"))
    }
}

impl fmt::Debug for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Endpoint").field("name", &self.name).finish_non_exhaustive()
    }
}

/// Says what is wrong with a body.
fn body_error(error: &BodyError) -> Error {
    let kind = match error {
        BodyError::TooLarge { .. } => ErrorKind::TooLarge,
        BodyError::TooSlow => ErrorKind::Timeout,
        _ => ErrorKind::InvalidRequest,
    };
    Error::new(kind, error.to_string())
}

fn is_v1(form: WireForm) -> bool {
    matches!(form, WireForm::V1 | WireForm::V1Http | WireForm::V1Grpc)
}

fn is_grpc(headers: &HeaderMap) -> bool {
    headers.get(CONTENT_TYPE).is_some_and(|value| value.as_bytes().starts_with(b"application/grpc"))
}

fn header<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    headers.get(name).and_then(|value| value.to_str().ok())
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
    match header(&head.headers, CONTENT_ENCODING.as_str()) {
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
    let essence = given.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    if essence == "application/json" || essence.ends_with("+json") {
        return Ok(());
    }
    let text = format!("Content-Type: {given} is not read; send application/json");
    Err(Error::new(ErrorKind::ContentTypeNotSupported, text))
}

fn not_allowed() -> Response<Body> {
    let mut response = respond::status(StatusCode::METHOD_NOT_ALLOWED);
    response.headers_mut().insert(ALLOW, HeaderValue::from_static("POST"));
    response
}
