//! How often an address may be wrong.

use std::{
    collections::hash_map::RandomState,
    fmt,
    hash::BuildHasher as _,
    net::IpAddr,
    sync::{Mutex, PoisonError},
    time::Duration,
};

use tokio::time::Instant;

/// How many invalid credentials an address may send: a bucket that fills up again.
///
/// An IPv6 address counts as its network of 64 bits, which is what one customer gets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct GuessLimit {
    /// How many may come at once; at least one.
    pub burst: u32,
    /// How long it takes until one more may come.
    pub every: Duration,
}

impl GuessLimit {
    /// Allows so many at once, and then one in each such time.
    pub const fn new(burst: u32, every: Duration) -> Self {
        Self { burst, every }
    }
}

impl Default for GuessLimit {
    /// Ten at once, then one in six seconds.
    fn default() -> Self {
        Self::new(10, Duration::from_secs(6))
    }
}

/// How many addresses are remembered.
const ADDRESSES: usize = 10_000;
/// How many addresses share a row. A full row forgets the one that owes least.
const ROW: usize = 8;

/// Remembers who was wrong lately, in a table of fixed size.
pub(crate) struct Guesses {
    limit: GuessLimit,
    hasher: RandomState,
    rows: Mutex<Vec<Vec<Debt>>>,
}

/// What an address owes: nothing from `until` on.
#[derive(Clone, Copy)]
struct Debt {
    address: IpAddr,
    until: Instant,
}

impl Guesses {
    pub(crate) fn new(limit: GuessLimit) -> Self {
        let limit = GuessLimit { burst: limit.burst.max(1), ..limit };
        let rows = vec![Vec::new(); ADDRESSES / ROW];
        Self { limit, hasher: RandomState::new(), rows: Mutex::new(rows) }
    }

    /// Tells how long an address has to wait until it may try again, if it has to.
    pub(crate) fn wait(&self, address: IpAddr, now: Instant) -> Option<Duration> {
        let address = network(address);
        let owed = self.with_row(address, |row| {
            let debt = row.iter().find(|debt| debt.address == address)?;
            Some(debt.until.saturating_duration_since(now))
        })?;
        let room = self.limit.every.saturating_mul(self.limit.burst - 1);
        owed.checked_sub(room).filter(|wait| !wait.is_zero())
    }

    /// Remembers that an address was wrong.
    pub(crate) fn wrong(&self, address: IpAddr, now: Instant) {
        let address = network(address);
        let most = self.limit.every.saturating_mul(self.limit.burst);
        let later = |until: Instant| {
            // Answers that were under way when the bucket ran dry do not prolong the wait.
            let owed = until.saturating_duration_since(now).saturating_add(self.limit.every);
            now.checked_add(owed.min(most)).unwrap_or(now)
        };
        self.with_row(address, |row| {
            if let Some(debt) = row.iter_mut().find(|debt| debt.address == address) {
                debt.until = later(debt.until);
                return;
            }
            row.retain(|debt| debt.until > now);
            if row.len() == ROW {
                let least = row.iter().enumerate().min_by_key(|(_, debt)| debt.until);
                if let Some((index, _)) = least {
                    row.swap_remove(index);
                }
            }
            row.push(Debt { address, until: later(now) });
        });
    }

    fn with_row<T>(&self, address: IpAddr, act: impl FnOnce(&mut Vec<Debt>) -> T) -> T {
        let mut rows = self.rows.lock().unwrap_or_else(PoisonError::into_inner);
        // Neighbours in a row cannot be chosen from outside: the hash is keyed.
        let hash = self.hasher.hash_one(address) % rows.len() as u64;
        let index = usize::try_from(hash).unwrap_or_default();
        act(&mut rows[index])
    }
}

impl fmt::Debug for Guesses {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Guesses").field("limit", &self.limit).finish_non_exhaustive()
    }
}

/// Returns what counts as one address.
fn network(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V4(address) => address.into(),
        IpAddr::V6(address) => {
            let bits = address.to_bits() >> 64 << 64;
            std::net::Ipv6Addr::from_bits(bits).into()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(text: &str) -> IpAddr {
        text.parse().expect("an address")
    }

    fn guesses() -> (Guesses, Instant) {
        (Guesses::new(GuessLimit::default()), Instant::now())
    }

    #[test]
    fn ten_wrong_ones_are_free_then_one_in_six_seconds() {
        let (guesses, start) = guesses();
        let one = address("192.0.2.1");
        for _ in 0..10 {
            assert_eq!(guesses.wait(one, start), None);
            guesses.wrong(one, start);
        }
        assert_eq!(guesses.wait(one, start), Some(Duration::from_secs(6)));
        let later = start + Duration::from_secs(6);
        assert_eq!(guesses.wait(one, later), None);
        guesses.wrong(one, later);
        assert_eq!(guesses.wait(one, later), Some(Duration::from_secs(6)));
        assert_eq!(guesses.wait(one, start + Duration::from_secs(66)), None);
    }

    #[test]
    fn answers_under_way_do_not_prolong_the_wait() {
        let (guesses, start) = guesses();
        for _ in 0..1000 {
            guesses.wrong(address("192.0.2.1"), start);
        }
        assert_eq!(guesses.wait(address("192.0.2.1"), start), Some(Duration::from_secs(6)));
    }

    #[track_caller]
    fn check_shared(wrong: &str, other: &str, shared: bool) {
        let (guesses, start) = guesses();
        for _ in 0..10 {
            guesses.wrong(address(wrong), start);
        }
        assert_eq!(guesses.wait(address(other), start).is_some(), shared, "{wrong} {other}");
    }

    #[test]
    fn only_the_same_customer_waits() {
        check_shared("192.0.2.1", "192.0.2.1", true);
        check_shared("192.0.2.1", "192.0.2.2", false);
        check_shared("192.0.2.1", "::ffff:192.0.2.1", true);
        check_shared("2001:db8::1", "2001:db8::ffff:1", true);
        check_shared("2001:db8::1", "2001:db8:0:1::1", false);
    }

    #[test]
    fn the_table_does_not_grow_and_keeps_those_who_owe_most() {
        let (guesses, start) = guesses();
        let worst = address("192.0.2.1");
        for _ in 0..10 {
            guesses.wrong(worst, start);
        }
        for number in 0..100_000_u32 {
            guesses.wrong(std::net::Ipv4Addr::from_bits(0x0a00_0000 + number).into(), start);
        }
        let rows = guesses.rows.lock().unwrap();
        assert!(rows.iter().map(Vec::len).sum::<usize>() <= ADDRESSES);
        drop(rows);
        assert!(guesses.wait(worst, start).is_some());
    }
}
