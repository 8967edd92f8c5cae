//! Agents that are known from the start.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, de::Error as _};

use super::{AddressRange, AnyValue, Extract, Format, HumanDuration, Placed, SecretText, WebUrl};

/// An agent: how it is reached, what it may do, whether it is well.
///
/// It is found by `card` or by `url`, or the hub runs it itself, as `kind` says.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct Agent {
    /// Its name, unlike that of any other: 1 to 63 of `a` to `z`, digits, `-`, `_` and `.`, with
    /// a letter or digit at both ends.
    pub name: Placed<String>,
    /// What it is for, in a line.
    pub role: Option<String>,
    /// The URL of its card.
    pub card: Option<WebUrl>,
    /// Its base URL, below which its card is looked for; the address of an `http` agent's
    /// requests.
    pub url: Option<WebUrl>,
    /// What the hub runs for it itself.
    pub kind: Option<Kind>,
    /// The program of a `command` agent with its arguments. It reads the message from its
    /// standard input; no message can change what is run.
    #[serde(default)]
    pub command: Vec<String>,
    /// The model of an `llm` agent, `provider/model`; unless set, `default_model`.
    pub model: Option<Placed<String>>,
    /// Who the model of an `llm` agent is to be.
    pub system_prompt: Option<String>,
    /// What an `llm` agent may call: `mcp://server` for all tools of an MCP server,
    /// `mcp://server/tool` for one, `agent://name` for another agent, or a URL.
    #[serde(default)]
    pub tools: Vec<Placed<String>>,
    /// How often the model of an `llm` agent may answer with calls of tools; unless set, 10.
    #[schemars(range(min = 1))]
    pub max_turns: Option<u32>,
    /// How free the model of an `llm` agent is, from 0 to 2.
    #[schemars(range(min = 0, max = 2))]
    pub temperature: Option<f64>,
    /// How much of the likeliest the model of an `llm` agent picks from, from 0 to 1.
    #[schemars(range(min = 0, max = 1))]
    pub top_p: Option<f64>,
    /// How long an answer of an `llm` agent may be.
    #[schemars(range(min = 1))]
    pub max_tokens: Option<u32>,
    /// Whether an `llm` agent answers with text or JSON.
    pub format: Option<Format>,
    /// The JSON schema that the answers of an `llm` agent have to follow.
    pub schema: Option<BTreeMap<String, AnyValue>>,
    /// Which piece of the model's answer an `llm` agent gives.
    pub output_extract: Option<Extract>,
    /// The method of an `http` agent's requests: `GET`, or `POST` with a body, unless set.
    pub method: Option<String>,
    /// Headers of an `http` agent's requests.
    #[serde(default)]
    pub headers: BTreeMap<String, SecretText>,
    /// The parameter of the query in which an `http` agent sends the text of a message.
    pub query: Option<String>,
    /// The body of an `http` agent's requests: a text is sent as it is, anything else as JSON.
    /// Without, and with a method that has a body, it is the message.
    pub body: Option<AnyValue>,
    /// The tool of an `mcp` agent: `mcp://server/tool`.
    pub tool: Option<Placed<String>>,
    /// How long one answer of an `llm` or `http` agent may take.
    pub timeout: Option<HumanDuration>,
    /// What proves to the agent that it is the hub who calls.
    pub credential: Option<Credential>,
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
    /// Whether it sends heartbeats. One that does not is asked how it is, every `limits.probe`.
    #[serde(default)]
    pub heartbeat: bool,
    /// Who may use which of its skills. A skill that is not listed is open to all who may call
    /// the agent.
    #[serde(default)]
    pub skills: BTreeMap<String, SkillAccess>,
}

/// Where an agent is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Reached<'a> {
    /// Its card is at this URL.
    Card(&'a WebUrl),
    /// Its card is to be found below this URL.
    Url(&'a WebUrl),
    /// It is part of the hub.
    Hosted(Kind),
    /// It comes and fetches its work.
    Nowhere,
}

/// What the hub runs for an agent itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// It says what it hears.
    Echo,
    /// It runs a program.
    Command,
    /// It asks a language model.
    Llm,
    /// It sends an HTTP request.
    Http,
    /// It calls a tool of an MCP server.
    Mcp,
}

impl Kind {
    /// Returns its name.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Echo => "echo",
            Self::Command => "command",
            Self::Llm => "llm",
            Self::Http => "http",
            Self::Mcp => "mcp",
        }
    }
}

/// What proves to an agent that it is the hub who calls. One of the three.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Credential {
    /// A bearer token.
    pub bearer: Option<SecretText>,
    /// A key, in the header that `header` names.
    pub api_key: Option<SecretText>,
    /// The header of `api_key`: `X-API-Key`, if it does not say.
    pub header: Option<String>,
    /// A user name and a password, with a colon between them.
    pub basic: Option<SecretText>,
}

impl Agent {
    /// Returns where the agent is.
    pub const fn reached(&self) -> Option<Reached<'_>> {
        match (&self.card, &self.url, self.kind) {
            (Some(card), None, None) => Some(Reached::Card(card)),
            (None, Some(url), None) => Some(Reached::Url(url)),
            // Its URL is not where it is, but what it calls.
            (None, _, Some(Kind::Http)) => Some(Reached::Hosted(Kind::Http)),
            (None, None, Some(kind)) => Some(Reached::Hosted(kind)),
            (None, None, None) if matches!(self.delivery, Delivery::Pull) => Some(Reached::Nowhere),
            _ => None,
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
fn trust<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u8, D::Error> {
    let trust = u8::deserialize(deserializer)?;
    if (1..=5).contains(&trust) {
        return Ok(trust);
    }
    Err(D::Error::custom("expected 1 (a stranger without contract) to 5 (in-house)"))
}

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

/// Who may use a skill.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SkillAccess {
    /// The names of the agents that may; nobody else.
    pub allowed_agents: Vec<String>,
}
