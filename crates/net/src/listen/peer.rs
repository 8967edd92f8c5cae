//! Who is at the other end of a connection.

use std::{fmt, net::SocketAddr, sync::Arc};

use aws_lc_rs::digest::{SHA256, digest};
use rustls::pki_types::CertificateDer;
use webpki::EndEntityCert;

use super::watch::Watch;

/// The other end of the connection that a request came over. Every request has it among its
/// extensions. Cheap to clone.
#[derive(Clone)]
pub struct Peer {
    connection: Arc<Connection>,
}

pub(super) struct Connection {
    pub(super) address: SocketAddr,
    pub(super) is_tls: bool,
    pub(super) certificate: Option<ClientCertificate>,
    pub(super) watch: Arc<Watch>,
}

impl Peer {
    pub(super) fn new(connection: Connection) -> Self {
        Self { connection: Arc::new(connection) }
    }

    pub(super) fn watch(&self) -> &Arc<Watch> {
        &self.connection.watch
    }

    /// Returns the address that connected. Behind a proxy, the proxy's.
    pub fn address(&self) -> SocketAddr {
        self.connection.address
    }

    /// Returns whether nobody in between can listen.
    pub fn is_tls(&self) -> bool {
        self.connection.is_tls
    }

    /// Returns the certificate that the peer proved to hold, if it was asked for one. One of
    /// the configured roots vouches for it.
    pub fn certificate(&self) -> Option<&ClientCertificate> {
        self.connection.certificate.as_ref()
    }

    /// Closes the connection, with every request that is on it.
    ///
    /// For peers that keep a connection busy and take nothing, such as an HTTP/2 stream whose
    /// window stays shut.
    pub fn close(&self) {
        self.connection.watch.close();
    }
}

impl fmt::Debug for Peer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Peer")
            .field("address", &self.connection.address)
            .field("is_tls", &self.connection.is_tls)
            .field("certificate", &self.connection.certificate)
            .finish_non_exhaustive()
    }
}

/// A certificate whose key the peer has, and for which a configured root vouches.
///
/// Names are those of the extension for alternative names; the common name of the subject,
/// which no verifier checks any more, is not among them.
#[derive(Clone, PartialEq, Eq)]
pub struct ClientCertificate {
    der: CertificateDer<'static>,
    dns_names: Vec<String>,
    uris: Vec<String>,
    fingerprint: [u8; 32],
}

impl ClientCertificate {
    /// Reads the names of a verified certificate.
    pub(super) fn read(der: &CertificateDer<'_>) -> Result<Self, webpki::Error> {
        let certificate = EndEntityCert::try_from(der)?;
        let mut fingerprint = [0; 32];
        fingerprint.copy_from_slice(digest(&SHA256, der).as_ref());
        Ok(Self {
            dns_names: certificate.valid_dns_names().map(str::to_owned).collect(),
            uris: certificate.valid_uri_names().map(str::to_owned).collect(),
            fingerprint,
            der: der.clone().into_owned(),
        })
    }

    /// Returns the certificate as it was sent.
    pub fn der(&self) -> &[u8] {
        &self.der
    }

    /// Returns the DNS names that it is good for, wildcards included.
    pub fn dns_names(&self) -> &[String] {
        &self.dns_names
    }

    /// Returns the URIs that it is good for, such as SPIFFE ids.
    pub fn uris(&self) -> &[String] {
        &self.uris
    }

    /// Returns the SHA-256 hash of the certificate, as RFC 8705 binds tokens to it.
    pub fn fingerprint_sha256(&self) -> [u8; 32] {
        self.fingerprint
    }
}

impl fmt::Debug for ClientCertificate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ClientCertificate")
            .field("dns_names", &self.dns_names)
            .field("uris", &self.uris)
            .finish_non_exhaustive()
    }
}
