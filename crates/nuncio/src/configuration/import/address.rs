//! The address of an agent, and what has to be allowed for it.

use std::net::IpAddr;

use super::{super::WebUrl, draft::quoted};

/// Whether an agent may be in a network that is not public.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Network {
    /// Only if its address itself is of such a network.
    AsWritten,
    /// It may be in any.
    Any,
}

/// Returns the keys of an agent at a URL.
pub(super) fn keys(url: &WebUrl, network: Network) -> Vec<String> {
    let mut lines = vec![format!("url: {}", quoted(url.as_str()))];
    let parsed = url::Url::parse(url.as_str()).ok();
    if parsed.as_ref().is_some_and(|parsed| parsed.scheme() == "http") {
        lines.push("allow_http: true   # use https if it can".to_owned());
    }
    lines.extend(match parsed.as_ref().and_then(url::Url::host) {
        Some(url::Host::Domain(name)) => of_name(name, network),
        Some(url::Host::Ipv4(address)) => of_address(address.into()),
        Some(url::Host::Ipv6(address)) => of_address(address.to_canonical()),
        None => None,
    });
    lines
}

fn of_name(name: &str, network: Network) -> Option<String> {
    let name = name.trim_end_matches('.');
    if name == "localhost" || name.ends_with(".localhost") {
        return Some("allow_private: [127.0.0.0/8]".to_owned());
    }
    (network == Network::Any).then(|| {
        "allow_private: [10.0.0.0/8, 172.16.0.0/12, 192.168.0.0/16]   # keep the one where it is"
            .to_owned()
    })
}

fn of_address(address: IpAddr) -> Option<String> {
    let range = match address {
        IpAddr::V4(address) if address.is_loopback() => "127.0.0.0/8".to_owned(),
        IpAddr::V4(address) if address.is_private() => format!("{address}/32"),
        IpAddr::V6(address) if address.is_loopback() || address.is_unique_local() => {
            format!("\"{address}/128\"")
        }
        _ => return None,
    };
    Some(format!("allow_private: [{range}]"))
}
