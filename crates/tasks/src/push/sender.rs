//! Takes webhooks that have something to be sent, and sends it.

use std::{
    collections::{HashMap, VecDeque},
    fmt,
    sync::Arc,
    time::Duration,
};

use tokio::{
    task::{Id, JoinError, JoinSet},
    time::{Instant, MissedTickBehavior, interval, sleep_until, timeout},
};
use tokio_util::sync::CancellationToken;

use super::{
    Push,
    courier::{Courier, ERRAND, LAST_CALL, Report},
    lanes::{Conduct, Lanes, Pass},
};
use crate::{
    clock::Clock,
    scope::Name,
    store::{Delivery, Lease, Progress, Store},
};

/// How often the store is asked what is due, if nobody says that something is.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// How often it is asked at most.
const LOOK_AT_MOST_EVERY: Duration = Duration::from_millis(5);

/// How many webhooks are taken at once.
const MOST_AT_ONCE: usize = 64;

/// The store's clock is not ours: what is due by ours may not be by the other.
const A_LITTLE_LATER: Duration = Duration::from_millis(2);

/// A webhook that did not get its turn within this time is looked at again first.
const FRESH: Duration = Duration::from_millis(100);

/// Sends the events of all webhooks that this process has taken.
///
/// A webhook that is taken and finds no place to wait is left alone: its lease runs out, and it
/// has lost time but no attempt.
pub(crate) struct Sender {
    store: Arc<dyn Store>,
    push: Push,
    clock: Clock,
    owner: Name,
    lanes: Lanes<Taken>,
    couriers: JoinSet<Report>,
    passes: HashMap<Id, Pass>,
    looked: Option<Instant>,
    /// When the next event is to be tried again, as far as that is known here.
    due_at: Option<Instant>,
}

/// A webhook that waits for its turn.
#[derive(Debug)]
struct Taken {
    delivery: Delivery,
    since: Instant,
}

impl Sender {
    /// Sends what it finds in a store.
    pub(crate) fn new(store: Arc<dyn Store>, push: Push, clock: Clock, owner: Name) -> Self {
        Self {
            lanes: Lanes::new(push.at_once, push.at_once_per_host),
            store,
            push,
            clock,
            owner,
            couriers: JoinSet::new(),
            passes: HashMap::new(),
            looked: None,
            due_at: None,
        }
    }

    /// Sends until it is stopped. What is under way then gets a moment to end; the rest is given
    /// back, for other processes to send.
    pub(crate) async fn run(mut self, stop: CancellationToken) {
        let mut ticks = interval(LOOK_EVERY);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut is_due = true;
        loop {
            if is_due && self.lanes.has_room() {
                is_due = self.look().await;
                self.begin(&stop);
            }
            tokio::select! {
                () = stop.cancelled() => break,
                Some(ended) = self.couriers.join_next_with_id() => {
                    self.end(ended);
                    self.begin(&stop);
                }
                () = self.push.woken() => is_due = true,
                () = sleep_until(self.due_at.unwrap_or_else(Instant::now)),
                    if self.due_at.is_some() =>
                {
                    self.due_at = None;
                    is_due = true;
                }
                _ = ticks.tick() => is_due = true,
            }
        }
        self.give_back().await;
        while self.couriers.join_next().await.is_some() {}
    }

    /// Takes what is due. Tells whether there may be more.
    async fn look(&mut self) -> bool {
        if let Some(looked) = self.looked {
            sleep_until(looked + LOOK_AT_MOST_EVERY).await;
        }
        let since = Instant::now();
        self.looked = Some(since);
        let lease = Lease { owner: self.owner.clone(), lasts: self.push.lease };
        let taken = match self.store.claim_deliveries(lease, MOST_AT_ONCE).await {
            Ok(taken) => taken,
            Err(error) => {
                tracing::warn!(%error, "webhooks could not be taken");
                return false;
            }
        };
        let is_full = taken.len() >= MOST_AT_ONCE;
        for delivery in taken {
            self.push.watch(&delivery.webhook.task_id);
            let url = self.push.client.guard().check_url(&delivery.webhook.url, ERRAND);
            let host = url.map(|url| format!("{}:{}", url.host_text(), url.port()));
            let was_tried = delivery.attempts > 0 || delivery.again.is_some();
            let taken = Taken { delivery, since };
            if self.lanes.wait(&host.unwrap_or_default(), was_tried, taken).is_err() {
                tracing::debug!("a webhook found no place to wait for its turn");
            }
        }
        is_full
    }

    /// Begins what may have its turn.
    fn begin(&mut self, stop: &CancellationToken) {
        while let Some((pass, Taken { delivery, since })) = self.lanes.next() {
            let until = since + self.push.lease;
            let has_waited = since.elapsed() > FRESH;
            if has_waited && Instant::now() + self.push.timeout > until {
                // Somebody else may take it before this would be over.
                self.lanes.finish(&pass, Conduct::Unknown);
                continue;
            }
            let courier = Courier {
                store: Arc::clone(&self.store),
                push: self.push.clone(),
                clock: self.clock.clone(),
                stop: stop.clone(),
                delivery,
                until,
                page: VecDeque::new(),
                folded: None,
            };
            let courier = self.couriers.spawn(courier.run(has_waited));
            self.passes.insert(courier.id(), pass);
        }
    }

    fn end(&mut self, ended: Result<(Id, Report), JoinError>) {
        let (id, report) = match ended {
            Ok(ended) => ended,
            Err(error) => {
                tracing::error!(%error, "sending to a webhook broke off");
                (error.id(), Report { conduct: Conduct::Unknown, again_after: None })
            }
        };
        if let Some(pass) = self.passes.remove(&id) {
            self.lanes.finish(&pass, report.conduct);
        }
        if let Some(after) = report.again_after
            && let Some(at) = Instant::now().checked_add(after + A_LITTLE_LATER)
        {
            self.due_at = Some(self.due_at.map_or(at, |due_at| due_at.min(at)));
        }
    }

    /// Gives back what has not had its turn.
    async fn give_back(&mut self) {
        let waiting = self.lanes.drain();
        let giving_back = async {
            for Taken { delivery, .. } in &waiting {
                if let Err(error) = self.store.settle(delivery, Progress::Released).await {
                    tracing::debug!(%error, "a webhook could not be given back");
                }
            }
        };
        // What is not given back is free again when its lease is over.
        timeout(LAST_CALL, giving_back).await.ok();
    }
}

impl fmt::Debug for Sender {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sender").field("push", &self.push).finish_non_exhaustive()
    }
}
