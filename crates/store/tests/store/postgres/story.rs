//! The tasks that the tests are about.

use std::{sync::Arc, time::Duration};

use nuncio_protocol::{
    ids::{ContextId, TaskId},
    message::Message,
    state::TaskState,
    task::{Task, TaskStatus},
    time::Timestamp,
};
use nuncio_store::postgres::{Options, PostgresStore};
use nuncio_tasks::{
    log::{Batch, Entry, Seq},
    scope::{Name, Place},
    store::{Append, Appended, Create, Created, Error, Head, Lease, Limit, Store, TaskRef},
};

/// How long a test waits for what must come.
pub(crate) const PATIENCE: Duration = Duration::from_secs(30);

pub(crate) async fn open(url: String) -> Arc<dyn Store> {
    Arc::new(PostgresStore::open(&Options::new(url)).await.expect("the store opens"))
}

pub(crate) fn name(text: &str) -> Name {
    Name::parse(text).expect("a short text is a name")
}

pub(crate) fn ann() -> Place {
    Place { tenant: name("acme"), agent: name("echo"), caller: name("user:ann") }
}

pub(crate) fn lease(owner: &str) -> Lease {
    Lease { owner: name(owner), lasts: Duration::from_secs(3600) }
}

/// A working task with an owner.
pub(crate) fn opening(place: Place) -> Create {
    let context = ContextId::generate();
    opening_of(place, TaskId::generate(), context)
}

pub(crate) fn opening_of(place: Place, id: TaskId, context: ContextId) -> Create {
    let status = TaskStatus::new(TaskState::Working, Timestamp::now());
    let mut task = Task::new(id, context.clone(), status);
    task.history.push(Message::user("hello"));
    let batch = Batch::open(&task, context).expect("a task may begin in any state");
    Create { lease: Some(lease("one")), ..Create::new(place, batch) }
}

pub(crate) async fn new(store: &dyn Store) -> Head {
    match store.create(opening(ann())).await.expect("the task is opened") {
        Created::New(head) => head,
        Created::Repeated(_) => panic!("there is no key to repeat"),
    }
}

/// A message to the agent, which anybody may write.
pub(crate) fn input(head: &Head, text: &str) -> Append {
    let mut batch = Batch::follow(head.id.clone(), head.context.clone(), TaskState::Working);
    batch.input(Message::user(text), Timestamp::now()).expect("a working task takes messages");
    Append::signal(head.reference, batch)
}

/// Where an answered append ended.
pub(crate) fn end_of(answer: Result<Appended, Error>) -> Result<Seq, Error> {
    match answer? {
        Appended::Done { head, .. } => Ok(head.seq),
        Appended::Repeated { .. } => panic!("there is no key to repeat"),
    }
}

/// The whole log of a task.
pub(crate) async fn log(store: &dyn Store, task: TaskRef) -> Vec<Entry> {
    let limit = Limit { entries: 100_000, bytes: usize::MAX };
    eventually("the log is read", async || store.tail(task, Seq::START, limit).await.ok())
        .await
        .entries
}

/// What was said to the agent, in order.
pub(crate) fn said(entries: &[Entry]) -> Vec<String> {
    let messages = entries.iter().filter_map(|entry| entry.record.message.as_ref());
    messages.map(|message| message.value().expect("it is a message").text()).collect()
}

#[track_caller]
pub(crate) fn check_gapless(entries: &[Entry]) {
    let seqs: Vec<u64> = entries.iter().map(|entry| entry.seq.0).collect();
    let expected: Vec<u64> = (1..=entries.len() as u64).collect();
    assert_eq!(seqs, expected);
}

/// Asks again and again, until there is an answer.
pub(crate) async fn eventually<T>(what: &str, mut ask: impl AsyncFnMut() -> Option<T>) -> T {
    let wait = async {
        loop {
            if let Some(answer) = ask().await {
                return answer;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    let answer = tokio::time::timeout(PATIENCE, wait).await;
    answer.unwrap_or_else(|_| panic!("it did not come to pass that {what}"))
}
