//! Runs workflows: a run is a task of the engine, and so is every call that it makes.
//!
//! The log of the task is the log of the run. What its [`Plan`] decides is
//! written there before anything is sent, and every call has a name that follows from the run and
//! the call alone. So whoever goes on with a run after a crash finds what was asked for already,
//! and asks for nothing twice.
//!
//! [`Runner`] is the engine's agent; `drive` goes round between the plan and the world, `work`
//! accompanies one call, [`entry`] is what stands in the log, and [`job`] what nodes of ours do.

pub mod alone;
mod drive;
pub mod entry;
mod hearing;
pub mod inputs;
pub mod job;
mod names;
mod objection;
mod patience;
pub mod view;
mod work;

use std::{fmt, sync::Arc, time::Duration};

use nuncio_protocol::{
    error::{Error, ErrorKind},
    ids::TaskId,
    json::{self, FromJson, Object, Raw, Reader, ToJson, Writer},
    message::Message,
    service::{Answer, Events},
    state::TaskState,
};
use nuncio_tasks::{
    agent::{Agent, Conduct, Failure, Interrupted, Turn},
    engine::Tasks,
    output::Output,
    scope::{Place, Scope},
};
use tokio::sync::Semaphore;

use self::{drive::Drive, entry::Begun, job::Job};
pub use self::{names::task_of, objection::objection};
use crate::{
    graph::Workflow,
    plan::{self, Plan},
};

/// The member of a message's metadata that says which version of the workflow is to run.
pub const VERSION: &str = "urn:nuncio:workflow:version";

/// What runs need from where they are.
pub trait Site: Send + Sync + fmt::Debug + 'static {
    /// Returns the engine.
    fn tasks(&self) -> Tasks;

    /// Returns a workflow by the place of its runs: the newest version, unless one is named.
    fn workflow(&self, place: &Place, version: Option<u32>) -> Option<Source>;

    /// Gives work to somebody, unless it was given already, and follows it until it ends or asks
    /// for something.
    fn give(&self, run: &RunId, work: Work) -> Answer<'_, Given>;
}

/// Work that was given to somebody.
pub struct Given {
    /// What happens to it, from its beginning on.
    pub events: Events,
    /// Whether it is a run itself.
    pub is_run: bool,
}

impl fmt::Debug for Given {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Given").field("is_run", &self.is_run).finish_non_exhaustive()
    }
}

/// The text of a workflow.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Source {
    /// Which version it is.
    pub version: u32,
    /// The text.
    pub text: Arc<str>,
}

/// Which run it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunId {
    /// The task that it is.
    pub task: TaskId,
    /// Whose it is; its agent is the workflow.
    pub place: Place,
    /// For whom it runs; see [`Note::behalf`].
    pub behalf: Option<String>,
}

/// What somebody is to do for a run.
#[derive(Clone, Debug)]
pub struct Work {
    /// The task that it becomes.
    pub task: TaskId,
    /// Two with the same key are one.
    pub key: String,
    /// Who is to do it.
    pub to: Callee,
    /// What they are told.
    pub message: Message,
}

/// Who does the work of a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Callee {
    /// The agent, or workflow, of this name.
    Agent(String),
    /// The agent whose card is at this URL.
    Url(String),
    /// Any agent that can do this.
    Capability(String),
    /// We do: the node of this name, which is of this sort.
    Node(String, job::Sort),
}

/// How much runs may do.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Settings {
    /// How many calls a run may have at a time, unless its workflow says less.
    pub per_run: usize,
    /// How many calls all runs may have at a time.
    pub over_all: usize,
    /// How long a call may take to end once it was canceled.
    pub cancel: Duration,
    /// How often a node may ask in one attempt.
    pub questions: u32,
    /// How much one node may bring about, in bytes of JSON.
    pub node_output: usize,
    /// How much all nodes of a run may.
    pub run_output: usize,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            per_run: 64,
            over_all: 1_000,
            cancel: Duration::from_secs(30),
            questions: 100,
            node_output: 12 << 20,
            run_output: 192 << 20,
        }
    }
}

/// What a run begins with, beside its message.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Note {
    /// Which version of the workflow; the newest unless set.
    pub version: Option<u32>,
    /// The run that this one repeats.
    pub rerun_of: Option<TaskId>,
    /// The nodes that run again although they have succeeded.
    pub from: Vec<String>,
    /// Whether the newest version runs, and not that of the run before.
    pub newest: bool,
    /// For whom it runs, by a name that the site understands.
    pub behalf: Option<String>,
}

impl Note {
    /// Returns the note of a run; one that cannot be read says nothing.
    fn of(turn: &Turn) -> Self {
        let note = turn.note.as_ref().and_then(|note| json::from_slice(note).ok());
        note.unwrap_or_default()
    }
}

impl ToJson for Note {
    fn write(&self, writer: &mut Writer) {
        writer.object(|object| {
            if let Some(version) = self.version {
                object.with("version", |writer| writer.int(version.into()));
            }
            object.optional("rerunOf", self.rerun_of.as_ref());
            object.list("from", &self.from);
            object.member("newest", &self.newest);
            object.optional("behalf", self.behalf.as_ref());
        });
    }
}

impl FromJson for Note {
    fn read(reader: &mut Reader<'_>) -> Result<Self, json::Error> {
        let mut note = Self::default();
        reader.members(|reader, key| {
            match &*key {
                "version" => note.version = u32::try_from(reader.int32()?).ok(),
                "rerunOf" => note.rerun_of = Some(FromJson::read(reader)?),
                "from" => note.from = FromJson::read(reader)?,
                "newest" => note.newest = reader.bool()?,
                "behalf" => note.behalf = Some(FromJson::read(reader)?),
                _ => reader.skip()?,
            }
            Ok(())
        })?;
        Ok(note)
    }
}

/// Runs workflows, as an agent of the engine.
#[derive(Clone, Debug)]
pub struct Runner {
    site: Arc<dyn Site>,
    settings: Settings,
    room: Arc<Semaphore>,
}

impl Runner {
    /// Runs the workflows of a site.
    pub fn new(site: Arc<dyn Site>, settings: Settings) -> Self {
        let room = Arc::new(Semaphore::new(settings.over_all));
        Self { site, settings, room }
    }

    /// Decides what is to run, and with what.
    async fn begin(&self, turn: &Turn) -> Result<(Begun, Plan, Vec<plan::Event>), Error> {
        let invalid = |text: String| Error::new(ErrorKind::InvalidParams, text);
        let note = Note::of(turn);
        let before = match &note.rerun_of {
            Some(run) => Some(self.read_run(&turn.place, run).await?),
            None => None,
        };
        let wanted = note.version.or_else(|| wanted_version(&turn.message));
        let source = match &before {
            Some((begun, _)) if !note.newest => {
                Source { version: begun.version, text: begun.source.clone() }
            }
            _ => self.site.workflow(&turn.place, wanted).ok_or_else(|| {
                invalid(match wanted {
                    Some(version) => format!("the workflow has no version {version}"),
                    None => "there is no such workflow any more".to_owned(),
                })
            })?,
        };
        let workflow = Workflow::read(&source.text);
        let workflow = workflow.map_err(|problems| {
            invalid(format!("version {} cannot run: {problems}", source.version))
        })?;
        let given = inputs::read(&workflow, &turn.message)?;
        let inputs = match &before {
            Some((begun, _)) if given.is_empty() => begun.inputs.clone(),
            _ => given,
        };
        let begun = Begun {
            workflow: workflow.name().to_owned(),
            version: source.version,
            source: source.text,
            inputs: inputs.clone(),
            rerun_of: note.rerun_of.clone(),
        };
        let refused = |error: &dyn fmt::Display| invalid(error.to_string());
        let workflow = Arc::new(workflow);
        match before {
            None => {
                let mut plan = Plan::new(workflow, inputs).map_err(|error| refused(&error))?;
                let decided = plan.decided();
                Ok((begun, plan, decided))
            }
            Some((_, log)) => {
                let from: Vec<&str> = note.from.iter().map(String::as_str).collect();
                let rerun = Plan::rerun(workflow, inputs, log, &from);
                let (plan, kept) = rerun.map_err(|error| refused(&error))?;
                Ok((begun, plan, kept))
            }
        }
    }

    /// Reads what happened in an earlier run of the same workflow.
    async fn read_run(
        &self,
        place: &Place,
        run: &TaskId,
    ) -> Result<(Begun, Vec<plan::Event>), Error> {
        let mut scope = Scope::tenant(place.tenant.clone());
        scope.agent = Some(place.agent.clone());
        let tasks = self.site.tasks();
        let log = patience::until_there(|| entry::read_log(&tasks, &scope, run)).await?;
        let begun = log.begun.ok_or_else(|| Error::task_not_found(run))?;
        Ok((begun, log.happened.into_iter().map(|happened| happened.event).collect()))
    }
}

fn wanted_version(message: &Message) -> Option<u32> {
    message.metadata.as_ref()?.get(VERSION)?.parse().ok()
}

impl Agent for Runner {
    async fn run(&self, turn: Turn, output: Output) -> Result<(), Failure> {
        let run = RunId {
            task: turn.task.id.clone(),
            place: turn.place.clone(),
            behalf: Note::of(&turn).behalf,
        };
        // Whatever limits the run is in its log. Until that can be read, the engine ends the turn
        // when it is canceled for long enough, or its lease is lost.
        let (tasks, scope) = (self.site.tasks(), Scope::from(&run.place));
        let log = patience::until_there(|| entry::read_log(&tasks, &scope, &run.task)).await;
        let log = log.map_err(|error| Failure::new(error.to_string()))?;
        let drive = if log.begun.is_some() {
            Drive::go_on(self, &turn, output, run, log)?
        } else {
            match self.begin(&turn).await {
                Ok((begun, plan, decided)) => {
                    output.accept();
                    Drive::begin(self, &turn, output, run, begun, plan, decided).await?
                }
                Err(error) => {
                    output.refuse(error, TaskState::Rejected).await?;
                    return Ok(());
                }
            }
        };
        Box::pin(drive.run(&turn)).await
    }

    fn conduct(&self) -> Conduct {
        Conduct {
            interrupted: Interrupted::Resume,
            listens: true,
            hears_cancels: true,
            speaks_first: true,
            cancel_grace: self.settings.cancel + Duration::from_secs(10),
            ..Conduct::default()
        }
    }
}

/// Puts what a node of ours is to do into the message that tells it.
fn with_job(mut message: Message, job: &Job) -> Message {
    // Plain data becomes JSON.
    let job = Raw::from_value(job).unwrap_or_else(|_| Raw::bool(false));
    message.metadata = Some(Object::from_members([(job::JOB, job)]));
    message
}
