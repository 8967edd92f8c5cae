//! How many calls an agent gets at once, and who goes first when there are more.
//!
//! How many an agent can take is known by three things: what the hub allows, what the agent says
//! when it has too many, and what its heartbeats say. What was learnt from the agent is tried
//! again after a while, by one call more.

use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use arc_swap::ArcSwap;
use foldhash::HashMap;
use nuncio_protocol::{ids::AgentId, service::Priority};
use tokio::{
    sync::{Notify, oneshot},
    time::{Instant, sleep_until},
};

/// How much a waiting call gains in a second: the lowest passes a fresh highest in 70 (C-44).
const AGEING_PER_SECOND: f64 = 1.0;

/// How long an agent is believed that says in a heartbeat that it has enough: two beats.
const BELIEVED: Duration = Duration::from_secs(60);

/// How many calls agents get at once.
#[derive(Debug)]
pub(crate) struct Turnstiles {
    width: ArcSwap<Width>,
    gates: Mutex<HashMap<AgentId, Gate>>,
}

/// How many may go through, and wait before.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Width {
    /// How many calls an agent gets at once.
    pub(crate) most: usize,
    /// How many more may wait.
    pub(crate) queue: usize,
    /// How long they wait.
    pub(crate) wait: Duration,
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

/// How much an agent says it has to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Reported {
    /// So many tasks, from whomever.
    pub(crate) active: u32,
    /// The most that it can do at once, if it says so.
    pub(crate) most: Option<u32>,
}

/// How much an agent has to do for us.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Load {
    pub(crate) under_way: usize,
    pub(crate) waiting: usize,
}

#[derive(Debug, Default)]
struct Gate {
    under_way: usize,
    waiting: Vec<Waiting>,
    /// What we allow this agent, if that is something else than for all.
    own: Option<usize>,
    /// What the agent can take, if that is less than we allow.
    learnt: Option<Learnt>,
    /// Tells those who wait that something was learnt.
    changed: Arc<Notify>,
}

/// What an agent can take, as far as it has said so.
#[derive(Clone, Copy, Debug)]
struct Learnt {
    most: usize,
    /// When one more is tried.
    until: Instant,
    /// How long that was put off.
    pause: Duration,
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

/// A place in the line before an agent.
#[derive(Debug)]
pub(crate) struct InLine {
    turnstiles: Arc<Turnstiles>,
    agent: AgentId,
    called: oneshot::Receiver<Pass>,
    changed: Arc<Notify>,
    /// How many wait, this one included; 0 if it need not.
    pub(crate) depth: usize,
}

impl Turnstiles {
    pub(crate) fn new(most: usize, queue: usize, wait: Duration) -> Self {
        let width = Width { most, queue, wait };
        Self { width: ArcSwap::from_pointee(width), gates: Mutex::default() }
    }

    /// Lets through another number from now on. Those who are through stay.
    pub(crate) fn widen(self: &Arc<Self>, width: Width) {
        self.width.store(Arc::new(width));
        let mut gates = self.lock();
        for (agent, gate) in gates.iter_mut() {
            self.call_next(gate, agent);
        }
    }

    fn most(&self) -> usize {
        self.width.load().most
    }

    /// Returns how long a call waits at most that is not kept.
    pub(crate) fn longest_wait(&self) -> Duration {
        self.width.load().wait
    }

    /// Takes a place in the line, as one who has waited for so long already. The agent gets as
    /// many calls at once as it has of its own, if that was said.
    pub(crate) fn line_up(
        self: &Arc<Self>,
        (agent, own): (&AgentId, Option<usize>),
        priority: Priority,
        waited: Duration,
    ) -> Result<InLine, Busy> {
        let (call, called) = oneshot::channel();
        let mut gates = self.lock();
        let gate = gates.entry(agent.clone()).or_default();
        gate.own = own;
        let is_full = gate.under_way >= gate.room(self.most());
        if is_full && gate.waiting.len() >= self.width.load().queue {
            let (under_way, waiting) = (gate.under_way, gate.waiting.len());
            return Err(Busy::Full { under_way, waiting });
        }
        let now = Instant::now();
        let since = now.checked_sub(waited).unwrap_or(now);
        gate.waiting.push(Waiting { priority, since, call });
        self.call_next(gate, agent);
        let depth = gate.waiting.len();
        let changed = Arc::clone(&gate.changed);
        let (turnstiles, agent) = (Arc::clone(self), agent.clone());
        Ok(InLine { turnstiles, agent, called, changed, depth })
    }

    /// Hears from an agent how much it has to do. Matters only while calls are made or wait, or
    /// if it has enough.
    pub(crate) fn heard(self: &Arc<Self>, agent: &AgentId, reported: Reported) {
        let mut gates = self.lock();
        let Reported { active, most } = reported;
        let is_full = most.is_some_and(|most| active >= most);
        if is_full {
            let gate = gates.entry(agent.clone()).or_default();
            // Once: what an agent says for ever may be wrong, and one more is tried meanwhile.
            if gate.room(self.most()) > gate.under_way {
                gate.learn(gate.under_way, BELIEVED);
            }
            return;
        }
        let Some(gate) = gates.get_mut(agent) else { return };
        let room = match most {
            Some(most) => usize::try_from(most - active).unwrap_or(usize::MAX),
            // It has said nothing if it works and does not say how much it can.
            None => usize::from(active == 0),
        };
        if let Some(learnt) = &mut gate.learnt {
            learnt.most = learnt.most.max(gate.under_way.saturating_add(room));
        }
        self.call_next(gate, agent);
        if gate.is_idle() {
            gates.remove(agent);
        }
    }

    /// Returns how much an agent has to do for us.
    pub(crate) fn load(&self, agent: &AgentId) -> Load {
        self.lock().get(agent).map_or_else(Load::default, |gate| Load {
            under_way: gate.under_way,
            waiting: gate.waiting.len(),
        })
    }

    fn hand_out(self: &Arc<Self>, agent: &AgentId) -> Pass {
        Pass { turnstiles: Arc::clone(self), agent: Some(agent.clone()) }
    }

    /// Lets through whoever can be.
    fn call_next(self: &Arc<Self>, gate: &mut Gate, agent: &AgentId) {
        while gate.under_way < gate.room(self.most()) {
            let Some(next) = gate.next() else { return };
            match next.call.send(self.hand_out(agent)) {
                Ok(()) => gate.under_way += 1,
                // It has gone away; dropping its pass must not come back here.
                Err(mut refused) => refused.agent = None,
            }
        }
    }

    /// Lets the next one through in place of one that is done.
    fn leave(self: &Arc<Self>, agent: &AgentId) {
        let mut gates = self.lock();
        let Some(gate) = gates.get_mut(agent) else { return };
        gate.under_way -= 1;
        self.call_next(gate, agent);
        if gate.is_idle() {
            gates.remove(agent);
        }
    }

    /// Learns that an agent has not taken a call because it has enough to do.
    fn refused(self: &Arc<Self>, agent: &AgentId, pause: Duration) {
        let mut gates = self.lock();
        let Some(gate) = gates.get_mut(agent) else { return };
        gate.under_way -= 1;
        gate.learn(gate.under_way, pause);
        if gate.is_idle() {
            gates.remove(agent);
        }
    }

    /// Tries one more, if it is time to. Returns when to look again.
    fn look_again(self: &Arc<Self>, agent: &AgentId) -> Option<Instant> {
        let mut gates = self.lock();
        let gate = gates.get_mut(agent)?;
        let now = Instant::now();
        match &mut gate.learnt {
            Some(learnt) if learnt.until <= now => {
                learnt.most += 1;
                learnt.until = now + learnt.pause;
                if learnt.most >= gate.own.unwrap_or_else(|| self.most()) {
                    gate.learnt = None;
                }
            }
            _ => {}
        }
        self.call_next(gate, agent);
        gate.learnt.map(|learnt| learnt.until)
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<AgentId, Gate>> {
        // Nothing panics while it is held; what it guards is sound at every step.
        self.gates.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Gate {
    /// Tells whether nobody uses it, and nothing is known that would be forgotten with it.
    fn is_idle(&self) -> bool {
        let is_learnt = || self.learnt.is_some_and(|learnt| learnt.until > Instant::now());
        self.under_way == 0 && self.waiting.is_empty() && !is_learnt()
    }

    fn room(&self, most: usize) -> usize {
        let most = self.own.unwrap_or(most).max(1);
        self.learnt.map_or(most, |learnt| learnt.most.min(most))
    }

    fn learn(&mut self, most: usize, pause: Duration) {
        let until = Instant::now() + pause;
        self.learnt = Some(Learnt { most, until, pause });
        self.changed.notify_waiters();
    }

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

impl InLine {
    /// Waits for one's turn, at most for so long.
    pub(crate) async fn turn(mut self, within: Duration) -> Result<Pass, Busy> {
        if let Ok(pass) = self.called.try_recv() {
            return Ok(pass);
        }
        let end = Instant::now() + within;
        loop {
            let changed = self.changed.notified();
            let look = self.turnstiles.look_again(&self.agent).unwrap_or(end).min(end);
            tokio::select! {
                biased;
                called = &mut self.called => {
                    let under_way = self.turnstiles.load(&self.agent).under_way;
                    let busy = Busy::Waited { under_way };
                    return called.map_err(|_| busy);
                }
                () = changed => {}
                () = sleep_until(look) => {
                    if Instant::now() >= end {
                        let under_way = self.turnstiles.load(&self.agent).under_way;
                        return Err(Busy::Waited { under_way });
                    }
                }
            }
        }
    }
}

impl Drop for InLine {
    fn drop(&mut self) {
        if self.depth == 0 {
            // It never stood in the line.
            return;
        }
        self.called.close();
        let mut gates = self.turnstiles.lock();
        if let Some(gate) = gates.get_mut(&self.agent) {
            gate.waiting.retain(|waiting| !waiting.call.is_closed());
            if gate.is_idle() {
                gates.remove(&self.agent);
            }
        }
    }
}

impl Pass {
    /// Gives it back, because the agent has not taken the call: it has enough to do.
    pub(crate) fn refused(mut self, pause: Duration) {
        if let Some(agent) = self.agent.take() {
            self.turnstiles.refused(&agent, pause);
        }
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
        let line = turnstiles.line_up((&agent(), None), priority, Duration::ZERO)?;
        line.turn(turnstiles.longest_wait()).await
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

    /// Lines up as somebody who does not wait here.
    fn in_line(turnstiles: &Arc<Turnstiles>, priority: Priority) -> InLine {
        turnstiles.line_up((&agent(), None), priority, Duration::ZERO).expect("room in the line")
    }

    async fn is_called(line: &mut InLine) -> bool {
        tokio::task::yield_now().await;
        !line.called.is_empty()
    }

    #[tokio::test(start_paused = true)]
    async fn an_agent_that_has_enough_gets_no_more_until_something_ends() {
        let turnstiles = Arc::new(Turnstiles::new(64, 1_000, Duration::from_secs(5)));
        let first = wait(&turnstiles, Priority::Normal).await.expect("the first");
        let second = wait(&turnstiles, Priority::Normal).await.expect("the second");
        second.refused(Duration::from_secs(30));
        let mut third = in_line(&turnstiles, Priority::Normal);
        let mut fourth = in_line(&turnstiles, Priority::High);
        assert_eq!((third.depth, fourth.depth), (1, 2));
        assert!(!is_called(&mut third).await && !is_called(&mut fourth).await);
        drop(first);
        assert!(!is_called(&mut third).await && is_called(&mut fourth).await, "one for one");
        drop(fourth);
        assert!(is_called(&mut third).await, "whoever goes away lets the next one through");
        drop(third);
        assert_eq!(turnstiles.load(&agent()), Load::default());
    }

    #[tokio::test(start_paused = true)]
    async fn one_more_is_tried_after_a_while() {
        let turnstiles = Arc::new(Turnstiles::new(64, 1_000, Duration::from_secs(600)));
        let first = wait(&turnstiles, Priority::Normal).await.expect("the first");
        first.refused(Duration::from_secs(30));
        let begun = Instant::now();
        let one = tokio::spawn(in_line(&turnstiles, Priority::High).turn(Duration::from_secs(90)));
        let other = tokio::spawn(in_line(&turnstiles, Priority::Low).turn(Duration::from_secs(90)));
        let pass = one.await.expect("no panic").expect("its turn");
        assert_eq!(begun.elapsed(), Duration::from_secs(30));
        let other = other.await.expect("no panic").expect("its turn");
        assert_eq!(begun.elapsed(), Duration::from_secs(60));
        drop((pass, other));
    }

    #[tokio::test(start_paused = true)]
    async fn a_heartbeat_says_how_much_there_is_room_for() {
        let turnstiles = Arc::new(Turnstiles::new(64, 1_000, Duration::from_secs(5)));
        let most = Some(2);
        turnstiles.heard(&agent(), Reported { active: 2, most });
        let mut lines =
            [in_line(&turnstiles, Priority::Normal), in_line(&turnstiles, Priority::Low)];
        assert!(!is_called(&mut lines[0]).await, "it has enough");
        turnstiles.heard(&agent(), Reported { active: 1, most: None });
        assert!(!is_called(&mut lines[0]).await, "nobody knows how much it can do");
        turnstiles.heard(&agent(), Reported { active: 1, most });
        assert!(is_called(&mut lines[0]).await && !is_called(&mut lines[1]).await);
        turnstiles.heard(&agent(), Reported { active: 0, most: None });
        assert!(is_called(&mut lines[1]).await);
    }

    #[tokio::test(start_paused = true)]
    async fn an_agent_that_says_for_ever_that_it_has_enough_is_tried_all_the_same() {
        let turnstiles = Arc::new(Turnstiles::new(64, 1_000, Duration::from_secs(5)));
        let full = Reported { active: 1, most: Some(1) };
        turnstiles.heard(&agent(), full);
        let line = tokio::spawn(in_line(&turnstiles, Priority::Normal).turn(BELIEVED * 2));
        for _ in 0..3 {
            tokio::time::sleep(BELIEVED / 2).await;
            turnstiles.heard(&agent(), full);
        }
        assert!(line.await.expect("no panic").is_ok());
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
