//! Texts of strangers, for terminals and logs.

use std::borrow::Cow;

/// Returns a text of one line that no terminal obeys and that deceives no reader: control
/// codes, line ends and characters that turn or hide text are spelled out.
pub(crate) fn inert(text: &str) -> Cow<'_, str> {
    if !text.contains(is_active) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 16);
    for letter in text.chars() {
        if is_active(letter) {
            shown.extend(letter.escape_unicode());
        } else {
            shown.push(letter);
        }
    }
    Cow::Owned(shown)
}

/// Tells whether a letter does something other than being shown.
pub(crate) fn is_active(letter: char) -> bool {
    letter.is_control()
        || matches!(
            letter,
            // Line and paragraph ends, and what turns the direction, hides or joins.
            '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}'
            | '\u{e0000}'..='\u{e007f}'
        )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: &str) {
        assert_eq!(inert(text), expected);
    }

    #[test]
    fn what_a_terminal_would_obey_is_spelled_out() {
        check("plain ü 日本", "plain ü 日本");
        check("a\nb\r\tc", "a\\u{a}b\\u{d}\\u{9}c");
        check("\u{1b}[2J\u{9b}", "\\u{1b}[2J\\u{9b}");
        check("\u{202e}txt.exe\u{2028}", "\\u{202e}txt.exe\\u{2028}");
    }
}
