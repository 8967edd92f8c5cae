//! Streamable HTTP over our own client, so that the egress guard sees every request.

use std::{borrow::Cow, collections::HashMap, sync::Arc, time::Duration};

use futures_util::{
    StreamExt as _,
    stream::{self, BoxStream},
};
use http::{
    HeaderMap, HeaderName, HeaderValue, Method, StatusCode,
    header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE},
};
use nuncio_net::{
    CheckedUrl, Client, Errand, Purpose, Request, Timeouts,
    client::{Response, ResponseBody},
    sse::{Decoder, Limits},
};
use rmcp::{
    model::{ClientJsonRpcMessage, ServerJsonRpcMessage},
    transport::streamable_http_client::{
        StreamableHttpClient, StreamableHttpClientTransport, StreamableHttpClientTransportConfig,
        StreamableHttpError, StreamableHttpPostResponse,
    },
};
use sse_stream::Sse;

use super::Http;
use crate::kinds::words::beginning;

/// The largest message of a server.
const MAX_MESSAGE: usize = 16 << 20;

/// How much a server that says no gets to say.
const MAX_EXCERPT: usize = 500;

/// How long a server may think before it begins to answer, and be silent while it does.
const PATIENCE: Duration = Duration::from_secs(900);

const SESSION: HeaderName = HeaderName::from_static("mcp-session-id");
const LAST_EVENT: HeaderName = HeaderName::from_static("last-event-id");
const EVENTS: &str = "text/event-stream";
const JSON: &str = "application/json";

type Failed = StreamableHttpError<nuncio_net::Error>;

/// Opens a way to a server. Fails if the guard lets nothing go there.
pub(super) fn transport(
    at: &Http,
    client: &Client,
) -> Result<StreamableHttpClientTransport<Guarded>, String> {
    let errand = Errand::administrator(Purpose::Agent);
    let url = client.guard().check_url(&at.url, errand).map_err(|refused| refused.to_string())?;
    let mut headers = HeaderMap::new();
    let invalid = |name: &str| format!("the header `{name}` has characters that none can have");
    for (name, value) in &at.headers {
        let parsed = HeaderName::from_bytes(name.as_bytes()).map_err(|_| invalid(name))?;
        headers.insert(parsed, value.to_header("").map_err(|_| invalid(name))?);
    }
    if let Some(token) = &at.bearer {
        let value = token.to_header("Bearer ").map_err(|_| invalid("bearer"))?;
        headers.insert(AUTHORIZATION, value);
    }
    let guarded = Guarded { client: client.clone(), url, headers };
    let config = StreamableHttpClientTransportConfig::with_uri(at.url.as_str());
    Ok(StreamableHttpClientTransport::with_client(guarded, config))
}

/// Our client, in the shape that the library wants. It reaches one URL only.
#[derive(Clone, Debug)]
pub(super) struct Guarded {
    client: Client,
    url: CheckedUrl,
    headers: HeaderMap,
}

impl Guarded {
    async fn send(
        &self,
        method: Method,
        body: String,
        session: Option<&str>,
        further: HashMap<HeaderName, HeaderValue>,
        accept: &'static str,
    ) -> Result<Response, Failed> {
        let mut request = Request::new(method, &self.url, body)
            .timeouts(Timeouts::streaming().first_byte(PATIENCE).idle(PATIENCE))
            .header(ACCEPT, HeaderValue::from_static(accept));
        let headers = request.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static(JSON));
        headers.extend(further);
        headers.extend(self.headers.clone());
        if let Some(session) = session {
            let value = HeaderValue::from_str(session);
            headers.insert(SESSION, value.map_err(|_| unexpected("an invalid session"))?);
        }
        self.client.send(request).await.map_err(StreamableHttpError::Client)
    }
}

fn unexpected(what: impl Into<Cow<'static, str>>) -> Failed {
    StreamableHttpError::UnexpectedServerResponse(what.into())
}

async fn refused(answer: Response) -> Failed {
    let status = answer.status();
    let hint = match status {
        StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => "; check `bearer`",
        _ if status.is_redirection() => "; name the address that it leads to",
        _ => "",
    };
    let said = beginning(answer.into_body(), MAX_EXCERPT).await;
    unexpected(format!("{status}{hint}: {said}"))
}

impl StreamableHttpClient for Guarded {
    type Error = nuncio_net::Error;

    async fn post_message(
        &self,
        _: Arc<str>,
        message: ClientJsonRpcMessage,
        session: Option<Arc<str>>,
        _: Option<String>,
        further: HashMap<HeaderName, HeaderValue>,
    ) -> Result<StreamableHttpPostResponse, Failed> {
        let body = serde_json::to_string(&message)?;
        let expects = matches!(message, ClientJsonRpcMessage::Request(_));
        let accept = "application/json, text/event-stream";
        let answer = self.send(Method::POST, body, session.as_deref(), further, accept).await?;
        match answer.status() {
            StatusCode::ACCEPTED | StatusCode::NO_CONTENT => {
                return Ok(StreamableHttpPostResponse::Accepted);
            }
            StatusCode::NOT_FOUND if session.is_some() => {
                return Err(StreamableHttpError::SessionExpired);
            }
            status if !status.is_success() => return Err(refused(answer).await),
            _ if !expects => return Ok(StreamableHttpPostResponse::Accepted),
            _ => {}
        }
        let headers = answer.headers();
        let text = |name: HeaderName| {
            let value = headers.get(name).and_then(|value| value.to_str().ok());
            value.map(str::to_owned)
        };
        let (session, media_type) = (text(SESSION), text(CONTENT_TYPE));
        match media_type.as_deref() {
            Some(kind) if kind.starts_with(EVENTS) => {
                Ok(StreamableHttpPostResponse::Sse(events(answer.into_body()), session))
            }
            Some(kind) if kind.starts_with(JSON) => {
                let body =
                    answer.collect(MAX_MESSAGE).await.map_err(StreamableHttpError::Client)?;
                let message: ServerJsonRpcMessage = serde_json::from_slice(&body)?;
                Ok(StreamableHttpPostResponse::Json(message, session))
            }
            _ => Err(StreamableHttpError::UnexpectedContentType(media_type)),
        }
    }

    async fn delete_session(
        &self,
        _: Arc<str>,
        session: Arc<str>,
        _: Option<String>,
        further: HashMap<HeaderName, HeaderValue>,
    ) -> Result<(), Failed> {
        let answer =
            self.send(Method::DELETE, String::new(), Some(&session), further, JSON).await?;
        match answer.status() {
            // Servers need not know how.
            StatusCode::METHOD_NOT_ALLOWED => Ok(()),
            status if status.is_success() => Ok(()),
            _ => Err(refused(answer).await),
        }
    }

    async fn get_stream(
        &self,
        _: Arc<str>,
        session: Option<Arc<str>>,
        last_event: Option<String>,
        _: Option<String>,
        mut further: HashMap<HeaderName, HeaderValue>,
    ) -> Result<BoxStream<'static, Result<Sse, sse_stream::Error>>, Failed> {
        if let Some(value) = last_event.and_then(|id| HeaderValue::from_str(&id).ok()) {
            further.insert(LAST_EVENT, value);
        }
        let session = session.as_deref();
        let answer = self.send(Method::GET, String::new(), session, further, EVENTS).await?;
        match answer.status() {
            StatusCode::METHOD_NOT_ALLOWED => Err(StreamableHttpError::ServerDoesNotSupportSse),
            StatusCode::NOT_FOUND if session.is_some() => Err(StreamableHttpError::SessionExpired),
            status if status.is_success() => Ok(events(answer.into_body())),
            _ => Err(refused(answer).await),
        }
    }
}

/// Reads events with our own decoder, which bounds them.
fn events(body: ResponseBody) -> BoxStream<'static, Result<Sse, sse_stream::Error>> {
    let limits = Limits { line: MAX_MESSAGE, event: MAX_MESSAGE, stream: u64::MAX };
    stream::try_unfold((body, Decoder::new(limits)), next).boxed()
}

async fn next(
    (mut body, mut decoder): (ResponseBody, Decoder),
) -> Result<Option<(Sse, (ResponseBody, Decoder))>, sse_stream::Error> {
    let failed = |error: Box<dyn std::error::Error + Send + Sync>| sse_stream::Error::Body(error);
    loop {
        if let Some(event) = decoder.next_event().map_err(|error| failed(error.into()))? {
            let text = |bytes: &[u8]| {
                let text = std::str::from_utf8(bytes).map_err(sse_stream::Error::Utf8Parse)?;
                Ok::<_, sse_stream::Error>(text.to_owned())
            };
            let sse = Sse {
                event: event.name.as_deref().map(text).transpose()?,
                data: Some(text(&event.data)?),
                id: event.id.as_deref().map(text).transpose()?,
                retry: decoder.retry().and_then(|delay| u64::try_from(delay.as_millis()).ok()),
            };
            return Ok(Some((sse, (body, decoder))));
        }
        match body.chunk().await.map_err(|error| failed(error.into()))? {
            Some(piece) => decoder.push(piece),
            None => return Ok(None),
        }
    }
}
