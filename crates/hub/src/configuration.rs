//! What a hub was told, and by whom, as whoever told it says.
//!
//! The hub itself knows only its settings. Which of them came from a file, a variable or a flag,
//! the program knows that has read them; it hands that over as something [`Configured`].

use std::fmt;

use serde::Serialize;

/// Knows what the hub was told.
pub trait Configured: fmt::Debug + Send + Sync {
    /// Returns it as it is now, without any secret.
    fn shown(&self) -> Shown;
}

/// A configuration as people see it.
#[derive(Clone, Debug, Default, Serialize, utoipa::ToSchema)]
#[schema(as = ConfigurationView)]
pub struct Shown {
    /// The file that was read, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// Every value, in the order of the reference.
    pub settings: Vec<Setting>,
    /// Keys that were changed since the start, and take effect with the next one.
    pub waiting: Vec<String>,
    /// Whose paths are answered beside the hub's own, and whose are not.
    pub dialects: Vec<DialectSetting>,
    /// Networks that are not public, and open to the hub all the same.
    pub networks: Vec<OpenNetwork>,
    /// Whether agents may be called without TLS.
    pub plain_http: bool,
}

/// One value.
#[derive(Clone, Debug, Serialize, utoipa::ToSchema)]
#[schema(as = SettingView)]
pub struct Setting {
    /// Where it stands in the file, such as `limits.drain` or `agents[0].url`.
    pub key: String,
    /// The value as one would write it, absent if nothing is set. Secrets are `(secret)`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub value: Option<String>,
    /// Whether the value is one that is not shown.
    pub is_secret: bool,
    /// Where it comes from.
    pub source: Source,
}

/// Where a value comes from.
#[derive(Clone, Debug, Serialize, utoipa::ToSchema)]
#[schema(as = SettingSource)]
pub struct Source {
    /// What sort of place it is.
    pub kind: SourceKind,
    /// The file, the variable or the flag; absent for defaults.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The line of the file, from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<u64>,
    /// Variables that the line of the file names.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub variables: Vec<String>,
}

/// What sort of place a value comes from. A later one wins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, utoipa::ToSchema)]
#[serde(rename_all = "snake_case")]
#[schema(as = SettingSourceKind)]
pub enum SourceKind {
    /// Nobody has said anything.
    Default,
    /// The file.
    File,
    /// A variable of the environment.
    Environment,
    /// The command line.
    Flag,
}

/// A program that came before the hub, and whether its paths are answered.
#[derive(Clone, Debug, Serialize, utoipa::ToSchema)]
pub struct DialectSetting {
    /// Its name in the file.
    pub name: String,
    /// Whether it is on.
    pub is_on: bool,
    /// What it is about.
    pub paths: String,
}

/// A network that is not public, and that the hub may call into.
#[derive(Clone, Debug, Serialize, utoipa::ToSchema)]
pub struct OpenNetwork {
    /// The range of addresses.
    pub range: String,
    /// Why it is open.
    pub why: String,
}

impl Source {
    /// Nobody has said anything.
    pub const fn default_value() -> Self {
        Self { kind: SourceKind::Default, name: None, line: None, variables: Vec::new() }
    }
}
