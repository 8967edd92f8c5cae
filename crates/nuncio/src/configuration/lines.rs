//! On which line of a file each value stands.

use std::collections::BTreeMap;

use granit_parser::{Event, Parser};

use super::variables;

/// The lines of a file by keys such as `agents[0].url`.
#[derive(Debug, Default)]
pub(super) struct Lines(BTreeMap<String, Line>);

/// Where a value stands.
#[derive(Debug)]
pub(super) struct Line {
    /// From 1.
    pub(super) number: u64,
    /// From 1.
    pub(super) column: u64,
    /// Whether it is an object or a list, whose parts have lines of their own.
    has_parts: bool,
    /// Variables that it names.
    pub(super) variables: Vec<String>,
}

/// What is open while the file is read.
enum Open {
    Object { key: String, member: Option<String> },
    List { key: String, next: usize },
}

impl Lines {
    /// Reads a file. What is no YAML has no lines.
    pub(super) fn read(text: &str) -> Self {
        let mut lines = Self::default();
        let mut open: Vec<Open> = Vec::new();
        for (event, span) in Parser::new_from_str(text).map_while(Result::ok) {
            let (is_object, is_list) = (
                matches!(event, Event::MappingStart(..)),
                matches!(event, Event::SequenceStart(..)),
            );
            match &event {
                Event::MappingEnd | Event::SequenceEnd => {
                    open.pop();
                    continue;
                }
                Event::DocumentEnd => break,
                Event::Scalar(text, ..) => {
                    if let Some(Open::Object { member: member @ None, .. }) = open.last_mut() {
                        *member = Some(text.clone().into_owned());
                        continue;
                    }
                }
                Event::Alias(_) | Event::MappingStart(..) | Event::SequenceStart(..) => {}
                _ => continue,
            }
            let key = open.last_mut().map(Open::step).unwrap_or_default();
            let variables = match &event {
                Event::Scalar(text, ..) => variables::named(text),
                _ => Vec::new(),
            };
            let number = span.start.line().try_into().unwrap_or(0);
            let column = (span.start.col() + 1).try_into().unwrap_or(0);
            let has_parts = is_object || is_list;
            lines.0.insert(key.clone(), Line { number, column, has_parts, variables });
            if is_object {
                open.push(Open::Object { key, member: None });
            } else if is_list {
                open.push(Open::List { key, next: 0 });
            }
        }
        lines
    }

    /// Returns where a value itself stands.
    pub(super) fn find(&self, key: &str) -> Option<&Line> {
        self.0.get(key)
    }

    /// Returns the keys of values that name variables.
    pub(super) fn with_variables(&self) -> impl Iterator<Item = &str> {
        let named = self.0.iter().filter(|(_, line)| !line.variables.is_empty());
        named.map(|(key, _)| key.as_str())
    }

    /// Returns the line that a value comes from: its own, or that of what was put in for the
    /// whole of it. `None` if the file says nothing about it.
    pub(super) fn source(&self, key: &str) -> Option<&Line> {
        if let Some(line) = self.find(key) {
            return Some(line);
        }
        let mut above = key;
        while let Some(end) = above.rfind(['.', '[']) {
            above = &above[..end];
            if let Some(line) = self.find(above) {
                let merged = || self.find(&format!("{above}.<<"));
                return if line.has_parts { merged() } else { Some(line) };
            }
        }
        None
    }
}

impl Open {
    /// Returns the key of what comes next.
    fn step(&mut self) -> String {
        match self {
            Self::Object { key, member } => {
                let member = member.take().unwrap_or_default();
                if key.is_empty() { member } else { format!("{key}.{member}") }
            }
            Self::List { key, next } => {
                let index = *next;
                *next += 1;
                format!("{key}[{index}]")
            }
        }
    }
}
