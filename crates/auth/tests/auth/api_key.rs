//! API keys: shown once, stored as a hash, good or not at once.

use std::time::Duration;

use nuncio_auth::{ApiKey, ApiKeys, Gatekeeper, KeyRecord, Method, Refusal, Why, api_key::Pepper};
use nuncio_protocol::{json, service::Caller, time::Timestamp};
use proptest::prelude::*;

use crate::support::{admit, admit_from};

fn gatekeeper(keys: &ApiKeys) -> Gatekeeper {
    Gatekeeper::builder().api_keys(keys.clone()).build().expect("a way in")
}

fn one_key() -> (ApiKey, ApiKeys) {
    let (key, record) = ApiKey::generate("alice");
    (key, ApiKeys::from_iter([record]))
}

#[tokio::test]
async fn a_key_names_its_owner_in_either_header() {
    let (key, record) = ApiKey::generate("billing");
    let expires = Timestamp::from_millis(4_000_000_000_000).unwrap();
    let record = record.for_agent().with_scopes(["a", "b"]).with_organisation("acme");
    let gatekeeper = gatekeeper(&ApiKeys::from_iter([record.with_expiry(expires)]));
    let text = key.to_string();
    for headers in [
        ("x-api-key", text.clone()),
        ("authorization", format!("Bearer {text}")),
        ("authorization", format!("bearer  {text}")),
    ] {
        let identity = admit(&gatekeeper, &[(headers.0, &headers.1)]).await.unwrap();
        assert_eq!(identity.caller, Caller::Agent("billing".into()));
        assert_eq!(identity.organisation.as_deref(), Some("acme"));
        assert_eq!(&*identity.scopes, ["a", "b"]);
        assert_eq!(identity.method, Method::ApiKey);
        assert_eq!(identity.expires, Some(expires));
    }
}

#[tokio::test]
async fn a_revoked_key_is_refused_at_once_and_a_new_one_taken() {
    let (key, keys) = one_key();
    let gatekeeper = gatekeeper(&keys);
    let text = key.to_string();
    admit(&gatekeeper, &[("x-api-key", &text)]).await.unwrap();
    assert!(keys.revoke(key.id()));
    let refused = admit(&gatekeeper, &[("x-api-key", &text)]).await;
    assert_eq!(refused, Err(Why::KeyRevoked.into()));
    let (new, record) = ApiKey::generate("alice");
    keys.add(record);
    admit(&gatekeeper, &[("x-api-key", &new.to_string())]).await.unwrap();
    assert_eq!(keys.list().len(), 2);
    assert!(!keys.revoke("0000000000000000"));
}

#[tokio::test]
async fn a_key_can_come_from_outside() {
    let text = "nk_0123456789abcdef_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8";
    let key: ApiKey = text.parse().unwrap();
    let gatekeeper = gatekeeper(&ApiKeys::from_iter([key.record("admin")]));
    let identity = admit(&gatekeeper, &[("x-api-key", text)]).await.unwrap();
    assert_eq!(identity.name(), Some("admin"));
}

#[tokio::test]
async fn an_expired_key_is_refused() {
    let (key, record) = ApiKey::generate("alice");
    let gatekeeper = gatekeeper(&ApiKeys::from_iter([record.with_expiry(Timestamp::now())]));
    let refused = admit(&gatekeeper, &[("x-api-key", &key.to_string())]).await;
    assert_eq!(refused, Err(Why::KeyExpired.into()));
}

#[tokio::test]
async fn an_unknown_key_and_a_wrong_secret_are_told_alike() {
    let (key, keys) = one_key();
    let (stranger, _) = ApiKey::generate("alice");
    let wrong = stranger.to_string().replace(stranger.id(), key.id());
    for text in [stranger.to_string(), wrong] {
        let refused = admit(&gatekeeper(&keys), &[("x-api-key", &text)]).await;
        assert_eq!(refused, Err(Why::WrongKey.into()));
    }
}

#[tokio::test(start_paused = true)]
async fn guesses_run_into_a_limit_for_their_address_alone() {
    let (_, keys) = one_key();
    let gatekeeper = gatekeeper(&keys);
    let guess = || ApiKey::generate("x").0.to_string();
    for _ in 0..10 {
        let refused = admit(&gatekeeper, &[("x-api-key", &guess())]).await;
        assert_eq!(refused, Err(Why::WrongKey.into()));
    }
    let too_many = Err(Refusal::TooMany { retry_after: Duration::from_secs(6) });
    // Those that are too many do not prolong the wait.
    for text in [guess(), guess(), "nk_garbled".to_owned()] {
        assert_eq!(admit(&gatekeeper, &[("x-api-key", &text)]).await, too_many);
    }
    let elsewhere = admit_from(&gatekeeper, "192.0.2.2:4000", &[("x-api-key", &guess())]).await;
    assert_eq!(elsewhere, Err(Why::WrongKey.into()));
    let refused = admit(&gatekeeper, &[]).await;
    assert_eq!(refused, Err(Refusal::Missing), "who shows nothing has not guessed");
    tokio::time::advance(Duration::from_secs(6)).await;
    let refused = admit(&gatekeeper, &[("x-api-key", &guess())]).await;
    assert_eq!(refused, Err(Why::WrongKey.into()));
}

#[tokio::test(start_paused = true)]
async fn a_good_key_is_let_in_from_an_address_where_others_guess() {
    let (key, keys) = one_key();
    let gatekeeper = gatekeeper(&keys);
    for _ in 0..20 {
        let (guess, _) = ApiKey::generate("x");
        admit(&gatekeeper, &[("x-api-key", &guess.to_string())]).await.unwrap_err();
    }
    let text = key.to_string();
    admit(&gatekeeper, &[("x-api-key", &text)]).await.unwrap();
    admit(&gatekeeper, &[("authorization", &format!("Bearer {text}"))]).await.unwrap();
    keys.revoke(key.id());
    let refused = admit(&gatekeeper, &[("x-api-key", &text)]).await;
    assert_eq!(refused, Err(Why::KeyRevoked.into()), "its owner has not guessed");
}

#[tokio::test]
async fn whoever_tries_no_secret_runs_into_no_limit() {
    let (key, keys) = one_key();
    keys.revoke(key.id());
    let gatekeeper = gatekeeper(&keys);
    for _ in 0..20 {
        let refused = admit(&gatekeeper, &[("x-api-key", &key.to_string())]).await;
        assert_eq!(refused, Err(Why::KeyRevoked.into()));
    }
}

#[tokio::test]
async fn a_stolen_record_opens_nothing() {
    for keys in [ApiKeys::new(), ApiKeys::peppered(Pepper::new(b"pepper"))] {
        let (key, record) = ApiKey::generate("alice");
        keys.add(record);
        let dump = json::to_string(&*keys.list()[0]);
        let secret = &key.to_string()["nk_0123456789abcdef_".len()..];
        assert!(!dump.contains(secret), "{dump}");
        let hash = dump.split("sha256:").nth(1).unwrap().split('"').next().unwrap();
        let forged = format!("nk_{}_{hash}", key.id());
        let gatekeeper = gatekeeper(&keys);
        let refused = admit(&gatekeeper, &[("x-api-key", &forged)]).await;
        assert_eq!(refused, Err(Why::WrongKey.into()));
        admit(&gatekeeper, &[("x-api-key", &key.to_string())]).await.unwrap();
    }
}

#[tokio::test]
async fn a_peppered_record_is_of_use_with_its_pepper_only() {
    let (key, record) = ApiKey::generate("alice");
    let keys = ApiKeys::peppered(Pepper::new(b"pepper"));
    keys.add(record);
    let record = KeyRecord::clone(&keys.list()[0]);
    assert!(record.is_peppered());
    for other in [ApiKeys::new(), ApiKeys::peppered(Pepper::new(b"paprika"))] {
        other.add(record.clone());
        let refused = admit(&gatekeeper(&other), &[("x-api-key", &key.to_string())]).await;
        assert_eq!(refused, Err(Why::WrongKey.into()));
    }
}

#[test]
fn neither_a_key_nor_a_record_shows_its_secret() {
    let (key, record) = ApiKey::generate("alice");
    let secret = &key.to_string()["nk_0123456789abcdef_".len()..];
    let hash = json::to_string(&record).split("sha256:").nth(1).unwrap()[..43].to_owned();
    for shown in [format!("{key:?}"), format!("{record:?}"), format!("{:?}", one_key().1)] {
        assert!(!shown.contains(secret) && !shown.contains(&hash), "{shown}");
    }
    assert_eq!(secret.len(), 43);
}

fn judge(gatekeeper: &Gatekeeper, text: &str) -> Result<(), Refusal> {
    let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
    runtime.block_on(admit(gatekeeper, &[("x-api-key", text)])).map(drop)
}

proptest! {
    #[test]
    fn no_mutation_of_a_key_is_taken(
        at in any::<prop::sample::Index>(),
        letter in "[ -~]",
        kind in 0..3,
    ) {
        let (key, keys) = one_key();
        let gatekeeper = gatekeeper(&keys);
        let text = key.to_string();
        prop_assert_eq!(judge(&gatekeeper, &text), Ok(()));
        prop_assert_eq!(text.parse::<ApiKey>(), Ok(key));
        let at = at.index(text.len());
        let mut mutated = text.clone();
        match kind {
            0 => mutated.replace_range(at..=at, &letter),
            1 => mutated.insert_str(at, &letter),
            _ => drop(mutated.remove(at)),
        }
        // The system trims blanks around a header's value before anybody sees it.
        prop_assume!(mutated.trim() != text);
        prop_assert!(judge(&gatekeeper, &mutated).is_err(), "{}", mutated);
    }

    #[test]
    fn a_record_comes_back_as_it_was(
        name in "[a-z]{1,20}",
        scopes in prop::collection::vec("[a-z:]{1,9}", 0..4),
        organisation in prop::option::of("[a-z]{1,9}"),
        is_agent: bool,
        is_revoked: bool,
    ) {
        let (_, mut record) = ApiKey::generate(name);
        record = record.with_scopes(scopes);
        if let Some(organisation) = organisation {
            record = record.with_organisation(organisation);
        }
        if is_agent {
            record = record.for_agent();
        }
        if is_revoked {
            record = record.into_revoked();
        }
        let text = json::to_string(&record);
        prop_assert_eq!(json::from_str::<KeyRecord>(&text), Ok(record));
    }
}
