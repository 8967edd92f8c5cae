//! From what the engine says to what goes over the wire.

use nuncio_protocol::{error::Error, service::Event, task::StreamResponse, task::Task};
use nuncio_tasks::{
    log::{Entry, Seq},
    output::RefusalCounts,
    store::{DeadLetter, Head, Limit, Store},
};

use crate::wire::{
    DeadLetterView, EntryView, EventView, LogView, Refusal, RefusalsView, TaskView, hash,
};

/// How much of a log is read at once.
const PAGE: Limit = Limit { entries: 1_000, bytes: 4 << 20 };

pub(super) fn task(task: &Task) -> TaskView {
    TaskView {
        id: task.id.as_str().to_owned(),
        state: task.status.state,
        says: task.status.message.as_ref().map(|message| message.text()).unwrap_or_default(),
        parts: task.artifacts.iter().map(|artifact| artifact.parts.len()).sum(),
    }
}

pub(super) fn event(event: &Event) -> EventView {
    let value = event.response.value().ok();
    let seq = event.seq.unwrap_or(0);
    EventView {
        task: value.and_then(task_of),
        seq,
        hash: hash(event.response.json()),
        state: value.and_then(StreamResponse::state),
        is_snapshot: seq > 1 && matches!(value, Some(StreamResponse::Task(_))),
    }
}

fn task_of(response: &StreamResponse) -> Option<String> {
    let id = match response {
        StreamResponse::Task(task) => &task.id,
        StreamResponse::StatusUpdate(update) => &update.task_id,
        StreamResponse::ArtifactUpdate(update) => &update.task_id,
        StreamResponse::Message(_) => return None,
    };
    Some(id.as_str().to_owned())
}

/// Reads a log as the store has it, not as the engine shows it.
pub(super) async fn log(
    store: &dyn Store,
    head: &Head,
) -> Result<LogView, nuncio_tasks::store::Error> {
    let mut entries = Vec::new();
    let mut after = Seq::START;
    loop {
        let tail = store.tail(head.reference, after, PAGE).await?;
        let Some(last) = tail.entries.last() else { break };
        after = last.seq;
        entries.extend(tail.entries.iter().map(entry));
    }
    Ok(LogView { entries, ..log_without_entries(head) })
}

pub(super) fn log_without_entries(head: &Head) -> LogView {
    LogView {
        task: head.id.as_str().to_owned(),
        state: head.state,
        seq: head.seq.0,
        epoch: head.epoch.0,
        owned: head.owned,
        entries: Vec::new(),
    }
}

fn entry(entry: &Entry) -> EntryView {
    let value = entry.record.event.value().ok();
    let text = match value {
        Some(StreamResponse::ArtifactUpdate(update)) => update.artifact.text(),
        Some(StreamResponse::StatusUpdate(update)) => {
            update.status.message.as_ref().map(|message| message.text()).unwrap_or_default()
        }
        _ => String::new(),
    };
    EntryView {
        seq: entry.seq.0,
        hash: hash(entry.record.event.json()),
        state: value.and_then(StreamResponse::state),
        text,
    }
}

pub(super) fn refusal(error: &Error) -> Refusal {
    Refusal {
        kind: format!("{:?}", error.kind()),
        reason: error.reason().to_owned(),
        message: error.message().to_owned(),
    }
}

pub(super) fn refusals(counts: RefusalCounts) -> RefusalsView {
    let RefusalCounts { after_end, illegal, foreign, malformed, too_large } = counts;
    RefusalsView { after_end, illegal, foreign, malformed, too_large }
}

pub(super) fn dead_letter(letter: &DeadLetter) -> DeadLetterView {
    DeadLetterView {
        task: letter.task.as_str().to_owned(),
        url: letter.url.clone(),
        seq: letter.seq.0,
        attempts: letter.attempts,
    }
}
