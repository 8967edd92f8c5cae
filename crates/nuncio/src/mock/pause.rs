//! How long something takes, as a script writes it.

use std::time::Duration;

use serde::{Deserialize, Deserializer, de::Error as _};

/// A time such as `2s`, `150ms` or `1m`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Pause(pub(super) Duration);

impl Pause {
    fn parse(text: &str) -> Option<Self> {
        let unit = text.find(|letter: char| !letter.is_ascii_digit())?;
        let (number, unit) = text.split_at(unit);
        let number: u32 = number.parse().ok()?;
        Some(Self(match unit {
            "ms" => Duration::from_millis(number.into()),
            "s" => Duration::from_secs(number.into()),
            "m" => Duration::from_secs(u64::from(number) * 60),
            _ => return None,
        }))
    }
}

impl<'de> Deserialize<'de> for Pause {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Self::parse(text.trim()).ok_or_else(|| {
            D::Error::custom(format!("`{text}` is no time; write it like `2s`, `150ms` or `1m`"))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_whole_numbers_with_a_unit() {
        for (text, expected) in [
            ("2s", Some(2_000)),
            ("150ms", Some(150)),
            ("1m", Some(60_000)),
            ("0s", Some(0)),
            ("2", None),
            ("s", None),
            ("", None),
            ("-1s", None),
            ("1.5s", None),
            ("2h", None),
            ("99999999999s", None),
        ] {
            let expected = expected.map(|millis| Pause(Duration::from_millis(millis)));
            assert_eq!(Pause::parse(text), expected, "{text}");
        }
    }
}
