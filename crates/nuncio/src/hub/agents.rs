//! `nuncio agents`: who is in the directory.

mod add;

use clap::{Args, Subcommand, ValueEnum};
use http::Method;
use nuncio_hub::agent::Status;
use serde::{Deserialize, Serialize};

use self::add::Add;
use super::{Flags, Hub, json, parse, query, segment, table::Table};
use crate::{failure::Failure, output::Output};

/// Show, add, place and remove the agents of a hub.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  nuncio agents                                   who is there
  nuncio agents add https://agent.example         by its card
  nuncio agents add --name writer --parent lead   by name; it registers later
  nuncio agents add --name parrot --kind echo     one that the hub runs itself
  nuncio agents move writer --parent editor")]
pub(crate) struct Arguments {
    #[command(subcommand)]
    command: Option<Command>,

    #[command(flatten)]
    list: List,

    #[command(flatten)]
    flags: Flags,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Add an agent: by its URL, by a name under which it registers later, or one that the hub
    /// runs itself.
    Add(Add),
    /// Show an agent.
    Show {
        /// Its name or id.
        agent: String,
    },
    /// Give an agent another place in the hierarchy.
    Move {
        /// Its name or id.
        agent: String,
        /// The name or id of the agent above it.
        #[arg(long, value_name = "AGENT", required_unless_present = "top")]
        parent: Option<String>,
        /// Put it at the top.
        #[arg(long, conflicts_with = "parent")]
        top: bool,
    },
    /// Remove an agent for good.
    Remove {
        /// Its name or id.
        agent: String,
        /// What becomes of those below it.
        #[arg(long, value_enum, default_value = "refuse")]
        below: Below,
        /// Who stands in for it: whoever asks for it or calls it comes there.
        #[arg(long, value_name = "AGENT")]
        forward_to: Option<String>,
    },
    /// Let an agent rest, with all below it.
    Pause {
        /// Its name or id.
        agent: String,
    },
    /// End the rest of an agent.
    Resume {
        /// Its name or id.
        agent: String,
    },
}

/// Which agents are shown.
#[derive(Debug, Args)]
#[group(skip)]
struct List {
    /// Only those with this in their name, role or description.
    #[arg(long, short = 'q', value_name = "TEXT")]
    query: Option<String>,
    /// Only those with a skill of this id.
    #[arg(long, value_name = "ID")]
    skill: Option<String>,
    /// Only those with a skill that has this tag.
    #[arg(long, value_name = "TAG")]
    tag: Option<String>,
    /// Only those with this status.
    #[arg(long, value_name = "STATUS", value_parser = Status::ALL.map(Status::as_str))]
    status: Option<String>,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Below {
    /// Then the agent is not removed.
    Refuse,
    /// They come to stand below the one above it.
    Lift,
    /// They are removed too.
    Remove,
}

#[derive(Deserialize)]
struct Page {
    agents: Vec<Agent>,
    next: Option<String>,
}

#[derive(Deserialize)]
pub(super) struct Agent {
    id: String,
    pub(super) name: String,
    title: String,
    role: Option<String>,
    parent_name: Option<String>,
    pub(super) status: String,
    kind: Option<String>,
    pub(super) delivery: String,
    pub(super) trust: u8,
    pub(super) skills: Vec<Skill>,
    active_tasks: u32,
    #[serde(default)]
    current_task: String,
    pub(super) addresses: Addresses,
    #[serde(default)]
    versions: Vec<String>,
    #[serde(default)]
    bindings: Vec<String>,
    #[serde(default)]
    is_signed: bool,
}

#[derive(Deserialize)]
pub(super) struct Skill {
    pub(super) id: String,
}

#[derive(Deserialize)]
pub(super) struct Addresses {
    pub(super) public: Option<String>,
    internal: Option<String>,
}

#[derive(Serialize)]
struct Place<'a> {
    parent: Option<&'a str>,
}

pub(crate) async fn run(arguments: Arguments) -> Result<(), Failure> {
    let hub = arguments.flags.hub()?;
    let mut output = arguments.flags.output();
    let Some(command) = arguments.command else {
        return list(&hub, &arguments.list, &mut output).await;
    };
    let shown = match command {
        Command::Show { agent } => hub.get(&path(&agent)).await?,
        Command::Add(add) => match add.run(&arguments.flags, &mut output).await? {
            Some(shown) => shown,
            None => return Ok(()),
        },
        Command::Move { agent, parent, .. } => {
            let place = Place { parent: parent.as_deref() };
            hub.call(Method::PUT, &format!("{}/parent", path(&agent)), Some(&place)).await?
        }
        Command::Pause { agent } => {
            hub.call(Method::POST, &format!("{}/pause", path(&agent)), None::<&()>).await?
        }
        Command::Resume { agent } => {
            hub.call(Method::POST, &format!("{}/resume", path(&agent)), None::<&()>).await?
        }
        Command::Remove { agent, below, forward_to } => {
            let below = match below {
                Below::Refuse => "refuse",
                Below::Lift => "lift",
                Below::Remove => "remove",
            };
            let query = query(&[("below", Some(below.to_owned())), ("forwarded_to", forward_to)]);
            let bytes =
                hub.call(Method::DELETE, &format!("{}{query}", path(&agent)), None::<&()>).await?;
            return removed(&bytes, &mut output);
        }
    };
    if output.is_json() {
        return json(&mut output, &shown);
    }
    show(&parse(&shown)?, &mut output)
}

fn path(agent: &str) -> String {
    format!("/api/v1/agents/{}", segment(agent))
}

async fn list(hub: &Hub, list: &List, output: &mut Output) -> Result<(), Failure> {
    let mut after = None;
    let mut table = Table::new(["NAME", "STATUS", "PARENT", "A2A", "SKILLS", "TASKS", "DOING"]);
    loop {
        let query = query(&[
            ("q", list.query.clone()),
            ("skill", list.skill.clone()),
            ("tag", list.tag.clone()),
            ("status", list.status.clone()),
            ("after", after),
            ("limit", Some("500".to_owned())),
        ]);
        let (page, bytes): (Page, _) = hub.read(&format!("/api/v1/agents{query}")).await?;
        if output.is_json() {
            json(output, &bytes)?;
        }
        for agent in page.agents {
            let skills: Vec<_> = agent.skills.iter().map(|skill| skill.id.as_str()).collect();
            table.row([
                agent.name,
                agent.status,
                or_dash(agent.parent_name.unwrap_or_default()),
                or_dash(agent.versions.join(",")),
                shortened(&skills.join(",")),
                agent.active_tasks.to_string(),
                shortened(&agent.current_task),
            ]);
        }
        after = page.next;
        if after.is_none() {
            break;
        }
    }
    if output.is_json() { Ok(()) } else { Ok(table.write(output)?) }
}

/// What is said of something that is not there.
fn or_dash(text: String) -> String {
    if text.is_empty() { "-".to_owned() } else { text }
}

fn show(agent: &Agent, output: &mut Output) -> Result<(), Failure> {
    output.field("Name", &agent.name)?;
    output.field("Title", &agent.title)?;
    output.field("Id", &agent.id)?;
    output.field("Status", &agent.status)?;
    if let Some(role) = &agent.role {
        output.field("Role", role)?;
    }
    if let Some(parent) = &agent.parent_name {
        output.field("Parent", parent)?;
    }
    if let Some(url) = &agent.addresses.public {
        output.field("Address", url)?;
    }
    if let Some(url) = &agent.addresses.internal {
        output.field("Internal address", url)?;
    }
    if let Some(kind) = &agent.kind {
        output.field("Kind", kind)?;
    }
    if !agent.versions.is_empty() {
        let (versions, bindings) = (agent.versions.join(", "), agent.bindings.join(", "));
        output.field("A2A", &format!("{versions} on {bindings}"))?;
        output.field("Card", if agent.is_signed { "signed" } else { "not signed" })?;
    }
    output.field("Delivery", &agent.delivery)?;
    output.field("Trust", &agent.trust.to_string())?;
    let skills: Vec<_> = agent.skills.iter().map(|skill| skill.id.as_str()).collect();
    if !skills.is_empty() {
        output.field("Skills", &skills.join(", "))?;
    }
    if !agent.current_task.is_empty() {
        output.field("Doing", &agent.current_task)?;
    }
    Ok(())
}

fn removed(bytes: &[u8], output: &mut Output) -> Result<(), Failure> {
    #[derive(Deserialize)]
    struct Removed {
        removed: usize,
    }
    if output.is_json() {
        return json(output, bytes);
    }
    let Removed { removed } = parse(bytes)?;
    Ok(output.field("Removed", &removed.to_string())?)
}

/// Keeps a row on one line.
pub(super) fn shortened(text: &str) -> String {
    const MOST: usize = 40;
    if text.chars().count() <= MOST {
        return if text.is_empty() { "-".to_owned() } else { text.to_owned() };
    }
    text.chars().take(MOST - 1).chain(['…']).collect()
}
