//! Streams: how they begin, resume, and end.

use std::time::Duration;

use nuncio_protocol::{
    ids::TaskId,
    operation::{Request, SubscribeToTaskRequest},
    state::TaskState,
    task::StreamResponse,
};
use nuncio_server::{Limits, Server};
use nuncio_testkit::wire::{Binding, Event, Events, Frames, Refused, Wire};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpSocket,
};

use crate::outside::support::{Callers, Served, begin, gate, patiently, scripted, send};

fn subscribe(task: &TaskId) -> Request {
    Request::SubscribeToTask(SubscribeToTaskRequest { tenant: None, id: task.clone() })
}

fn stream(text: &str) -> Request {
    Request::SendStreamingMessage(send(text))
}

fn task_of(event: &Event) -> TaskId {
    match &event.response {
        StreamResponse::Task(task) => task.id.clone(),
        other => panic!("the first event is the task, not {other:?}"),
    }
}

fn limited(change: impl FnOnce(&mut Limits)) -> Server {
    let mut limits = Limits::default();
    change(&mut limits);
    scripted().limits(limits)
}

/// Checks that events count from `first` on without a gap.
fn check_numbers(wire: &Wire, events: &[Event], first: u64) {
    let numbers: Vec<Option<u64>> = events.iter().map(|event| event.seq).collect();
    let expected: Vec<Option<u64>> = match wire.binding {
        Binding::Grpc => vec![None; events.len()],
        _ => (first..).take(events.len()).map(Some).collect(),
    };
    assert_eq!(numbers, expected, "{:?} {}", wire.binding, wire.version);
}

async fn next(events: &mut Events) -> Event {
    events.next().await.expect("the stream goes on").expect("without an error")
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stream_begins_with_the_task_and_ends_with_its_end() {
    let served = Served::start(scripted()).await;
    for wire in Wire::all(&served.http()) {
        let events = wire.stream(stream("count:5"), None).await.expect("a stream").rest().await;
        task_of(&events[0]);
        check_numbers(&wire, &events, 1);
        let chunks = |event: &Event| matches!(event.response, StreamResponse::ArtifactUpdate(_));
        assert_eq!(events.iter().filter(|event| chunks(event)).count(), 5);
        let last = events.last().expect("there are events");
        assert_eq!(last.response.state(), Some(TaskState::Completed), "{events:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reader_resumes_behind_the_last_event_it_saw_during_work_and_after_it() {
    let served = Served::start(scripted()).await;
    for wire in Wire::all(&served.http()) {
        let request = send("gated:6");
        let gate = gate(request.message.message_id.as_str());
        let mut events =
            wire.stream(Request::SendStreamingMessage(request), None).await.expect("a stream");
        let first = next(&mut events).await;
        let task = task_of(&first);
        let mut seen = vec![first];
        for _ in 0..3 {
            gate.send(()).expect("the agent waits");
        }
        while pieces(&seen) < 3 {
            seen.push(next(&mut events).await);
        }
        drop(events);

        let at = u64::try_from(seen.len()).expect("few");
        let mut resumed = wire.stream(subscribe(&task), Some(at)).await.expect("a stream");
        let again = next(&mut resumed).await;
        assert_eq!(task_of(&again), task);
        check_numbers(&wire, std::slice::from_ref(&again), at);
        for _ in 0..3 {
            gate.send(()).expect("the agent waits");
        }
        let rest = resumed.rest().await;
        check_numbers(&wire, &rest, at + 1);
        seen.extend(rest);
        assert_eq!(pieces(&seen), 6, "{seen:?}");

        // After the end, from anywhere, it is the same.
        for at in 0..=seen.len() {
            let from = u64::try_from(at).expect("few");
            let resumed = wire.stream(subscribe(&task), Some(from)).await;
            let resumed = resumed.expect("a stream").rest().await;
            assert_eq!(task_of(&resumed[0]), task);
            check_numbers(&wire, &resumed, from.max(1));
            let (rest, expected) = (&resumed[1..], &seen[at.max(1)..]);
            assert_eq!(rest, expected, "from {at} on {:?} {}", wire.binding, wire.version);
        }
    }
}

fn pieces(events: &[Event]) -> usize {
    let is_piece = |event: &&Event| matches!(event.response, StreamResponse::ArtifactUpdate(_));
    events.iter().filter(is_piece).count()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_place_that_never_was_is_refused_before_the_stream_opens() {
    let served = Served::start(scripted()).await;
    for wire in Wire::all(&served.http()) {
        let task = begin(&wire, "hold").await;
        let refused = wire.stream(subscribe(&task.id), Some(99)).await.expect_err("too large");
        assert_eq!(refused.error.reason(), "INVALID_PARAMS", "{refused:?}");
        for garbage in ["garbage", "-1", "1.5", "99999999999999999999999"] {
            let wire = wire.with("last-event-id", garbage);
            let refused = wire.stream(subscribe(&task.id), None).await.expect_err(garbage);
            assert_eq!(refused.error.reason(), "INVALID_PARAMS", "{refused:?}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn all_subscribers_see_the_same() {
    let served = Served::start(scripted()).await;
    let wires = Wire::all(&served.http());
    let request = send("gated:20");
    let gate = gate(request.message.message_id.as_str());
    let mut sent =
        wires[0].stream(Request::SendStreamingMessage(request), None).await.expect("a stream");
    let first = next(&mut sent).await;
    let task = task_of(&first);
    let mut readers = vec![(wires[0].clone(), vec![first], sent)];
    for wire in wires.iter().chain(&wires) {
        let mut events = wire.stream(subscribe(&task), Some(0)).await.expect("a stream");
        let first = next(&mut events).await;
        assert_eq!(task_of(&first), task);
        readers.push((wire.clone(), vec![first], events));
    }
    for _ in 0..20 {
        gate.send(()).expect("the agent waits");
    }
    let mut all = Vec::new();
    for (wire, mut seen, events) in readers {
        seen.extend(events.rest().await);
        check_numbers(&wire, &seen, 1);
        all.push(seen.into_iter().map(|event| event.response).collect::<Vec<_>>());
    }
    assert!(all.windows(2).all(|pair| pair[0] == pair[1]), "{all:#?}");
}

#[tokio::test]
async fn a_silent_stream_shows_that_it_is_alive() {
    let agent = limited(|limits| limits.streams.heartbeat = Duration::from_millis(20));
    let served = Served::start(agent).await;
    let wires = Wire::current(&served.http());
    let task = begin(&wires[0], "hold").await;
    let mut frames: Frames = served
        .http()
        .frames("GET", &format!("/tasks/{}:subscribe", task.id), &[("a2a-version", "1.0")], "")
        .await;
    assert_eq!(frames.headers["cache-control"], "no-cache");
    let first = frames.next_of_any_kind().await.expect("the task");
    assert!(first.data.starts_with("{\"task\":"), "{first:?}");
    for _ in 0..3 {
        let frame = frames.next_of_any_kind().await.expect("the stream is open");
        // The work may begin only now.
        assert!(frame.data.contains("statusUpdate") || !frame.comments.is_empty(), "{frame:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_caller_has_so_many_streams_and_no_more() {
    let callers = Callers::new();
    let agent = limited(|limits| limits.streams.open_per_caller = 2);
    let served = Served::start(agent.gatekeeper(callers.gatekeeper())).await;
    let bob = Wire::current(&callers.bob(&served));
    for (wire, bob) in Wire::current(&callers.ann(&served)).into_iter().zip(bob) {
        let task = begin(&wire, "hold").await.id;
        let mut open = Vec::new();
        patiently(async {
            while open.len() < 2 {
                // Those of the binding before are closed as soon as the server notices.
                if let Ok(events) = wire.stream(subscribe(&task), None).await {
                    open.push(events);
                }
            }
        })
        .await;
        let refused = wire.stream(subscribe(&task), None).await.expect_err("one too many");
        assert_eq!(refused.error.reason(), "RATE_LIMITED", "{refused:?}");
        let code = match wire.binding {
            Binding::JsonRpc => -32603,
            Binding::HttpJson => 429,
            Binding::Grpc => 8,
        };
        assert_eq!(refused.code, code);
        assert!(refused.error.retry_after().is_some(), "{refused:?}");
        // Others are not concerned.
        let theirs = begin(&bob, "hold").await.id;
        bob.stream(subscribe(&theirs), None).await.expect("their first");
        // A place that is left is free again.
        open.pop();
        patiently(async {
            while let Err(refused) = wire.stream(subscribe(&task), None).await {
                assert_eq!(refused.error.reason(), "RATE_LIMITED", "{refused:?}");
            }
        })
        .await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reader_that_does_not_read_is_closed_and_misses_nothing() {
    const PIECES: u64 = 300;
    let callers = Callers::new();
    let agent = limited(|limits| {
        limits.streams.open_per_caller = 2;
        limits.streams.heartbeat = Duration::from_millis(50);
        limits.streams.stall = Duration::from_secs(1);
        limits.connections.write_stall = Duration::from_secs(1);
    });
    let served = Served::start(agent.gatekeeper(callers.gatekeeper())).await;
    let wire = &Wire::current(&callers.ann(&served))[1];
    let task = begin(wire, &format!("fill:{PIECES}")).await.id;

    // Takes little, so that what is not read is soon felt.
    let socket = TcpSocket::new_v4().expect("a socket");
    socket.set_recv_buffer_size(4096).expect("a small one");
    let mut stalled = socket.connect(served.address).await.expect("the server listens");
    let head = format!(
        "GET /tasks/{task}:subscribe HTTP/1.1\r\nhost: x\r\na2a-version: 1.0\r\n\
         x-api-key: {}\r\nlast-event-id: 0\r\n\r\n",
        callers.ann
    );
    stalled.write_all(head.as_bytes()).await.expect("it is taken");
    let mut read = vec![0; 1024];
    stalled.read_exact(&mut read).await.expect("the stream begins");

    // One place is taken by it; the other reader has its own and gets all.
    assert_eq!(follow(wire, &task, 0).await, PIECES + 2);
    let both = wire.stream(subscribe(&task), Some(0)).await.expect("the healthy one is gone");
    // The stalled reader's place is free when it was closed, and not before.
    patiently(async {
        while let Err(refused) = wire.stream(subscribe(&task), Some(0)).await {
            assert_eq!(refused.error.reason(), "RATE_LIMITED", "{refused:?}");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    })
    .await;
    drop(both);
    while let Ok(1..) = stalled.read_buf(&mut read).await {}
    let text = String::from_utf8_lossy(&read);
    assert!(!text.contains("TASK_STATE_COMPLETED"), "it had read everything");
    let seen = text.rsplit("id: ").find_map(|rest| rest.split_once('\n')?.0.parse::<u64>().ok());
    // The last may be cut: the one before is whole.
    let seen = seen.expect("some events") - 1;
    assert_eq!(follow(wire, &task, seen).await, PIECES + 2);
}

/// Reads a task from behind an event to its end, and returns the number of its last event. On a
/// busy machine this reader may be held for one that does not read, too: it resumes.
async fn follow(wire: &Wire, task: &TaskId, mut seen: u64) -> u64 {
    loop {
        let mut events = match wire.stream(subscribe(task), Some(seen)).await {
            Ok(events) => events,
            // Its place is not free yet.
            Err(refused) if refused.error.reason() == "RATE_LIMITED" => continue,
            Err(refused) => panic!("{refused:?}"),
        };
        let mut is_first = true;
        while let Some(Ok(event)) = events.next().await {
            let expected = if is_first { seen.max(1) } else { seen + 1 };
            assert_eq!(event.seq, Some(expected));
            (seen, is_first) = (expected, false);
            if event.response.is_last() {
                return seen;
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_question_ends_the_stream_that_asked_and_no_subscription() {
    let served = Served::start(scripted()).await;
    for wire in Wire::all(&served.http()) {
        let asked = wire.stream(stream("ask"), None).await.expect("a stream").rest().await;
        let task = task_of(&asked[0]);
        let last = asked.last().expect("there are events");
        assert_eq!(last.response.state(), Some(TaskState::InputRequired), "{asked:?}");

        let mut events = wire.stream(subscribe(&task), None).await.expect("a stream");
        let first = next(&mut events).await;
        assert_eq!(first.response.state(), Some(TaskState::InputRequired));
        let mut answer = send("this one");
        answer.message.task_id = Some(task);
        wire.call(Request::SendMessage(answer)).await.expect("an answer is taken");
        let rest = events.rest().await;
        let last = rest.last().expect("it went on");
        assert_eq!(last.response.state(), Some(TaskState::Completed), "{rest:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn streams_are_told_to_resume_when_the_server_stops() {
    let mut served = Served::start(limited(|limits| limits.drain = Duration::from_secs(2))).await;
    let wires = Wire::current(&served.http());
    let task = begin(&wires[0], "hold").await.id;
    let path = format!("/tasks/{task}:subscribe");
    let mut frames = served.http().frames("GET", &path, &[("a2a-version", "1.0")], "").await;
    frames.next().await.expect("the task");
    let mut messages = wires[2].stream(subscribe(&task), None).await.expect("a stream");
    next(&mut messages).await;
    served.stopper.stop();

    let told = loop {
        let frame = frames.next_of_any_kind().await.expect("it is told");
        if frame.retry.is_some() {
            break frame;
        }
    };
    assert_eq!((told.retry, told.data.as_str()), (Some(1000), ""));
    assert_eq!(frames.next_of_any_kind().await, None);
    let refused: Refused = loop {
        match messages.next().await.expect("it is told") {
            Ok(_) => {}
            Err(refused) => break refused,
        }
    };
    assert_eq!((refused.code, refused.error.reason()), (14, "UNAVAILABLE"));
    (&mut served.running).await.expect("it has stopped");
}
