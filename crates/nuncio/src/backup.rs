//! `nuncio backup` and `nuncio restore`: a copy of all that a hub keeps, and back.
//!
//! A copy is a folder with the same files as the data folder: the database, and the secrets
//! without which it would be worth little.

use std::{
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context as _, bail};
use clap::Args;
use nuncio::configuration::{Database, Flags, Layers};
use nuncio_store::sqlite::{DATABASE, Replace, SqliteStore};

use crate::data::{self, write_secret};

/// Copy everything that a hub keeps into a folder, also while it runs.
///
/// The copy has the database as it is at one moment, and the hub's secrets: keep it as safe as
/// the hub. A database in Postgres is copied with the tools of Postgres; the secrets still are
/// copied.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  nuncio backup ~/backups/nuncio
  nuncio backup /mnt/backups/nuncio --data-dir /var/lib/nuncio")]
pub(crate) struct Arguments {
    /// The folder to copy to; made if it is not there. An older copy in it is replaced.
    folder: PathBuf,

    #[command(flatten)]
    place: Place,
}

/// Put a copy of `nuncio backup` in place of what a hub keeps.
///
/// The hub must not run. The copy is checked first, and nothing changes if it is spoilt.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  nuncio restore ~/backups/nuncio
  nuncio restore ~/backups/nuncio --replace")]
pub(crate) struct RestoreArguments {
    /// The folder with the copy.
    folder: PathBuf,

    /// Replace what the hub keeps now. It is lost.
    #[arg(long)]
    replace: bool,

    #[command(flatten)]
    place: Place,
}

/// Where the hub keeps things.
#[derive(Debug, Args)]
struct Place {
    /// The hub's file; `nuncio.yaml` in the working folder otherwise, if it is there.
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,

    /// Where the hub keeps everything; the folder of its file, or of the user's otherwise.
    #[arg(long, value_name = "DIRECTORY")]
    data_dir: Option<PathBuf>,
}

impl Place {
    /// Finds the data folder, and tells whether the database is in it.
    fn find(&self) -> anyhow::Result<(PathBuf, bool)> {
        let flags = Flags { data_dir: self.data_dir.clone(), ..Flags::default() };
        let configuration = Layers::of_process(self.config.clone(), flags).load()?.configuration;
        let folder = data::folder_of_hub(configuration.data_dir.as_deref())?;
        match configuration.database {
            Database::Memory => bail!("`database` is `memory`: nothing is kept"),
            Database::Sqlite => Ok((folder, true)),
            Database::Postgres(_) => Ok((folder, false)),
        }
    }
}

#[expect(clippy::print_stderr, reason = "for people")]
pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<()> {
    let (from, has_database) = arguments.place.find()?;
    let to = &arguments.folder;
    if !from.is_dir() {
        bail!("{} is not there; name the hub's folder with --data-dir", from.display());
    }
    make_private(to)?;
    copy_secrets(&from, to)?;
    if has_database {
        SqliteStore::backup_of(&from, &to.join(DATABASE))?;
    } else {
        eprintln!("the database is in Postgres: copy it with pg_dump; these are the hub's secrets");
    }
    say("Backup", to);
    Ok(())
}

#[expect(clippy::print_stderr, reason = "for people")]
pub(crate) fn restore(arguments: &RestoreArguments) -> anyhow::Result<()> {
    let (to, has_database) = arguments.place.find()?;
    let from = &arguments.folder;
    if has_database {
        let database = from.join(DATABASE);
        if !database.is_file() {
            bail!("{} has no {DATABASE}: it is no copy of `nuncio backup`", from.display());
        }
        let replace = if arguments.replace { Replace::Existing } else { Replace::Never };
        SqliteStore::restore(&database, &to, replace).map_err(explain)?;
    } else {
        eprintln!("the database is in Postgres: restore it with pg_restore");
        make_private(&to)?;
    }
    copy_secrets(from, &to)?;
    say("Restored", &to);
    Ok(())
}

/// Says what to do about it, in the words of the command line.
fn explain(error: nuncio_store::sqlite::BackupError) -> anyhow::Error {
    use nuncio_store::sqlite::{BackupError, OpenError};
    match &error {
        BackupError::NotEmpty { path } => anyhow::anyhow!(
            "{} holds a database already; --replace puts the copy in its place",
            path.display()
        ),
        BackupError::Directory(OpenError::InUse { path }) => {
            anyhow::anyhow!("a hub uses {}; stop it first", path.display())
        }
        _ => error.into(),
    }
}

#[expect(clippy::print_stdout, reason = "the result of a command")]
fn say(what: &str, folder: &Path) {
    println!("{what}: {}", folder.display());
}

/// Copies what lies beside the database and is no part of it.
fn copy_secrets(from: &Path, to: &Path) -> anyhow::Result<()> {
    let files = fs::read_dir(from).with_context(|| format!("read {}", from.display()))?;
    for file in files {
        let path = file.with_context(|| format!("read {}", from.display()))?.path();
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        let is_secret = [".key", ".pem"].iter().any(|end| name.ends_with(end));
        if is_secret && path.is_file() {
            let bytes = fs::read(&path).with_context(|| format!("read {}", path.display()))?;
            write_secret(&to.join(name), &bytes)?;
        }
    }
    Ok(())
}

/// Makes a folder that only the user may look into, if it is not there.
fn make_private(folder: &Path) -> anyhow::Result<()> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder).with_context(|| format!("make the folder {}", folder.display()))
}
