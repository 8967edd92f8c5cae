//! Messages and parts.

use prost_types::{Struct, Value, value::Kind};

use super::{
    mirror::{
        mirror, needs_one_of, read_id, read_inside, read_key, read_list, read_optional, write_id,
        write_list,
    },
    v1, v03,
};
use crate::{
    json::Error,
    message::{Content, Message, Part},
};

mirror! {
    v1: Message = Message {
        message_id: key "messageId",
        context_id: id "contextId",
        task_id: id "taskId",
        role: number "role",
        parts: list "parts",
        metadata: optional "metadata",
        extensions: same,
        reference_task_ids: ids "referenceTaskIds",
    }
}

impl From<Part> for v1::Part {
    fn from(part: Part) -> Self {
        use v1::part::Content as Proto;
        let content = match part.content {
            Content::Text(text) => Proto::Text(text),
            Content::Raw(bytes) => Proto::Raw(bytes),
            Content::Url(url) => Proto::Url(url),
            Content::Data(data) => Proto::Data(data.into()),
        };
        Self {
            metadata: part.metadata.map(Into::into),
            filename: part.filename,
            media_type: part.media_type,
            content: Some(content),
        }
    }
}

impl TryFrom<v1::Part> for Part {
    type Error = Error;

    fn try_from(part: v1::Part) -> Result<Self, Error> {
        use v1::part::Content as Proto;
        let content = match part.content {
            Some(Proto::Text(text)) => Content::Text(text),
            Some(Proto::Raw(bytes)) => Content::Raw(bytes),
            Some(Proto::Url(url)) => Content::Url(url),
            Some(Proto::Data(data)) => Content::Data(read_inside(data, "data")?),
            None => return Err(Error::shape("needs one of text, raw, url, data")),
        };
        Ok(Self {
            content,
            metadata: read_optional(part.metadata, "metadata")?,
            filename: part.filename,
            media_type: part.media_type,
        })
    }
}

impl From<Message> for v03::Message {
    fn from(message: Message) -> Self {
        Self {
            message_id: message.message_id.as_str().to_owned(),
            context_id: write_id(message.context_id.as_ref()),
            task_id: write_id(message.task_id.as_ref()),
            role: message.role.number(),
            content: write_list(message.parts),
            metadata: message.metadata.map(Into::into),
            extensions: message.extensions,
        }
    }
}

impl TryFrom<v03::Message> for Message {
    type Error = Error;

    fn try_from(message: v03::Message) -> Result<Self, Error> {
        Ok(Self {
            message_id: read_key(&message.message_id, "messageId")?,
            context_id: read_id(&message.context_id, "contextId")?,
            task_id: read_id(&message.task_id, "taskId")?,
            role: read_inside(message.role, "role")?,
            parts: read_list(message.content, "content")?,
            metadata: read_optional(message.metadata, "metadata")?,
            extensions: message.extensions,
            reference_task_ids: Vec::new(),
        })
    }
}

impl From<Part> for v03::Part {
    fn from(part: Part) -> Self {
        use v03::{file_part::File, part::Part as Proto};
        let mut metadata: Option<Struct> = part.metadata.map(Into::into);
        let file = |file| {
            let (mime_type, name) = (part.media_type, part.filename);
            Proto::File(v03::FilePart { mime_type, name, file: Some(file) })
        };
        let content = match part.content {
            Content::Text(text) => Proto::Text(text),
            Content::Raw(bytes) => file(File::FileWithBytes(bytes)),
            Content::Url(url) => file(File::FileWithUri(url)),
            Content::Data(data) => {
                Proto::Data(v03::DataPart { data: Some(wrap(data.into(), &mut metadata)) })
            }
        };
        Self { metadata, part: Some(content) }
    }
}

impl TryFrom<v03::Part> for Part {
    type Error = Error;

    fn try_from(part: v03::Part) -> Result<Self, Error> {
        use v03::{file_part::File, part::Part as Proto};
        let mut metadata = part.metadata;
        let (mut filename, mut media_type) = (String::new(), String::new());
        let content = match part.part {
            Some(Proto::Text(text)) => Content::Text(text),
            Some(Proto::File(file)) => {
                (filename, media_type) = (file.name, file.mime_type);
                match file.file {
                    Some(File::FileWithBytes(bytes)) => Content::Raw(bytes),
                    Some(File::FileWithUri(url)) => Content::Url(url),
                    None => {
                        return Err(needs_one_of("`fileWithUri` `fileWithBytes`").inside("file"));
                    }
                }
            }
            Some(Proto::Data(data)) => {
                let data = data.data.ok_or_else(|| Error::missing("data").inside("data"))?;
                let data = unwrap(data, &mut metadata).try_into();
                Content::Data(data.map_err(|error: Error| error.inside("data").inside("data"))?)
            }
            None => return Err(needs_one_of("`text` `file` `data`")),
        };
        let metadata = read_optional(metadata, "metadata")?;
        Ok(Self { content, metadata, filename, media_type })
    }
}

/// Marks data that is wrapped because 0.3 has no data but objects; the name is the one that
/// other implementations use.
const WRAPPED: &str = "data_part_compat";

/// Makes an object of any value, and notes in the metadata if it was none.
fn wrap(value: Value, metadata: &mut Option<Struct>) -> Struct {
    if let Some(Kind::StructValue(object)) = value.kind {
        return object;
    }
    let mark = Value { kind: Some(Kind::BoolValue(true)) };
    metadata.get_or_insert_default().fields.insert(WRAPPED.to_owned(), mark);
    Struct { fields: [("value".to_owned(), value)].into() }
}

/// Undoes [`wrap`], note included. Data that is marked but not wrapped stays as it is.
fn unwrap(mut object: Struct, metadata: &mut Option<Struct>) -> Value {
    let marked = metadata.as_ref().and_then(|metadata| metadata.fields.get(WRAPPED));
    let marked = marked.is_some_and(|mark| mark.kind == Some(Kind::BoolValue(true)));
    if !marked || object.fields.len() != 1 {
        return Value { kind: Some(Kind::StructValue(object)) };
    }
    match object.fields.remove("value") {
        Some(value) => {
            if let Some(fields) = metadata {
                fields.fields.remove(WRAPPED);
            }
            // What was made for the note alone goes with it.
            metadata.take_if(|metadata| metadata.fields.is_empty());
            value
        }
        None => Value { kind: Some(Kind::StructValue(object)) },
    }
}
