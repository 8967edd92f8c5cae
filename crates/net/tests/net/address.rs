//! Which addresses are reached by whom (MD-26, P-21, A-SSRF).

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use nuncio_net::{
    Code, Errand, Guard, Policy, Purpose,
    egress::{METADATA, RANGES, Range, Standing},
};
use proptest::prelude::*;

use crate::support::{ADMINISTRATOR, CALLER};

fn judge(guard: &Guard, address: IpAddr, errand: Errand) -> Result<(), Code> {
    let text = match address {
        IpAddr::V4(address) => format!("https://{address}/"),
        IpAddr::V6(address) => format!("https://[{address}]/"),
    };
    guard.check_url(&text, errand).map(drop).map_err(|refused| refused.code())
}

/// A policy that opens all there is to administrators' webhooks.
fn wide_open() -> Guard {
    let all = |policy: Policy, range: &str| {
        policy.open(Purpose::Webhook, range.parse().expect("a range"))
    };
    Guard::new(all(all(Policy::default(), "0.0.0.0/0"), "::/0"))
}

fn ends(range: &Range) -> [IpAddr; 2] {
    [range.net.network(), range.net.broadcast()]
}

/// Tells whether a range is the first in the table that holds an address.
fn counts(range: &Range, address: IpAddr) -> bool {
    RANGES.iter().find(|other| other.net.contains(&address)) == Some(range)
}

#[test]
fn no_special_range_is_reached_by_default() {
    let guard = Guard::new(Policy::default());
    for range in RANGES.iter().filter(|range| range.standing != Standing::Inner) {
        for address in ends(range).into_iter().filter(|end| counts(range, *end)) {
            for errand in Errand::all() {
                assert!(judge(&guard, address, errand).is_err(), "{address} ({})", range.name);
            }
        }
    }
}

#[test]
fn a_listed_range_opens_to_administrators_of_its_purpose_only() {
    let other = Errand::administrator(Purpose::Agent);
    for range in RANGES.iter().filter(|range| range.standing == Standing::Closed) {
        let guard = Guard::new(Policy::default().open(Purpose::Webhook, range.net));
        for address in ends(range).into_iter().filter(|end| counts(range, *end)) {
            assert_eq!(judge(&guard, address, ADMINISTRATOR), Ok(()), "{address}");
            assert_eq!(judge(&guard, address, CALLER), Err(Code::AddressNotPublic), "{address}");
            assert_eq!(judge(&guard, address, other), Err(Code::AddressNotPublic), "{address}");
        }
    }
}

#[test]
fn some_ranges_open_to_nobody() {
    let guard = wide_open();
    for range in RANGES.iter().filter(|range| range.standing == Standing::Never) {
        for address in ends(range) {
            assert!(judge(&guard, address, ADMINISTRATOR).is_err(), "{address} ({})", range.name);
        }
    }
}

#[test]
fn metadata_is_reached_by_nobody_whatever_is_listed() {
    let guard = wide_open();
    let single = ["169.254.169.254", "169.254.170.2", "100.100.100.200", "fd00:ec2::254"];
    let single = single.iter().map(|address| address.parse().unwrap());
    for address in METADATA.iter().flat_map(ends).chain(single) {
        for errand in Errand::all() {
            assert_eq!(judge(&guard, address, errand), Err(Code::AddressMetadata), "{address}");
        }
    }
}

#[test]
fn the_neighbours_of_special_ranges_are_public() {
    let guard = Guard::new(Policy::default());
    let public = [
        "1.0.0.0",
        "8.8.8.8",
        "9.255.255.255",
        "11.0.0.0",
        "100.63.255.255",
        "100.128.0.0",
        "126.255.255.255",
        "128.0.0.0",
        "169.253.255.255",
        "169.255.0.0",
        "172.15.255.255",
        "172.32.0.0",
        "191.255.255.255",
        "192.0.1.0",
        "192.0.3.0",
        "192.88.98.255",
        "192.88.100.0",
        "192.167.255.255",
        "192.169.0.0",
        "198.17.255.255",
        "198.20.0.0",
        "198.51.99.255",
        "198.51.101.0",
        "203.0.112.255",
        "203.0.114.0",
        "223.255.255.255",
        "2001:200::",
        "2001:db7:ffff::",
        "2001:db9::",
        "2003::",
        "2606:4700::1111",
        "3ffe:ffff::",
        "3fff:1000::",
    ];
    for address in public {
        assert_eq!(judge(&guard, address.parse().unwrap(), CALLER), Ok(()), "{address}");
    }
}

#[test]
fn ipv6_outside_of_global_unicast_is_not_public() {
    let guard = Guard::new(Policy::default());
    for address in ["1::1", "64:ff9b:2::1", "200::1", "4000::1", "8000::1", "e000::1", "fa00::1"] {
        let judged = judge(&guard, address.parse().unwrap(), CALLER);
        assert_eq!(judged, Err(Code::AddressNotPublic), "{address}");
    }
}

#[test]
fn a_forbidden_range_is_closed_though_public_and_opened() {
    let range = "93.184.216.0/24".parse().unwrap();
    let guard = Guard::new(Policy::default().open(Purpose::Webhook, range).forbid(range));
    for address in ["93.184.216.34", "::ffff:93.184.216.34", "64:ff9b::93.184.216.34"] {
        for errand in [CALLER, ADMINISTRATOR] {
            let judged = judge(&guard, address.parse().unwrap(), errand);
            assert_eq!(judged, Err(Code::AddressForbidden), "{address}");
        }
    }
}

#[test]
fn the_own_listener_is_never_called() {
    let all = |policy: Policy, range: &str| policy.open(Purpose::Webhook, range.parse().unwrap());
    let policy = all(all(Policy::default(), "127.0.0.0/8"), "::1/128");
    let check = |listener: &str, url: &str, expected: Result<(), Code>| {
        let guard = Guard::new(policy.clone().forbid_listener(listener.parse().unwrap()));
        let judged = guard.check_url(url, ADMINISTRATOR).map(drop).map_err(|error| error.code());
        assert_eq!(judged, expected, "{url} while listening at {listener}");
    };
    let own = Err(Code::AddressOwnListener);
    check("127.0.0.1:8443", "https://127.0.0.1:8443/", own);
    check("127.0.0.1:8443", "https://[::ffff:7f00:1]:8443/", own);
    check("[::ffff:127.0.0.1]:8443", "https://127.1:8443/", own);
    check("127.0.0.1:8443", "https://127.0.0.1/", Ok(()));
    check("127.0.0.1:8443", "https://127.0.0.2:8443/", Ok(()));
    check("0.0.0.0:443", "https://127.0.0.1/", own);
    check("0.0.0.0:443", "https://localhost/", own);
    check("[::]:443", "https://127.0.0.9/", own);
    check("[::]:443", "https://[::1]/", own);
    check("203.0.113.7:443", "https://203.0.113.7/", own);
    check("0.0.0.0:443", "https://93.184.216.34/", Ok(()));
}

/// The forms in which an IPv6 address can hide an IPv4 address.
fn hidden(v4: Ipv4Addr) -> [(&'static str, Ipv6Addr); 11] {
    let [a, b, c, d] = v4.octets().map(u16::from);
    let (high, low) = (a << 8 | b, c << 8 | d);
    let public = (0x5db8, 0xd822);
    [
        ("mapped", Ipv6Addr::new(0, 0, 0, 0, 0, 0xffff, high, low)),
        ("compatible", Ipv6Addr::new(0, 0, 0, 0, 0, 0, high, low)),
        ("translated", Ipv6Addr::new(0, 0, 0, 0, 0xffff, 0, high, low)),
        ("NAT64", Ipv6Addr::new(0x64, 0xff9b, 0, 0, 0, 0, high, low)),
        ("local NAT64", Ipv6Addr::new(0x64, 0xff9b, 1, 0, 0, 0, high, low)),
        ("6to4", Ipv6Addr::new(0x2002, high, low, 0, 0, 0, 0, 1)),
        ("Teredo client", Ipv6Addr::new(0x2001, 0, public.0, public.1, 0, 0, !high, !low)),
        ("Teredo server", Ipv6Addr::new(0x2001, 0, high, low, 0, 0, !public.0, !public.1)),
        ("ISATAP", Ipv6Addr::new(0x2606, 0x4700, 0, 0, 0, 0x5efe, high, low)),
        ("ISATAP, unique", Ipv6Addr::new(0x2606, 0x4700, 0, 0, 0x200, 0x5efe, high, low)),
        ("ISATAP in 6to4", Ipv6Addr::new(0x2002, 0x5db8, 0xd822, 0, 0, 0x5efe, high, low)),
    ]
}

#[track_caller]
fn judged_alike(v4: Ipv4Addr) {
    let opened = Policy::default().open(Purpose::Webhook, "10.0.0.0/8".parse().expect("a range"));
    for guard in [Guard::new(Policy::default()), Guard::new(opened)] {
        for errand in [CALLER, ADMINISTRATOR] {
            let expected = judge(&guard, v4.into(), errand);
            for (form, address) in hidden(v4) {
                assert_eq!(judge(&guard, address.into(), errand), expected, "{form} {address}");
            }
        }
    }
}

#[test]
fn the_ends_of_every_range_are_judged_alike_in_hiding() {
    for range in RANGES.iter().chain(METADATA) {
        for address in ends(range) {
            if let IpAddr::V4(address) = address {
                judged_alike(address);
            }
        }
    }
}

#[test]
fn hiding_in_a_closed_network_does_not_help() {
    let guard = Guard::new(Policy::default());
    // ISATAP with a public address under the prefixes of a link, a site and an example.
    for address in ["fe80::5efe:5db8:d822", "fd00::5efe:5db8:d822", "2001:db8::5efe:5db8:d822"] {
        let judged = judge(&guard, address.parse().unwrap(), CALLER);
        assert_eq!(judged, Err(Code::AddressNotPublic), "{address}");
    }
}

/// Writes an address into `64:ff9b:1::/48` as RFC 6052 §2.2 does for each length of prefix.
fn local_nat64(v4: Ipv4Addr) -> [Ipv6Addr; 3] {
    let prefix = Ipv6Addr::new(0x64, 0xff9b, 1, 0, 0, 0, 0, 0).octets();
    let [a, b, c, d] = v4.octets();
    [[6, 7, 9, 10], [7, 9, 10, 11], [9, 10, 11, 12]].map(|places| {
        let mut octets = prefix;
        for (place, octet) in places.into_iter().zip([a, b, c, d]) {
            octets[place] = octet;
        }
        // Whatever stands behind the address is not looked at by translators.
        octets[13..].copy_from_slice(&[184, 216, 34]);
        octets.into()
    })
}

proptest! {
    #[test]
    fn a_hidden_address_is_judged_as_in_the_open(bits: u32) {
        judged_alike(Ipv4Addr::from_bits(bits));
    }

    #[test]
    fn a_private_address_is_refused_however_hidden(low: u16, first in 0..4_usize) {
        let guard = Guard::new(Policy::default());
        let (a, b) = [(10, 1), (127, 0), (192, 168), (172, 16)][first];
        let [c, d] = low.to_be_bytes();
        let v4 = Ipv4Addr::new(a, b, c, d);
        for address in local_nat64(v4) {
            prop_assert!(judge(&guard, address.into(), CALLER).is_err(), "{} {}", v4, address);
        }
    }
}
