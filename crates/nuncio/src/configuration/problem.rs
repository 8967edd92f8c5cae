//! What is wrong with a configuration, where, and what to do about it.

use std::{
    fmt, io,
    path::{Path, PathBuf},
};

use super::lines::Lines;
use crate::inert::inert;

/// Why there is no configuration.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The file cannot be read.
    #[error("read {}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// The file is too large to be a configuration.
    #[error("{} is larger than {limit} bytes", path.display())]
    TooLarge {
        /// The file.
        path: PathBuf,
        /// How large it may be.
        limit: u64,
    },
    /// What was read is not as it must be. There is at least one problem.
    #[error("{}", lines(problems))]
    Invalid {
        /// Everything that was found.
        problems: Vec<Problem>,
    },
}

impl Error {
    /// Returns what is wrong, in as many pieces as there are.
    pub fn problems(&self) -> &[Problem] {
        match self {
            Self::Invalid { problems } => problems,
            Self::Unreadable { .. } | Self::TooLarge { .. } => &[],
        }
    }
}

/// Returns a text with something else in place of a word, however that is written.
fn without(text: &str, word: &str, other: &str) -> String {
    let (lower, word) = (text.to_ascii_lowercase(), word.to_ascii_lowercase());
    let mut masked = String::with_capacity(text.len());
    let mut from = 0;
    for (at, found) in lower.match_indices(&word) {
        masked.push_str(&text[from..at]);
        masked.push_str(other);
        from = at + found.len();
    }
    masked + &text[from..]
}

fn lines(problems: &[Problem]) -> String {
    let lines: Vec<_> = problems.iter().map(ToString::to_string).collect();
    lines.join("\n")
}

/// One thing that is wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    place: Place,
    key: String,
    what: String,
    fix: Option<String>,
}

/// Where something is wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// In a file.
    File {
        /// The file; none if a text was read.
        path: Option<PathBuf>,
        /// The line, from 1; 0 if it is the file as a whole.
        line: u64,
        /// The column, from 1.
        column: u64,
    },
    /// In a variable of the environment.
    Variable(String),
}

impl Problem {
    pub(super) fn new(place: Place, key: impl Into<String>, what: impl fmt::Display) -> Self {
        Self { place, key: shown(key.into()), what: shown(what), fix: None }
    }

    /// Says what to do about it.
    #[must_use]
    pub(super) fn fix(mut self, fix: impl fmt::Display) -> Self {
        self.fix = Some(shown(fix));
        self
    }

    /// Puts the names of variables in place of their values, which may be secrets.
    pub(super) fn mask(mut self, values: &[(String, String)]) -> Self {
        for text in [&mut self.key, &mut self.what].into_iter().chain(&mut self.fix) {
            for (name, value) in values {
                *text = without(text, value, name);
            }
        }
        self
    }

    /// Tells whether it is at the same key and place as another.
    pub(super) fn is_at(&self, other: &Self) -> bool {
        (&self.key, &self.place) == (&other.key, &other.place)
    }

    /// Says at which key it is in the file.
    pub(super) fn rename(&mut self, key: String) {
        self.key = shown(key);
    }

    /// Says on which line it is, if its key has one and nobody has said so yet.
    pub(super) fn find(&mut self, lines: &Lines) {
        if let Place::File { line: line @ 0, column, .. } = &mut self.place
            && let Some(found) = lines.find(&self.key)
        {
            (*line, *column) = (found.number, found.column);
        }
    }

    /// Orders what is wrong as it stands in the file; behind that what stands in no line of it.
    pub(super) const fn order(&self) -> (u8, u64, u64) {
        match self.place {
            Place::File { line: 0, .. } => (1, 0, 0),
            Place::File { line, column, .. } => (0, line, column),
            Place::Variable(_) => (2, 0, 0),
        }
    }

    /// Says in which file it is.
    pub(super) fn in_file(mut self, file: Option<&Path>) -> Self {
        if let Place::File { path, .. } = &mut self.place {
            *path = file.map(Path::to_owned);
        }
        self
    }

    /// Returns where it is.
    pub const fn place(&self) -> &Place {
        &self.place
    }

    /// Returns the way to the key, such as `agents[0].trust`; empty for the whole document.
    pub fn key(&self) -> &str {
        &self.key
    }

    /// Returns what is wrong.
    pub fn what(&self) -> &str {
        &self.what
    }

    /// Returns where it is and what is wrong, for those who show the remedy apart.
    pub fn without_remedy(&self) -> String {
        let Self { place, key, what, .. } = self;
        if key.is_empty() { format!("{place}: {what}") } else { format!("{place}: {key}: {what}") }
    }

    /// Returns what to do about it, if that is known.
    pub fn remedy(&self) -> Option<&str> {
        self.fix.as_deref()
    }
}

/// Spells out what a terminal would obey: texts of the file may come from anywhere, and a fix
/// repeats them, too.
fn shown(text: impl fmt::Display) -> String {
    inert(&text.to_string()).into_owned()
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.without_remedy())?;
        match &self.fix {
            Some(fix) => write!(f, "; {fix}"),
            None => Ok(()),
        }
    }
}

impl Place {
    /// A place in what is being read; the file's name is put in later.
    pub(super) const fn at(line: u64, column: u64) -> Self {
        Self::File { path: None, line, column }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File { path: Some(path), line: 0, .. } => write!(f, "{}", path.display()),
            Self::File { path: Some(path), line, column } => {
                write!(f, "{}:{line}:{column}", path.display())
            }
            Self::File { path: None, line: 0, .. } => f.write_str("the configuration"),
            Self::File { path: None, line, column } => write!(f, "line {line}, column {column}"),
            Self::Variable(name) => f.write_str(name),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_part_of_what_is_told_commands_a_terminal() {
        let problem = Problem::new(Place::at(1, 2), "a\tb", "is \u{1b}[2J").fix("write `a\u{7}`");
        assert_eq!(
            problem.to_string(),
            "line 1, column 2: a\\u{9}b: is \\u{1b}[2J; write `a\\u{7}`"
        );
    }
}
