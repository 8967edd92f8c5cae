//! What goes on in the background: leases, takeovers, hints, keeping house.

use std::{collections::HashMap, sync::Arc, time::Duration};

use nuncio_protocol::state::TaskState;
use tokio::time::{Instant, MissedTickBehavior, interval};
use tokio_util::sync::CancellationToken;

use super::{Engine, accept::Occasion};
use crate::{
    agent::{Cause, Interrupted},
    hints::Hint,
    live::{self, Live},
    log::{Entry, Kind, Record, Seq},
    store::{self, Claim, Claimed, Head, Limit, Reason, Swept, TaskRef, Tenure},
};

/// How often leases are renewed, as a part of how long they last.
const RENEWALS_PER_LEASE: u32 = 3;

/// How often the store is asked what has become of the tasks that are watched here, and what
/// needs an owner.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// How often the house is kept.
const SWEEP_EVERY: Duration = Duration::from_secs(60);

/// How much is taken over, and removed, at once.
const MOST_AT_ONCE: usize = 100;

/// Starts everything that goes on in the background.
pub(super) fn start(engine: &Arc<Engine>) {
    let every = |period, until: &CancellationToken, job: fn(Arc<Engine>) -> Job| {
        let engine = Arc::clone(engine);
        let tracker = engine.background.clone();
        tracker.spawn(until.clone().run_until_cancelled_owned(async move {
            let mut ticks = interval(period);
            ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
            loop {
                ticks.tick().await;
                if let Err(error) = job(Arc::clone(&engine)).await {
                    tracing::warn!(%error, "a look at the store failed");
                }
            }
        }));
    };
    // Work that is given time to end still needs its leases, and still hears of cancels.
    let (stop, finish) = (&engine.stop, &engine.finish);
    let renewal = engine.settings.lease / RENEWALS_PER_LEASE;
    every(renewal, finish, |engine| Box::pin(engine.renew()));
    every(LOOK_EVERY, stop, |engine| Box::pin(engine.take_over()));
    every(SWEEP_EVERY, stop, |engine| Box::pin(engine.sweep()));
    if engine.store.is_shared() {
        every(LOOK_EVERY, finish, |engine| Box::pin(engine.look()));
        every(LOOK_EVERY / 4, finish, |engine| {
            engine.check_leases();
            Box::pin(async { Ok(()) })
        });
        let listening = Arc::clone(engine).listen();
        engine.background.spawn(finish.clone().run_until_cancelled_owned(listening));
    }
}

/// What came of a task that was taken over.
enum Taken {
    /// Its work holds the lease now.
    Runs,
    /// There is nothing left to do here.
    Ended,
}

fn tenure(head: &Head) -> Tenure {
    Tenure { task: head.reference, epoch: head.epoch }
}

type Job = std::pin::Pin<Box<dyn Future<Output = Result<(), store::Error>> + Send>>;

impl Engine {
    /// Tells other processes how far a task has come.
    pub(super) fn tell_others(&self, head: &Head) {
        if let Some(push) = &self.push {
            push.written(head);
        }
        if self.store.is_shared() {
            self.hints.publish(vec![Hint { task: head.reference, seq: head.seq }]);
        }
    }

    /// Prolongs all leases in one go.
    async fn renew(self: Arc<Self>) -> Result<(), store::Error> {
        let held: Vec<Tenure> = self.lock_held().values().map(|held| held.tenure).collect();
        if held.is_empty() {
            return Ok(());
        }
        // From when it was asked, not from when it was answered: the database counts from
        // somewhere between.
        let until = Instant::now() + self.settings.lease;
        let lost = self.store.renew(self.lease(), held.clone()).await?;
        let mut map = self.lock_held();
        for tenure in held {
            match map.get_mut(&tenure.task) {
                Some(held) if held.tenure == tenure && lost.contains(&tenure.task) => {
                    held.lose();
                }
                Some(held) if held.tenure == tenure => held.until = until,
                _ => {}
            }
        }
        Ok(())
    }

    /// Prolongs leases that have waited too long for it, before any that is over is taken: while
    /// a disk stands still they end, and in a store that nobody shares they are still ours.
    async fn keep_own(self: &Arc<Self>) -> Result<(), store::Error> {
        let half = self.settings.lease / 2;
        let is_late = || {
            let late = Instant::now() + half;
            self.lock_held().values().any(|held| held.until <= late)
        };
        while !self.store.is_shared() && is_late() {
            let asked = Instant::now();
            Arc::clone(self).renew().await?;
            if asked.elapsed() < half {
                break;
            }
        }
        Ok(())
    }

    /// Stops work whose lease is over by our own clock: the database may have given it away.
    fn check_leases(&self) {
        let now = Instant::now();
        for held in self.lock_held().values().filter(|held| held.until <= now) {
            held.lose();
        }
    }

    /// Takes tasks that need an owner.
    async fn take_over(self: Arc<Self>) -> Result<(), store::Error> {
        if let Some(others) = &self.others {
            others.complete().await;
        }
        loop {
            self.keep_own().await?;
            let claim = Claim {
                lease: self.lease(),
                agents: self.agents.keys().cloned().collect(),
                orphaned_after: match self.others {
                    // They may be ours, whatever their names are.
                    Some(_) => Duration::ZERO,
                    None => self.settings.orphaned_after,
                },
                most: MOST_AT_ONCE,
            };
            let claimed = self.store.claim(claim).await?;
            let full = claimed.len() == MOST_AT_ONCE;
            // Kept from here on: to settle so many can take longer than a lease lasts.
            for Claimed { head, .. } in &claimed {
                self.hold(tenure(head), None);
            }
            for claimed in claimed {
                let (id, tenure) = (claimed.head.id.clone(), tenure(&claimed.head));
                match self.settle_or_run(claimed).await {
                    Ok(Taken::Runs) => {}
                    Ok(Taken::Ended) => self.let_go(tenure),
                    Err(error) => {
                        // It is left to whoever claims it next.
                        tracing::warn!(task = %id, %error, "a task could not be taken over");
                        self.let_go(tenure);
                    }
                }
            }
            if !full {
                return Ok(());
            }
        }
    }

    /// Goes on with a task that was taken, or ends it.
    async fn settle_or_run(self: &Arc<Self>, claimed: Claimed) -> Result<Taken, store::Error> {
        let Claimed { head, reason } = claimed;
        let Some(agent) = self.find_agent(&head.place) else {
            let text = "INTERRUPTED: nobody runs this agent any more";
            return self.give_up(&head, TaskState::Failed, text).await;
        };
        let conduct = agent.conduct();
        let cancel = self.cancel_of(head.reference).await?;
        if cancel.is_some() && !conduct.hears_cancels {
            return self.give_up(&head, TaskState::Canceled, "").await;
        }
        let attempts = match conduct.interrupted {
            Interrupted::Resume => self.settings.resumptions,
            Interrupted::Retry | Interrupted::Fail => self.settings.attempts,
        };
        let cause = match (reason, conduct.interrupted) {
            _ if cancel.is_some() => Cause::Cancel,
            (Reason::Woken, _) => Cause::WakeUp,
            (Reason::Abandoned { times }, _) if times > attempts => {
                let text = format!("INTERRUPTED: the process has died {times} times at this work");
                return self.give_up(&head, TaskState::Failed, &text).await;
            }
            (_, Interrupted::Fail) => {
                let text = "INTERRUPTED: the process that worked on this has died";
                return self.give_up(&head, TaskState::Failed, text).await;
            }
            (_, Interrupted::Retry | Interrupted::Resume) => Cause::Interrupted,
        };
        let live = self.at_hand(&head).await?;
        let mut occasion = Occasion::quiet(cause);
        occasion.asked.metadata = cancel.and_then(|cancel| cancel.cancel_wish());
        match self.begin_turn(head, live, occasion).await {
            Ok(()) => Ok(Taken::Runs),
            Err(error) => {
                // It is left to whoever claims it next.
                tracing::warn!(%error, "a turn could not be begun");
                Ok(Taken::Ended)
            }
        }
    }

    async fn give_up(
        self: &Arc<Self>,
        head: &Head,
        state: TaskState,
        text: &str,
    ) -> Result<Taken, store::Error> {
        self.fail(head, head.epoch, state, text).await?;
        Ok(Taken::Ended)
    }

    /// Returns the wish of somebody who wanted the task to end before its owner died.
    async fn cancel_of(&self, task: TaskRef) -> Result<Option<Record>, store::Error> {
        let limit = Limit { entries: 1_000, bytes: 4 << 20 };
        let mut after = Seq::START;
        let mut cancel = None;
        loop {
            let tail = self.store.tail(task, after, limit).await?;
            for Entry { record, .. } in &tail.entries {
                if record.kind == Kind::Cancel {
                    cancel = Some(record.clone());
                } else if record.cancel_refused().is_some() {
                    cancel = None;
                }
            }
            match tail.entries.last() {
                Some(last) => after = last.seq,
                None => return Ok(cancel),
            }
        }
    }

    /// Asks once for all tasks that are at hand how far they have come.
    async fn look(self: Arc<Self>) -> Result<(), store::Error> {
        let watched = self.at_hand.all().into_iter().filter(|live| live.is_watched());
        let watched: HashMap<TaskRef, Arc<Live>> = watched.map(|live| (live.task, live)).collect();
        if watched.is_empty() {
            return Ok(());
        }
        for mark in self.store.marks(watched.keys().copied().collect()).await? {
            if let Some(live) = watched.get(&mark.task)
                && live.reached().seq < mark.seq
            {
                live::fill(&*self.store, live).await?;
            }
        }
        Ok(())
    }

    /// Follows the hints of other processes.
    async fn listen(self: Arc<Self>) {
        let mut heard = self.hints.subscribe();
        while let Some(hint) = heard.next().await {
            if let Some(live) = self.at_hand.find(hint.task)
                && live.reached().seq < hint.seq
                && let Err(error) = live::fill(&*self.store, &live).await
            {
                // The next look brings what this one did not.
                tracing::debug!(%error, "a hint could not be followed");
            }
        }
    }

    /// Removes what has been kept long enough.
    async fn sweep(self: Arc<Self>) -> Result<(), store::Error> {
        loop {
            let swept = self.store.sweep(&self.settings.retention, MOST_AT_ONCE).await?;
            let Swept { tasks, logs, keys, dead_letters } = swept;
            if [tasks, logs, keys, dead_letters].iter().all(|count| *count < MOST_AT_ONCE) {
                return Ok(());
            }
        }
    }

    /// Stops everything: work may end while there is patience, what is left is given back.
    pub(super) async fn drain(&self, patience: impl Future<Output = ()> + Send) {
        self.stop.cancel();
        self.work.close();
        // What waits for an answer may wait for days: another process does that as well.
        let mut given: Vec<Tenure> = {
            let map = self.lock_held();
            let waiting = map.values().filter(|held| held.waits());
            waiting.inspect(|held| held.lose()).map(|held| held.tenure).collect()
        };
        // Also if all work has ended in time: what was taken over and not begun is held, too.
        tokio::select! {
            () = self.work.wait() => {}
            () = patience => {}
        }
        given.extend(self.lock_held().values().map(|held| {
            held.lose();
            held.tenure
        }));
        self.work.wait().await;
        self.finish.cancel();
        self.background.close();
        self.background.wait().await;
        if !given.is_empty()
            && let Err(error) = self.store.release(given).await
        {
            // They end by themselves a little later.
            tracing::warn!(%error, "leases could not be given back");
        }
    }
}
