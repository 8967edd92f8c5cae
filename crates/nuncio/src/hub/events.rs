//! `nuncio events`: what happens in a hub, live.

use clap::Args;
use nuncio_net::sse::{Decoder, Limits};
use serde::Deserialize;

use super::{Flags, json, query};
use crate::{failure::Failure, output::Output};

/// Follow what happens in a hub. Ctrl-C ends it.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// Begin behind this event, instead of now.
    #[arg(long, value_name = "NUMBER")]
    after: Option<u64>,

    /// Only what is about this agent.
    #[arg(long, value_name = "AGENT")]
    agent: Option<String>,

    #[command(flatten)]
    flags: Flags,
}

#[derive(Deserialize)]
struct Event {
    seq: Option<u64>,
    event: String,
    workspace_id: String,
    timestamp: String,
}

pub(crate) async fn run(arguments: Arguments) -> Result<(), Failure> {
    let hub = arguments.flags.hub()?;
    let mut output = arguments.flags.output();
    let query = query(&[
        ("after", arguments.after.map(|after| after.to_string())),
        ("agent", arguments.agent.clone()),
    ]);
    let mut response = hub.follow(&format!("/api/v1/events{query}")).await?.into_body();
    let mut decoder = Decoder::new(Limits::default());
    while let Some(chunk) = response.chunk().await.map_err(|error| Failure::net(&error))? {
        decoder.push(chunk);
        while let Some(event) = decoder.next_event().map_err(|error| Failure::internal(error.to_string()))? {
            show(&event.data, &mut output)?;
        }
    }
    Ok(())
}

fn show(data: &[u8], output: &mut Output) -> Result<(), Failure> {
    if output.is_json() {
        return json(output, data);
    }
    // What cannot be read is passed over: the next may be.
    let Ok(event) = serde_json::from_slice::<Event>(data) else { return Ok(()) };
    let seq = event.seq.map_or_else(|| "-".to_owned(), |seq| seq.to_string());
    Ok(output.line(&format!("{seq}\t{}\t{}\t{}", event.timestamp, event.event, event.workspace_id))?)
}
