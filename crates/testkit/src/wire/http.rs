//! Requests over connections of their own.

use std::{future::Future, io, net::SocketAddr, pin::Pin, sync::Arc};

use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, Request, Response};
use http_body_util::{BodyExt as _, Full};
use hyper::{
    body::{Body, Incoming},
    client::conn::{http1, http2},
};
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::TcpStream,
};

use super::Frames;

/// Anything that bytes go through.
pub(super) trait Io: AsyncRead + AsyncWrite + Unpin + Send {}
impl<T: AsyncRead + AsyncWrite + Unpin + Send> Io for T {}

type Connecting = Pin<Box<dyn Future<Output = io::Result<Box<dyn Io>>> + Send>>;

/// A client that connects anew for each request, so that no request depends on another.
#[derive(Clone)]
pub struct Http {
    connect: Arc<dyn Fn() -> Connecting + Send + Sync>,
    scheme: &'static str,
    authority: String,
    prefix: String,
    headers: HeaderMap,
    http2: bool,
}

/// A whole answer.
#[derive(Clone, Debug)]
pub struct Reply {
    /// The status.
    pub status: u16,
    /// The headers.
    pub headers: HeaderMap,
    /// The whole body.
    pub body: Bytes,
}

impl Http {
    /// Calls what listens at an address.
    pub fn new(address: SocketAddr) -> Self {
        let connect = move || async move {
            let stream = TcpStream::connect(address).await?;
            stream.set_nodelay(true)?;
            Ok(stream)
        };
        Self { scheme: "http", ..Self::over(address.to_string(), connect) }
    }

    /// Calls what is at the other end of such connections, under a name; for TLS and for
    /// broken ways.
    pub fn over<S, F>(
        authority: impl Into<String>,
        connect: impl Fn() -> F + Send + Sync + 'static,
    ) -> Self
    where
        S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
        F: Future<Output = io::Result<S>> + Send + 'static,
    {
        let connect = move || -> Connecting {
            let stream = connect();
            Box::pin(async move { Ok(Box::new(stream.await?) as Box<dyn Io>) })
        };
        Self {
            connect: Arc::new(connect),
            scheme: "https",
            authority: authority.into(),
            prefix: String::new(),
            headers: HeaderMap::new(),
            http2: false,
        }
    }

    /// Speaks HTTP/2.
    #[must_use]
    pub fn http2(mut self) -> Self {
        self.http2 = true;
        self
    }

    /// Asks below a path such as `/agents/a`. gRPC knows no such thing.
    #[must_use]
    pub fn below(mut self, prefix: &str) -> Self {
        prefix.clone_into(&mut self.prefix);
        self
    }

    /// Sends a header with every request.
    ///
    /// # Panics
    /// If it is no header.
    #[must_use]
    pub fn with(mut self, name: &str, value: &str) -> Self {
        let (name, value) = header(name, value);
        self.headers.append(name, value);
        self
    }

    /// Sends a request and returns the whole answer.
    ///
    /// # Panics
    /// If there is none.
    pub async fn request(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: impl Into<Bytes>,
    ) -> Reply {
        let outcome = self.try_request(method, path, headers, body).await;
        outcome.unwrap_or_else(|error| panic!("{method} {path} got no answer: {error}"))
    }

    /// Sends a request and returns the whole answer, if there is one.
    ///
    /// # Panics
    /// If it cannot be a request.
    pub async fn try_request(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: impl Into<Bytes>,
    ) -> io::Result<Reply> {
        Reply::of(self.open(method, path, headers, body).await?).await
    }

    /// Sends a request and returns the answer while it comes.
    ///
    /// # Panics
    /// If it cannot be a request.
    pub async fn open(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: impl Into<Bytes>,
    ) -> io::Result<Response<Incoming>> {
        let path = format!("{}{path}", self.prefix);
        let uri =
            if self.http2 { format!("{}://{}{path}", self.scheme, self.authority) } else { path };
        let mut request = Request::builder()
            .method(method)
            .uri(uri)
            .body(Full::new(body.into()))
            .expect("the test asks for a fit path");
        if !self.http2 {
            let host = self.authority.parse().expect("an authority is a fit header value");
            request.headers_mut().insert("host", host);
        }
        let given = headers.iter().map(|(name, value)| header(name, value));
        let own = self.headers.iter().map(|(name, value)| (name.clone(), value.clone()));
        for (name, value) in own.chain(given) {
            if name == "host" {
                request.headers_mut().insert(name, value);
            } else {
                request.headers_mut().append(name, value);
            }
        }
        let stream = TokioIo::new((self.connect)().await?);
        let response = if self.http2 {
            let executor = TokioExecutor::new();
            let (mut sender, connection) =
                http2::handshake(executor, stream).await.map_err(io::Error::other)?;
            tokio::spawn(connection);
            sender.send_request(request).await
        } else {
            let (mut sender, connection) =
                http1::handshake(stream).await.map_err(io::Error::other)?;
            tokio::spawn(connection);
            sender.send_request(request).await
        };
        response.map_err(io::Error::other)
    }

    /// Sends a request whose answer is a stream of events.
    ///
    /// # Panics
    /// If the answer is anything else.
    pub async fn frames(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: impl Into<Bytes>,
    ) -> Frames {
        let response = self.open(method, path, headers, body).await;
        let response = response.unwrap_or_else(|error| panic!("{method} {path}: {error}"));
        Frames::of(response)
    }

    /// Opens an HTTP/2 connection for bodies of any kind.
    pub(super) async fn connect_http2<B>(&self) -> io::Result<http2::SendRequest<B>>
    where
        B: Body + Send + Unpin + 'static,
        B::Data: Send,
        B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
    {
        let stream = TokioIo::new((self.connect)().await?);
        let executor = TokioExecutor::new();
        let (sender, connection) =
            http2::handshake(executor, stream).await.map_err(io::Error::other)?;
        tokio::spawn(connection);
        Ok(sender)
    }

    pub(super) fn origin(&self) -> String {
        format!("{}://{}", self.scheme, self.authority)
    }

    pub(super) fn headers(&self) -> &HeaderMap {
        &self.headers
    }
}

impl std::fmt::Debug for Http {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Http").field("authority", &self.authority).finish_non_exhaustive()
    }
}

impl Reply {
    /// Reads an answer to its end.
    pub(super) async fn of(response: Response<Incoming>) -> io::Result<Self> {
        let (head, body) = response.into_parts();
        let body = body.collect().await.map_err(io::Error::other)?.to_bytes();
        Ok(Self { status: head.status.as_u16(), headers: head.headers, body })
    }

    /// The body as text.
    ///
    /// # Panics
    /// If it is none.
    pub fn text(&self) -> &str {
        std::str::from_utf8(&self.body).expect("the body is text")
    }

    /// The body as JSON.
    ///
    /// # Panics
    /// If it is none.
    pub fn json(&self) -> serde_json::Value {
        serde_json::from_slice(&self.body)
            .unwrap_or_else(|error| panic!("{error}: {} {}", self.status, self.text()))
    }

    /// A header; nothing, if it is not there.
    ///
    /// # Panics
    /// If it is there and no text.
    pub fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", |value| value.to_str().expect("a header of text"))
    }
}

fn header(name: &str, value: &str) -> (HeaderName, HeaderValue) {
    let name = HeaderName::from_bytes(name.as_bytes()).expect("the test names a header");
    (name, HeaderValue::from_bytes(value.as_bytes()).expect("the test gives a fit value"))
}
