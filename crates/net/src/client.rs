//! The HTTP client: one [`Client`] serves any number of callers and errands.

mod body;
mod clocks;
mod connect;
mod http1;
mod identity;
mod plain;
mod request;
mod response;
mod stream;
mod tls;

use std::{error::Error as StdError, fmt, pin::pin, sync::Arc, time::Duration};

use http::header;
use hyper_util::{
    client::legacy::{self, connect::capture_connection},
    rt::{TokioExecutor, TokioTimer},
};
use tokio::sync::Semaphore;

pub use self::{
    body::Body,
    connect::{Dialer, TcpDialer},
    identity::{Identity, InvalidIdentity},
    request::{Protocol, Request, Timeouts},
    response::{Response, ResponseBody},
    tls::InvalidRoots,
};
use self::{
    clocks::Clocks, connect::Connector, http1::Written, plain::Plain, response::Source, tls::Tls,
};
use crate::{
    egress::{CheckedUrl, Errand, Guard},
    error::{Clock, Error},
    trace,
};

/// Sends requests to where its guard lets them go. Cheap to clone.
///
/// Connections are kept and used again, but only for the same errand: a connection that was
/// opened for an administrator's target never carries a caller's request.
#[derive(Clone)]
pub struct Client {
    shared: Arc<Shared>,
    begins_traces: bool,
}

struct Shared {
    guard: Guard,
    timeouts: Timeouts,
    /// How long a request may wait for its connection: the connector's own clocks are
    /// sharper, this one bounds what the pool adds.
    connection_limit: Duration,
    tls: Arc<Tls>,
    lanes: Vec<Lane>,
}

/// The connections of one errand that speak one protocol.
struct Lane {
    errand: Errand,
    protocol: Protocol,
    /// Those over TLS, and all of HTTP/2.
    pool: legacy::Client<Connector, Body>,
    /// The others.
    plain: Plain,
}

/// Options of a [`Client`].
#[derive(Debug)]
#[must_use]
pub struct Builder {
    guard: Guard,
    dialer: Arc<dyn Dialer>,
    timeouts: Timeouts,
    connect_limit: Duration,
    connections: usize,
    idle_connections_per_host: usize,
    idle_limit: Duration,
    roots: Vec<Vec<u8>>,
    believes_anybody: bool,
}

/// Answers with larger heads are broken off.
const HEAD_BYTES: u32 = 64 * 1024;
const HEADERS: usize = 100;

impl Client {
    /// Makes a client with default limits.
    pub fn new(guard: Guard) -> Self {
        let builder = Self::builder(guard);
        let tls = Tls::new(Vec::new());
        builder.build_with(tls)
    }

    /// Sets options first.
    pub fn builder(guard: Guard) -> Builder {
        Builder {
            guard,
            dialer: Arc::new(TcpDialer),
            timeouts: Timeouts::default(),
            connect_limit: Duration::from_secs(5),
            connections: 1024,
            // As many as a host is asked at once, by default: whoever comes back finds one.
            idle_connections_per_host: 64,
            // Many servers close what was idle for five seconds; a request that meets the end
            // of its connection may have arrived or not.
            idle_limit: Duration::from_secs(4),
            roots: Vec::new(),
            believes_anybody: false,
        }
    }

    /// Begins a trace with every request that is part of none.
    #[must_use]
    pub fn with_traces(self) -> Self {
        Self { begins_traces: true, ..self }
    }

    /// Returns the guard, which makes the URLs that can be sent to.
    pub fn guard(&self) -> &Guard {
        &self.shared.guard
    }

    /// Shows a certificate from now on, on the errand of a URL and at its origin, if the server
    /// there asks for one. An origin has one identity on an errand, the one named last;
    /// connections that are open keep the one they were opened with.
    pub fn identify(&self, url: &CheckedUrl, identity: Identity) {
        self.shared.tls.identify(url, identity);
    }

    /// Sends a request and waits for the head of its answer, whatever the status.
    ///
    /// The URL is checked again when a connection to its host is opened; one that is open
    /// was opened for the same errand, scheme, host and port. A redirect is an answer like
    /// any other. Dropping the future breaks off the exchange.
    pub async fn send(&self, request: Request) -> Result<Response, Error> {
        let Request { method, url, mut headers, body, timeouts, protocol } = request;
        let timeouts = timeouts.unwrap_or(self.shared.timeouts);
        trace::inject(&mut headers, self.begins_traces);
        let lane = self.lane(url.errand(), protocol);
        let limit = self.shared.connection_limit;
        let mut clocks = Clocks::start(Clock::Connect, limit, timeouts.whole);
        let answer = match body.bytes() {
            Some(bytes) if protocol == Protocol::Any && !url.is_https() => {
                let request = Written::new(&method, &url, &headers, bytes.clone());
                drop((method, headers, body));
                let answer = lane.plain.send(&url, request, timeouts.first_byte, &mut clocks);
                answer.await.map(|(answer, lease)| answer.map(|()| Source::Plain(lease)))
            }
            _ => {
                let mut request = http::Request::new(body);
                *request.method_mut() = method;
                *request.uri_mut() = url.uri().clone();
                *request.headers_mut() = headers;
                // Large, and most callers need not carry it.
                let answer = Box::pin(exchange(lane, request, timeouts.first_byte, &mut clocks));
                answer.await.map(|answer| answer.map(|body| Source::Pool(body, url.clone())))
            }
        };
        let answer = answer.map_err(|failed| match failed {
            Failed::Ours(error) => error,
            Failed::Http(error) => in_our_words(error, url.host_text()),
        })?;
        clocks.turn_to(Clock::Idle, timeouts.idle);
        Ok(Response::new(answer, clocks))
    }

    fn lane(&self, errand: Errand, protocol: Protocol) -> &Lane {
        let mut lanes = self.shared.lanes.iter();
        lanes
            .find(|lane| lane.errand == errand && lane.protocol == protocol)
            .expect("there is a lane for every errand and protocol")
    }
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client").field("guard", &self.shared.guard).finish_non_exhaustive()
    }
}

impl Builder {
    /// Opens connections by other means. The addresses are checked before.
    pub fn dialer(mut self, dialer: impl Dialer) -> Self {
        self.dialer = Arc::new(dialer);
        self
    }

    /// Sets the clocks of requests that set none themselves.
    pub fn timeouts(mut self, timeouts: Timeouts) -> Self {
        self.timeouts = timeouts;
        self
    }

    /// Sets how long opening a connection may take, over all addresses and with TLS.
    pub fn connect_limit(mut self, limit: Duration) -> Self {
        self.connect_limit = limit;
        self
    }

    /// Sets how many connections may be open for one errand, in use or idle.
    pub fn connections(mut self, count: usize) -> Self {
        self.connections = count;
        self
    }

    /// Sets how many unused connections to one host are kept, and for how long.
    pub fn idle_connections(mut self, per_host: usize, limit: Duration) -> Self {
        self.idle_connections_per_host = per_host;
        self.idle_limit = limit;
        self
    }

    /// Trusts more issuers of certificates beside the platform's, in PEM.
    pub fn extra_roots(mut self, pem: impl Into<Vec<u8>>) -> Self {
        self.roots.push(pem.into());
        self
    }

    /// Accepts any certificate, of anybody.
    ///
    /// For development. Whoever sits between this program and the peer can then read and change
    /// everything, credentials included.
    pub fn dangerously_accept_any_certificate(mut self) -> Self {
        self.believes_anybody = true;
        self
    }

    /// Makes the client. Fails if an extra root is not a certificate.
    pub fn build(mut self) -> Result<Client, InvalidRoots> {
        let roots = tls::read_roots(&std::mem::take(&mut self.roots))?;
        let tls = Tls::new(roots);
        let tls = if self.believes_anybody { tls.believe_anybody() } else { tls };
        Ok(self.build_with(tls))
    }

    fn build_with(self, tls: Tls) -> Client {
        let tls = Arc::new(tls);
        let lanes = |errand| {
            let permits = Arc::new(Semaphore::new(self.connections.min(Semaphore::MAX_PERMITS)));
            Protocol::ALL.map(|protocol| {
                let options = connect::Options {
                    guard: self.guard.clone(),
                    dialer: Arc::clone(&self.dialer),
                    tls: Arc::clone(&tls),
                    errand,
                    protocol,
                    limit: self.connect_limit,
                    connections: self.connections,
                };
                let connector = Connector::new(options, Arc::clone(&permits));
                let (per_host, limit) = (self.idle_connections_per_host, self.idle_limit);
                let plain = Plain::new(connector.clone(), per_host, limit);
                Lane { errand, protocol, pool: self.pool(connector, protocol), plain }
            })
        };
        let shared = Shared {
            lanes: Errand::all().flat_map(lanes).collect(),
            timeouts: self.timeouts,
            // The connect limit counts twice: waiting for a place among the connections, then
            // opening one.
            connection_limit: self
                .guard
                .limit()
                .saturating_add(self.connect_limit)
                .saturating_add(self.connect_limit),
            guard: self.guard,
            tls,
        };
        Client { shared: Arc::new(shared), begins_traces: false }
    }

    fn pool(&self, connector: Connector, protocol: Protocol) -> legacy::Client<Connector, Body> {
        legacy::Client::builder(TokioExecutor::new())
            .http2_only(protocol == Protocol::Http2)
            .timer(TokioTimer::new())
            .pool_timer(TokioTimer::new())
            .pool_idle_timeout(self.idle_limit)
            .pool_max_idle_per_host(self.idle_connections_per_host)
            .http1_max_buf_size(HEAD_BYTES as usize)
            .http1_max_headers(HEADERS)
            .http2_max_header_list_size(HEAD_BYTES)
            // A peer that vanished without a word is noticed while streams are open.
            .http2_keep_alive_interval(Duration::from_secs(30))
            .http2_keep_alive_timeout(Duration::from_secs(10))
            .build(connector)
    }
}

/// Why there is no head of an answer.
enum Failed {
    /// A clock ran out, or there is no connection.
    Ours(Error),
    Http(Box<dyn StdError + Send + Sync>),
}

async fn exchange(
    lane: &Lane,
    mut request: http::Request<Body>,
    first_byte: Duration,
    clocks: &mut Clocks,
) -> Result<http::Response<hyper::body::Incoming>, Failed> {
    // Framing and routing are ours: a header that says otherwise could smuggle a request.
    for name in [
        header::HOST,
        header::CONNECTION,
        header::CONTENT_LENGTH,
        header::TRANSFER_ENCODING,
        header::UPGRADE,
    ] {
        request.headers_mut().remove(name);
    }
    let mut connection = capture_connection(&mut request);
    let mut answer = pin!(lane.pool.request(request));
    tokio::select! {
        biased;
        answered = &mut answer => return answered.map_err(|error| Failed::Http(error.into())),
        _ = connection.wait_for_connection_metadata() => {}
        error = clocks.run_out() => return Err(Failed::Ours(error)),
    }
    clocks.turn_to(Clock::FirstByte, first_byte);
    tokio::select! {
        biased;
        answered = answer => answered.map_err(|error| Failed::Http(error.into())),
        error = clocks.run_out() => Err(Failed::Ours(error)),
    }
}

/// Finds our own error in the library's, where the connector put it.
fn in_our_words(error: Box<dyn StdError + Send + Sync>, host: &str) -> Error {
    let mut source: Option<&(dyn StdError + 'static)> = Some(&*error);
    while let Some(current) = source {
        if let Some(ours) = current.downcast_ref::<Error>() {
            return ours.clone();
        }
        source = current.source();
    }
    Error::Http { host: host.to_owned(), source: error.into() }
}
