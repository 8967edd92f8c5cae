//! What the hub tells about itself.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, de::Error as _};

use super::{HumanDuration, SecretText, WebUrl};

/// What the hub tells about itself. Never message text, never secrets.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[non_exhaustive]
pub struct Telemetry {
    /// How much is logged.
    pub level: Level,
    /// How much parts of the program log, by their names: `nuncio_hub: debug`.
    pub levels: BTreeMap<String, Level>,
    /// The form of the log. `auto` is text on a terminal and JSON elsewhere.
    pub format: LogFormat,
    /// How many agents have metrics of their own, by name; all others are counted together.
    pub agents: usize,
    /// Where traces are sent.
    pub otlp: Option<Otlp>,
}

impl Default for Telemetry {
    fn default() -> Self {
        Self {
            level: Level::Info,
            levels: BTreeMap::new(),
            format: LogFormat::Auto,
            agents: 100,
            otlp: None,
        }
    }
}

/// How much is logged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Level {
    /// Nothing.
    Off,
    /// What went wrong and needs somebody.
    Error,
    /// What went wrong and was dealt with.
    Warn,
    /// What happened.
    Info,
    /// Why it happened.
    Debug,
    /// Everything.
    Trace,
}

impl Level {
    /// Every level.
    pub const ALL: [Self; 6] =
        [Self::Off, Self::Error, Self::Warn, Self::Info, Self::Debug, Self::Trace];

    /// Returns its name.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Off => "off",
            Self::Error => "error",
            Self::Warn => "warn",
            Self::Info => "info",
            Self::Debug => "debug",
            Self::Trace => "trace",
        }
    }
}

/// The form of the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum LogFormat {
    /// Text on a terminal, JSON elsewhere.
    Auto,
    /// A line for people.
    Text,
    /// A JSON object a line.
    Json,
}

/// A collector of traces that speaks OTLP over HTTP.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct Otlp {
    /// Its URL, up to `/v1/traces` but without it.
    pub endpoint: WebUrl,
    /// Headers of every request to it.
    #[serde(default)]
    pub headers: BTreeMap<String, SecretText>,
    /// What the hub is called in traces.
    #[serde(default = "usual_name")]
    pub service_name: String,
    /// The share of traces that are sent, 0 to 1, of those that no caller has decided about.
    #[serde(default = "everything", deserialize_with = "ratio")]
    #[schemars(range(min = 0, max = 1))]
    pub sample_ratio: f64,
    /// How long a request to it may take.
    #[serde(default = "ten_seconds")]
    pub timeout: HumanDuration,
}

impl Otlp {
    /// A collector at a URL, with the defaults for the rest.
    pub fn new(endpoint: WebUrl) -> Self {
        Self {
            endpoint,
            headers: BTreeMap::new(),
            service_name: usual_name(),
            sample_ratio: everything(),
            timeout: ten_seconds(),
        }
    }
}

fn ratio<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
    let ratio = f64::deserialize(deserializer)?;
    let is_ratio = (0.0..=1.0).contains(&ratio);
    is_ratio.then_some(ratio).ok_or_else(|| D::Error::custom("expected a number from 0 to 1"))
}

fn usual_name() -> String {
    "nuncio".to_owned()
}

const fn everything() -> f64 {
    1.0
}

const fn ten_seconds() -> HumanDuration {
    HumanDuration::seconds(10)
}
