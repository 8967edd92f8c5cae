//! The bytes of a connection, watched.

use std::{
    future::poll_fn,
    io::{self, IoSlice},
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
};

use bytes::{Bytes, BytesMut};
use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    net::TcpStream,
};
use tokio_rustls::server::TlsStream;

use super::watch::{Phase, Side, Watch};

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
    /// What was read to find out who speaks what, and has yet to be read by whoever does.
    kept: BytesMut,
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

/// How much is read to find out what a peer speaks: most requests are not longer.
const FIRST_READ: usize = 2 * 1024;

const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

impl Socket {
    pub(super) fn new(tcp: TcpStream, watch: Arc<Watch>) -> Self {
        Self { tcp, watch }
    }
}

impl Stream {
    pub(super) fn new(transport: Transport, watch: Arc<Watch>) -> Self {
        Self { transport, watch, kept: BytesMut::new(), lingered: None }
    }

    /// Reads until it is clear whether the peer speaks HTTP/2. What was read is kept.
    pub(super) async fn speaks_http2(&mut self) -> io::Result<bool> {
        loop {
            let mut scratch = [0; FIRST_READ];
            let mut buffer = ReadBuf::new(&mut scratch);
            poll_fn(|cx| self.transport.poll_read(cx, &mut buffer)).await?;
            self.kept.extend_from_slice(buffer.filled());
            let start = &self.kept[..self.kept.len().min(PREFACE.len())];
            let is_alike = PREFACE.starts_with(start);
            if buffer.filled().is_empty() || !is_alike || start.len() == PREFACE.len() {
                return Ok(is_alike && start.len() == PREFACE.len());
            }
        }
    }

    /// Takes what was read already.
    pub(super) fn take_kept(&mut self) -> BytesMut {
        std::mem::take(&mut self.kept)
    }

    /// Keeps what is to be read again.
    pub(super) fn keep(&mut self, bytes: Vec<u8>) {
        self.kept = Bytes::from(bytes).into();
    }

    /// Closes our side. A peer that may still be sending gets time to read its answer.
    pub(super) fn poll_close(
        &mut self,
        lingers: bool,
        cx: &mut Context<'_>,
    ) -> Poll<io::Result<()>> {
        if self.lingered.is_none() {
            ready!(Pin::new(&mut *self).poll_shutdown(cx))?;
        }
        if lingers {
            ready!(self.poll_linger(cx));
        }
        Poll::Ready(Ok(()))
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
        if this.kept.is_empty() {
            ready!(this.transport.poll_read(cx, buffer))?;
        } else {
            let taken = this.kept.len().min(buffer.remaining());
            buffer.put_slice(&this.kept.split_to(taken));
        }
        this.watch.heard();
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
        match &mut self.transport {
            Transport::Plain(socket) => Pin::new(socket).poll_shutdown(cx),
            Transport::Tls(stream) => Pin::new(stream).poll_shutdown(cx),
        }
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
