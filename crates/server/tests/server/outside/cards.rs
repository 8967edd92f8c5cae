//! Cards: who sees which, and how they are kept.

use nuncio_protocol::{
    card::{
        AgentCard,
        sign::{KeySet, verify},
    },
    json,
    version::Version,
};
use nuncio_server::CardStyle;
use nuncio_testkit::wire::{Binding, Refused};

use crate::outside::support::{Callers, Served, scripted};

const CARD: &str = "/.well-known/agent-card.json";
const OLD: &str = "/.well-known/agent.json";
const V1: (&str, &str) = ("a2a-version", "1.0");

#[tokio::test]
async fn a_card_is_sent_once_and_then_known() {
    let served = Served::start(scripted()).await;
    let http = served.http();
    for (path, headers) in [(CARD, vec![]), (CARD, vec![V1]), (OLD, vec![])] {
        let reply = http.request("GET", path, &headers, "").await;
        assert_eq!((reply.status, reply.header("content-type")), (200, "application/json"));
        assert_eq!(reply.header("cache-control"), "public, max-age=30");
        assert_eq!(reply.header("vary"), "A2A-Version");
        let (tag, modified) = (reply.header("etag"), reply.header("last-modified"));
        assert!(tag.starts_with('"') && tag.ends_with('"'), "{tag}");
        assert!(modified.ends_with(" GMT") && modified.len() == 29, "{modified}");

        let weak = format!("\"other\", W/{tag}");
        for condition in [
            ("if-none-match", tag),
            ("if-none-match", &weak),
            ("if-none-match", "*"),
            ("if-modified-since", modified),
        ] {
            let headers = [headers.clone(), vec![condition]].concat();
            let again = http.request("GET", path, &headers, "").await;
            assert_eq!((again.status, again.body.len()), (304, 0), "{condition:?}");
            assert_eq!(again.header("etag"), tag);
        }
        for condition in [
            vec![("if-none-match", "\"other\"")],
            // The tag counts, if there is one.
            vec![("if-none-match", "\"other\""), ("if-modified-since", modified)],
            vec![("if-modified-since", "Thu, 01 Jan 1970 00:00:00 GMT")],
        ] {
            let headers = [headers.clone(), condition].concat();
            assert_eq!(http.request("GET", path, &headers, "").await.status, 200, "{headers:?}");
        }

        let head = http.request("HEAD", path, &headers, "").await;
        assert_eq!((head.status, head.body.len(), head.header("etag")), (200, 0, tag));
        assert_eq!(head.header("content-length"), reply.body.len().to_string());
    }
    let tags = [vec![], vec![V1]].map(|headers| {
        let http = http.clone();
        async move { http.request("GET", CARD, &headers, "").await.header("etag").to_owned() }
    });
    let [hybrid, plain] = tags;
    assert_ne!(hybrid.await, plain.await);
}

#[tokio::test]
async fn a_card_is_of_the_version_in_header_or_query() {
    let served = Served::start(scripted()).await;
    let http = served.http();
    let by_header = http.request("GET", CARD, &[V1], "").await;
    for (query, is_same) in
        [("?A2A-Version=1.0", true), ("?a2a-version=1.0", true), ("?v=1.0", false)]
    {
        let by_query = http.request("GET", &format!("{CARD}{query}"), &[], "").await;
        assert_eq!(by_query.text() == by_header.text(), is_same, "{query}: {}", by_query.text());
    }
    // The header counts, if there is one.
    let path = format!("{CARD}?A2A-Version=1.0");
    let both = http.request("GET", &path, &[("a2a-version", "0.3")], "").await;
    assert_ne!(both.text(), by_header.text());
}

#[tokio::test]
async fn readers_of_either_version_find_their_members() {
    for (style, legacy) in [(CardStyle::Hybrid, true), (CardStyle::Plain, false)] {
        let served = Served::start(scripted().card_style(style)).await;
        let http = served.http();
        let plain = http.request("GET", CARD, &[V1], "").await.json();
        assert!(plain["supportedInterfaces"].is_array() && plain["preferredTransport"].is_null());
        let unversioned = http.request("GET", CARD, &[], "").await.json();
        assert!(unversioned["supportedInterfaces"].is_array());
        assert_eq!(unversioned["preferredTransport"].is_string(), legacy, "{style:?}");
        let old = http.request("GET", OLD, &[], "").await.json();
        assert!(old["url"].is_string() && old["protocolVersion"].is_string(), "{old}");
    }
}

#[tokio::test]
async fn a_card_never_says_what_a_caller_calls_the_server() {
    let agent = scripted().public_url("https://agents.example.com/echo/");
    let served = Served::start(agent).await;
    for headers in [
        vec![("host", "evil.example")],
        vec![("x-forwarded-host", "evil.example"), ("forwarded", "host=evil.example")],
    ] {
        for path in [CARD, OLD] {
            let reply = served.http().request("GET", path, &headers, "").await;
            assert!(!reply.text().contains("evil.example"), "{}", reply.text());
        }
    }
    let card = served.http().request("GET", CARD, &[V1], "").await.json();
    let interfaces = card["supportedInterfaces"].as_array().expect("a list");
    for interface in interfaces {
        let url = match interface["protocolBinding"].as_str() {
            Some("GRPC") => "agents.example.com:443",
            _ => "https://agents.example.com/echo",
        };
        assert_eq!(interface["url"], url, "{interface}");
    }
    assert_eq!(interfaces.len(), 6);
}

#[tokio::test]
async fn a_signed_card_verifies_with_the_keys_that_are_shown() {
    let agent = scripted().sign().expect("a key");
    let served = Served::start(agent).await;
    let keys = served.http().request("GET", "/.well-known/jwks.json", &[], "").await;
    assert_eq!((keys.status, keys.header("content-type")), (200, "application/json"));
    let keys: KeySet = json::from_str(keys.text()).expect("a set of keys");
    for headers in [vec![V1], vec![]] {
        let card = served.http().request("GET", CARD, &headers, "").await;
        verify(card.text(), &keys).expect("the signature is good");
        let forged = card.text().replace("\"script\"", "\"forged\"");
        assert_ne!(forged, card.text());
        assert!(verify(&forged, &keys).is_err());
    }
    // Who does not sign has no keys to show.
    let served = Served::start(scripted()).await;
    let keys = served.http().request("GET", "/.well-known/jwks.json", &[V1], "").await;
    assert_eq!(keys.status, 404);
}

#[tokio::test]
async fn the_extended_card_is_for_callers_who_are_known() {
    let extended = AgentCard::builder("script").description("more").build();
    let callers = Callers::new();
    let gatekeeper = nuncio_auth::Gatekeeper::builder()
        .api_keys(callers.keys.clone())
        .open_to_loopback()
        .build()
        .expect("a way in");
    let agent = scripted().extended_card(extended).gatekeeper(gatekeeper);
    let served = Served::start(agent).await;
    let public = served.http().request("GET", CARD, &[V1], "").await.json();
    assert_eq!(public["capabilities"]["extendedAgentCard"], true);
    let reply = callers.ann(&served).request("GET", "/extendedAgentCard", &[V1], "").await;
    assert_eq!((reply.status, &reply.json()["description"]), (200, &serde_json::json!("more")));
    let reply = served.http().request("GET", "/extendedAgentCard", &[V1], "").await;
    let refused = Refused::read(Binding::HttpJson, Version::V1_0, &reply);
    assert_eq!((refused.code, refused.error.reason()), (401, "UNAUTHENTICATED"));
    assert!(reply.header("www-authenticate").starts_with("Bearer"));

    let served = Served::start(scripted()).await;
    let reply = served.http().request("GET", "/extendedAgentCard", &[V1], "").await;
    let refused = Refused::read(Binding::HttpJson, Version::V1_0, &reply);
    assert_eq!((refused.code, refused.error.reason()), (400, "UNSUPPORTED_OPERATION"));
}
