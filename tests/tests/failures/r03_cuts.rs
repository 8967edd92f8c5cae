//! R03: streams are cut while they go on, again and again, also just before their end.

use std::{io, net::SocketAddr, sync::Arc, time::Duration};

use nuncio_protocol::{
    ids::TaskId,
    message::Message,
    operation::{Request, SendMessageRequest, SubscribeToTaskRequest},
    task::StreamResponse,
    version::Version,
};
use nuncio_server::Server;
use nuncio_store::sqlite::{Options, SqliteStore};
use nuncio_tasks::agent::Interrupted;
use nuncio_testkit::{
    random::Random,
    wire::{Binding, Event, Events, Http, Wire},
};
use nuncio_tests::{figures, node::agents::Steps};
use tokio::{net::TcpStream, task::JoinSet, time::Instant};

use crate::turn;

const STREAMS: usize = 200;
const CHUNKS: u64 = 30;
/// Milliseconds between two chunks: streams that all talk at once would only wait for each other.
const APART: u64 = 100;

/// How a connection ends.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Cut {
    Reset,
    Close,
    /// Nobody reads any more, and nobody says so.
    Silence,
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stream_that_is_cut_gets_every_event_once() {
    let _turn = turn::alone().await;
    let directory = tempfile::tempdir().unwrap();
    let store = SqliteStore::open(directory.path(), Options::default()).unwrap();
    let server = Server::new("steps", Steps(Interrupted::Fail)).store(Arc::new(store));
    let bound = server.bind("127.0.0.1:0").await.unwrap();
    let (address, stopper) = (bound.address(), bound.stopper());
    let running = tokio::spawn(bound.run());

    let mut random = Random::new();
    let mut readers = JoinSet::new();
    for index in 0..STREAMS {
        let binding = [Binding::JsonRpc, Binding::HttpJson][index % 2];
        let version = [Version::V1_0, Version::V0_3][index / 2 % 2];
        let reader = Reader { address, binding, version, open: Vec::new() };
        readers.spawn(reader.read(random.fork()));
    }
    let (mut resumes, mut events) = (Vec::new(), 0);
    while let Some(read) = readers.join_next().await {
        let (took, count) = read.unwrap();
        resumes.extend(took);
        events += count;
    }
    figures::print(&format!(
        "R03: {STREAMS} streams, {} events, {} cuts: each got 1..n once; a resume takes {:?} \
         (median), {:?} (p99)",
        figures::count(events),
        resumes.len(),
        figures::percentile(&mut resumes, 50),
        figures::percentile(&mut resumes, 99),
    ));
    stopper.stop();
    running.await.unwrap();
}

struct Reader {
    address: SocketAddr,
    binding: Binding,
    version: Version,
    /// Streams that were left open.
    open: Vec<Events>,
}

impl Reader {
    /// Reads a task to its end. Returns how long each resume took, and how many events came.
    async fn read(mut self, mut random: Random) -> (Vec<Duration>, usize) {
        let mut cuts: Vec<u64> = (0..=random.below(6)).map(|_| 1 + random.below(CHUNKS)).collect();
        if random.once_in(3) {
            // Only the last event is missing then.
            cuts.push(CHUNKS + 1);
        }
        cuts.sort_unstable();
        cuts.dedup();

        let mut seen: Vec<Event> = Vec::new();
        let mut resumes = Vec::new();
        let mut cuts = cuts.into_iter();
        loop {
            let cut = *random.pick(&[Cut::Reset, Cut::Close, Cut::Silence]);
            let until = cuts.next();
            let start = Instant::now();
            let mut events = self.connect(cut, &seen).await;
            if !seen.is_empty() {
                // It begins with the task as of the last event that was seen.
                let again = events.next().await.expect("a task").expect("no error");
                assert_eq!(again.seq, seen.last().and_then(|event| event.seq));
                assert!(matches!(again.response, StreamResponse::Task(_)), "{again:?}");
                resumes.push(start.elapsed());
            }
            while until.is_none_or(|until| (seen.len() as u64) < until) {
                let Some(event) = events.next().await else { break };
                let event = event.expect("no error");
                assert_eq!(event.seq, Some(seen.len() as u64 + 1), "{seen:?}");
                seen.push(event);
            }
            if seen.last().is_some_and(|event| event.response.is_last()) {
                break;
            }
            assert!(until.is_some(), "the stream ended early: {:?}", seen.last());
            if cut == Cut::Silence {
                self.open.push(events);
            }
        }
        // What was pieced together is what somebody gets who was never cut.
        let task = task_of(&seen);
        let all = self.wire(Cut::Close).stream(subscribe(&task), Some(0)).await;
        assert_eq!(all.expect("a stream").rest().await, seen);
        (resumes, seen.len())
    }

    async fn connect(&self, cut: Cut, seen: &[Event]) -> Events {
        let wire = self.wire(cut);
        let opened = if let Some(last) = seen.last() {
            wire.stream(subscribe(&task_of(seen)), last.seq).await
        } else {
            let message = Message::user(format!("{CHUNKS} {APART}"));
            let request = Request::SendStreamingMessage(SendMessageRequest::new(message));
            wire.stream(request, None).await
        };
        opened.expect("a stream")
    }

    fn wire(&self, cut: Cut) -> Wire {
        let address = self.address;
        let http = Http::over(address.to_string(), move || connect(address, cut));
        Wire { binding: self.binding, version: self.version, http }
    }
}

/// Connects in such a way that dropping the connection ends it as it shall.
async fn connect(address: SocketAddr, cut: Cut) -> io::Result<TcpStream> {
    let tcp = TcpStream::connect(address).await?;
    if cut == Cut::Reset {
        tcp.set_zero_linger()?;
    }
    Ok(tcp)
}

fn subscribe(task: &TaskId) -> Request {
    Request::SubscribeToTask(SubscribeToTaskRequest { tenant: None, id: task.clone() })
}

fn task_of(seen: &[Event]) -> TaskId {
    match &seen[0].response {
        StreamResponse::Task(task) => task.id.clone(),
        other => panic!("the first event is the task, not {other:?}"),
    }
}
