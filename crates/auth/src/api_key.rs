//! API keys: a random secret that is shown once, and a record that cannot be turned back.
//!
//! A key reads `nk_<id>_<secret>`. The id finds the record; the secret has 256 random bits,
//! so that a plain hash of it is as good as a slow one, and a stolen table of records opens
//! nothing. With a [`Pepper`] the records are of no use even for checking a key that was
//! found elsewhere.
//!
//! ```
//! use nuncio_auth::{ApiKey, ApiKeys};
//!
//! let keys = ApiKeys::new();
//! let (key, record) = ApiKey::generate("billing");
//! keys.add(record.for_agent().with_scopes(["tasks"]));
//! // Show `key` to its owner, now or never.
//! keys.revoke(key.id());
//! ```

mod file;
mod keys;
mod record;

use std::{fmt, str::FromStr, sync::Arc};

use aws_lc_rs::{digest, hmac, rand};
use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use nuncio_protocol::time::Timestamp;

pub(crate) use self::record::is_name;
pub use self::{
    file::{Error, MAX_FILE_BYTES, parse_file},
    keys::ApiKeys,
    record::KeyRecord,
};
use crate::{
    identity::{Identity, Method},
    refusal::Why,
};

/// Begins every key, so that leaked ones can be searched for.
pub const PREFIX: &str = "nk_";

/// As many as 64 bits need.
const ID_LETTERS: usize = 16;
const SECRET_BYTES: usize = 32;

/// Finds keys by their ids.
///
/// Called for every request that shows a key, so an implementation answers from memory.
pub trait KeySource: Send + Sync {
    /// Returns the record of a key, revoked ones too.
    fn find(&self, id: &str) -> Option<Arc<KeyRecord>>;

    /// Returns what the records were peppered with.
    fn pepper(&self) -> Option<&Pepper> {
        None
    }
}

/// A new key. `Display` shows it, `Debug` does not.
#[derive(Clone, PartialEq, Eq)]
pub struct ApiKey {
    id: String,
    secret: [u8; SECRET_BYTES],
}

/// A text that is not an API key. Says nothing about the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("expected `nk_`, 16 hexadecimal digits, `_` and 43 letters of base64url")]
pub struct InvalidKey;

/// A secret of the program's own that goes into the hash of every key.
///
/// Kept apart from the records, it makes them worthless to whoever steals them alone.
#[derive(Clone)]
pub struct Pepper(hmac::Key);

impl ApiKey {
    /// Makes a key for a user of this name, and its record.
    ///
    /// The key cannot be had again; the record says no more than whether a key is this one.
    pub fn generate(name: impl Into<Arc<str>>) -> (Self, KeyRecord) {
        let id = format!("{:0ID_LETTERS$x}", u64::from_be_bytes(random()));
        let key = Self { id, secret: random() };
        let record = key.record(name);
        (key, record)
    }

    /// Makes a record of the key, for a user of this name: for keys that come from outside.
    pub fn record(&self, name: impl Into<Arc<str>>) -> KeyRecord {
        KeyRecord::new(self, name.into())
    }

    /// Returns the part that is no secret.
    pub fn id(&self) -> &str {
        &self.id
    }

    fn parse(text: &str) -> Option<Self> {
        let (id, secret) = text.strip_prefix(PREFIX)?.split_once('_')?;
        // One byte more than a secret has: the decoder then needs no memory of its own.
        let mut bytes = [0; SECRET_BYTES + 1];
        let length = URL_SAFE_NO_PAD.decode_slice(secret, &mut bytes).ok()?;
        let secret = bytes[..length].try_into().ok()?;
        Self::is_id(id).then(|| Self { id: id.to_owned(), secret })
    }

    fn is_id(text: &str) -> bool {
        text.len() == ID_LETTERS
            && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
    }

    fn hash(&self) -> [u8; 32] {
        let mut hash = [0; 32];
        hash.copy_from_slice(digest::digest(&digest::SHA256, &self.secret).as_ref());
        hash
    }
}

impl fmt::Display for ApiKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{PREFIX}{}_{}", self.id, URL_SAFE_NO_PAD.encode(self.secret))
    }
}

impl FromStr for ApiKey {
    type Err = InvalidKey;

    /// Reads a key. There is one spelling of each.
    fn from_str(text: &str) -> Result<Self, InvalidKey> {
        Self::parse(text).ok_or(InvalidKey)
    }
}

impl fmt::Debug for ApiKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ApiKey").field("id", &self.id).finish_non_exhaustive()
    }
}

impl Pepper {
    /// Takes a secret of any length; 32 random bytes are plenty.
    pub fn new(secret: &[u8]) -> Self {
        Self(hmac::Key::new(hmac::HMAC_SHA256, secret))
    }

    fn apply(&self, hash: &[u8; 32]) -> [u8; 32] {
        let mut peppered = [0; 32];
        peppered.copy_from_slice(hmac::sign(&self.0, hash).as_ref());
        peppered
    }
}

impl fmt::Debug for Pepper {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Pepper")
    }
}

/// Says whose key it is.
///
/// An unknown id costs as much as a wrong secret, and neither is told from the other.
pub(crate) fn identify(
    source: &dyn KeySource,
    text: &str,
    now: Timestamp,
) -> Result<Identity, Why> {
    let key = ApiKey::parse(text).ok_or(Why::KeyText)?;
    let found = source.find(&key.id);
    let nobody = KeyRecord::nobody(source.pepper().is_some());
    let record = found.as_deref().unwrap_or(nobody);
    let fits = record.fits(&key, source.pepper());
    if !fits || found.is_none() {
        return Err(Why::WrongKey);
    }
    if record.revoked().is_some() {
        return Err(Why::KeyRevoked);
    }
    if record.expires().is_some_and(|expires| expires <= now) {
        return Err(Why::KeyExpired);
    }
    Ok(Identity {
        organisation: record.organisation().cloned(),
        scopes: Arc::clone(record.scopes()),
        expires: record.expires(),
        key: found.clone(),
        ..Identity::new(record.caller().clone(), Method::ApiKey)
    })
}

pub(crate) fn random<const LENGTH: usize>() -> [u8; LENGTH] {
    let mut bytes = [0; LENGTH];
    rand::fill(&mut bytes).expect("the library ends the program rather than run out of randomness");
    bytes
}
