//! Values with a form of their own: names of nodes, lengths of time.

use std::{fmt, str::FromStr, sync::Arc, time::Duration};

/// The longest name of a node, in bytes.
pub const MAX_ID_BYTES: usize = 64;

/// Names a node within its workflow.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NodeId(Arc<str>);

impl NodeId {
    /// Accepts 1 to 64 letters, digits, `_` and `-` of ASCII, but no `inputs`, which templates
    /// need, and nothing that begins with `__` or `-`.
    pub fn parse(text: &str) -> Result<Self, InvalidId> {
        let is_part = |byte: u8| byte.is_ascii_alphanumeric() || b"_-".contains(&byte);
        let is_short = (1..=MAX_ID_BYTES).contains(&text.len());
        let is_free = text != "inputs" && !text.starts_with("__") && !text.starts_with('-');
        if is_short && is_free && text.bytes().all(is_part) {
            Ok(Self(text.into()))
        } else {
            Err(InvalidId)
        }
    }

    /// Returns the text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for NodeId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for NodeId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&*self.0, f)
    }
}

/// A text that cannot name a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a node is named by 1 to {MAX_ID_BYTES} letters, digits, `_` and `-`, and not `inputs`")]
pub struct InvalidId;

/// The longest time that a workflow may name.
pub const MAX_TIME: Duration = Duration::from_secs(366 * 24 * 3600);

/// A length of time: `500ms`, `30s`, `5m`, `1h30m`, `7d`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Time(Duration);

impl Time {
    /// Accepts more than nothing and up to a year.
    pub fn new(duration: Duration) -> Result<Self, InvalidTime> {
        if duration.is_zero() || duration > MAX_TIME {
            Err(InvalidTime)
        } else {
            Ok(Self(duration))
        }
    }

    /// Returns it as the standard library has it.
    pub const fn get(self) -> Duration {
        self.0
    }
}

/// A text that is no length of time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("expected a length of time such as 500ms, 30s, 5m, 1h30m or 7d, up to 366d")]
pub struct InvalidTime;

impl FromStr for Time {
    type Err = InvalidTime;

    fn from_str(text: &str) -> Result<Self, InvalidTime> {
        let mut rest = text.trim();
        let mut total = Duration::ZERO;
        while !rest.is_empty() {
            let split = |text: &str, is_digit: bool| {
                text.find(|letter: char| letter.is_ascii_digit() != is_digit).unwrap_or(text.len())
            };
            let (number, behind) = rest.split_at(split(rest, true));
            let (unit, behind) = behind.split_at(split(behind, false));
            let number: u64 = number.parse().map_err(|_| InvalidTime)?;
            let milliseconds = match unit {
                "ms" => 1,
                "s" => 1000,
                "m" => 60 * 1000,
                "h" => 3600 * 1000,
                "d" => 24 * 3600 * 1000,
                _ => return Err(InvalidTime),
            };
            let piece = number.checked_mul(milliseconds).map(Duration::from_millis);
            total = piece.and_then(|piece| total.checked_add(piece)).ok_or(InvalidTime)?;
            rest = behind;
        }
        Self::new(total)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[track_caller]
    fn check_time(text: &str, millis: Option<u64>) {
        let read: Option<Time> = text.parse().ok();
        assert_eq!(read.map(Time::get), millis.map(Duration::from_millis), "{text}");
    }

    #[test]
    fn lengths_of_time_have_a_unit() {
        check_time("500ms", Some(500));
        check_time("60s", Some(60_000));
        check_time(" 1h30m ", Some(5_400_000));
        check_time("7d", Some(604_800_000));
        for text in
            ["", "60", "s", "0s", "-1s", "1.5s", "60 s", "1w", "367d", "99999999999999999999s"]
        {
            check_time(text, None);
        }
    }

    #[test]
    fn names_of_nodes_can_stand_in_templates_and_urls() {
        for name in ["a", "draft_2", "my-node", "1st", "A_b-C"] {
            assert!(NodeId::parse(name).is_ok(), "{name}");
        }
        let long = "x".repeat(65);
        for name in ["", "a.b", "a b", "ü", "inputs", "__x", "-a", "a/b", "{{a}}", &long] {
            assert!(NodeId::parse(name).is_err(), "{name}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_a_time_or_refused(text in ".*") {
            let _ = text.parse::<Time>();
            let _ = NodeId::parse(&text);
        }
    }
}
