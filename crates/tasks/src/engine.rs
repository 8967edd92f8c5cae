//! The task engine: everything A2A says about tasks, over any store.
//!
//! A message comes in by [`Tasks::send`] or [`Tasks::stream`]; `run` runs the agent and writes
//! what it says; readers follow the log with cursors. `keeper` keeps leases, takes over what
//! others have left, and listens to hints.

mod accept;
mod bridge;
mod cancel;
mod go_on;
mod inspect;
mod keeper;
mod oversee;
mod read;
mod run;

use std::{
    collections::HashMap,
    fmt,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use bytes::Bytes;
use nuncio_protocol::{error::Error, ids::TaskId, version::Version};
use tokio::time::{Instant, sleep};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

pub use accept::Sent;
pub(crate) use bridge::invalid;
pub use bridge::reasons;
pub use inspect::{LogPage, Logged, Row, Rows};
pub use oversee::{Kin, NotePage, Overseen, Overview};

use crate::{
    agent::{Agent, Agents, AnyAgent, Asked},
    clock::Clock,
    hints::{Hints, NoHints},
    live::{self, AtHand, Live},
    log::Entry,
    output::{Limits, Outbox, RefusalCounts, Refusals},
    push::{self, Push},
    scope::{Name, Place},
    store::{self, Head, Lease, RefMap, Retention, Store, Tenure},
};

/// A call of one caller to one agent.
#[derive(Clone, Debug)]
pub struct Call {
    /// Who calls whom.
    pub place: Place,
    /// The caller's idempotency key.
    pub key: Option<String>,
    /// The version of A2A the caller speaks.
    pub version: Version,
    /// The last event a returning reader has seen.
    pub last_event: Option<u64>,
    /// The identifier of the task that a message to no task begins, or goes on with if it is
    /// there. Without, the task gets one of its own.
    pub new_task: Option<TaskId>,
    /// How long the caller waits, if it says so; the engine may let it wait for less.
    pub wait: Option<Duration>,
    /// What the agent is told about how a message was sent; what the request itself says of
    /// that is added to it.
    pub asked: Asked,
    /// The task of the same tenant because of which a new one is opened.
    pub parent: Option<TaskId>,
    /// The [note](crate::output::Output::note) that a new task begins with.
    pub note: Option<Bytes>,
    /// How many unfinished tasks the caller may have, if it is not what the engine lets all.
    pub unfinished_tasks: Option<u32>,
}

impl Call {
    /// Calls without any wishes.
    pub fn new(place: Place) -> Self {
        Self {
            place,
            key: None,
            version: Version::V1_0,
            last_event: None,
            new_task: None,
            wait: None,
            asked: Asked::default(),
            parent: None,
            note: None,
            unfinished_tasks: None,
        }
    }
}

/// When a change that could not be shown is looked for again.
const SHOW_AGAIN: Duration = Duration::from_millis(500);

/// How the engine behaves.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Settings {
    /// How much one task may say.
    pub limits: Limits,
    /// How many unfinished tasks a caller may have.
    pub unfinished_tasks: u32,
    /// How many webhooks a task may have.
    pub webhooks: u32,
    /// How long a caller waits for an answer that does not say how long; afterwards it gets the
    /// live task.
    pub wait: Duration,
    /// How long a caller waits at most, whatever it says.
    pub longest_wait: Duration,
    /// How long a cancel waits for the work to end.
    pub cancel_wait: Duration,
    /// How long a stream waits at most for the first word of an agent that
    /// [speaks first](crate::agent::Conduct::speaks_first); it begins with the task then.
    pub first_word: Duration,
    /// How long a lease lasts.
    pub lease: Duration,
    /// When tasks of agents that nobody serves are failed.
    pub orphaned_after: Duration,
    /// How often work that begins anew may be lost to crashes before it is given up.
    pub attempts: u32,
    /// The same for work that goes on where it stood.
    pub resumptions: u32,
    /// What is kept for how long.
    pub retention: Retention,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            limits: Limits::default(),
            unfinished_tasks: 1_000,
            webhooks: 10,
            wait: Duration::from_secs(120),
            longest_wait: Duration::from_secs(30 * 60),
            cancel_wait: Duration::from_secs(5),
            first_word: Duration::from_secs(10),
            lease: store::LEASE,
            orphaned_after: Duration::from_secs(60),
            attempts: 3,
            resumptions: 1_000,
            retention: Retention::default(),
        }
    }
}

/// The task engine. Cheap to clone; all clones are the same engine.
#[derive(Clone, Debug)]
pub struct Tasks(Arc<Engine>);

pub(crate) struct Engine {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) clock: Clock,
    pub(crate) settings: Settings,
    pub(crate) push: Option<Push>,
    hints: Arc<dyn Hints>,
    /// This process, by a name that no other has or had.
    owner: Name,
    /// By names that no caller chooses: a hash that is only fast will do.
    agents: HashMap<Name, Arc<dyn AnyAgent>, foldhash::fast::RandomState>,
    /// Finds all agents that are not among those.
    others: Option<Arc<dyn Agents>>,
    refusals: Arc<Refusals>,
    at_hand: Arc<AtHand>,
    held: Mutex<RefMap<Held>>,
    /// Ends everything that begins something new.
    stop: CancellationToken,
    /// Ends the rest, which running work needs.
    finish: CancellationToken,
    /// The work on tasks.
    work: TaskTracker,
    /// Everything else.
    background: TaskTracker,
}

/// A lease that this process holds.
#[derive(Debug)]
struct Held {
    tenure: Tenure,
    /// When it is over by our own clock.
    until: Instant,
    /// The work, once it has begun.
    work: Option<Arc<Outbox>>,
}

impl Held {
    /// Tells whether the work has asked its caller something.
    fn waits(&self) -> bool {
        self.work.as_ref().is_some_and(|work| work.state().is_interrupted())
    }

    /// Ends the work: the lease is lost.
    fn lose(&self) {
        if let Some(work) = &self.work {
            work.lost.raise();
        }
    }
}

/// Puts an engine together.
#[derive(Debug)]
#[must_use]
pub struct Builder {
    engine: Engine,
}

impl Builder {
    /// Runs an agent under a name.
    pub fn agent(mut self, name: Name, agent: impl Agent) -> Self {
        self.engine.agents.insert(name, Arc::new(agent));
        self
    }

    /// Runs all agents that these find, beside those that have been given by name. Tasks of
    /// agents that nobody finds are failed.
    pub fn agents(mut self, agents: Arc<dyn Agents>) -> Self {
        self.engine.others = Some(agents);
        self
    }

    /// Listens to and gives hints.
    pub fn hints(mut self, hints: Arc<dyn Hints>) -> Self {
        self.engine.hints = hints;
        self
    }

    /// Uses a clock of one's own.
    pub fn clock(mut self, clock: Clock) -> Self {
        self.engine.clock = clock;
        self
    }

    /// Changes how the engine behaves.
    pub fn settings(mut self, settings: Settings) -> Self {
        self.engine.settings = settings;
        self
    }

    /// Sends webhooks. Without this, callers cannot register any.
    pub fn push(mut self, push: Push) -> Self {
        self.engine.push = Some(push);
        self
    }

    /// Starts the engine, and takes over what other processes have left.
    pub fn start(self) -> Tasks {
        self.start_with(|_| ())
    }

    /// The same, for agents that need the engine themselves: they are given it before any of them
    /// has anything to do.
    pub fn start_with(self, give: impl FnOnce(&Tasks)) -> Tasks {
        let tasks = Tasks(Arc::new(self.engine));
        give(&tasks);
        keeper::start(&tasks.0);
        tasks.0.start_sender();
        tasks
    }
}

impl Tasks {
    /// Puts an engine together over a store.
    pub fn builder(store: Arc<dyn Store>) -> Builder {
        let owner = Name::generate();
        Builder {
            engine: Engine {
                store,
                clock: Clock::default(),
                settings: Settings::default(),
                push: None,
                hints: Arc::new(NoHints),
                owner,
                agents: HashMap::default(),
                others: None,
                refusals: Arc::default(),
                at_hand: Arc::default(),
                held: Mutex::default(),
                stop: CancellationToken::new(),
                finish: CancellationToken::new(),
                work: TaskTracker::new(),
                background: TaskTracker::new(),
            },
        }
    }

    pub(crate) fn engine(&self) -> &Arc<Engine> {
        &self.0
    }

    /// Returns how often agents said what they may not.
    pub fn refusals(&self) -> RefusalCounts {
        self.0.refusals.counts()
    }

    /// Tells whether it was told to stop: nothing new begins any more.
    pub fn is_stopping(&self) -> bool {
        self.0.stop.is_cancelled()
    }

    /// Stops: running work gets `grace` to end, then its leases are given back, so that another
    /// process goes on with it at once.
    pub async fn stop(&self, grace: Duration) {
        self.stop_after(sleep(grace)).await;
    }

    /// Stops: running work may go on until `patience` is over, and is given back then.
    pub async fn stop_after(&self, patience: impl Future<Output = ()> + Send) {
        self.0.drain(patience).await;
    }
}

impl Engine {
    pub(crate) fn lease(&self) -> Lease {
        Lease { owner: self.owner.clone(), lasts: self.settings.lease }
    }

    fn output_settings(&self) -> (Clock, Limits, Arc<Refusals>) {
        (self.clock.clone(), self.settings.limits, Arc::clone(&self.refusals))
    }

    fn agent(&self, place: &Place) -> Result<Arc<dyn AnyAgent>, Error> {
        self.find_agent(place).ok_or_else(|| bridge::no_agent(&place.agent))
    }

    fn find_agent(&self, place: &Place) -> Option<Arc<dyn AnyAgent>> {
        if let Some(agent) = self.agents.get(&place.agent) {
            return Some(Arc::clone(agent));
        }
        Some(self.others.as_ref()?.find(place)?.0)
    }

    /// Sends webhooks in the background, if anybody is to.
    fn start_sender(&self) {
        if let Some(push) = &self.push {
            let (store, clock) = (Arc::clone(&self.store), self.clock.clone());
            let sender = push::Sender::new(store, push.clone(), clock, self.owner.clone());
            self.background.spawn(sender.run(self.stop.clone()));
        }
    }

    /// Returns the task among those at hand, which then knows at least as much as `head`.
    async fn at_hand(&self, head: &Head) -> Result<Arc<Live>, store::Error> {
        let (live, is_new) = self.at_hand.take(head, &[]);
        // What was written after `head` was read was shown to those who were there then.
        if is_new || live.reached().seq < head.seq {
            live::fill(&*self.store, &live).await?;
        }
        Ok(live)
    }

    /// Shows a committed change to everybody: readers here at once, others by a hint.
    async fn show(&self, live: &Arc<Live>, entries: &[Entry], head: &Head) {
        if live.publish(entries, head.state).is_err()
            && let Err(error) = live::fill(&*self.store, live).await
        {
            // It is written, and shown as soon as it can be read.
            tracing::warn!(%error, "a change could not be shown yet");
            let (store, live) = (Arc::clone(&self.store), Arc::clone(live));
            let shown = async move {
                while let Err(error) = live::fill(&*store, &live).await {
                    if !error.is_temporary() {
                        break;
                    }
                    sleep(SHOW_AGAIN).await;
                }
            };
            self.background.spawn(self.finish.clone().run_until_cancelled_owned(shown));
        }
        self.tell_others(head);
    }

    fn lock_held(&self) -> MutexGuard<'_, RefMap<Held>> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Engine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Engine").field("owner", &self.owner).finish_non_exhaustive()
    }
}
