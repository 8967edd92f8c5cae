//! The open streams: how many there are, who reads them, and who does not.
//!
//! A stream is polled when its reader has room for more, and at least at every heartbeat. One
//! that has not been polled for long has a reader that does not read: its connection is closed,
//! and the reader resumes later. Nothing is kept for it meanwhile.

use std::{
    collections::HashMap,
    fmt,
    pin::Pin,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, AtomicUsize, Ordering},
    },
    time::Duration,
};

use futures_util::{StreamExt as _, stream};
use nuncio_auth::Identity;
use nuncio_net::listen::{Drain, Peer};
use nuncio_protocol::{
    error::{Error, ErrorKind},
    service::{Caller, Event, Events},
};
use tokio::time::{Instant, Sleep, sleep_until};

/// How streams are limited and kept alive.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct StreamLimits {
    /// How many streams may be open in all.
    pub open: usize,
    /// How many one caller may have open; callers whom nobody has proved share no limit.
    pub open_per_caller: usize,
    /// How long a silent stream stays silent.
    pub heartbeat: Duration,
    /// How long a reader may read nothing.
    pub stall: Duration,
}

impl Default for StreamLimits {
    fn default() -> Self {
        Self {
            open: 10_000,
            open_per_caller: 64,
            heartbeat: Duration::from_secs(15),
            stall: Duration::from_secs(30),
        }
    }
}

/// All open streams of a server.
#[derive(Debug)]
pub(crate) struct Streams {
    limits: StreamLimits,
    open_per_caller: AtomicUsize,
    drain: Drain,
    began: Instant,
    open: Mutex<Open>,
}

#[derive(Debug, Default)]
struct Open {
    next: u64,
    readers: HashMap<u64, Arc<Reader>>,
    callers: HashMap<Known, usize>,
}

/// A caller. Two organisations may call theirs by the same name.
type Known = (Option<Arc<str>>, Caller);

/// Who reads a stream, and when it last had room.
#[derive(Debug)]
struct Reader {
    caller: Known,
    peer: Option<Peer>,
    /// In milliseconds since the server began.
    polled: AtomicU64,
}

impl Streams {
    pub(crate) fn new(limits: StreamLimits, drain: Drain) -> Arc<Self> {
        Arc::new(Self {
            open_per_caller: AtomicUsize::new(limits.open_per_caller),
            limits,
            drain,
            began: Instant::now(),
            open: Mutex::default(),
        })
    }

    pub(crate) fn set_open_per_caller(&self, most: usize) {
        self.open_per_caller.store(most, Ordering::Relaxed);
    }

    /// Makes room for one more stream of a caller.
    pub(crate) fn admit(
        self: &Arc<Self>,
        identity: &Identity,
        peer: Option<&Peer>,
    ) -> Result<Place, Error> {
        let caller: Known = (identity.organisation.clone(), identity.caller.clone());
        let mut open = self.lock();
        let own = open.callers.get(&caller).copied().unwrap_or(0);
        let limit = match caller.1 {
            Caller::Anonymous => usize::MAX,
            _ => self.open_per_caller.load(Ordering::Relaxed),
        };
        if own >= limit {
            return Err(too_many(&format!("you have {own} streams open; close some first")));
        }
        if open.readers.len() >= self.limits.open {
            return Err(too_many("the server has no room for more streams now"));
        }
        *open.callers.entry(caller.clone()).or_default() += 1;
        let number = open.next;
        open.next += 1;
        let polled = AtomicU64::new(self.now());
        let reader = Arc::new(Reader { caller, peer: peer.cloned(), polled });
        open.readers.insert(number, Arc::clone(&reader));
        drop(open);
        let credential = identity.ends().then(|| Credential(Box::pin(identity.ended())));
        Ok(Place { streams: Arc::clone(self), number, reader, credential })
    }

    /// Closes the connections of those who do not read, until the server has stopped.
    pub(crate) async fn watch(&self) {
        let pause = (self.limits.stall / 8).max(Duration::from_millis(10));
        loop {
            tokio::time::sleep(pause).await;
            let latest = self.now().saturating_sub(millis(self.limits.stall));
            let stalled: Vec<Arc<Reader>> = self
                .lock()
                .readers
                .values()
                .filter(|reader| reader.polled.load(Ordering::Relaxed) < latest)
                .cloned()
                .collect();
            for reader in stalled {
                if let Some(peer) = &reader.peer {
                    tracing::info!(address = %peer.address(), "a stream is closed: nobody reads it");
                    peer.close();
                }
            }
        }
    }

    /// Tells whether the server stops.
    pub(crate) fn is_draining(&self) -> bool {
        self.drain.has_begun()
    }

    fn now(&self) -> u64 {
        millis(self.began.elapsed())
    }

    fn lock(&self) -> MutexGuard<'_, Open> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}

fn credential_ended() -> Error {
    let text = "the credential has ended; show another one and subscribe again";
    Error::new(ErrorKind::Unauthenticated, text)
}

fn draining() -> Error {
    let text = "the server stops, and the task goes on; subscribe again in a moment";
    Error::new(ErrorKind::Unavailable, text).with_retry_after(Duration::from_secs(1))
}

fn too_many(text: &str) -> Error {
    Error::new(ErrorKind::RateLimited, text).with_retry_after(Duration::from_secs(1))
}

/// The room that one stream takes.
#[derive(Debug)]
pub(crate) struct Place {
    streams: Arc<Streams>,
    number: u64,
    reader: Arc<Reader>,
    /// If it does not last for ever.
    credential: Option<Credential>,
}

/// Waits for the end of what a reader has shown to come in.
struct Credential(Pin<Box<dyn Future<Output = ()> + Send>>);

impl Credential {
    async fn ended(credential: Option<&mut Self>) {
        match credential {
            Some(credential) => credential.0.as_mut().await,
            None => std::future::pending().await,
        }
    }
}

impl fmt::Debug for Credential {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Credential")
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut open = self.streams.lock();
        open.readers.remove(&self.number);
        if let Some(count) = open.callers.get_mut(&self.reader.caller) {
            *count -= 1;
            if *count == 0 {
                open.callers.remove(&self.reader.caller);
            }
        }
    }
}

impl Place {
    /// Follows events from this place.
    pub(crate) fn follow(self, events: Events) -> Following {
        let until = Instant::now() + self.streams.limits.heartbeat;
        Following { place: self, events, silent_until: Box::pin(sleep_until(until)), ended: false }
    }
}

/// A stream that somebody reads.
pub(crate) struct Following {
    place: Place,
    events: Events,
    silent_until: Pin<Box<Sleep>>,
    ended: bool,
}

/// What comes next in a stream.
pub(crate) enum Next {
    Event(Event),
    /// Nothing has come for so long that the connection needs a sign of life.
    Silence,
    /// It broke. Nothing follows.
    Error(Error),
    /// The server stops: the reader resumes elsewhere. Nothing follows.
    Draining,
    End,
}

impl Following {
    /// Waits for what comes next.
    pub(crate) async fn next(&mut self) -> Next {
        self.touch();
        if self.ended {
            return Next::End;
        }
        // Looked at first: a stream that always has something to say must end, too.
        let Place { streams, credential, .. } = &mut self.place;
        let is_draining = streams.drain.has_begun();
        let next = tokio::select! {
            biased;
            () = std::future::ready(()), if is_draining => Next::Draining,
            () = Credential::ended(credential.as_mut()) => Next::Error(credential_ended()),
            event = self.events.next() => match event {
                Some(Ok(event)) => Next::Event(event),
                Some(Err(error)) => Next::Error(error),
                None => Next::End,
            },
            () = streams.drain.begun() => Next::Draining,
            () = &mut self.silent_until => Next::Silence,
        };
        match next {
            Next::Event(_) => {}
            Next::Silence => {
                let until = Instant::now() + self.place.streams.limits.heartbeat;
                self.silent_until.as_mut().reset(until);
            }
            Next::Error(_) | Next::Draining | Next::End => self.ended = true,
        }
        self.touch();
        next
    }

    /// Returns the events alone. The drain is an error there: whoever reads on comes back later.
    pub(crate) fn into_events(self) -> Events {
        Box::pin(stream::unfold(self, |mut following| async move {
            loop {
                let event = match following.next().await {
                    Next::Event(event) => Ok(event),
                    Next::Silence => continue,
                    Next::Error(error) => Err(error),
                    Next::Draining => Err(draining()),
                    Next::End => return None,
                };
                return Some((event, following));
            }
        }))
    }

    fn touch(&self) {
        self.place.reader.polled.store(self.place.streams.now(), Ordering::Relaxed);
    }
}
