//! Conditions of edges and loops: `review.data.score >= 8 and not (draft contains 'TODO')`.
//!
//! The words are those that Upal's files use. A reference stands bare or in braces; a text in
//! quotes may hold references, too. Reading and evaluating have no side effects, end soon and
//! never panic, whatever the condition and the values are.
//!
//! ```
//! use nuncio_workflow::{condition::Condition, template::Output};
//!
//! let outputs = [("verdict".to_owned(), Output::failed("no answer"))].into();
//! let condition = Condition::parse("verdict.state == 'failed' or len(verdict) > 3")?;
//! assert_eq!(condition.holds::<std::collections::BTreeMap<_, _>>(&outputs), Ok(true));
//! # Ok::<(), nuncio_workflow::condition::Error>(())
//! ```

mod evaluate;
mod lex;
mod parse;

use crate::{
    document::Place,
    template::{self, Reference, Scope, Template},
};

/// The longest condition, in bytes.
pub const MAX_CONDITION_BYTES: usize = 4096;

/// How deep parentheses, lists and functions may nest.
pub const MAX_DEPTH: usize = 32;

/// An expression that is true or false.
#[derive(Clone, Debug, PartialEq)]
pub struct Condition {
    source: String,
    expression: Expression,
    place: Place,
}

#[derive(Clone, Debug, PartialEq)]
enum Expression {
    Null,
    Bool(bool),
    Number(f64),
    Text(Template),
    Reference(Reference),
    List(Vec<Self>),
    Not(Box<Self>),
    All(Vec<Self>),
    Any(Vec<Self>),
    Compare(Operator, Box<(Self, Self)>),
    Call(Function, Box<Self>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Operator {
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
    Contains,
    StartsWith,
    EndsWith,
    In,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Function {
    Length,
    Lower,
    Upper,
    Trim,
}

impl Condition {
    /// Reads a condition.
    pub fn parse(text: &str) -> Result<Self, Error> {
        let expression = parse::parse(text)?;
        Ok(Self { source: text.to_owned(), expression, place: Place::NOWHERE })
    }

    /// Returns the condition as it was written.
    pub fn as_str(&self) -> &str {
        &self.source
    }

    /// Returns where it stands in the file that it was read from.
    pub const fn place(&self) -> Place {
        self.place
    }

    /// Returns its references.
    pub fn references(&self) -> Vec<&Reference> {
        let mut found = Vec::new();
        self.expression.references(&mut found);
        found
    }

    /// Says where it stands, and finds out where each reference does.
    pub(crate) fn put(&mut self, place: Place, place_at: impl Fn(usize) -> Place) {
        self.place = place;
        self.expression.put(place, &place_at);
    }

    /// Tells whether it holds.
    pub fn holds<S: Scope + ?Sized>(&self, scope: &S) -> Result<bool, Error> {
        evaluate::holds(&self.expression, scope)
    }
}

impl Expression {
    fn put(&mut self, place: Place, place_at: &dyn Fn(usize) -> Place) {
        match self {
            Self::Null | Self::Bool(_) | Self::Number(_) => {}
            // What is in quotes may be spelled otherwise there.
            Self::Text(template) => template.put(place, |_| place),
            Self::Reference(reference) => reference.place = place_at(reference.at),
            Self::List(all) | Self::All(all) | Self::Any(all) => {
                for each in all {
                    each.put(place, place_at);
                }
            }
            Self::Not(inner) | Self::Call(_, inner) => inner.put(place, place_at),
            Self::Compare(_, sides) => {
                sides.0.put(place, place_at);
                sides.1.put(place, place_at);
            }
        }
    }

    fn references<'a>(&'a self, found: &mut Vec<&'a Reference>) {
        match self {
            Self::Null | Self::Bool(_) | Self::Number(_) => {}
            Self::Text(template) => found.extend(template.references()),
            Self::Reference(reference) => found.push(reference),
            Self::List(all) | Self::All(all) | Self::Any(all) => {
                for each in all {
                    each.references(found);
                }
            }
            Self::Not(inner) | Self::Call(_, inner) => inner.references(found),
            Self::Compare(_, sides) => {
                sides.0.references(found);
                sides.1.references(found);
            }
        }
    }
}

/// Why there is no condition, or nobody can tell whether it holds.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// It cannot be read.
    #[error("at character {}: {what}", at + 1)]
    Malformed {
        /// Where, in bytes.
        at: usize,
        /// What is wrong.
        what: String,
    },
    /// It is too long, or nests too deep.
    #[error("the condition is {what}")]
    TooLarge {
        /// What is too much.
        what: String,
    },
    /// Two values have no order.
    #[error("{left} cannot be compared with {right}")]
    Incomparable {
        /// What stands on the left.
        left: String,
        /// What stands on the right.
        right: String,
    },
    /// A reference leads nowhere.
    #[error(transparent)]
    Reference(#[from] template::Error),
}

impl Error {
    /// Returns where in the condition it is, in bytes, for one that cannot be read.
    pub const fn at(&self) -> Option<usize> {
        match self {
            Self::Malformed { at, .. } => Some(*at),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests;
