//! An engine that sends webhooks, and a receiver for them.

use std::{sync::Arc, time::Duration};

use nuncio_net::{Client, Guard, Policy};
use nuncio_protocol::{
    ids::{PushConfigId, TaskId},
    message::Message,
    operation::{SendMessageConfiguration, SendMessageRequest},
    push::{AuthenticationInfo, TaskPushNotificationConfig},
};
use nuncio_store::sqlite::{Options, SqliteStore};
use nuncio_tasks::{
    agent::{Agent, Conduct, Failure, Turn},
    engine::{Call, Tasks},
    output::Output,
    push::{Push, Schedule, SealingKey},
    scope::{Name, Place, Scope},
    store::{DeadLetter, Head, Store as _},
};
use nuncio_testkit::webhook::{Receiver, Request};
use tempfile::TempDir;
use tokio::sync::oneshot;

/// The key that secrets are sealed with, unless a test says otherwise.
pub(crate) const KEY: [u8; 32] = [42; 32];

pub(crate) struct World {
    pub(crate) tasks: Tasks,
    pub(crate) store: SqliteStore,
    pub(crate) receiver: Receiver,
    /// Dropped last.
    pub(crate) directory: TempDir,
}

impl World {
    pub(crate) async fn start() -> Self {
        Self::with(|push| push).await
    }

    /// Retries come at once, five times.
    pub(crate) async fn with(change: impl FnOnce(Push) -> Push) -> Self {
        let (store, directory) = store();
        let tasks = engine(&store, change(push(&KEY)));
        Self { tasks, store, receiver: Receiver::start().await, directory }
    }

    /// Begins a task: see [`Teller`] for what `text` makes it do.
    pub(crate) async fn open(
        &self,
        text: &str,
        webhook: Option<TaskPushNotificationConfig>,
    ) -> TaskId {
        open(&self.tasks, &call(), text, webhook).await
    }

    pub(crate) async fn say(&self, task: &TaskId, text: &str) {
        say(&self.tasks, task, text).await;
    }

    pub(crate) fn webhook(&self, path: &str) -> TaskPushNotificationConfig {
        TaskPushNotificationConfig::new(self.receiver.url(path))
    }

    /// Registers a webhook for a task.
    pub(crate) async fn register(&self, task: &TaskId, path: &str) -> PushConfigId {
        let mut config = self.webhook(path);
        config.task_id = Some(task.clone());
        let created = self.tasks.create_push_config(&call(), config).await;
        created.expect("the webhook is fine").id.expect("a webhook has an identifier")
    }

    /// Waits until there are so many dead letters.
    pub(crate) async fn dead_letters(&self, count: usize) -> Vec<DeadLetter> {
        let find = async {
            loop {
                let letters = self.tasks.dead_letters(&scope(), 100).await;
                let letters = letters.expect("the store answers");
                if letters.len() == count {
                    return letters;
                }
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        let patience = Duration::from_secs(60);
        tokio::time::timeout(patience, find).await.expect("the dead letters come")
    }

    /// Returns how many entries the log of a task has.
    pub(crate) async fn log_length(&self, task: &TaskId) -> usize {
        usize::try_from(head(&self.store, task).await.seq.0).expect("a log is short")
    }
}

/// An engine that begins a task, and then stands still for ever when the test says so: nothing
/// it has begun is ended, nothing it has taken is given back.
pub(crate) struct Doomed {
    freeze: oneshot::Sender<()>,
    frozen: oneshot::Receiver<()>,
}

impl Doomed {
    /// Begins `count 4` with a webhook.
    pub(crate) fn start(
        store: &SqliteStore,
        push: Push,
        webhook: TaskPushNotificationConfig,
    ) -> Self {
        let store = store.clone();
        let (freeze, told) = oneshot::channel();
        let (tell, frozen) = oneshot::channel();
        std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
            let runtime = runtime.expect("there is room for a runtime");
            runtime.block_on(async {
                let tasks = engine(&store, push);
                let task = open(&tasks, &call(), "count 4", Some(webhook)).await;
                // The work itself is not what dies here.
                let ended = async {
                    while !head(&store, &task).await.state.is_terminal() {
                        tokio::time::sleep(Duration::from_millis(5)).await;
                    }
                };
                let (_, ()) = tokio::join!(told, ended);
            });
            // Dropping it would end what it runs, and some of it would be settled.
            std::mem::forget(runtime);
            tell.send(()).ok();
        });
        Self { freeze, frozen }
    }

    pub(crate) async fn freeze(self) {
        self.freeze.send(()).expect("the engine waits for this");
        self.frozen.await.expect("the engine says that it stands still");
    }
}

async fn head(store: &SqliteStore, task: &TaskId) -> Head {
    let head = store.find(&scope(), task).await.expect("the store answers");
    head.expect("the task is there")
}

/// Opens a store in a directory of its own.
pub(crate) fn store() -> (SqliteStore, TempDir) {
    let directory = tempfile::tempdir().expect("there is room for a directory");
    let store = SqliteStore::open(directory.path(), Options::default());
    (store.expect("a new store opens"), directory)
}

pub(crate) fn push(key: &[u8; 32]) -> Push {
    let policy = Policy::default().dangerously_open_loopback_to_callers();
    Push::new(Client::new(Guard::new(policy)), SealingKey::new(key))
        .schedule(Schedule::new([Duration::ZERO; 5]))
}

pub(crate) fn engine(store: &SqliteStore, push: Push) -> Tasks {
    Tasks::builder(Arc::new(store.clone())).agent(agent_name(), Teller).push(push).start()
}

pub(crate) async fn open(
    tasks: &Tasks,
    call: &Call,
    text: &str,
    webhook: Option<TaskPushNotificationConfig>,
) -> TaskId {
    let mut request = SendMessageRequest::new(Message::user(text));
    request.configuration = Some(SendMessageConfiguration {
        task_push_notification_config: webhook,
        return_immediately: true,
        ..SendMessageConfiguration::default()
    });
    let task = tasks.send(call, request).await.expect("the message is fine");
    task.into_task().expect("a task").id
}

pub(crate) async fn say(tasks: &Tasks, task: &TaskId, text: &str) {
    let mut message = Message::user(text);
    message.task_id = Some(task.clone());
    let mut request = SendMessageRequest::new(message);
    request.configuration = Some(SendMessageConfiguration {
        return_immediately: true,
        ..SendMessageConfiguration::default()
    });
    tasks.send(&call(), request).await.expect("the task takes messages");
}

/// Tells `count N` by N statuses and then ends, `trickle N` does it with pauses; `hold` goes on with what it is told: `end`, or
/// anything else, which becomes a status.
pub(crate) struct Teller;

impl Agent for Teller {
    async fn run(&self, turn: Turn, output: Output) -> Result<(), Failure> {
        let text = turn.message.text();
        if let Some(count) = text.strip_prefix("count ") {
            for number in 0..count.parse()? {
                output.working(format!("number {number}")).await?;
            }
            return Ok(());
        }
        if let Some(count) = text.strip_prefix("trickle ") {
            for number in 0..count.parse()? {
                output.working(format!("number {number}")).await?;
                tokio::time::sleep(Duration::from_micros(500 * (number % 8))).await;
            }
            return Ok(());
        }
        loop {
            match turn.input().await.text().as_str() {
                "end" => return Ok(()),
                text => output.working(text).await?,
            }
        }
    }

    fn conduct(&self) -> Conduct {
        Conduct { listens: true, ..Conduct::default() }
    }
}

pub(crate) fn call() -> Call {
    call_of("ann")
}

pub(crate) fn call_of(caller: &str) -> Call {
    Call::new(Place { tenant: name("acme"), agent: agent_name(), caller: name(caller) })
}

pub(crate) fn scope() -> Scope {
    Scope::tenant(name("acme"))
}

fn agent_name() -> Name {
    name("teller")
}

pub(crate) fn name(text: &str) -> Name {
    Name::parse(text).expect("names in tests are short")
}

pub(crate) fn with_secrets(mut config: TaskPushNotificationConfig) -> TaskPushNotificationConfig {
    "t0ken-of-ann".clone_into(&mut config.token);
    config.authentication = Some(AuthenticationInfo {
        scheme: "Bearer".to_owned(),
        credentials: "cr3dentials-of-ann".to_owned(),
    });
    config
}

pub(crate) fn header<'a>(request: &'a Request, name: &str) -> Option<&'a str> {
    request.headers.get(name).map(|value| value.to_str().expect("headers are texts"))
}

/// Returns the place in the log that a request is about.
pub(crate) fn seq_of(request: &Request) -> u64 {
    let id = header(request, "webhook-id").expect("every request has an identifier");
    let (_, seq) = id.rsplit_once('-').expect("an identifier has two parts");
    seq.parse().expect("the second part is a number")
}

/// Checks that events came in order, each at least once, and that nothing was skipped.
#[track_caller]
pub(crate) fn check_order(requests: &[Request], first: u64, last: u64) {
    let seqs: Vec<u64> = requests.iter().map(seq_of).collect();
    let mut reached = first - 1;
    for seq in &seqs {
        assert!((first..=reached + 1).contains(seq), "{seq} came after {reached} in {seqs:?}");
        reached = reached.max(*seq);
    }
    assert_eq!(reached, last, "{seqs:?}");
}
