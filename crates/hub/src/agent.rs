//! What the directory knows of an agent, for as long as it is known.

use std::{collections::BTreeMap, fmt, net::IpAddr, sync::Arc};

use nuncio_protocol::{
    card::{AgentCard, CardForm, read_any},
    ids::{AgentId, Organisation},
    json,
    time::Timestamp,
};
use nuncio_server::Terms;
use serde::{Deserialize, Serialize};

use crate::name::AgentName;

/// The longest text that says what an agent is for (MD-63), in bytes.
pub const MAX_ROLE_BYTES: usize = 1000;

/// The longest card, in bytes.
pub const MAX_CARD_BYTES: usize = 1 << 20;

/// How many skills a card may have.
pub const MAX_SKILLS: usize = 500;

/// The binding of an agent that speaks the capability envelope and has no card of its own.
pub const OPPORTUNITY_BINDING: &str = "urn:nuncio:binding:opportunity:v1";

/// An agent of the directory.
///
/// What changes with every heartbeat is not part of it: that is a [`Beat`](crate::beat::Beat).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Agent {
    /// Names it for good.
    pub id: AgentId,
    /// To whom it belongs.
    pub organisation: Organisation,
    /// What it is called.
    pub name: AgentName,
    /// What it is for, in a few words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub role: Option<String>,
    /// Its card, once it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub card: Option<Card>,
    /// A newer card that says so much else that somebody has to agree first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub held_card: Option<Card>,
    /// The agent above it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<AgentId>,
    /// Where it is reached.
    pub addresses: Addresses,
    /// How calls come to it.
    pub delivery: Delivery,
    /// How far it is trusted, and how fast it is said to be.
    pub standing: Standing,
    /// How its health is known.
    pub watch: Watch,
    /// How it is.
    pub status: Status,
    /// Since when.
    pub status_since: Timestamp,
    /// Who brought it in.
    pub origin: Origin,
    /// Who stands in for it since it was removed (MD-13).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub forwarded_to: Option<AgentId>,
    /// Skills that only some agents may use, and which (O-13).
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub allowed_agents: BTreeMap<String, Vec<AgentId>>,
    /// What the hub runs for it itself, if somebody has said so over the management API.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hosting: Option<Hosting>,
    /// When it was registered.
    pub created: Timestamp,
    /// When anything of this changed.
    pub updated: Timestamp,
}

/// What the hub runs for an agent itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hosting {
    /// `echo`, `llm`, `http` or `mcp`.
    pub kind: String,
    /// What that kind of agent needs to know, as in the configuration file: a JSON object.
    pub settings: String,
}

/// Where an agent is reached.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct Addresses {
    /// From anywhere.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    pub public: Option<Arc<str>>,
    /// From agents on its own network (M-07).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    pub internal: Option<Arc<str>>,
    /// Where its card is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    pub card: Option<Arc<str>>,
}

impl Addresses {
    /// Tells whether there is one at which the agent is called.
    pub fn is_any(&self) -> bool {
        self.public.is_some() || self.internal.is_some()
    }
}

/// How calls come to an agent.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, utoipa::ToSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Delivery {
    /// From whoever calls: the hub only says where it is, and hands out a pair token.
    #[default]
    Direct,
    /// Through the hub.
    Gateway,
    /// It fetches them.
    Pull,
}

/// How far an agent is trusted, and how fast it is said to be (H-25).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Standing {
    /// From 1, a stranger without contract, to 5, one of our own.
    pub trust: u8,
    /// How long it usually takes to answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub latency_hint_ms: Option<u32>,
}

impl Default for Standing {
    fn default() -> Self {
        Self { trust: 3, latency_hint_ms: None }
    }
}

/// How the health of an agent is known.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, utoipa::ToSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Watch {
    /// It says so itself, every 30 seconds.
    #[default]
    Heartbeat,
    /// The hub looks after it.
    Probe,
    /// It is part of the hub.
    Hosted,
}

impl Watch {
    /// Returns how an agent is of which nothing has been heard yet.
    pub(crate) const fn first_status(self) -> Status {
        match self {
            Self::Hosted => Status::Online,
            Self::Heartbeat | Self::Probe => Status::Provisioning,
        }
    }
}

/// How an agent is (MD-07).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// Known, and never seen.
    Provisioning,
    /// Well.
    Online,
    /// There, and half of what it does fails.
    Degraded,
    /// Not heard of for too long.
    Offline,
    /// It could not be brought up.
    Failed,
    /// Told to rest.
    Paused,
    /// Resting until it is needed.
    Hibernated,
    /// Gone for good.
    Removed,
}

impl Status {
    /// All of them.
    pub const ALL: [Self; 8] = [
        Self::Provisioning,
        Self::Online,
        Self::Degraded,
        Self::Offline,
        Self::Failed,
        Self::Paused,
        Self::Hibernated,
        Self::Removed,
    ];

    /// Returns the word on the wire.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Provisioning => "provisioning",
            Self::Online => "online",
            Self::Degraded => "degraded",
            Self::Offline => "offline",
            Self::Failed => "failed",
            Self::Paused => "paused",
            Self::Hibernated => "hibernated",
            Self::Removed => "removed",
        }
    }

    /// Reads the word on the wire.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|status| status.as_str() == name)
    }

    /// Tells whether it can be called.
    pub const fn is_up(self) -> bool {
        matches!(self, Self::Online | Self::Degraded)
    }
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Who brought an agent in. Addresses that an administrator gave are trusted further.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Origin {
    /// The configuration file, which also takes it out again.
    Configuration,
    /// An administrator.
    Administrator,
    /// It came by itself.
    Registration,
}

/// A card: as it was sent, and as it is understood.
#[derive(Clone, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Card {
    text: Arc<str>,
    parsed: Arc<(AgentCard, CardForm, Terms)>,
}

/// A card that is not taken.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum InvalidCard {
    /// It is no card in any form.
    #[error("the card cannot be read: {0}")]
    Unreadable(#[from] json::Error),
    /// It is too long.
    #[error("the card has {bytes} bytes, at most {MAX_CARD_BYTES} are taken")]
    TooLong {
        /// How long it is.
        bytes: usize,
    },
    /// It has no name.
    #[error("the card has no `name`; give the agent one")]
    Nameless,
    /// Nobody who is trusted has signed it, and somebody must have.
    #[error("the card is refused: {why}; have it signed by a key of `cards.trusted_keys`")]
    Untrusted {
        /// What is the matter with its signatures.
        why: String,
    },
    /// It has too many skills.
    #[error("the card has {found} skills, at most {MAX_SKILLS} are taken")]
    TooManySkills {
        /// How many it has.
        found: usize,
    },
}

impl Card {
    /// Reads a card in whatever form it is.
    pub fn parse(text: &str) -> Result<Self, InvalidCard> {
        if text.len() > MAX_CARD_BYTES {
            return Err(InvalidCard::TooLong { bytes: text.len() });
        }
        let (card, form) = read_any(text)?;
        if card.name.trim().is_empty() {
            return Err(InvalidCard::Nameless);
        }
        if card.skills.len() > MAX_SKILLS {
            return Err(InvalidCard::TooManySkills { found: card.skills.len() });
        }
        let terms = Terms::of(&card);
        Ok(Self { text: text.into(), parsed: Arc::new((card, form, terms)) })
    }

    /// Returns it as it was sent.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Returns it as it is understood.
    pub fn card(&self) -> &AgentCard {
        &self.parsed.0
    }

    /// Returns the form it was sent in.
    pub fn form(&self) -> CardForm {
        self.parsed.1
    }

    /// Returns the terms on which the agent can be called.
    pub fn terms(&self) -> &Terms {
        &self.parsed.2
    }

    /// Returns the URL of its first interface. Places that speak gRPC are named as `host:port`:
    /// those on this machine speak it without TLS.
    pub fn url(&self) -> Option<String> {
        let url = &self.card().supported_interfaces.first()?.url;
        if url.contains("://") {
            return Some(url.clone());
        }
        let host = url.rsplit_once(':').map_or(url.as_str(), |(host, _)| host);
        let address = host.trim_matches(['[', ']']).parse::<IpAddr>();
        let is_here = host == "localhost" || address.is_ok_and(|address| address.is_loopback());
        Some(format!("{}://{url}", if is_here { "http" } else { "https" }))
    }

    /// Tells whether another card may take the place of this one unasked: it leaves skills,
    /// security and addresses as they are.
    pub fn says_the_same_as(&self, other: &Self) -> bool {
        let (one, other) = (self.card(), other.card());
        let skills = |card: &AgentCard| {
            let mut ids: Vec<_> = card.skills.iter().map(|skill| skill.id.clone()).collect();
            ids.sort();
            ids
        };
        skills(one) == skills(other)
            && one.security_schemes == other.security_schemes
            && one.security_requirements == other.security_requirements
            && one.supported_interfaces == other.supported_interfaces
    }

    /// Returns what the agent can do: ids of skills, then tags.
    pub fn capabilities(&self) -> impl Iterator<Item = (&str, Match)> {
        let skills = &self.card().skills;
        let ids = skills.iter().map(|skill| (skill.id.as_str(), Match::Skill));
        let tags = skills.iter().flat_map(|skill| &skill.tags);
        ids.chain(tags.map(|tag| (tag.as_str(), Match::Tag)))
    }
}

/// By what an agent offers a capability (C-32).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Match {
    /// A skill has a tag of this name.
    Tag,
    /// A skill is called so.
    Skill,
}

impl TryFrom<String> for Card {
    type Error = InvalidCard;

    fn try_from(text: String) -> Result<Self, InvalidCard> {
        Self::parse(&text)
    }
}

impl From<Card> for String {
    fn from(card: Card) -> Self {
        card.text.as_ref().to_owned()
    }
}

impl PartialEq for Card {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

impl fmt::Debug for Card {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Card").field("name", &self.card().name).finish_non_exhaustive()
    }
}

impl Agent {
    /// Returns what it can do: ids of skills, then tags.
    pub fn capabilities(&self) -> impl Iterator<Item = (&str, Match)> {
        self.card.iter().flat_map(Card::capabilities)
    }

    /// Returns how it offers a capability, if it does.
    pub fn offers(&self, capability: &str) -> Option<Match> {
        self.capabilities().filter(|(name, _)| *name == capability).map(|(_, by)| by).max()
    }

    /// Returns what people know it by: the name on its card, or its own.
    pub fn title(&self) -> &str {
        self.card.as_ref().map_or(self.name.as_str(), |card| &card.card().name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(url: &str, expected: &str) {
        let interface =
            format!(r#"{{"url":"{url}","protocolBinding":"GRPC","protocolVersion":"1.0"}}"#);
        let card = Card::parse(&format!(
            r#"{{"name":"a","description":"d","version":"1","supportedInterfaces":[{interface}]}}"#
        ));
        assert_eq!(card.unwrap().url().as_deref(), Some(expected));
    }

    #[test]
    fn an_interface_without_a_scheme_is_one_of_grpc() {
        check("https://a.example/x", "https://a.example/x");
        check("a.example:50051", "https://a.example:50051");
        check("127.0.0.1:50051", "http://127.0.0.1:50051");
        check("[::1]:50051", "http://[::1]:50051");
        check("localhost:50051", "http://localhost:50051");
    }
}
