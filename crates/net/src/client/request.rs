//! What is sent, and how long it may take.

use std::{fmt, time::Duration};

use http::{HeaderMap, HeaderName, HeaderValue, Method};

use super::Body;
use crate::egress::CheckedUrl;

/// A request to a checked URL.
///
/// `Debug` shows neither the path nor values of headers: they may be secrets.
#[must_use]
pub struct Request {
    pub(super) method: Method,
    pub(super) url: CheckedUrl,
    pub(super) headers: HeaderMap,
    pub(super) body: Body,
    pub(super) timeouts: Option<Timeouts>,
    pub(super) protocol: Protocol,
}

/// What is spoken on a connection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Protocol {
    /// HTTP/1.1, or HTTP/2 where a server chooses it in the TLS handshake.
    #[default]
    Any,
    /// HTTP/2 and nothing else: over http without asking first, as gRPC does.
    Http2,
}

impl Protocol {
    pub(super) const ALL: [Self; 2] = [Self::Any, Self::Http2];
}

/// The clocks of one call. Connecting has its own in the client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub struct Timeouts {
    pub(super) first_byte: Duration,
    pub(super) idle: Duration,
    pub(super) whole: Option<Duration>,
}

impl Request {
    /// Makes a request. It goes to the URL's host, whatever its headers say.
    pub fn new(method: Method, url: &CheckedUrl, body: impl Into<Body>) -> Self {
        let (url, headers, body) = (url.clone(), HeaderMap::new(), body.into());
        Self { method, url, headers, body, timeouts: None, protocol: Protocol::Any }
    }

    /// Makes a GET request.
    pub fn get(url: &CheckedUrl) -> Self {
        Self::new(Method::GET, url, Body::empty())
    }

    /// Makes a POST request.
    pub fn post(url: &CheckedUrl, body: impl Into<Body>) -> Self {
        Self::new(Method::POST, url, body)
    }

    /// Sets a header, replacing one of that name.
    pub fn header(mut self, name: HeaderName, value: HeaderValue) -> Self {
        self.headers.insert(name, value);
        self
    }

    /// Sets all headers.
    pub fn headers(mut self, headers: HeaderMap) -> Self {
        self.headers = headers;
        self
    }

    /// Returns the headers, to change them. Those about host, connection and framing are
    /// the client's and not sent.
    pub fn headers_mut(&mut self) -> &mut HeaderMap {
        &mut self.headers
    }

    /// Sets the body.
    pub fn body(mut self, body: impl Into<Body>) -> Self {
        self.body = body.into();
        self
    }

    /// Sets what is spoken.
    pub fn protocol(mut self, protocol: Protocol) -> Self {
        self.protocol = protocol;
        self
    }

    /// Sets the clocks of this call in place of the client's.
    pub fn timeouts(mut self, timeouts: Timeouts) -> Self {
        self.timeouts = Some(timeouts);
        self
    }
}

impl fmt::Debug for Request {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Request")
            .field("method", &self.method)
            .field("url", &self.url)
            .field("body", &self.body)
            .finish_non_exhaustive()
    }
}

impl Timeouts {
    /// Clocks for an answer that may go on for ever: a stream of events.
    pub fn streaming() -> Self {
        Self { whole: None, ..Self::default() }
    }

    /// Sets how long the head of the answer may take once the request can be sent.
    pub const fn first_byte(self, limit: Duration) -> Self {
        Self { first_byte: limit, ..self }
    }

    /// Sets how long the body of the answer may pause.
    pub const fn idle(self, limit: Duration) -> Self {
        Self { idle: limit, ..self }
    }

    /// Sets how long the call may take, from its start to the last byte of the answer.
    pub const fn whole(self, limit: Duration) -> Self {
        Self { whole: Some(limit), ..self }
    }
}

impl Default for Timeouts {
    /// First byte 30 s, pause 5 min, whole call 60 s.
    fn default() -> Self {
        Self {
            first_byte: Duration::from_secs(30),
            idle: Duration::from_secs(300),
            whole: Some(Duration::from_secs(60)),
        }
    }
}
