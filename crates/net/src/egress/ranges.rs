//! The special-purpose addresses of IANA's two registries, and who may reach them.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use ipnet::{IpNet, Ipv4Net, Ipv6Net};

/// A range of addresses that are not simply public.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Range {
    /// The addresses.
    pub net: IpNet,
    /// What they are.
    pub name: &'static str,
    /// Who may reach them.
    pub standing: Standing,
}

/// Who may reach a range.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Standing {
    /// Administrators' targets, where the policy opens it.
    Closed,
    /// Nobody.
    Never,
    /// Whoever may reach the IPv4 addresses inside.
    Inner,
}

impl std::fmt::Display for Standing {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Closed => "if opened",
            Self::Never => "never",
            Self::Inner => "as the address inside",
        })
    }
}

/// The table: everything that is not in it is public, but for IPv6 outside of `2000::/3`.
///
/// The first range that holds an address counts.
pub const RANGES: &[Range] = &[
    v4([0, 0, 0, 0], 8, "this network", Standing::Never),
    v4([10, 0, 0, 0], 8, "private", Standing::Closed),
    v4([100, 64, 0, 0], 10, "shared by a carrier", Standing::Closed),
    v4([127, 0, 0, 0], 8, "loopback", Standing::Closed),
    v4([169, 254, 0, 0], 16, "link-local", Standing::Never),
    v4([172, 16, 0, 0], 12, "private", Standing::Closed),
    v4([192, 0, 0, 0], 24, "protocol assignments", Standing::Closed),
    v4([192, 0, 2, 0], 24, "documentation", Standing::Closed),
    v4([192, 88, 99, 0], 24, "6to4 relays", Standing::Closed),
    v4([192, 168, 0, 0], 16, "private", Standing::Closed),
    v4([198, 18, 0, 0], 15, "benchmarks", Standing::Closed),
    v4([198, 51, 100, 0], 24, "documentation", Standing::Closed),
    v4([203, 0, 113, 0], 24, "documentation", Standing::Closed),
    v4([224, 0, 0, 0], 4, "multicast", Standing::Never),
    v4([255, 255, 255, 255], 32, "broadcast", Standing::Never),
    v4([240, 0, 0, 0], 4, "reserved", Standing::Closed),
    v6([0, 0, 0, 0, 0, 0, 0, 0], 128, "unspecified", Standing::Never),
    v6([0, 0, 0, 0, 0, 0, 0, 1], 128, "loopback", Standing::Closed),
    v6([0, 0, 0, 0, 0, 0, 0, 0], 96, "IPv4-compatible", Standing::Inner),
    v6([0, 0, 0, 0, 0, 0xffff, 0, 0], 96, "IPv4-mapped", Standing::Inner),
    v6([0, 0, 0, 0, 0xffff, 0, 0, 0], 96, "IPv4-translated", Standing::Inner),
    v6([0x64, 0xff9b, 0, 0, 0, 0, 0, 0], 96, "NAT64", Standing::Inner),
    v6([0x64, 0xff9b, 1, 0, 0, 0, 0, 0], 48, "NAT64 of a network", Standing::Inner),
    v6([0x100, 0, 0, 0, 0, 0, 0, 0], 64, "discarded", Standing::Closed),
    v6([0x100, 0, 0, 1, 0, 0, 0, 0], 64, "dummy", Standing::Closed),
    v6([0x2001, 0, 0, 0, 0, 0, 0, 0], 32, "Teredo", Standing::Inner),
    v6([0x2001, 2, 0, 0, 0, 0, 0, 0], 48, "benchmarks", Standing::Closed),
    v6([0x2001, 0x10, 0, 0, 0, 0, 0, 0], 28, "ORCHID", Standing::Closed),
    v6([0x2001, 0x20, 0, 0, 0, 0, 0, 0], 28, "ORCHIDv2", Standing::Closed),
    v6([0x2001, 0, 0, 0, 0, 0, 0, 0], 23, "protocol assignments", Standing::Closed),
    v6([0x2001, 0xdb8, 0, 0, 0, 0, 0, 0], 32, "documentation", Standing::Closed),
    v6([0x2002, 0, 0, 0, 0, 0, 0, 0], 16, "6to4", Standing::Inner),
    v6([0x3fff, 0, 0, 0, 0, 0, 0, 0], 20, "documentation", Standing::Closed),
    v6([0x5f00, 0, 0, 0, 0, 0, 0, 0], 16, "segment routing", Standing::Closed),
    v6([0xfc00, 0, 0, 0, 0, 0, 0, 0], 7, "unique local", Standing::Closed),
    v6([0xfe80, 0, 0, 0, 0, 0, 0, 0], 10, "link-local", Standing::Never),
    v6([0xfec0, 0, 0, 0, 0, 0, 0, 0], 10, "site-local", Standing::Closed),
    v6([0xff00, 0, 0, 0, 0, 0, 0, 0], 8, "multicast", Standing::Never),
];

/// Where clouds serve machines their credentials. Link-local ones are in [`RANGES`] too; they
/// stand here so that the refusal names the true reason.
pub const METADATA: &[Range] = &[
    v4([100, 100, 100, 200], 32, "Alibaba Cloud", Standing::Never),
    v4([168, 63, 129, 16], 32, "Azure", Standing::Never),
    v4([169, 254, 169, 254], 32, "nearly every cloud", Standing::Never),
    v4([169, 254, 170, 0], 24, "AWS containers", Standing::Never),
    v4([169, 254, 0, 23], 32, "Tencent Cloud", Standing::Never),
    v4([169, 254, 42, 42], 32, "Scaleway", Standing::Never),
    v4([192, 0, 0, 192], 32, "Oracle Cloud", Standing::Never),
    v6([0xfd00, 0xec2, 0, 0, 0, 0, 0, 0], 32, "AWS", Standing::Never),
    v6([0xfd00, 0x42, 0, 0, 0, 0, 0, 0x42], 128, "Scaleway", Standing::Never),
    v6([0xfd20, 0xce, 0, 0, 0, 0, 0, 0x254], 128, "Google Cloud", Standing::Never),
    v6([0xfe80, 0, 0, 0, 0, 0, 0xa9fe, 0xa9fe], 128, "OpenStack", Standing::Never),
];

/// What IPv6 has outside of its global unicast addresses and the table.
static UNASSIGNED: Range = v6([0; 8], 0, "unassigned", Standing::Closed);
const GLOBAL_UNICAST: Ipv6Net = Ipv6Net::new_assert(Ipv6Addr::new(0x2000, 0, 0, 0, 0, 0, 0, 0), 3);

/// Returns the range that makes an address special; `None` if it is public.
pub(super) fn special(address: IpAddr) -> Option<&'static Range> {
    RANGES.iter().find(|range| range.net.contains(&address)).or_else(|| match address {
        IpAddr::V6(address) if !GLOBAL_UNICAST.contains(&address) => Some(&UNASSIGNED),
        IpAddr::V4(_) | IpAddr::V6(_) => None,
    })
}

/// Tells whether a cloud serves machines their credentials at an address.
pub(super) fn is_metadata(address: IpAddr) -> bool {
    METADATA.iter().any(|range| range.net.contains(&address))
}

const fn v4(octets: [u8; 4], bits: u8, name: &'static str, standing: Standing) -> Range {
    let [a, b, c, d] = octets;
    let net = IpNet::V4(Ipv4Net::new_assert(Ipv4Addr::new(a, b, c, d), bits));
    Range { net, name, standing }
}

const fn v6(groups: [u16; 8], bits: u8, name: &'static str, standing: Standing) -> Range {
    let mut address = 0;
    let mut index = 0;
    // Neither `for` nor `Ipv6Addr::from` can be used in a constant.
    while index < groups.len() {
        address = (address << 16) | groups[index] as u128;
        index += 1;
    }
    let net = IpNet::V6(Ipv6Net::new_assert(Ipv6Addr::from_bits(address), bits));
    Range { net, name, standing }
}
