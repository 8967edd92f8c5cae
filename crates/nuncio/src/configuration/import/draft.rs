//! A `nuncio.yaml` in the making.

use std::fmt::Write as _;

use crate::inert::inert;

use super::Kind;

/// A `nuncio.yaml` in the making.
#[derive(Debug, Default)]
pub(super) struct Draft {
    /// Lists by their keys, in order.
    sections: Vec<(&'static str, String)>,
    notes: Vec<String>,
}

impl Draft {
    /// Adds lines to a list or a map; each gets its indentation.
    pub(super) fn add(&mut self, section: &'static str, lines: &[String]) {
        let text = lines.iter().fold(String::new(), |text, line| text + "  " + line + "\n");
        match self.sections.iter_mut().find(|(name, _)| *name == section) {
            Some((_, begun)) => begun.push_str(&text),
            None => self.sections.push((section, text)),
        }
    }

    /// Says something about what is not there, or not as it was.
    pub(super) fn note(&mut self, note: impl Into<String>) {
        self.notes.push(note.into());
    }

    /// Says that a key was not taken over, and why.
    pub(super) fn left_out(&mut self, key: &str, why: &str) {
        self.note(format!("not taken over: {} ({why})", inert(key)));
    }

    pub(super) fn finish(self, kind: Kind) -> String {
        let mut text =
            format!("# Made by `nuncio config import` from a file of {}.\n", kind.as_str());
        for note in self.notes {
            // Writing to a string cannot fail.
            let _ = writeln!(text, "# - {}", one_line(&note));
        }
        for (name, lines) in self.sections {
            let _ = write!(text, "\n{name}:\n{lines}");
        }
        text
    }
}

/// Returns a text in quotes, so that YAML reads it as it is and nothing is replaced in it.
pub(super) fn quoted(text: &str) -> String {
    serde_json::Value::from(text.replace('$', "$$")).to_string()
}

/// A comment ends with its line.
fn one_line(text: &str) -> String {
    text.chars().map(|letter| if letter.is_control() { ' ' } else { letter }).collect()
}
