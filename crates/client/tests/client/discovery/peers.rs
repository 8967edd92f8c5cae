//! From an entry to an interface, as a caller goes.

use std::time::Duration;

use nuncio_client::{
    discover::CardCache,
    negotiate::negotiate,
    peers::{Match, Outcome, Peer, Peers},
};
use nuncio_net::{Client, Errand, Guard, Policy, Purpose, Trust};
use nuncio_protocol::dialect::WireForm;

use crate::discovery::support::Server;

const CARD: &str = r#"{"name":"Words","version":"1","skills":[{"id":"translate","name":"","description":"","tags":["language"]}],"supportedInterfaces":[{"url":"","protocolBinding":"JSONRPC","protocolVersion":"1.0"},{"url":"http://0.0.0.0:80/","protocolBinding":"HTTP+JSON","protocolVersion":"1.0"}]}"#;

/// A guard that lets administrators, and nobody else, reach the servers of the tests.
fn guard() -> Guard {
    let loopback = "127.0.0.0/8".parse().expect("a range");
    let policy =
        [Purpose::Card, Purpose::Agent].into_iter().fold(Policy::default(), |policy, one| {
            policy.open(one, loopback).allow_http(Errand::administrator(one))
        });
    Guard::new(policy)
}

#[tokio::test]
async fn a_peer_is_registered_found_ranked_and_reached() {
    let server = Server::documents(&[("/x/.well-known/agent-card.json", CARD)]).await;
    let client = Client::new(guard());
    let cards = CardCache::new(client.clone());
    let url = server.url("/x");
    let peers = Peers::from_peers(
        guard(),
        [Peer::new(url.as_str(), 4), Peer::new("https://other.example", 4)],
    )
    .unwrap();
    // Before its card is read, a peer may offer anything.
    assert!(peers.resolve("translate").unwrap().iter().all(|one| one.matched == Match::Undeclared));
    let entry = peers.allowed(&url).unwrap();
    let cached = cards.get(entry.ask()).await.unwrap();
    peers.learn(&url, &cached.found.card).unwrap();
    let routes = peers.resolve("translate").unwrap();
    assert_eq!((routes[0].url.as_str(), routes[0].matched), (url.as_str(), Match::Skill));
    let negotiated = negotiate(&cached.found, &entry.terms(), client.guard());
    let interface = negotiated.best().unwrap();
    assert_eq!((interface.url.as_str(), interface.form), (url.as_str(), WireForm::V1));
    assert_eq!(interface.url.errand().trust, Trust::Administrator);
    assert_eq!(negotiated.rejected.len(), 1);
    peers.observe(&url, Outcome::Answered, Duration::from_millis(3));
    assert!(peers.resolve("language").unwrap()[0].measured.is_some());
    // The next caller finds the card at hand.
    cards.get(peers.allowed(&url).unwrap().ask()).await.unwrap();
    assert_eq!(server.paths().len(), 2);
}

#[tokio::test]
async fn what_an_administrator_may_reach_a_caller_may_not() {
    let server = Server::documents(&[("/card.json", CARD)]).await;
    let cards = CardCache::new(Client::new(guard()));
    cards.get(&server.ask("/card.json")).await.unwrap();
    let source = nuncio_client::discover::Source::url(server.url("/card.json"));
    let ask = nuncio_client::discover::Ask::new(source, Trust::Caller);
    cards.get(&ask).await.unwrap_err();
    assert_eq!(server.paths().len(), 1);
}
