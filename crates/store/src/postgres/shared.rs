//! Connections for short questions of many.

use std::sync::{
    Arc, Mutex,
    atomic::{AtomicUsize, Ordering},
};

use futures_util::future::BoxFuture;
use nuncio_tasks::store;
use tokio::{
    sync::{Semaphore, oneshot},
    time::timeout,
};

use super::{
    connection::{CALL, Connection},
    error::Failure,
    opener::{Background, Opener, lock},
};

/// Connections that are shared: who asks a short question sends it behind those of others,
/// without waiting for their answers, so that many questions are one packet.
pub(super) struct Shared {
    opener: Arc<Opener>,
    places: Vec<Arc<Place>>,
    /// Whose turn it is.
    turn: AtomicUsize,
    background: Background,
}

/// Where a connection is, or is to be.
struct Place {
    connection: Mutex<Option<Arc<Connection>>>,
    /// Whoever has the permit opens a connection; the others wait for it.
    opening: Arc<Semaphore>,
}

impl Place {
    fn connection(&self) -> Option<Arc<Connection>> {
        lock(&self.connection).clone().filter(|connection| !connection.is_closed())
    }

    fn forget(&self, connection: &Arc<Connection>) {
        let mut known = lock(&self.connection);
        if known.as_ref().is_some_and(|known| Arc::ptr_eq(known, connection)) {
            *known = None;
        }
    }
}

impl Shared {
    pub(super) fn new(opener: Arc<Opener>, size: usize) -> Self {
        let place = |_| {
            Arc::new(Place { connection: Mutex::default(), opening: Arc::new(Semaphore::new(1)) })
        };
        Self {
            opener,
            places: (0..size.max(1)).map(place).collect(),
            turn: AtomicUsize::new(0),
            background: Background::default(),
        }
    }

    /// Asks something short that needs no transaction, beside others. A connection that turns
    /// out to be lost is replaced once.
    pub(super) async fn ask<T, W>(&self, work: W) -> Result<T, store::Error>
    where
        W: for<'c> Fn(&'c Connection) -> BoxFuture<'c, Result<T, Failure>>,
    {
        let turn = self.turn.fetch_add(1, Ordering::Relaxed);
        let place = &self.places[turn % self.places.len()];
        let twice = async {
            match self.ask_at(place, &work).await {
                Err(failure) if failure.is_lost() => self.ask_at(place, &work).await,
                answer => answer,
            }
        };
        let answer = timeout(CALL, twice).await.unwrap_or(Err(Failure::TooSlow));
        answer.map_err(store::Error::from)
    }

    async fn ask_at<T, W>(&self, place: &Arc<Place>, work: &W) -> Result<T, Failure>
    where
        W: for<'c> Fn(&'c Connection) -> BoxFuture<'c, Result<T, Failure>>,
    {
        let connection = self.connection_at(place).await?;
        let answer = work(&connection).await;
        if answer.as_ref().is_err_and(Failure::is_lost) {
            place.forget(&connection);
        }
        answer
    }

    async fn connection_at(&self, place: &Arc<Place>) -> Result<Arc<Connection>, Failure> {
        if let Some(connection) = place.connection() {
            return Ok(connection);
        }
        // Closing a semaphore is the only error, and nobody does.
        let permit = Arc::clone(&place.opening).acquire_owned().await;
        let permit = permit.map_err(|_| Failure::TooSlow)?;
        if let Some(connection) = place.connection() {
            return Ok(connection);
        }
        let (reply, answer) = oneshot::channel();
        let (opener, place) = (Arc::clone(&self.opener), Arc::clone(place));
        self.background.spawn(async move {
            let connection = opener.open().await.map(Arc::new);
            if let Ok(connection) = &connection {
                *lock(&place.connection) = Some(Arc::clone(connection));
            }
            drop(permit);
            // An error means that nobody waits for it any more; the next one finds it.
            drop(reply.send(connection));
        });
        answer.await.unwrap_or(Err(Failure::TooSlow))
    }
}
