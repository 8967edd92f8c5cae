//! What a finished task and an idle reader weigh.

use std::sync::Arc;

use nuncio_protocol::{
    message::Message,
    operation::{SendMessageConfiguration, SendMessageRequest, SubscribeToTaskRequest},
};
use nuncio_tasks::{
    agent::{Agent, Failure, Turn},
    engine::{Call, Tasks},
    memory::MemoryStore,
    output::Output,
    store::Store,
};
use tokio::runtime::Runtime;

use crate::setting::{finished, name, place, put, resident, say};

const TASKS: u64 = 200_000;
const SUBSCRIBERS: u64 = 20_000;

pub(crate) fn finished_tasks(runtime: &Runtime) {
    runtime.block_on(async {
        let store: Arc<dyn Store> = Arc::new(MemoryStore::default());
        // What the first ones bring with them is not theirs.
        for _ in 0..1_000 {
            put(&store, finished()).await;
        }
        let before = resident();
        for _ in 0..TASKS {
            put(&store, finished()).await;
        }
        let bytes = resident().saturating_sub(before) / TASKS;
        say("a small finished task in memory", &format!("{bytes} bytes"), "1536", bytes <= 1536);
    });
}

/// Works for ever.
struct Busy;

impl Agent for Busy {
    async fn run(&self, _: Turn, _: Output) -> Result<(), Failure> {
        std::future::pending().await
    }
}

pub(crate) fn idle_subscribers(runtime: &Runtime) {
    runtime.block_on(async {
        let store: Arc<dyn Store> = Arc::new(MemoryStore::default());
        let tasks = Tasks::builder(store).agent(name("echo"), Busy).start();
        let call = Call::new(place());
        let mut request = SendMessageRequest::new(Message::user("work"));
        request.configuration =
            Some(SendMessageConfiguration { return_immediately: true, ..Default::default() });
        let task = tasks.send(&call, request).await.expect("it is taken");
        let id = task.into_task().expect("a task").id;
        let subscribe = SubscribeToTaskRequest { tenant: None, id };
        let mut readers = Vec::with_capacity(usize::try_from(SUBSCRIBERS).expect("few"));
        let mut before = 0;
        for number in 0..SUBSCRIBERS + 1_000 {
            if number == 1_000 {
                before = resident();
            }
            let mut events = tasks.subscribe(&call, subscribe.clone()).await.expect("it is there");
            // The task as it is; then there is nothing until something happens.
            futures_util::StreamExt::next(&mut events).await.expect("a task").expect("a task");
            assert!(
                futures_util::FutureExt::now_or_never(futures_util::StreamExt::next(&mut events))
                    .is_none()
            );
            readers.push(events);
        }
        let bytes = resident().saturating_sub(before) / SUBSCRIBERS;
        say("an idle subscriber", &format!("{bytes} bytes"), "4096", bytes <= 4096);
    });
}
