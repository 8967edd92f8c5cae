//! Texts on their way into the database and back.
//!
//! Postgres takes every character but NUL. Identifiers and names are anything a caller likes,
//! so NUL is written as two characters, in a way that keeps the order of texts.

use std::borrow::Cow;

/// Stands before the two characters that need it, itself and NUL.
const ESCAPE: char = '\u{1}';

/// Writes a text without NUL.
pub(super) fn quote(text: &str) -> Cow<'_, str> {
    if !text.bytes().any(|byte| byte <= 1) {
        return Cow::Borrowed(text);
    }
    let mut quoted = String::with_capacity(text.len() + 8);
    for character in text.chars() {
        match character {
            '\0' => quoted.extend([ESCAPE, '\u{1}']),
            ESCAPE => quoted.extend([ESCAPE, '\u{2}']),
            other => quoted.push(other),
        }
    }
    Cow::Owned(quoted)
}

/// Reads what [`quote`] has written.
pub(super) fn unquote(text: &str) -> Cow<'_, str> {
    if !text.contains(ESCAPE) {
        return Cow::Borrowed(text);
    }
    let mut plain = String::with_capacity(text.len());
    let mut characters = text.chars();
    while let Some(character) = characters.next() {
        match character {
            ESCAPE if characters.next() == Some('\u{1}') => plain.push('\0'),
            other => plain.push(other),
        }
    }
    Cow::Owned(plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXTS: [&str; 9] =
        ["", "\0", "\0\0", "\0\u{1}", "\u{1}", "\u{1}\0", "\u{1}\u{1}", "\u{2}", "plain é"];

    #[test]
    fn every_text_comes_back_and_has_no_nul_in_between() {
        for text in TEXTS {
            let quoted = quote(text);
            assert!(!quoted.contains('\0'));
            assert_eq!(unquote(&quoted), text);
        }
    }

    #[test]
    fn the_order_of_texts_is_kept() {
        for first in TEXTS {
            for second in TEXTS {
                assert_eq!(quote(first).cmp(&quote(second)), first.cmp(second));
            }
        }
    }
}
