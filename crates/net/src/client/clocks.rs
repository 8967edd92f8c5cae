//! The clocks of one exchange.

use std::{
    future::poll_fn,
    pin::Pin,
    task::{Context, Poll, ready},
    time::Duration,
};

use tokio::time::{Instant, Sleep, sleep_until};

use crate::error::{Clock, Error};

/// What wakes whoever waits.
pub(super) type Timer = Pin<Box<Sleep>>;

/// The clock that runs now, and the one that runs during the whole exchange.
///
/// There is one timer for both, and for all that run one after the other: most exchanges are
/// over long before any of them, and setting timers is what they would notice. So it is set when
/// somebody waits and not before, is never set later until it goes off, and goes with its
/// connection from one exchange to the next.
pub(super) struct Clocks {
    /// Goes off no later than the clock that runs.
    timer: Option<Timer>,
    running: Clock,
    limit: Duration,
    /// When the clock that runs, or the whole exchange, is over.
    end: Instant,
    /// When everything has to be over, and how long that is.
    whole: Option<(Instant, Duration)>,
    /// Whether the clock that runs begins again when somebody waits.
    begins_again: bool,
}

impl Clocks {
    pub(super) fn start(running: Clock, limit: Duration, whole: Option<Duration>) -> Self {
        let now = Instant::now();
        let whole = whole.and_then(|whole| Some((now.checked_add(whole)?, whole)));
        let end = end(now, limit, whole);
        Self { timer: None, running, limit, end, whole, begins_again: false }
    }

    /// Takes over a timer that another exchange has left.
    pub(super) fn set_timer(&mut self, timer: Option<Timer>) {
        if timer.is_some() {
            self.timer = timer;
        }
    }

    /// Leaves the timer to another exchange.
    pub(super) fn take_timer(&mut self) -> Option<Timer> {
        self.timer.take()
    }

    /// Lets another clock run, or the same from its beginning, as soon as somebody waits.
    pub(super) fn turn_to(&mut self, running: Clock, limit: Duration) {
        self.running = running;
        self.limit = limit;
        self.begins_again = true;
    }

    /// Lets the clock that runs begin again. Fails if the whole exchange is over: a peer that
    /// trickles is always ready, and nobody would ask the timer.
    pub(super) fn go_on(&mut self) -> Result<(), Error> {
        self.begins_again = true;
        if let Some((end, _)) = self.whole {
            let now = Instant::now();
            if now >= end {
                return Err(self.error(now));
            }
        }
        Ok(())
    }

    /// Waits until a clock has run out.
    pub(super) async fn run_out(&mut self) -> Error {
        poll_fn(|cx| self.poll(cx)).await
    }

    pub(super) fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Error> {
        if std::mem::take(&mut self.begins_again) {
            self.end = end(Instant::now(), self.limit, self.whole);
        }
        let end = self.end;
        let timer = self.timer.get_or_insert_with(|| Box::pin(sleep_until(end)));
        if timer.deadline() > end {
            timer.as_mut().reset(end);
        }
        loop {
            ready!(timer.as_mut().poll(cx));
            if timer.deadline() >= end {
                return Poll::Ready(self.error(end));
            }
            timer.as_mut().reset(end);
        }
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
