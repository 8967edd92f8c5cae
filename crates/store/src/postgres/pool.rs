//! A few connections for everything that is not a batch of writes.

use std::{
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use futures_util::future::BoxFuture;
use nuncio_tasks::store;
use tokio::{
    sync::Semaphore,
    time::{Instant, timeout},
};

use super::{
    connection::{Address, CALL, Connection},
    error::{Failure, TooSlow},
};

/// How long to leave a database alone that could not be reached: at first, and at most.
const PAUSE: (Duration, Duration) = (Duration::from_millis(50), Duration::from_millis(800));

/// Connections that are opened when they are needed.
///
/// Half of them are shared: who asks a short question sends it behind those of others, without
/// waiting for their answers, so that many questions are one packet. The other half have one
/// user at a time, because a transaction is a matter of its connection, and because nobody who
/// is short should wait behind somebody who is not.
pub(super) struct Pool {
    address: Address,
    permits: Semaphore,
    idle: Mutex<Vec<Connection>>,
    shared: Vec<Mutex<Option<Arc<Connection>>>>,
    /// Whose turn among the shared ones it is.
    turn: AtomicUsize,
    trouble: Mutex<Option<Trouble>>,
}

/// The database could not be reached.
struct Trouble {
    pause: Duration,
    until: Instant,
    what: String,
}

/// Nobody asks a database that could not be reached a moment ago.
#[derive(Debug, thiserror::Error)]
#[error("the database could not be reached a moment ago: {0}")]
struct Resting(String);

impl Pool {
    pub(super) fn new(address: Address, size: usize) -> Self {
        let shared = (size / 2).max(1);
        Self {
            address,
            permits: Semaphore::new(size.saturating_sub(shared).max(1)),
            idle: Mutex::default(),
            shared: (0..shared).map(|_| Mutex::default()).collect(),
            turn: AtomicUsize::new(0),
            trouble: Mutex::default(),
        }
    }

    /// Asks something short that needs no transaction, beside others. A connection that turns
    /// out to be lost is replaced once.
    pub(super) async fn ask<T, W>(&self, work: W) -> Result<T, store::Error>
    where
        W: for<'c> Fn(&'c Connection) -> BoxFuture<'c, Result<T, Failure>>,
    {
        let place = self.turn.fetch_add(1, Ordering::Relaxed) % self.shared.len();
        let twice = async {
            match self.ask_at(&self.shared[place], &work).await {
                Err(failure) if failure.is_lost() => self.ask_at(&self.shared[place], &work).await,
                answer => answer,
            }
        };
        let answer = timeout(CALL, twice).await.unwrap_or(Err(Failure::TooSlow));
        answer.map_err(store::Error::from)
    }

    async fn ask_at<T, W>(
        &self,
        place: &Mutex<Option<Arc<Connection>>>,
        work: &W,
    ) -> Result<T, Failure>
    where
        W: for<'c> Fn(&'c Connection) -> BoxFuture<'c, Result<T, Failure>>,
    {
        let connection = self.shared_at(place).await?;
        let answer = work(&connection).await;
        if answer.as_ref().is_err_and(Failure::is_lost) {
            let mut place = lock(place);
            if place.as_ref().is_some_and(|known| Arc::ptr_eq(known, &connection)) {
                *place = None;
            }
        }
        answer
    }

    async fn shared_at(
        &self,
        place: &Mutex<Option<Arc<Connection>>>,
    ) -> Result<Arc<Connection>, Failure> {
        let open = || lock(place).clone().filter(|connection| !connection.is_closed());
        if let Some(connection) = open() {
            return Ok(connection);
        }
        // A few at a time; the others find what these have opened. Closing a semaphore is the
        // only error, and nobody does.
        let _permit = self.permits.acquire().await.map_err(|_| Failure::TooSlow)?;
        if let Some(connection) = open() {
            return Ok(connection);
        }
        let connection = Arc::new(self.connection().await?);
        *lock(place) = Some(Arc::clone(&connection));
        Ok(connection)
    }

    /// Runs something that only reads. A connection that turns out to be lost, such as an idle
    /// one after a restart of the database, is replaced once.
    pub(super) async fn read<T, W>(&self, work: W) -> Result<T, store::Error>
    where
        W: for<'c> Fn(&'c Connection) -> BoxFuture<'c, Result<T, Failure>>,
    {
        let twice = async {
            match self.call(&work).await {
                Err(failure) if failure.is_lost() => self.call(&work).await,
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
        let answer = timeout(limit, self.call(&work)).await.unwrap_or(Err(Failure::TooSlow));
        answer.map_err(store::Error::from)
    }

    /// A connection whose user fails or goes away is not used again: nobody knows what it is
    /// in the middle of.
    async fn call<T, W>(&self, work: &W) -> Result<T, Failure>
    where
        W: for<'c> Fn(&'c Connection) -> BoxFuture<'c, Result<T, Failure>>,
    {
        // Closing a semaphore is the only error, and nobody does.
        let _permit = self.permits.acquire().await.map_err(|_| Failure::TooSlow)?;
        let connection = self.connection().await?;
        let answer = work(&connection).await;
        match &answer {
            Ok(_) | Err(Failure::Refused(_)) => lock(&self.idle).push(connection),
            // What is left in the pool is of the same age.
            Err(failure) if failure.is_lost() => lock(&self.idle).clear(),
            Err(_) => {}
        }
        answer
    }

    async fn connection(&self) -> Result<Connection, Failure> {
        loop {
            let Some(connection) = lock(&self.idle).pop() else { break };
            if !connection.is_closed() {
                return Ok(connection);
            }
        }
        if let Some(trouble) = &*lock(&self.trouble)
            && Instant::now() < trouble.until
        {
            let resting = Resting(trouble.what.clone());
            return Err(store::Error::Unavailable(resting.into()).into());
        }
        let connected = self.address.connect().await;
        let mut trouble = lock(&self.trouble);
        match &connected {
            Ok(_) => *trouble = None,
            Err(failure) => {
                let pause = trouble.as_ref().map_or(PAUSE.0, |trouble| trouble.pause * 2);
                let pause = pause.min(PAUSE.1);
                let what = match failure {
                    Failure::Database(error) => error.to_string(),
                    _ => TooSlow.to_string(),
                };
                *trouble = Some(Trouble { pause, until: Instant::now() + pause, what });
            }
        }
        connected
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
