//! A reference to what a node has brought about: `draft`, `draft.data.title`, `inputs.topic`.

use std::fmt;

use super::Error;
use crate::document::Place;

/// How many steps a reference may take.
const MAX_STEPS: usize = 32;

/// A name, and the way from there to the value that is meant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reference {
    name: String,
    is_input: bool,
    steps: Vec<Step>,
    /// Where it begins, in bytes of the text that it is in.
    pub(crate) at: usize,
    pub(crate) place: Place,
}

/// One step towards a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// To a member, by its name.
    Field(String),
    /// To an element, from 0.
    Index(usize),
}

impl Reference {
    /// Reads a reference that fills the whole of a text.
    pub fn parse(text: &str) -> Result<Self, Error> {
        let (reference, length) = Self::read(text, 0)?;
        match text[length..].chars().next() {
            None => Ok(reference),
            Some(letter) => {
                Err(malformed(length, format!("`{letter}` cannot stand in a reference")))
            }
        }
    }

    /// Reads the reference that a text begins with, and says how long it is. `at` is where the
    /// text stands in a larger one.
    pub(crate) fn read(text: &str, at: usize) -> Result<(Self, usize), Error> {
        let mut rest = text;
        let name =
            word(&mut rest, |letter| letter.is_ascii_alphanumeric() || "_-".contains(letter));
        if name.is_empty() {
            return Err(malformed(at, "expected the name of a node".to_owned()));
        }
        let mut steps = Vec::new();
        loop {
            let here = at + (text.len() - rest.len());
            if let Some(behind) = rest.strip_prefix('.') {
                rest = behind;
                let field =
                    word(&mut rest, |letter| letter.is_alphanumeric() || "_-$@".contains(letter));
                if field.is_empty() {
                    return Err(malformed(here, "expected a name behind `.`".to_owned()));
                }
                steps.push(Step::Field(field.to_owned()));
            } else if let Some(behind) = rest.strip_prefix('[') {
                let (step, behind) = bracketed(behind).ok_or_else(|| {
                    malformed(here, "expected a number or a text in quotes in `[]`".to_owned())
                })?;
                rest = behind;
                steps.push(step);
            } else {
                break;
            }
            if steps.len() > MAX_STEPS {
                return Err(malformed(here, format!("it has more than {MAX_STEPS} steps")));
            }
        }
        let is_input = name == "inputs" && !steps.is_empty();
        if is_input {
            match steps.remove(0) {
                Step::Field(input) => {
                    let name = input;
                    let reference = Self { name, is_input, steps, at, place: Place::NOWHERE };
                    return Ok((reference, text.len() - rest.len()));
                }
                Step::Index(_) => {
                    let what = "inputs have names: `inputs.topic`".to_owned();
                    return Err(malformed(at, what));
                }
            }
        }
        let reference = Self { name: name.to_owned(), is_input, steps, at, place: Place::NOWHERE };
        Ok((reference, text.len() - rest.len()))
    }

    /// Returns the name of the node.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Tells whether it asks for an input by `inputs.`.
    pub const fn is_input(&self) -> bool {
        self.is_input
    }

    /// Returns the way from the node to the value.
    pub fn steps(&self) -> &[Step] {
        &self.steps
    }

    /// Returns where it stands in the file that it was read from.
    pub const fn place(&self) -> Place {
        self.place
    }
}

fn word<'a>(rest: &mut &'a str, is_part: impl Fn(char) -> bool) -> &'a str {
    let length = rest.find(|letter| !is_part(letter)).unwrap_or(rest.len());
    let (word, behind) = rest.split_at(length);
    *rest = behind;
    word
}

/// Reads `0]` or `'a key']`.
fn bracketed(text: &str) -> Option<(Step, &str)> {
    let first = text.chars().next()?;
    if matches!(first, '\'' | '"') {
        let (field, behind) = text[1..].split_once(first)?;
        return Some((Step::Field(field.to_owned()), behind.strip_prefix(']')?));
    }
    let (index, behind) = text.split_once(']')?;
    let is_number = !index.is_empty() && index.bytes().all(|byte| byte.is_ascii_digit());
    Some((Step::Index(index.parse().ok().filter(|_| is_number)?), behind))
}

fn malformed(at: usize, what: String) -> Error {
    Error::Malformed { at, what }
}

impl fmt::Display for Reference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name, is_input, steps, .. } = self;
        write!(f, "{}{name}", if *is_input { "inputs." } else { "" })?;
        steps.iter().try_for_each(|step| step.fmt(f))
    }
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let is_plain = |field: &str| {
            !field.is_empty()
                && field.chars().all(|letter| letter.is_alphanumeric() || "_-$@".contains(letter))
        };
        match self {
            Self::Index(index) => write!(f, "[{index}]"),
            Self::Field(field) if is_plain(field) => write!(f, ".{field}"),
            Self::Field(field) if field.contains('\'') => write!(f, "[\"{field}\"]"),
            Self::Field(field) => write!(f, "['{field}']"),
        }
    }
}
