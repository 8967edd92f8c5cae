//! Cards that come ready.

use nuncio_protocol::{
    card::{
        AgentCard,
        sign::{Algorithm, KeySet, Signer},
    },
    json,
};
use nuncio_server::{CardReaders, StreamLimits};
use nuncio_testkit::wire::Http;

use super::world::{AGENTS, MODIFIED, World, card};

const CARD: &str = "/.well-known/agent-card.json";
const OLD: &str = "/.well-known/agent.json";
const V1: (&str, &str) = ("a2a-version", "1.0");

#[tokio::test]
async fn a_card_is_shown_as_it_was_given() {
    let world = World::start().await;
    for agent in AGENTS {
        let reply = world.stranger(agent).request("GET", CARD, &[V1], "").await;
        assert_eq!(reply.status, 200, "{}", reply.text());
        let shown: AgentCard = json::from_str(reply.text()).expect("a card");
        assert_eq!(shown, card(agent));
        let old = world.stranger(agent).request("GET", OLD, &[], "").await.json();
        assert_eq!(old["url"], format!("https://hub.example/agents/{agent}"), "{old}");
        assert!(old["supportedInterfaces"].is_null(), "{old}");
        let hybrid = world.stranger(agent).request("GET", CARD, &[], "").await.json();
        assert!(hybrid["url"].is_string() && hybrid["supportedInterfaces"].is_array());
    }
}

#[tokio::test]
async fn a_card_is_kept_by_its_tag_and_by_when_it_was_changed() {
    let world = World::start().await;
    for agent in AGENTS {
        let http = world.stranger(agent);
        for path in [CARD, OLD] {
            let reply = http.request("GET", path, &[], "").await;
            assert_eq!(reply.header("last-modified"), MODIFIED);
            assert_eq!(reply.header("cache-control"), "public, max-age=30");
            let tag = reply.header("etag");
            for condition in [("if-none-match", tag), ("if-modified-since", MODIFIED)] {
                let again = http.request("GET", path, &[condition], "").await;
                assert_eq!((again.status, again.body.len()), (304, 0), "{condition:?}");
                assert_eq!(again.header("etag"), tag);
            }
        }
    }
    let tag = |http: Http| async move {
        http.request("GET", CARD, &[], "").await.header("etag").to_owned()
    };
    assert_ne!(tag(world.stranger("one")).await, tag(world.stranger("two")).await);
}

#[tokio::test]
async fn a_card_may_be_for_callers_who_are_let_in() {
    let world = World::with(StreamLimits::default(), |endpoint| {
        endpoint.card_readers(CardReaders::Admitted)
    })
    .await;
    for agent in AGENTS {
        for path in [CARD, OLD] {
            let refused = world.stranger(agent).request("GET", path, &[], "").await;
            assert_eq!(refused.status, 401, "{}", refused.text());
            assert!(!refused.text().contains("hub.example"), "{}", refused.text());
            let reply = world.ann(agent).request("GET", path, &[], "").await;
            assert_eq!((reply.status, reply.header("last-modified")), (200, MODIFIED));
            // Nobody else may be shown what was kept for her.
            assert_eq!(reply.header("cache-control"), "private, max-age=30");
        }
    }
}

#[tokio::test]
async fn where_there_is_no_card_there_is_none_to_read() {
    let world = World::start().await;
    for path in [CARD, OLD, "/.well-known/jwks.json"] {
        let shared = |http: Http| http.below("/shared");
        let reply = shared(world.ann("one")).request("GET", path, &[V1], "").await;
        assert_eq!(reply.status, 404, "{path}: {}", reply.text());
        let reply = shared(world.stranger("one")).request("GET", path, &[V1], "").await;
        assert_eq!(reply.status, 401, "{path}: {}", reply.text());
    }
}

#[tokio::test]
async fn keys_are_shown_where_they_were_given() {
    let signer = Signer::generate(Algorithm::Es256).expect("a key");
    let mut keys = KeySet::default();
    keys.insert(signer.public_key().clone());
    let world = World::with(StreamLimits::default(), |endpoint| endpoint.keys(keys.clone())).await;
    for agent in AGENTS {
        let reply = world.stranger(agent).request("GET", "/.well-known/jwks.json", &[], "").await;
        assert_eq!((reply.status, reply.text()), (200, &*json::to_string(&keys)));
    }
}
