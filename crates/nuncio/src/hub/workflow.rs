//! `nuncio workflow`: graphs of agents, checked, kept and run.

mod check;
mod file;
mod save;

use std::{
    collections::BTreeMap,
    io::{self, IsTerminal as _, Write as _},
    path::PathBuf,
};

use clap::{Args, Subcommand};
use http::Method;
use nuncio_hub::name::AgentName;
use nuncio_protocol::json::Raw;
use serde::{Deserialize, Serialize};

use self::file::File;
use super::{
    Flags, Hub,
    agents::shortened,
    ago::ago,
    json, parse, query,
    run::{follow, has_begun, inputs::Inputs},
    segment,
    table::Table,
};
use crate::{
    failure::Failure,
    output::{Output, note},
};

/// Check, keep and run workflows.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  nuncio workflow validate report.yaml            what is wrong with it, and where
  nuncio workflow run report.yaml --input topic=otters
  nuncio workflow save report.yaml                keep it, as an agent of its own
  nuncio workflow run report --input topic=@notes.txt -o json")]
pub(crate) struct Arguments {
    #[command(subcommand)]
    command: Command,

    #[command(flatten)]
    flags: Flags,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Say what is wrong with workflows, a line each: `FILE:LINE:COLUMN: …`.
    Validate {
        /// The files, YAML or JSON; `-` reads standard input.
        #[arg(required = true, value_name = "FILE")]
        files: Vec<PathBuf>,
        /// Ask no hub which agents and workflows there are.
        #[arg(long)]
        offline: bool,
    },
    /// List the workflows that the hub keeps.
    List,
    /// Show a workflow that the hub keeps.
    Show {
        /// Its name.
        name: String,
        /// Which version; the newest otherwise.
        #[arg(long, value_name = "N")]
        version: Option<u32>,
        /// Print the file as it was saved.
        #[arg(long)]
        source: bool,
    },
    /// Keep workflows: each as an agent of its own, or as a new version of the one that is there.
    Save {
        /// The files, YAML or JSON; `-` reads standard input.
        #[arg(required = true, value_name = "FILE")]
        files: Vec<PathBuf>,
        /// The name to keep it under; that in the file otherwise.
        #[arg(long, value_name = "NAME")]
        name: Option<AgentName>,
    },
    /// Remove a workflow with its agent. Runs that have begun go on.
    Remove {
        /// Its name.
        name: String,
    },
    Run(Begin),
}

/// Run a workflow, and wait for what comes of it. Ctrl-C leaves the run to go on.
#[derive(Debug, Args)]
struct Begin {
    /// A file, which is saved first, or the name of a workflow that the hub keeps.
    #[arg(value_name = "FILE|NAME")]
    what: String,
    #[command(flatten)]
    inputs: Inputs,
    /// Which version of a workflow that the hub keeps; the newest otherwise.
    #[arg(long, value_name = "N")]
    version: Option<u32>,
    /// Do not wait: return as soon as the run has begun.
    #[arg(long)]
    no_wait: bool,
}

#[derive(Serialize)]
struct Given<'a> {
    inputs: &'a BTreeMap<String, Raw>,
    #[serde(skip_serializing_if = "Option::is_none")]
    version: Option<u32>,
}

#[derive(Deserialize)]
struct Workflows {
    workflows: Vec<Short>,
}

/// A workflow in short, as the hub shows it.
#[derive(Deserialize)]
struct Short {
    name: String,
    version: u32,
    description: String,
    inputs: Vec<Input>,
    updated_at: String,
}

#[derive(Deserialize)]
struct Input {
    name: String,
    prompt: Option<String>,
    required: bool,
    default: Option<Raw>,
}

/// A workflow, as the hub shows it.
#[derive(Deserialize)]
struct Whole {
    name: String,
    version: u32,
    description: String,
    source: String,
    graph: Graph,
    inputs: Vec<Input>,
    updated_at: String,
    updated_by: String,
    versions: Vec<Version>,
}

#[derive(Deserialize)]
struct Graph {
    #[serde(default)]
    nodes: Vec<Node>,
}

#[derive(Deserialize)]
struct Node {
    id: String,
    r#type: String,
}

#[derive(Deserialize)]
struct Version {
    version: u32,
}

pub(crate) async fn run(arguments: Arguments) -> Result<(), Failure> {
    let Arguments { command, flags } = arguments;
    let mut output = flags.output();
    let output = &mut output;
    match command {
        Command::Validate { files, offline } => check::run(&files, &flags, offline, output).await,
        Command::List => list(&flags.hub()?, output).await,
        Command::Show { name, version, source } => {
            let query = query(&[("version", version.map(|version| version.to_string()))]);
            let (whole, bytes): (Whole, _) =
                flags.hub()?.read(&format!("{}{query}", path(&name))).await?;
            match (output.is_json(), source) {
                (true, _) => json(output, &bytes),
                (false, true) => print(&whole.source, output),
                (false, false) => Ok(show(&whole, output)?),
            }
        }
        Command::Save { files, name } => save::run(&files, name, &flags.hub()?, output).await,
        Command::Remove { name } => {
            flags.hub()?.call(Method::DELETE, &path(&name), None::<&()>).await?;
            if output.is_json() { Ok(()) } else { Ok(output.field("Removed", &name)?) }
        }
        Command::Run(begin) => begin.run(&flags.hub()?, output).await,
    }
}

impl Begin {
    async fn run(&self, hub: &Hub, output: &mut Output) -> Result<(), Failure> {
        let inputs = self.inputs.read()?;
        let (name, version) = if File::is_meant(&self.what) {
            if self.version.is_some() {
                return Err(Failure::usage("--version is for a workflow that the hub keeps")
                    .hint("name the workflow instead of the file"));
            }
            let file = File::read(self.what.as_ref())?;
            let name = file.name(None)?;
            let saved = save::save(&file, &name, hub).await?;
            if saved.is_new {
                note(&format!("saved {name} version {}", saved.version));
            }
            (name.as_str().to_owned(), Some(saved.version))
        } else {
            (self.what.clone(), self.version)
        };
        let given = Given { inputs: &inputs, version };
        let begun = hub.call(Method::POST, &format!("{}/runs", path(&name)), Some(&given)).await;
        let begun = begun.map_err(|failure| {
            if failure.is_hub_status(http::StatusCode::NOT_FOUND) {
                failure
                    .hint("`nuncio workflow list` shows what there is; a file needs its whole name")
            } else {
                failure
            }
        })?;
        if self.no_wait {
            has_begun(&begun, output)
        } else {
            follow::to_end(hub, &begun, output).await
        }
    }
}

fn path(name: &str) -> String {
    format!("/api/v1/workflows/{}", segment(name))
}

async fn list(hub: &Hub, output: &mut Output) -> Result<(), Failure> {
    let bytes = hub.get("/api/v1/workflows").await?;
    if output.is_json() {
        return json(output, &bytes);
    }
    let Workflows { workflows } = parse(&bytes)?;
    let mut table = Table::new(["NAME", "VERSION", "UPDATED", "INPUTS", "DESCRIPTION"]);
    for workflow in &workflows {
        let inputs = workflow.inputs.iter().map(|input| {
            if input.required { input.name.clone() } else { format!("[{}]", input.name) }
        });
        table.row([
            workflow.name.clone(),
            workflow.version.to_string(),
            ago(&workflow.updated_at),
            shortened(&inputs.collect::<Vec<_>>().join(" ")),
            shortened(&workflow.description),
        ]);
    }
    table.write(output)?;
    if workflows.is_empty() {
        note("no workflows yet; keep one: nuncio workflow save FILE");
    }
    Ok(())
}

fn show(whole: &Whole, output: &mut Output) -> io::Result<()> {
    output.field("Name", &whole.name)?;
    output.field("Version", &whole.version.to_string())?;
    if !whole.description.is_empty() {
        output.field("Description", &whole.description)?;
    }
    output.field("Updated", &format!("{} ({})", ago(&whole.updated_at), whole.updated_at))?;
    output.field("By", &whole.updated_by)?;
    let versions: Vec<_> = whole.versions.iter().map(|kept| kept.version.to_string()).collect();
    output.field("Versions", &versions.join(", "))?;
    for input in &whole.inputs {
        let need = match (&input.default, input.required) {
            (Some(default), _) => format!(" (unless given: {})", default.as_str()),
            (None, true) => " (needed)".to_owned(),
            (None, false) => " (may be left out)".to_owned(),
        };
        let prompt = input.prompt.as_ref().map(|prompt| format!(": {prompt}"));
        output.field("Input", &format!("{}{need}{}", input.name, prompt.unwrap_or_default()))?;
    }
    for node in &whole.graph.nodes {
        output.field("Node", &format!("{} ({})", node.id, node.r#type))?;
    }
    Ok(())
}

/// Prints a file as it is; a terminal gets nothing that it would obey.
fn print(source: &str, output: &mut Output) -> Result<(), Failure> {
    if io::stdout().is_terminal() {
        output.say(source)?;
        return Ok(output.end_line()?);
    }
    let mut out = io::stdout().lock();
    out.write_all(source.as_bytes())?;
    Ok(out.flush()?)
}
