//! Sets of public keys, as JSON (RFC 7517).

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};

use super::key::{Algorithm, Material, PublicKey};
use crate::json::{Error, FromJson, Reader, ToJson, Writer, from_str, read_value};

/// The public keys a verifier trusts: a JWKS.
///
/// Keys we cannot use (other types and curves, for encryption, without `kid`) are passed over
/// when a set is read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KeySet {
    keys: Vec<PublicKey>,
}

impl KeySet {
    /// Adds a key.
    pub fn insert(&mut self, key: PublicKey) {
        self.keys.push(key);
    }

    /// Returns the keys.
    pub fn iter(&self) -> impl Iterator<Item = &PublicKey> {
        self.keys.iter()
    }

    /// Tells whether any key has this name.
    pub fn contains(&self, kid: &str) -> bool {
        self.keys.iter().any(|key| key.kid() == kid)
    }

    /// Finds a key. Where several share a name, the algorithm tells them apart.
    pub fn find(&self, kid: &str, algorithm: Algorithm) -> Option<&PublicKey> {
        self.keys.iter().find(|key| key.kid() == kid && key.algorithm() == algorithm)
    }
}

impl FromIterator<PublicKey> for KeySet {
    fn from_iter<T: IntoIterator<Item = PublicKey>>(keys: T) -> Self {
        Self { keys: keys.into_iter().collect() }
    }
}

impl FromJson for KeySet {
    fn read(reader: &mut Reader<'_>) -> Result<Self, Error> {
        let mut keys = None;
        reader.members(|reader, key| {
            if key != "keys" {
                return reader.skip();
            }
            let mut usable = Vec::new();
            reader.items(|reader| {
                // A key of a kind we do not know must not spoil the others.
                let text = reader.value_text()?;
                usable.extend(from_str::<Jwk>(text).ok().and_then(Jwk::into_public_key));
                Ok(())
            })?;
            keys = Some(usable);
            Ok(())
        })?;
        Ok(Self { keys: keys.ok_or_else(|| Error::missing("keys"))? })
    }
}

impl ToJson for KeySet {
    fn write(&self, writer: &mut Writer) {
        writer.object(|object| object.member("keys", &self.keys));
    }
}

/// A JWK as it stands. It may be a secret, hence no `Debug`.
#[derive(Default)]
pub(super) struct Jwk {
    pub kid: Option<String>,
    kty: Option<String>,
    crv: Option<String>,
    alg: Option<String>,
    purpose: Option<String>,
    operations: Option<Vec<String>>,
    x: Option<String>,
    y: Option<String>,
    n: Option<String>,
    e: Option<String>,
    // The private half.
    pub d: Option<String>,
    pub p: Option<String>,
    pub q: Option<String>,
    pub dp: Option<String>,
    pub dq: Option<String>,
    pub qi: Option<String>,
}

impl FromJson for Jwk {
    fn read(reader: &mut Reader<'_>) -> Result<Self, Error> {
        let mut jwk = Self::default();
        reader.members(|reader, key| {
            let place = match &*key {
                "kid" => &mut jwk.kid,
                "kty" => &mut jwk.kty,
                "crv" => &mut jwk.crv,
                "alg" => &mut jwk.alg,
                "use" => &mut jwk.purpose,
                "x" => &mut jwk.x,
                "y" => &mut jwk.y,
                "n" => &mut jwk.n,
                "e" => &mut jwk.e,
                "d" => &mut jwk.d,
                "p" => &mut jwk.p,
                "q" => &mut jwk.q,
                "dp" => &mut jwk.dp,
                "dq" => &mut jwk.dq,
                "qi" => &mut jwk.qi,
                "key_ops" => {
                    jwk.operations = read_value(reader)?;
                    return Ok(());
                }
                _ => return reader.skip(),
            };
            *place = read_value(reader)?;
            Ok(())
        })?;
        Ok(jwk)
    }
}

impl Jwk {
    /// Returns the public numbers, if they are those of a key we can use.
    pub(super) fn material(&self) -> Option<Material> {
        let number = |member: &Option<String>| {
            let bytes = decode(member.as_deref()?)?;
            let zeros = bytes.iter().take_while(|byte| **byte == 0).count();
            Some(bytes[zeros..].to_vec()).filter(|bytes| !bytes.is_empty())
        };
        match (self.kty.as_deref()?, self.crv.as_deref()) {
            ("EC", Some("P-256")) => Some(Material::P256 {
                x: coordinate(self.x.as_deref())?,
                y: coordinate(self.y.as_deref())?,
            }),
            ("EC", Some("P-384")) => Some(Material::P384 {
                x: coordinate(self.x.as_deref())?,
                y: coordinate(self.y.as_deref())?,
            }),
            ("OKP", Some("Ed25519")) => {
                Some(Material::Ed25519 { x: coordinate(self.x.as_deref())? })
            }
            ("RSA", None) => Some(Material::Rsa { n: number(&self.n)?, e: number(&self.e)? }),
            _ => None,
        }
    }

    fn into_public_key(self) -> Option<PublicKey> {
        let (material, kid) = (self.material()?, self.kid?);
        let is_for_signing = self.purpose.is_none_or(|purpose| purpose == "sig")
            && self.operations.is_none_or(|list| list.iter().any(|one| one == "verify"));
        if !is_for_signing {
            return None;
        }
        match self.alg {
            // A key for an algorithm that we do not know is not ours to use.
            Some(name) => PublicKey::with_algorithm(kid, material, Algorithm::from_name(&name)?),
            None => Some(PublicKey::new(kid, material)),
        }
    }
}

/// Reads a number of a fixed length.
fn coordinate<const LENGTH: usize>(member: Option<&str>) -> Option<[u8; LENGTH]> {
    decode(member?)?.try_into().ok()
}

pub(super) fn decode(text: &str) -> Option<Vec<u8>> {
    URL_SAFE_NO_PAD.decode(text).ok()
}
