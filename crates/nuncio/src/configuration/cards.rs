//! What cards of agents are worth.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Placed, WebUrl};

/// What cards of agents are worth.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[non_exhaustive]
pub struct Cards {
    /// What signatures of cards are worth, when an agent is brought in and before it is called.
    pub signatures: CardSignatures,
    /// Whose signatures are believed. Where a signature itself says that its key is to be found
    /// does not count.
    pub trusted_keys: Vec<Placed<TrustedKeys>>,
}

/// What signatures of cards are worth.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum CardSignatures {
    /// They are not looked at.
    #[default]
    Off,
    /// A card that no trusted key has signed is taken, and the log says so.
    Prefer,
    /// A card that no trusted key has signed is refused, and its agent is not called.
    Require,
}

/// Keys that are believed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TrustedKeys {
    /// The origin whose agents they speak for, such as `https://agents.example`; any, unless set.
    pub origin: Option<WebUrl>,
    /// A file with public keys, as a JWK Set (RFC 7517).
    pub keys: PathBuf,
}
