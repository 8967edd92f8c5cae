//! An agent that takes files and data, and gives both: it counts what is in a text file.
//!
//!     cargo run --example parts
//!
//! Send a part with `raw` (base64) and `mediaType: text/plain`, or one with `data:
//! {"text": "…"}`. It answers with a file and with JSON. Its card says which media types it
//! takes; others are refused before it sees them.

use nuncio_protocol::{
    card::{AgentCard, AgentSkill},
    ids::ArtifactId,
    json::Raw,
    message::{Content, Part},
    task::Artifact,
};
use nuncio_server::{Agent, Error, Failure, Output, Server, Turn};
use serde::{Deserialize, Serialize};

struct Counter;

#[derive(Deserialize)]
struct Document {
    text: String,
}

#[derive(Serialize)]
struct Counts {
    lines: usize,
    words: usize,
}

impl Agent for Counter {
    async fn run(&self, turn: Turn, output: Output) -> Result<(), Failure> {
        let mut text = String::new();
        for part in &turn.message.parts {
            match &part.content {
                Content::Text(part) => text.push_str(part),
                Content::Raw(bytes) => text.push_str(&String::from_utf8_lossy(bytes)),
                Content::Data(data) => text.push_str(&data.parse::<Document>()?.text),
                Content::Url(_) => return Err(Failure::new("send the file itself, not its URL")),
            }
        }
        let counts = Counts { lines: text.lines().count(), words: text.split_whitespace().count() };
        let file = Part::raw(format!("{} words\n", counts.words))
            .with_filename("count.txt")
            .with_media_type("text/plain");
        let data = Part::data(Raw::from_value(&counts)?).with_media_type("application/json");
        output.artifact(Artifact::new(ArtifactId::generate(), vec![file, data])).await?;
        Ok(())
    }
}

#[tokio::main]
async fn main() -> Result<(), Error> {
    let modes = ["text/plain", "application/json"];
    let card = AgentCard::builder("counter")
        .description("Counts lines and words")
        .skill(AgentSkill::new("count", "Count", "Counts lines and words", ["text"]))
        .input_modes(modes)
        .output_modes(modes)
        .streaming()
        .build();
    let address = std::env::args().nth(1);
    Server::new("counter", Counter)
        .card(card)
        .serve(address.as_deref().unwrap_or("127.0.0.1:7420"))
        .await
}
