//! The card of an agent as it is seen through the hub.

use std::collections::BTreeSet;

use aws_lc_rs::digest::{SHA256, digest};
use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use nuncio_auth::Gatekeeper;
use nuncio_protocol::{
    card::{
        AgentCard, AgentExtension, AgentInterface, AgentSkill, Binding,
        sign::{self, Signer},
    },
    ids::Tenant,
    json::{Object, Raw},
    version::Version,
};

use super::{capability::SIGN, forward::RESUME, queue::QUEUE};
use crate::agent::{Agent, Card};

/// Says on a card that it was rewritten, and what the agent's own was.
const CARRIED: &str = "urn:nuncio:extension:carried:v1";

/// What a card through the hub says beside what the agent says.
#[derive(Debug)]
pub(crate) struct Frame<'a> {
    /// Where callers reach the hub, without a slash at the end.
    pub(crate) public_url: &'a str,
    /// Who may come in.
    pub(crate) gatekeeper: &'a Gatekeeper,
    /// Signs it.
    pub(crate) signer: Option<&'a Signer>,
}

/// As what the hub shows agents to their callers.
#[derive(Debug)]
pub(crate) struct Front {
    /// Where callers reach the hub, without a slash at the end.
    pub(crate) public_url: String,
    /// Who may come in.
    pub(crate) gatekeeper: Gatekeeper,
    /// Signs cards.
    pub(crate) signer: Option<Signer>,
}

impl Front {
    /// Rewrites a card that the agent shows to those it knows, like the one that it shows to all.
    pub(crate) fn extended(
        &self,
        mut card: AgentCard,
        agent: &Agent,
        may_use: impl Fn(&str) -> bool,
    ) -> Result<AgentCard, sign::Error> {
        card.skills.retain(|skill| may_use(&skill.id));
        let Self { public_url, gatekeeper, signer } = self;
        let frame = Frame { public_url, gatekeeper, signer: signer.as_ref() };
        framed(card, interfaces(public_url, agent.name.as_str()), agent.card.as_ref(), &frame)
    }
}

/// Rewrites the card of an agent: it is reached through the hub, on every binding and in both
/// versions, with what the hub adds to every agent, and the hub answers for it.
///
/// Skills that are `hidden` are none to whom it is shown.
pub(crate) fn through(
    agent: &Agent,
    hidden: &BTreeSet<String>,
    frame: &Frame<'_>,
) -> Result<AgentCard, sign::Error> {
    let name = agent.name.as_str();
    let mut card = match &agent.card {
        Some(card) => card.card().clone(),
        None => AgentCard::builder(name).description(agent.role.as_deref().unwrap_or(name)).build(),
    };
    card.skills.retain(|skill| !hidden.contains(&skill.id));
    framed(card, interfaces(frame.public_url, name), agent.card.as_ref(), frame)
}

/// Makes a card of all who offer a capability, by the name that they are called by together: with
/// the skills that whoever it is shown to may use.
pub(crate) fn of_all<'a>(
    capability: &str,
    agents: impl IntoIterator<Item = &'a Agent>,
    may_use: impl Fn(&Agent, &str) -> bool,
    frame: &Frame<'_>,
) -> Result<AgentCard, sign::Error> {
    let mut card = AgentCard::builder(capability)
        .description(format!("Whoever can do `{capability}`, the best of them first"))
        .build();
    let offers = |skill: &&AgentSkill| {
        skill.id == capability || skill.tags.iter().any(|tag| tag == capability)
    };
    for agent in agents {
        let Some(own) = agent.card.as_ref().map(Card::card) else { continue };
        for skill in own.skills.iter().filter(offers) {
            let is_new = card.skills.iter().all(|known| known.id != skill.id);
            if is_new && may_use(agent, &skill.id) {
                card.skills.push(skill.clone());
            }
        }
        for (all, some) in [
            (&mut card.default_input_modes, &own.default_input_modes),
            (&mut card.default_output_modes, &own.default_output_modes),
        ] {
            all.extend(some.iter().filter(|mode| !all.contains(mode)).cloned().collect::<Vec<_>>());
        }
    }
    framed(card, interfaces(frame.public_url, &format!("{SIGN}{capability}")), None, frame)
}

/// Makes the card of the hub's own agent: each workflow, and each agent that the hub runs, is a
/// skill of it (U-18, UD-11).
pub(crate) fn of_hub<'a>(
    agents: impl IntoIterator<Item = &'a Agent>,
    frame: &Frame<'_>,
) -> Result<AgentCard, sign::Error> {
    let mut card = AgentCard::builder("Nuncio")
        .description("Runs workflows and agents: say which as skillId, or as `workflow`")
        .version(env!("CARGO_PKG_VERSION"))
        .build();
    let skills = agents.into_iter().map(|agent| {
        let own = agent.card.as_ref().map(Card::card);
        let tags: Vec<String> = own
            .into_iter()
            .flat_map(|card| &card.skills)
            .flat_map(|one| one.tags.clone())
            .collect();
        let what = own.map(|card| card.description.as_str()).filter(|what| !what.is_empty());
        let what = what.or(agent.role.as_deref()).unwrap_or(agent.name.as_str());
        AgentSkill::new(agent.name.as_str(), agent.title(), what, tags)
    });
    card.skills = skills.collect();
    let url = format!("{}/a2a", frame.public_url);
    let pairs = [Version::V1_0, Version::V0_3]
        .into_iter()
        .flat_map(|version| [(Binding::JsonRpc, version), (Binding::HttpJson, version)]);
    let own = pairs.map(|(binding, version)| AgentInterface::new(url.clone(), binding, version));
    framed(card, own.collect(), None, frame)
}

/// Puts on a card what the hub adds to every agent.
fn framed(
    mut card: AgentCard,
    interfaces: Vec<AgentInterface>,
    own: Option<&Card>,
    frame: &Frame<'_>,
) -> Result<AgentCard, sign::Error> {
    card.supported_interfaces = interfaces;
    let capabilities = &mut card.capabilities;
    capabilities.streaming = Some(true);
    capabilities.push_notifications = Some(true);
    capabilities.extensions.retain(|extension| ![RESUME, QUEUE].contains(&extension.uri.as_str()));
    capabilities.extensions.push(AgentExtension {
        description: "Streams resume behind the event that Last-Event-ID names.".to_owned(),
        ..AgentExtension::new(RESUME)
    });
    capabilities.extensions.push(AgentExtension {
        description: "Calls to a busy agent are kept, and handed over when it has time.".to_owned(),
        ..AgentExtension::new(QUEUE)
    });
    if let Some(own) = own {
        capabilities.extensions.push(carried(own));
    }
    card.security_schemes.clear();
    card.security_requirements.clear();
    for skill in &mut card.skills {
        // They name schemes of the agent's, which its callers do not meet here.
        skill.security_requirements.clear();
    }
    frame.gatekeeper.describe(&mut card);
    card.signatures.clear();
    if let Some(signer) = frame.signer {
        sign::sign(&mut card, signer)?;
    }
    Ok(card)
}

fn interfaces(public_url: &str, name: &str) -> Vec<AgentInterface> {
    let url = format!("{public_url}/agents/{name}");
    let origin = public_url.split_once("://").map_or(public_url, |(_, rest)| rest);
    let is_plain = public_url.starts_with("http://");
    let authority = origin.split('/').next().unwrap_or_default();
    let grpc = match authority.rsplit_once(':') {
        Some((_, port)) if port.bytes().all(|digit| digit.is_ascii_digit()) => authority.to_owned(),
        _ => format!("{authority}:{}", if is_plain { 80 } else { 443 }),
    };
    let mut all = Vec::new();
    for version in [Version::V1_0, Version::V0_3] {
        all.push(AgentInterface::new(url.clone(), Binding::JsonRpc, version));
        all.push(AgentInterface::new(url.clone(), Binding::HttpJson, version));
        // 0.3 has no word for the agent behind a shared endpoint.
        if version == Version::V1_0 {
            let mut interface = AgentInterface::new(grpc.clone(), Binding::Grpc, version);
            interface.tenant = Tenant::parse(name).ok();
            all.push(interface);
        }
    }
    all
}

/// Says what the agent's own card was, so that whoever has both can tell that they belong
/// together.
fn carried(own: &Card) -> AgentExtension {
    let hash = URL_SAFE_NO_PAD.encode(digest(&SHA256, own.text().as_bytes()));
    let params = Object::from_members([
        ("sha256", Raw::string(&hash)),
        (
            "signatures",
            Raw::from_value(&own.card().signatures.len()).unwrap_or_else(|_| Raw::bool(false)),
        ),
    ]);
    AgentExtension {
        description: "This card was rewritten by a hub that carries the calls.".to_owned(),
        params: Some(params),
        ..AgentExtension::new(CARRIED)
    }
}
