//! What one caller may cost, so that nobody can use up what is everybody's.
//!
//! Each caller has a bucket that holds a minute's worth of requests and fills evenly. Heartbeats
//! have buckets of their own: an agent that asks too much is not for that reason silent.

use std::{
    collections::HashMap,
    net::IpAddr,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use tokio::time::Instant;

/// What one caller may cost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Limits {
    /// Requests of a caller in a minute, 600.
    pub requests: u32,
    /// Heartbeats of an agent in a minute, 120.
    pub heartbeats: u32,
    /// Requests without a valid credential from an address in a minute, 60.
    pub strangers: u32,
    /// Event streams that a caller may have open, 64.
    pub streams: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { requests: 600, heartbeats: 120, strangers: 60, streams: 64 }
    }
}

/// Which bucket a request is taken from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Bucket {
    Requests,
    Heartbeats,
    Strangers,
}

impl Bucket {
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Requests => "caller",
            Self::Heartbeats => "heartbeat",
            Self::Strangers => "address",
        }
    }
}

/// How a bucket is after a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Level {
    pub(crate) limit: u32,
    pub(crate) remaining: u32,
    /// When it is full again.
    pub(crate) reset: Duration,
    /// How long to wait, if there was nothing left.
    pub(crate) wait: Option<Duration>,
}

/// Counts what callers cost.
#[derive(Debug)]
pub(crate) struct Meter {
    limits: Mutex<Limits>,
    buckets: Mutex<HashMap<(Bucket, Box<str>), Instant>>,
    streams: Arc<Mutex<HashMap<Box<str>, usize>>>,
}

/// So many buckets are kept apart; whoever comes then shares one.
const ROOM: usize = 100_000;

const MINUTE: Duration = Duration::from_secs(60);

impl Meter {
    pub(crate) fn new(limits: Limits) -> Self {
        let limits = Mutex::new(limits);
        Self { limits, buckets: Mutex::default(), streams: Arc::default() }
    }

    /// Puts other limits in force. What callers have used counts on.
    pub(crate) fn set_limits(&self, limits: Limits) {
        *lock(&self.limits) = limits;
    }

    fn limits(&self) -> Limits {
        *lock(&self.limits)
    }

    /// Takes one request out of a bucket.
    pub(crate) fn take(&self, bucket: Bucket, caller: &str, now: Instant) -> Level {
        let limits = self.limits();
        let limit = match bucket {
            Bucket::Requests => limits.requests,
            Bucket::Heartbeats => limits.heartbeats,
            Bucket::Strangers => limits.strangers,
        };
        let mut buckets = lock(&self.buckets);
        let mut key = (bucket, Box::from(caller));
        if buckets.len() >= ROOM && !buckets.contains_key(&key) {
            buckets.retain(|_, full| *full > now);
            if buckets.len() >= ROOM {
                key.1 = Box::default();
            }
        }
        draw(buckets.entry(key).or_insert(now), limit, now)
    }

    /// Takes a place for an event stream, which is given back when it is dropped.
    pub(crate) fn stream(&self, caller: &str) -> Option<Place> {
        let mut streams = lock(&self.streams);
        let open = streams.entry(caller.into()).or_default();
        if *open >= self.limits().streams {
            return None;
        }
        *open += 1;
        Some(Place { caller: caller.into(), streams: Arc::clone(&self.streams) })
    }

    /// Forgets the buckets that are full.
    pub(crate) fn tidy(&self, now: Instant) {
        lock(&self.buckets).retain(|_, full| *full > now);
    }
}

/// Takes one out of a bucket that holds a minute's worth. Of each bucket is kept when it will be
/// full: each request puts that off a little.
pub(crate) fn draw(full: &mut Instant, limit: u32, now: Instant) -> Level {
    let limit = limit.max(1);
    let before = full.saturating_duration_since(now);
    let after = before + MINUTE / limit;
    if after > MINUTE {
        let wait = Some(after.saturating_sub(MINUTE));
        return Level { limit, remaining: 0, reset: before, wait };
    }
    *full = now + after;
    let left = MINUTE.saturating_sub(after).as_nanos();
    let remaining = left / (MINUTE / limit).as_nanos().max(1);
    let remaining = u32::try_from(remaining).unwrap_or(limit).min(limit);
    Level { limit, remaining, reset: after, wait: None }
}

/// The place of an event stream.
#[derive(Debug)]
pub(crate) struct Place {
    caller: Box<str>,
    streams: Arc<Mutex<HashMap<Box<str>, usize>>>,
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut streams = lock(&self.streams);
        if let Some(open) = streams.get_mut(&self.caller) {
            *open -= 1;
            if *open == 0 {
                streams.remove(&self.caller);
            }
        }
    }
}

/// Names an address. A network of 64 bits is one: whoever has one address of it has them all.
pub(crate) fn address_name(address: IpAddr) -> String {
    match address.to_canonical() {
        IpAddr::V4(address) => address.to_string(),
        IpAddr::V6(address) => {
            let [a, b, c, d, ..] = address.segments();
            format!("{a:x}:{b:x}:{c:x}:{d:x}::/64")
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bucket_holds_a_minute_and_fills_evenly() {
        let meter = Meter::new(Limits { requests: 60, ..Limits::default() });
        let now = Instant::now();
        for left in (0..60).rev() {
            let level = meter.take(Bucket::Requests, "a", now);
            assert_eq!((level.remaining, level.wait), (left, None));
        }
        let level = meter.take(Bucket::Requests, "a", now);
        assert_eq!((level.remaining, level.wait), (0, Some(Duration::from_secs(1))));
        assert_eq!(meter.take(Bucket::Heartbeats, "a", now).wait, None, "beats are apart");
        assert_eq!(meter.take(Bucket::Requests, "b", now).wait, None, "neighbours are apart");
        let later = now + Duration::from_secs(2);
        assert_eq!(meter.take(Bucket::Requests, "a", later).wait, None);
        assert_eq!(meter.take(Bucket::Requests, "a", later).wait, None);
        assert!(meter.take(Bucket::Requests, "a", later).wait.is_some());
        meter.tidy(later + MINUTE);
        assert!(lock(&meter.buckets).is_empty());
    }

    #[test]
    fn streams_are_counted_until_they_are_dropped() {
        let meter = Meter::new(Limits { streams: 1, ..Limits::default() });
        let place = meter.stream("a");
        assert!(place.is_some() && meter.stream("a").is_none() && meter.stream("b").is_some());
        drop(place);
        assert!(meter.stream("a").is_some());
    }

    #[test]
    fn a_network_of_64_bits_is_one_address() {
        let name = |text: &str| address_name(text.parse().unwrap());
        assert_eq!(name("2001:db8:1:2::1"), name("2001:db8:1:2:ffff::9"));
        assert_ne!(name("2001:db8:1:2::1"), name("2001:db8:1:3::1"));
        assert_eq!(name("::ffff:192.0.2.1"), name("192.0.2.1"));
    }
}
