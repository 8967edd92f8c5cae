//! Agents that are found by their cards, one or many.

use std::sync::Arc;

use nuncio_client::{
    Client, Error, Find, Options, Origin, Router,
    credentials::{ApiKey, Bearer, KeyPlace},
    discover::{Ask, Source},
    peers::{Peer as Entry, Peers, Why},
};
use nuncio_net::{
    Client as NetClient, Errand, Guard, Identity, Policy, Purpose, Secret, Trust,
    listen::{ClientAuth, Tls},
};
use nuncio_protocol::{
    card::{AgentCard, AgentInterface, AgentSkill, Binding, CardBuilder},
    dialect::WireForm,
    error::ErrorKind,
    ids::TaskId,
    json,
    operation::{CancelTaskRequest, GetTaskRequest, Request},
    service::{A2aService as _, Answered},
    task::{Artifact, SendMessageResponse},
    version::Version,
};
use nuncio_server::Server;
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};

use crate::wire::{
    scripted::{Act, Peer, answer},
    support::{Script, Served, nobody, send},
};

/// An administrator who opens this machine for cards and calls.
fn guard() -> Guard {
    let local = || "127.0.0.0/8".parse().expect("a range");
    let policy =
        [Purpose::Card, Purpose::Agent].into_iter().fold(Policy::default(), |policy, one| {
            policy.open(one, local()).allow_http(Errand::administrator(one))
        });
    Guard::new(policy)
}

fn client() -> Client {
    Client::new(NetClient::new(guard()))
}

fn find(address: impl std::fmt::Display) -> Find {
    Find::new(Ask::new(Source::url(format!("http://{address}")), Trust::Administrator))
}

fn json_answer(body: &str) -> Act {
    let head = format!("content-type: application/json\r\ncontent-length: {}", body.len());
    Act::Say(format!("HTTP/1.1 200 OK\r\n{head}\r\n\r\n{body}"))
}

/// A card with these interfaces.
fn card(interfaces: Vec<AgentInterface>) -> String {
    let card = AgentCard::builder("peer").description("A peer.");
    json::to_string(&interfaces.into_iter().fold(card, CardBuilder::agent_interface).build())
}

fn text_of(answer: &SendMessageResponse) -> String {
    match answer {
        SendMessageResponse::Task(task) => task.artifacts.iter().map(Artifact::text).collect(),
        SendMessageResponse::Message(message) => message.text(),
    }
}

#[tokio::test]
async fn an_agent_is_found_and_called_by_its_address_alone() {
    let served = Served::start(Server::new("script", Script)).await;
    let agent = client().agent(find(served.address)).await.unwrap();
    assert_eq!(agent.card().name, "script");
    let answer = agent.send_message(nobody(), send("hello")).await.unwrap();
    assert_eq!(text_of(answer.value().unwrap()), "hello");
}

#[tokio::test]
async fn a_card_that_lies_about_the_version_is_found_out_once() {
    // The card is of 1.0; on the wire there is only 0.3.
    let unknown = r#"{"jsonrpc":"2.0","id":$ID,"error":{"code":-32601,"message":"no"}}"#;
    let message = r#"{"jsonrpc":"2.0","id":$ID,"result":{"kind":"message","messageId":"m","role":"agent","parts":[{"kind":"text","text":"old"}]}}"#;
    let chunked = |body: &str| {
        let head = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nconnection: close";
        Act::Leave(format!("{head}\r\n\r\n{body}"))
    };
    let listed = card(vec![AgentInterface::new("", Binding::JsonRpc, Version::V1_0)]);
    let peer = Peer::start([json_answer(&listed), chunked(unknown), chunked(message)]).await;
    let agent = client().agent(find(peer.address)).await.unwrap();
    for _ in 0..2 {
        let answer = agent.send_message(nobody(), send("hello")).await.unwrap();
        assert_eq!(text_of(answer.value().unwrap()), "old");
    }
    let methods: Vec<bool> =
        peer.requests()[1..].iter().map(|request| request.contains("message/send")).collect();
    assert_eq!(methods, [false, true, true], "asked in 1.0 once, and never again");
    assert_eq!(agent.interface().unwrap().form, WireForm::V03);
}

#[tokio::test]
async fn a_dead_interface_is_passed_over_for_the_next() {
    let served = Served::start(Server::new("script", Script)).await;
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let dead = listener.local_addr().unwrap();
    drop(listener);
    let interface = |address: &dyn std::fmt::Display, binding| {
        AgentInterface::new(format!("http://{address}/"), binding, Version::V1_0)
    };
    let listed = card(vec![
        interface(&dead, Binding::JsonRpc),
        interface(&served.address, Binding::HttpJson),
    ]);
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("card.json");
    std::fs::write(&file, listed).unwrap();
    let ask = Ask::new(Source::file(file), Trust::Administrator);
    let agent = client().agent(Find::new(ask)).await.unwrap();
    let answer = agent.send_message(nobody(), send("hello")).await.unwrap();
    assert_eq!(text_of(answer.value().unwrap()), "hello");
}

#[tokio::test]
async fn a_credential_goes_to_its_own_origin_only() {
    let reply = r#"{"jsonrpc":"2.0","id":$ID,"error":{"code":-32603,"message":"no"}}"#;
    let elsewhere = Peer::start([Act::Leave(format!(
        "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n\r\n{reply}"
    ))])
    .await;
    let url = format!("http://{}/", elsewhere.address);
    let listed = card(vec![AgentInterface::new(url, Binding::JsonRpc, Version::V1_0)]);
    let home = Peer::start([json_answer(&listed)]).await;
    let origin = format!("http://{}", home.address);
    let secret =
        Bearer::new(Origin::parse(&origin).unwrap(), &Secret::from("secret-of-home".to_owned()))
            .unwrap();
    let terms = nuncio_client::negotiate::Terms::default()
        .allow_origin(Origin::parse(&format!("http://{}", elsewhere.address)).unwrap());
    let agent = client()
        .agent(find(home.address).credentials(Arc::new(secret)).terms(terms))
        .await
        .unwrap();
    let error = agent.call(nobody(), Request::SendMessage(send("hello"))).await.unwrap_err();
    assert_eq!(error.peer().unwrap().kind(), ErrorKind::Internal);
    assert!(elsewhere.requests().iter().all(|request| !request.contains("secret-of-home")));
}

#[tokio::test]
async fn a_key_that_belongs_into_the_query_stands_there() {
    let reply = r#"{"jsonrpc":"2.0","id":$ID,"error":{"code":-32603,"message":"no"}}"#;
    let listed = card(vec![AgentInterface::new("", Binding::JsonRpc, Version::V1_0)]);
    let answer = format!("HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n\r\n{reply}");
    let peer = Peer::start([json_answer(&listed), Act::Leave(answer)]).await;
    let origin = Origin::parse(&format!("http://{}", peer.address)).unwrap();
    let place = KeyPlace::Query("key".to_owned());
    let key = ApiKey::new(origin, place, &Secret::from("a b".to_owned())).unwrap();
    let agent = client().agent(find(peer.address).credentials(Arc::new(key))).await.unwrap();
    agent.call(nobody(), Request::SendMessage(send("hello"))).await.unwrap_err();
    let requests = peer.requests();
    assert!(!requests[0].contains("key="), "the card is public: {}", requests[0]);
    let line = requests[1].lines().next().unwrap();
    assert!(line.contains("?key=a+b") || line.contains("?key=a%20b"), "{line}");
}

fn with_skill(name: &str, skill: &str) -> Server {
    let skill = AgentSkill::new(skill, skill, "It.", [skill]);
    let card = AgentCard::builder(name).description("Does one thing.").skill(skill).build();
    Server::new(name, Script).card(card)
}

#[tokio::test]
async fn calls_go_to_the_best_peer_and_later_ones_to_the_owner_of_the_task() {
    let first = Served::start(with_skill("first", "add")).await;
    let second = Served::start(with_skill("second", "multiply")).await;
    let url = |served: &Served| format!("http://{}/", served.address);
    let peers =
        Peers::from_peers(guard(), [Entry::new(url(&first), 5), Entry::new(url(&second), 1)])
            .unwrap();
    let router = Router::new(client(), peers);
    assert!(router.discover().await.is_empty());
    let sent = router.send("multiply", nobody(), send("hello")).await.unwrap();
    assert_eq!(sent.peer, url(&second), "the only one that offers it");
    let Ok(SendMessageResponse::Task(task)) = sent.answer.value() else { panic!("a task") };

    // HG-06: not the first, nor the most trusted: the owner.
    let get = |id: &TaskId| {
        Request::GetTask(GetTaskRequest { tenant: None, id: id.clone(), history_length: None })
    };
    let Answered::Task(found) = Box::pin(router.about(nobody(), get(&task.id))).await.unwrap()
    else {
        panic!("a task")
    };
    assert_eq!(found.value().unwrap().id, task.id);
    let cancel = CancelTaskRequest { tenant: None, id: task.id.clone(), metadata: None };
    let error = Box::pin(router.about(nobody(), Request::CancelTask(cancel))).await.unwrap_err();
    assert_eq!(error.peer().unwrap().kind(), ErrorKind::TaskNotCancelable);
    let stranger = TaskId::parse("nobody-has-this").unwrap();
    let error = Box::pin(router.about(nobody(), get(&stranger))).await.unwrap_err();
    assert_eq!(error.peer().unwrap().kind(), ErrorKind::TaskNotFound);
}

#[tokio::test]
async fn a_peer_that_is_down_is_passed_over_and_ranked_down() {
    let alive = Served::start(with_skill("alive", "add")).await;
    let dead = {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        format!("http://{}/", listener.local_addr().unwrap())
    };
    let alive_url = format!("http://{}/", alive.address);
    let peers =
        Peers::from_peers(guard(), [Entry::new(&dead, 5), Entry::new(&alive_url, 1)]).unwrap();
    let router = Router::new(client(), peers);
    for _ in 0..5 {
        let sent = router.send("add", nobody(), send("hello")).await.unwrap();
        assert_eq!(sent.peer, alive_url);
    }
    let considered = router.peers().consider("add");
    assert_eq!(considered.routes[0].url, alive_url);
    assert!(considered.left_out.iter().any(|left| left.url == dead), "{considered:?}");
}

#[tokio::test]
async fn a_peer_that_we_leave_alone_is_ranked_last_at_once() {
    // Its card is there, and nothing else works.
    let here = AgentInterface::new("", Binding::JsonRpc, Version::V1_0);
    let refusal = answer("500 Internal Server Error", "text/plain", "no");
    let broken = Peer::start([json_answer(&card(vec![here])), Act::Say(refusal)]).await;
    let alive = Served::start(with_skill("alive", "add")).await;
    let broken_url = format!("http://{}/", broken.address);
    let alive_url = format!("http://{}/", alive.address);
    let entries = [Entry::new(&broken_url, 5), Entry::new(&alive_url, 1)];
    let peers = Peers::from_peers(guard(), entries).unwrap();
    let mut options = Options::default();
    // One failure is enough for the breaker; the table itself wants more.
    options.breaker.in_a_row = 1;
    let router = Router::with_options(client(), peers, options);
    assert_eq!(router.consider("add").routes[0].url, broken_url);
    router.send("add", nobody(), send("hello")).await.unwrap_err();
    let considered = router.consider("add");
    assert_eq!(considered.routes.len(), 1, "{considered:?}");
    assert!(matches!(considered.left_out[0].why, Why::Resting { .. }), "{considered:?}");
    assert_eq!(router.peers().consider("add").routes.len(), 2, "the table does not know");
    let sent = router.send("add", nobody(), send("hello")).await.unwrap();
    assert_eq!(sent.peer, alive_url);
    // Nobody else is left: the breaker says when to come back.
    router.peers().remove(&alive_url);
    let error = router.send("add", nobody(), send("hello")).await.unwrap_err();
    assert!(error.retry_after().is_some() || matches!(error, Error::BreakerOpen { .. }), "{error}");
}

#[tokio::test]
async fn a_peer_that_demands_a_certificate_is_shown_the_one_of_its_entry() {
    let key = KeyPair::generate().unwrap();
    let names = ["localhost".to_owned(), "127.0.0.1".to_owned()];
    let mut params = CertificateParams::new(names).unwrap();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    // The same for both sides: who issues it is not what is tested.
    let issuer = CertifiedIssuer::self_signed(params.clone(), key).unwrap();
    params.is_ca = IsCa::NoCa;
    let key = KeyPair::generate().unwrap();
    let (chain, key) = (params.signed_by(&key, &issuer).unwrap().pem(), key.serialize_pem());
    let tls = Tls::from_pem(chain.as_bytes(), key.as_bytes()).unwrap();
    let tls = tls.client_roots(issuer.pem().as_bytes(), ClientAuth::Required).unwrap();
    let served = Served::start(with_skill("secret", "add").tls(tls)).await;
    let url = format!("https://{}/", served.address);
    let call = async |entry: Entry| {
        let net = NetClient::builder(guard()).extra_roots(issuer.pem().into_bytes());
        let peers = Peers::from_peers(guard(), [entry]).unwrap();
        let router = Router::new(Client::new(net.build().unwrap()), peers);
        router.send("add", nobody(), send("hello")).await
    };
    call(Entry::new(&url, 5)).await.unwrap_err();
    let identity = Identity::from_pem(chain.as_bytes(), key.as_bytes()).unwrap();
    let sent = call(Entry::new(&url, 5).tls_identity(identity)).await.unwrap();
    assert_eq!(text_of(sent.answer.value().unwrap()), "hello");
}

#[tokio::test]
async fn who_is_not_in_the_table_is_not_called() {
    let served = Served::start(with_skill("first", "add")).await;
    let listed = format!("http://{}/", served.address);
    let router =
        Router::new(client(), Peers::from_peers(guard(), [Entry::new(listed, 3)]).unwrap());
    // H-16
    let error = router.agent("https://agent.example/").await.unwrap_err();
    assert!(matches!(error, Error::Peers(_)), "{error}");
}
