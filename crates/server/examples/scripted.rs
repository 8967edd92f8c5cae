//! The agent of the interop matrix, on our own server: it does as the agents in `interop/` do.
//!
//! `count:N` gives an artifact in so many pieces, slowly; `ask` asks; `hold` works until it is
//! cancelled; `message:TEXT` is answered without a task; everything else is said back. Says
//! `key KEY`, which opens the extended card, and `listening on URL`. Webhooks may go to this
//! machine.

use std::time::Duration;

use nuncio_auth::{ApiKey, ApiKeys, Gatekeeper};
use nuncio_net::{Client, Errand, Guard, Policy, Purpose};
use nuncio_protocol::{
    card::{AgentCard, AgentSkill},
    ids::ArtifactId,
    message::{Message, Part},
    task::Artifact,
};
use nuncio_server::{Agent, CardStyle, Chunk, Conduct, Failure, Output, Server, Turn};
use nuncio_tasks::{
    push::{Push, SealingKey},
    scope::Place,
};

/// Slow enough that a stream can be left and taken up again while the task works.
const PAUSE: Duration = Duration::from_millis(10);

struct Scripted;

impl Agent for Scripted {
    async fn run(&self, turn: Turn, output: Output) -> Result<(), Failure> {
        let text = turn.message.text();
        let count = text.strip_prefix("count:").and_then(|count| count.parse::<u32>().ok());
        match (text.as_str(), count) {
            ("hold", _) => std::future::pending().await,
            ("ask", _) => output.ask("which one?").await?,
            (_, None) => output.text(text).await?,
            (_, Some(count)) => {
                let id = ArtifactId::generate();
                for index in 0..count {
                    let piece = Part::text(format!("{index} "));
                    let chunk = Chunk { append: index > 0, last: index + 1 == count };
                    output.put(Artifact::new(id.clone(), vec![piece]), chunk).await?;
                    tokio::time::sleep(PAUSE).await;
                }
            }
        }
        Ok(())
    }

    async fn reply(&self, message: &Message, _: &Place) -> Result<Option<Message>, Failure> {
        Ok(message.text().strip_prefix("message:").map(Message::agent))
    }

    fn conduct(&self) -> Conduct {
        Conduct { replies: true, ..Conduct::default() }
    }
}

#[tokio::main]
#[expect(clippy::print_stderr, reason = "whoever has started it waits for the key")]
async fn main() -> anyhow::Result<()> {
    let (key, record) = ApiKey::generate("peer");
    eprintln!("key {key}");
    let callers = Gatekeeper::builder().api_keys(ApiKeys::from_iter([record])).open_to_loopback();
    let webhooks = Policy::default()
        .dangerously_open_loopback_to_callers()
        .allow_http(Errand::caller(Purpose::Webhook));
    let card = AgentCard::builder("our agent")
        .skill(AgentSkill::new("echo", "echo", "says it back", ["echo"]))
        .streaming()
        .push_notifications();
    Server::new("scripted", Scripted)
        .card(card.clone().description("does as it is told").build())
        .extended_card(card.description("does more for those it knows").build())
        .card_style(CardStyle::Hybrid)
        .gatekeeper(callers.build()?)
        .push(Push::new(Client::new(Guard::new(webhooks)), SealingKey::generate()))
        .serve("127.0.0.1:0")
        .await?;
    Ok(())
}
