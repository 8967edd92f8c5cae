//! Algorithms, and the public keys that verify.

use std::fmt;

use aws_lc_rs::{
    digest,
    signature::{
        ECDSA_P256_SHA256_FIXED, ED25519, RSA_PKCS1_2048_8192_SHA256, RsaPublicKeyComponents,
        UnparsedPublicKey,
    },
};
use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};

use crate::json::{self, Members, ToJson, Writer};

/// The algorithms that are used and accepted.
///
/// Neither `none` nor an algorithm with a shared secret is among them: a card is for all to
/// verify.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Algorithm {
    /// ECDSA on P-256 with SHA-256.
    Es256,
    /// Ed25519.
    EdDsa,
    /// RSA of 2048 to 8192 bits, PKCS #1 v1.5, with SHA-256.
    Rs256,
}

impl Algorithm {
    /// Returns the name in a header.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Es256 => "ES256",
            Self::EdDsa => "EdDSA",
            Self::Rs256 => "RS256",
        }
    }

    /// Finds an algorithm by its name in a header.
    pub fn from_name(name: &str) -> Option<Self> {
        match name {
            "ES256" => Some(Self::Es256),
            // RFC 9864 names the curve.
            "EdDSA" | "Ed25519" => Some(Self::EdDsa),
            "RS256" => Some(Self::Rs256),
            _ => None,
        }
    }
}

impl fmt::Display for Algorithm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A public key that verifies cards, under its name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PublicKey {
    pub(super) kid: String,
    pub(super) material: Material,
}

/// The numbers of a public key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Material {
    P256 {
        x: [u8; 32],
        y: [u8; 32],
    },
    Ed25519 {
        x: [u8; 32],
    },
    /// Big-endian, without leading zeros.
    Rsa {
        n: Vec<u8>,
        e: Vec<u8>,
    },
}

impl PublicKey {
    /// Returns the name.
    pub fn kid(&self) -> &str {
        &self.kid
    }

    /// Returns the algorithm: each type of key has one.
    pub fn algorithm(&self) -> Algorithm {
        match self.material {
            Material::P256 { .. } => Algorithm::Es256,
            Material::Ed25519 { .. } => Algorithm::EdDsa,
            Material::Rsa { .. } => Algorithm::Rs256,
        }
    }

    /// Returns the fingerprint of RFC 7638, which is the same for everybody.
    pub fn thumbprint(&self) -> String {
        self.material.thumbprint()
    }

    /// Tells whether the key's owner signed these bytes.
    pub(super) fn verifies(&self, message: &[u8], signature: &[u8]) -> bool {
        let verified = match &self.material {
            Material::P256 { x, y } => {
                let point = [&[4], &x[..], &y[..]].concat();
                UnparsedPublicKey::new(&ECDSA_P256_SHA256_FIXED, point).verify(message, signature)
            }
            Material::Ed25519 { x } => {
                UnparsedPublicKey::new(&ED25519, x).verify(message, signature)
            }
            Material::Rsa { n, e } => RsaPublicKeyComponents { n, e }.verify(
                &RSA_PKCS1_2048_8192_SHA256,
                message,
                signature,
            ),
        };
        verified.is_ok()
    }
}

impl Material {
    pub(super) fn thumbprint(&self) -> String {
        let text = json::write_with(|writer| writer.object(|object| self.write(object)));
        URL_SAFE_NO_PAD.encode(digest::digest(&digest::SHA256, text.as_bytes()))
    }

    /// Writes the members of a JWK that make up the key, in the order of RFC 7638.
    fn write(&self, object: &mut Members<'_>) {
        let encoded = |bytes: &[u8]| URL_SAFE_NO_PAD.encode(bytes);
        match self {
            Self::P256 { x, y } => {
                object.member("crv", "P-256");
                object.member("kty", "EC");
                object.member("x", &encoded(x));
                object.member("y", &encoded(y));
            }
            Self::Ed25519 { x } => {
                object.member("crv", "Ed25519");
                object.member("kty", "OKP");
                object.member("x", &encoded(x));
            }
            Self::Rsa { n, e } => {
                object.member("e", &encoded(e));
                object.member("kty", "RSA");
                object.member("n", &encoded(n));
            }
        }
    }
}

impl ToJson for PublicKey {
    /// Writes a JWK (RFC 7517).
    fn write(&self, writer: &mut Writer) {
        writer.object(|object| {
            self.material.write(object);
            object.member("kid", &self.kid);
            object.member("alg", self.algorithm().as_str());
            object.member("use", "sig");
        });
    }
}
