//! `nuncio tasks`: what goes through a hub, and how to steer it.

mod event;
mod watch;

use clap::{Args, Subcommand};
use http::Method;
use nuncio_protocol::{json, task::Task};
use serde::Deserialize;

use super::{
    Flags, Hub, agents::shortened, ago::ago, json as write_json, parse, query, segment,
    table::Table,
};
use crate::{
    failure::Failure,
    output::{Output, note},
    show,
};

/// Show, follow and cancel the tasks that go through a hub.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  nuncio tasks                                    the newest, of all agents
  nuncio tasks --agent writer --state working,input-required
  nuncio tasks watch ID                           what happens to one, live
  nuncio tasks cancel ID                          with every call made because of it")]
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
    /// Show a task: whose it is, where it stands, and what came of it.
    Show {
        /// Its id.
        task: String,
        /// Show what was said, too.
        #[arg(long)]
        history: bool,
    },
    /// End a task and every call that was made because of it.
    Cancel {
        /// Its id.
        task: String,
        /// End it alone: the calls made because of it go on.
        #[arg(long)]
        alone: bool,
    },
    /// Show a task and the calls that were made because of it.
    Tree {
        /// Its id.
        task: String,
    },
    /// List what has happened to a task.
    Events {
        /// Its id.
        task: String,
        /// Only what came behind the event of this number.
        #[arg(long, value_name = "NUMBER")]
        after: Option<u64>,
    },
    /// Follow a task until it ends. Ctrl-C leaves it to go on.
    Watch {
        /// Its id.
        task: String,
        /// Only what comes behind the event of this number.
        #[arg(long, value_name = "NUMBER")]
        after: Option<u64>,
    },
}

/// Which tasks are shown.
#[derive(Debug, Args)]
#[group(skip)]
struct List {
    /// Only those that this agent works on.
    #[arg(long, value_name = "AGENT")]
    agent: Option<String>,
    /// Only those that this person or agent asked for.
    #[arg(long, value_name = "WHO")]
    caller: Option<String>,
    /// Only those in one of these states, such as working,input-required.
    #[arg(long, value_name = "STATES")]
    state: Option<String>,
    /// Only those of this conversation.
    #[arg(long, value_name = "ID")]
    context: Option<String>,
    /// Only those with news of this moment or later, such as 2026-11-16T11:00:00Z.
    #[arg(long, value_name = "TIME")]
    updated_after: Option<String>,
    /// At most so many.
    #[arg(long, value_name = "N", default_value_t = 50)]
    limit: usize,
}

#[derive(Deserialize)]
struct Page {
    tasks: Vec<Row>,
    next: Option<String>,
    total: Option<u64>,
}

/// A task, as the hub shows it.
#[derive(Deserialize)]
pub(super) struct Row {
    pub(super) id: String,
    #[serde(flatten)]
    pub(super) between: Between,
    pub(super) state: String,
    updated: String,
    asked: String,
    parent: Option<String>,
}

/// Who works for whom.
#[derive(Deserialize)]
pub(super) struct Between {
    agent: Option<String>,
    agent_name: Option<String>,
    caller: Option<String>,
    caller_name: Option<String>,
}

impl Between {
    /// Returns what the agent is called, or else its id.
    pub(super) fn agent(&self) -> &str {
        self.agent_name.as_deref().or(self.agent.as_deref()).unwrap_or("-")
    }

    /// Returns what the caller is called.
    pub(super) fn caller(&self) -> &str {
        self.caller_name.as_deref().or(self.caller.as_deref()).unwrap_or("-")
    }
}

/// The task itself. Apart from its row: what is flattened cannot be kept as text.
#[derive(Deserialize)]
struct Whole {
    task: json::Raw,
}

#[derive(Deserialize)]
struct Tree {
    id: String,
    agent: Option<String>,
    agent_name: Option<String>,
    state: String,
    calls: Vec<Self>,
}

/// What became of a wish to end a task.
#[derive(Deserialize)]
pub(super) struct Canceled {
    stopped: Vec<Stopped>,
    going_on: Vec<Stopped>,
}

#[derive(Deserialize)]
struct Stopped {
    id: String,
    #[serde(flatten)]
    between: Between,
    state: String,
    said: Option<String>,
    why: Option<String>,
}

pub(crate) async fn run(arguments: Arguments) -> Result<(), Failure> {
    let hub = arguments.flags.hub()?;
    let mut output = arguments.flags.output();
    let Some(command) = arguments.command else {
        return list(&hub, &arguments.list, &mut output).await;
    };
    match command {
        Command::Show { task, history } => {
            let bytes = hub.get(&path(&task)).await?;
            if output.is_json() {
                return write_json(&mut output, &bytes);
            }
            show_one(&parse(&bytes)?, &parse(&bytes)?, history, &mut output)
        }
        Command::Cancel { task, alone } => {
            let below = if alone { "?below=keep" } else { "" };
            let path = format!("{}/cancel{below}", path(&task));
            let bytes = hub.call(Method::POST, &path, None::<&()>).await?;
            if output.is_json() {
                return write_json(&mut output, &bytes);
            }
            show_canceled(&parse(&bytes)?, &mut output)
        }
        Command::Tree { task } => {
            let bytes = hub.get(&format!("{}/tree", path(&task))).await?;
            if output.is_json() {
                return write_json(&mut output, &bytes);
            }
            branch(&parse(&bytes)?, 0, &mut output)
        }
        Command::Events { task, after } => event::list(&hub, &task, after, &mut output).await,
        Command::Watch { task, after } => watch::run(&hub, &task, after, &mut output).await,
    }
}

fn path(task: &str) -> String {
    format!("/api/v1/tasks/{}", segment(task))
}

/// Returns a state without the prefix that all of them have.
pub(super) fn state_name(state: &str) -> &str {
    state.strip_prefix("TASK_STATE_").unwrap_or(state)
}

async fn list(hub: &Hub, list: &List, output: &mut Output) -> Result<(), Failure> {
    let mut table = Table::new(["TASK", "AGENT", "CALLER", "STATE", "UPDATED", "ASKED"]);
    let mut after = None;
    let mut left = list.limit.max(1);
    let (mut shown, mut total) = (0, None);
    loop {
        let query = query(&[
            ("agent", list.agent.clone()),
            ("caller", list.caller.clone()),
            ("state", list.state.clone()),
            ("context", list.context.clone()),
            ("updated_after", list.updated_after.clone()),
            ("after", after),
            ("limit", Some(left.min(200).to_string())),
        ]);
        let (page, bytes): (Page, _) = hub.read(&format!("/api/v1/tasks{query}")).await?;
        if output.is_json() {
            write_json(output, &bytes)?;
        }
        shown += page.tasks.len();
        left = left.saturating_sub(page.tasks.len());
        for task in page.tasks {
            table.row([
                task.id.clone(),
                task.between.agent().to_owned(),
                task.between.caller().to_owned(),
                state_name(&task.state).to_owned(),
                ago(&task.updated),
                shortened(&task.asked),
            ]);
        }
        total = page.total.or(total);
        after = page.next;
        if after.is_none() || left == 0 {
            break;
        }
    }
    if output.is_json() {
        return Ok(());
    }
    table.write(output)?;
    let is_narrowed = list.agent.is_some()
        || list.caller.is_some()
        || list.state.is_some()
        || list.context.is_some()
        || list.updated_after.is_some();
    match (shown, after, total) {
        (0, _, _) if is_narrowed => note("no task fits; `nuncio tasks` shows all"),
        (0, _, _) => note("no tasks yet; begin one: nuncio send -a AGENT \"hello\""),
        (_, Some(_), Some(total)) => note(&format!("{shown} of {total}; --limit shows more")),
        (_, Some(_), None) => note("there are more; --limit shows them"),
        (_, None, _) => {}
    }
    Ok(())
}

fn show_one(row: &Row, whole: &Whole, history: bool, output: &mut Output) -> Result<(), Failure> {
    let task: Task = json::from_str(whole.task.as_str())
        .map_err(|error| Failure::internal(format!("the hub's answer is no task: {error}")))?;
    output.field("Agent", row.between.agent())?;
    output.field("Caller", row.between.caller())?;
    output.field("Updated", &format!("{} ({})", ago(&row.updated), row.updated))?;
    if let Some(parent) = &row.parent {
        output.field("Because-Of", parent)?;
    }
    show::task(output, &task)?;
    if history {
        show::history(output, &task)?;
    }
    let id = &row.id;
    match task.status.state {
        state if state.is_interrupted() => {
            note(&format!("answer it: nuncio inbox answer {id} \"…\""));
        }
        state if !state.is_terminal() => note(&format!("follow it: nuncio tasks watch {id}")),
        _ => {}
    }
    Ok(())
}

pub(super) fn show_canceled(canceled: &Canceled, output: &mut Output) -> Result<(), Failure> {
    let told = |task: &Stopped| {
        format!("{}  {}  {}", task.id, task.between.agent(), state_name(&task.state))
    };
    for task in &canceled.stopped {
        let said = task.said.as_ref().map(|said| format!(": {said}")).unwrap_or_default();
        output.field("Stopped", &format!("{}{said}", told(task)))?;
    }
    for task in &canceled.going_on {
        let why = task.why.as_deref().unwrap_or("nobody knows why");
        output.field("Goes-On", &format!("{}: {why}", told(task)))?;
    }
    Ok(())
}

fn branch(tree: &Tree, depth: usize, output: &mut Output) -> Result<(), Failure> {
    let agent = tree.agent_name.as_deref().or(tree.agent.as_deref()).unwrap_or("-");
    let indent = "  ".repeat(depth);
    output.line(&format!("{indent}{agent}  {}  {}", state_name(&tree.state), tree.id))?;
    tree.calls.iter().try_for_each(|call| branch(call, depth + 1, output))
}
