//! A-CARD: whose signatures on cards are believed, when agents come and before they are called.

use nuncio_client::Origin;
use nuncio_hub::{
    directory::Options,
    signatures::{CardSignatures, SignaturePolicy},
};
use nuncio_protocol::card::sign::{Algorithm, KeySet, Signer, sign_text};
use serde_json::{Value, json};

use super::{Running, bearer, card, check_refused, send};

fn signer() -> Signer {
    Signer::generate(Algorithm::EdDsa).expect("a key")
}

fn keys(signer: &Signer) -> KeySet {
    KeySet::from_iter([signer.public_key().clone()])
}

fn home() -> Option<Origin> {
    Some(Origin::parse("http://127.0.0.1:9").expect("an origin"))
}

async fn requiring(signatures: CardSignatures) -> Running {
    Running::with(|options: &mut Options, _| options.signatures = signatures).await
}

fn signed(card: &Value, signer: &Signer) -> Value {
    let text = sign_text(&card.to_string(), signer).expect("it is signed");
    serde_json::from_str(&text).expect("a card")
}

/// Registers with a new enrolment token.
async fn register(hub: &Running, card: &Value) -> nuncio_testkit::wire::Reply {
    let enrolment = hub.done("POST", "/api/v1/enrolments", &json!({ "parent": null })).await;
    let newcomer = bearer(&hub.stranger, enrolment["key"].as_str().expect("a key"));
    send(&newcomer, "POST", "/api/v1/register", &json!({ "name": "new", "card": card })).await
}

#[tokio::test]
async fn unsigned_and_wrongly_signed_cards_are_refused_where_they_must_be_signed() {
    let (ours, theirs) = (signer(), signer());
    let policy = CardSignatures::new(SignaturePolicy::Require).trust(home(), keys(&ours));
    let hub = requiring(policy).await;
    let plain = card("new", "http://127.0.0.1:9/");
    check_refused(&register(&hub, &plain).await, 400, "CARD_NOT_TRUSTED");
    let by_stranger = signed(&plain, &theirs.with_jku("http://127.0.0.1:9/keys"));
    let reply = register(&hub, &by_stranger).await;
    check_refused(&reply, 400, "CARD_NOT_TRUSTED");
    // The right key, and an agent that is somewhere else.
    let elsewhere = signed(&card("new", "http://127.0.0.1:10/"), &ours);
    let reply = register(&hub, &elsewhere).await;
    check_refused(&reply, 400, "CARD_NOT_TRUSTED");
    assert!(reply.text().contains("http://127.0.0.1:10"), "{}", reply.text());
    let mut changed = signed(&plain, &ours);
    changed["skills"][0]["id"] = json!("more");
    check_refused(&register(&hub, &changed).await, 400, "CARD_NOT_TRUSTED");
    let unsigned = json!({ "name": "new", "card": plain });
    let reply = send(&hub.administrator, "POST", "/api/v1/agents", &unsigned).await;
    check_refused(&reply, 400, "CARD_NOT_TRUSTED");

    let reply = register(&hub, &signed(&plain, &ours)).await;
    assert_eq!(reply.status, 201, "{}", reply.text());
    let token = reply.json()["token"].as_str().expect("a token").to_owned();
    let itself = bearer(&hub.stranger, &token);
    let reply = send(&itself, "PUT", "/api/v1/agents/new/card", &plain).await;
    check_refused(&reply, 400, "CARD_NOT_TRUSTED");
}

#[tokio::test]
async fn where_signatures_are_preferred_no_card_is_refused() {
    let policy = CardSignatures::new(SignaturePolicy::Prefer).trust(home(), keys(&signer()));
    let hub = requiring(policy).await;
    let reply = register(&hub, &card("new", "http://127.0.0.1:9/")).await;
    assert_eq!(reply.status, 201, "{}", reply.text());
}

#[tokio::test]
async fn a_key_for_any_origin_speaks_for_all() {
    let ours = signer();
    let policy = CardSignatures::new(SignaturePolicy::Require).trust(None, keys(&ours));
    let hub = requiring(policy).await;
    let card = signed(&card("new", "http://127.0.0.1:10/"), &ours);
    assert_eq!(register(&hub, &card).await.status, 201);
}
