//! The check at the other end, with nothing but headers and a body.

use std::time::Duration;

use http::{HeaderMap, HeaderValue};
use nuncio_client::webhook::{Refused, Verifier};
use nuncio_protocol::{
    ids::TaskId,
    push::{header, sign},
    time::Timestamp,
};

/// The worked example of `docs/reference/webhooks.md`.
const TOKEN: &str = "kNT9LrnGyVvf3MD5";
const ID: &str = "5f8d4ae7c2b04b1d9f7f6a3c81e2d950-3";
const TIMESTAMP: i64 = 1_790_000_000;
const BODY: &str = r#"{"statusUpdate":{"taskId":"t-1","contextId":"c-1","status":{"state":"TASK_STATE_COMPLETED","timestamp":"2026-09-21T14:13:20.000Z"}}}"#;
const SIGNATURE: &str = "v1,fEed4hm/ZDEGH36Z5XYZ/wfYz9nPd0nc+BojxEK+R7I=";

fn headers() -> HeaderMap {
    let mut headers = HeaderMap::new();
    for name in header::TOKENS {
        headers.insert(name, HeaderValue::from_static(TOKEN));
    }
    headers.insert(header::ID, HeaderValue::from_static(ID));
    headers.insert(header::TIMESTAMP, HeaderValue::from(TIMESTAMP));
    headers.insert(header::SIGNATURE, HeaderValue::from_static(SIGNATURE));
    headers.insert(header::VERSION, HeaderValue::from_static("1.0"));
    headers
}

fn verifier_at(seconds: i64) -> Verifier {
    let now = Timestamp::from_parts(seconds, 0).expect("it is on the calendar");
    Verifier::new(TOKEN).clock(move || now)
}

#[track_caller]
fn check(change: impl FnOnce(&mut HeaderMap), expected: &Result<(), Refused>) {
    let mut headers = headers();
    change(&mut headers);
    let found = verifier_at(TIMESTAMP).verify(&headers, BODY.as_bytes());
    assert_eq!(&found.map(drop), expected);
}

#[test]
fn the_worked_example_works() {
    assert_eq!(sign(TOKEN, ID, TIMESTAMP, BODY.as_bytes()), SIGNATURE);
    check(|_| (), &Ok(()));
    let page = include_str!("../../../../docs/reference/webhooks.md");
    for text in [TOKEN, ID, &TIMESTAMP.to_string(), BODY, SIGNATURE] {
        assert!(page.contains(text), "{text} is not on the page");
    }
}

#[test]
fn either_token_header_is_enough_and_both_must_be_right() {
    let [first, second] = header::TOKENS;
    let wrong = HeaderValue::from_static("kNT9LrnGyVvf3MD6");
    check(|headers| drop(headers.remove(first)), &Ok(()));
    check(|headers| drop(headers.remove(second)), &Ok(()));
    for name in header::TOKENS {
        let refused = Err(Refused::Token(name));
        check(|headers| drop(headers.insert(name, wrong.clone())), &refused);
    }
    check(
        |headers| {
            headers.remove(first);
            headers.remove(second);
        },
        &Err(Refused::Missing(first)),
    );
}

#[test]
fn every_header_that_is_signed_must_be_there_once() {
    for name in [header::ID, header::TIMESTAMP, header::SIGNATURE] {
        let missing = Err(Refused::Missing(name));
        check(|headers| drop(headers.remove(name)), &missing);
        let doubled = Err(Refused::Unreadable(name));
        check(|headers| assert!(headers.append(name, HeaderValue::from_static("x"))), &doubled);
    }
}

#[test]
fn what_is_signed_cannot_be_changed() {
    let change = |name: &'static str, value: &'static str| {
        check(
            |headers| drop(headers.insert(name, HeaderValue::from_static(value))),
            &Err(Refused::Signature),
        );
    };
    change(header::ID, "5f8d4ae7c2b04b1d9f7f6a3c81e2d950-4");
    change(header::TIMESTAMP, "1790000001");
    change(header::SIGNATURE, "v1,AAAA");
    change(header::SIGNATURE, "v1,?");
    change(header::SIGNATURE, "");
    change(header::SIGNATURE, "v2,fEed4hm/ZDEGH36Z5XYZ/wfYz9nPd0nc+BojxEK+R7I=");
    let body = BODY.replace("COMPLETED", "CANCELED");
    let found = verifier_at(TIMESTAMP).verify(&headers(), body.as_bytes());
    assert_eq!(found.unwrap_err(), Refused::Signature);
}

#[test]
fn one_right_signature_among_several_is_enough() {
    let several = format!("v1,AAAA {SIGNATURE} v1a,BBBB");
    let several = HeaderValue::from_str(&several).unwrap();
    check(|headers| drop(headers.insert(header::SIGNATURE, several)), &Ok(()));
}

#[test]
fn five_minutes_are_allowed_and_no_second_more() {
    for off in [-300, 300] {
        assert!(verifier_at(TIMESTAMP + off).verify(&headers(), BODY.as_bytes()).is_ok());
    }
    for off in [-301, 301] {
        let found = verifier_at(TIMESTAMP + off).verify(&headers(), BODY.as_bytes());
        assert_eq!(found.unwrap_err(), Refused::Time { seconds: 301, limit: 300 });
    }
    let wide = verifier_at(TIMESTAMP + 301).window(Duration::from_secs(301));
    assert!(wide.verify(&headers(), BODY.as_bytes()).is_ok());
}

#[test]
fn only_the_expected_task_is_believed() {
    let expecting = |task: &str| {
        let verifier = verifier_at(TIMESTAMP).expect_task(TaskId::parse(task).unwrap());
        verifier.verify(&headers(), BODY.as_bytes()).map(drop)
    };
    assert_eq!(expecting("t-1"), Ok(()));
    let expected = TaskId::parse("t-2").unwrap();
    assert_eq!(expecting("t-2"), Err(Refused::Task { expected, found: "t-1".to_owned() }));
}

#[test]
fn an_event_is_new_until_it_has_been_acted_on() {
    let verifier = verifier_at(TIMESTAMP);
    let verify = || verifier.verify(&headers(), BODY.as_bytes()).unwrap();
    assert!(!verify().is_repeated());
    assert!(!verify().is_repeated(), "nobody has acted on it yet");
    verifier.acted_on(&verify());
    assert!(verify().is_repeated());
    assert_eq!(verify().id(), Some(ID));
}

#[test]
fn what_is_remembered_is_bounded() {
    let verifier = verifier_at(TIMESTAMP).remember(2);
    let arrive = |id: &str| {
        let mut headers = headers();
        headers.insert(header::ID, HeaderValue::from_str(id).unwrap());
        let signature = sign(TOKEN, id, TIMESTAMP, BODY.as_bytes());
        headers.insert(header::SIGNATURE, HeaderValue::from_str(&signature).unwrap());
        let arrival = verifier.verify(&headers, BODY.as_bytes()).unwrap();
        verifier.acted_on(&arrival);
        arrival.is_repeated()
    };
    assert!(!arrive("a") && !arrive("b") && arrive("a"));
    assert!(!arrive("c"), "the third is new");
    assert!(arrive("b") && arrive("c"), "the last two are known");
    assert!(!arrive("a"), "the first was forgotten for the third");
}

#[test]
fn unsigned_events_are_believed_only_on_demand_and_never_with_a_wrong_signature() {
    let mut unsigned = headers();
    for name in [header::ID, header::TIMESTAMP, header::SIGNATURE, header::VERSION] {
        unsigned.remove(name);
    }
    let strict = verifier_at(TIMESTAMP);
    let refused = strict.verify(&unsigned, BODY.as_bytes()).unwrap_err();
    assert_eq!(refused, Refused::Missing(header::ID));
    let lenient = verifier_at(TIMESTAMP).accept_unsigned();
    let arrival = lenient.verify(&unsigned, BODY.as_bytes()).unwrap();
    assert_eq!((arrival.id(), arrival.is_repeated()), (None, false));
    let mut wrong = headers();
    wrong.insert(header::SIGNATURE, HeaderValue::from_static("v1,AAAA"));
    assert_eq!(lenient.verify(&wrong, BODY.as_bytes()).unwrap_err(), Refused::Signature);
}

#[test]
fn a_signed_body_that_is_no_event_is_refused() {
    let body = br#"{"hello":1}"#;
    let mut headers = headers();
    let signature = sign(TOKEN, ID, TIMESTAMP, body);
    headers.insert(header::SIGNATURE, HeaderValue::from_str(&signature).unwrap());
    let refused = verifier_at(TIMESTAMP).verify(&headers, body).unwrap_err();
    assert!(matches!(refused, Refused::Body(_)), "{refused}");
}

#[test]
fn nothing_secret_is_shown() {
    let shown = format!("{:?}", verifier_at(TIMESTAMP));
    assert!(!shown.contains(TOKEN), "{shown}");
    let told = Refused::Token(header::TOKENS[0]).to_string();
    assert!(!told.contains(TOKEN), "{told}");
}
