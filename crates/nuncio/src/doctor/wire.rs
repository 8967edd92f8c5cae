//! Requests as they are, good and bad, each with a deadline and a limit.

use std::{error::Error as StdError, net::IpAddr, sync::Arc, time::Duration};

use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode};
use ipnet::IpNet;
use nuncio_client::{Credentials, credentials::prove};
use nuncio_net::{
    CheckedUrl, Client, Errand, Error, Guard, Policy, Purpose, Request, Response, Timeouts, Trust,
};
use tokio::time::Instant;

use super::report::Progress;

/// The largest answer that is read.
pub(crate) const MAX_ANSWER: usize = 4 << 20;

/// Sends requests to one agent.
#[derive(Debug)]
pub(crate) struct Wire {
    pub(crate) net: Client,
    /// How long each request may take.
    pub(crate) patience: Duration,
    pub(crate) credentials: Option<Arc<dyn Credentials>>,
    pub(crate) progress: Progress,
}

/// One request, of any kind.
#[derive(Debug, Clone)]
pub(crate) struct Sent<'a> {
    pub(crate) method: Method,
    pub(crate) url: CheckedUrl,
    pub(crate) headers: Vec<(&'static str, &'a str)>,
    pub(crate) body: String,
    pub(crate) is_anonymous: bool,
}

/// A whole answer.
#[derive(Debug)]
pub(crate) struct Reply {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
    /// From the request to the head of the answer, the connection included.
    pub(crate) waited: Duration,
}

impl Wire {
    /// Goes where a person at this machine may go: inner networks too, and http.
    pub(crate) fn new(patience: Duration) -> Self {
        let mut policy = Policy::default();
        for purpose in [Purpose::Card, Purpose::Agent, Purpose::Keys] {
            policy = policy.allow_http(Errand::administrator(purpose));
            for range in everywhere() {
                policy = policy.open(purpose, range);
            }
        }
        let net = Client::new(Guard::new(policy));
        Self { net, patience, credentials: None, progress: Progress::Shown }
    }

    /// Goes where the hub may go, for somebody who is not at this machine.
    pub(crate) const fn of_hub(net: Client, patience: Duration) -> Self {
        Self { net, patience, credentials: None, progress: Progress::Silent }
    }

    /// Checks a URL that the person gave.
    pub(crate) fn check_url(&self, text: &str) -> Result<CheckedUrl, nuncio_net::Refused> {
        let errand = Errand { purpose: Purpose::Card, trust: Trust::Administrator };
        self.net.guard().check_url(text, errand)
    }

    /// Sends a request and reads the whole answer.
    pub(crate) async fn send(&self, sent: Sent<'_>) -> Result<Reply, Error> {
        let (response, waited) = self.open(sent).await?;
        let (status, headers) = (response.status(), response.headers().clone());
        let body = response.collect(MAX_ANSWER).await?;
        Ok(Reply { status, headers, body, waited })
    }

    /// Sends a request and waits for the head of the answer.
    pub(crate) async fn open(&self, sent: Sent<'_>) -> Result<(Response, Duration), Error> {
        let mut headers = HeaderMap::new();
        for (name, value) in sent.headers {
            if let Ok(value) = HeaderValue::from_str(value) {
                headers.insert(HeaderName::from_static(name), value);
            }
        }
        let mut url = sent.url;
        if let Some(credentials) = self.credentials.as_deref().filter(|_| !sent.is_anonymous) {
            // Without its proof the request is refused, and that is said then.
            if let Ok(proved) = prove(credentials, self.net.guard(), &url, &mut headers).await {
                url = proved;
            }
        }
        let timeouts = Timeouts::default()
            .first_byte(self.patience)
            .idle(self.patience)
            .whole(self.patience.saturating_mul(2));
        let mut request = Request::new(sent.method, &url, sent.body).timeouts(timeouts);
        request.headers_mut().extend(headers);
        let start = Instant::now();
        let response = self.net.send(request).await?;
        Ok((response, start.elapsed()))
    }
}

impl<'a> Sent<'a> {
    pub(crate) fn get(url: &CheckedUrl) -> Self {
        Self {
            method: Method::GET,
            url: url.clone(),
            headers: Vec::new(),
            body: String::new(),
            is_anonymous: false,
        }
    }

    pub(crate) fn post(url: &CheckedUrl, body: impl Into<String>) -> Self {
        Self { method: Method::POST, body: body.into(), ..Self::get(url) }
    }

    pub(crate) fn header(mut self, name: &'static str, value: &'a str) -> Self {
        self.headers.push((name, value));
        self
    }

    pub(crate) fn anonymous(mut self) -> Self {
        self.is_anonymous = true;
        self
    }
}

impl Reply {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).and_then(|value| value.to_str().ok())
    }

    /// Returns the media type without parameters; empty if there is none.
    pub(crate) fn media_type(&self) -> String {
        media_type(&self.headers)
    }

    pub(crate) fn text(&self) -> &str {
        std::str::from_utf8(&self.body).unwrap_or_default()
    }
}

pub(crate) fn media_type(headers: &HeaderMap) -> String {
    let value = headers.get(http::header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
    let essence = value.unwrap_or_default().split(';').next().unwrap_or_default();
    essence.trim().to_ascii_lowercase()
}

pub(crate) fn is_json(media_type: &str) -> bool {
    media_type == "application/json" || media_type.ends_with("+json")
}

/// Returns an error with everything behind it.
pub(crate) fn chain(error: &dyn StdError) -> String {
    let mut text = error.to_string();
    let mut next = error.source();
    while let Some(source) = next {
        let more = source.to_string();
        if !text.contains(&more) {
            text.push_str(": ");
            text.push_str(&more);
        }
        next = source.source();
    }
    text
}

/// All addresses; those that are never called stay closed even so.
fn everywhere() -> [IpNet; 2] {
    [IpAddr::from([0; 4]), IpAddr::from([0; 16])].map(|address| IpNet::new_assert(address, 0))
}
