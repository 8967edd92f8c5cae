//! Streams that break off, and go on without loss or repetition.

use std::{
    net::SocketAddr,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use futures_util::StreamExt as _;
use nuncio_client::{Error, Options};
use nuncio_protocol::{
    dialect::WireForm,
    ids::TaskId,
    operation::{Request, SubscribeToTaskRequest},
    state::TaskState,
};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpListener, TcpStream},
};

use crate::wire::{
    scripted::{Act, Peer, begun, done, error, frame, piece, result, stream, task_with},
    support::{
        FORMS, Served, counted, nobody, patiently, pieces, remote, remote_with, rest, script, send,
        value,
    },
};

fn quick() -> Options {
    let mut options = Options::default();
    options.resumes.pause = Duration::from_millis(1);
    options.retries.pause = Duration::from_millis(1);
    options
}

async fn follow(peer: &Peer, options: Options) -> Result<String, Error> {
    let remote = remote_with(peer.address, WireForm::V1, options);
    let request = Request::SendStreamingMessage(send("hello"));
    let events = rest(remote.stream(nobody(), request).await?).await?;
    assert!(value(events.last().expect("there are events")).is_last(), "{events:?}");
    Ok(pieces(&events))
}

/// A task as A2A 0.3 writes it.
fn older_task(texts: &[&str], state: &str) -> String {
    let parts: Vec<String> =
        texts.iter().map(|text| format!(r#"{{"kind":"text","text":"{text}"}}"#)).collect();
    let parts = parts.join(",");
    format!(
        r#"{{"kind":"task","id":"t","contextId":"c","status":{{"state":"{state}"}},"artifacts":[{{"artifactId":"a","parts":[{parts}]}}]}}"#
    )
}

/// A piece of its artifact.
fn older_piece(text: &str) -> String {
    format!(
        r#"{{"kind":"artifact-update","taskId":"t","contextId":"c","append":true,"artifact":{{"artifactId":"a","parts":[{{"kind":"text","text":"{text}"}}]}}}}"#
    )
}

#[track_caller]
fn methods(peer: &Peer, expected: &[&str]) {
    let requests = peer.requests();
    let found: Vec<&str> = requests
        .iter()
        .filter_map(|request| request.split_once("\"method\":\"")?.1.split('"').next())
        .collect();
    assert_eq!(found, expected);
}

#[tokio::test]
async fn without_numbers_the_difference_is_told() {
    let broken = [
        Act::Leave(stream(&[&begun(), &piece("1", false)])),
        // In the middle of a frame.
        Act::Leave(format!("{}data: {{\"js", stream(&[&begun(), &piece("1", false)]))),
    ];
    for first in broken {
        let now = format!(r#"{{"task":{}}}"#, task_with(&["1", "2", "3"], "WORKING"));
        let second = Act::Leave(stream(&[&now, &done()]));
        let peer = Peer::start([first, second]).await;
        assert_eq!(follow(&peer, quick()).await.unwrap(), "123");
        methods(&peer, &["SendStreamingMessage", "SubscribeToTask"]);
    }
}

#[tokio::test]
async fn a_task_that_ended_meanwhile_is_asked_for() {
    let acts = [
        Act::Leave(stream(&[&begun(), &piece("1", false)])),
        Act::Say(error(-32004, "it has ended")),
        Act::Say(result(&task_with(&["1", "2"], "COMPLETED"))),
    ];
    let peer = Peer::start(acts).await;
    assert_eq!(follow(&peer, quick()).await.unwrap(), "12");
    methods(&peer, &["SendStreamingMessage", "SubscribeToTask", "GetTask"]);
}

/// A2A 0.3 does not say that who subscribes is told what was missed, and the official Python
/// SDK of 0.3 tells nothing of it, and keeps pieces twice while somebody is subscribed.
#[tokio::test]
async fn in_0_3_the_task_is_asked_for_until_it_is_over() {
    let frames: String = [older_task(&["1"], "working"), older_piece("2")]
        .iter()
        .map(|event| frame(event))
        .collect();
    let acts = [
        Act::Leave(stream(&[]) + &frames),
        Act::Say(result(&older_task(&["1", "2", "3"], "working"))),
        Act::Say(result(&older_task(&["1", "2", "3"], "working"))),
        Act::Say(result(&older_task(&["1", "2", "3", "4"], "completed"))),
    ];
    let peer = Peer::start(acts).await;
    let remote = remote_with(peer.address, WireForm::V03, quick());
    let request = Request::SendStreamingMessage(send("hello"));
    let events = rest(remote.stream(nobody(), request).await.unwrap()).await.unwrap();
    assert_eq!(pieces(&events), "1234");
    assert!(value(events.last().unwrap()).is_last(), "{events:?}");
    methods(&peer, &["message/stream", "tasks/get", "tasks/get", "tasks/get"]);
}

#[tokio::test]
async fn in_0_3_a_subscription_without_events_ends_with_the_task() {
    let acts = [
        Act::Leave(stream(&[])),
        Act::Say(result(&older_task(&["1"], "working"))),
        Act::Say(result(&older_task(&["1"], "canceled"))),
    ];
    let peer = Peer::start(acts).await;
    let remote = remote_with(peer.address, WireForm::V03, quick());
    let id = TaskId::parse("t").unwrap();
    let request = Request::SubscribeToTask(SubscribeToTaskRequest { tenant: None, id });
    let events = rest(remote.stream(nobody(), request).await.unwrap()).await.unwrap();
    assert_eq!(pieces(&events), "1");
    assert_eq!(value(events.last().unwrap()).state(), Some(TaskState::Canceled), "{events:?}");
    methods(&peer, &["tasks/resubscribe", "tasks/get", "tasks/get"]);
}

/// The official Python SDK listens first and reads the task then, so that a piece can be in both.
#[tokio::test]
async fn a_piece_that_is_in_the_task_and_behind_it_comes_once() {
    let now = format!(r#"{{"task":{}}}"#, task_with(&["1", "2"], "WORKING"));
    let acts = [
        Act::Leave(stream(&[&begun(), &piece("1", false)])),
        Act::Leave(stream(&[&now, &piece("2", true), &piece("3", true), &done()])),
        Act::Say(result(&task_with(&["1", "2", "3"], "WORKING"))),
        Act::Say(result(&task_with(&["1", "2", "3"], "COMPLETED"))),
    ];
    let peer = Peer::start(acts).await;
    assert_eq!(follow(&peer, quick()).await.unwrap(), "123");
    methods(&peer, &["SendStreamingMessage", "SubscribeToTask", "GetTask", "GetTask"]);
}

/// In 1.0 a subscription begins with the task. Where it does not, events may be missing before.
#[tokio::test]
async fn a_subscription_without_the_task_is_not_believed() {
    let acts = [
        Act::Leave(stream(&[&begun(), &piece("1", false)])),
        Act::Leave(stream(&[&piece("3", true)])),
        Act::Say(result(&task_with(&["1", "2", "3"], "WORKING"))),
        Act::Say(result(&task_with(&["1", "2", "3", "4"], "COMPLETED"))),
    ];
    let peer = Peer::start(acts).await;
    assert_eq!(follow(&peer, quick()).await.unwrap(), "1234");
    methods(&peer, &["SendStreamingMessage", "SubscribeToTask", "GetTask", "GetTask"]);
}

/// Ids alone prove nothing: some peers number by the clock and know nothing of resuming.
#[tokio::test]
async fn numbers_of_a_peer_that_does_not_resume_are_sent_and_not_believed() {
    let numbered = |events: &[String]| {
        let events = events.iter().map(|event| format!("id: 1700000000\n{}", frame(event)));
        stream(&[]) + &events.collect::<Vec<_>>().concat()
    };
    let now = format!(r#"{{"task":{}}}"#, task_with(&["1", "2"], "WORKING"));
    let acts =
        [Act::Leave(numbered(&[begun(), piece("1", false)])), Act::Leave(numbered(&[now, done()]))];
    let peer = Peer::start(acts).await;
    assert_eq!(follow(&peer, quick()).await.unwrap(), "12");
    assert!(peer.requests()[1].contains("last-event-id: 1700000000\r\n"));
}

#[tokio::test]
async fn where_the_peer_resumes_its_numbers_are_enough() {
    let resumable = |events: &[(u64, String)]| {
        let events = events.iter().map(|(id, event)| format!("id: {id}\n{}", frame(event)));
        let events = events.collect::<Vec<_>>().concat();
        let extension = "\r\na2a-extensions: urn:nuncio:extension:resume:v1\r\n\r\n";
        format!("{}{events}", stream(&[]).replace("\r\n\r\n", extension))
    };
    let seen = format!(r#"{{"task":{}}}"#, task_with(&["1"], "WORKING"));
    let acts = [
        Act::Leave(resumable(&[(1, begun()), (2, piece("1", false))])),
        Act::Leave(resumable(&[(2, seen), (3, piece("2", true))])),
        Act::Leave(resumable(&[(3, begun()), (4, piece("3", true)), (5, done())])),
    ];
    let peer = Peer::start(acts).await;
    let remote = remote_with(peer.address, WireForm::V1, quick());
    let request = Request::SendStreamingMessage(send("hello"));
    let events = rest(remote.stream(nobody(), request).await.unwrap()).await.unwrap();
    assert_eq!(pieces(&events), "123");
    let numbers: Vec<_> = events.iter().filter_map(|event| event.seq).collect();
    assert_eq!(numbers, [1, 2, 3, 4, 5]);
    assert!(peer.requests()[1].contains("last-event-id: 2\r\n"));
    assert!(peer.requests()[2].contains("last-event-id: 3\r\n"));
}

/// R18: a peer whose streams never come to an end is given up.
#[tokio::test]
async fn r18_a_stream_without_last_event_is_resumed_five_times_and_given_up() {
    let peer = Peer::start([Act::Leave(stream(&[&begun()]))]).await;
    let error = follow(&peer, quick()).await.unwrap_err();
    assert!(matches!(&error, Error::Interrupted { resumes: 5, .. }), "{error:?}");
    assert!(error.is_failure_of_peer());
    assert_eq!(peer.requests().len(), 6);
}

#[tokio::test]
async fn a_message_is_not_sent_again_because_nothing_came_of_it() {
    let peer = Peer::start([Act::Leave(stream(&[]))]).await;
    let error = follow(&peer, quick()).await.unwrap_err();
    assert!(matches!(error, Error::Cut { frame: 1 }), "{error:?}");
    methods(&peer, &["SendStreamingMessage"]);
    // Unless the peer knows that it is the same.
    let acts = [Act::Leave(stream(&[])), Act::Leave(stream(&[&begun(), &done()]))];
    let peer = Peer::start(acts).await;
    let mut options = quick();
    options.retries.keys_are_honoured = true;
    assert_eq!(follow(&peer, options).await.unwrap(), "");
    methods(&peer, &["SendStreamingMessage", "SendStreamingMessage"]);
}

#[tokio::test]
async fn a_stream_may_end_where_the_caller_has_the_turn() {
    let asked = format!(r#"{{"task":{}}}"#, task_with(&["1"], "INPUT_REQUIRED"));
    let peer = Peer::start([Act::Leave(stream(&[&asked]))]).await;
    let remote = remote_with(peer.address, WireForm::V1, quick());
    let request = Request::SendStreamingMessage(send("hello"));
    let events = rest(remote.stream(nobody(), request).await.unwrap()).await.unwrap();
    assert_eq!(events.len(), 1);
    methods(&peer, &["SendStreamingMessage"]);
}

#[tokio::test]
async fn dropping_a_stream_closes_it() {
    let mut peer = Peer::start([Act::Hold(stream(&[&begun()]))]).await;
    let remote = remote(peer.address, WireForm::V1);
    let request = Request::SendStreamingMessage(send("hello"));
    let mut events = remote.stream(nobody(), request).await.unwrap();
    assert!(events.next().await.unwrap().is_ok());
    drop(events);
    patiently(peer.left()).await;
}

/// Passes everything on, and cuts connections after so many bytes of answers.
async fn proxy(server: SocketAddr, cuts: Vec<usize>) -> (SocketAddr, Arc<AtomicUsize>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let address = listener.local_addr().expect("a bound address");
    let connections = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&connections);
    tokio::spawn(async move {
        let mut cuts = cuts.into_iter();
        while let Ok((caller, _)) = listener.accept().await {
            count.fetch_add(1, Ordering::Relaxed);
            let cut = cuts.next().unwrap_or(usize::MAX);
            let server = TcpStream::connect(server).await.expect("the server is there");
            tokio::spawn(carry(caller, server, cut));
        }
    });
    (address, connections)
}

async fn carry(caller: TcpStream, server: TcpStream, mut left: usize) {
    let (mut from_caller, mut to_caller) = caller.into_split();
    let (mut from_server, mut to_server) = server.into_split();
    let asking = tokio::spawn(async move {
        let _ = tokio::io::copy(&mut from_caller, &mut to_server).await;
    });
    let mut bytes = vec![0; 4096];
    while left > 0 {
        let room = left.min(bytes.len());
        match from_server.read(&mut bytes[..room]).await {
            Ok(0) | Err(_) => break,
            Ok(count) => {
                left -= count;
                if to_caller.write_all(&bytes[..count]).await.is_err() {
                    break;
                }
            }
        }
    }
    asking.abort();
}

/// R03, as a client sees it.
#[tokio::test(flavor = "multi_thread")]
async fn r03_however_a_stream_is_cut_each_piece_comes_once() {
    let served = Served::start(script()).await;
    let expected = counted(60);
    for form in FORMS {
        for cut in [1500, 2222, 3333] {
            let (address, connections) = proxy(served.address, vec![cut, 2000, 5000]).await;
            // Our own server knows a message by its key, also before any event has come.
            let mut options = quick();
            options.retries.keys_are_honoured = true;
            let remote = remote_with(address, form, options);
            let request = Request::SendStreamingMessage(send("drip:60"));
            let events = remote.stream(nobody(), request).await.unwrap();
            let events = rest(events).await;
            let name = format!("{} cut at {cut}", form.name());
            let events = events.unwrap_or_else(|error| panic!("{name}: {error:?}"));
            assert_eq!(pieces(&events), expected, "{name}");
            assert!(value(events.last().unwrap()).is_last(), "{name}");
            assert!(connections.load(Ordering::Relaxed) > 1, "{name}: nothing was cut");
        }
    }
}
