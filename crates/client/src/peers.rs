//! The agents that may be called, and which of them to call for what.
//!
//! ```
//! use nuncio_client::peers::{Peer, Peers};
//! use nuncio_net::{Guard, Policy};
//!
//! let peers = Peers::from_peers(
//!     Guard::new(Policy::default()),
//!     [Peer::new("https://in-house.example", 5), Peer::new("https://partner.example", 2)],
//! )?;
//! peers.update_capabilities("https://partner.example", ["translate"], ["language"])?;
//! let best = &peers.resolve("translate")?[0];
//! println!("{}", best.explain());
//! # Ok::<(), nuncio_client::peers::Error>(())
//! ```
//!
//! The table is an allowlist (H-16): who is not in it is not called, and nobody gets into it
//! by being found. What a peer says about itself changes neither its trust nor its place but
//! for the skills it offers. `docs/reference/peers.md` explains entries, ranking and errors.

mod error;
mod file;
mod health;
mod identity;
mod owners;
mod peer;
mod rank;

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use arc_swap::ArcSwap;
use nuncio_net::{CheckedUrl, Errand, Guard, Purpose, Trust};
use nuncio_protocol::card::{AgentCard, inert};
use tokio::time::Instant;
use url::Url;

pub use self::{
    error::Error,
    file::{FileError, read_harbor, read_harbor_with},
    health::Outcome,
    identity::Identity,
    owners::{AmbiguousTask, TaskOwners},
    peer::Peer,
    rank::{Considered, LeftOut, Match, Ranking, Route, Why},
};
use self::{
    health::Health,
    rank::{Candidate, rank},
};
use crate::{
    Origin,
    discover::{Ask, Source},
    negotiate::Terms,
    origin::shown,
};

/// The agents that may be called. Cheap to clone; all clones are one table.
///
/// Reading takes no lock, so any number of callers may resolve while the table changes.
#[derive(Clone)]
pub struct Peers {
    shared: Arc<Shared>,
}

struct Shared {
    guard: Guard,
    options: Options,
    table: ArcSwap<Table>,
    /// Held by whoever changes the table.
    changing: Mutex<()>,
}

/// The rules of a table.
#[derive(Clone, Copy, Debug, Default)]
pub struct Options {
    /// How peers are ranked.
    pub ranking: Ranking,
    /// Who may be called.
    pub outbound: Outbound,
}

/// Who may be called (C-22).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Outbound {
    /// Who is in the table, and nobody else.
    #[default]
    Listed,
    /// Anybody at a public address over https, too, as strangers without credentials.
    /// Ranking still knows only those in the table.
    Public,
}

/// The entries by their canonical URLs, and so in their order.
type Table = BTreeMap<String, Arc<Entry>>;

/// A peer in the table.
#[derive(Clone, Debug)]
pub struct Entry {
    peer: Peer,
    url: CheckedUrl,
    ask: Ask,
    skills: BTreeSet<String>,
    tags: BTreeSet<String>,
    health: Arc<Mutex<Health>>,
    /// One for every registration: what was made for an earlier one is not used for this.
    registration: Arc<()>,
}

impl Peers {
    /// Makes an empty table, to be filled later.
    pub fn new(guard: Guard) -> Self {
        Self::with_options(guard, Options::default())
    }

    /// Makes an empty table with other rules.
    pub fn with_options(guard: Guard, options: Options) -> Self {
        let (table, changing) = (ArcSwap::default(), Mutex::default());
        Self { shared: Arc::new(Shared { guard, options, table, changing }) }
    }

    /// Makes a table of configured peers. Fails if there is none, and at the first that is
    /// not as it must be (H-23).
    pub fn from_peers(guard: Guard, peers: impl IntoIterator<Item = Peer>) -> Result<Self, Error> {
        let table = Self::new(guard);
        for peer in peers {
            table.add(peer)?;
        }
        if table.all().is_empty() { Err(Error::NoPeers) } else { Ok(table) }
    }

    /// Adds a peer, or replaces the one with the same URL (H-27). What was measured of that
    /// one stays, what it offered is forgotten.
    pub fn add(&self, peer: Peer) -> Result<(), Error> {
        let entry = self.entry(peer)?;
        self.change(|table| {
            let key = key(entry.url.as_str());
            let health = table.get(&key).map_or(entry.health, |old| Arc::clone(&old.health));
            table.insert(key, Arc::new(Entry { health, ..entry }));
        });
        Ok(())
    }

    /// Removes a peer. Does nothing if there is none (H-28).
    pub fn remove(&self, url: &str) {
        let key = key(url);
        self.change(|table| drop(table.remove(&key)));
    }

    /// Returns a peer, if it is in the table.
    pub fn get(&self, url: &str) -> Option<Arc<Entry>> {
        self.shared.table.load().get(&key(url)).cloned()
    }

    /// Returns a peer that is to be called (H-16). Under [`Outbound::Public`] that can be
    /// one that is not in the table.
    pub fn allowed(&self, url: &str) -> Result<Arc<Entry>, Error> {
        match (self.get(url), self.shared.options.outbound) {
            (Some(entry), _) => Ok(entry),
            (None, Outbound::Listed) => Err(Error::PeerNotAllowed { url: shown(url) }),
            (None, Outbound::Public) => self.entry(Peer::stranger(url)).map(Arc::new),
        }
    }

    /// Returns all peers, in the order of their URLs (H-28).
    pub fn all(&self) -> Vec<Arc<Entry>> {
        self.shared.table.load().values().cloned().collect()
    }

    /// Replaces what a peer offers (H-29): ids of skills, and tags.
    pub fn update_capabilities<S: Into<String>, T: Into<String>>(
        &self,
        url: &str,
        skills: impl IntoIterator<Item = S>,
        tags: impl IntoIterator<Item = T>,
    ) -> Result<(), Error> {
        let key = key(url);
        let skills = skills.into_iter().map(Into::into).collect();
        let tags = tags.into_iter().map(Into::into).collect();
        let is_known = self.change(|table| {
            let Some(entry) = table.get_mut(&key) else { return false };
            *entry = Arc::new(Entry { skills, tags, ..Entry::clone(entry) });
            true
        });
        if is_known { Ok(()) } else { Err(Error::PeerNotAllowed { url: shown(url) }) }
    }

    /// Takes what a peer offers from its card (H-25, HG-05).
    pub fn learn(&self, url: &str, card: &AgentCard) -> Result<(), Error> {
        let skills = card.skills.iter().map(|skill| skill.id.as_str());
        let tags = card.skills.iter().flat_map(|skill| skill.tags.iter().map(String::as_str));
        self.update_capabilities(url, skills, tags)
    }

    /// Hears how a call went: whether the peer answered, and how long that took.
    ///
    /// A task that fails is an answer; whoever routes by success tells of it as a failure.
    pub fn observe(&self, url: &str, outcome: Outcome, duration: Duration) {
        if let Some(entry) = self.get(url) {
            let mut health = entry.health.lock().unwrap_or_else(PoisonError::into_inner);
            health.observe(outcome, duration, entry.peer.latency_hint(), Instant::now());
        }
    }

    /// Returns those who offer a capability, the best first (H-30). An empty capability is
    /// everybody's.
    pub fn resolve(&self, capability: &str) -> Result<Vec<Route>, Error> {
        let Considered { routes, left_out } = self.consider(capability);
        if routes.is_empty() { Err(no_peer(capability, left_out)) } else { Ok(routes) }
    }

    /// Returns the same, and why others are left out.
    pub fn consider(&self, capability: &str) -> Considered {
        self.consider_with(capability, |_| None)
    }

    /// Returns the same of those who call: they know whose breaker is open, and for how long.
    pub(crate) fn consider_with(
        &self,
        capability: &str,
        rest: impl Fn(&str) -> Option<Duration>,
    ) -> Considered {
        let now = Instant::now();
        let table = self.shared.table.load();
        let candidates = table.values().map(|entry| {
            let mut candidate = entry.candidate(capability, now);
            candidate.rest = rest(candidate.url);
            candidate
        });
        rank(self.shared.options.ranking, candidates)
    }

    fn entry(&self, peer: Peer) -> Result<Entry, Error> {
        let url = self.check(&peer)?;
        let ask = peer.ask(Source::url(url.as_str()));
        let (skills, tags) = (BTreeSet::new(), BTreeSet::new());
        let (health, registration) = Default::default();
        Ok(Entry { peer, url, ask, skills, tags, health, registration })
    }

    fn check(&self, peer: &Peer) -> Result<CheckedUrl, Error> {
        let text = peer.url();
        let invalid = |cause| Error::InvalidPeerUrl { url: shown(text), cause };
        if text.trim().is_empty() {
            return Err(invalid(None));
        }
        peer.check()?;
        let origin = Origin::parse(text).ok();
        if let Some(origin) = &origin
            && !origin.is_https()
            && !origin.is_loopback()
            && !peer.allows_plaintext()
        {
            return Err(Error::InsecureScheme { origin: origin.clone() });
        }
        let trust = peer.trust_of(origin.as_ref());
        let check = |purpose| self.shared.guard.check_url(text, Errand { purpose, trust });
        let by_guard = |refused: nuncio_net::Refused| match (&origin, &refused) {
            (Some(origin), nuncio_net::Refused::PlainHttp { .. }) => {
                Error::InsecureScheme { origin: origin.clone() }
            }
            (Some(_), _) if error::is_about_place(&refused) => {
                Error::Refused { url: shown(text), refused }
            }
            _ => invalid(Some(refused)),
        };
        check(Purpose::Card).map_err(by_guard)?;
        check(Purpose::Agent).map_err(by_guard)
    }

    fn change<T>(&self, change: impl FnOnce(&mut Table) -> T) -> T {
        let _changing = self.shared.changing.lock().unwrap_or_else(PoisonError::into_inner);
        let mut table = Table::clone(&self.shared.table.load());
        let result = change(&mut table);
        self.shared.table.store(Arc::new(table));
        result
    }
}

/// Says that there is nobody to call, and why.
pub(crate) fn no_peer(capability: &str, left_out: Vec<LeftOut>) -> Error {
    Error::NoPeer { capability: inert(capability), left_out }
}

impl fmt::Debug for Peers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.shared.table.load().keys()).finish()
    }
}

impl Entry {
    /// Returns what was registered.
    pub const fn peer(&self) -> &Peer {
        &self.peer
    }

    /// Returns the URL, checked for calls.
    pub const fn url(&self) -> &CheckedUrl {
        &self.url
    }

    /// Returns the question for the peer's card. It is the same for every call, so one card
    /// in the cache serves them all.
    pub const fn ask(&self) -> &Ask {
        &self.ask
    }

    /// Returns what is wanted of the peer's interfaces.
    pub fn terms(&self) -> Terms {
        self.peer.terms()
    }

    /// Returns on whose word the peer is called.
    pub fn trust(&self) -> Trust {
        self.url.errand().trust
    }

    /// Tells whether both are of one registration, whatever was learnt of the peer in between.
    pub fn is_same_registration(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.registration, &other.registration)
    }

    /// Returns what the peer offers, ids of skills and tags (H-25). Empty before its card
    /// was read.
    pub fn capabilities(&self) -> impl Iterator<Item = &str> {
        self.skills.union(&self.tags).map(String::as_str)
    }

    fn candidate(&self, capability: &str, now: Instant) -> Candidate<'_> {
        let matched = match capability {
            "" => Some(Match::Any),
            _ if self.skills.contains(capability) => Some(Match::Skill),
            _ if self.tags.contains(capability) => Some(Match::Tag),
            _ if self.skills.is_empty() && self.tags.is_empty() => Some(Match::Undeclared),
            _ => None,
        };
        let health = self.health.lock().unwrap_or_else(PoisonError::into_inner);
        Candidate {
            url: self.url.as_str(),
            trust: self.peer.trust(),
            hint: self.peer.latency_hint(),
            measured: health.measured(),
            failures: health.down(now),
            rest: None,
            matched,
        }
    }
}

/// Returns the one spelling of a URL under which a peer is kept, so that a slash at the end
/// or capital letters make no other peer of it (PG-10).
fn key(url: &str) -> String {
    let Ok(mut parsed) = Url::parse(url.trim()) else { return url.to_owned() };
    if let Some(host) = parsed.host_str().and_then(|host| host.strip_suffix('.')) {
        let host = host.to_owned();
        // What cannot be set stays as it is.
        let _ = parsed.set_host(Some(&host));
    }
    parsed.as_str().trim_end_matches('/').to_owned()
}

#[cfg(test)]
mod tests;
