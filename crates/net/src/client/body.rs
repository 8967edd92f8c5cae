//! Bodies of requests.

use std::{
    error::Error as StdError,
    fmt,
    pin::Pin,
    task::{Context, Poll},
};

use bytes::Bytes;
use http_body_util::{BodyExt as _, combinators::UnsyncBoxBody};
use hyper::body::{Frame, SizeHint};

type BoxError = Box<dyn StdError + Send + Sync>;

/// The body of a request: bytes in memory, or a stream of them.
pub struct Body(Inner);

enum Inner {
    /// Empty once they were taken.
    Full(Bytes),
    Stream(UnsyncBoxBody<Bytes, BoxError>),
}

impl Body {
    /// No body.
    pub fn empty() -> Self {
        Self::from(Bytes::new())
    }

    /// Returns the bytes, if they are in memory.
    pub(super) fn bytes(&self) -> Option<&Bytes> {
        match &self.0 {
            Inner::Full(bytes) => Some(bytes),
            Inner::Stream(_) => None,
        }
    }

    /// A body that is produced while it is sent.
    pub fn stream<B>(body: B) -> Self
    where
        B: hyper::body::Body<Data = Bytes> + Send + 'static,
        B::Error: Into<BoxError>,
    {
        Self(Inner::Stream(body.map_err(Into::into).boxed_unsync()))
    }
}

impl<T: Into<Bytes>> From<T> for Body {
    fn from(bytes: T) -> Self {
        Self(Inner::Full(bytes.into()))
    }
}

impl hyper::body::Body for Body {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        match &mut self.get_mut().0 {
            Inner::Full(bytes) if bytes.is_empty() => Poll::Ready(None),
            Inner::Full(bytes) => Poll::Ready(Some(Ok(Frame::data(std::mem::take(bytes))))),
            Inner::Stream(body) => Pin::new(body).poll_frame(cx),
        }
    }

    fn is_end_stream(&self) -> bool {
        match &self.0 {
            Inner::Full(bytes) => bytes.is_empty(),
            Inner::Stream(body) => body.is_end_stream(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match &self.0 {
            Inner::Full(bytes) => SizeHint::with_exact(bytes.len() as u64),
            Inner::Stream(body) => body.size_hint(),
        }
    }
}

impl fmt::Debug for Body {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let size = hyper::body::Body::size_hint(self).exact();
        f.debug_struct("Body").field("size", &size).finish_non_exhaustive()
    }
}
