//! Whom to believe, and whom to be.

use std::{
    io,
    sync::{Arc, Mutex, OnceLock, PoisonError},
};

use rustls::{
    ClientConfig, DigitallySignedStruct, SignatureScheme,
    client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier},
    crypto::{CryptoProvider, aws_lc_rs, verify_tls12_signature, verify_tls13_signature},
    pki_types::{CertificateDer, ServerName, UnixTime, pem::PemObject as _},
    sign::SingleCertAndKey,
};
use rustls_platform_verifier::Verifier;
use tokio::net::TcpStream;
use tokio_rustls::{TlsConnector, client::TlsStream};

use super::{Identity, Protocol};
use crate::egress::{CheckedUrl, Errand};

/// Secures connections. Certificates are verified as the platform does.
///
/// A machine without any root certificate can still make calls over http, so having none
/// fails the https calls and not the client.
///
/// The roots are read when they are first needed: that takes longer than a whole program takes
/// to start.
pub(super) struct Tls {
    roots: Vec<CertificateDer<'static>>,
    /// Whether any certificate will do.
    believes_anybody: bool,
    verifier: OnceLock<Result<Arc<dyn ServerCertVerifier>, rustls::Error>>,
    /// Who we are to nobody in particular, for each protocol.
    strangers: [OnceLock<Result<TlsConnector, rustls::Error>>; 2],
    /// Who we are at some origins. Few, and looked at only when a connection is opened.
    identities: Mutex<Vec<(Origin, Identity)>>,
}

/// Where an identity is shown, and for what.
#[derive(Debug, PartialEq, Eq)]
struct Origin {
    host: String,
    port: u16,
    errand: Errand,
}

/// An extra root is not a certificate in PEM.
#[derive(Debug, thiserror::Error)]
#[error("an extra root is not a certificate in PEM")]
pub struct InvalidRoots(#[source] Box<dyn std::error::Error + Send + Sync>);

impl Tls {
    pub(super) fn new(roots: Vec<CertificateDer<'static>>) -> Self {
        Self {
            roots,
            believes_anybody: false,
            verifier: OnceLock::new(),
            strangers: Default::default(),
            identities: Mutex::default(),
        }
    }

    /// Accepts any certificate from now on.
    pub(super) fn believe_anybody(mut self) -> Self {
        self.believes_anybody = true;
        self
    }

    /// Shows an identity at the origin of a URL from now on, on its errand.
    pub(super) fn identify(&self, url: &CheckedUrl, identity: Identity) {
        let origin = Origin::of(url);
        let mut identities = self.identities.lock().unwrap_or_else(PoisonError::into_inner);
        identities.retain(|(known, _)| *known != origin);
        identities.push((origin, identity));
    }

    /// Shakes hands with a server that must prove to be the host of the URL.
    pub(super) async fn secure(
        &self,
        url: &CheckedUrl,
        protocol: Protocol,
        tcp: TcpStream,
    ) -> io::Result<TlsStream<TcpStream>> {
        let connector = self.connector(url, protocol).map_err(io::Error::other)?;
        let host = url.host_text();
        let address = host.strip_prefix('[').and_then(|host| host.strip_suffix(']'));
        let name = ServerName::try_from(address.unwrap_or(host)).map_err(io::Error::other)?;
        connector.connect(name.to_owned(), tcp).await
    }

    fn connector(
        &self,
        url: &CheckedUrl,
        protocol: Protocol,
    ) -> Result<TlsConnector, rustls::Error> {
        let origin = Origin::of(url);
        let identity = {
            let identities = self.identities.lock().unwrap_or_else(PoisonError::into_inner);
            let found = identities.iter().find(|(known, _)| *known == origin);
            found.map(|(_, identity)| identity.clone())
        };
        if identity.is_some() {
            // Made anew for each connection: sessions are then never resumed under another
            // identity.
            return self.config(protocol, identity);
        }
        let stranger = &self.strangers[protocol as usize];
        stranger.get_or_init(|| self.config(protocol, None)).clone()
    }

    fn config(
        &self,
        protocol: Protocol,
        identity: Option<Identity>,
    ) -> Result<TlsConnector, rustls::Error> {
        // Named here because the process default is anybody's to set, or missing.
        let provider = Arc::new(aws_lc_rs::default_provider());
        let verifier = self.verifier.get_or_init(|| {
            let provider = Arc::clone(&provider);
            if self.believes_anybody {
                return Ok(Arc::new(Anybody(provider)));
            }
            let verifier = Verifier::new_with_extra_roots(self.roots.clone(), provider)?;
            Ok(Arc::new(verifier))
        });
        let builder = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()?
            .dangerous()
            .with_custom_certificate_verifier(verifier.clone()?);
        let mut config = match identity {
            None => builder.with_no_client_auth(),
            Some(Identity(key)) => {
                builder.with_client_cert_resolver(Arc::new(SingleCertAndKey::from(key)))
            }
        };
        config.alpn_protocols = match protocol {
            Protocol::Any => vec![b"h2".to_vec(), b"http/1.1".to_vec()],
            Protocol::Http2 => vec![b"h2".to_vec()],
        };
        Ok(TlsConnector::from(Arc::new(config)))
    }
}

impl Origin {
    fn of(url: &CheckedUrl) -> Self {
        Self { host: url.host_text().to_owned(), port: url.port(), errand: url.errand() }
    }
}

/// Believes every certificate, but not that whoever shows it holds its key.
#[derive(Debug)]
struct Anybody(Arc<CryptoProvider>);

impl ServerCertVerifier for Anybody {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.0.signature_verification_algorithms;
        verify_tls12_signature(message, certificate, signature, algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.0.signature_verification_algorithms;
        verify_tls13_signature(message, certificate, signature, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
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
