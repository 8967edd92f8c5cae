//! R05: many follow one task.

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use futures_util::StreamExt as _;
use nuncio_protocol::{
    ids::{ArtifactId, TaskId},
    message::{Message, Part},
    operation::{SendMessageConfiguration, SendMessageRequest, SubscribeToTaskRequest},
    service::Events,
    task::Artifact,
};
use nuncio_store::sqlite::{Options, SqliteStore};
use nuncio_tasks::{
    agent::{Agent, Failure, Turn},
    engine::{Call, Tasks},
    output::{Chunk, Output},
    scope::{Name, Place},
};
use nuncio_tests::{figures, wire::hash};
use tokio::{
    sync::Semaphore,
    task::JoinSet,
    time::{Instant, MissedTickBehavior, interval},
};

use crate::turn;

const SUBSCRIBERS: usize = 500;
const EVENTS: usize = 200;
const APART: Duration = Duration::from_millis(20);

/// Says something at fixed intervals, and notes when.
struct Ticker {
    start: Arc<Semaphore>,
    said: Arc<Mutex<Vec<Instant>>>,
}

impl Agent for Ticker {
    async fn run(&self, _: Turn, output: Output) -> Result<(), Failure> {
        self.start.acquire().await?.forget();
        let mut ticks = interval(APART);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        for index in 0..EVENTS {
            ticks.tick().await;
            let part = Part::text(format!("event {index}"));
            let artifact = Artifact::new(ArtifactId::parse("ticks")?, vec![part]);
            self.said.lock().unwrap_or_else(PoisonError::into_inner).push(Instant::now());
            output.put(artifact, Chunk { append: index > 0, last: false }).await?;
        }
        Ok(())
    }
}

/// What one subscriber has got.
#[derive(Default)]
struct Got {
    hash: u64,
    /// Where the text of each event behind the first stands in memory, and when it came.
    events: Vec<(usize, Instant)>,
}

#[tokio::test(flavor = "multi_thread")]
async fn every_subscriber_sees_the_same_and_shares_one_encoding() {
    let _turn = turn::alone().await;
    let directory = tempfile::tempdir().unwrap();
    let store = SqliteStore::open(directory.path(), Options::default()).unwrap();
    let (start, said) = (Arc::new(Semaphore::new(0)), Arc::default());
    let ticker = Ticker { start: Arc::clone(&start), said: Arc::clone(&said) };
    let name = |text| Name::parse(text).unwrap();
    let tasks = Tasks::builder(Arc::new(store)).agent(name("ticker"), ticker).start();
    let place = Place { tenant: name("acme"), agent: name("ticker"), caller: name("ann") };
    let call = Call { last_event: Some(0), ..Call::new(place) };
    let task = begin(&tasks, &call).await;

    let mut subscribers = JoinSet::new();
    for _ in 0..SUBSCRIBERS {
        let request = SubscribeToTaskRequest { tenant: None, id: task.clone() };
        let events = tasks.subscribe(&call, request).await.unwrap();
        subscribers.spawn(read(events));
    }
    start.add_permits(1);
    let got = subscribers.join_all().await;
    tasks.stop(Duration::from_secs(5)).await;

    let said = said.lock().unwrap_or_else(PoisonError::into_inner).clone();
    let first = &got[0];
    // The events of the ticker, and the end.
    assert_eq!(first.events.len(), EVENTS + 1);
    let mut latencies = Vec::with_capacity(SUBSCRIBERS * EVENTS);
    for other in &got {
        assert_eq!(other.hash, first.hash);
        assert_eq!(other.events.len(), first.events.len());
        for (one, another) in first.events.iter().zip(&other.events) {
            assert_eq!(one.0, another.0, "an event was encoded twice");
        }
        let came = other.events.iter().zip(&said);
        latencies.extend(came.map(|((_, came), said)| came.duration_since(*said)));
    }
    figures::print(&format!(
        "R05: {SUBSCRIBERS} subscribers, {EVENTS} events {APART:?} apart, equal hashes, one \
         encoding each; from word to reader p50 {:.2?}, p99 {:.2?}",
        figures::percentile(&mut latencies, 50),
        figures::percentile(&mut latencies, 99),
    ));
}

async fn begin(tasks: &Tasks, call: &Call) -> TaskId {
    let mut request = SendMessageRequest::new(Message::user("go"));
    let wishes = SendMessageConfiguration {
        return_immediately: true,
        ..SendMessageConfiguration::default()
    };
    request.configuration = Some(wishes);
    let task = tasks.send(call, request).await.expect("a message is taken");
    task.into_task().expect("a task").id
}

async fn read(mut events: Events) -> Got {
    let mut got = Got::default();
    while let Some(event) = events.next().await {
        let event = event.expect("the stream does not break");
        let json = event.response.json();
        got.hash = hash(&[got.hash.to_le_bytes(), hash(json).to_le_bytes()].concat());
        if event.seq != Some(1) {
            got.events.push((json.as_ptr().addr(), Instant::now()));
        }
    }
    got
}
