//! What is kept of a key.

use std::{
    fmt,
    sync::{Arc, LazyLock},
};

use aws_lc_rs::constant_time;
use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use nuncio_protocol::{
    json::{self, FromJson, Reader, ToJson, Writer},
    service::Caller,
    time::Timestamp,
};

use super::{ApiKey, Pepper};

const MAX_NAME_BYTES: usize = 256;

/// What is kept of a key: whose it is, and how to tell that a key is this one.
#[derive(Clone, PartialEq, Eq)]
pub struct KeyRecord {
    id: Box<str>,
    caller: Caller,
    scopes: Arc<[String]>,
    organisation: Option<Arc<str>>,
    hash: Hash,
    created: Timestamp,
    expires: Option<Timestamp>,
    revoked: Option<Timestamp>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
struct Hash {
    bytes: [u8; 32],
    /// Whether the bytes are keyed by a pepper, or SHA-256 of the secret alone.
    is_peppered: bool,
}

impl KeyRecord {
    pub(super) fn new(key: &ApiKey, name: Arc<str>) -> Self {
        Self {
            id: key.id().into(),
            caller: Caller::User(name),
            scopes: Arc::default(),
            organisation: None,
            hash: Hash { bytes: key.hash(), is_peppered: false },
            created: Timestamp::now(),
            expires: None,
            revoked: None,
        }
    }

    /// Returns a record that fits no key, to compare with when there is none.
    pub(super) fn nobody(is_peppered: bool) -> &'static Self {
        static RECORDS: LazyLock<[KeyRecord; 2]> = LazyLock::new(|| {
            [false, true].map(|is_peppered| {
                let (_, record) = ApiKey::generate("nobody");
                KeyRecord { hash: Hash { is_peppered, ..record.hash }, ..record }
            })
        });
        &RECORDS[usize::from(is_peppered)]
    }

    /// Makes it the key of an agent.
    #[must_use]
    pub fn for_agent(mut self) -> Self {
        if let Caller::User(name) = self.caller {
            self.caller = Caller::Agent(name);
        }
        self
    }

    /// Says what the key is good for.
    #[must_use]
    pub fn with_scopes<T: Into<String>>(mut self, scopes: impl IntoIterator<Item = T>) -> Self {
        self.scopes = scopes.into_iter().map(Into::into).collect();
        self
    }

    /// Says to which organisation the owner belongs.
    #[must_use]
    pub fn with_organisation(mut self, organisation: impl Into<Arc<str>>) -> Self {
        self.organisation = Some(organisation.into());
        self
    }

    /// Says when the key ends.
    #[must_use]
    pub fn with_expiry(mut self, expires: Timestamp) -> Self {
        self.expires = Some(expires);
        self
    }

    /// Revokes the key from now on; one that is revoked stays as it is.
    #[must_use]
    pub fn into_revoked(mut self) -> Self {
        self.revoked = self.revoked.or_else(|| Some(Timestamp::now()));
        self
    }

    /// Keys the hash by a pepper, if it is not yet.
    #[must_use]
    pub fn with_pepper(mut self, pepper: &Pepper) -> Self {
        if !self.hash.is_peppered {
            self.hash = Hash { bytes: pepper.apply(&self.hash.bytes), is_peppered: true };
        }
        self
    }

    /// Returns the id, by which the record is found.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Returns whose key it is.
    pub fn caller(&self) -> &Caller {
        &self.caller
    }

    /// Returns what it is good for.
    pub fn scopes(&self) -> &Arc<[String]> {
        &self.scopes
    }

    /// Returns to which organisation the owner belongs.
    pub fn organisation(&self) -> Option<&Arc<str>> {
        self.organisation.as_ref()
    }

    /// Returns when it was made.
    pub fn created(&self) -> Timestamp {
        self.created
    }

    /// Returns when it ends.
    pub fn expires(&self) -> Option<Timestamp> {
        self.expires
    }

    /// Returns since when it is revoked.
    pub fn revoked(&self) -> Option<Timestamp> {
        self.revoked
    }

    /// Tells whether a pepper is needed to check a key.
    pub fn is_peppered(&self) -> bool {
        self.hash.is_peppered
    }

    /// Tells whether a key is this one, in the same time whether it is or not.
    pub(super) fn fits(&self, key: &ApiKey, pepper: Option<&Pepper>) -> bool {
        let plain = key.hash();
        let hash = match (self.hash.is_peppered, pepper) {
            (false, _) => plain,
            (true, Some(pepper)) => pepper.apply(&plain),
            (true, None) => return false,
        };
        constant_time::verify_slices_are_equal(&hash, &self.hash.bytes).is_ok()
    }
}

impl fmt::Debug for KeyRecord {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The hash stays out: a dump of records is the thing to be stolen.
        f.debug_struct("KeyRecord")
            .field("id", &self.id)
            .field("caller", &self.caller)
            .field("scopes", &self.scopes)
            .field("organisation", &self.organisation)
            .field("created", &self.created)
            .field("expires", &self.expires)
            .field("revoked", &self.revoked)
            .finish_non_exhaustive()
    }
}

impl ToJson for KeyRecord {
    fn write(&self, writer: &mut Writer) {
        writer.object(|object| {
            object.member("id", &*self.id);
            match &self.caller {
                Caller::Agent(name) => object.member("agent", &**name),
                Caller::User(name) => object.member("user", &**name),
                _ => {}
            }
            object.list("scopes", &self.scopes);
            if let Some(organisation) = &self.organisation {
                object.member("organisation", &**organisation);
            }
            object.member("hash", &self.hash.to_string());
            object.member("created", &self.created);
            object.optional("expires", self.expires.as_ref());
            object.optional("revoked", self.revoked.as_ref());
        });
    }
}

impl FromJson for KeyRecord {
    /// Reads a record. A member that is not known is refused: a misspelt `expires` must not
    /// make a key that never ends.
    fn read(reader: &mut Reader<'_>) -> Result<Self, json::Error> {
        let (mut id, mut caller, mut hash, mut created) = (None, None, None, None);
        let (mut scopes, mut organisation) = (Vec::new(), None);
        let (mut expires, mut revoked) = (None, None);
        reader.members(|reader, key| {
            match &*key {
                "id" => id = Some(read_id(reader)?),
                "agent" | "user" if caller.is_some() => {
                    return Err(invalid("either `agent` or `user`"));
                }
                "agent" => caller = Some(Caller::Agent(read_name(reader)?)),
                "user" => caller = Some(Caller::User(read_name(reader)?)),
                "scopes" => scopes = Vec::read(reader)?,
                "organisation" => organisation = Some(read_name(reader)?),
                "hash" => hash = Some(Hash::read(reader)?),
                "created" => created = Some(Timestamp::read(reader)?),
                "expires" => expires = Some(Timestamp::read(reader)?),
                "revoked" => revoked = Some(Timestamp::read(reader)?),
                _ => return Err(invalid("a member of a key")),
            }
            Ok(())
        })?;
        let missing = |key| move || json::Error::missing(key);
        Ok(Self {
            id: id.ok_or_else(missing("id"))?,
            caller: caller.ok_or_else(missing("agent` or `user"))?,
            scopes: scopes.into(),
            organisation,
            hash: hash.ok_or_else(missing("hash"))?,
            created: created.ok_or_else(missing("created"))?,
            expires,
            revoked,
        })
    }
}

fn invalid(what: &'static str) -> json::Error {
    json::Error::shape(format!("expected {what}"))
}

fn read_id(reader: &mut Reader<'_>) -> Result<Box<str>, json::Error> {
    let id = reader.string()?;
    let is_id = ApiKey::is_id(&id);
    if is_id { Ok(id.into()) } else { Err(invalid("16 hexadecimal digits in lower case")) }
}

fn read_name(reader: &mut Reader<'_>) -> Result<Arc<str>, json::Error> {
    let name = reader.string()?;
    if is_name(&name) { Ok((*name).into()) } else { Err(invalid("a name of 1 to 256 bytes")) }
}

/// Tells whether a text is fit to name a caller.
pub(crate) fn is_name(text: &str) -> bool {
    (1..=MAX_NAME_BYTES).contains(&text.len()) && !text.chars().any(char::is_control)
}

impl Hash {
    fn read(reader: &mut Reader<'_>) -> Result<Self, json::Error> {
        Self::parse(&reader.string()?)
            .ok_or_else(|| invalid("`sha256:` or `hmac-sha256:` and 43 letters of base64url"))
    }

    fn parse(text: &str) -> Option<Self> {
        let (kind, bytes) = text.split_once(':')?;
        let is_peppered = match kind {
            "sha256" => false,
            "hmac-sha256" => true,
            _ => return None,
        };
        let bytes = URL_SAFE_NO_PAD.decode(bytes).ok()?.try_into().ok()?;
        Some(Self { bytes, is_peppered })
    }
}

impl fmt::Display for Hash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = if self.is_peppered { "hmac-sha256" } else { "sha256" };
        write!(f, "{kind}:{}", URL_SAFE_NO_PAD.encode(self.bytes))
    }
}
