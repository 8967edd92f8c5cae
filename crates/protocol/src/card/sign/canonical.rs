//! The one text of a card that is signed, in each of the forms that agents sign.
//!
//! The JSON is rewritten straight from its text, without a tree in between, because a tree
//! would already have rounded the numbers that must be refused here.

use std::fmt::Write as _;

use crate::{
    card::{AgentCard, AgentCardSignature},
    json::{self, Error, Kind, Object, Reader, read_with},
};

/// The largest integer that every reader of JSON understands alike (RFC 8785 §3.2.2.3).
const MAX_SAFE_INTEGER: i64 = (1 << 53) - 1;

/// How the text is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Style {
    /// RFC 8785.
    Jcs,
    /// RFC 8785, without anything that is empty or null.
    Pruned,
    /// As [`Pruned`](Self::Pruned), but as Python's `json` module writes it.
    PrunedPython,
}

impl Style {
    fn prunes(self) -> bool {
        self != Self::Jcs
    }
}

/// Writes the members that A2A 1.0 knows as A2A wants them signed: required members even if
/// empty, optional ones if present, others unless they have their default.
pub(super) fn of_card(card: &AgentCard) -> Result<String, Error> {
    // Our own writer follows the same presence rules, with one exception: an object of
    // settings without any has its default value, too.
    let mut card = AgentCard { signatures: Vec::new(), ..card.clone() };
    for extension in &mut card.capabilities.extensions {
        extension.params.take_if(|params| params.is_empty());
    }
    of_text(&json::to_string(&card), Style::Jcs)
}

/// Writes a card as it stands, without its signatures.
pub(super) fn of_text(text: &str, style: Style) -> Result<String, Error> {
    read_with(text, |reader| {
        let mut members = Vec::new();
        reader.members(|reader, key| {
            if key == "signatures" {
                return reader.skip();
            }
            write_member(reader, &key, style, &mut members)
        })?;
        let mut out = String::with_capacity(text.len());
        write_members(members, &mut out);
        Ok(out)
    })
}

/// Reads the signatures of a card, whatever else it holds.
pub(super) fn signatures(text: &str) -> Result<Vec<AgentCardSignature>, Error> {
    let mut signatures = None;
    read_with(text, |reader| {
        reader.members(|reader, key| {
            if key != "signatures" {
                return reader.skip();
            }
            signatures = json::read_value(reader)?;
            Ok(())
        })
    })?;
    Ok(signatures.unwrap_or_default())
}

/// Replaces the signatures of a card and leaves the rest as it stands.
pub(super) fn with_signatures(card: &Object, signatures: &[AgentCardSignature]) -> String {
    let text = json::to_string(signatures);
    card.with("signatures", json::Raw::checked(text.into())).as_str().to_owned()
}

/// A member with what it is sorted by.
struct Member {
    order: Vec<u16>,
    text: String,
}

fn write_member(
    reader: &mut Reader<'_>,
    key: &str,
    style: Style,
    members: &mut Vec<Member>,
) -> Result<(), Error> {
    let mut text = String::new();
    write_string(key, style, &mut text);
    text.push(':');
    if !write_value(reader, style, &mut text)? {
        return Ok(());
    }
    let order = match style {
        Style::Jcs | Style::Pruned => key.encode_utf16().collect(),
        // Python sorts by code point: two units each, the high one first.
        Style::PrunedPython => key.chars().flat_map(halves).collect(),
    };
    members.push(Member { order, text });
    Ok(())
}

#[expect(clippy::cast_possible_truncation, reason = "each half has sixteen bits")]
fn halves(letter: char) -> [u16; 2] {
    let code = u32::from(letter);
    [(code >> 16) as u16, code as u16]
}

fn write_members(mut members: Vec<Member>, out: &mut String) {
    members.sort_unstable_by(|one, other| one.order.cmp(&other.order));
    out.push('{');
    for (index, member) in members.iter().enumerate() {
        if index > 0 {
            out.push(',');
        }
        out.push_str(&member.text);
    }
    out.push('}');
}

/// Appends the next value, and says whether the style keeps it.
fn write_value(reader: &mut Reader<'_>, style: Style, out: &mut String) -> Result<bool, Error> {
    match reader.peek()? {
        Kind::Object => {
            let mut members = Vec::new();
            reader.members(|reader, key| write_member(reader, &key, style, &mut members))?;
            let kept = !style.prunes() || !members.is_empty();
            write_members(members, out);
            Ok(kept)
        }
        Kind::Array => {
            let start = out.len();
            out.push('[');
            reader.items(|reader| {
                let end = out.len();
                if end > start + 1 {
                    out.push(',');
                }
                if !write_value(reader, style, out)? {
                    out.truncate(end);
                }
                Ok(())
            })?;
            let kept = !style.prunes() || out.len() > start + 1;
            out.push(']');
            Ok(kept)
        }
        Kind::String => {
            let text = reader.string()?;
            write_string(&text, style, out);
            Ok(!style.prunes() || !text.is_empty())
        }
        Kind::Number => {
            write_number(reader.number()?, style, out)?;
            Ok(true)
        }
        Kind::Bool => {
            out.push_str(if reader.bool()? { "true" } else { "false" });
            Ok(true)
        }
        Kind::Null => {
            reader.skip()?;
            out.push_str("null");
            Ok(!style.prunes())
        }
    }
}

fn write_string(text: &str, style: Style, out: &mut String) {
    out.push('"');
    for letter in text.chars() {
        match letter {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\u{8}' => out.push_str("\\b"),
            '\t' => out.push_str("\\t"),
            '\n' => out.push_str("\\n"),
            '\u{c}' => out.push_str("\\f"),
            '\r' => out.push_str("\\r"),
            letter if letter < ' ' => escape(letter, out),
            letter if style == Style::PrunedPython && letter > '~' => escape(letter, out),
            letter => out.push(letter),
        }
    }
    out.push('"');
}

fn escape(letter: char, out: &mut String) {
    for unit in letter.encode_utf16(&mut [0; 2]) {
        // Writing to a string cannot fail.
        let _ = write!(out, "\\u{unit:04x}");
    }
}

fn write_number(text: &str, style: Style, out: &mut String) -> Result<(), Error> {
    let is_integer = text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-');
    let is_safe = |number: i64| (-MAX_SAFE_INTEGER..=MAX_SAFE_INTEGER).contains(&number);
    if is_integer && !text.parse().is_ok_and(is_safe) {
        // As a double it would be another number, so that two cards had one signature.
        return Err(Error::shape("an integer beyond 2^53 cannot be signed; write it as a string"));
    }
    let number: f64 = text.parse().map_err(|_| Error::shape("the number is out of range"))?;
    match style {
        Style::Jcs | Style::Pruned => {
            out.push_str(ryu_js::Buffer::new().format(number));
        }
        Style::PrunedPython => write_python_number(number, out),
    }
    Ok(())
}

/// Writes a double as Python's `repr` does.
fn write_python_number(number: f64, out: &mut String) {
    let scientific = format!("{number:e}");
    let (digits, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or_default();
    // Writing to a string cannot fail.
    let _ = if (-4..16).contains(&exponent) {
        let point = if number.fract() == 0.0 { ".0" } else { "" };
        write!(out, "{number}{point}")
    } else {
        let sign = if exponent < 0 { '-' } else { '+' };
        write!(out, "{digits}e{sign}{:02}", exponent.abs())
    };
}

#[cfg(test)]
mod tests;
