//! Opening a connection: resolve, check, dial that very address, secure.

use std::{
    fmt, io,
    net::SocketAddr,
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};

use futures_util::{
    future::BoxFuture,
    stream::{FuturesUnordered, StreamExt as _},
};
use http::Uri;
use hyper_util::rt::TokioIo;
use tokio::{
    net::TcpStream,
    sync::Semaphore,
    time::{sleep, timeout},
};
use tower_service::Service;

use super::{
    Protocol,
    stream::{Stream, Transport},
    tls::Tls,
};
use crate::{
    egress::{Errand, Guard},
    error::{Clock, Error},
};

/// Opens TCP connections.
///
/// Every address it is asked for has been checked; it must connect there and nowhere else.
pub trait Dialer: fmt::Debug + Send + Sync + 'static {
    /// Connects to an address.
    fn dial(&self, address: SocketAddr) -> BoxFuture<'_, io::Result<TcpStream>>;
}

/// Opens TCP connections by the operating system.
#[derive(Clone, Copy, Debug, Default)]
pub struct TcpDialer;

impl Dialer for TcpDialer {
    fn dial(&self, address: SocketAddr) -> BoxFuture<'_, io::Result<TcpStream>> {
        Box::pin(TcpStream::connect(address))
    }
}

/// Opens the connections of one errand that speak one protocol.
#[derive(Clone)]
pub(super) struct Connector {
    options: Arc<Options>,
    permits: Arc<Semaphore>,
}

/// A connection that is being opened.
pub(super) type Connecting = BoxFuture<'static, Result<Stream, Error>>;

pub(super) struct Options {
    pub(super) guard: Guard,
    pub(super) dialer: Arc<dyn Dialer>,
    pub(super) tls: Arc<Tls>,
    pub(super) errand: Errand,
    pub(super) protocol: Protocol,
    pub(super) limit: Duration,
    pub(super) connections: usize,
}

/// How long an address may keep the next one waiting (RFC 8305 §5).
const HEAD_START: Duration = Duration::from_millis(250);

impl Connector {
    /// The permits are those of the errand, whatever the protocol.
    pub(super) fn new(options: Options, permits: Arc<Semaphore>) -> Self {
        Self { options: Arc::new(options), permits }
    }

    /// Opens a connection to where a URI leads.
    pub(super) fn open(&self, uri: Uri) -> Connecting {
        Box::pin(self.clone().connect(uri))
    }

    async fn connect(self, uri: Uri) -> Result<Stream, Error> {
        let Options { guard, dialer, tls, errand, protocol, limit, connections } = &*self.options;
        let url = guard.check_url(&uri.to_string(), *errand)?;
        let addresses = guard.addresses(&url).await?;
        let permit = timeout(*limit, Arc::clone(&self.permits).acquire_owned()).await;
        let Ok(Ok(permit)) = permit else { return Err(Error::Busy { limit: *connections }) };
        let host = url.host_text();
        let open =
            async {
                let tcp = dial_any(&**dialer, &addresses).await.map_err(|source| {
                    Error::Connect { host: host.to_owned(), source: source.into() }
                })?;
                if !url.is_https() {
                    return Ok(Transport::Plain(TokioIo::new(tcp)));
                }
                let secured = tls.secure(&url, *protocol, tcp).await.map_err(|source| {
                    Error::Tls { host: host.to_owned(), source: source.into() }
                })?;
                Ok::<_, Error>(Transport::Tls(Box::new(TokioIo::new(secured))))
            };
        let transport = timeout(*limit, open)
            .await
            .map_err(|_| Error::Timeout { clock: Clock::Connect, limit: *limit })??;
        Ok(Stream::new(transport, permit))
    }
}

impl Service<Uri> for Connector {
    type Response = Stream;
    type Error = Error;
    type Future = Connecting;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Error>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, uri: Uri) -> Self::Future {
        self.open(uri)
    }
}

/// Dials the addresses in order, the next one as soon as those before it failed or had their
/// head start; the first connection wins and the others are dropped.
async fn dial_any(dialer: &dyn Dialer, addresses: &[SocketAddr]) -> io::Result<TcpStream> {
    let mut waiting = addresses.iter();
    let mut dialing = FuturesUnordered::new();
    let mut failure = io::Error::from(io::ErrorKind::NotFound);
    loop {
        if let Some(address) = waiting.next() {
            dialing.push(dialer.dial(*address));
        } else if dialing.is_empty() {
            return Err(failure);
        }
        let answered = tokio::select! {
            biased;
            answered = dialing.next() => answered,
            () = sleep(HEAD_START), if waiting.len() > 0 => None,
        };
        match answered {
            Some(Ok(tcp)) => {
                // Small frames are not to wait for each other.
                tcp.set_nodelay(true)?;
                return Ok(tcp);
            }
            Some(Err(error)) => failure = error,
            None => {}
        }
    }
}
