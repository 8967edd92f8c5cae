//! Proving who we are, and asking who calls.

use std::{fmt, fs, io, path::Path, sync::Arc};

use rustls::{
    RootCertStore, ServerConfig,
    crypto::aws_lc_rs,
    pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject as _},
    server::WebPkiClientVerifier,
};
use tokio_rustls::TlsAcceptor;

/// The server's certificate and key, and which client certificates are asked for.
///
/// TLS 1.2 and 1.3; `h2` and `http/1.1` are offered to the client.
#[derive(Clone)]
pub struct Tls {
    chain: Vec<CertificateDer<'static>>,
    key: Arc<PrivateKeyDer<'static>>,
    config: Arc<ServerConfig>,
}

/// Whether a client must have a certificate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ClientAuth {
    /// A client without one is refused in the handshake.
    Required,
    /// A client without one gets in; one with a certificate that no root vouches for does not.
    Optional,
}

/// Why TLS cannot be set up.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TlsError {
    /// A file cannot be read.
    #[error("read `{path}`")]
    File {
        /// The file.
        path: String,
        /// What the system said.
        source: io::Error,
    },
    /// The server's certificates are not certificates in PEM.
    #[error("the certificate chain is not a list of certificates in PEM")]
    Chain(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// The server's key is not a key in PEM.
    #[error("the key is not a private key in PEM")]
    Key(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// Key and certificate do not belong together, or are of a kind that is not supported.
    #[error("the key and the certificate do not go together")]
    Pair(#[source] rustls::Error),
    /// The roots for client certificates are not certificates in PEM.
    #[error("the roots for client certificates are not certificates in PEM")]
    Roots(#[source] Box<dyn std::error::Error + Send + Sync>),
}

impl Tls {
    /// Takes the server's certificate, followed by those between it and its root, and the
    /// server's key, all in PEM.
    pub fn from_pem(chain: &[u8], key: &[u8]) -> Result<Self, TlsError> {
        let chain = read_certificates(chain).map_err(TlsError::Chain)?;
        let key =
            PrivateKeyDer::from_pem_slice(key).map_err(|error| TlsError::Key(error.into()))?;
        let config = config(&chain, &key, None)?;
        Ok(Self { chain, key: Arc::new(key), config: Arc::new(config) })
    }

    /// Reads chain and key from files.
    pub fn from_files(chain: &Path, key: &Path) -> Result<Self, TlsError> {
        let read = |path: &Path| {
            fs::read(path)
                .map_err(|source| TlsError::File { path: path.display().to_string(), source })
        };
        Self::from_pem(&read(chain)?, &read(key)?)
    }

    /// Asks clients for certificates that one of these roots, in PEM, vouches for.
    pub fn client_roots(mut self, pem: &[u8], auth: ClientAuth) -> Result<Self, TlsError> {
        let mut roots = RootCertStore::empty();
        for root in read_certificates(pem).map_err(TlsError::Roots)? {
            roots.add(root).map_err(|error| TlsError::Roots(error.into()))?;
        }
        self.config = Arc::new(config(&self.chain, &self.key, Some((roots, auth)))?);
        Ok(self)
    }

    pub(super) fn acceptor(&self) -> TlsAcceptor {
        TlsAcceptor::from(Arc::clone(&self.config))
    }
}

impl fmt::Debug for Tls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Tls").field("certificates", &self.chain.len()).finish_non_exhaustive()
    }
}

fn config(
    chain: &[CertificateDer<'static>],
    key: &PrivateKeyDer<'static>,
    clients: Option<(RootCertStore, ClientAuth)>,
) -> Result<ServerConfig, TlsError> {
    // Named here because the process default is anybody's to set, or missing.
    let provider = Arc::new(aws_lc_rs::default_provider());
    let builder = ServerConfig::builder_with_provider(Arc::clone(&provider))
        .with_safe_default_protocol_versions()
        .map_err(TlsError::Pair)?;
    let builder = match clients {
        None => builder.with_no_client_auth(),
        Some((roots, auth)) => {
            let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider);
            let verifier = match auth {
                ClientAuth::Required => verifier,
                ClientAuth::Optional => verifier.allow_unauthenticated(),
            };
            let verifier = verifier.build().map_err(|error| TlsError::Roots(error.into()))?;
            builder.with_client_cert_verifier(verifier)
        }
    };
    let mut config =
        builder.with_single_cert(chain.to_vec(), key.clone_key()).map_err(TlsError::Pair)?;
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Ok(config)
}

fn read_certificates(
    pem: &[u8],
) -> Result<Vec<CertificateDer<'static>>, Box<dyn std::error::Error + Send + Sync>> {
    let certificates = CertificateDer::pem_slice_iter(pem).collect::<Result<Vec<_>, _>>()?;
    if certificates.is_empty() {
        return Err("no certificate in it".into());
    }
    Ok(certificates)
}
