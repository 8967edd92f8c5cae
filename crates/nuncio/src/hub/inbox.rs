//! `nuncio inbox`: what waits for a person, over all agents.

use clap::{Args, Subcommand};
use http::Method;
use nuncio_protocol::json::Raw;
use serde::{Deserialize, Serialize};

use super::{
    Flags, Hub,
    agents::shortened,
    ago::ago,
    json, parse, query, segment,
    table::Table,
    tasks::{Between, Canceled, Row, show_canceled, state_name},
};
use crate::{
    failure::Failure,
    output::{Output, note},
};

/// Show and answer what waits for a person.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  nuncio inbox                                    what waits
  nuncio inbox approve ID
  nuncio inbox deny ID --reason 'too expensive' --cancel
  nuncio inbox answer ID 'the blue one'")]
pub(crate) struct Arguments {
    #[command(subcommand)]
    command: Option<Command>,

    /// Only what this agent asks.
    #[arg(long, value_name = "AGENT")]
    agent: Option<String>,

    #[command(flatten)]
    flags: Flags,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Answer a question.
    Answer {
        /// The task that waits.
        task: String,
        /// The answer.
        #[arg(required_unless_present = "data")]
        text: Option<String>,
        /// The answer for programs: the filled-in form, as JSON.
        #[arg(long, value_name = "JSON", value_parser = Raw::parse_text)]
        data: Option<Raw>,
    },
    /// Say yes.
    Approve {
        /// The task that waits.
        task: String,
        /// Why; the agent is told.
        #[arg(long, value_name = "TEXT")]
        reason: Option<String>,
        /// The filled-in form, as JSON.
        #[arg(long, value_name = "JSON", value_parser = Raw::parse_text)]
        data: Option<Raw>,
    },
    /// Say no.
    Deny {
        /// The task that waits.
        task: String,
        /// Why; the agent is told.
        #[arg(long, value_name = "TEXT")]
        reason: Option<String>,
        /// End the task, too, with every call made because of it.
        #[arg(long)]
        cancel: bool,
    },
}

#[derive(Serialize)]
struct Said<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    data: Option<&'a Raw>,
}

#[derive(Serialize)]
struct Decision<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    data: Option<&'a Raw>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cancel: Option<bool>,
}

#[derive(Deserialize)]
struct Page {
    items: Vec<Item>,
    next: Option<String>,
}

#[derive(Deserialize)]
struct Item {
    task: String,
    #[serde(flatten)]
    between: Between,
    needs: String,
    since: String,
    question: String,
}

#[derive(Deserialize)]
struct Answered {
    task: Row,
    canceled: Option<Canceled>,
}

pub(crate) async fn run(arguments: Arguments) -> Result<(), Failure> {
    let hub = arguments.flags.hub()?;
    let mut output = arguments.flags.output();
    let Some(command) = arguments.command else {
        return list(&hub, arguments.agent, &mut output).await;
    };
    let path = |task: &str, deed: &str| format!("/api/v1/inbox/{}/{deed}", segment(task));
    let bytes = match command {
        Command::Answer { task, text, data } => {
            let said = Said { text: text.as_deref(), data: data.as_ref() };
            hub.call(Method::POST, &path(&task, "answer"), Some(&said)).await?
        }
        Command::Approve { task, reason, data } => {
            let yes = Decision { reason: reason.as_deref(), data: data.as_ref(), cancel: None };
            hub.call(Method::POST, &path(&task, "approve"), Some(&yes)).await?
        }
        Command::Deny { task, reason, cancel } => {
            let no = Decision { reason: reason.as_deref(), data: None, cancel: Some(cancel) };
            hub.call(Method::POST, &path(&task, "deny"), Some(&no)).await?
        }
    };
    if output.is_json() {
        return json(&mut output, &bytes);
    }
    let Answered { task, canceled } = parse(&bytes)?;
    output.field("Task", &task.id)?;
    output.field("State", state_name(&task.state))?;
    if let Some(canceled) = &canceled {
        show_canceled(canceled, &mut output)?;
    }
    note(&format!("what comes of it: nuncio tasks show {}", task.id));
    Ok(())
}

async fn list(hub: &Hub, agent: Option<String>, output: &mut Output) -> Result<(), Failure> {
    let mut table = Table::new(["TASK", "AGENT", "FOR", "SINCE", "NEEDS", "QUESTION"]);
    let mut after = None;
    let mut first: Option<String> = None;
    loop {
        let query =
            query(&[("agent", agent.clone()), ("after", after), ("limit", Some("200".to_owned()))]);
        let (page, bytes): (Page, _) = hub.read(&format!("/api/v1/inbox{query}")).await?;
        if output.is_json() {
            json(output, &bytes)?;
        }
        for item in page.items {
            first.get_or_insert_with(|| item.task.clone());
            table.row([
                item.task,
                item.between.agent().to_owned(),
                item.between.caller().to_owned(),
                ago(&item.since),
                item.needs,
                shortened(&item.question.split_whitespace().collect::<Vec<_>>().join(" ")),
            ]);
        }
        after = page.next;
        if after.is_none() {
            break;
        }
    }
    if output.is_json() {
        return Ok(());
    }
    table.write(output)?;
    match first {
        Some(task) => note(&format!(
            "see all of it: nuncio tasks show {task}\n\
             answer it: nuncio inbox answer {task} \"…\" (or approve, deny)"
        )),
        None => note("nothing waits; `nuncio tasks` shows what goes on"),
    }
    Ok(())
}
