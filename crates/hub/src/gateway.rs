//! Carries calls to agents, in whatever version and binding they speak.
//!
//! A call to an agent becomes a task of the hub: an entry in its own log under its own names,
//! worked on by the agent elsewhere. So every agent has what the engine gives to those at home:
//! streams that resume without loss, sends that run once, webhooks, a list, an end that can be
//! asked for, and all of it after a restart too.
//!
//! `operations` judges a call (`judge`) and hands it to the engine; `forward` is the engine's agent that
//! speaks for the one elsewhere; `lines` knows how each is reached.

mod alone;
mod answer;
mod brief;
mod budget;
pub(crate) mod capability;
pub(crate) mod card;
mod forward;
mod gist;
mod hosted;
mod judge;
mod limits;
mod lines;
mod note;
mod observe;
mod operations;
pub(crate) mod pull;
pub(crate) mod queue;
mod references;
pub(crate) mod route;
pub(crate) mod runs;
mod take;
pub(crate) mod trace;
mod translate;
pub(crate) mod tree;
mod turnstile;
mod unnamed;
mod way;
pub(crate) mod wire;

use std::{
    fmt,
    pin::Pin,
    sync::{Arc, OnceLock},
    time::Duration,
};

use arc_swap::ArcSwap;
use nuncio_auth::{
    pair::Minter,
    rules::{Asker, Question},
};
use nuncio_client::{Client, Options};
use nuncio_net::Guard;
use nuncio_protocol::{
    error::Error,
    ids::{AgentId, Organisation, TaskId},
    service::{A2aService, Caller},
};
use nuncio_tasks::{
    agent::{Agents, Employed},
    engine::{self, Tasks},
    scope::Place,
    store::Store,
};
use nuncio_workflow::runner::{Runner, Site, job::Toolbox};
use tokio::{sync::broadcast, task::JoinSet};

pub(crate) use self::answer::Word;
use self::{
    budget::Counters,
    card::Front,
    forward::{Forwarder, Patience},
    hosted::Hosted,
    lines::Lines,
    pull::{Desk, Desks},
    route::{Candidate, Ranking},
    runs::Runs,
    turnstile::{Turnstiles, Width},
    wire::{Record, Wires},
};
pub use self::{
    budget::{Budget, Budgets, Named},
    hosted::{Employer, Fit, Unfit},
    limits::Limits,
    queue::Queueing,
    runs::caller_of,
};
use crate::{
    Directory, Metrics,
    agent::{Agent, Delivery, Match},
    directory::Passing,
    event,
};

/// How the gateway behaves.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Settings {
    /// To whom callers belong whose credential does not say.
    pub organisation: Organisation,
    /// Whether everybody on this machine is an administrator.
    pub is_open: bool,
    /// How much of everything there may be.
    pub limits: Limits,
    /// How long an agent may be out of reach while it has a task of ours.
    pub lost: Duration,
    /// The longest turn for a caller that is an agent itself (MD-30).
    pub ceiling: Duration,
    /// How long an agent may take to end what was cancelled.
    pub cancel: Duration,
    /// How long a message waits for an agent that fetches its work (MD-33).
    pub fetch: Duration,
    /// How long an agent may be silent before it is asked whether it is still there (MD-30).
    pub silence: Duration,
    /// How calls wait for busy agents, of callers who want them kept.
    pub queueing: Queueing,
    /// How much runs of workflows may do.
    pub runs: nuncio_workflow::runner::Settings,
    /// Whether agents that the hub runs itself are still to come ([`Gateway::host`]). Work that
    /// an earlier hub has left waits for them.
    pub awaits_hosted: bool,
    /// How agents are called, beside the clocks in `limits`.
    pub options: Options,
}

impl Settings {
    /// Carries calls within an organisation.
    pub fn new(organisation: Organisation) -> Self {
        Self {
            organisation,
            is_open: false,
            limits: Limits::default(),
            lost: Duration::from_secs(300),
            ceiling: Duration::from_secs(1_800),
            cancel: Duration::from_secs(30),
            fetch: Duration::from_secs(3_600),
            silence: Duration::from_secs(300),
            queueing: Queueing::default(),
            runs: nuncio_workflow::runner::Settings::default(),
            awaits_hosted: false,
            options: Options::default(),
        }
    }
}

/// What the gateway stands on.
#[derive(Debug)]
pub struct Ground {
    /// Which agents exist, and who may call whom.
    pub directory: Directory,
    /// The way to agents.
    pub client: Client,
    /// What may be reached at all.
    pub guard: Guard,
    /// Signs pair tokens.
    pub minter: Arc<Minter>,
    /// What happens, counted.
    pub metrics: Metrics,
}

/// Carries calls to agents. Cheap to clone.
#[derive(Clone)]
pub struct Gateway(Arc<Inner>);

struct Inner {
    directory: Directory,
    tasks: Tasks,
    lines: Arc<Lines>,
    hosted: Arc<Hosted>,
    runs: Arc<Runs>,
    turnstiles: Arc<Turnstiles>,
    desks: Arc<Desks>,
    wires: Arc<Wires>,
    metrics: Metrics,
    settings: Settings,
    limits: ArcSwap<Limits>,
    counters: Arc<Counters>,
    /// As what agents are shown, once that is known.
    front: OnceLock<Front>,
    /// Ends with us.
    _listening: JoinSet<()>,
}

/// How whoever works on a task is reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reach {
    /// The hub calls it.
    Called,
    /// It fetches its work.
    Fetches,
    /// The hub runs it itself.
    InProcess,
    /// It is a workflow, whose steps are tasks of their own.
    Workflow,
}

/// The agents of the directory, as the engine finds them.
struct Roster {
    lines: Arc<Lines>,
    hosted: Arc<Hosted>,
    runs: Arc<Runs>,
    runner: Employed,
    forwarder: Employed,
}

impl Agents for Roster {
    fn find(&self, place: &Place) -> Option<Employed> {
        if let Some(node) = runs::sort_of(place) {
            return self.runs.node(node);
        }
        let agent = self.lines.agent_at(place)?;
        if self.lines.is_workflow(&agent.id) {
            return Some(self.runner.clone());
        }
        let hosted = self.hosted.find(&agent, |id| self.lines.is_known(id));
        Some(hosted.unwrap_or_else(|| self.forwarder.clone()))
    }

    fn complete(&self) -> Pin<Box<dyn Future<Output = ()> + Send + '_>> {
        Box::pin(self.hosted.complete())
    }
}

impl Gateway {
    /// Starts to carry calls, and takes up those that an earlier hub has left. `engine` changes
    /// how tasks are kept, beyond where.
    pub fn start(
        ground: Ground,
        settings: Settings,
        store: Arc<dyn Store>,
        engine: impl FnOnce(engine::Builder) -> engine::Builder,
    ) -> Self {
        let Ground { directory, client, guard, minter, metrics } = ground;
        let options = settings.options.clone();
        let lines = Arc::new(Lines::new(directory.clone(), client, guard, minter, options));
        let Limits { in_flight, queue, queue_wait, .. } = settings.limits;
        let queueing = settings.queueing;
        let Settings { lost, ceiling, cancel, fetch, silence, .. } = settings;
        let turnstiles = Arc::new(Turnstiles::new(in_flight, queue, queue_wait));
        let mut listening = JoinSet::new();
        listening.spawn(listen(
            Arc::clone(&lines),
            Arc::clone(&turnstiles),
            directory.feed().passing(),
        ));
        let counters = Arc::new(Counters::default());
        let desks = Arc::new(Desks::default());
        let wires = Arc::new(Wires::default());
        listening.spawn(Arc::clone(&wires).sweep());
        let engaged = Arc::new(OnceLock::new());
        let forwarder = Employed::new(Forwarder {
            lines: Arc::clone(&lines),
            turnstiles: Arc::clone(&turnstiles),
            counters: Arc::clone(&counters),
            desks: Arc::clone(&desks),
            wires: Arc::clone(&wires),
            tasks: Arc::clone(&engaged),
            patience: Patience { lost, ceiling, cancel, fetch, silence },
            queueing,
            metrics: metrics.clone(),
        });
        let hosted = Arc::new(Hosted::new(settings.awaits_hosted));
        let runs = Arc::new(Runs::new(directory.clone()));
        let runner = Runner::new(Arc::clone(&runs) as Arc<dyn Site>, settings.runs);
        let roster = Roster {
            lines: Arc::clone(&lines),
            hosted: Arc::clone(&hosted),
            runs: Arc::clone(&runs),
            runner: Employed::new(runner),
            forwarder,
        };
        let tasks = engine(Tasks::builder(store).agents(Arc::new(roster)));
        let tasks = tasks.start_with(|tasks| {
            runs.set_tasks(tasks);
            // There is but one engine to a gateway.
            engaged.set(tasks.clone()).ok();
        });
        let gateway = Self(Arc::new(Inner {
            directory,
            tasks,
            lines,
            hosted,
            runs,
            turnstiles,
            desks,
            wires,
            metrics,
            limits: ArcSwap::from_pointee(settings.limits.clone()),
            counters,
            settings,
            front: OnceLock::new(),
            _listening: listening,
        }));
        gateway.0.runs.set_gateway(&gateway);
        gateway.limit(gateway.0.settings.limits.clone());
        gateway
    }

    /// Puts other limits in force, for whatever comes from now on.
    pub fn limit(&self, limits: Limits) {
        let Inner { counters, lines, turnstiles, .. } = &*self.0;
        counters.set(limits.budgets.clone());
        lines.set_clocks(limits.clocks);
        let Limits { in_flight, queue, queue_wait, .. } = limits;
        turnstiles.widen(Width { most: in_flight, queue, wait: queue_wait });
        self.0.limits.store(Arc::new(limits));
    }

    /// Carries out the jobs of nodes with this, in place of what it had so far.
    #[expect(clippy::needless_pass_by_value, reason = "it is given away")]
    pub fn equip(&self, toolbox: Arc<dyn Toolbox>) {
        self.0.runs.equip(&toolbox);
    }

    /// Lets go of what the jobs of nodes are carried out with, and of whom it has hired.
    pub fn put_down(&self) {
        self.0.runs.put_down();
        self.0.hosted.hire_with(None);
    }

    /// Makes agents with this that an administrator brings in over the management API, in place
    /// of what it had so far.
    pub fn hire_with(&self, employer: Arc<dyn Employer>) {
        self.0.hosted.hire_with(Some(employer));
    }

    /// Returns who makes agents that the hub runs.
    pub(crate) fn employer(&self) -> Option<Arc<dyn Employer>> {
        self.0.hosted.employer()
    }

    /// Shows agents to their callers like this.
    pub(crate) fn show_as(&self, front: Front) {
        // Only the first counts, and there is but one hub to a gateway.
        self.0.front.set(front).ok();
    }

    /// Returns the engine.
    pub fn tasks(&self) -> &Tasks {
        &self.0.tasks
    }

    /// Returns the gateway as callers meet it: it finds whom to call, and what they do is written
    /// down.
    pub fn service(&self) -> Arc<dyn A2aService> {
        Arc::new(capability::Routed::new(self.clone()))
    }

    /// Runs these agents itself, in place of those it has run so far.
    pub fn host(&self, agents: impl IntoIterator<Item = (AgentId, Employed)>) {
        self.0.hosted.tell(agents.into_iter().collect());
    }

    /// Proves to these agents that it is the hub who calls, in place of what was given so far.
    /// To others a pair token does, if they have registered themselves.
    pub fn prove_with(
        &self,
        proofs: impl IntoIterator<Item = (AgentId, Arc<dyn nuncio_client::Credentials>)>,
    ) {
        self.0.lines.prove_with(proofs.into_iter().collect());
    }

    /// Returns where the work of an agent lies that fetches it.
    pub(crate) fn desk(&self, agent: &AgentId) -> Arc<Desk> {
        self.0.desks.of(agent)
    }

    /// Returns what went over the wire between us and the agent for a task, if it was kept.
    pub(crate) fn wire(&self, place: &Place, task: &TaskId) -> Option<Arc<Record>> {
        self.0.wires.of(place, task)
    }

    /// Tells how whoever works on a task is reached.
    pub(crate) fn reach(&self, place: &Place) -> Reach {
        let organisation = Organisation::parse(place.tenant.as_str());
        let id = AgentId::parse(place.agent.as_str());
        let (Ok(organisation), Ok(id)) = (organisation, id) else { return Reach::InProcess };
        if self.0.lines.is_workflow(&id) {
            return Reach::Workflow;
        }
        match self.0.lines.agent(&organisation, &id) {
            Some(agent) if self.0.hosted.runs(&agent) => Reach::InProcess,
            Some(agent) if agent.delivery == Delivery::Pull => Reach::Fetches,
            _ => Reach::Called,
        }
    }

    /// Returns what proves to an agent that it is the hub who calls.
    pub(crate) fn credentials(
        &self,
        agent: &Agent,
    ) -> Result<Option<Arc<dyn nuncio_client::Credentials>>, Error> {
        self.0.lines.credentials(agent, &Caller::Anonymous)
    }

    /// Orders the agents that offer a capability and that somebody may know of.
    pub(crate) fn rank(&self, asker: Asker<'_>, capability: &str) -> Ranking {
        let Inner { directory, lines, turnstiles, .. } = &*self.0;
        let state = directory.state();
        let decide = |agent: &Agent, skill| {
            let question = Question { skill, ..Question::new(asker, &agent.id) };
            state.decider().decide(&**state, &question)
        };
        let offering = state.offering(asker.organisation(), capability);
        let candidates = offering.filter(|agent| decide(agent, None).is_allowed()).map(|agent| {
            let matched = agent.offers(capability).unwrap_or(Match::Tag);
            let decision = decide(agent, Some(capability));
            Candidate {
                agent: Arc::clone(agent),
                matched,
                load: turnstiles.load(&agent.id),
                reported: lines.reported(&agent.id),
                rest: lines.rest(agent),
                denied: (!decision.is_allowed()).then(|| decision.to_string()),
            }
        });
        route::rank(candidates)
    }

    /// Stops: work gets `grace` to end, the rest is left for the next hub.
    pub async fn stop(&self, grace: Duration) {
        self.0.tasks.stop(grace).await;
    }

    /// Stops: work may go on until `patience` is over, the rest is left for the next hub.
    pub async fn stop_after(&self, patience: impl Future<Output = ()> + Send) {
        self.0.tasks.stop_after(patience).await;
    }
}

/// Hears from agents how much they have to do. Never returns while there are any.
async fn listen(
    lines: Arc<Lines>,
    turnstiles: Arc<Turnstiles>,
    mut passing: broadcast::Receiver<Arc<Passing>>,
) {
    loop {
        match passing.recv().await {
            Ok(passing) if passing.name == event::Name::Heartbeat.as_str() => {
                if let Some(reported) = lines.reported(&passing.agent) {
                    turnstiles.heard(&passing.agent, reported);
                }
            }
            // What was missed is said again with the next beat.
            Ok(_) | Err(broadcast::error::RecvError::Lagged(_)) => {}
            Err(broadcast::error::RecvError::Closed) => return,
        }
    }
}

impl fmt::Debug for Gateway {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Gateway").field("settings", &self.0.settings).finish_non_exhaustive()
    }
}
