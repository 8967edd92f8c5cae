//! What the caller is told.

use std::time::Duration;

use nuncio_auth::{Refusal, Why};
use nuncio_protocol::error::ErrorKind;

#[track_caller]
fn check(refusal: Refusal, status: u16, kind: ErrorKind, challenge: Option<&str>) {
    assert_eq!(refusal.status().as_u16(), status);
    let error = refusal.to_error();
    assert_eq!(error.kind(), kind);
    assert_eq!(error.retry_after(), refusal.retry_after());
    assert_eq!(
        refusal.challenge().as_ref().map(|value| value.to_str().expect("a text")),
        challenge
    );
}

#[test]
fn every_refusal_has_its_status_and_challenge() {
    let bearer = r#"Bearer realm="nuncio""#;
    let invalid = r#"Bearer realm="nuncio", error="invalid_token""#;
    check(Refusal::Missing, 401, ErrorKind::Unauthenticated, Some(bearer));
    check(Why::Expired.into(), 401, ErrorKind::Unauthenticated, Some(invalid));
    check(Refusal::Several, 400, ErrorKind::InvalidRequest, None);
    check(Refusal::Forbidden, 403, ErrorKind::PermissionDenied, None);
    check(Refusal::Unavailable, 503, ErrorKind::Unavailable, None);
    let retry_after = Duration::from_secs(6);
    check(Refusal::TooMany { retry_after }, 429, ErrorKind::RateLimited, None);
    assert_eq!(Refusal::TooMany { retry_after }.retry_after(), Some(retry_after));
}

#[test]
fn the_reference_explains_every_refusal() {
    const PAGE: &str = include_str!("../../../../docs/reference/authentication.md");
    for refusal in [
        Refusal::Missing,
        Why::Expired.into(),
        Refusal::Several,
        Refusal::Forbidden,
        Refusal::Unavailable,
        Refusal::TooMany { retry_after: Duration::ZERO },
    ] {
        let row = format!("| {} | `{refusal}` |", refusal.status().as_u16());
        assert!(PAGE.contains(&row), "{row}");
    }
    for why in Why::ALL {
        assert!(PAGE.contains(&format!("| {why} | ")), "{why}");
    }
}

#[test]
fn a_caller_does_not_learn_why_a_credential_is_not_valid() {
    let texts: Vec<_> = Why::ALL.iter().map(|why| Refusal::from(*why).to_error()).collect();
    assert!(texts.iter().all(|error| *error == texts[0]), "{texts:?}");
}
