//! A store that keeps its caller waiting, and callers who do not wait.

use std::{sync::Arc, time::Duration};

use bytes::Bytes;
use futures_util::StreamExt as _;
use nuncio_protocol::{
    ids::{PushConfigId, TaskId},
    message::Message,
    operation::{
        CancelTaskRequest, GetTaskRequest, SendMessageConfiguration, SendMessageRequest,
        SubscribeToTaskRequest,
    },
    state::TaskState,
    task::Task,
};
use nuncio_tasks::{
    agent::{Agent, Conduct, Failure, Turn},
    engine::{Call, Tasks},
    log::Seq,
    memory::MemoryStore,
    output::Output,
    scope::{Name, Place, Scope},
    store::{
        Answer, Append, Appended, Claim, Claimed, Create, Created, DeadLetter, DeadLetterId,
        Delivery, Filter, Head, Key, LEASE, Lease, Limit, Listed, Loaded, Mark, NewWebhook, Page,
        Progress, Retention, Store, Swept, Tail, TaskRef, Tenure, Want, Webhook,
    },
};
use tokio::{
    sync::Semaphore,
    time::{sleep, timeout},
};

/// Long enough for everything here, unless something is never done.
const PATIENCE: Duration = Duration::from_secs(20);

/// Where operations of one kind can be made to wait.
struct Gate {
    open: Semaphore,
    arrived: Semaphore,
}

impl Gate {
    fn new() -> Self {
        Self { open: Semaphore::new(Semaphore::MAX_PERMITS), arrived: Semaphore::new(0) }
    }

    fn close(&self) {
        self.open.forget_permits(Semaphore::MAX_PERMITS);
        self.forget();
    }

    /// Forgets who has come so far.
    fn forget(&self) {
        self.arrived.forget_permits(Semaphore::MAX_PERMITS);
    }

    fn open(&self) {
        self.open.add_permits(1_000);
    }

    async fn pass(&self) {
        self.arrived.add_permits(1);
        self.open.acquire().await.expect("never closed").forget();
    }

    /// Waits until an operation stands before it.
    async fn reached(&self) {
        self.arrived.acquire().await.expect("never closed").forget();
    }
}

/// Keeps tasks in memory, and lets those wait who write, who ask for notes, or who renew leases.
struct Gated {
    store: MemoryStore,
    appends: Gate,
    notes: Gate,
    renewals: Gate,
}

/// Hands these on as they are.
macro_rules! hand_on {
    ($($name:ident($($argument:ident: $type:ty),*) -> $answer:ty;)*) => {
        $(fn $name(&self, $($argument: $type),*) -> $answer {
            self.store.$name($($argument),*)
        })*
    };
}

impl Store for Gated {
    fn append(&self, append: Append) -> Answer<'_, Appended> {
        Box::pin(async move {
            self.appends.pass().await;
            self.store.append(append).await
        })
    }

    fn note(&self, task: TaskRef) -> Answer<'_, Option<Bytes>> {
        Box::pin(async move {
            self.notes.pass().await;
            self.store.note(task).await
        })
    }

    fn renew(&self, lease: Lease, held: Vec<Tenure>) -> Answer<'_, Vec<TaskRef>> {
        Box::pin(async move {
            self.renewals.pass().await;
            self.store.renew(lease, held).await
        })
    }

    hand_on! {
        create(create: Create) -> Answer<'_, Created>;
        is_used(place: &Place, key: &Key) -> Answer<'_, bool>;
        find(scope: &Scope, id: &TaskId) -> Answer<'_, Option<Head>>;
        load(scope: &Scope, id: &TaskId, want: Want) -> Answer<'_, Option<Loaded>>;
        tail(task: TaskRef, after: Seq, limit: Limit) -> Answer<'_, Tail>;
        marks(tasks: Vec<TaskRef>) -> Answer<'_, Vec<Mark>>;
        list(scope: &Scope, filter: Filter, page: Page) -> Answer<'_, Listed>;
        parent(task: TaskRef) -> Answer<'_, Option<TaskId>>;
        children(scope: &Scope, parent: &TaskId, most: usize) -> Answer<'_, Vec<Head>>;
        claim(claim: Claim) -> Answer<'_, Vec<Claimed>>;
        release(held: Vec<Tenure>) -> Answer<'_, ()>;
        is_shared() -> bool;
        put_webhook(task: TaskRef, webhook: NewWebhook, most: u32) -> Answer<'_, Webhook>;
        webhooks(task: TaskRef) -> Answer<'_, Vec<Webhook>>;
        delete_webhook(task: TaskRef, id: &PushConfigId) -> Answer<'_, ()>;
        claim_deliveries(lease: Lease, most: usize) -> Answer<'_, Vec<Delivery>>;
        settle(delivery: &Delivery, progress: Progress) -> Answer<'_, bool>;
        dead_letters(scope: &Scope, most: usize) -> Answer<'_, Vec<DeadLetter>>;
        resend(scope: &Scope, letter: DeadLetterId) -> Answer<'_, bool>;
        sweep(retention: &Retention, most: usize) -> Answer<'_, Swept>;
    }
}

/// Asks when it is told to, works for ever, or says what it has heard.
struct Asking;

impl Agent for Asking {
    async fn run(&self, turn: Turn, output: Output) -> Result<(), Failure> {
        match turn.message.text().as_str() {
            "ask" => output.ask("what?").await?,
            "hang" => {
                output.working("on it").await?;
                std::future::pending::<()>().await;
            }
            text => output.text(text).await?,
        }
        Ok(())
    }

    fn conduct(&self) -> Conduct {
        Conduct { cancel_grace: Duration::ZERO, ..Conduct::default() }
    }
}

fn house() -> (Tasks, Arc<Gated>) {
    let store = MemoryStore::default();
    let (appends, notes, renewals) = (Gate::new(), Gate::new(), Gate::new());
    let store = Arc::new(Gated { store, appends, notes, renewals });
    let tasks = Tasks::builder(Arc::clone(&store) as Arc<dyn Store>);
    (tasks.agent(name("asking"), Asking).start(), store)
}

fn name(text: &str) -> Name {
    Name::parse(text).expect("a name")
}

fn call() -> Call {
    Call::new(Place { tenant: name("acme"), agent: name("asking"), caller: name("ann") })
}

fn say(text: &str) -> SendMessageRequest {
    SendMessageRequest::new(Message::user(text))
}

/// Says something, and does not wait for what comes of it.
async fn begin(tasks: &Tasks, mut request: SendMessageRequest) -> Task {
    request.configuration =
        Some(SendMessageConfiguration { return_immediately: true, ..Default::default() });
    tasks.send(&call(), request).await.expect("it is taken").into_task().expect("a task")
}

async fn asked(tasks: &Tasks) -> Task {
    let asked = tasks.send(&call(), say("ask")).await.expect("it is taken");
    asked.into_task().expect("a task")
}

fn answer(task: &Task, text: &str) -> SendMessageRequest {
    let mut request = say(text);
    request.message.task_id = Some(task.id.clone());
    request
}

fn cancel(task: &Task) -> CancelTaskRequest {
    CancelTaskRequest { tenant: None, id: task.id.clone(), metadata: None }
}

async fn state(tasks: &Tasks, task: &Task) -> TaskState {
    let request = GetTaskRequest { tenant: None, id: task.id.clone(), history_length: None };
    let task = tasks.get(&call(), request).await.expect("it is there");
    task.into_value().expect("a task").status.state
}

/// Follows a task until its state is such, and returns that.
async fn until(tasks: &Tasks, task: &Task, is_such: impl Fn(TaskState) -> bool) -> TaskState {
    let request = SubscribeToTaskRequest { tenant: None, id: task.id.clone() };
    let mut events = tasks.subscribe(&call(), request).await.expect("it can be followed");
    let followed = async {
        let mut last = task.status.state;
        while let Some(event) = events.next().await {
            let event = event.expect("an event").response.into_value().expect("an event");
            last = event.state().unwrap_or(last);
            if is_such(last) {
                break;
            }
        }
        last
    };
    timeout(PATIENCE, followed).await.expect("it comes to that")
}

/// Follows a task to its end.
async fn end(tasks: &Tasks, task: &Task) -> TaskState {
    until(tasks, task, TaskState::is_terminal).await
}

/// Waits until the agent has said all it says before it hangs.
async fn works(tasks: &Tasks, task: &Task) {
    let reached = until(tasks, task, |state| state == TaskState::Working).await;
    assert_eq!(reached, TaskState::Working);
}

#[tokio::test]
async fn a_cancel_that_is_being_written_counts_also_if_its_caller_leaves() {
    let (tasks, store) = house();
    let task = begin(&tasks, say("hang")).await;
    works(&tasks, &task).await;
    store.appends.close();
    let call = call();
    tokio::select! {
        _ = tasks.cancel(&call, cancel(&task)) => panic!("it cannot be written yet"),
        () = store.appends.reached() => {}
    }
    store.appends.open();
    assert_eq!(end(&tasks, &task).await, TaskState::Canceled);
}

#[tokio::test]
async fn an_answer_that_is_being_written_is_worked_on_also_if_its_caller_leaves() {
    let (tasks, store) = house();
    let task = asked(&tasks).await;
    store.appends.close();
    tokio::select! {
        _ = tasks.send(&call(), answer(&task, "this")) => panic!("it cannot be written yet"),
        () = store.appends.reached() => {}
    }
    store.appends.open();
    assert_eq!(end(&tasks, &task).await, TaskState::Completed);
}

#[tokio::test]
async fn a_cancel_that_comes_while_a_turn_begins_is_heard() {
    let (tasks, store) = house();
    let task = asked(&tasks).await;
    store.notes.close();
    let (sender, request) = (tasks.clone(), answer(&task, "hang"));
    let sent = tokio::spawn(async move { sender.send(&call(), request).await });
    store.notes.reached().await;
    store.appends.forget();
    let (other, request) = (tasks.clone(), cancel(&task));
    let cancelled = tokio::spawn(async move { other.cancel(&call(), request).await });
    store.appends.reached().await;
    store.notes.open();
    let task = timeout(PATIENCE, cancelled).await.expect("it is answered").expect("no panic");
    let task = task.expect("it is cancelled").into_value().expect("a task");
    assert_eq!(task.status.state, TaskState::Canceled);
    timeout(PATIENCE, sent).await.expect("it is answered").expect("no panic").expect("a task");
}

/// As on a disk that stands still. Nobody else could have taken the task meanwhile.
#[tokio::test(start_paused = true)]
async fn work_goes_on_whose_lease_could_not_be_renewed_in_a_store_that_nobody_shares() {
    let (tasks, store) = house();
    let task = begin(&tasks, say("hang")).await;
    works(&tasks, &task).await;
    store.renewals.close();
    sleep(2 * LEASE).await;
    store.renewals.open();
    sleep(2 * LEASE).await;
    assert_eq!(state(&tasks, &task).await, TaskState::Working);
    let ended = tasks.cancel(&call(), cancel(&task)).await.expect("its owner hears of it");
    assert_eq!(ended.into_value().expect("a task").status.state, TaskState::Canceled);
}
