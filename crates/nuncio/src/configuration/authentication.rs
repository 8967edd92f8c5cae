//! How callers prove who they are.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Fingerprint, HumanDuration, Placed, SecretText, Subject, WebUrl};

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
    /// Whom client certificates mean that an issuer of `tls.client_ca` has signed.
    pub certificates: Option<Certificates>,
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

/// Whom client certificates mean. If what fits one means different callers, it means nobody.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[non_exhaustive]
pub struct Certificates {
    /// Callers that are named here.
    pub callers: Vec<CertifiedCaller>,
    /// A certificate with a URI that begins like this, up to a `/`, is an agent's, and the rest
    /// is its name: `spiffe://example.org/agent/`.
    pub agents_by_uri: Option<String>,
    /// A certificate with a DNS name one step below this domain is an agent's, and that step is
    /// its name.
    pub agents_by_domain: Option<String>,
    /// Whether a known certificate may come along with a key or a token, which then says who
    /// calls: for proxies that have one of their own. Otherwise both at once are refused.
    pub beside_tokens: bool,
}

/// A caller, and by what a certificate means them: one of `uri`, `dns_name` and `sha256`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct CertifiedCaller {
    /// Who calls: the name of an agent, or `user:NAME`.
    pub caller: Placed<Subject>,
    /// A URI among the certificate's alternative names.
    pub uri: Option<String>,
    /// A DNS name among them.
    pub dns_name: Option<String>,
    /// The hash of that very certificate. Its caller is known by certificates that are listed
    /// so alone.
    pub sha256: Option<Fingerprint>,
}

const fn a_day() -> HumanDuration {
    HumanDuration::seconds(24 * 60 * 60)
}
