//! What is sent to webhooks, and how that goes on.

use std::{collections::BTreeSet, sync::Arc, time::Duration};

use nuncio_protocol::state::TaskState;
use nuncio_tasks::{
    log::Seq,
    store::{Append, Create, Delivery, Error, Head, NewWebhook, Progress, Store},
};

use super::{
    Fixture,
    story::{
        LONG, SHORT, acme, ann, append, bob, end, eventually, input, lease, new, owned, progress,
        refused, reread, short_lease, signal, webhook, webhook_id, write,
    },
};

/// From the first on, in order.
pub async fn a_webhook_of_a_new_task_gets_every_event(fixture: Fixture) {
    let store = fixture.store();
    let head = new(store, hooked()).await;
    let head = write(store, append(&head, progress(&head, "on it"))).await;
    end(store, &head, TaskState::Completed).await;
    for seq in 1..=3 {
        let delivery = claim_one(store).await;
        assert_eq!((delivery.seq, delivery.webhook.sent), (Seq(seq), Seq(seq - 1)));
        assert_eq!((delivery.attempts, delivery.again), (0, None));
        assert_eq!((&delivery.webhook.task_id, delivery.webhook.task), (&head.id, head.reference));
        assert_eq!(delivery.webhook.url, "https://hooks.example/a");
        settle(store, &delivery, Progress::Sent).await;
        if seq < 3 {
            let next = Delivery { seq: delivery.seq.next(), ..delivery };
            settle(store, &next, Progress::Released).await;
        }
    }
    assert!(claims_nothing(store).await);
}

/// What has happened before is not sent.
pub async fn a_later_webhook_gets_only_later_events(fixture: Fixture) {
    let store = fixture.store();
    let head = new(store, owned(&ann())).await;
    let head = write(store, append(&head, progress(&head, "before"))).await;
    store.put_webhook(head.reference, webhook("a"), 1).await.expect("kept");
    assert!(claims_nothing(store).await);
    write(store, append(&head, progress(&head, "after"))).await;
    assert_eq!(claim_one(store).await.seq, Seq(3));
}

/// Its own message is the first thing it hears of; a batch that is refused brings nothing.
pub async fn a_webhook_that_comes_with_a_batch_gets_it(fixture: Fixture) {
    let store = fixture.store();
    let head = new(store, owned(&ann())).await;
    let message = Append { webhooks: vec![webhook("a")], ..signal(&head, input(&head, "more")) };
    let mut foreign = head.clone();
    foreign.state = TaskState::InputRequired;
    let late = Append { batch: input(&foreign, "more"), ..message.clone() };
    assert!(matches!(refused(store, late).await, Error::StateChanged { .. }));
    assert!(store.webhooks(head.reference).await.expect("read").is_empty());
    write(store, message).await;
    assert_eq!(claim_one(store).await.seq, Seq(2));
}

/// While one sender is at it, others leave it alone.
pub async fn a_taken_webhook_is_not_taken_twice(fixture: Fixture) {
    let store = fixture.store();
    let head = new(store, hooked()).await;
    let delivery = claim_one(store).await;
    assert!(claims_nothing(store).await);
    write(store, append(&head, progress(&head, "more"))).await;
    assert!(claims_nothing(store).await, "a new event does not change that");
    settle(store, &delivery, Progress::Sent).await;
    assert!(claims_nothing(store).await, "nor does a sent one while there is another");
}

/// Senders that look at the same time do not get the same webhook.
pub async fn claims_at_once_take_each_webhook_once(fixture: Fixture) {
    for number in 0..20 {
        let webhooks = vec![webhook("a"), webhook("b")];
        let place = if number % 2 == 0 { ann() } else { bob() };
        new(fixture.store(), Create { webhooks, ..owned(&place) }).await;
    }
    let senders: Vec<_> = (0..8)
        .map(|number| {
            let store = Arc::clone(fixture.shared());
            tokio::spawn(async move {
                let mut taken = Vec::new();
                loop {
                    let lease = lease(&format!("sender {number}"));
                    let claimed = store.claim_deliveries(lease, 7).await.expect("claimed");
                    if claimed.is_empty() {
                        return taken;
                    }
                    assert!(claimed.len() <= 7);
                    taken.extend(claimed.into_iter().map(|delivery| delivery.webhook.reference));
                }
            })
        })
        .collect();
    let mut taken = Vec::new();
    for sender in senders {
        taken.extend(sender.await.expect("the sender is done"));
    }
    let rest = fixture.store().claim_deliveries(lease("last"), 100).await.expect("claimed");
    taken.extend(rest.into_iter().map(|delivery| delivery.webhook.reference));
    assert_eq!(taken.len(), 40);
    assert_eq!(taken.into_iter().collect::<BTreeSet<_>>().len(), 40);
}

/// The sender is gone; what it had not settled is sent again.
pub async fn a_delivery_that_is_over_is_taken_by_another(fixture: Fixture) {
    let store = fixture.store();
    new(store, hooked()).await;
    let mut claimed = store.claim_deliveries(short_lease("one"), 10).await.expect("claimed");
    let first = claimed.pop().expect("one is due");
    let second = eventually_claimed(store).await;
    assert_eq!((second.seq, second.webhook.reference), (first.seq, first.webhook.reference));
    assert!(second.epoch > first.epoch);
    assert!(!store.settle(&first, Progress::Sent).await.expect("answered"));
    settle(store, &second, Progress::Sent).await;

    // One that has only run out can still be settled.
    let head = new(store, Create { webhooks: vec![webhook("b")], ..owned(&bob()) }).await;
    let mut claimed = store.claim_deliveries(short_lease("one"), 10).await.expect("claimed");
    let late = claimed.pop().expect("one is due");
    let clock = new(store, Create { lease: Some(short_lease("one")), ..owned(&bob()) }).await;
    eventually("such a lease is over", async || (!reread(store, &clock).await.owned).then_some(()))
        .await;
    settle(store, &late, Progress::Sent).await;
    let hooks = store.webhooks(head.reference).await.expect("read");
    assert_eq!(hooks[0].sent, Seq(1));
}

/// One claim is enough for all events that are there.
pub async fn sent_events_follow_one_another_under_one_claim(fixture: Fixture) {
    let store = fixture.store();
    let head = three_events(store).await;
    let mut delivery = claim_one(store).await;
    for seq in 1..=3 {
        assert_eq!(delivery.seq, Seq(seq));
        settle(store, &delivery, Progress::Sent).await;
        let hooks = store.webhooks(head.reference).await.expect("read");
        assert_eq!(hooks[0].sent, Seq(seq));
        assert!(claims_nothing(store).await);
        delivery.seq = delivery.seq.next();
        delivery.webhook.sent = Seq(seq);
    }
    // All is sent, so the delivery has ended; the next event needs a new claim.
    write(store, append(&head, progress(&head, "more"))).await;
    assert!(!store.settle(&delivery, Progress::Sent).await.expect("answered"));
    let next = claim_one(store).await;
    assert_eq!(next.seq, Seq(4));
    assert!(next.epoch > delivery.epoch);
}

/// Sent is sent; an answer that comes twice moves nothing.
pub async fn a_settled_event_is_not_settled_twice(fixture: Fixture) {
    let store = fixture.store();
    let head = three_events(store).await;
    let delivery = claim_one(store).await;
    settle(store, &delivery, Progress::Sent).await;
    let again = [
        Progress::Sent,
        Progress::Dead { error: "no".to_owned() },
        Progress::Retry { after: Duration::ZERO, error: "no".to_owned() },
    ];
    for progress in again {
        assert!(!store.settle(&delivery, progress).await.expect("answered"));
    }
    let ahead = Delivery { seq: Seq(3), ..delivery.clone() };
    assert!(!store.settle(&ahead, Progress::Sent).await.expect("answered"), "2 comes before 3");
    assert_eq!(store.webhooks(head.reference).await.expect("read")[0].sent, Seq(1));
    assert!(claims_nothing(store).await, "the delivery is still taken");
    let next = Delivery { seq: Seq(2), ..delivery };
    settle(store, &next, Progress::Released).await;
    assert!(!store.settle(&next, Progress::Sent).await.expect("answered"), "it has ended");
    assert_eq!(claim_one(store).await.seq, Seq(2));
}

/// An hour is not over yet, and new events do not hurry it.
pub async fn a_retry_does_not_come_before_its_time(fixture: Fixture) {
    let store = fixture.store();
    let head = new(store, hooked()).await;
    let later = Progress::Retry { after: LONG, error: "503".to_owned() };
    settle(store, &claim_one(store).await, later).await;
    assert!(claims_nothing(store).await);
    write(store, append(&head, progress(&head, "more"))).await;
    assert!(claims_nothing(store).await);
    assert!(store.dead_letters(&acme(), 10).await.expect("read").is_empty());
}

/// The same event, tried once more than before; a new event begins at none.
pub async fn a_retry_comes_after_its_time_and_counts(fixture: Fixture) {
    let store = fixture.store();
    let head = three_events(store).await;
    for attempts in 0..3 {
        let delivery = eventually_claimed(store).await;
        assert_eq!((delivery.seq, delivery.attempts), (Seq(1), attempts));
        let soon = Progress::Retry { after: SHORT / 5, error: "503".to_owned() };
        settle(store, &delivery, soon).await;
        assert!(!store.settle(&delivery, Progress::Sent).await.expect("answered"), "it has ended");
    }
    let delivery = eventually_claimed(store).await;
    assert_eq!((delivery.seq, delivery.attempts), (Seq(1), 3));
    settle(store, &delivery, Progress::Sent).await;
    let next = Delivery { seq: Seq(2), ..delivery };
    settle(store, &next, Progress::Released).await;
    let next = claim_one(store).await;
    assert_eq!((next.seq, next.attempts), (Seq(2), 0));
    assert_eq!(store.webhooks(head.reference).await.expect("read")[0].sent, Seq(1));
}

/// It was not tried, so nothing is counted.
pub async fn a_released_delivery_is_due_at_once(fixture: Fixture) {
    let store = fixture.store();
    new(store, hooked()).await;
    let mut epochs = BTreeSet::new();
    for _ in 0..3 {
        let delivery = claim_one(store).await;
        assert_eq!((delivery.seq, delivery.attempts), (Seq(1), 0));
        epochs.insert(delivery.epoch);
        settle(store, &delivery, Progress::Released).await;
        assert!(!store.settle(&delivery, Progress::Sent).await.expect("answered"), "it has ended");
    }
    assert_eq!(epochs.len(), 3, "every claim has its own epoch");
}

/// The receiver misses one event, and everybody can see which.
pub async fn a_dead_event_leaves_a_letter_and_moves_on(fixture: Fixture) {
    let store = fixture.store();
    let head = three_events(store).await;
    let delivery = claim_one(store).await;
    let soon = Progress::Retry { after: Duration::ZERO, error: "503".to_owned() };
    settle(store, &delivery, soon).await;
    let delivery = eventually_claimed(store).await;
    settle(store, &delivery, Progress::Dead { error: "410 gone".to_owned() }).await;
    assert!(!store.settle(&delivery, Progress::Sent).await.expect("answered"), "it has ended");

    let letters = store.dead_letters(&acme(), 10).await.expect("read");
    assert_eq!(letters.len(), 1);
    let letter = &letters[0];
    assert_eq!((&letter.task, &letter.webhook), (&head.id, &webhook_id("a")));
    assert_eq!((&*letter.url, &*letter.error), ("https://hooks.example/a", "410 gone"));
    assert_eq!((letter.seq, letter.attempts), (Seq(1), 2));

    let next = claim_one(store).await;
    assert_eq!((next.seq, next.attempts, next.again), (Seq(2), 0, None));
    assert_eq!(store.webhooks(head.reference).await.expect("read")[0].sent, Seq(1));
}

/// A sender that was replaced can write nothing down.
pub async fn an_old_epoch_settles_nothing(fixture: Fixture) {
    let store = fixture.store();
    let head = new(store, hooked()).await;
    let old = claim_one(store).await;
    settle(store, &old, Progress::Released).await;
    let current = claim_one(store).await;
    let late = [
        Progress::Sent,
        Progress::Retry { after: Duration::ZERO, error: "late".to_owned() },
        Progress::Dead { error: "late".to_owned() },
        Progress::Released,
    ];
    for progress in late {
        assert!(!store.settle(&old, progress).await.expect("answered"));
        assert!(claims_nothing(store).await, "the new sender still has it");
    }
    assert!(store.dead_letters(&acme(), 10).await.expect("read").is_empty());
    assert_eq!(store.webhooks(head.reference).await.expect("read")[0].sent, Seq::START);
    settle(store, &current, Progress::Sent).await;
}

/// Nor does it come back.
pub async fn a_deleted_webhook_settles_nothing(fixture: Fixture) {
    let store = fixture.store();
    let head = new(store, hooked()).await;
    let delivery = claim_one(store).await;
    store.delete_webhook(head.reference, &webhook_id("a")).await.expect("deleted");
    for progress in [Progress::Dead { error: "no".to_owned() }, Progress::Sent] {
        assert!(!store.settle(&delivery, progress).await.expect("answered"));
    }
    assert!(store.dead_letters(&acme(), 10).await.expect("read").is_empty());
    assert!(claims_nothing(store).await);
    // A namesake is another webhook.
    store.put_webhook(head.reference, webhook("a"), 1).await.expect("kept");
    assert!(!store.settle(&delivery, Progress::Sent).await.expect("answered"));
    assert!(claims_nothing(store).await);
}

/// The old address may be why it failed.
pub async fn a_replaced_webhook_begins_anew_with_what_is_unsent(fixture: Fixture) {
    let store = fixture.store();
    let head = three_events(store).await;
    let put = |url: &str| {
        let replacement = NewWebhook { url: url.to_owned(), ..webhook("a") };
        store.put_webhook(head.reference, replacement, 1)
    };
    let first = claim_one(store).await;
    settle(store, &first, Progress::Sent).await;
    let second = Delivery { seq: Seq(2), ..first };
    let later = Progress::Retry { after: LONG, error: "503".to_owned() };
    settle(store, &second, later).await;
    put("https://second.example").await.expect("replaced");
    let taken = claim_one(store).await;
    assert_eq!((taken.seq, taken.attempts), (Seq(2), 0));
    assert_eq!(taken.webhook.url, "https://second.example");

    put("https://third.example").await.expect("replaced");
    assert!(!store.settle(&taken, Progress::Sent).await.expect("answered"), "the old address");
    let taken = claim_one(store).await;
    assert_eq!((taken.seq, &*taken.webhook.url), (Seq(2), "https://third.example"));
}

/// The last event is the one that matters most.
pub async fn an_ended_task_is_still_delivered(fixture: Fixture) {
    let store = fixture.store();
    let head = three_events(store).await;
    end(store, &head, TaskState::Failed).await;
    let mut delivery = claim_one(store).await;
    for _ in 1..=4 {
        settle(store, &delivery, Progress::Sent).await;
        delivery.seq = delivery.seq.next();
    }
    assert_eq!(store.webhooks(head.reference).await.expect("read")[0].sent, Seq(4));
    assert!(claims_nothing(store).await);
}

/// A task with a webhook that has not been sent anything.
fn hooked() -> Create {
    Create { webhooks: vec![webhook("a")], ..owned(&ann()) }
}

async fn three_events(store: &dyn Store) -> Head {
    let mut head = new(store, hooked()).await;
    for text in ["two", "three"] {
        head = write(store, append(&head, progress(&head, text))).await;
    }
    head
}

async fn settle(store: &dyn Store, delivery: &Delivery, progress: Progress) {
    let settled = store.settle(delivery, progress.clone()).await.expect("answered");
    assert!(settled, "{progress:?} of {delivery:?}");
}

/// Takes the one webhook that is due.
async fn claim_one(store: &dyn Store) -> Delivery {
    let mut claimed = store.claim_deliveries(lease("sender"), 100).await.expect("claimed");
    assert_eq!(claimed.len(), 1, "one webhook is due, claimed were {claimed:?}");
    claimed.remove(0)
}

async fn claims_nothing(store: &dyn Store) -> bool {
    store.claim_deliveries(lease("sender"), 100).await.expect("claimed").is_empty()
}

async fn eventually_claimed(store: &dyn Store) -> Delivery {
    eventually("a webhook is due", async || {
        let mut claimed = store.claim_deliveries(lease("sender"), 100).await.expect("claimed");
        assert!(claimed.len() <= 1, "one webhook is due, claimed were {claimed:?}");
        claimed.pop()
    })
    .await
}
