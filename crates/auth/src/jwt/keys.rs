//! An issuer's keys, and the fetching of them.
//!
//! Any number of requests wait for one fetch. A fetch belongs to the cache and not to the
//! request that began it, so a client that hangs up cannot make the next one begin anew.

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use http::{HeaderValue, StatusCode, header::ACCEPT};
use nuncio_net::{CheckedUrl, Client, Request, trace};
use nuncio_protocol::{card::sign::KeySet, json};
use tokio::{
    sync::watch,
    time::{Instant, timeout},
};
use tokio_util::task::AbortOnDropHandle;
use tracing::{debug, warn};

use crate::refusal::{Refusal, Why};

/// After this time keys are fetched anew before they are used again.
const FRESH: Duration = Duration::from_secs(10 * 60);
/// After this time they are fetched anew while they are used, so that nobody waits.
const RIPE: Duration = Duration::from_secs(8 * 60);
/// After this time keys are not used, whatever the matter with the issuer.
const DEAD: Duration = Duration::from_secs(24 * 60 * 60);
/// The time between two fetches, so that invented key names do not become a flood.
const PAUSE: Duration = Duration::from_secs(30);
/// The same as long as there is no key at all.
const SHORT_PAUSE: Duration = Duration::from_secs(5);
/// How long a fetch may take.
const PATIENCE: Duration = Duration::from_secs(5);
const MAX_BYTES: usize = 256 * 1024;
const MAX_KEYS: usize = 100;

/// Where an issuer's keys come from.
#[derive(Clone, Debug)]
pub(crate) enum Keys {
    Fixed(Arc<KeySet>),
    Remote(Arc<Remote>),
}

/// Keys from a URL.
#[derive(Debug)]
pub(crate) struct Remote {
    shared: Arc<Shared>,
    fetch: Mutex<Option<AbortOnDropHandle<()>>>,
}

#[derive(Debug)]
struct Shared {
    client: Client,
    url: CheckedUrl,
    state: watch::Sender<State>,
}

#[derive(Debug, Default)]
struct State {
    keys: Option<Fetched>,
    /// When the last fetch began.
    begun: Option<Instant>,
    is_running: bool,
    /// When the last fetch failed, if it did.
    failed: Option<Instant>,
}

#[derive(Clone, Debug)]
struct Fetched {
    keys: Arc<KeySet>,
    at: Instant,
}

/// What to do about a key's name.
enum Step {
    /// These keys hold it; perhaps it is time to fetch them anew beside.
    Use { keys: Arc<KeySet>, refresh: bool },
    /// Nothing can be said before a fetch, which may begin now or is under way.
    Await,
    /// It is not known, and nothing more can be done about it now.
    Refuse(Refusal),
}

/// Why keys could not be fetched.
#[derive(Debug, thiserror::Error)]
enum Error {
    #[error(transparent)]
    Net(#[from] nuncio_net::Error),
    #[error("the answer was {0}")]
    Status(StatusCode),
    #[error("the answer is not a set of keys: {0}")]
    Format(#[from] json::Error),
    #[error("there are {0} keys, more than {MAX_KEYS}")]
    TooMany(usize),
    #[error("it took longer than {PATIENCE:?}")]
    TooSlow,
}

impl Keys {
    /// Returns keys of which one has this name.
    pub(crate) async fn holding(&self, kid: &str) -> Result<Arc<KeySet>, Refusal> {
        match self {
            Self::Fixed(keys) if keys.contains(kid) => Ok(Arc::clone(keys)),
            Self::Fixed(_) => Err(Why::UnknownKey.into()),
            Self::Remote(remote) => remote.holding(kid).await,
        }
    }
}

impl Remote {
    pub(crate) fn new(client: Client, url: CheckedUrl) -> Self {
        let state = watch::Sender::new(State::default());
        Self { shared: Arc::new(Shared { client, url, state }), fetch: Mutex::default() }
    }

    async fn holding(&self, kid: &str) -> Result<Arc<KeySet>, Refusal> {
        let mut changes = None;
        loop {
            let now = Instant::now();
            let step = self.shared.state.borrow().step(kid, now);
            match step {
                Step::Use { keys, refresh } => {
                    if refresh {
                        self.begin(now);
                    }
                    return Ok(keys);
                }
                Step::Refuse(refusal) => return Err(refusal),
                // One fetch is enough to wait for.
                Step::Await if changes.is_some() => return Err(Refusal::Unavailable),
                Step::Await => {}
            }
            let changes = changes.insert(self.shared.state.subscribe());
            self.begin(now);
            // The sender lives as long as we do, so this cannot fail.
            let _ = changes.wait_for(|state| !state.is_running).await;
        }
    }

    /// Begins a fetch, unless one is under way or was a moment ago.
    fn begin(&self, now: Instant) {
        let begins = self.shared.state.send_if_modified(|state| {
            let begins = state.may_begin(now);
            if begins {
                (state.is_running, state.begun) = (true, Some(now));
            }
            begins
        });
        if begins {
            let attempt = Attempt { shared: Arc::clone(&self.shared), outcome: None };
            let fetch = AbortOnDropHandle::new(tokio::spawn(trace::kept(attempt.run())));
            *self.fetch.lock().unwrap_or_else(PoisonError::into_inner) = Some(fetch);
        }
    }
}

impl State {
    fn step(&self, kid: &str, now: Instant) -> Step {
        let held = self.keys.as_ref().filter(|held| now.duration_since(held.at) < DEAD);
        let Some(held) = held else {
            return self.refuse_or_await(Refusal::Unavailable, now);
        };
        let age = now.duration_since(held.at);
        let failed_lately = self.failed.is_some_and(|at| now.duration_since(at) < FRESH);
        if !held.keys.contains(kid) {
            // While the issuer cannot be asked, the key may well be a new one of its own.
            let refusal = if failed_lately { Refusal::Unavailable } else { Why::UnknownKey.into() };
            return self.refuse_or_await(refusal, now);
        }
        if age < FRESH || failed_lately {
            let refresh = age >= RIPE && self.may_begin(now);
            return Step::Use { keys: Arc::clone(&held.keys), refresh };
        }
        Step::Await
    }

    fn refuse_or_await(&self, refusal: Refusal, now: Instant) -> Step {
        if self.is_running || self.may_begin(now) { Step::Await } else { Step::Refuse(refusal) }
    }

    fn may_begin(&self, now: Instant) -> bool {
        let pause = if self.keys.is_some() { PAUSE } else { SHORT_PAUSE };
        !self.is_running && self.begun.is_none_or(|begun| now.duration_since(begun) >= pause)
    }
}

/// A fetch under way. However it ends, those who wait for it hear of it.
struct Attempt {
    shared: Arc<Shared>,
    outcome: Option<Arc<KeySet>>,
}

impl Attempt {
    async fn run(mut self) {
        let host = self.shared.url.host_text();
        let fetched = timeout(PATIENCE, self.shared.fetch()).await;
        match fetched.unwrap_or(Err(Error::TooSlow)) {
            Ok(keys) => {
                debug!(host, count = keys.iter().count(), "fetched the issuer's keys");
                self.outcome = Some(Arc::new(keys));
            }
            Err(error) => {
                let error: &dyn std::error::Error = &error;
                warn!(host, error, "could not fetch the issuer's keys");
            }
        }
    }
}

impl Drop for Attempt {
    fn drop(&mut self) {
        let outcome = self.outcome.take();
        self.shared.state.send_modify(|state| {
            state.is_running = false;
            let now = Instant::now();
            match outcome {
                Some(keys) => {
                    // The same keys stay the same set, so that what they verified still counts.
                    let held = state.keys.take().map(|held| held.keys);
                    let keys = held.filter(|held| **held == *keys).unwrap_or(keys);
                    state.keys = Some(Fetched { keys, at: now });
                    state.failed = None;
                }
                None => state.failed = Some(now),
            }
        });
    }
}

impl Shared {
    async fn fetch(&self) -> Result<KeySet, Error> {
        let request = Request::get(&self.url)
            .header(ACCEPT, HeaderValue::from_static("application/jwk-set+json, application/json"));
        let answer = self.client.send(request).await?;
        if answer.status() != StatusCode::OK {
            return Err(Error::Status(answer.status()));
        }
        let keys: KeySet = json::from_slice(&answer.collect(MAX_BYTES).await?)?;
        match keys.iter().count() {
            count if count > MAX_KEYS => Err(Error::TooMany(count)),
            _ => Ok(keys),
        }
    }
}
