//! A page, taken apart.

/// What there is to try on a page.
pub(super) struct Page {
    pub(super) blocks: Vec<Block>,
}

/// A block of code, or a comment that is run.
pub(super) struct Block {
    /// Where it begins.
    pub(super) line: usize,
    pub(super) language: String,
    /// What its first line says behind the language.
    note: String,
    pub(super) text: String,
}

/// Something that is typed.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Step {
    Succeeds(String),
    /// With what it is said to print.
    Prints(String, String),
}

const LANGUAGES: [&str; 6] = ["sh", "console", "yaml", "json", "rust", "text"];
const COMMENT: &str = "<!-- run";
const LEFT_OUT: &str = "not-run:";

impl Page {
    pub(super) fn read(text: &str) -> Result<Self, String> {
        let mut blocks = Vec::new();
        let mut lines = text.lines().enumerate();
        while let Some((place, line)) = lines.next() {
            let (end, first) = match line.strip_prefix("```") {
                Some(first) => ("```", first),
                None if line.trim_end() == COMMENT => ("-->", "sh"),
                None => continue,
            };
            let (language, note) = first.split_once(' ').unwrap_or((first, ""));
            if !LANGUAGES.contains(&language) {
                return Err(format!("{}: a block of `{language}`; use {LANGUAGES:?}", place + 1));
            }
            let mut text = String::new();
            loop {
                match lines.next() {
                    Some((_, line)) if line.trim_end() == end => break,
                    Some((_, line)) => text.extend([line, "\n"]),
                    None => return Err(format!("{}: the block does not end", place + 1)),
                }
            }
            let (language, note) = (language.to_owned(), note.trim().to_owned());
            blocks.push(Block { line: place + 1, language, note, text });
        }
        Ok(Self { blocks: blocks.into_iter().filter(|block| !block.is_left_out()).collect() })
    }
}

impl Block {
    /// A reason is more than a word.
    fn is_left_out(&self) -> bool {
        let reason = self.note.strip_prefix(LEFT_OUT);
        reason.is_some_and(|reason| reason.split_whitespace().count() > 1)
    }

    /// Returns the file that it is, or is a part of.
    pub(super) fn file(&self) -> Option<&str> {
        Some(self.note.as_str()).filter(|note| !note.is_empty())
    }

    /// Returns what is typed, each with its line.
    pub(super) fn steps(&self) -> Result<Vec<(usize, Step)>, String> {
        let is_session = self.language == "console";
        if !is_session && self.language != "sh" {
            return Ok(Vec::new());
        }
        if !self.note.is_empty() {
            return Err(format!("`{}` is no reason: write `not-run: …`", self.note));
        }
        let mut steps: Vec<(usize, Step)> = Vec::new();
        let mut lines = self.text.lines().enumerate().peekable();
        while let Some((place, line)) = lines.next() {
            let line_number = self.line + 1 + place;
            if is_session && !line.starts_with("$ ") {
                let Some((_, Step::Prints(_, told))) = steps.last_mut() else {
                    return Err("a session begins with a command".to_owned());
                };
                told.extend([line, "\n"]);
                continue;
            }
            let mut typed = line.strip_prefix("$ ").unwrap_or(line).to_owned();
            while !is_whole(&typed) {
                let Some((_, more)) = lines.next() else {
                    return Err(format!("the command does not end: {typed}"));
                };
                typed.extend(["\n", more.strip_prefix("> ").unwrap_or(more)]);
            }
            if typed.trim().is_empty() || typed.trim_start().starts_with('#') {
                continue;
            }
            let step =
                if is_session { Step::Prints(typed, String::new()) } else { Step::Succeeds(typed) };
            steps.push((line_number, step));
        }
        Ok(steps)
    }
}

/// Tells whether a shell would run this, and not wait for more.
fn is_whole(typed: &str) -> bool {
    let mut quote = None;
    let mut letters = typed.chars();
    let mut is_comment = false;
    let mut before = ' ';
    while let Some(letter) = letters.next() {
        match (quote, letter) {
            (None, '\n') => is_comment = false,
            _ if is_comment => {}
            (None, '#') if before.is_whitespace() => is_comment = true,
            (None, '\'' | '"') => quote = Some(letter),
            (Some(open), letter) if open == letter => quote = None,
            (None | Some('"'), '\\') => {
                if letters.next().is_none() {
                    return false;
                }
            }
            _ => {}
        }
        before = letter;
    }
    let end = typed.trim_end();
    quote.is_none() && !end.ends_with('|') && !end.ends_with("&&")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn steps(text: &str) -> Vec<Step> {
        let page = Page::read(text).expect("a page");
        let steps = page.blocks.iter().map(|block| block.steps().expect("commands"));
        steps.flatten().map(|(_, step)| step).collect()
    }

    #[test]
    fn a_command_goes_on_until_a_shell_would_run_it() {
        let found = steps("```sh\na 'b\nc' # it's\nd \\\n  e\nf |\n  g\n```\n");
        let expected = ["a 'b\nc' # it's", "d \\\n  e", "f |\n  g"];
        assert_eq!(found, expected.map(|typed| Step::Succeeds(typed.to_owned())));
    }

    #[test]
    fn a_session_is_commands_and_what_they_print() {
        let found = steps("```console\n$ a\nb\n$ c\n```\n");
        let prints = |typed: &str, told: &str| Step::Prints(typed.to_owned(), told.to_owned());
        assert_eq!(found, [prints("a", "b\n"), prints("c", "")]);
    }

    #[test]
    fn only_a_reason_leaves_a_block_out() {
        assert_eq!(steps("```sh not-run: needs a key\na\n```\n"), []);
        for first in ["not-run:", "not-run: no", "later"] {
            let page = Page::read(&format!("```sh {first}\na\n```\n")).expect("a page");
            assert!(page.blocks[0].steps().is_err(), "{first}");
        }
        assert!(Page::read("```\na\n```\n").is_err());
        assert!(Page::read("```sh,ignore\na\n```\n").is_err());
    }
}
