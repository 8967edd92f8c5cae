//! The seeds' own paths, asked over real sockets.

mod approvals;
mod capabilities;
mod carried;
mod delegations;
mod discretion;
mod live;
mod molecule;
mod opportunity;
mod proxy;
mod queue;
mod stub;
mod told;
mod workspaces;

use std::{
    fmt::Write as _,
    io,
    net::{IpAddr, Ipv4Addr, SocketAddr},
    sync::Arc,
};

use futures_util::future::BoxFuture;
use hyper_util::service::TowerToHyperService;
use nuncio_auth::{Gatekeeper, pair::Minter};
use nuncio_hub::{
    Directory, Hub,
    agent::{Agent, Origin},
    directory::{ADMIN, Actor, Enrolment, NewAgent, Options},
    hub::{Facades, Parts, Settings},
    memory::MemoryHub,
};
use nuncio_net::{
    Guard, Policy,
    egress::{Errand, Purpose, Resolver},
    listen::{Drain, Listener},
};
use nuncio_protocol::ids::{AgentId, Organisation};
use serde_json::Value;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
    task::JoinHandle,
};

use crate::tasks::office::Office;

/// A hub that listens.
struct World {
    directory: Directory,
    acme: Organisation,
    address: SocketAddr,
    admin: String,
    serving: JoinHandle<()>,
}

/// An agent with a token of its own.
struct Member {
    agent: Arc<Agent>,
    token: String,
}

#[derive(Debug)]
struct Reply {
    status: u16,
    head: String,
    body: String,
}

/// Every name leads somewhere on the internet, where nobody ever calls.
#[derive(Debug)]
struct Anywhere;

impl Resolver for Anywhere {
    fn resolve<'a>(&'a self, _: &'a str) -> BoxFuture<'a, io::Result<Vec<IpAddr>>> {
        Box::pin(async { Ok(vec![IpAddr::V4(Ipv4Addr::new(93, 184, 216, 34))]) })
    }
}

impl World {
    async fn new() -> Self {
        Self::with(Facades { molecule: true, opportunity: true, upal: false }).await
    }

    async fn with(facades: Facades) -> Self {
        let (hub, world) = Self::hub(facades, Options::default()).await;
        let service = TowerToHyperService::new(nuncio_hub::http::router(hub));
        world.on(|listener| listener.serve(service, Drain::new())).await
    }

    /// A hub that also looks after its agents.
    async fn serving(options: Options) -> Self {
        let facades = Facades { molecule: true, opportunity: true, upal: false };
        let (hub, world) = Self::hub(facades, options).await;
        world.on(|listener| nuncio_hub::serve(hub, listener)).await
    }

    async fn on<F>(mut self, serve: impl FnOnce(Listener) -> F) -> Self
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let listener = Listener::bind(([127, 0, 0, 1], 0).into()).await.expect("a free port");
        self.address = listener.local_addr();
        self.serving = tokio::spawn(serve(listener));
        self
    }

    /// Makes a hub that nobody serves yet.
    async fn hub(facades: Facades, options: Options) -> (Hub, Self) {
        let (parts, world) = Self::parts(Arc::default(), facades, options).await;
        (Hub::new(parts), world)
    }

    /// Makes the parts of a hub.
    async fn parts(store: Arc<MemoryHub>, facades: Facades, options: Options) -> (Parts, Self) {
        let directory = Directory::open(store, options).await.expect("it opens");
        let acme = Organisation::parse("acme").expect("a name");
        let admin = directory
            .new_key(&acme, "ann", &[ADMIN.to_owned()], None, &Actor::configuration())
            .await
            .expect("a key");
        let keys = directory.clone();
        let gatekeeper = Gatekeeper::builder().api_keys(keys).build().expect("a way in");
        let policy = Policy::default()
            .open(Purpose::Agent, "127.0.0.0/8".parse().expect("a range"))
            .allow_http(Errand::administrator(Purpose::Agent));
        let guard = Guard::new(policy).resolver(Anywhere);
        let minter = Minter::generate("http://hub.example").expect("a key");
        let mut settings = Settings::new(acme.clone(), "http://hub.example");
        settings.facades = facades;
        let parts = Parts::new(directory.clone(), gatekeeper, guard, minter, settings);
        let admin = admin.key.to_string();
        let address = SocketAddr::from(([127, 0, 0, 1], 0));
        let serving = tokio::spawn(async {});
        (parts, Self { directory, acme, address, admin, serving })
    }

    /// Sends a request, and reads the whole answer.
    async fn ask(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &str) -> Reply {
        let mut text = format!("{method} {path} HTTP/1.1\r\nhost: hub\r\nconnection: close\r\n");
        for (name, value) in headers {
            let _ = write!(text, "{name}: {value}\r\n");
        }
        if !body.is_empty() {
            let _ = write!(text, "content-type: application/json\r\n");
        }
        let _ = write!(text, "content-length: {}\r\n\r\n{body}", body.len());
        self.raw(&text).await
    }

    /// Sends bytes as they are, and reads until the other side closes.
    async fn raw(&self, text: &str) -> Reply {
        let mut tcp = TcpStream::connect(self.address).await.expect("it listens");
        tcp.write_all(text.as_bytes()).await.expect("it listens");
        let mut answer = Vec::new();
        tcp.read_to_end(&mut answer).await.expect("an answer");
        let answer = String::from_utf8(answer).expect("a text");
        let (head, body) = answer.split_once("\r\n\r\n").expect("a head");
        let status = head.split(' ').nth(1).and_then(|status| status.parse().ok());
        Reply { status: status.expect("a status"), head: head.to_owned(), body: body.to_owned() }
    }

    /// Asks with a token.
    async fn by(&self, token: &str, method: &str, path: &str, body: &str) -> Reply {
        let bearer = format!("Bearer {token}");
        self.ask(method, path, &[("authorization", &bearer)], body).await
    }

    async fn get(&self, token: &str, path: &str) -> Reply {
        self.by(token, "GET", path, "").await
    }

    /// Asks as the administrator.
    async fn admin(&self, method: &str, path: &str, body: &str) -> Reply {
        self.by(&self.admin, method, path, body).await
    }

    /// Brings in an agent that has two addresses and a token.
    async fn add(&self, name: &str, parent: Option<&Member>) -> Member {
        let mut new = NewAgent::new(name.parse().expect("a name"));
        new.parent = parent.map(|parent| parent.agent.id.clone());
        new.addresses.public = Some(format!("https://{name}.example").into());
        new.addresses.internal = Some(format!("http://{name}:8000").into());
        let actor = Actor::configuration();
        let agent = self.directory.add(&self.acme, new, Origin::Administrator, &actor).await;
        let agent = agent.expect("it can be added");
        let issued = self.directory.new_token(&self.acme, &agent.id, &actor).await;
        Member { agent, token: issued.expect("a token").key.to_string() }
    }

    /// Makes an enrolment token.
    async fn enrolment(&self, parent: Option<&Member>) -> String {
        let parent = parent.map(|parent| parent.agent.id.clone());
        let wanted = Enrolment { parent, ..Enrolment::default() };
        let issued =
            self.directory.new_enrolment(&self.acme, &wanted, &Actor::configuration()).await;
        issued.expect("a token").key.to_string()
    }
}

impl Drop for World {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

impl Member {
    fn id(&self) -> &AgentId {
        &self.agent.id
    }
}

impl Reply {
    fn json(&self) -> Value {
        serde_json::from_str(&self.body).expect("JSON")
    }

    fn at(&self, pointer: &str) -> Value {
        self.json().pointer(pointer).cloned().unwrap_or_default()
    }

    fn header(&self, name: &str) -> Option<&str> {
        let lines = self.head.lines().filter_map(|line| line.split_once(": "));
        lines
            .into_iter()
            .find(|(found, _)| found.eq_ignore_ascii_case(name))
            .map(|(_, value)| value)
    }

    /// Checks the status, and that a refusal is one in molecule's shape.
    #[track_caller]
    fn check(&self, status: u16) -> &Self {
        assert_eq!(self.status, status, "{}", self.body);
        if status >= 400 && status != 410 {
            let body = self.json();
            let text = body.get("error").and_then(Value::as_str).unwrap_or_default();
            assert!(!text.is_empty(), "{body}");
        }
        self
    }
}

#[tokio::test]
async fn what_is_switched_off_is_not_there() {
    let molecule = [
        ("POST", "/registry/register"),
        ("POST", "/registry/heartbeat"),
        ("GET", "/registry/discover/x"),
        ("GET", "/registry/x/peers"),
        ("GET", "/workspaces"),
        ("GET", "/workspaces/x/state"),
        ("GET", "/workspaces/x/events/stream"),
        ("GET", "/workspaces/x/approvals"),
        ("GET", "/approvals/pending"),
        ("GET", "/events"),
        ("GET", "/events/x"),
        ("GET", "/ws"),
    ];
    let opportunity =
        [("POST", "/register"), ("GET", "/discover?capability=x"), ("GET", "/agents")];
    for (facades, on, off) in [
        (Facades { molecule: true, ..Facades::default() }, &molecule[..], &opportunity[..]),
        (Facades { opportunity: true, ..Facades::default() }, &opportunity[..], &molecule[..]),
    ] {
        let world = World::with(facades).await;
        for (method, path) in on {
            assert_eq!(world.ask(method, path, &[], "").await.status, 401, "{path}");
        }
        for (method, path) in off {
            assert_eq!(world.admin(method, path, "").await.status, 404, "{path}");
        }
    }
}

#[tokio::test]
async fn runs_that_lie_too_far_back_are_refused_however_far_that_is() {
    let office = Office::open().await;
    for offset in ["1000", "18446744073709551615"] {
        let path = format!("/api/runs?offset={offset}&limit=100");
        let reply = office.administrator.request("GET", &path, &[], "").await;
        assert_eq!(reply.status, 400, "{offset}: {}", reply.text());
    }
}

#[tokio::test]
async fn without_a_gateway_no_messages_are_carried() {
    let world = World::new().await;
    let writer = world.add("writer", None).await;
    let path = format!("/workspaces/{}/a2a", writer.id());
    assert_eq!(world.admin("POST", &path, "{}").await.status, 404);
}
