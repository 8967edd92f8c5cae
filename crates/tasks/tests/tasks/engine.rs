//! What callers and agents can rely on, over the in-memory store.

use std::{
    pin::pin,
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
        mpsc,
    },
    time::Duration,
};

use futures_util::{StreamExt as _, poll};
use nuncio_protocol::{
    error::{Error, ErrorKind},
    ids::{ArtifactId, ContextId, TaskId},
    message::{Message, Part},
    operation::{
        CancelTaskRequest, GetTaskRequest, ListTasksRequest, SendMessageConfiguration,
        SendMessageRequest, SubscribeToTaskRequest,
    },
    service::Events,
    state::TaskState,
    task::{Artifact, StreamResponse, Task},
};
use nuncio_tasks::{
    agent::{Agent, Cause, Conduct, Failure, Interrupted, Turn},
    engine::{Call, Sent, Settings, Tasks},
    memory::MemoryStore,
    output::{Chunk, Output},
    scope::{Name, Place},
    store::{Claim, Keep, Lease, Store, Wake},
};
use tokio::sync::Notify;

/// An agent made of a function, with a gate that holds it where the test wants it.
struct Scripted {
    conduct: Conduct,
    gate: Arc<Notify>,
    runs: Arc<AtomicUsize>,
}

impl Agent for Scripted {
    async fn run(&self, turn: Turn, output: Output) -> Result<(), Failure> {
        self.runs.fetch_add(1, Ordering::SeqCst);
        let text = turn.message.text();
        if turn.cause == Cause::WakeUp {
            output.working("woken").await?;
            return Ok(());
        }
        match text.as_str() {
            "echo" => output.text("echo").await?,
            "wait" => {
                output.working("waiting").await?;
                self.gate.notified().await;
                output.text("waited").await?;
            }
            "pause" => {
                tokio::task::yield_now().await;
                output.text("paused").await?;
            }
            "ask" => output.ask("which one?").await?,
            "chunks" => chunks(&output).await?,
            "fail" => return Err(Failure::new("no")),
            "secret" => return Err(std::io::Error::other("/etc/passwd").into()),
            "panic" => panic!("on purpose"),
            "listen" => {
                output.ask("go on").await?;
                output.text(turn.input().await.text()).await?;
            }
            "wake" => {
                output.ask("later").await?;
                output.wake(Wake::After(Duration::from_secs(3)));
            }
            "hang" => std::future::pending().await,
            "after-end" => {
                output.status(TaskState::Completed, None).await?;
                assert!(output.text("too late").await.is_err());
            }
            _ => output.text(format!("heard {text}")).await?,
        }
        Ok(())
    }

    async fn reply(&self, message: &Message, _: &Place) -> Result<Option<Message>, Failure> {
        match message.text().as_str() {
            "ping" => Ok(Some(Message::agent("pong"))),
            "deny" => Err(Failure::new("not that")),
            "reply-panic" => panic!("on purpose"),
            _ => Ok(None),
        }
    }

    fn conduct(&self) -> Conduct {
        self.conduct
    }
}

async fn chunks(output: &Output) -> Result<(), nuncio_tasks::output::Error> {
    let artifact =
        |text: &str| Artifact::new(ArtifactId::parse("a").expect("an id"), vec![Part::text(text)]);
    output.put(artifact("one"), Chunk { append: false, last: false }).await?;
    output.put(artifact("two"), Chunk { append: true, last: false }).await?;
    output.put(artifact("three"), Chunk { append: true, last: true }).await
}

struct House {
    tasks: Tasks,
    store: Arc<MemoryStore>,
    gate: Arc<Notify>,
    runs: Arc<AtomicUsize>,
}

fn house(change: impl FnOnce(&mut Conduct)) -> House {
    house_on(Arc::default(), change)
}

fn house_on(store: Arc<MemoryStore>, change: impl FnOnce(&mut Conduct)) -> House {
    let mut conduct = Conduct::default();
    change(&mut conduct);
    let (gate, runs) = (Arc::default(), Arc::default());
    let agent = Scripted { conduct, gate: Arc::clone(&gate), runs: Arc::clone(&runs) };
    let store_for_engine: Arc<dyn Store> = store.clone();
    let tasks = Tasks::builder(store_for_engine).agent(name("scripted"), agent).start();
    House { tasks, store, gate, runs }
}

fn name(text: &str) -> Name {
    Name::parse(text).expect("a name")
}

fn call_of(caller: &str) -> Call {
    Call::new(Place { tenant: name("acme"), agent: name("scripted"), caller: name(caller) })
}

fn call() -> Call {
    call_of("ann")
}

fn keyed(key: &str) -> Call {
    Call { key: Some(key.to_owned()), ..call() }
}

fn claim() -> Claim {
    let lease = Lease { owner: name("next"), lasts: Duration::from_secs(15) };
    let agents = vec![name("scripted")];
    Claim { lease, agents, orphaned_after: Duration::ZERO, most: 10 }
}

fn say(text: &str) -> SendMessageRequest {
    SendMessageRequest::new(Message::user(text))
}

fn say_to(task: &Task, text: &str) -> SendMessageRequest {
    let mut request = say(text);
    request.message.task_id = Some(task.id.clone());
    request
}

fn at_once(mut request: SendMessageRequest) -> SendMessageRequest {
    request.configuration =
        Some(SendMessageConfiguration { return_immediately: true, ..Default::default() });
    request
}

fn get(task: &TaskId) -> GetTaskRequest {
    GetTaskRequest { tenant: None, id: task.clone(), history_length: None }
}

fn cancel(task: &TaskId) -> CancelTaskRequest {
    CancelTaskRequest { tenant: None, id: task.clone(), metadata: None }
}

fn subscribe(task: &TaskId) -> SubscribeToTaskRequest {
    SubscribeToTaskRequest { tenant: None, id: task.clone() }
}

fn message(sent: Sent) -> Message {
    match sent {
        Sent::Message(message) => message,
        Sent::Task(task) => panic!("a task: {task:?}"),
    }
}

async fn all(events: Events) -> Vec<(u64, StreamResponse)> {
    let items: Vec<_> = events.collect().await;
    let read = |item: Result<nuncio_protocol::service::Event, Error>| {
        let event = item.expect("an event");
        let response = event.response.value().expect("readable").clone();
        (event.seq.expect("a seq"), response)
    };
    items.into_iter().map(read).collect()
}

#[track_caller]
fn check_error<T: std::fmt::Debug>(result: Result<T, Error>, kind: ErrorKind) {
    assert_eq!(result.expect_err("an error").kind(), kind);
}

fn texts(task: &Task) -> Vec<String> {
    task.artifacts.iter().map(Artifact::text).collect()
}

#[tokio::test]
async fn a_message_becomes_a_completed_task() {
    let house = house(|_| {});
    let task = house.tasks.send(&call(), say("echo")).await.unwrap().into_task().unwrap();
    assert_eq!(task.status.state, TaskState::Completed);
    assert_eq!(texts(&task), ["echo"]);
    assert_eq!(task.history.len(), 1);
    assert_eq!(house.tasks.get(&call(), get(&task.id)).await.unwrap().into_value().unwrap(), task);
}

#[tokio::test]
async fn an_early_turn_gives_the_same_task() {
    let house = house(|conduct| conduct.begins_early = true);
    let task = house.tasks.send(&call(), say("echo")).await.unwrap().into_task().unwrap();
    assert_eq!(task.status.state, TaskState::Completed);
    assert_eq!(texts(&task), ["echo"]);
    assert_eq!(house.tasks.get(&call(), get(&task.id)).await.unwrap().into_value().unwrap(), task);
    let asked = house.tasks.send(&call(), say("ask")).await.unwrap().into_task().unwrap();
    let done =
        house.tasks.send(&call(), say_to(&asked, "this")).await.unwrap().into_task().unwrap();
    assert_eq!(texts(&done), ["heard this"]);
}

#[tokio::test]
async fn a_stream_begins_with_the_task_and_ends_with_its_end() {
    let house = house(|_| {});
    let events = all(house.tasks.stream(&call(), say("chunks")).await.unwrap()).await;
    let seqs: Vec<u64> = events.iter().map(|(seq, _)| *seq).collect();
    assert_eq!(seqs, [1, 2, 3, 4, 5]);
    assert!(matches!(&events[0].1, StreamResponse::Task(task) if task.history.len() == 1));
    assert_eq!(events[4].1.state(), Some(TaskState::Completed));
}

#[tokio::test]
async fn chunks_are_merged_in_the_task() {
    let house = house(|_| {});
    let task = house.tasks.send(&call(), say("chunks")).await.unwrap().into_task().unwrap();
    assert_eq!(texts(&task), ["one\ntwo\nthree"]);
}

#[tokio::test]
async fn return_immediately_answers_with_the_submitted_task() {
    let house = house(|_| {});
    let task = house.tasks.send(&call(), at_once(say("wait"))).await.unwrap().into_task().unwrap();
    assert_eq!(task.status.state, TaskState::Submitted);
    house.gate.notify_one();
    let events = house.tasks.subscribe(&call(), subscribe(&task.id)).await.unwrap();
    let last = all(events).await.pop().unwrap();
    assert_eq!(last.1.state(), Some(TaskState::Completed));
}

#[tokio::test(start_paused = true)]
async fn a_wait_over_its_limit_answers_with_the_live_task() {
    let house = house(|_| {});
    let task = house.tasks.send(&call(), say("hang")).await.unwrap().into_task().unwrap();
    assert_eq!(task.status.state, TaskState::Submitted);
}

#[tokio::test]
async fn a_question_is_answered_and_the_history_keeps_the_order() {
    let house = house(|_| {});
    let asked = house.tasks.send(&call(), say("ask")).await.unwrap().into_task().unwrap();
    assert_eq!(asked.status.state, TaskState::InputRequired);
    let done =
        house.tasks.send(&call(), say_to(&asked, "this")).await.unwrap().into_task().unwrap();
    assert_eq!(done.status.state, TaskState::Completed);
    let said: Vec<String> = done.history.iter().map(Message::text).collect();
    assert_eq!(said, ["ask", "which one?", "this"]);
    assert_eq!(done.context_id, asked.context_id);
}

#[tokio::test]
async fn a_stream_of_an_answer_begins_with_the_task_as_of_the_answer() {
    let house = house(|_| {});
    let asked = house.tasks.send(&call(), say("ask")).await.unwrap().into_task().unwrap();
    let events = all(house.tasks.stream(&call(), say_to(&asked, "this")).await.unwrap()).await;
    let seqs: Vec<u64> = events.iter().map(|(seq, _)| *seq).collect();
    assert_eq!(seqs, [3, 4, 5]);
    assert!(matches!(&events[0].1, StreamResponse::Task(task) if task.history.len() == 3));
}

#[tokio::test]
async fn a_stream_ends_where_input_is_required_but_a_subscription_goes_on() {
    let house = house(|_| {});
    let events = all(house.tasks.stream(&call(), say("ask")).await.unwrap()).await;
    assert_eq!(events.last().unwrap().1.state(), Some(TaskState::InputRequired));
    let StreamResponse::Task(task) = &events[0].1 else { panic!("no task") };
    let subscription = house.tasks.subscribe(&call(), subscribe(&task.id)).await.unwrap();
    house.tasks.send(&call(), say_to(task, "this")).await.unwrap().into_task().unwrap();
    let seqs: Vec<u64> = all(subscription).await.into_iter().map(|(seq, _)| seq).collect();
    assert_eq!(seqs, [2, 3, 4, 5]);
}

#[tokio::test]
async fn a_returning_reader_misses_nothing_and_gets_nothing_twice() {
    let house = house(|_| {});
    let task = house.tasks.send(&call(), say("chunks")).await.unwrap().into_task().unwrap();
    for seen in 0..=5 {
        let returning = Call { last_event: Some(seen), ..call() };
        let events = house.tasks.subscribe(&returning, subscribe(&task.id)).await.unwrap();
        let events = all(events).await;
        let seqs: Vec<u64> = events.iter().map(|(seq, _)| *seq).collect();
        assert_eq!(seqs, (seen.max(1)..=5).collect::<Vec<_>>(), "after {seen}");
        assert!(matches!(&events[0].1, StreamResponse::Task(_)));
    }
    let ahead = Call { last_event: Some(6), ..call() };
    check_error(
        house.tasks.subscribe(&ahead, subscribe(&task.id)).await.map(|_| ()),
        ErrorKind::InvalidParams,
    );
}

#[tokio::test]
async fn the_task_as_of_an_event_is_what_the_events_up_to_it_make() {
    let house = house(|_| {});
    let task = house.tasks.send(&call(), say("chunks")).await.unwrap().into_task().unwrap();
    let returning = Call { last_event: Some(3), ..call() };
    let events = all(house.tasks.subscribe(&returning, subscribe(&task.id)).await.unwrap()).await;
    let StreamResponse::Task(then) = &events[0].1 else { panic!("no task") };
    assert_eq!(texts(then), ["one\ntwo"]);
    assert_eq!(then.status.state, TaskState::Submitted);
}

#[tokio::test]
async fn all_subscribers_share_one_text_of_an_event() {
    let house = house(|_| {});
    let task = house.tasks.send(&call(), at_once(say("wait"))).await.unwrap().into_task().unwrap();
    let mut streams = Vec::new();
    for _ in 0..10 {
        streams.push(house.tasks.subscribe(&call(), subscribe(&task.id)).await.unwrap());
    }
    house.gate.notify_one();
    let mut texts = Vec::new();
    for stream in streams {
        let last = stream.collect::<Vec<_>>().await.pop().unwrap().unwrap();
        texts.push(last.response.json().as_ptr());
    }
    texts.dedup();
    assert_eq!(texts.len(), 1);
}

#[tokio::test]
async fn subscribing_to_an_ended_task_is_refused_without_a_place() {
    let house = house(|_| {});
    let task = house.tasks.send(&call(), say("echo")).await.unwrap().into_task().unwrap();
    check_error(
        house.tasks.subscribe(&call(), subscribe(&task.id)).await.map(|_| ()),
        ErrorKind::UnsupportedOperation,
    );
}

#[tokio::test]
async fn a_cancel_reaches_the_work_and_ends_it() {
    let house = house(|_| {});
    let task = house.tasks.send(&call(), at_once(say("hang"))).await.unwrap().into_task().unwrap();
    let cancelled =
        house.tasks.cancel(&call(), cancel(&task.id)).await.unwrap().into_value().unwrap();
    assert_eq!(cancelled.status.state, TaskState::Canceled);
    check_error(house.tasks.cancel(&call(), cancel(&task.id)).await, ErrorKind::TaskNotCancelable);
}

#[tokio::test]
async fn a_cancel_ends_a_task_that_waits_for_its_caller() {
    let house = house(|_| {});
    let asked = house.tasks.send(&call(), say("ask")).await.unwrap().into_task().unwrap();
    let cancelled =
        house.tasks.cancel(&call(), cancel(&asked.id)).await.unwrap().into_value().unwrap();
    assert_eq!(cancelled.status.state, TaskState::Canceled);
    check_error(
        house.tasks.send(&call(), say_to(&asked, "this")).await,
        ErrorKind::UnsupportedOperation,
    );
}

#[tokio::test]
async fn a_failure_is_told_but_not_what_only_the_log_should_know() {
    let house = house(|_| {});
    let failed = house.tasks.send(&call(), say("fail")).await.unwrap().into_task().unwrap();
    assert_eq!(failed.status.state, TaskState::Failed);
    assert_eq!(failed.status.message.unwrap().text(), "no");
    let failed = house.tasks.send(&call(), say("secret")).await.unwrap().into_task().unwrap();
    assert_eq!(failed.status.message.unwrap().text(), "the agent failed");
}

/// R25: whatever an agent does, its task fails or the event is refused, and the rest goes on.
#[tokio::test]
async fn r25_a_misbehaving_agent_harms_nobody() {
    let house = house(|_| {});
    let failed = house.tasks.send(&call(), say("panic")).await.unwrap().into_task().unwrap();
    assert_eq!(failed.status.state, TaskState::Failed);
    let done = house.tasks.send(&call(), say("after-end")).await.unwrap().into_task().unwrap();
    assert_eq!(done.status.state, TaskState::Completed);
    assert_eq!(house.tasks.refusals().after_end, 1);
    let task = house.tasks.send(&call(), say("echo")).await.unwrap().into_task().unwrap();
    assert_eq!(task.status.state, TaskState::Completed);
}

#[tokio::test]
async fn what_is_not_yours_is_not_there() {
    let house = house(|_| {});
    let task = house.tasks.send(&call(), say("ask")).await.unwrap().into_task().unwrap();
    let unknown = TaskId::parse("nothing").unwrap();
    let bob = call_of("bob");
    for id in [&task.id, &unknown] {
        check_error(house.tasks.get(&bob, get(id)).await, ErrorKind::TaskNotFound);
        check_error(house.tasks.cancel(&bob, cancel(id)).await, ErrorKind::TaskNotFound);
        let subscribed = house.tasks.subscribe(&bob, subscribe(id)).await;
        check_error(subscribed.map(|_| ()), ErrorKind::TaskNotFound);
        let mut request = say("mine now");
        request.message.task_id = Some(id.clone());
        check_error(house.tasks.send(&bob, request).await, ErrorKind::TaskNotFound);
    }
    let list =
        house.tasks.list(&bob, ListTasksRequest::default()).await.unwrap().into_value().unwrap();
    assert_eq!((list.tasks.len(), list.total_size), (0, 0));
}

#[tokio::test]
async fn the_rules_about_contexts_hold() {
    let house = house(|_| {});
    let mut request = say("ask");
    request.message.context_id = Some(ContextId::parse("mine").unwrap());
    let task = house.tasks.send(&call(), request.clone()).await.unwrap().into_task().unwrap();
    assert_eq!(task.context_id.as_ref().unwrap().as_str(), "mine");
    check_error(house.tasks.send(&call_of("bob"), request).await, ErrorKind::InvalidParams);
    let mut wrong = say_to(&task, "this");
    wrong.message.context_id = Some(ContextId::parse("other").unwrap());
    check_error(house.tasks.send(&call(), wrong).await, ErrorKind::InvalidParams);
}

#[tokio::test]
async fn a_message_to_running_work_is_refused_unless_the_agent_listens() {
    let house = house(|_| {});
    let task = house.tasks.send(&call(), at_once(say("hang"))).await.unwrap().into_task().unwrap();
    check_error(
        house.tasks.send(&call(), say_to(&task, "hello")).await,
        ErrorKind::UnsupportedOperation,
    );
}

#[tokio::test]
async fn a_listening_agent_hears_what_is_said_while_it_works() {
    let house = house(|conduct| conduct.listens = true);
    let events = house.tasks.stream(&call(), say("listen")).await.unwrap();
    let asked = all(events).await;
    let StreamResponse::Task(task) = &asked[0].1 else { panic!("no task") };
    let done = house.tasks.send(&call(), say_to(task, "hello")).await.unwrap().into_task().unwrap();
    assert_eq!(done.status.state, TaskState::Completed);
    assert_eq!(texts(&done), ["hello"]);
    assert_eq!(house.runs.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn the_same_keyed_message_runs_once() {
    let house = house(|_| {});
    let request = say("echo");
    let sends = (0..100).map(|_| {
        let (tasks, request) = (house.tasks.clone(), request.clone());
        tokio::spawn(async move {
            tasks.send(&keyed("k"), request).await.unwrap().into_task().unwrap().id
        })
    });
    let mut ids = Vec::new();
    for send in sends.collect::<Vec<_>>() {
        ids.push(send.await.unwrap());
    }
    ids.dedup();
    assert_eq!(ids.len(), 1);
    assert_eq!(house.runs.load(Ordering::SeqCst), 1);
    check_error(house.tasks.send(&keyed("k"), say("ask")).await, ErrorKind::InvalidParams);
    check_error(house.tasks.send(&keyed(""), say("ask")).await, ErrorKind::InvalidParams);
}

#[tokio::test]
async fn a_stop_does_not_wait_for_work_that_waits_for_an_answer() {
    let house = house(|conduct| conduct.listens = true);
    let asked = house.tasks.send(&call(), say("listen")).await.unwrap().into_task().unwrap();
    assert_eq!(asked.status.state, TaskState::InputRequired);
    let day = Duration::from_secs(86_400);
    tokio::time::timeout(Duration::from_secs(20), house.tasks.stop(day)).await.unwrap();
    // Whoever comes next goes on with it at once.
    let claimed = house.store.claim(claim()).await.unwrap();
    assert_eq!(claimed.len(), 1);
}

#[tokio::test]
async fn the_same_keyed_message_becomes_one_task_also_if_work_begins_early() {
    let house = house(|conduct| conduct.begins_early = true);
    for text in ["echo", "pause"] {
        let send = |request| async { house.tasks.send(&keyed(text), request).await };
        let request = say(text);
        let first = send(request.clone()).await.unwrap().into_task().unwrap();
        let again = send(request.clone()).await.unwrap().into_task().unwrap();
        assert_eq!(first.status.state, TaskState::Completed);
        assert_eq!(again, first);
        let events = house.tasks.stream(&keyed(text), request).await.unwrap();
        let told = all(events).await;
        assert_eq!(told.last().unwrap().1.state(), Some(TaskState::Completed));
        check_error(send(say("ask")).await, ErrorKind::InvalidParams);
    }
    let list = house.tasks.list(&call(), ListTasksRequest::default()).await.unwrap();
    assert_eq!(list.into_value().unwrap().tasks.len(), 2);
}

#[tokio::test]
async fn a_task_of_a_given_identifier_is_begun_once_and_gone_on_with() {
    for begins_early in [false, true] {
        let house = house(|conduct| conduct.begins_early = begins_early);
        let task = TaskId::parse("mine").unwrap();
        let named = Call { new_task: Some(task.clone()), ..call() };
        let asked = house.tasks.send(&named, say("ask")).await.unwrap().into_task().unwrap();
        assert_eq!(asked.id, task);
        let answered =
            house.tasks.send(&named, say("this one")).await.unwrap().into_task().unwrap();
        assert_eq!((&answered.id, answered.history.len()), (&task, 3));
        assert_eq!(answered.status.state, TaskState::Completed);
        // The agent never heard of the task that could not be begun a second time.
        assert_eq!(house.runs.load(Ordering::SeqCst), 2);
        check_error(house.tasks.send(&named, say("more")).await, ErrorKind::UnsupportedOperation);
        assert!(house.tasks.has(&call(), &task).await.unwrap());
        assert!(!house.tasks.has(&call_of("ben"), &task).await.unwrap());
    }
}

#[tokio::test(start_paused = true)]
async fn a_caller_may_wait_less_than_it_could() {
    let house = house(|_| {});
    let hasty = Call { wait: Some(Duration::from_millis(10)), ..call() };
    let began = tokio::time::Instant::now();
    let task = house.tasks.send(&hasty, say("hang")).await.unwrap().into_task().unwrap();
    assert!(!task.status.state.is_terminal());
    // By a clock that stands still unless everybody waits.
    assert!(began.elapsed() < Duration::from_secs(1));
}

#[tokio::test]
async fn a_keyed_answer_is_taken_once_also_after_the_end() {
    let house = house(|_| {});
    let asked = house.tasks.send(&call(), say("ask")).await.unwrap().into_task().unwrap();
    let answer = say_to(&asked, "this");
    let first = house.tasks.send(&keyed("a"), answer.clone()).await.unwrap().into_task().unwrap();
    let again = house.tasks.send(&keyed("a"), answer).await.unwrap().into_task().unwrap();
    assert_eq!(first, again);
    assert_eq!(house.runs.load(Ordering::SeqCst), 2);
    check_error(
        house.tasks.send(&keyed("b"), say_to(&asked, "more")).await,
        ErrorKind::UnsupportedOperation,
    );
}

/// Whoever lost the answer to an answer asks again while it is worked on.
#[tokio::test]
async fn a_keyed_answer_that_is_worked_on_finds_its_task() {
    let house = house(|_| {});
    let asked = house.tasks.send(&call(), say("ask")).await.unwrap().into_task().unwrap();
    let mut answer = say_to(&asked, "hang");
    let wishes = SendMessageConfiguration { return_immediately: true, ..Default::default() };
    answer.configuration = Some(wishes);
    for _ in 0..2 {
        let task = house.tasks.send(&keyed("a"), answer.clone()).await.unwrap();
        assert_eq!(task.into_task().unwrap().id, asked.id);
    }
    let other = house.tasks.send(&keyed("b"), say_to(&asked, "more")).await;
    check_error(other, ErrorKind::UnsupportedOperation);
    let plain = house.tasks.send(&call(), say_to(&asked, "more")).await;
    check_error(plain, ErrorKind::UnsupportedOperation);
    assert!(house.runs.load(Ordering::SeqCst) <= 2, "it was begun twice");
}

#[tokio::test]
async fn a_bare_message_id_dedupes_only_where_the_agent_says_so() {
    let request = say("echo");
    let plain = house(|_| {});
    let first = plain.tasks.send(&call(), request.clone()).await.unwrap().into_task().unwrap();
    let second = plain.tasks.send(&call(), request.clone()).await.unwrap().into_task().unwrap();
    assert_ne!(first.id, second.id);
    let deduping = house(|conduct| conduct.dedupes_by_message_id = true);
    let first = deduping.tasks.send(&call(), request.clone()).await.unwrap().into_task().unwrap();
    let second = deduping.tasks.send(&call(), request).await.unwrap().into_task().unwrap();
    assert_eq!(first.id, second.id);
}

#[tokio::test]
async fn a_list_is_paged_and_leaves_artifacts_out_unless_asked() {
    let house = house(|_| {});
    for _ in 0..7 {
        house.tasks.send(&call(), say("echo")).await.unwrap().into_task().unwrap();
    }
    let mut seen = Vec::new();
    let mut token = String::new();
    loop {
        let request = ListTasksRequest {
            page_size: Some(3),
            page_token: token,
            history_length: Some(0),
            ..Default::default()
        };
        let page = house.tasks.list(&call(), request).await.unwrap().into_value().unwrap();
        assert_eq!(page.total_size, 7);
        for task in page.tasks {
            assert!(task.artifacts.is_empty() && task.history.is_empty());
            seen.push(task.id);
        }
        token = page.next_page_token;
        if token.is_empty() {
            break;
        }
    }
    seen.sort();
    seen.dedup();
    assert_eq!(seen.len(), 7);
    let request = ListTasksRequest { page_token: "forged".to_owned(), ..Default::default() };
    check_error(house.tasks.list(&call(), request).await, ErrorKind::InvalidParams);
}

#[tokio::test]
async fn history_is_cut_to_the_newest() {
    let house = house(|_| {});
    let asked = house.tasks.send(&call(), say("ask")).await.unwrap().into_task().unwrap();
    let done =
        house.tasks.send(&call(), say_to(&asked, "this")).await.unwrap().into_task().unwrap();
    let request = GetTaskRequest { history_length: Some(1), ..get(&done.id) };
    let cut = house.tasks.get(&call(), request).await.unwrap().into_value().unwrap();
    assert_eq!(cut.history.iter().map(Message::text).collect::<Vec<_>>(), ["this"]);
}

/// G7: what a dead process has left is failed, run again or gone on with, as its agent says.
#[tokio::test(start_paused = true)]
async fn abandoned_work_is_taken_over_as_the_agent_says() {
    for (interrupted, state) in [
        (Interrupted::Fail, TaskState::Failed),
        (Interrupted::Retry, TaskState::Completed),
        (Interrupted::Resume, TaskState::Completed),
    ] {
        let first = house(|conduct| conduct.interrupted = interrupted);
        let task =
            first.tasks.send(&call(), at_once(say("wait"))).await.unwrap().into_task().unwrap();
        first.tasks.stop(Duration::ZERO).await;
        let second =
            house_on(Arc::clone(&first.store), |conduct| conduct.interrupted = interrupted);
        second.gate.notify_one();
        let mut events = match second.tasks.subscribe(&call(), subscribe(&task.id)).await {
            Ok(events) => events,
            // It was quick.
            Err(_) => Box::pin(futures_util::stream::empty()),
        };
        while events.next().await.is_some() {}
        let settled = second.tasks.get(&call(), get(&task.id)).await.unwrap().into_value().unwrap();
        assert_eq!(settled.status.state, state, "{interrupted:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_task_is_woken_when_its_agent_asked_for_it() {
    let house = house(|_| {});
    let task = house.tasks.send(&call(), say("wake")).await.unwrap().into_task().unwrap();
    let subscription = house.tasks.subscribe(&call(), subscribe(&task.id)).await.unwrap();
    all(subscription).await;
    let woken = house.tasks.get(&call(), get(&task.id)).await.unwrap().into_value().unwrap();
    assert_eq!(woken.status.state, TaskState::Completed);
    assert_eq!(house.runs.load(Ordering::SeqCst), 2);
}

#[tokio::test(start_paused = true)]
async fn what_was_kept_long_enough_goes_and_what_is_alive_stays() {
    let mut settings = Settings::default();
    let hour = Keep { age: Some(Duration::from_secs(3600)), count: None };
    settings.retention.tasks.insert(TaskState::Completed, hour);
    settings.retention.tasks.insert(TaskState::Submitted, hour);
    let agent =
        Scripted { conduct: Conduct::default(), gate: Arc::default(), runs: Arc::default() };
    let store: Arc<dyn Store> = Arc::new(MemoryStore::default());
    let tasks = Tasks::builder(store).agent(name("scripted"), agent).settings(settings).start();
    let mut done = Vec::new();
    for _ in 0..250 {
        done.push(tasks.send(&call(), say("echo")).await.unwrap().into_task().unwrap().id);
    }
    let alive = tasks.send(&call(), at_once(say("hang"))).await.unwrap().into_task().unwrap();
    tokio::time::sleep(Duration::from_secs(2 * 3600)).await;
    for id in &done {
        check_error(tasks.get(&call(), get(id)).await, ErrorKind::TaskNotFound);
    }
    assert_eq!(
        tasks.get(&call(), get(&alive.id)).await.unwrap().into_value().unwrap().id,
        alive.id
    );
}

#[tokio::test]
async fn too_large_an_event_is_refused_and_the_task_unharmed() {
    struct Loud;
    impl Agent for Loud {
        async fn run(&self, _: Turn, output: Output) -> Result<(), Failure> {
            assert!(output.text("x".repeat(2_000)).await.is_err());
            output.text("fits").await?;
            Ok(())
        }
    }
    let mut settings = Settings::default();
    settings.limits.event_bytes = 1_000;
    let store: Arc<dyn Store> = Arc::new(MemoryStore::default());
    let tasks = Tasks::builder(store).agent(name("scripted"), Loud).settings(settings).start();
    let task = tasks.send(&call(), say("echo")).await.unwrap().into_task().unwrap();
    assert_eq!(texts(&task), ["fits"]);
    assert_eq!(tasks.refusals().too_large, 1);
}

#[tokio::test]
async fn an_agent_that_replies_answers_without_a_task() {
    let house = house(|conduct| conduct.replies = true);
    let mut ping = say("ping");
    let reply = message(house.tasks.send(&call(), ping.clone()).await.unwrap());
    assert_eq!((reply.text().as_str(), reply.task_id), ("pong", None));
    assert!(reply.context_id.is_some(), "an answer always belongs to a conversation");

    ping.message.context_id = Some(ContextId::parse("c1").unwrap());
    let reply = message(house.tasks.send(&call(), ping.clone()).await.unwrap());
    assert_eq!(reply.context_id, ping.message.context_id);
    let events: Vec<_> = house.tasks.stream(&call(), ping.clone()).await.unwrap().collect().await;
    assert_eq!(events.len(), 1, "a stream has nothing but the answer");

    ping.message.task_id = Some(TaskId::parse("t1").unwrap());
    check_error(house.tasks.send(&call(), ping).await, ErrorKind::TaskNotFound);
    assert!(house.tasks.send(&call(), say("other")).await.unwrap().into_task().is_some());
}

#[tokio::test]
async fn a_reply_that_fails_tells_the_caller_what_the_agent_meant_for_it() {
    let house = house(|conduct| conduct.replies = true);
    for (text, told) in [("deny", "not that"), ("reply-panic", "the agent failed")] {
        let error = house.tasks.send(&call(), say(text)).await.unwrap_err();
        assert_eq!((error.kind(), error.message()), (ErrorKind::Internal, told));
    }
}

#[tokio::test]
async fn an_agent_that_does_not_reply_is_not_asked() {
    let house = house(|_| {});
    assert!(house.tasks.send(&call(), say("ping")).await.unwrap().into_task().is_some());
}

#[tokio::test(start_paused = true)]
async fn a_caller_who_waits_for_an_engine_that_stops_gets_the_live_task() {
    let house = house(|_| {});
    let waiting = tokio::spawn({
        let tasks = house.tasks.clone();
        async move { tasks.send(&call(), say("hang")).await }
    });
    while house.runs.load(Ordering::SeqCst) == 0 {
        tokio::task::yield_now().await;
    }
    house.tasks.stop(Duration::from_secs(1)).await;
    let task = waiting.await.unwrap().unwrap().into_task().unwrap();
    assert!(!task.status.state.is_terminal(), "the work goes on elsewhere, or after the start");
}

/// Does not give its thread back before it is told to.
struct Stubborn {
    entered: Arc<Notify>,
    told: Mutex<mpsc::Receiver<()>>,
}

impl Agent for Stubborn {
    async fn run(&self, _: Turn, output: Output) -> Result<(), Failure> {
        self.entered.notify_one();
        self.told.lock().expect("nobody panics with it").recv()?;
        Ok(output.text("at last").await?)
    }
}

/// Otherwise the work would go on beside that of whoever takes it over.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_engine_has_not_stopped_while_work_begins() {
    let (tell, told) = mpsc::channel();
    let entered = Arc::new(Notify::new());
    let agent = Stubborn { entered: Arc::clone(&entered), told: Mutex::new(told) };
    let store: Arc<dyn Store> = Arc::<MemoryStore>::default();
    let tasks = Tasks::builder(store).agent(name("scripted"), agent).start();
    let sending = tokio::spawn({
        let tasks = tasks.clone();
        async move { tasks.send(&call(), say("begin")).await }
    });
    entered.notified().await;
    let mut stopping = pin!(tasks.stop(Duration::ZERO));
    for _ in 0..1_000 {
        assert!(poll!(&mut stopping).is_pending(), "an agent is at work");
        tokio::task::yield_now().await;
    }
    tell.send(()).expect("the agent listens");
    stopping.await;
    let task = sending.await.unwrap().unwrap().into_task().unwrap();
    assert_eq!(task.status.state, TaskState::Completed);
}
