//! What a run is given on the command line.

use std::{collections::BTreeMap, fs};

use clap::Args;
use nuncio_protocol::json::Raw;

use crate::failure::Failure;

/// Flags that say what a run is given.
#[derive(Debug, Args)]
#[group(skip)]
pub(crate) struct Inputs {
    /// Give an input of the workflow a text; `NAME=@FILE` reads it from a file. May be repeated.
    #[arg(long = "input", value_name = "NAME=TEXT", value_parser = pair)]
    texts: Vec<(String, String)>,

    /// Give an input of the workflow any JSON. May be repeated.
    #[arg(long = "input-json", value_name = "NAME=JSON", value_parser = pair)]
    json: Vec<(String, String)>,
}

fn pair(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, value)) if !name.is_empty() => Ok((name.to_owned(), value.to_owned())),
        _ => Err("expected NAME=VALUE, such as topic=otters".to_owned()),
    }
}

impl Inputs {
    /// Reads what has to be read.
    pub(crate) fn read(&self) -> Result<BTreeMap<String, Raw>, Failure> {
        let texts = self.texts.iter().map(|(name, text)| (name, text_of(name, text)));
        let json = self.json.iter().map(|(name, text)| {
            let value = Raw::parse_text(text).map_err(|error| {
                Failure::usage(format!("--input-json {name}: {error}"))
                    .hint(format!("for a text, write --input {name}=TEXT"))
            });
            (name, value)
        });
        let mut inputs = BTreeMap::new();
        for (name, value) in texts.chain(json) {
            if inputs.insert(name.clone(), value?).is_some() {
                return Err(Failure::usage(format!("the input `{name}` is given twice")));
            }
        }
        Ok(inputs)
    }
}

fn text_of(name: &str, text: &str) -> Result<Raw, Failure> {
    let Some(file) = text.strip_prefix('@') else { return Ok(Raw::string(text)) };
    let bytes = fs::read(file).map_err(|error| {
        Failure::usage(format!("--input {name}: read {file}: {error}"))
            .hint(format!("for a text that begins with @, write --input-json '{name}=\"@…\"'"))
    })?;
    let text = String::from_utf8(bytes);
    let text = text.map_err(|_| Failure::usage(format!("--input {name}: {file} is no text")))?;
    Ok(Raw::string(&text))
}
