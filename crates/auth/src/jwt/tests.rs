use std::sync::LazyLock;

use nuncio_protocol::card::sign::Signer;
use serde_json::{Value, json};

use super::*;

/// The present of these tests, in seconds since 1970.
const NOW: i64 = 1_800_000_000;

static SIGNER: LazyLock<Signer> =
    LazyLock::new(|| Signer::generate(Algorithm::Es256).expect("a key").with_kid("k1"));

fn issuer() -> JwtIssuer {
    let keys = [SIGNER.public_key().clone()].into_iter().collect();
    JwtIssuer::with_keys("https://issuer.example", "nuncio", keys)
}

fn claims() -> Value {
    json!({
        "iss": "https://issuer.example", "aud": "nuncio", "sub": "alice",
        "iat": NOW, "exp": NOW + 300,
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

fn token(header: &Value, claims: &str) -> String {
    let header = with(json!({"alg": "ES256", "kid": "k1", "typ": "JWT"}), header);
    let encode = |text: &str| URL_SAFE_NO_PAD.encode(text);
    let signed = format!("{}.{}", encode(&header.to_string()), encode(claims));
    let signature = SIGNER.sign_bytes(signed.as_bytes()).expect("a signature");
    format!("{signed}.{}", URL_SAFE_NO_PAD.encode(signature))
}

fn identify_by(issuer: JwtIssuer, token: &str) -> Result<Identity, Refusal> {
    let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
    let now = Timestamp::from_parts(NOW, 0).expect("on the calendar");
    runtime.block_on(identify(&[issuer], token, None, now))
}

/// Changes a good token's claims and looks what comes of it.
#[track_caller]
fn check(changes: &Value, expected: Result<(), Why>) {
    let token = token(&json!({}), &with(claims(), changes).to_string());
    let found = identify_by(issuer(), &token).map(drop);
    assert_eq!(found, expected.map_err(Refusal::from), "{changes}");
}

#[track_caller]
fn check_header(changes: &Value, expected: Result<(), Why>) {
    let found = identify_by(issuer(), &token(changes, &claims().to_string())).map(drop);
    assert_eq!(found, expected.map_err(Refusal::from), "{changes}");
}

#[test]
fn times_count_to_the_second() {
    check(&json!({"iat": NOW - 300, "exp": NOW - 60}), Ok(()));
    check(&json!({"iat": NOW - 300, "exp": NOW - 61}), Err(Why::Expired));
    check(&json!({"exp": null}), Err(Why::NoExpiry));
    check(&json!({"nbf": NOW + 60}), Ok(()));
    check(&json!({"nbf": NOW + 61}), Err(Why::NotYet));
    check(&json!({"iat": NOW + 60}), Ok(()));
    check(&json!({"iat": NOW + 61}), Err(Why::NotYet));
    check(&json!({"exp": NOW + 86_400}), Ok(()));
    check(&json!({"exp": NOW + 86_401}), Err(Why::Lifetime));
    check(&json!({"iat": NOW - 86_400, "exp": NOW + 1}), Err(Why::Lifetime));
    check(&json!({"iat": null, "exp": NOW + 86_400}), Ok(()));
    check(&json!({"iat": null, "exp": NOW + 86_401}), Err(Why::Lifetime));
}

#[test]
fn moments_are_numbers_on_the_calendar() {
    check(&json!({"exp": 1_800_000_100.5}), Ok(()));
    for moment in [json!("1800000100"), json!(-1), json!(1e300), json!(true), json!([NOW])] {
        check(&json!({"exp": moment}), Err(Why::TokenText));
        check(&json!({"nbf": moment}), Err(Why::TokenText));
    }
}

#[test]
fn a_token_is_for_exactly_us() {
    check(&json!({"aud": ["nuncio"]}), Ok(()));
    for audience in [
        json!(null),
        json!("other"),
        json!("Nuncio"),
        json!("nuncio "),
        json!([]),
        json!(["nuncio", "other"]),
        json!(["nuncio", "nuncio"]),
    ] {
        check(&json!({"aud": audience}), Err(Why::Audience));
    }
    check(&json!({"aud": {"nuncio": true}}), Err(Why::TokenText));
    check(&json!({"iss": "https://issuer.example/"}), Err(Why::Issuer));
    check(&json!({"iss": null}), Err(Why::Issuer));
    check(&json!({"iss": ["https://issuer.example"]}), Err(Why::Issuer));
}

#[test]
fn several_audiences_are_taken_if_configured() {
    let text = token(&json!({}), &with(claims(), &json!({"aud": ["a", "nuncio"]})).to_string());
    assert!(identify_by(issuer().allow_several_audiences(), &text).is_ok());
    let foreign = token(&json!({}), &with(claims(), &json!({"aud": ["a", "b"]})).to_string());
    assert_eq!(
        identify_by(issuer().allow_several_audiences(), &foreign),
        Err(Why::Audience.into())
    );
    assert!(identify_by(issuer().audience("b"), &foreign).is_err());
}

#[test]
fn a_header_chooses_a_known_key_and_does_no_more() {
    for alg in ["none", "None", "HS256", "HS512", "ES256K", "es256", "", "dir"] {
        check_header(&json!({"alg": alg}), Err(Why::Algorithm));
    }
    for alg in ["RS256", "PS256", "EdDSA", "ES384"] {
        check_header(&json!({"alg": alg}), Err(Why::Algorithm));
    }
    check_header(&json!({"alg": null}), Err(Why::Algorithm));
    check_header(&json!({"kid": null}), Err(Why::NoKeyId));
    for kid in ["", "k2", "../../etc/passwd", "/dev/zero", "http://127.0.0.1/", "' OR 1=1 --"] {
        check_header(&json!({"kid": kid}), Err(Why::UnknownKey));
    }
    check_header(&json!({"kid": "k".repeat(257)}), Err(Why::HeaderMember));
    check_header(&json!({"kid": ["k1"]}), Err(Why::TokenText));
    for (member, value) in [
        ("jku", json!("https://issuer.example/keys")),
        ("x5u", json!("https://issuer.example/chain")),
        ("x5c", json!(["AA"])),
        ("jwk", json!({"kty": "EC"})),
        ("crit", json!(["exp"])),
    ] {
        check_header(&json!({member: value}), Err(Why::HeaderMember));
    }
    // Microsoft's tokens name the certificate's thumbprint, which does no harm.
    check_header(&json!({"x5t": "AA"}), Ok(()));
}

#[test]
fn only_access_tokens_are_taken() {
    for typ in
        [json!(null), json!("JWT"), json!("jwt"), json!("at+jwt"), json!("application/at+JWT")]
    {
        check_header(&json!({"typ": typ}), Ok(()));
    }
    for typ in ["JOSE", "dpop+jwt", "logout+jwt", "a2a-pair+jwt", ""] {
        check_header(&json!({"typ": typ}), Err(Why::Type));
    }
    let strict = || issuer().typ("at+jwt");
    let text = |typ: Value| token(&json!({"typ": typ}), &claims().to_string());
    assert!(identify_by(strict(), &text(json!("at+jwt"))).is_ok());
    assert_eq!(identify_by(strict(), &text(json!("JWT"))), Err(Why::Type.into()));
    assert_eq!(identify_by(strict(), &text(json!(null))), Err(Why::Type.into()));
}

#[test]
fn a_caller_has_a_name_that_is_fit_to_be_one() {
    for name in
        [json!(null), json!(""), json!("a\u{0}b"), json!("a\nb"), json!("a".repeat(257)), json!(7)]
    {
        check(&json!({"sub": name}), Err(Why::Caller));
    }
}

#[test]
fn a_bound_token_is_not_taken_from_just_anybody() {
    check(&json!({"cnf": {"x5t#S256": "AA"}}), Err(Why::Binding));
    check(&json!({"cnf": {"jkt": "AA"}}), Err(Why::Binding));
    check(&json!({"cnf": {}}), Err(Why::Binding));
    let certificate = Certificate {
        der: &[],
        dns_names: &[],
        uris: &[],
        common_name: None,
        fingerprint: [7; 32],
    };
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let now = Timestamp::from_parts(NOW, 0).unwrap();
    for (fingerprint, taken) in [([7; 32], true), ([8; 32], false)] {
        let bound = json!({"cnf": {"x5t#S256": URL_SAFE_NO_PAD.encode(fingerprint)}});
        let text = token(&json!({}), &with(claims(), &bound).to_string());
        let found = runtime.block_on(identify(&[issuer()], &text, Some(&certificate), now));
        assert_eq!(found.is_ok(), taken);
    }
}

#[test]
fn text_that_two_readers_could_read_differently_is_refused() {
    let good = claims().to_string();
    let twice = good.replacen('{', r#"{"sub":"mallory","#, 1);
    for text in [twice.as_str(), "[]", "{", "", "null", "{} {}", "{\"a\":\"\u{0}\"}"] {
        let found = identify_by(issuer(), &token(&json!({}), text)).map(drop);
        assert_eq!(found, Err(Why::TokenText.into()), "{text}");
    }
    let good = token(&json!({}), &good);
    for text in [
        format!("{good}."),
        format!("{good}.AA.AA"),
        format!("{good}="),
        format!("{good}\n"),
        format!(".{good}"),
        good.replacen('.', "", 1),
        "a.b.c".to_owned(),
        "..".to_owned(),
        String::new(),
        format!("{good}{}", "A".repeat(16 * 1024)),
    ] {
        assert!(matches!(identify_by(issuer(), &text), Err(Refusal::Invalid { .. })), "{text}");
    }
}

#[test]
fn claims_become_a_caller() {
    let identity = |issuer: JwtIssuer, changes: Value| {
        let text = token(&json!({}), &with(claims(), &changes).to_string());
        identify_by(issuer, &text).unwrap()
    };
    let found = identity(
        issuer().organisation_claim("org_id"),
        json!({"scope": "read  write", "org_id": "acme"}),
    );
    assert_eq!(found.caller, Caller::User("alice".into()));
    assert_eq!(found.organisation.as_deref(), Some("acme"));
    assert_eq!(&*found.scopes, ["read", "write"]);
    assert_eq!(found.method, Method::Jwt);
    assert_eq!(found.expires, Timestamp::from_parts(NOW + 300, 0));

    let found = identity(issuer(), json!({"scp": ["a", "b c"], "client_id": "billing"}));
    assert_eq!(&*found.scopes, ["a", "b", "c"]);
    assert_eq!(found.caller, Caller::User("alice".into()));
    assert_eq!(found.organisation, None);

    let by_claim = issuer().agents_by_claim("client_id").prefix("corp:");
    let found = identity(by_claim.clone(), json!({"client_id": "billing"}));
    assert_eq!(found.caller, Caller::Agent("corp:billing".into()));
    assert_eq!(identity(by_claim, json!({})).caller, Caller::User("corp:alice".into()));

    let by_prefix = issuer().agents_by_prefix("agent:");
    let found = identity(by_prefix, json!({"sub": "agent:billing"}));
    assert_eq!(found.caller, Caller::Agent("billing".into()));
}
