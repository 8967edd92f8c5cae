//! Tasks, messages and events as people read them.

use std::io;

use nuncio_protocol::{
    ids::{ContextId, TaskId},
    message::{Content, Message, Part, Role},
    state::TaskState,
    task::{
        Artifact, SendMessageResponse, StreamResponse, Task, TaskArtifactUpdateEvent, TaskStatus,
    },
};

use crate::{output::Output, terminal};

/// Returns a state without the prefix that all of them have.
pub(crate) fn state_name(state: TaskState) -> &'static str {
    let name = state.as_str();
    name.strip_prefix("TASK_STATE_").unwrap_or(name)
}

/// Shows where a task stands.
pub(crate) fn state(output: &mut Output, state: TaskState) -> io::Result<()> {
    let style = match state {
        TaskState::Completed => terminal::GOOD,
        state if state.is_failure() => terminal::BAD,
        state if state.is_interrupted() => terminal::CARE,
        _ => terminal::ASIDE,
    };
    output.standing("State", state_name(state), style)
}

/// Shows a task: where it stands, and what came of it.
pub(crate) fn task(output: &mut Output, task: &Task) -> io::Result<()> {
    standing(output, Some(&task.id), task.context_id.as_ref(), &task.status)?;
    for artifact in &task.artifacts {
        self::artifact(output, artifact)?;
    }
    if output.is_verbose() {
        if let Some(timestamp) = task.status.timestamp {
            output.field("Since", &timestamp.to_string())?;
        }
        if let Some(metadata) = &task.metadata {
            output.field("Metadata", metadata.as_str())?;
        }
    }
    if output.is_verbose() { history(output, task) } else { Ok(()) }
}

/// Shows what was said.
pub(crate) fn history(output: &mut Output, task: &Task) -> io::Result<()> {
    for message in &task.history {
        let speaker = if message.role == Role::User { "User" } else { "Agent" };
        output.field("History", speaker)?;
        parts(output, "Text", message)?;
    }
    Ok(())
}

/// Shows the answer to a message.
pub(crate) fn answer(output: &mut Output, answer: &SendMessageResponse) -> io::Result<()> {
    match answer {
        SendMessageResponse::Task(task) => self::task(output, task),
        SendMessageResponse::Message(message) => reply(output, message),
    }
}

/// Shows a reply that made no task.
fn reply(output: &mut Output, message: &Message) -> io::Result<()> {
    if let Some(context) = &message.context_id {
        output.field("Context", context.as_str())?;
    }
    if output.is_verbose() {
        output.field("Message-Id", message.message_id.as_str())?;
    }
    parts(output, "Message", message)
}

/// Shows an event of a stream as it comes.
pub(crate) fn event(output: &mut Output, event: &StreamResponse) -> io::Result<()> {
    match event {
        StreamResponse::Task(task) => self::task(output, task),
        StreamResponse::Message(message) => reply(output, message),
        StreamResponse::StatusUpdate(update) => {
            let state = update.status.state;
            // Whoever sees the end only must know what it is the end of.
            if state.is_terminal() || state.is_interrupted() {
                standing(output, Some(&update.task_id), Some(&update.context_id), &update.status)
            } else {
                standing(output, None, None, &update.status)
            }
        }
        StreamResponse::ArtifactUpdate(update) => piece(output, update),
    }
}

fn standing(
    output: &mut Output,
    task: Option<&TaskId>,
    context: Option<&ContextId>,
    status: &TaskStatus,
) -> io::Result<()> {
    if let Some(task) = task {
        output.field("Task", task.as_str())?;
    }
    if let Some(context) = context {
        output.field("Context", context.as_str())?;
    }
    state(output, status.state)?;
    let Some(message) = &status.message else { return Ok(()) };
    let label = if status.state.is_interrupted() { "Question" } else { "Message" };
    parts(output, label, message)
}

fn artifact(output: &mut Output, artifact: &Artifact) -> io::Result<()> {
    heading(output, artifact)?;
    // A text that came in pieces is one text.
    let texts: Option<Vec<&str>> = artifact.parts.iter().map(Part::as_text).collect();
    match texts {
        Some(texts) if !output.is_verbose() => output.field("Text", &texts.concat()),
        _ => artifact.parts.iter().try_for_each(|part| self::part(output, "Text", part)),
    }
}

fn heading(output: &mut Output, artifact: &Artifact) -> io::Result<()> {
    if !artifact.name.is_empty() {
        output.field("Artifact", &artifact.name)?;
    } else if output.is_verbose() {
        output.field("Artifact", artifact.artifact_id.as_str())?;
    }
    if output.is_verbose() && !artifact.description.is_empty() {
        output.field("Description", &artifact.description)?;
    }
    Ok(())
}

/// Shows a piece of an artifact. Texts grow; a whole one of one line is a field.
fn piece(output: &mut Output, update: &TaskArtifactUpdateEvent) -> io::Result<()> {
    let TaskArtifactUpdateEvent { artifact, append, last_chunk, .. } = update;
    if !append {
        heading(output, artifact)?;
    }
    let is_whole = !append && *last_chunk;
    for part in &artifact.parts {
        match &part.content {
            Content::Text(text) if !is_whole => {
                if !text.is_empty() {
                    output.grow("Text", artifact.artifact_id.as_str(), text)?;
                }
            }
            _ => self::part(output, "Text", part)?,
        }
    }
    if *last_chunk { output.close() } else { Ok(()) }
}

fn parts(output: &mut Output, label: &str, message: &Message) -> io::Result<()> {
    message.parts.iter().try_for_each(|part| self::part(output, label, part))
}

fn part(output: &mut Output, label: &str, part: &Part) -> io::Result<()> {
    let kind = || match part.media_type.as_str() {
        "" => "no media type",
        kind => kind,
    };
    match &part.content {
        Content::Text(text) => output.field(label, text)?,
        Content::Data(data) => output.field("Data", data.as_str())?,
        Content::Raw(bytes) => {
            let name = if part.filename.is_empty() { "unnamed" } else { &part.filename };
            output.field("File", &format!("{name} ({}, {} bytes)", kind(), bytes.len()))?;
        }
        Content::Url(url) => output.field("File", &format!("{url} ({})", kind()))?,
    }
    if output.is_verbose() {
        if !part.media_type.is_empty() {
            output.field("Media-Type", &part.media_type)?;
        }
        if let Some(metadata) = &part.metadata {
            output.field("Metadata", metadata.as_str())?;
        }
    }
    Ok(())
}
