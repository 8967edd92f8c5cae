//! Messages and the parts they are made of.

use base64::{
    Engine as _,
    alphabet::{STANDARD, URL_SAFE},
    engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig},
};
use bytes::Bytes;

use crate::{
    ids::{ContextId, MessageId, TaskId},
    json::{
        Error, FromJson, Object, Raw, Reader, ToJson, Writer, proto_enum, record, serde_via_json,
    },
};

proto_enum! {
    /// Who speaks.
    pub enum Role {
        /// Unknown; invalid in a request.
        Unspecified = 0 "ROLE_UNSPECIFIED",
        /// The client.
        User = 1 "ROLE_USER",
        /// The server.
        Agent = 2 "ROLE_AGENT",
    }
}

record! {
    /// One thing said.
    pub struct Message {
        /// Made by the sender.
        message_id: MessageId = required "messageId" | "message_id",
        /// The conversation it belongs to.
        context_id: Option<ContextId> = id "contextId" | "context_id",
        /// The task it belongs to.
        task_id: Option<TaskId> = id "taskId" | "task_id",
        /// Who speaks.
        role: Role = required "role",
        /// What is said; at least one part in a request.
        parts: Vec<Part> = always "parts",
        /// Extension data, keyed by extension URI.
        metadata: Option<Object> = optional "metadata",
        /// URIs of the extensions present in this message.
        extensions: Vec<String> = implicit "extensions",
        /// Other tasks the sender has in mind.
        reference_task_ids: Vec<TaskId> = implicit "referenceTaskIds" | "reference_task_ids",
    }
}

impl Message {
    /// Starts a message with a new identifier and one part.
    pub fn new(role: Role, part: Part) -> Self {
        Self {
            message_id: MessageId::generate(),
            context_id: None,
            task_id: None,
            role,
            parts: vec![part],
            metadata: None,
            extensions: Vec::new(),
            reference_task_ids: Vec::new(),
        }
    }

    /// Says a text as the client.
    pub fn user(text: impl Into<String>) -> Self {
        Self::new(Role::User, Part::text(text))
    }

    /// Says a text as the server.
    pub fn agent(text: impl Into<String>) -> Self {
        Self::new(Role::Agent, Part::text(text))
    }

    /// Returns all text parts, one line each.
    pub fn text(&self) -> String {
        join_text(&self.parts)
    }
}

/// Joins the text parts, one line each.
pub(crate) fn join_text(parts: &[Part]) -> String {
    let texts: Vec<&str> = parts.iter().filter_map(Part::as_text).collect();
    texts.join("\n")
}

/// A piece of content.
#[derive(Clone, Debug, PartialEq)]
pub struct Part {
    /// The content itself.
    pub content: Content,
    /// Data about the content.
    pub metadata: Option<Object>,
    /// A file name; empty if there is none.
    pub filename: String,
    /// The media type; empty if it is not said.
    pub media_type: String,
}

/// What a part holds.
#[derive(Clone, Debug, PartialEq)]
pub enum Content {
    /// Text.
    Text(String),
    /// The bytes of a file.
    Raw(Bytes),
    /// Where a file can be fetched. Untrusted: check it before fetching.
    Url(String),
    /// Any JSON value, `null` included.
    Data(Raw),
}

impl Part {
    /// Wraps content without metadata, file name or media type.
    pub fn new(content: Content) -> Self {
        Self { content, metadata: None, filename: String::new(), media_type: String::new() }
    }

    /// Makes a text part.
    pub fn text(text: impl Into<String>) -> Self {
        Self::new(Content::Text(text.into()))
    }

    /// Makes a data part.
    pub fn data(data: Raw) -> Self {
        Self::new(Content::Data(data))
    }

    /// Makes a file part from bytes.
    pub fn raw(bytes: impl Into<Bytes>) -> Self {
        Self::new(Content::Raw(bytes.into()))
    }

    /// Makes a file part from a reference.
    pub fn url(url: impl Into<String>) -> Self {
        Self::new(Content::Url(url.into()))
    }

    /// Sets the file name.
    #[must_use]
    pub fn with_filename(mut self, filename: impl Into<String>) -> Self {
        self.filename = filename.into();
        self
    }

    /// Sets the media type.
    #[must_use]
    pub fn with_media_type(mut self, media_type: impl Into<String>) -> Self {
        self.media_type = media_type.into();
        self
    }

    /// Returns the text of a text part.
    pub fn as_text(&self) -> Option<&str> {
        match &self.content {
            Content::Text(text) => Some(text),
            _ => None,
        }
    }

    /// Returns the value of a data part.
    pub fn as_data(&self) -> Option<&Raw> {
        match &self.content {
            Content::Data(data) => Some(data),
            _ => None,
        }
    }
}

impl FromJson for Part {
    fn read(reader: &mut Reader<'_>) -> Result<Self, Error> {
        let mut content = None;
        let mut metadata = None;
        let mut filename = String::new();
        let mut media_type = String::new();
        let mut fields = reader.begin_object()?;
        while let Some(key) = reader.next_key(&mut fields)? {
            let number = match &*key {
                "text" => 0,
                "raw" => 1,
                "url" => 2,
                "data" => 3,
                "metadata" => 4,
                "filename" => 5,
                "mediaType" | "media_type" => 6,
                _ => {
                    reader.skip_member(&mut fields, &key)?;
                    continue;
                }
            };
            reader.known(&mut fields, number, &key)?;
            // `null` means absent for every member but `data`, whose value it can be.
            if &*key != "data" && reader.null()? {
                continue;
            }
            let inside = |error: Error| error.inside(&key);
            if number <= 3 && content.is_some() {
                return Err(Error::shape("has more than one of text, raw, url, data"));
            }
            match number {
                0 => content = Some(Content::Text(FromJson::read(reader).map_err(inside)?)),
                1 => content = Some(Content::Raw(read_base64(reader).map_err(inside)?)),
                2 => content = Some(Content::Url(FromJson::read(reader).map_err(inside)?)),
                3 => content = Some(Content::Data(reader.raw().map_err(inside)?)),
                4 => metadata = Some(reader.raw_object().map_err(inside)?),
                5 => filename = FromJson::read(reader).map_err(inside)?,
                _ => media_type = FromJson::read(reader).map_err(inside)?,
            }
        }
        let content = content.ok_or_else(|| Error::shape("needs one of text, raw, url, data"))?;
        Ok(Self { content, metadata, filename, media_type })
    }
}

impl ToJson for Part {
    fn write(&self, writer: &mut Writer) {
        writer.object(|object| {
            match &self.content {
                Content::Text(text) => object.member("text", text),
                Content::Raw(bytes) => object.with("raw", |writer| writer.base64(bytes)),
                Content::Url(url) => object.member("url", url),
                Content::Data(data) => object.member("data", data),
            }
            object.optional("metadata", self.metadata.as_ref());
            object.text("filename", &self.filename);
            object.text("mediaType", &self.media_type);
        });
    }

    fn weight(&self) -> usize {
        let content = match &self.content {
            Content::Text(text) | Content::Url(text) => text.weight(),
            Content::Raw(bytes) => bytes.len().div_ceil(3) * 4 + 2,
            Content::Data(data) => data.weight(),
        };
        let named = |name: &str, weight: usize| if weight == 0 { 0 } else { name.len() + weight };
        r#"{"text":}"#.len()
            + content
            + named(r#","metadata":"#, self.metadata.as_ref().map_or(0, ToJson::weight))
            + named(r#","filename":"""#, self.filename.len())
            + named(r#","mediaType":"""#, self.media_type.len())
    }
}

serde_via_json!(Part);

/// Reads base64 in either alphabet, padded or not.
pub(crate) fn read_base64(reader: &mut Reader<'_>) -> Result<Bytes, Error> {
    const LENIENT: GeneralPurposeConfig =
        GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent);
    let text = reader.string()?;
    let alphabet = if text.contains(['-', '_']) { &URL_SAFE } else { &STANDARD };
    GeneralPurpose::new(alphabet, LENIENT)
        .decode(text.as_bytes())
        .map(Bytes::from)
        .map_err(|error| Error::shape(format!("not base64: {error}")))
}
