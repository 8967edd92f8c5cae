//! The one reading of a URL, for the check and for the connection alike.

use std::{fmt, net::IpAddr, sync::Arc};

use ::url::{Host as ParsedHost, Url};
use http::{HeaderValue, Uri, uri::PathAndQuery};

use super::{Errand, Refused};

const LONGEST_URL: usize = 8192;

/// A URL that a guard let pass for an errand. Cheap to clone.
///
/// Only such a URL can be sent to. The text may hold secrets, so `Debug` shows no more than
/// scheme, host and port.
#[derive(Clone, PartialEq, Eq)]
pub struct CheckedUrl(Arc<Parts>);

#[derive(PartialEq, Eq)]
struct Parts {
    url: Url,
    uri: Uri,
    /// Host and port, as HTTP/1.1 has them in a header.
    host_header: HeaderValue,
    host: Host,
    port: u16,
    errand: Errand,
}

/// Where a URL leads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Host {
    /// A name to be resolved, in ASCII.
    Name(String),
    /// This machine, by the name `localhost` or one under it.
    Localhost,
    /// An address, however it was spelled.
    Address(IpAddr),
}

impl CheckedUrl {
    /// Returns the URL in its one canonical spelling.
    pub fn as_str(&self) -> &str {
        self.0.url.as_str()
    }

    /// Returns the host as the URL names it: a name in ASCII, or an address.
    pub fn host_text(&self) -> &str {
        self.0.url.host_str().unwrap_or_default()
    }

    /// Returns the port, the scheme's own if the URL names none.
    pub fn port(&self) -> u16 {
        self.0.port
    }

    /// Tells whether the URL is an https one.
    pub fn is_https(&self) -> bool {
        self.0.url.scheme() == "https"
    }

    /// Returns what the URL was checked for.
    pub fn errand(&self) -> Errand {
        self.0.errand
    }

    /// Returns the scheme, host and port, `https://agent.example`.
    pub fn origin(&self) -> String {
        self.0.url.origin().ascii_serialization()
    }

    /// Returns the URL of something below this one, for the same errand: a path with its
    /// leading slash, and maybe a query. What the URL itself has as query comes first.
    ///
    /// Refuses a path that would lead elsewhere, such as one with `..` in it.
    pub fn below(&self, path: &str) -> Result<Self, Refused> {
        let (path, query) = path.split_once('?').unwrap_or((path, ""));
        // The parser would climb up for these (URL §4.4), though they may be names.
        let climbs = |segment: &str| {
            matches!(segment.to_ascii_lowercase().replace("%2e", ".").as_str(), "." | "..")
        };
        if path.split('/').any(climbs) {
            return Err(Refused::Ambiguous { what: "a path that leads elsewhere" });
        }
        let mut text = self.origin();
        text.push_str(self.0.url.path().trim_end_matches('/'));
        text.push_str(path);
        let queries = [self.0.url.query().unwrap_or_default(), query];
        for (query, separator) in queries.iter().filter(|query| !query.is_empty()).zip(["?", "&"]) {
            text.push_str(separator);
            text.push_str(query);
        }
        let below = Self::parse(&text, self.0.errand)?;
        // Invariant: one origin, so that what was checked for this URL holds for the other.
        if below.origin() != self.origin() {
            return Err(Refused::Ambiguous { what: "a path that leads elsewhere" });
        }
        Ok(below)
    }

    pub(super) fn host(&self) -> &Host {
        &self.0.host
    }

    pub(crate) fn uri(&self) -> &Uri {
        &self.0.uri
    }

    /// Returns path and query, as HTTP/1.1 names what is asked for.
    pub(crate) fn target(&self) -> &str {
        self.0.uri.path_and_query().map_or("/", PathAndQuery::as_str)
    }

    pub(crate) fn host_header(&self) -> &HeaderValue {
        &self.0.host_header
    }

    /// Returns the host, and the port if it is not the scheme's own.
    pub(crate) fn authority(&self) -> &str {
        self.0.uri.authority().map_or("", |authority| authority.as_str())
    }

    /// Reads a URL, and refuses what no policy allows and what other parsers read differently.
    pub(super) fn parse(text: &str, errand: Errand) -> Result<Self, Refused> {
        if text.len() > LONGEST_URL {
            return Err(Refused::TooLong { limit: LONGEST_URL });
        }
        // The parser would drop or turn these without a word.
        if text.contains(|letter: char| letter.is_control() || letter.is_whitespace()) {
            return Err(Refused::Ambiguous { what: "a blank or control character" });
        }
        if text.contains('\\') {
            return Err(Refused::Ambiguous { what: "a backslash" });
        }
        let mut url = Url::parse(text).map_err(Refused::Unparsable)?;
        if !matches!(url.scheme(), "https" | "http") {
            return Err(Refused::Scheme);
        }
        let Some(rest) = text.get(url.scheme().len()..).and_then(|rest| rest.strip_prefix("://"))
        else {
            return Err(Refused::Ambiguous { what: "no `//` after its scheme" });
        };
        if rest.starts_with('/') {
            return Err(Refused::Ambiguous { what: "more than two slashes after its scheme" });
        }
        // An empty user name leaves nothing in the parsed URL, only in the text.
        let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
        if authority.contains('@') || !url.username().is_empty() || url.password().is_some() {
            return Err(Refused::Credentials);
        }
        if url.fragment().is_some() {
            return Err(Refused::Fragment);
        }
        let port = url.port_or_known_default().filter(|port| *port != 0).ok_or(Refused::Port)?;
        let host = Host::take(&mut url)?;
        let uri = same_uri(&url)?;
        let authority = uri.authority().map_or("", |authority| authority.as_str());
        let host_header = HeaderValue::from_str(authority).map_err(|_| Refused::Host)?;
        Ok(Self(Arc::new(Parts { url, uri, host_header, host, port, errand })))
    }
}

impl fmt::Debug for CheckedUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let origin = format_args!("{}://{}:{}", self.0.url.scheme(), self.host_text(), self.0.port);
        f.debug_struct("CheckedUrl")
            .field("origin", &origin)
            .field("errand", &self.0.errand)
            .finish_non_exhaustive()
    }
}

impl Host {
    /// Reads the host of a URL, and removes the dot that ends a name.
    fn take(url: &mut Url) -> Result<Self, Refused> {
        let name = match url.host().ok_or(Refused::Host)? {
            ParsedHost::Ipv4(address) => return Ok(Self::Address(address.into())),
            ParsedHost::Ipv6(address) => return Ok(Self::Address(address.into())),
            ParsedHost::Domain(name) => name.strip_suffix('.').unwrap_or(name).to_owned(),
        };
        if !is_dns_name(&name) {
            return Err(Refused::Host);
        }
        url.set_host(Some(&name)).map_err(|_| Refused::Host)?;
        // Without its dot a name may have become an address.
        if !matches!(url.host(), Some(ParsedHost::Domain(_))) {
            return Err(Refused::Host);
        }
        let is_localhost = name == "localhost" || name.ends_with(".localhost");
        Ok(if is_localhost { Self::Localhost } else { Self::Name(name) })
    }
}

/// Tells whether DNS can hold a name. Underscores are no part of host names, but in use.
fn is_dns_name(name: &str) -> bool {
    let is_label = |label: &str| {
        (1..=63).contains(&label.len())
            && label.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'))
    };
    name.len() <= 253 && name.split('.').all(is_label)
}

/// Returns the URL as the HTTP library takes it, sure to name the same place.
fn same_uri(url: &Url) -> Result<Uri, Refused> {
    let differs = Refused::Ambiguous { what: "a character that belongs percent-encoded" };
    let Ok(uri) = url.as_str().parse::<Uri>() else { return Err(differs) };
    let same = uri.scheme_str() == Some(url.scheme())
        && uri.host() == url.host_str()
        && uri.port_u16() == url.port();
    if same { Ok(uri) } else { Err(differs) }
}
