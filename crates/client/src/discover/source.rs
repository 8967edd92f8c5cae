//! Where a card is to be looked for.

use std::{
    fmt,
    path::{Path, PathBuf},
};

use url::Url;

use crate::origin::{is_loopback, shown};

/// Where a card is to be looked for: a URL, a host, or a file.
///
/// `Debug` and `Display` leave a URL's query out: it may hold secrets.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Source(Place);

#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Place {
    /// The text as it was given, with a scheme. A guard has not seen it yet.
    Web(String),
    /// The base of an agent that shares its host with others.
    Agent(String),
    File(PathBuf),
}

/// A text that names nothing to look at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "expected a URL (`https://agent.example/a2a`), a host (`agent.example`, `localhost:8080`) or a file (`./card.json`)"
)]
pub struct InvalidSource;

const NAMES: [&str; 2] = ["agent-card.json", "agent.json"];
const WELL_KNOWN: &str = "/.well-known/";

impl Source {
    /// Reads what a person would write.
    ///
    /// What has a scheme is a URL, but `file:` is a file. What begins with `/` or `.`, and a
    /// bare name that ends in `.json`, is a file. All else is a host, perhaps with port and
    /// path: https, or http if it is this machine (H-07).
    pub fn parse(text: &str) -> Result<Self, InvalidSource> {
        let text = text.trim();
        if text.is_empty() {
            return Err(InvalidSource);
        }
        if let Some(path) = text.strip_prefix("file:") {
            let path = path.strip_prefix("//").unwrap_or(path);
            return if path.is_empty() { Err(InvalidSource) } else { Ok(Self::file(path)) };
        }
        if text.contains("://") {
            return Ok(Self::url(text));
        }
        let (first, _) = text.split_once('/').unwrap_or((text, ""));
        let is_host = if text.contains('/') {
            first.contains(['.', ':']) || first == "localhost"
        } else {
            !has_json_name(text)
        };
        if text.starts_with(['/', '.', '~', '\\']) || !is_host {
            return Ok(Self::file(text));
        }
        let scheme = if is_loopback(without_port(first)) { "http" } else { "https" };
        Ok(Self::url(format!("{scheme}://{text}")))
    }

    /// Looks at a URL: that of a card, or the base of an agent.
    pub fn url(url: impl Into<String>) -> Self {
        Self(Place::Web(url.into()))
    }

    /// Looks below the base of an agent, and nowhere else: where several agents share a host, a
    /// card at its root is another's.
    pub fn agent(base: impl Into<String>) -> Self {
        Self(Place::Agent(base.into()))
    }

    /// Looks into a file.
    pub fn file(path: impl Into<PathBuf>) -> Self {
        Self(Place::File(path.into()))
    }

    /// Returns the URL as it was given, if it is one.
    pub fn as_url(&self) -> Option<&str> {
        match &self.0 {
            Place::Web(url) | Place::Agent(url) => Some(url),
            Place::File(_) => None,
        }
    }

    /// Returns the file, if it is one.
    pub fn as_file(&self) -> Option<&Path> {
        match &self.0 {
            Place::Web(_) | Place::Agent(_) => None,
            Place::File(path) => Some(path),
        }
    }

    /// Returns the URLs at which the card may be, in order. `given` is this source's, checked.
    pub(super) fn candidates(&self, given: &Url) -> Vec<Url> {
        match self.0 {
            Place::Agent(_) => NAMES.map(|name| named(given, name)).into(),
            Place::Web(_) | Place::File(_) => candidates(given),
        }
    }
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Place::Web(url) | Place::Agent(url) => f.write_str(&shown(url)),
            Place::File(path) => write!(f, "{}", path.display()),
        }
    }
}

impl fmt::Debug for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Source({self})")
    }
}

/// Returns the URLs at which a card may be, in the order of catalogue C-17: the URL itself,
/// then the names that cards have, each below the base and then below the host.
///
/// An origin alone is no card's URL, so it is not asked itself.
fn candidates(given: &Url) -> Vec<Url> {
    let base = base(given);
    let mut root = base.clone();
    root.set_path("");
    let mut all = Vec::new();
    if given.path() != "/" || given.query().is_some() {
        all.push(given.clone());
    }
    for name in NAMES {
        all.extend([&base, &root].map(|place| named(place, name)));
    }
    let mut unique = Vec::with_capacity(all.len());
    for candidate in all {
        if !unique.contains(&candidate) {
            unique.push(candidate);
        }
    }
    unique
}

/// Returns the URL of a card by one of the names that cards have.
fn named(place: &Url, name: &str) -> Url {
    let mut card = place.clone();
    let path = place.path().trim_end_matches('/');
    card.set_path(&format!("{path}{WELL_KNOWN}{name}"));
    card
}

/// Returns the base of an agent: the URL itself, or what a card's URL stands below.
pub(super) fn base(given: &Url) -> Url {
    let mut base = given.clone();
    let path = given.path().to_owned();
    if let Some(place) = path.find(WELL_KNOWN) {
        base.set_path(&path[..place]);
        base.set_query(None);
    } else if has_json_name(&path) {
        base.set_path(path.rsplit_once('/').map_or("", |(parent, _)| parent));
        base.set_query(None);
    }
    base
}

/// Tells whether a URL is one that a card has at the root of its host.
pub(super) fn is_at_root(card: &Url) -> bool {
    card.path().starts_with(WELL_KNOWN)
}

/// Tells whether a URL has the name of a card.
pub(super) fn is_named(card: &Url) -> bool {
    has_json_name(card.path())
}

fn has_json_name(path: &str) -> bool {
    path.len() > 5
        && path.get(path.len() - 5..).is_some_and(|end| end.eq_ignore_ascii_case(".json"))
}

fn without_port(authority: &str) -> &str {
    match authority.rsplit_once(':') {
        Some((host, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => host,
        _ => authority,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[track_caller]
    fn check(text: &str, expected: &str) {
        let found = match Source::parse(text) {
            Ok(Source(Place::Web(url) | Place::Agent(url))) => format!("url {url}"),
            Ok(Source(Place::File(path))) => format!("file {}", path.display()),
            Err(_) => "nothing".to_owned(),
        };
        assert_eq!(found, expected, "{text}");
    }

    #[test]
    fn what_people_write_is_understood() {
        check("https://agent.example/a2a", "url https://agent.example/a2a");
        check("HTTP://agent.example", "url HTTP://agent.example");
        check("agent.example", "url https://agent.example");
        check(" agent.example:8443/a2a ", "url https://agent.example:8443/a2a");
        check("agent", "url https://agent");
        check("localhost", "url http://localhost");
        check("localhost:8080", "url http://localhost:8080");
        check("localhost/a2a", "url http://localhost/a2a");
        check("127.0.0.1:9", "url http://127.0.0.1:9");
        check("[::1]:9", "url http://[::1]:9");
        check("[2001:db8::1]", "url https://[2001:db8::1]");
        check("10.0.0.1:80", "url https://10.0.0.1:80");
        check("card.json", "file card.json");
        check("cards/echo.json", "file cards/echo.json");
        check("agent.example/card.json", "url https://agent.example/card.json");
        check("./card", "file ./card");
        check("/etc/card.json", "file /etc/card.json");
        check("file:///etc/card.json", "file /etc/card.json");
        check("", "nothing");
        check("file:", "nothing");
    }

    #[test]
    fn an_agent_among_others_is_looked_for_where_it_is() {
        let base = "https://hub.example/agents/a";
        let found = Source::agent(base).candidates(&Url::parse(base).unwrap());
        let found: Vec<&str> = found.iter().map(Url::as_str).collect();
        let expected = [
            "https://hub.example/agents/a/.well-known/agent-card.json",
            "https://hub.example/agents/a/.well-known/agent.json",
        ];
        assert_eq!(found, expected);
    }

    #[track_caller]
    fn check_order(given: &str, expected: &[&str]) {
        let found = candidates(&Url::parse(given).unwrap());
        assert_eq!(found.iter().map(Url::as_str).collect::<Vec<_>>(), expected);
    }

    #[test]
    fn c_17_candidates_come_in_order() {
        check_order(
            "https://a.example/x",
            &[
                "https://a.example/x",
                "https://a.example/x/.well-known/agent-card.json",
                "https://a.example/.well-known/agent-card.json",
                "https://a.example/x/.well-known/agent.json",
                "https://a.example/.well-known/agent.json",
            ],
        );
    }

    #[test]
    fn an_origin_alone_is_not_asked_itself() {
        let well_known = [
            "https://a.example/.well-known/agent-card.json",
            "https://a.example/.well-known/agent.json",
        ];
        check_order("https://a.example", &well_known);
        check_order("https://a.example/.well-known/agent-card.json", &well_known);
    }

    #[test]
    fn hg_12_a_card_below_a_path_is_found_beside_it() {
        check_order(
            "https://a.example/x/card.json?k=v",
            &[
                "https://a.example/x/card.json?k=v",
                "https://a.example/x/.well-known/agent-card.json",
                "https://a.example/.well-known/agent-card.json",
                "https://a.example/x/.well-known/agent.json",
                "https://a.example/.well-known/agent.json",
            ],
        );
    }

    #[test]
    fn a_query_is_not_shown() {
        let source = Source::parse("https://a.example/x?key=swordfish").unwrap();
        assert_eq!(
            format!("{source} {source:?}"),
            "https://a.example/x Source(https://a.example/x)"
        );
    }

    proptest! {
        #[test]
        fn any_text_is_read_or_refused(text in ".*") {
            if let Ok(source) = Source::parse(&text)
                && let Some(Ok(url)) = source.as_url().map(Url::parse)
                && url.has_host()
            {
                let all = candidates(&url);
                prop_assert!((2..=5).contains(&all.len()));
                prop_assert!(all.iter().all(|one| one.host() == url.host()));
            }
        }
    }
}
