//! Strict JSON, read and written in one pass.
//!
//! Every wire form of A2A that is JSON goes through this module, so that bad input gets the
//! same precise error whatever dialect it came in. `serde_json` alone cannot give that: it
//! keeps the last of two equal keys, and inside raw values it checks neither depth nor
//! number range nor surrogates. [`Reader`] refuses all of these while it reads, names the
//! path, and never needs more than one pass; open-ended values (`data`, `metadata`) stay
//! [`Raw`] text, so integers of any size survive and nobody pays for a tree nobody reads.
//!
//! The types of the protocol implement [`FromJson`] and [`ToJson`]. They implement `serde`'s
//! traits too, for use with other libraries; our own code does not take that way.

mod error;
mod plain;
mod raw;
mod reader;
mod record;
mod shared;
mod writer;

use std::cell::Cell;

use bytes::Bytes;

pub use error::{Error, ErrorKind};
pub use raw::{Object, Raw};
pub use reader::{Fields, Kind, MAX_DEPTH, Reader};
pub use shared::Shared;
pub use writer::{KeyCase, Members, Writer};

pub(crate) use record::{
    Implicit, proto_enum, proto_union, read_id, read_value, record, serde_via_json,
};

/// Reads itself from JSON.
pub trait FromJson: Sized {
    /// Reads one value, leaving the reader just behind it.
    fn read(reader: &mut Reader<'_>) -> Result<Self, Error>;
}

/// Writes itself as JSON.
pub trait ToJson {
    /// Appends exactly one value.
    fn write(&self, writer: &mut Writer);

    /// Returns about how many bytes that appends: letters that have to be escaped count as one.
    /// What most is made of knows it without writing.
    fn weight(&self) -> usize {
        let mut writer = Writer::new();
        self.write(&mut writer);
        writer.written()
    }
}

/// Reads one value that fills the whole of `bytes`.
pub fn from_slice<T: FromJson>(bytes: &[u8]) -> Result<T, Error> {
    from_str(text(bytes)?)
}

/// Reads one value that fills the whole of `text`.
pub fn from_str<T: FromJson>(text: &str) -> Result<T, Error> {
    read_with(text, T::read)
}

/// Reads one value that fills the whole of `text`, by a function instead of a type.
pub fn read_with<'a, T>(
    text: &'a str,
    read: impl FnOnce(&mut Reader<'a>) -> Result<T, Error>,
) -> Result<T, Error> {
    let mut reader = Reader::new(text);
    let value = read(&mut reader)?;
    reader.finish()?;
    Ok(value)
}

/// Returns the bytes as text, or the parse error that says where they stop being UTF-8.
pub fn text(bytes: &[u8]) -> Result<&str, Error> {
    std::str::from_utf8(bytes)
        .map_err(|error| Error::syntax(error.valid_up_to(), "the text is not UTF-8"))
}

/// Writes a value without any white space.
pub fn to_string<T: ToJson + ?Sized>(value: &T) -> String {
    write_with(|writer| value.write(writer))
}

/// Writes by a function instead of a type.
pub fn write_with(write: impl FnOnce(&mut Writer)) -> String {
    let mut writer = Writer::new();
    write(&mut writer);
    writer.into_string()
}

/// Writes a value as a text that many share, in no more memory than it needs.
pub fn to_bytes<T: ToJson + ?Sized>(value: &T) -> Bytes {
    bytes_with(|writer| value.write(writer))
}

/// Writes by a function instead of a type, as [`to_bytes`] does.
pub fn bytes_with(write: impl FnOnce(&mut Writer)) -> Bytes {
    thread_local! {
        /// Grown by earlier texts, so that most are written without asking for memory.
        static PAPER: Cell<String> = const { Cell::new(String::new()) };
    }
    /// A larger text is seldom, and its paper not kept.
    const MOST_KEPT: usize = 64 << 10;
    let mut writer = Writer::on(PAPER.take());
    write(&mut writer);
    let mut paper = writer.into_string();
    let text = Bytes::copy_from_slice(paper.as_bytes());
    if paper.capacity() <= MOST_KEPT {
        paper.clear();
        PAPER.set(paper);
    }
    text
}

/// Hands a value's JSON text to a `serde` serializer that understands raw JSON.
pub(crate) fn serialize<T: ToJson, S: serde::Serializer>(
    value: &T,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    use serde::{Serialize as _, ser::Error as _};
    serde_json::value::RawValue::from_string(to_string(value))
        .map_err(S::Error::custom)?
        .serialize(serializer)
}

/// Takes a value's JSON text from a `serde` deserializer that understands raw JSON.
pub(crate) fn deserialize<'de, T: FromJson, D: serde::Deserializer<'de>>(
    deserializer: D,
) -> Result<T, D::Error> {
    use serde::{Deserialize as _, de::Error as _};
    let raw = Box::<serde_json::value::RawValue>::deserialize(deserializer)?;
    from_str(raw.get()).map_err(D::Error::custom)
}

#[cfg(test)]
mod tests;
