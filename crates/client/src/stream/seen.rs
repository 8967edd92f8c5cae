//! What a reader has seen of a task, and what it has missed.
//!
//! Most peers do not number their events. When a stream of theirs breaks off, all they say to
//! somebody who comes back is the task as it is now. The difference between that and what was
//! seen is what the reader missed: each artifact, or the part of it that is new, then the
//! status, once, with what the metadata of the task has become.

use nuncio_protocol::{
    ids::{ContextId, TaskId},
    json::Object,
    state::TaskState,
    task::{
        Artifact, StreamResponse, Task, TaskArtifactUpdateEvent, TaskStatus, TaskStatusUpdateEvent,
    },
};

/// What a reader has seen of a task.
#[derive(Debug, Default)]
pub(super) struct Seen {
    status: Option<TaskStatus>,
    artifacts: Vec<Artifact>,
    metadata: Option<Object>,
}

impl Seen {
    /// Takes in an event that the reader gets.
    pub(super) fn add(&mut self, event: &StreamResponse) {
        match event {
            StreamResponse::Task(task) => {
                self.status = Some(task.status.clone());
                self.artifacts.clone_from(&task.artifacts);
                self.metadata.clone_from(&task.metadata);
            }
            StreamResponse::StatusUpdate(update) => {
                self.status = Some(update.status.clone());
                if let Some(metadata) = update.task_metadata() {
                    self.metadata = Some(metadata);
                }
            }
            StreamResponse::ArtifactUpdate(update) => self.add_artifact(update),
            StreamResponse::Message(_) => {}
        }
    }

    fn add_artifact(&mut self, update: &TaskArtifactUpdateEvent) {
        let new = &update.artifact;
        let known = self.artifacts.iter_mut().find(|known| known.artifact_id == new.artifact_id);
        match known {
            Some(known) if update.append => known.parts.extend(new.parts.iter().cloned()),
            Some(known) => known.clone_from(new),
            None => self.artifacts.push(new.clone()),
        }
    }

    /// Returns the events that lead from what was seen to the task as it is now.
    pub(super) fn missed(&self, task: &Task, context: Option<&ContextId>) -> Vec<StreamResponse> {
        let Some(seen) = &self.status else {
            return vec![StreamResponse::Task(task.clone())];
        };
        // Nobody keeps a conversation from its own reader; a task without one has none to name.
        let Some(context_id) = task.context_id.as_ref().or(context) else {
            return vec![StreamResponse::Task(task.clone())];
        };
        let is_over = task.status.state.is_terminal();
        let artifacts = task.artifacts.iter().filter_map(|artifact| {
            let (artifact, append) = self.missed_of(artifact)?;
            Some(StreamResponse::ArtifactUpdate(TaskArtifactUpdateEvent {
                task_id: task.id.clone(),
                context_id: context_id.clone(),
                artifact,
                append,
                last_chunk: is_over,
                metadata: None,
            }))
        });
        let mut events: Vec<_> = artifacts.collect();
        let metadata = task.metadata.as_ref().filter(|now| Some(*now) != self.metadata.as_ref());
        if metadata.is_some() || !is_same(seen, &task.status) {
            let update = status_update(&task.id, context_id, &task.status);
            events.push(StreamResponse::StatusUpdate(match metadata {
                Some(metadata) => update.with_task_metadata(metadata),
                None => update,
            }));
        }
        events
    }

    /// Returns what is new of an artifact, and whether it goes behind what was seen.
    fn missed_of(&self, now: &Artifact) -> Option<(Artifact, bool)> {
        let seen = self.artifacts.iter().find(|seen| seen.artifact_id == now.artifact_id);
        let Some(seen) = seen else { return Some((now.clone(), false)) };
        if seen == now {
            return None;
        }
        let same_frame = Artifact { parts: Vec::new(), ..seen.clone() }
            == Artifact { parts: Vec::new(), ..now.clone() };
        match now.parts.strip_prefix(seen.parts.as_slice()) {
            Some(rest) if same_frame => {
                Some((Artifact { parts: rest.to_vec(), ..now.clone() }, true))
            }
            // Changed or rewritten: what was seen is no longer true.
            _ => Some((now.clone(), false)),
        }
    }
}

/// Tells whether two statuses say the same. Peers put new times on old statuses, and who stands
/// between puts other names of task and conversation on messages.
fn is_same(one: &TaskStatus, other: &TaskStatus) -> bool {
    let said = |status: &TaskStatus| {
        let message = status.message.as_ref()?;
        Some((message.message_id.clone(), message.parts.clone()))
    };
    one.state == other.state && said(one) == said(other)
}

fn status_update(
    task_id: &TaskId,
    context_id: &ContextId,
    status: &TaskStatus,
) -> TaskStatusUpdateEvent {
    TaskStatusUpdateEvent {
        task_id: task_id.clone(),
        context_id: context_id.clone(),
        status: status.clone(),
        metadata: None,
    }
}

/// Where a task stands, as far as it decides whether a stream is at its end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Standing {
    /// More is to come.
    #[default]
    Open,
    /// The caller has the turn: a stream may end here.
    Interrupted,
    /// Nothing can follow.
    Over,
}

impl Standing {
    /// Returns where a task stands after an event, if the event says so.
    pub(super) fn after(event: &StreamResponse) -> Option<Self> {
        if event.is_last() {
            return Some(Self::Over);
        }
        event.state().map(Self::of)
    }

    pub(super) const fn of(state: TaskState) -> Self {
        if state.is_terminal() {
            Self::Over
        } else if state.is_interrupted() {
            Self::Interrupted
        } else {
            Self::Open
        }
    }
}

#[cfg(test)]
mod tests;
