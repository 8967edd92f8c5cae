//! What goes over the wire, for somebody who wants to see it.
//!
//! An [`Observer`] is told of every request to a peer and of everything that comes back, in the
//! peer's own wire form: [`Agent::watched_by`](crate::Agent::watched_by). It costs nothing where
//! nobody looks.
//!
//! Invariant: an observer never learns a credential. Headers are shown by name alone unless they
//! are known to be harmless, URLs without what proves who we are, and a secret that was sent is
//! struck out wherever it appears again, also in what the peer says.

mod secrets;

use std::{
    fmt,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
};

use http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode};
use nuncio_net::{CheckedUrl, Response};
use nuncio_protocol::{dialect::WireForm, error::Error as ProtocolError, operation::Request};

pub use self::secrets::Secrets;
use crate::{error::Error, transport::Proof};

/// How much of a body is shown, in bytes.
pub const LONGEST_TEXT: usize = 64 << 10;

/// Sees what goes over the wire. It is called in the middle of a call, and must not wait.
pub trait Observer: fmt::Debug + Send + Sync {
    /// Hears of one thing that went by.
    fn saw(&self, sighting: Sighting);
}

/// Something that went over the wire.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Sighting {
    /// Which request it belongs to. Numbers are never used twice in a process.
    pub exchange: u64,
    /// What the peer speaks.
    pub form: WireForm,
    /// What it was.
    pub what: Passed,
}

impl Sighting {
    /// Says what went by.
    pub const fn new(exchange: u64, form: WireForm, what: Passed) -> Self {
        Self { exchange, form, what }
    }
}

/// What went over the wire.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Passed {
    /// We have asked.
    Request {
        /// The HTTP method.
        method: String,
        /// The path, with the query if there is one.
        path: String,
        /// What stands before the body.
        headers: Vec<Header>,
        /// The body; empty if there is none.
        body: Text,
    },
    /// The peer answers. Without a body there is a stream behind it.
    Answer {
        /// The HTTP status.
        status: u16,
        /// What stands before the body.
        headers: Vec<Header>,
        /// The body, if that is all.
        body: Option<Text>,
    },
    /// One frame of a stream, or a message of gRPC.
    Event {
        /// The `id:` of the frame.
        id: Option<String>,
        /// Its data.
        body: Text,
    },
    /// The peer has said all.
    Ended,
    /// It went wrong on the way.
    Failed {
        /// What a caller would be told.
        why: String,
    },
    /// We have hung up before the end.
    Left,
}

/// A header.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Header {
    /// Its name, in small letters.
    pub name: String,
    /// Its value, unless that may be a secret.
    pub value: Option<String>,
}

/// A text as far as it is shown.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Text {
    /// The text, at most [`LONGEST_TEXT`] bytes of it.
    pub shown: String,
    /// How long all of it is, in bytes.
    pub bytes: usize,
}

/// Headers whose values say something about the call and prove nothing.
const HARMLESS: [&str; 22] = [
    "a2a-extensions",
    "a2a-parent-task",
    "a2a-priority",
    "a2a-protocol-version",
    "a2a-request-timeout",
    "a2a-version",
    "accept",
    "cache-control",
    "content-length",
    "content-type",
    "date",
    "grpc-message",
    "grpc-status",
    "grpc-timeout",
    "idempotency-key",
    "last-event-id",
    "retry-after",
    "server",
    "traceparent",
    "user-agent",
    "x-a2a-extensions",
    "x-timeout",
];

/// A call that somebody watches, through all its attempts.
#[derive(Clone, Debug)]
pub(crate) struct Watching {
    observer: Arc<dyn Observer>,
    /// What the request itself holds.
    secrets: Secrets,
}

impl Watching {
    pub(crate) fn new(observer: &Arc<dyn Observer>, request: &Request) -> Self {
        Self { observer: Arc::clone(observer), secrets: Secrets::of_request(request) }
    }

    /// Begins to watch one attempt: a request to a URL, with these headers and this proof.
    pub(crate) fn begin(
        &self,
        form: WireForm,
        (url, headers): (&CheckedUrl, &HeaderMap),
        proof: Option<&Proof>,
    ) -> Arc<Watched> {
        static EXCHANGES: AtomicU64 = AtomicU64::new(1);
        let mut secrets = self.secrets.clone();
        secrets.add_query(url.as_str());
        for (_, value) in headers.iter().filter(|(name, value)| proves(name, value)) {
            secrets.add_header(value);
        }
        if let Some(proof) = proof {
            proof.headers.values().for_each(|value| secrets.add_header(value));
            secrets.add_query(proof.url.as_str());
        }
        Arc::new(Watched {
            observer: Arc::clone(&self.observer),
            exchange: EXCHANGES.fetch_add(1, Ordering::Relaxed),
            form,
            secrets,
            message: Mutex::default(),
            has_ended: AtomicBool::new(false),
        })
    }
}

/// One attempt of a call that somebody watches. Says when it ends, and if it is let go of before.
#[derive(Debug)]
pub(crate) struct Watched {
    observer: Arc<dyn Observer>,
    exchange: u64,
    form: WireForm,
    secrets: Secrets,
    /// The message of gRPC that is about to be sent: what sends it does not see it.
    message: Mutex<Option<String>>,
    has_ended: AtomicBool,
}

/// What stands before the body of an answer.
#[derive(Debug)]
pub(crate) struct Head {
    status: StatusCode,
    headers: HeaderMap,
}

impl Head {
    pub(crate) fn of(response: &Response) -> Self {
        Self { status: response.status(), headers: response.headers().clone() }
    }
}

impl Watched {
    pub(crate) fn request(
        &self,
        method: &Method,
        url: &CheckedUrl,
        headers: &HeaderMap,
        body: &[u8],
    ) {
        let message = self.message.lock().unwrap_or_else(PoisonError::into_inner).take();
        let body = match &message {
            Some(message) => self.text(message.as_bytes()),
            None => self.text(body),
        };
        self.tell(Passed::Request {
            method: method.as_str().to_owned(),
            path: self.path(url),
            headers: self.headers(headers),
            body,
        });
    }

    /// Keeps a message of gRPC until it is sent.
    pub(crate) fn message(&self, message: &impl fmt::Debug) {
        let text = format!("{message:#?}");
        *self.message.lock().unwrap_or_else(PoisonError::into_inner) = Some(text);
    }

    /// Tells of an answer: with its body, or with a stream behind it.
    pub(crate) fn answer(&self, head: &Head, body: Option<&[u8]>) {
        self.tell(Passed::Answer {
            status: head.status.as_u16(),
            headers: self.headers(&head.headers),
            body: body.map(|body| self.text(body)),
        });
        if body.is_some() {
            self.has_ended.store(true, Ordering::Relaxed);
        }
    }

    pub(crate) fn event(&self, id: Option<&[u8]>, data: &[u8]) {
        let id = id.map(|id| self.secrets.hide(&String::from_utf8_lossy(id)).into_owned());
        self.tell(Passed::Event { id, body: self.text(data) });
    }

    /// Tells of a message of gRPC.
    pub(crate) fn event_of(&self, message: &impl fmt::Debug) {
        self.event(None, format!("{message:#?}").as_bytes());
    }

    pub(crate) fn ended(&self) {
        self.end(Passed::Ended);
    }

    /// Tells what went wrong, unless the peer has said all.
    pub(crate) fn failed(&self, error: &Error) {
        let error = ProtocolError::from(error.clone());
        self.end(Passed::Failed { why: self.secrets.hide(error.message()).into_owned() });
    }

    fn end(&self, what: Passed) {
        if !self.has_ended.swap(true, Ordering::Relaxed) {
            self.tell(what);
        }
    }

    fn tell(&self, what: Passed) {
        let Self { exchange, form, .. } = *self;
        self.observer.saw(Sighting { exchange, form, what });
    }

    /// Returns where a request goes, within its origin. What an address has as query was given
    /// by its owner, and may prove something.
    fn path(&self, url: &CheckedUrl) -> String {
        let text = url.as_str();
        let path = text.get(url.origin().len()..).unwrap_or_default();
        let path = if path.is_empty() { "/" } else { path };
        let Some((path, query)) = path.split_once('?') else {
            return self.secrets.hide(path).into_owned();
        };
        let pairs = query.split('&').map(|pair| match pair.split_once('=') {
            Some((name, _)) if !secrets::HARMLESS.contains(&name) => {
                format!("{name}={}", secrets::HIDDEN)
            }
            _ => pair.to_owned(),
        });
        let query = pairs.collect::<Vec<_>>().join("&");
        self.secrets.hide(&format!("{path}?{query}")).into_owned()
    }

    fn headers(&self, headers: &HeaderMap) -> Vec<Header> {
        let shown = |name: &HeaderName, value: &HeaderValue| {
            let is_harmless = HARMLESS.contains(&name.as_str()) && !value.is_sensitive();
            let text = value.to_str().ok().filter(|_| is_harmless);
            text.map(|text| self.secrets.hide(text).into_owned())
        };
        let headers = headers.iter();
        headers
            .map(|(name, value)| Header {
                name: name.as_str().to_owned(),
                value: shown(name, value),
            })
            .collect()
    }

    fn text(&self, body: &[u8]) -> Text {
        let whole = String::from_utf8_lossy(body);
        let mut shown = self.secrets.hide(&whole).into_owned();
        if shown.len() > LONGEST_TEXT {
            let end = (0..=LONGEST_TEXT).rev().find(|at| shown.is_char_boundary(*at));
            shown.truncate(end.unwrap_or_default());
        }
        Text { shown, bytes: body.len() }
    }
}

/// Tells whether a header that somebody has set for all calls may be a credential.
fn proves(name: &HeaderName, value: &HeaderValue) -> bool {
    let telling = ["auth", "cookie", "key", "password", "secret", "token"];
    let is_harmless = HARMLESS.contains(&name.as_str());
    value.is_sensitive()
        || (!is_harmless && telling.iter().any(|word| name.as_str().contains(word)))
}

impl Drop for Watched {
    fn drop(&mut self) {
        self.end(Passed::Left);
    }
}

impl Text {
    /// Tells whether there is more than is shown.
    pub fn is_cut(&self) -> bool {
        self.shown.len() >= LONGEST_TEXT && self.bytes > self.shown.len()
    }
}
