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
    body: Incoming,
    url: CheckedUrl,
    clocks: Clocks,
    has_ended: bool,
    /// Goes back, after the body, for others to use.
    lease: Option<Lease>,
}

impl Response {
    pub(super) fn new(
        answer: http::Response<Incoming>,
        url: CheckedUrl,
        clocks: Clocks,
        lease: Option<Lease>,
    ) -> Self {
        Self(answer.map(|body| {
            let has_ended = lease.is_some() && body.is_end_stream();
            let lease = lease.filter(|_| !has_ended);
            ResponseBody { body, url, clocks, has_ended, lease }
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
        if self.body.size_hint().lower() > limit as u64 {
            return Err(too_large);
        }
        let Some(first) = self.chunk().await? else { return Ok(Bytes::new()) };
        if first.len() > limit {
            return Err(too_large);
        }
        // Most answers arrive in one piece, which need not be copied.
        if self.body.is_end_stream() {
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
    fn poll_body(&mut self, cx: &mut Context<'_>) -> Poll<Option<hyper::Result<Frame<Bytes>>>> {
        let polled = Pin::new(&mut self.body).poll_frame(cx);
        match &mut self.lease {
            Some(lease) if polled.is_pending() => {
                lease.drive(cx);
                Pin::new(&mut self.body).poll_frame(cx)
            }
            _ => polled,
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
        let polled = match this.poll_body(cx) {
            Poll::Ready(Some(Ok(frame))) => match this.clocks.go_on() {
                Ok(()) => return Poll::Ready(Some(Ok(frame))),
                Err(error) => Some(Err(error)),
            },
            Poll::Ready(Some(Err(error))) => {
                let host = this.url.host_text().to_owned();
                Some(Err(Error::Http { host, source: Arc::new(error) }))
            }
            Poll::Ready(None) => None,
            Poll::Pending => Some(Err(ready!(this.clocks.poll(cx)))),
        };
        this.has_ended = true;
        if polled.is_none() {
            this.lease = None;
        }
        Poll::Ready(polled)
    }

    fn is_end_stream(&self) -> bool {
        self.has_ended || self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

impl fmt::Debug for ResponseBody {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ResponseBody").field("url", &self.url).finish_non_exhaustive()
    }
}
