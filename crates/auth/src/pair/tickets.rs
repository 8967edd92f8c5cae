//! One-time tickets, for where a header cannot be sent: login links, streams of a browser.

use std::{
    collections::HashMap,
    fmt,
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use aws_lc_rs::digest;
use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use nuncio_net::Secret;
use tokio::time::Instant;

use crate::api_key::random;

const LIFETIME: Duration = Duration::from_secs(60);
const ROOM: usize = 10_000;

/// Hands out tickets that are good once, for 60 seconds.
///
/// A ticket stands for a value, such as who may come in by it. Kept are hashes, in memory:
/// a restart ends all tickets.
pub struct Tickets<T> {
    lifetime: Duration,
    room: usize,
    open: Mutex<HashMap<[u8; 32], Ticket<T>>>,
}

struct Ticket<T> {
    value: T,
    ends: Instant,
}

/// There are too many tickets about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("too many tickets wait to be used")]
pub struct NoRoom;

impl<T> Tickets<T> {
    /// Has room for 10,000 tickets.
    pub fn new() -> Self {
        Self { lifetime: LIFETIME, room: ROOM, open: Mutex::default() }
    }

    /// Has room for so many tickets that wait to be used.
    #[must_use]
    pub fn room(mut self, count: usize) -> Self {
        self.room = count;
        self
    }

    /// Sets how long a ticket is good.
    #[must_use]
    pub fn lifetime(mut self, lifetime: Duration) -> Self {
        self.lifetime = lifetime;
        self
    }

    /// Hands out a ticket: 256 random bits in base64url.
    pub fn issue(&self, value: T) -> Result<Secret, NoRoom> {
        let now = Instant::now();
        let mut open = self.lock();
        if open.len() >= self.room {
            open.retain(|_, ticket| ticket.ends > now);
        }
        if open.len() >= self.room {
            return Err(NoRoom);
        }
        let text = URL_SAFE_NO_PAD.encode(random::<32>());
        open.insert(hash(&text), Ticket { value, ends: now + self.lifetime });
        Ok(text.into())
    }

    /// Takes a ticket and returns what it stands for. Of any number who show the same one,
    /// one gets it.
    pub fn redeem(&self, text: &str) -> Option<T> {
        // Found by its hash, so that the time it takes tells nothing about a ticket.
        let ticket = self.lock().remove(&hash(text))?;
        (ticket.ends > Instant::now()).then_some(ticket.value)
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<[u8; 32], Ticket<T>>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<T> Default for Tickets<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T> fmt::Debug for Tickets<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tickets").field("open", &self.lock().len()).finish_non_exhaustive()
    }
}

fn hash(text: &str) -> [u8; 32] {
    let mut bytes = [0; 32];
    bytes.copy_from_slice(digest::digest(&digest::SHA256, text.as_bytes()).as_ref());
    bytes
}
