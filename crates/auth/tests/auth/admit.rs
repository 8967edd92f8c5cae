//! Which credential counts, and who comes in without one.

use http::{HeaderMap, HeaderName, HeaderValue};
use nuncio_auth::{
    ApiKey, ApiKeys, Gatekeeper, Identity, JwtIssuer, Misconfigured, Mtls, Presented, Refusal, Why,
};
use nuncio_protocol::{
    card::{AgentCard, SecurityScheme, sign::KeySet},
    json,
};
use proptest::prelude::*;

use crate::support::{AUDIENCE, ISSUER, admit, admit_from, header_map, key_set, signer, token};

fn all_ways() -> (Gatekeeper, String, String) {
    let (key, record) = ApiKey::generate("alice");
    let signer = signer("k1");
    let gatekeeper = Gatekeeper::builder()
        .api_keys(ApiKeys::from_iter([record]))
        .jwt(JwtIssuer::with_keys(ISSUER, AUDIENCE, key_set(&[&signer])))
        .mtls(Mtls::new())
        .build()
        .expect("a way in");
    (gatekeeper, key.to_string(), token(&signer))
}

#[tokio::test]
async fn two_credentials_at_once_are_refused_though_both_are_good() {
    let (gatekeeper, key, token) = all_ways();
    let (token, bearer_key) = (format!("Bearer {token}"), format!("Bearer {key}"));
    for headers in [
        [("x-api-key", key.as_str()), ("authorization", token.as_str())],
        [("x-api-key", &key), ("authorization", &bearer_key)],
        [("x-api-key", &key), ("authorization", "")],
        [("x-api-key", &key), ("x-api-key", &key)],
        [("authorization", &token), ("authorization", &token)],
        [("authorization", &token), ("authorization", &bearer_key)],
    ] {
        assert_eq!(admit(&gatekeeper, &headers).await, Err(Refusal::Several), "{headers:?}");
    }
}

#[tokio::test]
async fn a_secret_in_a_url_is_never_taken() {
    let (gatekeeper, key, _) = all_ways();
    let (nothing, headers) = (HeaderMap::new(), header_map(&[("x-api-key", &key)]));
    for query in ["api_key=", "a=b&access_token=", "api%5Fkey="] {
        let query = format!("{query}{key}");
        let presented = |headers| Presented {
            headers,
            query: Some(&query),
            address: "192.0.2.1:4000".parse().expect("an address"),
            certificate: None,
        };
        let alone = gatekeeper.admit(presented(&nothing)).await;
        assert_eq!(alone, Err(Refusal::Missing), "{query}");
        let beside = gatekeeper.admit(presented(&headers)).await;
        assert_eq!(beside, Err(Refusal::Several), "{query}");
    }
}

#[tokio::test]
async fn headers_that_claim_an_identity_are_not_read() {
    let (gatekeeper, key, _) = all_ways();
    let forged = [
        ("x-forwarded-user", "root"),
        ("x-forwarded-for", "127.0.0.1"),
        ("forwarded", "for=127.0.0.1"),
        ("x-real-ip", "127.0.0.1"),
        ("x-user-id", "root"),
        ("x-workspace-id", "root"),
        ("x-auth-request-user", "root"),
        ("x-remote-user", "root"),
        ("x-agent-id", "root"),
        ("x-forwarded-client-cert", "URI=spiffe://example.org/agent/root"),
        ("x-ssl-client-s-dn", "CN=root"),
        ("cookie", "session=root"),
        ("proxy-authorization", "Bearer root"),
    ];
    assert_eq!(admit(&gatekeeper, &forged).await, Err(Refusal::Missing));
    let plain = admit(&gatekeeper, &[("x-api-key", &key)]).await.unwrap();
    let mut with_key = forged.to_vec();
    with_key.push(("x-api-key", &key));
    assert_eq!(admit(&gatekeeper, &with_key).await, Ok(plain));
    let open = Gatekeeper::builder().open_to_loopback().mtls(Mtls::new()).build().unwrap();
    assert_eq!(admit(&open, &forged).await, Err(Refusal::Missing));
}

#[tokio::test]
async fn an_open_endpoint_is_open_to_this_machine_only() {
    let open = Gatekeeper::open();
    assert!(open.is_open());
    for (address, admitted) in [
        ("127.0.0.1:1", true),
        ("127.8.8.8:1", true),
        ("[::1]:1", true),
        ("[::ffff:127.0.0.1]:1", true),
        ("192.0.2.1:1", false),
        ("0.0.0.0:1", false),
        ("[::]:1", false),
        ("[::ffff:192.0.2.1]:1", false),
        ("[2001:db8::1]:1", false),
    ] {
        let expected = if admitted { Ok(Identity::anonymous()) } else { Err(Refusal::Forbidden) };
        assert_eq!(admit_from(&open, address, &[]).await, expected, "{address}");
    }
    let with_token = admit_from(&open, "127.0.0.1:1", &[("authorization", "Bearer x")]).await;
    assert_eq!(with_token, Ok(Identity::anonymous()), "there is nothing to check it with");
}

#[tokio::test]
async fn a_bad_credential_does_not_come_in_where_none_would() {
    let keys = ApiKeys::from_iter([ApiKey::generate("alice").1]);
    let gatekeeper = Gatekeeper::builder().api_keys(keys).open_to_loopback().build().unwrap();
    assert!(!gatekeeper.is_open(), "others have a way in");
    let near = "127.0.0.1:1";
    assert_eq!(admit_from(&gatekeeper, near, &[]).await, Ok(Identity::anonymous()));
    let refused = admit_from(&gatekeeper, near, &[("x-api-key", "nk_x")]).await;
    assert_eq!(refused, Err(Why::KeyText.into()));
    assert_eq!(admit(&gatekeeper, &[]).await, Err(Refusal::Missing));
}

#[tokio::test]
async fn what_no_way_in_takes_is_refused() {
    let (gatekeeper, ..) = all_ways();
    for value in ["", "Bearer", "Bearer ", "Basic YTpi", "Bearer a b", "Token x", "nk_x", "é"] {
        let refused = admit(&gatekeeper, &[("authorization", value)]).await;
        assert_eq!(refused, Err(Why::Scheme.into()), "{value}");
    }
    let keys = Gatekeeper::builder().api_keys(ApiKeys::new()).build().unwrap();
    let refused = admit(&keys, &[("authorization", "Bearer a.b.c")]).await;
    assert_eq!(refused, Err(Why::NotTaken.into()));
}

#[tokio::test]
async fn keys_can_have_a_header_of_their_own() {
    let (key, record) = ApiKey::generate("alice");
    let build = |name: &str| {
        let keys = ApiKeys::from_iter([record.clone()]);
        Gatekeeper::builder().api_keys(keys).api_key_header(name).build()
    };
    let gatekeeper = build("X-Nuncio-Key").unwrap();
    let text = key.to_string();
    assert!(admit(&gatekeeper, &[("x-nuncio-key", &text)]).await.is_ok());
    assert_eq!(admit(&gatekeeper, &[("x-api-key", &text)]).await, Err(Refusal::Missing));
    for name in ["", "two words", "Authorization"] {
        let name = name.to_owned();
        assert_eq!(build(&name).unwrap_err(), Misconfigured::Header { name });
    }
}

#[test]
fn what_could_let_in_the_wrong_one_or_nobody_is_refused_at_the_start() {
    let issuer = |name: &str| JwtIssuer::with_keys(name, AUDIENCE, KeySet::default());
    let build = |builder: nuncio_auth::Builder| builder.build().map(drop);
    let two = |a, b| Gatekeeper::builder().jwt(a).jwt(b);
    assert_eq!(build(Gatekeeper::builder()), Err(Misconfigured::NoWayIn));
    assert_eq!(
        build(two(issuer("a"), issuer("a").prefix("b:"))),
        Err(Misconfigured::IssuerTwice { issuer: "a".to_owned() })
    );
    assert_eq!(
        build(two(issuer("a"), issuer("b"))),
        Err(Misconfigured::AmbiguousNames { one: "a".to_owned(), other: "b".to_owned() })
    );
    assert_eq!(build(two(issuer("a"), issuer("b").prefix("b:"))), Ok(()));
}

#[test]
fn a_card_says_what_to_bring_along() {
    let issuer = |name| JwtIssuer::with_keys(name, AUDIENCE, KeySet::default());
    let discovery = "https://b.example/.well-known/openid-configuration";
    let gatekeeper = Gatekeeper::builder()
        .api_keys(ApiKeys::new())
        .jwt(issuer("a"))
        .jwt(issuer("b").prefix("b:").discovery(discovery))
        .mtls(Mtls::new())
        .build()
        .unwrap();
    let mut card = AgentCard::builder("Echo").build();
    gatekeeper.describe(&mut card);
    gatekeeper.describe(&mut card);
    let schemes: Vec<_> = card
        .security_schemes
        .iter()
        .map(|(name, scheme)| format!("{name} {}", json::to_string(scheme)))
        .collect();
    assert_eq!(
        schemes,
        [
            r#"apiKey {"apiKeySecurityScheme":{"location":"header","name":"X-API-Key"}}"#
                .to_owned(),
            format!(
                r#"bearer {{"openIdConnectSecurityScheme":{{"openIdConnectUrl":"{discovery}"}}}}"#
            ),
            r#"bearer2 {"httpAuthSecurityScheme":{"scheme":"Bearer","bearerFormat":"JWT"}}"#
                .to_owned(),
            r#"mtls {"mtlsSecurityScheme":{}}"#.to_owned(),
        ]
    );
    let required: Vec<_> =
        card.security_requirements.iter().flat_map(|one| one.schemes.keys()).collect();
    assert_eq!(required, ["apiKey", "bearer", "bearer2", "mtls"]);

    let mut open = AgentCard::builder("Echo").build();
    Gatekeeper::open().describe(&mut open);
    assert!(open.security_schemes.is_empty() && open.security_requirements.is_empty());
    assert!(matches!(card.security_schemes["apiKey"], SecurityScheme::ApiKey(_)));
}

proptest! {
    #[test]
    fn no_bytes_bring_anybody_in_or_down(
        values in prop::collection::vec(
            (0..3_usize, prop_oneof![
                prop::collection::vec(any::<u8>(), 0..80),
                "Bearer [A-Za-z0-9_.=-]{0,60}".prop_map(String::into_bytes),
                "Bearer ey[A-Za-z0-9_-]{0,30}\\.ey[A-Za-z0-9_-]{0,30}\\.[A-Za-z0-9_-]{0,9}"
                    .prop_map(String::into_bytes),
                "nk_[0-9a-f]{16}_[A-Za-z0-9_-]{40,46}".prop_map(String::into_bytes),
            ]),
            0..4,
        ),
        query in prop::option::of("[ -~]{0,40}"),
    ) {
        let (gatekeeper, ..) = all_ways();
        let mut headers = HeaderMap::new();
        for (name, value) in values {
            let name = HeaderName::from_static(["x-api-key", "authorization", "x-user"][name]);
            if let Ok(value) = HeaderValue::from_bytes(&value) {
                headers.append(name, value);
            }
        }
        let presented = Presented {
            headers: &headers,
            query: query.as_deref(),
            address: "192.0.2.1:4000".parse().unwrap(),
            certificate: None,
        };
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        prop_assert!(runtime.block_on(gatekeeper.admit(presented)).is_err());
    }
}
