//! Request bodies that are bounded while they are read.

use std::{
    error::Error as StdError,
    fmt,
    pin::{Pin, pin},
    task::{Context, Poll, ready},
    time::Duration,
};

use bytes::{Bytes, BytesMut};
use http_body::{Body, Frame, SizeHint};
use http_body_util::BodyExt as _;
use tokio::time::{Instant, Sleep, sleep_until};

/// What a request's body may cost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct BodyLimits {
    /// The most bytes, 10 MiB.
    pub bytes: u64,
    /// How long the sender may be silent or too slow in a row, 10 s.
    pub grace: Duration,
    /// How many bytes a second make up for lost grace, 1 KiB. Nothing is too slow for zero.
    pub rate: u32,
}

/// Why a body could not be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BodyError {
    /// It is larger than allowed, or said to be.
    #[error("the body has more than {limit} bytes")]
    TooLarge {
        /// The most that is allowed.
        limit: u64,
    },
    /// The sender was silent, or slower than allowed, for too long.
    #[error("the body came too slowly")]
    TooSlow,
    /// The sender broke off, or what it sent was not HTTP.
    #[error("the body broke off")]
    Broken(#[source] Box<dyn StdError + Send + Sync>),
}

/// A body that fails as soon as it goes beyond its limits.
///
/// The clock runs only while somebody waits for the sender, so a reader may take its time.
pub struct Guarded<B> {
    body: B,
    limits: BodyLimits,
    read: u64,
    /// For how long the sender may still be waited for.
    credit: Duration,
    /// Runs while the sender is waited for, and is kept for the next time.
    clock: Option<Pin<Box<Sleep>>>,
    is_waiting: bool,
}

/// The most that is set aside because a sender announced it.
const BELIEVED_BYTES: u64 = 64 * 1024;

impl Default for BodyLimits {
    fn default() -> Self {
        Self { bytes: 10 * 1024 * 1024, grace: Duration::from_secs(10), rate: 1024 }
    }
}

impl<B> Guarded<B> {
    /// Guards a body. Nothing is read yet.
    pub fn new(body: B, limits: BodyLimits) -> Self {
        Self { body, limits, read: 0, credit: limits.grace, clock: None, is_waiting: false }
    }
}

impl<B> Guarded<B>
where
    B: Body<Data = Bytes> + Unpin,
    B::Error: Into<Box<dyn StdError + Send + Sync>>,
{
    /// Reads all of it. A body that came in one piece is not copied.
    ///
    /// A body that announces more than is allowed fails before anything is read, and before
    /// a client that waits for `100 Continue` is told to go on.
    pub async fn collect(self) -> Result<Bytes, BodyError> {
        let mut this = pin!(self);
        let Some(first) = this.next_data().await? else { return Ok(Bytes::new()) };
        if this.is_end_stream() {
            return Ok(first);
        }
        let Some(second) = this.next_data().await? else { return Ok(first) };
        let announced = this.size_hint().lower().min(BELIEVED_BYTES);
        let announced = usize::try_from(announced).unwrap_or_default();
        let mut whole = BytesMut::with_capacity(first.len() + second.len() + announced);
        whole.extend_from_slice(&first);
        whole.extend_from_slice(&second);
        while let Some(data) = this.next_data().await? {
            whole.extend_from_slice(&data);
        }
        Ok(whole.freeze())
    }

    /// Returns the next piece that is data, and passes over trailers.
    async fn next_data(&mut self) -> Result<Option<Bytes>, BodyError> {
        while let Some(frame) = self.frame().await {
            if let Ok(data) = frame?.into_data() {
                return Ok(Some(data));
            }
        }
        Ok(None)
    }
}

impl<B> Guarded<B> {
    fn too_large(&self) -> BodyError {
        BodyError::TooLarge { limit: self.limits.bytes }
    }

    /// Waits no longer than the sender has credit for.
    fn poll_clock(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        if self.limits.rate == 0 {
            return Poll::Pending;
        }
        if !self.is_waiting {
            // No such instant: the credit never runs out.
            let Some(end) = Instant::now().checked_add(self.credit) else { return Poll::Pending };
            match &mut self.clock {
                Some(clock) => clock.as_mut().reset(end),
                None => self.clock = Some(Box::pin(sleep_until(end))),
            }
            self.is_waiting = true;
        }
        match &mut self.clock {
            Some(clock) => clock.as_mut().poll(cx),
            None => Poll::Pending,
        }
    }

    /// Gives credit for what came, never more than the grace.
    fn took(&mut self, bytes: u64) {
        if let (true, Some(clock)) = (self.is_waiting, &self.clock) {
            self.credit = clock.deadline().saturating_duration_since(Instant::now());
            self.is_waiting = false;
        }
        if self.limits.rate > 0 {
            let nanoseconds = bytes.saturating_mul(1_000_000_000) / u64::from(self.limits.rate);
            let earned = Duration::from_nanos(nanoseconds);
            self.credit = self.credit.saturating_add(earned).min(self.limits.grace);
        }
    }
}

impl<B> Body for Guarded<B>
where
    B: Body<Data = Bytes> + Unpin,
    B::Error: Into<Box<dyn StdError + Send + Sync>>,
{
    type Data = Bytes;
    type Error = BodyError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BodyError>>> {
        let this = &mut *self;
        let allowed = this.limits.bytes.saturating_sub(this.read);
        if this.body.size_hint().lower() > allowed {
            return Poll::Ready(Some(Err(this.too_large())));
        }
        let Poll::Ready(frame) = Pin::new(&mut this.body).poll_frame(cx) else {
            ready!(this.poll_clock(cx));
            return Poll::Ready(Some(Err(BodyError::TooSlow)));
        };
        let frame = match frame {
            None => return Poll::Ready(None),
            Some(Err(error)) => return Poll::Ready(Some(Err(BodyError::Broken(error.into())))),
            Some(Ok(frame)) => frame,
        };
        let bytes = frame.data_ref().map_or(0, |data| data.len() as u64);
        if bytes > allowed {
            return Poll::Ready(Some(Err(this.too_large())));
        }
        this.read += bytes;
        this.took(bytes);
        Poll::Ready(Some(Ok(frame)))
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

impl<B> fmt::Debug for Guarded<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Guarded")
            .field("limits", &self.limits)
            .field("read", &self.read)
            .finish_non_exhaustive()
    }
}
