//! What is printed, against what is said to be.

use regex::Regex;

/// What is different in every run.
const VOLATILE: [&str; 7] = [
    r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b",
    r"\bnk_[A-Za-z0-9_-]{8,}",
    r"--after \d+",
    r"20\d\d-\d\d-\d\dT[0-9:.]+Z",
    r"\b\d+[smh] ago\b|\bnow\b",
    r"\b\d+(?:\.\d+)? (?:ms|s)\b",
    r"\b\d+\.\d\b",
];

/// So many of them, the first ones, are typed again later.
const TYPED_AGAIN: usize = 3;

/// What stands on the page for what there really is.
#[derive(Default)]
pub(super) struct Known(Vec<(String, String)>);

impl Known {
    /// Returns a command as it has to be typed here.
    pub(super) fn meant(&self, typed: &str) -> String {
        self.0.iter().fold(typed.to_owned(), |text, (told, found)| text.replace(told, found))
    }

    /// Compares, and learns what stands for what.
    pub(super) fn compare(&mut self, told: &str, printed: &str) -> Result<(), String> {
        let (pattern, tokens) = pattern(told.trim_end());
        let pattern = Regex::new(&pattern).map_err(|error| error.to_string())?;
        let found = pattern.captures(printed.trim_end());
        let found = found.ok_or_else(|| format!("as {pattern}"))?;
        for (place, (kind, told)) in tokens.into_iter().enumerate() {
            let is_known = self.0.iter().any(|(known, _)| *known == told);
            if kind < TYPED_AGAIN && !is_known {
                self.0.push((told, found[place + 1].to_owned()));
            }
        }
        Ok(())
    }
}

/// Makes a pattern of what is said to be printed, with a group for everything that is different
/// in every run; returns these, too, each with its kind.
fn pattern(told: &str) -> (String, Vec<(usize, String)>) {
    let kinds = VOLATILE.map(|kind| Regex::new(kind).expect("a pattern"));
    let (mut pattern, mut tokens) = ("^".to_owned(), Vec::new());
    let mut rest = told;
    while !rest.is_empty() {
        let next = kinds.iter().enumerate().filter_map(|(kind, one)| Some((kind, one.find(rest)?)));
        let Some((kind, next)) = next.min_by_key(|(kind, found)| (found.start(), *kind)) else {
            pattern.push_str(&literal(rest));
            break;
        };
        pattern.extend([&literal(&rest[..next.start()]), "(", VOLATILE[kind], ")"]);
        tokens.push((kind, next.as_str().to_owned()));
        rest = &rest[next.end()..];
    }
    pattern.push('$');
    (pattern, tokens)
}

/// Makes a pattern of a text: blanks of any number, and anything for `…`.
fn literal(text: &str) -> String {
    let text = regex::escape(text).replace('…', "(?s:.*?)");
    let blanks = Regex::new("[ \t]+").expect("a pattern").replace_all(&text, "[ \t]+");
    let lines = blanks.replace('\n', "[ \t]*\n");
    lines.replace("[ \t]+[ \t]*\n", "[ \t]*\n")
}

/// Returns what a text must have reached to be broken off: the end of its last line.
pub(super) fn last_words(before: &str) -> &str {
    before.lines().last().unwrap_or_default().trim()
}

#[cfg(test)]
mod tests {
    use super::*;

    const TOLD: &str = "Task: 01a1e396-f89e-710f-a97b-9a1f7191c774\nText: a …\n";
    const FOUND: &str = "Task: 02a1e396-f89e-710f-a97b-9a1f7191c775\nText: a  b c\n";

    #[test]
    fn what_is_printed_is_typed_again_as_it_really_is() {
        let mut known = Known::default();
        known.compare(TOLD, FOUND).expect("it is the same");
        let typed = "nuncio tasks show 01a1e396-f89e-710f-a97b-9a1f7191c774";
        let meant = "nuncio tasks show 02a1e396-f89e-710f-a97b-9a1f7191c775";
        assert_eq!(known.meant(typed), meant);
    }

    #[test]
    fn another_text_is_not_the_same() {
        for found in ["", "Text: a b", &FOUND.replace("Text", "Words"), &format!("{FOUND}more")] {
            let is_same = Known::default().compare(TOLD, found).is_ok();
            assert_eq!(is_same, found.ends_with("more"), "{found}");
        }
        assert!(Known::default().compare("a\n", "a\nb\n").is_err());
    }
}
