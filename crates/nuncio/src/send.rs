//! `nuncio send`: says something to an agent.

use clap::Args;
use nuncio_client::Followed;
use nuncio_protocol::{
    ids::{ContextId, TaskId},
    json::{self, Object, Shared},
    message::{Message, Role},
    operation::{Request, SendMessageConfiguration, SendMessageRequest},
    service::Answered,
    task::SendMessageResponse,
};

use crate::{
    again,
    agent::{self, Connected},
    failure::Failure,
    follow::{self, Told, follow, tell_next, unless_broken_off},
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
    let stream = open(connected, request).await.map_err(|failure| look(connected, failure))?;
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
    let answer = if connected.streams() && !wishes.is_async {
        let waiting = Waiting::start(&connected.settings, "waiting for the agent");
        let stream = open(connected, request.clone()).await;
        drop(waiting);
        match stream {
            Ok(stream) => wait_by_stream(connected, stream, wishes).await?,
            // Not every agent does what its card says.
            Err(failure) if failure.is_unsupported() => {
                wait_by_call(connected, request, wishes).await?
            }
            Err(failure) => return Err(look(connected, failure)),
        }
    } else {
        wait_by_call(connected, request, wishes).await?
    };
    let value = answer.value().map_err(|error| unreadable(&error))?;
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

/// Waits on a stream: what becomes of the message has an id long before it has an end, and who
/// is broken off can come back to it.
async fn wait_by_stream(
    connected: &Connected,
    stream: Followed,
    wishes: &Wishes,
) -> Result<Shared<SendMessageResponse>, Failure> {
    let mut told = Told::default();
    let reply = follow::quietly(connected, stream, &mut told).await;
    let reply = reply.map_err(|failure| match &told.task {
        Some(_) => failure,
        None => look(connected, failure),
    })?;
    match (reply, told.task) {
        // A reply is written the same in a stream and in an answer.
        (Some(reply), _) => Ok(Shared::from_json(reply.json().clone())),
        (None, Some(id)) => {
            let task = follow::wait(connected, &id, wishes.history_length).await?;
            Ok(SendMessageResponse::of_task(&task))
        }
        (None, None) => Err(Failure::internal("the answer is neither a task nor a message")),
    }
}

async fn wait_by_call(
    connected: &Connected,
    request: SendMessageRequest,
    wishes: &Wishes,
) -> Result<Shared<SendMessageResponse>, Failure> {
    let waiting = Waiting::start(&connected.settings, "waiting for the agent");
    let answer = unless_broken_off(connected.call(Request::SendMessage(request))).await;
    drop(waiting);
    let answer = answer.map_err(|failure| look(connected, failure))?;
    let Answered::SendMessage(answer) = answer else {
        return Err(Failure::internal("the answer is neither a task nor a message"));
    };
    // An agent may answer before the task has ended, whatever was asked for.
    let unfinished = match answer.value().map_err(|error| unreadable(&error))? {
        SendMessageResponse::Task(task) => {
            let state = task.status.state;
            let is_over = state.is_terminal() || state.is_interrupted();
            (!wishes.is_async && !is_over).then(|| task.id.clone())
        }
        SendMessageResponse::Message(_) => None,
    };
    match unfinished {
        Some(id) => {
            let task = follow::wait(connected, &id, wishes.history_length).await?;
            Ok(SendMessageResponse::of_task(&task))
        }
        None => Ok(answer),
    }
}

async fn open(connected: &Connected, request: SendMessageRequest) -> Result<Followed, Failure> {
    unless_broken_off(connected.stream(Request::SendStreamingMessage(request), None)).await
}

/// Says where to look for a task of which not even the id has come.
fn look(connected: &Connected, failure: Failure) -> Failure {
    if !failure.is_open_ended() {
        return failure;
    }
    let command = again::list(&connected.settings);
    failure.hint(format!("the agent may have taken it; look for its task with: {command}"))
}

fn unreadable(error: &json::Error) -> Failure {
    Failure::internal(format!("the agent's answer is neither a task nor a message: {error}"))
        .hint("`nuncio doctor` tells what else is wrong with the agent")
}
