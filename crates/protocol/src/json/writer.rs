use std::{collections::BTreeMap, fmt::Write as _};

use super::{ToJson, plain::plain_prefix};

/// Writes JSON without white space.
#[derive(Debug, Default)]
pub struct Writer {
    out: String,
    key_case: KeyCase,
}

/// How the keys of the protocol are spelled. Keys of somebody else's are never touched.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum KeyCase {
    /// `contextId`
    #[default]
    Camel,
    /// `context_id`
    Snake,
}

/// The members of an object being written.
#[derive(Debug)]
pub struct Members<'w> {
    writer: &'w mut Writer,
    first: bool,
}

impl Writer {
    /// Starts with nothing written.
    pub fn new() -> Self {
        Self { out: String::with_capacity(512), key_case: KeyCase::Camel }
    }

    /// Starts on paper that others have written on and wiped.
    pub(super) fn on(paper: String) -> Self {
        Self { out: paper, key_case: KeyCase::Camel }
    }

    /// Writes with the protocol's keys in another spelling.
    pub fn with_key_case(&mut self, key_case: KeyCase, write: impl FnOnce(&mut Self)) {
        let outer = std::mem::replace(&mut self.key_case, key_case);
        write(self);
        self.key_case = outer;
    }

    /// Returns how many bytes were written.
    pub fn written(&self) -> usize {
        self.out.len()
    }

    /// Returns what was written.
    pub fn into_string(self) -> String {
        self.out
    }

    /// Writes an object whose members `fill` adds.
    pub fn object(&mut self, fill: impl FnOnce(&mut Members<'_>)) {
        self.out.push('{');
        fill(&mut Members { writer: self, first: true });
        self.out.push('}');
    }

    /// Writes an array, one call of `each` for an element.
    pub fn array<T>(
        &mut self,
        items: impl IntoIterator<Item = T>,
        mut each: impl FnMut(&mut Self, T),
    ) {
        self.out.push('[');
        for (index, item) in items.into_iter().enumerate() {
            if index > 0 {
                self.out.push(',');
            }
            each(self, item);
        }
        self.out.push(']');
    }

    /// Writes a string.
    pub fn string(&mut self, text: &str) {
        let plain = plain_prefix(text.as_bytes());
        if plain == text.len() {
            self.plain(text);
        } else {
            self.escaped(text, plain);
        }
    }

    /// Writes a string of which only so many bytes are plain.
    fn escaped(&mut self, text: &str, plain: usize) {
        self.out.push('"');
        let (mut rest, mut plain) = (text, plain);
        loop {
            let (before, stop) = rest.split_at(plain);
            self.out.push_str(before);
            let Some(&byte) = stop.as_bytes().first() else { break };
            match byte {
                b'"' => self.out.push_str("\\\""),
                b'\\' => self.out.push_str("\\\\"),
                b'\n' => self.out.push_str("\\n"),
                b'\r' => self.out.push_str("\\r"),
                b'\t' => self.out.push_str("\\t"),
                _ => {
                    // Writing to a string cannot fail.
                    let _ = write!(self.out, "\\u{byte:04x}");
                }
            }
            rest = &stop[1..];
            plain = plain_prefix(rest.as_bytes());
        }
        self.out.push('"');
    }

    /// Writes a text that needs no escaping, in quotes.
    pub(crate) fn plain(&mut self, text: &str) {
        self.out.push('"');
        self.out.push_str(text);
        self.out.push('"');
    }

    fn snake_case(&mut self, key: &str) {
        self.out.push('"');
        for letter in key.chars() {
            if letter.is_ascii_uppercase() {
                self.out.push('_');
            }
            self.out.push(letter.to_ascii_lowercase());
        }
        self.out.push('"');
    }

    /// Writes `true` or `false`.
    pub fn bool(&mut self, value: bool) {
        self.out.push_str(if value { "true" } else { "false" });
    }

    /// Writes an integer.
    pub fn int(&mut self, value: i64) {
        // Writing to a string cannot fail.
        let _ = write!(self.out, "{value}");
    }

    /// Writes an integer that is not negative.
    pub fn natural(&mut self, value: u64) {
        // Writing to a string cannot fail.
        let _ = write!(self.out, "{value}");
    }

    /// Writes `null`.
    pub fn null(&mut self) {
        self.out.push_str("null");
    }

    /// Writes a text that already is JSON.
    pub(crate) fn raw(&mut self, json: &str) {
        self.out.push_str(json);
    }

    /// Writes bytes as padded standard base64.
    pub fn base64(&mut self, bytes: &[u8]) {
        use base64::{Engine as _, engine::general_purpose::STANDARD};
        self.out.push('"');
        STANDARD.encode_string(bytes, &mut self.out);
        self.out.push('"');
    }
}

impl Members<'_> {
    /// Adds a member whose key comes with its quotes and colon, as in `"id":`. So a key is one
    /// piece, of a length that is known where it is written.
    #[inline]
    pub(crate) fn field<T: ToJson + ?Sized>(&mut self, key: &'static str, value: &T) {
        if self.writer.key_case == KeyCase::Snake {
            let key = key.trim_matches(|sign| matches!(sign, '"' | ':'));
            return value.write(self.key(key));
        }
        self.comma();
        self.writer.out.push_str(key);
        value.write(self.writer);
    }

    /// Adds a member. The key is one of ours and needs no escaping.
    pub fn member<T: ToJson + ?Sized>(&mut self, key: &'static str, value: &T) {
        value.write(self.key(key));
    }

    /// Adds a member whose value is written by `write`.
    pub fn with(&mut self, key: &'static str, write: impl FnOnce(&mut Writer)) {
        write(self.key(key));
    }

    /// Adds a member if there is a value.
    pub fn optional<T: ToJson>(&mut self, key: &'static str, value: Option<&T>) {
        if let Some(value) = value {
            self.member(key, value);
        }
    }

    /// Adds a text member unless it is empty.
    pub fn text(&mut self, key: &'static str, value: &str) {
        if !value.is_empty() {
            self.member(key, value);
        }
    }

    /// Adds an array member unless it is empty.
    pub fn list<T: ToJson>(&mut self, key: &'static str, value: &[T]) {
        if !value.is_empty() {
            self.member(key, value);
        }
    }

    /// Adds a member under a key of somebody else's.
    pub fn entry<T: ToJson + ?Sized>(&mut self, key: &str, value: &T) {
        self.comma();
        self.writer.string(key);
        self.writer.out.push(':');
        value.write(self.writer);
    }

    fn key(&mut self, key: &str) -> &mut Writer {
        if self.writer.key_case == KeyCase::Snake {
            self.comma();
            self.writer.snake_case(key);
            self.writer.out.push(':');
            return self.writer;
        }
        self.comma();
        // Only the key is of a length that nobody knows beforehand, and copied as such.
        let out = &mut self.writer.out;
        out.push('"');
        out.push_str(key);
        out.push_str("\":");
        self.writer
    }

    #[inline]
    fn comma(&mut self) {
        if !self.first {
            self.writer.out.push(',');
        }
        self.first = false;
    }
}

impl ToJson for str {
    fn write(&self, writer: &mut Writer) {
        writer.string(self);
    }

    fn weight(&self) -> usize {
        self.len() + 2
    }
}

impl ToJson for String {
    fn write(&self, writer: &mut Writer) {
        writer.string(self);
    }

    fn weight(&self) -> usize {
        self.as_str().weight()
    }
}

impl ToJson for bool {
    fn write(&self, writer: &mut Writer) {
        writer.bool(*self);
    }

    fn weight(&self) -> usize {
        5
    }
}

impl ToJson for i32 {
    fn write(&self, writer: &mut Writer) {
        writer.int((*self).into());
    }
}

impl<T: ToJson + ?Sized> ToJson for &T {
    fn write(&self, writer: &mut Writer) {
        (**self).write(writer);
    }

    fn weight(&self) -> usize {
        (**self).weight()
    }
}

impl<T: ToJson> ToJson for Box<T> {
    fn write(&self, writer: &mut Writer) {
        (**self).write(writer);
    }

    fn weight(&self) -> usize {
        (**self).weight()
    }
}

impl<T: ToJson> ToJson for [T] {
    fn write(&self, writer: &mut Writer) {
        writer.array(self, |writer, item| item.write(writer));
    }

    fn weight(&self) -> usize {
        self.iter().map(|item| item.weight() + 1).sum::<usize>() + 1
    }
}

impl<T: ToJson> ToJson for Vec<T> {
    fn write(&self, writer: &mut Writer) {
        self.as_slice().write(writer);
    }

    fn weight(&self) -> usize {
        self.as_slice().weight()
    }
}

impl<T: ToJson> ToJson for BTreeMap<String, T> {
    fn write(&self, writer: &mut Writer) {
        writer.object(|object| {
            for (key, value) in self {
                object.entry(key, value);
            }
        });
    }
}
