//! The tolerant reader of objects, shared by all forms other than A2A 1.0.
//!
//! Keys are known in camelCase and in `snake_case` (C-07), parts by `kind`, by `type` or by
//! their member alone (C-06), states and roles in every spelling (C-12). What contradicts
//! itself is refused. The contents of `metadata` and `data` are never touched.
//!
//! Where a form lacks an identifier that the model needs, one is made up: a message gets a
//! new one, an artifact its position, an event without context its task's (C-30).

mod event;
mod part;
mod push;
mod request;
mod words;

use std::borrow::Cow;

use crate::{
    ids::{ArtifactId, ContextId, MessageId, TaskId},
    json::{Error, Kind, Raw, Reader, read_id, read_value, read_with},
    message::{Message, Part, Role},
    state::TaskState,
    task::{
        Artifact, StreamResponse, Task, TaskArtifactUpdateEvent, TaskStatus, TaskStatusUpdateEvent,
    },
};

pub(super) use part::{wrap_data, wrapped_metadata};
pub(super) use push::{read_push_configs, read_task_push_config};
pub(super) use request::read_push_config;
pub(super) use words::{read_role, read_state, read_timestamp};

/// How tolerant to be.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Loose {
    /// Whether a message without identifier gets a new one, instead of being refused (C-30).
    pub makes_message_ids: bool,
    /// Whether an empty text and a null value are left out by the writer, as Go does.
    pub omits_empty: bool,
    /// Whether this is the protobuf form of 0.3, in which data parts stand one level deeper,
    /// and what is false or unspecified is left out.
    pub nests_data: bool,
}

impl Loose {
    pub(super) fn message(self, reader: &mut Reader<'_>) -> Result<Message, Error> {
        self.message_by(None, reader)
    }

    /// Reads a message that need not say who speaks, because it is known.
    pub(super) fn message_by(
        self,
        speaker: Option<Role>,
        reader: &mut Reader<'_>,
    ) -> Result<Message, Error> {
        let mut message_id = None;
        let mut context_id = None;
        let mut task_id = None;
        let mut role = None;
        let mut parts = None;
        let mut metadata = None;
        let mut extensions = None;
        let mut reference_task_ids = None;
        reader.members(|reader, key| match &*key {
            "kind" => expect_kind(reader, "message"),
            "messageId" | "message_id" => once(&mut message_id, read_id(reader)?),
            "contextId" | "context_id" => once(&mut context_id, read_id(reader)?),
            "taskId" | "task_id" => once(&mut task_id, read_id(reader)?),
            "role" => once(&mut role, Some(read_role(reader)?)),
            "parts" | "content" => once(&mut parts, self.parts(reader)?),
            "metadata" => once(&mut metadata, read_value(reader)?),
            "extensions" => once(&mut extensions, read_value(reader)?),
            "referenceTaskIds" | "reference_task_ids" => {
                once(&mut reference_task_ids, read_value(reader)?)
            }
            _ => reader.skip(),
        })?;
        let message_id = match message_id {
            None if self.makes_message_ids => MessageId::generate(),
            id => id.ok_or_else(|| Error::missing("messageId"))?,
        };
        Ok(Message {
            message_id,
            context_id,
            task_id,
            role: role.or(speaker).ok_or_else(|| Error::missing("role"))?,
            parts: parts.unwrap_or_default(),
            metadata,
            extensions: extensions.unwrap_or_default(),
            reference_task_ids: reference_task_ids.unwrap_or_default(),
        })
    }

    /// Reads parts. Peers whose JSON comes from protobuf or Go leave out an empty list, or
    /// write null; whether there must be one is for `Request::check`.
    fn parts(self, reader: &mut Reader<'_>) -> Result<Option<Vec<Part>>, Error> {
        optional(reader, |reader| list(reader, |reader| self.part(reader)))
    }

    pub(super) fn status(self, reader: &mut Reader<'_>) -> Result<TaskStatus, Error> {
        if reader.peek()? != Kind::Object {
            return Ok(TaskStatus { state: read_state(reader)?, message: None, timestamp: None });
        }
        let mut state = None;
        let mut message = None;
        let mut timestamp = None;
        reader.members(|reader, key| match &*key {
            "state" => once(&mut state, Some(read_state(reader)?)),
            "message" | "update" => {
                once(&mut message, optional(reader, |reader| self.message(reader))?.map(Box::new))
            }
            "timestamp" => once(&mut timestamp, optional(reader, read_timestamp)?),
            _ => reader.skip(),
        })?;
        let state = match state {
            None if self.nests_data => TaskState::Unspecified,
            state => state.ok_or_else(|| Error::missing("state"))?,
        };
        Ok(TaskStatus { state, message, timestamp })
    }

    /// Reads an artifact; one without identifier gets its position.
    pub(super) fn artifact(
        self,
        position: usize,
        reader: &mut Reader<'_>,
    ) -> Result<Artifact, Error> {
        let mut artifact_id = None;
        let mut name = None;
        let mut description = None;
        let mut parts = None;
        let mut metadata = None;
        let mut extensions = None;
        let mut flat_type: Option<String> = None;
        let mut flat_content: Option<Raw> = None;
        reader.members(|reader, key| match &*key {
            "artifactId" | "artifact_id" => once(&mut artifact_id, read_id(reader)?),
            "name" => once(&mut name, read_value(reader)?),
            "description" => once(&mut description, read_value(reader)?),
            "parts" => once(&mut parts, self.parts(reader)?),
            "metadata" => once(&mut metadata, read_value(reader)?),
            "extensions" => once(&mut extensions, read_value(reader)?),
            "type" => once(&mut flat_type, read_value(reader)?),
            "content" => once(&mut flat_content, Some(reader.raw()?)),
            _ => reader.skip(),
        })?;
        let parts = match (parts, flat_content) {
            (Some(parts), _) => parts,
            (None, Some(content)) => vec![flat_part(flat_type.unwrap_or_default(), content)],
            (None, None) => Vec::new(),
        };
        Ok(Artifact {
            artifact_id: artifact_id.unwrap_or_else(|| artifact_id_at(position)),
            name: name.unwrap_or_default(),
            description: description.unwrap_or_default(),
            parts,
            metadata,
            extensions: extensions.unwrap_or_default(),
        })
    }

    fn artifacts(self, reader: &mut Reader<'_>) -> Result<Vec<Artifact>, Error> {
        let mut artifacts = Vec::new();
        reader.items(|reader| {
            artifacts.push(self.artifact(artifacts.len(), reader)?);
            Ok(())
        })?;
        Ok(artifacts)
    }

    pub(super) fn task(self, reader: &mut Reader<'_>) -> Result<Task, Error> {
        let mut id = None;
        let mut context_id = None;
        let mut session_id = None;
        let mut status = None;
        let mut artifacts = None;
        let mut history = None;
        let mut metadata = None;
        reader.members(|reader, key| match &*key {
            "kind" => expect_kind(reader, "task"),
            "id" => once(&mut id, read_id(reader)?),
            "contextId" | "context_id" => once(&mut context_id, read_id(reader)?),
            "sessionId" | "session_id" => once(&mut session_id, read_id(reader)?),
            "status" => once(&mut status, Some(self.status(reader)?)),
            "artifacts" => once(&mut artifacts, optional(reader, |reader| self.artifacts(reader))?),
            "history" | "messages" => once(
                &mut history,
                optional(reader, |reader| list(reader, |reader| self.message(reader)))?,
            ),
            "metadata" => once(&mut metadata, read_value(reader)?),
            _ => reader.skip(),
        })?;
        Ok(Task {
            id: id.ok_or_else(|| Error::missing("id"))?,
            context_id: context_id.or(session_id),
            status: status.ok_or_else(|| Error::missing("status"))?,
            artifacts: artifacts.unwrap_or_default(),
            history: history.unwrap_or_default(),
            metadata,
        })
    }

    pub(super) fn status_update(
        self,
        reader: &mut Reader<'_>,
    ) -> Result<TaskStatusUpdateEvent, Error> {
        let mut task_id = None;
        let mut context_id = None;
        let mut status = None;
        let mut metadata = None;
        reader.members(|reader, key| match &*key {
            "kind" => expect_kind(reader, "status-update"),
            "taskId" | "task_id" => once(&mut task_id, read_id(reader)?),
            "contextId" | "context_id" => once(&mut context_id, read_id(reader)?),
            "status" => once(&mut status, Some(self.status(reader)?)),
            "metadata" => once(&mut metadata, read_value(reader)?),
            _ => reader.skip(),
        })?;
        let task_id = task_id.ok_or_else(|| Error::missing("taskId"))?;
        Ok(TaskStatusUpdateEvent {
            context_id: context_id.map_or_else(|| context_of(&task_id), Ok)?,
            task_id,
            status: status.ok_or_else(|| Error::missing("status"))?,
            metadata,
        })
    }

    pub(super) fn artifact_update(
        self,
        reader: &mut Reader<'_>,
    ) -> Result<TaskArtifactUpdateEvent, Error> {
        let mut task_id = None;
        let mut context_id = None;
        let mut artifact = None;
        let mut append = None;
        let mut last_chunk = None;
        let mut metadata = None;
        reader.members(|reader, key| match &*key {
            "kind" => expect_kind(reader, "artifact-update"),
            "taskId" | "task_id" => once(&mut task_id, read_id(reader)?),
            "contextId" | "context_id" => once(&mut context_id, read_id(reader)?),
            "artifact" => once(&mut artifact, Some(self.artifact(0, reader)?)),
            "append" => once(&mut append, read_value(reader)?),
            "lastChunk" | "last_chunk" => once(&mut last_chunk, read_value(reader)?),
            "metadata" => once(&mut metadata, read_value(reader)?),
            _ => reader.skip(),
        })?;
        let task_id = task_id.ok_or_else(|| Error::missing("taskId"))?;
        Ok(TaskArtifactUpdateEvent {
            context_id: context_id.map_or_else(|| context_of(&task_id), Ok)?,
            task_id,
            artifact: artifact.ok_or_else(|| Error::missing("artifact"))?,
            append: append.unwrap_or_default(),
            last_chunk: last_chunk.unwrap_or_default(),
            metadata,
        })
    }

    /// Reads whatever can stand bare in a stream or as the answer to a message, told apart by
    /// `kind` or, without one, by its members.
    pub(super) fn event(self, reader: &mut Reader<'_>) -> Result<StreamResponse, Error> {
        let outline = Outline::read(reader)?;
        read_with(outline.text, |reader| match outline.sort()? {
            Sort::Task => self.task(reader).map(StreamResponse::Task),
            Sort::Message => self.message(reader).map(StreamResponse::Message),
            Sort::StatusUpdate => self.status_update(reader).map(StreamResponse::StatusUpdate),
            Sort::ArtifactUpdate => {
                self.artifact_update(reader).map(StreamResponse::ArtifactUpdate)
            }
        })
    }
}

/// Which object stands in a place where several can.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sort {
    Task,
    Message,
    StatusUpdate,
    ArtifactUpdate,
}

/// An object whose members have been looked at but not read.
pub(super) struct Outline<'a> {
    /// Its text.
    pub text: &'a str,
    /// Its keys.
    pub keys: Vec<Cow<'a, str>>,
    kind: Option<Cow<'a, str>>,
}

impl<'a> Outline<'a> {
    pub(super) fn read(reader: &mut Reader<'a>) -> Result<Self, Error> {
        reader.expect(Kind::Object)?;
        let text = reader.value_text()?;
        let mut keys = Vec::new();
        let mut kind = None;
        read_with(text, |reader| {
            reader.members(|reader, key| {
                if key == "kind" && reader.peek()? == Kind::String {
                    kind = Some(reader.string()?);
                } else {
                    reader.skip()?;
                }
                keys.push(key);
                Ok(())
            })
        })?;
        Ok(Self { text, keys, kind })
    }

    pub(super) fn has(&self, key: &str) -> bool {
        self.keys.iter().any(|found| found == key)
    }

    fn sort(&self) -> Result<Sort, Error> {
        match self.kind.as_deref() {
            Some("task") => return Ok(Sort::Task),
            Some("message") => return Ok(Sort::Message),
            Some("status-update") => return Ok(Sort::StatusUpdate),
            Some("artifact-update") => return Ok(Sort::ArtifactUpdate),
            Some(kind) => {
                return Err(Error::shape(format!(
                    "`{kind}` is not one of task, message, status-update, artifact-update"
                ))
                .inside("kind"));
            }
            None => {}
        }
        if self.has("artifact") {
            Ok(Sort::ArtifactUpdate)
        } else if self.has("status") && (self.has("taskId") || self.has("task_id")) {
            Ok(Sort::StatusUpdate)
        } else if self.has("status") {
            Ok(Sort::Task)
        } else if self.has("role") || self.has("parts") {
            Ok(Sort::Message)
        } else {
            Err(Error::shape("is neither a task nor a message nor an event"))
        }
    }
}

/// Reads an artifact's content in molecule's flat form (M-30).
fn flat_part(media_type: String, content: Raw) -> Part {
    let part = match content.as_text() {
        Some(text) if !media_type.ends_with("json") => Part::text(text),
        _ => Part::data(content),
    };
    part.with_media_type(media_type)
}

/// Fills a slot; refuses a second value that came under another spelling of the key.
pub(super) fn once<T>(slot: &mut Option<T>, value: Option<T>) -> Result<(), Error> {
    if value.is_none() {
        return Ok(());
    }
    if slot.is_some() {
        return Err(Error::shape("is given twice, in two spellings"));
    }
    *slot = value;
    Ok(())
}

/// Reads a value by a function; `null` counts as absent.
pub(super) fn optional<'a, T>(
    reader: &mut Reader<'a>,
    read: impl FnOnce(&mut Reader<'a>) -> Result<T, Error>,
) -> Result<Option<T>, Error> {
    if reader.null()? { Ok(None) } else { read(reader).map(Some) }
}

/// Reads an array by a function.
pub(super) fn list<'a, T>(
    reader: &mut Reader<'a>,
    mut item: impl FnMut(&mut Reader<'a>) -> Result<T, Error>,
) -> Result<Vec<T>, Error> {
    let mut items = Vec::new();
    reader.items(|reader| {
        items.push(item(reader)?);
        Ok(())
    })?;
    Ok(items)
}

fn expect_kind(reader: &mut Reader<'_>, expected: &'static str) -> Result<(), Error> {
    let kind = reader.string()?;
    if kind == expected {
        return Ok(());
    }
    Err(Error::shape(format!("must be `{expected}` here, not `{kind}`")))
}

/// Returns the identifier of an artifact that has none but its position.
pub(super) fn artifact_id_at(position: usize) -> ArtifactId {
    ArtifactId::parse(&format!("artifact-{position}"))
        .expect("a short text that is not empty is an identifier")
}

fn context_of(task: &TaskId) -> Result<ContextId, Error> {
    ContextId::parse(task.as_str()).map_err(|error| Error::shape(error.to_string()))
}

#[cfg(test)]
mod tests;
