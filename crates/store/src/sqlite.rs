//! Keeps tasks, and what a hub knows, in one file on this machine: the default.
//!
//! One thread writes, and what waits shares a transaction; readers read beside it and are
//! never held up. Everything stands in `nuncio.db` in a directory that the store has to itself.
//!
//! ```no_run
//! use std::path::Path;
//!
//! use nuncio_store::sqlite::{Options, SqliteStore};
//!
//! # async fn run() -> Result<(), Box<dyn std::error::Error>> {
//! let store = SqliteStore::open(Path::new("data"), Options::default())?;
//! store.backup(Path::new("nuncio.backup")).await?;
//! store.close().await;
//! # Ok(())
//! # }
//! ```
//!
//! Invariant: leases count by a clock that nobody can set and that begins with the process, so
//! leases of an earlier process are over. Wake-ups, retries and ages count by the clock of the
//! machine, because they outlast the process.

mod append;
mod backup;
mod clock;
mod connection;
mod create;
mod delivery;
mod directory;
mod extras;
mod fault;
mod hub;
mod keys;
mod lease;
mod ledger;
mod list;
mod migrations;
mod names;
mod place;
mod read;
mod readers;
mod row;
mod sweep;
mod webhook;
mod writer;

use std::{
    fmt, io,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
};

use bytes::Bytes;
use nuncio_protocol::ids::{PushConfigId, TaskId};
use nuncio_tasks::{
    log::Seq,
    scope::{Place, Scope},
    store::{
        Answer, Append, Appended, Claim, Claimed, Create, Created, DeadLetter, DeadLetterId,
        Delivery, Error, Filter, Head, Key, Lease, Limit, Listed, Loaded, Mark, NewWebhook, Page,
        Progress, Retention, Store, Swept, Tail, TaskRef, Tenure, Want, Webhook,
    },
};
use rusqlite::Connection;

pub use backup::{BackupError, Replace};
pub use directory::DATABASE;

use clock::Clock;
use directory::Directory;
use list::Question;
use names::Names;
use read::Reading;
use readers::Readers;
use row::Stored;
use writer::Writer;

/// What takes no longer than reading so many bytes is read on the caller's thread.
const SHORT_READ: usize = 64 << 10;

/// So many marks are read on the caller's thread.
const FEW_MARKS: usize = 64;

/// Keeps tasks, and what a hub knows, in an SQLite database.
///
/// A clone is the same store. It is closed by [`close`](Self::close), or when the last clone is
/// dropped.
#[derive(Clone, Debug)]
pub struct SqliteStore(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    writer: Writer,
    readers: Readers,
    names: Arc<Names>,
    clock: Clock,
    /// Behind the others: the directory is free when they are done.
    directory: Mutex<Option<Directory>>,
}

/// How a store works.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Options {
    /// What happens when nobody can tell any more what is on the disk. Nothing is written
    /// afterwards. By default the process ends.
    pub on_fatal: OnFatal,
    /// How many connections for reading are kept, and how many long reads run at once.
    pub readers: usize,
}

impl Default for Options {
    fn default() -> Self {
        Self { on_fatal: OnFatal::default(), readers: 4 }
    }
}

/// What happens when nobody can tell any more what is on the disk.
#[derive(Clone)]
pub struct OnFatal(Arc<Call>);

type Call = dyn Fn(&dyn std::error::Error) + Send + Sync;

impl OnFatal {
    /// Calls a function, on the thread that writes.
    pub fn new(call: impl Fn(&dyn std::error::Error) + Send + Sync + 'static) -> Self {
        Self(Arc::new(call))
    }
}

impl Default for OnFatal {
    /// Ends the process at once, with the code that says "internal error" (70).
    ///
    /// The next start reads what is on the disk. To go on would be to answer from memory for
    /// what the disk may not have.
    fn default() -> Self {
        Self::new(|error| {
            tracing::error!(%error, "the disk failed, ending the process");
            std::process::exit(70);
        })
    }
}

impl fmt::Debug for OnFatal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("OnFatal")
    }
}

/// Why a store could not be opened.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OpenError {
    /// Another process has the directory.
    #[error(
        "{} is in use by another process; stop it, or choose another data directory",
        path.display()
    )]
    InUse {
        /// The directory.
        path: PathBuf,
    },
    /// The directory, or a file in it, cannot be made or opened.
    #[error("cannot use the directory {}", path.display())]
    Directory {
        /// The directory.
        path: PathBuf,
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// The database was made by a newer program.
    #[error(
        "the database has version {found}, this program knows {known}; use the newer program \
         or restore a backup"
    )]
    Newer {
        /// The version of the database.
        found: usize,
        /// The version of the program.
        known: usize,
    },
    /// SQLite cannot open the database.
    #[error("cannot open the database")]
    Sqlite(#[from] rusqlite::Error),
    /// The thread that writes cannot be started.
    #[error("cannot start the thread that writes")]
    Thread(#[source] io::Error),
}

impl SqliteStore {
    /// Opens the store in a directory, and makes either if it is not there.
    ///
    /// Leases of an earlier process are over: their tasks can be claimed at once.
    pub fn open(directory: &Path, options: Options) -> Result<Self, OpenError> {
        let directory = Directory::take(directory)?;
        let path = directory.prepare_database()?;
        let mut connection = connection::writer(&path)?;
        migrations::migrate(&mut connection)?;
        let clock = Clock::start(begin_run(&connection)?);
        let writer =
            Writer::start(connection, clock, options.on_fatal).map_err(OpenError::Thread)?;
        let readers = Readers::new(path, options.readers.max(1));
        let directory = Mutex::new(Some(directory));
        let names = Arc::new(Names::default());
        Ok(Self(Arc::new(Inner { writer, readers, names, clock, directory })))
    }

    /// Writes what waits, carries the log into the database, and lets go of the directory.
    ///
    /// Calls that come later are answered with [`Error::Unavailable`].
    pub async fn close(&self) {
        let inner = Arc::clone(&self.0);
        // It fails only if it panics, or if the runtime ends, and then dropping closes.
        let _ = tokio::task::spawn_blocking(move || inner.close()).await;
    }

    /// Copies the database as it is now into a file, which then appears as a whole or not at
    /// all. Others go on writing; a file that is there is replaced.
    pub async fn backup(&self, to: &Path) -> Result<(), BackupError> {
        let from = self.0.readers.open().map_err(BackupError::Unavailable)?;
        let to = to.to_owned();
        tokio::task::spawn_blocking(move || backup::copy(&from, &to))
            .await
            .map_err(|error| BackupError::Unavailable(Error::Unavailable(error.into())))?
    }

    /// Copies the database of a directory as it is now into a file, like
    /// [`backup`](Self::backup), whether or not another process has it open. Blocks while it
    /// copies.
    pub fn backup_of(directory: &Path, to: &Path) -> Result<(), BackupError> {
        let path = directory.join(DATABASE);
        path.metadata().map_err(|source| BackupError::File { path: path.clone(), source })?;
        backup::copy(&connection::reader(&path)?, to)
    }

    /// Puts a backup into a directory that no process uses, after checking that it is whole.
    /// Blocks while it copies.
    pub fn restore(backup: &Path, directory: &Path, replace: Replace) -> Result<(), BackupError> {
        backup::restore(backup, directory, replace)
    }
}

/// Counts the runs of processes over the life of a database.
fn begin_run(connection: &Connection) -> Result<i64, OpenError> {
    let run = connection.query_row(
        "UPDATE runs SET latest = latest + 1 RETURNING latest",
        (),
        |row| row.get(0),
    )?;
    Ok(run)
}

impl Inner {
    fn close(&self) {
        self.readers.close();
        self.writer.close();
        self.directory.lock().unwrap_or_else(PoisonError::into_inner).take();
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        self.close();
    }
}

impl Store for SqliteStore {
    fn create(&self, create: Create) -> Answer<'_, Created> {
        create.batch.spell();
        Box::pin(self.0.writer.write(move |writing| create::create(writing, &create)))
    }

    fn append(&self, append: Append) -> Answer<'_, Appended> {
        append.batch.spell();
        Box::pin(self.0.writer.write(move |writing| append::append(writing, &append)))
    }

    fn is_used(&self, place: &Place, key: &Key) -> Answer<'_, bool> {
        let (place, key) = (place.clone(), key.clone());
        Box::pin(async move {
            self.0.readers.read(|connection| match place::find(connection, &place)? {
                Some(place) => Ok(keys::find(connection, place, &key)?.is_some()),
                None => Ok(false),
            })
        })
    }

    fn find(&self, scope: &Scope, id: &TaskId) -> Answer<'_, Option<Head>> {
        let (scope, id) = (scope.clone(), id.clone());
        Box::pin(async move {
            let now = self.0.clock.now();
            self.0
                .readers
                .read_once(|connection| Stored::find(connection, &self.0.names, &scope, &id, &now))
        })
    }

    fn load(&self, scope: &Scope, id: &TaskId, want: Want) -> Answer<'_, Option<Loaded>> {
        let (scope, id) = (scope.clone(), id.clone());
        Box::pin(async move {
            let now = self.0.clock.now();
            let names = &self.0.names;
            let short = self.0.readers.read_once(|connection| {
                read::find(connection, names, &scope, &id, want, &now, SHORT_READ as u64)
            })?;
            match short {
                None => return Ok(None),
                Some(Reading::Whole(loaded)) => return Ok(Some(loaded)),
                Some(Reading::TooLong) => {}
            }
            let names = Arc::clone(names);
            let long = self.0.readers.read_long(move |connection| {
                let found = read::find(connection, &names, &scope, &id, want, &now, u64::MAX)?;
                Ok(found.and_then(Reading::whole))
            });
            long.await
        })
    }

    fn tail(&self, task: TaskRef, after: Seq, limit: Limit) -> Answer<'_, Tail> {
        Box::pin(async move {
            let gone = || Tail { entries: Vec::new(), mark: None };
            let short = self.0.readers.read(|connection| {
                let Some((mark, bytes)) = read::mark(connection, task)? else {
                    return Ok(Some(gone()));
                };
                let is_long = bytes.min(limit.bytes as u64) > SHORT_READ as u64;
                if is_long && after < mark.seq {
                    return Ok(None);
                }
                read::tail(connection, mark, after, limit).map(Some)
            })?;
            if let Some(tail) = short {
                return Ok(tail);
            }
            let long =
                self.0.readers.read_long(move |connection| match read::mark(connection, task)? {
                    Some((mark, _)) => read::tail(connection, mark, after, limit),
                    None => Ok(gone()),
                });
            long.await
        })
    }

    fn marks(&self, tasks: Vec<TaskRef>) -> Answer<'_, Vec<Mark>> {
        Box::pin(async move {
            if tasks.len() <= FEW_MARKS {
                return self.0.readers.read(|connection| read::marks(connection, &tasks));
            }
            self.0.readers.read_long(move |connection| read::marks(connection, &tasks)).await
        })
    }

    fn list(&self, scope: &Scope, filter: Filter, page: Page) -> Answer<'_, Listed> {
        let question = Question { scope: scope.clone(), filter, page };
        Box::pin(async move {
            let now = self.0.clock.now();
            let names = &self.0.names;
            if question.is_short() {
                let short = self.0.readers.read(|connection| {
                    list::list(connection, names, &question, &now, SHORT_READ as u64)
                })?;
                if let Some(listed) = short {
                    return Ok(listed);
                }
            }
            let names = Arc::clone(names);
            let long = self.0.readers.read_long(move |connection| {
                list::list(connection, &names, &question, &now, u64::MAX)
            });
            let without_end = || Error::Spoilt("a page has more text than there can be".to_owned());
            long.await?.ok_or_else(without_end)
        })
    }

    fn note(&self, task: TaskRef) -> Answer<'_, Option<Bytes>> {
        Box::pin(async move { self.0.readers.read(|connection| extras::note(connection, task)) })
    }

    fn parent(&self, task: TaskRef) -> Answer<'_, Option<TaskId>> {
        Box::pin(async move { self.0.readers.read(|connection| extras::parent(connection, task)) })
    }

    fn children(&self, scope: &Scope, parent: &TaskId, most: usize) -> Answer<'_, Vec<Head>> {
        let (scope, parent) = (scope.clone(), parent.clone());
        let now = self.0.clock.now();
        Box::pin(
            self.0.readers.read_long(move |connection| {
                extras::children(connection, &scope, &parent, most, &now)
            }),
        )
    }

    fn claim(&self, claim: Claim) -> Answer<'_, Vec<Claimed>> {
        Box::pin(self.0.writer.write(move |writing| lease::claim(writing, &claim)))
    }

    fn renew(&self, lease: Lease, held: Vec<Tenure>) -> Answer<'_, Vec<TaskRef>> {
        Box::pin(self.0.writer.write(move |writing| lease::renew(writing, lease.lasts, &held)))
    }

    fn release(&self, held: Vec<Tenure>) -> Answer<'_, ()> {
        Box::pin(self.0.writer.write(move |writing| lease::release(writing, &held)))
    }

    fn is_shared(&self) -> bool {
        false
    }

    fn put_webhook(&self, task: TaskRef, webhook: NewWebhook, most: u32) -> Answer<'_, Webhook> {
        Box::pin(self.0.writer.write(move |writing| webhook::put(writing, task, &webhook, most)))
    }

    fn webhooks(&self, task: TaskRef) -> Answer<'_, Vec<Webhook>> {
        Box::pin(async move { self.0.readers.read(|connection| webhook::all(connection, task)) })
    }

    fn delete_webhook(&self, task: TaskRef, id: &PushConfigId) -> Answer<'_, ()> {
        let id = id.clone();
        Box::pin(self.0.writer.write(move |writing| webhook::delete(writing, task, &id)))
    }

    fn claim_deliveries(&self, lease: Lease, most: usize) -> Answer<'_, Vec<Delivery>> {
        Box::pin(self.0.writer.write(move |writing| delivery::claim(writing, &lease, most)))
    }

    fn settle(&self, delivery: &Delivery, progress: Progress) -> Answer<'_, bool> {
        let delivery = delivery.clone();
        Box::pin(
            self.0.writer.write(move |writing| delivery::settle(writing, &delivery, &progress)),
        )
    }

    fn dead_letters(&self, scope: &Scope, most: usize) -> Answer<'_, Vec<DeadLetter>> {
        let scope = scope.clone();
        Box::pin(
            self.0
                .readers
                .read_long(move |connection| delivery::dead_letters(connection, &scope, most)),
        )
    }

    fn resend(&self, scope: &Scope, letter: DeadLetterId) -> Answer<'_, bool> {
        let scope = scope.clone();
        Box::pin(self.0.writer.write(move |writing| delivery::resend(writing, &scope, letter)))
    }

    fn sweep(&self, retention: &Retention, most: usize) -> Answer<'_, Swept> {
        let retention = retention.clone();
        Box::pin(self.0.writer.write(move |writing| sweep::sweep(writing, &retention, most)))
    }
}

#[cfg(test)]
mod tests;
