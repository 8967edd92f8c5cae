use std::{fmt, sync::Arc};

use serde::{Serialize, de::DeserializeOwned};

use super::{Error, FromJson, Reader, ToJson, Writer, read_with, serde_via_json, write_with};

/// A JSON value kept as its text, checked but not taken apart.
///
/// The text has no white space outside of strings. Cloning is cheap. Two values are equal
/// when their texts are; `1` and `1.0` are not.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Raw(Arc<str>);

impl Raw {
    /// Checks a text and keeps it.
    pub fn parse_text(text: &str) -> Result<Self, Error> {
        super::from_str(text)
    }

    /// Writes any serialisable value.
    pub fn from_value<T: Serialize + ?Sized>(value: &T) -> Result<Self, Error> {
        let text = serde_json::to_string(value).map_err(|error| Error::shape(error.to_string()))?;
        Self::parse_text(&text)
    }

    /// Returns a JSON string.
    pub fn string(text: &str) -> Self {
        Self::checked(write_with(|writer| writer.string(text)).into())
    }

    /// Returns `true` or `false`.
    pub fn bool(value: bool) -> Self {
        Self::checked(if value { "true" } else { "false" }.into())
    }

    /// Takes a text that a [`Reader`] or a [`Writer`] has just produced.
    pub(crate) fn checked(text: Arc<str>) -> Self {
        Self(text)
    }

    /// Returns the text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Takes the value apart into a type of the caller's.
    pub fn parse<T: DeserializeOwned>(&self) -> Result<T, serde_json::Error> {
        serde_json::from_str(&self.0)
    }

    /// Returns the value as an object, if it is one.
    pub fn as_object(&self) -> Option<Object> {
        self.0.starts_with('{').then(|| Object(self.clone()))
    }

    /// Returns the text of a JSON string, if it is one.
    pub fn as_text(&self) -> Option<String> {
        read_with(&self.0, |reader| Ok(reader.string()?.into_owned())).ok()
    }
}

impl fmt::Debug for Raw {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl FromJson for Raw {
    fn read(reader: &mut Reader<'_>) -> Result<Self, Error> {
        reader.raw()
    }
}

impl ToJson for Raw {
    fn write(&self, writer: &mut Writer) {
        writer.raw(&self.0);
    }

    fn weight(&self) -> usize {
        self.0.len()
    }
}

serde_via_json!(Raw);

/// A JSON object kept as its text: protobuf's `Struct`.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Object(Raw);

impl Object {
    /// Checks a text and keeps it.
    pub fn parse_text(text: &str) -> Result<Self, Error> {
        super::from_str(text)
    }

    /// Puts an object together from its members, in this order.
    pub fn from_members<'a>(members: impl IntoIterator<Item = (&'a str, Raw)>) -> Self {
        Self(Raw::checked(
            write_with(|writer| {
                writer.object(|object| {
                    for (key, value) in members {
                        object.entry(key, &value);
                    }
                });
            })
            .into(),
        ))
    }

    pub(crate) fn checked(raw: Raw) -> Self {
        Self(raw)
    }

    /// Returns the text.
    pub fn as_str(&self) -> &str {
        self.0.as_str()
    }

    /// Returns the object as a value.
    pub fn into_raw(self) -> Raw {
        self.0
    }

    /// Takes the object apart into a type of the caller's.
    pub fn parse<T: DeserializeOwned>(&self) -> Result<T, serde_json::Error> {
        self.0.parse()
    }

    /// Returns the members in their order.
    pub fn members(&self) -> Vec<(String, Raw)> {
        let mut members = Vec::new();
        let read = read_with(self.as_str(), |reader| {
            reader.members(|reader, key| {
                members.push((key.into_owned(), reader.raw()?));
                Ok(())
            })
        });
        debug_assert!(read.is_ok(), "an object's text was checked when it was made");
        members
    }

    /// Returns one member.
    pub fn get(&self, key: &str) -> Option<Raw> {
        self.members().into_iter().find(|(name, _)| name == key).map(|(_, value)| value)
    }

    /// Returns the object with this member added or replaced.
    #[must_use]
    pub fn with(&self, key: &str, value: Raw) -> Self {
        let mut members = self.members();
        match members.iter_mut().find(|(name, _)| name == key) {
            Some(member) => member.1 = value,
            None => members.push((key.to_owned(), value)),
        }
        Self::from_members(members.iter().map(|(key, value)| (key.as_str(), value.clone())))
    }

    /// Returns the object without this member.
    #[must_use]
    pub fn without(&self, key: &str) -> Self {
        let members = self.members();
        let kept = members.iter().filter(|(name, _)| name != key);
        Self::from_members(kept.map(|(key, value)| (key.as_str(), value.clone())))
    }

    /// Tells whether there are no members.
    pub fn is_empty(&self) -> bool {
        self.as_str() == "{}"
    }
}

impl Default for Object {
    fn default() -> Self {
        Self(Raw::checked("{}".into()))
    }
}

impl fmt::Debug for Object {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl FromJson for Object {
    fn read(reader: &mut Reader<'_>) -> Result<Self, Error> {
        reader.raw_object()
    }
}

impl ToJson for Object {
    fn write(&self, writer: &mut Writer) {
        self.0.write(writer);
    }

    fn weight(&self) -> usize {
        self.0.weight()
    }
}

/// Removes white space outside of strings from a checked text.
pub(super) fn minify(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(quote) = rest.find('"') {
        out.extend(rest[..quote].split_ascii_whitespace());
        let length = string_length(&rest.as_bytes()[quote..]);
        out.push_str(&rest[quote..quote + length]);
        rest = &rest[quote + length..];
    }
    out.extend(rest.split_ascii_whitespace());
    out
}

/// Returns the length of the string that starts with the first byte, quotes included.
fn string_length(bytes: &[u8]) -> usize {
    let mut at = 1;
    while at < bytes.len() && bytes[at] != b'"' {
        at += if bytes[at] == b'\\' { 2 } else { 1 };
    }
    (at + 1).min(bytes.len())
}
