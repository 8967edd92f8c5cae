//! Reading, beside the writer and unhindered by it.

use std::{
    path::PathBuf,
    sync::{Arc, Mutex, PoisonError},
};

use nuncio_tasks::store::Error;
use rusqlite::Connection;
use tokio::sync::Semaphore;

use super::{connection, fault::Fault};

/// Connections for reading.
///
/// A read by key takes a few microseconds, less than it takes to hand it to another thread, so
/// it happens where it is asked for. Whatever may take longer goes to the threads that may
/// block, a few at a time.
#[derive(Clone, Debug)]
pub(super) struct Readers(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    path: PathBuf,
    /// `None` once closed.
    idle: Mutex<Option<Vec<Connection>>>,
    /// How many connections are kept while nobody reads.
    kept: usize,
    long: Semaphore,
}

impl Readers {
    pub(super) fn new(path: PathBuf, kept: usize) -> Self {
        let inner = Inner {
            path,
            idle: Mutex::new(Some(Vec::with_capacity(kept))),
            kept,
            long: Semaphore::new(kept),
        };
        Self(Arc::new(inner))
    }

    /// Reads at once, on this thread. All of it sees the same state of the database.
    pub(super) fn read<T>(
        &self,
        read: impl FnOnce(&Connection) -> Result<T, Fault>,
    ) -> Result<T, Error> {
        self.read_once(|connection| in_one_state(connection, read))
    }

    /// Reads at once, on this thread, what sees one state by itself: because it is one
    /// statement, or all others run before the first has ended.
    pub(super) fn read_once<T>(
        &self,
        read: impl FnOnce(&Connection) -> Result<T, Fault>,
    ) -> Result<T, Error> {
        let connection = self.take()?;
        let answer = read(&connection);
        // A connection that is still inside a transaction would hold back checkpoints.
        if connection.is_autocommit() {
            self.give_back(connection);
        }
        answer.map_err(Fault::into_error)
    }

    /// Reads on a thread that may block.
    pub(super) async fn read_long<T: Send + 'static>(
        &self,
        read: impl FnOnce(&Connection) -> Result<T, Fault> + Send + 'static,
    ) -> Result<T, Error> {
        let permit = self.0.long.acquire().await.map_err(|_| closed())?;
        let readers = self.clone();
        let answer = tokio::task::spawn_blocking(move || readers.read(read)).await;
        drop(permit);
        answer.map_err(|error| Error::Unavailable(error.into()))?
    }

    /// Opens a connection that is not one of the pool's.
    pub(super) fn open(&self) -> Result<Connection, Error> {
        self.idle().as_ref().ok_or_else(closed)?;
        self.connect()
    }

    /// Lets nobody read any more.
    pub(super) fn close(&self) {
        self.0.long.close();
        self.idle().take();
    }

    fn take(&self) -> Result<Connection, Error> {
        let connection = self.idle().as_mut().ok_or_else(closed)?.pop();
        // There are never more than threads that read.
        connection.map_or_else(|| self.connect(), Ok)
    }

    fn connect(&self) -> Result<Connection, Error> {
        connection::reader(&self.0.path).map_err(|error| Fault::from(error).into_error())
    }

    fn give_back(&self, connection: Connection) {
        if let Some(idle) = self.idle().as_mut().filter(|idle| idle.len() < self.0.kept) {
            idle.push(connection);
        }
    }

    fn idle(&self) -> std::sync::MutexGuard<'_, Option<Vec<Connection>>> {
        // Nothing is left half done under this lock.
        self.0.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn in_one_state<T>(
    connection: &Connection,
    read: impl FnOnce(&Connection) -> Result<T, Fault>,
) -> Result<T, Fault> {
    connection.prepare_cached("BEGIN")?.execute(())?;
    let answer = read(connection);
    let ended = connection.prepare_cached("COMMIT")?.execute(());
    let answer = answer?;
    ended?;
    Ok(answer)
}

fn closed() -> Error {
    Error::Unavailable("the store is closed".into())
}
