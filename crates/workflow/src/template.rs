//! Texts with references to what nodes have brought about: `Write about {{topic}}`.
//!
//! A template is read once, when its file is; what references lead to is put in, and never read
//! again. So a text of an agent that holds `{{…}}` stays what it is (T-17).
//!
//! ```
//! use nuncio_protocol::{ids::ArtifactId, message::Part, task::Artifact};
//! use nuncio_workflow::template::{Limits, Output, Rendered, Template};
//!
//! let artifact = Artifact::new(ArtifactId::generate(), vec![Part::text("otters")]);
//! let outputs = [("topic".to_owned(), Output::new(vec![artifact]))].into();
//! let template = Template::parse("Write about {{topic}}")?;
//! let rendered = template.render::<std::collections::BTreeMap<_, _>>(&outputs, Limits::default())?;
//! assert_eq!(rendered, Rendered::Text("Write about otters".to_owned()));
//! # Ok::<(), nuncio_workflow::template::Error>(())
//! ```

mod output;
mod reference;
mod tree;

use std::collections::BTreeMap;

use nuncio_protocol::{json::Raw, message::Part};

pub(crate) use self::output::{Resolved, SELECTORS, elements, sort};
pub use self::{
    output::Output,
    reference::{Reference, Step},
    tree::Tree,
};
use crate::{document::Place, nearest::nearest};

/// The longest template, in bytes.
pub const MAX_TEMPLATE_BYTES: usize = 256 << 10;

/// How much a template may become.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// In bytes.
    pub rendered: usize,
}

impl Default for Limits {
    /// 4 MiB.
    fn default() -> Self {
        Self { rendered: 4 << 20 }
    }
}

/// A text with references.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Template {
    source: String,
    pieces: Vec<Piece>,
    place: Place,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Piece {
    Text(String),
    Reference(Reference),
}

/// What a template has become.
#[derive(Clone, Debug, PartialEq)]
pub enum Rendered {
    /// A text.
    Text(String),
    /// Data, from a template that is one reference to data and nothing else.
    Data(Raw),
    /// A file, from a template that is one reference to a file and nothing else.
    File(Part),
}

impl Rendered {
    /// Returns it as a part of a message, with its media type.
    pub fn into_part(self) -> Part {
        match self {
            Self::Text(text) => Part::text(text).with_media_type("text/plain"),
            Self::Data(data) => Part::data(data).with_media_type("application/json"),
            Self::File(part) => part,
        }
    }
}

/// What names in a template stand for.
pub trait Scope {
    /// Returns what a name stands for; nothing if nobody knows it.
    fn find(&self, name: &str) -> Option<Found<'_>>;

    /// Returns the names that are known, to help with those that are not.
    fn names(&self) -> Vec<&str>;
}

/// What a name stands for.
#[derive(Clone, Copy, Debug)]
pub enum Found<'a> {
    /// What a node has brought about.
    Output(&'a Output),
    /// A value of its own, such as an item of a list.
    Value(&'a Raw),
    /// A node that has not run yet. It is an empty text in a template and `null` in a condition.
    Nothing,
}

impl Scope for BTreeMap<String, Output> {
    fn find(&self, name: &str) -> Option<Found<'_>> {
        self.get(name).map(Found::Output)
    }

    fn names(&self) -> Vec<&str> {
        self.keys().map(String::as_str).collect()
    }
}

impl Template {
    /// Reads a template. `\{{` stands for two braces that begin nothing.
    pub fn parse(text: &str) -> Result<Self, Error> {
        Self::read(text, Mode::Strict)
    }

    /// The same for Upal's files, in which braces around anything but a reference are text.
    pub fn parse_upal(text: &str) -> Result<Self, Error> {
        Self::read(text, Mode::Upal)
    }

    fn read(text: &str, mode: Mode) -> Result<Self, Error> {
        if text.len() > MAX_TEMPLATE_BYTES {
            return Err(Error::TooLong { limit: MAX_TEMPLATE_BYTES });
        }
        let mut pieces = Vec::new();
        let mut plain = String::new();
        let mut at = 0;
        while let Some(found) = text[at..].find("{{") {
            // Of more than two braces, the last two begin the reference.
            let braces = text[at + found..].bytes().take_while(|byte| *byte == b'{').count();
            let open = at + found + braces - 2;
            if text[..open].ends_with('\\') {
                plain.push_str(&text[at..open - 1]);
                plain.push_str("{{");
                at = open + 2;
                continue;
            }
            plain.push_str(&text[at..open]);
            match (reference(text, open), mode) {
                (Ok((reference, end)), _) => {
                    if !plain.is_empty() {
                        pieces.push(Piece::Text(std::mem::take(&mut plain)));
                    }
                    pieces.push(Piece::Reference(reference));
                    at = end;
                }
                (Err(_), Mode::Upal) => {
                    plain.push_str("{{");
                    at = open + 2;
                }
                (Err(error), Mode::Strict) => return Err(error),
            }
        }
        plain.push_str(&text[at..]);
        if !plain.is_empty() {
            pieces.push(Piece::Text(plain));
        }
        Ok(Self { source: text.to_owned(), pieces, place: Place::NOWHERE })
    }

    /// Returns the template as it was written.
    pub fn as_str(&self) -> &str {
        &self.source
    }

    /// Returns where it stands in the file that it was read from.
    pub const fn place(&self) -> Place {
        self.place
    }

    /// Returns its references.
    pub fn references(&self) -> impl Iterator<Item = &Reference> {
        self.pieces.iter().filter_map(|piece| match piece {
            Piece::Reference(reference) => Some(reference),
            Piece::Text(_) => None,
        })
    }

    /// Says where it stands, and finds out where each reference does.
    pub(crate) fn put(&mut self, place: Place, mut place_of: impl FnMut(usize) -> Place) {
        self.place = place;
        for piece in &mut self.pieces {
            if let Piece::Reference(reference) = piece {
                // The braces that were opened up to here, those that begin nothing included.
                let count = self.source[..reference.at].matches("{{").count().saturating_sub(1);
                reference.place = place_of(count);
            }
        }
    }

    /// Puts in what the references lead to.
    ///
    /// A template that is one reference, with nothing but white space around it, keeps the type of
    /// what that leads to; any other becomes a text.
    pub fn render<S: Scope + ?Sized>(&self, scope: &S, limits: Limits) -> Result<Rendered, Error> {
        if let Some(reference) = self.only_reference() {
            let resolved = resolve(reference, scope)?;
            let rendered = match &resolved {
                Resolved::Data(data) if data.as_text().is_none() => Rendered::Data(data.clone()),
                Resolved::File(part) => Rendered::File((*part).clone()),
                other => Rendered::Text(other.to_text().into_owned()),
            };
            return match &rendered {
                Rendered::Text(text) if text.len() > limits.rendered => too_large(limits),
                Rendered::Data(data) if data.as_str().len() > limits.rendered => too_large(limits),
                _ => Ok(rendered),
            };
        }
        self.render_text(scope, limits).map(Rendered::Text)
    }

    /// Puts in what the references lead to, as text.
    pub fn render_text<S: Scope + ?Sized>(
        &self,
        scope: &S,
        limits: Limits,
    ) -> Result<String, Error> {
        let mut rendered = String::new();
        for piece in &self.pieces {
            match piece {
                Piece::Text(text) => rendered.push_str(text),
                Piece::Reference(reference) => {
                    let resolved = resolve(reference, scope)?;
                    let text = resolved.to_text();
                    if rendered.len() + text.len() > limits.rendered {
                        return too_large(limits);
                    }
                    rendered.push_str(&text);
                }
            }
        }
        if rendered.len() > limits.rendered { too_large(limits) } else { Ok(rendered) }
    }

    fn only_reference(&self) -> Option<&Reference> {
        let is_space =
            |piece: &&Piece| matches!(piece, Piece::Text(text) if text.trim().is_empty());
        let mut rest = self.pieces.iter().filter(|piece| !is_space(piece));
        match (rest.next(), rest.next()) {
            (Some(Piece::Reference(reference)), None) => Some(reference),
            _ => None,
        }
    }
}

/// How braces around anything but a reference are taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    Strict,
    Upal,
}

/// Reads the reference whose braces open at a place, and says where they are closed.
pub(crate) fn reference(text: &str, open: usize) -> Result<(Reference, usize), Error> {
    let inside = &text[open + 2..];
    let trimmed = inside.trim_start();
    let start = text.len() - trimmed.len();
    let close = inside.find("}}").ok_or(Error::Unclosed { at: open })?;
    let (reference, length) = Reference::read(trimmed, start)?;
    let behind = trimmed[length..].trim_start();
    if !behind.starts_with("}}") {
        let found = inside[..close].trim();
        let what = format!("`{found}` is no reference such as `draft.data.title`");
        return Err(Error::Malformed { at: start, what });
    }
    Ok((reference, text.len() - behind.len() + 2))
}

/// Finds what a reference leads to.
pub(crate) fn resolve<'s, S: Scope + ?Sized>(
    reference: &Reference,
    scope: &'s S,
) -> Result<Resolved<'s>, Error> {
    match scope.find(reference.name()) {
        Some(Found::Output(output)) => output.resolve(reference),
        Some(Found::Value(value)) => {
            output::descend(value, reference.steps(), reference).map(Resolved::Data)
        }
        Some(Found::Nothing) => Ok(Resolved::Nothing),
        None => {
            let near = nearest(reference.name(), scope.names()).map(str::to_owned);
            Err(Error::Unknown { reference: reference.to_string(), near })
        }
    }
}

const fn too_large<T>(limits: Limits) -> Result<T, Error> {
    Err(Error::TooLarge { limit: limits.rendered })
}

/// Why there is no template, or nothing can be put into it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// It is too long to be one.
    #[error("the template has more than {limit} bytes")]
    TooLong {
        /// How long it may be.
        limit: usize,
    },
    /// Braces are opened and not closed.
    #[error("`{{{{` is never closed")]
    Unclosed {
        /// Where, in bytes.
        at: usize,
    },
    /// Between the braces is no reference.
    #[error("{what}")]
    Malformed {
        /// Where, in bytes.
        at: usize,
        /// What is wrong.
        what: String,
    },
    /// Nobody knows the name.
    #[error("`{reference}` is not there{}", but(near.as_deref()))]
    Unknown {
        /// The reference.
        reference: String,
        /// The name that may have been meant.
        near: Option<String>,
    },
    /// Nothing of the sort can be asked of a node.
    #[error("`{reference}`: a node has no `{field}`{}", but(near.as_deref()))]
    UnknownSelector {
        /// The reference.
        reference: String,
        /// What was asked.
        field: String,
        /// What may have been meant.
        near: Option<String>,
    },
    /// What was brought about does not hold what is asked of it.
    #[error("`{reference}`: {what}")]
    Missing {
        /// The reference.
        reference: String,
        /// What is there instead.
        what: String,
    },
    /// What has been put in is too much.
    #[error("the text becomes longer than {limit} bytes")]
    TooLarge {
        /// How long it may be.
        limit: usize,
    },
}

fn but(near: Option<&str>) -> String {
    near.map(|near| format!(", but `{near}` is")).unwrap_or_default()
}

impl Error {
    /// Returns where in the template it is, in bytes, for one that cannot be read.
    pub const fn at(&self) -> Option<usize> {
        match self {
            Self::Unclosed { at } | Self::Malformed { at, .. } => Some(*at),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests;
