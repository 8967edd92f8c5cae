//! From a log to the task.

use bytes::Bytes;
use nuncio_protocol::{
    json,
    task::{Artifact, StreamResponse, Task, TaskArtifactUpdateEvent, TaskStatus},
};

use super::{Entry, Record, Seq};

/// A task as of a place in its log.
#[derive(Clone, Debug, PartialEq)]
pub struct Folded {
    /// The place.
    pub seq: Seq,
    /// The task.
    pub task: Task,
}

/// The text of a [`Folded`], so that nobody needs to fold a log from its start.
///
/// It is kept in three pieces, because those who list tasks seldom want all.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Snapshot {
    /// The place.
    pub seq: Seq,
    /// The task without history and artifacts.
    pub task: Bytes,
    /// The messages, as a JSON array; empty if they were not asked for.
    pub history: Bytes,
    /// The artifacts, as a JSON array; empty if they were not asked for.
    pub artifacts: Bytes,
}

/// A log that cannot be read: the store was spoilt from outside.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the log of the task is spoilt at {seq}: {what}")]
pub struct SpoiltLog {
    /// Where.
    pub seq: Seq,
    /// What is wrong.
    pub what: String,
}

impl Folded {
    /// Folds the first entry, or a snapshot, and the entries behind it.
    pub fn from_log(snapshot: Option<&Snapshot>, entries: &[Entry]) -> Result<Self, SpoiltLog> {
        let (mut folded, rest) = match (snapshot, entries) {
            (Some(snapshot), entries) => (snapshot.read()?, entries),
            (None, [first, rest @ ..]) => (Self::open(first)?, rest),
            (None, []) => {
                return Err(SpoiltLog { seq: Seq::START, what: "it is empty".to_owned() });
            }
        };
        for entry in rest {
            if entry.seq != folded.seq.next() {
                let what = format!("{} follows {}", entry.seq, folded.seq);
                return Err(SpoiltLog { seq: entry.seq, what });
            }
            folded.apply(&entry.record)?;
        }
        Ok(folded)
    }

    fn open(first: &Entry) -> Result<Self, SpoiltLog> {
        let spoilt = |what: String| SpoiltLog { seq: first.seq, what };
        match first.record.event.value() {
            Ok(StreamResponse::Task(task)) if first.seq == Seq(1) => {
                Ok(Self { seq: first.seq, task: task.clone() })
            }
            Ok(_) => Err(spoilt("it does not begin with its task".to_owned())),
            Err(error) => Err(spoilt(error.to_string())),
        }
    }

    /// Applies the next record.
    pub fn apply(&mut self, record: &Record) -> Result<(), SpoiltLog> {
        let seq = self.seq.next();
        let spoilt = |error: json::Error| SpoiltLog { seq, what: error.to_string() };
        match record.event.value().map_err(spoilt)? {
            StreamResponse::StatusUpdate(update) => self.set_status(update.status.clone()),
            StreamResponse::ArtifactUpdate(update) => self.put_artifact(update),
            StreamResponse::Task(_) | StreamResponse::Message(_) => {
                return Err(SpoiltLog { seq, what: "an update was expected".to_owned() });
            }
        }
        if let Some(message) = &record.message {
            self.task.history.push(message.value().map_err(spoilt)?.clone());
        }
        self.seq = seq;
        Ok(())
    }

    /// What an earlier status said stays in the history.
    fn set_status(&mut self, status: TaskStatus) {
        let earlier = std::mem::replace(&mut self.task.status, status);
        if let Some(message) = earlier.message {
            self.task.history.push(*message);
        }
    }

    /// A chunk goes behind the artifact it belongs to; a first chunk, and every artifact that
    /// is no chunk, takes its place (A2A digest §9).
    fn put_artifact(&mut self, update: &TaskArtifactUpdateEvent) {
        let chunk = &update.artifact;
        let stored = self
            .task
            .artifacts
            .iter_mut()
            .find(|artifact| artifact.artifact_id == chunk.artifact_id);
        match stored {
            Some(artifact) if update.append => extend(artifact, chunk),
            Some(artifact) => *artifact = chunk.clone(),
            None => self.task.artifacts.push(chunk.clone()),
        }
    }

    /// Writes it down.
    pub fn snapshot(&self) -> Snapshot {
        let head = Task {
            id: self.task.id.clone(),
            context_id: self.task.context_id.clone(),
            status: self.task.status.clone(),
            artifacts: Vec::new(),
            history: Vec::new(),
            metadata: self.task.metadata.clone(),
        };
        Snapshot {
            seq: self.seq,
            task: json::to_string(&head).into(),
            history: json::to_string(&self.task.history).into(),
            artifacts: json::to_string(&self.task.artifacts).into(),
        }
    }
}

impl Snapshot {
    /// Reads it again. Pieces that were not asked for are empty in the task, too.
    pub fn read(&self) -> Result<Folded, SpoiltLog> {
        let spoilt =
            |error: json::Error| SpoiltLog { seq: self.seq, what: format!("snapshot: {error}") };
        let mut task: Task = json::from_slice(&self.task).map_err(spoilt)?;
        if !self.history.is_empty() {
            task.history = json::from_slice(&self.history).map_err(spoilt)?;
        }
        if !self.artifacts.is_empty() {
            task.artifacts = json::from_slice(&self.artifacts).map_err(spoilt)?;
        }
        Ok(Folded { seq: self.seq, task })
    }

    /// Returns the size of all text in it.
    pub fn bytes(&self) -> usize {
        self.task.len() + self.history.len() + self.artifacts.len()
    }
}

fn extend(artifact: &mut Artifact, chunk: &Artifact) {
    artifact.parts.extend(chunk.parts.iter().cloned());
    if !chunk.name.is_empty() {
        artifact.name.clone_from(&chunk.name);
    }
    if !chunk.description.is_empty() {
        artifact.description.clone_from(&chunk.description);
    }
    if chunk.metadata.is_some() {
        artifact.metadata.clone_from(&chunk.metadata);
    }
    for extension in &chunk.extensions {
        if !artifact.extensions.contains(extension) {
            artifact.extensions.push(extension.clone());
        }
    }
}
