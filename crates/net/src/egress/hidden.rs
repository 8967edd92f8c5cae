//! IPv4 addresses inside IPv6 addresses: packets to the one may end at the other.

use std::net::{Ipv4Addr, Ipv6Addr};

/// Returns every IPv4 address that some network may read in an IPv6 address.
pub(super) fn inside(address: Ipv6Addr) -> Vec<Ipv4Addr> {
    let bits = address.to_bits();
    let groups = address.segments();
    let last = at(bits, 96);
    let mut found = match groups {
        // The unspecified address and loopback look IPv4-compatible but are not.
        [0, 0, 0, 0, 0, 0, 0, 0 | 1] => Vec::new(),
        // IPv4-compatible, -mapped (RFC 4291 §2.5.5) and -translated (RFC 2765 §2.1).
        [0, 0, 0, 0, 0 | 0xffff, 0, ..] | [0, 0, 0, 0, 0, 0xffff, ..] => {
            vec![last]
        }
        // NAT64 (RFC 6052 §2.1).
        [0x64, 0xff9b, 0, 0, 0, 0, ..] => vec![last],
        [0x64, 0xff9b, 1, ..] => local_nat64(bits),
        // Teredo: the server, and the client with all bits turned (RFC 4380 §4).
        [0x2001, 0, ..] => vec![at(bits, 32), Ipv4Addr::from_bits(!last.to_bits())],
        // 6to4 (RFC 3056 §2).
        [0x2002, ..] => vec![at(bits, 16)],
        _ => Vec::new(),
    };
    // ISATAP puts the address behind a fixed half of the interface (RFC 5214 §6.1), under
    // any prefix.
    if matches!(groups, [.., 0 | 0x200, 0x5efe, _, _]) {
        found.push(last);
    }
    found
}

/// Reads an address in `64:ff9b:1::/48` (RFC 8215) in each way a network may have chosen: as
/// a prefix of 48, 56, 64 or 96 bits, where bits 64 to 71 are skipped (RFC 6052 §2.2).
///
/// A wrong reading mostly yields `0.x.x.x`, which leads nowhere, so such readings do not
/// count beside others; otherwise they would refuse every address.
fn local_nat64(bits: u128) -> Vec<Ipv4Addr> {
    let without_skipped = ((bits >> 64) << 64) | ((bits & ((1 << 56) - 1)) << 8);
    let mut readings = vec![
        at(without_skipped, 48),
        at(without_skipped, 56),
        at(without_skipped, 64),
        at(bits, 96),
    ];
    if readings.iter().any(|reading| reading.octets()[0] != 0) {
        readings.retain(|reading| reading.octets()[0] != 0);
    }
    readings
}

/// Reads 32 bits from a place counted from the left.
fn at(bits: u128, start: u32) -> Ipv4Addr {
    let [.., a, b, c, d] = (bits >> (96 - start)).to_be_bytes();
    Ipv4Addr::new(a, b, c, d)
}
