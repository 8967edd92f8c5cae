//! Who may call whom, beside what the hierarchy says.

use std::{borrow::Cow, fmt, str::FromStr};

use nuncio_protocol::operation::Operation;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};

use super::{InvalidValue, Placed};

/// A rule about who may call whom.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct Rule {
    /// Whether calls that fit are allowed or denied.
    pub effect: Effect,
    /// Who calls: the name of an agent, `team:NAME` for an agent and everyone below it,
    /// `user:NAME`, or `*` for everyone in the organisation.
    pub caller: Placed<Subject>,
    /// Who is called: the name of an agent, `team:NAME`, or `*`.
    pub target: Placed<Subject>,
    /// The operations that it is about, by A2A's names; all if none is listed.
    #[serde(default)]
    pub operations: Vec<OperationName>,
    /// The skills that it is about, by their ids; all if none is listed.
    #[serde(default)]
    pub skills: Vec<String>,
    /// Why the rule is there. It is shown with decisions.
    #[serde(default)]
    pub note: String,
}

/// What becomes of calls that fit a rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Effect {
    /// They are allowed, unless another rule denies them.
    Allow,
    /// They are denied.
    Deny,
}

/// Whom a rule is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Subject {
    /// Everyone in the organisation.
    Everyone,
    /// An agent, by its name.
    Agent(String),
    /// An agent and everyone below it.
    Team(String),
    /// A person or program that is no agent.
    User(String),
}

impl FromStr for Subject {
    type Err = InvalidValue;

    fn from_str(text: &str) -> Result<Self, InvalidValue> {
        const EXPECTED: InvalidValue =
            InvalidValue("the name of an agent, `team:NAME`, `user:NAME` or `*`");
        let name = |name: &str| {
            let is_name = !name.is_empty() && !name.chars().any(char::is_control);
            is_name.then(|| name.to_owned()).ok_or(EXPECTED)
        };
        match text.split_once(':') {
            _ if text == "*" => Ok(Self::Everyone),
            Some(("team", rest)) => name(rest).map(Self::Team),
            Some(("user", rest)) => name(rest).map(Self::User),
            Some(_) => Err(EXPECTED),
            None => name(text).map(Self::Agent),
        }
    }
}

impl fmt::Display for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Everyone => f.write_str("*"),
            Self::Agent(name) => f.write_str(name),
            Self::Team(name) => write!(f, "team:{name}"),
            Self::User(name) => write!(f, "user:{name}"),
        }
    }
}

impl<'de> Deserialize<'de> for Subject {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(D::Error::custom)
    }
}

impl Serialize for Subject {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl JsonSchema for Subject {
    fn schema_name() -> Cow<'static, str> {
        "Subject".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "string", "minLength": 1,
            "title": "the name of an agent, `team:NAME`, `user:NAME` or `*`",
        })
    }
}

/// An operation of A2A, by its name: `SendMessage`, `GetTask`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OperationName(pub Operation);

impl<'de> Deserialize<'de> for OperationName {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Operation::from_name(&text)
            .map(Self)
            .ok_or_else(|| D::Error::unknown_variant(&text, &NAMES))
    }
}

impl Serialize for OperationName {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.0.name())
    }
}

impl JsonSchema for OperationName {
    fn schema_name() -> Cow<'static, str> {
        "OperationName".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "string", "enum": NAMES, "description": "An operation of A2A, by its name.",
        })
    }
}

const NAMES: [&str; Operation::NAMES.len()] = {
    let mut names = [""; Operation::NAMES.len()];
    let mut index = 0;
    while index < names.len() {
        names[index] = Operation::NAMES[index].1;
        index += 1;
    }
    names
};

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: Option<Subject>) {
        assert_eq!(text.parse().ok(), expected, "{text}");
        if let Some(subject) = expected {
            assert_eq!(subject.to_string(), text);
        }
    }

    #[test]
    fn subjects_are_told_apart_by_their_prefix() {
        check("*", Some(Subject::Everyone));
        check("weather", Some(Subject::Agent("weather".into())));
        check("team:sales", Some(Subject::Team("sales".into())));
        check("user:alice", Some(Subject::User("alice".into())));
        for text in ["", "team:", "tem:sales", "user:", "a\nb"] {
            check(text, None);
        }
    }
}
