//! For those who get webhooks: is this event genuine, and is it new?
//!
//! `docs/reference/webhooks.md` says what is sent and how it is signed.

use std::{
    collections::{HashSet, VecDeque},
    fmt,
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use aws_lc_rs::constant_time::verify_slices_are_equal;
use http::HeaderMap;
use nuncio_net::Secret;
use nuncio_protocol::{
    dialect::v03::V03,
    ids::TaskId,
    json::{self, read_with},
    push::{header, is_signed},
    task::StreamResponse,
    time::Timestamp,
    version::Version,
    wire::JsonRpcForm as _,
};

/// How far the time of an event may be off.
const WINDOW: Duration = Duration::from_secs(300);

/// So many events are remembered.
const MOST_SEEN: usize = 10_000;

/// The longest identifier of an event that is remembered, in bytes.
const MAX_ID_BYTES: usize = 256;

/// Checks what arrives at a webhook that was registered with a token.
///
/// ```
/// use http::HeaderMap;
/// use nuncio_client::webhook::Verifier;
///
/// fn receive(verifier: &Verifier, headers: &HeaderMap, body: &[u8]) -> u16 {
///     let arrival = match verifier.verify(headers, body) {
///         Ok(arrival) => arrival,
///         Err(_) => return 401,
///     };
///     if !arrival.is_repeated() {
///         // Act on `arrival.event()` here, and answer 500 if that fails.
///         verifier.acted_on(&arrival);
///     }
///     204
/// }
/// ```
pub struct Verifier {
    token: Secret,
    task: Option<TaskId>,
    window: Duration,
    needs_signature: bool,
    most_seen: usize,
    now: Now,
    seen: Mutex<Seen>,
}

type Now = Box<dyn Fn() -> Timestamp + Send + Sync>;

/// The events that have been acted on, the oldest first.
#[derive(Default)]
struct Seen {
    known: HashSet<String>,
    order: VecDeque<String>,
}

/// A genuine event.
#[derive(Clone, Debug, PartialEq)]
pub struct Arrival {
    id: Option<String>,
    is_repeated: bool,
    event: StreamResponse,
}

/// Why something that arrived is not to be believed. Shows nothing secret.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Refused {
    /// A header is missing.
    #[error("there is no header {0}")]
    Missing(&'static str),
    /// A header is there more than once, or not what it should be.
    #[error("the header {0} cannot be read")]
    Unreadable(&'static str),
    /// The token is another one.
    #[error("the token in {0} is not the one that was registered")]
    Token(&'static str),
    /// The time is too far off.
    #[error("the event was sent {seconds} seconds from now, more than {limit} are not accepted")]
    Time {
        /// How far, in either direction.
        seconds: u64,
        /// How far it may be.
        limit: u64,
    },
    /// No signature is right.
    #[error("no signature fits the identifier, the time and the body")]
    Signature,
    /// The body is not an event, or in a version that is not known.
    #[error("the body is not an event of A2A: {0}")]
    Body(String),
    /// The event is about another task.
    #[error("the event is about task {found}, not {expected}")]
    Task {
        /// The task that was expected.
        expected: TaskId,
        /// The task that the event names; empty if it names none.
        found: String,
    },
}

impl Verifier {
    /// Believes only those who know the token that the webhook was registered with.
    pub fn new(token: impl Into<Secret>) -> Self {
        Self {
            token: token.into(),
            task: None,
            window: WINDOW,
            needs_signature: true,
            most_seen: MOST_SEEN,
            now: Box::new(Timestamp::now),
            seen: Mutex::default(),
        }
    }

    /// Expects events about one task only.
    #[must_use]
    pub fn expect_task(mut self, task: TaskId) -> Self {
        self.task = Some(task);
        self
    }

    /// Sets how far the time of an event may be off, in either direction; 5 minutes otherwise.
    #[must_use]
    pub fn window(mut self, window: Duration) -> Self {
        self.window = window;
        self
    }

    /// Sets how many events are remembered to know them again; 10,000 otherwise.
    #[must_use]
    pub fn remember(mut self, events: usize) -> Self {
        self.most_seen = events;
        self
    }

    /// Uses a clock of one's own.
    #[must_use]
    pub fn clock(mut self, now: impl Fn() -> Timestamp + Send + Sync + 'static) -> Self {
        self.now = Box::new(now);
        self
    }

    /// Believes those who send the token and no signature, too, as other senders do. What they
    /// send can be changed and repeated by whoever sees it on its way.
    #[must_use]
    pub fn accept_unsigned(mut self) -> Self {
        self.needs_signature = false;
        self
    }

    /// Checks what arrived. The body must be as it came, byte by byte.
    pub fn verify(&self, headers: &HeaderMap, body: &[u8]) -> Result<Arrival, Refused> {
        self.check_token(headers)?;
        let id = if self.needs_signature || headers.contains_key(header::SIGNATURE) {
            Some(self.check_signature(headers, body)?)
        } else {
            optional(headers, header::ID)?
        };
        let event = read_event(headers, body)?;
        if let Some(expected) = &self.task {
            let found = task_of(&event);
            if found != Some(expected) {
                let found = found.map(ToString::to_string).unwrap_or_default();
                return Err(Refused::Task { expected: expected.clone(), found });
            }
        }
        let is_repeated = id.is_some_and(|id| self.seen().known.contains(id));
        Ok(Arrival { id: id.map(str::to_owned), is_repeated, event })
    }

    /// Remembers an event, so that its repetition is known as one. To be called when it has
    /// been acted on: what is remembered too early is lost if acting on it fails.
    pub fn acted_on(&self, arrival: &Arrival) {
        let Some(id) = arrival.id.as_ref().filter(|id| id.len() <= MAX_ID_BYTES) else { return };
        let mut seen = self.seen();
        if !seen.known.insert(id.clone()) {
            return;
        }
        seen.order.push_back(id.clone());
        while seen.order.len() > self.most_seen {
            if let Some(oldest) = seen.order.pop_front() {
                seen.known.remove(&oldest);
            }
        }
    }

    fn check_token(&self, headers: &HeaderMap) -> Result<(), Refused> {
        let mut is_there = false;
        for name in header::TOKENS {
            if let Some(found) = optional(headers, name)? {
                verify_slices_are_equal(found.as_bytes(), self.token.expose().as_bytes())
                    .map_err(|_| Refused::Token(name))?;
                is_there = true;
            }
        }
        let [name, _] = header::TOKENS;
        if is_there { Ok(()) } else { Err(Refused::Missing(name)) }
    }

    /// Returns the identifier, once it is proved.
    fn check_signature<'h>(&self, headers: &'h HeaderMap, body: &[u8]) -> Result<&'h str, Refused> {
        let id = required(headers, header::ID)?;
        let timestamp = required(headers, header::TIMESTAMP)?;
        let signatures = required(headers, header::SIGNATURE)?;
        if !is_signed(self.token.expose(), (id, timestamp), body, signatures) {
            return Err(Refused::Signature);
        }
        let sent: i64 = timestamp.parse().map_err(|_| Refused::Unreadable(header::TIMESTAMP))?;
        let (now, _) = (self.now)().to_parts();
        let (seconds, limit) = (now.abs_diff(sent), self.window.as_secs());
        if seconds > limit {
            return Err(Refused::Time { seconds, limit });
        }
        Ok(id)
    }

    fn seen(&self) -> MutexGuard<'_, Seen> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Verifier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Verifier")
            .field("task", &self.task)
            .field("window", &self.window)
            .finish_non_exhaustive()
    }
}

impl Arrival {
    /// Returns the event's identifier, which is the same however often it is sent.
    pub fn id(&self) -> Option<&str> {
        self.id.as_deref()
    }

    /// Tells whether the event has been acted on before.
    pub fn is_repeated(&self) -> bool {
        self.is_repeated
    }

    /// Returns what happened.
    pub fn event(&self) -> &StreamResponse {
        &self.event
    }

    /// Returns what happened.
    pub fn into_event(self) -> StreamResponse {
        self.event
    }

    /// Returns the task that it happened to.
    pub fn task(&self) -> Option<&TaskId> {
        task_of(&self.event)
    }
}

fn task_of(event: &StreamResponse) -> Option<&TaskId> {
    match event {
        StreamResponse::Task(task) => Some(&task.id),
        StreamResponse::Message(message) => message.task_id.as_ref(),
        StreamResponse::StatusUpdate(update) => Some(&update.task_id),
        StreamResponse::ArtifactUpdate(update) => Some(&update.task_id),
    }
}

fn read_event(headers: &HeaderMap, body: &[u8]) -> Result<StreamResponse, Refused> {
    let unreadable = |error: json::Error| Refused::Body(error.to_string());
    let version = match optional(headers, header::VERSION)? {
        Some(text) => Version::parse(text).ok_or(Refused::Unreadable(header::VERSION))?,
        None => Version::V1_0,
    };
    let text = json::text(body).map_err(unreadable)?;
    let event = if version.is_legacy() {
        read_with(text, |reader| V03.read_event(reader))
    } else {
        json::from_str(text)
    };
    event.map_err(unreadable)
}

/// Returns the one value of a header. Two values could mean one to us and another to others.
fn optional<'h>(headers: &'h HeaderMap, name: &'static str) -> Result<Option<&'h str>, Refused> {
    let mut values = headers.get_all(name).iter();
    match (values.next(), values.next()) {
        (None, _) => Ok(None),
        (Some(value), None) => value.to_str().map(Some).map_err(|_| Refused::Unreadable(name)),
        (Some(_), Some(_)) => Err(Refused::Unreadable(name)),
    }
}

fn required<'h>(headers: &'h HeaderMap, name: &'static str) -> Result<&'h str, Refused> {
    optional(headers, name)?.ok_or(Refused::Missing(name))
}
