//! Connections with one user at a time.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use futures_util::future::BoxFuture;
use nuncio_tasks::store;
use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore, oneshot},
    time::timeout,
};

use super::{
    connection::{CALL, Connection},
    error::Failure,
    opener::{Background, Opener, lock},
};

/// Connections that are opened when they are needed, and have one user at a time, because a
/// transaction is a matter of its connection, and because nobody who is short should wait behind
/// somebody who is not.
///
/// A connection outlives a user who does not wait for it any longer. If it did not, those who
/// come next would have to open others, and have even less time: far from the database, or when
/// many ask at once, nobody would get an answer.
pub(super) struct Pool {
    shelf: Arc<Shelf>,
    background: Background,
}

/// Where connections are that nobody uses.
struct Shelf {
    opener: Arc<Opener>,
    permits: Arc<Semaphore>,
    idle: Mutex<Vec<Connection>>,
}

impl Shelf {
    fn take(&self) -> Option<Connection> {
        loop {
            let connection = lock(&self.idle).pop()?;
            if !connection.is_closed() {
                return Some(connection);
            }
        }
    }

    fn put(&self, Kept { connection, permit }: Kept) {
        lock(&self.idle).push(connection);
        drop(permit);
    }

    /// Ends whatever a user has left a connection in the middle of. What was asked before is
    /// answered before.
    async fn settle(&self, kept: Kept, ending: &str) {
        let ended = timeout(CALL, kept.connection.client().batch_execute(ending)).await;
        if matches!(ended, Ok(Ok(()))) {
            self.put(kept);
        }
    }
}

/// A connection, with the right to use it.
struct Kept {
    connection: Connection,
    permit: OwnedSemaphorePermit,
}

/// What a user is about to do.
#[derive(Clone, Copy)]
enum Use {
    Read,
    Write,
}

impl Use {
    /// What ends it, wherever it stands. To end a transaction that was never begun is worth a
    /// warning to the database.
    fn ending(self) -> &'static str {
        match self {
            Self::Read => "",
            Self::Write => "ROLLBACK",
        }
    }

    /// How much of its time it may wait for a connection. Who is left with less is refused: work
    /// that is begun and not ended would only keep others waiting.
    ///
    /// Writes wait longer, so that lists cannot starve them: those before them in the queue have
    /// had their turn or gone when theirs comes.
    fn patience(self, limit: Duration) -> Duration {
        match self {
            Self::Read => limit / 2,
            Self::Write => limit * 3 / 4,
        }
    }
}

/// All connections were in use for too long.
#[derive(Debug, thiserror::Error)]
#[error("too many ask the database for something")]
struct Busy;

impl Pool {
    pub(super) fn new(opener: Arc<Opener>, size: usize) -> Self {
        let permits = Arc::new(Semaphore::new(size.max(1)));
        let shelf = Arc::new(Shelf { opener, permits, idle: Mutex::default() });
        Self { shelf, background: Background::default() }
    }

    /// Runs something that only reads. A connection that turns out to be lost, such as an idle
    /// one after a restart of the database, is replaced once.
    pub(super) async fn read<T, W>(&self, work: W) -> Result<T, store::Error>
    where
        W: for<'c> Fn(&'c Connection) -> BoxFuture<'c, Result<T, Failure>>,
    {
        let twice = async {
            match self.call(CALL, Use::Read, &work).await {
                Err(failure) if failure.is_lost() => self.call(CALL, Use::Read, &work).await,
                answer => answer,
            }
        };
        let answer = timeout(CALL, twice).await.unwrap_or(Err(Failure::TooSlow));
        answer.map_err(store::Error::from)
    }

    /// Runs something that writes.
    pub(super) async fn write<T, W>(&self, limit: Duration, work: W) -> Result<T, store::Error>
    where
        W: for<'c> Fn(&'c Connection) -> BoxFuture<'c, Result<T, Failure>>,
    {
        let call = self.call(limit, Use::Write, &work);
        let answer = timeout(limit, call).await.unwrap_or(Err(Failure::TooSlow));
        answer.map_err(store::Error::from)
    }

    async fn call<T, W>(&self, limit: Duration, usage: Use, work: &W) -> Result<T, Failure>
    where
        W: for<'c> Fn(&'c Connection) -> BoxFuture<'c, Result<T, Failure>>,
    {
        let kept = self.connection(usage.patience(limit)).await?;
        let borrowed = Borrowed { pool: self, usage, kept: Some(kept) };
        let Some(Kept { connection, .. }) = &borrowed.kept else { return Err(Failure::TooSlow) };
        let answer = work(connection).await;
        match &answer {
            Ok(_) | Err(Failure::Refused(_)) => borrowed.give_back(),
            Err(failure) if failure.is_lost() => {
                borrowed.throw_away();
                // What is left in the pool is of the same age.
                lock(&self.shelf.idle).clear();
            }
            Err(_) => {}
        }
        answer
    }

    async fn connection(&self, patience: Duration) -> Result<Kept, Failure> {
        let permit = timeout(patience, Arc::clone(&self.shelf.permits).acquire_owned()).await;
        let busy = |_| Failure::from(store::Error::Unavailable(Busy.into()));
        // Closing a semaphore is the only other error, and nobody does.
        let permit = permit.map_err(busy)?.map_err(|_| Failure::TooSlow)?;
        if let Some(connection) = self.shelf.take() {
            return Ok(Kept { connection, permit });
        }
        let (reply, answer) = oneshot::channel();
        let home = Arc::clone(&self.shelf);
        self.background.spawn(async move {
            let opened = home.opener.open().await;
            let opened = opened.map(|connection| Kept { connection, permit });
            // An error means that nobody waits for it any more; the next one finds it.
            if let Err(Ok(kept)) = reply.send(opened) {
                home.put(kept);
            }
        });
        answer.await.unwrap_or(Err(Failure::TooSlow))
    }
}

/// A connection that is in use. If its user goes away or fails, nobody knows what it is in the
/// middle of, and it is used again when that has been settled.
struct Borrowed<'p> {
    pool: &'p Pool,
    usage: Use,
    kept: Option<Kept>,
}

impl Borrowed<'_> {
    fn give_back(mut self) {
        if let Some(kept) = self.kept.take() {
            self.pool.shelf.put(kept);
        }
    }

    fn throw_away(mut self) {
        self.kept = None;
    }
}

impl Drop for Borrowed<'_> {
    fn drop(&mut self) {
        let Some(kept) = self.kept.take() else { return };
        let (home, ending) = (Arc::clone(&self.pool.shelf), self.usage.ending());
        self.pool.background.spawn(async move { home.settle(kept, ending).await });
    }
}
