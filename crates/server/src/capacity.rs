//! How much is taken on at once.

use std::sync::Arc;

use nuncio_auth::Identity;
use nuncio_net::listen::{Drain, Peer};
use nuncio_protocol::error::Error;
use tokio::sync::{Semaphore, SemaphorePermit};

use crate::{
    respond,
    streams::{Place, StreamLimits, Streams},
};

/// How much the endpoints of a listener take on together.
///
/// Cheap to clone; all clones are one and the same. Endpoints behind one listener share it, so
/// that a thousand of them take on no more than one.
#[derive(Clone, Debug)]
pub struct Capacity {
    streams: Arc<Streams>,
    calls: Arc<Semaphore>,
}

impl Capacity {
    /// Takes on so many calls, and so many streams, until the drain begins: then streams end,
    /// and tell their readers to resume.
    pub fn new(calls: usize, streams: StreamLimits, drain: Drain) -> Self {
        let calls = Semaphore::new(calls.min(Semaphore::MAX_PERMITS));
        Self { streams: Streams::new(streams, drain), calls: Arc::new(calls) }
    }

    /// Closes the connections of those who do not read their streams. Never returns: whoever
    /// owns the listener runs it beside, for as long as anything is answered.
    ///
    /// A connection is known by the [`Peer`] among the extensions of a request, which a
    /// [`Listener`](nuncio_net::listen::Listener) puts there; others are not closed.
    pub async fn watch(&self) {
        self.streams.watch().await;
    }

    /// Lets each caller have so many streams from now on. Those that are open stay.
    pub fn set_streams_per_caller(&self, most: usize) {
        self.streams.set_open_per_caller(most);
    }

    /// Makes room for a call, for as long as the permit lives.
    pub(crate) fn call(&self) -> Result<SemaphorePermit<'_>, Error> {
        self.calls.try_acquire().map_err(|_| respond::busy())
    }

    /// Makes room for a stream.
    pub(crate) fn stream(&self, identity: &Identity, peer: Option<&Peer>) -> Result<Place, Error> {
        self.streams.admit(identity, peer)
    }

    pub(crate) fn is_draining(&self) -> bool {
        self.streams.is_draining()
    }
}
