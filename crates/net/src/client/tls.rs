//! Whom to believe.

use std::{
    io,
    sync::{Arc, OnceLock},
};

use rustls::{
    ClientConfig,
    crypto::aws_lc_rs,
    pki_types::{CertificateDer, ServerName, pem::PemObject as _},
};
use rustls_platform_verifier::Verifier;
use tokio::net::TcpStream;
use tokio_rustls::{TlsConnector, client::TlsStream};

/// Secures connections. Certificates are verified as the platform does.
///
/// A machine without any root certificate can still make calls over http, so having none
/// fails the https calls and not the client.
///
/// The roots are read when they are first needed: that takes longer than a whole program takes
/// to start.
pub(super) struct Tls {
    roots: Vec<CertificateDer<'static>>,
    connector: OnceLock<Result<TlsConnector, rustls::Error>>,
}

/// An extra root is not a certificate in PEM.
#[derive(Debug, thiserror::Error)]
#[error("an extra root is not a certificate in PEM")]
pub struct InvalidRoots(#[source] Box<dyn std::error::Error + Send + Sync>);

impl Tls {
    pub(super) fn new(roots: Vec<CertificateDer<'static>>) -> Self {
        Self { roots, connector: OnceLock::new() }
    }

    fn connector(&self) -> Result<&TlsConnector, rustls::Error> {
        let connector = self.connector.get_or_init(|| {
            config(self.roots.clone()).map(|config| TlsConnector::from(Arc::new(config)))
        });
        connector.as_ref().map_err(Clone::clone)
    }

    /// Shakes hands with a server that must prove to be the host of the URL.
    pub(super) async fn secure(
        &self,
        host: &str,
        tcp: TcpStream,
    ) -> io::Result<TlsStream<TcpStream>> {
        let connector = self.connector().map_err(io::Error::other)?;
        let address = host.strip_prefix('[').and_then(|host| host.strip_suffix(']'));
        let name = ServerName::try_from(address.unwrap_or(host)).map_err(io::Error::other)?;
        connector.connect(name.to_owned(), tcp).await
    }
}

/// Reads the certificates of PEM files.
pub(super) fn read_roots(files: &[Vec<u8>]) -> Result<Vec<CertificateDer<'static>>, InvalidRoots> {
    let mut roots = Vec::new();
    for file in files {
        let before = roots.len();
        for certificate in CertificateDer::pem_slice_iter(file) {
            let certificate = certificate.map_err(|error| InvalidRoots(error.into()))?;
            rustls::RootCertStore::empty()
                .add(certificate.clone())
                .map_err(|error| InvalidRoots(error.into()))?;
            roots.push(certificate);
        }
        if roots.len() == before {
            return Err(InvalidRoots("no certificate in it".into()));
        }
    }
    Ok(roots)
}

fn config(roots: Vec<CertificateDer<'static>>) -> Result<ClientConfig, rustls::Error> {
    // Named here because the process default is anybody's to set, or missing.
    let provider = Arc::new(aws_lc_rs::default_provider());
    let verifier = Verifier::new_with_extra_roots(roots, Arc::clone(&provider))?;
    let mut config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()?
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(verifier))
        .with_no_client_auth();
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Ok(config)
}
