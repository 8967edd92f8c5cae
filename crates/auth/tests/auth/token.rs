//! Tokens of an issuer whose keys are known.

use std::time::Duration;

use aws_lc_rs::hmac;
use nuncio_auth::{Gatekeeper, GuessLimit, JwtIssuer, Refusal, Why};
use nuncio_protocol::{
    card::sign::{Algorithm, KeySet, Signer},
    json,
};
use serde_json::json;

use crate::support::{
    AUDIENCE, ISSUER, admit_token, assemble, claims, foreign_tokens, key_set, signer, token,
};

fn gatekeeper(keys: KeySet) -> Gatekeeper {
    let issuer = JwtIssuer::with_keys(ISSUER, AUDIENCE, keys);
    // These tests are about tokens and not about how many of them one may try.
    let limit = GuessLimit::new(10_000, Duration::from_secs(1));
    Gatekeeper::builder().jwt(issuer).guess_limit(limit).build().expect("a way in")
}

#[tokio::test]
async fn every_algorithm_is_taken_by_its_own_key_only() {
    let (mut tokens, keys) = foreign_tokens();
    let ours = [Algorithm::Es256, Algorithm::EdDsa]
        .map(|algorithm| Signer::generate(algorithm).unwrap().with_kid(algorithm.as_str()));
    tokens.extend(ours.iter().map(|signer| (signer.algorithm().as_str(), token(signer))));
    let keys = keys.iter().chain(ours.iter().map(Signer::public_key)).cloned().collect();
    let gatekeeper = gatekeeper(keys);
    for (alg, text) in &tokens {
        assert!(admit_token(&gatekeeper, text).await.is_ok(), "{alg}");
        for (other, _) in tokens.iter().filter(|(other, _)| other != alg) {
            let (_, rest) = text.split_once('.').unwrap();
            let header = json!({"alg": other, "kid": alg});
            let forged = assemble(&header, &json!({}), |_| Vec::new());
            let forged = format!("{}.{rest}", forged.split_once('.').unwrap().0);
            let refused = admit_token(&gatekeeper, &forged).await;
            assert_eq!(refused, Err(Why::Algorithm.into()), "{other} by the key for {alg}");
        }
    }
}

#[tokio::test]
async fn a_public_key_is_not_a_shared_secret() {
    let signer = signer("k1");
    let gatekeeper = gatekeeper(key_set(&[&signer]));
    let public = json::to_string(signer.public_key());
    for alg in ["HS256", "hs256", "ES256", "RS256"] {
        let header = json!({"alg": alg, "kid": "k1"});
        let forged = assemble(&header, &claims(), |signed| {
            let key = hmac::Key::new(hmac::HMAC_SHA256, public.as_bytes());
            hmac::sign(&key, signed).as_ref().to_vec()
        });
        let refused = admit_token(&gatekeeper, &forged).await;
        assert!(matches!(refused, Err(Refusal::Invalid { .. })), "{alg}");
    }
}

#[tokio::test]
async fn nothing_unsigned_is_taken() {
    let good = token(&signer("k1"));
    let (signed, signature) = good.rsplit_once('.').unwrap();
    let other = signer("k1");
    for text in [
        format!("{signed}."),
        format!("{signed}.AAAA"),
        format!("{signed}.{}", signature.chars().rev().collect::<String>()),
        assemble(&json!({"alg": "none"}), &claims(), |_| Vec::new()),
        assemble(&json!({"alg": "none", "kid": "k1"}), &claims(), |_| Vec::new()),
        good.clone(),
    ] {
        let refused = admit_token(&gatekeeper(key_set(&[&other])), &text).await;
        assert!(matches!(refused, Err(Refusal::Invalid { .. })), "{text}");
    }
}

#[tokio::test]
async fn a_token_that_is_known_to_be_good_vouches_for_no_other() {
    let signer = signer("k1");
    let gatekeeper = gatekeeper(key_set(&[&signer]));
    let good = token(&signer);
    for _ in 0..3 {
        admit_token(&gatekeeper, &good).await.unwrap();
    }
    let (head, signature) = good.rsplit_once('.').unwrap();
    let mut claims = claims();
    claims["sub"] = json!("root");
    let header = json!({"alg": "ES256", "kid": "k1"});
    let forged = assemble(&header, &claims, |_| Vec::new());
    for text in [format!("{forged}{signature}"), format!("{head}.{}", "A".repeat(86))] {
        let refused = admit_token(&gatekeeper, &text).await;
        assert_eq!(refused, Err(Why::Signature.into()), "{text}");
    }
}

#[tokio::test]
async fn tokens_of_two_issuers_are_told_apart() {
    let (one, two) = (signer("k"), signer("k"));
    let other = "https://other.example";
    let gatekeeper = Gatekeeper::builder()
        .jwt(JwtIssuer::with_keys(ISSUER, AUDIENCE, key_set(&[&one])))
        .jwt(JwtIssuer::with_keys(other, AUDIENCE, key_set(&[&two])).prefix("other:"))
        .build()
        .unwrap();
    let by = |signer: &Signer, issuer: &str| {
        let mut claims = claims();
        claims["iss"] = json!(issuer);
        let header = json!({"alg": "ES256", "kid": "k"});
        assemble(&header, &claims, |signed| signer.sign_bytes(signed).unwrap())
    };
    let name = |admitted: nuncio_auth::Identity| admitted.name().map(str::to_owned);
    let alice = admit_token(&gatekeeper, &by(&one, ISSUER)).await.unwrap();
    assert_eq!(name(alice).as_deref(), Some("alice"));
    let alice = admit_token(&gatekeeper, &by(&two, other)).await.unwrap();
    assert_eq!(name(alice).as_deref(), Some("other:alice"));
    let signature = Err(Refusal::Invalid { why: Why::Signature });
    assert_eq!(admit_token(&gatekeeper, &by(&one, other)).await, signature);
    assert_eq!(admit_token(&gatekeeper, &by(&two, ISSUER)).await, signature);
}

#[test]
fn a_key_url_that_the_guard_refuses_is_refused_at_once() {
    let client = nuncio_net::Client::new(nuncio_net::Guard::new(nuncio_net::Policy::default()));
    for url in ["file:///etc/passwd", "http://issuer.example/", "https://169.254.169.254/", "x"] {
        assert!(JwtIssuer::with_key_url(ISSUER, AUDIENCE, &client, url).is_err(), "{url}");
    }
}
