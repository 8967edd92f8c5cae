//! An agent that does as it is told, served to two callers.

use std::{net::SocketAddr, time::Duration};

use nuncio_auth::{ApiKey, ApiKeys, Gatekeeper};
use nuncio_net::{
    Client, Guard, Policy,
    egress::{Errand, Purpose},
};
use nuncio_protocol::{
    ids::{ArtifactId, TaskId},
    message::{Message, Part},
    operation::{Request, Response, SendMessageConfiguration, SendMessageRequest},
    state::TaskState,
    task::{Artifact, SendMessageResponse, Task},
};
use nuncio_server::{Agent, Chunk, Conduct, Failure, Output, Server, Stopper, Turn};
use nuncio_tasks::push::{Push, SealingKey};
use nuncio_testkit::wire::{Http, Wire};
use tokio::{sync::mpsc, task::JoinHandle};

/// Does what the text of a message says.
///
/// `hold` works until it is cancelled, `ask` asks, `count:N` gives a file in N pieces, `fill:N`
/// gives N files of 64 KiB, `gated:N` gives one piece each time its [`gate`] opens; everything
/// else is said back.
pub(crate) struct Script;

/// Lets scripts go on that wait at the gate of their message's `messageId`.
static GATES: std::sync::Mutex<Vec<(String, mpsc::UnboundedReceiver<()>)>> =
    std::sync::Mutex::new(Vec::new());

/// Makes a gate for the message of this identifier. One piece is said for each `()`.
pub(crate) fn gate(message_id: &str) -> mpsc::UnboundedSender<()> {
    let (sender, receiver) = mpsc::unbounded_channel();
    GATES.lock().expect("nobody panics with it").push((message_id.to_owned(), receiver));
    sender
}

impl Agent for Script {
    async fn run(&self, turn: Turn, output: Output) -> Result<(), Failure> {
        let text = turn.message.text();
        match text.split_once(':').unwrap_or((&text, "")) {
            ("hold", _) => {
                output.working("holding").await?;
                std::future::pending().await
            }
            ("ask", _) => Ok(output.ask("which one?").await?),
            ("count", count) => {
                let count = count.parse().map_err(|_| Failure::new("count:N"))?;
                for index in 0..count {
                    piece(&output, index, index + 1 == count).await?;
                }
                Ok(())
            }
            ("fill", count) => {
                let count = count.parse().map_err(|_| Failure::new("fill:N"))?;
                for index in 0..count {
                    let part = Part::text("x".repeat(64 << 10));
                    let id = ArtifactId::parse(&format!("fill-{index}"))?;
                    output.artifact(Artifact::new(id, vec![part])).await?;
                }
                Ok(())
            }
            ("gated", count) => {
                let count = count.parse().map_err(|_| Failure::new("gated:N"))?;
                let id = turn.message.message_id.as_str();
                let gate = {
                    let mut gates = GATES.lock().expect("nobody panics with it");
                    let at = gates.iter().position(|(name, _)| name == id);
                    at.map(|at| gates.swap_remove(at).1)
                };
                let mut gate = gate.ok_or_else(|| Failure::new("no gate"))?;
                for index in 0..count {
                    // Without anybody at the gate it stays closed.
                    if gate.recv().await.is_none() {
                        std::future::pending::<()>().await;
                    }
                    piece(&output, index, index + 1 == count).await?;
                }
                Ok(())
            }
            _ => Ok(output.text(text).await?),
        }
    }

    fn conduct(&self) -> Conduct {
        Conduct { dedupes_by_message_id: true, ..Conduct::default() }
    }
}

async fn piece(output: &Output, index: u32, last: bool) -> Result<(), Failure> {
    let id = ArtifactId::parse("count")?;
    let artifact = Artifact::new(id, vec![Part::text(format!("{index} "))]);
    Ok(output.put(artifact, Chunk { append: index > 0, last }).await?)
}

/// A server that runs until this is dropped.
pub(crate) struct Served {
    pub(crate) address: SocketAddr,
    pub(crate) stopper: Stopper,
    pub(crate) running: JoinHandle<()>,
}

impl Served {
    pub(crate) async fn start(server: Server) -> Self {
        let bound = server.bind("127.0.0.1:0").await.expect("a free port");
        let (address, stopper) = (bound.address(), bound.stopper());
        let running = tokio::spawn(bound.run());
        Self { address, stopper, running }
    }

    /// A client that shows nothing.
    pub(crate) fn http(&self) -> Http {
        Http::new(self.address)
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        self.running.abort();
    }
}

/// A server that sends webhooks to this machine, too.
pub(crate) fn scripted() -> Server {
    let errand = Errand::caller(Purpose::Webhook);
    let policy = Policy::default().dangerously_open_loopback_to_callers().allow_http(errand);
    let push = Push::new(Client::new(Guard::new(policy)), SealingKey::generate());
    Server::new("script", Script).push(push)
}

/// Two callers who have keys.
pub(crate) struct Callers {
    pub(crate) keys: ApiKeys,
    pub(crate) ann: ApiKey,
    pub(crate) bob: ApiKey,
}

impl Callers {
    pub(crate) fn new() -> Self {
        let (ann, ann_record) = ApiKey::generate("ann");
        let (bob, bob_record) = ApiKey::generate("bob");
        Self { keys: ApiKeys::from_iter([ann_record, bob_record]), ann, bob }
    }

    pub(crate) fn gatekeeper(&self) -> Gatekeeper {
        let limit = nuncio_auth::GuessLimit::new(10_000, Duration::from_secs(1));
        let builder = Gatekeeper::builder().api_keys(self.keys.clone()).guess_limit(limit);
        builder.build().expect("there is a way in")
    }

    pub(crate) fn ann(&self, served: &Served) -> Http {
        served.http().with("x-api-key", &self.ann.to_string())
    }

    pub(crate) fn bob(&self, served: &Served) -> Http {
        served.http().with("x-api-key", &self.bob.to_string())
    }
}

/// A request that is answered at once.
pub(crate) fn send(text: &str) -> SendMessageRequest {
    let mut request = SendMessageRequest::new(Message::user(text));
    request.configuration =
        Some(SendMessageConfiguration { return_immediately: true, ..Default::default() });
    request
}

/// Makes a task that is held, or one that has ended.
pub(crate) async fn begin(wire: &Wire, text: &str) -> Task {
    let mut request = send(text);
    if let Some(wishes) = &mut request.configuration {
        wishes.return_immediately = text == "hold";
    }
    let answered = wire.call(Request::SendMessage(request)).await;
    match answered.expect("a message is taken") {
        Response::SendMessage(SendMessageResponse::Task(task)) => {
            let ended = task.status.state == TaskState::Completed;
            assert_eq!(ended, text != "hold", "{text} is {:?}", task.status.state);
            task
        }
        other => panic!("no task, but {other:?}"),
    }
}

/// Waits for what comes sooner or later; a test that waits in vain fails instead of hanging.
pub(crate) async fn patiently<T>(wait: impl Future<Output = T>) -> T {
    tokio::time::timeout(Duration::from_secs(60), wait).await.expect("it comes in a minute")
}

pub(crate) fn task_id(text: &str) -> TaskId {
    TaskId::parse(text).expect("a fit identifier")
}
