//! The clocks of one exchange.

use std::{
    future::poll_fn,
    pin::Pin,
    task::{Context, Poll, ready},
    time::Duration,
};

use tokio::time::{Instant, Sleep, sleep_until};

use crate::error::{Clock, Error};

/// The clock that runs now, and the one that runs during the whole exchange.
///
/// There is one timer for both, and for all that run one after the other: most exchanges are
/// over long before any of them, and setting timers is what they would notice.
pub(super) struct Clocks {
    sleep: Pin<Box<Sleep>>,
    running: Clock,
    limit: Duration,
    /// When everything has to be over, and how long that is.
    whole: Option<(Instant, Duration)>,
}

impl Clocks {
    pub(super) fn start(running: Clock, limit: Duration, whole: Option<Duration>) -> Self {
        let now = Instant::now();
        let whole = whole.and_then(|whole| Some((now.checked_add(whole)?, whole)));
        let end = end(now, limit, whole);
        Self { sleep: Box::pin(sleep_until(end)), running, limit, whole }
    }

    /// Lets another clock run, or the same from its beginning.
    pub(super) fn turn_to(&mut self, running: Clock, limit: Duration) {
        self.running = running;
        self.limit = limit;
        self.restart(Instant::now());
    }

    /// Lets the clock that runs begin again. Fails if the whole exchange is over: a peer that
    /// trickles is always ready, and nobody would ask the timer.
    pub(super) fn go_on(&mut self) -> Result<(), Error> {
        let now = Instant::now();
        if self.whole.is_some_and(|(end, _)| now >= end) {
            return Err(self.error(now));
        }
        self.restart(now);
        Ok(())
    }

    fn restart(&mut self, now: Instant) {
        // To a later time, as nearly always, it is set without a word to the runtime.
        self.sleep.as_mut().reset(end(now, self.limit, self.whole));
    }

    /// Waits until a clock has run out.
    pub(super) async fn run_out(&mut self) -> Error {
        poll_fn(|cx| self.poll(cx)).await
    }

    pub(super) fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Error> {
        ready!(self.sleep.as_mut().poll(cx));
        Poll::Ready(self.error(self.sleep.deadline()))
    }

    fn error(&self, now: Instant) -> Error {
        match self.whole {
            Some((end, limit)) if now >= end => Error::Timeout { clock: Clock::Whole, limit },
            _ => Error::Timeout { clock: self.running, limit: self.limit },
        }
    }
}

fn end(now: Instant, limit: Duration, whole: Option<(Instant, Duration)>) -> Instant {
    // What is beyond the end of time is as good as never.
    let never = now + Duration::from_secs(86_400 * 365 * 30);
    let end = now.checked_add(limit).map_or(never, |end| end.min(never));
    whole.map_or(end, |(whole, _)| whole.min(end))
}
