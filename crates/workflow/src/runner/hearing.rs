//! What came of a call, from its events: its task need not be read again.
//!
//! What an agent streams comes in pieces, each of which is a part of its own to A2A; to those who
//! come after, it is one text. How the pieces came must not matter: after a crash, the hub hears
//! several of them at once.

use std::{collections::HashSet, mem};

use nuncio_protocol::{
    error::Error,
    ids::ArtifactId,
    json::Shared,
    message::{Content, Part},
    task::{Artifact, StreamResponse, Task, TaskArtifactUpdateEvent},
};
use nuncio_tasks::{
    engine::Tasks,
    log::{Folded, Kind, Record, Seq, SpoiltLog},
    scope::Scope,
    store::Limit,
};

/// How much is kept of a task while it is worked on; a larger one is read when it has ended.
const MOST_KEPT: usize = 1 << 20;

/// How much of a log is read at once.
const PAGE: Limit = Limit { entries: 1_000, bytes: 4 << 20 };

/// A task as its events tell it, as long as none of them was missed.
#[derive(Debug, Default)]
pub(super) struct Hearing {
    pieces: Option<Pieces>,
    bytes: usize,
}

impl Hearing {
    /// Takes in the next event.
    pub(super) fn take(&mut self, seq: Option<u64>, event: &Shared<StreamResponse>) {
        self.bytes += event.json().len();
        let before = self.pieces.take();
        if self.bytes <= MOST_KEPT {
            self.pieces = seq.and_then(|seq| follow(before, Seq(seq), event));
        }
    }

    /// Returns the task with its texts whole; nothing if some of it was not heard.
    pub(super) fn end(self) -> Option<Task> {
        let Pieces { folded, grown } = self.pieces?;
        let mut task = folded.task;
        join(&mut task.artifacts, &grown);
        Some(task)
    }
}

fn follow(before: Option<Pieces>, seq: Seq, event: &Shared<StreamResponse>) -> Option<Pieces> {
    if let StreamResponse::Task(task) = event.value().ok()? {
        // One that comes later does not say how it came to be.
        return (seq == Seq(1)).then(|| Pieces::new(task.clone()));
    }
    let mut pieces = before.filter(|pieces| pieces.folded.seq.next() == seq)?;
    pieces.take(event).ok()?;
    Some(pieces)
}

/// Returns a task that was read with its texts whole.
pub(super) async fn whole(tasks: &Tasks, scope: &Scope, mut task: Task) -> Result<Task, Error> {
    let in_pieces =
        |artifact: &Artifact| artifact.parts.windows(2).any(|pair| pair.iter().all(is_plain));
    if !task.artifacts.iter().any(in_pieces) {
        return Ok(task);
    }
    let mut pieces = Pieces::new(Task { artifacts: Vec::new(), ..task.clone() });
    let mut after = Seq::START;
    loop {
        let page = tasks.log(scope, &task.id, after, PAGE).await?;
        let Some(last) = page.entries.last() else { break };
        after = last.seq;
        for logged in &page.entries {
            if let Ok(StreamResponse::ArtifactUpdate(_)) = logged.record.event.value() {
                pieces.take(&logged.record.event)?;
            }
        }
    }
    join(&mut task.artifacts, &pieces.grown);
    Ok(task)
}

/// A task, and how its artifacts came to be.
#[derive(Debug)]
struct Pieces {
    folded: Folded,
    /// Those to which something has come behind what was there.
    grown: HashSet<ArtifactId>,
}

impl Pieces {
    fn new(task: Task) -> Self {
        // What was said before is of no use to a run.
        let task = Task { history: Vec::new(), ..task };
        Self { folded: Folded { seq: Seq(1), task }, grown: HashSet::new() }
    }

    fn take(&mut self, event: &Shared<StreamResponse>) -> Result<(), SpoiltLog> {
        if let Ok(StreamResponse::ArtifactUpdate(update)) = event.value() {
            self.note(update);
        }
        self.folded.apply(&Record { kind: Kind::Output, event: event.clone(), message: None })
    }

    fn note(&mut self, update: &TaskArtifactUpdateEvent) {
        let Artifact { artifact_id: id, parts: new, .. } = &update.artifact;
        let mut known = self.folded.task.artifacts.iter();
        let before = known.find(|artifact| artifact.artifact_id == *id);
        let before = before.map(|artifact| &*artifact.parts).unwrap_or_default();
        // Whoever has missed something is told all of it once more.
        let goes_on = !before.is_empty() && (update.append || new.starts_with(before));
        let is_more = update.append || new.len() > before.len();
        if !goes_on {
            self.grown.remove(id);
        } else if is_more {
            self.grown.insert(id.clone());
        }
    }
}

/// Makes one of texts that came piece by piece.
fn join(artifacts: &mut [Artifact], grown: &HashSet<ArtifactId>) {
    for artifact in artifacts.iter_mut().filter(|artifact| grown.contains(&artifact.artifact_id)) {
        artifact.parts = joined(mem::take(&mut artifact.parts));
    }
}

/// Makes one of texts that follow each other.
fn joined(parts: Vec<Part>) -> Vec<Part> {
    let mut joined: Vec<Part> = Vec::new();
    for part in parts {
        if let Some(last) = joined.last_mut()
            && is_plain(last)
            && is_plain(&part)
            && (part.media_type == last.media_type || part.media_type.is_empty())
            && let (Content::Text(text), Content::Text(more)) = (&mut last.content, &part.content)
        {
            text.push_str(more);
        } else {
            joined.push(part);
        }
    }
    joined
}

fn is_plain(part: &Part) -> bool {
    part.as_text().is_some() && part.metadata.is_none()
}

#[cfg(test)]
mod tests {
    use nuncio_protocol::{
        ids::{ContextId, TaskId},
        state::TaskState,
        task::{TaskStatus, TaskStatusUpdateEvent},
        time::Timestamp,
    };

    use super::*;

    fn ids() -> (TaskId, ContextId) {
        (TaskId::parse("t").expect("an id"), ContextId::parse("c").expect("an id"))
    }

    fn status(state: TaskState) -> TaskStatus {
        TaskStatus::new(state, Timestamp::now())
    }

    fn begun() -> StreamResponse {
        let (task, context) = ids();
        StreamResponse::Task(Task::new(task, context, status(TaskState::Submitted)))
    }

    fn piece(text: &str, append: bool) -> StreamResponse {
        let (task_id, context_id) = ids();
        let id = ArtifactId::parse("a").expect("an id");
        StreamResponse::ArtifactUpdate(TaskArtifactUpdateEvent {
            task_id,
            context_id,
            artifact: Artifact::new(id, vec![Part::text(text)]),
            append,
            last_chunk: false,
            metadata: None,
        })
    }

    fn done() -> StreamResponse {
        let ((task_id, context_id), status) = (ids(), status(TaskState::Completed));
        let update = TaskStatusUpdateEvent { task_id, context_id, status, metadata: None };
        StreamResponse::StatusUpdate(update)
    }

    /// Returns what is known at the end: the state, and the texts of the parts.
    fn heard(events: &[(u64, StreamResponse)]) -> Option<(TaskState, Vec<String>)> {
        let mut hearing = Hearing::default();
        for (seq, event) in events {
            hearing.take(Some(*seq), &Shared::new(event.clone()));
        }
        let task = hearing.end()?;
        let parts = task.artifacts.iter().flat_map(|artifact| &artifact.parts);
        let texts = parts.filter_map(|part| part.as_text().map(str::to_owned));
        Some((task.status.state, texts.collect()))
    }

    #[test]
    fn events_without_a_gap_tell_all_of_a_task() {
        let said = [(1, begun()), (2, piece("one ", false)), (3, piece("two", true)), (4, done())];
        assert_eq!(heard(&said), Some((TaskState::Completed, vec!["one two".to_owned()])));
        let again = [(1, begun()), (2, piece("one", false)), (3, piece("two", false)), (4, done())];
        assert_eq!(heard(&again), Some((TaskState::Completed, vec!["two".to_owned()])));
    }

    #[test]
    fn what_was_missed_is_not_made_up() {
        assert_eq!(heard(&[(1, begun()), (3, done())]), None, "a gap");
        assert_eq!(heard(&[(5, begun()), (6, done())]), None, "not from the beginning");
        assert_eq!(heard(&[(2, piece("x", false)), (3, done())]), None, "no beginning");
        let large = piece(&"x".repeat(MOST_KEPT), false);
        assert_eq!(heard(&[(1, begun()), (2, large), (3, done())]), None, "too much to keep");
    }
}
