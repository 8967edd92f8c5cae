//! Our own server with an agent that does as it is told, and a client for loopback.

use std::{net::SocketAddr, time::Duration};

use futures_util::StreamExt as _;
use nuncio_client::{Error, Followed, Interface, Options, Remote};
use nuncio_net::{Client, Errand, Guard, Policy, Purpose};
use nuncio_protocol::{
    dialect::WireForm,
    ids::ArtifactId,
    message::{Content, Message, Part},
    operation::{Request, SendMessageConfiguration, SendMessageRequest},
    service::{CallContext, Caller, Event},
    task::{Artifact, SendMessageResponse, StreamResponse, Task},
};
use nuncio_server::{Agent, Chunk, Failure, Output, Server, Turn};
use nuncio_tasks::push::{Push, SealingKey};
use tokio::task::JoinHandle;

/// A2A itself on all bindings and in both versions.
pub(crate) const FORMS: [WireForm; 6] = [
    WireForm::V1,
    WireForm::V1Http,
    WireForm::V1Grpc,
    WireForm::V03,
    WireForm::V03Http,
    WireForm::V03Grpc,
];

/// Does what the text of a message says: `hold` works until it is cancelled, `ask` asks,
/// `count:N` gives a file in N pieces, `drip:N` gives them slowly; everything else is said back.
pub(crate) struct Script;

impl Agent for Script {
    async fn run(&self, turn: Turn, output: Output) -> Result<(), Failure> {
        let text = turn.message.text();
        match text.split_once(':').unwrap_or((&text, "")) {
            ("hold", _) => {
                output.working("holding").await?;
                std::future::pending().await
            }
            ("ask", _) => Ok(output.ask("which one?").await?),
            ("count" | "drip", count) => {
                let count: u32 = count.parse().map_err(|_| Failure::new("count:N"))?;
                for index in 0..count {
                    let id = ArtifactId::parse("count")?;
                    let artifact = Artifact::new(id, vec![Part::text(format!("{index} "))]);
                    let last = index + 1 == count;
                    output.put(artifact, Chunk { append: index > 0, last }).await?;
                    if text.starts_with("drip") {
                        tokio::time::sleep(Duration::from_millis(1)).await;
                    }
                }
                Ok(())
            }
            _ => Ok(output.text(text).await?),
        }
    }
}

/// A server that runs until this is dropped.
pub(crate) struct Served {
    pub(crate) address: SocketAddr,
    running: JoinHandle<()>,
}

impl Served {
    pub(crate) async fn start(server: Server) -> Self {
        let bound = server.bind("127.0.0.1:0").await.expect("a free port");
        let address = bound.address();
        Self { address, running: tokio::spawn(bound.run()) }
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        self.running.abort();
    }
}

/// A server that sends webhooks to this machine, too.
pub(crate) fn script() -> Server {
    let errand = Errand::caller(Purpose::Webhook);
    let policy = Policy::default().dangerously_open_loopback_to_callers().allow_http(errand);
    let push = Push::new(Client::new(Guard::new(policy)), SealingKey::generate());
    Server::new("script", Script).push(push)
}

/// A client that an administrator lets reach agents on this machine.
pub(crate) fn client() -> Client {
    let errand = Errand::administrator(Purpose::Agent);
    let policy = Policy::default()
        .open(Purpose::Agent, "127.0.0.0/8".parse().expect("a range"))
        .allow_http(errand);
    Client::new(Guard::new(policy))
}

pub(crate) fn interface(client: &Client, url: &str, form: WireForm) -> Interface {
    let url = client.guard().check_url(url, Errand::administrator(Purpose::Agent));
    Interface { url: url.expect("it is open"), form, tenant: None }
}

pub(crate) fn remote(address: SocketAddr, form: WireForm) -> Remote {
    remote_with(address, form, Options::default())
}

pub(crate) fn remote_with(address: SocketAddr, form: WireForm, options: Options) -> Remote {
    let client = client();
    let interface = interface(&client, &format!("http://{address}/"), form);
    Remote::builder(client, interface).options(options).build()
}

pub(crate) fn nobody() -> CallContext {
    CallContext::new(Caller::Anonymous)
}

pub(crate) fn send(text: &str) -> SendMessageRequest {
    SendMessageRequest::new(Message::user(text))
}

/// Begins a task, and comes back at once.
pub(crate) async fn begin(remote: &Remote, text: &str) -> Task {
    let mut request = send(text);
    request.configuration =
        Some(SendMessageConfiguration { return_immediately: true, ..Default::default() });
    let answered = remote.call(nobody(), Request::SendMessage(request)).await;
    let response = answered.expect("a message is taken").into_response().expect("it can be read");
    match response {
        nuncio_protocol::operation::Response::SendMessage(SendMessageResponse::Task(task)) => task,
        other => panic!("no task, but {other:?}"),
    }
}

/// Reads a stream to its end.
pub(crate) async fn rest(events: Followed) -> Result<Vec<Event>, Error> {
    let events: Vec<_> = patiently(events.collect()).await;
    events.into_iter().collect()
}

pub(crate) fn value(event: &Event) -> &StreamResponse {
    event.response.value().expect("it has been read before")
}

/// What `count:N` gives.
pub(crate) fn counted(count: u32) -> String {
    (0..count).map(|index| index.to_string() + " ").collect()
}

fn said(part: &Part) -> Option<&str> {
    match &part.content {
        Content::Text(text) => Some(text),
        _ => None,
    }
}

/// The text of all artifacts that events bring.
pub(crate) fn pieces(events: &[Event]) -> String {
    let mut text = String::new();
    for event in events {
        match value(event) {
            StreamResponse::ArtifactUpdate(update) => {
                text.extend(update.artifact.parts.iter().filter_map(said));
            }
            StreamResponse::Task(task) => {
                let parts = task.artifacts.iter().flat_map(|artifact| &artifact.parts);
                text.extend(parts.filter_map(said));
            }
            _ => {}
        }
    }
    text
}

/// Waits for what comes sooner or later; a test that waits in vain fails instead of hanging.
pub(crate) async fn patiently<T>(wait: impl Future<Output = T>) -> T {
    tokio::time::timeout(Duration::from_secs(60), wait).await.expect("it comes in a minute")
}
