//! What a node has brought about, and how a reference finds its way in it.

use std::borrow::Cow;

use nuncio_protocol::{
    json::{Kind, Raw, read_with, write_with},
    message::{Content, Part},
    task::Artifact,
};

use super::{Error, Reference, Step};
use crate::nearest::nearest;

/// What can be asked of a node.
pub(crate) const SELECTORS: [&str; 7] =
    ["output", "text", "data", "parts", "artifacts", "error", "state"];

/// What a node has brought about: its artifacts, or those of each item of a list.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Output {
    artifacts: Vec<Artifact>,
    items: Option<Vec<Self>>,
    state: &'static str,
    error: Option<String>,
}

impl Output {
    /// What a node has finished with.
    pub const fn new(artifacts: Vec<Artifact>) -> Self {
        Self { artifacts, items: None, state: "completed", error: None }
    }

    /// What a node has finished with for each item of a list.
    pub const fn of_items(items: Vec<Self>) -> Self {
        Self { artifacts: Vec::new(), items: Some(items), state: "completed", error: None }
    }

    /// What is left of a node that has failed.
    pub fn failed(reason: impl Into<String>) -> Self {
        Self { state: "failed", error: Some(reason.into()), ..Self::default() }
    }

    /// What there is of a node that did not run: `skipped` or `canceled`.
    pub fn absent(state: &'static str) -> Self {
        Self { state, ..Self::default() }
    }

    /// Returns the artifacts, those of all items in their order.
    pub fn artifacts(&self) -> impl Iterator<Item = &Artifact> {
        let items = self.items.iter().flatten().flat_map(|item| item.artifacts.iter());
        self.artifacts.iter().chain(items)
    }

    /// Returns what came of each item, if the node ran over a list.
    pub fn items(&self) -> Option<&[Self]> {
        self.items.as_deref()
    }

    fn parts(&self) -> impl Iterator<Item = &Part> {
        self.artifacts().flat_map(|artifact| &artifact.parts)
    }

    /// Follows a reference.
    pub(super) fn resolve<'a>(&'a self, reference: &Reference) -> Result<Resolved<'a>, Error> {
        self.follow(reference.steps(), reference)
    }

    fn follow<'a>(&'a self, steps: &[Step], whole: &Reference) -> Result<Resolved<'a>, Error> {
        let (first, rest) = match steps {
            [] => return Ok(self.default_value()),
            [first, rest @ ..] => (first, rest),
        };
        if let (Step::Index(index), Some(items)) = (first, &self.items) {
            let missing = || missing(whole, format!("it has {} items", items.len()));
            return items.get(*index).ok_or_else(missing)?.follow(rest, whole);
        }
        let field = match first {
            Step::Field(field) => field.as_str(),
            Step::Index(_) => return self.data(steps, whole),
        };
        match field {
            "error" | "state" if !rest.is_empty() => {
                Err(missing(whole, format!("`{field}` is a text and has no members")))
            }
            "error" => Ok(self.error.as_deref().map_or(Resolved::Nothing, Resolved::borrowed)),
            "state" => Ok(Resolved::borrowed(self.state)),
            "output" if rest.is_empty() => Ok(self.default_value()),
            "output" | "data" => self.data(rest, whole),
            "text" if rest.is_empty() => Ok(Resolved::Text(self.texts("\n").into())),
            _ if self.is_empty() => Ok(Resolved::Nothing),
            "parts" | "artifacts" => {
                let [Step::Index(index), rest @ ..] = rest else {
                    return Err(missing(whole, format!("say which one: `{field}[0]`")));
                };
                if field == "artifacts" {
                    let missing =
                        || missing(whole, format!("it has {} artifacts", self.artifacts().count()));
                    let artifact = self.artifacts().nth(*index).ok_or_else(missing)?;
                    return of_artifact(artifact, rest, whole);
                }
                let missing = || missing(whole, format!("it has {} parts", self.parts().count()));
                of_part(self.parts().nth(*index).ok_or_else(missing)?, rest, whole)
            }
            "text" => Err(missing(whole, "`text` is a text and has no members".to_owned())),
            _ => Err(unknown_selector(whole, field)),
        }
    }

    fn is_empty(&self) -> bool {
        self.items.is_none() && self.parts().next().is_none()
    }

    /// The first text, or else the first data, or else the first file (U-12).
    fn default_value(&self) -> Resolved<'_> {
        if let Some(items) = &self.items {
            let texts: Vec<String> =
                items.iter().map(|item| item.default_value().to_text().into_owned()).collect();
            return Resolved::Text(texts.join("\n\n").into());
        }
        default_value(|| self.parts())
    }

    fn texts(&self, between: &str) -> String {
        let texts: Vec<&str> = self.parts().filter_map(Part::as_text).collect();
        texts.join(between)
    }

    /// The first data, or a text that is JSON; of items, a list.
    fn data<'a>(&'a self, steps: &[Step], whole: &Reference) -> Result<Resolved<'a>, Error> {
        if let Some(items) = &self.items {
            let text = write_with(|writer| {
                writer.array(items, |writer, item| {
                    use nuncio_protocol::json::ToJson as _;
                    item.default_value().to_data().write(writer);
                });
            });
            let list = Raw::parse_text(&text).map_err(|error| missing(whole, error.to_string()))?;
            return descend(&list, steps, whole).map(Resolved::Data);
        }
        if self.is_empty() {
            return Ok(Resolved::Nothing);
        }
        if let Some(data) = self.parts().find_map(Part::as_data) {
            return descend(data, steps, whole).map(Resolved::Data);
        }
        let text = self.texts("\n");
        let Ok(data) = Raw::parse_text(text.trim()) else {
            return Err(missing(
                whole,
                "there is no data part, and its text is no JSON".to_owned(),
            ));
        };
        descend(&data, steps, whole).map(Resolved::Data)
    }
}

fn default_value<'a, I: Iterator<Item = &'a Part>>(parts: impl Fn() -> I) -> Resolved<'a> {
    let find = |is_wanted: fn(&Part) -> bool| parts().find(|part| is_wanted(part));
    find(|part| part.as_text().is_some())
        .or_else(|| find(|part| part.as_data().is_some()))
        .or_else(|| find(|_| true))
        .map_or(Resolved::Nothing, Resolved::of_part)
}

fn of_artifact<'a>(
    artifact: &'a Artifact,
    steps: &[Step],
    whole: &Reference,
) -> Result<Resolved<'a>, Error> {
    match steps {
        [] => Ok(default_value(|| artifact.parts.iter())),
        [Step::Field(field), Step::Index(index), rest @ ..] if field == "parts" => {
            let missing = || missing(whole, format!("it has {} parts", artifact.parts.len()));
            of_part(artifact.parts.get(*index).ok_or_else(missing)?, rest, whole)
        }
        [Step::Field(field), rest @ ..] if field == "data" => {
            let data = artifact.parts.iter().find_map(Part::as_data);
            let data = data.ok_or_else(|| missing(whole, "there is no data part".to_owned()))?;
            descend(data, rest, whole).map(Resolved::Data)
        }
        [Step::Field(field)] if field == "text" => Ok(Resolved::Text(artifact.text().into())),
        _ => Err(missing(whole, "an artifact has `parts`, `data` and `text`".to_owned())),
    }
}

fn of_part<'a>(part: &'a Part, steps: &[Step], whole: &Reference) -> Result<Resolved<'a>, Error> {
    match (part.as_data(), steps) {
        (_, []) => Ok(Resolved::of_part(part)),
        (Some(data), [Step::Field(field), rest @ ..]) if field == "data" => {
            descend(data, rest, whole).map(Resolved::Data)
        }
        (Some(data), steps) => descend(data, steps, whole).map(Resolved::Data),
        (None, _) => Err(missing(whole, "this part is no data".to_owned())),
    }
}

/// What a reference leads to.
#[derive(Clone, Debug)]
pub(crate) enum Resolved<'a> {
    /// A node that is there has brought about nothing, or not yet.
    Nothing,
    Text(Cow<'a, str>),
    Data(Raw),
    File(&'a Part),
}

impl<'a> Resolved<'a> {
    const fn borrowed(text: &'a str) -> Self {
        Self::Text(Cow::Borrowed(text))
    }

    fn of_part(part: &'a Part) -> Self {
        match &part.content {
            Content::Text(text) => Self::borrowed(text),
            Content::Data(data) => Self::Data(data.clone()),
            Content::Raw(_) | Content::Url(_) => Self::File(part),
        }
    }

    /// As it stands in a text: a text as it is, data as JSON, a file by its address, by its
    /// content if that is a text, or else by its name.
    pub(crate) fn to_text(&self) -> Cow<'_, str> {
        match self {
            Self::Nothing => Cow::Borrowed(""),
            Self::Text(text) => Cow::Borrowed(text),
            Self::Data(data) => {
                data.as_text().map_or_else(|| Cow::Owned(data.as_str().to_owned()), Cow::Owned)
            }
            Self::File(part) => match &part.content {
                Content::Url(url) => Cow::Borrowed(url),
                Content::Raw(bytes) if part.media_type.starts_with("text/") => {
                    String::from_utf8_lossy(bytes)
                }
                _ if part.filename.is_empty() => Cow::Borrowed("a file without a name"),
                _ => Cow::Borrowed(&part.filename),
            },
        }
    }

    /// As JSON: nothing as `null`, a file as the part that it is.
    pub(crate) fn to_data(&self) -> Raw {
        match self {
            Self::Nothing => null(),
            Self::Text(text) => Raw::string(text),
            Self::Data(data) => data.clone(),
            Self::File(part) => {
                let text = nuncio_protocol::json::to_string(*part);
                Raw::parse_text(&text).unwrap_or_else(|_| null())
            }
        }
    }
}

fn null() -> Raw {
    Raw::parse_text("null").unwrap_or_else(|_| Raw::bool(false))
}

/// Follows the steps into a JSON value.
pub(super) fn descend(value: &Raw, steps: &[Step], whole: &Reference) -> Result<Raw, Error> {
    let mut value = value.clone();
    for step in steps {
        value = match step {
            Step::Field(field) => {
                let Some(object) = value.as_object() else {
                    return Err(missing(whole, format!("`{field}` is asked of {}", sort(&value))));
                };
                object.get(field).ok_or_else(|| {
                    let members = object.members();
                    let known = members.iter().map(|(key, _)| key.as_str());
                    let what = nearest(field, known).map_or_else(
                        || format!("there is no `{field}`"),
                        |near| format!("there is no `{field}`, but `{near}`"),
                    );
                    missing(whole, what)
                })?
            }
            Step::Index(index) => {
                let (element, count) = element(&value, *index);
                if count.is_none() {
                    return Err(missing(
                        whole,
                        format!("`[{index}]` is asked of {}", sort(&value)),
                    ));
                }
                element.ok_or_else(|| {
                    let count = count.unwrap_or_default();
                    missing(whole, format!("the list has {count} elements"))
                })?
            }
        };
    }
    Ok(value)
}

/// Returns an element of a list, and how many there are if it is a list.
fn element(list: &Raw, index: usize) -> (Option<Raw>, Option<usize>) {
    let elements = elements(list);
    let count = elements.as_ref().map(Vec::len);
    (elements.and_then(|elements| elements.into_iter().nth(index)), count)
}

/// Returns the elements of a list, if it is one.
pub(crate) fn elements(list: &Raw) -> Option<Vec<Raw>> {
    let mut elements = Vec::new();
    read_with(list.as_str(), |reader| {
        reader.expect(Kind::Array)?;
        reader.items(|reader| {
            elements.push(reader.raw()?);
            Ok(())
        })
    })
    .ok()?;
    Some(elements)
}

/// Names the sort of a JSON value, for people.
pub(crate) fn sort(value: &Raw) -> &'static str {
    match value.as_str().as_bytes().first() {
        Some(b'{') => "an object",
        Some(b'[') => "a list",
        Some(b'"') => "a text",
        Some(b't' | b'f') => "true or false",
        Some(b'n') => "null",
        _ => "a number",
    }
}

fn missing(reference: &Reference, what: String) -> Error {
    Error::Missing { reference: reference.to_string(), what }
}

pub(super) fn unknown_selector(reference: &Reference, field: &str) -> Error {
    let near = nearest(field, SELECTORS).map(str::to_owned);
    Error::UnknownSelector { reference: reference.to_string(), field: field.to_owned(), near }
}
