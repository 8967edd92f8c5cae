//! Where a card is looked for, and what is said when there is none.

use std::io::Write as _;

use nuncio_client::{
    Origin,
    credentials::{ApiKey, Bearer, KeyPlace},
    discover::{Ask, Error, Outcome, Source},
};
use nuncio_net::{Secret, Trust};
use nuncio_protocol::card::CardForm;

use crate::discovery::support::{CARD, Server, cards, header, ok, path_of, status, with_headers};

const V02: &str = r#"{"name":"Old","url":"http://old.example/","version":"1","skills":[]}"#;

#[tokio::test]
async fn c_17_every_place_is_tried_in_order() {
    let server = Server::documents(&[("/.well-known/agent.json", V02)]).await;
    let cached = cards().get(&server.ask("/a2a")).await.unwrap();
    assert_eq!(
        server.paths(),
        [
            "/a2a",
            "/a2a/.well-known/agent-card.json",
            "/.well-known/agent-card.json",
            "/a2a/.well-known/agent.json",
            "/.well-known/agent.json",
        ]
    );
    let found = &cached.found;
    assert_eq!((found.card.name.as_str(), found.form), ("Old", CardForm::V02));
    assert_eq!(found.url.as_ref().unwrap().as_str(), server.url("/.well-known/agent.json"));
    assert_eq!(found.base.as_ref().unwrap().as_str(), server.url("/a2a"));
    assert_eq!(&*found.text, V02);
}

#[tokio::test]
async fn h_04_a_host_is_asked_at_the_well_known_place() {
    let server = Server::documents(&[("/.well-known/agent-card.json", CARD)]).await;
    let source = Source::parse(&server.address.to_string()).unwrap();
    let cached = cards().get(&Ask::new(source, Trust::Caller)).await.unwrap();
    assert_eq!(cached.found.card.name, "Echo");
    assert_eq!(server.paths(), ["/.well-known/agent-card.json"]);
}

#[tokio::test]
async fn what_was_tried_is_told() {
    let server = Server::start(|request| match path_of(request) {
        "/x" => with_headers("302 Found", "location: http://10.0.0.1/card?k=v\r\n", ""),
        "/x/.well-known/agent-card.json" => status("500 Internal Server Error", ""),
        _ => status("404 Not Found", "none"),
    })
    .await;
    let error = cards().get(&server.ask("/x")).await.unwrap_err();
    let Error::NoCard { tried, .. } = &error else { panic!("{error}") };
    let told: Vec<String> = tried.iter().map(|one| one.outcome.to_string()).collect();
    assert_eq!(
        told,
        [
            "302 Found to `http://10.0.0.1/card`, which is not followed; name that URL itself",
            "500 Internal Server Error",
            "404 Not Found",
            "404 Not Found",
            "404 Not Found",
        ]
    );
    assert!(error.to_string().contains("/x/.well-known/agent.json (404 Not Found)"), "{error}");
}

#[tokio::test]
async fn h_17_an_answer_that_is_no_card_is_named_as_such() {
    for body in
        ["<html>", "[]", r#"{"version":"1"}"#, r#"{"name":7}"#, r#"{"name":"a","name":"b"}"#]
    {
        let server = Server::documents(&[("/.well-known/agent-card.json", body)]).await;
        let error = cards().get(&server.ask("")).await.unwrap_err();
        assert!(matches!(error, Error::AgentCardSchemaInvalid { .. }), "{body}: {error}");
    }
}

#[tokio::test]
async fn hd_04_a_card_of_more_than_a_mebibyte_is_refused() {
    let huge = format!("{CARD}{}", " ".repeat(1024 * 1024));
    let server = Server::documents(&[("/card.json", &huge)]).await;
    let error = cards().get(&server.ask("/card.json")).await.unwrap_err();
    let first = &error.tried()[0].outcome;
    assert!(
        matches!(first, Outcome::Failed(nuncio_net::Error::TooLarge { limit: 1_048_576 })),
        "{error}"
    );
}

#[tokio::test]
async fn a_dead_host_is_asked_once() {
    let server = Server::start(|_| ok("")).await;
    let dead = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let ask = Ask::new(Source::url(format!("http://{dead}/a2a")), Trust::Caller);
    let error = cards().get(&ask).await.unwrap_err();
    assert_eq!(error.tried().len(), 1, "{error}");
    assert!(error.to_string().contains("refused"), "{error}");
    assert_eq!(server.paths().len(), 0);
}

#[tokio::test]
async fn pg_11_a_card_behind_a_credential_is_fetched_with_it_and_only_then() {
    let server = Server::start(|request| match header(request, "authorization") {
        Some("Bearer swordfish") => ok(CARD),
        _ => status("401 Unauthorized", ""),
    })
    .await;
    let ask = server.ask("/card.json");
    let error = cards().get(&ask).await.unwrap_err();
    assert!(error.to_string().contains("needs credentials"), "{error}");
    let origin = Origin::parse(&server.url("")).unwrap();
    let bearer = Bearer::new(origin, &Secret::new("swordfish")).unwrap();
    let before = server.requests().len();
    let cached = cards().get(&ask.credentials(std::sync::Arc::new(bearer))).await.unwrap();
    assert_eq!(cached.found.card.name, "Echo");
    let sent: Vec<_> = server.requests()[before..]
        .iter()
        .map(|request| header(request, "authorization").is_some())
        .collect();
    assert_eq!(sent, [false, true]);
}

/// Where many agents share a host, the card at its root is not that of one which hides its own.
#[tokio::test]
async fn a_hidden_card_is_not_taken_for_that_of_the_host() {
    for (interface, is_found) in
        [("/a2a", false), ("/agents/bob", false), ("/agents/ann", true), ("/agents/ann/v1", true)]
    {
        let card = CARD.replace(r#""url":"""#, &format!(r#""url":"http://HOST{interface}""#));
        let server = Server::start(move |request| match path_of(request) {
            "/.well-known/agent-card.json" => {
                let host = header(request, "host").unwrap_or_default();
                ok(&card.replace("HOST", host))
            }
            _ => status("401 Unauthorized", ""),
        })
        .await;
        for given in ["/agents/ann", "/agents/ann/.well-known/agent-card.json"] {
            match cards().get(&server.ask(given)).await {
                Ok(_) => assert!(is_found, "{given}: the card of {interface} was taken"),
                Err(error) => {
                    assert!(!is_found, "{given} {interface}: {error}");
                    let text = error.to_string();
                    assert!(text.contains("needs credentials"), "{text}");
                    assert!(text.contains("another agent, `Echo`"), "{text}");
                }
            }
        }
    }
}

#[tokio::test]
async fn a_key_can_go_into_the_query() {
    let server = Server::start(|request| match path_of(request) {
        "/card.json?k=sword%20fish" => ok(CARD),
        _ => status("401 Unauthorized", ""),
    })
    .await;
    let origin = Origin::parse(&server.url("")).unwrap();
    let place = KeyPlace::Query("k".to_owned());
    let key = ApiKey::new(origin, place, &Secret::new("sword fish")).unwrap();
    let ask = server.ask("/card.json").credentials(std::sync::Arc::new(key));
    let cached = cards().get(&ask).await.unwrap();
    assert!(!cached.found.url.as_ref().unwrap().as_str().contains("fish"));
}

#[tokio::test]
async fn a_credential_of_another_origin_stays_at_home() {
    let server = Server::start(|_| status("401 Unauthorized", "")).await;
    let origin = Origin::parse("https://elsewhere.example").unwrap();
    let bearer = Bearer::new(origin, &Secret::new("swordfish")).unwrap();
    let ask = server.ask("/card.json").credentials(std::sync::Arc::new(bearer));
    cards().get(&ask).await.unwrap_err();
    assert!(server.requests().iter().all(|request| header(request, "authorization").is_none()));
}

#[tokio::test]
async fn a_card_can_come_from_a_file() {
    let mut file = tempfile::NamedTempFile::with_suffix(".json").unwrap();
    file.write_all(CARD.as_bytes()).unwrap();
    let ask = Ask::new(Source::file(file.path()), Trust::Administrator);
    let cached = cards().get(&ask).await.unwrap();
    assert_eq!(cached.found.card.name, "Echo");
    assert!(cached.found.url.is_none());
    let cards = cards();
    let (first, second) = (cards.get(&ask).await.unwrap(), cards.get(&ask).await.unwrap());
    assert!(!std::sync::Arc::ptr_eq(&first.found, &second.found), "it is read anew");
    file.write_all(b"x").unwrap();
    let error = self::cards().get(&ask).await.unwrap_err();
    assert!(matches!(error, Error::AgentCardSchemaInvalid { .. }), "{error}");
    let missing = Ask::new(Source::file("/nowhere/card.json"), Trust::Administrator);
    let error = cards.get(&missing).await.unwrap_err();
    assert!(matches!(error, Error::File { .. }), "{error}");
}
