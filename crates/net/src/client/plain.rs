//! Connections of HTTP/1.1 without TLS, kept and used again.
//!
//! Nothing is negotiated on these, so a request on one that is open needs no more than to take it
//! and to give it back; the library's pool, which serves the others, costs several times that.
//! As there, a request that finds none opens one, but takes one that is given back sooner, and a
//! request that was never begun because its connection had been closed meanwhile goes to another.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use http::{Response, Uri, header::HOST};
use hyper::{
    body::Incoming,
    client::conn::http1::{self, SendRequest},
};
use tokio::{
    runtime::Handle,
    sync::Notify,
    time::{Instant, sleep},
};

use super::{
    Body, Failed, HEAD_BYTES, HEADERS,
    clocks::Clocks,
    connect::{Connecting, Connector},
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
    sender: SendRequest<Body>,
    since: Instant,
}

/// A connection whose answer is being read. It can be used again once that is over, which is
/// when this is dropped.
pub(super) struct Lease {
    pool: Plain,
    url: CheckedUrl,
    sender: Option<SendRequest<Body>>,
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
        mut request: http::Request<Body>,
        (connect, first_byte): (Duration, Duration),
        clocks: &mut Clocks,
    ) -> Result<(Response<Incoming>, Lease), Failed> {
        request.headers_mut().insert(HOST, url.host_header().clone());
        *request.uri_mut() = url.target().clone();
        loop {
            let idle = self.take(url);
            let is_used = idle.is_some();
            let mut sender = if let Some(sender) = idle {
                sender
            } else {
                tokio::select! {
                    biased;
                    opened = self.open(url) => opened.map_err(Failed::Ours)?,
                    error = clocks.run_out() => return Err(Failed::Ours(error)),
                }
            };
            clocks.turn_to(Clock::FirstByte, first_byte);
            let answered = tokio::select! {
                biased;
                answered = sender.try_send_request(request) => answered,
                error = clocks.run_out() => return Err(Failed::Ours(error)),
            };
            let mut error = match answered {
                Ok(answer) => {
                    let (pool, url, sender) = (self.clone(), url.clone(), Some(sender));
                    return Ok((answer, Lease { pool, url, sender }));
                }
                Err(error) => error,
            };
            match error.take_message() {
                // The peer had closed it, and nothing of the request was written.
                Some(unsent) if is_used => request = unsent,
                _ => return Err(Failed::Http(error.into_error().into())),
            }
            clocks.turn_to(Clock::Connect, connect);
        }
    }

    /// Takes a connection that is open and not in use, the one used last.
    fn take(&self, url: &CheckedUrl) -> Option<SendRequest<Body>> {
        let mut idle = self.idle();
        let unused = idle.hosts.get_mut(url.authority())?;
        let mut at = unused.len();
        while at > 0 {
            at -= 1;
            let Unused { sender, since } = &unused[at];
            if sender.is_closed() || since.elapsed() > self.0.limit {
                unused.remove(at);
            } else if sender.is_ready() {
                return Some(unused.remove(at).sender);
            }
            // Otherwise it is still busy with the end of its last exchange.
        }
        None
    }

    /// Opens a connection, unless one is given back sooner.
    async fn open(&self, url: &CheckedUrl) -> Result<SendRequest<Body>, Error> {
        let _waiting = Waiting::new(self);
        let mut opening = None;
        loop {
            let returned = self.0.returned.notified();
            if let Some(sender) = self.take(url) {
                if let Some(opening) = opening {
                    // Somebody else will use it. It ends by the clocks of the connector.
                    tokio::spawn(self.clone().keep(url.clone(), opening));
                }
                return Ok(sender);
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

    async fn connect(self, url: CheckedUrl) -> Result<SendRequest<Body>, Error> {
        let origin: Uri = url.origin().parse().unwrap_or_default();
        let connecting: Connecting = self.0.connector.open(origin);
        let stream = connecting.await?;
        let broken = |error: hyper::Error| Error::Http {
            host: url.host_text().to_owned(),
            source: Arc::new(error),
        };
        let mut builder = http1::Builder::new();
        builder.max_buf_size(HEAD_BYTES as usize).max_headers(HEADERS);
        let (sender, connection) = builder.handshake(stream).await.map_err(broken)?;
        // It ends when its sender is dropped or its peer goes away.
        tokio::spawn(async move {
            if let Err(error) = connection.await {
                tracing::debug!(%error, "a connection broke off");
            }
        });
        Ok(sender)
    }

    /// Keeps a connection, once it is open, for whoever is next.
    async fn keep(
        self,
        url: CheckedUrl,
        opening: impl Future<Output = Result<SendRequest<Body>, Error>>,
    ) {
        if let Ok(sender) = opening.await {
            self.give_back(&url, sender);
        }
    }

    fn give_back(&self, url: &CheckedUrl, sender: SendRequest<Body>) {
        // Nobody could use it, or look after it.
        if sender.is_closed() || Handle::try_current().is_err() {
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
        unused.push(Unused { sender, since: Instant::now() });
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
            unused.retain(|one| !one.sender.is_closed() && one.since.elapsed() < self.limit);
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

impl Drop for Lease {
    fn drop(&mut self) {
        if let Some(sender) = self.sender.take() {
            self.pool.give_back(&self.url, sender);
        }
    }
}
