//! How the agent is to be called.

use std::time::Duration;

use http::{HeaderMap, HeaderName, HeaderValue, header};
use nuncio_client::{Clocks, Options, Origin, discover::Found, negotiate::Terms};
use nuncio_protocol::{
    card::{AgentCard, Binding},
    version::Version,
};

use crate::{failure::Failure, output::note, settings::Settings};

/// Returns what is wanted of the agent's interfaces.
pub(super) fn terms(settings: &Settings, found: &Found) -> Result<Terms, Failure> {
    let mut terms = Terms::default();
    let version = settings.read("a2a-version", "a version such as 1.0 or 0.3", Version::parse)?;
    if let Some(version) = version {
        terms = terms.version(version);
    }
    let wanted = settings.read("transport", "jsonrpc, http+json or grpc", bindings)?;
    if let Some(wanted) = wanted {
        let offers = |binding: &Binding| {
            found.card.supported_interfaces.iter().any(|one| one.binding() == *binding)
        };
        if wanted.iter().any(offers) {
            terms = terms.bindings(wanted);
        } else {
            note("note: the agent offers no binding of --transport; its own order counts");
        }
    }
    // Another port of this machine, as agents have it for gRPC, is as near as the card.
    if found.url.as_ref().is_some_and(|url| Origin::of(url).is_loopback()) {
        for origin in interface_origins(&found.card).filter(Origin::is_loopback) {
            terms = terms.allow_origin(origin);
        }
    }
    Ok(terms)
}

fn bindings(text: &str) -> Option<Vec<Binding>> {
    let read = |name: &str| match Binding::parse(name.trim()) {
        Binding::Other(_) => None,
        binding => Some(binding),
    };
    text.split(',').map(read).collect()
}

/// Checks the settings that need no agent to be checked.
pub(crate) fn check(settings: &Settings) -> Result<(), Failure> {
    settings.read("a2a-version", "a version such as 1.0 or 0.3", Version::parse)?;
    settings.read("transport", "jsonrpc, http+json or grpc", bindings)?;
    options(settings).map(|_| ())
}

/// Returns the origins that a card names.
pub(super) fn interface_origins(card: &AgentCard) -> impl Iterator<Item = Origin> {
    card.supported_interfaces.iter().flat_map(|interface| {
        // Places that speak gRPC are often named without a scheme.
        let texts = if interface.url.contains("://") {
            vec![interface.url.clone()]
        } else {
            ["http", "https"].map(|scheme| format!("{scheme}://{}", interface.url)).to_vec()
        };
        texts.into_iter().filter_map(|text| Origin::parse(&text).ok())
    })
}

pub(super) fn options(settings: &Settings) -> Result<Options, Failure> {
    let mut headers = HeaderMap::new();
    let given = settings.get("svc-param").unwrap_or_default();
    for line in given.lines().filter(|line| !line.trim().is_empty()) {
        let (name, value) = service_parameter(line)?;
        headers.append(name, value);
    }
    // --timeout ends a wait, and nothing else does: tasks take long.
    let long = Duration::from_secs(24 * 60 * 60);
    let clocks = Clocks { wait: long, whole: long, ..Clocks::default() };
    Ok(Options { clocks, headers, ..Options::default() })
}

fn service_parameter(line: &str) -> Result<(HeaderName, HeaderValue), Failure> {
    let wrong = |what: &str| Failure::usage(format!("--svc-param: {what}"));
    let (name, value) = line
        .split_once(':')
        .ok_or_else(|| wrong("expected NAME:VALUE, such as `x-trace-id:abc`"))?;
    let name = HeaderName::try_from(name.trim())
        .map_err(|_| wrong(&format!("`{name}` is no name of a header")))?;
    if [header::AUTHORIZATION, header::COOKIE, header::PROXY_AUTHORIZATION].contains(&name) {
        // It would go wherever the card leads.
        return Err(wrong(&format!("`{name}` is a credential"))
            .hint("use --bearer, --api-key or --basic: they go to the agent's own origin only"));
    }
    let mut value = HeaderValue::try_from(value.trim())
        .map_err(|_| wrong(&format!("the value of `{name}` cannot be sent")))?;
    value.set_sensitive(true);
    Ok((name, value))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_credential_is_no_service_parameter() {
        assert!(service_parameter("x-trace-id: abc").is_ok());
        for line in ["Authorization: Bearer x", "cookie:a=b", "no colon", "a b:c", "a:\u{7f}"] {
            assert!(service_parameter(line).is_err(), "{line}");
        }
    }
}
