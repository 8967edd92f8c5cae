//! Tasks and the events that change them.

use super::{
    mirror::{
        mirror, mirror_union, needs_one_of, read_inside, read_key, read_optional, read_required,
    },
    v1, v03,
};
use crate::{
    json::Error,
    task::{
        Artifact, SendMessageResponse, StreamResponse, Task, TaskArtifactUpdateEvent, TaskStatus,
        TaskStatusUpdateEvent,
    },
    wire::StreamEnd,
};

mirror! {
    v1 v03: Task = Task {
        id: key "id",
        context_id: id "contextId",
        status: required "status",
        artifacts: list "artifacts",
        history: list "history",
        metadata: optional "metadata",
    }
}

mirror! {
    v1: TaskStatus = TaskStatus {
        state: number "state",
        message: boxed "message",
        timestamp: optional "timestamp",
    }
}

mirror! {
    v1 v03: Artifact = Artifact {
        artifact_id: key "artifactId",
        name: same,
        description: same,
        parts: list "parts",
        metadata: optional "metadata",
        extensions: same,
    }
}

mirror! {
    v1: TaskStatusUpdateEvent = TaskStatusUpdateEvent {
        task_id: key "taskId",
        context_id: key "contextId",
        status: required "status",
        metadata: optional "metadata",
    }
}

mirror! {
    v1 v03: TaskArtifactUpdateEvent = TaskArtifactUpdateEvent {
        task_id: key "taskId",
        context_id: key "contextId",
        artifact: required "artifact",
        append: same,
        last_chunk: same,
        metadata: optional "metadata",
    }
}

mirror_union! {
    v1: StreamResponse.payload: stream_response::Payload = StreamResponse {
        Task = Task "task",
        Message = Message "message",
        StatusUpdate = StatusUpdate "statusUpdate",
        ArtifactUpdate = ArtifactUpdate "artifactUpdate",
    }
}

mirror_union! {
    v1: SendMessageResponse.payload: send_message_response::Payload = SendMessageResponse {
        Task = Task "task",
        Message = Message "message",
    }
}

mirror_union! {
    v03: SendMessageResponse.payload: send_message_response::Payload = SendMessageResponse {
        Task = Task "task",
        Msg = Message "message",
    }
}

impl From<TaskStatus> for v03::TaskStatus {
    fn from(status: TaskStatus) -> Self {
        Self {
            // Canceled is spelled with two L in 0.3, but has the same number.
            state: status.state.number(),
            update: status.message.map(|message| (*message).into()),
            timestamp: status.timestamp.map(Into::into),
        }
    }
}

impl TryFrom<v03::TaskStatus> for TaskStatus {
    type Error = Error;

    fn try_from(status: v03::TaskStatus) -> Result<Self, Error> {
        Ok(Self {
            state: read_inside(status.state, "state")?,
            message: read_optional(status.update, "message")?.map(Box::new),
            timestamp: read_optional(status.timestamp, "timestamp")?,
        })
    }
}

impl v03::TaskStatusUpdateEvent {
    /// Writes an update; it is final if nothing can follow, or nothing will.
    pub fn from_model(update: TaskStatusUpdateEvent, end: StreamEnd) -> Self {
        Self {
            task_id: update.task_id.as_str().to_owned(),
            context_id: update.context_id.as_str().to_owned(),
            r#final: update.status.state.is_terminal() || end == StreamEnd::Closing,
            status: Some(update.status.into()),
            metadata: update.metadata.map(Into::into),
        }
    }
}

impl TryFrom<v03::TaskStatusUpdateEvent> for TaskStatusUpdateEvent {
    type Error = Error;

    fn try_from(update: v03::TaskStatusUpdateEvent) -> Result<Self, Error> {
        Ok(Self {
            task_id: read_key(&update.task_id, "taskId")?,
            context_id: read_key(&update.context_id, "contextId")?,
            status: read_required(update.status, "status")?,
            metadata: read_optional(update.metadata, "metadata")?,
        })
    }
}

impl v03::StreamResponse {
    /// Writes an event, given whether the stream goes on behind it.
    pub fn from_model(event: StreamResponse, end: StreamEnd) -> Self {
        use v03::stream_response::Payload;
        let payload = match event {
            StreamResponse::Task(task) => Payload::Task(task.into()),
            StreamResponse::Message(message) => Payload::Msg(message.into()),
            StreamResponse::StatusUpdate(update) => {
                Payload::StatusUpdate(v03::TaskStatusUpdateEvent::from_model(update, end))
            }
            StreamResponse::ArtifactUpdate(update) => Payload::ArtifactUpdate(update.into()),
        };
        Self { payload: Some(payload) }
    }

    /// Tells whether the sender says that nothing follows.
    pub fn end(&self) -> StreamEnd {
        use v03::stream_response::Payload;
        match &self.payload {
            Some(Payload::StatusUpdate(update)) if update.r#final => StreamEnd::Closing,
            _ => StreamEnd::Open,
        }
    }
}

impl TryFrom<v03::StreamResponse> for StreamResponse {
    type Error = Error;

    fn try_from(event: v03::StreamResponse) -> Result<Self, Error> {
        use v03::stream_response::Payload;
        match event.payload {
            Some(Payload::Task(task)) => read_inside(task, "task").map(Self::Task),
            Some(Payload::Msg(message)) => read_inside(message, "message").map(Self::Message),
            Some(Payload::StatusUpdate(update)) => {
                read_inside(update, "statusUpdate").map(Self::StatusUpdate)
            }
            Some(Payload::ArtifactUpdate(update)) => {
                read_inside(update, "artifactUpdate").map(Self::ArtifactUpdate)
            }
            None => Err(needs_one_of("`task` `message` `statusUpdate` `artifactUpdate`")),
        }
    }
}
