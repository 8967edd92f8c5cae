//! What the load says, and how an answer to it is judged.

use std::{
    borrow::Cow,
    sync::{
        LazyLock,
        atomic::{AtomicU64, Ordering},
    },
};

use anyhow::{Context as _, Result, ensure};
use memchr::memmem;
use serde_json::Value;

/// The text of every message, 100 bytes. The echo sends it back.
pub(crate) const TEXT: &str = "0123456789 0123456789 0123456789 0123456789 0123456789 0123456789 0123456789 0123456789 01234567 end";

/// How many bytes each chunk of a streamed result has.
pub(crate) const CHUNK_BYTES: usize = 32;

/// How many tasks a page of a list has.
pub(crate) const PAGE: usize = 50;

const COMPLETED: &str = "TASK_STATE_COMPLETED";

/// Returns an identifier that no message had before.
pub(crate) fn message_id() -> String {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    format!("m-{:016}", NEXT.fetch_add(1, Ordering::Relaxed))
}

/// A JSON-RPC request with a message in it.
pub(crate) fn message(method: &str, text: &str) -> String {
    let id = message_id();
    format!(
        r#"{{"jsonrpc":"2.0","id":1,"method":"{method}","params":{{"message":{{"messageId":"{id}","role":"ROLE_USER","parts":[{{"text":"{text}"}}]}}}}}}"#
    )
}

/// A JSON-RPC request for one task.
pub(crate) fn get_task(id: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":1,"method":"GetTask","params":{{"id":"{id}"}}}}"#)
}

/// A JSON-RPC request for the newest tasks.
pub(crate) fn list_tasks() -> String {
    format!(r#"{{"jsonrpc":"2.0","id":1,"method":"ListTasks","params":{{"pageSize":{PAGE}}}}}"#)
}

/// Reads a whole answer to `SendMessage` and returns the identifier of its task.
pub(crate) fn read_sent(body: &[u8]) -> Result<String> {
    let answer: Value = serde_json::from_slice(body).context("the answer is not JSON")?;
    let task = &answer["result"]["task"];
    let told = || String::from_utf8_lossy(body).into_owned();
    ensure!(task["status"]["state"] == COMPLETED, "the task is not completed: {}", told());
    ensure!(task["artifacts"][0]["parts"][0]["text"] == TEXT, "the text is not echoed: {}", told());
    Ok(task["id"].as_str().context("the task has no id")?.to_owned())
}

/// Reads a whole answer to `GetTask`.
pub(crate) fn read_task(body: &[u8], id: &str) -> Result<()> {
    let answer: Value = serde_json::from_slice(body).context("the answer is not JSON")?;
    let task = &answer["result"];
    let told = || String::from_utf8_lossy(body).into_owned();
    ensure!(task["id"] == id, "another task than {id}: {}", told());
    ensure!(task["artifacts"][0]["parts"][0]["text"] == TEXT, "the text is not kept: {}", told());
    Ok(())
}

/// Reads a whole answer to `ListTasks`.
pub(crate) fn read_page(body: &[u8]) -> Result<()> {
    let answer: Value = serde_json::from_slice(body).context("the answer is not JSON")?;
    let tasks = answer["result"]["tasks"].as_array().context("the answer has no tasks")?;
    ensure!(tasks.len() == PAGE, "a page has {} tasks", tasks.len());
    Ok(())
}

/// Whether this is a completed task with our text. Cheap: for every answer under load, after
/// one such answer was read in whole.
pub(crate) fn is_echo(body: &[u8]) -> bool {
    contains(body, COMPLETED) && contains(body, TEXT)
}

/// Whether this is a full page of completed tasks. Cheap, too.
pub(crate) fn is_page(body: &[u8]) -> bool {
    memmem::find_iter(body, COMPLETED).count() == PAGE
}

pub(crate) fn contains(body: &[u8], text: &str) -> bool {
    memmem::find(body, text.as_bytes()).is_some()
}

/// Follows the events of one streamed echo: task, working, the chunks, completed.
#[derive(Debug)]
pub(crate) struct EchoEvents {
    chunks: usize,
    seen: usize,
    numbered: bool,
}

impl EchoEvents {
    pub(crate) fn of(chunks: usize) -> Self {
        Self { chunks, seen: 0, numbered: false }
    }

    /// How many events there were.
    pub(crate) fn seen(&self) -> usize {
        self.seen
    }

    /// Whether the terminal event was the last.
    pub(crate) fn is_complete(&self) -> bool {
        self.seen == self.chunks + 3
    }

    /// Judges the next event by its place.
    pub(crate) fn take(&mut self, event: &[u8]) -> Result<()> {
        let place = self.seen;
        self.seen += 1;
        let told = || String::from_utf8_lossy(event).into_owned();
        let is_right = match place {
            0 => contains(event, r#""task":"#),
            1 => contains(event, "TASK_STATE_WORKING"),
            _ if place < self.chunks + 2 => self.is_chunk(event, place - 2),
            _ => place == self.chunks + 2 && contains(event, COMPLETED),
        };
        ensure!(is_right, "event {place} is out of place: {}", told());
        Ok(())
    }

    /// Agents may number their chunks. The first says whether they do; then every one must.
    fn is_chunk(&mut self, event: &[u8], index: usize) -> bool {
        let Some(at) = memmem::find(event, br#""text":""#) else { return false };
        let text = &event[at + 8..];
        let is_sized = text.get(CHUNK_BYTES) == Some(&b'"');
        let number = text.get(..9).and_then(parse_number);
        if index == 0 {
            self.numbered = number.is_some();
        }
        contains(event, "artifactUpdate") && is_sized && (!self.numbered || number == Some(index))
    }
}

/// Reads the eight digits and the blank that [`chunk`] begins with.
fn parse_number(text: &[u8]) -> Option<usize> {
    let digits = text.strip_suffix(b" ")?;
    std::str::from_utf8(digits).ok()?.parse().ok()
}

/// The text of a numbered chunk.
pub(crate) fn chunk(index: usize) -> Cow<'static, str> {
    // To write the number is no part of what a reference is to cost.
    static FIRST: LazyLock<Vec<String>> = LazyLock::new(|| (0..1000).map(write_chunk).collect());
    FIRST.get(index).map_or_else(|| write_chunk(index).into(), |text| text.as_str().into())
}

fn write_chunk(index: usize) -> String {
    format!("{index:08} abcdefghijklmnopqrstuvw")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn artifact(text: &str) -> String {
        format!(r#"{{"artifactUpdate":{{"artifact":{{"parts":[{{"text":"{text}"}}]}}}}}}"#)
    }

    fn judge(chunks: &[Cow<'static, str>]) -> Result<bool> {
        let mut events = EchoEvents::of(2);
        events.take(br#"{"task":{}}"#)?;
        events.take(br#"{"state":"TASK_STATE_WORKING"}"#)?;
        for chunk in chunks {
            events.take(artifact(chunk).as_bytes())?;
        }
        events.take(br#"{"state":"TASK_STATE_COMPLETED"}"#)?;
        Ok(events.is_complete())
    }

    #[test]
    fn texts_have_the_sizes_that_they_should_have() {
        assert_eq!(TEXT.len(), 100);
        assert_eq!(chunk(7).len(), CHUNK_BYTES);
    }

    #[test]
    fn a_stream_must_bring_every_chunk_in_order() {
        assert!(judge(&[chunk(0), chunk(1)]).unwrap());
        let unnumbered = Cow::from("0123456789abcdef0123456789abcdef");
        assert!(judge(&[unnumbered.clone(), unnumbered.clone()]).unwrap());
        for wrong in [
            vec![],
            vec![chunk(0)],
            vec![chunk(1), chunk(0)],
            vec![chunk(0), chunk(0)],
            vec![chunk(0), unnumbered],
            vec![chunk(0), chunk(1), chunk(2)],
            vec!["short".into(), chunk(1)],
        ] {
            judge(&wrong).unwrap_err();
        }
    }

    #[test]
    fn an_answer_is_judged_by_state_text_and_number() {
        let task = format!(
            r#"{{"id":"t","status":{{"state":"{COMPLETED}"}},"artifacts":[{{"parts":[{{"text":"{TEXT}"}}]}}]}}"#
        );
        let sent = format!(r#"{{"result":{{"task":{task}}}}}"#);
        assert!(is_echo(sent.as_bytes()));
        assert_eq!(read_sent(sent.as_bytes()).unwrap(), "t");
        let failed = sent.replace("COMPLETED", "FAILED");
        assert!(!is_echo(failed.as_bytes()));
        read_sent(failed.as_bytes()).unwrap_err();
        read_sent(sent.replace(" end", " END").as_bytes()).unwrap_err();

        let page =
            |tasks| format!(r#"{{"result":{{"tasks":[{}]}}}}"#, vec![&*task; tasks].join(","));
        assert!(is_page(page(PAGE).as_bytes()));
        read_page(page(PAGE).as_bytes()).unwrap();
        assert!(!is_page(page(PAGE - 1).as_bytes()));
        read_page(page(PAGE - 1).as_bytes()).unwrap_err();

        let kept = format!(r#"{{"result":{task}}}"#);
        read_task(kept.as_bytes(), "t").unwrap();
        read_task(kept.as_bytes(), "u").unwrap_err();
    }
}
