//! One agent for everybody: A2A 1.0, and what five other systems speak.
//!
//!     cargo run --example dialects
//!
//! A2A 1.0:
//!
//!     curl localhost:7420 -H 'A2A-Version: 1.0' -H 'Content-Type: application/json' -d '
//!       {"jsonrpc": "2.0", "id": 1, "method": "SendMessage", "params": {"message":
//!         {"messageId": "m1", "role": "ROLE_USER", "parts": [{"text": "Ann"}]}}}'
//!
//! PocketPaw, which names its tasks:
//!
//!     curl localhost:7420/a2a/tasks/send -H 'Content-Type: application/json' -d '
//!       {"id": "my-task", "message": {"role": "user", "parts": [{"type": "text", "text": "Ann"}]}}'
//!     curl localhost:7420/a2a/tasks/my-task
//!
//! Opportunity agents:
//!
//!     curl localhost:7420/a2a -H 'Content-Type: application/json' -d '
//!       {"protocol_version": "1.0", "source_agent": {"id": "me"}, "capability": "greet",
//!         "payload": {"name": "Ann"}, "request_id": "1"}'
//!     curl localhost:7420/a2a/capabilities
//!
//! Upal:
//!
//!     curl localhost:7420/a2a/nodes/greet -H 'Content-Type: application/json' -d '
//!       {"jsonrpc": "2.0", "id": 1, "method": "a2a.sendMessage", "params": {"message":
//!         {"role": "user", "parts": [{"type": "text", "text": "Ann"}]}}}'
//!
//! Molecule's status check, for a task of any of the above:
//!
//!     curl localhost:7420/tasks/$TASK
//!
//! With `molecule` as the first argument slash methods are molecule's instead of `PocketPaw`'s,
//! with `harbor` they are Harbor's; the second argument is an address to listen at:
//!
//!     curl localhost:7420/a2a -H 'Content-Type: application/json' -d '
//!       {"method": "message/sendSubscribe", "params": {"message":
//!         {"role": "user", "parts": [{"kind": "text", "text": "Ann"}]}}}'

use nuncio_protocol::{
    card::{AgentCard, AgentSkill},
    dialect::Legacy,
    message::{Content, Message},
};
use nuncio_server::{
    Agent, Dialects, Failure, Output, Server, Turn,
    dialects::{Molecule, Opportunity, PocketPaw},
};

struct Greeter;

impl Agent for Greeter {
    async fn run(&self, turn: Turn, output: Output) -> Result<(), Failure> {
        output.text(format!("Hello, {}!", name_in(&turn.message))).await?;
        Ok(())
    }
}

/// Finds a name in the text, or in the payload of those who send no text.
fn name_in(message: &Message) -> String {
    let payload = message.parts.iter().find_map(|part| match &part.content {
        Content::Data(data) => data.as_object()?.get("name")?.as_text(),
        _ => None,
    });
    payload.unwrap_or_else(|| message.text())
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let schema = r#"{"required": ["name"], "properties": {"name": {"type": "string"}}}"#;
    let mut dialects = Dialects::default()
        .upal()
        .opportunity(Opportunity::default().schema("greet", schema)?)
        .molecule(Molecule { flat: true })
        .pocketpaw(PocketPaw::default());
    match std::env::args().nth(1).as_deref() {
        Some("molecule") => dialects = dialects.slash_methods(Legacy::Molecule),
        Some("harbor") => dialects = dialects.slash_methods(Legacy::Harbor),
        _ => {}
    }
    let card = AgentCard::builder("greeter")
        .description("Greets whoever writes to it.")
        .skill(AgentSkill::new("greet", "Greet", "Says hello.", ["greeting"]))
        .streaming()
        .build();
    let address = std::env::args().nth(2);
    Server::new("greeter", Greeter)
        .card(card)
        .dialects(dialects)
        .serve(address.as_deref().unwrap_or("127.0.0.1:7420"))
        .await?;
    Ok(())
}
