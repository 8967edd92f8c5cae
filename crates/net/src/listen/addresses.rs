//! Addresses: what to call our own, and how many connections each of the others has.

use std::{
    collections::{HashMap, hash_map::Entry},
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

/// Returns an address by which this machine reaches a listener. One that listens at all addresses
/// has no other name that leads anywhere.
pub fn reachable(listening: SocketAddr) -> SocketAddr {
    let ip = match listening.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => Ipv4Addr::LOCALHOST.into(),
        IpAddr::V6(ip) if ip.is_unspecified() => Ipv6Addr::LOCALHOST.into(),
        ip => ip,
    };
    SocketAddr::new(ip, listening.port())
}

/// Counts connections by address. An IPv6 network of 64 bits counts as one address: whoever
/// has one has all of it.
#[derive(Clone, Debug, Default)]
pub(super) struct Addresses {
    counts: Arc<Mutex<HashMap<IpAddr, usize>>>,
}

/// One connection's place. Dropping it gives the place back.
#[derive(Debug)]
pub(super) struct Place {
    addresses: Addresses,
    key: IpAddr,
}

impl Addresses {
    /// Returns a place unless the address has as many as the limit.
    pub(super) fn enter(&self, address: IpAddr, limit: usize) -> Option<Place> {
        let key = key(address);
        let mut counts = self.counts();
        let count = counts.get(&key).copied().unwrap_or_default();
        if count >= limit {
            return None;
        }
        counts.insert(key, count + 1);
        drop(counts);
        Some(Place { addresses: self.clone(), key })
    }

    fn counts(&self) -> MutexGuard<'_, HashMap<IpAddr, usize>> {
        self.counts.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        if let Entry::Occupied(mut count) = self.addresses.counts().entry(self.key) {
            match *count.get() {
                0 | 1 => drop(count.remove()),
                _ => *count.get_mut() -= 1,
            }
        }
    }
}

fn key(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) => {
            const NETWORK: u128 = !(u64::MAX as u128);
            IpAddr::V6(Ipv6Addr::from_bits(address.to_bits() & NETWORK))
        }
        address @ IpAddr::V4(_) => address,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_has_no_more_places_than_the_limit() {
        let addresses = Addresses::default();
        let enter = |text: &str| addresses.enter(text.parse().unwrap(), 2);
        let first = enter("192.0.2.1").unwrap();
        let _second = enter("::ffff:192.0.2.1").unwrap();
        assert!(enter("192.0.2.1").is_none());
        let _other = enter("192.0.2.2").unwrap();
        drop(first);
        assert!(enter("192.0.2.1").is_some());
    }

    #[test]
    fn a_network_of_ipv6_counts_as_one_address() {
        let addresses = Addresses::default();
        let enter = |text: &str| addresses.enter(text.parse().unwrap(), 1);
        let _place = enter("2001:db8::1").unwrap();
        assert!(enter("2001:db8::ffff:ffff:ffff:ffff").is_none());
        assert!(enter("2001:db8:0:1::1").is_some());
    }

    #[test]
    fn addresses_without_connections_are_forgotten() {
        let addresses = Addresses::default();
        drop(addresses.enter("192.0.2.1".parse().unwrap(), 1));
        assert!(addresses.counts().is_empty());
    }
}
