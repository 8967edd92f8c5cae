//! What comes back, never more than asked for.

use std::{
    fmt,
    future::poll_fn,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
    time::Duration,
};

use bytes::{Bytes, BytesMut};
use http::{HeaderMap, StatusCode, Version};
use hyper::body::{Body as _, Frame, Incoming, SizeHint};
use tokio::time::{Instant, Sleep, sleep, sleep_until};

use super::Timeouts;
use crate::error::{Clock, Error};

/// An answer whose body is still to be read.
#[derive(Debug)]
#[must_use]
pub struct Response(http::Response<ResponseBody>);

/// The body of an answer, as it arrives. Ends with an error when a clock runs out.
pub struct ResponseBody {
    body: Incoming,
    host: String,
    /// `None` when the body may take as long as it likes.
    whole: Option<Timer>,
    idle: Timer,
    has_ended: bool,
}

struct Timer {
    clock: Clock,
    limit: Duration,
    sleep: Pin<Box<Sleep>>,
}

impl Response {
    pub(super) fn new(
        answer: http::Response<Incoming>,
        host: &str,
        timeouts: Timeouts,
        deadline: Option<Instant>,
    ) -> Self {
        let whole = deadline.zip(timeouts.whole).map(|(deadline, limit)| Timer {
            clock: Clock::Whole,
            limit,
            sleep: Box::pin(sleep_until(deadline)),
        });
        let idle = Timer {
            clock: Clock::Idle,
            limit: timeouts.idle,
            sleep: Box::pin(sleep(timeouts.idle)),
        };
        let host = host.to_owned();
        Self(answer.map(|body| ResponseBody { body, host, whole, idle, has_ended: false }))
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
        // Asked first: a body that trickles is always ready.
        if let Some(whole) = &mut this.whole
            && let Poll::Ready(error) = whole.poll(cx)
        {
            this.has_ended = true;
            return Poll::Ready(Some(Err(error)));
        }
        let polled = match Pin::new(&mut this.body).poll_frame(cx) {
            Poll::Ready(Some(Ok(frame))) => {
                this.idle.restart();
                return Poll::Ready(Some(Ok(frame)));
            }
            Poll::Ready(Some(Err(error))) => {
                let host = this.host.clone();
                Some(Err(Error::Http { host, source: Arc::new(error) }))
            }
            Poll::Ready(None) => None,
            Poll::Pending => Some(Err(ready!(this.idle.poll(cx)))),
        };
        this.has_ended = true;
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
        f.debug_struct("ResponseBody").field("host", &self.host).finish_non_exhaustive()
    }
}

impl Timer {
    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Error> {
        ready!(self.sleep.as_mut().poll(cx));
        Poll::Ready(Error::Timeout { clock: self.clock, limit: self.limit })
    }

    fn restart(&mut self) {
        if let Some(end) = Instant::now().checked_add(self.limit) {
            self.sleep.as_mut().reset(end);
        }
    }
}
