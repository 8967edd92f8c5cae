//! The way in: a listener that bounds what callers can cost.
//!
//! One service answers everything that comes over one port, in HTTP/1.1 and HTTP/2, with or
//! without TLS. A connection is closed when its peer sends a head too slowly, is idle for too
//! long, or takes nothing of what is written to it; bodies are bounded by [`body::Guarded`].
//! Each request carries a [`Peer`] among its extensions.
//!
//! What a request means, and whose it is, is not decided here.
//! `docs/reference/listener.md` lists the limits.

pub mod body;

mod addresses;
mod connection;
mod drain;
mod entrance;
mod http1;
mod incoming;
mod peer;
mod stream;
mod tls;
mod told;
mod unread;
mod watch;

use std::{
    convert::Infallible, error::Error as StdError, io, net::SocketAddr, pin::pin, sync::Arc,
    time::Duration,
};

use futures_util::FutureExt as _;
use http::{Request, Response};
use http_body::Body;
use hyper::service::Service;
use tokio::{
    net::{TcpListener, TcpSocket, TcpStream},
    sync::{OwnedSemaphorePermit, Semaphore},
};

use self::{
    addresses::Addresses,
    connection::{Server, Tasks},
};
pub use self::{
    addresses::reachable,
    body::{BodyError, BodyLimits},
    drain::Drain,
    incoming::Incoming,
    peer::{ClientCertificate, Peer},
    tls::{ClientAuth, Tls, TlsError},
    told::told_to_stop,
};

/// What callers may cost.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Limits {
    /// How long the head of a request may take, 10 s: from the connection, or from the first
    /// byte of a later request.
    pub header_timeout: Duration,
    /// The largest head of a request, 64 KiB.
    pub header_bytes: usize,
    /// The most headers of a request, 100.
    pub headers: usize,
    /// The most connections, 10,000. More have to wait, unaccepted, until one is closed.
    pub connections: usize,
    /// The most connections of one address, 1,024. More are closed at once. An IPv6 network
    /// of 64 bits counts as one address.
    pub connections_per_address: usize,
    /// How long an HTTP/1 connection may be without a request, 75 s. HTTP/2 has pings instead:
    /// one every 20 s, to be answered within 20 s.
    pub idle: Duration,
    /// The most requests at a time on an HTTP/2 connection, 256.
    pub streams_per_connection: u32,
    /// How long a peer may take nothing of what is written to it, 30 s.
    pub write_stall: Duration,
    /// How long the TLS handshake may take, 10 s.
    pub tls_handshake: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            header_timeout: Duration::from_secs(10),
            header_bytes: 64 * 1024,
            headers: 100,
            connections: 10_000,
            connections_per_address: 1_024,
            idle: Duration::from_secs(75),
            streams_per_connection: 256,
            write_stall: Duration::from_secs(30),
            tls_handshake: Duration::from_secs(10),
        }
    }
}

/// A port that is taken. Callers can connect, and wait until it is served.
#[derive(Debug)]
pub struct Listener {
    tcp: TcpListener,
    address: SocketAddr,
    limits: Limits,
    tls: Option<Tls>,
}

/// How long to wait when the system has no connection to give, for example for want of file
/// descriptors. Others have to be closed first, and asking again at once would only burn time.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// How many connections the system keeps until they are accepted, if it keeps as many. Of a
/// larger burst some would be reset; the usual 128 are fewer than one address may have.
const BACKLOG: u32 = 4096;

impl Listener {
    /// Takes a port; 0 takes any that is free. The error names the address.
    pub async fn bind(address: SocketAddr) -> io::Result<Self> {
        let bound = async {
            let tcp = listen(address)?;
            let address = tcp.local_addr()?;
            Ok(Self { tcp, address, limits: Limits::default(), tls: None })
        };
        bound.await.map_err(|error: io::Error| {
            let reason = match error.kind() {
                io::ErrorKind::AddrInUse => "another program listens there".to_owned(),
                io::ErrorKind::AddrNotAvailable => "this machine has no such address".to_owned(),
                _ => error.to_string(),
            };
            io::Error::new(error.kind(), format!("listen on {address}: {reason}"))
        })
    }

    /// Returns the address, with the port that was taken.
    pub fn local_addr(&self) -> SocketAddr {
        self.address
    }

    /// Sets limits.
    #[must_use]
    pub fn limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// Speaks TLS, and nothing else.
    #[must_use]
    pub fn tls(mut self, tls: Tls) -> Self {
        self.tls = Some(tls);
        self
    }

    /// Serves until the drain has ended. Returns when the last connection is gone.
    ///
    /// Dropping the future stops accepting; connections that are open go on by themselves.
    pub async fn serve<S, B>(self, service: S, drain: Drain)
    where
        S: Service<Request<Incoming>, Response = Response<B>, Error = Infallible>,
        S: Clone + Send + Sync + 'static,
        S::Future: Send + 'static,
        B: Body + Send + 'static,
        B::Data: Send,
        B::Error: Into<Box<dyn StdError + Send + Sync>>,
    {
        let Self { tcp, limits, tls, .. } = self;
        let door = Door {
            tcp,
            places: Arc::new(Semaphore::new(limits.connections.min(Semaphore::MAX_PERMITS))),
            addresses: Addresses::default(),
            per_address: limits.connections_per_address,
        };
        let tasks = Tasks::default();
        let server = Arc::new(Server {
            service,
            limits,
            tls: tls.as_ref().map(Tls::acceptor),
            drain: drain.clone(),
            tasks: tasks.clone(),
        });
        let start = |entered: Entered| {
            tasks.0.spawn(Arc::clone(&server).serve(entered));
        };

        let mut begun = pin!(drain.begun());
        loop {
            tokio::select! {
                biased;
                () = &mut begun => break,
                entered = door.next() => start(entered),
            }
        }
        // Who has connected before is let in, the port is free for the next process.
        while let Some(entered) = door.next().now_or_never() {
            start(entered);
        }
        drop(door);
        tasks.0.close();
        tokio::select! {
            () = tasks.0.wait() => {}
            () = drain.run() => tasks.0.wait().await,
        }
    }
}

/// Where connections come in.
struct Door {
    tcp: TcpListener,
    places: Arc<Semaphore>,
    addresses: Addresses,
    per_address: usize,
}

/// A connection, and the places it takes until it is gone.
struct Entered {
    tcp: TcpStream,
    address: SocketAddr,
    permit: OwnedSemaphorePermit,
    place: addresses::Place,
}

impl Door {
    /// Returns the next connection there is a place for.
    async fn next(&self) -> Entered {
        let mut has_failed = false;
        loop {
            let permit = Arc::clone(&self.places).acquire_owned().await;
            let permit = permit.expect("nobody closes the semaphore");
            match self.tcp.accept().await {
                Ok((tcp, address)) => {
                    let place = self.addresses.enter(address.ip(), self.per_address);
                    if let Some(place) = place {
                        return Entered { tcp, address, permit, place };
                    }
                    tracing::debug!(%address, "connection refused: its address has too many");
                }
                // The peer was gone before it got in.
                Err(error) if is_of_one_connection(&error) => {}
                Err(error) => {
                    if !has_failed {
                        tracing::error!(%error, "no connection can be accepted; trying on");
                        has_failed = true;
                    }
                    tokio::time::sleep(ACCEPT_PAUSE).await;
                }
            }
        }
    }
}

fn listen(address: SocketAddr) -> io::Result<TcpListener> {
    let socket = if address.is_ipv4() { TcpSocket::new_v4() } else { TcpSocket::new_v6() }?;
    // Connections of a process that has ended do not keep the next one from its port. Elsewhere
    // this would let two processes have it.
    if cfg!(unix) {
        socket.set_reuseaddr(true)?;
    }
    socket.bind(address)?;
    socket.listen(BACKLOG)
}

fn is_of_one_connection(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::ConnectionRefused
            | io::ErrorKind::ConnectionAborted
            | io::ErrorKind::ConnectionReset
    )
}
