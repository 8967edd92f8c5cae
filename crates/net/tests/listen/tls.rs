//! TLS, with and without certificates of clients.

use std::sync::Arc;

use http::Version;
use nuncio_net::listen::{BodyLimits, ClientAuth, Limits, Tls, TlsError};
use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, ExtendedKeyUsagePurpose, IsCa, KeyPair,
    SanType,
};
use rustls::{
    ClientConfig, RootCertStore,
    crypto::aws_lc_rs,
    pki_types::{PrivateKeyDer, ServerName},
};
use tokio::{net::TcpStream, time::Instant};
use tokio_rustls::TlsConnector;

use crate::support::{Client, Server};

struct Issuer(CertifiedIssuer<'static, KeyPair>);

struct Identity {
    certificate: rcgen::Certificate,
    key: KeyPair,
}

impl Issuer {
    fn new() -> Self {
        let mut params = CertificateParams::new([]).expect("no names to be wrong");
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().expect("a key");
        Self(CertifiedIssuer::self_signed(params, key).expect("a certificate"))
    }

    fn server(&self) -> Identity {
        self.issue("localhost", ExtendedKeyUsagePurpose::ServerAuth)
    }

    fn client(&self) -> Identity {
        self.issue("agent.example", ExtendedKeyUsagePurpose::ClientAuth)
    }

    fn issue(&self, name: &str, usage: ExtendedKeyUsagePurpose) -> Identity {
        let key = KeyPair::generate().expect("a key");
        let mut params = CertificateParams::new([name.to_owned()]).expect("a name");
        params.extended_key_usages = vec![usage];
        let uri = "spiffe://example/agent".try_into().expect("a URI");
        params.subject_alt_names.push(SanType::URI(uri));
        let certificate = params.signed_by(&key, &self.0).expect("a certificate");
        Identity { certificate, key }
    }
}

impl Identity {
    fn tls(&self) -> Tls {
        let (chain, key) = (self.certificate.pem(), self.key.serialize_pem());
        Tls::from_pem(chain.as_bytes(), key.as_bytes()).expect("a pair")
    }
}

async fn serve(tls: Tls) -> Server {
    Server::with(Limits::default(), BodyLimits::default(), Some(tls)).await
}

/// Asks for a path with these protocols on offer, and returns version and body.
async fn ask(
    server: &Server,
    issuer: &Issuer,
    identity: Option<&Identity>,
    protocols: &[&[u8]],
) -> Result<(Version, String), Box<dyn std::error::Error>> {
    let mut roots = RootCertStore::empty();
    roots.add(issuer.0.der().clone())?;
    let builder = ClientConfig::builder_with_provider(Arc::new(aws_lc_rs::default_provider()))
        .with_safe_default_protocol_versions()?
        .with_root_certificates(roots);
    let mut config = match identity {
        None => builder.with_no_client_auth(),
        Some(Identity { certificate, key }) => {
            let key = PrivateKeyDer::try_from(key.serialize_der())?;
            builder.with_client_auth_cert(vec![certificate.der().clone()], key)?
        }
    };
    config.alpn_protocols = protocols.iter().map(|protocol| protocol.to_vec()).collect();
    let tcp = TcpStream::connect(server.address).await?;
    let name = ServerName::try_from("localhost")?;
    let stream = TlsConnector::from(Arc::new(config)).connect(name, tcp).await?;
    let is_http2 = stream.get_ref().1.alpn_protocol() == Some(b"h2");
    let mut client = Client::on(stream, is_http2).await?;
    Ok(client.get("/peer").await?)
}

#[tokio::test]
async fn the_client_chooses_the_version() {
    let issuer = Issuer::new();
    let server = serve(issuer.server().tls()).await;
    for (protocols, expected) in [
        (&[&b"h2"[..], b"http/1.1"][..], Version::HTTP_2),
        (&[b"http/1.1"], Version::HTTP_11),
        (&[], Version::HTTP_11),
    ] {
        let (version, peer) = ask(&server, &issuer, None, protocols).await.unwrap();
        assert_eq!(version, expected);
        assert!(peer.ends_with(" true None"), "{peer}");
    }
}

#[tokio::test]
async fn a_required_certificate_is_required() {
    let (issuer, other) = (Issuer::new(), Issuer::new());
    let roots = issuer.0.pem();
    let tls = issuer.server().tls().client_roots(roots.as_bytes(), ClientAuth::Required).unwrap();
    let server = serve(tls).await;
    assert!(ask(&server, &issuer, None, &[b"h2"]).await.is_err());
    assert!(ask(&server, &issuer, Some(&other.client()), &[b"h2"]).await.is_err());
    // A certificate for servers is none for clients.
    assert!(ask(&server, &issuer, Some(&issuer.server()), &[b"h2"]).await.is_err());

    let client = issuer.client();
    let (_, peer) = ask(&server, &issuer, Some(&client), &[b"h2"]).await.unwrap();
    let length = client.certificate.der().len();
    let expected = format!(" true Some(\"agent.example spiffe://example/agent {length}\")");
    assert!(peer.ends_with(&expected), "{peer}");
}

#[tokio::test]
async fn an_optional_certificate_is_still_verified() {
    let (issuer, other) = (Issuer::new(), Issuer::new());
    let roots = issuer.0.pem();
    let tls = issuer.server().tls().client_roots(roots.as_bytes(), ClientAuth::Optional).unwrap();
    let server = serve(tls).await;
    let (_, peer) = ask(&server, &issuer, None, &[]).await.unwrap();
    assert!(peer.ends_with(" true None"), "{peer}");
    let (_, peer) = ask(&server, &issuer, Some(&issuer.client()), &[]).await.unwrap();
    assert!(peer.contains("spiffe://example/agent"), "{peer}");
    assert!(ask(&server, &issuer, Some(&other.client()), &[]).await.is_err());
}

#[tokio::test(start_paused = true)]
async fn a_handshake_that_is_not_finished_in_time_closes_the_connection() {
    let server = serve(Issuer::new().server().tls()).await;
    let mut raw = server.raw().await;
    let start = Instant::now();
    assert_eq!(raw.rest().await, "");
    assert_eq!(start.elapsed().as_secs(), 10);
}

#[tokio::test]
async fn a_client_without_tls_gets_nothing() {
    let server = serve(Issuer::new().server().tls()).await;
    let mut raw = server.raw().await;
    raw.send("GET / HTTP/1.1\r\nhost: test\r\n\r\n").await;
    assert!(!raw.rest().await.contains("HTTP/1.1"));
}

#[test]
fn what_is_wrong_with_certificates_is_named() {
    let issuer = Issuer::new();
    let (one, other) = (issuer.server(), issuer.server());
    let (chain, key) = (one.certificate.pem(), one.key.serialize_pem());
    let pair = |chain: &str, key: &str| Tls::from_pem(chain.as_bytes(), key.as_bytes());
    assert!(matches!(pair("", &key), Err(TlsError::Chain(_))));
    assert!(matches!(pair(&chain, &chain), Err(TlsError::Key(_))));
    assert!(matches!(pair(&chain, &other.key.serialize_pem()), Err(TlsError::Pair(_))));
    let roots = pair(&chain, &key).unwrap().client_roots(b"", ClientAuth::Required);
    assert!(matches!(roots, Err(TlsError::Roots(_))));
    let missing = Tls::from_files("missing.pem".as_ref(), "key.pem".as_ref()).unwrap_err();
    assert_eq!(missing.to_string(), "read `missing.pem`");
}
