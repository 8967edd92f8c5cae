//! What goes to standard output: the result, and nothing else.
//!
//! Texts of agents are strangers' words. In `text` everything that a terminal would obey is
//! spelled out, and lines behind the first are indented, so that no text can pass for a field;
//! in `json` the same characters are escaped, which changes nothing for whoever reads JSON.

use std::{
    fmt::Write as _,
    io::{self, Write},
};

use anstyle::Style;
use clap::ValueEnum;

use crate::terminal;

/// The form of results.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// `Label: value`, one field a line.
    #[default]
    Text,
    /// What the protocol says, as JSON.
    Json,
}

/// Writes results.
pub(crate) struct Output {
    format: Format,
    is_verbose: bool,
    has_colour: bool,
    target: Box<dyn Write + Send>,
    block: Option<Block>,
    /// Whether what was said last ended its line.
    is_at_line_start: bool,
}

/// A text that is still growing.
struct Block {
    /// Whose text it is.
    owner: String,
    is_at_line_start: bool,
}

const INDENT: &str = "  ";

impl Output {
    pub(crate) fn new(format: Format, is_verbose: bool) -> Self {
        Self {
            format,
            is_verbose,
            has_colour: terminal::has_colour(&io::stdout()),
            target: Box::new(io::stdout()),
            block: None,
            is_at_line_start: true,
        }
    }

    pub(crate) fn is_json(&self) -> bool {
        self.format == Format::Json
    }

    /// Tells whether people want to see everything.
    pub(crate) const fn is_verbose(&self) -> bool {
        self.is_verbose
    }

    /// Writes one document on one line.
    pub(crate) fn json(&mut self, text: &str) -> io::Result<()> {
        let line = inert_json(text);
        writeln!(self.target, "{line}")?;
        self.target.flush()
    }

    /// Writes a field; a value of several lines becomes a block.
    pub(crate) fn field(&mut self, label: &str, value: &str) -> io::Result<()> {
        self.close()?;
        let value = value.strip_suffix('\n').unwrap_or(value);
        if !value.contains('\n') {
            writeln!(self.target, "{label}: {}", inert(value))?;
            return self.target.flush();
        }
        self.grow(label, "", value)?;
        self.close()
    }

    /// Writes a field of one line that says how something stands.
    pub(crate) fn standing(&mut self, label: &str, value: &str, style: Style) -> io::Result<()> {
        if !self.has_colour {
            return self.field(label, value);
        }
        self.close()?;
        writeln!(self.target, "{label}: {}", terminal::painted(style, &inert(value)))?;
        self.target.flush()
    }

    /// Writes a piece of a text that comes in pieces.
    pub(crate) fn grow(&mut self, label: &str, owner: &str, piece: &str) -> io::Result<()> {
        if self.block.as_ref().is_none_or(|block| block.owner != owner) {
            self.close()?;
            writeln!(self.target, "{label}:")?;
            self.block = Some(Block { owner: owner.to_owned(), is_at_line_start: true });
        }
        let Some(block) = &mut self.block else { return Ok(()) };
        let mut text = String::with_capacity(piece.len() + 8);
        for line in piece.split_inclusive('\n') {
            if block.is_at_line_start {
                text.push_str(INDENT);
            }
            block.is_at_line_start = line.ends_with('\n');
            text.push_str(&inert(line.strip_suffix('\n').unwrap_or(line)));
            if block.is_at_line_start {
                text.push('\n');
            }
        }
        self.target.write_all(text.as_bytes())?;
        self.target.flush()
    }

    /// Writes text as it comes, without a label: for people who talk with an agent.
    pub(crate) fn say(&mut self, text: &str) -> io::Result<()> {
        if text.is_empty() {
            return Ok(());
        }
        self.is_at_line_start = text.ends_with('\n');
        let lines: Vec<String> = text.split('\n').map(inert).collect();
        self.target.write_all(lines.join("\n").as_bytes())?;
        self.target.flush()
    }

    /// Writes a line without a label.
    pub(crate) fn line(&mut self, text: &str) -> io::Result<()> {
        self.close()?;
        writeln!(self.target, "{}", inert(text))?;
        self.target.flush()
    }

    /// Ends the line of what was said.
    pub(crate) fn end_line(&mut self) -> io::Result<()> {
        if self.is_at_line_start { Ok(()) } else { self.say("\n") }
    }

    /// Ends the text that is growing.
    pub(crate) fn close(&mut self) -> io::Result<()> {
        if let Some(block) = self.block.take() {
            let end = if block.is_at_line_start { "\n" } else { "\n\n" };
            self.target.write_all(end.as_bytes())?;
        }
        self.target.flush()
    }
}

/// Says something to people that is no result.
#[expect(clippy::print_stderr, reason = "for people")]
pub(crate) fn note(text: &str) {
    let text = inert_lines(text);
    let warning = text.strip_prefix(WARNING).filter(|_| terminal::has_colour(&io::stderr()));
    match warning {
        Some(rest) => eprintln!("{}{rest}", terminal::painted(terminal::CARE, WARNING)),
        None => eprintln!("{text}"),
    }
}

const WARNING: &str = "warning:";

/// Returns a text of one line that no terminal obeys.
pub(crate) fn inert(text: &str) -> String {
    spell_out(text, |letter| is_active(letter) || letter == '\n')
}

fn inert_lines(text: &str) -> String {
    spell_out(text, is_active)
}

fn spell_out(text: &str, is_active: impl Fn(char) -> bool) -> String {
    let mut shown = String::with_capacity(text.len());
    for letter in text.chars() {
        if is_active(letter) {
            shown.extend(letter.escape_unicode());
        } else {
            shown.push(letter);
        }
    }
    shown
}

/// Returns a JSON text on one line, with everything escaped that a terminal would obey.
fn inert_json(text: &str) -> String {
    let mut line = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            // Outside of strings these are white space, inside they cannot be.
            '\n' | '\r' | '\t' => {}
            letter if is_active(letter) => {
                let mut units = [0; 2];
                for unit in letter.encode_utf16(&mut units) {
                    // Writing to a string cannot fail.
                    let _ = write!(line, "\\u{unit:04x}");
                }
            }
            letter => line.push(letter),
        }
    }
    line
}

/// Tells whether a character may do something else than show itself: control codes, and what
/// turns the direction of text around, breaks lines or hides.
const fn is_active(letter: char) -> bool {
    match letter {
        '\n' | '\t' => false,
        '\u{0}'..='\u{1f}'
        | '\u{7f}'..='\u{9f}'
        | '\u{61c}'
        | '\u{200e}'
        | '\u{200f}'
        | '\u{feff}'
        | '\u{2028}'..='\u{202e}'
        | '\u{2066}'..='\u{2069}'
        | '\u{e0000}'..='\u{e007f}' => true,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use super::*;

    #[derive(Clone, Default)]
    struct Written(Arc<Mutex<Vec<u8>>>);

    impl Write for Written {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap().extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[track_caller]
    fn check(write: impl FnOnce(&mut Output) -> io::Result<()>, expected: &str) {
        let written = Written::default();
        let mut output = Output {
            format: Format::Text,
            is_verbose: false,
            has_colour: false,
            target: Box::new(written.clone()),
            block: None,
            is_at_line_start: true,
        };
        write(&mut output).unwrap();
        assert_eq!(String::from_utf8(written.0.lock().unwrap().clone()).unwrap(), expected);
    }

    #[test]
    fn a_value_of_one_line_is_a_field_and_a_longer_one_a_block() {
        check(|output| output.field("Text", "hello\n"), "Text: hello\n");
        check(|output| output.field("Text", "a\n\nb"), "Text:\n  a\n  \n  b\n\n");
    }

    #[test]
    fn no_text_of_an_agent_can_pass_for_a_field_or_command_a_terminal() {
        check(
            |output| output.field("Text", "x\nState: COMPLETED\u{1b}[2J\r\u{202e}"),
            "Text:\n  x\n  State: COMPLETED\\u{1b}[2J\\u{d}\\u{202e}\n\n",
        );
        check(
            |output| output.json("{\"a\":\n\t\"\u{9b}\u{e0041}\"}"),
            "{\"a\":\"\\u009b\\udb40\\udc41\"}\n",
        );
    }

    #[test]
    fn a_text_in_pieces_is_one_block() {
        check(
            |output| {
                output.grow("Text", "1", "Otters ")?;
                output.grow("Text", "1", "swim.\nThey")?;
                output.grow("Text", "1", " dive.\n")?;
                output.grow("Text", "2", "x")?;
                output.field("State", "COMPLETED")
            },
            "Text:\n  Otters swim.\n  They dive.\n\nText:\n  x\n\nState: COMPLETED\n",
        );
    }
}
