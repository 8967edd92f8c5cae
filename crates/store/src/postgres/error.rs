use std::fmt;

use nuncio_tasks::store;
use tokio_postgres::error::{Severity, SqlState};

/// Why a Postgres store could not be opened.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The address is no Postgres URL.
    #[error("the address of the database cannot be read")]
    Address(#[source] tokio_postgres::Error),
    /// The schema's name would need quoting.
    #[error("the schema `{0}` needs another name: 1 to 40 of a-z, 0-9 and _, no digit first")]
    Schema(String),
    /// TLS was asked for and cannot be had.
    #[error("TLS to the database cannot be set up")]
    Tls(#[source] rustls::Error),
    /// The database cannot be reached, or refused something we need.
    #[error("the database does not answer")]
    Database(#[source] tokio_postgres::Error),
    /// The database took too long.
    #[error("the database did not answer in time")]
    TooSlow,
    /// The server is older than we support.
    #[error("the database is Postgres {found}, but 13 or newer is needed")]
    TooOld {
        /// As the server names itself.
        found: String,
    },
    /// The server only follows another, or was told not to write.
    #[error("the database is read-only ({why}): name the primary server in the address")]
    ReadOnly {
        /// The setting that says so.
        why: &'static str,
    },
    /// What is committed could be lost.
    #[error("the database could lose what it has committed: {}", List(.0))]
    Unsafe(Vec<UnsafeSetting>),
    /// A newer program has changed the tables in a way that this one does not know.
    #[error(
        "the tables are of version {found}, which needs a program that knows version {needed}; \
         this one knows {known}: start a newer one"
    )]
    NewerTables {
        /// The version of the tables.
        found: i32,
        /// The oldest version a program must know to use them.
        needed: i32,
        /// The version that this program knows.
        known: i32,
    },
    /// The tables could not be brought to the version of this program.
    #[error("the tables could not be brought to version {version}")]
    Migration {
        /// The version.
        version: i32,
        /// What the database said.
        source: tokio_postgres::Error,
    },
}

/// A setting with which a crash can lose what was acknowledged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnsafeSetting {
    /// Its name.
    pub name: &'static str,
    /// What it is set to.
    pub value: String,
    /// How to set it right.
    pub remedy: &'static str,
}

impl fmt::Display for UnsafeSetting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` is `{}` ({})", self.name, self.value, self.remedy)
    }
}

struct List<'a>(&'a [UnsafeSetting]);

impl fmt::Display for List<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (place, setting) in self.0.iter().enumerate() {
            let separator = if place == 0 { "" } else { ", " };
            write!(f, "{separator}{setting}")?;
        }
        Ok(())
    }
}

/// Why a call did not do what it was asked for.
#[derive(Debug)]
pub(super) enum Failure {
    /// The store's own word.
    Refused(store::Error),
    /// The database's word, or its silence.
    Database(tokio_postgres::Error),
    /// The connection is of no use any more, for this reason.
    Lost(&'static str),
    /// It did not come in time.
    TooSlow,
    /// Somebody who asked for it does not wait any longer.
    Cancelled,
}

/// What a call died of that had no answer in time.
#[derive(Debug, thiserror::Error)]
#[error("the database did not answer in time")]
pub(super) struct TooSlow;

impl Failure {
    /// Tells whether the connection is of no use any more.
    pub(super) fn is_lost(&self) -> bool {
        match self {
            Self::Refused(_) | Self::Cancelled => false,
            Self::Database(error) => is_lost(error),
            Self::Lost(_) | Self::TooSlow => true,
        }
    }

    /// Tells whether somebody else was first, so that the same may succeed at once.
    pub(super) fn is_collision(&self) -> bool {
        let Self::Database(error) = self else { return false };
        matches!(
            error.code(),
            Some(
                &SqlState::UNIQUE_VIOLATION
                    | &SqlState::T_R_DEADLOCK_DETECTED
                    | &SqlState::T_R_SERIALIZATION_FAILURE
            )
        )
    }

    /// Tells whether the database refused the data, not the time.
    pub(super) fn is_about_data(&self) -> bool {
        let Self::Database(error) = self else { return false };
        error.code().is_some_and(|code| {
            let class = code.code().get(..2);
            matches!(class, Some("22" | "23" | "54")) && !self.is_lost()
        })
    }
}

/// A fatal word ends the connection, and a missing one has ended it.
fn is_lost(error: &tokio_postgres::Error) -> bool {
    error.as_db_error().is_none_or(|error| {
        !matches!(error.parsed_severity(), Some(Severity::Error))
            || error.code().code().starts_with("57P")
    })
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Refused(error) => error.fmt(f),
            Self::Database(error) => error.fmt(f),
            Self::Lost(why) => f.write_str(why),
            Self::TooSlow | Self::Cancelled => TooSlow.fmt(f),
        }
    }
}

impl From<tokio_postgres::Error> for Failure {
    fn from(error: tokio_postgres::Error) -> Self {
        Self::Database(error)
    }
}

impl From<store::Error> for Failure {
    fn from(error: store::Error) -> Self {
        Self::Refused(error)
    }
}

impl From<Failure> for store::Error {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::Refused(error) => error,
            Failure::Database(error) if error.code() == Some(&SqlState::DISK_FULL) => {
                Self::DiskFull(error.into())
            }
            Failure::Database(error) => Self::Unavailable(error.into()),
            Failure::Lost(why) => Self::Unavailable(why.into()),
            Failure::TooSlow | Failure::Cancelled => Self::Unavailable(TooSlow.into()),
        }
    }
}

impl From<Failure> for Error {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::Database(error) => Self::Database(error),
            _ => Self::TooSlow,
        }
    }
}
