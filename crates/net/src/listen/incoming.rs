//! The body of a request, while it comes in.

use std::{
    fmt, io,
    pin::Pin,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    task::{Context, Poll, Waker, ready},
};

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};

/// The body of a request. [`Guarded`](super::body::Guarded) bounds it while it is read.
pub struct Incoming(Kind);

enum Kind {
    /// All of it came along with the head.
    Whole(Bytes),
    /// It comes piece by piece.
    Pieces(Pieces),
    /// The library reads it.
    Library(hyper::body::Incoming),
}

struct Pieces {
    tray: Arc<Tray>,
    /// How many bytes are to come, if the sender has said so.
    left: Option<u64>,
}

/// The connection's end of a body that comes piece by piece. Without it, what is left of the
/// body will never come.
pub(super) struct Feeder(Arc<Tray>);

/// Lies between a connection and the body of its request: the connection puts a piece on it when
/// somebody wants one.
#[derive(Default)]
struct Tray(Mutex<Inner>);

#[derive(Default)]
struct Inner {
    holds: Holds,
    /// Who waits for the body.
    reader: Option<Waker>,
    /// Who reads the connection.
    connection: Option<Waker>,
    /// Whether nothing more will come.
    is_cut: bool,
}

#[derive(Default)]
enum Holds {
    /// Nothing, and nobody has asked.
    #[default]
    Nothing,
    /// Nothing, and somebody waits.
    Wanted,
    Piece(Bytes),
    End,
    Failure(io::Error),
    /// The body was dropped.
    Unwanted,
}

impl Incoming {
    pub(super) fn whole(bytes: Bytes) -> Self {
        Self(Kind::Whole(bytes))
    }

    pub(super) fn library(body: hyper::body::Incoming) -> Self {
        Self(Kind::Library(body))
    }

    /// Makes a body of so many bytes, if that is known, and what feeds it.
    pub(super) fn pieces(length: Option<u64>) -> (Self, Feeder) {
        let tray = Arc::new(Tray::default());
        let feeder = Feeder(Arc::clone(&tray));
        (Self(Kind::Pieces(Pieces { tray, left: length })), feeder)
    }
}

impl Feeder {
    /// Returns whether somebody waits for a piece. Who asked is woken when somebody does.
    pub(super) fn is_wanted(&self, cx: &Context<'_>) -> bool {
        let mut inner = self.0.lock();
        if !is_same(cx.waker(), inner.connection.as_ref()) {
            inner.connection = Some(cx.waker().clone());
        }
        matches!(inner.holds, Holds::Wanted)
    }

    /// Returns whether nobody will want another piece.
    pub(super) fn is_unwanted(&self) -> bool {
        matches!(self.0.lock().holds, Holds::Unwanted)
    }

    /// Hands a piece on; `None` is the end.
    pub(super) fn put(&self, piece: Option<io::Result<Bytes>>) {
        let mut inner = self.0.lock();
        if matches!(inner.holds, Holds::Unwanted) {
            return;
        }
        inner.holds = match piece {
            Some(Ok(piece)) => Holds::Piece(piece),
            Some(Err(error)) => Holds::Failure(error),
            None => Holds::End,
        };
        let Inner { reader, connection, .. } = &mut *inner;
        let reader = reader.take();
        // Who reads in the connection's own task is asked again anyway.
        if let Some(reader) = reader.filter(|reader| !is_same(reader, connection.as_ref())) {
            reader.wake();
        }
    }
}

impl Drop for Feeder {
    fn drop(&mut self) {
        let mut inner = self.0.lock();
        inner.is_cut = true;
        if let Some(reader) = inner.reader.take() {
            reader.wake();
        }
    }
}

impl Tray {
    fn lock(&self) -> MutexGuard<'_, Inner> {
        // Nothing panics under the lock.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn poll_take(&self, cx: &mut Context<'_>) -> Poll<Option<io::Result<Bytes>>> {
        let mut inner = self.lock();
        match std::mem::take(&mut inner.holds) {
            Holds::Piece(piece) => Poll::Ready(Some(Ok(piece))),
            Holds::Failure(error) => {
                inner.holds = Holds::End;
                Poll::Ready(Some(Err(error)))
            }
            Holds::End => {
                inner.holds = Holds::End;
                Poll::Ready(None)
            }
            Holds::Nothing | Holds::Wanted | Holds::Unwanted if inner.is_cut => {
                inner.holds = Holds::End;
                Poll::Ready(Some(Err(io::ErrorKind::UnexpectedEof.into())))
            }
            Holds::Nothing | Holds::Wanted | Holds::Unwanted => {
                inner.holds = Holds::Wanted;
                // The connection's own task looks by itself whether somebody waits.
                if !is_same(cx.waker(), inner.connection.as_ref())
                    && let Some(connection) = inner.connection.take()
                {
                    connection.wake();
                }
                inner.reader = Some(cx.waker().clone());
                Poll::Pending
            }
        }
    }
}

fn is_same(one: &Waker, other: Option<&Waker>) -> bool {
    other.is_some_and(|other| other.will_wake(one))
}

impl Drop for Pieces {
    fn drop(&mut self) {
        self.tray.lock().holds = Holds::Unwanted;
    }
}

impl Body for Incoming {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<io::Result<Frame<Bytes>>>> {
        let piece = match &mut self.0 {
            Kind::Whole(bytes) if bytes.is_empty() => None,
            Kind::Whole(bytes) => Some(Ok(std::mem::take(bytes))),
            Kind::Pieces(Pieces { left: Some(0), .. }) => None,
            Kind::Pieces(Pieces { tray, left }) => {
                let piece = ready!(tray.poll_take(cx));
                if let (Some(Ok(piece)), Some(left)) = (&piece, left) {
                    *left = left.saturating_sub(piece.len() as u64);
                }
                piece
            }
            Kind::Library(body) => {
                let frame = Pin::new(body).poll_frame(cx);
                return frame.map(|frame| frame.map(|frame| frame.map_err(io::Error::other)));
            }
        };
        Poll::Ready(piece.map(|piece| piece.map(Frame::data)))
    }

    fn is_end_stream(&self) -> bool {
        match &self.0 {
            Kind::Whole(bytes) => bytes.is_empty(),
            Kind::Pieces(pieces) => pieces.left == Some(0),
            Kind::Library(body) => body.is_end_stream(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match &self.0 {
            Kind::Whole(bytes) => SizeHint::with_exact(bytes.len() as u64),
            Kind::Pieces(pieces) => pieces.left.map_or_else(SizeHint::new, SizeHint::with_exact),
            Kind::Library(body) => body.size_hint(),
        }
    }
}

impl fmt::Debug for Incoming {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Incoming").field("size", &self.size_hint()).finish_non_exhaustive()
    }
}
