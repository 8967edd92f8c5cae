//! What an agent can rely on that speaks for another one somewhere else.

use std::{sync::Arc, time::Duration};

use futures_util::StreamExt as _;
use nuncio_protocol::{
    error::{Error, ErrorKind},
    json::Object,
    message::Message,
    operation::{
        CancelTaskRequest, GetTaskRequest, ListTasksRequest, SendMessageConfiguration,
        SendMessageRequest, SubscribeToTaskRequest,
    },
    state::TaskState,
    task::{StreamResponse, Task},
};
use nuncio_tasks::{
    agent::{Agent, Agents, Cause, Conduct, Employed, Failure, Interrupted, Turn, Wait},
    engine::{Call, Sent, Tasks},
    memory::MemoryStore,
    output::Output,
    scope::{Name, Place},
};

/// Speaks first, and hears of every cancel.
struct Proxy;

impl Agent for Proxy {
    async fn run(&self, turn: Turn, output: Output) -> Result<(), Failure> {
        if turn.cause == Cause::Cancel {
            return stop(&turn, &output).await;
        }
        match turn.message.text().as_str() {
            "reply" => output.reply(Message::agent("hello")).await?,
            "refuse" => {
                let error = Error::new(ErrorKind::ContentTypeNotSupported, "no pictures");
                output.refuse(error, TaskState::Rejected).await?;
            }
            "lose" => {
                let error = Error::new(ErrorKind::Unavailable, "nobody knows");
                output.refuse_for_good(error, TaskState::Failed).await?;
            }
            "ask" => output.ask("which one?").await?,
            "wrong answer" => {
                let error = Error::new(ErrorKind::InvalidParams, "neither of them");
                output.refuse(error, TaskState::InputRequired).await?;
            }
            "how" => {
                let asked = turn.asked;
                let metadata = asked.metadata.map(|data| data.as_str().to_owned());
                let text = format!("{:?} {:?} {:?}", asked.wait, asked.output_modes, metadata);
                output.text(text).await?;
            }
            "stubborn" => {
                output.working("begun").await?;
                turn.cancelled().await;
                output.keep_on("it is in the post").await?;
                turn.cancelled().await;
                output.status(TaskState::Canceled, Some(Message::agent("called back"))).await?;
            }
            "later" => {
                output.note("in line")?;
                output.postpone(Message::agent("two before you")).await?;
                turn.cancelled().await;
                output.reply(Message::agent("at last")).await?;
            }
            _ => output.text("done").await?,
        }
        Ok(())
    }

    fn conduct(&self) -> Conduct {
        Conduct {
            interrupted: Interrupted::Resume,
            cancel_grace: Duration::from_secs(60),
            hears_cancels: true,
            speaks_first: true,
            ..Conduct::default()
        }
    }
}

async fn stop(turn: &Turn, output: &Output) -> Result<(), Failure> {
    turn.cancelled().await;
    output.status(TaskState::Canceled, Some(Message::agent("told the other one"))).await?;
    Ok(())
}

/// Finds the agent `proxy` of `acme`, and no other.
struct Found;

impl Agents for Found {
    fn find(&self, place: &Place) -> Option<Employed> {
        let is_there = (place.tenant.as_str(), place.agent.as_str()) == ("acme", "proxy");
        is_there.then(|| Employed::new(Proxy))
    }
}

fn tasks() -> Tasks {
    Tasks::builder(Arc::new(MemoryStore::default())).agents(Arc::new(Found)).start()
}

fn call_to(agent: &str) -> Call {
    let name = |text: &str| Name::parse(text).expect("a name");
    Call::new(Place { tenant: name("acme"), agent: name(agent), caller: name("ann") })
}

fn call() -> Call {
    call_to("proxy")
}

fn say(text: &str) -> SendMessageRequest {
    SendMessageRequest::new(Message::user(text))
}

fn say_to(task: &Task, text: &str) -> SendMessageRequest {
    let mut request = say(text);
    request.message.task_id = Some(task.id.clone());
    request
}

async fn send(tasks: &Tasks, request: SendMessageRequest) -> Task {
    let sent = tasks.send(&call(), request).await.expect("it is taken");
    sent.into_task().expect("a task")
}

async fn get(tasks: &Tasks, task: &Task) -> Task {
    let request = GetTaskRequest { tenant: None, id: task.id.clone(), history_length: None };
    tasks.get(&call(), request).await.expect("it is there").into_value().expect("readable")
}

async fn cancel(tasks: &Tasks, task: &Task) -> Result<Task, Error> {
    let request = CancelTaskRequest { tenant: None, id: task.id.clone(), metadata: None };
    Ok(tasks.cancel(&call(), request).await?.into_value().expect("readable"))
}

/// Returns the only task there is.
async fn only_task(tasks: &Tasks) -> Task {
    let page = tasks.list(&call(), ListTasksRequest::default()).await.expect("a page");
    let page = page.into_value().expect("readable");
    let [task] = <[Task; 1]>::try_from(page.tasks).expect("one task");
    task
}

#[tokio::test]
async fn an_answer_without_a_task_reaches_who_waits_and_is_kept_as_one() {
    let (tasks, other) = (tasks(), tasks());
    let sent = tasks.send(&call(), say("reply")).await.unwrap();
    assert!(matches!(sent, Sent::Message(message) if message.text() == "hello"));
    let kept = only_task(&tasks).await;
    assert_eq!(kept.status.state, TaskState::Completed);
    assert_eq!(kept.status.message.unwrap().text(), "hello");

    let events: Vec<_> = other.stream(&call(), say("reply")).await.unwrap().collect().await;
    let [Ok(event)] = &events[..] else { panic!("one event: {events:?}") };
    assert!(matches!(event.response.value(), Ok(StreamResponse::Message(_))));
}

#[tokio::test]
async fn a_refusal_reaches_who_waits_as_the_error_that_it_is() {
    let tasks = tasks();
    for answer in [
        tasks.send(&call(), say("refuse")).await.map(drop),
        tasks.stream(&call(), say("refuse")).await.map(drop),
    ] {
        let error = answer.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::ContentTypeNotSupported);
        assert_eq!(error.message(), "no pictures");
    }
    let mut request = say("refuse");
    request.configuration =
        Some(SendMessageConfiguration { return_immediately: true, ..Default::default() });
    let task = send(&tasks, request).await;
    let mut events = tasks
        .subscribe(
            &Call { last_event: Some(1), ..call() },
            SubscribeToTaskRequest { tenant: None, id: task.id.clone() },
        )
        .await
        .unwrap();
    while events.next().await.is_some() {}
    let task = get(&tasks, &task).await;
    assert_eq!(task.status.state, TaskState::Rejected, "who does not wait finds it in the task");
    assert_eq!(task.status.message.unwrap().text(), "no pictures");
}

#[tokio::test]
async fn a_key_stays_with_a_task_of_which_nobody_knows_whether_it_was_done() {
    let tasks = tasks();
    for (text, is_kept) in [("refuse", false), ("lose", true)] {
        let keyed = Call { key: Some(text.to_owned()), ..call() };
        let request = say(text);
        tasks.send(&keyed, request.clone()).await.unwrap_err();
        let again = tasks.send(&keyed, request).await.map(Sent::into_task);
        match again {
            Ok(Some(task)) => assert_eq!((task.status.state, is_kept), (TaskState::Failed, true)),
            other => assert_eq!((other.is_err(), is_kept), (true, false), "{text}: {other:?}"),
        }
    }
}

#[tokio::test]
async fn an_answer_that_is_refused_leaves_the_question_open() {
    let tasks = tasks();
    let task = send(&tasks, say("ask")).await;
    let error = tasks.send(&call(), say_to(&task, "wrong answer")).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidParams);
    assert_eq!(get(&tasks, &task).await.status.state, TaskState::InputRequired);
    assert_eq!(send(&tasks, say_to(&task, "this")).await.status.state, TaskState::Completed);
}

#[tokio::test]
async fn an_agent_knows_how_it_was_asked() {
    let tasks = tasks();
    let mut request = say("how");
    request.metadata = Some(Object::parse_text(r#"{"a":1}"#).unwrap());
    request.configuration = Some(SendMessageConfiguration {
        accepted_output_modes: vec!["text/plain".to_owned()],
        ..Default::default()
    });
    let text = send(&tasks, request).await.artifacts[0].text();
    let expected = (Wait::End, r#"["text/plain"] Some("{\"a\":1}")"#);
    assert_eq!(text, format!("{:?} {}", expected.0, expected.1));
}

#[tokio::test]
async fn who_wants_work_to_end_that_cannot_is_told_why_and_it_goes_on() {
    let tasks = tasks();
    let mut request = say("stubborn");
    request.configuration =
        Some(SendMessageConfiguration { return_immediately: true, ..Default::default() });
    let task = send(&tasks, request).await;
    let error = cancel(&tasks, &task).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::TaskNotCancelable);
    assert_eq!(error.message(), "it is in the post");
    assert_eq!(get(&tasks, &task).await.status.state, TaskState::Working);
    let task = cancel(&tasks, &task).await.unwrap();
    assert_eq!(task.status.state, TaskState::Canceled);
    assert_eq!(task.status.message.unwrap().text(), "called back");
}

#[tokio::test]
async fn an_agent_that_waits_for_its_caller_hears_of_a_cancel() {
    let tasks = tasks();
    let task = send(&tasks, say("ask")).await;
    let task = cancel(&tasks, &task).await.unwrap();
    assert_eq!(task.status.state, TaskState::Canceled);
    assert_eq!(task.status.message.unwrap().text(), "told the other one");
}

#[tokio::test]
async fn agents_that_nobody_finds_take_no_messages() {
    let error = tasks().send(&call_to("nobody"), say("hello")).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unavailable);
}

#[tokio::test]
async fn who_waits_for_work_that_begins_later_gets_the_task_as_it_stands() {
    let tasks = tasks();
    let task = send(&tasks, say("later")).await;
    assert_eq!(task.status.state, TaskState::Submitted);
    assert_eq!(task.status.message.as_ref().unwrap().text(), "two before you");
    let mut events = tasks.stream(&call(), say("later")).await.unwrap();
    let first = events.next().await.unwrap().unwrap();
    assert!(matches!(first.response.value(), Ok(StreamResponse::Task(_))));
    let task = cancel(&tasks, &task).await.unwrap();
    assert_eq!(task.status.message.unwrap().text(), "at last", "what it says then is kept");
}
