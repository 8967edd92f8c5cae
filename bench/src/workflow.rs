//! What runs of workflows cost: a hub in this process, everything on disk, one agent of its own.
//!
//! A run is begun as callers begin it, and every node is a task of the hub like any other, with
//! its rules and its log. What is measured is therefore what people get, less the wire.
//!
//! Every run is judged before it counts: its state, what came of it, and how often the agent was
//! called.

use std::{
    fmt::Write as _,
    fs,
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicU64, AtomicUsize, Ordering},
    },
    time::Duration,
};

use anyhow::{Context as _, Result, ensure};
use nuncio_auth::{Gatekeeper, pair::Minter};
use nuncio_hub::{
    Directory,
    agent::{Delivery, Origin, Watch},
    directory::{Actor, NewAgent, Options},
    gateway::{self, Gateway},
    hub::{self, Parts},
};
use nuncio_net::{Guard, Policy};
use nuncio_protocol::{
    ids::{ArtifactId, Organisation, Tenant},
    message::Message,
    operation::SendMessageRequest,
    service::{CallContext, Caller},
    state::TaskState,
    task::{Artifact, SendMessageResponse, Task},
};
use nuncio_store::sqlite::{self, SqliteStore};
use nuncio_tasks::{
    agent::{Agent, Conduct, Employed, Failure, Turn},
    output::Output,
};
use nuncio_workflow::graph::Workflow;
use rustix::time::{ClockId, clock_gettime};
use tokio::time::{Instant, sleep};

/// What the runs are given, and what has to come of them.
const WORD: &str = "hello";

/// A hub, and the agent that its workflows ask.
#[derive(Debug)]
pub struct Stage {
    gateway: Gateway,
    directory: Directory,
    organisation: Organisation,
    worker: Worker,
}

/// What a run has cost.
#[derive(Clone, Copy, Debug)]
pub struct Ran {
    /// How often the agent was called.
    pub nodes: usize,
    /// How many calls it had at once, at most.
    pub at_once: usize,
    /// From the first word to the last.
    pub elapsed: Duration,
    /// For how long the agent was at work, all calls together.
    pub working: Duration,
    /// What this process has had of the processor.
    pub spent: Duration,
}

impl Stage {
    /// Opens a hub that keeps everything below a directory. Its agent says what it hears, after
    /// a while.
    pub async fn open(directory: &Path, takes: Duration) -> Result<Self> {
        let store = SqliteStore::open(&directory.join("data"), sqlite::Options::default())?;
        let store = Arc::new(store);
        let organisation = Organisation::parse("bench")?;
        let directory = Directory::open(store.clone(), Options::default()).await?;
        let gatekeeper = Gatekeeper::builder().api_keys(directory.clone()).build()?;
        let url = "http://127.0.0.1:1";
        let minter = Minter::generate(url)?;
        let settings = hub::Settings::new(organisation.clone(), url);
        let guard = Guard::new(Policy::default());
        let parts = Parts::new(directory.clone(), gatekeeper, guard, minter, settings);
        let settings = gateway::Settings::new(organisation.clone());
        let gateway = Gateway::start(parts.ground(), settings, store, |engine| engine);
        let mut new = NewAgent::new("worker".parse()?);
        new.delivery = Delivery::Gateway;
        new.watch = Watch::Hosted;
        let agent = directory.add(&organisation, new, Origin::Administrator, &Actor::hub()).await?;
        let worker = Worker { takes, counts: Arc::default() };
        gateway.host([(agent.id.clone(), Employed::new(worker.clone()))]);
        Ok(Self { gateway, directory, organisation, worker })
    }

    /// Runs a graph of so many nodes once, and checks what came of it.
    pub async fn run(&self, graph: Graph, nodes: usize) -> Result<Ran> {
        let name = graph.name();
        let source = graph.source(nodes);
        let workflow = Workflow::read(&source).context("a workflow")?;
        let saved = (source.as_str(), &workflow);
        self.directory
            .save_workflow(&self.organisation, &name.parse()?, saved, None, &Actor::hub())
            .await?;
        let mut ctx = CallContext::new(Caller::User("bench".into()));
        ctx.organisation = Some(self.organisation.as_str().into());
        ctx.tenant = Some(Tenant::parse(name)?);
        let request = SendMessageRequest {
            tenant: ctx.tenant.clone(),
            ..SendMessageRequest::new(Message::user(WORD))
        };
        self.worker.counts.clear();
        let service = self.gateway.service();
        let (begun, spent) = (Instant::now(), processor());
        let answer = service.send_message(ctx, request).await?;
        let (elapsed, spent) = (begun.elapsed(), processor().saturating_sub(spent));
        let SendMessageResponse::Task(task) = answer.value()? else {
            anyhow::bail!("a message in place of a run");
        };
        let counts = &self.worker.counts;
        let ran = Ran {
            nodes: counts.calls.load(Ordering::Relaxed),
            at_once: counts.most.load(Ordering::Relaxed),
            elapsed,
            working: Duration::from_nanos(counts.nanos.load(Ordering::Relaxed)),
            spent,
        };
        check(task, graph.results(nodes))?;
        ensure!(ran.nodes == nodes, "the agent was called {} times for {nodes} nodes", ran.nodes);
        Ok(ran)
    }

    /// Ends the hub.
    pub async fn close(self) {
        self.gateway.stop(Duration::from_secs(5)).await;
    }
}

fn check(task: &Task, results: usize) -> Result<()> {
    let word = task.status.message.as_ref().map(|message| message.text());
    ensure!(task.status.state == TaskState::Completed, "{:?}: {word:?}", task.status.state);
    ensure!(task.artifacts.len() == results, "{} results", task.artifacts.len());
    let is_right = task.artifacts.iter().all(|artifact| artifact.text() == WORD);
    ensure!(is_right, "a result is not what the run was given");
    Ok(())
}

/// How the nodes of a graph depend on each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Graph {
    /// Each on the one before.
    Chain,
    /// Each on the input alone.
    Fan,
}

impl Graph {
    const fn name(self) -> &'static str {
        match self {
            Self::Chain => "chain",
            Self::Fan => "fan",
        }
    }

    /// Returns how many results a run has.
    const fn results(self, nodes: usize) -> usize {
        match self {
            Self::Chain => 1,
            Self::Fan => nodes,
        }
    }

    /// Writes the workflow.
    fn source(self, nodes: usize) -> String {
        let mut text = format!("name: {}\nnodes:\n- {{id: word, type: input}}\n", self.name());
        for node in 0..nodes {
            writeln!(text, "- {{id: n{node}, type: external, config: {{agent: worker}}}}")
                .expect("a text takes text");
        }
        text.push_str("- {id: out, type: output, config: {gather: parents}}\nedges:\n");
        for node in 0..nodes {
            let before = match (self, node.checked_sub(1)) {
                (Self::Chain, Some(before)) => format!("n{before}"),
                _ => "word".to_owned(),
            };
            writeln!(text, "- {{from: {before}, to: n{node}}}").expect("a text takes text");
            if self == Self::Fan || node + 1 == nodes {
                writeln!(text, "- {{from: n{node}, to: out}}").expect("a text takes text");
            }
        }
        text
    }
}

/// Says what it hears, after a while.
#[derive(Clone, Debug)]
struct Worker {
    takes: Duration,
    counts: Arc<Counts>,
}

#[derive(Debug, Default)]
struct Counts {
    calls: AtomicUsize,
    now: AtomicUsize,
    most: AtomicUsize,
    nanos: AtomicU64,
}

impl Counts {
    fn clear(&self) {
        for count in [&self.calls, &self.now, &self.most] {
            count.store(0, Ordering::Relaxed);
        }
        self.nanos.store(0, Ordering::Relaxed);
    }
}

impl Agent for Worker {
    async fn run(&self, turn: Turn, output: Output) -> Result<(), Failure> {
        let Counts { calls, now, most, nanos } = &*self.counts;
        let begun = Instant::now();
        calls.fetch_add(1, Ordering::Relaxed);
        most.fetch_max(now.fetch_add(1, Ordering::Relaxed) + 1, Ordering::Relaxed);
        if !self.takes.is_zero() {
            sleep(self.takes).await;
        }
        now.fetch_sub(1, Ordering::Relaxed);
        let took = u64::try_from(begun.elapsed().as_nanos()).unwrap_or(u64::MAX);
        nanos.fetch_add(took, Ordering::Relaxed);
        output.artifact(Artifact::new(ArtifactId::generate(), turn.message.parts)).await?;
        Ok(())
    }

    fn conduct(&self) -> Conduct {
        // It changes nothing outside.
        Conduct { begins_early: true, ..Conduct::default() }
    }
}

/// What this process has had of the processor.
fn processor() -> Duration {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    let seconds = u64::try_from(time.tv_sec).unwrap_or_default();
    Duration::new(seconds, u32::try_from(time.tv_nsec).unwrap_or_default())
}

/// The most memory that this process ever had, in bytes.
pub fn most_memory() -> Result<u64> {
    let status = fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kib = line.and_then(|line| line.split_whitespace().next()).context("no VmHWM")?;
    Ok(kib.parse::<u64>()? * 1024)
}
