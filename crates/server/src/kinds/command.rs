//! A program as an agent: text in by standard input, text out by standard output.

use std::{ffi::OsString, process::Stdio, time::Duration};

use nuncio_protocol::{
    ids::ArtifactId,
    message::{Message, Part},
    state::TaskState,
    task::Artifact,
};
use nuncio_tasks::{
    agent::{Agent, Failure, Turn},
    output::{Chunk, Output},
};
use tokio::{
    io::{AsyncRead, AsyncReadExt as _, AsyncWriteExt as _},
    process,
    time::{Instant, timeout_at},
};

use super::{group::Group, said};
use crate::dialects::SKILL_ID;

/// How much of its complaints a failing program gets to tell.
const MAX_COMPLAINT: usize = 2_000;

/// How much of what a program writes is one piece, at most.
const PIECE: usize = 16 << 10;

/// How long a piece waits for more: what a program says in one go is one piece, and most that
/// have said all of it end within a moment.
const GATHER: Duration = Duration::from_millis(20);

/// Runs a program for every message.
///
/// It reads the message from its standard input, texts as they are and data as JSON, and what it
/// writes to its standard output becomes an artifact that grows as it writes. A status other than
/// 0 fails the task with what stands on standard error. A cancel kills it, with all that it has
/// started. The environment says `NUNCIO_TASK_ID`,
/// `NUNCIO_CONTEXT_ID`, `NUNCIO_CALLER`, and `NUNCIO_SKILL_ID` if the caller has named a skill.
/// What to run is fixed here: no message can change it.
#[derive(Clone, Debug)]
pub struct Command {
    program: OsString,
    arguments: Vec<OsString>,
}

impl Command {
    /// The media types that a program can read, for its card.
    pub const TAKES: [&str; 2] = ["text/*", "application/json"];

    /// Runs a program with arguments, without a shell.
    pub fn new<T: Into<OsString>>(
        program: impl Into<OsString>,
        arguments: impl IntoIterator<Item = T>,
    ) -> Self {
        let arguments = arguments.into_iter().map(Into::into).collect();
        Self { program: program.into(), arguments }
    }
}

impl Agent for Command {
    async fn run(&self, turn: Turn, output: Output) -> Result<(), Failure> {
        let mut command = process::Command::new(&self.program);
        command
            .args(&self.arguments)
            .env("NUNCIO_TASK_ID", turn.task.id.as_str())
            .env(
                "NUNCIO_CONTEXT_ID",
                turn.task.context_id.as_ref().map_or("", |context| context.as_str()),
            )
            .env("NUNCIO_CALLER", turn.place.caller.as_str())
            .env("NUNCIO_SKILL_ID", skill(&turn.message))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            // A cancel drops this future, and the program with it.
            .kill_on_drop(true);
        Group::prepare(&mut command);
        let mut child = command.spawn()?;
        let _group = Group::of(&child);
        output.status(TaskState::Working, None).await?;
        let text = said(&turn.message);
        let input = child.stdin.take();
        let writing = async {
            if let Some(mut input) = input {
                // A program that does not want to read all of it may close early.
                let _ = input.write_all(text.as_bytes()).await;
            }
        };
        let stdout = child.stdout.take();
        let stderr = child.stderr.take();
        let ((), written, complaint) =
            tokio::join!(writing, pass_on(stdout, &output), last_words(stderr));
        written?;
        let status = child.wait().await?;
        if status.success() {
            return Ok(());
        }
        let complaint = complaint.trim();
        Err(Failure::new(match complaint {
            "" => format!("the program ended with {status}"),
            text => format!("the program ended with {status}: {text}"),
        }))
    }
}

/// Returns the skill that is asked for; nothing, if it is not said.
fn skill(message: &Message) -> String {
    let metadata = message.metadata.as_ref();
    metadata.and_then(|metadata| metadata.get(SKILL_ID)?.as_text()).unwrap_or_default()
}

/// Turns what is written into an artifact that grows.
async fn pass_on(source: Option<impl AsyncRead + Unpin>, output: &Output) -> Result<(), Failure> {
    let Some(mut source) = source else { return Ok(()) };
    let id = ArtifactId::generate();
    let mut pending = Vec::new();
    let mut append = false;
    loop {
        let last = gather(&mut source, &mut pending).await?;
        let text = take_text(&mut pending, last);
        if !text.is_empty() {
            let piece = Artifact::new(id.clone(), vec![Part::text(text)]);
            output.put(piece, Chunk { append, last }).await?;
            append = true;
        }
        if last {
            return Ok(());
        }
    }
}

/// Reads a piece, and tells whether nothing can follow it.
async fn gather(
    source: &mut (impl AsyncRead + Unpin),
    pending: &mut Vec<u8>,
) -> std::io::Result<bool> {
    pending.reserve(PIECE);
    let mut count = source.read_buf(pending).await?;
    let end = Instant::now() + GATHER;
    while count > 0 && pending.len() < PIECE {
        match timeout_at(end, source.read_buf(pending)).await {
            Ok(more) => count = more?,
            Err(_) => return Ok(false),
        }
    }
    Ok(count == 0)
}

/// Takes what is whole; a character may be split between two reads.
fn take_text(pending: &mut Vec<u8>, last: bool) -> String {
    let whole = match std::str::from_utf8(pending) {
        Err(error) if error.error_len().is_none() && !last => error.valid_up_to(),
        _ => pending.len(),
    };
    let rest = pending.split_off(whole);
    let text = String::from_utf8_lossy(pending).into_owned();
    *pending = rest;
    text
}

/// Reads everything, and keeps the end of it.
async fn last_words(source: Option<impl AsyncRead + Unpin>) -> String {
    let Some(mut source) = source else { return String::new() };
    let mut kept = Vec::new();
    while let Ok(count) = source.read_buf(&mut kept).await {
        if count == 0 {
            break;
        }
        let excess = kept.len().saturating_sub(MAX_COMPLAINT);
        kept.drain(..excess);
    }
    String::from_utf8_lossy(&kept).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn characters_split_between_reads_stay_whole() {
        let mut pending = "aé".as_bytes()[..2].to_vec();
        assert_eq!(take_text(&mut pending, false), "a");
        pending.push("é".as_bytes()[1]);
        assert_eq!(take_text(&mut pending, false), "é");
        pending.push(0xff);
        assert_eq!(take_text(&mut pending, false), "\u{fffd}");
        pending.push("é".as_bytes()[0]);
        assert_eq!(take_text(&mut pending, true), "\u{fffd}");
    }
}
