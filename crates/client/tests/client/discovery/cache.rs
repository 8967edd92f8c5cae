//! How long a card is kept, and who waits for it (T-15).

use std::{
    sync::{
        Arc, OnceLock,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::Duration,
};

use nuncio_client::discover::{Ask, CardCache, DEFAULT_TTL, Error, STALE_LIMIT, Source};
use nuncio_net::{Client, Errand, Guard, Policy, Purpose, Trust};
use tokio::sync::Barrier;

use crate::discovery::support::{
    CARD, Recorder, Script, Server, cards, client, header, ok, pass, status, with_headers,
};

const PATH: &str = "/.well-known/agent-card.json";

#[tokio::test]
async fn hd_03_one_fetch_is_enough_for_everybody() {
    let server = Server::documents(&[(PATH, CARD)]).await;
    let (cards, barrier) = (cards(), Arc::new(Barrier::new(100)));
    let waiters: Vec<_> = (0..100)
        .map(|_| {
            let (cards, ask, barrier) = (cards.clone(), server.ask(""), Arc::clone(&barrier));
            tokio::spawn(async move {
                barrier.wait().await;
                cards.get(&ask).await.map(|cached| cached.found.card.name.clone())
            })
        })
        .collect();
    for waiter in waiters {
        assert_eq!(waiter.await.unwrap().unwrap(), "Echo");
    }
    assert_eq!(server.paths(), [PATH]);
}

#[tokio::test]
async fn whoever_stops_waiting_takes_nothing_from_the_others() {
    let server = Server::documents(&[(PATH, CARD)]).await;
    let cards = cards();
    let (leader_cards, ask) = (cards.clone(), server.ask(""));
    let leader = tokio::spawn(async move { leader_cards.get(&ask).await.map(drop) });
    tokio::task::yield_now().await;
    let (other_cards, ask) = (cards.clone(), server.ask(""));
    let other = tokio::spawn(async move { other_cards.get(&ask).await.map(drop) });
    tokio::task::yield_now().await;
    leader.abort();
    other.await.unwrap().unwrap();
    assert_eq!(server.paths(), [PATH]);
}

#[tokio::test]
async fn those_who_waited_for_a_failure_try_once_more() {
    let count = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&count);
    // The first look fails at both places, all later ones succeed.
    let server = Server::start(move |_| match counted.fetch_add(1, Ordering::SeqCst) {
        0 | 1 => status("503 Service Unavailable", ""),
        _ => ok(CARD),
    })
    .await;
    let cards = cards();
    let get = |cards: CardCache, ask: Ask| async move { cards.get(&ask).await.map(drop) };
    let leader = tokio::spawn(get(cards.clone(), server.ask("")));
    tokio::task::yield_now().await;
    let others: Vec<_> =
        (0..20).map(|_| tokio::spawn(get(cards.clone(), server.ask("")))).collect();
    assert!(matches!(leader.await.unwrap(), Err(Error::NoCard { .. })));
    for other in others {
        other.await.unwrap().unwrap();
    }
    assert_eq!(count.load(Ordering::SeqCst), 3);
}

#[tokio::test]
async fn h_09_a_card_is_fetched_anew_after_its_time() {
    let server = Server::documents(&[(PATH, CARD)]).await;
    let cards = cards();
    let ask = server.ask("");
    cards.get(&ask).await.unwrap();
    let nearly = Duration::from_secs(9 * 60);
    pass(nearly).await;
    let cached = cards.get(&ask).await.unwrap();
    assert!(cached.age >= nearly);
    assert_eq!(server.paths().len(), 1);
    pass(Duration::from_secs(60)).await;
    assert_eq!(cards.get(&ask).await.unwrap().age, Duration::ZERO);
    assert_eq!(server.paths().len(), 2);
    let short = ask.ttl(Duration::from_secs(30));
    let cards = self::cards();
    cards.get(&short).await.unwrap();
    pass(Duration::from_secs(31)).await;
    cards.get(&short).await.unwrap();
    assert_eq!(server.paths().len(), 4);
}

#[tokio::test]
async fn the_servers_word_shortens_the_default_and_not_the_peers_own() {
    let server =
        Server::start(|_| with_headers("200 OK", "cache-control: max-age=30\r\n", CARD)).await;
    let cards = cards();
    cards.get(&server.ask("")).await.unwrap();
    pass(Duration::from_secs(31)).await;
    cards.get(&server.ask("")).await.unwrap();
    assert_eq!(server.paths().len(), 2);
    let fixed = server.ask("").ttl(Duration::from_secs(300));
    let cards = self::cards();
    cards.get(&fixed).await.unwrap();
    pass(Duration::from_secs(200)).await;
    cards.get(&fixed).await.unwrap();
    assert_eq!(server.paths().len(), 3);
}

#[tokio::test]
async fn an_unchanged_card_is_not_sent_again() {
    let marks = "etag: \"7\"\r\nlast-modified: Sat, 01 Aug 2026 00:00:00 GMT\r\n";
    let server = Server::start(move |request| match header(request, "if-none-match") {
        Some("\"7\"") if header(request, "if-modified-since").is_some() => {
            "HTTP/1.1 304 Not Modified\r\n\r\n".to_owned()
        }
        _ => with_headers("200 OK", marks, CARD),
    })
    .await;
    let cards = cards();
    for round in 1..=3 {
        assert_eq!(cards.get(&server.ask("")).await.unwrap().found.card.name, "Echo");
        assert_eq!(server.paths().len(), round);
        pass(DEFAULT_TTL).await;
    }
    let asked: Vec<_> =
        server.requests().iter().map(|one| header(one, "if-none-match").is_some()).collect();
    assert_eq!(asked, [false, true, true]);
}

#[tokio::test]
async fn the_last_good_card_serves_for_a_day_and_says_so() {
    let is_up = Arc::new(AtomicBool::new(true));
    let up = Arc::clone(&is_up);
    let server = Server::start(move |_| {
        if up.load(Ordering::SeqCst) { ok(CARD) } else { status("503 Service Unavailable", "") }
    })
    .await;
    let (cards, ask) = (cards(), server.ask(""));
    assert!(cards.get(&ask).await.unwrap().stale.is_none());
    is_up.store(false, Ordering::SeqCst);
    pass(DEFAULT_TTL).await;
    let cached = cards.get(&ask).await.unwrap();
    assert!(matches!(cached.stale, Some(Error::NoCard { .. })), "{cached:?}");
    assert!(cached.age >= DEFAULT_TTL);
    // A failure is not asked for again at once, but a moment later it is.
    let before = server.paths().len();
    assert!(cards.get(&ask).await.unwrap().stale.is_some());
    assert_eq!(server.paths().len(), before);
    pass(Duration::from_secs(6)).await;
    assert!(cards.get(&ask).await.unwrap().stale.is_some());
    assert!(server.paths().len() > before);
    pass(STALE_LIMIT).await;
    cards.get(&ask).await.unwrap_err();
    is_up.store(true, Ordering::SeqCst);
    assert!(cards.get(&ask).await.unwrap().stale.is_none());
}

#[tokio::test]
async fn a_failure_is_not_kept() {
    let server = Server::start(|_| status("503 Service Unavailable", "")).await;
    let (cards, ask) = (cards(), server.ask(""));
    cards.get(&ask).await.unwrap_err();
    cards.get(&ask).await.unwrap_err();
    assert_eq!(server.paths().len(), 4);
}

#[tokio::test]
async fn an_invalidated_card_is_fetched_whole() {
    let server = Server::start(|_| with_headers("200 OK", "etag: \"7\"\r\n", CARD)).await;
    let (cards, ask) = (cards(), server.ask(""));
    cards.get(&ask).await.unwrap();
    cards.invalidate(ask.source());
    cards.get(&ask).await.unwrap();
    let asked: Vec<_> =
        server.requests().iter().map(|one| header(one, "if-none-match").is_some()).collect();
    assert_eq!(asked, [false, false]);
    cards.invalidate(&Source::url("https://other.example"));
    cards.get(&ask).await.unwrap();
    assert_eq!(server.paths().len(), 2);
}

#[tokio::test]
async fn the_card_of_one_trust_is_not_anothers() {
    let server = Server::documents(&[(PATH, CARD)]).await;
    let cards = cards();
    cards.get(&server.ask("")).await.unwrap();
    cards.get(&Ask::new(Source::url(server.url("")), Trust::Caller)).await.unwrap();
    assert_eq!(server.paths().len(), 2);
    assert_eq!(cards.len(), 2);
}

#[tokio::test]
async fn no_more_cards_are_kept_than_allowed() {
    let server =
        Server::documents(&[("/a.json", CARD), ("/b.json", CARD), ("/c.json", CARD)]).await;
    let cards = CardCache::with_entries(client(), 2);
    for path in ["/a.json", "/b.json", "/a.json", "/c.json", "/a.json"] {
        cards.get(&server.ask(path)).await.unwrap();
        pass(Duration::from_millis(1)).await;
        assert!(cards.len() <= 2);
    }
    // The one that was used stayed, the other one went.
    assert_eq!(server.paths(), ["/a.json", "/b.json", "/c.json"]);
    cards.get(&server.ask("/b.json")).await.unwrap();
    assert_eq!(server.paths().len(), 4);
}

#[tokio::test]
async fn a_card_that_is_declared_old_while_it_is_fetched_is_old() {
    let known: Arc<OnceLock<(CardCache, Source)>> = Arc::default();
    let told = Arc::clone(&known);
    let server = Server::start(move |_| {
        if let Some((cards, source)) = told.get() {
            cards.invalidate(source);
        }
        ok(CARD)
    })
    .await;
    let (cards, ask) = (cards(), server.ask(""));
    known.set((cards.clone(), ask.source().clone())).unwrap();
    cards.get(&ask).await.unwrap();
    cards.get(&ask).await.unwrap();
    assert_eq!(server.paths().len(), 2);
}

#[tokio::test]
async fn an_old_card_does_not_serve_for_one_that_our_own_rule_forbids() {
    let server = Server::start(|_| with_headers("200 OK", "connection: close\r\n", CARD)).await;
    let policy = Policy::default().allow_http(Errand::caller(Purpose::Card));
    let addresses = Script::new(&[&["93.184.216.34"], &["10.0.0.1"]]);
    let client = Client::builder(Guard::new(policy).resolver(addresses))
        .dialer(Recorder::leading_to(&server))
        .build()
        .unwrap();
    let cards = CardCache::new(client);
    let ask = Ask::new(Source::url("http://agent.example/card.json"), Trust::Caller);
    cards.get(&ask).await.unwrap();
    pass(DEFAULT_TTL).await;
    let error = cards.get(&ask).await.unwrap_err();
    assert!(error.to_string().contains("not public"), "{error}");
}
