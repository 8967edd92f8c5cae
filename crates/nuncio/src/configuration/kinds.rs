//! What agents that the hub runs itself are made of: models, tools, requests.

use std::{collections::BTreeMap, path::PathBuf};

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};

use super::{AddressRange, SecretText, WebUrl};

/// A service that has language models.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct Provider {
    /// What it speaks.
    #[serde(rename = "type")]
    pub kind: ProviderKind,
    /// Where it is, if not at its usual place: the URL below which its paths are.
    pub url: Option<WebUrl>,
    /// The key that it wants.
    pub api_key: Option<SecretText>,
    /// Ranges of addresses that are not public and where it may be, beside this machine.
    #[serde(default)]
    pub allow_private: Vec<AddressRange>,
    /// Whether it may be called in plain http, off this machine.
    #[serde(default)]
    pub allow_http: bool,
}

/// What a provider of models speaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ProviderKind {
    /// OpenAI's chat completions, as many others do.
    #[serde(alias = "openai-compatible")]
    Openai,
    /// Anthropic's messages.
    Anthropic,
    /// Google's `generateContent`.
    Gemini,
    /// Ollama's chat.
    Ollama,
}

impl ProviderKind {
    /// Returns its name.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Openai => "openai",
            Self::Anthropic => "anthropic",
            Self::Gemini => "gemini",
            Self::Ollama => "ollama",
        }
    }
}

/// A server of MCP tools: a program, or a URL.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[non_exhaustive]
pub struct McpServer {
    /// A program with its arguments, which speaks MCP on its standard input and output. It is
    /// started when it is first needed.
    pub command: Vec<String>,
    /// What the environment of the program says, beside `PATH`, `HOME` and the like.
    pub environment: BTreeMap<String, SecretText>,
    /// The folder that the program runs in.
    pub directory: Option<PathBuf>,
    /// A URL that speaks streamable HTTP.
    pub url: Option<WebUrl>,
    /// The bearer token that it wants.
    pub bearer: Option<SecretText>,
    /// Further headers that it wants.
    pub headers: BTreeMap<String, SecretText>,
    /// Ranges of addresses that are not public and where it may be, beside this machine.
    pub allow_private: Vec<AddressRange>,
    /// Whether it may be called in plain http, off this machine.
    pub allow_http: bool,
}

/// Whether the answer of a model is text or JSON.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Format {
    /// Text.
    #[default]
    Text,
    /// JSON, which becomes data. Any other answer is a failure.
    Json,
}

/// Which piece of the answer of a model counts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Extract {
    /// How it is found.
    pub mode: ExtractMode,
    /// With `json`, the name of a member of the first JSON object in the answer.
    pub key: Option<String>,
    /// With `tagged`, the tag: what stands between `<tag>` and `</tag>`.
    pub tag: Option<String>,
}

/// How a piece of an answer is found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ExtractMode {
    /// By the name of a member.
    Json,
    /// By a tag.
    Tagged,
}

/// Any value of YAML that JSON has too.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct AnyValue(pub serde_json::Value);

impl JsonSchema for AnyValue {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "AnyValue".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "title": "any value" })
    }
}

/// A tool of a model, as the file names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ToolName {
    /// `mcp://server`: all tools of an MCP server, or `mcp://server/tool`: one of them.
    Mcp {
        /// The server.
        server: String,
        /// The tool.
        tool: Option<String>,
    },
    /// `agent://name`: another agent.
    Agent(String),
    /// `https://…`: a request to this address.
    Url(WebUrl),
}

impl ToolName {
    /// What a tool is, for people.
    pub const EXPECTED: &'static str =
        "`mcp://server`, `mcp://server/tool`, `agent://name` or a URL";

    /// Reads a tool.
    pub fn parse(text: &str) -> Option<Self> {
        let named = |name: &str| (!name.is_empty() && !name.contains('/')).then(|| name.to_owned());
        if let Some(rest) = text.strip_prefix("mcp://") {
            return match rest.split_once('/') {
                None => Some(Self::Mcp { server: named(rest)?, tool: None }),
                Some((server, tool)) if !tool.is_empty() => {
                    Some(Self::Mcp { server: named(server)?, tool: Some(tool.to_owned()) })
                }
                Some((server, _)) => Some(Self::Mcp { server: named(server)?, tool: None }),
            };
        }
        if let Some(name) = text.strip_prefix("agent://") {
            return named(name).map(Self::Agent);
        }
        text.parse().ok().map(Self::Url)
    }
}

/// Takes `provider/model` apart.
pub fn split_model(text: &str) -> Option<(&str, &str)> {
    text.split_once('/').filter(|(provider, model)| !provider.is_empty() && !model.is_empty())
}
