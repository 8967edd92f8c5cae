//! `nuncio config check|schema|import`, for the hub's file.

use std::{
    env, fs,
    io::Write as _,
    path::{Path, PathBuf},
};

use clap::{Args, ValueEnum};
use nuncio::configuration::{
    Error, FILE_NAME, Flags, Layers, Place,
    import::{self, Kind},
    schema as describe,
};

use crate::{
    failure::Failure,
    output::{Output, note},
};

#[derive(Debug, Args)]
pub(crate) struct Schema {
    /// Print the tables of the reference page.
    #[arg(long)]
    markdown: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Import {
    /// The file.
    file: PathBuf,

    /// Whose file it is, if its content does not tell.
    #[arg(long, value_enum, value_name = "PROGRAM")]
    from: Option<From>,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum From {
    Harbor,
    Pocketpaw,
    Opportunity,
}

impl From {
    const fn kind(self) -> Kind {
        match self {
            Self::Harbor => Kind::Harbor,
            Self::Pocketpaw => Kind::PocketPaw,
            Self::Opportunity => Kind::Opportunity,
        }
    }
}

/// Returns the hub's file, if it is in the working folder.
pub(super) fn file_here() -> Option<PathBuf> {
    Some(PathBuf::from(FILE_NAME)).filter(|file| file.is_file())
}

pub(super) fn check(file: &Path, output: &mut Output) -> Result<(), Failure> {
    let layers = Layers::of_process(Some(file.to_owned()), Flags::default());
    let loaded = layers.load().map_err(|error| refused(&error))?;
    for warning in &loaded.warnings {
        note(&format!("warning: {warning}"));
    }
    if output.is_json() {
        output.json(&format!(r#"{{"ok":true,"warnings":{}}}"#, loaded.warnings.len()))?;
    } else {
        output.field("Configuration", &format!("{} is good", file.display()))?;
    }
    Ok(())
}

/// Says all that is wrong with a configuration.
pub(crate) fn refused(error: &Error) -> Failure {
    if let [only] = error.problems() {
        let failure = Failure::usage(only.without_remedy());
        return match only.remedy() {
            Some(remedy) => failure.hint(remedy),
            None => failure,
        };
    }
    if let Error::Unreadable { source, .. } = error {
        return Failure::usage(format!("{error}: {source}"));
    }
    for problem in error.problems() {
        note(&problem.to_string());
    }
    let file = error.problems().iter().find_map(|problem| match problem.place() {
        Place::File { path, .. } => path.as_ref(),
        Place::Variable(_) => None,
    });
    let file = file.map_or_else(|| "the configuration".into(), |file| file.to_string_lossy());
    match error.problems().len() {
        0 => Failure::usage(error.to_string()),
        count => Failure::usage(format!("{count} mistakes in {file}")),
    }
}

pub(super) fn schema(schema: &Schema) -> Result<(), Failure> {
    print(&if schema.markdown { describe::reference() } else { describe::json_schema() })
}

pub(super) fn import(import: &Import) -> Result<(), Failure> {
    let Import { file, from } = import;
    let text = fs::read_to_string(file)
        .map_err(|error| Failure::usage(format!("read {}: {error}", file.display())))?;
    let environment = env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
        .collect();
    let yaml = import::import(&text, from.map(From::kind), &environment).map_err(|error| {
        Failure::usage(format!("{}: {error}", file.display()))
            .hint("--from harbor, pocketpaw or opportunity says whose file it is")
    })?;
    print(&yaml)
}

fn print(text: &str) -> Result<(), Failure> {
    let mut out = std::io::stdout().lock();
    out.write_all(text.as_bytes())?;
    Ok(out.flush()?)
}
