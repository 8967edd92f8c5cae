use std::sync::LazyLock;

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use nuncio_protocol::{
    card::sign::{Algorithm, KeySet, Signer},
    ids::{AgentId, Organisation},
    json as our_json,
    operation::Operation,
    service::Caller,
    time::Timestamp,
};
use serde_json::{Value, json};

use super::*;
use crate::{
    Identity, Method,
    presented::Certificate,
    refusal::{Refusal, Why},
    rules::{Grant, Skills},
};

/// The present of these tests, in seconds since 1970.
const NOW: i64 = 1_800_000_000;
const HUB: &str = "https://hub.example";

static SIGNER: LazyLock<Signer> =
    LazyLock::new(|| Signer::generate(Algorithm::EdDsa).expect("a key").with_kid("k1"));

fn id(text: &str) -> AgentId {
    AgentId::parse(text).expect("an id")
}

fn acme() -> Organisation {
    Organisation::parse("acme").expect("an organisation")
}

fn now() -> Timestamp {
    Timestamp::from_parts(NOW, 0).expect("on the calendar")
}

fn verifier_by(keys: KeySet) -> Verifier {
    Verifier::with_keys(HUB, id("writer"), acme(), keys)
}

fn verifier() -> Verifier {
    verifier_by([SIGNER.public_key().clone()].into_iter().collect())
}

fn claims() -> Value {
    json!({
        "iss": HUB, "sub": "lead", "aud": "writer", "org": "acme", "ops": "*", "skills": "*",
        "epoch": 7, "iat": NOW, "exp": NOW + 300, "jti": "j1",
    })
}

/// Puts members over others; `null` takes one away.
fn with(mut object: Value, changes: &Value) -> Value {
    let members = object.as_object_mut().expect("an object");
    for (key, value) in changes.as_object().expect("an object") {
        members.insert(key.clone(), value.clone());
    }
    members.retain(|_, value| !value.is_null());
    object
}

fn token(header: &Value, claims: &Value) -> String {
    let header = with(json!({"alg": "EdDSA", "kid": "k1", "typ": TYPE}), header);
    let encode = |value: &Value| URL_SAFE_NO_PAD.encode(value.to_string());
    let signed = format!("{}.{}", encode(&header), encode(claims));
    let signature = SIGNER.sign_bytes(signed.as_bytes()).expect("a signature");
    format!("{signed}.{}", URL_SAFE_NO_PAD.encode(signature))
}

fn identify_with(
    verifier: &Verifier,
    token: &str,
    certificate: Option<&Certificate<'_>>,
) -> Result<Identity, Refusal> {
    let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
    runtime.block_on(verifier.identify(token, certificate, now()))
}

fn identify(verifier: &Verifier, token: &str) -> Result<Identity, Refusal> {
    identify_with(verifier, token, None)
}

/// Changes a good token's claims and looks what comes of it.
#[track_caller]
fn check(changes: &Value, expected: Result<(), Why>) {
    let text = token(&json!({}), &with(claims(), changes));
    let found = identify(&verifier(), &text).map(drop);
    assert_eq!(found, expected.map_err(Refusal::from), "{changes}");
}

#[track_caller]
fn check_header(changes: &Value, expected: Result<(), Why>) {
    let found = identify(&verifier(), &token(changes, &claims())).map(drop);
    assert_eq!(found, expected.map_err(Refusal::from), "{changes}");
}

#[test]
fn t05_a_token_is_for_one_target_of_one_organisation() {
    check(&json!({}), Ok(()));
    check(&json!({"aud": ["writer"]}), Ok(()));
    for audience in [json!("editor"), json!(["writer", "editor"]), json!([]), json!(null)] {
        check(&json!({"aud": audience}), Err(Why::Audience));
    }
    check(&json!({"org": "other"}), Err(Why::Organisation));
    check(&json!({"org": null}), Err(Why::Organisation));
    check(&json!({"org": ""}), Err(Why::TokenText));
    check(&json!({"iss": "https://hub.example/"}), Err(Why::Issuer));
    check(&json!({"iss": null}), Err(Why::Issuer));
    check(&json!({"sub": null}), Err(Why::Caller));
    check(&json!({"sub": "a\nb"}), Err(Why::Caller));
}

#[test]
fn t05_a_token_lives_300_seconds_at_most() {
    check(&json!({"iat": NOW - 300, "exp": NOW}), Ok(()));
    check(&json!({"iat": NOW - 360, "exp": NOW - 60}), Ok(()));
    check(&json!({"iat": NOW - 361, "exp": NOW - 61}), Err(Why::Expired));
    check(&json!({"exp": NOW + 301}), Err(Why::Lifetime));
    check(&json!({"iat": NOW - 1}), Err(Why::Lifetime));
    check(&json!({"exp": NOW - 1}), Err(Why::Lifetime));
    check(&json!({"iat": NOW + 60, "exp": NOW + 360}), Ok(()));
    check(&json!({"iat": NOW + 61, "exp": NOW + 361}), Err(Why::NotYet));
    check(&json!({"iat": null}), Err(Why::Lifetime));
    check(&json!({"exp": null}), Err(Why::NoExpiry));
}

#[test]
fn a_token_says_what_it_is_good_for() {
    check(&json!({"ops": null}), Err(Why::Grant));
    check(&json!({"skills": null}), Err(Why::Grant));
    check(&json!({"jti": null}), Err(Why::Grant));
    check(&json!({"ops": "all"}), Err(Why::TokenText));
    check(&json!({"epoch": null}), Err(Why::Epoch));
    for epoch in [json!(-1), json!(1.5), json!("7"), json!(1e30)] {
        check(&json!({"epoch": epoch}), Err(Why::TokenText));
    }
    let limited = json!({"ops": ["SendMessage", "Dance"], "skills": ["write"]});
    let text = token(&json!({}), &with(claims(), &limited));
    let identity = identify(&verifier(), &text).unwrap();
    assert_eq!(identity.caller, Caller::Agent("lead".into()));
    assert_eq!(identity.organisation.as_deref(), Some("acme"));
    assert_eq!(identity.method, Method::Pair);
    assert_eq!(identity.expires, Timestamp::from_parts(NOW + 300, 0));
    assert!(identity.grant.check(Operation::SendMessage, Some("write")).is_ok());
    assert!(identity.grant.check(Operation::SendMessage, Some("read")).is_err());
    assert!(identity.grant.check(Operation::GetTask, None).is_err());
}

#[test]
fn a_header_other_than_ours_is_refused() {
    check_header(&json!({"typ": "application/A2A-PAIR+jwt"}), Ok(()));
    for typ in [json!("JWT"), json!("at+jwt"), json!(null)] {
        check_header(&json!({"typ": typ}), Err(Why::Type));
    }
    for alg in ["none", "HS256", "ES256", "RS256", "Ed25519", "eddsa"] {
        check_header(&json!({"alg": alg}), Err(Why::Algorithm));
    }
    check_header(&json!({"kid": null}), Err(Why::NoKeyId));
    check_header(&json!({"kid": "k2"}), Err(Why::UnknownKey));
    for member in ["jku", "jwk", "x5u", "x5c", "crit"] {
        check_header(&json!({member: "x"}), Err(Why::HeaderMember));
    }
}

#[test]
fn a_changed_token_is_refused() {
    let good = token(&json!({}), &claims());
    let verifier = verifier();
    identify(&verifier, &good).unwrap();
    let mut parts: Vec<&str> = good.split('.').collect();
    let forged = URL_SAFE_NO_PAD.encode(with(claims(), &json!({"sub": "boss"})).to_string());
    parts[1] = &forged;
    assert_eq!(identify(&verifier, &parts.join(".")), Err(Why::Signature.into()));
    for text in ["", ".", "..", "a.b.c", &good[..good.len() - 1]] {
        assert!(identify(&verifier, text).is_err(), "{text}");
    }
}

#[test]
fn t05_an_old_epoch_is_refused_and_stays_so() {
    let verifier = verifier();
    let at = |epoch: u64| token(&json!({}), &with(claims(), &json!({"epoch": epoch})));
    identify(&verifier, &at(7)).unwrap();
    verifier.raise_epoch(8);
    assert_eq!(identify(&verifier, &at(7)), Err(Why::Epoch.into()));
    identify(&verifier, &at(8)).unwrap();
    verifier.raise_epoch(3);
    assert_eq!(verifier.lowest_epoch(), 8);
    assert_eq!(identify(&verifier, &at(7)), Err(Why::Epoch.into()));
    // A newer token tells of newer rules, if the hub has signed it.
    let forged = at(1000).rsplit_once('.').unwrap().0.to_owned() + "." + &"A".repeat(86);
    assert_eq!(identify(&verifier, &forged), Err(Why::Signature.into()));
    identify(&verifier, &at(8)).unwrap();
    let clone = verifier.clone();
    identify(&clone, &at(9)).unwrap();
    assert_eq!(identify(&verifier, &at(8)), Err(Why::Epoch.into()));
}

#[test]
fn t05_a_token_is_good_many_times_unless_it_is_to_count_once() {
    let text = token(&json!({}), &claims());
    let many = verifier();
    identify(&many, &text).unwrap();
    identify(&many, &text).unwrap();
    let once = verifier().single_use();
    let forged = with(claims(), &json!({"aud": "editor"}));
    identify(&once, &token(&json!({}), &forged)).unwrap_err();
    identify(&once, &text).unwrap();
    assert_eq!(identify(&once, &text), Err(Why::Replayed.into()));
    let other = with(claims(), &json!({"jti": "j2"}));
    identify(&once, &token(&json!({}), &other)).unwrap();
}

#[test]
fn a_bound_token_comes_with_its_certificate() {
    let fingerprint = [7; 32];
    let bound = json!({"cnf": {"x5t#S256": URL_SAFE_NO_PAD.encode(fingerprint)}});
    let text = token(&json!({}), &with(claims(), &bound));
    let certificate = |fingerprint| Certificate {
        der: &[],
        dns_names: &[],
        uris: &[],
        common_name: None,
        fingerprint,
    };
    let shown = |fingerprint| identify_with(&verifier(), &text, Some(&certificate(fingerprint)));
    shown([7; 32]).unwrap();
    assert_eq!(shown([8; 32]), Err(Why::Binding.into()));
    assert_eq!(identify(&verifier(), &text), Err(Why::Binding.into()));
    check(&json!({"cnf": {"jkt": "x"}}), Err(Why::Binding));
}

#[test]
fn a_task_is_handed_on_eight_times_at_most() {
    let chain = |length: usize| (0..length).map(|one| format!("a{one}")).collect::<Vec<_>>();
    check(&json!({"chain": chain(8)}), Ok(()));
    check(&json!({"chain": chain(9)}), Err(Why::Chain));
    check(&json!({"chain": [""]}), Err(Why::TokenText));
    let text = token(&json!({}), &with(claims(), &json!({"chain": ["a", "b"]})));
    let identity = identify(&verifier(), &text).unwrap();
    assert_eq!(*identity.chain, [id("a"), id("b")]);
}

#[test]
fn what_is_minted_is_accepted() {
    let minter = Minter::generate(HUB).unwrap();
    let (lead, writer, acme) = (id("lead"), id("writer"), acme());
    let grant = Grant {
        operations: [Operation::SendMessage, Operation::GetTask].into_iter().collect(),
        skills: Skills::from_iter(["write"]),
    };
    let chain = [id("boss")];
    let pair = Pair::new(&lead, &writer, &acme, 7)
        .grant(grant.clone())
        .chain(&chain)
        .lifetime(Duration::from_secs(3600));
    let token = minter.mint(&pair, now()).unwrap();
    let identity = identify(&verifier_by(minter.key_set()), token.token.expose()).unwrap();
    assert_eq!(identity.grant, grant);
    assert_eq!(*identity.chain, chain);
    assert_eq!(identity.expires, Some(token.expires));
    assert_eq!(token.expires, Timestamp::from_parts(NOW + 300, 0).unwrap());
    assert_eq!(identity.lease.map(|lease| lease.epoch()), Some(7));

    let long = vec![id("boss"); 9];
    let refused = minter.mint(&pair.chain(&long), now());
    assert!(matches!(refused, Err(MintError::Chain { length: 9 })));
}

#[test]
fn t05_keys_rotate_and_are_kept() {
    let mut minter = Minter::generate(HUB).unwrap();
    let (lead, writer, acme) = (id("lead"), id("writer"), acme());
    let pair = Pair::new(&lead, &writer, &acme, 7);
    let old = minter.mint(&pair, now()).unwrap();
    minter.rotate().unwrap();
    let new = minter.mint(&pair, now()).unwrap();
    let published: KeySet = our_json::from_str(&our_json::to_string(&minter.key_set())).unwrap();
    let verifier = verifier_by(published);
    identify(&verifier, old.token.expose()).unwrap();
    identify(&verifier, new.token.expose()).unwrap();

    let kept = minter.to_pem().unwrap();
    let again = Minter::from_pem(HUB, kept.iter().map(nuncio_net::Secret::expose)).unwrap();
    assert_eq!(again.key_set(), minter.key_set());
    minter.rotate().unwrap();
    minter.rotate().unwrap();
    let verifier = verifier_by(minter.key_set());
    assert_eq!(identify(&verifier, old.token.expose()), Err(Why::UnknownKey.into()));
    assert!(matches!(Minter::from_pem(HUB, []), Err(MintError::NoKey)));
    let other = Signer::generate(Algorithm::Es256).unwrap().to_pem().unwrap();
    assert!(matches!(Minter::from_pem(HUB, [other.as_str()]), Err(MintError::NoKey)));
}

#[tokio::test]
async fn a_lease_ends_when_the_epoch_rises() {
    let verifier = verifier();
    let text = token(&json!({}), &claims());
    let identity = verifier.identify(&text, None, now()).await.unwrap();
    let lease = identity.lease.clone().unwrap();
    assert!(lease.holds() && identity.ends());
    let ended = tokio::spawn(identity.ended());
    verifier.raise_epoch(8);
    ended.await.unwrap();
    assert!(!lease.holds());
}

#[tokio::test]
async fn an_identity_ends_when_its_credential_does() {
    let (seconds, _) = Timestamp::now().to_parts();
    let at = |expires| Identity {
        expires: Timestamp::from_parts(expires, 0),
        ..Identity::new(Caller::Anonymous, Method::ApiKey)
    };
    at(seconds - 1).ended().await;
    let lasting = at(seconds + 3600).ended();
    tokio::select! {
        biased;
        () = lasting => panic!("it has an hour"),
        () = tokio::task::yield_now() => {}
    }
    assert!(!Identity::anonymous().ends());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn of_fifty_who_show_a_ticket_one_gets_in() {
    let tickets = std::sync::Arc::new(Tickets::new());
    let ticket = tickets.issue("ann").unwrap();
    assert_eq!(ticket.expose().len(), 43);
    let barrier = std::sync::Arc::new(tokio::sync::Barrier::new(50));
    let mut readers = tokio::task::JoinSet::new();
    for _ in 0..50 {
        let (tickets, ticket) = (std::sync::Arc::clone(&tickets), ticket.clone());
        let barrier = std::sync::Arc::clone(&barrier);
        readers.spawn(async move {
            barrier.wait().await;
            tickets.redeem(ticket.expose())
        });
    }
    let used: Vec<_> = readers.join_all().await.into_iter().flatten().collect();
    assert_eq!(used, ["ann"]);
}

#[tokio::test(start_paused = true)]
async fn a_ticket_is_good_for_a_minute_and_there_are_only_so_many() {
    let tickets = Tickets::new().room(2);
    let (first, second) = (tickets.issue(1).unwrap(), tickets.issue(2).unwrap());
    assert_eq!(tickets.issue(3).unwrap_err(), NoRoom);
    assert_eq!(tickets.redeem("guess"), None);
    tokio::time::advance(Duration::from_secs(59)).await;
    assert_eq!(tickets.redeem(first.expose()), Some(1));
    let third = tickets.issue(3).unwrap();
    tokio::time::advance(Duration::from_secs(1)).await;
    assert_eq!(tickets.redeem(second.expose()), None);
    // Those that nobody used make room.
    tickets.issue(4).unwrap();
    assert_eq!(tickets.redeem(third.expose()), Some(3));
}
