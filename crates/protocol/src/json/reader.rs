use std::{borrow::Cow, collections::HashSet};

use super::{Error, FromJson, Object, Raw, plain::plain_prefix, raw::minify};

/// How deep objects and arrays may nest, counted from the root of the text.
pub const MAX_DEPTH: usize = 128;

/// Beyond this many keys, an object's keys are kept in a hash set instead of a list.
const MANY_KEYS: usize = 16;

/// A cursor over a JSON text that refuses whatever we refuse on every wire.
///
/// Refused are: nesting deeper than [`MAX_DEPTH`], a key twice in one object, a number no
/// double can hold, a surrogate without its partner, and anything RFC 8259 does not allow.
#[derive(Debug)]
pub struct Reader<'a> {
    text: &'a str,
    at: usize,
    depth: usize,
    /// Keys of the open objects, innermost last; each object owns the tail from its base on.
    /// Objects with many keys, or with escapes in one, keep theirs in [`Fields`].
    keys: Vec<&'a str>,
    /// Whether white space was passed since the flag was last cleared.
    spaced: bool,
}

/// What sort of value comes next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// `{…}`
    Object,
    /// `[…]`
    Array,
    /// `"…"`
    String,
    /// `1`, `-2.5e3`
    Number,
    /// `true` or `false`
    Bool,
    /// `null`
    Null,
}

impl Kind {
    fn name(self) -> &'static str {
        match self {
            Self::Object => "an object",
            Self::Array => "an array",
            Self::String => "a string",
            Self::Number => "a number",
            Self::Bool => "a boolean",
            Self::Null => "null",
        }
    }
}

/// The state of one object being read: which keys have been seen.
#[derive(Debug)]
pub struct Fields<'a> {
    first: bool,
    known: u64,
    /// What the keys not known by number leave behind; see [`trace`].
    traces: u64,
    base: usize,
    many: Option<HashSet<Cow<'a, str>>>,
}

impl<'a> Reader<'a> {
    /// Starts at the beginning of a text.
    pub fn new(text: &'a str) -> Self {
        Self { text, at: 0, depth: 0, keys: Vec::new(), spaced: false }
    }

    /// Refuses anything but white space behind the value.
    pub fn finish(&mut self) -> Result<(), Error> {
        self.skip_space();
        if self.at == self.text.len() {
            return Ok(());
        }
        Err(self.syntax("unexpected text behind the value"))
    }

    /// Tells what comes next without consuming it.
    pub fn peek(&mut self) -> Result<Kind, Error> {
        self.skip_space();
        match self.byte() {
            Some(b'{') => Ok(Kind::Object),
            Some(b'[') => Ok(Kind::Array),
            Some(b'"') => Ok(Kind::String),
            Some(b'-' | b'0'..=b'9') => Ok(Kind::Number),
            Some(b't' | b'f') => Ok(Kind::Bool),
            Some(b'n') => Ok(Kind::Null),
            Some(_) => Err(self.syntax("expected a value")),
            None => Err(self.syntax("the text ends where a value should be")),
        }
    }

    /// Consumes `null` if it comes next, and says whether it did.
    pub fn null(&mut self) -> Result<bool, Error> {
        if self.peek()? != Kind::Null {
            return Ok(false);
        }
        self.literal("null")?;
        Ok(true)
    }

    /// Tells whether the empty string comes next.
    pub fn next_is_empty_string(&mut self) -> Result<bool, Error> {
        self.peek()?;
        Ok(self.text.as_bytes()[self.at..].starts_with(b"\"\""))
    }

    /// Opens an object; follow with [`next_key`](Self::next_key) until it returns `None`.
    pub fn begin_object(&mut self) -> Result<Fields<'a>, Error> {
        self.expect(Kind::Object)?;
        self.open_object()
    }

    /// Opens an object whose bracket comes next.
    fn open_object(&mut self) -> Result<Fields<'a>, Error> {
        self.enter()?;
        Ok(Fields { first: true, known: 0, traces: 0, base: self.keys.len(), many: None })
    }

    /// Returns the next key, or closes the object.
    #[inline]
    pub fn next_key(&mut self, fields: &mut Fields<'a>) -> Result<Option<Cow<'a, str>>, Error> {
        self.skip_space();
        match self.byte() {
            Some(b'}') => {
                self.at += 1;
                self.depth -= 1;
                self.keys.truncate(fields.base);
                return Ok(None);
            }
            Some(b',') if !fields.first => {
                self.at += 1;
                self.skip_space();
            }
            Some(_) if fields.first => fields.first = false,
            Some(_) => return Err(self.syntax("expected `,` or `}`")),
            None => return Err(self.syntax("the text ends inside an object")),
        }
        if self.byte() != Some(b'"') {
            return Err(self.syntax("expected a key in double quotes"));
        }
        let key = self.quoted()?;
        self.skip_space();
        if self.byte() != Some(b':') {
            return Err(self.syntax("expected `:` behind the key").inside(&key));
        }
        self.at += 1;
        Ok(Some(key))
    }

    /// Notes a key that the caller knows by number (below 64); refuses its second appearance,
    /// also under another spelling.
    pub fn known(&self, fields: &mut Fields<'a>, number: u32, key: &str) -> Result<(), Error> {
        let bit = 1 << number;
        if fields.known & bit != 0 {
            return Err(self.duplicate(key));
        }
        fields.known |= bit;
        Ok(())
    }

    /// Notes a key that the caller does not know by number; refuses its second appearance.
    #[inline]
    #[expect(clippy::ptr_arg, reason = "a borrowed key is kept without a copy")]
    pub fn unknown(&mut self, fields: &mut Fields<'a>, key: &Cow<'a, str>) -> Result<(), Error> {
        if let Cow::Borrowed(key) = *key
            && fields.many.is_none()
        {
            let keys = &self.keys[fields.base..];
            let trace = trace(key);
            if fields.traces & trace != 0 && keys.contains(&key) {
                return Err(self.duplicate(key));
            }
            fields.traces |= trace;
            if keys.len() < MANY_KEYS {
                self.keys.push(key);
                return Ok(());
            }
        }
        let many = fields
            .many
            .get_or_insert_with(|| self.keys.drain(fields.base..).map(Cow::Borrowed).collect());
        if many.insert(key.clone()) { Ok(()) } else { Err(self.duplicate(key)) }
    }

    /// Passes over a member nobody asked for, still refusing what is refused everywhere.
    #[expect(clippy::ptr_arg, reason = "a borrowed key is kept without a copy")]
    pub fn skip_member(
        &mut self,
        fields: &mut Fields<'a>,
        key: &Cow<'a, str>,
    ) -> Result<(), Error> {
        self.unknown(fields, key)?;
        self.skip().map_err(|error| error.inside(key))
    }

    /// Reads an object whose keys are all handed to `member`.
    pub fn members(
        &mut self,
        mut member: impl FnMut(&mut Self, Cow<'a, str>) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let mut fields = self.begin_object()?;
        while let Some(key) = self.next_key(&mut fields)? {
            self.unknown(&mut fields, &key)?;
            member(self, key.clone()).map_err(|error| error.inside(&key))?;
        }
        Ok(())
    }

    /// Reads an array, one call of `item` for each element.
    pub fn items(
        &mut self,
        mut item: impl FnMut(&mut Self) -> Result<(), Error>,
    ) -> Result<(), Error> {
        self.expect(Kind::Array)?;
        self.enter()?;
        let mut index = 0;
        loop {
            self.skip_space();
            match self.byte() {
                Some(b']') => {
                    self.at += 1;
                    self.depth -= 1;
                    return Ok(());
                }
                Some(b',') if index > 0 => {
                    self.at += 1;
                    self.skip_space();
                }
                Some(_) if index == 0 => {}
                Some(_) => return Err(self.syntax("expected `,` or `]`")),
                None => return Err(self.syntax("the text ends inside an array")),
            }
            item(self).map_err(|error| error.at_index(index))?;
            index += 1;
        }
    }

    /// Reads a string, borrowed from the text when it has no escapes.
    pub fn string(&mut self) -> Result<Cow<'a, str>, Error> {
        self.expect(Kind::String)?;
        self.quoted()
    }

    /// Reads a number as it is spelled.
    pub fn number(&mut self) -> Result<&'a str, Error> {
        self.expect(Kind::Number)?;
        self.digits()
    }

    /// Reads `true` or `false`.
    pub fn bool(&mut self) -> Result<bool, Error> {
        self.expect(Kind::Bool)?;
        if self.byte() == Some(b't') {
            self.literal("true")?;
            return Ok(true);
        }
        self.literal("false")?;
        Ok(false)
    }

    /// Reads a 32-bit integer: a number without fraction, or its decimal text.
    pub fn int32(&mut self) -> Result<i32, Error> {
        let text = match self.peek()? {
            Kind::String => self.quoted()?,
            _ => Cow::Borrowed(self.number()?),
        };
        parse_int32(&text).ok_or_else(|| Error::shape("expected a 32-bit integer"))
    }

    /// Reads any value and keeps its text, without white space.
    pub fn raw(&mut self) -> Result<Raw, Error> {
        let (text, spaced) = self.span()?;
        Ok(Raw::checked(if spaced { minify(text).into() } else { text.into() }))
    }

    /// Reads an object and keeps its text, without white space.
    pub fn raw_object(&mut self) -> Result<Object, Error> {
        self.expect(Kind::Object)?;
        Ok(Object::checked(self.raw()?))
    }

    /// Reads any value and returns its text as it stands.
    pub fn value_text(&mut self) -> Result<&'a str, Error> {
        Ok(self.span()?.0)
    }

    /// Reads a value, and returns its text as it stands, too.
    pub fn with_text<T>(
        &mut self,
        read: impl FnOnce(&mut Self) -> Result<T, Error>,
    ) -> Result<(T, &'a str), Error> {
        self.skip_space();
        let start = self.at;
        let value = read(self)?;
        Ok((value, &self.text[start..self.at]))
    }

    /// Passes over any value.
    pub fn skip(&mut self) -> Result<(), Error> {
        match self.peek()? {
            Kind::Object => {
                let mut fields = self.open_object()?;
                while let Some(key) = self.next_key(&mut fields)? {
                    self.skip_member(&mut fields, &key)?;
                }
                Ok(())
            }
            Kind::Array => self.items(Self::skip),
            Kind::String => self.skip_quoted(),
            Kind::Number => self.digits().map(|_| ()),
            Kind::Bool if self.byte() == Some(b't') => self.literal("true"),
            Kind::Bool => self.literal("false"),
            Kind::Null => self.literal("null"),
        }
    }

    /// Fails unless a value of this kind comes next.
    pub fn expect(&mut self, wanted: Kind) -> Result<(), Error> {
        let found = self.peek()?;
        if found == wanted {
            return Ok(());
        }
        Err(Error::shape(format!("expected {}, found {}", wanted.name(), found.name())))
    }

    fn span(&mut self) -> Result<(&'a str, bool), Error> {
        self.skip_space();
        let start = self.at;
        self.spaced = false;
        self.skip()?;
        Ok((&self.text[start..self.at], self.spaced))
    }

    fn byte(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn skip_space(&mut self) {
        while let Some(b' ' | b'\n' | b'\r' | b'\t') = self.byte() {
            self.at += 1;
            self.spaced = true;
        }
    }

    /// Steps over the opening bracket.
    fn enter(&mut self) -> Result<(), Error> {
        if self.depth == MAX_DEPTH {
            return Err(self.syntax("nested deeper than 128 levels"));
        }
        self.depth += 1;
        self.at += 1;
        Ok(())
    }

    fn literal(&mut self, word: &str) -> Result<(), Error> {
        if !self.text.as_bytes()[self.at..].starts_with(word.as_bytes()) {
            return Err(self.syntax("expected a value"));
        }
        self.at += word.len();
        Ok(())
    }

    fn digits(&mut self) -> Result<&'a str, Error> {
        let start = self.at;
        if self.byte() == Some(b'-') {
            self.at += 1;
        }
        match self.byte() {
            Some(b'0') => self.at += 1,
            Some(b'1'..=b'9') => self.run_of_digits(),
            _ => return Err(self.syntax("expected a digit")),
        }
        let mut small = self.at - start < 300;
        if self.byte() == Some(b'.') {
            self.at += 1;
            self.some_digits()?;
        }
        if let Some(b'e' | b'E') = self.byte() {
            self.at += 1;
            if let Some(b'+' | b'-') = self.byte() {
                self.at += 1;
            }
            self.some_digits()?;
            small = false;
        }
        let text = &self.text[start..self.at];
        if !small && !text.parse::<f64>().is_ok_and(f64::is_finite) {
            return Err(Error::syntax(start, "the number is out of range"));
        }
        Ok(text)
    }

    fn some_digits(&mut self) -> Result<(), Error> {
        let start = self.at;
        self.run_of_digits();
        if self.at == start { Err(self.syntax("expected a digit")) } else { Ok(()) }
    }

    fn run_of_digits(&mut self) {
        while let Some(b'0'..=b'9') = self.byte() {
            self.at += 1;
        }
    }

    /// Reads a string whose opening quote comes next.
    #[inline]
    fn quoted(&mut self) -> Result<Cow<'a, str>, Error> {
        self.at += 1;
        let start = self.at;
        self.at += plain_prefix(&self.text.as_bytes()[start..]);
        if self.byte() == Some(b'"') {
            let text = &self.text[start..self.at];
            self.at += 1;
            return Ok(Cow::Borrowed(text));
        }
        self.quoted_with_escapes(start)
    }

    /// Goes on where the first plain run of a string has ended.
    fn quoted_with_escapes(&mut self, start: usize) -> Result<Cow<'a, str>, Error> {
        let mut out = String::from(&self.text[start..self.at]);
        while self.byte() != Some(b'"') {
            out.push(self.escape()?);
            let start = self.at;
            self.at += plain_prefix(&self.text.as_bytes()[start..]);
            out.push_str(&self.text[start..self.at]);
        }
        self.at += 1;
        Ok(Cow::Owned(out))
    }

    fn skip_quoted(&mut self) -> Result<(), Error> {
        self.at += 1;
        loop {
            self.at += plain_prefix(&self.text.as_bytes()[self.at..]);
            if self.byte() == Some(b'"') {
                self.at += 1;
                return Ok(());
            }
            self.escape()?;
        }
    }

    /// Reads one escape; refuses whatever else can stop a run of plain characters.
    fn escape(&mut self) -> Result<char, Error> {
        match self.byte() {
            Some(b'\\') => self.at += 1,
            Some(_) => return Err(self.syntax("a control character must be escaped")),
            None => return Err(self.syntax("the text ends inside a string")),
        }
        let short = match self.byte() {
            Some(b'"') => '"',
            Some(b'\\') => '\\',
            Some(b'/') => '/',
            Some(b'b') => '\u{8}',
            Some(b'f') => '\u{c}',
            Some(b'n') => '\n',
            Some(b'r') => '\r',
            Some(b't') => '\t',
            Some(b'u') => return self.unicode_escape(),
            _ => return Err(self.syntax("unknown escape")),
        };
        self.at += 1;
        Ok(short)
    }

    fn unicode_escape(&mut self) -> Result<char, Error> {
        let start = self.at - 1;
        let lone = || Error::syntax(start, "a surrogate without its partner");
        let first = self.four_hex()?;
        if !(0xD800..0xE000).contains(&first) {
            return char::from_u32(first).ok_or_else(lone);
        }
        if first >= 0xDC00 || !self.text.as_bytes()[self.at..].starts_with(b"\\u") {
            return Err(lone());
        }
        self.at += 1;
        let second = self.four_hex()?;
        if !(0xDC00..0xE000).contains(&second) {
            return Err(lone());
        }
        char::from_u32(0x10000 + ((first - 0xD800) << 10) + (second - 0xDC00)).ok_or_else(lone)
    }

    /// Reads `uXXXX`.
    fn four_hex(&mut self) -> Result<u32, Error> {
        let digits = self.text.as_bytes().get(self.at + 1..self.at + 5);
        let value = digits.and_then(|digits| {
            digits
                .iter()
                .try_fold(0, |sum, &digit| Some(sum * 16 + char::from(digit).to_digit(16)?))
        });
        let value = value.ok_or_else(|| self.syntax("expected four hexadecimal digits"))?;
        self.at += 5;
        Ok(value)
    }

    #[cold]
    fn syntax(&self, what: &'static str) -> Error {
        Error::syntax(self.at, what)
    }

    #[cold]
    fn duplicate(&self, key: &str) -> Error {
        Error::syntax(self.at, "the key stands twice in its object").inside(key)
    }
}

/// Returns one bit out of 64 that equal keys share: most keys that differ leave another, so
/// that few need to be compared.
fn trace(key: &str) -> u64 {
    let ends = key.as_bytes().first().zip(key.as_bytes().last());
    let (first, last) = ends.map_or((0, 0), |(first, last)| (*first, *last));
    1 << ((usize::from(first) + 7 * usize::from(last) + 29 * key.len()) % 64)
}

#[expect(clippy::cast_possible_truncation, reason = "range and fraction are checked first")]
fn parse_int32(text: &str) -> Option<i32> {
    if let Ok(number) = text.parse() {
        return Some(number);
    }
    // ProtoJSON also takes 1.0 and 1e2, but not words like `inf` that Rust would parse.
    if !text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'-' | b'+' | b'.' | b'e' | b'E')) {
        return None;
    }
    let number: f64 = text.parse().ok()?;
    let fits =
        number.fract() == 0.0 && f64::from(i32::MIN) <= number && number <= f64::from(i32::MAX);
    fits.then_some(number as i32)
}

impl FromJson for String {
    fn read(reader: &mut Reader<'_>) -> Result<Self, Error> {
        Ok(reader.string()?.into_owned())
    }
}

impl FromJson for bool {
    fn read(reader: &mut Reader<'_>) -> Result<Self, Error> {
        reader.bool()
    }
}

impl FromJson for i32 {
    fn read(reader: &mut Reader<'_>) -> Result<Self, Error> {
        reader.int32()
    }
}

impl<T: FromJson> FromJson for Box<T> {
    fn read(reader: &mut Reader<'_>) -> Result<Self, Error> {
        T::read(reader).map(Self::new)
    }
}

impl<T: FromJson> FromJson for Vec<T> {
    fn read(reader: &mut Reader<'_>) -> Result<Self, Error> {
        let mut items = Self::new();
        reader.items(|reader| {
            let item = T::read(reader)?;
            // Most have one element, and are kept: there is room for more once there is more.
            if items.is_empty() {
                items.reserve_exact(1);
            }
            items.push(item);
            Ok(())
        })?;
        Ok(items)
    }
}

impl<T: FromJson> FromJson for std::collections::BTreeMap<String, T> {
    fn read(reader: &mut Reader<'_>) -> Result<Self, Error> {
        let mut map = Self::new();
        reader.members(|reader, key| {
            map.insert(key.into_owned(), T::read(reader)?);
            Ok(())
        })?;
        Ok(map)
    }
}
