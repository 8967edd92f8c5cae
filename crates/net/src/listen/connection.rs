//! One connection, from its first byte to its last.

use std::{
    convert::Infallible,
    error::Error as StdError,
    fmt,
    future::poll_fn,
    net::SocketAddr,
    pin::{Pin, pin},
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};

use http::{Request, Response};
use http_body::Body;
use hyper::{
    rt::Executor,
    server::conn::{http1, http2},
    service::Service,
};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::{
    net::TcpStream,
    time::{Sleep, sleep_until, timeout},
};
use tokio_rustls::TlsAcceptor;
use tokio_util::task::TaskTracker;

use super::{
    Drain, Entered, Incoming, Limits,
    entrance::Entrance,
    http1::Connection,
    peer::{self, ClientCertificate, Peer},
    stream::{Socket, Stream, Transport},
    watch::{Phase, Watch},
};

/// How connections of one listener are served.
pub(super) struct Server<S> {
    pub(super) service: S,
    pub(super) limits: Limits,
    pub(super) tls: Option<TlsAcceptor>,
    pub(super) drain: Drain,
    pub(super) tasks: Tasks,
}

/// Runs the streams of HTTP/2 connections, and lets the listener wait for them.
#[derive(Clone, Debug, Default)]
pub(super) struct Tasks(pub(super) TaskTracker);

impl<F> Executor<F> for Tasks
where
    F: Future<Output: Send> + Send + 'static,
{
    fn execute(&self, future: F) {
        self.0.spawn(future);
    }
}

#[derive(Clone, Copy, Debug)]
enum HttpVersion {
    One,
    Two,
}

/// An HTTP/2 peer must answer a ping this often, this fast.
const PING_INTERVAL: Duration = Duration::from_secs(20);
const PING_TIMEOUT: Duration = Duration::from_secs(20);
/// What an HTTP/2 peer may send ahead of the reader: of one stream, and of all.
const STREAM_WINDOW: u32 = 64 * 1024;
const CONNECTION_WINDOW: u32 = 1024 * 1024;
/// What is kept of one HTTP/2 stream for a peer that does not read.
const SEND_BYTES: usize = 64 * 1024;
/// Resets that nobody saw coming; an honest client has few of them.
const RESETS: usize = 64;

impl<S, B> Server<S>
where
    S: Service<Request<Incoming>, Response = Response<B>, Error = Infallible>,
    S: Clone + Send + Sync + 'static,
    S::Future: Send + 'static,
    B: Body + Send + 'static,
    B::Data: Send,
    B::Error: Into<Box<dyn StdError + Send + Sync>>,
{
    /// Serves a connection until it is closed, by whichever side.
    pub(super) async fn serve(self: Arc<Self>, entered: Entered) {
        let Entered { tcp, address, permit, place } = entered;
        // Held until the end.
        let _room = (permit, place);
        let Some((stream, version, peer)) = self.open(tcp, address).await else { return };
        self.speak(stream, version, &peer).await;
        if peer.watch().phase() == Phase::Upgraded {
            self.accompany(&peer).await;
        }
    }

    /// Prepares a connection: shakes hands, and finds out what the peer speaks.
    ///
    /// Apart from [`speak`](Self::speak) so that what only this needs takes no memory later.
    async fn open(
        &self,
        tcp: TcpStream,
        address: SocketAddr,
    ) -> Option<(Stream, HttpVersion, Peer)> {
        // Answers are written whole: waiting for more to send only delays them.
        if let Err(error) = tcp.set_nodelay(true) {
            tracing::debug!(%address, %error, "connection was gone at once");
            return None;
        }
        let watch = Arc::new(Watch::new(&self.limits));
        let socket = Socket::new(tcp, Arc::clone(&watch));
        let (transport, certificate) = self.secure(socket, address).await?;
        let is_tls = matches!(transport, Transport::Tls(_));
        // The clock of the first head begins when there can be one.
        watch.enter(Phase::Head);
        let mut stream = Stream::new(transport, Arc::clone(&watch));
        let version = self.version(&mut stream, &watch, address).await?;
        let peer = Peer::new(peer::Connection { address, is_tls, certificate, watch });
        Some((stream, version, peer))
    }

    /// Speaks HTTP. A connection is boxed before anybody waits: otherwise there is room for it,
    /// and for what it is made of, several times over.
    async fn speak(&self, stream: Stream, version: HttpVersion, peer: &Peer) {
        let entrance = Entrance::new(self.service.clone(), peer.clone(), self.limits.headers);
        match version {
            HttpVersion::One => {
                let (limits, drain, watch) = (&self.limits, &self.drain, peer.watch());
                let connection = Connection::new(stream, entrance.clone(), limits, drain, watch);
                let upgrade = self.run(Box::pin(connection.serve()), peer, |_| {}).await;
                if let Some(stream) = upgrade.flatten() {
                    self.upgrade(stream, entrance, peer).await;
                }
            }
            HttpVersion::Two => {
                // From here on pings tell whether the peer is there.
                peer.watch().enter(Phase::Busy);
                let connection = self.http2().serve_connection(TokioIo::new(stream), entrance);
                self.run(Box::pin(connection), peer, http2::Connection::graceful_shutdown).await;
            }
        }
    }

    /// Has one request answered that asks for an upgrade.
    async fn upgrade(&self, stream: Stream, entrance: Entrance<S>, peer: &Peer) {
        let connection = http1::Builder::new().serve_connection(TokioIo::new(stream), entrance);
        let connection = Box::pin(connection.with_upgrades());
        self.run(connection, peer, http1::UpgradeableConnection::graceful_shutdown).await;
    }

    /// Drives a connection, and ends it when one of its clocks or a peer's handle says so.
    /// When a drain begins, it is told to answer what it has and then end.
    async fn run<C, T, E: fmt::Display>(
        &self,
        mut connection: Pin<Box<C>>,
        peer: &Peer,
        end_gracefully: fn(Pin<&mut C>),
    ) -> Option<T>
    where
        C: Future<Output = Result<T, E>>,
    {
        let (watch, address) = (peer.watch(), peer.address());
        let mut begun = pin!(self.drain.begun_token().cancelled());
        let mut is_draining = false;
        let mut was_told = false;
        let mut clock: Pin<&mut Option<Sleep>> = pin!(None);
        let outcome = poll_fn(|cx| {
            if watch.is_closed(cx.waker()) {
                return Poll::Ready(Err("it was to be closed"));
            }
            if !is_draining {
                is_draining = begun.as_mut().poll(cx).is_ready();
            }
            loop {
                if let Poll::Ready(outcome) = connection.as_mut().poll(cx) {
                    return Poll::Ready(Ok(outcome));
                }
                // A request whose head is on its way is still answered.
                if is_draining && !was_told && watch.phase() != Phase::Head {
                    was_told = true;
                    end_gracefully(connection.as_mut());
                    continue;
                }
                return poll_clock(clock.as_mut(), watch, cx)
                    .map(|()| Err("the peer was too slow"));
            }
        });
        tokio::select! {
            biased;
            outcome = outcome => match outcome {
                Ok(Ok(outcome)) => return Some(outcome),
                Ok(Err(error)) => tracing::debug!(%address, %error, "connection broke off"),
                Err(reason) => tracing::debug!(%address, reason, "connection closed"),
            },
            () = self.drain.cut_token().cancelled() => {
                tracing::debug!(%address, "connection cut: the drain is over");
            }
        }
        None
    }

    /// Stays with a connection that was upgraded until its new owner drops it, so that it is
    /// counted, and ends it under its owner when the drain is over, a peer's handle says so or
    /// the peer takes nothing.
    async fn accompany(&self, peer: &Peer) {
        let (watch, address) = (peer.watch(), peer.address());
        let mut clock: Pin<&mut Option<Sleep>> = pin!(None);
        let outcome = poll_fn(|cx| {
            let is_closed = watch.is_closed(cx.waker());
            if watch.is_gone() {
                return Poll::Ready(None);
            }
            if is_closed {
                return Poll::Ready(Some("it was to be closed"));
            }
            poll_clock(clock.as_mut(), watch, cx).map(|()| Some("the peer was too slow"))
        });
        let reason = tokio::select! {
            biased;
            reason = outcome => reason,
            () = self.drain.cut_token().cancelled() => Some("the drain is over"),
        };
        if let Some(reason) = reason {
            tracing::debug!(%address, reason, "upgraded connection closed");
            watch.end();
        }
    }

    async fn secure(
        &self,
        socket: Socket,
        address: SocketAddr,
    ) -> Option<(Transport, Option<ClientCertificate>)> {
        let Some(acceptor) = &self.tls else { return Some((Transport::Plain(socket), None)) };
        let handshake = Box::pin(acceptor.accept(socket));
        let handshake = timeout(self.limits.tls_handshake, handshake);
        let accepted = tokio::select! {
            accepted = handshake => accepted,
            () = self.drain.cut_token().cancelled() => return None,
        };
        let stream = match accepted {
            Ok(Ok(stream)) => stream,
            Ok(Err(error)) => {
                tracing::debug!(%address, %error, "handshake failed");
                return None;
            }
            Err(_) => {
                tracing::debug!(%address, "handshake took too long");
                return None;
            }
        };
        let certificate = match stream.get_ref().1.peer_certificates() {
            Some([certificate, ..]) => match ClientCertificate::read(certificate) {
                Ok(certificate) => Some(certificate),
                Err(error) => {
                    tracing::debug!(%address, %error, "client certificate cannot be read");
                    return None;
                }
            },
            _ => None,
        };
        Some((Transport::Tls(Box::new(stream)), certificate))
    }

    /// Returns what the peer speaks, unless it takes too long to say.
    async fn version(
        &self,
        stream: &mut Stream,
        watch: &Watch,
        address: SocketAddr,
    ) -> Option<HttpVersion> {
        let mut clock = pin!(None);
        tokio::select! {
            biased;
            version = stream.speaks_http2() => match version {
                Ok(true) => Some(HttpVersion::Two),
                Ok(false) => Some(HttpVersion::One),
                Err(error) => {
                    tracing::debug!(%address, %error, "connection broke off");
                    None
                }
            },
            () = poll_fn(|cx| poll_clock(clock.as_mut(), watch, cx)) => {
                tracing::debug!(%address, "connection closed: the peer was too slow");
                None
            }
            () = self.drain.cut_token().cancelled() => None,
        }
    }

    fn http2(&self) -> http2::Builder<Tasks> {
        let limits = &self.limits;
        let mut builder = http2::Builder::new(self.tasks.clone());
        builder
            .timer(TokioTimer::new())
            .keep_alive_interval(PING_INTERVAL)
            .keep_alive_timeout(PING_TIMEOUT)
            .initial_stream_window_size(STREAM_WINDOW)
            .initial_connection_window_size(CONNECTION_WINDOW)
            .max_concurrent_streams(limits.streams_per_connection)
            .max_header_list_size(u32::try_from(limits.header_bytes).unwrap_or(u32::MAX))
            .max_send_buf_size(SEND_BYTES)
            .max_pending_accept_reset_streams(RESETS)
            .max_local_error_reset_streams(RESETS);
        builder
    }
}

/// Waits for the next deadline of a connection, with as few changes to the timer as possible:
/// one that rings too early is set again, one that would ring too late is moved.
fn poll_clock(mut clock: Pin<&mut Option<Sleep>>, watch: &Watch, cx: &mut Context<'_>) -> Poll<()> {
    loop {
        let Some(deadline) = watch.deadline() else { return Poll::Pending };
        match clock.as_mut().as_pin_mut() {
            None => clock.set(Some(sleep_until(deadline))),
            Some(mut sleep) => {
                if sleep.deadline() > deadline {
                    sleep.as_mut().reset(deadline);
                }
                if sleep.as_mut().poll(cx).is_pending() {
                    return Poll::Pending;
                }
                if sleep.deadline() >= deadline {
                    return Poll::Ready(());
                }
                sleep.reset(deadline);
            }
        }
    }
}
