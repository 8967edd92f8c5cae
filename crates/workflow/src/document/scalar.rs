//! What a scalar of YAML means, by its core schema.

use super::Kind;

/// Returns what a plain scalar is: nothing, true or false, a number, or else a text.
pub(super) fn plain(text: &str) -> Kind {
    match text {
        "" | "~" | "null" | "Null" | "NULL" => Kind::Null,
        "true" | "True" | "TRUE" => Kind::Bool(true),
        "false" | "False" | "FALSE" => Kind::Bool(false),
        _ => number(text).map_or_else(|| Kind::Text(text.to_owned()), Kind::Number),
    }
}

/// Returns a number as JSON spells it.
fn number(text: &str) -> Option<String> {
    let (sign, digits) = match text.as_bytes().first()? {
        b'-' => ("-", &text[1..]),
        b'+' => ("", &text[1..]),
        _ => ("", text),
    };
    if let Some(radix) = digits.get(..2).and_then(|prefix| match prefix {
        "0x" => Some(16),
        "0o" => Some(8),
        _ => None,
    }) {
        let digits = &digits[2..];
        // `from_str_radix` takes a sign of its own.
        let is_bare = digits.starts_with(|first: char| first.is_ascii_hexdigit());
        let number = u64::from_str_radix(digits, radix).ok().filter(|_| is_bare)?;
        return Some(format!("{sign}{number}"));
    }
    let is_plain = digits.starts_with(|first: char| first.is_ascii_digit() || first == '.')
        && digits
            .bytes()
            .all(|byte| matches!(byte, b'0'..=b'9' | b'.' | b'e' | b'E' | b'+' | b'-'))
        && digits.bytes().any(|byte| byte.is_ascii_digit());
    if !is_plain {
        return None;
    }
    // Longer ones are no numbers to anybody.
    if digits.len() <= 300 && digits.bytes().all(|byte| byte.is_ascii_digit()) {
        let bare = digits.trim_start_matches('0');
        return Some(format!("{sign}{}", if bare.is_empty() { "0" } else { bare }));
    }
    let number: f64 = digits.parse().ok().filter(|number: &f64| number.is_finite())?;
    Some(format!("{sign}{number}"))
}
