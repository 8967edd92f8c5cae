//! Just enough of a URL to judge one. Nothing is ever connected by this reading.

use std::net::{Ipv4Addr, Ipv6Addr};

/// An absolute URL with a host.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Url<'a> {
    pub scheme: &'a str,
    pub has_user: bool,
    pub host: Host<'a>,
}

/// A host and where it leads.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Host<'a> {
    name: &'a str,
    pub port: Option<u16>,
}

impl<'a> Url<'a> {
    pub(super) fn parse(text: &'a str) -> Option<Self> {
        let (scheme, rest) = text.split_once("://")?;
        if !is_scheme(scheme) || text.contains(is_forbidden) {
            return None;
        }
        let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
        let authority = &rest[..end];
        let (user, host) = match authority.rsplit_once('@') {
            Some((_, host)) => (true, host),
            None => (false, authority),
        };
        Some(Self { scheme, has_user: user, host: Host::parse(host)? })
    }

    /// Tells whether what is sent there is safe from listeners: encrypted, or never leaving
    /// the machine.
    pub(super) fn is_private(&self) -> bool {
        self.scheme.eq_ignore_ascii_case("https")
            || (self.scheme.eq_ignore_ascii_case("http") && self.host.is_loopback())
    }

    pub(super) fn is_http(&self) -> bool {
        self.scheme.eq_ignore_ascii_case("https") || self.scheme.eq_ignore_ascii_case("http")
    }
}

impl<'a> Host<'a> {
    /// Reads `host` or `host:port`.
    pub(super) fn parse(text: &'a str) -> Option<Self> {
        let (name, port) = match text.strip_prefix('[') {
            Some(rest) => {
                let (address, rest) = rest.split_once(']')?;
                address.parse::<Ipv6Addr>().ok()?;
                (address, rest.strip_prefix(':').or_else(|| rest.is_empty().then_some(""))?)
            }
            None => text.split_once(':').unwrap_or((text, "")),
        };
        let fits =
            !name.is_empty() && !name.contains(|letter| is_forbidden(letter) || letter == '/');
        let port = match port {
            "" => None,
            digits if digits.bytes().all(|byte| byte.is_ascii_digit()) => {
                Some(digits.parse().ok()?)
            }
            _ => return None,
        };
        fits.then_some(Self { name, port })
    }

    pub(super) fn is_loopback(&self) -> bool {
        let name = self.name.trim_end_matches('.').to_ascii_lowercase();
        name == "localhost"
            || name.ends_with(".localhost")
            || name.parse::<Ipv4Addr>().is_ok_and(|address| address.is_loopback())
            || name.parse::<Ipv6Addr>().is_ok_and(|address| address.to_canonical().is_loopback())
    }

    pub(super) fn is_unspecified(&self) -> bool {
        self.name.parse::<Ipv4Addr>().is_ok_and(|address| address.is_unspecified())
            || self
                .name
                .parse::<Ipv6Addr>()
                .is_ok_and(|address| address.to_canonical().is_unspecified())
    }
}

/// Tells whether a text is an absolute URI: a scheme, a colon, and something behind it.
pub(super) fn is_absolute_uri(text: &str) -> bool {
    text.split_once(':').is_some_and(|(scheme, rest)| is_scheme(scheme) && !rest.is_empty())
        && !text.contains(is_forbidden)
}

fn is_scheme(text: &str) -> bool {
    text.starts_with(|letter: char| letter.is_ascii_alphabetic())
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte))
}

fn is_forbidden(letter: char) -> bool {
    letter.is_whitespace() || letter.is_control() || "\"<>\\^`{|}".contains(letter)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_absolute_urls_with_a_host_are_urls() {
        for good in [
            "https://a.example",
            "http://[::1]:8080/x?y#z",
            "https://user:pass@a.example:443/",
            "ws://münchen.example",
        ] {
            assert!(Url::parse(good).is_some(), "{good}");
        }
        for bad in [
            "",
            "/a2a",
            "a.example",
            "a.example:443",
            "https://",
            "https:///x",
            "https://:80",
            "https://a b",
            "https://a\\b",
            "https://[::1",
            "https://[x]",
            "https://a:b",
            "https://a:99999",
            "1https://a",
            "://a",
            "javascript:alert(1)",
        ] {
            assert_eq!(Url::parse(bad), None, "{bad}");
        }
    }

    #[test]
    fn plain_http_is_private_on_the_own_machine_only() {
        let private = |text| Url::parse(text).unwrap().is_private();
        for url in [
            "https://a",
            "HTTPS://a",
            "http://localhost:1",
            "http://127.9.9.9",
            "http://[::1]",
            "http://[::ffff:127.0.0.1]/",
            "http://x.localhost.",
        ] {
            assert!(private(url), "{url}");
        }
        for url in [
            "http://a",
            "http://127.0.0.1.example",
            "http://localhost.example",
            "http://localhost@a",
            "http://10.0.0.1",
            "ftp://localhost",
        ] {
            assert!(!private(url), "{url}");
        }
    }

    #[test]
    fn an_address_to_listen_on_is_told_from_one_to_call() {
        assert!(Host::parse("0.0.0.0:80").unwrap().is_unspecified());
        assert!(Host::parse("[::]:80").unwrap().is_unspecified());
        assert!(!Host::parse("10.0.0.0:80").unwrap().is_unspecified());
    }

    #[test]
    fn an_absolute_uri_has_a_scheme_and_more() {
        assert!(is_absolute_uri("urn:x:y") && is_absolute_uri("https://a/b"));
        assert!(!is_absolute_uri("x") && !is_absolute_uri("x:") && !is_absolute_uri("a b:c"));
    }
}
