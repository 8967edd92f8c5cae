//! An engine with workflows and agents.

use std::{
    collections::{BTreeMap, HashMap},
    sync::{Arc, Mutex, OnceLock},
    time::Duration,
};

use futures_util::StreamExt as _;
use nuncio_protocol::{
    error::{Error, ErrorKind, reason},
    ids::TaskId,
    json::{Object, Raw},
    message::{Message, Part},
    operation::{CancelTaskRequest, GetTaskRequest, SendMessageRequest, SubscribeToTaskRequest},
    service::Answer,
    state::TaskState,
    task::{Artifact, Task},
};
use nuncio_tasks::{
    agent::{Agent, Agents, Conduct, Employed, Failure, Interrupted, Turn},
    engine::{Call, Sent, Tasks, reasons},
    output::{Chunk, Output},
    scope::{Name, Place, Scope},
};
use nuncio_workflow::runner::{
    Callee, Given, Note, RunId, Runner, Settings, Site, Source, Work,
    entry::read_log,
    objection,
    view::{RunView, Standing},
};
use tokio::sync::Notify;

use super::store::TestStore;

/// Who has been told what, in order.
pub(super) type Told = Arc<Mutex<Vec<(String, String)>>>;

/// What runs stand on.
#[derive(Clone, Debug)]
pub(super) struct Ground(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    tasks: OnceLock<Tasks>,
    workflows: Mutex<BTreeMap<String, String>>,
    told: Told,
    /// Lets agents called `gated` go on.
    gate: Arc<Notify>,
    failures: Mutex<HashMap<String, u32>>,
}

/// A site in a test.
#[derive(Clone)]
pub(super) struct TestSite {
    place: Ground,
    store: Arc<TestStore>,
    settings: Settings,
}

impl TestSite {
    /// Starts an engine that knows these workflows.
    pub(super) fn start(workflows: &[&str]) -> Self {
        Self::start_with(Settings::default(), workflows)
    }

    /// The same, with other limits.
    pub(super) fn start_with(settings: Settings, workflows: &[&str]) -> Self {
        Self::start_on(Arc::new(TestStore::default()), settings, workflows, Told::default())
    }

    fn start_on(store: Arc<TestStore>, settings: Settings, workflows: &[&str], told: Told) -> Self {
        let named = workflows.iter().map(|text| {
            let workflow = nuncio_workflow::graph::Workflow::read(text).expect("a workflow");
            (workflow.name().to_owned(), (*text).to_owned())
        });
        let place = Ground(Arc::new(Inner {
            tasks: OnceLock::new(),
            workflows: Mutex::new(named.collect()),
            told,
            gate: Arc::default(),
            failures: Mutex::default(),
        }));
        let site = Self { place, store: Arc::clone(&store), settings };
        let runner = Runner::new(Arc::new(site.clone()), settings);
        let roster = Roster { site: site.clone(), runner: Employed::new(runner) };
        Tasks::builder(store)
            .agents(Arc::new(roster))
            .start_with(|tasks| site.place.0.tasks.set(tasks.clone()).expect("once"));
        site
    }

    /// Stops this engine at once, and starts another on the same store.
    pub(super) async fn restart(self) -> Self {
        self.tasks().stop(Duration::ZERO).await;
        let workflows: Vec<String> = {
            let workflows = self.place.0.workflows.lock().expect("not poisoned");
            workflows.values().cloned().collect()
        };
        let texts: Vec<&str> = workflows.iter().map(String::as_str).collect();
        let told = Arc::clone(&self.place.0.told);
        Self::start_on(self.store, self.settings, &texts, told)
    }

    /// Returns what all is kept in.
    pub(super) fn store(&self) -> &TestStore {
        &self.store
    }

    /// Returns what agents were told, sorted.
    pub(super) fn told(&self) -> Vec<(String, String)> {
        let mut told = self.place.0.told.lock().expect("not poisoned").clone();
        told.sort();
        told
    }

    /// Lets one gated agent go on.
    pub(super) fn open_gate(&self) {
        self.place.0.gate.notify_one();
    }

    /// Replaces a workflow by a newer version.
    pub(super) fn replace(&self, name: &str, text: &str) {
        let mut workflows = self.place.0.workflows.lock().expect("not poisoned");
        workflows.insert(name.to_owned(), text.to_owned());
    }

    fn call(workflow: &str) -> Call {
        Call::new(place(&format!("workflow:{workflow}"), "user:ann"))
    }

    /// Runs a workflow to its end, or to a question.
    pub(super) async fn run(&self, workflow: &str, inputs: &[(&str, &str)]) -> Task {
        self.send(workflow, inputs, None).await.expect("a run")
    }

    /// The same, where it may be refused.
    pub(super) async fn send(
        &self,
        workflow: &str,
        inputs: &[(&str, &str)],
        note: Option<Note>,
    ) -> Result<Task, Error> {
        let inputs =
            inputs.iter().map(|(name, value)| (*name, Raw::parse_text(value).expect("JSON")));
        let inputs = Object::from_members(inputs).into_raw();
        let mut message = Message::user("");
        let data = Object::from_members([("inputs", inputs)]).into_raw();
        message.parts = vec![Part::data(data)];
        let note = note.map(|note| nuncio_protocol::json::to_string(&note).into());
        let call = Call { note, ..Self::call(workflow) };
        let sent = self.tasks().send(&call, SendMessageRequest::new(message)).await?;
        Ok(match sent {
            Sent::Task(task) => task.into_value().expect("a task"),
            Sent::Message(message) => panic!("a message: {}", message.text()),
        })
    }

    /// Begins a run, and does not wait for it.
    pub(super) async fn begin(&self, workflow: &str, inputs: &[(&str, &str)]) -> TaskId {
        let inputs =
            inputs.iter().map(|(name, value)| (*name, Raw::parse_text(value).expect("JSON")));
        let data = Object::from_members([("inputs", Object::from_members(inputs).into_raw())]);
        let mut message = Message::user("");
        message.parts = vec![Part::data(data.into_raw())];
        let request = SendMessageRequest::new(message);
        let mut events = self.tasks().stream(&Self::call(workflow), request).await.expect("a run");
        let first = events.next().await.expect("an event").expect("no error");
        match first.response.value().expect("readable") {
            nuncio_protocol::task::StreamResponse::Task(task) => task.id.clone(),
            other => panic!("not a task: {other:?}"),
        }
    }

    /// Says something to a run, and waits for its end or another question.
    pub(super) async fn say(&self, workflow: &str, run: &TaskId, message: Message) -> Task {
        let message = Message { task_id: Some(run.clone()), ..message };
        let request = SendMessageRequest::new(message);
        let sent = self.tasks().send(&Self::call(workflow), request).await.expect("heard");
        sent.into_task().expect("a task")
    }

    /// Looks what is wrong with an answer to a run, before it is given.
    pub(super) async fn objection(
        &self,
        workflow: &str,
        run: &TaskId,
        answer: &Message,
    ) -> Option<String> {
        let scope = Scope::from(&Self::call(workflow).place);
        objection(&self.tasks(), &scope, run, answer).await.expect("it is known")
    }

    /// Cancels a run.
    pub(super) async fn cancel(&self, workflow: &str, run: &TaskId) -> Task {
        let request = CancelTaskRequest { tenant: None, id: run.clone(), metadata: None };
        let task = self.tasks().cancel(&Self::call(workflow), request).await.expect("canceled");
        task.into_value().expect("a task")
    }

    /// Waits until a run has ended or satisfies something.
    pub(super) async fn until(
        &self,
        workflow: &str,
        run: &TaskId,
        holds: impl Fn(&RunView) -> bool,
    ) -> RunView {
        let call = Self::call(workflow);
        loop {
            let request = SubscribeToTaskRequest { tenant: None, id: run.clone() };
            let mut events = self.tasks().subscribe(&call, request).await.ok();
            let view = self.view(workflow, run).await;
            let Some(events) = &mut events else { return view };
            if holds(&view) {
                return view;
            }
            // The first is the task as it was.
            events.next().await;
            loop {
                let view = self.view(workflow, run).await;
                if holds(&view) {
                    return view;
                }
                if events.next().await.is_none() {
                    break;
                }
            }
        }
    }

    /// Returns the picture of a run.
    pub(super) async fn view(&self, workflow: &str, run: &TaskId) -> RunView {
        let place = Self::call(workflow).place;
        let log = read_log(&self.tasks(), &Scope::from(&place), run).await.expect("a log");
        let request = GetTaskRequest { tenant: None, id: run.clone(), history_length: None };
        let task = self.tasks().get(&Self::call(workflow), request).await.expect("a task");
        let task = task.into_value().expect("readable");
        let word = task.status.message.as_ref().map(|message| message.text()).unwrap_or_default();
        let standing = Standing { state: task.status.state, since: task.status.timestamp, word };
        RunView::new(run, &log, &standing)
    }
}

impl TestSite {
    /// Returns the state of a task that a run of a workflow has given to an agent.
    pub(super) async fn state_of(&self, agent: &str, workflow: &str, task: &TaskId) -> TaskState {
        let call = Call::new(place(agent, &format!("agent:workflow:{workflow}")));
        let request = GetTaskRequest { tenant: None, id: task.clone(), history_length: None };
        let task = self.tasks().get(&call, request).await.expect("a task");
        task.value().expect("readable").status.state
    }

    /// Waits until an agent was told something.
    pub(super) async fn until_told(&self, agent: &str) {
        while !self.told().iter().any(|(name, _)| name == agent) {
            tokio::task::yield_now().await;
        }
    }
}

/// Returns how the nodes of a run stand.
pub(super) fn states(view: &RunView) -> Vec<(&str, &str)> {
    view.nodes.iter().map(|node| (node.node.as_str(), node.state)).collect()
}

/// Returns the text of everything that came of a task.
pub(super) fn text(task: &Task) -> String {
    let texts: Vec<String> = task.artifacts.iter().map(Artifact::text).collect();
    texts.join("\n")
}

fn place(agent: &str, caller: &str) -> Place {
    let name = |text: &str| Name::parse(text).expect("a name");
    Place { tenant: name("default"), agent: name(agent), caller: name(caller) }
}

impl std::fmt::Debug for TestSite {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("TestSite")
    }
}

impl Site for TestSite {
    fn tasks(&self) -> Tasks {
        self.place.0.tasks.get().expect("started").clone()
    }

    fn workflow(&self, place: &Place, version: Option<u32>) -> Option<Source> {
        let name = place.agent.as_str().strip_prefix("workflow:")?;
        let workflows = self.place.0.workflows.lock().expect("not poisoned");
        let text = workflows.get(name)?;
        version
            .is_none_or(|version| version == 1)
            .then(|| Source { version: 1, text: text.as_str().into() })
    }

    fn give(&self, run: &RunId, work: Work) -> Answer<'_, Given> {
        let caller = format!("agent:{}", run.place.agent);
        let parent = Some(run.task.clone());
        Box::pin(async move {
            let agent = match &work.to {
                Callee::Agent(name)
                    if self.place.0.workflows.lock().expect("not poisoned").contains_key(name) =>
                {
                    format!("workflow:{name}")
                }
                Callee::Agent(name) if name == "nobody" => {
                    return Err(Error::new(ErrorKind::PermissionDenied, "you may not call nobody"));
                }
                Callee::Agent(name) if name == "absent" => {
                    let error = Error::new(ErrorKind::Unavailable, "nobody is there");
                    return Err(error.with_reason(reason::AGENT_UNAVAILABLE));
                }
                Callee::Agent(name) => name.clone(),
                other => panic!("nobody to call: {other:?}"),
            };
            let call = Call {
                key: Some(work.key),
                new_task: Some(work.task),
                parent,
                ..Call::new(place(&agent, &caller))
            };
            let events = self.tasks().stream(&call, SendMessageRequest::new(work.message)).await?;
            Ok(Given { events, is_run: agent.starts_with("workflow:") })
        })
    }
}

struct Roster {
    site: TestSite,
    runner: Employed,
}

impl Agents for Roster {
    fn find(&self, place: &Place) -> Option<Employed> {
        let name = place.agent.as_str();
        if name.starts_with("workflow:") {
            return Some(self.runner.clone());
        }
        Some(Employed::new(Scripted { site: self.site.clone(), name: name.to_owned() }))
    }
}

/// An agent that does what its name says.
struct Scripted {
    site: TestSite,
    name: String,
}

impl Agent for Scripted {
    async fn run(&self, turn: Turn, output: Output) -> Result<(), Failure> {
        let said = turn.message.text();
        let inner = &self.site.place.0;
        inner.told.lock().expect("not poisoned").push((self.name.clone(), said.clone()));
        let (kind, rest) = self.name.split_once('-').unwrap_or((&self.name, ""));
        match kind {
            "echo" => output.text(said).await?,
            "upper" => output.text(said.to_uppercase()).await?,
            "streams" => {
                let id = nuncio_protocol::ids::ArtifactId::generate();
                for (number, word) in said.split_inclusive(' ').enumerate() {
                    let piece = Artifact::new(id.clone(), vec![Part::text(word)]);
                    output.put(piece, Chunk { append: number > 0, last: false }).await?;
                }
            }
            // As one whose hub has missed something: two pieces at once, or all of it again.
            "grows" => {
                let id = nuncio_protocol::ids::ArtifactId::generate();
                let pieces: Vec<Part> = said.split_inclusive(' ').map(Part::text).collect();
                let (first, rest) = pieces.split_at(1);
                let (again, append) = if rest.len() > 1 { (rest, true) } else { (&*pieces, false) };
                for (parts, append) in [(first, false), (again, append)] {
                    let piece = Artifact::new(id.clone(), parts.to_vec());
                    output.put(piece, Chunk { append, last: false }).await?;
                }
            }
            "json" => {
                let data = Raw::parse_text(&said).map_err(|_| Failure::new("no JSON"))?;
                let part = Part::data(data).with_media_type("application/json");
                let id = nuncio_protocol::ids::ArtifactId::generate();
                output.artifact(Artifact::new(id, vec![part])).await?;
            }
            "fails" => return Err(Failure::new(format!("cannot do `{said}`"))),
            // Fails so many times, then succeeds.
            "flaky" => {
                let count = {
                    let mut failures = inner.failures.lock().expect("not poisoned");
                    let count = failures.entry(self.name.clone()).or_default();
                    *count += 1;
                    *count
                };
                if count <= rest.parse::<u32>().expect("a number") {
                    return Err(Failure::new("not this time"));
                }
                output.text(said).await?;
            }
            "gated" => {
                output.working("at the gate").await?;
                inner.gate.notified().await;
                output.text(said).await?;
            }
            "hangs" => std::future::pending::<()>().await,
            "silent" => {}
            "big" => output.text("x".repeat(13 << 20)).await?,
            // Says what it has to say, that it is done, and then all of that again.
            "twice" => {
                for word in ["once", "twice"] {
                    let id = nuncio_protocol::ids::ArtifactId::generate();
                    let words = format!("{said} {word}");
                    let piece = Artifact::new(id, vec![Part::text(words)]);
                    let done = output.artifact(piece).await.is_ok();
                    let ended = output.status(TaskState::Completed, None).await.is_ok();
                    assert_eq!(done && ended, word == "once", "nobody takes it twice");
                }
            }
            "asks" => {
                if turn.task.history.len() < 2 {
                    output.ask(format!("{said}?")).await?;
                } else {
                    output.text(format!("heard {said}")).await?;
                }
            }
            "nags" => output.ask("again?").await?,
            // As another hub does whose store is away.
            "forgets" => {
                let error = Error::new(ErrorKind::Unavailable, "mine is away");
                let error = error.with_reason(reasons::STORE_UNAVAILABLE);
                output.refuse(error, TaskState::Failed).await?;
            }
            _ => return Err(Failure::new(format!("nobody is called {}", self.name))),
        }
        Ok(())
    }

    fn conduct(&self) -> Conduct {
        let speaks_first = self.name == "forgets";
        Conduct { interrupted: Interrupted::Retry, speaks_first, ..Conduct::default() }
    }
}

/// Tells whether a task has completed.
#[track_caller]
pub(super) fn completed(task: &Task) {
    let word = task.status.message.as_ref().map(|message| message.text());
    assert_eq!(task.status.state, TaskState::Completed, "{word:?}");
}
