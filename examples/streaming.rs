//! An agent that writes its answer word by word, so that readers see it grow.
//!
//!     cargo run --example streaming
//!     curl -N localhost:7420/message:stream -H 'A2A-Version: 1.0' -d '
//!       {"message": {"messageId": "m1", "role": "ROLE_USER", "parts": [{"text": "one two three"}]}}'
//!
//! Break off the second command and go on with `GET /tasks/{id}:subscribe` and the header
//! `Last-Event-ID`: nothing is missing, nothing comes twice. A cancel ends the work at once.

use std::time::Duration;

use nuncio_protocol::{ids::ArtifactId, message::Part, task::Artifact};
use nuncio_server::{Agent, Chunk, Error, Failure, Output, Server, Turn};

struct Repeater;

impl Agent for Repeater {
    async fn run(&self, turn: Turn, output: Output) -> Result<(), Failure> {
        output.working("repeating what you say").await?;
        let id = ArtifactId::generate();
        let text = turn.message.text();
        let words: Vec<&str> = text.split_whitespace().collect();
        for (index, word) in words.iter().enumerate() {
            let piece = Artifact::new(id.clone(), vec![Part::text(format!("{word} "))]);
            let last = index + 1 == words.len();
            output.put(piece, Chunk { append: index > 0, last }).await?;
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        Ok(())
    }
}

#[tokio::main]
async fn main() -> Result<(), Error> {
    let address = std::env::args().nth(1);
    Server::new("repeater", Repeater).serve(address.as_deref().unwrap_or("127.0.0.1:7420")).await
}
