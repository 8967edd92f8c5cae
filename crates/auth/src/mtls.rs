//! Client certificates: who is meant by one.
//!
//! TLS has verified the chain before; here the certificate is given a caller. Every rule
//! that fits must mean the same caller, or nobody is meant.

use std::sync::Arc;

use nuncio_protocol::service::Caller;

use crate::{
    api_key::is_name,
    identity::{Identity, Method},
    presented::Certificate,
    refusal::Refusal,
};

/// Which client certificate means which caller.
///
/// ```
/// use nuncio_auth::Mtls;
/// use nuncio_protocol::service::Caller;
///
/// let mtls = Mtls::new()
///     .agents_by_uri("spiffe://example.org/agent/")
///     .dns_name("billing.example.org", Caller::Agent("billing".into()));
/// # drop(mtls);
/// ```
#[derive(Clone, Debug, Default)]
#[must_use]
pub struct Mtls {
    pins: Vec<([u8; 32], Caller)>,
    names: Vec<(Rule, Caller)>,
    prefixes: Vec<Prefix>,
    beside_tokens: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Rule {
    Uri(String),
    DnsName(String),
    CommonName(String),
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Prefix {
    Uri(String),
    /// With its leading dot.
    Domain(String),
}

impl Mtls {
    /// Knows no certificate yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Knows one certificate by the SHA-256 of its DER form.
    ///
    /// A caller with a pinned certificate is known by pinned certificates only: another one
    /// with the right names is refused.
    pub fn pin(mut self, fingerprint: [u8; 32], caller: Caller) -> Self {
        self.pins.push((fingerprint, caller));
        self
    }

    /// Knows a caller by a URI among the alternative names, letter by letter.
    pub fn uri(mut self, uri: impl Into<String>, caller: Caller) -> Self {
        self.names.push((Rule::Uri(uri.into()), caller));
        self
    }

    /// Knows a caller by a DNS name among the alternative names.
    pub fn dns_name(mut self, name: impl Into<String>, caller: Caller) -> Self {
        self.names.push((Rule::DnsName(name.into()), caller));
        self
    }

    /// Knows a caller by the common name, if the certificate has no alternative names.
    pub fn common_name(mut self, name: impl Into<String>, caller: Caller) -> Self {
        self.names.push((Rule::CommonName(name.into()), caller));
        self
    }

    /// Knows agents by a URI that begins like this: the rest is the agent's name. End it with
    /// a `/`; the name itself has none.
    pub fn agents_by_uri(mut self, prefix: impl Into<String>) -> Self {
        self.prefixes.push(Prefix::Uri(prefix.into()));
        self
    }

    /// Knows agents by a DNS name one step below this domain: that step is the agent's name.
    pub fn agents_by_domain(mut self, domain: &str) -> Self {
        self.prefixes.push(Prefix::Domain(format!(".{}", domain.trim_matches('.'))));
        self
    }

    /// Lets a known certificate come along with an API key or a token, which then says who
    /// calls.
    ///
    /// For connections that are shared, such as a proxy's. Unless set, both at once are
    /// refused like any two credentials.
    pub fn beside_tokens(mut self) -> Self {
        self.beside_tokens = true;
        self
    }

    pub(crate) fn allows_tokens(&self) -> bool {
        self.beside_tokens
    }

    /// Says who is meant by a certificate.
    pub(crate) fn identify(&self, certificate: &Certificate<'_>) -> Result<Identity, Refusal> {
        let caller = self.pinned(certificate).or_else(|| self.named(certificate));
        let caller = caller.ok_or(Refusal::Forbidden)?;
        Ok(Identity::new(caller, Method::Mtls))
    }

    fn pinned(&self, certificate: &Certificate<'_>) -> Option<Caller> {
        let mut pins = self.pins.iter();
        let (_, caller) = pins.find(|(pin, _)| *pin == certificate.fingerprint)?;
        Some(caller.clone())
    }

    /// Returns the one caller that all fitting rules mean.
    fn named(&self, certificate: &Certificate<'_>) -> Option<Caller> {
        let names = self.names.iter();
        let exact =
            names.filter(|(rule, _)| rule.fits(certificate)).map(|(_, caller)| caller.clone());
        let agents = self.prefixes.iter().flat_map(|prefix| prefix.agents(certificate));
        let mut callers = exact.chain(agents);
        let caller = callers.next()?;
        let is_alone = callers.all(|other| other == caller);
        let is_pinned = self.pins.iter().any(|(_, pinned)| *pinned == caller);
        (is_alone && !is_pinned).then_some(caller)
    }
}

impl Rule {
    fn fits(&self, certificate: &Certificate<'_>) -> bool {
        match self {
            Self::Uri(uri) => certificate.uris.contains(uri),
            Self::DnsName(name) => {
                certificate.dns_names.iter().any(|one| one.eq_ignore_ascii_case(name))
            }
            Self::CommonName(name) => {
                certificate.dns_names.is_empty()
                    && certificate.uris.is_empty()
                    && certificate.common_name == Some(name.as_str())
            }
        }
    }
}

impl Prefix {
    fn agents<'a>(&'a self, certificate: &Certificate<'a>) -> impl Iterator<Item = Caller> {
        let (uris, names) = match self {
            Self::Uri(_) => (certificate.uris, &[][..]),
            Self::Domain(_) => (&[][..], certificate.dns_names),
        };
        let by_uri = uris.iter().filter_map(|uri| match self {
            Self::Uri(prefix) => uri.strip_prefix(prefix.as_str()).map(str::to_owned),
            Self::Domain(_) => None,
        });
        let by_name = names.iter().filter_map(|name| match self {
            Self::Domain(domain) => {
                name.to_ascii_lowercase().strip_suffix(domain.as_str()).map(str::to_owned)
            }
            Self::Uri(_) => None,
        });
        by_uri
            .chain(by_name)
            .filter(|name| is_plain(name))
            .map(|name| Caller::Agent(Arc::from(name)))
    }
}

/// Lets pass names that cannot be mistaken for a path or a pattern.
fn is_plain(name: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_');
    is_name(name) && name.bytes().all(is_plain)
}
