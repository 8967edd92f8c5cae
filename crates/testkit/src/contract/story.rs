//! The people, tasks and messages that the checks are about.

use std::time::Duration;

use nuncio_protocol::{
    ids::{ArtifactId, ContextId, PushConfigId, TaskId},
    json::Shared,
    message::{Message, Part},
    state::TaskState,
    task::{Artifact, StreamResponse, Task, TaskArtifactUpdateEvent, TaskStatus},
    time::Timestamp,
    version::Version,
};
use nuncio_tasks::{
    log::{Batch, Entry, Folded, Seq},
    scope::{Name, Place, Scope},
    store::{
        Append, Appended, Claim, Create, Created, Epoch, Error, Head, Key, Lease, Limit,
        NewWebhook, Sealed, Store, TaskRef, Tenure, Want,
    },
};
use tokio::time::Instant;

/// As long as no check lasts: what begins so long ahead does not come.
pub(super) const LONG: Duration = Duration::from_secs(3600);

/// So short that a check can wait for it.
pub(super) const SHORT: Duration = Duration::from_millis(50);

/// How long a check waits for what must come.
const PATIENCE: Duration = Duration::from_secs(30);

/// Every state that a task can be in without having ended.
pub(super) const UNFINISHED: [TaskState; 4] =
    [TaskState::Submitted, TaskState::Working, TaskState::InputRequired, TaskState::AuthRequired];

/// Every state that ends a task.
pub(super) const TERMINAL: [TaskState; 4] =
    [TaskState::Completed, TaskState::Failed, TaskState::Canceled, TaskState::Rejected];

pub(super) fn name(text: &str) -> Name {
    Name::parse(text).expect("a short text is a name")
}

/// Ann of Acme, who asks the agent `echo`.
pub(super) fn ann() -> Place {
    place("acme", "echo", "user:ann")
}

/// Bob, who has the same organisation and the same agent.
pub(super) fn bob() -> Place {
    place("acme", "echo", "user:bob")
}

pub(super) fn place(tenant: &str, agent: &str, caller: &str) -> Place {
    Place { tenant: name(tenant), agent: name(agent), caller: name(caller) }
}

/// Everything that Acme has.
pub(super) fn acme() -> Scope {
    Scope::tenant(name("acme"))
}

/// A moment so many seconds after the stories begin.
pub(super) fn moment(seconds: i64) -> Timestamp {
    Timestamp::from_parts(1_780_000_000 + seconds, 0).expect("the years 2026 to 9999 are there")
}

pub(super) fn context(text: &str) -> ContextId {
    ContextId::parse(text).expect("a short text is an identifier")
}

/// A lease that outlasts the check.
pub(super) fn lease(owner: &str) -> Lease {
    Lease { owner: name(owner), lasts: LONG }
}

/// A lease that is soon over.
pub(super) fn short_lease(owner: &str) -> Lease {
    Lease { owner: name(owner), lasts: SHORT }
}

pub(super) fn key(text: &str, request: u8) -> Key {
    Key { text: text.to_owned(), request: [request; 32] }
}

pub(super) fn tenure(head: &Head) -> Tenure {
    Tenure { task: head.reference, epoch: head.epoch }
}

/// A task that somebody asks for: submitted, nobody's, without key, webhook or wake-up.
pub(super) fn opening(place: &Place) -> Create {
    opening_as(place, TaskState::Submitted, moment(0))
}

/// A task that begins in the given state.
pub(super) fn opening_as(place: &Place, state: TaskState, at: Timestamp) -> Create {
    opening_in(place, ContextId::generate(), state, at)
}

/// A task that begins in the given conversation and state.
pub(super) fn opening_in(
    place: &Place,
    context: ContextId,
    state: TaskState,
    at: Timestamp,
) -> Create {
    let mut task = Task::new(TaskId::generate(), context.clone(), TaskStatus::new(state, at));
    task.history.push(Message::user("hello"));
    opening_of(place, &task, context)
}

/// The given task.
pub(super) fn opening_of(place: &Place, task: &Task, context: ContextId) -> Create {
    let batch = Batch::open(task, context).expect("a task may begin in any state");
    Create::new(place.clone(), batch)
}

/// A working task with an owner.
pub(super) fn owned(place: &Place) -> Create {
    Create { lease: Some(lease("one")), ..opening_as(place, TaskState::Working, moment(0)) }
}

/// A batch behind the present end of a task.
pub(super) fn follow(head: &Head) -> Batch {
    Batch::follow(head.id.clone(), head.context.clone(), head.state)
}

/// A status behind the present end of a task, a second later.
pub(super) fn status(head: &Head, state: TaskState) -> Batch {
    status_at(head, state, next_moment(head))
}

pub(super) fn status_at(head: &Head, state: TaskState, at: Timestamp) -> Batch {
    let mut batch = follow(head);
    batch.status(state, None, at).expect("the story is legal");
    batch
}

/// A word about the work, which stays in the history.
pub(super) fn progress(head: &Head, text: &str) -> Batch {
    let mut batch = follow(head);
    let word = Some(Message::agent(text));
    batch.status(TaskState::Working, word, next_moment(head)).expect("the story is legal");
    batch
}

/// A piece of an artifact.
pub(super) fn artifact(head: &Head, id: &str, text: &str) -> Batch {
    let mut batch = follow(head);
    batch.output(chunk(head, id, text)).expect("the story is legal");
    batch
}

pub(super) fn chunk(head: &Head, id: &str, text: &str) -> Shared<StreamResponse> {
    let id = ArtifactId::parse(id).expect("a short text is an identifier");
    Shared::new(StreamResponse::ArtifactUpdate(TaskArtifactUpdateEvent {
        task_id: head.id.clone(),
        context_id: head.context.clone(),
        artifact: Artifact::new(id, vec![Part::text(text)]),
        append: true,
        last_chunk: false,
        metadata: None,
    }))
}

/// A message to the agent.
pub(super) fn input(head: &Head, text: &str) -> Batch {
    let mut batch = follow(head);
    batch.input(Message::user(text), next_moment(head)).expect("the story is legal");
    batch
}

/// Somebody wants the work to end.
pub(super) fn cancel(head: &Head) -> Batch {
    let mut batch = follow(head);
    batch.cancel(next_moment(head)).expect("the story is legal");
    batch
}

fn next_moment(head: &Head) -> Timestamp {
    let (seconds, nanos) = head.updated.to_parts();
    Timestamp::from_parts(seconds + 1, nanos).expect("the calendar is long")
}

/// A batch of the owner, which changes nothing else.
pub(super) fn append(head: &Head, batch: Batch) -> Append {
    Append::output(head.reference, head.epoch, batch)
}

/// A batch of anybody.
pub(super) fn signal(head: &Head, batch: Batch) -> Append {
    Append { epoch: None, ..append(head, batch) }
}

pub(super) fn webhook(id: &str) -> NewWebhook {
    NewWebhook {
        id: webhook_id(id),
        url: format!("https://hooks.example/{id}"),
        secrets: Sealed(vec![1, 2, 3]),
        version: Version::V1_0,
    }
}

pub(super) fn webhook_id(id: &str) -> PushConfigId {
    PushConfigId::parse(id).expect("a short text is an identifier")
}

/// Whatever needs an owner and is `echo`'s.
pub(super) fn claim(owner: &str) -> Claim {
    Claim {
        lease: lease(owner),
        agents: vec![name("echo")],
        orphaned_after: LONG,
        most: usize::from(u8::MAX),
    }
}

/// Opens a task that must be new.
pub(super) async fn new(store: &dyn Store, create: Create) -> Head {
    match store.create(create).await.expect("the task is created") {
        Created::New(head) => head,
        Created::Repeated(head) => panic!("the task should be new, but repeats {head:?}"),
    }
}

/// Writes what must be written, and returns the task afterwards.
pub(super) async fn write(store: &dyn Store, append: Append) -> Head {
    written(store, append).await.0
}

/// Writes what must be written, and tells whether the lease was taken.
pub(super) async fn written(store: &dyn Store, append: Append) -> (Head, bool) {
    match store.append(append).await.expect("the batch is written") {
        Appended::Done { head, taken } => (head, taken),
        Appended::Repeated { task, seq } => panic!("should be new, but repeats {task} at {seq}"),
    }
}

/// Writes what must be refused, and returns why.
pub(super) async fn refused(store: &dyn Store, append: Append) -> Error {
    match store.append(append).await {
        Ok(appended) => panic!("should be refused, but was {appended:?}"),
        Err(error) => error,
    }
}

/// Ends a task as its owner.
pub(super) async fn end(store: &dyn Store, head: &Head, state: TaskState) -> Head {
    write(store, append(head, status(head, state))).await
}

/// Opens a task and ends it.
pub(super) async fn ended(store: &dyn Store, place: &Place, state: TaskState) -> Head {
    let head = new(store, owned(place)).await;
    end(store, &head, state).await
}

/// Reads where a task stands now.
pub(super) async fn reread(store: &dyn Store, head: &Head) -> Head {
    let found = store.find(&(&head.place).into(), &head.id).await.expect("the store answers");
    found.expect("the task is there")
}

/// Tells whether a task is there.
pub(super) async fn exists(store: &dyn Store, head: &Head) -> bool {
    let found = store.find(&(&head.place).into(), &head.id).await;
    found.expect("the store answers").is_some()
}

/// Reads the whole log.
pub(super) async fn log(store: &dyn Store, task: TaskRef) -> Vec<Entry> {
    let mut entries: Vec<Entry> = Vec::new();
    loop {
        let after = entries.last().map_or(Seq::START, |entry| entry.seq);
        let limit = Limit { entries: 100, bytes: 1 << 20 };
        let tail = store.tail(task, after, limit).await.expect("the store answers");
        if tail.entries.is_empty() {
            return entries;
        }
        entries.extend(tail.entries);
    }
}

/// Reads a task as of now or as of a place in its log.
pub(super) async fn folded(store: &dyn Store, head: &Head, want: Want) -> Folded {
    let loaded = store.load(&(&head.place).into(), &head.id, want).await;
    let loaded = loaded.expect("the store answers").expect("the task is there");
    loaded.fold().expect("the log can be folded")
}

/// All that readers can see of a task, to tell that nothing has changed.
#[derive(Debug, PartialEq)]
pub(super) struct Image {
    head: Head,
    entries: Vec<Entry>,
    folded: Folded,
    webhooks: Vec<(PushConfigId, String, Seq)>,
}

impl Image {
    pub(super) async fn of(store: &dyn Store, head: &Head) -> Self {
        let webhooks = store.webhooks(head.reference).await.expect("the store answers");
        Self {
            head: reread(store, head).await,
            entries: log(store, head.reference).await,
            folded: folded(store, head, Want::ALL).await,
            webhooks: webhooks.into_iter().map(|hook| (hook.id, hook.url, hook.sent)).collect(),
        }
    }

    /// Leaves open whether somebody has the task.
    pub(super) fn without_lease(mut self) -> Self {
        self.head.owned = false;
        self
    }
}

/// Asks again and again until there is an answer.
pub(super) async fn eventually<T>(what: &str, ask: impl AsyncFn() -> Option<T>) -> T {
    let deadline = Instant::now() + PATIENCE;
    loop {
        if let Some(answer) = ask().await {
            return answer;
        }
        assert!(Instant::now() < deadline, "waited in vain until {what}");
        tokio::time::sleep(SHORT / 10).await;
    }
}

/// The epoch behind that of a task.
pub(super) fn next_epoch(head: &Head) -> Epoch {
    Epoch(head.epoch.0 + 1)
}
