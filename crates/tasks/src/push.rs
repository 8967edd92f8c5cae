//! Webhooks: what callers register, and how events reach them.
//!
//! A webhook is a cursor over the log of its task, kept by the store. `configs` is the part
//! that callers see, the `Sender` is the part that sends: it takes webhooks that are behind
//! their log, and moves each on event by event. What a receiver will not take is tried again by
//! a [`Schedule`], then left as a dead letter (see [`Tasks::dead_letters`](crate::engine::Tasks::dead_letters)).
//! `nuncio_client::webhook` is for those at the other end.
//!
//! Invariant: a store sees secrets of a webhook only as a [`SealingKey`] has sealed them, and
//! nothing here shows them in an error, in a log or by `Debug`.
//!
//! `docs/reference/webhooks.md` says all this to receivers.

mod configs;
mod courier;
mod lanes;
mod letters;
mod notice;
mod schedule;
mod seal;
mod secrets;
mod sender;

use std::{
    collections::HashSet,
    fmt,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use nuncio_net::Client;
use nuncio_protocol::ids::TaskId;
use tokio::sync::Notify;

pub use schedule::Schedule;
pub use seal::{SealingKey, Unsealable};
pub(crate) use sender::Sender;

use crate::store::Head;

/// So many tasks with webhooks are remembered for waking the sender; all others wait for its
/// next look.
const MOST_WATCHED: usize = 65_536;

/// Sends webhooks: given to [`Builder::push`](crate::engine::Builder::push).
///
/// Where webhooks may lead is up to the guard of the client. Their URLs are on a caller's word,
/// both when they are registered and when they are called.
#[derive(Clone)]
#[must_use]
pub struct Push {
    pub(crate) client: Client,
    pub(crate) key: SealingKey,
    pub(crate) schedule: Schedule,
    /// How long one attempt may take.
    pub(crate) timeout: Duration,
    /// For how long webhooks are taken.
    pub(crate) lease: Duration,
    pub(crate) at_once: usize,
    pub(crate) at_once_per_host: usize,
    alarm: Arc<Alarm>,
}

/// Wakes the sender of this process.
#[derive(Default)]
struct Alarm {
    due: Notify,
    /// Unfinished tasks that are known to have webhooks.
    watched: Mutex<HashSet<TaskId>>,
}

impl Push {
    /// Sends with a client, and seals secrets with a key.
    ///
    /// Every process that shares a store needs the same key.
    pub fn new(client: Client, key: SealingKey) -> Self {
        Self {
            client,
            key,
            schedule: Schedule::default(),
            timeout: Duration::from_secs(10),
            lease: Duration::from_secs(30),
            at_once: 64,
            at_once_per_host: 8,
            alarm: Arc::default(),
        }
    }

    /// Sets when events that were not taken are tried again.
    pub fn schedule(mut self, schedule: Schedule) -> Self {
        self.schedule = schedule;
        self
    }

    /// Sets how long a receiver may take to answer; 10 seconds otherwise.
    pub fn timeout(mut self, limit: Duration) -> Self {
        self.timeout = limit;
        self
    }

    /// Sets for how long a webhook is taken, at most: 30 seconds otherwise. If this process
    /// dies, others go on after so long. Must be longer than the timeout.
    pub fn lease(mut self, lasts: Duration) -> Self {
        self.lease = lasts;
        self
    }

    /// Sets to how many webhooks events are sent at once, in all and at one host; 64 and 8
    /// otherwise.
    pub fn at_once(mut self, webhooks: usize, per_host: usize) -> Self {
        self.at_once = webhooks.max(1);
        self.at_once_per_host = per_host.max(1);
        self
    }

    /// Says that a task has webhooks, or will have once it is there.
    fn watch(&self, task: &TaskId) {
        let mut watched = self.alarm.watched();
        if watched.len() >= MOST_WATCHED {
            watched.clear();
        }
        watched.insert(task.clone());
    }

    /// Says that something has been written to the log of a task.
    pub(crate) fn written(&self, head: &Head) {
        let is_watched = {
            let mut watched = self.alarm.watched();
            // Nothing follows the end: what is still to be sent the sender finds by itself.
            if watched.is_empty() {
                false
            } else if head.state.is_terminal() {
                watched.remove(&head.id)
            } else {
                watched.contains(&head.id)
            }
        };
        if is_watched {
            self.wake();
        }
    }

    /// Says that something may be due.
    fn wake(&self) {
        self.alarm.due.notify_one();
    }

    /// Waits until something may be due.
    async fn woken(&self) {
        self.alarm.due.notified().await;
    }
}

impl Alarm {
    fn watched(&self) -> MutexGuard<'_, HashSet<TaskId>> {
        self.watched.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Push {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Push")
            .field("schedule", &self.schedule)
            .field("timeout", &self.timeout)
            .field("lease", &self.lease)
            .finish_non_exhaustive()
    }
}
