//! The agent that conformance kits drive: what it does depends on how the identifier of a
//! message begins, or else its text; or on the instruction in it, if it comes from the
//! integration test kit.
//!
//!     cargo run --example conformance -- --port 9999 --allow-loopback-webhooks
//!
//! `--httpPort` and `--grpcPort` are what the latter kit calls its flags. `--grpc-port` gives gRPC a port of its own beside the common one. `--card` is `full`,
//! `hybrid` (the same with the members of 0.3), `minimal` (no capabilities) or `extension` (one
//! is required). `--spec` is the edition whose error codes are used, `1.0.1` or `1.0.0`.

#[path = "conformance/itk.rs"]
mod itk;

use std::time::Duration;

use anyhow::{Context as _, bail};
use nuncio_net::{Client, Errand, Guard, Policy, Purpose};
use nuncio_protocol::{
    card::{AgentCard, AgentExtension, AgentSkill},
    error::ErrorTable,
    ids::ArtifactId,
    json::Raw,
    message::{Message, Part},
    state::TaskState,
    task::Artifact,
};
use nuncio_server::{Agent, CardStyle, Chunk, Conduct, Failure, Output, Server, Turn};
use nuncio_tasks::{
    push::{Push, SealingKey},
    scope::Place,
};

use crate::itk::Instruction;

/// An extension that kits know, and that nobody else has.
const EXTENSION: &str = "urn:a2a:tck:required-extension";

/// What is to be shown.
#[derive(Clone, Copy)]
enum Scene {
    Complete(&'static str),
    Text(&'static str),
    File,
    FileUrl,
    Data,
    Chunks,
    Reply,
    Ask,
    /// Asks, and is content with whatever is answered.
    AskOnce,
    Reject,
    Fail,
    /// Works for so many milliseconds, then completes.
    Work(u64),
    /// Works for twice the time that a kit waits for streams.
    Resubscribe,
    /// Works until it is cancelled.
    Hold,
}

/// What messages ask for, by how their identifier or text begins. The longest counts.
const SCENES: [(&str, Scene); 23] = [
    ("tck-complete-task", Scene::Complete("Hello from TCK")),
    ("tck-artifact-text", Scene::Text("Generated text content")),
    ("tck-artifact-file", Scene::File),
    ("tck-artifact-file-url", Scene::FileUrl),
    ("tck-artifact-data", Scene::Data),
    ("tck-message-response", Scene::Reply),
    ("tck-input-required", Scene::Ask),
    ("tck-multi-turn", Scene::AskOnce),
    ("tck-reject-task", Scene::Reject),
    ("tck-task-failure", Scene::Fail),
    ("tck-stream-001", Scene::Text("Stream hello from TCK")),
    ("tck-stream-002", Scene::Complete("done")),
    ("tck-stream-003", Scene::Text("Stream task lifecycle")),
    ("tck-stream-ordering-001", Scene::Text("Ordered output")),
    ("tck-stream-artifact-text", Scene::Text("Streamed text content")),
    ("tck-stream-artifact-file", Scene::File),
    ("tck-stream-artifact-chunked", Scene::Chunks),
    ("tck-stream-basic", Scene::Text("Streamed text content")),
    ("tck-stream-chunked", Scene::Chunks),
    ("tck-long-running", Scene::Work(5_000)),
    ("tck-cancel", Scene::Hold),
    ("tck-", Scene::Complete("done")),
    ("test-resubscribe-message-id", Scene::Resubscribe),
];

fn scene(message: &Message) -> Scene {
    let text = message.text();
    let begins = |text: &str| {
        let fitting = SCENES.iter().filter(|(prefix, _)| text.starts_with(prefix));
        fitting.max_by_key(|(prefix, _)| prefix.len())
    };
    let found = begins(message.message_id.as_str()).or_else(|| begins(&text));
    // Otherwise long enough to be met at work, and cancelled.
    found.map_or(Scene::Work(500), |(_, scene)| *scene)
}

struct Actor;

impl Agent for Actor {
    async fn run(&self, turn: Turn, output: Output) -> Result<(), Failure> {
        let artifact = |part| Artifact::new(ArtifactId::generate(), vec![part]);
        let file = |part: Part| part.with_filename("output.txt").with_media_type("text/plain");
        if let Some(instruction) = Instruction::find(&turn.message) {
            return instruction?.follow(&output).await;
        }
        let scene = scene(&turn.message);
        let is_silent =
            matches!(scene, Scene::Complete(_) | Scene::Ask | Scene::AskOnce | Scene::Reject);
        if !is_silent {
            output.status(TaskState::Working, None).await?;
        }
        match scene {
            Scene::Complete(text) => complete(&output, text).await?,
            // Asked in the middle of a task, where there is no answering without it.
            Scene::Reply => complete(&output, "Direct message response").await?,
            Scene::Text(text) => output.text(text).await?,
            Scene::File => output.artifact(artifact(file(Part::raw("tck")))).await?,
            Scene::FileUrl => {
                let part = Part::url("https://example.com/output.txt");
                output.artifact(artifact(file(part))).await?;
            }
            Scene::Data => {
                let data = Raw::parse_text(r#"{"key":"value","count":42}"#)?;
                output.artifact(artifact(Part::data(data))).await?;
            }
            Scene::Chunks => {
                let id = ArtifactId::generate();
                for (text, chunk) in [
                    ("chunk-1 ", Chunk { append: false, last: false }),
                    ("chunk-2", Chunk { append: true, last: true }),
                ] {
                    let piece = Artifact::new(id.clone(), vec![Part::text(text)]);
                    output.put(piece, chunk).await?;
                }
            }
            Scene::AskOnce if turn.task.history.len() > 1 => {
                complete(&output, "done").await?;
            }
            Scene::Ask | Scene::AskOnce => output.ask("Go on?").await?,
            Scene::Reject => {
                output.status(TaskState::Rejected, Some(Message::agent("rejected"))).await?;
            }
            Scene::Fail => return Err(Failure::new("failed, as was asked for")),
            Scene::Work(time) => {
                tokio::time::sleep(Duration::from_millis(time)).await;
                complete(&output, "done").await?;
            }
            Scene::Resubscribe => {
                tokio::time::sleep(streaming_timeout() * 2).await;
                complete(&output, "done").await?;
            }
            Scene::Hold => std::future::pending().await,
        }
        Ok(())
    }

    async fn reply(&self, message: &Message, _: &Place) -> Result<Option<Message>, Failure> {
        let replies = matches!(scene(message), Scene::Reply);
        Ok(replies.then(|| Message::agent("Direct message response")))
    }

    fn conduct(&self) -> Conduct {
        Conduct { replies: true, ..Conduct::default() }
    }
}

async fn complete(output: &Output, text: &str) -> Result<(), Failure> {
    Ok(output.status(TaskState::Completed, Some(Message::agent(text))).await?)
}

/// How long a kit waits for streams; it says so in the environment.
fn streaming_timeout() -> Duration {
    let seconds = std::env::var("TCK_STREAMING_TIMEOUT").ok().and_then(|text| text.parse().ok());
    Duration::from_secs_f64(seconds.unwrap_or(2.0))
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let mut arguments = std::env::args().skip(1);
    let (mut port, mut grpc_port, mut kind) = (9_999_u16, None, "full".to_owned());
    let mut table = ErrorTable::V1_0_1;
    let mut policy = Policy::default();
    while let Some(flag) = arguments.next() {
        let mut value = || arguments.next().with_context(|| format!("{flag} needs a value"));
        match flag.as_str() {
            "--port" | "--httpPort" => port = value()?.parse().context("--port")?,
            "--grpc-port" | "--grpcPort" => {
                grpc_port = Some(value()?.parse::<u16>().context("--grpc-port")?);
            }
            "--card" => kind = value()?,
            "--spec" => {
                table = match value()?.as_str() {
                    "1.0.1" => ErrorTable::V1_0_1,
                    "1.0.0" => ErrorTable::V1_0_0,
                    other => bail!("--spec is 1.0.1 or 1.0.0, not {other}"),
                }
            }
            "--allow-loopback-webhooks" => {
                policy = policy
                    .dangerously_open_loopback_to_callers()
                    .allow_http(Errand::caller(Purpose::Webhook));
            }
            other => bail!("no flag {other}; the head of this file lists them"),
        }
    }
    let mut server = Server::new("conformance", Actor)
        .card(card(&kind)?)
        .card_style(if kind == "hybrid" { CardStyle::Hybrid } else { CardStyle::Plain })
        .error_table(table)
        .push(Push::new(Client::new(Guard::new(policy)), SealingKey::generate()));
    if let Some(port) = grpc_port {
        server = server.grpc_address(format!("127.0.0.1:{port}"));
    }
    Ok(server.serve(&format!("127.0.0.1:{port}")).await?)
}

fn card(kind: &str) -> anyhow::Result<AgentCard> {
    let modes = ["text/plain", "application/json", "application/octet-stream", itk::MEDIA_TYPE];
    let card = AgentCard::builder("conformance")
        .description("Does what conformance kits ask for")
        .skill(AgentSkill::new("tck", "TCK", "Shows every behaviour of A2A", ["conformance"]))
        .input_modes(modes)
        .output_modes(modes);
    Ok(match kind {
        "full" | "hybrid" => card.streaming().push_notifications().build(),
        "minimal" => card.build(),
        "extension" => card
            .streaming()
            .push_notifications()
            .extension(AgentExtension::new(EXTENSION).required())
            .build(),
        other => bail!("--card is full, hybrid, minimal or extension, not {other}"),
    })
}
