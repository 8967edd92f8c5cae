//! What can go wrong, and how much of it.

use std::{fmt, sync::Arc};

use nuncio_tasks::store::Error;
use rusqlite::{ErrorCode, ffi};

/// Why one operation failed.
#[derive(Debug)]
pub(super) enum Fault {
    /// The operation was refused; SQLite is well.
    Refused(Error),
    /// SQLite said something.
    Sqlite(rusqlite::Error),
}

/// How far a message of SQLite reaches.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Reach {
    /// Only the operation: what it read or wrote makes no sense.
    Operation,
    /// The transaction, with all operations in it. Later ones may succeed.
    Transaction,
    /// The process: nobody knows what is on the disk. Linux drops the pages that a failed
    /// fsync could not write, and the next fsync reports success (reliability §2, rule 11).
    Process,
}

/// A message of SQLite that concerns several operations.
#[derive(Clone, Debug)]
pub(super) struct Shared(Arc<rusqlite::Error>);

impl Fault {
    pub(super) fn spoilt(what: impl Into<String>) -> Self {
        Self::Refused(Error::Spoilt(what.into()))
    }

    pub(super) fn into_error(self) -> Error {
        match self {
            Self::Refused(error) => error,
            Self::Sqlite(error) => Shared::new(error).to_error(),
        }
    }
}

impl From<Error> for Fault {
    fn from(error: Error) -> Self {
        Self::Refused(error)
    }
}

impl From<rusqlite::Error> for Fault {
    fn from(error: rusqlite::Error) -> Self {
        Self::Sqlite(error)
    }
}

impl Reach {
    /// Judges a message that came before the commit.
    pub(super) fn of(error: &rusqlite::Error) -> Self {
        match error.sqlite_error() {
            Some(failure) if is_failed_sync(*failure) => Self::Process,
            Some(failure) => match failure.code {
                ErrorCode::DiskFull
                | ErrorCode::SystemIoFailure
                | ErrorCode::OutOfMemory
                | ErrorCode::DatabaseBusy
                | ErrorCode::DatabaseLocked
                | ErrorCode::OperationInterrupted
                | ErrorCode::CannotOpen
                | ErrorCode::ReadOnly => Self::Transaction,
                _ => Self::Operation,
            },
            None => Self::Operation,
        }
    }

    /// Judges a message that came from a commit or a checkpoint, where every failure to write
    /// leaves open what the disk has.
    pub(super) fn of_sync(error: &rusqlite::Error) -> Self {
        match error.sqlite_error() {
            Some(failure)
                if failure.code == ErrorCode::SystemIoFailure && !is_out_of_room(*failure) =>
            {
                Self::Process
            }
            _ => Self::of(error).max(Self::Transaction),
        }
    }
}

fn is_failed_sync(failure: ffi::Error) -> bool {
    matches!(failure.extended_code, ffi::SQLITE_IOERR_FSYNC | ffi::SQLITE_IOERR_DIR_FSYNC)
}

/// The index of the log is a file of its own and can want room, too. It is rebuilt from the
/// log, so nothing is lost with it.
fn is_out_of_room(failure: ffi::Error) -> bool {
    failure.code == ErrorCode::DiskFull
        || matches!(
            failure.extended_code,
            ffi::SQLITE_IOERR_SHMSIZE | ffi::SQLITE_IOERR_SHMMAP | ffi::SQLITE_IOERR_SHMOPEN
        )
}

impl Shared {
    pub(super) fn new(error: rusqlite::Error) -> Self {
        Self(Arc::new(error))
    }

    /// Says to one operation what happened to all.
    pub(super) fn to_error(&self) -> Error {
        match self.0.sqlite_error() {
            Some(failure) if is_out_of_room(*failure) => Error::DiskFull(self.clone().into()),
            Some(failure) => match failure.code {
                ErrorCode::DatabaseCorrupt
                | ErrorCode::NotADatabase
                | ErrorCode::ConstraintViolation => Error::Spoilt(self.0.to_string()),
                _ => Error::Unavailable(self.clone().into()),
            },
            // A value of another type than the column has, or out of its range.
            None => Error::Spoilt(self.0.to_string()),
        }
    }
}

impl fmt::Display for Shared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.sqlite_error() {
            Some(failure) => write!(f, "SQLite: {} ({})", self.0, failure.extended_code),
            None => write!(f, "SQLite: {}", self.0),
        }
    }
}

impl std::error::Error for Shared {}

#[cfg(test)]
mod tests {
    use super::*;

    fn failure(code: i32) -> rusqlite::Error {
        rusqlite::Error::SqliteFailure(ffi::Error::new(code), None)
    }

    #[test]
    fn a_failed_sync_reaches_the_process_wherever_it_comes_from() {
        for code in [ffi::SQLITE_IOERR_FSYNC, ffi::SQLITE_IOERR_DIR_FSYNC] {
            assert_eq!(Reach::of(&failure(code)), Reach::Process);
            assert_eq!(Reach::of_sync(&failure(code)), Reach::Process);
        }
    }

    #[test]
    fn a_failed_write_reaches_the_process_at_a_commit_only() {
        for code in [ffi::SQLITE_IOERR_WRITE, ffi::SQLITE_IOERR_TRUNCATE, ffi::SQLITE_IOERR] {
            assert_eq!(Reach::of(&failure(code)), Reach::Transaction);
            assert_eq!(Reach::of_sync(&failure(code)), Reach::Process);
        }
    }

    #[test]
    fn a_full_disk_can_be_tried_again() {
        for code in [ffi::SQLITE_FULL, ffi::SQLITE_IOERR_SHMSIZE] {
            assert_eq!(Reach::of_sync(&failure(code)), Reach::Transaction);
            let error = Shared::new(failure(code)).to_error();
            assert!(matches!(error, Error::DiskFull(_)), "{error}");
        }
    }

    #[test]
    fn a_spoilt_row_concerns_nobody_else() {
        let error = rusqlite::Error::IntegralValueOutOfRange(3, -1);
        assert_eq!(Reach::of(&error), Reach::Operation);
        assert!(matches!(Shared::new(error).to_error(), Error::Spoilt(_)));
    }
}
