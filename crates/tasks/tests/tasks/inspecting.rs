//! Rows and logs, as those see them who look after the tasks of many.

use std::{sync::Arc, time::Duration};

use futures_util::StreamExt as _;
use nuncio_protocol::{
    error::ErrorKind, message::Message, operation::SendMessageRequest, state::TaskState,
};
use nuncio_tasks::{
    agent::{Agent, Failure, Turn},
    engine::{Call, Logged, Tasks},
    log::{Kind, Seq},
    memory::MemoryStore,
    output::Output,
    scope::{Name, Place, Scope},
    store::{Filter, Limit, Retention, Store as _},
};

/// Asks back what it is told to ask, and otherwise says that it is done.
struct Clerk;

impl Agent for Clerk {
    async fn run(&self, turn: Turn, output: Output) -> Result<(), Failure> {
        match turn.message.text().as_str() {
            "ask" => output.ask("which one?").await?,
            _ => output.text("done").await?,
        }
        Ok(())
    }
}

const PAGE: Limit = Limit { entries: 100, bytes: 1 << 20 };

fn name(text: &str) -> Name {
    Name::parse(text).expect("a name")
}

fn place(agent: &str, caller: &str) -> Place {
    Place { tenant: name("acme"), agent: name(agent), caller: name(caller) }
}

fn engine() -> (Arc<MemoryStore>, Tasks) {
    let store = Arc::new(MemoryStore::new());
    let tasks = Tasks::builder(Arc::<MemoryStore>::clone(&store));
    (store, tasks.agent(name("one"), Clerk).agent(name("two"), Clerk).start())
}

async fn send(tasks: &Tasks, call: &Call, text: &str) -> nuncio_protocol::task::Task {
    let request = SendMessageRequest::new(Message::user(text));
    let sent = tasks.send(call, request).await.expect("it is taken");
    sent.into_task().expect("a task")
}

#[tokio::test]
async fn rows_of_several_scopes_come_in_one_order_and_each_task_once() {
    let (_store, tasks) = engine();
    let mut mine = Vec::new();
    // The third is in both scopes: it asks itself.
    for (agent, caller) in
        [("one", "user:ann"), ("two", "agent:one"), ("one", "agent:one"), ("two", "user:ann")]
    {
        let sent = send(&tasks, &Call::new(place(agent, caller)), &format!("of {caller}")).await;
        if agent == "one" || caller == "agent:one" {
            mine.insert(0, sent.id);
        }
    }
    let all = Scope::tenant(name("acme"));
    let scopes = [
        Scope { agent: Some(name("one")), ..all.clone() },
        Scope { caller: Some(name("agent:one")), ..all },
    ];
    for size in 1..=4 {
        let (mut found, mut token) = (Vec::new(), String::new());
        loop {
            let page = tasks.rows(&scopes, Filter::default(), (&token, size)).await.unwrap();
            assert!(page.rows.len() <= size);
            found.extend(page.rows.into_iter().map(|row| row.head.id));
            token = page.next_page_token;
            if token.is_empty() {
                break;
            }
        }
        assert_eq!(found, mine, "{size} at once");
    }
    let page = tasks.rows(&scopes, Filter::default(), ("", 1)).await.unwrap();
    let other = tasks.rows(&scopes[..1], Filter::default(), (&page.next_page_token, 1)).await;
    assert_eq!(other.unwrap_err().kind(), ErrorKind::InvalidParams);
    assert!(tasks.rows(&[], Filter::default(), ("", 9)).await.unwrap().rows.is_empty());
}

#[tokio::test]
async fn a_row_says_what_was_asked_and_for_which_task() {
    let (store, tasks) = engine();
    let ann = place("one", "user:ann");
    let above = send(&tasks, &Call::new(ann.clone()), "ask").await;
    let call = Call { parent: Some(above.id.clone()), ..Call::new(ann.clone()) };
    let long = "ä".repeat(2_000);
    let below = send(&tasks, &call, &long).await;
    let scope = Scope::from(&ann);
    let row = tasks.row(&scope, &below.id).await.unwrap();
    assert_eq!((row.asked.chars().count(), row.parent), (1_000, Some(above.id.clone())));
    let row = tasks.row(&scope, &above.id).await.unwrap();
    assert_eq!((&*row.asked, row.status.state), ("ask", TaskState::InputRequired));
    assert!(row.began.is_some_and(|began| began <= row.head.updated), "{row:?}");
    let hidden = tasks.row(&Scope::from(&place("one", "user:bob")), &above.id).await;
    assert_eq!(hidden.unwrap_err().kind(), ErrorKind::TaskNotFound);

    // The log may be gone before the task is.
    let logs = Retention { logs: Some(Duration::ZERO), ..Retention::default() };
    store.sweep(&logs, 100).await.unwrap();
    let row = tasks.row(&scope, &below.id).await.unwrap();
    assert_eq!((row.asked.chars().count(), row.began), (1_000, None));
}

#[tokio::test]
async fn a_log_is_read_and_followed_with_the_same_numbers_to_its_end() {
    let (_store, tasks) = engine();
    let call = Call::new(place("one", "user:ann"));
    let scope = Scope::from(&call.place);
    let task = send(&tasks, &call, "ask").await;
    let mut following = Box::pin(tasks.follow_log(&scope, &task.id, Seq(1)).await.unwrap());
    let mut answer = Message::user("the blue one");
    answer.task_id = Some(task.id.clone());
    tasks.send(&call, SendMessageRequest::new(answer)).await.unwrap();
    let whole = tasks.log(&scope, &task.id, Seq::START, PAGE).await.unwrap();
    assert_eq!((whole.entries[0].record.kind, whole.is_gap), (Kind::Opened, false));
    assert_eq!((whole.state, whole.reached.0), (TaskState::Completed, whole.entries.len() as u64));
    let input = whole.entries.iter().find(|entry| entry.record.kind == Kind::Input).unwrap();
    let said = input.record.message.as_ref().unwrap().value().unwrap();
    assert_eq!(said.text(), "the blue one");
    for expected in &whole.entries[1..] {
        let Some(Ok(Logged::Entry(entry))) = following.next().await else { panic!("an entry") };
        assert_eq!(entry, *expected);
    }
    assert!(following.next().await.is_none(), "the task has ended");
    let one = Limit { entries: 1, ..PAGE };
    let page = tasks.log(&scope, &task.id, Seq(2), one).await.unwrap();
    assert_eq!(page.entries, whole.entries[2..3]);
    let beyond = tasks.follow_log(&scope, &task.id, Seq(99)).await.err().unwrap();
    assert_eq!(beyond.kind(), ErrorKind::InvalidParams);
}

#[tokio::test]
async fn whoever_reads_a_log_that_is_gone_gets_the_task() {
    let (store, tasks) = engine();
    let call = Call::new(place("one", "user:ann"));
    let scope = Scope::from(&call.place);
    let task = send(&tasks, &call, "hello").await;
    let logs = Retention { logs: Some(Duration::ZERO), ..Retention::default() };
    store.sweep(&logs, 100).await.unwrap();
    let page = tasks.log(&scope, &task.id, Seq::START, PAGE).await.unwrap();
    assert!(page.is_gap && page.entries.is_empty());
    let mut following = Box::pin(tasks.follow_log(&scope, &task.id, Seq::START).await.unwrap());
    let Some(Ok(Logged::Snapshot(seq, found))) = following.next().await else { panic!("a task") };
    assert_eq!((seq, found.id), (page.reached, task.id));
    assert!(following.next().await.is_none());
}
