//! Receivers that hang hold up nobody else.

use std::{sync::Arc, time::Duration};

use nuncio_protocol::{
    ids::PushConfigId, operation::DeleteTaskPushNotificationConfigRequest,
    push::TaskPushNotificationConfig,
};
use nuncio_tasks::store::{Lease, Progress, Store as _};
use nuncio_testkit::webhook::{Answer, Receiver};
use tokio::sync::Notify;

use crate::push::world::{World, call, check_order, name};

/// A hanging receiver never answers, and nobody loses patience with it, so that whatever
/// arrives elsewhere has not waited for it.
#[tokio::test]
async fn fine_receivers_do_not_wait_for_hanging_and_failing_ones() {
    let for_ever = Duration::from_secs(3600);
    let world = World::with(|push| push.timeout(for_ever).lease(2 * for_ever)).await;
    // A receiver that has answered is known to be fine from then on.
    world.open("count 0", Some(world.webhook("/first"))).await;
    world.receiver.until("/first", 2).await;

    let mut hanging = Vec::new();
    for _ in 0..20 {
        let receiver = Receiver::start().await;
        receiver.otherwise("/hook", Answer::Hang);
        hanging.push(receiver);
    }
    let failing = Receiver::start().await;
    failing.otherwise("/hook", Answer::Status(500));
    for receiver in hanging.iter().chain([&failing]) {
        for _ in 0..6 {
            let config = TaskPushNotificationConfig::new(receiver.url("/hook"));
            world.open("count 0", Some(config)).await;
        }
    }
    for number in 0..30 {
        world.open("count 3", Some(world.webhook(&format!("/fine{number}")))).await;
    }
    for number in 0..30 {
        let requests = world.receiver.until(&format!("/fine{number}"), 5).await;
        check_order(&requests, 1, 5);
    }
    // One hanging receiver has its share and no more.
    for receiver in &hanging {
        assert!(receiver.requests().len() <= 2);
    }
}

#[tokio::test]
async fn a_fine_webhook_beside_hanging_ones_at_the_same_host_goes_on() {
    let for_ever = Duration::from_secs(3600);
    let world = World::with(|push| push.timeout(for_ever).lease(2 * for_ever)).await;
    world.open("count 0", Some(world.webhook("/first"))).await;
    world.receiver.until("/first", 2).await;
    for number in 0..7 {
        let path = format!("/hang{number}");
        world.receiver.otherwise(&path, Answer::Hang);
        world.open("count 0", Some(world.webhook(&path))).await;
        world.receiver.until(&path, 1).await;
    }
    for number in 0..20 {
        let path = format!("/fine{number}");
        world.open("count 3", Some(world.webhook(&path))).await;
        check_order(&world.receiver.until(&path, 5).await, 1, 5);
    }
}

#[tokio::test]
async fn a_webhook_that_is_removed_while_it_waits_for_its_turn_is_not_called() {
    let world = World::with(|push| push.at_once(64, 1)).await;
    let removed = Arc::new(Notify::new());
    world.receiver.answer("/slow", [Answer::Held(Arc::clone(&removed), 200)]);
    world.open("count 0", Some(world.webhook("/slow"))).await;
    world.receiver.until("/slow", 1).await;
    let mut config = world.webhook("/gone");
    config.id = Some(PushConfigId::parse("gone").unwrap());
    let task = world.open("count 0", Some(config)).await;
    // Once nobody else can take it, the sender has.
    let lease = Lease { owner: name("test"), lasts: Duration::from_secs(60) };
    loop {
        let taken = world.store.claim_deliveries(lease.clone(), 10).await.unwrap();
        if taken.is_empty() {
            break;
        }
        for delivery in taken {
            world.store.settle(&delivery, Progress::Released).await.unwrap();
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    // Who gets its turn within a moment is not looked at again.
    tokio::time::pause();
    tokio::time::advance(Duration::from_secs(1)).await;
    tokio::time::resume();
    let id = PushConfigId::parse("gone").unwrap();
    let request = DeleteTaskPushNotificationConfigRequest { tenant: None, task_id: task, id };
    world.tasks.delete_push_config(&call(), request).await.unwrap();
    removed.notify_one();
    // Behind the second event of the slow one, everything that waited has had its turn.
    world.receiver.until("/slow", 2).await;
    world.open("count 0", Some(world.webhook("/last"))).await;
    world.receiver.until("/last", 2).await;
    assert!(world.receiver.requests().iter().all(|request| request.path != "/gone"));
}

#[tokio::test]
async fn many_webhooks_at_one_fine_host_all_get_their_events() {
    let world = World::start().await;
    for number in 0..200 {
        world.open("count 2", Some(world.webhook(&format!("/hook{number}")))).await;
    }
    for number in 0..200 {
        let requests = world.receiver.until(&format!("/hook{number}"), 4).await;
        check_order(&requests, 1, 4);
        assert_eq!(requests.len(), 4);
    }
}
