//! The form of an answer: text or JSON, and which piece of it counts.

use jsonschema::Validator;
use nuncio_protocol::{
    json::{Raw, Reader},
    message::Part,
};

use super::{Error, Extract, Format, Settings};
use crate::kinds::words::shorten;

/// How much of an answer that is wrong is shown.
const MAX_SHOWN: usize = 200;

/// How many braces are looked behind for an object.
const MAX_BRACES: usize = 64;

/// What is made of an answer.
#[derive(Debug)]
pub(super) struct Form {
    format: Format,
    schema: Option<(Raw, Validator)>,
    extract: Option<Extract>,
}

/// What is wrong with an answer.
#[derive(Debug)]
pub(super) struct Wrong(String);

impl Wrong {
    pub(super) fn of(self, model: String, answer: &str) -> Error {
        Error::Form { model, what: self.0, begins: shorten(answer, MAX_SHOWN) }
    }
}

impl Form {
    pub(super) fn new(settings: &Settings) -> Result<Self, Error> {
        let schema = settings.schema.as_ref().map(|schema| Ok((schema.clone(), compile(schema)?)));
        let schema = schema.transpose().map_err(|what: String| Error::Settings {
            what: format!("`schema` is not a JSON schema: {what}"),
        })?;
        Ok(Self { format: settings.format(), schema, extract: settings.extract.clone() })
    }

    pub(super) fn is_json(&self) -> bool {
        self.format == Format::Json
    }

    /// Says to the model how to answer.
    pub(super) fn words(&self) -> Option<String> {
        if !self.is_json() {
            return None;
        }
        let mut words = String::from("Answer with JSON and nothing else.");
        if let Some((schema, _)) = &self.schema {
            words.push_str(" It must be valid against this JSON schema:\n");
            words.push_str(schema.as_str());
        }
        Some(words)
    }

    /// Makes parts of an answer.
    pub(super) fn take(&self, answer: &str) -> Result<Vec<Part>, Wrong> {
        let part = match &self.extract {
            None if self.is_json() => data(self.check(whole(answer)?)?),
            None => text(answer),
            Some(Extract::Tagged { tag }) => {
                let found = tagged(answer, tag)?;
                if self.is_json() { data(self.check(whole(found)?)?) } else { text(found) }
            }
            Some(Extract::Json { key }) => {
                let found = self.check(member(answer, key)?)?;
                match found.as_text() {
                    Some(words) if !self.is_json() => text(&words),
                    _ => data(found),
                }
            }
        };
        Ok(vec![part])
    }

    fn check(&self, value: Raw) -> Result<Raw, Wrong> {
        let Some((_, validator)) = &self.schema else { return Ok(value) };
        let parsed = value.parse().map_err(|error| Wrong(error.to_string()))?;
        match validator.validate(&parsed) {
            Ok(()) => Ok(value),
            Err(error) => {
                let at = error.instance_path().to_string();
                let at = if at.is_empty() { String::new() } else { format!(" at {at}") };
                Err(Wrong(format!("it does not follow the schema{at}: {error}")))
            }
        }
    }
}

fn compile(schema: &Raw) -> Result<Validator, String> {
    let parsed = schema.parse().map_err(|error| error.to_string())?;
    jsonschema::validator_for(&parsed).map_err(|error| error.to_string())
}

fn text(text: &str) -> Part {
    Part::text(text).with_media_type("text/plain")
}

fn data(data: Raw) -> Part {
    Part::data(data).with_media_type("application/json")
}

/// Reads an answer that is JSON from its first to its last letter, or in a fence of Markdown.
fn whole(answer: &str) -> Result<Raw, Wrong> {
    let bare = answer.trim();
    let inside = bare.strip_prefix("```").and_then(|rest| rest.strip_suffix("```"));
    let bare = match inside {
        Some(rest) => rest.strip_prefix("json").unwrap_or(rest).trim(),
        None => bare,
    };
    Raw::parse_text(bare).map_err(|error| Wrong(format!("it is not JSON: {error}")))
}

/// Finds a member of the first JSON object in an answer.
fn member(answer: &str, key: &str) -> Result<Raw, Wrong> {
    let braces = answer.match_indices('{').take(MAX_BRACES);
    let mut objects = braces.filter_map(|(at, _)| Reader::new(&answer[at..]).raw_object().ok());
    let object = objects.next().ok_or_else(|| Wrong("there is no JSON object in it".to_owned()))?;
    object.get(key).ok_or_else(|| Wrong(format!("its JSON object has no member `{key}`")))
}

/// Finds what stands between `<tag>` and `</tag>`.
fn tagged<'a>(answer: &'a str, tag: &str) -> Result<&'a str, Wrong> {
    let (begin, end) = (format!("<{tag}>"), format!("</{tag}>"));
    let behind = answer.split_once(&begin).map(|(_, behind)| behind);
    let inside = behind.and_then(|behind| behind.split_once(&end)).map(|(inside, _)| inside);
    let inside = inside.ok_or_else(|| Wrong(format!("there is no {begin}…{end} in it")))?;
    Ok(inside.trim())
}

#[cfg(test)]
mod tests {
    use nuncio_protocol::json;

    use super::*;

    #[track_caller]
    fn check(settings: &Settings, answer: &str, expected: Result<&str, &str>) {
        let form = Form::new(settings).expect("a form");
        let taken = form.take(answer).map(|parts| json::to_string(&parts)).map_err(|wrong| wrong.0);
        assert_eq!(taken.as_deref().map_err(String::as_str), expected);
    }

    fn json() -> Settings {
        Settings { format: Format::Json, ..Settings::default() }
    }

    fn extract(extract: Extract) -> Settings {
        Settings { extract: Some(extract), ..Settings::default() }
    }

    #[test]
    fn json_becomes_data_and_anything_else_is_wrong() {
        let data = r#"[{"data":{"a":1},"mediaType":"application/json"}]"#;
        check(&json(), r#" {"a": 1} "#, Ok(data));
        check(&json(), "```json\n{\"a\": 1}\n```", Ok(data));
        check(&json(), "Sure! {}", Err("it is not JSON: expected a value (byte 0)"));
        let schema = r#"{"type":"object","required":["b"]}"#;
        let schema = Some(Raw::parse_text(schema).expect("JSON"));
        check(
            &Settings { schema, ..Settings::default() },
            r#"{"a":1}"#,
            Err("it does not follow the schema: \"b\" is a required property"),
        );
    }

    #[test]
    fn a_piece_of_the_answer_is_found() {
        let key = || extract(Extract::Json { key: "city".to_owned() });
        let text = r#"[{"text":"Rome","mediaType":"text/plain"}]"#;
        check(&key(), r#"It is {this}: {"city":"Rome"} {"city":"Bonn"}"#, Ok(text));
        let data = r#"[{"data":[1],"mediaType":"application/json"}]"#;
        check(&key(), r#"{"city":[1]}"#, Ok(data));
        check(&key(), "{}", Err("its JSON object has no member `city`"));
        check(&key(), "none {", Err("there is no JSON object in it"));
        let tag = || extract(Extract::Tagged { tag: "answer".to_owned() });
        check(&tag(), "Hm. <answer>\nRome\n</answer> <answer>Bonn</answer>", Ok(text));
        check(&tag(), "<answer>Rome", Err("there is no <answer>…</answer> in it"));
    }
}
