//! Characters that deceive the reader: control, direction and invisible ones.

use std::fmt::Write as _;

use super::{Report, Rule};

/// The longest excerpt of a card's text inside a message, in characters.
const EXCERPT: usize = 64;

/// Reports the first deceiving character of a text for people.
pub(super) fn check(report: &mut Report, field: impl Into<String>, text: &str) {
    if let Some((rule, found)) = find(text) {
        report.add(rule, field, format!("it contains U+{:04X}", u32::from(found)));
    }
}

/// Returns a text that can be shown as it is: shortened, deceiving characters spelled out.
pub fn inert(text: &str) -> String {
    let mut out = String::new();
    let mut before = None;
    for (count, found) in text.chars().enumerate() {
        if count == EXCERPT {
            out.push('…');
            break;
        }
        if found.is_control() || rule(before, found, None).is_some() {
            // Writing to a string cannot fail.
            let _ = write!(out, "{}", found.escape_unicode());
        } else {
            out.push(found);
        }
        before = Some(found);
    }
    out
}

fn find(text: &str) -> Option<(Rule, char)> {
    // Nearly every text is plain ASCII without anything special.
    if text.bytes().all(|byte| (0x20..0x7f).contains(&byte)) {
        return None;
    }
    let mut before = None;
    let mut rest = text.chars();
    while let Some(found) = rest.next() {
        if let Some(rule) = rule(before, found, rest.clone().next()) {
            return Some((rule, found));
        }
        before = Some(found);
    }
    None
}

fn rule(before: Option<char>, found: char, after: Option<char>) -> Option<Rule> {
    let foreign = |neighbour: Option<char>| neighbour.is_some_and(|found| !found.is_ascii());
    match found {
        // Descriptions have lines.
        '\n' | '\r' | '\t' => None,
        _ if found.is_control() => Some(Rule::ControlCharacter),
        '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => {
            Some(Rule::BidiCharacter)
        }
        // Joiners belong inside emoji and some scripts, never next to Latin letters.
        '\u{200c}' | '\u{200d}' if foreign(before) && foreign(after) => None,
        // One selector chooses how a character looks; several in a row carry hidden bytes.
        '\u{fe00}'..='\u{fe0f}' | '\u{e0100}'..='\u{e01ef}' => {
            before.is_none_or(is_selector).then_some(Rule::HiddenCharacter)
        }
        '\u{ad}'
        | '\u{34f}'
        | '\u{115f}'
        | '\u{1160}'
        | '\u{17b4}'
        | '\u{17b5}'
        | '\u{180b}'..='\u{180f}'
        | '\u{200b}'..='\u{200d}'
        | '\u{2028}'
        | '\u{2029}'
        | '\u{2060}'..='\u{2065}'
        | '\u{206a}'..='\u{206f}'
        | '\u{3164}'
        | '\u{feff}'
        | '\u{ffa0}'
        | '\u{fff0}'..='\u{fffb}'
        | '\u{e0000}'..='\u{e007f}' => Some(Rule::HiddenCharacter),
        _ => None,
    }
}

fn is_selector(found: char) -> bool {
    matches!(found, '\u{fe00}'..='\u{fe0f}' | '\u{e0100}'..='\u{e01ef}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: Option<Rule>) {
        assert_eq!(find(text).map(|(rule, _)| rule), expected, "{}", text.escape_unicode());
    }

    #[test]
    fn deceiving_characters_are_found() {
        check("pay\u{202e}lap", Some(Rule::BidiCharacter));
        check("Pay\u{200b}Pal", Some(Rule::HiddenCharacter));
        check("Pay\u{200d}Pal", Some(Rule::HiddenCharacter));
        check("\u{1b}[31mred", Some(Rule::ControlCharacter));
        check("\u{9b}31m", Some(Rule::ControlCharacter));
        check("nul\0", Some(Rule::ControlCharacter));
        check("tag \u{e0041}\u{e0042}", Some(Rule::HiddenCharacter));
        check("\u{1f600}\u{e0101}\u{e0102}", Some(Rule::HiddenCharacter));
        check("\u{feff}Echo", Some(Rule::HiddenCharacter));
    }

    #[test]
    fn honest_texts_of_any_script_pass() {
        for text in [
            "Echo",
            "two\nlines\tand a tab",
            "Übersetzer für 日本語 и русский",
            "👩\u{200d}🚀 and ❤\u{fe0f}",
            // Persian, with the joiner it is written with.
            "می\u{200c}خواهم",
        ] {
            check(text, None);
        }
    }

    #[test]
    fn an_excerpt_is_short_and_inert() {
        assert_eq!(inert("a\u{202e}b\u{1b}\n"), "a\\u{202e}b\\u{1b}\\u{a}");
        assert_eq!(inert(&"é".repeat(100)).chars().count(), 65);
    }
}
