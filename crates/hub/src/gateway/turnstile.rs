//! How many calls an agent gets at once, and who goes first when there are more.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use nuncio_protocol::{ids::AgentId, service::Priority};
use tokio::{
    sync::oneshot,
    time::{Instant, timeout},
};

/// How much a waiting call gains in a second: the lowest passes a fresh highest in 70 (C-44).
const AGEING_PER_SECOND: f64 = 1.0;

/// How many calls agents get at once.
#[derive(Debug)]
pub(crate) struct Turnstiles {
    most: usize,
    longest_queue: usize,
    wait: Duration,
    gates: Mutex<HashMap<AgentId, Gate>>,
}

/// Why a call is not let through.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Busy {
    /// So many wait already.
    #[error("the agent has {under_way} calls under way, and {waiting} more wait")]
    Full { under_way: usize, waiting: usize },
    /// It waited for too long.
    #[error("the agent has {under_way} calls under way and took no other in time")]
    Waited { under_way: usize },
}

#[derive(Debug, Default)]
struct Gate {
    under_way: usize,
    waiting: Vec<Waiting>,
}

#[derive(Debug)]
struct Waiting {
    priority: Priority,
    since: Instant,
    call: oneshot::Sender<Pass>,
}

/// The right to make one call. Whoever drops it lets the next one through.
#[derive(Debug)]
pub(crate) struct Pass {
    turnstiles: Arc<Turnstiles>,
    /// `None` once it has been handed on.
    agent: Option<AgentId>,
}

impl Turnstiles {
    pub(crate) fn new(most: usize, longest_queue: usize, wait: Duration) -> Self {
        Self { most: most.max(1), longest_queue, wait, gates: Mutex::default() }
    }

    /// Waits until the agent can take another call.
    pub(crate) async fn pass(
        self: &Arc<Self>,
        agent: &AgentId,
        priority: Priority,
    ) -> Result<Pass, Busy> {
        let called = {
            let mut gates = self.lock();
            let gate = gates.entry(agent.clone()).or_default();
            if gate.under_way < self.most {
                gate.under_way += 1;
                return Ok(self.hand_out(agent));
            }
            if gate.waiting.len() >= self.longest_queue {
                let (under_way, waiting) = (gate.under_way, gate.waiting.len());
                return Err(Busy::Full { under_way, waiting });
            }
            let (call, called) = oneshot::channel();
            gate.waiting.push(Waiting { priority, since: Instant::now(), call });
            called
        };
        match timeout(self.wait, called).await {
            Ok(Ok(pass)) => Ok(pass),
            _ => Err(Busy::Waited { under_way: self.most }),
        }
    }

    fn hand_out(self: &Arc<Self>, agent: &AgentId) -> Pass {
        Pass { turnstiles: Arc::clone(self), agent: Some(agent.clone()) }
    }

    /// Lets the next one through in place of one that is done.
    fn leave(self: &Arc<Self>, agent: &AgentId) {
        let mut gates = self.lock();
        let Some(gate) = gates.get_mut(agent) else { return };
        while let Some(next) = gate.next() {
            let mut pass = self.hand_out(agent);
            match next.call.send(pass) {
                Ok(()) => return,
                // It has gone away; dropping its pass must not come back here.
                Err(refused) => pass = refused,
            }
            pass.agent = None;
        }
        gate.under_way -= 1;
        if gate.under_way == 0 {
            gates.remove(agent);
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<AgentId, Gate>> {
        // Nothing panics while it is held; what it guards is sound at every step.
        self.gates.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Gate {
    /// Takes whoever is most urgent by now out of the queue.
    fn next(&mut self) -> Option<Waiting> {
        let now = Instant::now();
        let urgency = |waiting: &Waiting| {
            let waited = now.saturating_duration_since(waiting.since).as_secs_f64();
            f64::from(waiting.priority.weight()) + waited * AGEING_PER_SECOND
        };
        let mut first: Option<(usize, f64)> = None;
        for (index, waiting) in self.waiting.iter().enumerate() {
            let urgency = urgency(waiting);
            // Of equals the one that came first.
            if first.is_none_or(|(_, most)| urgency > most) {
                first = Some((index, urgency));
            }
        }
        let (first, _) = first?;
        Some(self.waiting.remove(first))
    }
}

impl Drop for Pass {
    fn drop(&mut self) {
        if let Some(agent) = self.agent.take() {
            self.turnstiles.leave(&agent);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn agent() -> AgentId {
        AgentId::parse("a").expect("an id")
    }

    async fn wait(turnstiles: &Arc<Turnstiles>, priority: Priority) -> Result<Pass, Busy> {
        turnstiles.pass(&agent(), priority).await
    }

    /// Begins to wait, and returns once it does.
    async fn queue(
        turnstiles: &Arc<Turnstiles>,
        priority: Priority,
        order: &Arc<Mutex<Vec<Priority>>>,
    ) {
        let before = turnstiles.lock().get(&agent()).map_or(0, |gate| gate.waiting.len());
        let (turnstiles_of_call, order) = (Arc::clone(turnstiles), Arc::clone(order));
        tokio::spawn(async move {
            let _pass = wait(&turnstiles_of_call, priority).await.expect("its turn");
            order.lock().expect("no panic").push(priority);
        });
        while turnstiles.lock().get(&agent()).map_or(0, |gate| gate.waiting.len()) == before {
            tokio::task::yield_now().await;
        }
    }

    async fn order_of(waits: &[(Priority, u64)]) -> Vec<Priority> {
        let turnstiles = Arc::new(Turnstiles::new(1, 10, Duration::from_secs(600)));
        let pass = wait(&turnstiles, Priority::Normal).await.expect("the first");
        let order = Arc::default();
        for (priority, seconds) in waits {
            queue(&turnstiles, *priority, &order).await;
            tokio::time::advance(Duration::from_secs(*seconds)).await;
        }
        drop(pass);
        while order.lock().expect("no panic").len() < waits.len() {
            tokio::task::yield_now().await;
        }
        Arc::try_unwrap(order).map_or_else(|_| Vec::new(), |order| order.into_inner().expect("ok"))
    }

    #[tokio::test(start_paused = true)]
    async fn the_urgent_go_first_and_nobody_waits_for_ever() {
        use Priority::{High, Low, Normal};
        for (waits, expected) in [
            ([(Low, 0), (Normal, 0), (High, 0)], [High, Normal, Low]),
            ([(Low, 71), (High, 0), (Normal, 0)], [Low, High, Normal]),
            ([(Low, 60), (High, 0), (Normal, 0)], [High, Low, Normal]),
        ] {
            let order = order_of(&waits).await;
            assert_eq!(order, expected, "{waits:?}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn who_finds_the_queue_full_or_waits_too_long_is_told_so() {
        let turnstiles = Arc::new(Turnstiles::new(1, 1, Duration::from_secs(5)));
        let pass = wait(&turnstiles, Priority::Normal).await.expect("the first");
        let second = tokio::spawn({
            let turnstiles = Arc::clone(&turnstiles);
            async move { wait(&turnstiles, Priority::Normal).await.map(drop) }
        });
        while turnstiles.lock().get(&agent()).is_none_or(|gate| gate.waiting.is_empty()) {
            tokio::task::yield_now().await;
        }
        let third = wait(&turnstiles, Priority::High).await.map(drop);
        assert_eq!(third, Err(Busy::Full { under_way: 1, waiting: 1 }));
        assert_eq!(second.await.expect("no panic"), Err(Busy::Waited { under_way: 1 }));
        drop(pass);
        assert!(turnstiles.lock().is_empty(), "nothing is left of calls that are over");
    }
}
