//! Texts of a script that quote the caller.

use serde::{Deserialize, Deserializer, de::Error as _};

/// A text with `{{text}}`, `{{input}}` and `{{turn}}` in it.
///
/// It is taken apart once, when the script is read. What a caller says is put between the
/// pieces and never looked at again, so braces in it stay braces.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Template(Vec<Piece>);

#[derive(Clone, Debug, PartialEq, Eq)]
enum Piece {
    Plain(String),
    Text,
    Input,
    Turn,
}

/// What a template can quote.
#[derive(Clone, Copy, Debug)]
pub(super) struct Values<'a> {
    /// The message that the rule was chosen for.
    pub(super) text: &'a str,
    /// The newest message: the answer to the last `ask`.
    pub(super) input: &'a str,
    /// How many messages the caller has sent to the task.
    pub(super) turn: usize,
}

impl Template {
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let mut pieces = Vec::new();
        let mut rest = text;
        while let Some((before, after)) = rest.split_once("{{") {
            let known = "there are {{text}}, {{input}} and {{turn}}";
            let (name, after) = after
                .split_once("}}")
                .ok_or_else(|| format!("`{{{{` without `}}}}` behind it; {known}"))?;
            if !before.is_empty() {
                pieces.push(Piece::Plain(before.to_owned()));
            }
            pieces.push(match name.trim() {
                "text" => Piece::Text,
                "input" => Piece::Input,
                "turn" => Piece::Turn,
                other => return Err(format!("nothing is called `{{{{{other}}}}}`; {known}")),
            });
            rest = after;
        }
        if !rest.is_empty() {
            pieces.push(Piece::Plain(rest.to_owned()));
        }
        Ok(Self(pieces))
    }

    pub(super) fn render(&self, values: &Values<'_>) -> String {
        let mut text = String::new();
        for piece in &self.0 {
            match piece {
                Piece::Plain(plain) => text.push_str(plain),
                Piece::Text => text.push_str(values.text),
                Piece::Input => text.push_str(values.input),
                Piece::Turn => text.push_str(&values.turn.to_string()),
            }
        }
        text
    }
}

impl<'de> Deserialize<'de> for Template {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::parse(&String::deserialize(deserializer)?).map_err(D::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(template: &str, text: &str, expected: &str) {
        let values = Values { text, input: "yes", turn: 2 };
        assert_eq!(Template::parse(template).unwrap().render(&values), expected);
    }

    #[test]
    fn callers_are_quoted() {
        check(
            "You said {{text}}, then {{ input }} ({{turn}}).",
            "no",
            "You said no, then yes (2).",
        );
        check("", "no", "");
        check("{plain} }}", "no", "{plain} }}");
    }

    #[test]
    fn what_a_caller_says_is_not_expanded() {
        check("{{text}}!", "{{turn}} {{nothing}} {{", "{{turn}} {{nothing}} {{!");
    }

    #[test]
    fn unknown_names_are_refused() {
        for text in ["{{name}}", "{{text", "{{}}"] {
            let error = Template::parse(text).unwrap_err();
            assert!(error.contains("{{input}}"), "{error}");
        }
    }
}
