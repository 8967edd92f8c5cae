//! Connections that are encrypted.

use nuncio_store::postgres::{Error, Options, PostgresStore};
use nuncio_testkit::services::{Postgres, postgres::Database};
use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};

use crate::postgres::story::{eventually, new};

/// An authority, and the certificate and key of a server on loopback.
struct Certificates {
    authority: String,
    server: String,
    key: String,
}

fn certificates() -> Certificates {
    let mut authority = CertificateParams::new(Vec::new()).expect("no names");
    authority.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let key = KeyPair::generate().expect("a key");
    let certificate = authority.self_signed(&key).expect("a certificate");
    let issuer = Issuer::new(authority, key);
    let server_key = KeyPair::generate().expect("a key");
    let server = CertificateParams::new(vec!["127.0.0.1".to_owned()]).expect("an address");
    let server = server.signed_by(&server_key, &issuer).expect("a certificate");
    Certificates {
        authority: certificate.pem(),
        server: server.pem(),
        key: server_key.serialize_pem(),
    }
}

/// Has the server write its own files, as the user that it runs as.
async fn switch_on(database: &Database, certificates: &Certificates) {
    let directory = database.query("SHOW data_directory").await.trim().to_owned();
    for (name, text) in [("tls.crt", &certificates.server), ("tls.key", &certificates.key)] {
        let path = format!("{directory}/{name}");
        let text = text.trim().replace('\n', "|");
        let write = format!("umask 077; tr \"|\" \"\\n\" > {path}");
        database.query(&format!("COPY (SELECT '{text}') TO PROGRAM '{write}'")).await;
        let setting = if name == "tls.crt" { "ssl_cert_file" } else { "ssl_key_file" };
        database.query(&format!("ALTER SYSTEM SET {setting} = '{path}'")).await;
    }
    database.query("ALTER SYSTEM SET ssl = on").await;
    database.query("SELECT pg_reload_conf()").await;
    eventually("TLS is on", async || {
        (database.query("SHOW ssl").await.trim() == "on").then_some(())
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_must_prove_who_it_is() {
    let Some(postgres) = Postgres::start().await else { return };
    let database = postgres.database().await;
    let secure = format!("{}?sslmode=require", database.url());
    let certificates = certificates();
    let known = Options::new(&secure).root_certificates(certificates.authority.as_bytes());

    let opened = PostgresStore::open(&known).await;
    assert!(matches!(opened, Err(Error::Database(_))), "there is no TLS yet: {opened:?}");

    switch_on(&database, &certificates).await;
    let store = PostgresStore::open(&known).await.expect("the store opens");
    new(&store).await;
    let count = database.query("SELECT count(*) FROM pg_stat_ssl WHERE ssl").await;
    assert_ne!(count.trim(), "0");

    let other = self::certificates().authority;
    let unknown = Options::new(&secure).root_certificates(other.as_bytes());
    let opened = PostgresStore::open(&unknown).await;
    assert!(matches!(opened, Err(Error::Database(_))), "found {opened:?}");
    let opened = PostgresStore::open(&Options::new(&secure)).await;
    assert!(opened.is_err(), "the system knows no such authority");
}
