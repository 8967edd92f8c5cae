//! Parts as one object, and back.

use crate::{
    dialect::loose::{list, once, wrap_data},
    json::{Error, Object, Raw, Reader, Writer, read_value, read_with, write_with},
    message::{Content, Part, read_base64},
};

const TEXT: &str = "text";
const FILES: &str = "files";

/// Merges parts into one object: the members of data, then all text as `text`, then `files`.
///
/// Of two values under one key the later is kept, but data keeps its own `text` and `files`.
pub(super) fn bundle<'a>(parts: impl IntoIterator<Item = &'a Part>) -> Object {
    let mut bundle = Object::default();
    let mut texts = Vec::new();
    let mut files = Vec::new();
    for part in parts {
        match &part.content {
            Content::Text(text) => texts.push(text.as_str()),
            Content::Data(data) => bundle = merge(bundle, wrap_data(data).0),
            Content::Raw(_) | Content::Url(_) => files.push(part),
        }
    }
    if !texts.is_empty() && bundle.get(TEXT).is_none() {
        bundle = bundle.with(TEXT, Raw::string(&texts.join("\n")));
    }
    if !files.is_empty() && bundle.get(FILES).is_none() {
        bundle = bundle.with(FILES, write_files(&files));
    }
    bundle
}

fn merge(bundle: Object, object: Object) -> Object {
    if bundle.is_empty() {
        return object;
    }
    object.members().into_iter().fold(bundle, |bundle, (key, value)| bundle.with(&key, value))
}

fn write_files(files: &[&Part]) -> Raw {
    let text = write_with(|writer| writer.array(files, |writer, file| write_file(file, writer)));
    Raw::checked(text.into())
}

fn write_file(file: &Part, writer: &mut Writer) {
    writer.object(|object| {
        object.text("name", &file.filename);
        object.text("media_type", &file.media_type);
        match &file.content {
            Content::Raw(bytes) => object.with("bytes", |writer| writer.base64(bytes)),
            Content::Url(url) => object.member("uri", url),
            Content::Text(_) | Content::Data(_) => {}
        }
    });
}

/// Takes a result apart: an object that holds nothing but `text` and `files` becomes those,
/// any other stays data, and one without members is no part at all.
pub(super) fn unbundle(result: Raw) -> Vec<Part> {
    if let Some(text) = result.as_text() {
        return vec![Part::text(text)];
    }
    // What is not exactly as we write it is somebody's own data, and stays as it is.
    read_with(result.as_str(), read_text_and_files).unwrap_or_else(|_| vec![Part::data(result)])
}

fn read_text_and_files(reader: &mut Reader<'_>) -> Result<Vec<Part>, Error> {
    let mut text = None;
    let mut files = Vec::new();
    reader.members(|reader, key| {
        match &*key {
            TEXT => text = Some(Part::text(reader.string()?)),
            FILES => files = list(reader, read_file)?,
            _ => return Err(Error::shape("is data")),
        }
        Ok(())
    })?;
    Ok(text.into_iter().chain(files).collect())
}

fn read_file(reader: &mut Reader<'_>) -> Result<Part, Error> {
    let mut content = None;
    let mut name: Option<String> = None;
    let mut media_type: Option<String> = None;
    reader.members(|reader, key| match &*key {
        "name" => once(&mut name, read_value(reader)?),
        "media_type" => once(&mut media_type, read_value(reader)?),
        "bytes" => once(&mut content, Some(Content::Raw(read_base64(reader)?))),
        "uri" => once(&mut content, Some(Content::Url(reader.string()?.into_owned()))),
        _ => Err(Error::shape("is data")),
    })?;
    let content = content.ok_or_else(|| Error::shape("needs one of bytes, uri"))?;
    Ok(Part::new(content)
        .with_filename(name.unwrap_or_default())
        .with_media_type(media_type.unwrap_or_default()))
}
