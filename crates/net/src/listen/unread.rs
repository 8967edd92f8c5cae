//! Answers over HTTP/2, whose readers have windows of their own.
//!
//! The library takes the next piece of an answer when it could send the one before, so a piece
//! that nobody comes back for is one whose reader takes nothing. Pings do not tell: whoever keeps
//! its window shut may answer them for ever.

use std::{
    pin::Pin,
    task::{Context, Poll, ready},
};

use bytes::{Buf, Bytes};
use http_body::{Body, Frame, SizeHint};

use super::Peer;

/// The largest piece that is handed to the library, which keeps it until the reader takes it.
const PIECE: usize = 64 * 1024;

/// The body of an answer, that runs the connection's clock while its reader takes nothing.
pub(super) struct Watched<B> {
    body: Pin<Box<B>>,
    /// What is left of a large piece.
    rest: Bytes,
    peer: Peer,
    /// The piece that was handed over last, until somebody comes for the next.
    unread: Option<u64>,
}

impl<B> Watched<B> {
    pub(super) fn new(body: B, peer: Peer) -> Self {
        Self { body: Box::pin(body), rest: Bytes::new(), peer, unread: None }
    }

    /// Returns the next piece of what is left.
    fn hand_over(&mut self) -> Bytes {
        self.unread = Some(self.peer.watch().hand_over());
        self.rest.split_to(self.rest.len().min(PIECE))
    }

    fn taken(&mut self) {
        if let Some(piece) = self.unread.take() {
            self.peer.watch().taken(piece);
        }
    }
}

impl<B: Body> Body for Watched<B> {
    type Data = Bytes;
    type Error = B::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, B::Error>>> {
        self.taken();
        if self.rest.is_empty() {
            let Some(frame) = ready!(self.body.as_mut().poll_frame(cx)?) else {
                return Poll::Ready(None);
            };
            match frame.into_data() {
                Ok(mut data) => self.rest = data.copy_to_bytes(data.remaining()),
                // It has no data, so nothing is made of any.
                Err(frame) => return Poll::Ready(Some(Ok(frame.map_data(|_| Bytes::new())))),
            }
        }
        Poll::Ready(Some(Ok(Frame::data(self.hand_over()))))
    }

    fn is_end_stream(&self) -> bool {
        self.rest.is_empty() && self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        let rest = self.rest.len() as u64;
        let inner = self.body.size_hint();
        let mut hint = SizeHint::new();
        hint.set_lower(inner.lower().saturating_add(rest));
        if let Some(upper) = inner.upper() {
            hint.set_upper(upper.saturating_add(rest));
        }
        hint
    }
}

impl<B> Drop for Watched<B> {
    fn drop(&mut self) {
        self.taken();
    }
}
