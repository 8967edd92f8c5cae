//! The same message twice (R06, G5).

use std::collections::HashSet;

use nuncio_protocol::{
    message::Message,
    operation::{Request, Response, SendMessageRequest},
    task::SendMessageResponse,
};
use nuncio_tasks::engine::reasons;
use nuncio_testkit::wire::Wire;
use tokio::task::JoinSet;

use crate::outside::support::{Served, scripted};

fn send(message: &Message) -> Request {
    Request::SendMessage(SendMessageRequest::new(message.clone()))
}

#[tokio::test]
async fn equal_keyed_sends_on_all_bindings_are_one_task() {
    let served = Served::start(scripted()).await;
    let wires: Vec<Wire> = Wire::current(&served.http())
        .iter()
        .map(|wire| wire.with("idempotency-key", "k1"))
        .collect();
    let message = Message::user("hello");
    let mut sends = JoinSet::new();
    for index in 0..99 {
        let (wire, request) = (wires[index % wires.len()].clone(), send(&message));
        sends.spawn(async move { wire.call(request).await });
    }
    let mut tasks = HashSet::new();
    while let Some(answer) = sends.join_next().await {
        match answer.unwrap().unwrap() {
            Response::SendMessage(SendMessageResponse::Task(task)) => tasks.insert(task.id),
            other => panic!("not a task: {other:?}"),
        };
    }
    assert_eq!(tasks.len(), 1, "{tasks:?}");

    let mut changed = message.clone();
    changed.parts = Message::user("hallo").parts;
    for wire in &wires {
        let refused = wire.call(send(&changed)).await.unwrap_err();
        assert_eq!(refused.error.reason(), reasons::KEY_REUSED, "{refused:?}");
    }
}
