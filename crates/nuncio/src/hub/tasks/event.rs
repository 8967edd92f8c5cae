//! Events of a task, a line each.

use nuncio_protocol::{
    json::{self, Raw},
    message::{Message, Part},
    state::TaskState,
    task::{StreamResponse, TaskStatus},
};
use serde::Deserialize;

use super::path;
use crate::{
    failure::Failure,
    hub::{Hub, json as write_json, query},
    output::Output,
    show::state_name,
};

/// How much of a text is shown of an event, in characters.
const MOST: usize = 80;

#[derive(Deserialize)]
struct Page {
    events: Vec<Told>,
    last: u64,
    more: bool,
}

/// An event, as the hub tells it.
#[derive(Deserialize)]
pub(super) struct Told {
    pub(super) seq: u64,
    kind: String,
    event: Raw,
    message: Option<Raw>,
}

/// Lists what has happened so far.
pub(super) async fn list(
    hub: &Hub,
    task: &str,
    after: Option<u64>,
    output: &mut Output,
) -> Result<(), Failure> {
    let mut after = after.unwrap_or_default();
    loop {
        let query = query(&[("after", Some(after.to_string()))]);
        let (page, bytes): (Page, _) = hub.read(&format!("{}/events{query}", path(task))).await?;
        if output.is_json() {
            write_json(output, &bytes)?;
        } else {
            page.events.iter().try_for_each(|event| event.show(output))?;
        }
        after = page.last;
        if !page.more {
            return Ok(());
        }
    }
}

impl Told {
    pub(super) fn show(&self, output: &mut Output) -> Result<(), Failure> {
        Ok(output.line(format!("{:>4}  {:<8}  {}", self.seq, self.kind, self.gist()).trim_end())?)
    }

    /// Tells whether nothing can follow.
    pub(super) fn is_last(&self) -> bool {
        self.read().and_then(|event| event.state()).is_some_and(TaskState::is_terminal)
    }

    fn read(&self) -> Option<StreamResponse> {
        json::from_str(self.event.as_str()).ok()
    }

    /// Says in a line what happened.
    fn gist(&self) -> String {
        if let Some(said) = &self.message {
            let said = json::from_str::<Message>(said.as_str());
            return said.map(|said| text(&said.parts)).unwrap_or_default();
        }
        match self.read() {
            Some(StreamResponse::StatusUpdate(update)) => status(&update.status),
            Some(StreamResponse::ArtifactUpdate(update)) => {
                let name = match &*update.artifact.name {
                    "" => "artifact",
                    name => name,
                };
                format!("{name}: {}", text(&update.artifact.parts))
            }
            Some(StreamResponse::Task(task)) if self.kind == "opened" => {
                task.history.first().map(|message| text(&message.parts)).unwrap_or_default()
            }
            Some(StreamResponse::Task(task)) => status(&task.status),
            Some(StreamResponse::Message(message)) => text(&message.parts),
            None => String::new(),
        }
    }
}

fn status(status: &TaskStatus) -> String {
    let state = state_name(status.state);
    match status.message.as_ref().map(|message| text(&message.parts)) {
        Some(said) if !said.is_empty() => format!("{state}  {said}"),
        _ => state.to_owned(),
    }
}

/// Returns how a text begins, on one line; what is no text is named.
fn text(parts: &[Part]) -> String {
    let all = parts.iter().map(|part| part.as_text().unwrap_or("[no text]"));
    let words: Vec<&str> = all.flat_map(str::split_whitespace).collect();
    let line = words.join(" ");
    if line.chars().count() <= MOST {
        return line;
    }
    line.chars().take(MOST - 1).chain(['…']).collect()
}
