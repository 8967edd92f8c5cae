//! The text of a workflow as a tree of values that know where they stand.
//!
//! YAML and JSON are read by one reader, since JSON is YAML. It is our own, above a parser of
//! events, because nothing else can tell *every* mistake in a file at once, each with its place.
//!
//! Bounded: a text of [`MAX_BYTES`], [`MAX_DEPTH`] levels, [`MAX_VALUES`] values with all aliases
//! written out.

mod build;
mod scalar;

use std::{fmt, ops::Range};

use nuncio_protocol::json::{Raw, ToJson, Writer, write_with};

use crate::problem::Problem;

/// The largest file, in bytes.
pub const MAX_BYTES: usize = 1 << 20;

/// How deep lists and mappings may nest.
pub const MAX_DEPTH: usize = 64;

/// How many values a file may hold, counting what an alias stands for wherever it stands.
pub const MAX_VALUES: usize = 500_000;

/// Where something stands in a file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Place {
    line: u32,
    column: u32,
}

impl Place {
    /// The place of what stands in no file, and of a file as a whole.
    pub const NOWHERE: Self = Self::new(0, 0);

    /// A line and a column, both from 1.
    pub const fn new(line: u32, column: u32) -> Self {
        Self { line, column }
    }

    /// Returns the line, from 1; 0 for the file as a whole.
    pub const fn line(self) -> u32 {
        self.line
    }

    /// Returns the column, from 1, in characters.
    pub const fn column(self) -> u32 {
        self.column
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            0 => f.write_str("the workflow"),
            line => write!(f, "line {line}, column {}", self.column),
        }
    }
}

/// A value and where it stands.
#[derive(Clone, Debug)]
pub struct Value {
    kind: Kind,
    place: Place,
    /// The bytes of the text that it was read from.
    span: Range<usize>,
}

/// What sort of value it is.
#[derive(Clone, Debug)]
pub enum Kind {
    /// Nothing.
    Null,
    /// True or false.
    Bool(bool),
    /// A number, spelled as JSON does.
    Number(String),
    /// A text.
    Text(String),
    /// Values in order.
    List(Vec<Value>),
    /// Values by name, each name once.
    Map(Vec<Member>),
}

/// A value and its name.
#[derive(Clone, Debug)]
pub struct Member {
    /// The name.
    pub key: String,
    /// Where the name stands.
    pub place: Place,
    /// The value.
    pub value: Value,
}

impl Value {
    /// Reads a text. Tells every key that stands twice, or the one thing that keeps it from being
    /// read at all.
    pub fn read(text: &str) -> Result<Self, Vec<Problem>> {
        build::read(text)
    }

    /// Returns what sort of value it is.
    pub const fn kind(&self) -> &Kind {
        &self.kind
    }

    /// Returns where it stands.
    pub const fn place(&self) -> Place {
        self.place
    }

    /// Returns the name of its sort, for people.
    pub const fn sort(&self) -> &'static str {
        match self.kind {
            Kind::Null => "nothing",
            Kind::Bool(_) => "true or false",
            Kind::Number(_) => "a number",
            Kind::Text(_) => "a text",
            Kind::List(_) => "a list",
            Kind::Map(_) => "a mapping",
        }
    }

    /// Returns a member of a mapping.
    pub fn get(&self, key: &str) -> Option<&Self> {
        let Kind::Map(members) = &self.kind else { return None };
        members.iter().find(|member| member.key == key).map(|member| &member.value)
    }

    /// Returns the text of a text.
    pub fn as_text(&self) -> Option<&str> {
        match &self.kind {
            Kind::Text(text) => Some(text),
            _ => None,
        }
    }

    /// Returns the value as JSON.
    pub fn to_raw(&self) -> Raw {
        let text = write_with(|writer| self.write(writer));
        // What is written is JSON, and a number was checked when it was read.
        Raw::parse_text(&text).unwrap_or_else(|_| Raw::string(""))
    }

    /// Returns where in the text the `count`th `needle` of this value's text stands; the beginning
    /// of the value if it is spelled otherwise there, as with escapes.
    pub(crate) fn place_of(&self, source: &str, needle: &str, count: usize) -> Place {
        let written = source.get(self.span.clone()).unwrap_or_default();
        let same = self.as_text().map(|text| text.matches(needle).count())
            == Some(written.matches(needle).count());
        let found = written.match_indices(needle).nth(count).filter(|_| same);
        found.map_or(self.place, |(at, _)| self.place_behind(&written[..at]))
    }

    /// Returns where in the text a byte of this value's text stands; the beginning of the value if
    /// it is spelled otherwise there.
    pub(crate) fn place_at(&self, source: &str, at: usize) -> Place {
        let written = source.get(self.span.clone()).unwrap_or_default();
        let found = self.as_text().and_then(|text| written.find(text));
        let before = found.and_then(|start| written.get(..start + at));
        before.map_or(self.place, |before| self.place_behind(before))
    }

    /// Returns the place behind what this value begins with.
    fn place_behind(&self, before: &str) -> Place {
        let lines = before.matches('\n').count();
        let column = match before.rfind('\n') {
            Some(end) => before[end + 1..].chars().count() + 1,
            None => self.place.column as usize + before.chars().count(),
        };
        Place::new(self.place.line.saturating_add(small(lines)), small(column))
    }
}

impl ToJson for Value {
    fn write(&self, writer: &mut Writer) {
        match &self.kind {
            Kind::Null => writer.null(),
            Kind::Bool(value) => writer.bool(*value),
            Kind::Number(number) => match Raw::parse_text(number) {
                Ok(raw) => raw.write(writer),
                Err(_) => writer.null(),
            },
            Kind::Text(text) => writer.string(text),
            Kind::List(items) => writer.array(items, |writer, item| item.write(writer)),
            Kind::Map(members) => writer.object(|object| {
                for member in members {
                    object.entry(&member.key, &member.value);
                }
            }),
        }
    }
}

fn small(number: usize) -> u32 {
    number.try_into().unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests;
