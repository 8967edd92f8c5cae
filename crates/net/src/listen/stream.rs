//! The bytes of a connection, watched.

use std::{
    future::poll_fn,
    io::{self, IoSlice},
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
};

use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    net::TcpStream,
};
use tokio_rustls::server::TlsStream;

use super::{
    framing::{Ambiguous, Framing},
    watch::{Phase, Side, Watch},
};

/// A socket that notes when its peer takes nothing. Below TLS, where bytes are those that
/// the peer takes.
#[derive(Debug)]
pub(super) struct Socket {
    tcp: TcpStream,
    watch: Arc<Watch>,
}

/// The bytes that HTTP is made of.
#[derive(Debug)]
pub(super) struct Stream {
    transport: Transport,
    watch: Arc<Watch>,
    /// What was read to find out the version, and has yet to be read by whoever speaks it.
    kept: [u8; PREFACE.len()],
    kept_from: u8,
    kept_to: u8,
    framing: Framing,
    /// How much was thrown away since our side was closed.
    lingered: Option<usize>,
}

#[derive(Debug)]
pub(super) enum Transport {
    Plain(Socket),
    /// Boxed, so that connections without TLS do not have to have room for it.
    Tls(Box<TlsStream<Socket>>),
}

/// The most that is thrown away so that a peer can read its answer.
const LINGER_BYTES: usize = 64 * 1024;

const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

impl Socket {
    pub(super) fn new(tcp: TcpStream, watch: Arc<Watch>) -> Self {
        Self { tcp, watch }
    }
}

impl Stream {
    pub(super) fn new(transport: Transport, watch: Arc<Watch>) -> Self {
        Self {
            transport,
            watch,
            kept: [0; PREFACE.len()],
            kept_from: 0,
            kept_to: 0,
            framing: Framing::new(),
            lingered: None,
        }
    }

    /// Reads until it is clear whether the peer speaks HTTP/2. What was read is read again.
    pub(super) async fn speaks_http2(&mut self) -> io::Result<bool> {
        loop {
            let count = usize::from(self.kept_to);
            if count == PREFACE.len() {
                self.framing.turn_off();
                return Ok(true);
            }
            let mut buffer = ReadBuf::new(&mut self.kept[count..]);
            poll_fn(|cx| self.transport.poll_read(cx, &mut buffer)).await?;
            let read = buffer.filled().len();
            let is_alike = buffer.filled() == &PREFACE[count..count + read];
            self.kept_to += u8::try_from(read).unwrap_or_default();
            if read == 0 || !is_alike {
                return Ok(false);
            }
        }
    }
}

impl Stream {
    /// Waits a little for a peer that is still sending. To close on it would reset the
    /// connection, and it might never read why its request was refused.
    fn poll_linger(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        if self.lingered.is_none() {
            self.watch.enter(Phase::Leaving);
        }
        let lingered = self.lingered.get_or_insert(0);
        let mut scratch = [0; 4 * 1024];
        while *lingered < LINGER_BYTES {
            let mut buffer = ReadBuf::new(&mut scratch);
            let outcome = ready!(self.transport.poll_read(cx, &mut buffer));
            if outcome.is_err() || buffer.filled().is_empty() {
                break;
            }
            *lingered += buffer.filled().len();
        }
        Poll::Ready(())
    }
}

impl Stream {
    /// Looks whether the connection was ended under whoever took it over by an upgrade.
    fn check(&mut self, side: Side, cx: &Context<'_>) -> io::Result<()> {
        if self.watch.phase() != Phase::Upgraded {
            return Ok(());
        }
        // These are no requests any more.
        self.framing.turn_off();
        if self.watch.is_ended(side, cx.waker()) {
            return Err(io::ErrorKind::ConnectionAborted.into());
        }
        Ok(())
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        self.watch.leave();
    }
}

impl Transport {
    fn poll_read(
        &mut self,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        match self {
            Self::Plain(socket) => Pin::new(socket).poll_read(cx, buffer),
            Self::Tls(stream) => Pin::new(stream).poll_read(cx, buffer),
        }
    }
}

impl AsyncRead for Stream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = &mut *self;
        this.check(Side::Read, cx)?;
        let before = buffer.filled().len();
        let kept = &this.kept[usize::from(this.kept_from)..usize::from(this.kept_to)];
        let taken = kept.len().min(buffer.remaining());
        buffer.put_slice(&kept[..taken]);
        this.kept_from += u8::try_from(taken).unwrap_or_default();
        // More is read at once: hyper doubles its buffer if the first read looks small. Should
        // that fail, the next read will find out.
        let outcome = this.transport.poll_read(cx, buffer);
        if taken == 0 {
            ready!(outcome)?;
        }
        let bytes = &buffer.filled()[before..];
        if !bytes.is_empty() {
            this.watch.heard();
            if let Err(Ambiguous(request)) = this.framing.read(bytes) {
                this.watch.refuse_from(request);
            }
        }
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Stream {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.check(Side::Write, cx)?;
        match &mut self.transport {
            Transport::Plain(socket) => Pin::new(socket).poll_write(cx, buffer),
            Transport::Tls(stream) => Pin::new(stream).poll_write(cx, buffer),
        }
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffers: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.check(Side::Write, cx)?;
        match &mut self.transport {
            Transport::Plain(socket) => Pin::new(socket).poll_write_vectored(cx, buffers),
            Transport::Tls(stream) => Pin::new(stream).poll_write_vectored(cx, buffers),
        }
    }

    fn is_write_vectored(&self) -> bool {
        match &self.transport {
            Transport::Plain(socket) => socket.is_write_vectored(),
            Transport::Tls(stream) => stream.is_write_vectored(),
        }
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.check(Side::Write, cx)?;
        match &mut self.transport {
            Transport::Plain(socket) => Pin::new(socket).poll_flush(cx),
            Transport::Tls(stream) => Pin::new(stream).poll_flush(cx),
        }
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.check(Side::Write, cx)?;
        if self.lingered.is_none() {
            ready!(match &mut self.transport {
                Transport::Plain(socket) => Pin::new(socket).poll_shutdown(cx),
                Transport::Tls(stream) => Pin::new(stream).poll_shutdown(cx),
            })?;
        }
        if self.framing.is_within_request() {
            ready!(self.poll_linger(cx));
        }
        Poll::Ready(Ok(()))
    }
}

impl AsyncRead for Socket {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.tcp).poll_read(cx, buffer)
    }
}

impl AsyncWrite for Socket {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &[u8],
    ) -> Poll<io::Result<usize>> {
        let outcome = Pin::new(&mut self.tcp).poll_write(cx, buffer);
        self.watch.wrote(&outcome);
        outcome
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffers: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let outcome = Pin::new(&mut self.tcp).poll_write_vectored(cx, buffers);
        self.watch.wrote(&outcome);
        outcome
    }

    fn is_write_vectored(&self) -> bool {
        self.tcp.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.tcp).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.tcp).poll_shutdown(cx)
    }
}
