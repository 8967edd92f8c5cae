//! R22, on one node: the server is stopped and started again while callers are busy.

use std::{
    collections::HashMap,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::Duration,
};

use nuncio_protocol::{
    ids::TaskId,
    message::Message,
    operation::{GetTaskRequest, Request, Response, SendMessageRequest, SubscribeToTaskRequest},
    state::TaskState,
    task::{SendMessageResponse, StreamResponse},
};
use nuncio_testkit::wire::{Binding, Events, Http, Refused, Wire};
use nuncio_tests::{figures, served};
use tokio::{task::JoinSet, time::Instant};

use crate::turn;

const RESTARTS: usize = 4;
/// How many operations are done between two restarts, at least.
const BETWEEN: usize = 60;
const CHUNKS: usize = 10;

#[derive(Default)]
struct Counters {
    done: AtomicUsize,
    retries: AtomicUsize,
    resumes: AtomicUsize,
    stop: AtomicBool,
}

#[tokio::test(flavor = "multi_thread")]
async fn a_restart_fails_no_operation_and_repeats_no_run() {
    let _turn = turn::alone().await;
    let directory = tempfile::tempdir().unwrap();
    let address = served::free_address();
    let mut process = served::start(address, directory.path()).await;
    let counters = Arc::new(Counters::default());
    let mut callers = JoinSet::new();
    let wires = Wire::all(&Http::new(address));
    for wire in wires.iter().chain(&wires) {
        callers.spawn(call(wire.clone(), Arc::clone(&counters)));
    }
    let mut away = Vec::new();
    for restart in 1..=RESTARTS {
        while counters.done.load(Ordering::Relaxed) < restart * BETWEEN {
            tokio::time::sleep(Duration::from_millis(5)).await;
            assert!(callers.try_join_next().is_none(), "a caller gave up");
        }
        let start = Instant::now();
        process.terminate();
        let status = process.wait().await;
        assert!(status.success(), "{status}: {}", process.errors());
        process = served::start(address, directory.path()).await;
        away.push(start.elapsed());
    }
    while counters.done.load(Ordering::Relaxed) < (RESTARTS + 1) * BETWEEN {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    counters.stop.store(true, Ordering::Relaxed);
    let mut sent = Vec::new();
    while let Some(messages) = callers.join_next().await {
        sent.extend(messages.unwrap());
    }
    let mut runs: HashMap<String, usize> = HashMap::new();
    for line in std::fs::read_to_string(served::runs(directory.path())).unwrap().lines() {
        *runs.entry(line.to_owned()).or_default() += 1;
    }
    let repeated: Vec<_> = runs.iter().filter(|(_, count)| **count != 1).collect();
    assert!(repeated.is_empty(), "runs were repeated: {repeated:?}");
    let missing: Vec<_> = sent.iter().filter(|message| !runs.contains_key(*message)).collect();
    assert!(missing.is_empty() && runs.len() == sent.len(), "no run for {missing:?}");
    figures::print(&format!(
        "R22: {RESTARTS} restarts under {} callers: {} operations, 0 failed, 0 repeated runs; {} \
         retries, {} streams resumed; away for {:?} at most",
        wires.len() * 2,
        figures::count(counters.done.load(Ordering::Relaxed)),
        counters.retries.load(Ordering::Relaxed),
        counters.resumes.load(Ordering::Relaxed),
        away.iter().max().unwrap(),
    ));
}

/// Sends and follows messages until it is told to stop. Returns what it has sent.
async fn call(wire: Wire, counters: Arc<Counters>) -> Vec<String> {
    let mut sent = Vec::new();
    while !counters.stop.load(Ordering::Relaxed) {
        let message = Message::user(format!("{CHUNKS} 5"));
        sent.push(message.message_id.to_string());
        let request = SendMessageRequest::new(message);
        let streams = sent.len().is_multiple_of(2) && wire.binding != Binding::Grpc;
        let task = if streams {
            follow(&wire, request, &counters).await
        } else {
            match retry(&wire, Request::SendMessage(request), &counters).await {
                Response::SendMessage(SendMessageResponse::Task(task)) => task.id,
                other => panic!("no task, but {other:?}"),
            }
        };
        counters.done.fetch_add(1, Ordering::Relaxed);
        let get = GetTaskRequest { tenant: None, id: task, history_length: None };
        match retry(&wire, Request::GetTask(get), &counters).await {
            Response::Task(task) => {
                assert_eq!(task.status.state, TaskState::Completed, "{task:?}");
                assert_eq!(task.artifacts[0].parts.len(), CHUNKS, "{task:?}");
            }
            other => panic!("no task, but {other:?}"),
        }
        counters.done.fetch_add(1, Ordering::Relaxed);
    }
    sent
}

/// Calls until it is answered, as callers are told to.
async fn retry(wire: &Wire, request: Request, counters: &Counters) -> Response {
    loop {
        match wire.try_call(request.clone()).await {
            Ok(Ok(response)) => return response,
            Ok(Err(refused)) => wait(&refused).await,
            // Nobody listens, or nobody answered any more.
            Err(_) => tokio::time::sleep(Duration::from_millis(20)).await,
        }
        counters.retries.fetch_add(1, Ordering::Relaxed);
    }
}

/// Follows a message to the end of its task. Every event comes once.
async fn follow(wire: &Wire, send: SendMessageRequest, counters: &Counters) -> TaskId {
    let mut task: Option<TaskId> = None;
    let mut seen = 0;
    loop {
        let request = match &task {
            None => Request::SendStreamingMessage(send.clone()),
            Some(id) => {
                counters.resumes.fetch_add(1, Ordering::Relaxed);
                Request::SubscribeToTask(SubscribeToTaskRequest { tenant: None, id: id.clone() })
            }
        };
        match wire.try_stream(request, task.as_ref().map(|_| seen)).await {
            Ok(Ok(events)) => {
                if read(events, &mut task, &mut seen).await {
                    return task.expect("the end has a beginning");
                }
            }
            Ok(Err(refused)) => {
                wait(&refused).await;
                counters.retries.fetch_add(1, Ordering::Relaxed);
            }
            Err(_) => {
                tokio::time::sleep(Duration::from_millis(20)).await;
                counters.retries.fetch_add(1, Ordering::Relaxed);
            }
        }
    }
}

/// Reads a stream as far as it goes; tells whether that was the end of the task.
async fn read(mut events: Events, task: &mut Option<TaskId>, seen: &mut u64) -> bool {
    while let Some(event) = events.next().await {
        let event = match event {
            Ok(event) => event,
            Err(refused) => {
                wait(&refused).await;
                return false;
            }
        };
        let seq = event.seq.expect("events have numbers");
        if let StreamResponse::Task(found) = &event.response {
            assert!(task.as_ref().is_none_or(|task| *task == found.id));
            assert!(seq == 1 || seq == *seen, "{seq} after {seen}");
            *task = Some(found.id.clone());
            *seen = seq;
        } else {
            assert_eq!(seq, *seen + 1);
            *seen = seq;
        }
        if event.response.is_last() {
            return true;
        }
    }
    false
}

/// Waits as long as a refusal says. Only those that say to come back are no failures.
async fn wait(refused: &Refused) {
    assert_eq!(refused.error.reason(), "UNAVAILABLE", "{refused:?}");
    tokio::time::sleep(refused.error.retry_after().unwrap_or(Duration::from_millis(20))).await;
}
