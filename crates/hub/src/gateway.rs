//! Carries calls to agents, in whatever version and binding they speak.
//!
//! A call to an agent becomes a task of the hub: an entry in its own log under its own names,
//! worked on by the agent elsewhere. So every agent has what the engine gives to those at home:
//! streams that resume without loss, sends that run once, webhooks, a list, an end that can be
//! asked for, and all of it after a restart too.
//!
//! [`Gateway`] judges a call and hands it to the engine; `forward` is the engine's agent that
//! speaks for the one elsewhere; `lines` knows how each is reached.

mod alone;
mod answer;
mod budget;
pub(crate) mod capability;
pub(crate) mod card;
mod forward;
mod gist;
mod hosted;
mod limits;
mod lines;
mod note;
mod observe;
pub(crate) mod pull;
pub(crate) mod queue;
pub(crate) mod route;
pub(crate) mod runs;
pub(crate) mod trace;
mod translate;
pub(crate) mod tree;
mod turnstile;
mod way;
pub(crate) mod wire;

use std::{
    fmt,
    pin::Pin,
    sync::{Arc, OnceLock},
    time::Duration,
};

use arc_swap::ArcSwap;
use bytes::Bytes;
use futures_util::{StreamExt as _, stream};
use nuncio_auth::{
    pair::Minter,
    rules::{Asker, Question},
};
use nuncio_client::{Client, Options};
use nuncio_net::Guard;
use nuncio_protocol::{
    card::AgentCard,
    error::{Error, ErrorKind},
    ids::{AgentId, Organisation, TaskId},
    json::{Object, Shared},
    operation::{
        CancelTaskRequest, DeleteTaskPushNotificationConfigRequest, GetExtendedAgentCardRequest,
        GetTaskPushNotificationConfigRequest, GetTaskRequest,
        ListTaskPushNotificationConfigsRequest, ListTaskPushNotificationConfigsResponse,
        ListTasksRequest, ListTasksResponse, Operation, SendMessageRequest, SubscribeToTaskRequest,
    },
    push::TaskPushNotificationConfig,
    service::{A2aService, Answer, CallContext, Caller, Events},
    task::{SendMessageResponse, Task},
};
use nuncio_server::dialects::SKILL_ID;
use nuncio_tasks::{
    agent::{Agents, Asked, Employed, Wait},
    engine::{self, Call, Sent, Tasks},
    scope::{Name, Place, caller_name},
    store::Store,
};
use nuncio_workflow::runner::{Note as RunNote, Runner, Site, job::Toolbox};
use tokio::{
    sync::{broadcast, watch},
    task::JoinSet,
    time::Instant,
};

pub(crate) use self::answer::Word;
use self::{
    budget::Counters,
    card::Front,
    forward::{Forwarder, Patience},
    hosted::Hosted,
    lines::Lines,
    note::{Note, Wishes},
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

/// A stream, and whose it is.
struct Following {
    inner: Arc<Inner>,
    ctx: CallContext,
    changes: watch::Receiver<u64>,
    /// `None` once it was cut.
    events: Option<Events>,
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
        let organisation = Organisation::parse(place.tenant.as_str()).ok()?;
        let id = AgentId::parse(place.agent.as_str()).ok()?;
        let agent = self.lines.agent(&organisation, &id)?;
        if self.lines.is_workflow(&id) {
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
        let forwarder = Employed::new(Forwarder {
            lines: Arc::clone(&lines),
            turnstiles: Arc::clone(&turnstiles),
            counters: Arc::clone(&counters),
            desks: Arc::clone(&desks),
            wires: Arc::clone(&wires),
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
        let tasks = tasks.start_with(|tasks| runs.set_tasks(tasks));
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
}

impl Inner {
    /// Finds the agent that is called, and judges whether the caller may.
    fn judge(
        &self,
        ctx: &CallContext,
        operation: Option<Operation>,
        skills: &[Option<String>],
    ) -> Result<(Arc<Agent>, Call), Error> {
        let organisation = self.organisation(ctx)?;
        let Some(name) = &ctx.tenant else {
            let text = "name the agent as `tenant`";
            return Err(Error::new(ErrorKind::InvalidParams, text).with_violation("tenant", text));
        };
        let state = self.directory.state();
        let agent = state.find(&organisation, name.as_str()).ok_or_else(|| no_agent(name.as_str()));
        let agent = agent?;
        let caller_id = match &ctx.caller {
            Caller::Agent(id) => Some(AgentId::parse(id).map_err(|_| no_agent(name.as_str()))?),
            _ => None,
        };
        let asker = match (&ctx.caller, &caller_id) {
            (_, Some(id)) => Asker::Agent { id, organisation: &organisation },
            (Caller::User(name), _) => Asker::User { name, organisation: &organisation },
            // Whoever sits at an open hub has it for themselves.
            _ if self.settings.is_open => Asker::Administrator { organisation: &organisation },
            _ => {
                let text = "agents are called by those who prove who they are";
                return Err(Error::new(ErrorKind::Unauthenticated, text));
            }
        };
        let behalf_id = match &ctx.on_behalf_of {
            Some(Caller::Agent(id)) => AgentId::parse(id).ok(),
            _ => None,
        };
        let behalf = match (&ctx.on_behalf_of, &behalf_id) {
            (Some(Caller::User(name)), _) => {
                Some(Asker::User { name, organisation: &organisation })
            }
            (Some(Caller::Anonymous), _) if self.settings.is_open => {
                Some(Asker::Administrator { organisation: &organisation })
            }
            (_, Some(id)) => Some(Asker::Agent { id, organisation: &organisation }),
            _ => None,
        };
        let decide = |question: Question<'_>| {
            let decision = state.decider().decide(&**state, &question);
            match behalf.filter(|_| !decision.is_allowed()) {
                Some(caller) => {
                    let other = state.decider().decide(&**state, &Question { caller, ..question });
                    if other.is_allowed() { other } else { decision }
                }
                None => decision,
            }
        };
        for skill in skills {
            let question =
                Question { operation, skill: skill.as_deref(), ..Question::new(asker, &agent.id) };
            let decision = decide(question);
            if !decision.is_allowed() {
                // Who may not even know of the agent is told that there is none.
                let may_see = decide(Question::new(asker, &agent.id)).is_allowed();
                return Err(if may_see {
                    Error::new(ErrorKind::PermissionDenied, decision.to_string())
                } else {
                    no_agent(name.as_str())
                });
            }
        }
        let agent = Arc::clone(agent);
        let call = call(ctx, &organisation, &agent)?;
        Ok((agent, call))
    }

    /// Returns what an agent is called.
    fn called(&self, id: &str) -> String {
        let state = self.directory.state();
        let agent = AgentId::parse(id).ok().and_then(|id| state.agent(&id).cloned());
        agent.map_or_else(|| id.to_owned(), |agent| agent.name.as_str().to_owned())
    }

    fn organisation(&self, ctx: &CallContext) -> Result<Organisation, Error> {
        match &ctx.organisation {
            None => Ok(self.settings.organisation.clone()),
            Some(name) => Organisation::parse(name).map_err(|_| {
                Error::new(ErrorKind::PermissionDenied, "the credential names no organisation")
            }),
        }
    }

    /// Asks the agent for what its card says to those it knows.
    async fn extended_card(&self, agent: &Arc<Agent>, caller: &Caller) -> Result<AgentCard, Error> {
        let promises = agent
            .card
            .as_ref()
            .is_some_and(|card| card.card().capabilities.extended_agent_card == Some(true));
        if !promises {
            let text = "the agent has no extended card; its public one says all";
            return Err(Error::new(ErrorKind::UnsupportedOperation, text));
        }
        let line = self.lines.line(agent, caller).await?;
        let ctx = CallContext::new(caller.clone());
        let request = GetExtendedAgentCardRequest { tenant: None };
        let card = line.get_extended_card(ctx, request).await;
        let card = card.map_err(|error| forward::told(error, agent))?;
        // It names places that are nobody's business but ours.
        let shown = self.front.get().map(|front| front.extended(card, agent));
        shown.transpose().ok().flatten().ok_or_else(|| {
            Error::new(ErrorKind::Internal, "the extended card cannot be shown through the hub")
        })
    }

    /// Returns what to begin a task with: how the message was sent, and the agent's own name of
    /// the conversation, if it knows that already.
    async fn first_note(
        &self,
        agent: &Agent,
        place: &Place,
        ctx: &CallContext,
        (operation, request): (Operation, &SendMessageRequest),
    ) -> Result<Option<Bytes>, Error> {
        let SendMessageRequest { message, configuration, metadata, .. } = request;
        if message.task_id.is_some() {
            return Ok(None);
        }
        let modes = configuration.as_ref().map(|wishes| wishes.accepted_output_modes.clone());
        let waits = operation == Operation::SendMessage && !request.returns_immediately();
        let asked = Asked {
            wait: if waits { Wait::End } else { Wait::Events },
            context_is_given: message.context_id.is_some(),
            metadata: metadata.clone(),
            output_modes: modes.unwrap_or_default(),
            ..Asked::default()
        };
        let card = agent.card.as_ref();
        let streams = card.is_some_and(|card| card.card().capabilities.streaming == Some(true));
        let known = match &message.context_id {
            Some(context) => self.tasks.note_in(place, context).await?,
            None => None,
        };
        let note = Note {
            context: Note::read(known.as_ref()).context,
            wishes: Wishes::new(message, &asked, streams),
            behalf: ctx.on_behalf_of.as_ref().map(runs::name_of),
            ..Note::default()
        };
        Ok((note != Note::default()).then(|| note.write()))
    }

    /// Cuts a stream when its reader may no longer see it.
    fn while_allowed(self: &Arc<Self>, ctx: CallContext, events: Events) -> Events {
        let (inner, changes) = (Arc::clone(self), self.directory.feed().changes());
        let following = Following { inner, ctx, changes, events: Some(events) };
        // Boxed, because it is handed back and forth with every event.
        Box::pin(stream::unfold(Box::new(following), |mut following| async move {
            let Following { inner, ctx, changes, events } = &mut *following;
            let reading = events.as_mut()?;
            let event = loop {
                tokio::select! {
                    biased;
                    event = reading.next() => break event?,
                    news = changes.changed() => news.ok()?,
                }
                if let Err(error) = inner.judge(ctx, None, &[None]) {
                    *events = None;
                    break Err(error);
                }
            };
            Some((event, following))
        }))
    }

    /// Counts a message for whoever pays for it. One that was sent before does nothing more, and
    /// costs nothing.
    async fn spend(
        &self,
        ctx: &CallContext,
        agent: &Agent,
        call: &Call,
        request: &SendMessageRequest,
    ) -> Result<(), Error> {
        let organisation = self.organisation(ctx)?;
        let state = self.directory.state().clone();
        let payers = self.counters.payers(&state, &organisation, &ctx.caller, agent);
        if payers.is_empty() || self.tasks.is_repeat(call, request).await? {
            return Ok(());
        }
        let spent = self.counters.spend(&**self.directory.store(), &payers).await;
        if spent.is_err() {
            self.metrics.rate_limited("budget");
        }
        spent
    }

    /// Judges a message, also by the skills that it names.
    async fn judge_send(
        &self,
        ctx: &CallContext,
        operation: Operation,
        request: &SendMessageRequest,
    ) -> Result<(Arc<Agent>, Call), Error> {
        let of_message = skill(request.message.metadata.as_ref())?;
        let of_request = skill(request.metadata.as_ref())?;
        let skills = match (of_message, of_request) {
            (Some(one), Some(other)) => vec![Some(one), Some(other)],
            (one, other) => vec![one.or(other)],
        };
        let (agent, mut call) = self.judge(ctx, Some(operation), &skills)?;
        self.spend(ctx, &agent, &call, request).await?;
        let limits = self.limits.load_full();
        let own = self.counters.tasks_of(&self.directory.state(), &ctx.caller);
        call.unfinished_tasks = Some(own.unwrap_or(limits.unfinished_tasks));
        call.new_task.clone_from(&ctx.new_task);
        call.note = if self.lines.is_workflow(&agent.id) {
            Some(runs::first_note(ctx, RunNote::default()))
        } else {
            self.first_note(&agent, &call.place, ctx, (operation, request)).await?
        };
        let called = |id: &str| self.called(id);
        let limit = (limits.depth, called);
        call.parent = tree::parent(&self.tasks, ctx, &call.place, limit).await?;
        Ok((agent, call))
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

fn call(ctx: &CallContext, organisation: &Organisation, agent: &Agent) -> Result<Call, Error> {
    let name = |text: &str| {
        Name::parse(text).map_err(|error| Error::new(ErrorKind::InvalidParams, error.to_string()))
    };
    let caller = caller_name(&ctx.caller)
        .map_err(|error| Error::new(ErrorKind::InvalidParams, error.to_string()))?;
    let place =
        Place { tenant: name(organisation.as_str())?, agent: name(agent.id.as_str())?, caller };
    let left = |deadline| Instant::from_std(deadline).saturating_duration_since(Instant::now());
    Ok(Call {
        key: ctx.idempotency_key.clone(),
        version: ctx.version,
        last_event: ctx.last_event,
        wait: ctx.deadline.map(left),
        asked: Asked {
            extensions: ctx.extensions.clone(),
            priority: ctx.priority,
            // A trace does not end at the hub, and may begin here.
            trace: ctx.trace.clone().or_else(|| Some(trace::root())),
            ..Asked::default()
        },
        ..Call::new(place)
    })
}

fn skill(metadata: Option<&Object>) -> Result<Option<String>, Error> {
    let Some(value) = metadata.and_then(|metadata| metadata.get(SKILL_ID)) else {
        return Ok(None);
    };
    let text = "must be the id of a skill";
    value.as_text().map(Some).ok_or_else(|| {
        Error::new(ErrorKind::InvalidParams, format!("metadata.{SKILL_ID} {text}"))
            .with_violation(format!("metadata.{SKILL_ID}"), text)
    })
}

fn no_agent(name: &str) -> Error {
    let text = format!("there is no agent `{name}` that you may call");
    Error::new(ErrorKind::InvalidParams, text.clone()).with_violation("tenant", text)
}

impl A2aService for Gateway {
    fn send_message(
        &self,
        ctx: CallContext,
        mut request: SendMessageRequest,
    ) -> Answer<'_, Shared<SendMessageResponse>> {
        Box::pin(async move {
            answer::unsign(&mut request.message);
            let (_, call) = self.0.judge_send(&ctx, Operation::SendMessage, &request).await?;
            Ok(match self.0.tasks.send(&call, request).await? {
                Sent::Task(task) => SendMessageResponse::of_task(&task),
                Sent::Message(message) => Shared::new(SendMessageResponse::Message(message)),
            })
        })
    }

    fn send_streaming_message(
        &self,
        ctx: CallContext,
        mut request: SendMessageRequest,
    ) -> Answer<'_, Events> {
        Box::pin(async move {
            answer::unsign(&mut request.message);
            let operation = Operation::SendStreamingMessage;
            let (_, call) = self.0.judge_send(&ctx, operation, &request).await?;
            let events = self.0.tasks.stream(&call, request).await?;
            Ok(self.0.while_allowed(ctx, events))
        })
    }

    fn get_task(&self, ctx: CallContext, request: GetTaskRequest) -> Answer<'_, Shared<Task>> {
        Box::pin(async move {
            let (_, call) = self.0.judge(&ctx, Some(Operation::GetTask), &[None])?;
            self.0.tasks.get(&call, request).await
        })
    }

    fn list_tasks(
        &self,
        ctx: CallContext,
        request: ListTasksRequest,
    ) -> Answer<'_, Shared<ListTasksResponse>> {
        Box::pin(async move {
            let (_, call) = self.0.judge(&ctx, Some(Operation::ListTasks), &[None])?;
            self.0.tasks.list(&call, request).await
        })
    }

    fn cancel_task(
        &self,
        ctx: CallContext,
        request: CancelTaskRequest,
    ) -> Answer<'_, Shared<Task>> {
        Box::pin(async move {
            let (_, call) = self.0.judge(&ctx, Some(Operation::CancelTask), &[None])?;
            tree::cancel(&self.0.tasks, &call, request).await
        })
    }

    fn subscribe_to_task(
        &self,
        ctx: CallContext,
        request: SubscribeToTaskRequest,
    ) -> Answer<'_, Events> {
        Box::pin(async move {
            let (_, call) = self.0.judge(&ctx, Some(Operation::SubscribeToTask), &[None])?;
            let events = self.0.tasks.subscribe(&call, request).await?;
            Ok(self.0.while_allowed(ctx, events))
        })
    }

    fn create_push_config(
        &self,
        ctx: CallContext,
        request: TaskPushNotificationConfig,
    ) -> Answer<'_, TaskPushNotificationConfig> {
        Box::pin(async move {
            let operation = Operation::CreateTaskPushNotificationConfig;
            let (_, call) = self.0.judge(&ctx, Some(operation), &[None])?;
            self.0.tasks.create_push_config(&call, request).await
        })
    }

    fn get_push_config(
        &self,
        ctx: CallContext,
        request: GetTaskPushNotificationConfigRequest,
    ) -> Answer<'_, TaskPushNotificationConfig> {
        Box::pin(async move {
            let operation = Operation::GetTaskPushNotificationConfig;
            let (_, call) = self.0.judge(&ctx, Some(operation), &[None])?;
            self.0.tasks.get_push_config(&call, request).await
        })
    }

    fn list_push_configs(
        &self,
        ctx: CallContext,
        request: ListTaskPushNotificationConfigsRequest,
    ) -> Answer<'_, ListTaskPushNotificationConfigsResponse> {
        Box::pin(async move {
            let operation = Operation::ListTaskPushNotificationConfigs;
            let (_, call) = self.0.judge(&ctx, Some(operation), &[None])?;
            self.0.tasks.list_push_configs(&call, request).await
        })
    }

    fn delete_push_config(
        &self,
        ctx: CallContext,
        request: DeleteTaskPushNotificationConfigRequest,
    ) -> Answer<'_, ()> {
        Box::pin(async move {
            let operation = Operation::DeleteTaskPushNotificationConfig;
            let (_, call) = self.0.judge(&ctx, Some(operation), &[None])?;
            self.0.tasks.delete_push_config(&call, request).await
        })
    }

    fn get_extended_card(
        &self,
        ctx: CallContext,
        _: GetExtendedAgentCardRequest,
    ) -> Answer<'_, AgentCard> {
        Box::pin(async move {
            let (agent, _) = self.0.judge(&ctx, Some(Operation::GetExtendedAgentCard), &[None])?;
            self.0.extended_card(&agent, &ctx.caller).await
        })
    }
}

impl fmt::Debug for Gateway {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Gateway").field("settings", &self.0.settings).finish_non_exhaustive()
    }
}
