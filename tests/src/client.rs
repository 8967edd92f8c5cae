//! A node as a child of the test: asked many things at once, killed, stopped, started again.

use std::{
    collections::HashMap,
    path::PathBuf,
    process::ExitStatus,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use nuncio_testkit::{faults::Environment, process::Process};
use tokio::{
    sync::{mpsc, oneshot, watch},
    time::{Instant, timeout},
};

use crate::{
    node::Options,
    wire::{
        Ask, DeadLetterView, EventView, Line, LogView, Order, READY, Refusal, RefusalsView, Reply,
        Request, TaskName, TaskView, Watched,
    },
};

/// How long anything may take before the test fails instead of hanging.
const PATIENCE: Duration = Duration::from_secs(100);

/// A node in a process of its own, which dies with this.
#[derive(Clone, Debug)]
pub struct Node {
    commands: mpsc::UnboundedSender<Command>,
    next: Arc<AtomicU64>,
    ended: watch::Receiver<Option<ExitStatus>>,
    /// From the start of the process until it could be asked.
    ready_after: Duration,
}

/// Why there is no answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Failed {
    /// The node said no.
    Refused(Refusal),
    /// The node has died, and nobody knows what it has done.
    Gone,
}

enum Command {
    Ask(Request, mpsc::UnboundedSender<Reply>),
    Signal(Signal),
    Errors(oneshot::Sender<String>),
}

enum Signal {
    Kill,
    Stop,
    Resume,
}

impl Node {
    /// Starts a node and waits until it can be asked.
    ///
    /// # Panics
    /// If it does not start.
    pub async fn start(options: &Options) -> Self {
        Self::start_with(options, Environment::new()).await
    }

    /// Starts a node with faults, and waits until it can be asked.
    ///
    /// # Panics
    /// If it does not start.
    pub async fn start_with(options: &Options, environment: Environment) -> Self {
        match Self::try_start(options, environment).await {
            Ok(node) => node,
            Err(errors) => panic!("the node does not start:\n{errors}"),
        }
    }

    /// Starts a node with faults that it may not survive; if so, returns what it said.
    pub async fn try_start(options: &Options, environment: Environment) -> Result<Self, String> {
        let start = Instant::now();
        let mut process = Process::spawn(program(), options.arguments(), environment);
        match process.line().await {
            Some(line) if line == READY => {}
            line => {
                process.kill9().await;
                return Err(format!("{}{}", process.errors(), line.unwrap_or_default()));
            }
        }
        let (commands, receiver) = mpsc::unbounded_channel();
        let (tell, ended) = watch::channel(None);
        tokio::spawn(drive(process, receiver, tell));
        let next = Arc::new(AtomicU64::new(1));
        Ok(Self { commands, next, ended, ready_after: start.elapsed() })
    }

    /// From the start of the process until it could be asked.
    pub fn ready_after(&self) -> Duration {
        self.ready_after
    }

    /// Asks something that has many lines for an answer.
    pub fn open(&self, ask: Ask) -> Replies {
        let id = self.next.fetch_add(1, Ordering::Relaxed);
        let (sender, replies) = mpsc::unbounded_channel();
        // A node that is gone drops the sender, and so ends the replies.
        self.commands.send(Command::Ask(Request { id, ask }, sender)).ok();
        Replies { id, replies }
    }

    /// Asks something that has one line for an answer.
    pub async fn ask(&self, ask: Ask) -> Result<Reply, Failed> {
        self.open(ask).next().await
    }

    /// Sends a message.
    pub async fn send(&self, order: Order) -> Result<TaskView, Failed> {
        self.ask(Ask::Send(order)).await.map(Reply::into_task)
    }

    /// Sends a message and follows its task.
    pub fn stream(&self, order: Order) -> Replies {
        self.open(Ask::Stream(order))
    }

    /// Follows a task behind an event.
    pub fn subscribe(&self, task: TaskName, last_event: Option<u64>) -> Replies {
        self.open(Ask::Subscribe { task, last_event, credit: None })
    }

    /// Reads a task.
    pub async fn get(&self, task: TaskName) -> Result<TaskView, Failed> {
        self.ask(Ask::Get(task)).await.map(Reply::into_task)
    }

    /// Ends a task.
    pub async fn cancel(&self, task: TaskName) -> Result<TaskView, Failed> {
        self.ask(Ask::Cancel(task)).await.map(Reply::into_task)
    }

    /// Lists tasks, of one caller or of all.
    ///
    /// # Panics
    /// If that fails.
    pub async fn list(&self, caller: Option<&str>) -> Vec<TaskView> {
        match self.ask(Ask::List { caller: caller.map(str::to_owned) }).await {
            Ok(Reply::Tasks(tasks)) => tasks,
            other => panic!("tasks were expected, not {other:?}"),
        }
    }

    /// Reads the logs of the same tasks from the store.
    ///
    /// # Panics
    /// If that fails.
    pub async fn logs(&self, caller: Option<&str>) -> Vec<LogView> {
        self.read_logs(Ask::Logs { caller: caller.map(str::to_owned) }).await
    }

    /// Reads the same without their entries.
    ///
    /// # Panics
    /// If that fails.
    pub async fn heads(&self, caller: Option<&str>) -> Vec<LogView> {
        self.read_logs(Ask::Heads { caller: caller.map(str::to_owned) }).await
    }

    async fn read_logs(&self, ask: Ask) -> Vec<LogView> {
        let mut replies = self.open(ask);
        let mut logs = Vec::new();
        loop {
            match replies.next().await {
                Ok(Reply::Log(log)) => logs.push(log),
                Ok(Reply::End) => return logs,
                other => panic!("logs were expected, not {other:?}"),
            }
        }
    }

    /// Lists dead letters.
    ///
    /// # Panics
    /// If that fails.
    pub async fn dead_letters(&self) -> Vec<DeadLetterView> {
        match self.ask(Ask::DeadLetters).await {
            Ok(Reply::DeadLetters(letters)) => letters,
            other => panic!("dead letters were expected, not {other:?}"),
        }
    }

    /// Reads how often agents said what they may not.
    ///
    /// # Panics
    /// If that fails.
    pub async fn refusals(&self) -> RefusalsView {
        match self.ask(Ask::Refusals).await {
            Ok(Reply::Refusals(refusals)) => refusals,
            other => panic!("refusals were expected, not {other:?}"),
        }
    }

    /// Reads how much memory the process has, in bytes.
    ///
    /// # Panics
    /// If that fails.
    pub async fn memory(&self) -> u64 {
        match self.ask(Ask::Memory).await {
            Ok(Reply::Memory(bytes)) => bytes,
            other => panic!("memory was expected, not {other:?}"),
        }
    }

    /// Reads how long processors have worked for the process.
    ///
    /// # Panics
    /// If that fails.
    pub async fn processor_time(&self) -> Duration {
        match self.ask(Ask::ProcessorTime).await {
            Ok(Reply::ProcessorTime(time)) => time,
            other => panic!("processor time was expected, not {other:?}"),
        }
    }

    /// Waits until every task has ended or waits for its caller, and returns how long that
    /// took.
    ///
    /// # Panics
    /// If it takes longer than `longest`.
    pub async fn settled(&self, caller: Option<&str>, longest: Duration) -> Duration {
        let start = Instant::now();
        loop {
            let tasks = self.list(caller).await;
            let open: Vec<_> = tasks
                .iter()
                .filter(|task| !task.state.is_terminal() && !task.state.is_interrupted())
                .collect();
            if open.is_empty() {
                return start.elapsed();
            }
            assert!(start.elapsed() < longest, "not settled after {longest:?}: {open:?}");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    /// Kills it, as `kill -9` does. What it said before can still be heard.
    pub async fn kill9(&self) -> ExitStatus {
        self.commands.send(Command::Signal(Signal::Kill)).ok();
        self.ended().await
    }

    /// Stops the process where it stands (`SIGSTOP`).
    pub fn pause(&self) {
        self.commands.send(Command::Signal(Signal::Stop)).ok();
    }

    /// Lets the process go on (`SIGCONT`).
    pub fn resume(&self) {
        self.commands.send(Command::Signal(Signal::Resume)).ok();
    }

    /// Stops it in good order.
    pub async fn stop(&self, grace: Duration) -> ExitStatus {
        let grace = u64::try_from(grace.as_millis()).unwrap_or(u64::MAX);
        // A node that dies meanwhile shows it by its status.
        self.ask(Ask::Stop { grace }).await.ok();
        self.ended().await
    }

    /// Waits for its end.
    ///
    /// # Panics
    /// If it does not end.
    pub async fn ended(&self) -> ExitStatus {
        let mut ended = self.ended.clone();
        let status = timeout(PATIENCE, ended.wait_for(Option::is_some)).await;
        let status = status.expect("the node ends").expect("its end is told");
        status.expect("it was waited for")
    }

    /// Tells whether the process runs.
    pub fn is_alive(&self) -> bool {
        self.ended.borrow().is_none()
    }

    /// What it has written to standard error.
    pub async fn errors(&self) -> String {
        let (tell, told) = oneshot::channel();
        self.commands.send(Command::Errors(tell)).ok();
        told.await.unwrap_or_default()
    }
}

/// The lines of one answer.
#[derive(Debug)]
pub struct Replies {
    id: u64,
    replies: mpsc::UnboundedReceiver<Reply>,
}

impl Replies {
    /// The number of the request.
    pub fn id(&self) -> u64 {
        self.id
    }

    /// Waits for the next line.
    ///
    /// # Panics
    /// If none comes for long.
    pub async fn next(&mut self) -> Result<Reply, Failed> {
        let reply = timeout(PATIENCE, self.replies.recv()).await;
        match reply.expect("the node answers in time") {
            None => Err(Failed::Gone),
            Some(Reply::Refused(refusal)) => Err(Failed::Refused(refusal)),
            Some(reply) => Ok(reply),
        }
    }

    /// Waits for the next event; `None` at the end.
    ///
    /// # Panics
    /// If something else comes.
    pub async fn event(&mut self) -> Result<Option<EventView>, Failed> {
        match self.next().await? {
            Reply::Event(event) => Ok(Some(event)),
            Reply::End => Ok(None),
            other => panic!("an event was expected, not {other:?}"),
        }
    }

    /// Waits until readers within the node have begun.
    ///
    /// # Panics
    /// If something else comes.
    pub async fn watching(&mut self) {
        match self.next().await {
            Ok(Reply::Watching) => {}
            other => panic!("watchers were expected, not {other:?}"),
        }
    }

    /// Waits for what readers within the node have seen.
    ///
    /// # Panics
    /// If something else comes.
    pub async fn watched(&mut self) -> Watched {
        match self.next().await {
            Ok(Reply::Watched(watched)) => watched,
            other => panic!("watchers were expected, not {other:?}"),
        }
    }
}

impl Reply {
    /// Returns the task in it.
    ///
    /// # Panics
    /// If it is something else.
    pub fn into_task(self) -> TaskView {
        match self {
            Self::Task(task) => task,
            other => panic!("a task was expected, not {other:?}"),
        }
    }
}

/// Passes lines to and from a process until it has ended and all its lines are passed on.
async fn drive(
    mut process: Process,
    mut commands: mpsc::UnboundedReceiver<Command>,
    tell: watch::Sender<Option<ExitStatus>>,
) {
    let mut waiting: HashMap<u64, mpsc::UnboundedSender<Reply>> = HashMap::new();
    loop {
        // Nobody else can ask, so nothing more is to be heard.
        let line = tokio::select! {
            command = commands.recv() => match command {
                Some(Command::Ask(request, replies)) => {
                    let line = serde_json::to_string(&request).expect("requests can be written");
                    waiting.insert(request.id, replies);
                    // A node that is gone ends its lines, too.
                    process.send(&line).await.ok();
                    continue;
                }
                Some(Command::Signal(Signal::Kill)) => {
                    process.kill9().await;
                    continue;
                }
                Some(Command::Signal(Signal::Stop)) => {
                    process.stop();
                    continue;
                }
                Some(Command::Signal(Signal::Resume)) => {
                    process.resume();
                    continue;
                }
                Some(Command::Errors(tell)) => {
                    tell.send(process.errors()).ok();
                    continue;
                }
                None => return,
            },
            line = process.line() => line,
        };
        let Some(line) = line else { break };
        let line: Line = match serde_json::from_str(&line) {
            Ok(line) => line,
            // A kill may have torn the last line; it was not said then.
            Err(_) => continue,
        };
        let is_last = !matches!(line.reply, Reply::Event(_) | Reply::Log(_) | Reply::Watching);
        if let Some(replies) = waiting.get(&line.id) {
            // Whoever asked may have stopped listening.
            replies.send(line.reply).ok();
        }
        if is_last {
            waiting.remove(&line.id);
        }
    }
    let status = process.wait().await;
    waiting.clear();
    tell.send_replace(Some(status));
    // Errors can be asked for until the last handle is gone.
    while let Some(command) = commands.recv().await {
        if let Command::Errors(tell) = command {
            tell.send(process.errors()).ok();
        }
    }
}

/// The node's program, which cargo builds for the tests of this package.
fn program() -> PathBuf {
    // Tests run as target/debug/deps/<test>.
    let test = std::env::current_exe().expect("a program knows its path");
    let folder = test.parent().and_then(|deps| deps.parent()).expect("cargo made two folders");
    let path = folder.join("nuncio-test-node");
    assert!(path.is_file(), "{} is not built", path.display());
    path
}
