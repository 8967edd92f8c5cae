//! From a card to ways of reaching the agent, the best first.
//!
//! Every URL in a card is a stranger's word (HG-07). An interface at the card's own origin is
//! trusted as the card was; one elsewhere must be on the caller's list, or be public and
//! https, and no credential of the card's origin goes there. What is left out is kept with
//! the reason, so that people can be told what to mend.
//!
//! Versions come before everything: an older one lacks operations, while another binding
//! lacks nothing. Within a version the agent's own order counts, as A2A asks (digest §16.1), unless
//! the caller names an order of bindings.

mod probe;

use std::fmt;

use nuncio_net::{CheckedUrl, Errand, Guard, Purpose, Refused, Trust};
use nuncio_protocol::{
    card::{AgentInterface, Binding, inert},
    dialect::WireForm,
    version::Version,
};

pub use self::probe::{Remembered, next_after};
use crate::{
    Interface, Origin,
    discover::Found,
    origin::{is_loopback, shown},
};

/// What the caller wants of an interface.
#[derive(Clone, Debug, Default)]
#[must_use]
pub struct Terms {
    bindings: Option<Vec<Binding>>,
    dialect: Option<WireForm>,
    version: Option<Version>,
    origins: Vec<Origin>,
    refuses_other_origins: bool,
}

/// The ways to reach an agent, and those that are none.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Negotiated {
    /// Where to call, the best first.
    pub interfaces: Vec<Interface>,
    /// What the card offers beside, and why it is not used.
    pub rejected: Vec<Rejected>,
}

/// An interface that is not used.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Rejected {
    /// Its URL, as the card has it.
    pub url: String,
    /// Its binding, as the card has it.
    pub binding: String,
    /// Its version, as the card has it.
    pub version: String,
    /// Why not.
    pub reason: Reason,
}

/// There is no way to reach an agent (H-10).
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no interface of the card can be used: {explanation}")]
pub struct NoInterface {
    /// What is wrong with each.
    pub explanation: String,
}

/// Why an interface is not used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Reason {
    /// We do not speak the binding.
    #[error("the binding is none of JSONRPC, HTTP+JSON and GRPC")]
    Binding,
    /// The caller does not want the binding.
    #[error("the binding is not among those asked for")]
    Unwanted,
    /// We do not speak the version, at least not on that binding.
    #[error("the version is not spoken here, or not on that binding")]
    Version,
    /// There is no URL, and none to fall back to.
    #[error("it has no URL, and a card from a file has no base to fall back to")]
    NoUrl,
    /// The URL names an address to listen at.
    #[error(
        "`{host}` is an address to listen at, not one to call; have the agent's card name the URL that callers use, such as `{suggestion}`"
    )]
    Unroutable {
        /// The host in the card.
        host: String,
        /// What the card should probably say.
        suggestion: String,
    },
    /// The URL names the agent's own machine.
    #[error(
        "`{host}` is this machine, while the card is that of another one; have the agent's card name the URL that callers use, such as `{suggestion}`"
    )]
    Localhost {
        /// The host in the card.
        host: String,
        /// What the card should probably say.
        suggestion: String,
    },
    /// The URL leads to another origin, and the caller allows none but those on its list.
    #[error("{origin} is another origin than the card's and not on the list of allowed ones")]
    OtherOrigin {
        /// The origin in the card.
        origin: Origin,
    },
    /// The URL leads to another origin over http.
    #[error("{origin} is another origin than the card's and not https")]
    Insecure {
        /// The origin in the card.
        origin: Origin,
    },
    /// The guard does not let anything go there.
    #[error(transparent)]
    Refused(#[from] Refused),
}

impl Terms {
    /// Uses these bindings only, in this order.
    pub fn bindings(mut self, order: impl IntoIterator<Item = Binding>) -> Self {
        self.bindings = Some(order.into_iter().collect());
        self
    }

    /// Speaks a dialect with the agent in place of what its card says.
    pub const fn dialect(mut self, form: WireForm) -> Self {
        self.dialect = Some(form);
        self
    }

    /// Speaks a version with the agent: where its card says so, or else in place of what its
    /// card says.
    pub const fn version(mut self, version: Version) -> Self {
        self.version = Some(version);
        self
    }

    /// Trusts an origin that the card may name as it trusts the card's own.
    pub fn allow_origin(mut self, origin: Origin) -> Self {
        self.origins.push(origin);
        self
    }

    /// Refuses all origins but the card's own and those on the list, public ones too.
    pub const fn refuse_other_origins(mut self) -> Self {
        self.refuses_other_origins = true;
        self
    }
}

/// Orders the ways to reach an agent, and says what is wrong with the others.
///
/// Sends nothing: names are resolved and checked again when a connection is opened.
pub fn negotiate(found: &Found, terms: &Terms, guard: &Guard) -> Negotiated {
    let mut negotiated = Negotiated::default();
    let mut ranked = Vec::new();
    for declared in &found.card.supported_interfaces {
        match judge(declared, found, terms, guard) {
            Ok((rank, interface)) => ranked.push((rank, interface)),
            Err(reason) => negotiated.rejected.push(Rejected {
                url: declared.url.clone(),
                binding: declared.protocol_binding.clone(),
                version: declared.protocol_version.clone(),
                reason,
            }),
        }
    }
    // The sort is stable, so the agent's order stays among equals.
    ranked.sort_by_key(|(rank, _)| *rank);
    for (_, interface) in ranked {
        if !negotiated.interfaces.contains(&interface) {
            negotiated.interfaces.push(interface);
        }
    }
    // Some dialects have cards that name no interface at all.
    if let (Some(form), [], Some(base)) =
        (terms.dialect, &found.card.supported_interfaces[..], &found.base)
        && let Ok(url) = guard.check_url(base.as_str(), errand(found.trust))
    {
        negotiated.interfaces.push(Interface { url, form, tenant: None });
    }
    negotiated
}

impl Negotiated {
    /// Says for people why there is no way to reach the agent.
    pub fn explain(&self) -> String {
        match (&self.interfaces[..], &self.rejected[..]) {
            ([], []) => "the card names no interface".to_owned(),
            ([], rejected) => {
                rejected.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
            }
            ([first, ..], _) => format!("{} at {}", first.form.name(), first.url.as_str()),
        }
    }

    /// Returns the best way to reach the agent. Fails if there is none; with JSON-RPC as the
    /// only binding wanted, that is Harbor's error of H-10.
    pub fn best(&self) -> Result<&Interface, NoInterface> {
        let none = || NoInterface { explanation: self.explain() };
        self.interfaces.first().ok_or_else(none)
    }
}

impl fmt::Display for Rejected {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { url, binding, version, reason } = self;
        let (binding, version, url) = (inert(binding), inert(version), shown(url));
        write!(f, "{binding} {version} at `{url}`: {reason}")
    }
}

/// The rank of an interface: version first, then the caller's order of bindings.
type Rank = (u8, usize);

fn judge(
    declared: &AgentInterface,
    found: &Found,
    terms: &Terms,
    guard: &Guard,
) -> Result<(Rank, Interface), Reason> {
    let binding = declared.binding();
    let place = match &terms.bindings {
        None => 0,
        Some(order) => order.iter().position(|one| *one == binding).ok_or(Reason::Unwanted)?,
    };
    let (form, age) = form(&binding, declared, terms)?;
    let url = url(declared, &binding, found, terms, guard)?;
    Ok(((age, place), Interface { url, form, tenant: declared.tenant.clone() }))
}

/// Returns the form and how many versions it is behind.
fn form(
    binding: &Binding,
    declared: &AgentInterface,
    terms: &Terms,
) -> Result<(WireForm, u8), Reason> {
    if matches!(binding, Binding::Other(_)) {
        return Err(Reason::Binding);
    }
    if let Some(dialect) = terms.dialect.filter(|dialect| fits(*dialect, binding)) {
        return Ok((dialect, 0));
    }
    let version = match (terms.version, declared.protocol_version.trim()) {
        (Some(version), _) => version,
        // Who names no version speaks 0.3 (A2A digest §6).
        (None, "") => Version::V0_3,
        (None, _) => declared.version().ok_or(Reason::Version)?,
    };
    let form = match (version.major, version.minor, binding) {
        (1, _, Binding::JsonRpc) => (WireForm::V1, 0),
        (1, _, Binding::HttpJson) => (WireForm::V1Http, 0),
        (1, _, Binding::Grpc) => (WireForm::V1Grpc, 0),
        (0, 3.., Binding::JsonRpc) => (WireForm::V03, 1),
        (0, 3.., Binding::HttpJson) => (WireForm::V03Http, 1),
        (0, 3.., Binding::Grpc) => (WireForm::V03Grpc, 1),
        (0, 2, Binding::JsonRpc) => (WireForm::V02, 2),
        _ => return Err(Reason::Version),
    };
    match terms.version {
        // Who says to speak it goes before those who have to be believed to.
        Some(version) => Ok((form.0, u8::from(declared.version() != Some(version)))),
        None => Ok(form),
    }
}

/// Tells whether a dialect is spoken on a binding.
fn fits(dialect: WireForm, binding: &Binding) -> bool {
    match binding {
        Binding::JsonRpc => dialect.json_rpc("").is_some(),
        Binding::HttpJson => dialect.http().is_some(),
        Binding::Grpc => matches!(dialect, WireForm::V1Grpc | WireForm::V03Grpc),
        Binding::Other(_) => false,
    }
}

fn url(
    declared: &AgentInterface,
    binding: &Binding,
    found: &Found,
    terms: &Terms,
    guard: &Guard,
) -> Result<CheckedUrl, Reason> {
    let home = found.url.as_ref().map(Origin::of);
    let text = match (declared.url.as_str(), &found.base) {
        ("", Some(base)) => base.as_str().to_owned(),
        ("", None) => return Err(Reason::NoUrl),
        (url, _) if *binding == Binding::Grpc && !url.contains("://") => {
            with_scheme(url, home.as_ref())
        }
        (url, _) => url.to_owned(),
    };
    // A text that has no origin is the guard's to refuse, in its words.
    let trust = match Origin::parse(&text) {
        Ok(origin) => judge_origin(&origin, home.as_ref(), found, terms)?,
        Err(_) => Trust::Caller,
    };
    Ok(guard.check_url(&text, errand(trust))?)
}

/// Says on whose word an origin in a card is called, if it is called at all.
fn judge_origin(
    origin: &Origin,
    home: Option<&Origin>,
    found: &Found,
    terms: &Terms,
) -> Result<Trust, Reason> {
    // A file is the word of whoever named it, all of it.
    let Some(home) = home else { return Ok(found.trust) };
    // Cards of this machine say `localhost` where people say `127.0.0.1`, and the reverse.
    let is_same_machine = origin.is_loopback()
        && home.is_loopback()
        && (origin.port(), origin.is_https()) == (home.port(), home.is_https());
    if origin == home || is_same_machine || terms.origins.contains(origin) {
        return Ok(found.trust);
    }
    let (host, suggestion) = (origin.host().to_owned(), home.to_string());
    if matches!(host.as_str(), "0.0.0.0" | "[::]") {
        return Err(Reason::Unroutable { host, suggestion });
    }
    if origin.is_loopback() && !home.is_loopback() {
        return Err(Reason::Localhost { host, suggestion });
    }
    if terms.refuses_other_origins {
        return Err(Reason::OtherOrigin { origin: origin.clone() });
    }
    // Another port of this machine is as near as the card itself; for all others the
    // caller's list is the only way to plain http.
    if !origin.is_https() && !origin.is_loopback() {
        return Err(Reason::Insecure { origin: origin.clone() });
    }
    Ok(Trust::Caller)
}

const fn errand(trust: Trust) -> Errand {
    Errand { purpose: Purpose::Agent, trust }
}

/// Completes `host:port`, which is how cards name places that speak gRPC. The port that the card
/// came from speaks as it did then; another one of this machine speaks without TLS.
fn with_scheme(authority: &str, home: Option<&Origin>) -> String {
    let secured = format!("https://{authority}");
    if home.is_some() && Origin::parse(&secured).ok().as_ref() == home {
        return secured;
    }
    let host = authority.rsplit_once(':').map_or(authority, |(host, _)| host);
    let scheme = if is_loopback(host) { "http" } else { "https" };
    format!("{scheme}://{authority}")
}

#[cfg(test)]
mod tests;
