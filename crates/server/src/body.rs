//! The body of an answer: nothing, one text, a stream of frames, or what gRPC makes.

use std::{
    fmt,
    pin::Pin,
    task::{Context, Poll},
};

use bytes::Bytes;
use futures_core::Stream;
use hyper::body::{Body as HttpBody, Frame, SizeHint};

/// Pieces of text that come one after the other.
type Pieces = Pin<Box<dyn Stream<Item = Bytes> + Send>>;

/// The body of an answer.
pub struct Body(Kind);

enum Kind {
    Whole(Option<Bytes>),
    Pieces(Pieces),
    Grpc(tonic::body::Body),
}

impl Body {
    pub(crate) fn empty() -> Self {
        Self(Kind::Whole(None))
    }

    pub(crate) fn whole(text: impl Into<Bytes>) -> Self {
        let text = text.into();
        Self(Kind::Whole(Some(text).filter(|text| !text.is_empty())))
    }

    pub(crate) fn pieces(pieces: impl Stream<Item = Bytes> + Send + 'static) -> Self {
        Self(Kind::Pieces(Box::pin(pieces)))
    }

    pub(crate) fn grpc(body: tonic::body::Body) -> Self {
        Self(Kind::Grpc(body))
    }
}

impl HttpBody for Body {
    type Data = Bytes;
    type Error = tonic::Status;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, tonic::Status>>> {
        match &mut self.0 {
            Kind::Whole(text) => Poll::Ready(text.take().map(|text| Ok(Frame::data(text)))),
            Kind::Pieces(pieces) => {
                pieces.as_mut().poll_next(cx).map(|piece| piece.map(|text| Ok(Frame::data(text))))
            }
            Kind::Grpc(body) => Pin::new(body).poll_frame(cx),
        }
    }

    fn is_end_stream(&self) -> bool {
        match &self.0 {
            Kind::Whole(text) => text.is_none(),
            Kind::Pieces(_) => false,
            Kind::Grpc(body) => body.is_end_stream(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match &self.0 {
            Kind::Whole(text) => SizeHint::with_exact(text.as_ref().map_or(0, Bytes::len) as u64),
            Kind::Pieces(_) => SizeHint::default(),
            Kind::Grpc(body) => body.size_hint(),
        }
    }
}

impl fmt::Debug for Body {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match &self.0 {
            Kind::Whole(_) => "Body::Whole",
            Kind::Pieces(_) => "Body::Pieces",
            Kind::Grpc(_) => "Body::Grpc",
        })
    }
}
