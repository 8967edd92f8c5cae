//! The parts of a message, in the order in which they stand on the command line.

use std::{
    fs,
    io::Read as _,
    path::{Path, PathBuf},
};

use clap::{Arg, ArgAction, ArgMatches, Command, error::ErrorKind};
use nuncio_protocol::{json::Raw, message::Part};

use crate::failure::Failure;

/// What `--text`, `--file`, `--data` and `--media-type` ask for.
#[derive(Clone, Debug, Default)]
pub(crate) struct Parts(Vec<Wanted>);

#[derive(Clone, Debug)]
struct Wanted {
    kind: Kind,
    value: String,
    media_type: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Text,
    File,
    Data,
}

const KINDS: [(&str, Kind); 3] = [("text", Kind::Text), ("file", Kind::File), ("data", Kind::Data)];
const MEDIA_TYPE: &str = "media-type";

impl Parts {
    /// Reads what has to be read, and puts the text of the command line in front.
    pub(crate) fn read(self, text: Option<&str>) -> Result<Vec<Part>, Failure> {
        let mut parts = Vec::new();
        match text {
            Some("-") => {
                let text = String::from_utf8(read_input()?).map_err(|_| {
                    Failure::usage("standard input: it is not UTF-8; send it with --file")
                })?;
                parts.push(Part::text(text));
            }
            Some(text) => parts.push(Part::text(text)),
            None => {}
        }
        for wanted in self.0 {
            parts.push(wanted.read()?);
        }
        if parts.is_empty() {
            return Err(Failure::usage("there is nothing to send").hint(
                "say something, such as `nuncio send -a localhost:7420 hello`; `-` reads standard input",
            ));
        }
        Ok(parts)
    }
}

impl Wanted {
    fn read(self) -> Result<Part, Failure> {
        let Self { kind, value, media_type } = self;
        let part = match kind {
            Kind::Text => Part::text(value),
            Kind::Data => Part::data(read_data(&value)?),
            // The agent fetches it: nobody here does.
            Kind::File if value.starts_with("https://") || value.starts_with("http://") => {
                let name = value.split(['?', '#']).next().and_then(|path| path.rsplit_once('/'));
                let guessed = name.and_then(|(_, name)| guess(Path::new(name)));
                let part = Part::url(value);
                with_media_type(part, guessed)
            }
            Kind::File => {
                let path = PathBuf::from(&value);
                let bytes = read_file(&path)?;
                let name = path.file_name().map(|name| name.to_string_lossy().into_owned());
                let part = Part::raw(bytes).with_filename(name.unwrap_or_default());
                with_media_type(part, guess(&path))
            }
        };
        Ok(with_media_type(part, media_type.as_deref()))
    }
}

fn with_media_type(part: Part, media_type: Option<&str>) -> Part {
    match media_type {
        Some(media_type) => part.with_media_type(media_type),
        None => part,
    }
}

fn read_data(value: &str) -> Result<Raw, Failure> {
    let bytes = if value == "-" { read_input()? } else { read_file(Path::new(value))? };
    let place = if value == "-" { "standard input" } else { value };
    let wrong = |what: String| Failure::usage(format!("--data: {place}: {what}"));
    let text = std::str::from_utf8(&bytes).map_err(|error| wrong(error.to_string()))?;
    Raw::parse_text(text).map_err(|error| wrong(error.to_string()))
}

fn read_file(path: &Path) -> Result<Vec<u8>, Failure> {
    fs::read(path).map_err(|error| Failure::usage(format!("read {}: {error}", path.display())))
}

fn read_input() -> Result<Vec<u8>, Failure> {
    let mut bytes = Vec::new();
    let read = std::io::stdin().read_to_end(&mut bytes);
    read.map_err(|error| Failure::internal(format!("read standard input: {error}")))?;
    Ok(bytes)
}

/// Guesses a media type by the end of a name. Who knows better says `--media-type`.
fn guess(path: &Path) -> Option<&'static str> {
    let end = path.extension()?.to_str()?.to_ascii_lowercase();
    Some(match end.as_str() {
        "txt" | "log" => "text/plain",
        "md" => "text/markdown",
        "csv" => "text/csv",
        "html" | "htm" => "text/html",
        "json" => "application/json",
        "yaml" | "yml" => "application/yaml",
        "xml" => "application/xml",
        "pdf" => "application/pdf",
        "zip" => "application/zip",
        "png" => "image/png",
        "jpg" | "jpeg" => "image/jpeg",
        "gif" => "image/gif",
        "webp" => "image/webp",
        "svg" => "image/svg+xml",
        "mp3" => "audio/mpeg",
        "wav" => "audio/wav",
        "mp4" => "video/mp4",
        _ => return None,
    })
}

impl clap::Args for Parts {
    fn augment_args(command: Command) -> Command {
        let arg = |name: &'static str, value: &'static str, help: &'static str| {
            Arg::new(name)
                .long(name)
                .value_name(value)
                .help(help)
                .action(ArgAction::Append)
                .help_heading("Message")
                .allow_hyphen_values(true)
        };
        command
            .arg(arg("text", "TEXT", "Add a text. Parts are sent in the order given here"))
            .arg(arg("file", "FILE|URL", "Add a file; of a URL only the address is sent"))
            .arg(arg("data", "FILE|-", "Add JSON data from a file or standard input"))
            .arg(arg(MEDIA_TYPE, "TYPE", "Set the media type of the part before it"))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl clap::FromArgMatches for Parts {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let mut given: Vec<(usize, Option<Kind>, &String)> = Vec::new();
        let names = KINDS.map(|(name, kind)| (name, Some(kind)));
        for (name, kind) in names.into_iter().chain([(MEDIA_TYPE, None)]) {
            let places = matches.indices_of(name).into_iter().flatten();
            let values = matches.get_many::<String>(name).into_iter().flatten();
            given.extend(places.zip(values).map(|(place, value)| (place, kind, value)));
        }
        given.sort_by_key(|(place, ..)| *place);
        let mut parts: Vec<Wanted> = Vec::new();
        for (_, kind, value) in given {
            match (kind, parts.last_mut()) {
                (Some(kind), _) => {
                    parts.push(Wanted { kind, value: value.clone(), media_type: None });
                }
                (None, Some(part)) => part.media_type = Some(value.clone()),
                (None, None) => {
                    return Err(clap::Error::raw(
                        ErrorKind::MissingRequiredArgument,
                        "--media-type belongs to the --text, --file or --data before it, and there is none\n",
                    ));
                }
            }
        }
        Ok(Self(parts))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}
