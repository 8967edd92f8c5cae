//! What arrives at a receiver that takes everything.

use std::time::Duration;

use nuncio_client::webhook::Verifier;
use nuncio_protocol::{
    ids::PushConfigId,
    message::Message,
    operation::{
        DeleteTaskPushNotificationConfigRequest, SendMessageConfiguration, SendMessageRequest,
    },
    time::Timestamp,
};
use nuncio_tasks::{
    log::Seq,
    store::{Limit, Store as _},
};
use nuncio_testkit::webhook::Answer;

use crate::push::world::{World, call, check_order, header, scope, seq_of, with_secrets};

#[tokio::test]
async fn an_inline_webhook_gets_every_event_from_the_first_in_order() {
    let world = World::start().await;
    let task = world.open("count 5", Some(world.webhook("/hook"))).await;
    // The opening, five statuses, the end.
    let requests = world.receiver.until("/hook", 7).await;
    check_order(&requests, 1, 7);
    assert_eq!(requests.len(), 7);
    assert_eq!(world.log_length(&task).await, 7);
}

/// Events come while others are being settled. A webhook that was left behind by that would be
/// taken for hours.
#[tokio::test]
async fn no_event_is_overlooked_while_another_is_settled() {
    let hours = Duration::from_secs(7200);
    let world = World::with(|push| push.lease(hours)).await;
    for number in 0..20 {
        let path = format!("/hook{number}");
        world.open("trickle 60", Some(world.webhook(&path))).await;
    }
    for number in 0..20 {
        let requests = world.receiver.until(&format!("/hook{number}"), 62).await;
        check_order(&requests, 1, 62);
    }
}

#[tokio::test]
async fn a_body_is_the_entry_of_the_log_byte_by_byte() {
    let world = World::start().await;
    let task = world.open("count 3", Some(world.webhook("/hook"))).await;
    let requests = world.receiver.until("/hook", 5).await;
    let head = world.store.find(&scope(), &task).await.unwrap().unwrap();
    let limit = Limit { entries: 100, bytes: 1 << 20 };
    let log = world.store.tail(head.reference, Seq::START, limit).await.unwrap();
    let bodies: Vec<_> = requests.iter().map(|request| request.body.clone()).collect();
    let texts: Vec<_> = log.entries.iter().map(|entry| entry.record.event.json().clone()).collect();
    assert_eq!(bodies, texts);
}

#[tokio::test]
async fn a_registered_webhook_gets_what_comes_afterwards() {
    let world = World::start().await;
    let task = world.open("hold", None).await;
    let before = world.log_length(&task).await;
    world.register(&task, "/hook").await;
    world.say(&task, "more").await;
    world.say(&task, "end").await;
    // Two inputs, one status, one end.
    let requests = world.receiver.until("/hook", 4).await;
    let first = u64::try_from(before).unwrap() + 1;
    check_order(&requests, first, first + 3);
}

#[tokio::test]
async fn an_existing_task_takes_an_inline_webhook_from_its_message_on() {
    let world = World::start().await;
    let task = world.open("hold", None).await;
    let before = u64::try_from(world.log_length(&task).await).unwrap();
    let mut message = Message::user("end");
    message.task_id = Some(task.clone());
    let mut request = SendMessageRequest::new(message);
    request.configuration = Some(SendMessageConfiguration {
        task_push_notification_config: Some(world.webhook("/hook")),
        ..SendMessageConfiguration::default()
    });
    world.tasks.send(&call(), request).await.unwrap();
    let requests = world.receiver.until("/hook", 2).await;
    check_order(&requests, before + 1, before + 2);
}

#[tokio::test]
async fn headers_are_those_that_were_agreed() {
    let world = World::start().await;
    world.open("count 0", Some(with_secrets(world.webhook("/hook?x=1")))).await;
    let requests = world.receiver.until("/hook", 2).await;
    let request = &requests[0];
    assert_eq!(request.method, "POST");
    assert_eq!(request.query.as_deref(), Some("x=1"));
    assert_eq!(header(request, "content-type"), Some("application/a2a+json"));
    assert_eq!(header(request, "authorization"), Some("Bearer cr3dentials-of-ann"));
    assert_eq!(header(request, "x-a2a-notification-token"), Some("t0ken-of-ann"));
    assert_eq!(header(request, "a2a-notification-token"), Some("t0ken-of-ann"));
    assert_eq!(header(request, "a2a-version"), Some("1.0"));
    let agent = header(request, "user-agent").unwrap();
    assert!(agent.starts_with("nuncio/"), "{agent}");
    let timestamp: i64 = header(request, "webhook-timestamp").unwrap().parse().unwrap();
    let (now, _) = Timestamp::now().to_parts();
    assert!((now - timestamp).abs() < 300, "{timestamp} is not a time in seconds");
}

#[tokio::test]
async fn without_secrets_there_are_no_headers_for_them() {
    let world = World::start().await;
    world.open("count 0", Some(world.webhook("/hook"))).await;
    let requests = world.receiver.until("/hook", 2).await;
    for name in
        ["authorization", "x-a2a-notification-token", "a2a-notification-token", "webhook-signature"]
    {
        assert_eq!(header(&requests[0], name), None);
    }
}

#[tokio::test]
async fn what_is_sent_verifies() {
    let world = World::start().await;
    let task = world.open("count 2", Some(with_secrets(world.webhook("/hook")))).await;
    let verifier = Verifier::new("t0ken-of-ann").expect_task(task.clone());
    for request in world.receiver.until("/hook", 4).await {
        let arrival = verifier.verify(&request.headers, &request.body).unwrap();
        assert!(!arrival.is_repeated());
        assert_eq!(arrival.task(), Some(&task));
        verifier.acted_on(&arrival);
        assert!(verifier.verify(&request.headers, &request.body).unwrap().is_repeated());
    }
}

#[tokio::test]
async fn nothing_is_sent_once_a_webhook_is_removed() {
    let world = World::start().await;
    let task = world.open("hold", None).await;
    let id = world.register(&task, "/gone").await;
    world.register(&task, "/stays").await;
    world.say(&task, "first").await;
    world.receiver.until("/gone", 2).await;
    world.receiver.until("/stays", 2).await;
    let request =
        DeleteTaskPushNotificationConfigRequest { tenant: None, task_id: task.clone(), id };
    world.tasks.delete_push_config(&call(), request).await.unwrap();
    world.say(&task, "second").await;
    world.say(&task, "end").await;
    world.receiver.until("/stays", 5).await;
    world.tasks.stop(Duration::from_secs(5)).await;
    let gone = world.receiver.requests().into_iter().filter(|request| request.path == "/gone");
    assert_eq!(gone.count(), 2);
}

#[tokio::test]
async fn a_replaced_webhook_goes_on_at_the_new_address_with_the_old_identifiers() {
    let world = World::with(|push| push.timeout(Duration::from_secs(600))).await;
    world.receiver.otherwise("/old", Answer::Hang);
    let mut config = world.webhook("/old");
    config.id = Some(PushConfigId::parse("mine").unwrap());
    let task = world.open("count 1", Some(config.clone())).await;
    let hung = world.receiver.until("/old", 1).await;
    config.task_id = Some(task);
    config.url = world.receiver.url("/new");
    world.tasks.create_push_config(&call(), config).await.unwrap();
    let requests = world.receiver.until("/new", 3).await;
    check_order(&requests, 1, 3);
    assert_eq!(header(&requests[0], "webhook-id"), header(&hung[0], "webhook-id"));
}

#[tokio::test]
async fn identifiers_differ_by_webhook_and_event() {
    let world = World::start().await;
    let task = world.open("hold", None).await;
    for _ in 0..3 {
        world.register(&task, "/hook").await;
    }
    world.say(&task, "end").await;
    let requests = world.receiver.until("/hook", 6).await;
    let ids: std::collections::HashSet<_> =
        requests.iter().map(|request| header(request, "webhook-id").unwrap()).collect();
    assert_eq!(ids.len(), 6);
    let mut seqs: Vec<u64> = requests.iter().map(seq_of).collect();
    seqs.sort_unstable();
    assert_eq!(seqs, [2, 2, 2, 3, 3, 3]);
}
