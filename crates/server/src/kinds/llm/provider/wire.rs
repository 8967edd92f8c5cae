//! What all providers share on the wire.

use nuncio_protocol::json::{self, Members, Raw, Reader};

use super::{Spoilt, piece::Untold};
use crate::kinds::llm::{Delta, Prompt};

/// How a prompt is written: the body of a request, or which part cannot be told.
pub(super) type Written = Result<String, Untold>;

/// Takes apart what a provider streams, event by event.
pub(super) trait Events: Send + std::fmt::Debug {
    /// Reads the data of one event.
    fn event(&mut self, data: &str, said: &mut Vec<Delta>) -> Result<(), Spoilt>;

    /// Hears that nothing more comes. An answer that has not ended by now was cut.
    fn finish(&mut self, said: &mut Vec<Delta>) -> Result<(), Spoilt>;
}

/// Reads an event that must be an object, member by member. What is unknown is skipped by
/// whoever reads.
pub(super) fn read<'a>(
    data: &'a str,
    member: impl FnMut(&mut Reader<'a>, &str) -> Result<(), json::Error>,
) -> Result<(), Spoilt> {
    let mut member = member;
    json::read_with(data, |reader| reader.members(|reader, key| member(reader, &key)))
        .map_err(|error| Spoilt::Unreadable { what: error.to_string() })
}

/// Reads a text, or nothing where `null` stands.
pub(super) fn text(reader: &mut Reader<'_>) -> Result<Option<String>, json::Error> {
    if reader.null()? { Ok(None) } else { Ok(Some(reader.string()?.into_owned())) }
}

/// Reads an object member by member, or nothing where `null` stands.
pub(super) fn members<'a>(
    reader: &mut Reader<'a>,
    mut member: impl FnMut(&mut Reader<'a>, &str) -> Result<(), json::Error>,
) -> Result<(), json::Error> {
    if reader.null()? {
        return Ok(());
    }
    reader.members(|reader, key| member(reader, &key))
}

/// Reads a list item by item, or nothing where `null` stands.
pub(super) fn items<'a>(
    reader: &mut Reader<'a>,
    item: impl FnMut(&mut Reader<'a>) -> Result<(), json::Error>,
) -> Result<(), json::Error> {
    if reader.null()? { Ok(()) } else { reader.items(item) }
}

/// Writes how free a model is, under the names that most providers have for it.
pub(super) fn freedom(object: &mut Members<'_>, prompt: &Prompt) {
    object.optional("temperature", number(prompt.temperature).as_ref());
    object.optional("top_p", number(prompt.top_p).as_ref());
}

/// Writes a number. One that JSON cannot hold is left out.
pub(super) fn number(value: Option<f64>) -> Option<Raw> {
    value.filter(|value| value.is_finite()).and_then(|value| Raw::from_value(&value).ok())
}

/// Writes a count.
pub(super) fn count(value: Option<u32>) -> Option<Raw> {
    value.and_then(|value| Raw::from_value(&value).ok())
}
