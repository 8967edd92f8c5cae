//! Agents elsewhere that may be called, in Harbor's form.

use std::time::Duration;

use nuncio_client::peers;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Dialect, HumanDuration, Placed, WebUrl};

/// An agent elsewhere that may be called, as Harbor lists it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[expect(clippy::struct_excessive_bools, reason = "they are the keys of the file")]
#[non_exhaustive]
pub struct Peer {
    /// Its base URL.
    pub url: Placed<WebUrl>,
    /// How far it is trusted: 1 (a stranger without contract) to 5 (in-house).
    #[serde(deserialize_with = "super::agent::trust")]
    #[schemars(range(min = 1, max = 5))]
    pub trust_tier: u8,
    /// The time of a usual answer in milliseconds, as long as nothing was measured.
    #[serde(default)]
    pub latency_tier_ms: u64,
    /// Without effect: http is for this machine in any case. It is Harbor's.
    #[serde(default)]
    pub allow_insecure_loopback: bool,
    /// How long its card is used without asking again.
    pub agent_card_ttl: Option<HumanDuration>,
    /// Whether it may be called in plain http, off this machine.
    #[serde(default)]
    pub allow_plaintext: bool,
    /// Whether it may be at an address that is not public.
    #[serde(default)]
    pub allow_private: bool,
    /// Whether it hears on whose behalf we call.
    #[serde(default)]
    pub forward_identity: bool,
    /// The dialect to speak with it, in place of what its card says.
    pub dialect: Option<Dialect>,
}

impl Peer {
    /// Returns it as the client's table takes it.
    pub fn to_entry(&self) -> peers::Peer {
        let mut entry = peers::Peer::new(self.url.as_str(), self.trust_tier)
            .latency(Duration::from_millis(self.latency_tier_ms));
        if let Some(ttl) = self.agent_card_ttl {
            entry = entry.card_ttl(ttl.get());
        }
        if self.allow_plaintext {
            entry = entry.allow_plaintext();
        }
        if self.allow_private {
            entry = entry.allow_private();
        }
        if self.forward_identity {
            entry = entry.forward_identity();
        }
        if let Some(dialect) = self.dialect {
            entry = entry.dialect(dialect.form());
        }
        entry
    }
}
