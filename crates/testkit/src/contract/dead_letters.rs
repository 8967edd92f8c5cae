//! Events that a webhook would not take.

use std::time::Duration;

use nuncio_tasks::{
    log::Seq,
    store::{Create, DeadLetter, Delivery, Head, Progress, Retention, Store, Swept},
};

use super::{
    Fixture,
    story::{
        LONG, SHORT, acme, ann, append, eventually, lease, new, owned, progress, webhook,
        webhook_id, write,
    },
};

/// As many as are wanted.
pub async fn dead_letters_are_read_the_newest_first(fixture: Fixture) {
    let store = fixture.store();
    tell(store, 4).await;
    let seqs = |letters: Vec<DeadLetter>| letters.iter().map(|l| l.seq.0).collect::<Vec<_>>();
    assert_eq!(seqs(letters(store).await), [4, 3, 2, 1]);
    assert_eq!(seqs(store.dead_letters(&acme(), 3).await.expect("read")), [4, 3, 2]);
    assert!(store.dead_letters(&acme(), 0).await.expect("read").is_empty());
}

/// The webhook stays where it is.
pub async fn a_letter_is_sent_again_and_removed(fixture: Fixture) {
    let store = fixture.store();
    let head = tell(store, 3).await;
    let letter = letters(store).await.remove(1);
    assert_eq!(letter.seq, Seq(2));
    assert!(store.resend(&acme(), letter.id).await.expect("answered"));
    assert!(store.resend(&acme(), letter.id).await.expect("answered"), "asking twice is fine");
    assert_eq!(letters(store).await.len(), 3, "it is a dead letter until it is sent");

    let again = claim_one(store).await;
    assert_eq!((again.seq, again.again), (Seq(2), Some(letter.id)));
    assert_eq!((again.attempts, again.webhook.sent), (1, Seq(3)));
    assert!(claims_nothing(store).await, "it is taken");
    settle(store, &again, Progress::Sent).await;
    assert!(!store.settle(&again, Progress::Sent).await.expect("answered"), "it has ended");

    let left: Vec<u64> = letters(store).await.iter().map(|letter| letter.seq.0).collect();
    assert_eq!(left, [3, 1]);
    assert_eq!(store.webhooks(head.reference).await.expect("read")[0].sent, Seq(3));
    assert!(!store.resend(&acme(), letter.id).await.expect("answered"));
    assert!(claims_nothing(store).await);
}

/// It is the same letter, tried once more.
pub async fn a_letter_that_dies_again_is_renewed(fixture: Fixture) {
    let store = fixture.store();
    let head = tell(store, 1).await;
    let letter = letters(store).await.remove(0);
    for attempts in 1..=3 {
        assert!(store.resend(&acme(), letter.id).await.expect("answered"));
        let again = claim_one(store).await;
        assert_eq!((again.seq, again.attempts), (Seq(1), attempts));
        settle(store, &again, Progress::Dead { error: format!("no {attempts}") }).await;
        let renewed = letters(store).await;
        assert_eq!(renewed.len(), 1);
        assert_eq!((renewed[0].id, renewed[0].seq), (letter.id, Seq(1)));
        assert_eq!(
            (renewed[0].attempts, &renewed[0].error),
            (attempts + 1, &format!("no {attempts}"))
        );
        assert!(renewed[0].at >= letter.at);
        assert!(claims_nothing(store).await, "it is not sent again by itself");
    }
    assert_eq!(store.webhooks(head.reference).await.expect("read")[0].sent, Seq(1));
}

/// Neither is an event in the way of a letter.
pub async fn a_letter_to_be_tried_later_delays_nothing_else(fixture: Fixture) {
    let store = fixture.store();
    let head = tell(store, 1).await;
    let letter = letters(store).await.remove(0);
    assert!(store.resend(&acme(), letter.id).await.expect("answered"));
    let soon = Progress::Retry { after: SHORT / 5, error: "503".to_owned() };
    settle(store, &claim_one(store).await, soon).await;
    let again = eventually("the letter is due", async || claimed(store).await.pop()).await;
    assert_eq!((again.again, again.attempts), (Some(letter.id), 2));
    let later = Progress::Retry { after: LONG, error: "503".to_owned() };
    settle(store, &again, later).await;
    assert!(claims_nothing(store).await, "an hour is not over yet");

    let head = write(store, append(&head, progress(&head, "news"))).await;
    let event = claim_one(store).await;
    assert_eq!((event.seq, event.attempts, event.again), (Seq(2), 0, None));
    let later = Progress::Retry { after: LONG, error: "503".to_owned() };
    settle(store, &event, later).await;
    // Asking anew makes the letter due at once, but not the event.
    assert!(store.resend(&acme(), letter.id).await.expect("answered"));
    let again = claim_one(store).await;
    assert_eq!(again.again, Some(letter.id));
    settle(store, &again, Progress::Sent).await;
    assert!(letters(store).await.is_empty());
    assert_eq!(store.webhooks(head.reference).await.expect("read")[0].sent, Seq(1));
    assert!(claims_nothing(store).await, "the event is due in an hour");
}

/// And counts as often as before.
pub async fn a_released_letter_is_due_at_once(fixture: Fixture) {
    let store = fixture.store();
    tell(store, 1).await;
    let letter = letters(store).await.remove(0);
    assert!(store.resend(&acme(), letter.id).await.expect("answered"));
    for _ in 0..3 {
        let again = claim_one(store).await;
        assert_eq!((again.again, again.attempts), (Some(letter.id), 1));
        settle(store, &again, Progress::Released).await;
    }
}

/// There is nowhere to send it.
pub async fn a_letter_goes_with_its_webhook(fixture: Fixture) {
    let store = fixture.store();
    let head = tell(store, 2).await;
    let letter = letters(store).await.remove(0);
    assert!(store.resend(&acme(), letter.id).await.expect("answered"));
    let again = claim_one(store).await;
    store.delete_webhook(head.reference, &webhook_id("a")).await.expect("deleted");
    assert!(letters(store).await.is_empty());
    assert!(!store.settle(&again, Progress::Sent).await.expect("answered"));
    assert!(!store.resend(&acme(), letter.id).await.expect("answered"));
    assert!(claims_nothing(store).await);
    let everything = Retention { dead_letters: Some(Duration::ZERO), ..Retention::default() };
    assert_eq!(store.sweep(&everything, 10).await.expect("swept"), Swept::default());
}

/// A task with so many events, of which none could be sent.
async fn tell(store: &dyn Store, events: usize) -> Head {
    let mut head = new(store, Create { webhooks: vec![webhook("a")], ..owned(&ann()) }).await;
    for _ in 1..events {
        head = write(store, append(&head, progress(&head, "news"))).await;
    }
    for _ in 0..events {
        let delivery = claim_one(store).await;
        settle(store, &delivery, Progress::Dead { error: "no".to_owned() }).await;
    }
    assert!(claims_nothing(store).await);
    head
}

async fn letters(store: &dyn Store) -> Vec<DeadLetter> {
    store.dead_letters(&acme(), 100).await.expect("read")
}

async fn settle(store: &dyn Store, delivery: &Delivery, progress: Progress) {
    let settled = store.settle(delivery, progress.clone()).await.expect("answered");
    assert!(settled, "{progress:?} of {delivery:?}");
}

async fn claimed(store: &dyn Store) -> Vec<Delivery> {
    store.claim_deliveries(lease("sender"), 100).await.expect("claimed")
}

/// Takes the one thing that is due.
async fn claim_one(store: &dyn Store) -> Delivery {
    let mut claimed = claimed(store).await;
    assert_eq!(claimed.len(), 1, "one webhook is due, claimed were {claimed:?}");
    claimed.remove(0)
}

async fn claims_nothing(store: &dyn Store) -> bool {
    claimed(store).await.is_empty()
}
