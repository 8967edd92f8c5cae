//! Whose cards are believed (A-CARD).

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use nuncio_client::{
    Origin,
    discover::{Error, SignaturePolicy, Signatures, Verdict},
};
use nuncio_protocol::{
    card::{
        AgentCard,
        sign::{Algorithm, KeySet, Signer, sign},
    },
    json,
};

use crate::discovery::support::{CARD, Server, cards, ok, pass, path_of, status};

const KEYS: &str = "/keys.json";

fn signer() -> Signer {
    Signer::generate(Algorithm::Es256).expect("a key").with_kid("k1")
}

fn key_set(signer: &Signer) -> KeySet {
    [signer.public_key().clone()].into_iter().collect()
}

fn signed(signer: &Signer) -> String {
    let mut card: AgentCard = json::from_str(CARD).expect("a card");
    sign(&mut card, signer).expect("a signature");
    json::to_string(&card)
}

/// Serves a card that is signed with a key found at the same origin, and the keys.
async fn serve_both() -> Server {
    Server::start_with(|address| {
        let signer = signer().with_jku(format!("http://{address}{KEYS}"));
        let (card, keys) = (signed(&signer), json::to_string(&key_set(&signer)));
        move |request: &str| match path_of(request) {
            KEYS => ok(&keys),
            "/card.json" => ok(&card),
            _ => status("404 Not Found", ""),
        }
    })
    .await
}

async fn verdict(server: &Server, signatures: Signatures) -> Result<Verdict, Error> {
    let ask = server.ask("/card.json").signatures(Arc::new(signatures));
    cards().get(&ask).await.map(|cached| cached.found.verdict.clone())
}

#[tokio::test]
async fn a_pinned_key_verifies_and_nothing_is_fetched() {
    let signer = signer();
    let card = signed(&signer);
    let server = Server::documents(&[("/card.json", &card)]).await;
    let rules = Signatures::new(SignaturePolicy::Require).pin(&key_set(&signer));
    let expected = Verdict::Verified { kid: "k1".to_owned(), is_pinned: true };
    assert_eq!(verdict(&server, rules).await.unwrap(), expected);
    assert_eq!(server.paths(), ["/card.json"]);
}

#[tokio::test]
async fn only_what_is_signed_is_believed() {
    let signer = signer();
    let card = signed(&signer).replacen('{', r#"{"url":"https://evil.example","#, 1);
    let server = Server::documents(&[("/card.json", &card)]).await;
    let rules = Arc::new(Signatures::new(SignaturePolicy::Require).pin(&key_set(&signer)));
    let cached = cards().get(&server.ask("/card.json").signatures(rules)).await.unwrap();
    assert!(!json::to_string(&cached.found.card).contains("evil"));
    assert!(cached.found.text.contains("evil"));
}

#[tokio::test]
async fn a_card_is_refused_only_if_signatures_are_required() {
    let signer = signer();
    let changed = signed(&signer).replace("Echo", "Evil");
    for (card, expected) in
        [(CARD, "it is not signed"), (changed.as_str(), "does not fit the card")]
    {
        let server = Server::documents(&[("/card.json", card)]).await;
        let rules = |policy| Signatures::new(policy).pin(&key_set(&signer));
        let off = verdict(&server, rules(SignaturePolicy::Off)).await.unwrap();
        assert_eq!(off, Verdict::Unchecked);
        let preferred = verdict(&server, rules(SignaturePolicy::Prefer)).await.unwrap();
        assert!(preferred.to_string().contains(expected), "{preferred}");
        let error = verdict(&server, rules(SignaturePolicy::Require)).await.unwrap_err();
        assert!(matches!(error, Error::Signature { .. }), "{error}");
        assert!(error.to_string().contains(expected), "{error}");
    }
}

#[tokio::test]
async fn keys_at_the_cards_own_origin_are_fetched_and_kept() {
    let server = serve_both().await;
    let rules = Arc::new(Signatures::new(SignaturePolicy::Require));
    let ask = server.ask("/card.json").signatures(rules);
    let cards = cards();
    for _ in 0..2 {
        let cached = cards.get(&ask).await.unwrap();
        let expected = Verdict::Verified { kid: "k1".to_owned(), is_pinned: false };
        assert_eq!(cached.found.verdict, expected);
        cards.invalidate(ask.source());
    }
    assert_eq!(server.paths(), ["/card.json", KEYS, "/card.json"]);
}

#[tokio::test]
async fn keys_elsewhere_are_not_fetched_unless_listed() {
    let signer = signer();
    let keys = Server::documents(&[(KEYS, &json::to_string(&key_set(&signer)))]).await;
    let card = signed(&signer.with_jku(keys.url(KEYS)));
    let server = Server::documents(&[("/card.json", &card)]).await;
    let error = verdict(&server, Signatures::new(SignaturePolicy::Require)).await.unwrap_err();
    assert!(error.to_string().contains("another origin than the card's"), "{error}");
    assert_eq!(keys.paths(), [""; 0]);
    let listed = Signatures::new(SignaturePolicy::Require)
        .allow_keys_from(Origin::parse(&keys.url("")).unwrap());
    assert!(verdict(&server, listed).await.unwrap().is_verified());
    assert_eq!(keys.paths(), [KEYS]);
}

#[tokio::test]
async fn a_new_key_is_fetched_but_not_for_every_card_that_names_an_unknown_one() {
    let is_published = Arc::new(AtomicBool::new(false));
    let published = Arc::clone(&is_published);
    let server = Server::start_with(|address| {
        let signer = signer().with_jku(format!("http://{address}{KEYS}"));
        let (card, keys) = (signed(&signer), json::to_string(&key_set(&signer)));
        move |request: &str| match path_of(request) {
            KEYS if published.load(Ordering::SeqCst) => ok(&keys),
            KEYS => ok(r#"{"keys":[]}"#),
            _ => ok(&card),
        }
    })
    .await;
    let rules = Arc::new(Signatures::new(SignaturePolicy::Prefer));
    let (cards, ask) = (cards(), server.ask("/card.json").signatures(rules));
    let is_verified = async || {
        cards.invalidate(ask.source());
        cards.get(&ask).await.expect("a card").found.verdict.is_verified()
    };
    assert!(!is_verified().await);
    is_published.store(true, Ordering::SeqCst);
    assert!(!is_verified().await, "nobody asked again");
    assert_eq!(server.paths().iter().filter(|path| *path == KEYS).count(), 1);
    pass(Duration::from_secs(31)).await;
    assert!(is_verified().await);
    assert_eq!(server.paths().iter().filter(|path| *path == KEYS).count(), 2);
}
