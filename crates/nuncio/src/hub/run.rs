//! `nuncio run`: runs of workflows, and how to steer them.

mod desk;
mod events;
pub(super) mod follow;
pub(super) mod inputs;
mod view;

use std::collections::BTreeMap;

use bytes::Bytes;
use clap::{Args, Subcommand};
use http::Method;
use nuncio_protocol::json::Raw;
use serde::{Deserialize, Serialize};

use self::{events::Events, inputs::Inputs, view::Run};
use super::{
    Flags, Hub, agents::shortened, json, parse, query, segment, table::Table, tasks::show_canceled,
};
use crate::{
    failure::Failure,
    output::{Output, note},
};

/// Show, follow, answer and repeat runs of workflows.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  nuncio run list --state working,input-required
  nuncio run show ID                              where its nodes stand
  nuncio run watch ID                             what happens, live
  nuncio run answer ID NODE approve
  nuncio run retry ID                             from what has not succeeded
  nuncio run retry ID --from draft                from a node that has")]
pub(crate) struct Arguments {
    #[command(subcommand)]
    command: Command,

    #[command(flatten)]
    flags: Flags,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// List runs, those with the newest news first.
    List {
        /// Only those of this workflow.
        #[arg(long, value_name = "NAME")]
        workflow: Option<String>,
        /// Only those in one of these states, such as working,input-required.
        #[arg(long, value_name = "STATES")]
        state: Option<String>,
        /// At most so many.
        #[arg(long, value_name = "N", default_value_t = 50)]
        limit: usize,
    },
    /// Show a run: where its nodes stand, and what came of it.
    Show {
        /// Its id.
        run: String,
    },
    /// Follow a run until it ends, an event a line. Ctrl-C leaves it to go on.
    Watch {
        /// Its id.
        run: String,
        /// Only what comes behind the event of this number.
        #[arg(long, value_name = "NUMBER")]
        after: Option<u64>,
    },
    /// End a run and everything that it has under way.
    Cancel {
        /// Its id.
        run: String,
    },
    Retry(Retry),
    /// Answer what a node of a run asks.
    Answer {
        /// The id of the run.
        run: String,
        /// The node that asks.
        node: String,
        /// The answer.
        #[arg(required_unless_present = "data")]
        text: Option<String>,
        /// Which item asks, of a node that runs over a list.
        #[arg(long, value_name = "N")]
        item: Option<u32>,
        /// The answer for programs: the filled-in form, as JSON.
        #[arg(long, value_name = "JSON", value_parser = Raw::parse_text)]
        data: Option<Raw>,
    },
}

/// Run again what has not succeeded, as a run of its own that takes over the rest.
#[derive(Debug, Args)]
struct Retry {
    /// The id of the run.
    run: String,
    /// Run this node again, too, with all that depends on it. May be repeated.
    #[arg(long, value_name = "NODE", conflicts_with = "from_start")]
    from: Vec<String>,
    /// Run everything again.
    #[arg(long)]
    from_start: bool,
    #[command(flatten)]
    inputs: Inputs,
    /// Run the newest version of the workflow, and not that of the run.
    #[arg(long)]
    newest: bool,
    /// Do not wait: return as soon as it has begun.
    #[arg(long)]
    no_wait: bool,
}

#[derive(Serialize)]
struct Rerun<'a> {
    from: &'a [String],
    #[serde(skip_serializing_if = "Option::is_none")]
    inputs: Option<BTreeMap<String, Raw>>,
    from_start: bool,
    newest: bool,
}

#[derive(Serialize)]
struct Said<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    data: Option<&'a Raw>,
}

#[derive(Deserialize)]
struct Page {
    runs: Vec<Run>,
    next: Option<String>,
}

pub(crate) async fn run(arguments: Arguments) -> Result<(), Failure> {
    let hub = arguments.flags.hub()?;
    let mut output = arguments.flags.output();
    let output = &mut output;
    match arguments.command {
        Command::List { workflow, state, limit } => {
            list(&hub, (workflow, state), limit, output).await
        }
        Command::Show { run } => show(&hub, &run, output).await,
        Command::Watch { run, after } => watch(&hub, &run, after, output).await,
        Command::Cancel { run } => {
            let path = format!("{}/cancel", path(&run));
            let bytes = hub.call(Method::POST, &path, None::<&()>).await?;
            if output.is_json() {
                return json(output, &bytes);
            }
            show_canceled(&parse(&bytes)?, output)
        }
        Command::Retry(wish) => retry(&hub, &wish, output).await,
        Command::Answer { run, node, text, item, data } => {
            let bytes = answer(&hub, &run, (&node, item), text.as_deref(), data.as_ref()).await?;
            if output.is_json() {
                return json(output, &bytes);
            }
            output.field("Run", &run)?;
            output.field("Answered", &view::asker(&node, item))?;
            note(&format!("Follow: nuncio run watch {run}"));
            Ok(())
        }
    }
}

fn path(run: &str) -> String {
    format!("/api/v1/runs/{}", segment(run))
}

/// Says that a run has begun, and how to follow it.
pub(super) fn has_begun(begun: &[u8], output: &mut Output) -> Result<(), Failure> {
    let run: Run = parse(begun)?;
    if output.is_json() {
        json(output, begun)?;
    } else {
        output.field("Run", &run.id)?;
        output.field("State", &run.state)?;
    }
    if run.is_over() {
        return follow::succeeded(&run);
    }
    note(&format!("Follow: nuncio run watch {}", run.id));
    Ok(())
}

async fn list(
    hub: &Hub,
    (workflow, state): (Option<String>, Option<String>),
    limit: usize,
    output: &mut Output,
) -> Result<(), Failure> {
    let mut table =
        Table::new(["RUN", "WORKFLOW", "VERSION", "STATE", "BEGAN", "SECONDS", "REASON"]);
    let mut after = None;
    let mut left = limit.max(1);
    let mut shown = 0;
    loop {
        let query = query(&[
            ("workflow", workflow.clone()),
            ("state", state.clone()),
            ("after", after),
            ("limit", Some(left.min(200).to_string())),
        ]);
        let (page, bytes): (Page, _) = hub.read(&format!("/api/v1/runs{query}")).await?;
        if output.is_json() {
            json(output, &bytes)?;
        }
        shown += page.runs.len();
        left = left.saturating_sub(page.runs.len());
        for run in page.runs {
            table.row([
                run.id.clone(),
                run.workflow.clone(),
                run.version.to_string(),
                run.state.clone(),
                run.began(),
                run.seconds(),
                run.reason.as_deref().map(shortened).unwrap_or_default(),
            ]);
        }
        after = page.next;
        if after.is_none() || left == 0 {
            break;
        }
    }
    if output.is_json() {
        return Ok(());
    }
    table.write(output)?;
    match (shown, after) {
        (0, _) if workflow.is_some() || state.is_some() => {
            note("no run fits; `nuncio run list` shows all");
        }
        (0, _) => note("no runs yet; begin one: nuncio workflow run FILE"),
        (_, Some(_)) => note("there are more; --limit shows them"),
        (_, None) => {}
    }
    Ok(())
}

async fn show(hub: &Hub, run: &str, output: &mut Output) -> Result<(), Failure> {
    let (run, bytes): (Run, _) = hub.read(&path(run)).await?;
    if output.is_json() {
        return json(output, &bytes);
    }
    run.show(output)?;
    follow::tell_questions(&run);
    match &*run.state {
        "working" => note(&format!("Follow: nuncio run watch {}", run.id)),
        "failed" | "canceled" => {
            note(&format!("Go on from what has not succeeded: nuncio run retry {}", run.id));
        }
        _ => {}
    }
    Ok(())
}

/// Writes the events of a run until it ends. One that has not succeeded is a failure.
async fn watch(
    hub: &Hub,
    run: &str,
    after: Option<u64>,
    output: &mut Output,
) -> Result<(), Failure> {
    let mut events = Events::new(hub, run, after.unwrap_or_default());
    while let Some(happened) = events.next().await? {
        if output.is_json() {
            json(output, &happened.text)?;
        } else {
            happened.event.show(output)?;
        }
        if happened.event.kind == "node.waiting" {
            let run = events.run().await?;
            let name = happened.event.asker();
            for asked in run.questions.iter().filter(|asked| Some(asked.asker()) == name) {
                note(&format!("Reply: {}", asked.command(&run.id)));
            }
        }
    }
    let run = events.run().await?;
    follow::succeeded(&run)?;
    note(&format!("what came of it: nuncio run show {}", run.id));
    Ok(())
}

async fn retry(hub: &Hub, wish: &Retry, output: &mut Output) -> Result<(), Failure> {
    let given = wish.inputs.read()?;
    let inputs = if given.is_empty() {
        None
    } else {
        // Whoever changes one input means the others to stay as they were.
        let (run, _): (Run, _) = hub.read(&path(&wish.run)).await?;
        let before = run.inputs.as_object().map(|inputs| inputs.members()).unwrap_or_default();
        Some(before.into_iter().chain(given).collect())
    };
    let Retry { from, from_start, newest, .. } = wish;
    let rerun = Rerun { from, inputs, from_start: *from_start, newest: *newest };
    let bytes = hub.call(Method::POST, &format!("{}/rerun", path(&wish.run)), Some(&rerun)).await?;
    if wish.no_wait { has_begun(&bytes, output) } else { follow::to_end(hub, &bytes, output).await }
}

/// Answers what a node asks; returns what the hub says about it.
async fn answer(
    hub: &Hub,
    run: &str,
    (node, item): (&str, Option<u32>),
    text: Option<&str>,
    data: Option<&Raw>,
) -> Result<Bytes, Failure> {
    let query = query(&[("item", item.map(|item| item.to_string()))]);
    let path = format!("{}/nodes/{}/answer{query}", path(run), segment(node));
    hub.call(Method::POST, &path, Some(&Said { text, data })).await
}
