//! Whom a credential belongs to, and what counts as the same place.

use std::fmt;

use nuncio_net::CheckedUrl;
use url::{Host, Url};

/// Scheme, host and port: what a credential belongs to, and what a card can speak for.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Origin {
    is_https: bool,
    host: String,
    port: u16,
}

/// A text that names no origin.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("expected an origin such as `https://agent.example` or `http://localhost:8080`")]
pub struct InvalidOrigin;

impl Origin {
    /// Returns where a URL leads.
    pub fn of(url: &CheckedUrl) -> Self {
        Self { is_https: url.is_https(), host: url.host_text().to_owned(), port: url.port() }
    }

    /// Reads the origin of an http or https URL; whatever stands behind it does not matter.
    ///
    /// Names come out as a guard writes them: in ASCII, without the dot at the end.
    pub fn parse(text: &str) -> Result<Self, InvalidOrigin> {
        let url = Url::parse(text).map_err(|_| InvalidOrigin)?;
        let has_user = !url.username().is_empty() || url.password().is_some();
        if !matches!(url.scheme(), "http" | "https") || has_user {
            return Err(InvalidOrigin);
        }
        let host = url.host_str().ok_or(InvalidOrigin)?;
        let host = host.strip_suffix('.').unwrap_or(host).to_owned();
        let port = url.port_or_known_default().ok_or(InvalidOrigin)?;
        Ok(Self { is_https: url.scheme() == "https", host, port })
    }

    /// Tells whether it is reached over https.
    pub const fn is_https(&self) -> bool {
        self.is_https
    }

    /// Returns the host: a name in ASCII, or an address.
    pub fn host(&self) -> &str {
        &self.host
    }

    /// Returns the port.
    pub const fn port(&self) -> u16 {
        self.port
    }

    /// Tells whether the host is this machine, by any name that needs no resolver.
    pub fn is_loopback(&self) -> bool {
        is_loopback(&self.host)
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (scheme, usual) = if self.is_https { ("https", 443) } else { ("http", 80) };
        write!(f, "{scheme}://{}", self.host)?;
        if self.port == usual { Ok(()) } else { write!(f, ":{}", self.port) }
    }
}

/// Tells whether a host is this machine: `localhost`, a name under it, or a loopback address
/// in any spelling that a URL can have.
pub(crate) fn is_loopback(host: &str) -> bool {
    match Host::parse(host) {
        Ok(Host::Domain(name)) => {
            let name = name.strip_suffix('.').unwrap_or(&name);
            name == "localhost" || name.ends_with(".localhost")
        }
        Ok(Host::Ipv4(address)) => address.is_loopback(),
        Ok(Host::Ipv6(address)) => address.to_canonical().is_loopback(),
        Err(_) => false,
    }
}

/// Returns a URL that a stranger wrote as it can be shown to people: without its query, which
/// may hold secrets, not without end, and with nothing in it that is no part of a URL.
pub(crate) fn shown(url: &str) -> String {
    const MOST: usize = 300;
    let url = url.split(['?', '#']).next().unwrap_or_default();
    let mut shown = String::new();
    for letter in url.chars().take(MOST) {
        if letter.is_ascii_graphic() {
            shown.push(letter);
        } else {
            shown.extend(letter.escape_unicode());
        }
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: Option<&str>) {
        let found = Origin::parse(text).ok().map(|origin| origin.to_string());
        assert_eq!(found.as_deref(), expected, "{text}");
    }

    #[test]
    fn an_origin_has_one_spelling() {
        check("https://Agent.Example:443/a2a?x=1", Some("https://agent.example"));
        check("https://agent.example.", Some("https://agent.example"));
        check("http://localhost:8080", Some("http://localhost:8080"));
        check("http://[::1]:80/", Some("http://[::1]"));
        check("https://2130706433/", Some("https://127.0.0.1"));
    }

    #[test]
    fn what_is_no_origin_is_refused() {
        for text in ["", "agent.example", "ftp://agent.example", "https://me@agent.example", "x:y"]
        {
            check(text, None);
        }
    }

    #[test]
    fn a_strangers_url_is_shown_as_a_url_and_nothing_else() {
        assert_eq!(shown("https://a.example/x?key=1#f"), "https://a.example/x");
        assert_eq!(shown("a\u{202e}b\n\u{1b}[2J"), "a\\u{202e}b\\u{a}\\u{1b}[2J");
        assert_eq!(shown(&"x".repeat(1_000_000)).len(), 300);
    }

    #[test]
    fn loopback_is_known_in_every_spelling() {
        for host in
            ["localhost", "a.localhost", "127.0.0.1", "127.1", "[::1]", "[::ffff:127.0.0.1]"]
        {
            assert!(is_loopback(host), "{host}");
        }
        for host in ["agent.example", "10.0.0.1", "[::2]", "localhost.example", ""] {
            assert!(!is_loopback(host), "{host}");
        }
    }
}
