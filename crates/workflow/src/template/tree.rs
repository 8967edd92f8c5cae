//! A JSON value whose texts are templates: the input of a tool, the body of a request.

use nuncio_protocol::json::{Raw, ToJson, write_with};

use super::{Error, Limits, Reference, Rendered, Scope, Template};

/// A JSON value whose texts are templates. Names are not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Tree {
    /// Nothing, true, false or a number.
    Plain(Raw),
    /// A text.
    Text(Template),
    /// A list.
    List(Vec<Self>),
    /// An object.
    Map(Vec<(String, Self)>),
}

impl Tree {
    /// Returns every reference in it.
    pub fn references(&self) -> Vec<&Reference> {
        match self {
            Self::Plain(_) => Vec::new(),
            Self::Text(template) => template.references().collect(),
            Self::List(items) => items.iter().flat_map(Self::references).collect(),
            Self::Map(members) => members.iter().flat_map(|(_, tree)| tree.references()).collect(),
        }
    }

    /// Puts in what the references lead to. A text that is one reference to data becomes that
    /// data.
    pub fn render<S: Scope + ?Sized>(&self, scope: &S, limits: Limits) -> Result<Raw, Error> {
        match self {
            Self::Plain(raw) => Ok(raw.clone()),
            Self::Text(template) => Ok(match template.render(scope, limits)? {
                Rendered::Text(text) => Raw::string(&text),
                Rendered::Data(data) => data,
                Rendered::File(part) => json(&part, limits)?,
            }),
            Self::List(items) => {
                let rendered = items.iter().map(|item| item.render(scope, limits));
                json(&rendered.collect::<Result<Vec<_>, _>>()?, limits)
            }
            Self::Map(members) => {
                let mut rendered = Vec::with_capacity(members.len());
                for (key, tree) in members {
                    rendered.push((key, tree.render(scope, limits)?));
                }
                let text = write_with(|writer| {
                    writer.object(|object| {
                        for (key, value) in &rendered {
                            object.entry(key, value);
                        }
                    });
                });
                checked(&text, limits)
            }
        }
    }
}

fn json<T: ToJson>(value: &T, limits: Limits) -> Result<Raw, Error> {
    checked(&nuncio_protocol::json::to_string(value), limits)
}

fn checked(text: &str, limits: Limits) -> Result<Raw, Error> {
    let too_large = Error::TooLarge { limit: limits.rendered };
    if text.len() > limits.rendered {
        return Err(too_large);
    }
    // What is put together of JSON is JSON; only nesting may have become too deep.
    Raw::parse_text(text).map_err(|_| too_large)
}
