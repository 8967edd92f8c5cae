//! A `nuncio.yaml` in the making.

use std::{collections::HashSet, fmt::Write as _};

use nuncio_hub::name::{AgentName, Look, MAX_BYTES};

use super::{super::WebUrl, Kind};
use crate::inert::inert;

/// A `nuncio.yaml` in the making.
#[derive(Debug, Default)]
pub(super) struct Draft {
    /// Lists by their keys, in order.
    sections: Vec<(&'static str, String)>,
    notes: Vec<String>,
    /// What the names look like that are given already.
    looks: HashSet<Look>,
}

impl Draft {
    /// Names an agent after its title, unlike those before.
    pub(super) fn name(&mut self, title: &str) -> AgentName {
        self.first_free([title.to_owned()])
    }

    /// Names an agent after the host of its URL, unlike those before.
    pub(super) fn name_for(&mut self, url: &WebUrl) -> AgentName {
        let parsed = url::Url::parse(url.as_str()).ok();
        let host = match parsed.as_ref().and_then(url::Url::host) {
            // A name that looks like an address would be taken for one: `nuncio send -a`.
            Some(url::Host::Ipv4(address)) => address.to_string().replace('.', "-"),
            Some(host) => host.to_string(),
            None => String::new(),
        };
        let port = parsed.as_ref().and_then(url::Url::port);
        let with_port = port.map(|port| format!("{host}-{port}"));
        self.first_free([host].into_iter().chain(with_port))
    }

    fn first_free(&mut self, wanted: impl IntoIterator<Item = String>) -> AgentName {
        let mut names: Vec<_> = wanted.into_iter().filter_map(|text| fit(&text)).collect();
        names.extend(names.is_empty().then(|| fit("agent")).flatten());
        let stem = names.first().map(|name| name.as_str().to_owned()).unwrap_or_default();
        let numbered = (2_u64..).filter_map(|number| {
            let end = format!("-{number}");
            let kept = stem.len().min(MAX_BYTES - end.len());
            fit(&(stem[..kept].to_owned() + &end))
        });
        let mut candidates = names.into_iter().chain(numbered);
        loop {
            // There is always another number.
            if let Some(name) = candidates.next().filter(|name| self.looks.insert(name.look())) {
                return name;
            }
        }
    }

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

/// Makes a name of a text, as it is if it can be one.
pub(super) fn fit(text: &str) -> Option<AgentName> {
    AgentName::parse(&text.to_ascii_lowercase()).ok().or_else(|| AgentName::from_title(text))
}

/// Returns a text in quotes, so that YAML reads it as it is and nothing is replaced in it.
pub(super) fn quoted(text: &str) -> String {
    serde_json::Value::from(text.replace('$', "$$")).to_string()
}

/// A comment ends with its line.
fn one_line(text: &str) -> String {
    text.chars().map(|letter| if letter.is_control() { ' ' } else { letter }).collect()
}
