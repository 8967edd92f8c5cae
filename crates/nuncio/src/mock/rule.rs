//! Which steps a message leads to.

use std::collections::BTreeMap;

use nuncio_protocol::message::Message;
use nuncio_server::kinds::said;
use regex::Regex;
use serde::{Deserialize, Deserializer, de::Error as _};

use super::step::Steps;

/// Where callers of A2A say which skill they want; dialects that have a place for it are read
/// into the same member.
const SKILL: &str = "skillId";

/// Steps, and when they are taken.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Rule {
    #[serde(default)]
    when: When,
    pub(super) then: Steps,
}

/// Everything that is given must hold.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct When {
    /// The whole text.
    text: Option<String>,
    /// A part of the text.
    contains: Option<String>,
    /// A regular expression that is found in the text.
    matches: Option<Pattern>,
    /// The skill that is asked for, in the metadata as `skillId`.
    skill: Option<String>,
    /// How many messages the caller has sent to the task, this one included.
    turn: Option<usize>,
    /// Members of the metadata; texts are compared, anything else by its JSON.
    metadata: BTreeMap<String, String>,
}

impl Rule {
    pub(super) fn is_for(&self, message: &Message, turn: usize) -> bool {
        let When { text, contains, matches, skill, turn: wanted, metadata } = &self.when;
        let said = said(message);
        text.as_ref().is_none_or(|text| *text == said)
            && contains.as_ref().is_none_or(|part| said.contains(part))
            && matches.as_ref().is_none_or(|pattern| pattern.0.is_match(&said))
            && wanted.is_none_or(|wanted| wanted == turn)
            && skill.as_ref().is_none_or(|skill| is_member(message, SKILL, skill))
            && metadata.iter().all(|(key, value)| is_member(message, key, value))
    }
}

fn is_member(message: &Message, key: &str, expected: &str) -> bool {
    let value = message.metadata.as_ref().and_then(|metadata| metadata.get(key));
    value.is_some_and(|value| match value.as_text() {
        Some(text) => text == expected,
        None => value.as_str() == expected,
    })
}

#[derive(Clone, Debug)]
struct Pattern(Regex);

impl<'de> Deserialize<'de> for Pattern {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Regex::new(&text).map(Self).map_err(|error| {
            // The last line says what is wrong, those before draw a picture.
            let error = error.to_string();
            let reason = error.lines().last().unwrap_or_default().trim();
            let reason = reason.trim_start_matches("error: ");
            D::Error::custom(format!("`{text}` is no regular expression: {reason}"))
        })
    }
}
