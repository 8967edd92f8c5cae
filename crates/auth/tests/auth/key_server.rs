//! The issuer's key endpoint down, huge, slow, rotating: bounded, and cached keys live on.

use std::time::Duration;

use http::HeaderValue;
use nuncio_auth::{Refusal, Why};
use nuncio_net::trace::Cause;
use serde_json::json;
use tokio::time::{advance, pause, resume};

use crate::{
    issuer::{KeyServer, Mood},
    support::{admit_token, assemble, claims, key_set, signer, token},
};

/// Lets time pass without waiting for it.
async fn pass(time: Duration) {
    pause();
    advance(time).await;
    resume();
}

const fn minutes(count: u64) -> Duration {
    Duration::from_secs(count * 60)
}

#[tokio::test]
async fn keys_are_fetched_once_for_any_number_of_callers() {
    let signer = signer("k1");
    let server = KeyServer::start(Mood::Hang).await;
    let (gatekeeper, text) = (server.gatekeeper(), token(&signer));
    let mut callers = tokio::task::JoinSet::new();
    for _ in 0..100 {
        let (gatekeeper, text) = (gatekeeper.clone(), text.clone());
        callers.spawn(async move { admit_token(&gatekeeper, &text).await });
    }
    server.until(1).await;
    server.change(Mood::serving(&key_set(&[&signer])));
    for admitted in callers.join_all().await {
        assert_eq!(admitted.unwrap().name(), Some("alice"));
    }
    admit_token(&gatekeeper, &text).await.unwrap();
    assert_eq!(server.count(), 1);
}

#[tokio::test]
async fn keys_are_fetched_in_the_trace_of_whoever_needs_them() {
    let signer = signer("k1");
    let server = KeyServer::serving(&key_set(&[&signer])).await;
    let gatekeeper = server.gatekeeper();
    let parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
    let cause = Cause { parent: HeaderValue::from_static(parent), state: None };
    cause.of(admit_token(&gatekeeper, &token(&signer))).await.unwrap();
    assert_eq!(server.traces(), [parent]);
}

#[tokio::test]
async fn a_caller_who_hangs_up_does_not_take_the_fetch_along() {
    let signer = signer("k1");
    let server = KeyServer::start(Mood::Hang).await;
    let (gatekeeper, text) = (server.gatekeeper(), token(&signer));
    tokio::select! {
        _ = admit_token(&gatekeeper, &text) => unreachable!("the server hangs"),
        () = server.until(1) => {}
    }
    server.change(Mood::serving(&key_set(&[&signer])));
    admit_token(&gatekeeper, &text).await.unwrap();
    assert_eq!(server.count(), 1);
}

#[tokio::test]
async fn a_new_key_is_found_and_a_removed_one_is_forgotten() {
    let (old, new) = (signer("old"), signer("new"));
    let server = KeyServer::serving(&key_set(&[&old])).await;
    let gatekeeper = server.gatekeeper();
    admit_token(&gatekeeper, &token(&old)).await.unwrap();

    server.change(Mood::serving(&key_set(&[&new])));
    let unknown = Refusal::Invalid { why: Why::UnknownKey };
    assert_eq!(admit_token(&gatekeeper, &token(&new)).await, Err(unknown));
    assert_eq!(server.count(), 1, "it was asked a moment ago");

    pass(Duration::from_secs(30)).await;
    admit_token(&gatekeeper, &token(&new)).await.unwrap();
    assert_eq!(admit_token(&gatekeeper, &token(&old)).await, Err(unknown));
    assert_eq!(server.count(), 2);
}

#[tokio::test]
async fn a_removed_key_is_forgotten_though_nobody_names_a_new_one() {
    let old = signer("old");
    let server = KeyServer::serving(&key_set(&[&old])).await;
    let gatekeeper = server.gatekeeper();
    admit_token(&gatekeeper, &token(&old)).await.unwrap();
    server.change(Mood::serving(&key_set(&[])));
    pass(minutes(10)).await;
    let unknown = Refusal::Invalid { why: Why::UnknownKey };
    assert_eq!(admit_token(&gatekeeper, &token(&old)).await, Err(unknown));
}

#[tokio::test]
async fn a_key_that_is_replaced_under_its_name_opens_nothing_more() {
    let (old, new) = (signer("k1"), signer("k1"));
    let server = KeyServer::serving(&key_set(&[&old])).await;
    let (gatekeeper, text) = (server.gatekeeper(), token(&old));
    for _ in 0..3 {
        admit_token(&gatekeeper, &text).await.unwrap();
    }
    server.change(Mood::serving(&key_set(&[&new])));
    pass(minutes(10)).await;
    assert_eq!(admit_token(&gatekeeper, &text).await, Err(Why::Signature.into()));
    admit_token(&gatekeeper, &token(&new)).await.unwrap();
}

#[tokio::test]
async fn invented_key_names_do_not_become_a_flood() {
    let signer = signer("k1");
    let server = KeyServer::serving(&key_set(&[&signer])).await;
    let gatekeeper = server.gatekeeper();
    for kid in ["../../etc/passwd", "http://127.0.0.1:1/", "/keys?x", "k2", "\u{202e}", "%00"] {
        let header = json!({"alg": "ES256", "kid": kid});
        let text = assemble(&header, &claims(), |signed| signer.sign_bytes(signed).unwrap());
        let refused = admit_token(&gatekeeper, &text).await;
        assert_eq!(refused, Err(Why::UnknownKey.into()), "{kid}");
    }
    assert_eq!(server.paths(), ["/keys"]);
}

#[tokio::test]
async fn cached_keys_live_on_for_a_day_while_the_endpoint_is_down() {
    let signer = signer("k1");
    let server = KeyServer::serving(&key_set(&[&signer])).await;
    let gatekeeper = server.gatekeeper();
    admit_token(&gatekeeper, &token(&signer)).await.unwrap();
    server.change(Mood::Close);
    pass(minutes(10)).await;
    admit_token(&gatekeeper, &token(&signer)).await.unwrap();
    assert!(server.count() > 1, "it was asked again");
    pass(minutes(23 * 60)).await;
    admit_token(&gatekeeper, &token(&signer)).await.unwrap();
    // A key that is not at hand may be a new one: nobody can tell.
    let stranger = crate::support::signer("k2");
    assert_eq!(admit_token(&gatekeeper, &token(&stranger)).await, Err(Refusal::Unavailable));
    pass(minutes(60)).await;
    assert_eq!(admit_token(&gatekeeper, &token(&signer)).await, Err(Refusal::Unavailable));

    server.change(Mood::serving(&key_set(&[&signer])));
    pass(minutes(1)).await;
    admit_token(&gatekeeper, &token(&signer)).await.unwrap();
}

#[tokio::test]
async fn whatever_is_not_a_set_of_keys_is_no_key() {
    let signer = signer("k1");
    let keys = nuncio_protocol::json::to_string(&key_set(&[&signer]));
    let elsewhere = KeyServer::serving(&key_set(&[&signer])).await;
    let many = vec![&signer; 101];
    for mood in [
        Mood::Close,
        Mood::Answer(500, keys.clone()),
        Mood::Answer(404, keys.clone()),
        Mood::Answer(200, "<html>".to_owned()),
        Mood::Answer(200, "{}".to_owned()),
        Mood::Answer(200, format!("{keys}{}", " ".repeat(256 * 1024))),
        Mood::serving(&key_set(&many)),
        Mood::Redirect(elsewhere.url()),
    ] {
        let name = format!("{mood:.60?}");
        let server = KeyServer::start(mood).await;
        let gatekeeper = server.gatekeeper();
        let refused = admit_token(&gatekeeper, &token(&signer)).await;
        assert_eq!(refused, Err(Refusal::Unavailable), "{name}");
        let asked = server.count();
        let refused = admit_token(&gatekeeper, &token(&signer)).await;
        assert_eq!(refused, Err(Refusal::Unavailable), "{name}");
        assert_eq!(server.count(), asked, "{name}: it was asked a moment ago");

        server.change(Mood::serving(&key_set(&[&signer])));
        pass(Duration::from_secs(5)).await;
        admit_token(&gatekeeper, &token(&signer)).await.expect(&name);
    }
    assert_eq!(elsewhere.count(), 0, "a redirect was followed");
}

#[tokio::test]
async fn an_endpoint_that_says_nothing_holds_nobody_for_long() {
    let signer = signer("k1");
    let server = KeyServer::start(Mood::Hang).await;
    let (gatekeeper, text) = (server.gatekeeper(), token(&signer));
    let impatient = async {
        server.until(1).await;
        pass(Duration::from_secs(5)).await;
    };
    let (refused, ()) = tokio::join!(admit_token(&gatekeeper, &text), impatient);
    assert_eq!(refused, Err(Refusal::Unavailable));
}

#[tokio::test]
async fn a_token_that_is_refused_anyway_makes_nobody_fetch_keys() {
    let signer = signer("k1");
    let server = KeyServer::serving(&key_set(&[&signer])).await;
    let gatekeeper = server.gatekeeper();
    for (member, value) in [("exp", json!(1)), ("aud", json!("other")), ("iss", json!("x"))] {
        let mut claims = claims();
        claims[member] = value;
        let header = json!({"alg": "ES256", "kid": "k1"});
        let text = assemble(&header, &claims, |signed| signer.sign_bytes(signed).unwrap());
        let refused = admit_token(&gatekeeper, &text).await;
        assert!(matches!(refused, Err(Refusal::Invalid { .. })), "{refused:?}");
    }
    assert_eq!(server.count(), 0);
}
