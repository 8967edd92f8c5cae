//! Parts, in every form.

use super::{Loose, once, optional};
use crate::{
    json::{Error, Object, Raw, Reader, read_value},
    message::{Content, Part, read_base64},
};

/// The metadata flag of a data part whose value is wrapped because it is no object.
const WRAPPED_DATA: &str = "data_part_compat";

impl Loose {
    pub(in crate::dialect) fn part(self, reader: &mut Reader<'_>) -> Result<Part, Error> {
        let mut discriminator: Option<(String, String)> = None;
        let mut text: Option<String> = None;
        let mut data: Option<Raw> = None;
        let mut file: Option<File> = None;
        let mut bare = File::default();
        let mut metadata = None;
        reader.members(|reader, key| {
            match &*key {
                "kind" | "type" => {
                    let value = reader.string()?.into_owned();
                    once(&mut discriminator, Some((key.into_owned(), value)))?;
                }
                "text" => once(&mut text, read_value(reader)?)?,
                "data" if self.nests_data => once(&mut data, Some(nested_data(reader)?))?,
                "data" => once(&mut data, Some(reader.raw()?))?,
                "file" => once(&mut file, optional(reader, File::read)?)?,
                "metadata" => once(&mut metadata, read_value::<Object>(reader)?)?,
                _ => {
                    if !bare.take(&key, reader)? {
                        reader.skip()?;
                    }
                }
            }
            Ok(())
        })?;
        // A null beside other content is a member left unset, not the value null.
        if text.is_some() || file.is_some() || bare.has_content() {
            data = data.filter(|data| data.as_str() != "null");
        }
        if self.omits_empty && text.is_none() && data.is_none() {
            match discriminator.as_ref().map(|(_, value)| value.as_str()) {
                Some("text") => text = Some(String::new()),
                Some("data") => data = Some(Raw::checked("null".into())),
                _ => {}
            }
        }
        let named = file.unwrap_or_default().or(bare)?;
        let contents = [
            text.map(Content::Text),
            data.map(Content::Data),
            named.bytes.map(Content::Raw),
            named.uri.map(Content::Url),
        ];
        let mut contents = contents.into_iter().flatten();
        let (content, more) = (contents.next(), contents.next());
        let content = content.ok_or_else(|| Error::shape("needs one of text, file, data"))?;
        if more.is_some() {
            return Err(Error::shape("has more than one of text, file, data"));
        }
        if let Some((key, value)) = &discriminator {
            check_discriminator(value, &content).map_err(|error| error.inside(key))?;
        }
        let mut part = Part {
            content,
            metadata,
            filename: named.name.unwrap_or_default(),
            media_type: named.media_type.unwrap_or_default(),
        };
        unwrap_data(&mut part);
        Ok(part)
    }
}

/// The members that describe a file, wherever they stand.
#[derive(Default)]
struct File {
    bytes: Option<bytes::Bytes>,
    uri: Option<String>,
    name: Option<String>,
    media_type: Option<String>,
}

impl File {
    fn read(reader: &mut Reader<'_>) -> Result<Self, Error> {
        let mut file = Self::default();
        reader.members(|reader, key| {
            if !file.take(&key, reader)? {
                reader.skip()?;
            }
            Ok(())
        })?;
        if file.has_content() {
            return Ok(file);
        }
        Err(Error::shape("needs one of bytes, uri"))
    }

    /// Reads a member if it is one of a file's, and says whether it was.
    fn take(&mut self, key: &str, reader: &mut Reader<'_>) -> Result<bool, Error> {
        match key {
            "bytes" | "raw" | "bytes_data" | "bytesData" | "fileWithBytes" | "file_with_bytes" => {
                once(&mut self.bytes, optional(reader, read_base64)?)?;
            }
            "uri" | "url" | "fileWithUri" | "file_with_uri" => {
                once(&mut self.uri, read_value(reader)?)?;
            }
            "name" | "filename" => once(&mut self.name, read_value(reader)?)?,
            "mimeType" | "mime_type" | "mediaType" | "media_type" => {
                once(&mut self.media_type, read_value(reader)?)?;
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    fn has_content(&self) -> bool {
        self.bytes.is_some() || self.uri.is_some()
    }

    /// Adds what stands beside the `file` member to what stands in it.
    fn or(mut self, beside: Self) -> Result<Self, Error> {
        once(&mut self.bytes, beside.bytes)?;
        once(&mut self.uri, beside.uri)?;
        self.name = self.name.or(beside.name);
        self.media_type = self.media_type.or(beside.media_type);
        Ok(self)
    }
}

fn check_discriminator(value: &str, content: &Content) -> Result<(), Error> {
    let fits = match value {
        "text" => matches!(content, Content::Text(_)),
        "data" => matches!(content, Content::Data(_)),
        "file" => matches!(content, Content::Raw(_) | Content::Url(_)),
        _ => return Err(Error::shape(format!("`{value}` is not one of text, file, data"))),
    };
    if fits {
        return Ok(());
    }
    Err(Error::shape(format!("says `{value}`, but the part holds something else")))
}

/// Reads the `data` member of the protobuf form of 0.3: an object that holds the data.
fn nested_data(reader: &mut Reader<'_>) -> Result<Raw, Error> {
    let object = reader.raw_object()?;
    let inner = object.get("data").filter(|data| data.as_object().is_some());
    Ok(inner.unwrap_or_else(|| object.into_raw()))
}

/// Takes a value out of the object it was wrapped in because it is none itself.
fn unwrap_data(part: &mut Part) {
    let Content::Data(data) = &part.content else { return };
    let Some(metadata) = &part.metadata else { return };
    if metadata.get(WRAPPED_DATA).is_none_or(|flag| flag.as_str() != "true") {
        return;
    }
    let members = data.as_object().map(|object| object.members()).unwrap_or_default();
    // Anything beside the value was not wrapped by the rule, and must not get lost.
    if let [(key, value)] = members.as_slice()
        && key == "value"
    {
        let rest = metadata.without(WRAPPED_DATA);
        part.content = Content::Data(value.clone());
        part.metadata = (!rest.is_empty()).then_some(rest);
    }
}

/// Returns the object that stands for a data part's value in forms that know objects only,
/// and whether it had to be wrapped.
pub(in crate::dialect) fn wrap_data(data: &Raw) -> (Object, bool) {
    match data.as_object() {
        Some(object) => (object, false),
        None => (Object::from_members([("value", data.clone())]), true),
    }
}

/// Returns the metadata of a part, with the flag if its data had to be wrapped.
pub(in crate::dialect) fn wrapped_metadata(
    metadata: Option<&Object>,
    wrapped: bool,
) -> Option<Object> {
    if !wrapped {
        return metadata.cloned();
    }
    let flag = Raw::checked("true".into());
    Some(metadata.cloned().unwrap_or_default().with(WRAPPED_DATA, flag))
}
