//! Tokens of an issuer: JWTs (RFC 7519) as an authorization server hands them out.
//!
//! The configuration is the root of trust: issuers, their keys or the one URL of their keys,
//! audiences. A token's header chooses among known keys by name and does no more; one that
//! brings a key along, or says where to get one, is refused. The algorithm is the key's.
//!
//! Everything that costs nothing is checked first, so an expired token makes nobody fetch
//! keys or verify a signature.

pub(crate) mod keys;
pub(crate) mod token;
pub(crate) mod verified;

use std::{sync::Arc, time::Duration};

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use nuncio_net::{Client, Errand, Purpose, Refused};
use nuncio_protocol::{
    card::sign::{Algorithm, KeySet},
    service::Caller,
    time::Timestamp,
};

use self::{
    keys::{Keys, Remote},
    token::Token,
    verified::{Fingerprint, Verified},
};
use crate::{
    api_key::is_name,
    identity::{Identity, Method},
    presented::Certificate,
    refusal::{Refusal, Why},
};

/// How far the clocks of two machines may differ, in seconds.
pub(crate) const LEEWAY: i64 = 60;
const DEFAULT_LIFETIME: Duration = Duration::from_secs(24 * 60 * 60);
/// Types that access tokens have; RFC 9068 has the second.
const USUAL_TYPES: [&str; 2] = ["JWT", "at+jwt"];

/// Somebody whose tokens are believed.
#[derive(Clone, Debug)]
#[must_use]
pub struct JwtIssuer {
    issuer: String,
    audiences: Vec<String>,
    keys: Keys,
    verified: Arc<Verified>,
    discovery: Option<String>,
    allows_several_audiences: bool,
    lifetime: Duration,
    typ: Option<String>,
    agents: Vec<AgentRule>,
    organisation_claim: Option<String>,
    prefix: String,
}

/// Which tokens are an agent's, and what the agent is called.
#[derive(Clone, Debug, PartialEq, Eq)]
enum AgentRule {
    Claim(String),
    SubjectPrefix(String),
}

impl JwtIssuer {
    /// Believes an issuer by keys that never change.
    ///
    /// A token must name the issuer in `iss` and the audience in `aud`, letter by letter.
    pub fn with_keys(issuer: impl Into<String>, audience: impl Into<String>, keys: KeySet) -> Self {
        Self::new(issuer.into(), audience.into(), Keys::Fixed(Arc::new(keys)))
    }

    /// Believes an issuer by keys that are fetched from a URL when they are needed.
    ///
    /// They are fetched anew every ten minutes, and when a token names a key that is not
    /// among them, but then no more than once in 30 seconds. While the URL cannot be reached
    /// the keys at hand live on for up to a day.
    pub fn with_key_url(
        issuer: impl Into<String>,
        audience: impl Into<String>,
        client: &Client,
        url: &str,
    ) -> Result<Self, Refused> {
        let url = client.guard().check_url(url, Errand::administrator(Purpose::Keys))?;
        let remote = Remote::new(client.clone(), url);
        Ok(Self::new(issuer.into(), audience.into(), Keys::Remote(Arc::new(remote))))
    }

    fn new(issuer: String, audience: String, keys: Keys) -> Self {
        Self {
            issuer,
            audiences: vec![audience],
            keys,
            verified: Arc::default(),
            discovery: None,
            allows_several_audiences: false,
            lifetime: DEFAULT_LIFETIME,
            typ: None,
            agents: Vec::new(),
            organisation_claim: None,
            prefix: String::new(),
        }
    }

    /// Takes tokens for another audience too.
    pub fn audience(mut self, audience: impl Into<String>) -> Self {
        self.audiences.push(audience.into());
        self
    }

    /// Takes tokens that are for others beside us. Whoever else gets such a token can use it
    /// here.
    pub fn allow_several_audiences(mut self) -> Self {
        self.allows_several_audiences = true;
        self
    }

    /// Sets how long a token may live at most; a day unless set.
    pub fn lifetime(mut self, longest: Duration) -> Self {
        self.lifetime = longest;
        self
    }

    /// Takes tokens of this type only, such as `at+jwt`. Unless set, `JWT`, `at+jwt` and none
    /// are taken.
    pub fn typ(mut self, typ: impl Into<String>) -> Self {
        self.typ = Some(typ.into());
        self
    }

    /// Takes a token that has this claim for an agent's, named by the claim: `client_id` or
    /// `azp`. Others are the user's in `sub`.
    pub fn agents_by_claim(mut self, claim: impl Into<String>) -> Self {
        self.agents.push(AgentRule::Claim(claim.into()));
        self
    }

    /// Takes a token whose `sub` begins like this for an agent's, named by the rest.
    pub fn agents_by_prefix(mut self, prefix: impl Into<String>) -> Self {
        self.agents.push(AgentRule::SubjectPrefix(prefix.into()));
        self
    }

    /// Reads the caller's organisation from this claim.
    pub fn organisation_claim(mut self, claim: impl Into<String>) -> Self {
        self.organisation_claim = Some(claim.into());
        self
    }

    /// Begins the name of every caller with this text.
    ///
    /// Of several issuers all but one need a prefix, each its own: two of them may use the
    /// same name for different people.
    pub fn prefix(mut self, prefix: impl Into<String>) -> Self {
        self.prefix = prefix.into();
        self
    }

    /// Tells callers in the card where the issuer's OpenID Connect document is. It is not
    /// read here.
    pub fn discovery(mut self, url: impl Into<String>) -> Self {
        self.discovery = Some(url.into());
        self
    }

    pub(crate) fn issuer(&self) -> &str {
        &self.issuer
    }

    pub(crate) fn name_prefix(&self) -> &str {
        &self.prefix
    }

    pub(crate) fn discovery_url(&self) -> Option<&str> {
        self.discovery.as_deref()
    }

    fn check(&self, token: &Token<'_>, now: i64) -> Result<(), Why> {
        if !self.takes_type(token.header.typ.as_deref()) {
            return Err(Why::Type);
        }
        let claims = &token.claims;
        let is_ours = |audience: &String| self.audiences.contains(audience);
        let is_for_us = match claims.audiences.as_slice() {
            [only] => is_ours(only),
            several => self.allows_several_audiences && several.iter().any(is_ours),
        };
        if !is_for_us {
            return Err(Why::Audience);
        }
        let expires = claims.expires.ok_or(Why::NoExpiry)?;
        if now - expires > LEEWAY {
            return Err(Why::Expired);
        }
        let is_later = |moment: Option<i64>| moment.is_some_and(|moment| moment - now > LEEWAY);
        if is_later(claims.not_before) || is_later(claims.issued) {
            return Err(Why::NotYet);
        }
        let longest = i64::try_from(self.lifetime.as_secs()).unwrap_or(i64::MAX);
        // Without a beginning, what is left must not be too long.
        let begins = claims.issued.unwrap_or(now);
        if expires - begins > longest { Err(Why::Lifetime) } else { Ok(()) }
    }

    fn takes_type(&self, typ: Option<&str>) -> bool {
        match (&self.typ, typ) {
            (Some(wanted), Some(typ)) => short(wanted) == short(typ),
            (Some(_), None) => false,
            (None, Some(typ)) => USUAL_TYPES.iter().any(|usual| short(usual) == short(typ)),
            (None, None) => true,
        }
    }

    fn identity(&self, token: &Token<'_>) -> Result<Identity, Why> {
        let claims = &token.claims;
        let expires = claims.expires.and_then(|expires| Timestamp::from_parts(expires, 0));
        let organisation = self.organisation_claim.as_deref().and_then(|name| claims.text(name));
        if organisation.is_some_and(|organisation| !is_name(organisation)) {
            return Err(Why::Caller);
        }
        Ok(Identity {
            organisation: organisation.map(Into::into),
            scopes: claims.scopes().into(),
            expires,
            ..Identity::new(self.caller(token)?, Method::Jwt)
        })
    }

    fn caller(&self, token: &Token<'_>) -> Result<Caller, Why> {
        let subject = token.claims.text("sub");
        let agent = self.agents.iter().find_map(|rule| match rule {
            AgentRule::Claim(claim) => token.claims.text(claim),
            AgentRule::SubjectPrefix(prefix) => subject?.strip_prefix(prefix.as_str()),
        });
        let name = agent.or(subject).ok_or(Why::Caller)?;
        let full = format!("{}{name}", self.prefix);
        if name.is_empty() || !is_name(&full) {
            return Err(Why::Caller);
        }
        Ok(if agent.is_some() { Caller::Agent(full.into()) } else { Caller::User(full.into()) })
    }
}

/// Returns a type in the short form (RFC 7515 §4.1.9): the prefix may be left out.
pub(crate) fn short(typ: &str) -> String {
    let typ = typ.to_ascii_lowercase();
    typ.strip_prefix("application/").unwrap_or(&typ).to_owned()
}

/// Says whose token it is.
pub(crate) async fn identify(
    issuers: &[JwtIssuer],
    text: &str,
    certificate: Option<&Certificate<'_>>,
    now: Timestamp,
) -> Result<Identity, Refusal> {
    let token = Token::parse(text)?;
    let named = token.claims.text("iss").ok_or(Why::Issuer)?;
    let issuer = issuers.iter().find(|one| one.issuer == named).ok_or(Why::Issuer)?;
    let algorithm = Algorithm::from_name(&token.header.alg).ok_or(Why::Algorithm)?;
    let kid = token.header.kid.as_deref().ok_or(Why::NoKeyId)?;
    issuer.check(&token, now.to_parts().0)?;
    let claims = &token.claims;
    check_binding(claims.is_bound, claims.bound_certificate.as_deref(), certificate)?;
    let identity = issuer.identity(&token)?;
    let keys = issuer.keys.holding(kid).await?;
    let key = keys.find(kid, algorithm).ok_or(Why::Algorithm)?;
    let fingerprint = Fingerprint::of(text);
    if !issuer.verified.holds(fingerprint, &keys) {
        if !key.verifies(token.signed.as_bytes(), &token.signature) {
            return Err(Why::Signature.into());
        }
        issuer.verified.remember(fingerprint, &keys);
    }
    Ok(identity)
}

/// Sees to it that a token bound to a key is shown by the key's owner.
///
/// Of the ways to bind, only that to a certificate (RFC 8705 §3.1) can be checked here. A
/// token bound otherwise is refused: to take it from just anybody would undo the binding.
pub(crate) fn check_binding(
    is_bound: bool,
    bound_to: Option<&str>,
    certificate: Option<&Certificate<'_>>,
) -> Result<(), Why> {
    if !is_bound {
        return Ok(());
    }
    let shown = certificate.map(|certificate| URL_SAFE_NO_PAD.encode(certificate.fingerprint));
    let fits = shown.is_some() && shown.as_deref() == bound_to;
    if fits { Ok(()) } else { Err(Why::Binding) }
}

/// Reads a token as far as that goes without any key. For fuzzing.
#[doc(hidden)]
pub fn read(text: &str) -> Result<(), Why> {
    Token::parse(text).map(drop)
}

#[cfg(test)]
mod tests;
