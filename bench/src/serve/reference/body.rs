//! A body without a box around it.

use std::{
    collections::VecDeque,
    convert::Infallible,
    pin::Pin,
    task::{Context, Poll},
};

use bytes::Bytes;
use hyper::{
    HeaderMap,
    body::{Frame, SizeHint},
};
use tokio::sync::mpsc;

pub(super) enum Body {
    Whole(Option<Bytes>),
    /// Events that are all there.
    Burst(Burst),
    /// Events as they come.
    Channel(mpsc::Receiver<Bytes>),
    /// A gRPC message, then the status.
    Grpc(VecDeque<Frame<Bytes>>),
}

/// Events that were written before.
pub(super) struct Burst {
    pub(super) events: std::sync::Arc<[Bytes]>,
    pub(super) sent: usize,
    /// Stays open behind the last event.
    pub(super) hold: bool,
}

impl Body {
    pub(super) fn grpc(message: Bytes) -> Self {
        let mut status = HeaderMap::with_capacity(1);
        status.insert("grpc-status", hyper::header::HeaderValue::from_static("0"));
        Self::Grpc([Frame::data(message), Frame::trailers(status)].into())
    }
}

impl hyper::body::Body for Body {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        match &mut *self {
            Self::Whole(text) => Poll::Ready(text.take().map(|text| Ok(Frame::data(text)))),
            Self::Burst(burst) => burst.poll(),
            Self::Channel(events) => {
                events.poll_recv(cx).map(|event| event.map(|event| Ok(Frame::data(event))))
            }
            Self::Grpc(frames) => Poll::Ready(frames.pop_front().map(Ok)),
        }
    }

    fn is_end_stream(&self) -> bool {
        matches!(self, Self::Whole(None))
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Self::Whole(text) => {
                SizeHint::with_exact(text.as_ref().map_or(0, |text| text.len() as u64))
            }
            _ => SizeHint::default(),
        }
    }
}

impl Burst {
    fn poll(&mut self) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        match self.events.get(self.sent) {
            Some(event) => {
                self.sent += 1;
                Poll::Ready(Some(Ok(Frame::data(event.clone()))))
            }
            // Nothing wakes it: the connection is dropped when the peer closes it.
            None if self.hold => Poll::Pending,
            None => Poll::Ready(None),
        }
    }
}
