//! Cards that were found, kept for a while.

use std::{
    collections::HashMap,
    fmt,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use nuncio_net::{Client, Trust};
use tokio::time::Instant;
use tracing::debug;

use super::{
    Ask, Error, Found, Source,
    keys::KeyCache,
    look::{Known, look},
};
use crate::flight::{Flight, Landed};

/// How long a card is used without asking again, unless the peer's entry or the server says
/// otherwise.
pub const DEFAULT_TTL: Duration = Duration::from_secs(10 * 60);
/// How long a card is used while none can be had.
pub const STALE_LIMIT: Duration = Duration::from_secs(24 * 60 * 60);
/// The pause behind a fetch that failed while there is an older card to use.
const PAUSE: Duration = Duration::from_secs(5);
const DEFAULT_ENTRIES: usize = 1024;

/// The cards of any number of agents: one fetch for everybody who waits for it, then none
/// until the card is old. Cheap to clone.
///
/// A failure is not kept. Whoever waited for a fetch that somebody else began and that failed
/// tries once more (HD-03); whoever began it gets the error, or the last card that was good,
/// for up to a day, marked as stale.
#[derive(Clone)]
pub struct CardCache {
    shared: Arc<Shared>,
}

struct Shared {
    client: Client,
    keys: KeyCache,
    most: usize,
    slots: Mutex<HashMap<Key, Arc<Slot>>>,
}

/// What two questions must have in common to get the same answer.
///
/// Credentials and rules count by where they are in memory. The slot holds on to them, so
/// the place cannot be taken by others.
#[derive(Clone, PartialEq, Eq, Hash)]
struct Key {
    source: Source,
    trust: Trust,
    credentials: usize,
    signatures: usize,
}

struct Slot {
    ask: Ask,
    flight: Flight<Result<Cached, Error>>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    held: Option<Held>,
    failed: Option<(Instant, Error)>,
    used: Option<Instant>,
    /// How often the card was declared out of date.
    generation: u64,
}

#[derive(Clone)]
struct Held {
    known: Known,
    at: Instant,
    ttl: Duration,
    is_expired: bool,
}

/// A card, and how old it is.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Cached {
    /// The card and all that is known about it.
    pub found: Arc<Found>,
    /// The time since the server last said that this is the card.
    pub age: Duration,
    /// Why there is no newer one, if there should be.
    pub stale: Option<Error>,
}

impl CardCache {
    /// Keeps at most 1,024 cards.
    pub fn new(client: Client) -> Self {
        Self::with_entries(client, DEFAULT_ENTRIES)
    }

    /// Keeps at most so many cards; the one that was not used for the longest time goes first.
    pub fn with_entries(client: Client, most: usize) -> Self {
        let keys = KeyCache::new(client.clone());
        let most = most.max(1);
        Self { shared: Arc::new(Shared { client, keys, most, slots: Mutex::default() }) }
    }

    /// Returns a card: the one at hand if it is fresh, or else a new one.
    ///
    /// Dropping the future breaks off no fetch that others wait for.
    pub async fn get(&self, ask: &Ask) -> Result<Cached, Error> {
        let slot = self.shared.slot(ask, Instant::now());
        let mut has_retried = false;
        loop {
            if let Some(cached) = slot.at_hand(Instant::now()) {
                return Ok(cached);
            }
            let Landed { result, was_joined } = slot
                .flight
                .join(|| {
                    let (shared, slot) = (Arc::clone(&self.shared), Arc::clone(&slot));
                    async move { shared.refresh(&slot).await }
                })
                .await;
            match result.unwrap_or(Err(Error::BrokenOff)) {
                Ok(cached) => return Ok(cached),
                Err(_) if was_joined && !has_retried => has_retried = true,
                Err(error) => return slot.last_known_good(error, Instant::now()),
            }
        }
    }

    /// Declares the cards of a source out of date: the next who asks gets a new one. Those
    /// at hand stay as what is used while none can be had.
    pub fn invalidate(&self, source: &Source) {
        let slots = self.shared.slots();
        for slot in slots.iter().filter(|(key, _)| key.source == *source).map(|(_, slot)| slot) {
            slot.expire();
        }
    }

    /// Returns how many cards are kept.
    pub fn len(&self) -> usize {
        self.shared.slots().len()
    }

    /// Tells whether no card is kept.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl fmt::Debug for CardCache {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CardCache").field("entries", &self.len()).finish_non_exhaustive()
    }
}

impl Shared {
    fn slot(&self, ask: &Ask, now: Instant) -> Arc<Slot> {
        let key = Key {
            source: ask.source.clone(),
            trust: ask.trust,
            credentials: ask.credentials.as_ref().map_or(0, |one| Arc::as_ptr(one).addr()),
            signatures: ask.signatures.as_ref().map_or(0, |one| Arc::as_ptr(one).addr()),
        };
        let mut slots = self.slots();
        if slots.len() >= self.most && !slots.contains_key(&key) {
            let oldest = slots.iter().min_by_key(|(_, slot)| slot.state().used);
            if let Some(oldest) = oldest.map(|(key, _)| key.clone()) {
                slots.remove(&oldest);
            }
        }
        let slot = slots.entry(key).or_insert_with(|| Arc::new(Slot::new(ask.clone())));
        slot.state().used = Some(now);
        Arc::clone(slot)
    }

    async fn refresh(&self, slot: &Slot) -> Result<Cached, Error> {
        // Another fetch may have landed between the question and this.
        if let Some(cached) = slot.at_hand(Instant::now()) {
            return Ok(cached);
        }
        let (known, generation) = {
            let state = slot.state();
            let held = state.held.as_ref().filter(|held| !held.is_expired);
            (held.map(|held| held.known.clone()), state.generation)
        };
        let looked = look(&self.client, &self.keys, &slot.ask, known.as_ref()).await;
        let now = Instant::now();
        let mut state = slot.state();
        match looked {
            Ok(known) => {
                let found = Arc::clone(&known.found);
                let ttl = slot.ask.ttl.unwrap_or_else(|| known.default_ttl());
                // Whoever declared the card out of date meanwhile did not mean an older one.
                let is_expired = state.generation != generation;
                state.held = Some(Held { known, at: now, ttl, is_expired });
                state.failed = None;
                Ok(Cached { found, age: Duration::ZERO, stale: None })
            }
            Err(error) => {
                debug!(source = %slot.ask.source, %error, "no card");
                state.failed = Some((now, error.clone()));
                Err(error)
            }
        }
    }

    fn slots(&self) -> MutexGuard<'_, HashMap<Key, Arc<Slot>>> {
        self.slots.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Slot {
    fn new(ask: Ask) -> Self {
        Self { ask, flight: Flight::default(), state: Mutex::default() }
    }

    /// Returns the card if nobody need be asked: it is fresh, or a fetch failed a moment ago.
    fn at_hand(&self, now: Instant) -> Option<Cached> {
        let state = self.state();
        let held = state.held.as_ref()?;
        let age = now.duration_since(held.at);
        if !held.is_expired && age < held.ttl {
            return Some(Cached { found: Arc::clone(&held.known.found), age, stale: None });
        }
        let (at, error) = state.failed.as_ref()?;
        if now.duration_since(*at) >= PAUSE {
            return None;
        }
        held.stale(error.clone(), now)
    }

    fn last_known_good(&self, error: Error, now: Instant) -> Result<Cached, Error> {
        let held = self.state().held.clone();
        held.and_then(|held| held.stale(error.clone(), now)).ok_or(error)
    }

    fn expire(&self) {
        let mut state = self.state();
        state.generation += 1;
        state.failed = None;
        if let Some(held) = &mut state.held {
            held.is_expired = true;
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Known {
    /// Files are read anew each time: that costs little, and whoever edits one wants to see it.
    fn default_ttl(&self) -> Duration {
        let limit = if self.found.url.is_some() { DEFAULT_TTL } else { Duration::ZERO };
        self.marks.max_age.map_or(limit, |age| age.min(limit))
    }
}

impl Held {
    fn stale(&self, error: Error, now: Instant) -> Option<Cached> {
        let age = now.duration_since(self.at);
        let may_be_used = age < STALE_LIMIT && error.allows_last_known_good();
        may_be_used.then(|| Cached {
            found: Arc::clone(&self.known.found),
            age,
            stale: Some(error),
        })
    }
}
