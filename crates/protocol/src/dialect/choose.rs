//! Which form a request is in (catalogue §7.1, compatibility digest §2.2).

use std::borrow::Cow;

use super::WireForm;
use crate::{
    error::{Error, ErrorKind},
    http::{Resource, segments},
    json::{self, Kind, Reader},
    version::Version,
};

/// What is known of a request before it is read.
#[derive(Clone, Copy, Debug, Default)]
pub struct Incoming<'a> {
    /// The HTTP method.
    pub method: &'a str,
    /// The path below the agent's URL; for gRPC the whole path.
    pub path: &'a str,
    /// `A2A-Version`, from the header or the query.
    pub version: Option<&'a str>,
    /// `A2A-Protocol-Version`, which only the opportunity agents send.
    pub capability_version: Option<&'a str>,
    /// The body.
    pub body: &'a [u8],
}

/// What an agent answers to, besides A2A 1.0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "independent switches")]
pub struct Offered {
    /// Who calls methods with a slash, if they are answered: their writers differ, and a
    /// request does not tell which is meant.
    pub legacy: Option<Legacy>,
    /// Whether molecule's paths are served.
    pub molecule: bool,
    /// Whether the capability envelope is served.
    pub opportunity: bool,
    /// Whether Upal's nodes are served.
    pub upal: bool,
    /// Whether `PocketPaw`'s routes are served.
    pub pocketpaw: bool,
    /// Whether a request of 1.0 may lack its version. The specification says no.
    pub lenient: bool,
    /// Whether 1.0 is not answered, as by an agent from before it: such a one does not look at
    /// the version either.
    pub only_legacy: bool,
}

/// A form that has methods with a slash.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Legacy {
    /// A2A 0.3.
    V03,
    /// Molecule.
    Molecule,
    /// Harbor.
    Harbor,
    /// `PocketPaw`.
    PocketPaw,
}

impl Legacy {
    /// Returns the form of its calls.
    pub const fn form(self) -> WireForm {
        match self {
            Self::V03 => WireForm::V03,
            Self::Molecule => WireForm::Molecule,
            Self::Harbor => WireForm::Harbor,
            Self::PocketPaw => WireForm::PocketPaw,
        }
    }
}

/// A request that is not answered, and the form in which to say so.
#[derive(Clone, Debug, PartialEq)]
pub struct Refused {
    /// The form its sender most likely reads.
    pub form: WireForm,
    /// Why it is not answered.
    pub error: Error,
}

/// Decides which form a request is in, or why it is not answered.
///
/// The path decides first, then the version, then the body. A body that cannot be read gets
/// the form that its version implies; reading it there gives the precise error.
pub fn choose(incoming: &Incoming<'_>, offered: Offered) -> Result<WireForm, Refused> {
    let version = incoming.version.filter(|_| !offered.only_legacy);
    let incoming = &Incoming { version, ..*incoming };
    if let Some(form) = by_grpc_service(incoming.path) {
        if form == WireForm::V1Grpc && offered.only_legacy {
            return Err(not_found(incoming, offered));
        }
        return by_version(incoming, offered, form, form);
    }
    if incoming.path != "/"
        && let Some(form) = by_path(incoming, offered)?
    {
        return Ok(form);
    }
    if is_endpoint(incoming.path) {
        by_body(incoming, offered)
    } else {
        by_resource(incoming, offered)
    }
}

fn by_grpc_service(path: &str) -> Option<WireForm> {
    if path.starts_with("/lf.a2a.v1.A2AService/") {
        Some(WireForm::V1Grpc)
    } else if path.starts_with("/a2a.v1.A2AService/") {
        Some(WireForm::V03Grpc)
    } else {
        None
    }
}

/// Finds paths that only one dialect has (catalogue §7.5).
fn by_path(incoming: &Incoming<'_>, offered: Offered) -> Result<Option<WireForm>, Refused> {
    let path = incoming.path.trim_matches('/');
    let (form, served) = match path.split('/').collect::<Vec<_>>()[..] {
        ["a2a", "tasks", ..] => (WireForm::PocketPawHttp, offered.pocketpaw),
        ["a2a", "nodes", _] => (WireForm::Upal, offered.upal),
        // Documents are shown before anybody asks in which form.
        ["a2a", "capabilities" | "health" | "agent-card"] | ["a2a", "nodes", _, "agent-card"] => {
            (WireForm::V1Http, false)
        }
        ["workspaces", _, "a2a"] => (WireForm::Molecule, offered.molecule),
        ["tasks", _]
            if offered.molecule
                && incoming.method == "GET"
                && version(incoming).is_none()
                && !path.ends_with(":subscribe") =>
        {
            (WireForm::MoleculeHttp, true)
        }
        _ => return Ok(None),
    };
    // A dialect that is switched off is as good as not there.
    if served { Ok(Some(form)) } else { Err(not_found(incoming, offered)) }
}

/// Tells whether calls are posted here, below the agent's URL, as one JSON document.
pub fn is_endpoint(path: &str) -> bool {
    matches!(path.trim_matches('/'), "" | "a2a")
}

fn by_body(incoming: &Incoming<'_>, offered: Offered) -> Result<WireForm, Refused> {
    let legacy = offered.legacy.map_or(WireForm::V1, Legacy::form);
    let method = Method::peek(incoming.body);
    if version(incoming).is_some() {
        let version = requested(incoming, offered, WireForm::V1)?;
        let implied = if version == Version::V1_0 { WireForm::V1 } else { legacy };
        // A method that neither knows contradicts nothing: its reader says that it is unknown.
        return match method {
            Method::Named(name) if knows(WireForm::V1, &name) => {
                by_version(incoming, offered, WireForm::V1, implied)
            }
            Method::Named(name) if knows(legacy, &name) => {
                by_version(incoming, offered, legacy, implied)
            }
            _ => Ok(implied),
        };
    }
    let method = match method {
        Method::Named(name) => name,
        Method::Capability if offered.opportunity => return Ok(WireForm::Opportunity),
        Method::Capability | Method::Unreadable => {
            let opportunity = offered.opportunity && incoming.capability_version.is_some();
            return Ok(if opportunity { WireForm::Opportunity } else { legacy });
        }
    };
    if method.starts_with("a2a.") && offered.upal {
        return Ok(WireForm::Upal);
    }
    if offered.only_legacy || (offered.legacy.is_some() && !knows(WireForm::V1, &method)) {
        return Ok(legacy);
    }
    if offered.lenient && !knows(WireForm::V03, &method) {
        return Ok(WireForm::V1);
    }
    Err(Refused { form: WireForm::V1, error: needs_version(offered) })
}

fn by_resource(incoming: &Incoming<'_>, offered: Offered) -> Result<WireForm, Refused> {
    if version(incoming).is_some() {
        let version = requested(incoming, offered, WireForm::V1Http)?;
        let form = if version == Version::V1_0 { WireForm::V1Http } else { WireForm::V03Http };
        return Ok(form);
    }
    if offered.legacy.is_some() && is_v03_path(incoming.path) {
        return Ok(WireForm::V03Http);
    }
    if offered.only_legacy {
        return Err(not_found(incoming, offered));
    }
    if offered.lenient {
        return Ok(WireForm::V1Http);
    }
    Err(Refused { form: WireForm::V1Http, error: needs_version(offered) })
}

/// Tells whether a path is one of 0.3's; with version 1.0 it would be of a tenant `v1`.
fn is_v03_path(path: &str) -> bool {
    let Ok(segments) = segments(path) else { return false };
    match segments.split_first() {
        Some((first, rest)) if first == "v1" => {
            Resource::parse(rest).is_some() || matches!(rest, [card] if card == "card")
        }
        _ => false,
    }
}

/// Accepts a form unless the request's version contradicts it.
fn by_version(
    incoming: &Incoming<'_>,
    offered: Offered,
    form: WireForm,
    answer: WireForm,
) -> Result<WireForm, Refused> {
    let is_v1 = matches!(form, WireForm::V1 | WireForm::V1Grpc);
    if !is_v1 && offered.legacy.is_none() {
        return Err(Refused { form: answer, error: unsupported("0.3", offered) });
    }
    // gRPC names the version in its path; a missing header contradicts nothing there.
    if version(incoming).is_none() {
        return Ok(form);
    }
    let version = requested(incoming, offered, answer)?;
    if (version == Version::V1_0) == is_v1 {
        return Ok(form);
    }
    let message = format!("the request says A2A {version}, but is in the form of another version");
    let error = unsupported(&version.to_string(), offered).with_message(message);
    Err(Refused { form: answer, error })
}

fn version<'a>(incoming: &Incoming<'a>) -> Option<&'a str> {
    incoming.version.map(str::trim).filter(|version| !version.is_empty())
}

fn requested(
    incoming: &Incoming<'_>,
    offered: Offered,
    form: WireForm,
) -> Result<Version, Refused> {
    let refused = |error| Refused { form, error };
    let version = Version::requested(incoming.version).map_err(refused)?;
    if version == Version::V0_3 && offered.legacy.is_none() {
        return Err(refused(unsupported("0.3", offered)));
    }
    Ok(version)
}

/// Says that a request without version is one of 0.3, and not one of these.
fn needs_version(offered: Offered) -> Error {
    let error = unsupported("0.3", offered);
    let message = "a request without A2A-Version is one of 0.3; send A2A-Version: 1.0";
    error.with_message(message)
}

fn unsupported(version: &str, offered: Offered) -> Error {
    let supported: &[&str] = if offered.legacy.is_some() { Version::SUPPORTED } else { &["1.0"] };
    Error::version_not_supported(version, supported)
}

fn not_found(incoming: &Incoming<'_>, offered: Offered) -> Refused {
    let Incoming { method, path, .. } = incoming;
    Refused {
        form: if offered.only_legacy { WireForm::V03Http } else { WireForm::V1Http },
        error: Error::new(ErrorKind::MethodNotFound, format!("no operation at {method} {path}")),
    }
}

/// Tells whether a form has a method of this name.
fn knows(form: WireForm, method: &str) -> bool {
    form.json_rpc("").is_some_and(|rules| rules.operation(method).is_some())
}

/// What a body asks for, as far as its first members tell.
enum Method<'a> {
    Named(Cow<'a, str>),
    /// An envelope that names a capability instead.
    Capability,
    Unreadable,
}

impl<'a> Method<'a> {
    /// Looks no further than the method, which usually stands before the parameters.
    fn peek(body: &'a [u8]) -> Self {
        json::text(body).ok().and_then(Self::find).unwrap_or(Self::Unreadable)
    }

    fn find(text: &'a str) -> Option<Self> {
        let mut reader = Reader::new(text);
        let mut capability = false;
        let mut jsonrpc = false;
        let mut fields = reader.begin_object().ok()?;
        while let Some(key) = reader.next_key(&mut fields).ok()? {
            match &*key {
                "method" if reader.peek().ok()? == Kind::String => {
                    return reader.string().ok().map(Self::Named);
                }
                "capability" => capability = true,
                "jsonrpc" => jsonrpc = true,
                _ => {}
            }
            reader.skip().ok()?;
        }
        (capability && !jsonrpc).then_some(Self::Capability)
    }
}

#[cfg(test)]
mod tests;
