//! Tokens of an authorization server (HG-08).

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use http::{HeaderMap, header::AUTHORIZATION};
use nuncio_client::{
    Credentials, Origin, Unavailable,
    credentials::{ClientSecretIn, OAuth2ClientCredentials},
};
use nuncio_net::{Errand, Purpose, Secret, Trust};
use tokio::sync::Barrier;

use crate::discovery::support::{Server, client, header, ok, pass, status};

const PEER: &str = "https://agent.example/a2a";

/// Gives `t1`, `t2` and so on, each for so many seconds.
async fn issuer(seconds: u64) -> Server {
    let count = AtomicUsize::new(1);
    Server::start(move |_| {
        let number = count.fetch_add(1, Ordering::SeqCst);
        ok(&format!(
            r#"{{"access_token":"t{number}","token_type":"Bearer","expires_in":{seconds}}}"#
        ))
    })
    .await
}

fn credentials(server: &Server) -> OAuth2ClientCredentials {
    OAuth2ClientCredentials::new(
        &client(),
        Origin::parse(PEER).expect("an origin"),
        (&server.url("/token"), Trust::Administrator),
        ("my client", Secret::new("sword:fish")),
    )
    .expect("a good endpoint")
}

async fn proof(credentials: &dyn Credentials, url: &str) -> Result<String, Unavailable> {
    let url = client().guard().check_url(url, Errand::caller(Purpose::Agent)).expect("a good URL");
    let mut headers = HeaderMap::new();
    credentials.prove(&url, &mut headers).await?;
    let value = headers.get(AUTHORIZATION).map(|value| value.to_str().expect("text").to_owned());
    Ok(value.unwrap_or_default())
}

#[tokio::test]
async fn a_token_is_fetched_once_for_any_number_of_requests() {
    let server = issuer(3600).await;
    let (credentials, barrier) = (credentials(&server), Arc::new(Barrier::new(50)));
    let requests: Vec<_> = (0..50)
        .map(|_| {
            let (credentials, barrier) = (credentials.clone(), Arc::clone(&barrier));
            tokio::spawn(async move {
                barrier.wait().await;
                proof(&credentials, PEER).await.map_err(|error| error.to_string())
            })
        })
        .collect();
    for request in requests {
        assert_eq!(request.await.unwrap().unwrap(), "Bearer t1");
    }
    assert_eq!(server.requests().len(), 1);
}

#[tokio::test]
async fn the_secret_goes_where_the_server_wants_it() {
    let server = issuer(3600).await;
    let scoped = credentials(&server).scopes(["a", "b"]).audience("agents");
    proof(&scoped, PEER).await.unwrap();
    proof(&scoped.secret_in(ClientSecretIn::Body), PEER).await.unwrap();
    let [in_header, in_body] = &server.requests()[..] else { panic!("two requests") };
    // `my+client:sword%3Afish`
    let expected = "Basic bXkrY2xpZW50OnN3b3JkJTNBZmlzaA==";
    assert_eq!(header(in_header, "authorization"), Some(expected));
    assert!(in_header.ends_with("grant_type=client_credentials&scope=a+b&audience=agents"));
    assert_eq!(header(in_body, "authorization"), None);
    assert!(in_body.ends_with("&client_id=my+client&client_secret=sword%3Afish"), "{in_body}");
}

#[tokio::test]
async fn a_token_goes_to_its_own_origin_only() {
    let server = issuer(3600).await;
    let credentials = credentials(&server);
    assert_eq!(proof(&credentials, "https://other.example/").await.unwrap(), "");
    assert_eq!(server.requests().len(), 0);
}

#[tokio::test]
async fn a_token_is_renewed_before_it_ends() {
    let server = issuer(100).await;
    let credentials = credentials(&server);
    assert_eq!(proof(&credentials, PEER).await.unwrap(), "Bearer t1");
    pass(Duration::from_secs(60)).await;
    assert_eq!(proof(&credentials, PEER).await.unwrap(), "Bearer t1");
    pass(Duration::from_secs(11)).await;
    assert_eq!(proof(&credentials, PEER).await.unwrap(), "Bearer t2");
}

#[tokio::test]
async fn a_refused_token_is_replaced_but_not_without_end() {
    let server = issuer(3600).await;
    let credentials = credentials(&server);
    assert!(!credentials.refused(), "there is none yet");
    proof(&credentials, PEER).await.unwrap();
    assert!(!credentials.refused(), "a new one would fare no better");
    pass(Duration::from_secs(11)).await;
    assert!(credentials.refused());
    assert_eq!(proof(&credentials, PEER).await.unwrap(), "Bearer t2");
    assert!(!credentials.refused());
}

#[tokio::test]
async fn what_went_wrong_is_told_without_secrets() {
    let answers = [
        (
            status("401 Unauthorized", r#"{"error":"invalid_client"}"#),
            "401 Unauthorized `invalid_client`",
        ),
        (status("500 Internal Server Error", "swordfish"), "answered 500"),
        (status("302 Found", ""), "answered 302"),
        (ok(r#"{"access_token":"swordfish","token_type":"mac"}"#), "no bearer token"),
        (ok(r#"{"token":"swordfish"}"#), "no bearer token"),
        (ok("swordfish"), "no bearer token"),
    ];
    for (answer, expected) in answers {
        let server = Server::start(move |_| answer.clone()).await;
        let credentials = credentials(&server);
        let error = proof(&credentials, PEER).await.unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
        let shown = format!("{error} {credentials:?}");
        assert!(!shown.contains("sword"), "{shown}");
    }
}
