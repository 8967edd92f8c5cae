//! Who we are to a server that asks for a certificate.

use std::{fmt, sync::Arc};

use rustls::{
    crypto::aws_lc_rs,
    pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject as _},
    sign::CertifiedKey,
};

/// A certificate and its private key, to show to servers that ask for one.
///
/// `Debug` shows nothing of it.
#[derive(Clone)]
pub struct Identity(pub(super) Arc<CertifiedKey>);

/// Certificate and key are not in PEM, or not of each other.
#[derive(Debug, thiserror::Error)]
#[error("an identity is not a chain of certificates and its key in PEM")]
pub struct InvalidIdentity(#[source] Box<dyn std::error::Error + Send + Sync>);

impl Identity {
    /// Reads a chain of certificates, our own first, and the private key, both in PEM.
    pub fn from_pem(chain: &[u8], key: &[u8]) -> Result<Self, InvalidIdentity> {
        let chain = CertificateDer::pem_slice_iter(chain)
            .collect::<Result<Vec<_>, _>>()
            .map_err(|error| InvalidIdentity(error.into()))?;
        if chain.is_empty() {
            return Err(InvalidIdentity("no certificate in it".into()));
        }
        let key =
            PrivateKeyDer::from_pem_slice(key).map_err(|error| InvalidIdentity(error.into()))?;
        let certified = CertifiedKey::from_der(chain, key, &aws_lc_rs::default_provider())
            .map_err(|error| InvalidIdentity(error.into()))?;
        Ok(Self(Arc::new(certified)))
    }
}

impl fmt::Debug for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Identity")
    }
}
