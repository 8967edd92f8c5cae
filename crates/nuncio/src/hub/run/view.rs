//! A run, as the hub shows it and as people read it.

use std::io;

use nuncio_protocol::{
    json::{self, Raw},
    message::{Content, Part},
    task::Artifact,
    time::Timestamp,
};
use serde::Deserialize;

use crate::{
    hub::{ago::ago, table::Table},
    output::Output,
};

/// A run, as the hub shows it.
#[derive(Deserialize)]
pub(crate) struct Run {
    pub(crate) id: String,
    pub(crate) workflow: String,
    pub(crate) version: u32,
    pub(crate) state: String,
    pub(crate) reason: Option<String>,
    pub(crate) inputs: Raw,
    started_at: Option<Timestamp>,
    ended_at: Option<Timestamp>,
    rerun_of: Option<String>,
    caller: Option<String>,
    nodes: Vec<Node>,
    pub(crate) questions: Vec<Question>,
    output: Vec<Raw>,
}

#[derive(Deserialize)]
struct Node {
    #[serde(rename = "node")]
    name: String,
    r#type: String,
    state: String,
    iteration: u32,
    attempt: u32,
    started_at: Option<Timestamp>,
    ended_at: Option<Timestamp>,
    reason: Option<String>,
    #[serde(default)]
    items: Vec<Item>,
}

#[derive(Deserialize)]
struct Item {
    #[serde(rename = "item")]
    number: u32,
    state: String,
    attempt: u32,
    reason: Option<String>,
}

/// Something that waits for somebody.
#[derive(Clone, Deserialize)]
pub(crate) struct Question {
    pub(crate) node: String,
    pub(crate) item: Option<u32>,
    /// `input` or `credential`.
    #[serde(rename = "question")]
    pub(crate) sort: String,
    pub(crate) text: String,
}

impl Run {
    /// Tells whether nothing more happens.
    pub(crate) fn is_over(&self) -> bool {
        matches!(&*self.state, "completed" | "failed" | "canceled" | "rejected")
    }

    /// Tells whether it waits for somebody.
    pub(crate) fn is_waiting(&self) -> bool {
        matches!(&*self.state, "input_required" | "auth_required")
    }

    /// Returns for how many seconds it has run, as a text.
    pub(crate) fn seconds(&self) -> String {
        seconds(self.started_at, self.ended_at, !self.is_over())
    }

    /// Says how long ago it began.
    pub(crate) fn began(&self) -> String {
        self.started_at.map_or_else(|| "-".to_owned(), |at| ago(&at.to_string()))
    }

    /// Writes everything for people.
    pub(crate) fn show(&self, output: &mut Output) -> io::Result<()> {
        output.field("Run", &self.id)?;
        output.field("Workflow", &format!("{} version {}", self.workflow, self.version))?;
        output.field("State", &self.state)?;
        if let Some(reason) = &self.reason {
            output.field("Reason", reason)?;
        }
        if let Some(caller) = &self.caller {
            output.field("Caller", caller)?;
        }
        if let Some(began) = self.started_at {
            output.field("Began", &format!("{} ({began})", self.began()))?;
            output.field("Seconds", &self.seconds())?;
        }
        if let Some(run) = &self.rerun_of {
            output.field("Repeats", run)?;
        }
        output.field("Inputs", self.inputs.as_str())?;
        output.line("")?;
        self.table().write(output)?;
        if !self.questions.is_empty() || !self.output.is_empty() {
            output.line("")?;
        }
        for question in &self.questions {
            output.field("Question", &question.told())?;
        }
        for part in self.parts() {
            output.field("Output", &told(&part))?;
        }
        Ok(())
    }

    /// Writes what came of it, and nothing else.
    pub(crate) fn show_output(&self, output: &mut Output) -> io::Result<()> {
        for part in self.parts() {
            output.say(&told(&part))?;
            output.end_line()?;
        }
        Ok(())
    }

    fn parts(&self) -> Vec<Part> {
        let read = |raw: &Raw| json::from_str::<Artifact>(raw.as_str()).ok();
        self.output.iter().filter_map(read).flat_map(|artifact| artifact.parts).collect()
    }

    fn table(&self) -> Table {
        let mut table =
            Table::new(["NODE", "TYPE", "STATE", "SECONDS", "ROUND", "ATTEMPT", "REASON"]);
        for node in &self.nodes {
            let goes_on = matches!(&*node.state, "running" | "waiting") && !self.is_over();
            table.row([
                node.name.clone(),
                node.r#type.clone(),
                node.state.clone(),
                seconds(node.started_at, node.ended_at, goes_on),
                node.iteration.to_string(),
                number(node.attempt),
                in_line(node.reason.as_deref()),
            ]);
            for item in &node.items {
                table.row([
                    asker(&node.name, Some(item.number)),
                    String::new(),
                    item.state.clone(),
                    String::new(),
                    String::new(),
                    number(item.attempt),
                    in_line(item.reason.as_deref()),
                ]);
            }
        }
        table
    }
}

impl Question {
    /// Returns the node that asks, with the number of its item.
    pub(crate) fn asker(&self) -> String {
        asker(&self.node, self.item)
    }

    /// Says who asks what.
    pub(crate) fn told(&self) -> String {
        let what = match (&*self.text, &*self.sort) {
            ("", "credential") => "it needs an authorization of yours",
            ("", _) => "it asks for something",
            (text, _) => text,
        };
        format!("{}: {what}", self.asker())
    }

    /// Returns the command that answers it.
    pub(crate) fn command(&self, run: &str) -> String {
        let item = self.item.map(|item| format!(" --item {item}")).unwrap_or_default();
        format!("nuncio run answer {run} {}{item} 'YOUR ANSWER'", self.node)
    }
}

/// Returns what a node is called, with the number of its item.
pub(super) fn asker(node: &str, item: Option<u32>) -> String {
    match item {
        Some(item) => format!("{node}[{item}]"),
        None => node.to_owned(),
    }
}

/// Says a part in text.
fn told(part: &Part) -> String {
    match &part.content {
        Content::Text(text) => text.clone(),
        Content::Data(data) => data.as_str().to_owned(),
        Content::Url(url) => url.clone(),
        Content::Raw(bytes) => {
            let name = if part.filename.is_empty() { "a file" } else { &part.filename };
            format!("[{name}, {} bytes; -o json has it]", bytes.len())
        }
    }
}

/// Returns the time between two moments in seconds; what goes on has no end yet.
fn seconds(start: Option<Timestamp>, end: Option<Timestamp>, goes_on: bool) -> String {
    match (start, end.or_else(|| goes_on.then(Timestamp::now))) {
        (Some(start), Some(end)) => between(start, end),
        _ => "-".to_owned(),
    }
}

/// Returns the time between two moments in seconds, with one digit behind the point.
pub(super) fn between(start: Timestamp, end: Timestamp) -> String {
    // Clocks of two hubs differ a little.
    let tenths = end.as_millis().saturating_sub(start.as_millis()).max(0) / 100;
    format!("{}.{}", tenths / 10, tenths % 10)
}

fn number(count: u32) -> String {
    if count == 0 { "-".to_owned() } else { count.to_string() }
}

/// Keeps a row on one line.
fn in_line(text: Option<&str>) -> String {
    text.unwrap_or_default().split_whitespace().collect::<Vec<_>>().join(" ")
}
