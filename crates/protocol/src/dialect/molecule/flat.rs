//! The flat view of molecule: a word for the status, a text for the message, and one artifact
//! for each part (M-24, M-30).
//!
//! | thing | written |
//! |---|---|
//! | task | `{"id","status","message"?,"artifacts"}` |
//! | status update | `{"id","taskId","status","message"?}`, with `"artifacts":[]` when the task has ended |
//! | artifact update | `{"id","taskId","status":"working","artifactId","artifacts","append"?,"lastChunk"?}` |
//! | message | `{"status":"completed","message","artifacts","messageId"}` |
//! | part | `{"type":<media type>,"content"}`, with an `encoding` of `base64` or `url` for files, of `text` or `json` where the type says otherwise |
//!
//! Who reads molecule's own documentation needs `id`, `status`, `message` and `artifacts`; the
//! rest tells our own reader what was meant. A caller takes the artifacts from the event that
//! ends the task: a server in this view must therefore end a stream with the whole task.

use std::borrow::Cow;

use super::{LOOSE, state};
use crate::{
    dialect::{
        loose::{Outline, artifact_id_at, once, optional, read_state},
        v03::write,
    },
    ids::{ArtifactId, ContextId, MessageId, TaskId},
    json::{Error, Kind, Members, Object, Raw, Reader, Writer, read_id, read_value, read_with},
    message::{Content, Message, Part, Role, read_base64},
    state::TaskState,
    task::{
        Artifact, SendMessageResponse, StreamResponse, Task, TaskArtifactUpdateEvent, TaskStatus,
        TaskStatusUpdateEvent,
    },
};

pub(super) fn write_answer(answer: &SendMessageResponse, writer: &mut Writer) {
    match answer {
        SendMessageResponse::Task(task) => write_task(task, writer),
        SendMessageResponse::Message(message) => write_message(message, writer),
    }
}

pub(super) fn write_event(event: &StreamResponse, writer: &mut Writer) {
    match event {
        StreamResponse::Task(task) => write_task(task, writer),
        StreamResponse::Message(message) => write_message(message, writer),
        StreamResponse::StatusUpdate(update) => writer.object(|object| {
            write_ids(&update.task_id, object);
            write_status(&update.status, object);
            if update.status.state.is_terminal() {
                write_artifacts(&[], object);
            }
            object.optional("metadata", state::told(&update.status).as_ref());
        }),
        StreamResponse::ArtifactUpdate(update) => writer.object(|object| {
            write_ids(&update.task_id, object);
            object.member("status", write::state(TaskState::Working));
            object.member("artifactId", &update.artifact.artifact_id);
            write_artifacts(&update.artifact.parts.iter().collect::<Vec<_>>(), object);
            if update.append {
                object.member("append", &true);
            }
            if update.last_chunk {
                object.member("lastChunk", &true);
            }
        }),
    }
}

pub(super) fn write_task(task: &Task, writer: &mut Writer) {
    writer.object(|object| {
        object.member("id", &task.id);
        write_status(&task.status, object);
        let parts = task.artifacts.iter().flat_map(|artifact| &artifact.parts);
        write_artifacts(&parts.collect::<Vec<_>>(), object);
        object.optional("metadata", state::told(&task.status).as_ref());
    });
}

fn write_message(message: &Message, writer: &mut Writer) {
    writer.object(|object| {
        object.member("status", write::state(TaskState::Completed));
        object.text("message", &message.text());
        write_artifacts(&message.parts.iter().collect::<Vec<_>>(), object);
        object.member("messageId", &message.message_id);
    });
}

fn write_ids(task: &TaskId, object: &mut Members<'_>) {
    object.member("id", task);
    object.member("taskId", task);
}

fn write_status(status: &TaskStatus, object: &mut Members<'_>) {
    object.member("status", write::state(state::lowered(status.state)));
    if let Some(message) = &status.message {
        object.text("message", &message.text());
    }
}

fn write_artifacts(parts: &[&Part], object: &mut Members<'_>) {
    object.with("artifacts", |writer| {
        writer.array(parts, |writer, part| writer.object(|object| write_part(part, object)));
    });
}

fn write_part(part: &Part, object: &mut Members<'_>) {
    let usual = match &part.content {
        Content::Text(_) => "text/plain",
        Content::Data(_) => "application/json",
        Content::Raw(_) | Content::Url(_) => "application/octet-stream",
    };
    object.member("type", if part.media_type.is_empty() { usual } else { &part.media_type });
    let encoding = match &part.content {
        Content::Text(text) => {
            object.member("content", text);
            is_json(&part.media_type).then_some("text")
        }
        Content::Data(data) => {
            object.member("content", data);
            let looks_like_text = data.as_str().starts_with('"')
                && !part.media_type.is_empty()
                && !is_json(&part.media_type);
            looks_like_text.then_some("json")
        }
        Content::Raw(bytes) => {
            object.with("content", |writer| writer.base64(bytes));
            Some("base64")
        }
        Content::Url(url) => {
            object.member("content", url);
            Some("url")
        }
    };
    if let Some(encoding) = encoding {
        object.member("encoding", encoding);
    }
}

/// Tells whether a string of this type is a JSON value rather than a text.
fn is_json(media_type: &str) -> bool {
    media_type.ends_with("json")
}

/// Something that was read in the flat view.
#[derive(Default)]
pub(super) struct Flat {
    id: Option<TaskId>,
    /// Set by events only, so that they are not taken for whole tasks.
    task_id: Option<TaskId>,
    context_id: Option<ContextId>,
    state: Option<TaskState>,
    message: Option<Message>,
    artifacts: Option<Vec<Artifact>>,
    artifact_id: Option<ArtifactId>,
    message_id: Option<MessageId>,
    append: Option<bool>,
    last_chunk: Option<bool>,
    metadata: Option<Object>,
}

impl Flat {
    /// Tells whether an object is in the flat view, and not in that of 0.3.
    pub(super) fn is(outline: &Outline<'_>) -> bool {
        let bare_status = read_with(outline.text, |reader| {
            let mut bare = false;
            reader.members(|reader, key| {
                bare |= key == "status" && reader.peek()? == Kind::String;
                reader.skip()
            })?;
            Ok(bare)
        });
        let artifacts_alone = outline.has("artifacts") && !outline.has("status");
        !outline.has("kind") && (artifacts_alone || bare_status.unwrap_or(false))
    }

    pub(super) fn read(reader: &mut Reader<'_>) -> Result<Self, Error> {
        let mut flat = Self::default();
        reader.members(|reader, key| match &*key {
            "id" => once(&mut flat.id, read_id(reader)?),
            "taskId" | "task_id" => once(&mut flat.task_id, read_id(reader)?),
            "contextId" | "context_id" => once(&mut flat.context_id, read_id(reader)?),
            "status" => once(&mut flat.state, Some(read_state(reader)?)),
            "message" => once(&mut flat.message, optional(reader, read_message)?.flatten()),
            "artifacts" => once(&mut flat.artifacts, optional(reader, read_artifacts)?),
            "artifactId" => once(&mut flat.artifact_id, read_id(reader)?),
            "messageId" => once(&mut flat.message_id, read_id(reader)?),
            "append" => once(&mut flat.append, read_value(reader)?),
            "lastChunk" => once(&mut flat.last_chunk, read_value(reader)?),
            "metadata" => once(&mut flat.metadata, read_value(reader)?),
            _ => reader.skip(),
        })?;
        Ok(flat)
    }

    /// Names the task, if the object does not.
    pub(super) fn or_task(mut self, task: Option<TaskId>) -> Self {
        self.id = self.id.or_else(|| self.task_id.clone()).or(task);
        self
    }

    /// Takes it for the whole of what came of a message.
    pub(super) fn into_answer(self) -> SendMessageResponse {
        match self.message_id.clone() {
            Some(id) => SendMessageResponse::Message(self.into_message(id)),
            None => SendMessageResponse::Task(self.into_task()),
        }
    }

    /// Takes it for one event. What has neither a mark of ours nor artifacts tells no more than
    /// the status: read as a whole task, it would empty the one we know.
    pub(super) fn into_event(self) -> StreamResponse {
        if let Some(id) = self.message_id.clone() {
            return StreamResponse::Message(self.into_message(id));
        }
        if self.task_id.is_none() && self.artifacts.is_some() {
            return StreamResponse::Task(self.into_task());
        }
        let artifact_id = self.artifact_id.clone();
        let (append, last_chunk) = (self.append, self.last_chunk);
        let task = self.into_task();
        let context_id = task.context_id.unwrap_or_else(|| context_of(&task.id));
        match artifact_id {
            Some(artifact_id) => StreamResponse::ArtifactUpdate(TaskArtifactUpdateEvent {
                task_id: task.id,
                context_id,
                artifact: Artifact::new(artifact_id, parts_of(task.artifacts)),
                append: append.unwrap_or_default(),
                last_chunk: last_chunk.unwrap_or_default(),
                metadata: task.metadata,
            }),
            None => StreamResponse::StatusUpdate(TaskStatusUpdateEvent {
                task_id: task.id,
                context_id,
                status: task.status,
                metadata: task.metadata,
            }),
        }
    }

    pub(super) fn into_task(self) -> Task {
        Task {
            id: self.id.or(self.task_id).unwrap_or_else(TaskId::generate),
            context_id: self.context_id,
            status: TaskStatus {
                state: self.state.unwrap_or(TaskState::Completed),
                message: self.message.map(Box::new),
                timestamp: None,
            },
            artifacts: self.artifacts.unwrap_or_default(),
            history: Vec::new(),
            metadata: self.metadata,
        }
    }

    fn into_message(self, id: MessageId) -> Message {
        let mut message = Message::agent("");
        message.message_id = id;
        message.context_id = self.context_id;
        message.parts = parts_of(self.artifacts.unwrap_or_default());
        message.metadata = self.metadata;
        message
    }
}

/// Reads a message of any sort; an empty text is none.
fn read_message(reader: &mut Reader<'_>) -> Result<Option<Message>, Error> {
    if reader.peek()? == Kind::String {
        let text = reader.string()?;
        return Ok((!text.is_empty()).then(|| Message::agent(text)));
    }
    LOOSE.message_by(Some(Role::Agent), reader).map(Some)
}

fn read_artifacts(reader: &mut Reader<'_>) -> Result<Vec<Artifact>, Error> {
    let mut artifacts = Vec::new();
    reader.items(|reader| {
        let outline = Outline::read(reader)?;
        let position = artifacts.len();
        artifacts.push(read_with(outline.text, |reader| {
            if outline.has("parts") {
                return LOOSE.artifact(position, reader);
            }
            Ok(Artifact::new(artifact_id_at(position), vec![read_part(reader)?]))
        })?);
        Ok(())
    })?;
    Ok(artifacts)
}

fn read_part(reader: &mut Reader<'_>) -> Result<Part, Error> {
    let mut media_type: Option<String> = None;
    let mut content: Option<Raw> = None;
    let mut encoding: Option<Cow<'_, str>> = None;
    reader.members(|reader, key| match &*key {
        "type" => once(&mut media_type, read_value(reader)?),
        "content" => once(&mut content, Some(reader.raw()?)),
        "encoding" => once(&mut encoding, optional(reader, Reader::string)?),
        _ => reader.skip(),
    })?;
    let media_type = media_type.unwrap_or_default();
    let content = content.ok_or_else(|| Error::missing("content"))?;
    let text =
        || content.as_text().ok_or_else(|| Error::shape("expected a string").inside("content"));
    let part = match encoding.as_deref() {
        Some("base64") => {
            let bytes = read_with(content.as_str(), read_base64);
            Part::raw(bytes.map_err(|error| error.inside("content"))?)
        }
        Some("url") => Part::url(text()?),
        Some("text") => Part::text(text()?),
        Some("json") => Part::data(content),
        _ => match content.as_text() {
            Some(text) if !is_json(&media_type) => Part::text(text),
            _ => Part::data(content),
        },
    };
    Ok(part.with_media_type(media_type))
}

fn parts_of(artifacts: Vec<Artifact>) -> Vec<Part> {
    artifacts.into_iter().flat_map(|artifact| artifact.parts).collect()
}

fn context_of(task: &TaskId) -> ContextId {
    ContextId::parse(task.as_str()).expect("one identifier is as long as another may be")
}
