//! A connection of HTTP/1.1 without TLS, moved on by whoever uses it.
//!
//! The library wants a task for every connection, and keeps two buffers of 8 KiB for each as long
//! as it is open. Most of what we call is one of two things: a small document that is answered
//! with another, or a stream on which nothing happens for minutes. Here, whoever waits for an
//! answer reads it from the socket itself, and a connection that waits holds no buffer at all.
//! One that nobody uses stands still: that its peer has closed it is found out by the next
//! request, of which nothing was written then.
//!
//! Where an answer begins and ends is read as the library reads it, in doubt more strictly.
//! Trailers are checked and passed over. Bodies of requests that are streams go by the library.

mod head;

use std::{
    fmt, io,
    mem::MaybeUninit,
    pin::{Pin, pin},
    task::{Context, Poll, ready},
};

use bytes::{Bytes, BytesMut};
use http::Response;
use socket2::SockRef;
use tokio::{
    io::{AsyncReadExt as _, AsyncWrite as _},
    net::TcpStream,
    sync::OwnedSemaphorePermit,
};

use self::head::Head;
pub(super) use self::head::Written;
use super::{HEAD_BYTES, clocks::Timer};
use crate::http1::{Fault, Framing, Taken, end_of_head};

/// How much is read at once: little at first, more from a peer that sends a lot.
const FIRST_READ: usize = 2 * 1024;
const LARGEST_READ: usize = 64 * 1024;

/// An open connection.
pub(super) struct Connection {
    stream: TcpStream,
    _permit: OwnedSemaphorePermit,
    /// What is still to be written.
    unsent: Option<Written>,
    /// What was read and not yet taken.
    received: BytesMut,
    /// How much is read next.
    room: usize,
    /// What is still to come of an answer.
    framing: Framing,
    /// Whether another request can follow when the answer is over.
    is_kept: bool,
    /// Whether it was left alone for a while, so that its peer may have closed it.
    pub(super) is_old: bool,
    /// The timer of the request before, to be used again.
    pub(super) timer: Option<Timer>,
}

/// Why an exchange cannot go on.
#[derive(Debug)]
pub(super) enum Broken {
    Io(io::Error),
    /// The peer has closed the connection before its answer was over.
    Early,
    Fault(Fault),
}

impl Connection {
    pub(super) fn new(stream: TcpStream, permit: OwnedSemaphorePermit) -> Self {
        Self {
            stream,
            _permit: permit,
            unsent: None,
            received: BytesMut::new(),
            room: FIRST_READ,
            framing: Framing::Over,
            is_kept: true,
            is_old: false,
            timer: None,
        }
    }

    /// Tells whether the peer has neither closed the connection nor said anything unasked. The
    /// system is asked: the runtime knows only what has happened when it last looked, which on a
    /// busy machine is a while ago.
    pub(super) fn is_open(&self) -> bool {
        let peeked = SockRef::from(&self.stream).peek(&mut [MaybeUninit::uninit()]);
        matches!(peeked, Err(error) if error.kind() == io::ErrorKind::WouldBlock)
    }

    /// Begins an exchange. Nothing of the one before may be left.
    pub(super) fn begin(&mut self, request: Written) {
        self.framing = Framing::Head { skips_body: request.skips_body };
        self.unsent = Some(request);
    }

    /// Writes the request and waits for the head of the answer.
    pub(super) fn poll_head(&mut self, cx: &mut Context<'_>) -> Poll<Result<Response<()>, Broken>> {
        self.write(cx);
        loop {
            if let Some(answer) = self.take_head()? {
                return Poll::Ready(Ok(answer));
            }
            match ready!(self.poll_receive(cx)) {
                Ok(1..) => {}
                Ok(_) => return Poll::Ready(Err(Broken::Early)),
                Err(error) => return Poll::Ready(Err(Broken::Io(error))),
            }
        }
    }

    /// Waits for the next piece of the body; `None` at its end.
    pub(super) fn poll_body(
        &mut self,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Bytes, Broken>>> {
        self.write(cx);
        loop {
            match self.framing.take(&mut self.received) {
                Ok(Taken::Piece(piece)) => return Poll::Ready(Some(Ok(piece))),
                Ok(Taken::End) => return Poll::Ready(None),
                Ok(Taken::Nothing) => {}
                Err(fault) => return Poll::Ready(Some(Err(self.give_up(fault.into())))),
            }
            let broken = match ready!(self.poll_receive(cx)) {
                Ok(1..) => continue,
                Ok(_) if self.framing == Framing::Rest => {
                    self.framing = Framing::Over;
                    return Poll::Ready(None);
                }
                Ok(_) => Broken::Early,
                Err(error) => Broken::Io(error),
            };
            return Poll::Ready(Some(Err(self.give_up(broken))));
        }
    }

    /// Tells how many bytes of the body are to come, if the peer has said so.
    pub(super) fn body_length(&self) -> Option<u64> {
        match self.framing {
            Framing::Over => Some(0),
            Framing::Length(left) => Some(left),
            Framing::Head { .. } | Framing::Chunks(_) | Framing::Rest => None,
        }
    }

    /// Tells whether the body is over.
    pub(super) fn is_over(&self) -> bool {
        self.framing == Framing::Over
    }

    /// Tells whether another exchange can begin. What has arrived of the last one and was not
    /// read is passed over.
    pub(super) fn is_idle(&mut self) -> bool {
        while self.is_kept && matches!(self.framing.take(&mut self.received), Ok(Taken::Piece(_))) {
        }
        self.is_kept && self.is_over() && self.unsent.is_none() && self.received.is_empty()
    }

    fn give_up(&mut self, broken: Broken) -> Broken {
        self.is_kept = false;
        broken
    }

    fn take_head(&mut self) -> Result<Option<Response<()>>, Fault> {
        let Framing::Head { skips_body } = self.framing else {
            return Err(Fault::Malformed("a head, where none was asked for"));
        };
        loop {
            let Some(end) = end_of_head(&self.received, 0) else {
                let is_too_long = self.received.len() >= HEAD_BYTES as usize;
                return if is_too_long { Err(Fault::TooLong) } else { Ok(None) };
            };
            if end > HEAD_BYTES as usize {
                return Err(Fault::TooLong);
            }
            let head = Head::read(&self.received.split_to(end).freeze())?;
            // What goes before the answer says nothing to us (RFC 9110 §15.2).
            if head.is_interim()? {
                continue;
            }
            let (framing, is_kept) = head.framing(skips_body)?;
            self.framing = framing;
            self.is_kept &= is_kept;
            return Ok(Some(head.into_answer()));
        }
    }

    /// Writes as much as can be now.
    ///
    /// A peer may refuse what it has seen so far, and close. Then there is nothing more to write,
    /// but there may be an answer; if there is none, that is what is wrong.
    fn write(&mut self, cx: &mut Context<'_>) {
        while let Some(unsent) = &mut self.unsent {
            let stream = Pin::new(&mut self.stream);
            let written = match unsent.rest() {
                (head, []) => stream.poll_write(cx, head),
                ([], body) => stream.poll_write(cx, body),
                (head, body) => {
                    let slices = [io::IoSlice::new(head), io::IoSlice::new(body)];
                    stream.poll_write_vectored(cx, &slices)
                }
            };
            match written {
                Poll::Pending => return,
                Poll::Ready(Ok(count)) if count > 0 => {
                    if !unsent.advance(count) {
                        self.unsent = None;
                    }
                }
                Poll::Ready(Ok(_) | Err(_)) => {
                    self.unsent = None;
                    self.is_kept = false;
                }
            }
        }
    }

    fn poll_receive(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<usize>> {
        if self.received.is_empty() && self.stream.poll_read_ready(cx).is_pending() {
            // Nobody knows for how long.
            self.received = BytesMut::new();
            self.room = (self.room / 2).max(FIRST_READ);
            return Poll::Pending;
        }
        self.received.reserve(self.room);
        let count = ready!(pin!(self.stream.read_buf(&mut self.received)).poll(cx))?;
        if self.received.len() == self.received.capacity() {
            self.room = (self.room * 2).min(LARGEST_READ);
        }
        Poll::Ready(Ok(count))
    }
}

impl From<Fault> for Broken {
    fn from(fault: Fault) -> Self {
        Self::Fault(fault)
    }
}

impl fmt::Display for Broken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Io(_) => f.write_str("the connection broke off"),
            Self::Early => f.write_str("the connection was closed before the answer was over"),
            Self::Fault(Fault::Malformed(what)) => write!(f, "the answer is not HTTP: {what}"),
            Self::Fault(Fault::TooLong) => f.write_str("the head of the answer is too long"),
        }
    }
}

impl std::error::Error for Broken {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Io(error) => Some(error),
            _ => None,
        }
    }
}
