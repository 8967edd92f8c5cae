//! TLS: the host must prove to be the one that the URL names. No test installs a crypto
//! provider for the process: the client brings its own.

use std::{
    net::SocketAddr,
    sync::{Arc, Mutex},
};

use bytes::Bytes;
use http::Version;
use http_body_util::Full;
use hyper::{body::Incoming, service::service_fn};
use hyper_util::rt::{TokioExecutor, TokioIo};
use nuncio_net::{Client, Error, Guard, Identity, Policy, Protocol, Request};
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use rustls::{
    RootCertStore, ServerConfig,
    crypto::aws_lc_rs,
    pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject as _},
    server::WebPkiClientVerifier,
};
use tokio::{io::AsyncWriteExt as _, net::TcpListener};
use tokio_rustls::TlsAcceptor;

use crate::support::{ADMINISTRATOR, PUBLIC, Recorder, Script, checked};

struct Issuer(CertifiedIssuer<'static, KeyPair>);

impl Issuer {
    fn new() -> Self {
        let mut params = CertificateParams::new([]).expect("no names to be wrong");
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().expect("a key");
        Self(CertifiedIssuer::self_signed(params, key).expect("a certificate"))
    }

    /// A certificate of this name and its key, in PEM.
    fn identity(&self, name: &str) -> (String, String) {
        let key = KeyPair::generate().expect("a key");
        let params = CertificateParams::new([name.to_owned()]).expect("a name");
        let certificate = params.signed_by(&key, &self.0).expect("a certificate");
        (certificate.pem(), key.serialize_pem())
    }

    /// The same as [`Issuer::config`], for callers whom this issuer knows.
    fn strict_config(&self, name: &str) -> ServerConfig {
        let mut roots = RootCertStore::empty();
        roots.add(self.0.der().clone()).expect("a root");
        let provider = Arc::new(aws_lc_rs::default_provider());
        let verifier = WebPkiClientVerifier::builder_with_provider(roots.into(), provider);
        let (chain, key) = self.identity(name);
        let chain = CertificateDer::pem_slice_iter(chain.as_bytes()).collect::<Result<_, _>>();
        let key = PrivateKeyDer::from_pem_slice(key.as_bytes()).expect("a key");
        let provider = Arc::new(aws_lc_rs::default_provider());
        let mut config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .expect("versions")
            .with_client_cert_verifier(verifier.build().expect("a root"))
            .with_single_cert(chain.expect("a chain"), key)
            .expect("a certificate and its key");
        config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        config
    }

    fn config(&self, name: &str, protocols: &[&[u8]]) -> ServerConfig {
        let key = KeyPair::generate().expect("a key");
        let params = CertificateParams::new([name.to_owned()]).expect("a name");
        let certificate = params.signed_by(&key, &self.0).expect("a certificate");
        let key = PrivateKeyDer::try_from(key.serialize_der()).expect("a key");
        let provider = Arc::new(aws_lc_rs::default_provider());
        let mut config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .expect("versions")
            .with_no_client_auth()
            .with_single_cert(vec![certificate.der().clone()], key)
            .expect("a certificate and its key");
        config.alpn_protocols = protocols.iter().map(|protocol| protocol.to_vec()).collect();
        config
    }
}

/// A server that writes down the names it was asked for, and answers in HTTP/1.1 or 2.
struct Server {
    address: SocketAddr,
    names: Arc<Mutex<Vec<Option<String>>>>,
}

impl Server {
    async fn start(config: ServerConfig) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let address = listener.local_addr().expect("a bound address");
        let server = Self { address, names: Arc::default() };
        let names = Arc::clone(&server.names);
        let acceptor = TlsAcceptor::from(Arc::new(config));
        tokio::spawn(async move {
            while let Ok((tcp, _)) = listener.accept().await {
                let Ok(stream) = acceptor.accept(tcp).await else { continue };
                let session = stream.get_ref().1;
                names.lock().expect("not poisoned").push(session.server_name().map(str::to_owned));
                let is_http2 = session.alpn_protocol() == Some(b"h2");
                tokio::spawn(serve(TokioIo::new(stream), is_http2));
            }
        });
        server
    }

    fn names(&self) -> Vec<Option<String>> {
        self.names.lock().expect("not poisoned").clone()
    }
}

async fn serve(
    io: TokioIo<tokio_rustls::server::TlsStream<tokio::net::TcpStream>>,
    is_http2: bool,
) {
    let service = service_fn(async |_: http::Request<Incoming>| {
        Ok::<_, std::convert::Infallible>(http::Response::new(Full::<Bytes>::from("secure")))
    });
    // A client that goes away is no failure of the server.
    let _ = if is_http2 {
        hyper::server::conn::http2::Builder::new(TokioExecutor::new())
            .serve_connection(io, service)
            .await
    } else {
        hyper::server::conn::http1::Builder::new().serve_connection(io, service).await
    };
}

/// A client that trusts an issuer, and for which every name leads to the server.
fn client(issuer: &Issuer, server: &Server) -> Client {
    let guard = Guard::new(Policy::default()).resolver(Script::new(&[&[PUBLIC]]));
    let dialer = Recorder::leading_to(server.address);
    Client::builder(guard).dialer(dialer).extra_roots(issuer.0.pem()).build().expect("a root")
}

async fn get(client: &Client, text: &str) -> Result<(Version, String), Error> {
    let answer = client.send(Request::get(&checked(client.guard(), text))).await?;
    let version = answer.version();
    Ok((version, String::from_utf8_lossy(&answer.collect(100).await?).into_owned()))
}

#[tokio::test]
async fn the_named_host_is_believed_and_asked_for_by_name() {
    let issuer = Issuer::new();
    for (protocols, version) in [
        (&[&b"h2"[..], b"http/1.1"][..], Version::HTTP_2),
        (&[b"http/1.1"], Version::HTTP_11),
        (&[], Version::HTTP_11),
    ] {
        let server = Server::start(issuer.config("agent.example", protocols)).await;
        let client = client(&issuer, &server);
        let answer = get(&client, "https://agent.example./").await.unwrap();
        assert_eq!(answer, (version, "secure".to_owned()));
        assert_eq!(server.names(), [Some("agent.example".to_owned())]);
    }
}

#[tokio::test]
async fn an_address_is_believed_if_the_certificate_names_it() {
    let issuer = Issuer::new();
    let server = Server::start(issuer.config("2606:4700::1", &[])).await;
    let client = client(&issuer, &server);
    assert!(get(&client, "https://[2606:4700::1]/").await.is_ok());
    assert_eq!(server.names(), [None]);
}

#[tokio::test]
async fn another_host_is_not_believed() {
    let issuer = Issuer::new();
    let server = Server::start(issuer.config("other.example", &[])).await;
    for url in ["https://agent.example/", "https://93.184.216.34/", "https://a.other.example/"] {
        let error = get(&client(&issuer, &server), url).await.unwrap_err();
        assert!(matches!(error, Error::Tls { .. }) && error.is_unsent(), "{error}");
    }
}

#[tokio::test]
async fn an_unknown_issuer_is_not_believed() {
    let server = Server::start(Issuer::new().config("agent.example", &[])).await;
    let error = get(&client(&Issuer::new(), &server), "https://agent.example/").await.unwrap_err();
    assert!(matches!(error, Error::Tls { .. }) && error.is_unsent(), "{error}");
}

#[tokio::test]
async fn whoever_accepts_any_certificate_believes_anybody() {
    let server = Server::start(Issuer::new().config("other.example", &[])).await;
    let guard = Guard::new(Policy::default()).resolver(Script::new(&[&[PUBLIC]]));
    let dialer = Recorder::leading_to(server.address);
    let builder = Client::builder(guard).dialer(dialer).dangerously_accept_any_certificate();
    let client = builder.build().expect("no roots to be wrong");
    assert!(get(&client, "https://agent.example/").await.is_ok());
}

#[tokio::test]
async fn a_server_without_tls_is_not_believed() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let serve = async {
        let (mut stream, _) = listener.accept().await.unwrap();
        stream.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n").await.unwrap();
        stream
    };
    let client = client(&Issuer::new(), &Server { address, names: Arc::default() });
    let (outcome, _stream) = tokio::join!(get(&client, "https://agent.example/"), serve);
    let error = outcome.unwrap_err();
    assert!(matches!(error, Error::Tls { .. }) && error.is_unsent(), "{error}");
}

#[tokio::test]
async fn an_identity_is_shown_at_its_origin_on_its_errand_and_nowhere_else() {
    let issuer = Issuer::new();
    let server = Server::start(issuer.strict_config("agent.example")).await;
    let client = client(&issuer, &server);
    let url = checked(client.guard(), "https://agent.example/");
    assert!(client.send(Request::get(&url)).await.is_err());
    let (chain, key) = issuer.identity("us");
    client.identify(&url, Identity::from_pem(chain.as_bytes(), key.as_bytes()).unwrap());
    for protocol in [Protocol::Any, Protocol::Http2] {
        let answer = client.send(Request::get(&url).protocol(protocol)).await.unwrap();
        assert_eq!(answer.version(), Version::HTTP_2);
    }
    let other = client.guard().check_url("https://agent.example/", ADMINISTRATOR).unwrap();
    assert!(client.send(Request::get(&other)).await.is_err());
    let other = checked(client.guard(), "https://agent.example:8443/");
    assert!(client.send(Request::get(&other)).await.is_err());
}

#[test]
fn an_identity_is_a_chain_and_its_own_key() {
    let (issuer, other) = (Issuer::new(), Issuer::new());
    let ((chain, key), (_, other_key)) = (issuer.identity("us"), other.identity("us"));
    assert!(Identity::from_pem(chain.as_bytes(), key.as_bytes()).is_ok());
    for (chain, key) in [("", key.as_str()), (&chain, ""), (&chain, &other_key), (&key, &key)] {
        assert!(Identity::from_pem(chain.as_bytes(), key.as_bytes()).is_err());
    }
}

#[test]
fn extra_roots_are_certificates() {
    let garbled = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
    for bad in ["", "not a certificate", garbled] {
        let builder = Client::builder(Guard::new(Policy::default())).extra_roots(bad);
        assert!(builder.build().is_err(), "{bad}");
    }
}
