//! Connections of HTTP/1.1 without TLS, kept and used again.
//!
//! Nothing is negotiated on these, so a request on one that is open needs no more than to take it
//! and to give it back; the library's pool, which serves the others, costs several times that.
//! As there, a request that finds none opens one, but takes one that is given back sooner, and a
//! request that was never begun because its connection had been closed meanwhile goes to another.

use std::{
    collections::HashMap,
    future::poll_fn,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    task::{Context, Poll},
    time::Duration,
};

use bytes::Bytes;
use http::{Response, Uri};
use tokio::{
    runtime::Handle,
    sync::Notify,
    time::{Instant, sleep},
};

use super::{
    Failed,
    clocks::{Clocks, Timer},
    connect::{Connecting, Connector},
    http1::{Broken, Connection, Written},
};
use crate::{
    egress::CheckedUrl,
    error::{Clock, Error},
};

/// The connections of one errand. Cheap to clone.
#[derive(Clone)]
pub(super) struct Plain(Arc<Shared>);

struct Shared {
    connector: Connector,
    per_host: usize,
    limit: Duration,
    idle: Mutex<Idle>,
    /// Tells those who wait for a connection that one was given back.
    returned: Notify,
}

#[derive(Default)]
struct Idle {
    /// By host and port, the longest unused first.
    hosts: HashMap<Box<str>, Vec<Unused>>,
    /// How many requests wait for a connection.
    waiting: usize,
    /// Whether somebody looks after those that are not used for too long.
    is_tended: bool,
}

struct Unused {
    connection: Box<Connection>,
    since: Instant,
}

/// A connection whose answer is being read. It can be used again once that is over, which is
/// when this is dropped.
pub(super) struct Lease {
    pool: Plain,
    url: CheckedUrl,
    connection: Option<Box<Connection>>,
}

impl Plain {
    pub(super) fn new(connector: Connector, per_host: usize, limit: Duration) -> Self {
        let (idle, returned) = (Mutex::default(), Notify::new());
        Self(Arc::new(Shared { connector, per_host, limit, idle, returned }))
    }

    /// Sends a request and waits for the head of its answer.
    pub(super) async fn send(
        &self,
        url: &CheckedUrl,
        request: Written,
        first_byte: Duration,
        clocks: &mut Clocks,
    ) -> Result<(Response<()>, Lease), Failed> {
        let mut connection = loop {
            let connection = if let Some(connection) = self.take(url) {
                connection
            } else {
                tokio::select! {
                    biased;
                    opened = Box::pin(self.open(url)) => opened.map_err(Failed::Ours)?,
                    error = clocks.run_out() => return Err(Failed::Ours(error)),
                }
            };
            // The peer may have closed it meanwhile; nothing was written then.
            if !connection.is_old || connection.is_open() {
                break connection;
            }
        };
        clocks.set_timer(connection.timer.take());
        clocks.turn_to(Clock::FirstByte, first_byte);
        connection.begin(request);
        let answer = poll_fn(|cx| match connection.poll_head(cx) {
            Poll::Ready(Ok(answer)) => Poll::Ready(Ok(answer)),
            Poll::Ready(Err(broken)) => Poll::Ready(Err(Failed::Http(broken.into()))),
            Poll::Pending => clocks.poll(cx).map(|error| Err(Failed::Ours(error))),
        })
        .await?;
        let (pool, url) = (self.clone(), url.clone());
        Ok((answer, Lease { pool, url, connection: Some(connection) }))
    }

    /// Takes a connection that is not in use, the one used last.
    fn take(&self, url: &CheckedUrl) -> Option<Box<Connection>> {
        let mut idle = self.idle();
        let unused = idle.hosts.get_mut(url.authority())?;
        let Unused { connection, since } = unused.pop()?;
        if since.elapsed() > self.0.limit {
            // The others were unused for even longer.
            unused.clear();
            return None;
        }
        Some(connection)
    }

    /// Opens a connection, unless one is given back sooner.
    async fn open(&self, url: &CheckedUrl) -> Result<Box<Connection>, Error> {
        let _waiting = Waiting::new(self);
        let mut opening = None;
        loop {
            let returned = self.0.returned.notified();
            if let Some(connection) = self.take(url) {
                if let Some(opening) = opening {
                    // Somebody else will use it. It ends by the clocks of the connector.
                    tokio::spawn(self.clone().keep(url.clone(), opening));
                }
                return Ok(connection);
            }
            let opening =
                opening.get_or_insert_with(|| Box::pin(self.clone().connect(url.clone())));
            tokio::select! {
                biased;
                opened = opening => return opened,
                () = returned => {}
            }
        }
    }

    async fn connect(self, url: CheckedUrl) -> Result<Box<Connection>, Error> {
        let origin: Uri = url.origin().parse().unwrap_or_default();
        let connecting: Connecting = self.0.connector.open(origin);
        let Some((stream, permit)) = connecting.await?.into_plain() else {
            let (host, source) = (url.host_text().to_owned(), Arc::new(Broken::Early));
            return Err(Error::Http { host, source });
        };
        Ok(Box::new(Connection::new(stream, permit)))
    }

    /// Keeps a connection, once it is open, for whoever is next.
    async fn keep(
        self,
        url: CheckedUrl,
        opening: impl Future<Output = Result<Box<Connection>, Error>>,
    ) {
        if let Ok(connection) = opening.await {
            self.give_back(&url, connection);
        }
    }

    fn give_back(&self, url: &CheckedUrl, mut connection: Box<Connection>) {
        // Nobody could look after it.
        if Handle::try_current().is_err() {
            return;
        }
        let mut idle = self.idle();
        let unused = match idle.hosts.get_mut(url.authority()) {
            Some(unused) => unused,
            None => idle.hosts.entry(url.authority().into()).or_default(),
        };
        if unused.len() >= self.0.per_host {
            return;
        }
        connection.is_old = true;
        unused.push(Unused { connection, since: Instant::now() });
        if !std::mem::replace(&mut idle.is_tended, true) {
            tokio::spawn(tend(Arc::downgrade(&self.0), self.0.limit));
        }
        if idle.waiting > 0 {
            self.0.returned.notify_waiters();
        }
    }

    fn idle(&self) -> MutexGuard<'_, Idle> {
        self.0.idle()
    }
}

impl Shared {
    fn idle(&self) -> MutexGuard<'_, Idle> {
        // Nothing is left half done under this lock.
        self.idle.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Closes connections that were not used for too long. Tells whether any are left.
    fn expire(&self) -> bool {
        let mut idle = self.idle();
        idle.hosts.retain(|_, unused| {
            unused.retain(|one| one.since.elapsed() < self.limit);
            !unused.is_empty()
        });
        idle.is_tended = !idle.hosts.is_empty();
        idle.is_tended
    }
}

/// Looks after connections that are not used, as long as there are any.
async fn tend(pool: std::sync::Weak<Shared>, limit: Duration) {
    loop {
        sleep(limit).await;
        let Some(pool) = pool.upgrade() else { return };
        if !pool.expire() {
            return;
        }
    }
}

/// A request that waits for a connection.
struct Waiting<'a>(&'a Plain);

impl<'a> Waiting<'a> {
    fn new(pool: &'a Plain) -> Self {
        pool.idle().waiting += 1;
        Self(pool)
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.idle().waiting -= 1;
    }
}

impl Lease {
    pub(super) fn url(&self) -> &CheckedUrl {
        &self.url
    }

    /// Waits for the next piece of the body; `None` at its end.
    pub(super) fn poll_body(
        &mut self,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Bytes, Broken>>> {
        match &mut self.connection {
            Some(connection) => connection.poll_body(cx),
            None => Poll::Ready(None),
        }
    }

    /// Tells how many bytes of the body are to come, if the peer has said so.
    pub(super) fn body_length(&self) -> Option<u64> {
        self.connection.as_deref().and_then(Connection::body_length)
    }

    /// Tells whether the body is over.
    pub(super) fn is_over(&self) -> bool {
        self.connection.as_deref().is_none_or(Connection::is_over)
    }

    /// Keeps a timer for the next request.
    pub(super) fn keep_timer(&mut self, timer: Option<Timer>) {
        if let Some(connection) = &mut self.connection {
            connection.timer = timer;
        }
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        if let Some(mut connection) = self.connection.take()
            && connection.is_idle()
        {
            self.pool.give_back(&self.url, connection);
        }
    }
}
