//! Cards through the hub: what callers are shown of an agent, and what not.

use std::{net::SocketAddr, sync::Arc};

use nuncio_auth::{ApiKey as Key, ApiKeys, Gatekeeper};
use nuncio_client::{
    Credentials, Origin,
    credentials::{ApiKey, KeyPlace},
};
use nuncio_hub::{
    directory::Options,
    memory::MemoryHub,
    signatures::{CardSignatures, SignaturePolicy},
};
use nuncio_net::Secret;
use nuncio_protocol::{
    card::{AgentCard, AgentSkill, read_any},
    dialect::WireForm,
    error::ErrorKind,
    ids::AgentId,
    operation::{GetExtendedAgentCardRequest, Request, Response},
};
use nuncio_server::Server;
use nuncio_testkit::wire::Http;
use serde_json::{Value, json};
use tokio::task::JoinHandle;

use super::{
    agents::{Served, Skilled},
    callers::{FORMS, ask, message, refused},
    foreign::Foreign,
    stage::{Script, Stage},
    world::World,
};

/// An agent with more on its card for those it knows, for as long as this is held.
struct Discreet {
    address: SocketAddr,
    key: Key,
    running: JoinHandle<()>,
}

impl Discreet {
    async fn start() -> Self {
        let (key, record) = Key::generate("hub");
        let keys = Gatekeeper::builder().api_keys(ApiKeys::from_iter([record])).build();
        let skill = |name: &str| AgentSkill::new(name, name, name, [name]);
        let card = AgentCard::builder("script").description("plays").skill(skill("play"));
        let more = card.clone().skill(skill("whisper")).build();
        let server = Server::new("script", Script(Stage::default()))
            .card(card.build())
            .extended_card(more)
            .gatekeeper(keys.expect("there is a way in"));
        let bound = server.bind("127.0.0.1:0").await.expect("a free port");
        Self { address: bound.address(), key, running: tokio::spawn(bound.run()) }
    }

    /// What proves to it that the hub calls.
    fn proof(&self, agent: &AgentId) -> (AgentId, Arc<dyn Credentials>) {
        let origin = Origin::parse(&format!("http://{}", self.address)).expect("an origin");
        let place = KeyPlace::Header(http::HeaderName::from_static("x-api-key"));
        let key = ApiKey::new(origin, place, &Secret::from(self.key.to_string()));
        (agent.clone(), Arc::new(key.expect("a key for a header")))
    }
}

impl Drop for Discreet {
    fn drop(&mut self) {
        self.running.abort();
    }
}

fn extended() -> Request {
    Request::GetExtendedAgentCard(GetExtendedAgentCardRequest::default())
}

#[tokio::test(flavor = "multi_thread")]
async fn an_extended_card_leads_to_the_hub_like_the_other() {
    let world = World::start().await;
    let discreet = Discreet::start().await;
    let id = world.add("script", &format!("http://{}/", discreet.address)).await;
    let ann = world.key("ann").await;
    for form in FORMS {
        let remote = world.remote(&ann, "script", form);
        // That the agent does not know the hub is none of the caller's business.
        let error = refused(&remote, extended()).await;
        assert_eq!(error.kind(), ErrorKind::Unavailable, "{}: {error}", form.name());
    }
    world.gateway().prove_with([discreet.proof(&id)]);
    for form in FORMS {
        let remote = world.remote(&ann, "script", form);
        let Ok(Response::Card(card)) = ask(&remote, extended()).await else {
            panic!("{} shows no card", form.name())
        };
        let skills: Vec<_> = card.skills.iter().map(|skill| skill.id.as_str()).collect();
        assert_eq!(skills, ["play", "whisper"], "{}", form.name());
        let own = discreet.address.to_string();
        let urls: Vec<_> = card.supported_interfaces.iter().map(|one| one.url.as_str()).collect();
        assert!(urls.iter().all(|url| !url.contains(&own)), "{}: {urls:?}", form.name());
        assert!(!urls.is_empty(), "{}", form.name());
    }
}

/// An agent with two skills, one of which asks for a login of the agent's own.
async fn two_skills(name: &str) -> Foreign {
    let login = json!([{ "schemes": { "their-login": { "list": [] } } }]);
    let skill = |id: &str, more: &Value| json!({ "id": id, "name": id, "description": id, "tags": ["art"], "securityRequirements": more });
    let skills = json!([
        skill(&format!("{name}-paint"), &login),
        skill(&format!("{name}-sing"), &json!([]))
    ]);
    Foreign::with_card(json!({ "skills": skills }), |_, _| Vec::new()).await
}

async fn card_of(http: &Http, name: &str) -> Value {
    let path = format!("/agents/{name}/.well-known/agent-card.json");
    let reply = http.request("GET", &path, &[("a2a-version", "1.0")], "").await;
    assert_eq!(reply.status, 200, "{}", reply.text());
    reply.json()
}

fn skills(card: &Value) -> Vec<&str> {
    let skills = card["skills"].as_array().into_iter().flatten();
    let mut skills: Vec<_> = skills.map(|skill| skill["id"].as_str().expect("an id")).collect();
    skills.sort_unstable();
    skills
}

#[tokio::test(flavor = "multi_thread")]
async fn a_card_names_no_login_that_its_callers_do_not_meet() {
    let world = World::start().await;
    let agent = two_skills("one").await;
    world.add("one", &agent.url()).await;
    let card = card_of(&world.administrator, "one").await;
    assert_eq!(skills(&card), ["one-paint", "one-sing"]);
    assert!(!card.to_string().contains("their-login"), "{card}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_card_shows_the_skills_that_its_reader_may_use() {
    let world = World::start().await;
    let (one, two) = (two_skills("one").await, two_skills("two").await);
    let first = world.add("one", &one.url()).await;
    let second = world.add("two", &two.url()).await;
    let json = [("content-type", "application/json")];
    let rules = [
        json!({ "effect": "deny", "caller": { "user": "bob" }, "target": { "agent": first.as_str() }, "skills": ["one-paint"] }),
        json!({ "effect": "deny", "caller": { "user": "bob" }, "target": { "agent": second.as_str() } }),
    ];
    for (index, rule) in rules.iter().enumerate() {
        let path = format!("/api/v1/rules/rule{index}");
        let put = world.administrator.request("PUT", &path, &json, rule.to_string()).await;
        assert!(put.status < 300, "{}", put.text());
    }
    let person = async |name: &str| {
        let key = world.key(name).await;
        Http::new(world.address).with("authorization", &format!("Bearer {key}"))
    };
    let (ann, bob) = (person("ann").await, person("bob").await);
    for _ in 0..2 {
        assert_eq!(skills(&card_of(&ann, "one").await), ["one-paint", "one-sing"]);
        assert_eq!(skills(&card_of(&bob, "one").await), ["one-sing"]);
    }
    let all = ["one-paint", "one-sing", "two-paint", "two-sing"];
    assert_eq!(skills(&card_of(&ann, "~art").await), all);
    assert_eq!(skills(&card_of(&bob, "~art").await), ["one-sing"]);
}

/// A card is read by those who may call the agent, and not sent twice.
#[tokio::test(flavor = "multi_thread")]
async fn a_card_is_signed_tagged_and_not_for_strangers() {
    let world = World::start().await;
    let stage = Stage::default();
    let served = Served::script(WireForm::V03Grpc, Skilled::Streams, &stage).await;
    world.add("script", &served.url()).await;
    let path = "/agents/script/.well-known/agent-card.json";
    let stranger = Http::new(world.address);
    assert_eq!(stranger.request("GET", path, &[], "").await.status, 401);
    let ann = stranger.with("authorization", &format!("Bearer {}", world.key("ann").await));
    let reply = ann.request("GET", path, &[("a2a-version", "1.0")], "").await;
    let (card, _) = read_any(reply.text()).expect("a card");
    assert_eq!(card.signatures.len(), 1, "the hub answers for what it has changed");
    let tag = reply.header("etag");
    let again = [("a2a-version", "1.0"), ("if-none-match", tag)];
    assert_eq!(ann.request("GET", path, &again, "").await.status, 304);
    assert!(reply.header("cache-control").contains("private"), "{:?}", reply.headers);
}

/// An agent from the time before cards had to be signed is not called any more.
#[tokio::test(flavor = "multi_thread")]
async fn an_agent_whose_card_nobody_signed_is_not_called_where_somebody_must() {
    let store = Arc::new(MemoryHub::default());
    let stage = Stage::default();
    let agent = Served::script(WireForm::V1, Skilled::Resumes, &stage).await;
    let before = World::on(Arc::clone(&store), Options::default(), |_| {}).await;
    before.add("worker", &agent.url()).await;
    let mut options = Options::default();
    options.signatures = CardSignatures::new(SignaturePolicy::Require);
    let world = World::on(store, options, |_| {}).await;
    let ann = world.key("ann").await;
    let send = Request::SendMessage(message("count:1"));
    let error = refused(&world.remote(&ann, "worker", WireForm::V1), send).await;
    assert_eq!(error.kind(), ErrorKind::Unavailable, "{error:?}");
    assert!(error.message().contains("is not signed"), "{error:?}");
    assert_eq!(stage.begun("1"), 0, "it was not called");
}
