//! `nuncio send`: says something to an agent.

use clap::Args;
use nuncio_protocol::{
    ids::{ContextId, TaskId},
    json::Object,
    message::{Message, Role},
    operation::{Request, SendMessageConfiguration, SendMessageRequest},
    service::Answered,
    task::SendMessageResponse,
};

use crate::{
    agent::{self, Connected},
    failure::Failure,
    follow::{self, follow, tell_next},
    output::{Output, note},
    parts::Parts,
    settings::{self, Settings},
    show,
    terminal::Waiting,
};

const EXAMPLES: &str = "\
Examples:
  nuncio send -a localhost:7420 'write about otters' --stream
  nuncio send -a agent.example --file report.pdf --text 'sum this up'
  nuncio send -a agent.example --task-id ID 'yes'        answer a question
  nuncio send -a agent.example 'a long job' --async      do not wait
  git diff | nuncio send -a reviewer.example - -o json";

/// Say something to an agent, and wait for what comes of it.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    /// What to say; `-` reads standard input.
    #[arg(id = "said", value_name = "TEXT")]
    text: Option<String>,

    #[command(flatten)]
    parts: Parts,

    /// Show what happens as it happens; with `-o json`, one event a line.
    #[arg(long, conflicts_with_all = ["return_at_once", "wait"])]
    stream: bool,

    /// Do not wait: return as soon as the task exists.
    #[arg(long = "async", visible_aliases = ["return-immediately", "no-wait"], id = "return_at_once")]
    return_at_once: bool,

    /// Wait until the task has ended or wants something. That is the default.
    #[arg(long, conflicts_with = "return_at_once")]
    wait: bool,

    /// Go on within this context.
    #[arg(long, value_name = "ID", allow_hyphen_values = true)]
    context_id: Option<String>,

    /// Go on with this task, such as one that has asked something.
    #[arg(long, value_name = "ID", allow_hyphen_values = true)]
    task_id: Option<String>,

    /// Attach a JSON object to the request.
    #[arg(long, value_name = "JSON")]
    metadata: Option<String>,

    /// Return at most so many messages of the task's history.
    #[arg(long, value_name = "N")]
    history_length: Option<i32>,

    #[command(flatten)]
    agent: agent::Flags,

    #[command(flatten)]
    common: settings::Flags,
}

pub(crate) async fn run(arguments: Arguments) -> Result<(), Failure> {
    let Arguments { text, parts, stream, return_at_once, wait, agent, common, .. } = arguments;
    let mut settings = agent.settings(&common)?;
    settings.flag("context-id", arguments.context_id);
    settings.flag("task-id", arguments.task_id);
    settings.switch("async", return_at_once);
    let wishes = Wishes {
        is_async: !wait && !stream && settings.is_on("async")?,
        history_length: arguments.history_length.filter(|length| *length >= 0),
    };
    let mut request = SendMessageRequest::new(message(&settings, parts, text.as_deref())?);
    request.metadata = match arguments.metadata.as_deref().map(Object::parse_text) {
        None => None,
        Some(Ok(metadata)) => Some(metadata),
        Some(Err(error)) => {
            return Err(Failure::usage(format!("--metadata: {error}"))
                .hint("expected a JSON object, such as '{\"key\":\"value\"}'"));
        }
    };
    if wishes.is_async || wishes.history_length.is_some() {
        request.configuration = Some(SendMessageConfiguration {
            return_immediately: wishes.is_async,
            history_length: wishes.history_length,
            ..SendMessageConfiguration::default()
        });
    }
    let mut output = settings.output()?;
    let connected = Connected::open(settings).await?;
    if stream && connected.streams() {
        return send_and_follow(&connected, request, &mut output).await;
    }
    if stream {
        note("note: the agent does not stream; waiting for the end instead");
    }
    send_and_wait(&connected, request, &wishes, &mut output).await
}

struct Wishes {
    is_async: bool,
    history_length: Option<i32>,
}

fn message(settings: &Settings, parts: Parts, text: Option<&str>) -> Result<Message, Failure> {
    let parts = parts.read(text)?;
    let mut message = Message::user("");
    message.role = Role::User;
    message.parts = parts;
    let expected = "an identifier of 1 to 256 bytes";
    message.context_id =
        settings.read("context-id", expected, |text| ContextId::parse(text).ok())?;
    message.task_id = settings.read("task-id", expected, |text| TaskId::parse(text).ok())?;
    Ok(message)
}

async fn send_and_follow(
    connected: &Connected,
    request: SendMessageRequest,
    output: &mut Output,
) -> Result<(), Failure> {
    let stream = connected.stream(Request::SendStreamingMessage(request), None).await?;
    let told =
        follow(connected, stream, |response, event| follow::write(output, response, event)).await;
    output.close()?;
    let told = told?;
    if let (Some(task), Some(state)) = (told.task, told.state) {
        tell_next(connected, &task, state);
    }
    Ok(())
}

async fn send_and_wait(
    connected: &Connected,
    request: SendMessageRequest,
    wishes: &Wishes,
    output: &mut Output,
) -> Result<(), Failure> {
    let waiting = Waiting::start(&connected.settings, "waiting for the agent");
    let answer = connected.call(Request::SendMessage(request)).await;
    drop(waiting);
    let Answered::SendMessage(mut answer) = answer? else {
        return Err(Failure::internal("the answer is neither a task nor a message"));
    };
    let unreadable = |error: nuncio_protocol::json::Error| {
        Failure::internal(format!("the agent's answer is neither a task nor a message: {error}"))
            .hint("`nuncio doctor` tells what else is wrong with the agent")
    };
    // An agent may answer before the task has ended, whatever was asked for.
    let unfinished = match answer.value().map_err(unreadable)? {
        SendMessageResponse::Task(task) => {
            let state = task.status.state;
            let is_over = state.is_terminal() || state.is_interrupted();
            (!wishes.is_async && !is_over).then(|| task.id.clone())
        }
        SendMessageResponse::Message(_) => None,
    };
    if let Some(id) = unfinished {
        let task = follow::wait(connected, &id, wishes.history_length).await?;
        answer = SendMessageResponse::of_task(&task);
    }
    let value = answer.value().map_err(unreadable)?;
    if output.is_json() {
        output.json(&String::from_utf8_lossy(answer.json()))?;
    } else {
        show::answer(output, value)?;
        if let (SendMessageResponse::Task(task), Some(_), false) =
            (value, wishes.history_length, output.is_verbose())
        {
            show::history(output, task)?;
        }
    }
    if let SendMessageResponse::Task(task) = value {
        tell_next(connected, &task.id, task.status.state);
    }
    Ok(())
}
