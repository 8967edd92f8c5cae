//! The events of a run as they come. A lost connection goes on behind the last event.

use std::time::Duration;

use bytes::Bytes;
use http::StatusCode;
use nuncio_net::{
    client::ResponseBody,
    sse::{Decoder, Limits},
};
use nuncio_protocol::time::Timestamp;
use serde::Deserialize;
use tokio::time::sleep;

use super::{
    path,
    view::{Run, asker},
};
use crate::{
    failure::Failure,
    hub::{Hub, parse, query},
    output::Output,
};

/// How often a lost connection is made anew without any news, and how long to wait before.
const MOST_LOST: u32 = 5;
const PAUSE: Duration = Duration::from_secs(1);

/// How much of a text is shown of an event, in characters.
const MOST_SHOWN: usize = 100;

/// Follows a run. The future of [`Events::next`] may be dropped, and nothing is lost.
pub(super) struct Events<'a> {
    hub: &'a Hub,
    run: &'a str,
    /// The number of the last event that was handed on.
    seen: u64,
    lost: u32,
    open: Option<(ResponseBody, Decoder)>,
    is_over: bool,
}

/// Something that has happened in a run, and the text that says so.
pub(super) struct Happened {
    pub(super) event: Event,
    pub(super) text: Bytes,
}

#[derive(Deserialize)]
pub(super) struct Event {
    seq: u64,
    pub(super) time: Timestamp,
    #[serde(rename = "type")]
    pub(super) kind: String,
    pub(super) node: Option<String>,
    iteration: Option<u32>,
    pub(super) item: Option<u32>,
    pub(super) attempt: Option<u32>,
    pub(super) payload: Payload,
}

#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct Payload {
    pub(super) reason: Option<String>,
    /// What sort of question it is.
    pub(super) question: Option<String>,
    /// What is asked.
    pub(super) text: Option<String>,
}

impl<'a> Events<'a> {
    /// Follows a run behind the event of this number.
    pub(super) const fn new(hub: &'a Hub, run: &'a str, after: u64) -> Self {
        Self { hub, run, seen: after, lost: 0, open: None, is_over: false }
    }

    /// Waits for the next event; `None` if the run is over.
    pub(super) async fn next(&mut self) -> Result<Option<Happened>, Failure> {
        while !self.is_over {
            let failure = match self.step().await {
                Ok(Some(happened)) => {
                    (self.seen, self.lost) = (happened.event.seq, 0);
                    self.is_over = happened.event.is_last();
                    return Ok(Some(happened));
                }
                Ok(None) if self.is_over => break,
                Ok(None) => Failure::lost("the hub ended the stream before the run ended"),
                Err(failure) => failure,
            };
            self.open = None;
            // Later it would be refused again.
            if failure.is_hub_refusal() {
                return Err(failure);
            }
            if self.lost >= MOST_LOST || !failure.is_unreachable() {
                let (run, seen) = (self.run, self.seen);
                return Err(
                    failure.hint(format!("go on later: nuncio run watch {run} --after {seen}"))
                );
            }
            self.lost += 1;
            sleep(PAUSE).await;
        }
        Ok(None)
    }

    /// Returns the run as it stands, with the same patience as its events.
    pub(super) async fn run(&self) -> Result<Run, Failure> {
        let mut lost = 0;
        loop {
            match self.hub.read(&path(self.run)).await {
                Ok((run, _)) => return Ok(run),
                Err(failure) if lost >= MOST_LOST || !failure.is_unreachable() => {
                    return Err(failure);
                }
                Err(_) => lost += 1,
            }
            sleep(PAUSE).await;
        }
    }

    /// Reads an event off the connection, which is made if there is none.
    async fn step(&mut self) -> Result<Option<Happened>, Failure> {
        if self.open.is_none() {
            let query = query(&[("after", Some(self.seen.to_string()))]);
            let response = self.hub.follow(&format!("{}/events{query}", path(self.run))).await?;
            if response.status() == StatusCode::NO_CONTENT {
                self.is_over = true;
                return Ok(None);
            }
            self.open = Some((response.into_body(), Decoder::new(Limits::default())));
        }
        let Some((body, decoder)) = &mut self.open else { return Ok(None) };
        loop {
            let next =
                decoder.next_event().map_err(|error| Failure::internal(error.to_string()))?;
            if let Some(event) = next {
                let text = event.data;
                return Ok(Some(Happened { event: parse(&text)?, text }));
            }
            match body.chunk().await.map_err(|error| Failure::net(&error))? {
                Some(chunk) => decoder.push(chunk),
                None => return Ok(None),
            }
        }
    }
}

impl Event {
    /// Tells whether nothing can follow.
    fn is_last(&self) -> bool {
        matches!(&*self.kind, "run.completed" | "run.failed" | "run.canceled")
    }

    /// Returns what the node is called, with the number of its item.
    pub(super) fn asker(&self) -> Option<String> {
        self.node.as_deref().map(|node| asker(node, self.item))
    }

    /// Writes a line for people.
    pub(super) fn show(&self, output: &mut Output) -> Result<(), Failure> {
        let line =
            format!("{:>4}  {:<14}  {}", self.seq, self.kind, self.gist().unwrap_or_default());
        Ok(output.line(line.trim_end())?)
    }

    fn gist(&self) -> Option<String> {
        let Payload { reason, text, .. } = &self.payload;
        let said = reason.as_deref().or(text.as_deref());
        let said = said.map(|said| said.split_whitespace().collect::<Vec<_>>().join(" "));
        let said = said.map(|said| match said.chars().count() {
            ..=MOST_SHOWN => said,
            _ => said.chars().take(MOST_SHOWN - 1).chain(['…']).collect(),
        });
        let round = self.iteration.filter(|round| *round > 1).map(|round| format!("round {round}"));
        let attempt = self.attempt.filter(|attempt| *attempt > 1);
        let attempt = attempt.map(|attempt| format!("attempt {attempt}"));
        let all = [self.asker(), round, attempt, said].into_iter().flatten();
        all.reduce(|line, part| format!("{line}  {part}"))
    }
}
