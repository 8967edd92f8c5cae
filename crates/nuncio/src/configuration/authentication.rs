//! How callers prove who they are.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{HumanDuration, Placed, SecretText, WebUrl};

/// How callers prove who they are.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[non_exhaustive]
pub struct Authentication {
    /// The administrator's key. Unless set, the first start makes one. It is kept in the data
    /// folder; one that is set takes the place of the one there, and of those of other hubs
    /// on the same database.
    pub admin_key: Option<SecretText>,
    /// Those whose tokens (JWT) are believed.
    pub issuers: Vec<Issuer>,
    /// Whether callers on this machine need no proof. For trying things out.
    pub open: bool,
}

/// Somebody whose tokens are believed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct Issuer {
    /// The issuer's name, as tokens have it in `iss`.
    pub issuer: Placed<String>,
    /// Whom tokens must be for, as they have it in `aud`.
    pub audience: Vec<String>,
    /// Where the issuer's keys are.
    pub jwks_url: WebUrl,
    /// How long a token may live at most.
    #[serde(default = "a_day")]
    pub lifetime: HumanDuration,
    /// The type that tokens must have in `typ`; `JWT`, `at+jwt` or none unless set.
    #[serde(rename = "type")]
    pub typ: Option<String>,
    /// A token with this claim is an agent's, and the claim is its name.
    pub agents_by_claim: Option<String>,
    /// A token whose `sub` begins like this is an agent's, and the rest is its name.
    pub agents_by_prefix: Option<String>,
    /// The claim with the caller's organisation.
    pub organisation_claim: Option<String>,
    /// What the name of every caller begins with. Of several issuers all but one need a prefix.
    #[serde(default)]
    pub prefix: String,
    /// The issuer's OpenID Connect document, for the card.
    pub discovery_url: Option<WebUrl>,
}

const fn a_day() -> HumanDuration {
    HumanDuration::seconds(24 * 60 * 60)
}
