//! `nuncio chat`: talks with an agent, a line at a time.

use std::{
    io::{self, BufRead as _, IsTerminal as _, Write as _},
    thread,
};

use clap::Args;
use nuncio_protocol::{
    ids::{ContextId, TaskId},
    message::{Content, Message},
    operation::{Request, SendMessageRequest},
    service::Answered,
    state::TaskState,
    task::{SendMessageResponse, StreamResponse, Task},
};
use tokio::sync::mpsc;

use crate::{
    agent::{self, Connected},
    failure::Failure,
    follow::{self, follow},
    output::{Output, note},
    settings,
    show::state_name,
    terminal::Waiting,
};

const EXAMPLES: &str = "\
Examples:
  nuncio chat -a localhost:7420
  printf 'hello\\nhow are you\\n' | nuncio chat -a localhost:7420";

/// Talk with an agent, a line at a time; Ctrl-D ends it.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    /// Go on within this context.
    #[arg(long, value_name = "ID", value_parser = ContextId::parse, allow_hyphen_values = true)]
    context_id: Option<ContextId>,

    #[command(flatten)]
    agent: agent::Flags,

    #[command(flatten)]
    common: settings::Flags,
}

pub(crate) async fn run(arguments: Arguments) -> Result<(), Failure> {
    let connected = arguments.agent.connect(&arguments.common).await?;
    let output = connected.settings.output()?;
    let name = connected.agent.card().name;
    let is_terminal = io::stdin().is_terminal() && io::stderr().is_terminal();
    if is_terminal {
        note(&format!("talking with {name}; Ctrl-D ends it"));
    }
    let mut chat = Chat { connected, output, context: arguments.context_id, asking: None };
    let mut lines = lines(is_terminal);
    loop {
        let line = tokio::select! {
            line = lines.recv() => line,
            _ = tokio::signal::ctrl_c() => None,
        };
        let Some(Line { text, done }) = line else { break };
        if !text.trim().is_empty() {
            chat.turn(text).await?;
        }
        // The prompt comes when the answer has been shown; nobody waits for it at the end.
        let _ = done.send(()).await;
    }
    chat.leave();
    Ok(())
}

struct Chat {
    connected: Connected,
    output: Output,
    context: Option<ContextId>,
    /// A task that has asked something.
    asking: Option<TaskId>,
}

impl Chat {
    async fn turn(&mut self, text: String) -> Result<(), Failure> {
        let mut message = Message::user(text);
        message.context_id.clone_from(&self.context);
        message.task_id = self.asking.take();
        let request = SendMessageRequest::new(message);
        if self.connected.streams() { self.follow(request).await } else { self.wait(request).await }
    }

    async fn follow(&mut self, request: SendMessageRequest) -> Result<(), Failure> {
        let opened = self.connected.stream(Request::SendStreamingMessage(request), None).await;
        let output = &mut self.output;
        let followed = follow(&self.connected, opened?, |response, event| {
            if output.is_json() {
                return follow::write(output, response, event);
            }
            say_event(output, response)?;
            Ok(())
        });
        let told = followed.await?;
        self.context = told.context.or_else(|| self.context.take());
        self.end_turn(told.task, told.state)
    }

    async fn wait(&mut self, request: SendMessageRequest) -> Result<(), Failure> {
        let waiting = Waiting::start(&self.connected.settings, "waiting for the agent");
        let answer = self.connected.call(Request::SendMessage(request)).await;
        drop(waiting);
        let answer = answer?;
        let json = answer.json();
        let Answered::SendMessage(answer) = answer else {
            return Err(Failure::internal("the answer is neither a task nor a message"));
        };
        let unreadable = |error: nuncio_protocol::json::Error| {
            Failure::internal(format!("the answer is neither a task nor a message: {error}"))
        };
        if self.output.is_json() {
            self.output.json(&String::from_utf8_lossy(&json))?;
        }
        match answer.into_value().map_err(unreadable)? {
            SendMessageResponse::Message(message) => {
                self.context = message.context_id.clone().or_else(|| self.context.take());
                if !self.output.is_json() {
                    say_message(&mut self.output, &message)?;
                }
                self.end_turn(None, None)
            }
            SendMessageResponse::Task(task) => {
                let state = task.status.state;
                let is_over = state.is_terminal() || state.is_interrupted();
                let task = if is_over {
                    task
                } else {
                    let task = follow::wait(&self.connected, &task.id, Some(0)).await?;
                    follow::read(&task)?.clone()
                };
                if !self.output.is_json() {
                    say_task(&mut self.output, &task)?;
                }
                self.context = task.context_id.or_else(|| self.context.take());
                self.end_turn(Some(task.id), Some(task.status.state))
            }
        }
    }

    fn end_turn(&mut self, task: Option<TaskId>, state: Option<TaskState>) -> Result<(), Failure> {
        if !self.output.is_json() {
            self.output.end_line()?;
        }
        match state {
            // The next line is the answer.
            Some(state) if state.is_interrupted() => self.asking = task,
            Some(state) if state.is_failure() => {
                note(&format!("warning: the task ended {}", state_name(state)));
            }
            _ => {}
        }
        Ok(())
    }

    /// Says how to come back.
    fn leave(&self) {
        if let Some(context) = &self.context {
            let agent = self.connected.settings.given("agent-card");
            let agent = agent.map(|agent| format!(" -a {}", crate::again::quote(agent)));
            let context = crate::again::quote(context.as_str());
            note(&format!(
                "Go on: nuncio chat{} --context-id {context}",
                agent.unwrap_or_default()
            ));
        }
    }
}

fn say_event(output: &mut Output, event: &StreamResponse) -> io::Result<()> {
    match event {
        StreamResponse::Task(task) => say_task(output, task),
        StreamResponse::Message(message) => say_message(output, message),
        StreamResponse::StatusUpdate(update) => match &update.status.message {
            Some(message) => say_message(output, message),
            None => Ok(()),
        },
        StreamResponse::ArtifactUpdate(update) => say_parts(output, &update.artifact.parts),
    }
}

fn say_task(output: &mut Output, task: &Task) -> io::Result<()> {
    for artifact in &task.artifacts {
        say_parts(output, &artifact.parts)?;
    }
    match &task.status.message {
        Some(message) => say_message(output, message),
        None => Ok(()),
    }
}

fn say_message(output: &mut Output, message: &Message) -> io::Result<()> {
    say_parts(output, &message.parts)
}

fn say_parts(output: &mut Output, parts: &[nuncio_protocol::message::Part]) -> io::Result<()> {
    for part in parts {
        match &part.content {
            Content::Text(text) => output.say(text)?,
            Content::Data(data) => output.say(data.as_str())?,
            Content::Url(url) => output.say(url)?,
            Content::Raw(bytes) => {
                output.say(&format!("[{} of {} bytes]", part.filename, bytes.len()))?;
            }
        }
    }
    Ok(())
}

/// A line of the user's, and how to say that it has been dealt with.
struct Line {
    text: String,
    done: mpsc::Sender<()>,
}

/// Reads lines on a thread of its own: nothing can call back a read that waits for a person.
fn lines(is_terminal: bool) -> mpsc::Receiver<Line> {
    let (sender, receiver) = mpsc::channel(1);
    thread::spawn(move || {
        let (done, mut dealt_with) = mpsc::channel(1);
        for text in prompts(is_terminal) {
            if sender.blocking_send(Line { text, done: done.clone() }).is_err() {
                return;
            }
            dealt_with.blocking_recv();
        }
    });
    receiver
}

fn prompts(is_terminal: bool) -> impl Iterator<Item = String> {
    let mut input = io::stdin().lock().lines();
    std::iter::from_fn(move || {
        if is_terminal {
            let mut error = io::stderr();
            // Whoever does not see the prompt can still write.
            let _ = error.write_all(b"> ").and_then(|()| error.flush());
        }
        input.next()?.ok()
    })
}
