//! A-SSRF for every URL of this half: nothing is dialed for what is refused, neither when it
//! is named nor when a connection is opened.

use std::sync::Arc;

use nuncio_client::{
    Credentials as _, Origin,
    credentials::OAuth2ClientCredentials,
    discover::{Ask, CardCache, Error, SignaturePolicy, Signatures, Source},
    negotiate::{Terms, negotiate},
    peers::{Peer, Peers},
};
use nuncio_net::{Client, Errand, Guard, Policy, Purpose, Request, Secret, Trust};
use nuncio_protocol::{
    card::{
        AgentCard,
        sign::{Algorithm, Signer, sign},
    },
    json,
};

use crate::discovery::support::{CARD, Recorder, Script, Server, ok};

/// URLs that lead to nowhere that anybody but an administrator may reach, in every disguise.
const REFUSED: &[&str] = &[
    "https://127.0.0.1/",
    "https://127.1/",
    "https://2130706433/",
    "https://0x7f000001/",
    "https://0177.0.0.1/",
    "https://localhost/",
    "https://localhost./",
    "https://a.localhost/",
    "https://①②⑦.0.0.1/",
    "https://[::1]/",
    "https://[::ffff:127.0.0.1]/",
    "https://[64:ff9b::7f00:1]/",
    "https://[2002:7f00:1::]/",
    "https://0.0.0.0/",
    "https://10.0.0.1/",
    "https://172.16.0.1/",
    "https://192.168.0.1/",
    "https://100.64.0.1/",
    "https://198.18.0.1/",
    "https://169.254.169.254/latest/meta-data/",
    "https://[fd00:ec2::254]/",
    "https://224.0.0.1/",
    "https://240.0.0.1/",
    "https://[fe80::1]/",
    "https://[fc00::1]/",
    "http://agent.example/",
    "ftp://agent.example/",
    "file:///etc/passwd",
    "gopher://agent.example/",
    "https://me@agent.example/",
    "https://me:secret@agent.example/",
    "https://agent.example\\@10.0.0.1/",
    "https:agent.example/",
    "https:///agent.example/",
    "https://agent.example:0/",
    "https://agent.example/#x",
    "https://agent .example/",
    "https://agent.example/\n",
];

/// A client for which every name leads to these addresses, one list after the other.
fn client(answers: &[&[&str]], recorder: &Recorder) -> Client {
    let guard = Guard::new(Policy::default()).resolver(Script::new(answers));
    Client::builder(guard).dialer(recorder.clone()).build().expect("no roots to be wrong")
}

#[tokio::test]
async fn card_urls_are_refused_before_anything_is_dialed() {
    let recorder = Recorder::default();
    let cards = CardCache::new(client(&[&["93.184.216.34"]], &recorder));
    for url in REFUSED {
        for trust in [Trust::Caller, Trust::Administrator] {
            let error = cards.get(&Ask::new(Source::url(*url), trust)).await.unwrap_err();
            assert!(matches!(error, Error::Refused { .. }), "{url}: {error}");
        }
    }
    assert_eq!(recorder.dialed(), []);
}

#[tokio::test]
async fn interface_urls_are_refused_before_anything_is_dialed() {
    let recorder = Recorder::default();
    let client = client(&[&["93.184.216.34"]], &recorder);
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("card.json");
    let cards = CardCache::new(client.clone());
    for url in REFUSED {
        let mut card: AgentCard = json::from_str(CARD).unwrap();
        (*url).clone_into(&mut card.supported_interfaces[0].url);
        card.icon_url = Some((*url).to_owned());
        card.documentation_url = Some((*url).to_owned());
        std::fs::write(&path, json::to_string(&card)).unwrap();
        let cached = cards.get(&Ask::new(Source::file(&path), Trust::Caller)).await.unwrap();
        cards.invalidate(&Source::file(&path));
        let negotiated = negotiate(&cached.found, &Terms::default(), client.guard());
        assert_eq!((negotiated.interfaces.len(), negotiated.rejected.len()), (0, 1), "{url}");
    }
    assert_eq!(recorder.dialed(), []);
}

#[tokio::test]
async fn key_urls_are_refused_before_anything_is_dialed() {
    let recorder = Recorder::default();
    let client = client(&[&["93.184.216.34"]], &recorder);
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("card.json");
    let cards = CardCache::new(client);
    for url in REFUSED {
        let signer = Signer::generate(Algorithm::EdDsa).unwrap().with_jku(*url);
        let mut card: AgentCard = json::from_str(CARD).unwrap();
        sign(&mut card, &signer).unwrap();
        std::fs::write(&path, json::to_string(&card)).unwrap();
        let mut rules = Signatures::new(SignaturePolicy::Require);
        // Even an origin on the list is seen by the guard.
        if let Ok(origin) = Origin::parse(url) {
            rules = rules.allow_keys_from(origin);
        }
        let ask = Ask::new(Source::file(&path), Trust::Administrator).signatures(Arc::new(rules));
        let error = cards.get(&ask).await.unwrap_err();
        assert!(matches!(error, Error::Signature { .. }), "{url}: {error}");
    }
    assert_eq!(recorder.dialed(), []);
}

#[tokio::test]
async fn token_endpoints_are_refused_before_anything_is_dialed() {
    let recorder = Recorder::default();
    let client = client(&[&["93.184.216.34"]], &recorder);
    let origin = Origin::parse("https://agent.example").unwrap();
    for url in REFUSED {
        for trust in [Trust::Caller, Trust::Administrator] {
            let id = ("me", Secret::new("swordfish"));
            OAuth2ClientCredentials::new(&client, origin.clone(), (url, trust), id).unwrap_err();
        }
    }
    assert_eq!(recorder.dialed(), []);
}

#[tokio::test]
async fn peer_urls_are_refused_before_anything_is_dialed() {
    let recorder = Recorder::default();
    let peers = Peers::new(client(&[&["93.184.216.34"]], &recorder).guard().clone());
    for url in REFUSED {
        peers.add(Peer::new(*url, 3)).unwrap_err();
    }
    assert_eq!((peers.all().len(), recorder.dialed()), (0, vec![]));
}

/// The name is public when it is registered and leads inside when it is called.
const REBOUND: &[&[&str]] = &[&["93.184.216.34"], &["10.0.0.1"]];
const ONE_BAD: &[&[&str]] = &[&["93.184.216.34", "169.254.169.254"]];

#[tokio::test]
async fn p_22_a_name_that_leads_inside_later_is_not_dialed() {
    for answers in [REBOUND, ONE_BAD] {
        let recorder = Recorder::default();
        let client = client(answers, &recorder);
        if answers.len() > 1 {
            let errand = Errand::caller(Purpose::Card);
            client.guard().check_resolved("https://agent.example/", errand).await.unwrap();
        }
        let cards = CardCache::new(client.clone());
        let ask = Ask::new(Source::url("https://agent.example/"), Trust::Caller);
        let error = cards.get(&ask).await.unwrap_err();
        assert_eq!(error.tried().len(), 1, "{error}");
        assert!(error.to_string().contains("agent.example"), "{error}");
        assert!(!error.to_string().contains("10.0.0.1"), "the inside stays hidden: {error}");
        let oauth = OAuth2ClientCredentials::new(
            &client,
            Origin::parse("https://agent.example").unwrap(),
            ("https://issuer.example/token", Trust::Caller),
            ("me", Secret::new("swordfish")),
        )
        .unwrap();
        let url = client
            .guard()
            .check_url("https://agent.example/", Errand::caller(Purpose::Agent))
            .unwrap();
        oauth.prove(&url, &mut http::HeaderMap::new()).await.unwrap_err();
        assert_eq!(recorder.dialed(), []);
    }
}

#[tokio::test]
async fn redirects_lead_nowhere() {
    let inside = Server::start(|_| ok(CARD)).await;
    let location = inside.url("/card.json");
    for status in ["301 Moved", "302 Found", "303 See Other", "307 Temporary", "308 Permanent"] {
        let location = location.clone();
        let server = Server::start(move |_| {
            format!("HTTP/1.1 {status}\r\nlocation: {location}\r\ncontent-length: 0\r\n\r\n")
        })
        .await;
        let recorder = Recorder::leading_to(&server);
        let policy = Policy::default().allow_http(Errand::caller(Purpose::Card));
        let guard = Guard::new(policy).resolver(Script::new(&[&["93.184.216.34"]]));
        let client = Client::builder(guard).dialer(recorder.clone()).build().unwrap();
        let ask = Ask::new(Source::url("http://agent.example/card.json"), Trust::Caller);
        let error = CardCache::new(client).get(&ask).await.unwrap_err();
        assert!(error.to_string().contains("which is not followed"), "{error}");
        assert!(recorder.dialed().iter().all(|one| one.ip().to_string() == "93.184.216.34"));
    }
    assert_eq!(inside.paths(), [""; 0]);
}

/// The card is public, and what it names leads inside by the time it is called.
#[tokio::test]
async fn what_a_card_names_is_checked_again_when_it_is_called() {
    let signer = Signer::generate(Algorithm::EdDsa).unwrap();
    let mut card: AgentCard = json::from_str(CARD).unwrap();
    sign(&mut card, &signer.with_jku("http://agent.example/keys.json")).unwrap();
    let text = json::to_string(&card);
    let server = Server::documents(&[("/card.json", &text)]).await;
    let recorder = Recorder::leading_to(&server);
    let policy = [Purpose::Card, Purpose::Keys, Purpose::Agent]
        .into_iter()
        .fold(Policy::default(), |policy, purpose| policy.allow_http(Errand::caller(purpose)));
    let guard = Guard::new(policy).resolver(Script::new(REBOUND));
    let client = Client::builder(guard).dialer(recorder.clone()).build().unwrap();
    let rules = Arc::new(Signatures::new(SignaturePolicy::Prefer));
    let ask = Ask::new(Source::url("http://agent.example/card.json"), Trust::Caller);
    let cached = CardCache::new(client.clone()).get(&ask.signatures(rules)).await.unwrap();
    assert!(!cached.found.verdict.is_verified());
    let negotiated = negotiate(&cached.found, &Terms::default(), client.guard());
    let interface = negotiated.best().unwrap();
    let error = client.send(Request::get(&interface.url)).await.unwrap_err();
    assert!(matches!(error, nuncio_net::Error::Refused(_)), "{error}");
    // Once for the card, and never again.
    assert_eq!(recorder.dialed().len(), 1);
    assert_eq!(server.paths(), ["/card.json"]);
}
