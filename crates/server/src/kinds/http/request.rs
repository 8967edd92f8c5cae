//! What is sent.

use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, Method, header::CONTENT_TYPE};
use nuncio_protocol::json::Raw;

use super::Error;

/// An HTTP request.
///
/// ```
/// use nuncio_server::kinds::http::{Body, Request};
///
/// let request = Request::new("POST", "https://api.example/items")?
///     .header("X-Trace", "7")?
///     .body(Body::Text("hello".to_owned()));
/// assert_eq!(request.method, "POST");
/// # Ok::<(), nuncio_server::kinds::http::Error>(())
/// ```
#[derive(Clone, Debug)]
#[must_use]
pub struct Request {
    /// The method.
    pub method: Method,
    /// Where it goes. It is checked when it is sent.
    pub url: String,
    /// Further headers. Those about host, connection and framing are not sent.
    pub headers: HeaderMap,
    /// What is sent along.
    pub body: Body,
}

/// What is sent along.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Body {
    /// Nothing.
    #[default]
    None,
    /// `text/plain`, unless a header says otherwise.
    Text(String),
    /// `application/json`, unless a header says otherwise.
    Json(Raw),
    /// Bytes, with their media type.
    Bytes(Bytes, String),
}

impl Request {
    /// Begins a request without headers and body.
    pub fn new(method: &str, url: impl Into<String>) -> Result<Self, Error> {
        let method = Method::from_bytes(method.to_ascii_uppercase().as_bytes())
            .map_err(|_| Error::Invalid { what: format!("`{method}` is no method") })?;
        Ok(Self { method, url: url.into(), headers: HeaderMap::new(), body: Body::None })
    }

    /// Adds a header.
    pub fn header(mut self, name: &str, value: &str) -> Result<Self, Error> {
        let invalid = |what: &str| Error::Invalid { what: format!("header `{name}`: {what}") };
        let parsed = HeaderName::from_bytes(name.as_bytes()).map_err(|_| invalid("no name"))?;
        let mut value = HeaderValue::from_str(value)
            .map_err(|_| invalid("its value has characters that no header can have"))?;
        // It may be a key.
        value.set_sensitive(true);
        self.headers.append(parsed, value);
        Ok(self)
    }

    /// Sets the body.
    pub fn body(mut self, body: Body) -> Self {
        self.body = body;
        self
    }

    /// Tells whether sending it twice is as good as once (RFC 9110 §9.2.1).
    pub fn is_safe(&self) -> bool {
        matches!(self.method, Method::GET | Method::HEAD | Method::OPTIONS)
    }

    /// Returns the headers and the bytes as they are sent.
    pub(super) fn parts(&self) -> Result<(HeaderMap, Bytes), Error> {
        let mut headers = self.headers.clone();
        let (bytes, media_type) = match &self.body {
            Body::None => return Ok((headers, Bytes::new())),
            Body::Text(text) => (Bytes::from(text.clone()), "text/plain; charset=utf-8"),
            Body::Json(json) => (Bytes::from(json.as_str().to_owned()), "application/json"),
            Body::Bytes(bytes, media_type) => (bytes.clone(), media_type.as_str()),
        };
        if !headers.contains_key(CONTENT_TYPE) && !media_type.is_empty() {
            let value = HeaderValue::from_str(media_type)
                .map_err(|_| Error::Invalid { what: format!("`{media_type}` is no media type") })?;
            headers.insert(CONTENT_TYPE, value);
        }
        Ok((headers, bytes))
    }
}
