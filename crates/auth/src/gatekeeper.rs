//! All ways in, and the order in which they are tried.

use std::{fmt, sync::Arc};

use http::{HeaderName, header::AUTHORIZATION};
use nuncio_protocol::{
    card::{
        AgentCard, HttpAuthSecurityScheme, MutualTlsSecurityScheme, OpenIdConnectSecurityScheme,
        SecurityRequirement, SecurityScheme, StringList,
    },
    time::Timestamp,
};
use tokio::time::Instant;
use tracing::{debug, info};

use crate::{
    api_key::{self, KeySource},
    guesses::{GuessLimit, Guesses},
    identity::Identity,
    jwt::{self, JwtIssuer},
    mtls::Mtls,
    pair::{self, Verifier},
    presented::{Credential, Places, Presented},
    refusal::{Refusal, Why},
};

/// All ways in which callers of an endpoint may prove themselves. Cheap to clone.
#[derive(Clone)]
pub struct Gatekeeper {
    shared: Arc<Shared>,
}

struct Shared {
    keys: Option<Arc<dyn KeySource>>,
    key_header: HeaderName,
    /// The same as it was configured, for people.
    key_header_text: String,
    issuers: Vec<JwtIssuer>,
    mtls: Option<Mtls>,
    pair: Option<Verifier>,
    open_to_loopback: bool,
    guesses: Guesses,
}

/// Options of a [`Gatekeeper`].
#[must_use]
pub struct Builder {
    keys: Option<Arc<dyn KeySource>>,
    key_header: String,
    issuers: Vec<JwtIssuer>,
    mtls: Option<Mtls>,
    pair: Option<Verifier>,
    open_to_loopback: bool,
    guess_limit: GuessLimit,
}

const KEY_HEADER: &str = "X-API-Key";

/// Why a gatekeeper cannot be made.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Misconfigured {
    /// Nobody could ever come in.
    #[error("no way in is configured; add API keys, an issuer, client certificates or pair tokens")]
    NoWayIn,
    /// The header for API keys cannot be one.
    #[error("API keys cannot be read from a header `{name}`; choose a name of its own")]
    Header {
        /// Its name.
        name: String,
    },
    /// An issuer is there twice.
    #[error("issuer `{issuer}` is configured twice")]
    IssuerTwice {
        /// Its name.
        issuer: String,
    },
    /// Two issuers could mean different people by the same name.
    #[error(
        "issuers `{one}` and `{other}` name callers alike; give one of them a prefix of its own"
    )]
    AmbiguousNames {
        /// One of them.
        one: String,
        /// The other.
        other: String,
    },
}

impl Gatekeeper {
    /// Lets everybody in, but only from loopback addresses.
    ///
    /// For development. Behind a proxy on the same machine everybody comes from a loopback
    /// address.
    pub fn open() -> Self {
        Self::builder().open_to_loopback().finish(HeaderName::from_static("x-api-key"))
    }

    /// Sets the ways in.
    pub fn builder() -> Builder {
        Builder {
            keys: None,
            key_header: KEY_HEADER.to_owned(),
            issuers: Vec::new(),
            mtls: None,
            pair: None,
            open_to_loopback: false,
            guess_limit: GuessLimit::default(),
        }
    }

    /// Says who sends a request, or why it is not let in.
    ///
    /// Waits for nothing but the fetch of an issuer's keys that are not at hand. Dropping the
    /// future changes nothing.
    pub async fn admit(&self, presented: Presented<'_>) -> Result<Identity, Refusal> {
        let address = presented.address;
        let mut admitted = self.judge(&presented).await;
        if let Err(Refusal::Invalid { why }) = &admitted
            && why.may_be_a_guess()
        {
            match self.wait(&presented) {
                Ok(()) => self.shared.guesses.wrong(address.ip(), Instant::now()),
                Err(too_many) => admitted = Err(too_many),
            }
        }
        match &admitted {
            Ok(_) => {}
            Err(Refusal::Invalid { why }) => info!(%address, %why, "refused a credential"),
            Err(refusal) => debug!(%address, %refusal, "refused a request"),
        }
        admitted
    }

    /// Tells whether there is no way to prove oneself: everybody on this machine is let in,
    /// and nobody else.
    pub fn is_open(&self) -> bool {
        !self.shared.has_way_in()
    }

    /// Says in a card what callers have to bring along: any one of what is listed.
    pub fn describe(&self, card: &mut AgentCard) {
        let mut add = |name: String, scheme: SecurityScheme| {
            let schemes = [(name.clone(), StringList::default())].into();
            let requirement = SecurityRequirement { schemes };
            card.security_schemes.insert(name, scheme);
            if !card.security_requirements.contains(&requirement) {
                card.security_requirements.push(requirement);
            }
        };
        if self.shared.keys.is_some() {
            let header = self.shared.key_header_text.as_str();
            add("apiKey".to_owned(), SecurityScheme::api_key(header));
        }
        for (index, scheme) in self.bearer_schemes().into_iter().enumerate() {
            let number = if index == 0 { String::new() } else { (index + 1).to_string() };
            add(format!("bearer{number}"), scheme);
        }
        if self.shared.mtls.is_some() {
            let scheme = MutualTlsSecurityScheme::default();
            add("mtls".to_owned(), SecurityScheme::MutualTls(scheme));
        }
    }

    /// Returns a scheme for each issuer that can be discovered, and one for all others.
    fn bearer_schemes(&self) -> Vec<SecurityScheme> {
        let issuers = &self.shared.issuers;
        let discovered = issuers.iter().filter_map(JwtIssuer::discovery_url).map(|url| {
            SecurityScheme::OpenIdConnect(OpenIdConnectSecurityScheme {
                open_id_connect_url: url.to_owned(),
                ..OpenIdConnectSecurityScheme::default()
            })
        });
        let is_plain = |issuer: &JwtIssuer| issuer.discovery_url().is_none();
        let takes_plain = self.shared.pair.is_some() || issuers.iter().any(is_plain);
        let plain = takes_plain.then(|| {
            SecurityScheme::Http(HttpAuthSecurityScheme {
                scheme: "Bearer".to_owned(),
                bearer_format: "JWT".to_owned(),
                ..HttpAuthSecurityScheme::default()
            })
        });
        discovered.chain(plain).collect()
    }

    async fn judge(&self, presented: &Presented<'_>) -> Result<Identity, Refusal> {
        let shared = &*self.shared;
        let places = Places {
            key_header: shared.keys.is_some().then_some(&shared.key_header),
            bearer: shared.keys.is_some() || !shared.issuers.is_empty() || shared.pair.is_some(),
        };
        let certified = shared.mtls.as_ref().zip(presented.certificate.as_ref());
        let credential = match presented.credential(&places) {
            Ok(None) => {
                return match certified {
                    Some((mtls, certificate)) => mtls.identify(certificate),
                    None => self.judge_nobody(presented),
                };
            }
            found => found,
        };
        if let Some((mtls, certificate)) = certified {
            if !mtls.allows_tokens() {
                return Err(Refusal::Several);
            }
            mtls.identify(certificate)?;
        }
        match credential? {
            Some(Credential::Key(text)) => self.judge_key(text),
            Some(Credential::Bearer(text)) if text.starts_with(api_key::PREFIX) => {
                self.judge_key(text)
            }
            Some(Credential::Bearer(text)) if pair::is_pair(text) => {
                let verifier = shared.pair.as_ref().ok_or(Why::NotTaken)?;
                self.wait(presented)?;
                let certificate = presented.certificate.as_ref();
                // Boxed, as the next: they are large, and most callers show keys.
                Box::pin(verifier.identify(text, certificate, Timestamp::now())).await
            }
            Some(Credential::Bearer(_)) if shared.issuers.is_empty() => Err(Why::NotTaken.into()),
            Some(Credential::Bearer(text)) => {
                self.wait(presented)?;
                let certificate = presented.certificate.as_ref();
                Box::pin(jwt::identify(&shared.issuers, text, certificate, Timestamp::now())).await
            }
            None => Err(Refusal::Missing),
        }
    }

    /// Refuses an address from which too many guesses came.
    ///
    /// A key is looked at all the same: that costs a hash, its 256 bits cannot be guessed, and
    /// whoever has one is not shut out by a neighbour. A token costs the check of a signature,
    /// or the fetch of an issuer's keys, so that its bearer waits as well.
    fn wait(&self, presented: &Presented<'_>) -> Result<(), Refusal> {
        match self.shared.guesses.wait(presented.address.ip(), Instant::now()) {
            Some(retry_after) => Err(Refusal::TooMany { retry_after }),
            None => Ok(()),
        }
    }

    fn judge_key(&self, text: &str) -> Result<Identity, Refusal> {
        let keys = self.shared.keys.as_deref().ok_or(Why::NotTaken)?;
        Ok(api_key::identify(keys, text, Timestamp::now())?)
    }

    fn judge_nobody(&self, presented: &Presented<'_>) -> Result<Identity, Refusal> {
        let shared = &*self.shared;
        let is_near = presented.address.ip().to_canonical().is_loopback();
        match (shared.open_to_loopback, is_near) {
            (true, true) => Ok(Identity::anonymous()),
            (true, false) if self.is_open() => Err(Refusal::Forbidden),
            _ => Err(Refusal::Missing),
        }
    }
}

impl Shared {
    fn has_way_in(&self) -> bool {
        self.keys.is_some()
            || !self.issuers.is_empty()
            || self.mtls.is_some()
            || self.pair.is_some()
    }
}

impl fmt::Debug for Gatekeeper {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let issuers: Vec<_> = self.shared.issuers.iter().map(JwtIssuer::issuer).collect();
        f.debug_struct("Gatekeeper")
            .field("api_keys", &self.shared.keys.is_some())
            .field("issuers", &issuers)
            .field("mtls", &self.shared.mtls.is_some())
            .field("pair_tokens", &self.shared.pair.is_some())
            .field("open_to_loopback", &self.shared.open_to_loopback)
            .finish_non_exhaustive()
    }
}

impl Builder {
    /// Lets in whoever has one of these keys.
    pub fn api_keys(mut self, keys: impl KeySource + 'static) -> Self {
        self.keys = Some(Arc::new(keys));
        self
    }

    /// Reads API keys from this header; from `X-API-Key` unless set. They are read from
    /// `Authorization: Bearer` in any case.
    pub fn api_key_header(mut self, name: impl Into<String>) -> Self {
        self.key_header = name.into();
        self
    }

    /// Lets in whoever has a token of this issuer. There may be several.
    pub fn jwt(mut self, issuer: JwtIssuer) -> Self {
        self.issuers.push(issuer);
        self
    }

    /// Lets in whoever has one of these client certificates.
    pub fn mtls(mut self, mtls: Mtls) -> Self {
        self.mtls = Some(mtls);
        self
    }

    /// Lets in whoever has a pair token for this agent.
    pub fn pair_tokens(mut self, verifier: Verifier) -> Self {
        self.pair = Some(verifier);
        self
    }

    /// Lets in everybody from a loopback address who shows no credential at all.
    pub fn open_to_loopback(mut self) -> Self {
        self.open_to_loopback = true;
        self
    }

    /// Sets how many invalid credentials an address may send.
    pub fn guess_limit(mut self, limit: GuessLimit) -> Self {
        self.guess_limit = limit;
        self
    }

    /// Makes the gatekeeper.
    pub fn build(self) -> Result<Gatekeeper, Misconfigured> {
        let has_way_in = self.keys.is_some()
            || !self.issuers.is_empty()
            || self.mtls.is_some()
            || self.pair.is_some();
        if !has_way_in && !self.open_to_loopback {
            return Err(Misconfigured::NoWayIn);
        }
        for (index, one) in self.issuers.iter().enumerate() {
            for other in &self.issuers[..index] {
                check_pair(other, one)?;
            }
        }
        let header = self.key_header.parse().ok().filter(|name| *name != AUTHORIZATION);
        match header {
            Some(header) => Ok(self.finish(header)),
            None => Err(Misconfigured::Header { name: self.key_header }),
        }
    }

    fn finish(self, key_header: HeaderName) -> Gatekeeper {
        let shared = Shared {
            keys: self.keys,
            key_header,
            key_header_text: self.key_header,
            issuers: self.issuers,
            mtls: self.mtls,
            pair: self.pair,
            open_to_loopback: self.open_to_loopback,
            guesses: Guesses::new(self.guess_limit),
        };
        Gatekeeper { shared: Arc::new(shared) }
    }
}

fn check_pair(one: &JwtIssuer, other: &JwtIssuer) -> Result<(), Misconfigured> {
    let issuer = |issuer: &JwtIssuer| issuer.issuer().to_owned();
    if one.issuer() == other.issuer() {
        return Err(Misconfigured::IssuerTwice { issuer: issuer(one) });
    }
    if one.name_prefix() == other.name_prefix() {
        return Err(Misconfigured::AmbiguousNames { one: issuer(one), other: issuer(other) });
    }
    Ok(())
}

impl fmt::Debug for Builder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Builder")
            .field("issuers", &self.issuers)
            .field("mtls", &self.mtls)
            .field("pair_tokens", &self.pair)
            .field("open_to_loopback", &self.open_to_loopback)
            .field("guess_limit", &self.guess_limit)
            .finish_non_exhaustive()
    }
}
