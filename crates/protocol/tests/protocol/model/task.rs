//! Tasks, their artifacts, and the events that change them.

use nuncio_protocol::{
    state::TaskState,
    task::{
        Artifact, SendMessageResponse, StreamResponse, Task, TaskArtifactUpdateEvent, TaskStatus,
        TaskStatusUpdateEvent,
    },
};
use proptest::prelude::*;

use super::{
    few, id, json,
    message::{message, part},
    moment, optional_id, some, text, url,
};

/// Any state.
pub(crate) fn state() -> impl Strategy<Value = TaskState> {
    prop::sample::select(TaskState::ALL)
}

/// Any status.
pub(crate) fn status() -> impl Strategy<Value = TaskStatus> {
    (state(), prop::option::of(message().prop_map(Box::new)), prop::option::of(moment()))
        .prop_map(|(state, message, timestamp)| TaskStatus { state, message, timestamp })
}

/// Any artifact.
pub(crate) fn artifact() -> impl Strategy<Value = Artifact> {
    (id(), text(), text(), some(part()), json::optional_object(), few(url())).prop_map(
        |(artifact_id, name, description, parts, metadata, extensions)| Artifact {
            artifact_id,
            name,
            description,
            parts,
            metadata,
            extensions,
        },
    )
}

/// Any task.
pub(crate) fn task() -> impl Strategy<Value = Task> {
    (id(), optional_id(), status(), few(artifact()), few(message()), json::optional_object())
        .prop_map(|(id, context_id, status, artifacts, history, metadata)| Task {
            id,
            context_id,
            status,
            artifacts,
            history,
            metadata,
        })
}

/// Any new status of a task.
pub(crate) fn status_update() -> impl Strategy<Value = TaskStatusUpdateEvent> {
    (id(), id(), status(), json::optional_object()).prop_map(
        |(task_id, context_id, status, metadata)| TaskStatusUpdateEvent {
            task_id,
            context_id,
            status,
            metadata,
        },
    )
}

/// Any new artifact of a task, or more of one.
pub(crate) fn artifact_update() -> impl Strategy<Value = TaskArtifactUpdateEvent> {
    (id(), id(), artifact(), any::<bool>(), any::<bool>(), json::optional_object()).prop_map(
        |(task_id, context_id, artifact, append, last_chunk, metadata)| TaskArtifactUpdateEvent {
            task_id,
            context_id,
            artifact,
            append,
            last_chunk,
            metadata,
        },
    )
}

/// Any event of a stream.
pub(crate) fn event() -> impl Strategy<Value = StreamResponse> {
    prop_oneof![
        task().prop_map(StreamResponse::Task),
        message().prop_map(StreamResponse::Message),
        status_update().prop_map(StreamResponse::StatusUpdate),
        artifact_update().prop_map(StreamResponse::ArtifactUpdate),
    ]
}

/// Any answer to a message.
pub(crate) fn send_response() -> impl Strategy<Value = SendMessageResponse> {
    prop_oneof![
        task().prop_map(SendMessageResponse::Task),
        message().prop_map(SendMessageResponse::Message),
    ]
}
