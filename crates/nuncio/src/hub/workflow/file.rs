//! Files with workflows.

use std::{
    fs,
    io::{self, Read},
    path::Path,
};

use nuncio_hub::name::AgentName;
use nuncio_workflow::{
    document::{self, MAX_BYTES},
    graph::Workflow,
    problem::Problem,
    validate::{Known, validate},
};

use crate::failure::Failure;

/// A file with a workflow, as it was written.
pub(super) struct File {
    /// What the user calls it.
    pub(super) path: String,
    pub(super) text: String,
}

impl File {
    /// Tells whether a word means a file: there is one, or it looks like one.
    pub(super) fn is_meant(word: &str) -> bool {
        let path = Path::new(word);
        let end = path.extension().and_then(|end| end.to_str());
        word == "-"
            || word.contains(std::path::MAIN_SEPARATOR)
            || matches!(end, Some("yaml" | "yml" | "json"))
            || path.is_file()
    }

    /// Reads a file, or standard input for `-`. What is too large is told apart later.
    pub(super) fn read(path: &Path) -> Result<Self, Failure> {
        let name = path.display().to_string();
        let limit = u64::try_from(MAX_BYTES).unwrap_or(u64::MAX).saturating_add(1);
        let mut bytes = Vec::new();
        let read = if path == Path::new("-") {
            io::stdin().take(limit).read_to_end(&mut bytes)
        } else {
            fs::File::open(path).and_then(|file| file.take(limit).read_to_end(&mut bytes))
        };
        read.map_err(|error| Failure::usage(format!("read {name}: {error}")))?;
        // A letter may be cut in two by the limit; the file is refused for its size then.
        let text = match String::from_utf8(bytes) {
            Ok(text) => text,
            Err(error) if error.as_bytes().len() > MAX_BYTES => {
                String::from_utf8_lossy(error.as_bytes()).into_owned()
            }
            Err(_) => return Err(Failure::usage(format!("read {name}: it is no text"))),
        };
        Ok(Self { path: if name == "-" { "stdin".to_owned() } else { name }, text })
    }

    /// Returns what is wrong with it by itself and beside what is known, and the workflow if that
    /// is nothing but warnings.
    pub(super) fn check(&self, known: &Known) -> (Option<Workflow>, Vec<Problem>) {
        validate(&self.text, known)
    }

    /// Returns the name to keep it under: the one that is wished for, or what the file's makes.
    pub(super) fn name(&self, wish: Option<&AgentName>) -> Result<AgentName, Failure> {
        if let Some(name) = wish {
            return Ok(name.clone());
        }
        let document = document::Value::read(&self.text).ok();
        let title = document.as_ref().and_then(|document| document.get("name")?.as_text());
        let title = title.unwrap_or_default();
        let name = AgentName::parse(title).ok().or_else(|| AgentName::from_title(title));
        name.ok_or_else(|| {
            Failure::usage(format!(
                "{}: nothing of its name `{title}` can be an agent's",
                self.path
            ))
            .hint("save it with --name, or give the file a name with letters a-z or digits")
        })
    }
}
