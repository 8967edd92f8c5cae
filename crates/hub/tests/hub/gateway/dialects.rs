//! Agents that speak one of the seeds' dialects, called in A2A itself.

use std::net::SocketAddr;

use nuncio_client::Remote;
use nuncio_protocol::{
    card::{AgentCard, AgentSkill},
    dialect::WireForm,
    json::{Object, Raw},
    operation::{Request, Response, SendMessageRequest},
    state::TaskState,
    task::{SendMessageResponse, StreamResponse},
};
use nuncio_server::{
    Dialects, Server,
    dialects::{Molecule, Opportunity, PocketPaw},
};
use serde_json::{Value, json};
use tokio::task::JoinHandle;

use super::{
    callers::{ask, at_once, begin, cancel, follow, look, message, pieces, rest, somebody, value},
    stage::{Script, Stage, counted},
    world::World,
};

/// An agent of a dialect on a port, for as long as this is held.
struct Served {
    address: SocketAddr,
    stage: Stage,
    running: JoinHandle<()>,
}

impl Served {
    async fn start(dialects: Dialects) -> Self {
        let stage = Stage::default();
        let card = AgentCard::builder("script")
            .description("plays scripts")
            .skill(AgentSkill::new("play", "play", "plays", ["play"]))
            .input_modes(["text/plain", "application/json"])
            .output_modes(["text/plain", "application/json"])
            .streaming()
            .build();
        let server = Server::new("script", Script(stage.clone())).card(card).dialects(dialects);
        let bound = server.bind("127.0.0.1:0").await.expect("a free port");
        let address = bound.address();
        Self { address, stage, running: tokio::spawn(bound.run()) }
    }

    /// A card that names the dialect by its binding.
    fn card(&self, dialect: &str, path: &str) -> Value {
        let binding = format!("urn:nuncio:binding:{dialect}:v1");
        let url = format!("http://{}{path}", self.address);
        json!({
            "name": "script", "description": "plays scripts", "version": "1",
            "capabilities": { "streaming": true },
            "supportedInterfaces":
                [{ "url": url, "protocolBinding": binding, "protocolVersion": "1.0" }],
            "skills": [{ "id": "play", "name": "play", "description": "plays", "tags": [] }],
        })
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        self.running.abort();
    }
}

/// A message that names the skill, which some dialects ask for.
fn skilled(mut request: SendMessageRequest) -> SendMessageRequest {
    let skill = Object::from_members([("skillId", Raw::string("play"))]);
    request.message.metadata = Some(skill.clone());
    request.metadata = Some(skill);
    request
}

/// Sends a message, and returns what was said back, in a task or without one.
async fn say(remote: &Remote, text: &str) -> String {
    match ask(remote, Request::SendMessage(skilled(message(text)))).await {
        Ok(Response::SendMessage(SendMessageResponse::Task(task))) => {
            assert_eq!(task.status.state, TaskState::Completed, "{task:?}");
            let later = look(remote, &task.id).await;
            assert_eq!(later.artifacts, task.artifacts);
            format!("{:?}", task.artifacts)
        }
        Ok(Response::SendMessage(SendMessageResponse::Message(message))) => message.text(),
        other => panic!("no answer, but {other:?}"),
    }
}

/// What the agents of a dialect can do.
#[derive(Clone, Copy, PartialEq)]
enum Can {
    Answer,
    Stream,
}

async fn check(name: &str, dialects: Dialects, can: Can, add: impl AsyncFn(&World, &Served)) {
    Box::pin(call(name, dialects, can, add)).await;
}

async fn call(name: &str, dialects: Dialects, can: Can, add: impl AsyncFn(&World, &Served)) {
    let world = World::start().await;
    let ann = world.key("ann").await;
    let served = Served::start(dialects).await;
    add(&world, &served).await;
    for form in [WireForm::V1, WireForm::V1Grpc, WireForm::V03] {
        let what = format!("{name}, called in {}", form.name());
        let remote = world.remote(&ann, "script", form);
        let said = say(&remote, "hello").await;
        assert!(said.contains("hello"), "{what}: {said}");

        // The hub streams, whether the agent can or not.
        let request = Request::SendStreamingMessage(skilled(message("count:3")));
        let events = rest(follow(&remote, somebody(), request).await).await;
        let told = events.iter().map(|event| match value(event) {
            StreamResponse::Message(message) => message.text(),
            _ => pieces(std::slice::from_ref(event)),
        });
        let told: String = told.collect();
        let lacks = counted(3).split_whitespace().any(|piece| !told.contains(piece));
        assert!(!lacks, "{what}: {events:?}");
        assert!(events.last().is_some_and(|event| value(event).is_last()), "{what}");
        if can == Can::Stream {
            assert_eq!(told, counted(3), "{what}");
            let script = format!("{name}-{}", form.name());
            let task = begin(&remote, skilled(at_once(&format!("hold:{script}")))).await;
            served.stage.runs(&script).await;
            let Ok(Response::Task(ended)) = ask(&remote, cancel(&task.id)).await else {
                panic!("{what} cannot be cancelled")
            };
            assert_eq!(ended.status.state, TaskState::Canceled, "{what}");
            served.stage.has_stopped(&script).await;
        }
    }
}

async fn by_card_url(world: &World, served: &Served, path: &str) {
    world.add("script", &format!("http://{}{path}", served.address)).await;
}

async fn by_card(world: &World, card: &Value) {
    world.add_as(&json!({ "name": "script", "card": card })).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pocketpaw_is_reached_by_its_own_card() {
    let dialects = Dialects::default().pocketpaw(PocketPaw::default());
    check("PocketPaw", dialects, Can::Stream, async |world, served| {
        by_card_url(world, served, "/.well-known/agent.json").await;
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_node_of_upal_is_reached_by_its_own_card() {
    check("Upal", Dialects::default().upal(), Can::Answer, async |world, served| {
        by_card_url(world, served, "/a2a/nodes/play/agent-card").await;
    })
    .await;
}

/// MD-64, MG-04: what has a card of molecule's speaks 0.3.
#[tokio::test(flavor = "multi_thread")]
async fn a_molecule_is_reached_by_its_own_card() {
    let dialects = Dialects::default().molecule(Molecule::default());
    check("molecule", dialects, Can::Stream, async |world, served| {
        let url = format!("http://{}/a2a", served.address);
        let card = json!({
            "name": "script", "description": "plays scripts", "skills": ["play"],
            "capabilities": { "streaming": true },
            "supportedInterfaces": [{ "protocol": "JSONRPC", "url": url }],
        });
        by_card(world, &card).await;
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_molecule_is_reached_in_its_own_form_if_its_card_says_so() {
    let dialects = Dialects::default().molecule(Molecule::default());
    check("molecule", dialects, Can::Stream, async |world, served| {
        by_card(world, &served.card("molecule", "/a2a")).await;
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_harbor_is_reached_if_its_card_says_so() {
    check("Harbor", Dialects::default().harbor(), Can::Stream, async |world, served| {
        by_card(world, &served.card("harbor", "/a2a")).await;
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_opportunity_agent_is_reached_by_the_card_that_the_hub_writes_for_it() {
    let dialects = Dialects::default().opportunity(Opportunity::default());
    check("opportunity", dialects, Can::Answer, async |world, served| {
        by_card(world, &served.card("opportunity", "/a2a")).await;
    })
    .await;
}
