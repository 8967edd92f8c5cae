//! Hints from process to process that a task has come further.
//!
//! A hint saves a reader its wait for the next look at the store, and does nothing else: hints
//! may be lost, doubled or late, and nothing is known from them that the store does not say
//! better. Whoever writes to a store publishes after the commit, never within it.

use std::{
    collections::{HashMap, hash_map::Entry},
    fmt, mem,
    sync::{Mutex, PoisonError},
    time::Duration,
};

use tokio::{
    sync::{Notify, broadcast},
    time::Instant,
};

use crate::{log::Seq, store::TaskRef};

/// How many hints may wait for a reader, and how many tasks for the carrier.
const MOST_WAITING: usize = 8192;

/// How long nobody complains again about a carrier that is away.
const COMPLAINT_PAUSE: Duration = Duration::from_secs(30);

/// Says that a task has reached a place in its log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Hint {
    /// The task.
    pub task: TaskRef,
    /// The place.
    pub seq: Seq,
}

/// Carries hints between the processes that share a store.
pub trait Hints: Send + Sync + 'static {
    /// Tells the others, as far as that is possible. Returns at once: what cannot be told is
    /// lost.
    fn publish(&self, hints: Vec<Hint>);

    /// Listens from now on. What this process publishes may be heard, too.
    fn subscribe(&self) -> Heard;
}

/// Carries nothing: for stores that one process has to itself.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoHints;

impl Hints for NoHints {
    fn publish(&self, _: Vec<Hint>) {}

    fn subscribe(&self) -> Heard {
        Heard(None)
    }
}

/// The hints that one subscriber hears.
#[derive(Debug)]
pub struct Heard(Option<broadcast::Receiver<Hint>>);

impl Heard {
    /// Waits for the next hint. Hints that came too fast are left out; `None` if there will
    /// never be another.
    ///
    /// Dropping the future loses nothing.
    pub async fn next(&mut self) -> Option<Hint> {
        let receiver = self.0.as_mut()?;
        loop {
            match receiver.recv().await {
                Ok(hint) => return Some(hint),
                Err(broadcast::error::RecvError::Lagged(_)) => {}
                Err(broadcast::error::RecvError::Closed) => return None,
            }
        }
    }
}

/// Passes what a carrier brings to all subscribers of this process.
#[derive(Clone, Debug)]
pub struct Arrivals(broadcast::Sender<Hint>);

impl Arrivals {
    /// Begins without subscribers.
    pub fn new() -> Self {
        Self(broadcast::Sender::new(MOST_WAITING))
    }

    /// Passes a hint on.
    pub fn tell(&self, hint: Hint) {
        // An error means that nobody listens.
        let _ = self.0.send(hint);
    }

    /// Adds a subscriber.
    pub fn listen(&self) -> Heard {
        Heard(Some(self.0.subscribe()))
    }
}

impl Default for Arrivals {
    fn default() -> Self {
        Self::new()
    }
}

/// Hints that wait for a carrier, of every task only the newest.
///
/// While the carrier is busy or away, what waits is bounded, and what does not fit is lost.
#[derive(Debug, Default)]
pub struct Departures {
    waiting: Mutex<HashMap<TaskRef, Seq>>,
    filled: Notify,
}

impl Departures {
    /// Adds hints.
    pub fn add(&self, hints: Vec<Hint>) {
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        for hint in hints {
            let is_full = waiting.len() >= MOST_WAITING;
            match waiting.entry(hint.task) {
                Entry::Occupied(mut seq) => *seq.get_mut() = hint.seq.max(*seq.get()),
                Entry::Vacant(_) if is_full => {}
                Entry::Vacant(seq) => {
                    seq.insert(hint.seq);
                }
            }
        }
        drop(waiting);
        self.filled.notify_one();
    }

    /// Waits until there are hints, and takes all.
    pub async fn take(&self) -> Vec<Hint> {
        loop {
            let taken =
                mem::take(&mut *self.waiting.lock().unwrap_or_else(PoisonError::into_inner));
            if !taken.is_empty() {
                return taken.into_iter().map(|(task, seq)| Hint { task, seq }).collect();
            }
            self.filled.notified().await;
        }
    }
}

/// Says that a carrier is away, but not with every hint it loses.
#[derive(Debug)]
pub struct Complaints {
    carrier: &'static str,
    last: Option<Instant>,
    is_away: bool,
}

impl Complaints {
    /// Begins with a carrier that is there.
    pub const fn new(carrier: &'static str) -> Self {
        Self { carrier, last: None, is_away: false }
    }

    /// Complains, unless that was done within the last half minute.
    pub fn away(&mut self, error: &dyn fmt::Display) {
        self.is_away = true;
        let now = Instant::now();
        if self.last.is_none_or(|last| now.duration_since(last) >= COMPLAINT_PAUSE) {
            self.last = Some(now);
            let carrier = self.carrier;
            tracing::warn!(%error, carrier, "hints are lost; readers see events up to a second later");
        }
    }

    /// Notes that the carrier is there again.
    pub fn back(&mut self) {
        if mem::take(&mut self.is_away) {
            tracing::info!(carrier = self.carrier, "hints are carried again");
        }
    }
}

/// Writes hints as texts of at most `most` bytes each: `task:seq`, separated by commas.
pub fn encode(hints: &[Hint], most: usize) -> Vec<String> {
    let mut texts: Vec<String> = Vec::new();
    for hint in hints {
        let piece = format!("{}:{}", hint.task.0, hint.seq);
        match texts.last_mut() {
            Some(text) if text.len() + 1 + piece.len() <= most => {
                text.push(',');
                text.push_str(&piece);
            }
            _ => texts.push(piece),
        }
    }
    texts
}

/// Reads hints from a text. Pieces that are none are left out: a stranger may use our channel.
pub fn decode(text: &str) -> impl Iterator<Item = Hint> + '_ {
    text.split(',').filter_map(|piece| {
        let (task, seq) = piece.split_once(':')?;
        Some(Hint { task: TaskRef(task.parse().ok()?), seq: Seq(seq.parse().ok()?) })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hint(task: i64, seq: u64) -> Hint {
        Hint { task: TaskRef(task), seq: Seq(seq) }
    }

    #[test]
    fn hints_come_back_from_texts_that_keep_to_the_limit() {
        let hints: Vec<Hint> =
            (0..1000).map(|n| hint(n * 7919, u64::try_from(n).unwrap())).collect();
        let texts = encode(&hints, 100);
        assert!(texts.len() > 1);
        assert!(texts.iter().all(|text| text.len() <= 100));
        let back: Vec<Hint> = texts.iter().flat_map(|text| decode(text)).collect();
        assert_eq!(back, hints);
    }

    #[test]
    fn what_is_no_hint_is_left_out() {
        let heard: Vec<Hint> = decode("x,1:2,,3,4:-5,:,6:7:8,-1:3").collect();
        assert_eq!(heard, [hint(1, 2), hint(-1, 3)]);
        assert_eq!(decode("").count(), 0);
    }

    #[tokio::test]
    async fn of_every_task_the_newest_hint_waits() {
        let departures = Departures::default();
        departures.add(vec![hint(1, 5), hint(2, 1)]);
        departures.add(vec![hint(1, 4), hint(2, 3)]);
        let mut taken = departures.take().await;
        taken.sort_by_key(|hint| hint.task);
        assert_eq!(taken, [hint(1, 5), hint(2, 3)]);
    }

    #[tokio::test]
    async fn what_waits_is_bounded() {
        let departures = Departures::default();
        let many = i64::try_from(MOST_WAITING).unwrap() + 10;
        departures.add((0..many).map(|n| hint(n, 1)).collect());
        assert_eq!(departures.take().await.len(), MOST_WAITING);
    }

    #[tokio::test]
    async fn every_subscriber_hears_a_hint_and_a_slow_one_loses_the_oldest() {
        let arrivals = Arrivals::new();
        let mut first = arrivals.listen();
        let mut second = arrivals.listen();
        arrivals.tell(hint(1, 1));
        assert_eq!(first.next().await, Some(hint(1, 1)));
        for seq in 2..=u64::try_from(MOST_WAITING).unwrap() + 1 {
            arrivals.tell(hint(1, seq));
        }
        assert_eq!(second.next().await, Some(hint(1, 2)));
        drop(arrivals);
        while second.next().await.is_some() {}
    }

    #[tokio::test]
    async fn without_a_carrier_nothing_is_ever_heard() {
        NoHints.publish(vec![hint(1, 1)]);
        assert_eq!(NoHints.subscribe().next().await, None);
    }
}
