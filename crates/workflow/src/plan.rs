//! A run as a state machine: what has happened goes in, what is to be done comes out.
//!
//! A [`Plan`] does nothing itself. Whoever executes the run keeps a log of [`Event`]s and goes
//! round:
//!
//! 1. [`apply`](Plan::apply) what has happened, then [`decided`](Plan::decided): what follows from
//!    it by itself, such as nodes that are skipped. Both go into the log, in one append.
//! 2. [`steps`](Plan::steps): what is to be started or canceled. A start is written to the log as
//!    [`Event::Started`] before anything is sent.
//! 3. [`outcome`](Plan::outcome): whether it is over, and how.
//!
//! ```
//! use std::sync::Arc;
//!
//! use nuncio_protocol::{message::Part, state::TaskState};
//! use nuncio_workflow::{
//!     graph::Workflow,
//!     plan::{Event, Plan, Step},
//! };
//!
//! let workflow = Workflow::read(
//!     "{name: w, nodes: [{id: who, type: input},
//!       {id: hello, type: agent, config: {prompt: 'Greet {{who}}'}}, {id: out, type: output}],
//!       edges: [{from: who, to: hello}, {from: hello, to: out}]}",
//! )?;
//! let inputs = [("who".to_owned(), vec![Part::text("Ada")])].into();
//! let mut plan = Plan::new(Arc::new(workflow), inputs)?;
//! let Some(Step::Start { call, .. }) = plan.steps().next() else { panic!("something to do") };
//! assert_eq!(plan.message(&call)?[0].as_text(), Some("Greet Ada"));
//! plan.apply(Event::Started { call: call.clone() })?;
//! plan.apply(Event::Finished { call, artifacts: Vec::new() })?;
//! assert_eq!(plan.outcome().map(|outcome| outcome.state), Some(TaskState::Completed));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Invariant: a plan is a function of its workflow, its inputs and the events that were applied.
//! What it decides follows from those and is never random, so that any beginning of a log leads to
//! the same next steps, in this process or in another.

mod decide;
mod edges;
mod event;
mod gather;
mod items;
mod rerun;
mod run;
mod scope;

use std::{
    collections::{BTreeMap, BTreeSet, VecDeque},
    sync::Arc,
    time::Duration,
};

use nuncio_protocol::{message::Part, state::TaskState, task::Artifact};

pub(crate) use self::gather::prompt;
pub use self::{
    event::{Call, Cause, Event, Question},
    run::Ending,
    scope::CallScope,
};
use self::{
    items::Items,
    run::{NodeRun, Unit},
};
use crate::{
    graph::{Kind, OnError, Workflow},
    problem::Invalid,
    template::{self, Limits, Output},
    validate,
};

/// The longest wait before another attempt, unless the file asks for more.
pub const MAX_BACKOFF: Duration = Duration::from_secs(300);

/// The wait before a second attempt, unless the file says so.
pub const DEFAULT_BACKOFF: Duration = Duration::from_secs(1);

/// A run of a workflow, and what is to be done next.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    workflow: Arc<Workflow>,
    /// By the number of the node.
    nodes: Vec<NodeRun>,
    /// By the number of the node: its place in the order of the workflow.
    positions: Vec<usize>,
    loops: Vec<LoopRun>,
    stop: Option<Stop>,
    limits: Limits,
    /// What was decided and is not yet in the log.
    decided: VecDeque<Event>,
    /// Nodes about which something may be decided, by their place in the order.
    open: BTreeSet<usize>,
    /// What is to be started, by place and item.
    ready: BTreeSet<(usize, Option<u32>)>,
    /// What is to be canceled.
    canceling: BTreeSet<(usize, Option<u32>)>,
    /// What waits for an answer.
    asking: BTreeSet<(usize, Option<u32>)>,
    running: usize,
    unended: usize,
}

/// Where a loop stands.
#[derive(Clone, Debug, PartialEq)]
struct LoopRun {
    /// How often its nodes have run, this time included.
    pass: u32,
    end: Option<LoopEnd>,
}

#[derive(Clone, Debug, PartialEq)]
enum LoopEnd {
    Over,
    /// Nobody can tell whether it goes on.
    Broken(String),
}

/// Why nothing more is begun.
#[derive(Clone, Debug, PartialEq)]
enum Stop {
    Asked(Cause),
    /// The failure of this node ends the run.
    Failed(usize),
}

/// Something to do.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Step {
    /// Begin with a call, after a while if it is another attempt.
    Start {
        /// Which one.
        call: Call,
        /// How long to wait first.
        delay: Duration,
    },
    /// Cancel a call that was begun.
    Cancel {
        /// Which one.
        call: Call,
    },
}

/// How a run has ended.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Outcome {
    /// Completed, failed or canceled.
    pub state: TaskState,
    /// Why it did not succeed.
    pub reason: Option<String>,
    /// What it has brought about: what its output nodes have gathered, or else what its last nodes
    /// have brought about. There may be some of it in any state.
    pub artifacts: Vec<Artifact>,
}

impl Plan {
    /// Begins a run. Refuses inputs that are missing or not known.
    pub fn new(
        workflow: Arc<Workflow>,
        mut inputs: BTreeMap<String, Vec<Part>>,
    ) -> Result<Self, Invalid> {
        validate::inputs(&workflow, inputs.keys().map(String::as_str))?;
        let topology = workflow.topology();
        let mut positions = vec![0; workflow.nodes().len()];
        for (position, node) in topology.order().iter().enumerate() {
            positions[*node] = position;
        }
        let nodes = workflow.nodes().iter().map(|node| {
            let output = match node.kind() {
                Kind::Input(input) => {
                    let given = inputs.remove(node.id().as_str());
                    Some(Output::new(vec![gather::input(node.id(), input, given)]))
                }
                _ => None,
            };
            NodeRun::new(output)
        });
        let nodes: Vec<NodeRun> = nodes.collect();
        let loops = vec![LoopRun { pass: 1, end: None }; topology.areas().len()];
        let mut plan = Self {
            unended: nodes.len(),
            open: (0..nodes.len()).collect(),
            nodes,
            positions,
            loops,
            stop: None,
            limits: Limits::default(),
            decided: VecDeque::new(),
            ready: BTreeSet::new(),
            canceling: BTreeSet::new(),
            asking: BTreeSet::new(),
            running: 0,
            workflow,
        };
        plan.decide();
        Ok(plan)
    }

    /// Begins a run, and goes on to where a log of it ends.
    pub fn replay(
        workflow: Arc<Workflow>,
        inputs: BTreeMap<String, Vec<Part>>,
        log: impl IntoIterator<Item = Event>,
    ) -> Result<Self, Error> {
        let mut plan = Self::new(workflow, inputs)?;
        log.into_iter().try_for_each(|event| plan.apply(event))?;
        Ok(plan)
    }

    /// Takes in what has happened, or what the log says was decided.
    pub fn apply(&mut self, event: Event) -> Result<(), Refused> {
        if let Some(index) = self.decided.iter().position(|decided| *decided == event) {
            self.decided.remove(index);
            return Ok(());
        }
        self.take(event)?;
        self.decide();
        Ok(())
    }

    /// Returns what was decided since this was asked last. It belongs in the log.
    pub fn decided(&mut self) -> Vec<Event> {
        self.decided.drain(..).collect()
    }

    /// Returns what is to be done now, in the order of the graph: what is to be canceled, then as
    /// many starts as the workflow allows at a time.
    pub fn steps(&self) -> impl Iterator<Item = Step> {
        let room = self.workflow.max_parallel().map_or(usize::MAX, |most| most as usize);
        let room = room.saturating_sub(self.running);
        let cancels = self.canceling.iter().map(|at| Step::Cancel { call: self.call(*at) });
        let starts = self.ready.iter().take(room).map(|at| Step::Start {
            call: self.call(*at),
            delay: self.unit(*at).map_or(Duration::ZERO, |unit| unit.delay),
        });
        cancels.chain(starts)
    }

    /// Returns what a call is to be told: its prompt, or else what the nodes before it have
    /// brought about, each part with its media type.
    pub fn message(&self, call: &Call) -> Result<Vec<Part>, template::Error> {
        gather::message(self, call)
    }

    /// Returns what the templates of a call refer to.
    pub fn scope<'a>(&'a self, call: &Call) -> CallScope<'a> {
        CallScope::new(self, call)
    }

    /// Returns what a call may put into a template at most.
    pub const fn limits(&self) -> Limits {
        self.limits
    }

    /// Returns the workflow that is run.
    pub const fn workflow(&self) -> &Arc<Workflow> {
        &self.workflow
    }

    /// Returns how a node has ended in its last pass; nothing if it has not.
    pub fn ending(&self, node: &str) -> Option<&Ending> {
        let number = self.workflow.topology().index(node)?;
        self.nodes[number].ending()
    }

    /// Returns what a node has brought about in the last pass in which it did.
    pub fn output(&self, node: &str) -> Option<&Output> {
        let number = self.workflow.topology().index(node)?;
        self.nodes[number].output.as_ref()
    }

    /// Returns the calls that wait for somebody's answer, and for what.
    pub fn questions(&self) -> Vec<(Call, Question)> {
        let asking = self.asking.iter();
        asking.filter_map(|at| Some((self.call(*at), self.unit(*at)?.question()?))).collect()
    }

    /// Returns where the run stands, as a task: it waits for input or a credential if any of its
    /// nodes does.
    pub fn state(&self) -> TaskState {
        if let Some((state, _)) = self.verdict() {
            return state;
        }
        let asks = |wanted| self.questions().iter().any(|(_, question)| *question == wanted);
        if asks(Question::Input) {
            TaskState::InputRequired
        } else if asks(Question::Credential) {
            TaskState::AuthRequired
        } else {
            TaskState::Working
        }
    }

    /// Returns how the run has ended; nothing while a node has not.
    pub fn outcome(&self) -> Option<Outcome> {
        let (state, reason) = self.verdict()?;
        Some(Outcome { state, reason, artifacts: gather::outcome(self) })
    }

    fn verdict(&self) -> Option<(TaskState, Option<String>)> {
        if self.unended > 0 {
            return None;
        }
        Some(match (&self.stop, self.failure()) {
            (Some(Stop::Asked(Cause::Canceled)), _) => (TaskState::Canceled, None),
            (Some(Stop::Asked(Cause::TimedOut)), _) => {
                (TaskState::Failed, Some("the run took too long".to_owned()))
            }
            (_, Some(reason)) => (TaskState::Failed, Some(reason)),
            _ => (TaskState::Completed, None),
        })
    }

    /// Returns the first failure that nothing handles.
    fn failure(&self) -> Option<String> {
        let topology = self.workflow.topology();
        let name = |node: usize| self.workflow.nodes()[node].id();
        let broken =
            self.loops.iter().zip(topology.areas()).find_map(|(run, area)| match &run.end {
                Some(LoopEnd::Broken(reason)) => {
                    Some(format!("the loop from `{}`: {reason}", name(area.tail)))
                }
                _ => None,
            });
        let first = match self.stop {
            Some(Stop::Failed(node)) => Some(node),
            _ => None,
        };
        let failed = first.into_iter().chain(topology.order().iter().copied()).find_map(|node| {
            match self.nodes[node].ending()? {
                Ending::Failed { reason, is_handled: false } if !self.is_ignored(node) => {
                    Some(format!("`{}`: {reason}", name(node)))
                }
                _ => None,
            }
        });
        failed.or(broken)
    }

    fn on_error(&self, node: usize) -> OnError {
        let settings = self.workflow.nodes()[node].settings();
        settings.on_error.unwrap_or_else(|| self.workflow.on_error())
    }

    fn is_ignored(&self, node: usize) -> bool {
        self.on_error(node) == OnError::Ignore
    }

    /// Returns the call of a unit.
    fn call(&self, (position, item): (usize, Option<u32>)) -> Call {
        let node = self.workflow.topology().order()[position];
        Call {
            node: self.workflow.nodes()[node].id().clone(),
            iteration: self.nodes[node].iteration,
            item,
            attempt: self.unit((position, item)).map_or(1, |unit| unit.attempt),
        }
    }

    fn unit(&self, (position, item): (usize, Option<u32>)) -> Option<&Unit> {
        let node = self.workflow.topology().order()[position];
        self.nodes[node].unit(item)
    }
}

/// Why a run cannot be continued from its log.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The inputs are not those of the workflow.
    #[error(transparent)]
    Inputs(#[from] Invalid),
    /// The log does not fit the workflow.
    #[error(transparent)]
    Refused(#[from] Refused),
    /// There is no such node to begin with.
    #[error("there is no node `{node}`")]
    UnknownNode {
        /// Its name.
        node: String,
    },
}

/// An event that cannot have happened.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{event} cannot happen: {why}")]
pub struct Refused {
    event: String,
    why: &'static str,
}

#[cfg(test)]
mod tests;
