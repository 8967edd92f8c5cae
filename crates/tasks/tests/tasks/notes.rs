//! What an agent notes about a task is there when it needs it.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use bytes::Bytes;
use nuncio_protocol::{
    message::Message,
    operation::{GetTaskRequest, ListTasksRequest, SendMessageRequest},
    state::TaskState,
    task::Task,
};
use nuncio_tasks::{
    agent::{Agent, Conduct, Failure, Interrupted, Turn},
    engine::{Call, Tasks},
    log::Batch,
    memory::MemoryStore,
    output::{Error, Output},
    scope::{Name, Place, Scope},
    store::{Append, Head, MAX_NOTE_BYTES, Store},
};
use tokio::sync::Notify;

/// Does what it is told, and remembers the note that each turn began with.
#[derive(Clone, Default)]
struct Notary {
    store: Arc<MemoryStore>,
    seen: Arc<Mutex<Vec<Option<Bytes>>>>,
    /// It has come to where it waits for the test, which lets it go on.
    arrived: Arc<Notify>,
    gate: Arc<Notify>,
}

impl Agent for Notary {
    async fn run(&self, turn: Turn, output: Output) -> Result<(), Failure> {
        self.seen.lock().expect("nobody panics with it").push(turn.note.clone());
        match turn.message.text().as_str() {
            "ask" => {
                output.note("asked")?;
                output.ask("which one?").await?;
            }
            "note last" => {
                output.ask("which one?").await?;
                output.flush().await?;
                output.note("behind the last event")?;
            }
            "flush" => {
                output.flush().await?;
                output.note("alone")?;
                output.flush().await?;
                assert_eq!(self.on_disk(&turn).await, Some(Bytes::from("alone")));
                output.flush().await?;
                output.note("with an event")?;
                output.working("on it").await?;
                output.flush().await?;
                assert_eq!(self.on_disk(&turn).await, Some(Bytes::from("with an event")));
            }
            "too large" => {
                output.note("small")?;
                let bytes = MAX_NOTE_BYTES + 1;
                let refused = output.note(vec![0; bytes]);
                assert_eq!(refused, Err(Error::NoteTooLarge { bytes }));
                output.note(vec![7; MAX_NOTE_BYTES])?;
                output.ask("more?").await?;
            }
            "hang" if turn.note.is_none() => {
                output.note("where I am")?;
                output.flush().await?;
                self.arrived.notify_one();
                std::future::pending::<()>().await;
            }
            "deaf" => {
                output.note("early")?;
                self.arrived.notify_one();
                self.gate.notified().await;
                output.note("late")?;
            }
            "ask and note" => {
                output.ask("which one?").await?;
                output.flush().await?;
                self.arrived.notify_one();
                self.gate.notified().await;
                output.note("late")?;
            }
            _ => {}
        }
        Ok(())
    }

    fn conduct(&self) -> Conduct {
        Conduct { interrupted: Interrupted::Resume, listens: true, ..Conduct::default() }
    }
}

impl Notary {
    fn engine(&self) -> Tasks {
        let store: Arc<dyn Store> = self.store.clone();
        Tasks::builder(store).agent(name("notary"), self.clone()).start()
    }

    async fn on_disk(&self, turn: &Turn) -> Option<Bytes> {
        self.note_of(&turn.task).await
    }

    async fn note_of(&self, task: &Task) -> Option<Bytes> {
        let head = self.head_of(task).await;
        self.store.note(head.reference).await.expect("the store answers")
    }

    async fn head_of(&self, task: &Task) -> Head {
        let head = self.store.find(&Scope::from(&place()), &task.id).await;
        head.expect("the store answers").expect("the task is there")
    }

    #[track_caller]
    fn check_seen(&self, expected: &[Option<&str>]) {
        let seen = self.seen.lock().expect("nobody panics with it");
        let seen: Vec<Option<&[u8]>> = seen.iter().map(|note| note.as_deref()).collect();
        let expected: Vec<Option<&[u8]>> =
            expected.iter().map(|note| note.map(str::as_bytes)).collect();
        assert_eq!(seen, expected);
    }
}

fn name(text: &str) -> Name {
    Name::parse(text).expect("a name")
}

fn place() -> Place {
    Place { tenant: name("acme"), agent: name("notary"), caller: name("ann") }
}

fn say(text: &str) -> SendMessageRequest {
    SendMessageRequest::new(Message::user(text))
}

async fn send(tasks: &Tasks, to: Option<&Task>, text: &str) -> Task {
    let mut request = say(text);
    request.message.task_id = to.map(|task| task.id.clone());
    let answer = tasks.send(&Call::new(place()), request).await.expect("it is taken");
    answer.into_task().expect("a task")
}

#[tokio::test]
async fn a_later_turn_has_the_note_of_an_earlier_one() {
    for (first, noted) in [("ask", "asked"), ("note last", "behind the last event")] {
        let notary = Notary::default();
        let tasks = notary.engine();
        let asked = send(&tasks, None, first).await;
        let done = send(&tasks, Some(&asked), "this").await;
        assert_eq!(done.status.state, TaskState::Completed);
        notary.check_seen(&[None, Some(noted)]);
        assert_eq!(notary.note_of(&done).await, Some(Bytes::from(noted)));
    }
}

#[tokio::test]
async fn a_flush_writes_a_note_with_or_without_an_event() {
    let notary = Notary::default();
    let done = send(&notary.engine(), None, "flush").await;
    assert_eq!(done.status.state, TaskState::Completed, "{:?}", done.status.message);
}

#[tokio::test]
async fn too_large_a_note_is_refused_and_the_one_before_stays() {
    let notary = Notary::default();
    let tasks = notary.engine();
    let asked = send(&tasks, None, "too large").await;
    assert_eq!(asked.status.state, TaskState::InputRequired, "{:?}", asked.status.message);
    assert_eq!(notary.note_of(&asked).await, Some(Bytes::from(vec![7; MAX_NOTE_BYTES])));
}

/// What a dead process has noted is there for whoever goes on with its work.
#[tokio::test(start_paused = true)]
async fn work_that_is_taken_over_has_its_note() {
    let notary = Notary::default();
    let first = notary.engine();
    let waiting = tokio::spawn({
        let first = first.clone();
        async move { send(&first, None, "hang").await }
    });
    notary.arrived.notified().await;
    first.stop(Duration::ZERO).await;
    let task = waiting.await.unwrap();
    let second = notary.engine();
    while notary.seen.lock().unwrap().len() < 2 {
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
    second.stop(Duration::from_secs(60)).await;
    notary.check_seen(&[None, Some("where I am")]);
    assert_eq!(notary.note_of(&task).await, Some(Bytes::from("where I am")));
}

/// A message that was not read begins another turn before anything was written.
#[tokio::test]
async fn a_second_turn_of_the_same_work_has_the_newest_note() {
    let notary = Notary::default();
    let tasks = notary.engine();
    let first = tokio::spawn({
        let tasks = tasks.clone();
        async move { send(&tasks, None, "deaf").await }
    });
    notary.arrived.notified().await;
    let page = tasks.list(&Call::new(place()), ListTasksRequest::default()).await.unwrap();
    let task = page.into_value().unwrap().tasks.remove(0);
    let second = tokio::spawn({
        let (tasks, task) = (tasks.clone(), task.clone());
        async move { send(&tasks, Some(&task), "more").await }
    });
    while messages_of(&tasks, &task).await < 2 {
        tokio::task::yield_now().await;
    }
    notary.gate.notify_one();
    assert_eq!(first.await.unwrap().status.state, TaskState::Completed);
    second.await.unwrap();
    notary.check_seen(&[None, Some("late")]);
    assert_eq!(notary.note_of(&task).await, Some(Bytes::from("late")));
}

/// The last words of a turn come too late, and are not needed any more; the note is.
#[tokio::test]
async fn a_note_outlives_words_that_were_overtaken() {
    let notary = Notary::default();
    let tasks = notary.engine();
    let first = tokio::spawn({
        let tasks = tasks.clone();
        async move { send(&tasks, None, "ask and note").await }
    });
    notary.arrived.notified().await;
    let asked = first.await.unwrap();
    // Another process, of which this one has not heard yet.
    let head = notary.head_of(&asked).await;
    let mut batch = Batch::follow(head.id.clone(), head.context.clone(), head.state);
    batch.input(Message::user("this"), head.updated).unwrap();
    notary.store.append(Append::signal(head.reference, batch)).await.unwrap();
    notary.gate.notify_one();
    for _ in 0..100 {
        tokio::task::yield_now().await;
    }
    // Whoever speaks next makes it hear of both.
    send(&tasks, Some(&asked), "and this").await;
    notary.check_seen(&[None, Some("late"), Some("late")]);
    assert_eq!(notary.note_of(&asked).await, Some(Bytes::from("late")));
}

/// Counts the messages that are in the log.
async fn messages_of(tasks: &Tasks, task: &Task) -> usize {
    let request = GetTaskRequest { tenant: None, id: task.id.clone(), history_length: None };
    let found = tasks.get(&Call::new(place()), request).await.expect("the task is there");
    found.into_value().expect("a task").history.len()
}
