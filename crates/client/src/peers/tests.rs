use std::thread;

use ipnet::IpNet;
use nuncio_net::Policy;
use proptest::prelude::*;

use super::*;

const A: &str = "https://a.example/";
const B: &str = "https://b.example/";
const C: &str = "https://c.example/";

fn guard() -> Guard {
    let range = |text: &str| text.parse::<IpNet>().expect("a range");
    let mut policy = Policy::default();
    for purpose in [Purpose::Card, Purpose::Agent] {
        policy = policy
            .open(purpose, range("10.0.0.0/8"))
            .open(purpose, range("127.0.0.0/8"))
            .allow_http(Errand::administrator(purpose));
    }
    Guard::new(policy)
}

fn peers(entries: &[(&str, u8, u64)]) -> Peers {
    let peer = |(url, trust, millis): &(&str, u8, u64)| {
        Peer::new(*url, *trust).latency(Duration::from_millis(*millis))
    };
    Peers::from_peers(guard(), entries.iter().map(peer)).expect("good peers")
}

fn urls(routes: &[Route]) -> Vec<&str> {
    routes.iter().map(|route| route.url.as_str()).collect()
}

#[track_caller]
fn check_added(peer: Peer, expected: Result<(), &str>) {
    let url = peer.url().to_owned();
    let found = Peers::new(guard()).add(peer);
    let found = found.map_err(|error| match error {
        Error::InsecureScheme { .. } => "InsecureScheme",
        Error::InvalidPeerUrl { .. } => "InvalidPeerUrl",
        Error::Refused { .. } => "Refused",
        Error::TrustTier { .. } => "TrustTier",
        _ => "other",
    });
    assert_eq!(found, expected, "{url}");
}

#[test]
fn h_07_h_15_h_21_h_27_entries_are_checked() {
    check_added(Peer::new("https://a.example", 1), Ok(()));
    check_added(Peer::new("https://a.example", 5), Ok(()));
    check_added(Peer::new("https://a.example", 0), Err("TrustTier"));
    check_added(Peer::new("https://a.example", 6), Err("TrustTier"));
    check_added(Peer::new("", 3), Err("InvalidPeerUrl"));
    check_added(Peer::new(" ", 3), Err("InvalidPeerUrl"));
    check_added(Peer::new("a.example", 3), Err("InvalidPeerUrl"));
    check_added(Peer::new("ftp://a.example", 3), Err("InvalidPeerUrl"));
    check_added(Peer::new("https://me@a.example", 3), Err("InvalidPeerUrl"));
    check_added(Peer::new("http://a.example", 3), Err("InsecureScheme"));
    check_added(Peer::new("http://a.example", 3).allow_plaintext(), Ok(()));
    check_added(Peer::new("http://localhost:8080", 3), Ok(()));
    check_added(Peer::new("http://127.1:8080", 3), Ok(()));
    check_added(Peer::new("https://10.0.0.1", 3), Err("Refused"));
    check_added(Peer::new("https://10.0.0.1", 3).allow_private(), Ok(()));
    check_added(Peer::new("https://192.168.0.1", 3).allow_private(), Err("Refused"));
    check_added(Peer::new("https://169.254.169.254", 3).allow_private(), Err("Refused"));
}

#[test]
fn h_23_a_table_of_none_or_of_bad_peers_is_not_made() {
    assert!(matches!(Peers::from_peers(guard(), []), Err(Error::NoPeers)));
    let bad = [Peer::new(A, 3), Peer::new("http://b.example", 3)];
    assert!(matches!(Peers::from_peers(guard(), bad), Err(Error::InsecureScheme { .. })));
}

#[test]
fn h_28_peers_are_found_under_one_spelling_and_sorted() {
    let table = peers(&[("https://B.example", 1, 0), (A, 2, 0)]);
    assert_eq!(table.get("https://b.EXAMPLE:443/").unwrap().peer().trust(), 1);
    let all: Vec<_> = table.all().iter().map(|entry| entry.url().as_str().to_owned()).collect();
    assert_eq!(all, [A, B]);
    table.add(Peer::new("https://b.example/", 4)).unwrap();
    assert_eq!((table.all().len(), table.get(B).unwrap().peer().trust()), (2, 4));
    table.remove("https://b.example");
    table.remove("https://b.example");
    assert!(matches!(table.allowed(B), Err(Error::PeerNotAllowed { .. })));
    let unknown = table.update_capabilities(B, ["x"], [""; 0]);
    assert!(matches!(unknown, Err(Error::PeerNotAllowed { .. })));
}

#[test]
fn c_22_strangers_are_called_only_where_that_is_the_rule_and_only_in_public() {
    let options = Options { outbound: Outbound::Public, ..Options::default() };
    let table = Peers::with_options(guard(), options);
    let stranger = table.allowed(A).unwrap();
    assert_eq!((stranger.trust(), stranger.peer().trust()), (Trust::Caller, 1));
    assert!(table.all().is_empty());
    for url in ["https://10.0.0.1", "http://a.example", "http://localhost:9", "https://127.0.0.1"] {
        assert!(table.allowed(url).is_err(), "{url}");
    }
    table.add(Peer::new("http://localhost:9", 3)).unwrap();
    assert_eq!(table.allowed("http://localhost:9").unwrap().trust(), Trust::Administrator);
}

#[test]
fn a_peer_is_trusted_beyond_public_addresses_only_where_its_entry_says_so() {
    let table = Peers::new(guard());
    let trust = |peer: Peer| {
        let url = peer.url().to_owned();
        table.add(peer).unwrap();
        table.get(&url).unwrap().trust()
    };
    assert_eq!(trust(Peer::new(A, 5)), Trust::Caller);
    assert_eq!(trust(Peer::new(A, 1).allow_private()), Trust::Administrator);
    assert_eq!(trust(Peer::new("http://localhost:9", 1)), Trust::Administrator);
}

#[test]
fn h_25_capabilities_are_skills_and_tags_of_the_card() {
    let table = peers(&[(A, 3, 0)]);
    assert_eq!(table.get(A).unwrap().capabilities().count(), 0);
    let skill = |id, tags: &[&str]| {
        nuncio_protocol::card::AgentSkill::new(id, id, "", tags.iter().copied())
    };
    let card = AgentCard::builder("Echo")
        .skill(skill("translate", &["language", "text"]))
        .skill(skill("spell", &["text"]))
        .build();
    table.learn(A, &card).unwrap();
    let entry = table.get(A).unwrap();
    assert_eq!(
        entry.capabilities().collect::<Vec<_>>(),
        ["language", "spell", "text", "translate"]
    );
}

#[test]
fn a_11_trust_outweighs_match_and_match_outweighs_speed() {
    let table = peers(&[(A, 2, 1), (B, 3, 9000), (C, 2, 500)]);
    table.update_capabilities(A, ["other"], ["translate"]).unwrap();
    table.update_capabilities(C, ["translate"], [""; 0]).unwrap();
    let routes = table.resolve("translate").unwrap();
    assert_eq!(urls(&routes), [B, C, A]);
    let matches: Vec<_> = routes.iter().map(|route| route.matched).collect();
    assert_eq!(matches, [Match::Undeclared, Match::Skill, Match::Tag]);
    assert_eq!(
        routes[1].explain(),
        "https://c.example/: trust 2 (20) + id of a skill (4) + 500 ms by its entry (0.667) = 24.667"
    );
}

/// Holds `docs/reference/peers.md` to be true.
#[test]
fn the_worked_example_of_the_reference_works() {
    let table = peers(&[(A, 2, 1), (B, 3, 9000), (C, 2, 500), ("https://d.example", 5, 10)]);
    table.update_capabilities(A, ["other"], ["translate"]).unwrap();
    table.update_capabilities(C, ["translate"], [""; 0]).unwrap();
    table.update_capabilities("https://d.example", ["spell"], [""; 0]).unwrap();
    let page = include_str!("../../../../docs/reference/peers.md");
    let rows: Vec<_> = page.lines().filter(|line| line.contains(".example/` | ")).collect();
    let Considered { routes, left_out } = table.consider("translate");
    assert_eq!((rows.len(), routes.len(), left_out.len()), (4, 3, 1));
    for (row, route) in rows.iter().zip(&routes) {
        let score = format!("= {:.3} |", route.score);
        assert!(row.contains(&route.url) && row.ends_with(&score), "{row} {score}");
    }
    assert!(rows[3].contains(&left_out[0].url) && rows[3].contains("offers other skills"));
    let errors = ["InvalidPeerUrl", "InsecureScheme", "Refused", "TrustTier", "NoPeers"];
    for name in errors.into_iter().chain(["PeerNotAllowed", "NoPeer", "AmbiguousTask"]) {
        assert!(page.contains(name), "{name} is not on the page");
    }
}

#[test]
fn t_14_an_unset_latency_never_wins_and_ties_are_settled() {
    let table = peers(&[(A, 3, 0), (B, 3, 20), (C, 3, 20)]);
    assert_eq!(urls(&table.resolve("").unwrap()), [B, C, A]);
}

#[test]
fn what_is_measured_replaces_the_hint() {
    let table = peers(&[(A, 3, 10), (B, 3, 20)]);
    assert_eq!(urls(&table.resolve("").unwrap()), [A, B]);
    for _ in 0..20 {
        table.observe(A, Outcome::Answered, Duration::from_millis(300));
    }
    let routes = table.resolve("").unwrap();
    assert_eq!(urls(&routes), [B, A]);
    assert!(routes[1].measured.is_some_and(|time| time > Duration::from_millis(290)));
    assert!(routes[1].explain().contains("ms measured"));
}

#[tokio::test(start_paused = true)]
async fn a_peer_that_fails_is_left_out_for_a_while() {
    let table = peers(&[(A, 3, 10), (B, 1, 20)]);
    let fail = |times| {
        for _ in 0..times {
            table.observe(A, Outcome::Failed, Duration::ZERO);
        }
    };
    fail(4);
    table.observe(A, Outcome::Answered, Duration::from_millis(10));
    fail(4);
    assert_eq!(urls(&table.resolve("").unwrap()), [A, B]);
    fail(1);
    let considered = table.consider("");
    assert_eq!(urls(&considered.routes), [B]);
    assert_eq!(considered.left_out[0].why, Why::Down { failures: 5 });
    // A new entry for the same peer does not make it well.
    table.add(Peer::new(A, 5)).unwrap();
    assert_eq!(urls(&table.resolve("").unwrap()), [B]);
    tokio::time::advance(Duration::from_secs(10)).await;
    assert_eq!(urls(&table.resolve("").unwrap()), [A, B]);
}

#[test]
fn nobody_to_call_is_explained() {
    let table = peers(&[(A, 3, 10)]);
    table.update_capabilities(A, ["spell"], [""; 0]).unwrap();
    let error = table.resolve("translate").unwrap_err();
    assert_eq!(
        error.to_string(),
        "no peer can be called for `translate`: https://a.example/ offers other skills"
    );
}

/// The numbers of catalogue HD-01 and HG-04.
#[test]
fn hd_01_hd_02_harbors_formula_gives_harbors_numbers() {
    let table =
        Peers::with_options(guard(), Options { ranking: Ranking::HarborV1, ..Options::default() });
    for (url, trust, millis) in [(A, 5, 50), (B, 1, 10), (C, 1, 0)] {
        table.add(Peer::new(url, trust).latency(Duration::from_millis(millis))).unwrap();
    }
    let scores = |capability: &str| -> Vec<(String, f64, u8)> {
        let routes = table.resolve(capability).unwrap();
        let score = |route: Route| (route.url.clone(), route.score, route.capability_score());
        routes.into_iter().map(score).collect()
    };
    let expect = |url: &str, score, capability| (url.to_owned(), score, capability);
    assert_eq!(scores(""), [expect(C, 1005.0, 0), expect(B, 105.0, 0), expect(A, 45.0, 0)]);
    // A tag is worth nothing, who declares nothing stays, who declares other things goes.
    table.update_capabilities(A, ["translate"], ["language"]).unwrap();
    table.update_capabilities(C, ["spell"], [""; 0]).unwrap();
    assert_eq!(scores("translate"), [expect(B, 105.0, 0), expect(A, 55.0, 1)]);
    assert_eq!(scores("language"), [expect(B, 105.0, 0), expect(A, 45.0, 0)]);
    for _ in 0..9 {
        table.observe(B, Outcome::Failed, Duration::ZERO);
    }
    assert_eq!(scores("translate").len(), 2);
}

#[test]
fn hd_13_128_readers_and_a_writer_get_along() {
    let table = peers(&[(A, 3, 10), (B, 2, 20)]);
    thread::scope(|scope| {
        for number in 0..128 {
            let table = &table;
            scope.spawn(move || {
                for _ in 0..100 {
                    let routes = table.resolve("").unwrap();
                    assert!(routes.len() >= 2 && routes.iter().any(|route| route.url == A));
                    table.observe(A, Outcome::Answered, Duration::from_millis(number));
                }
            });
        }
        for _ in 0..100 {
            table.add(Peer::new(C, 1)).unwrap();
            table.update_capabilities(B, ["x"], ["y"]).unwrap();
            table.remove(C);
        }
    });
    assert_eq!(table.all().len(), 2);
}

proptest! {
    /// The score is one number, and orders as if trust, match and time were compared in turn.
    #[test]
    fn the_score_is_lexicographic(
        entries in prop::collection::vec((1u8..=5, 0u64..20_000, 0usize..3), 1..8),
    ) {
        let table = Peers::new(guard());
        for (number, (trust, millis, kind)) in entries.iter().enumerate() {
            let url = format!("https://p{number}.example/");
            table.add(Peer::new(url.as_str(), *trust).latency(Duration::from_millis(*millis))).unwrap();
            match kind {
                0 => table.update_capabilities(&url, ["x"], [""; 0]).unwrap(),
                1 => table.update_capabilities(&url, ["y"], ["x"]).unwrap(),
                _ => {}
            }
        }
        let routes = table.resolve("x").unwrap();
        prop_assert_eq!(routes.len(), entries.len());
        for pair in routes.windows(2) {
            let key = |route: &Route| {
                let hint = if route.latency_hint.is_zero() { 1000 } else { route.latency_hint.as_millis() };
                (std::cmp::Reverse((route.trust, route.matched)), hint.min(10_000))
            };
            prop_assert!(key(&pair[0]) <= key(&pair[1]), "{:?}", pair);
        }
    }
}
