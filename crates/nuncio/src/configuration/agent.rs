//! Agents that are known from the start.

use std::{collections::BTreeMap, time::Duration};

use nuncio_protocol::dialect::WireForm;
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, de::Error as _};

use super::{AddressRange, HumanDuration, Placed, SecretText, WebUrl};

/// An agent: how it is reached, what it may do, whether it is well.
///
/// It is found by `card` or by `url`, or it is hosted by the hub itself (`kind`).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct Agent {
    /// Its name, unlike that of any other.
    pub name: Placed<String>,
    /// The URL of its card.
    pub card: Option<WebUrl>,
    /// Its base URL, below which its card is looked for.
    pub url: Option<WebUrl>,
    /// The name of the agent above it.
    pub parent: Option<Placed<String>>,
    /// Where callers in its own network reach it.
    pub internal_url: Option<WebUrl>,
    /// Where everybody else reaches it.
    pub public_url: Option<WebUrl>,
    /// How calls get to it.
    #[serde(default)]
    pub delivery: Delivery,
    /// How far it is trusted: 1 (a stranger without contract) to 5 (in-house).
    #[serde(default = "usual_trust", deserialize_with = "trust")]
    #[schemars(range(min = 1, max = 5))]
    pub trust: u8,
    /// The time of a usual answer, as long as nothing was measured.
    pub latency_hint: Option<HumanDuration>,
    /// Ranges of addresses that are not public and where it may be: `10.0.0.0/8`.
    #[serde(default)]
    pub allow_private: Vec<AddressRange>,
    /// Whether it may be called in plain http, off this machine.
    #[serde(default)]
    pub allow_http: bool,
    /// Whether its card must be signed.
    #[serde(default)]
    pub signature: Signature,
    /// What proves to it who we are.
    pub credential: Option<Credential>,
    /// Whether it sends heartbeats. One that does not is asked how it is, every `probe`.
    #[serde(default)]
    pub heartbeat: bool,
    /// How often it is asked how it is; every 30 seconds unless set.
    pub probe: Option<HumanDuration>,
    /// Who may use which of its skills. A skill that is not listed is open to all who may call
    /// the agent.
    #[serde(default)]
    pub skills: BTreeMap<String, SkillAccess>,
    /// The dialect to speak with it, in place of what its card says.
    pub dialect: Option<Dialect>,
    /// Hosted by the hub itself: `echo` says what it hears, `command` runs a program.
    pub kind: Option<Hosted>,
    /// The program of a hosted `command`, and its arguments.
    #[serde(default)]
    pub command: Vec<String>,
}

/// Where an agent is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Reached<'a> {
    /// Its card is at this URL.
    Card(&'a WebUrl),
    /// Its card is to be found below this URL.
    Url(&'a WebUrl),
    /// The hub hosts an agent that echoes.
    Echo,
    /// The hub hosts a program.
    Command(&'a [String]),
}

/// How the hub knows that an agent is well.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Liveness {
    /// The agent says so by itself.
    Heartbeat,
    /// The hub asks, this often.
    Probe(Duration),
}

impl Agent {
    /// Returns where the agent is.
    pub fn reached(&self) -> Option<Reached<'_>> {
        match (&self.card, &self.url, self.kind) {
            (Some(card), None, None) => Some(Reached::Card(card)),
            (None, Some(url), None) => Some(Reached::Url(url)),
            (None, None, Some(Hosted::Echo)) => Some(Reached::Echo),
            (None, None, Some(Hosted::Command)) => Some(Reached::Command(&self.command)),
            _ => None,
        }
    }

    /// Returns how the hub knows that the agent is well.
    pub fn liveness(&self) -> Liveness {
        match (self.heartbeat, self.probe) {
            (true, _) => Liveness::Heartbeat,
            (false, probe) => Liveness::Probe(probe.map_or(USUAL_PROBE, HumanDuration::get)),
        }
    }

    /// Returns every URL that is set, with its key.
    pub(super) fn urls(&self) -> impl Iterator<Item = (&'static str, &WebUrl)> {
        [
            ("card", &self.card),
            ("url", &self.url),
            ("internal_url", &self.internal_url),
            ("public_url", &self.public_url),
        ]
        .into_iter()
        .filter_map(|(key, url)| url.as_ref().map(|url| (key, url)))
    }
}

/// Reads how far somebody is trusted.
pub(super) fn trust<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u8, D::Error> {
    let trust = u8::deserialize(deserializer)?;
    if (1..=5).contains(&trust) {
        return Ok(trust);
    }
    Err(D::Error::custom("expected 1 (a stranger without contract) to 5 (in-house)"))
}

const USUAL_PROBE: Duration = Duration::from_secs(30);

const fn usual_trust() -> u8 {
    3
}

/// How calls get to an agent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Delivery {
    /// The caller gets the agent's address and calls it itself.
    #[default]
    Direct,
    /// The hub carries the call.
    Gateway,
    /// The agent fetches its calls from the hub.
    Pull,
}

/// Whether a card must be signed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Signature {
    /// Nobody looks.
    #[default]
    Off,
    /// A signature is verified if there is one; nothing is refused.
    Prefer,
    /// A card without a good signature is refused.
    Require,
}

/// What the hub hosts itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Hosted {
    /// An agent that says what it hears.
    Echo,
    /// A program that is run for every message.
    Command,
}

/// An older way of speaking.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Dialect {
    /// Molecule's.
    Molecule,
    /// Harbor's.
    Harbor,
    /// The opportunity agents' envelope.
    Opportunity,
    /// Upal's.
    Upal,
    /// `PocketPaw`'s.
    Pocketpaw,
}

impl Dialect {
    /// Every dialect.
    pub const ALL: [Self; 5] =
        [Self::Molecule, Self::Harbor, Self::Opportunity, Self::Upal, Self::Pocketpaw];

    /// Returns the form in which it is spoken to others.
    pub const fn form(self) -> WireForm {
        match self {
            Self::Molecule => WireForm::Molecule,
            Self::Harbor => WireForm::Harbor,
            Self::Opportunity => WireForm::Opportunity,
            Self::Upal => WireForm::Upal,
            Self::Pocketpaw => WireForm::PocketPaw,
        }
    }
}

/// Who may use a skill.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SkillAccess {
    /// The names of the agents that may; nobody else.
    pub allowed_agents: Vec<String>,
}

/// What proves to an agent who we are. It goes to the agent's own origin and nowhere else.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Credential {
    /// A token, sent as `Authorization: Bearer …`.
    Bearer(SecretText),
    /// A key in a header.
    ApiKey(ApiKey),
    /// A name and a password.
    Basic(Basic),
    /// A token that an authorization server hands out for the hub's own name and secret.
    #[serde(rename = "oauth2")]
    OAuth2(OAuth2),
}

/// A key in a header.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ApiKey {
    /// The name of the header.
    #[serde(default = "usual_header")]
    pub header: String,
    /// The key.
    pub value: SecretText,
}

fn usual_header() -> String {
    "X-API-Key".to_owned()
}

/// A name and a password.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Basic {
    /// The name.
    pub user: String,
    /// The password.
    pub password: SecretText,
}

/// The hub's own name and secret at an authorization server (client credentials).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OAuth2 {
    /// Where tokens are handed out.
    pub token_url: WebUrl,
    /// The hub's name there.
    pub client_id: String,
    /// The hub's secret there.
    pub client_secret: SecretText,
    /// What the token is to be good for.
    #[serde(default)]
    pub scopes: Vec<String>,
    /// Whom the token is for.
    pub audience: Option<String>,
}
