//! `nuncio task`: looks at tasks, follows and cancels them.

use std::io;

use clap::{Args, Subcommand};
use nuncio_protocol::{
    ids::{ContextId, TaskId},
    operation::{CancelTaskRequest, ListTasksRequest, Request, SubscribeToTaskRequest},
    service::Answered,
    state::TaskState,
    task::{StreamResponse, Task},
};

use crate::{
    agent,
    failure::Failure,
    follow::{self, follow, get, tell_next},
    output::Output,
    push_config, settings, show,
};

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Show a task: where it stands, and what came of it.
    #[command(after_help = "\
Examples:
  nuncio task get -a localhost:7420 ID
  nuncio task get -a localhost:7420 ID --wait --timeout 5m
  nuncio task get -a localhost:7420 ID --history 10 -o json")]
    Get(Get),
    /// List tasks, the newest first.
    #[command(after_help = "\
Examples:
  nuncio task list -a localhost:7420
  nuncio task list -a localhost:7420 --status input-required --page-size 5")]
    List(List),
    /// Ask for a task to end.
    #[command(after_help = "\
Examples:
  nuncio task cancel -a localhost:7420 ID")]
    Cancel(One),
    /// Follow a task as it goes on.
    #[command(after_help = "\
Examples:
  nuncio task subscribe -a localhost:7420 ID
  nuncio task subscribe -a localhost:7420 ID --after 12     what came behind event 12
  nuncio task subscribe -a localhost:7420 ID -o json --stream")]
    Subscribe(Subscribe),
    /// Have an agent tell a webhook about a task.
    #[command(subcommand)]
    PushConfig(push_config::Command),
}

/// One task of an agent.
#[derive(Debug, Args)]
#[group(skip)]
pub(crate) struct One {
    /// The task.
    #[arg(id = "task", value_name = "TASK", value_parser = TaskId::parse, allow_hyphen_values = true)]
    pub(crate) id: TaskId,

    #[command(flatten)]
    pub(crate) agent: agent::Flags,

    #[command(flatten)]
    pub(crate) common: settings::Flags,
}

#[derive(Debug, Args)]
pub(crate) struct Get {
    /// Wait until the task has ended or wants something.
    #[arg(long, visible_alias = "watch")]
    wait: bool,

    /// Show at most so many messages of its history.
    #[arg(long, alias = "history-length", value_name = "N", value_parser = clap::value_parser!(i32).range(0..))]
    history: Option<i32>,

    #[command(flatten)]
    one: One,
}

#[derive(Debug, Args)]
pub(crate) struct List {
    /// Only tasks of this context.
    #[arg(long, value_name = "ID", allow_hyphen_values = true)]
    context_id: Option<String>,

    /// Only tasks in this state, such as working or input-required.
    #[arg(long, value_name = "STATE", value_parser = parse_state)]
    status: Option<TaskState>,

    /// How many at once, 1 to 100.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(i32).range(1..=100))]
    page_size: Option<i32>,

    /// Go on where the last page ended.
    #[arg(long, value_name = "TOKEN", allow_hyphen_values = true)]
    page_token: Option<String>,

    /// Show what came of them, too.
    #[arg(long)]
    artifacts: bool,

    #[command(flatten)]
    agent: agent::Flags,

    #[command(flatten)]
    common: settings::Flags,
}

#[derive(Debug, Args)]
pub(crate) struct Subscribe {
    /// Show only what came behind the event of this number.
    #[arg(long, value_name = "NUMBER")]
    after: Option<u64>,

    /// With `-o json`: one event a line, as it comes.
    #[arg(long)]
    stream: bool,

    #[command(flatten)]
    one: One,
}

pub(crate) async fn run(command: Command) -> Result<(), Failure> {
    match command {
        Command::Get(arguments) => show_one(arguments).await,
        Command::List(arguments) => list(arguments).await,
        Command::Cancel(arguments) => cancel(arguments).await,
        Command::Subscribe(arguments) => subscribe(arguments).await,
        Command::PushConfig(command) => push_config::run(command).await,
    }
}

async fn show_one(Get { wait, history, one }: Get) -> Result<(), Failure> {
    let connected = one.agent.connect(&one.common).await?;
    let mut output = connected.settings.output()?;
    let task = if wait {
        follow::wait(&connected, &one.id, history).await?
    } else {
        get(&connected, &one.id, history).await?
    };
    if output.is_json() {
        output.json(&String::from_utf8_lossy(task.json()))?;
    } else {
        let task = follow::read(&task)?;
        show::task(&mut output, task)?;
        if history.is_some() && !output.is_verbose() {
            show::history(&mut output, task)?;
        }
    }
    let task = follow::read(&task)?;
    tell_next(&connected, &task.id, task.status.state);
    Ok(())
}

async fn list(arguments: List) -> Result<(), Failure> {
    let connected = arguments.agent.connect(&arguments.common).await?;
    let mut output = connected.settings.output()?;
    let parse = |text: String| {
        ContextId::parse(&text).map_err(|error| Failure::usage(format!("--context-id: {error}")))
    };
    let request = ListTasksRequest {
        context_id: arguments.context_id.map(parse).transpose()?,
        status: arguments.status.unwrap_or_default(),
        page_size: arguments.page_size,
        page_token: arguments.page_token.unwrap_or_default(),
        history_length: Some(0),
        include_artifacts: arguments.artifacts.then_some(true),
        ..ListTasksRequest::default()
    };
    let answer = connected.call(Request::ListTasks(request)).await?;
    if output.is_json() {
        output.json(&String::from_utf8_lossy(&answer.json()))?;
        return Ok(());
    }
    let Answered::Tasks(page) = &answer else {
        return Err(Failure::internal("the answer is no list of tasks"));
    };
    let page = page.value().map_err(|error| {
        Failure::internal(format!("the agent's answer is no list of tasks: {error}"))
    })?;
    for task in &page.tasks {
        row(&mut output, task, arguments.artifacts)?;
    }
    output.field("Total", &page.total_size.to_string())?;
    if !page.next_page_token.is_empty() {
        output.field("Next-Page", &page.next_page_token)?;
    }
    Ok(())
}

fn row(output: &mut Output, task: &Task, with_artifacts: bool) -> io::Result<()> {
    if with_artifacts || output.is_verbose() {
        return show::task(output, task);
    }
    output.field("Task", task.id.as_str())?;
    if let Some(context) = &task.context_id {
        output.field("Context", context.as_str())?;
    }
    show::state(output, task.status.state)
}

async fn cancel(One { id, agent, common }: One) -> Result<(), Failure> {
    let connected = agent.connect(&common).await?;
    let mut output = connected.settings.output()?;
    let request = CancelTaskRequest { tenant: None, id, metadata: None };
    let answer = connected.call(Request::CancelTask(request)).await?;
    if output.is_json() {
        output.json(&String::from_utf8_lossy(&answer.json()))?;
        return Ok(());
    }
    let Answered::Task(task) = &answer else {
        return Err(Failure::internal("the answer is no task"));
    };
    row(&mut output, follow::read(task)?, false)?;
    Ok(())
}

async fn subscribe(Subscribe { after, stream, one }: Subscribe) -> Result<(), Failure> {
    let connected = one.agent.connect(&one.common).await?;
    let mut output = connected.settings.output()?;
    let request = SubscribeToTaskRequest { tenant: None, id: one.id.clone() };
    // One document is the task at its end; the events are for whoever asks for them.
    let is_document = output.is_json() && !stream;
    let opened = connected.stream(Request::SubscribeToTask(request), after).await?;
    let followed = follow(&connected, opened, |response, event| {
        // A resumed stream begins with the task as it was, which people have seen.
        let is_known = !output.is_json() && after.is_some() && event.seq == after;
        if is_document || (is_known && !has_gap(response)) {
            return Ok(());
        }
        follow::write(&mut output, response, event)
    })
    .await;
    output.close()?;
    let told = followed?;
    if is_document {
        let task = get(&connected, &one.id, None).await?;
        output.json(&String::from_utf8_lossy(task.json()))?;
    }
    if let Some(state) = told.state {
        tell_next(&connected, &one.id, state);
    }
    Ok(())
}

/// Tells whether the agent says that events are missing behind the one that was seen.
fn has_gap(event: &StreamResponse) -> bool {
    match event {
        StreamResponse::Task(task) => {
            task.metadata.as_ref().is_some_and(|metadata| metadata.get("resumeGap").is_some())
        }
        _ => true,
    }
}

fn parse_state(text: &str) -> Result<TaskState, String> {
    let name = text.to_ascii_uppercase().replace('-', "_");
    let name = if name.starts_with("TASK_STATE_") { name } else { format!("TASK_STATE_{name}") };
    TaskState::from_name(&name).ok_or_else(|| {
        "expected submitted, working, input-required, auth-required, completed, failed, canceled \
         or rejected"
            .to_owned()
    })
}
