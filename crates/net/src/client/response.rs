//! What comes back, never more than asked for.

use std::{
    fmt,
    future::poll_fn,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
};

use bytes::{Bytes, BytesMut};
use http::{HeaderMap, StatusCode, Version};
use hyper::body::{Body as _, Frame, Incoming, SizeHint};

use super::{clocks::Clocks, plain::Lease};
use crate::{egress::CheckedUrl, error::Error};

/// An answer whose body is still to be read.
#[derive(Debug)]
#[must_use]
pub struct Response(http::Response<ResponseBody>);

/// The body of an answer, as it arrives. Ends with an error when a clock runs out.
pub struct ResponseBody {
    source: Source,
    clocks: Clocks,
    has_ended: bool,
}

/// Where the body comes from.
pub(super) enum Source {
    Pool(Incoming, CheckedUrl),
    /// Goes back, after the body, for others to use.
    Plain(Lease),
    /// Went back.
    None,
}

impl Response {
    pub(super) fn new(answer: http::Response<Source>, clocks: Clocks) -> Self {
        Self(answer.map(|source| {
            let mut body = ResponseBody { source, clocks, has_ended: false };
            if matches!(&body.source, Source::Plain(lease) if lease.is_over()) {
                body.end();
            }
            body
        }))
    }

    /// Returns the status. Redirects are among them: nothing is followed.
    pub fn status(&self) -> StatusCode {
        self.0.status()
    }

    /// Returns the headers.
    pub fn headers(&self) -> &HeaderMap {
        self.0.headers()
    }

    /// Returns the version of HTTP that the peer answered in.
    pub fn version(&self) -> Version {
        self.0.version()
    }

    /// Reads the whole body, if it has no more bytes than the limit.
    pub async fn collect(self, limit: usize) -> Result<Bytes, Error> {
        self.0.into_body().collect(limit).await
    }

    /// Returns the body, to be read as it arrives.
    pub fn into_body(self) -> ResponseBody {
        self.0.into_body()
    }

    /// Returns the answer with the type that other libraries take.
    pub fn into_http(self) -> http::Response<ResponseBody> {
        self.0
    }
}

impl ResponseBody {
    /// Reads the next bytes; `None` at the end.
    pub async fn chunk(&mut self) -> Result<Option<Bytes>, Error> {
        loop {
            match poll_fn(|cx| Pin::new(&mut *self).poll_frame(cx)).await.transpose()? {
                None => return Ok(None),
                Some(frame) => {
                    // Trailers are no bytes of the body.
                    if let Ok(bytes) = frame.into_data() {
                        return Ok(Some(bytes));
                    }
                }
            }
        }
    }

    /// Reads the rest of the body, if it has no more bytes than the limit.
    pub async fn collect(mut self, limit: usize) -> Result<Bytes, Error> {
        let too_large = Error::TooLarge { limit };
        if hyper::body::Body::size_hint(&self).lower() > limit as u64 {
            return Err(too_large);
        }
        let Some(first) = self.chunk().await? else { return Ok(Bytes::new()) };
        if first.len() > limit {
            return Err(too_large);
        }
        // Most answers arrive in one piece, which need not be copied.
        if hyper::body::Body::is_end_stream(&self) {
            return Ok(first);
        }
        let Some(second) = self.chunk().await? else { return Ok(first) };
        let mut all = BytesMut::from(first);
        let mut next = Some(second);
        while let Some(chunk) = next {
            if chunk.len() > limit - all.len() {
                return Err(too_large);
            }
            all.extend_from_slice(&chunk);
            next = self.chunk().await?;
        }
        Ok(all.freeze())
    }
}

impl ResponseBody {
    fn poll_source(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Error>>> {
        let broke_off = |url: &CheckedUrl, source| {
            let host = url.host_text().to_owned();
            Error::Http { host, source }
        };
        match &mut self.source {
            Source::Pool(body, url) => {
                let polled = ready!(Pin::new(body).poll_frame(cx));
                Poll::Ready(
                    polled.map(|frame| frame.map_err(|error| broke_off(url, Arc::new(error)))),
                )
            }
            Source::Plain(lease) => {
                let polled = ready!(lease.poll_body(cx));
                Poll::Ready(polled.map(|piece| {
                    let piece = piece.map_err(|error| broke_off(lease.url(), Arc::new(error)));
                    piece.map(Frame::data)
                }))
            }
            Source::None => Poll::Ready(None),
        }
    }

    /// Gives the connection back, if it is ours.
    fn end(&mut self) {
        self.has_ended = true;
        if let Source::Plain(mut lease) = std::mem::replace(&mut self.source, Source::None) {
            lease.keep_timer(self.clocks.take_timer());
        }
    }
}

impl hyper::body::Body for ResponseBody {
    type Data = Bytes;
    type Error = Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Error>>> {
        let this = self.get_mut();
        if this.has_ended {
            return Poll::Ready(None);
        }
        let polled = match this.poll_source(cx) {
            Poll::Ready(Some(Ok(frame))) => match this.clocks.go_on() {
                Ok(()) => {
                    // Nobody need come back to find out that it is over.
                    if matches!(&this.source, Source::Plain(lease) if lease.is_over()) {
                        this.end();
                    }
                    return Poll::Ready(Some(Ok(frame)));
                }
                Err(error) => Some(Err(error)),
            },
            Poll::Ready(other) => other,
            Poll::Pending => Some(Err(ready!(this.clocks.poll(cx)))),
        };
        if polled.is_none() {
            this.end();
        }
        this.has_ended = true;
        Poll::Ready(polled)
    }

    fn is_end_stream(&self) -> bool {
        self.has_ended
            || match &self.source {
                Source::Pool(body, _) => body.is_end_stream(),
                Source::Plain(lease) => lease.is_over(),
                Source::None => true,
            }
    }

    fn size_hint(&self) -> SizeHint {
        match &self.source {
            Source::Pool(body, _) => body.size_hint(),
            Source::Plain(lease) => {
                lease.body_length().map_or_else(SizeHint::new, SizeHint::with_exact)
            }
            Source::None => SizeHint::with_exact(0),
        }
    }
}

impl fmt::Debug for ResponseBody {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let url = match &self.source {
            Source::Pool(_, url) => Some(url),
            Source::Plain(lease) => Some(lease.url()),
            Source::None => None,
        };
        f.debug_struct("ResponseBody").field("url", &url).finish_non_exhaustive()
    }
}
