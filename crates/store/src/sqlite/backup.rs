//! Copies of a database, and back.

use std::{
    fs, io,
    path::{Path, PathBuf},
    time::Duration,
};

use rusqlite::{
    Connection, OpenFlags,
    backup::{Backup, StepResult},
};

use super::{
    OpenError,
    directory::{self, Directory},
    migrations,
};

/// How many pages are copied at a time.
const STEP_PAGES: i32 = 1024;

/// How long to wait for a database that is locked.
const PATIENCE: Duration = Duration::from_millis(10);

/// Why a database could not be copied or restored.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BackupError {
    /// A file could not be read or written.
    #[error("cannot read or write {}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// The database could not be read or copied.
    #[error("cannot copy the database")]
    Database(#[from] rusqlite::Error),
    /// The store is closed.
    #[error("the store is not available")]
    Unavailable(#[source] nuncio_tasks::store::Error),
    /// The copy is not a whole database.
    #[error("{} is spoilt: {what}", path.display())]
    Spoilt {
        /// The file.
        path: PathBuf,
        /// What SQLite found.
        what: String,
    },
    /// There is a database already.
    #[error(
        "{} holds a database already; restore to an empty directory or allow to replace it",
        path.display()
    )]
    NotEmpty {
        /// The directory.
        path: PathBuf,
    },
    /// The directory cannot be used.
    #[error(transparent)]
    Directory(#[from] OpenError),
}

/// What to do if there is a database already.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Replace {
    /// Refuse.
    #[default]
    Never,
    /// Put the backup in its place. What it held is lost.
    Existing,
}

/// Copies a database as it is now, while others write to it.
pub(super) fn copy(from: &Connection, to: &Path) -> Result<(), BackupError> {
    let partial = beside(to);
    let result = copy_to(from, &partial).and_then(|()| put_in_place(&partial, to));
    if result.is_err() {
        // The first failure is the one to tell.
        let _ = fs::remove_file(&partial);
    }
    result
}

fn copy_to(from: &Connection, to: &Path) -> Result<(), BackupError> {
    remove(to)?;
    directory::open_private(to).map_err(|source| file(to, source))?;
    let mut target = Connection::open_with_flags(to, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
    // The file counts only once it is whole, on the disk and in its place.
    target.pragma_update(None, "synchronous", "OFF")?;
    // Inside one transaction all steps see the same state. Without, every write in between
    // would make the copy begin anew.
    let state = from.unchecked_transaction()?;
    state.query_row("SELECT count(*) FROM sqlite_schema", (), |_| Ok(()))?;
    {
        let backup = Backup::new(&state, &mut target)?;
        while backup.step(STEP_PAGES)? != StepResult::Done {
            std::thread::sleep(if backup.progress().remaining > 0 {
                Duration::ZERO
            } else {
                PATIENCE
            });
        }
    }
    state.commit()?;
    // One file, and none beside it.
    target.pragma_update(None, "journal_mode", "DELETE")?;
    target.close().map_err(|(_, error)| error)?;
    sync(to)
}

/// Puts a copy into a directory that nobody uses.
pub(super) fn restore(backup: &Path, to: &Path, replace: Replace) -> Result<(), BackupError> {
    let directory = Directory::take(to)?;
    let database = directory.database();
    let is_there = fs::metadata(&database).is_ok_and(|found| found.len() > 0);
    if is_there && replace == Replace::Never {
        return Err(BackupError::NotEmpty { path: to.to_owned() });
    }
    let partial = beside(&database);
    let result = restore_to(backup, &partial).and_then(|()| {
        // A log that stayed behind would be taken for that of the new database.
        for companion in directory.companions() {
            remove(&companion)?;
        }
        put_in_place(&partial, &database)
    });
    if result.is_err() {
        let _ = fs::remove_file(&partial);
    }
    result
}

fn restore_to(backup: &Path, to: &Path) -> Result<(), BackupError> {
    remove(to)?;
    let mut source = fs::File::open(backup).map_err(|source| file(backup, source))?;
    let mut target = directory::open_private(to).map_err(|source| file(to, source))?;
    io::copy(&mut source, &mut target).map_err(|source| file(to, source))?;
    drop(target);
    verify(backup, to)?;
    sync(to)
}

/// Checks that a copy is a whole database of ours.
fn verify(backup: &Path, copy: &Path) -> Result<(), BackupError> {
    let spoilt = |what: String| BackupError::Spoilt { path: backup.to_owned(), what };
    let connection = Connection::open_with_flags(copy, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
    let found: String = connection
        .query_row("PRAGMA quick_check(1)", (), |row| row.get(0))
        .map_err(|error| spoilt(error.to_string()))?;
    if found != "ok" {
        return Err(spoilt(found));
    }
    migrations::check(&connection).map_err(|error| match error {
        OpenError::Sqlite(_) => spoilt("it is not a database of Nuncio".to_owned()),
        error => error.into(),
    })?;
    connection.close().map_err(|(_, error)| error.into())
}

/// The name under which a file is made before it is whole.
fn beside(path: &Path) -> PathBuf {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(".partial");
    path.with_file_name(name)
}

fn put_in_place(partial: &Path, path: &Path) -> Result<(), BackupError> {
    fs::rename(partial, path).map_err(|source| file(path, source))?;
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty());
    let parent = parent.unwrap_or_else(|| Path::new("."));
    directory::sync(parent).map_err(|source| file(parent, source))
}

fn sync(path: &Path) -> Result<(), BackupError> {
    fs::OpenOptions::new()
        .write(true)
        .open(path)
        .and_then(|opened| opened.sync_all())
        .map_err(|source| file(path, source))
}

fn remove(path: &Path) -> Result<(), BackupError> {
    match fs::remove_file(path) {
        Err(source) if source.kind() != io::ErrorKind::NotFound => Err(file(path, source)),
        _ => Ok(()),
    }
}

fn file(path: &Path, source: io::Error) -> BackupError {
    BackupError::File { path: path.to_owned(), source }
}
