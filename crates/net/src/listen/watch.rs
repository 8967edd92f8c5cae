//! What a connection is doing, and until when it may.

use std::{
    collections::VecDeque,
    sync::{
        Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, AtomicU64, Ordering::Relaxed},
    },
    task::{Poll, Waker},
    time::Duration,
};

use futures_util::task::AtomicWaker;
use tokio::time::Instant;

use super::Limits;

/// The clocks of one connection.
///
/// Everything but [`close`](Self::close), and what answers over HTTP/2 note, happens in the
/// connection's own task, so relaxed atomics are enough, and one timer serves all clocks. A
/// connection that has been upgraded belongs to whoever took it over: what happens to its bytes
/// wakes the connection's task, and the end that the task puts to it wakes those who wait for
/// bytes.
#[derive(Debug)]
pub(super) struct Watch {
    opened: Instant,
    header_timeout: Duration,
    idle: Duration,
    write_stall: Duration,
    /// A [`Phase`] and when it began.
    phase: AtomicU64,
    /// When the peer stopped to take what is written, plus one millisecond; zero if it takes it.
    stalled: AtomicU64,
    /// The same of the one answer over HTTP/2 that has waited for longest.
    unread: AtomicU64,
    pieces: Mutex<Pieces>,
    is_closed: AtomicBool,
    waker: AtomicWaker,
    /// Whether the bytes of an upgraded connection have been dropped, and whether they end.
    is_gone: AtomicBool,
    is_ended: AtomicBool,
    reader: AtomicWaker,
    writer: AtomicWaker,
}

/// Pieces of answers that the library has and nobody has come back for, the oldest first: each
/// with its number, and when it was handed over.
#[derive(Debug, Default)]
struct Pieces {
    handed_over: u64,
    waiting: VecDeque<(u64, u64)>,
}

/// One direction of an upgraded connection.
#[derive(Clone, Copy, Debug)]
pub(super) enum Side {
    Read,
    Write,
}

/// Where a connection is between two requests. HTTP/2 is always busy: it has its pings, and its
/// answers are watched one by one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Phase {
    /// A request is being read or answered.
    Busy,
    /// Answered all requests so far.
    Idle,
    /// The head of a request has begun to come. A new connection is in this phase, for it
    /// exists to send one.
    Head,
    /// Our side is closed, the peer is still sending.
    Leaving,
    /// It does not speak HTTP any more.
    Upgraded,
}

/// How long a peer has to notice that we are leaving.
const LINGER: Duration = Duration::from_secs(2);

const PHASE_BITS: u32 = 3;

impl Watch {
    pub(super) fn new(limits: &Limits) -> Self {
        Self {
            opened: Instant::now(),
            header_timeout: limits.header_timeout,
            idle: limits.idle,
            write_stall: limits.write_stall,
            phase: AtomicU64::new(Phase::Head as u64),
            stalled: AtomicU64::new(0),
            unread: AtomicU64::new(0),
            pieces: Mutex::default(),
            is_closed: AtomicBool::new(false),
            waker: AtomicWaker::new(),
            is_gone: AtomicBool::new(false),
            is_ended: AtomicBool::new(false),
            reader: AtomicWaker::new(),
            writer: AtomicWaker::new(),
        }
    }

    pub(super) fn phase(&self) -> Phase {
        self.phase_since().0
    }

    pub(super) fn enter(&self, phase: Phase) {
        let since = if phase == Phase::Busy { 0 } else { self.milliseconds() };
        self.phase.store(since << PHASE_BITS | phase as u64, Relaxed);
    }

    /// Notes that the peer sent something.
    pub(super) fn heard(&self) {
        if self.phase() == Phase::Idle {
            self.enter(Phase::Head);
        }
    }

    /// Notes whether the peer took what was written.
    pub(super) fn wrote<T>(&self, outcome: &Poll<T>) {
        if outcome.is_ready() {
            self.stalled.store(0, Relaxed);
        } else if self.stalled.load(Relaxed) == 0 {
            self.stalled.store(self.milliseconds() + 1, Relaxed);
            if self.phase() == Phase::Upgraded {
                self.waker.wake();
            }
        }
    }

    /// Returns when the connection ends if nothing happens before.
    pub(super) fn deadline(&self) -> Option<Instant> {
        let after = |since: u64, limit: Duration| {
            self.opened.checked_add(Duration::from_millis(since))?.checked_add(limit)
        };
        let of_phase = match self.phase_since() {
            (Phase::Busy | Phase::Upgraded, _) => None,
            (Phase::Idle, since) => after(since, self.idle),
            (Phase::Head, since) => after(since, self.header_timeout),
            (Phase::Leaving, since) => after(since, LINGER),
        };
        let of_write = |since: &AtomicU64| match since.load(Relaxed) {
            0 => None,
            since => after(since - 1, self.write_stall),
        };
        let all = [of_phase, of_write(&self.stalled), of_write(&self.unread)];
        all.into_iter().flatten().min()
    }

    /// Notes that the library has a piece of an answer over HTTP/2, and returns its number.
    pub(super) fn hand_over(&self) -> u64 {
        let now = self.milliseconds() + 1;
        let mut pieces = self.pieces();
        pieces.handed_over += 1;
        let number = pieces.handed_over;
        pieces.waiting.push_back((number, now));
        if pieces.waiting.len() == 1 {
            self.unread.store(now, Relaxed);
            // Its task looks at the clock.
            self.waker.wake();
        }
        number
    }

    /// Notes that the reader has taken of a piece.
    pub(super) fn taken(&self, number: u64) {
        let mut pieces = self.pieces();
        if let Ok(index) = pieces.waiting.binary_search_by_key(&number, |(number, _)| *number) {
            pieces.waiting.remove(index);
        }
        let oldest = pieces.waiting.front().map_or(0, |(_, since)| *since);
        self.unread.store(oldest, Relaxed);
    }

    fn pieces(&self) -> MutexGuard<'_, Pieces> {
        self.pieces.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn close(&self) {
        self.is_closed.store(true, Relaxed);
        self.waker.wake();
    }

    /// Returns whether somebody wants the connection closed, and wakes the task if somebody
    /// does later.
    pub(super) fn is_closed(&self, waker: &Waker) -> bool {
        self.waker.register(waker);
        self.is_closed.load(Relaxed)
    }

    /// Notes that the bytes of the connection have been dropped.
    pub(super) fn leave(&self) {
        self.is_gone.store(true, Relaxed);
        if self.phase() == Phase::Upgraded {
            self.waker.wake();
        }
    }

    /// Returns whether the bytes have been dropped. Whoever asked
    /// [`is_closed`](Self::is_closed) before is woken when they are.
    pub(super) fn is_gone(&self) -> bool {
        self.is_gone.load(Relaxed)
    }

    /// Ends an upgraded connection under whoever has it.
    pub(super) fn end(&self) {
        self.is_ended.store(true, Relaxed);
        self.reader.wake();
        self.writer.wake();
    }

    /// Returns whether an upgraded connection has been ended, and wakes the task if it is
    /// later.
    pub(super) fn is_ended(&self, side: Side, waker: &Waker) -> bool {
        match side {
            Side::Read => self.reader.register(waker),
            Side::Write => self.writer.register(waker),
        }
        self.is_ended.load(Relaxed)
    }

    fn phase_since(&self) -> (Phase, u64) {
        let packed = self.phase.load(Relaxed);
        let phase = match packed & ((1 << PHASE_BITS) - 1) {
            0 => Phase::Busy,
            1 => Phase::Idle,
            2 => Phase::Head,
            3 => Phase::Leaving,
            _ => Phase::Upgraded,
        };
        (phase, packed >> PHASE_BITS)
    }

    fn milliseconds(&self) -> u64 {
        u64::try_from(self.opened.elapsed().as_millis()).unwrap_or(u64::MAX >> PHASE_BITS)
    }
}
