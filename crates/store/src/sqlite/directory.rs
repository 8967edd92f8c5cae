//! The directory that a store has to itself.

use std::{
    fs::{File, OpenOptions, TryLockError},
    io,
    path::{Path, PathBuf},
};

use super::OpenError;

/// The name of the database in its directory.
pub const DATABASE: &str = "nuncio.db";
const LOCK: &str = "lock";

/// A directory that nobody else uses while this is held.
#[derive(Debug)]
pub(super) struct Directory {
    path: PathBuf,
    /// The lock ends with the file, also when the process is killed.
    _lock: File,
}

impl Directory {
    /// Makes the directory if it is not there, and locks it.
    ///
    /// A directory that is there keeps its mode: it may be one that others use.
    pub(super) fn take(path: &Path) -> Result<Self, OpenError> {
        let failed = |source| OpenError::Directory { path: path.to_owned(), source };
        if !path.is_dir() {
            create(path).map_err(failed)?;
            // The way to the directory must survive a crash as well.
            if let Some(parent) = path.parent().filter(|parent| !parent.as_os_str().is_empty()) {
                sync(parent).map_err(failed)?;
            }
        }
        let lock = open_private(&path.join(LOCK)).map_err(failed)?;
        match lock.try_lock() {
            Ok(()) => Ok(Self { path: path.to_owned(), _lock: lock }),
            Err(TryLockError::WouldBlock) => Err(OpenError::InUse { path: path.to_owned() }),
            Err(TryLockError::Error(source)) => Err(failed(source)),
        }
    }

    pub(super) fn database(&self) -> PathBuf {
        self.path.join(DATABASE)
    }

    /// The files that SQLite keeps beside the database.
    pub(super) fn companions(&self) -> [PathBuf; 2] {
        ["-wal", "-shm"].map(|suffix| self.path.join(format!("{DATABASE}{suffix}")))
    }

    /// Makes the database file if it is not there. SQLite gives its companions the same mode.
    pub(super) fn prepare_database(&self) -> Result<PathBuf, OpenError> {
        let path = self.database();
        open_private(&path)
            .map_err(|source| OpenError::Directory { path: self.path.clone(), source })?;
        Ok(path)
    }
}

/// Opens a file that only its owner can read, and makes it if it is not there.
pub(super) fn open_private(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let file = options.open(path)?;
    #[cfg(unix)]
    file.set_permissions(std::os::unix::fs::PermissionsExt::from_mode(0o600))?;
    Ok(file)
}

/// Makes names in a directory survive a crash.
pub(super) fn sync(directory: &Path) -> io::Result<()> {
    if cfg!(unix) { File::open(directory)?.sync_all() } else { Ok(()) }
}

fn create(path: &Path) -> io::Result<()> {
    let mut builder = std::fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(path)
}
