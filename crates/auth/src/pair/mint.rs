//! Making pair tokens.

use std::time::Duration;

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use nuncio_net::Secret;
use nuncio_protocol::{
    card::sign::{self, Algorithm, KeySet, Signer},
    ids::{AgentId, Organisation},
    json,
    time::Timestamp,
};

use super::{LIFETIME, MAX_CHAIN, TYPE, claims::ALL};
use crate::{
    api_key::random,
    rules::{Grant, Skills},
};

/// How many keys are published: the one that signs, and those before it.
const MAX_KEYS: usize = 3;

/// Signs pair tokens.
#[derive(Debug)]
pub struct Minter {
    issuer: String,
    /// The first one signs. Never empty.
    keys: Vec<Signer>,
}

/// What a token is to say.
#[derive(Clone, Debug)]
#[must_use]
pub struct Pair<'a> {
    caller: &'a AgentId,
    target: &'a AgentId,
    organisation: &'a Organisation,
    epoch: u64,
    grant: Grant,
    lifetime: Duration,
    certificate: Option<[u8; 32]>,
    chain: &'a [AgentId],
}

/// A token.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Minted {
    /// The text, for an `Authorization: Bearer` header.
    pub token: Secret,
    /// Its id, for the audit.
    pub id: String,
    /// When it ends.
    pub expires: Timestamp,
}

/// Why no token could be made.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum MintError {
    /// The task has been handed on too often.
    #[error("the task was handed on {length} times, more than {MAX_CHAIN}")]
    Chain {
        /// How often.
        length: usize,
    },
    /// There is no key to sign with.
    #[error("a minter needs an Ed25519 key")]
    NoKey,
    /// The key cannot be used, or the cryptographic library failed.
    #[error("the token cannot be signed")]
    Signing(#[from] sign::Error),
}

impl Minter {
    /// Begins with a new key. The issuer is the hub's own URL.
    pub fn generate(issuer: impl Into<String>) -> Result<Self, MintError> {
        Ok(Self { issuer: issuer.into(), keys: vec![new_key()?] })
    }

    /// Begins with keys that were kept, as [`to_pem`](Self::to_pem) returned them. The first
    /// one signs, the others are published.
    pub fn from_pem<'p>(
        issuer: impl Into<String>,
        keys: impl IntoIterator<Item = &'p str>,
    ) -> Result<Self, MintError> {
        let keys = keys.into_iter().map(Signer::from_pem).collect::<Result<Vec<_>, _>>()?;
        if keys.is_empty() || keys.iter().any(|key| key.algorithm() != Algorithm::EdDsa) {
            return Err(MintError::NoKey);
        }
        Ok(Self { issuer: issuer.into(), keys })
    }

    /// Signs with a new key from now on. The two before it stay published, so that tokens
    /// they have signed live out their 300 seconds.
    pub fn rotate(&mut self) -> Result<(), MintError> {
        self.keys.insert(0, new_key()?);
        self.keys.truncate(MAX_KEYS);
        Ok(())
    }

    /// Writes the private keys as PKCS #8, the one that signs first. To be kept secret.
    pub fn to_pem(&self) -> Result<Vec<Secret>, MintError> {
        self.keys.iter().map(|key| Ok(key.to_pem()?.into())).collect()
    }

    /// Returns the public keys; their JSON is the JWKS to publish.
    pub fn key_set(&self) -> KeySet {
        self.keys.iter().map(|key| key.public_key().clone()).collect()
    }

    /// Returns what tokens name as their issuer.
    pub fn issuer(&self) -> &str {
        &self.issuer
    }

    /// Makes a token that counts from now on.
    pub fn mint(&self, pair: &Pair<'_>, now: Timestamp) -> Result<Minted, MintError> {
        if pair.chain.len() > MAX_CHAIN {
            return Err(MintError::Chain { length: pair.chain.len() });
        }
        let key = self.keys.first().ok_or(MintError::NoKey)?;
        let id = URL_SAFE_NO_PAD.encode(random::<16>());
        let issued = now.to_parts().0;
        let lifetime = pair.lifetime.min(LIFETIME).as_secs();
        let ends = issued.saturating_add(i64::try_from(lifetime).unwrap_or_default());
        let header = json::write_with(|writer| {
            writer.object(|object| {
                object.member("alg", key.algorithm().as_str());
                object.member("kid", key.kid());
                object.member("typ", TYPE);
            });
        });
        let claims = self.claims(pair, &id, (issued, ends));
        let signed =
            format!("{}.{}", URL_SAFE_NO_PAD.encode(header), URL_SAFE_NO_PAD.encode(claims));
        let signature = URL_SAFE_NO_PAD.encode(key.sign_bytes(signed.as_bytes())?);
        let token = format!("{signed}.{signature}").into();
        Ok(Minted { token, id, expires: Timestamp::from_parts(ends, 0).unwrap_or(now) })
    }

    fn claims(&self, pair: &Pair<'_>, id: &str, (issued, ends): (i64, i64)) -> String {
        json::write_with(|writer| {
            writer.object(|object| {
                object.member("iss", self.issuer.as_str());
                object.member("sub", pair.caller);
                object.member("aud", pair.target);
                object.member("org", pair.organisation);
                if pair.grant.operations.is_all() {
                    object.member("ops", ALL);
                } else {
                    object.member("ops", &pair.grant.operations);
                }
                match &pair.grant.skills {
                    Skills::Any => object.member("skills", ALL),
                    Skills::Only(skills) => object.member("skills", &**skills),
                }
                let epoch = i64::try_from(pair.epoch).unwrap_or(i64::MAX);
                object.with("epoch", |writer| writer.int(epoch));
                object.with("iat", |writer| writer.int(issued));
                object.with("exp", |writer| writer.int(ends));
                object.member("jti", id);
                if let Some(certificate) = pair.certificate {
                    object.with("cnf", |writer| {
                        let fingerprint = URL_SAFE_NO_PAD.encode(certificate);
                        writer.object(|object| object.member("x5t#S256", fingerprint.as_str()));
                    });
                }
                object.list("chain", pair.chain);
            });
        })
    }
}

fn new_key() -> Result<Signer, MintError> {
    Ok(Signer::generate(Algorithm::EdDsa)?)
}

impl<'a> Pair<'a> {
    /// Says that a caller may do everything at a target, at an epoch of the rules.
    pub fn new(
        caller: &'a AgentId,
        target: &'a AgentId,
        organisation: &'a Organisation,
        epoch: u64,
    ) -> Self {
        Self {
            caller,
            target,
            organisation,
            epoch,
            grant: Grant::ALL,
            lifetime: LIFETIME,
            certificate: None,
            chain: &[],
        }
    }

    /// Limits what the caller may do.
    pub fn grant(mut self, grant: Grant) -> Self {
        self.grant = grant;
        self
    }

    /// Sets a shorter life than 300 seconds.
    pub fn lifetime(mut self, lifetime: Duration) -> Self {
        self.lifetime = lifetime;
        self
    }

    /// Binds the token to a client certificate, by its SHA-256.
    pub fn certificate(mut self, fingerprint: [u8; 32]) -> Self {
        self.certificate = Some(fingerprint);
        self
    }

    /// Names those on whose behalf the caller calls, the first one first; at most 8.
    pub fn chain(mut self, chain: &'a [AgentId]) -> Self {
        self.chain = chain;
        self
    }
}
