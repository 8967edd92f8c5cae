use std::{borrow::Cow, fmt, fmt::Write as _};

/// Why a text was refused, and where.
///
/// Displays as ``​`message.parts[0].text`: expected a string, found a number``.
#[derive(Clone, PartialEq, Eq)]
pub struct Error(Box<Inner>);

/// What sort of refusal it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorKind {
    /// The text is not JSON as we accept it: broken syntax, too deep, a key twice, a number
    /// out of range, a lone surrogate.
    Syntax,
    /// The text is JSON, but not of the expected shape.
    Shape,
}

#[derive(Clone, PartialEq, Eq)]
struct Inner {
    kind: ErrorKind,
    what: Cow<'static, str>,
    offset: usize,
    /// Innermost first: the path grows while the error travels outwards.
    path: Vec<Segment>,
}

#[derive(Clone, PartialEq, Eq)]
enum Segment {
    Key(String),
    Index(usize),
}

impl Error {
    /// Creates a syntax error at a byte offset.
    pub fn syntax(offset: usize, what: impl Into<Cow<'static, str>>) -> Self {
        Self::new(ErrorKind::Syntax, offset, what)
    }

    /// Creates an error about a value of the wrong shape.
    pub fn shape(what: impl Into<Cow<'static, str>>) -> Self {
        Self::new(ErrorKind::Shape, 0, what)
    }

    /// Creates the error for a member that must be there.
    pub fn missing(key: &str) -> Self {
        Self::shape("is required").inside(key)
    }

    fn new(kind: ErrorKind, offset: usize, what: impl Into<Cow<'static, str>>) -> Self {
        Self(Box::new(Inner { kind, what: what.into(), offset, path: Vec::new() }))
    }

    /// Says that the error happened inside this member.
    #[must_use]
    pub fn inside(mut self, key: &str) -> Self {
        self.0.path.push(Segment::Key(short(key)));
        self
    }

    /// Says that the error happened inside this element.
    #[must_use]
    pub fn at_index(mut self, index: usize) -> Self {
        self.0.path.push(Segment::Index(index));
        self
    }

    /// Returns what sort of refusal it is.
    pub fn kind(&self) -> ErrorKind {
        self.0.kind
    }

    /// Returns the byte offset of a syntax error.
    pub fn offset(&self) -> usize {
        self.0.offset
    }

    /// Returns the path of the offending member, `message.parts[0]`; empty for the root.
    pub fn path(&self) -> String {
        let mut path = String::new();
        for segment in self.0.path.iter().rev() {
            match segment {
                Segment::Key(key) if path.is_empty() => path.push_str(key),
                Segment::Key(key) => {
                    path.push('.');
                    path.push_str(key);
                }
                Segment::Index(index) => {
                    // Writing to a string cannot fail.
                    let _ = write!(path, "[{index}]");
                }
            }
        }
        path
    }

    /// Returns what is wrong there, without the path.
    pub fn what(&self) -> &str {
        &self.0.what
    }
}

/// Keeps a hostile key from making the error as large as the input.
fn short(key: &str) -> String {
    const LIMIT: usize = 64;
    if key.len() <= LIMIT {
        return key.to_owned();
    }
    let mut end = LIMIT;
    while !key.is_char_boundary(end) {
        end -= 1;
    }
    format!("{}…", &key[..end])
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = self.path();
        if !path.is_empty() {
            write!(f, "`{path}`: ")?;
        }
        f.write_str(&self.0.what)?;
        match self.0.kind {
            ErrorKind::Syntax => write!(f, " (byte {})", self.0.offset),
            ErrorKind::Shape => Ok(()),
        }
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "json::Error({self})")
    }
}

impl std::error::Error for Error {}
