//! An open connection.

use std::{
    io,
    pin::Pin,
    task::{Context, Poll},
};

use hyper::rt::{Read, ReadBufCursor, Write};
use hyper_util::{
    client::legacy::connect::{Connected, Connection},
    rt::TokioIo,
};
use tokio::{net::TcpStream, sync::OwnedSemaphorePermit};
use tokio_rustls::client::TlsStream;

/// A connection, plain or secured, that counts as open until it is dropped.
pub(crate) struct Stream {
    transport: Transport,
    permit: OwnedSemaphorePermit,
}

pub(super) enum Transport {
    Plain(TokioIo<TcpStream>),
    Tls(Box<TokioIo<TlsStream<TcpStream>>>),
}

trait ReadWrite: Read + Write + Unpin {}
impl<T: Read + Write + Unpin> ReadWrite for T {}

impl Stream {
    pub(super) fn new(transport: Transport, permit: OwnedSemaphorePermit) -> Self {
        Self { transport, permit }
    }

    /// Returns the connection and its permit, if it is not secured.
    pub(super) fn into_plain(self) -> Option<(TcpStream, OwnedSemaphorePermit)> {
        match self.transport {
            Transport::Plain(io) => Some((io.into_inner(), self.permit)),
            Transport::Tls(_) => None,
        }
    }

    fn io(self: Pin<&mut Self>) -> Pin<&mut dyn ReadWrite> {
        match &mut self.get_mut().transport {
            Transport::Plain(io) => Pin::new(io),
            Transport::Tls(io) => Pin::new(&mut **io),
        }
    }
}

impl Connection for Stream {
    fn connected(&self) -> Connected {
        let is_http2 = match &self.transport {
            Transport::Plain(_) => false,
            Transport::Tls(io) => io.inner().get_ref().1.alpn_protocol() == Some(b"h2"),
        };
        if is_http2 { Connected::new().negotiated_h2() } else { Connected::new() }
    }
}

impl Read for Stream {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: ReadBufCursor<'_>,
    ) -> Poll<io::Result<()>> {
        self.io().poll_read(cx, buffer)
    }
}

impl Write for Stream {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.io().poll_write(cx, bytes)
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.io().poll_flush(cx)
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.io().poll_shutdown(cx)
    }

    fn is_write_vectored(&self) -> bool {
        match &self.transport {
            Transport::Plain(io) => io.is_write_vectored(),
            Transport::Tls(io) => io.is_write_vectored(),
        }
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.io().poll_write_vectored(cx, slices)
    }
}
