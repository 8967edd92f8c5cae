//! Algorithms, and the public keys that verify.

use std::fmt;

use aws_lc_rs::{
    digest,
    signature::{
        ECDSA_P256_SHA256_FIXED, ECDSA_P384_SHA384_FIXED, ED25519, RSA_PKCS1_2048_8192_SHA256,
        RSA_PKCS1_2048_8192_SHA384, RSA_PKCS1_2048_8192_SHA512, RSA_PSS_2048_8192_SHA256,
        RSA_PSS_2048_8192_SHA384, RSA_PSS_2048_8192_SHA512, RsaParameters, RsaPublicKeyComponents,
        UnparsedPublicKey,
    },
};
use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};

use crate::json::{self, Members, ToJson, Writer};

/// The algorithms that are accepted. We sign with the first three.
///
/// Neither `none` nor an algorithm with a shared secret is among them: a signature is for all
/// to verify.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Algorithm {
    /// ECDSA on P-256 with SHA-256.
    Es256,
    /// Ed25519.
    EdDsa,
    /// RSA of 2048 to 8192 bits, PKCS #1 v1.5, with SHA-256.
    Rs256,
    /// The same with SHA-384.
    Rs384,
    /// The same with SHA-512.
    Rs512,
    /// RSA of 2048 to 8192 bits, PSS, with SHA-256.
    Ps256,
    /// The same with SHA-384.
    Ps384,
    /// The same with SHA-512.
    Ps512,
    /// ECDSA on P-384 with SHA-384.
    Es384,
}

impl Algorithm {
    /// Returns the name in a header.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Es256 => "ES256",
            Self::EdDsa => "EdDSA",
            Self::Rs256 => "RS256",
            Self::Rs384 => "RS384",
            Self::Rs512 => "RS512",
            Self::Ps256 => "PS256",
            Self::Ps384 => "PS384",
            Self::Ps512 => "PS512",
            Self::Es384 => "ES384",
        }
    }

    /// Finds an algorithm by its name in a header.
    pub fn from_name(name: &str) -> Option<Self> {
        match name {
            "ES256" => Some(Self::Es256),
            // RFC 9864 names the curve.
            "EdDSA" | "Ed25519" => Some(Self::EdDsa),
            "RS256" => Some(Self::Rs256),
            "RS384" => Some(Self::Rs384),
            "RS512" => Some(Self::Rs512),
            "PS256" => Some(Self::Ps256),
            "PS384" => Some(Self::Ps384),
            "PS512" => Some(Self::Ps512),
            "ES384" => Some(Self::Es384),
            _ => None,
        }
    }

    /// Returns what a check by an RSA key needs to know, if an RSA key it is.
    const fn rsa(self) -> Option<&'static RsaParameters> {
        match self {
            Self::Rs256 => Some(&RSA_PKCS1_2048_8192_SHA256),
            Self::Rs384 => Some(&RSA_PKCS1_2048_8192_SHA384),
            Self::Rs512 => Some(&RSA_PKCS1_2048_8192_SHA512),
            Self::Ps256 => Some(&RSA_PSS_2048_8192_SHA256),
            Self::Ps384 => Some(&RSA_PSS_2048_8192_SHA384),
            Self::Ps512 => Some(&RSA_PSS_2048_8192_SHA512),
            Self::Es256 | Self::Es384 | Self::EdDsa => None,
        }
    }
}

impl fmt::Display for Algorithm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A public key that verifies, under its name and for one algorithm.
///
/// Invariant: the algorithm is one for keys of that type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PublicKey {
    pub(super) kid: String,
    algorithm: Algorithm,
    material: Material,
}

/// The numbers of a public key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Material {
    P256 {
        x: [u8; 32],
        y: [u8; 32],
    },
    P384 {
        x: [u8; 48],
        y: [u8; 48],
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
    /// Names a key, for the usual algorithm of its type.
    pub(super) fn new(kid: String, material: Material) -> Self {
        Self { kid, algorithm: material.usual_algorithm(), material }
    }

    /// Names a key for an algorithm, if it is one for keys of that type.
    pub(super) fn with_algorithm(
        kid: String,
        material: Material,
        algorithm: Algorithm,
    ) -> Option<Self> {
        let usual = material.usual_algorithm();
        let fits = algorithm == usual || (usual.rsa().is_some() && algorithm.rsa().is_some());
        fits.then_some(Self { kid, algorithm, material })
    }

    /// Returns the name.
    pub fn kid(&self) -> &str {
        &self.kid
    }

    /// Returns the one algorithm that the key is for.
    ///
    /// An RSA key that names none is for RS256; keys of other types leave no choice.
    pub fn algorithm(&self) -> Algorithm {
        self.algorithm
    }

    /// Returns the fingerprint of RFC 7638, which is the same for everybody.
    pub fn thumbprint(&self) -> String {
        self.material.thumbprint()
    }

    /// Tells whether the key's owner signed these bytes, with the key's algorithm.
    pub fn verifies(&self, message: &[u8], signature: &[u8]) -> bool {
        let verified = match &self.material {
            Material::P256 { x, y } => {
                let point = [&[4], &x[..], &y[..]].concat();
                UnparsedPublicKey::new(&ECDSA_P256_SHA256_FIXED, point).verify(message, signature)
            }
            Material::P384 { x, y } => {
                let point = [&[4], &x[..], &y[..]].concat();
                UnparsedPublicKey::new(&ECDSA_P384_SHA384_FIXED, point).verify(message, signature)
            }
            Material::Ed25519 { x } => {
                UnparsedPublicKey::new(&ED25519, x).verify(message, signature)
            }
            Material::Rsa { n, e } => {
                let Some(parameters) = self.algorithm.rsa() else { return false };
                RsaPublicKeyComponents { n, e }.verify(parameters, message, signature)
            }
        };
        verified.is_ok()
    }
}

impl Material {
    fn usual_algorithm(&self) -> Algorithm {
        match self {
            Self::P256 { .. } => Algorithm::Es256,
            Self::P384 { .. } => Algorithm::Es384,
            Self::Ed25519 { .. } => Algorithm::EdDsa,
            Self::Rsa { .. } => Algorithm::Rs256,
        }
    }

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
            Self::P384 { x, y } => {
                object.member("crv", "P-384");
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
