//! Cards that are not what they should be.

use bytes::Bytes;
use http::{HeaderMap, header::HeaderName};
use nuncio_protocol::{
    card::{AgentCard, AgentInterface, Binding, MAX_CARD_BYTES, write_hybrid, write_v03},
    json::{self, Object},
};

use super::{
    fault::{CardFault, Claim, Signature},
    script::Script,
};

const CARD: &str = "/.well-known/agent-card.json";
const OLD_CARD: &str = "/.well-known/agent.json";
const VERSION: HeaderName = HeaderName::from_static("a2a-version");

/// Tells whether a path is that of a card.
pub(super) fn is_card(path: &str) -> bool {
    matches!(path, CARD | OLD_CARD)
}

/// The cards that are shown in place of the server's.
#[derive(Debug)]
pub(super) struct Cards {
    v1: Bytes,
    /// For readers who name no version.
    unversioned: Bytes,
    old: Bytes,
}

impl Cards {
    /// Breaks a card as a script wants it; none, if it wants it whole.
    pub(super) fn new(script: &Script, card: &AgentCard, url: &str) -> Option<Self> {
        let is_whole = script.card.interfaces.is_empty() && script.card_faults().next().is_none();
        if is_whole && !script.is_old() {
            return None;
        }
        let mut card = card.clone();
        if script.is_old() {
            card.supported_interfaces.retain(AgentInterface::speaks_v03);
        }
        if !script.card.interfaces.is_empty() {
            let interfaces = script.card.interfaces.iter();
            card.supported_interfaces = interfaces
                .map(|interface| AgentInterface {
                    url: interface.url.clone().unwrap_or_else(|| at(url, &interface.binding)),
                    protocol_binding: interface.binding.clone(),
                    tenant: None,
                    protocol_version: interface.version.clone(),
                })
                .collect();
        }
        for fault in script.card_faults() {
            change(&mut card, fault);
        }
        let v1 = json::to_string(&card);
        let speaks_v03 = card.supported_interfaces.iter().any(AgentInterface::speaks_v03);
        // Without an interface of 0.3 there is nothing to say in its form.
        let older = |written: Result<String, _>| match written {
            Ok(text) if speaks_v03 => text,
            _ => v1.clone(),
        };
        let old = older(write_v03(&card));
        let (unversioned, v1) = if script.is_old() {
            (old.clone(), old.clone())
        } else {
            (older(write_hybrid(&card)), v1.clone())
        };
        let finish = |text: String| {
            let faults = script.card_faults();
            Bytes::from(faults.fold(text, |text, fault| spoil(&text, fault)))
        };
        Some(Self { unversioned: finish(unversioned), old: finish(old), v1: finish(v1) })
    }

    /// Returns what readers are shown who name no version.
    pub(super) fn unversioned(&self) -> String {
        String::from_utf8_lossy(&self.unversioned).into_owned()
    }

    pub(super) fn find(&self, path: &str, headers: &HeaderMap) -> Bytes {
        let is_v1 = headers.get(VERSION).is_some_and(|value| value == "1.0");
        match path {
            OLD_CARD => self.old.clone(),
            _ if is_v1 => self.v1.clone(),
            _ => self.unversioned.clone(),
        }
    }
}

/// Returns a URL as a binding writes it.
fn at(url: &str, binding: &str) -> String {
    match Binding::parse(binding) {
        Binding::Grpc => url.split_once("://").map_or(url, |(_, rest)| rest).to_owned(),
        _ => url.to_owned(),
    }
}

/// Changes what a card says.
fn change(card: &mut AgentCard, fault: &CardFault) {
    for interface in &mut card.supported_interfaces {
        if let Some(url) = &fault.url {
            interface.url = at(url, &interface.protocol_binding);
        }
        if let Some(version) = &fault.wrong_version {
            interface.protocol_version.clone_from(version);
        }
    }
    for claim in &fault.claims {
        let capabilities = &mut card.capabilities;
        let claimed = match claim {
            Claim::Streaming => &mut capabilities.streaming,
            Claim::PushNotifications => &mut capabilities.push_notifications,
            Claim::ExtendedAgentCard => &mut capabilities.extended_agent_card,
        };
        *claimed = Some(true);
    }
    match fault.signature {
        Some(Signature::Bad) => card.description.push_str(", and was changed since"),
        Some(Signature::None) => card.signatures.clear(),
        None => {}
    }
    if fault.huge {
        card.description = "x".repeat(2 * MAX_CARD_BYTES);
    }
}

/// Changes how a card is written.
fn spoil(text: &str, fault: &CardFault) -> String {
    if let Some(raw) = &fault.raw {
        return raw.clone();
    }
    if fault.not_json {
        return "<!doctype html><title>Welcome</title>".to_owned();
    }
    if fault.missing.is_empty() {
        return text.to_owned();
    }
    match Object::parse_text(text) {
        Ok(card) => {
            let rest = fault.missing.iter().fold(card, |card, member| card.without(member));
            rest.as_str().to_owned()
        }
        // What an earlier fault has spoilt has no members left.
        Err(_) => text.to_owned(),
    }
}
