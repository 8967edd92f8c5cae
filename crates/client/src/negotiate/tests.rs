use std::sync::Arc;

use ipnet::IpNet;
use nuncio_net::Policy;
use nuncio_protocol::card::{AgentCard, read_any};

use super::*;
use crate::discover::Verdict;

const HOME: &str = "https://agent.example/a2a";

fn guard() -> Guard {
    let private: IpNet = "10.0.0.0/8".parse().expect("a range");
    let loopback: IpNet = "127.0.0.0/8".parse().expect("a range");
    Guard::new(
        Policy::default()
            .open(Purpose::Agent, private)
            .open(Purpose::Agent, loopback)
            .open(Purpose::Card, private)
            .open(Purpose::Card, loopback)
            .allow_http(Errand::administrator(Purpose::Agent))
            .allow_http(Errand::administrator(Purpose::Card)),
    )
}

fn found(home: Option<&str>, trust: Trust, interfaces: &[(&str, &str, &str)]) -> Found {
    let one = |(url, binding, version): &(&str, &str, &str)| AgentInterface {
        url: (*url).to_owned(),
        protocol_binding: (*binding).to_owned(),
        protocol_version: (*version).to_owned(),
        tenant: None,
    };
    let mut card = AgentCard::builder("Echo").build();
    card.supported_interfaces = interfaces.iter().map(one).collect();
    let (_, form) = read_any(r#"{"name":"x"}"#).expect("a card");
    let check = |text: &str| {
        guard().check_url(text, Errand { purpose: Purpose::Card, trust }).expect("a good home")
    };
    Found {
        card,
        form,
        text: Arc::from(""),
        url: home.map(check),
        base: home.map(check),
        trust,
        verdict: Verdict::Unchecked,
    }
}

fn names(negotiated: &Negotiated) -> Vec<String> {
    let name = |one: &Interface| format!("{} {}", one.form.name(), one.url.as_str());
    negotiated.interfaces.iter().map(name).collect()
}

#[track_caller]
fn check_order(terms: &Terms, interfaces: &[(&str, &str, &str)], expected: &[&str]) {
    let found = found(Some(HOME), Trust::Caller, interfaces);
    assert_eq!(names(&negotiate(&found, terms, &guard())), expected);
}

#[test]
fn versions_come_first_then_the_agents_own_order() {
    check_order(
        &Terms::default(),
        &[
            (HOME, "JSONRPC", "0.2.5"),
            (HOME, "JSONRPC", "0.3.0"),
            (HOME, "HTTP+JSON", "1.0"),
            ("agent.example:443", "GRPC", "1.0"),
            (HOME, "JSONRPC", "1.0"),
        ],
        &[
            "A2A 1.0 HTTP+JSON https://agent.example/a2a",
            "A2A 1.0 gRPC https://agent.example/",
            "A2A 1.0 JSON-RPC https://agent.example/a2a",
            "A2A 0.3 JSON-RPC https://agent.example/a2a",
            "A2A 0.2 JSON-RPC https://agent.example/a2a",
        ],
    );
}

#[test]
fn the_callers_order_of_bindings_counts_within_a_version() {
    check_order(
        &Terms::default().bindings([Binding::JsonRpc, Binding::HttpJson]),
        &[(HOME, "GRPC", "1.0"), (HOME, "HTTP+JSON", "1.0"), (HOME, "jsonrpc-over-https", "1.0")],
        &[
            "A2A 1.0 JSON-RPC https://agent.example/a2a",
            "A2A 1.0 HTTP+JSON https://agent.example/a2a",
        ],
    );
}

#[test]
fn hd_05_an_empty_url_means_the_base() {
    check_order(
        &Terms::default(),
        &[("", "JSONRPC", "1.0")],
        &["A2A 1.0 JSON-RPC https://agent.example/a2a"],
    );
}

#[test]
fn no_version_means_0_3() {
    check_order(
        &Terms::default(),
        &[(HOME, "JSONRPC", "")],
        &["A2A 0.3 JSON-RPC https://agent.example/a2a"],
    );
}

#[test]
fn a_version_that_is_asked_for_is_spoken_where_it_is_declared_first() {
    check_order(
        &Terms::default().version(Version::V0_3),
        &[
            (HOME, "JSONRPC", "1.0"),
            ("https://agent.example/old", "JSONRPC", "0.3.0"),
            ("agent.example:443", "GRPC", "1.0"),
        ],
        &[
            "A2A 0.3 JSON-RPC https://agent.example/old",
            "A2A 0.3 JSON-RPC https://agent.example/a2a",
            "A2A 0.3 gRPC https://agent.example/",
        ],
    );
}

#[test]
fn a_dialect_is_spoken_where_configured() {
    check_order(
        &Terms::default().dialect(WireForm::Harbor),
        &[(HOME, "JSONRPC", "1.0"), (HOME, "HTTP+JSON", "1.0")],
        &[
            "Harbor JSON-RPC https://agent.example/a2a",
            "A2A 1.0 HTTP+JSON https://agent.example/a2a",
        ],
    );
    check_order(
        &Terms::default().dialect(WireForm::Opportunity),
        &[],
        &["opportunity envelope https://agent.example/a2a"],
    );
}

#[track_caller]
fn check_rejected(terms: &Terms, home: &str, trust: Trust, url: &str, expected: &str) {
    let found = found(Some(home), trust, &[(url, "JSONRPC", "1.0")]);
    let negotiated = negotiate(&found, terms, &guard());
    assert_eq!(names(&negotiated), [""; 0]);
    let reasons: Vec<_> = negotiated.rejected.iter().map(|one| one.reason.to_string()).collect();
    assert!(reasons.len() == 1 && reasons[0].contains(expected), "{url}: {reasons:?}");
    assert!(negotiated.best().unwrap_err().to_string().contains(expected));
}

#[test]
fn hg_07_urls_in_a_card_are_strangers_words() {
    let terms = Terms::default();
    let refused = |url, expected| check_rejected(&terms, HOME, Trust::Caller, url, expected);
    refused("http://0.0.0.0:8080/", "such as `https://agent.example`");
    refused("http://[::]:8080/", "listen at");
    refused("http://localhost:8080/", "is this machine");
    refused("http://127.1:8080/", "is this machine");
    refused("http://agent.example/a2a", "not https");
    refused("http://other.example/a2a", "not https");
    refused("https://10.0.0.1/a2a", "not public");
    refused("https://169.254.169.254/latest", "metadata");
    refused("https://[::ffff:10.0.0.1]/", "not public");
    refused("https://me@agent.example/", "user name");
    refused("file:///etc/passwd", "scheme");
    refused("/a2a", "not a URL");
    refused("https:\\\\agent.example", "backslash");
}

#[test]
fn an_administrators_card_speaks_for_its_own_origin_only() {
    let home = "https://10.0.0.1/a2a";
    let inside = found(
        Some(home),
        Trust::Administrator,
        &[(home, "JSONRPC", "1.0"), ("https://other.example/", "JSONRPC", "1.0")],
    );
    let negotiated = negotiate(&inside, &Terms::default(), &guard());
    let trusts: Vec<_> = negotiated.interfaces.iter().map(|one| one.url.errand().trust).collect();
    assert_eq!(trusts, [Trust::Administrator, Trust::Caller]);
    let terms = Terms::default();
    check_rejected(&terms, home, Trust::Administrator, "https://10.0.0.2/", "not public");
    check_rejected(&terms, home, Trust::Administrator, "https://10.0.0.1:444/", "not public");
}

#[test]
fn another_origin_needs_to_be_allowed_or_public() {
    let terms = Terms::default().refuse_other_origins();
    check_rejected(&terms, HOME, Trust::Caller, "https://other.example/", "not on the list");
    let other = Origin::parse("http://10.0.0.2:8080").unwrap();
    let terms = terms.allow_origin(other);
    let found =
        found(Some(HOME), Trust::Administrator, &[("http://10.0.0.2:8080/", "JSONRPC", "1.0")]);
    assert_eq!(
        names(&negotiate(&found, &terms, &guard())),
        ["A2A 1.0 JSON-RPC http://10.0.0.2:8080/"]
    );
}

#[test]
fn all_of_a_file_is_the_word_of_whoever_named_it() {
    let interfaces = [("http://127.0.0.1:8080/", "JSONRPC", "1.0"), ("", "JSONRPC", "1.0")];
    let negotiated =
        negotiate(&found(None, Trust::Administrator, &interfaces), &Terms::default(), &guard());
    assert_eq!(names(&negotiated), ["A2A 1.0 JSON-RPC http://127.0.0.1:8080/"]);
    assert_eq!(negotiated.rejected[0].reason, Reason::NoUrl);
}

#[test]
fn what_we_do_not_speak_is_named() {
    let offered = [
        (HOME, "JSONRPC", "2.0"),
        (HOME, "JSONRPC", "0.1"),
        (HOME, "HTTP+JSON", "0.2"),
        (HOME, "https://x.example/own", "1.0"),
        (HOME, "JSONRPC", "newest"),
    ];
    let negotiated =
        negotiate(&found(Some(HOME), Trust::Caller, &offered), &Terms::default(), &guard());
    let reasons: Vec<_> = negotiated.rejected.into_iter().map(|one| one.reason).collect();
    let version = Reason::Version;
    assert_eq!(
        reasons,
        [version.clone(), version.clone(), version.clone(), Reason::Binding, version]
    );
}

#[test]
fn h_10_a_card_without_json_rpc_is_told_to_whoever_wants_nothing_else() {
    let found = found(Some(HOME), Trust::Caller, &[(HOME, "GRPC", "1.0")]);
    let terms = Terms::default().bindings([Binding::JsonRpc]);
    assert_eq!(
        negotiate(&found, &terms, &guard()).best().unwrap_err().to_string(),
        "no interface of the card can be used: GRPC 1.0 at `https://agent.example/a2a`: the binding is not among those asked for"
    );
}

#[test]
fn this_machine_is_the_same_by_any_name_but_not_at_another_port() {
    let home = "http://127.0.0.1:8080/";
    let offered = [
        ("http://localhost:8080/a2a", "JSONRPC", "1.0"),
        ("http://localhost:8081/a2a", "JSONRPC", "1.0"),
    ];
    let found = found(Some(home), Trust::Administrator, &offered);
    let negotiated = negotiate(&found, &Terms::default(), &guard());
    assert_eq!(names(&negotiated), ["A2A 1.0 JSON-RPC http://localhost:8080/a2a"]);
    assert_eq!(negotiated.rejected.len(), 1);
}
