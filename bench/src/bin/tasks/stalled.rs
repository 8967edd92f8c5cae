//! Readers who do not read must cost neither memory nor speed.

use std::sync::Arc;

use futures_util::{FutureExt as _, StreamExt as _};
use nuncio_protocol::{
    ids::ArtifactId,
    message::{Message, Part},
    operation::SendMessageRequest,
    service::Events,
    task::Artifact,
};
use nuncio_tasks::{
    agent::{Agent, Failure, Turn},
    engine::{Call, Tasks},
    memory::MemoryStore,
    output::{Chunk, Output},
    store::Store,
};
use tokio::{runtime::Runtime, sync::Notify, time::Instant};

use crate::setting::{name, place, resident, say, spread};

const EVENTS: u32 = 20_000;
const READERS: usize = 100;
const ROUNDS: usize = 7;

/// Says many things as fast as it can, once it is told to begin.
struct Talker(Arc<Notify>);

impl Agent for Talker {
    async fn run(&self, _: Turn, output: Output) -> Result<(), Failure> {
        self.0.notified().await;
        let id = ArtifactId::parse("talk")?;
        for _ in 0..EVENTS {
            let artifact = Artifact::new(id.clone(), vec![Part::text("bla bla bla bla")]);
            output.put(artifact, Chunk { append: true, last: false }).await?;
        }
        Ok(())
    }
}

pub(crate) fn run(runtime: &Runtime) {
    runtime.block_on(async {
        let mut ratios = Vec::new();
        let mut growth = 0;
        talk(0).await;
        for _ in 0..ROUNDS {
            let (alone, _) = talk(0).await;
            let (watched, grown) = talk(READERS).await;
            ratios.push(watched / alone);
            growth = growth.max(grown);
        }
        let (middle, least, most) = spread(ratios);
        let figure = format!("{middle:.2} of its speed ({least:.2} to {most:.2})");
        let what = format!("a producer of {EVENTS} events with {READERS} stalled readers");
        say(&what, &figure, "0.90", middle >= 0.9);
        let mebibytes = growth >> 20;
        say("memory they cost", &format!("{mebibytes} MiB"), "64 MiB", mebibytes <= 64);
    });
}

/// Returns events a second, and by how much memory grew.
async fn talk(readers: usize) -> (f64, u64) {
    let begin = Arc::new(Notify::new());
    let store: Arc<dyn Store> = Arc::new(MemoryStore::default());
    let tasks = Tasks::builder(store).agent(name("echo"), Talker(Arc::clone(&begin))).start();
    let call = Call::new(place());
    let request = SendMessageRequest::new(Message::user("talk"));
    let mut producer = tasks.stream(&call, request).await.expect("it is taken");
    let first = producer.next().await.expect("a task").expect("a task");
    let id = match first.response.value().expect("readable") {
        nuncio_protocol::task::StreamResponse::Task(task) => task.id.clone(),
        other => unreachable!("a stream begins with its task, not {other:?}"),
    };
    let mut stalled: Vec<Events> = Vec::new();
    for _ in 0..readers {
        let request =
            nuncio_protocol::operation::SubscribeToTaskRequest { tenant: None, id: id.clone() };
        let mut events = tasks.subscribe(&call, request).await.expect("it is there");
        events.next().await.expect("a task").expect("a task");
        assert!(events.next().now_or_never().is_none());
        stalled.push(events);
    }
    let before = resident();
    let start = Instant::now();
    begin.notify_one();
    let seen = producer.count().await;
    let rate = f64::from(EVENTS) / start.elapsed().as_secs_f64();
    assert_eq!(seen, EVENTS as usize + 1);
    let grown = resident().saturating_sub(before);
    // Nothing is lost to those who come back.
    if let Some(mut events) = stalled.pop() {
        let mut late = 0;
        while let Some(event) = events.next().await {
            event.expect("an event");
            late += 1;
        }
        assert_eq!(late, seen);
    }
    (rate, grown)
}
