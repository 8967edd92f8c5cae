//! What an agent of a script does, step by step.

use nuncio_protocol::{
    json::{self, Object, Raw},
    message::Part,
    state::TaskState,
};
use serde::{Deserialize, Deserializer, de::Error as _};

use super::{
    pause::Pause,
    template::{Template, Values},
};

/// One step.
#[derive(Clone, Debug, Deserialize)]
#[serde(try_from = "Fields")]
pub(super) enum Step {
    /// Says what it is doing.
    Say(Template),
    /// Gives the task a state.
    State(TaskState, Option<Template>),
    /// Gives a result.
    Artifact(Box<Artifact>),
    /// Does nothing for a while.
    Delay(Pause),
    /// Asks, and goes on with the answer.
    Ask(Template),
    /// Answers without a task.
    Reply(Template),
    /// Fails.
    Fail(Template),
}

/// A list of steps that can be taken one after the other.
#[derive(Clone, Debug, Deserialize)]
#[serde(try_from = "Vec<Step>")]
pub(super) struct Steps(pub(super) std::sync::Arc<[Step]>);

impl TryFrom<Vec<Step>> for Steps {
    type Error = String;

    fn try_from(steps: Vec<Step>) -> Result<Self, String> {
        for (index, step) in steps.iter().enumerate() {
            if matches!(step, Step::Reply(_)) && steps.len() > 1 {
                return Err("`reply` answers without a task, so it must be the only step".into());
            }
            if step.ends() && index + 1 < steps.len() {
                return Err(format!(
                    "step {} ends the task; remove the steps behind it",
                    index + 1
                ));
            }
        }
        Ok(Self(steps.into()))
    }
}

impl Step {
    fn ends(&self) -> bool {
        match self {
            Self::State(state, _) => state.is_terminal(),
            Self::Fail(_) => true,
            _ => false,
        }
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Fields {
    say: Option<Template>,
    state: Option<State>,
    text: Option<Template>,
    artifact: Option<Artifact>,
    delay: Option<Pause>,
    ask: Option<Template>,
    reply: Option<Template>,
    fail: Option<Template>,
}

impl TryFrom<Fields> for Step {
    type Error = String;

    fn try_from(fields: Fields) -> Result<Self, String> {
        let Fields { say, state, text, artifact, delay, ask, reply, fail } = fields;
        if text.is_some() && state.is_none() {
            return Err("`text` belongs to a `state`; use `say` to say something".into());
        }
        let mut steps = [
            say.map(Self::Say),
            state.map(|state| Self::State(state.into(), text)),
            artifact.map(|artifact| Self::Artifact(Box::new(artifact))),
            delay.map(Self::Delay),
            ask.map(Self::Ask),
            reply.map(Self::Reply),
            fail.map(Self::Fail),
        ]
        .into_iter()
        .flatten();
        match (steps.next(), steps.next()) {
            (Some(step), None) => Ok(step),
            (None, _) => Err("a step without anything to do; give it one of say, state, \
                              artifact, delay, ask, reply, fail"
                .into()),
            (Some(_), Some(_)) => {
                Err("a step does one thing; make a step of each, with a `-` before it".into())
            }
        }
    }
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum State {
    Working,
    InputRequired,
    AuthRequired,
    Completed,
    Failed,
    Rejected,
    Canceled,
}

impl From<State> for TaskState {
    fn from(state: State) -> Self {
        match state {
            State::Working => Self::Working,
            State::InputRequired => Self::InputRequired,
            State::AuthRequired => Self::AuthRequired,
            State::Completed => Self::Completed,
            State::Failed => Self::Failed,
            State::Rejected => Self::Rejected,
            State::Canceled => Self::Canceled,
        }
    }
}

/// A result.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Artifact {
    #[serde(default)]
    pub(super) name: String,
    #[serde(default)]
    pub(super) description: String,
    text: Option<Template>,
    data: Option<Data>,
    file: Option<File>,
    /// In how many pieces the text comes.
    #[serde(default = "one")]
    chunks: usize,
    /// How long it waits before each piece but the first.
    #[serde(default)]
    pub(super) delay: Pause,
}

fn one() -> usize {
    1
}

impl Artifact {
    /// Returns the parts of each piece: the text is cut, everything else comes with the last.
    pub(super) fn pieces(&self, values: &Values<'_>) -> Vec<Vec<Part>> {
        let mut pieces: Vec<Vec<Part>> = Vec::new();
        if let Some(template) = &self.text {
            let text = template.render(values);
            let parts = cut(&text, self.chunks.max(1));
            pieces.extend(parts.into_iter().map(|piece| vec![Part::text(piece)]));
        }
        let data = self.data.as_ref().map(|data| Part::data(data.render(values)));
        let file = self.file.as_ref().map(|file| file.part(values));
        let others = data.into_iter().chain(file);
        match pieces.last_mut() {
            Some(last) => last.extend(others),
            None => pieces.push(others.collect()),
        }
        pieces
    }
}

/// Cuts a text into pieces of about the same length; fewer, if it has not as many letters.
fn cut(text: &str, count: usize) -> Vec<&str> {
    let letters = text.chars().count();
    let count = count.min(letters.max(1));
    let mut pieces = Vec::with_capacity(count);
    let mut rest = text;
    for index in 0..count {
        let length = (index + 1) * letters / count - index * letters / count;
        let end = rest.char_indices().nth(length).map_or(rest.len(), |(end, _)| end);
        let (piece, after) = rest.split_at(end);
        pieces.push(piece);
        rest = after;
    }
    pieces
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(default)]
    name: String,
    #[serde(default)]
    media_type: String,
    /// What is in it.
    text: Option<Template>,
    /// Where it can be fetched, in place of what is in it.
    url: Option<String>,
}

impl File {
    fn part(&self, values: &Values<'_>) -> Part {
        let part = if let Some(url) = &self.url {
            Part::url(url.clone())
        } else {
            let text = self.text.as_ref().map(|text| text.render(values));
            Part::raw(text.unwrap_or_default().into_bytes())
        };
        part.with_filename(self.name.clone()).with_media_type(self.media_type.clone())
    }
}

/// JSON in which every text is a template.
#[derive(Clone, Debug)]
enum Data {
    Plain(Raw),
    Text(Template),
    List(Vec<Self>),
    Map(Vec<(String, Self)>),
}

impl Data {
    // The file is YAML, and this is how `serde` tells its values apart.
    fn from_value(value: serde_json::Value) -> Result<Self, String> {
        use serde_json::Value;
        Ok(match value {
            Value::String(text) => Self::Text(Template::parse(&text)?),
            Value::Array(items) => {
                Self::List(items.into_iter().map(Self::from_value).collect::<Result<_, _>>()?)
            }
            Value::Object(members) => {
                let members = members
                    .into_iter()
                    .map(|(key, value)| Ok::<_, String>((key, Self::from_value(value)?)));
                Self::Map(members.collect::<Result<_, _>>()?)
            }
            plain => Self::Plain(Raw::from_value(&plain).map_err(|error| error.to_string())?),
        })
    }

    fn render(&self, values: &Values<'_>) -> Raw {
        match self {
            Self::Plain(raw) => raw.clone(),
            Self::Text(template) => Raw::string(&template.render(values)),
            Self::List(items) => {
                let items: Vec<Raw> = items.iter().map(|item| item.render(values)).collect();
                // A list of JSON values is one.
                Raw::parse_text(&json::to_string(&items)).unwrap_or_else(|_| Raw::string(""))
            }
            Self::Map(members) => {
                let members = members.iter().map(|(key, data)| (key.as_str(), data.render(values)));
                Object::from_members(members).into_raw()
            }
        }
    }
}

impl<'de> Deserialize<'de> for Data {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = serde_json::Value::deserialize(deserializer)?;
        Self::from_value(value).map_err(D::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_cut_between_letters() {
        for (text, count, expected) in [
            ("abcdef", 3, vec!["ab", "cd", "ef"]),
            ("abcde", 3, vec!["a", "bc", "de"]),
            ("äöü", 2, vec!["ä", "öü"]),
            ("ab", 5, vec!["a", "b"]),
            ("", 3, vec![""]),
        ] {
            assert_eq!(cut(text, count), expected, "{text} in {count}");
        }
    }
}
