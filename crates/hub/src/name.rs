//! Names of agents: short, fit for a path, and not to be mistaken for one another.

use std::{fmt, str::FromStr, sync::Arc};

use serde::{Deserialize, Serialize};

/// The longest name, in bytes.
pub const MAX_BYTES: usize = 63;

/// What an agent is called: the `{name}` of `/agents/{name}`, unique in its organisation.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct AgentName(Arc<str>);

/// A text that cannot be the name of an agent.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{}` cannot be the name of an agent: a name has 1 to {MAX_BYTES} letters a-z, digits, `-`, `_` \
     or `.`, and begins and ends with a letter or digit{}",
    text.escape_debug(), suggestion(text)
)]
pub struct InvalidName {
    /// The text.
    pub text: String,
}

/// What a name looks like at a glance: two names with the same look are not told apart.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Look(Box<str>);

impl AgentName {
    /// Accepts lower-case ASCII alone, so that no two names differ in letters that look alike in
    /// another script, in case, or in normal form.
    pub fn parse(text: &str) -> Result<Self, InvalidName> {
        let is_end = |byte: &u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
        let is_inner = |byte: &u8| is_end(byte) || matches!(byte, b'-' | b'_' | b'.');
        let bytes = text.as_bytes();
        let is_name = (1..=MAX_BYTES).contains(&bytes.len())
            && bytes.iter().all(is_inner)
            && bytes.first().is_some_and(is_end)
            && bytes.last().is_some_and(is_end)
            && !text.contains("..");
        if is_name { Ok(Self(text.into())) } else { Err(InvalidName { text: text.to_owned() }) }
    }

    /// Makes a name of a title such as `SEO Agent`; `None` if nothing is left of it.
    pub fn from_title(title: &str) -> Option<Self> {
        let mut name = String::new();
        for letter in title.chars().flat_map(char::to_lowercase) {
            match letter {
                'a'..='z' | '0'..='9' => name.push(letter),
                _ if name.is_empty() || name.ends_with('-') => {}
                _ => name.push('-'),
            }
            if name.len() == MAX_BYTES {
                break;
            }
        }
        Self::parse(name.trim_end_matches('-')).ok()
    }

    /// Returns the text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Comes before every other in order.
    pub(crate) fn first() -> Self {
        Self("".into())
    }

    /// Returns what it looks like.
    pub fn look(&self) -> Look {
        let mut look = String::with_capacity(self.0.len());
        for letter in self.0.chars() {
            match letter {
                '0' => look.push('o'),
                '1' | 'i' => look.push('l'),
                '5' => look.push('s'),
                '8' => look.push('b'),
                '-' | '_' | '.' => {}
                letter => look.push(letter),
            }
        }
        Look(look.replace("rn", "m").replace("vv", "w").replace("cl", "d").into())
    }
}

fn suggestion(text: &str) -> String {
    match AgentName::from_title(text) {
        Some(name) => format!(", such as `{name}`"),
        None => String::new(),
    }
}

impl FromStr for AgentName {
    type Err = InvalidName;

    fn from_str(text: &str) -> Result<Self, InvalidName> {
        Self::parse(text)
    }
}

impl TryFrom<String> for AgentName {
    type Error = InvalidName;

    fn try_from(text: String) -> Result<Self, InvalidName> {
        Self::parse(&text)
    }
}

impl From<AgentName> for String {
    fn from(name: AgentName) -> Self {
        name.as_str().to_owned()
    }
}

impl fmt::Display for AgentName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for AgentName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&*self.0, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_fit_for_a_path() {
        for good in ["a", "seo", "seo-agent", "agent.2", "a_b", &"x".repeat(63)] {
            assert!(AgentName::parse(good).is_ok(), "{good}");
        }
        for bad in ["", "-a", "a-", "A", "a b", "a/b", "..", "a..b", "é", "a%2f", &"x".repeat(64)]
        {
            assert!(AgentName::parse(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_title_becomes_a_name() {
        let name = |title| AgentName::from_title(title).map(String::from);
        assert_eq!(name("SEO Agent").as_deref(), Some("seo-agent"));
        assert_eq!(name("  The -- Writer! ").as_deref(), Some("the-writer"));
        assert_eq!(name("写手"), None);
    }

    #[test]
    fn a_refusal_says_what_would_do() {
        let error = AgentName::parse("SEO Agent").unwrap_err().to_string();
        assert!(error.ends_with("such as `seo-agent`"), "{error}");
    }

    #[test]
    fn look_alikes_look_alike() {
        let look = |name| AgentName::parse(name).unwrap().look();
        for (one, other) in [
            ("billing", "bi11ing"),
            ("billing", "b-illing"),
            ("admin", "adrnin"),
            ("root", "r00t"),
            ("writer", "wr1ter"),
        ] {
            assert_eq!(look(one), look(other), "{one} {other}");
        }
        assert_ne!(look("writer"), look("waiter"));
    }
}
