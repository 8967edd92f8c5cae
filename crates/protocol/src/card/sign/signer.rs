//! Private keys, which sign.

use std::fmt;

use aws_lc_rs::{
    encoding::{AsDer, Pkcs8V1Der},
    rand::SystemRandom,
    rsa::{KeyPairComponents, KeySize},
    signature::{
        ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, Ed25519KeyPair, KeyPair as _,
        RSA_PKCS1_SHA256, RsaKeyPair, RsaPublicKeyComponents,
    },
};

use super::{
    Error,
    jwk::{Jwk, decode},
    key::{Algorithm, Material, PublicKey},
    pem,
};
use crate::json;

/// A private key that signs, under the name by which verifiers find its public half.
pub struct Signer {
    key: PrivateKey,
    public: PublicKey,
    jku: Option<String>,
}

pub(super) enum PrivateKey {
    Es256(EcdsaKeyPair),
    EdDsa(Ed25519KeyPair),
    Rs256(RsaKeyPair),
}

impl Signer {
    /// Makes a new key; RSA gets 3072 bits and takes its time.
    ///
    /// Its name is its thumbprint (RFC 7638) unless [`with_kid`](Self::with_kid) gives another.
    pub fn generate(algorithm: Algorithm) -> Result<Self, Error> {
        let failed = |_| Error::Crypto;
        Self::new(match algorithm {
            Algorithm::Es256 => PrivateKey::Es256(
                EcdsaKeyPair::generate(&ECDSA_P256_SHA256_FIXED_SIGNING).map_err(failed)?,
            ),
            Algorithm::EdDsa => PrivateKey::EdDsa(Ed25519KeyPair::generate().map_err(failed)?),
            Algorithm::Rs256 => {
                PrivateKey::Rs256(RsaKeyPair::generate(KeySize::Rsa3072).map_err(failed)?)
            }
            _ => return Err(Error::Key("we sign with ES256, EdDSA and RS256 only")),
        })
    }

    /// Reads a private key: PKCS #8 of any algorithm, SEC 1 for ES256, PKCS #1 for RS256.
    pub fn from_pem(text: &str) -> Result<Self, Error> {
        let unknown = Error::Key("it is not a PEM private key for ES256, EdDSA or RS256");
        let Some((label, der)) = pem::private_key(text) else { return Err(unknown) };
        let elliptic = || {
            let key = EcdsaKeyPair::from_private_key_der(&ECDSA_P256_SHA256_FIXED_SIGNING, &der);
            key.map(PrivateKey::Es256).ok()
        };
        let edwards =
            || Ed25519KeyPair::from_pkcs8_maybe_unchecked(&der).map(PrivateKey::EdDsa).ok();
        let rsa = || RsaKeyPair::from_pkcs8(&der).map(PrivateKey::Rs256).ok();
        let key = match label.as_str() {
            "PRIVATE KEY" => elliptic().or_else(edwards).or_else(rsa),
            "EC PRIVATE KEY" => elliptic(),
            "RSA PRIVATE KEY" => RsaKeyPair::from_der(&der).map(PrivateKey::Rs256).ok(),
            "ENCRYPTED PRIVATE KEY" => return Err(Error::Key("it is encrypted")),
            _ => None,
        };
        Self::new(key.ok_or(unknown)?)
    }

    /// Reads a private JWK (RFC 7517); its `kid` becomes the key's name.
    pub fn from_jwk(text: &str) -> Result<Self, Error> {
        let jwk: Jwk = json::from_str(text).map_err(|_| Error::Key("it is not a JWK"))?;
        let signer = Self::new(PrivateKey::from_jwk(&jwk).ok_or(Error::Key(
            "it is not a private JWK of type EC P-256, OKP Ed25519 or RSA, or its parts disagree",
        ))?)?;
        Ok(match jwk.kid {
            Some(kid) => signer.with_kid(kid),
            None => signer,
        })
    }

    fn new(key: PrivateKey) -> Result<Self, Error> {
        let material = key.public().ok_or(Error::Crypto)?;
        let kid = material.thumbprint();
        Ok(Self { key, public: PublicKey::new(kid, material), jku: None })
    }

    /// Gives the key another name.
    #[must_use]
    pub fn with_kid(mut self, kid: impl Into<String>) -> Self {
        self.public.kid = kid.into();
        self
    }

    /// Says in every signature where the public keys are to be found.
    #[must_use]
    pub fn with_jku(mut self, url: impl Into<String>) -> Self {
        self.jku = Some(url.into());
        self
    }

    /// Returns the algorithm.
    pub fn algorithm(&self) -> Algorithm {
        self.public.algorithm()
    }

    /// Returns the name of the key.
    pub fn kid(&self) -> &str {
        self.public.kid()
    }

    /// Returns the half that everybody may know.
    pub fn public_key(&self) -> &PublicKey {
        &self.public
    }

    /// Writes the private key as PKCS #8, to be kept secret.
    pub fn to_pem(&self) -> Result<String, Error> {
        let failed = |_| Error::Crypto;
        let write = |der: &[u8]| pem::write("PRIVATE KEY", der);
        Ok(match &self.key {
            PrivateKey::Es256(key) => write(key.to_pkcs8v1().map_err(failed)?.as_ref()),
            PrivateKey::EdDsa(key) => write(key.to_pkcs8v1().map_err(failed)?.as_ref()),
            PrivateKey::Rs256(key) => {
                let der: Pkcs8V1Der<'_> = key.as_der().map_err(failed)?;
                write(der.as_ref())
            }
        })
    }

    /// Returns the protected header of this key's signatures.
    pub(super) fn header(&self) -> String {
        json::write_with(|writer| {
            writer.object(|object| {
                object.member("alg", self.algorithm().as_str());
                object.member("kid", self.kid());
                object.member("typ", "JOSE");
                object.optional("jku", self.jku.as_ref());
            });
        })
    }

    /// Signs bytes of any meaning, such as the first two parts of a token.
    pub fn sign_bytes(&self, message: &[u8]) -> Result<Vec<u8>, Error> {
        let random = SystemRandom::new();
        let failed = |_| Error::Crypto;
        match &self.key {
            PrivateKey::Es256(key) => {
                Ok(key.sign(&random, message).map_err(failed)?.as_ref().to_vec())
            }
            PrivateKey::EdDsa(key) => Ok(key.try_sign(message).map_err(failed)?.as_ref().to_vec()),
            PrivateKey::Rs256(key) => {
                let mut signature = vec![0; key.public_modulus_len()];
                key.sign(&RSA_PKCS1_SHA256, &random, message, &mut signature).map_err(failed)?;
                Ok(signature)
            }
        }
    }
}

impl fmt::Debug for Signer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The private half stays out.
        f.debug_struct("Signer")
            .field("public", &self.public)
            .field("jku", &self.jku)
            .finish_non_exhaustive()
    }
}

impl PrivateKey {
    /// Puts an RSA or elliptic key together from the numbers of a JWK, if they belong together.
    pub(super) fn from_jwk(jwk: &Jwk) -> Option<Self> {
        let secret = |member: &Option<String>| decode(member.as_deref()?);
        match jwk.material()? {
            Material::P256 { x, y } => {
                let curve = &ECDSA_P256_SHA256_FIXED_SIGNING;
                let (secret, point) = (secret(&jwk.d)?, [&[4], &x[..], &y[..]].concat());
                let key = EcdsaKeyPair::from_private_key_and_public_key(curve, &secret, &point);
                key.map(Self::Es256).ok()
            }
            Material::P384 { .. } => None,
            Material::Ed25519 { x } => {
                let key = Ed25519KeyPair::from_seed_and_public_key(&secret(&jwk.d)?, &x);
                key.map(Self::EdDsa).ok()
            }
            Material::Rsa { n, e } => {
                let components = KeyPairComponents {
                    public_key: RsaPublicKeyComponents { n, e },
                    d: secret(&jwk.d)?,
                    p: secret(&jwk.p)?,
                    q: secret(&jwk.q)?,
                    dP: secret(&jwk.dp)?,
                    dQ: secret(&jwk.dq)?,
                    qInv: secret(&jwk.qi)?,
                };
                RsaKeyPair::from_components(&components).map(Self::Rs256).ok()
            }
        }
    }

    fn public(&self) -> Option<Material> {
        Some(match self {
            Self::Es256(key) => {
                let (x, y) = key.public_key().as_ref().strip_prefix(&[4])?.split_at_checked(32)?;
                Material::P256 { x: x.try_into().ok()?, y: y.try_into().ok()? }
            }
            Self::EdDsa(key) => Material::Ed25519 { x: key.public_key().as_ref().try_into().ok()? },
            Self::Rs256(key) => {
                let RsaPublicKeyComponents { n, e } = key.public_key().into();
                Material::Rsa { n, e }
            }
        })
    }
}
