//! The webhooks of a task.

use nuncio_protocol::{state::TaskState, version::Version};
use nuncio_tasks::{
    log::Seq,
    store::{Append, Create, Error, NewWebhook, Sealed, TaskRef, Webhook},
};

use super::{
    Fixture,
    story::{
        ann, append, ended, follow, input, new, opening, owned, progress, signal, webhook,
        webhook_id, write,
    },
};

/// All of it, in the order of their making.
pub async fn a_webhook_reads_back(fixture: Fixture) {
    let store = fixture.store();
    let head = new(store, owned(&ann())).await;
    let head = write(store, append(&head, progress(&head, "on it"))).await;
    for id in ["b", "a", "c"] {
        let put =
            NewWebhook { version: Version::V0_3, secrets: Sealed(vec![0, 255, 7]), ..webhook(id) };
        let kept = store.put_webhook(head.reference, put, 10).await.expect("kept");
        assert_eq!((kept.task, &kept.task_id), (head.reference, &head.id));
        assert_eq!((&kept.id, kept.sent), (&webhook_id(id), Seq(2)));
        assert_eq!(kept.url, format!("https://hooks.example/{id}"));
        assert_eq!((kept.secrets, kept.version), (Sealed(vec![0, 255, 7]), Version::V0_3));
    }
    let other = new(store, owned(&ann())).await;
    store.put_webhook(other.reference, webhook("b"), 10).await.expect("kept");
    let hooks = store.webhooks(head.reference).await.expect("read");
    assert_eq!(ids(&hooks), ["b", "a", "c"]);
    assert_eq!((&hooks[0].secrets, hooks[0].version), (&Sealed(vec![0, 255, 7]), Version::V0_3));
    assert_eq!(ids(&store.webhooks(other.reference).await.expect("read")), ["b"]);
}

/// It keeps its handle, its place among the others, and how far it is.
pub async fn a_webhook_replaces_its_namesake(fixture: Fixture) {
    let store = fixture.store();
    let head = new(store, owned(&ann())).await;
    let first = store.put_webhook(head.reference, webhook("a"), 2).await.expect("kept");
    store.put_webhook(head.reference, webhook("b"), 2).await.expect("kept");
    let head = write(store, append(&head, progress(&head, "on it"))).await;
    let put = NewWebhook {
        url: "https://else.example".to_owned(),
        secrets: Sealed(Vec::new()),
        version: Version::V0_3,
        ..webhook("a")
    };
    let second = store.put_webhook(head.reference, put, 2).await.expect("replaced at the limit");
    assert_eq!((second.reference, second.sent), (first.reference, Seq(1)));
    let hooks = store.webhooks(head.reference).await.expect("read");
    assert_eq!(ids(&hooks), ["a", "b"]);
    assert_eq!(hooks[0].url, "https://else.example");
    assert_eq!((&hooks[0].secrets, hooks[0].version), (&Sealed(Vec::new()), Version::V0_3));
}

/// For each task.
pub async fn webhooks_are_limited(fixture: Fixture) {
    let store = fixture.store();
    let head = new(store, owned(&ann())).await;
    for id in ["a", "b"] {
        store.put_webhook(head.reference, webhook(id), 2).await.expect("kept");
    }
    match store.put_webhook(head.reference, webhook("c"), 2).await {
        Err(Error::TooMany { what, limit }) => assert_eq!((what, limit), ("webhooks", 2)),
        other => panic!("expected too many, found {other:?}"),
    }
    assert_eq!(ids(&store.webhooks(head.reference).await.expect("read")), ["a", "b"]);
    let other = new(store, owned(&ann())).await;
    store.put_webhook(other.reference, webhook("c"), 2).await.expect("kept");
    store.delete_webhook(head.reference, &webhook_id("a")).await.expect("deleted");
    store.put_webhook(head.reference, webhook("c"), 2).await.expect("kept");
    assert_eq!(ids(&store.webhooks(head.reference).await.expect("read")), ["b", "c"]);
}

/// And one of the same name is a new one.
pub async fn a_deleted_webhook_is_gone(fixture: Fixture) {
    let store = fixture.store();
    let head = new(store, Create { webhooks: vec![webhook("a")], ..owned(&ann()) }).await;
    for _ in 0..2 {
        store.delete_webhook(head.reference, &webhook_id("a")).await.expect("deleted");
        assert!(store.webhooks(head.reference).await.expect("read").is_empty());
    }
    let anew = store.put_webhook(head.reference, webhook("a"), 1).await.expect("kept");
    assert_eq!(anew.sent, Seq(1), "a new webhook begins at the end of the log");
}

/// A task that has ended is not gone.
pub async fn a_webhook_of_a_task_that_is_gone_is_refused(fixture: Fixture) {
    let store = fixture.store();
    let ended = ended(store, &ann(), TaskState::Completed).await;
    store.put_webhook(ended.reference, webhook("a"), 1).await.expect("kept");
    let gone = TaskRef(ended.reference.0 + 1_000);
    let put = store.put_webhook(gone, webhook("a"), 1).await;
    assert!(matches!(put, Err(Error::Gone)), "found {put:?}");
    assert!(store.webhooks(gone).await.expect("read").is_empty());
    store.delete_webhook(gone, &webhook_id("a")).await.expect("nothing to delete");
}

/// In the same transaction.
pub async fn webhooks_come_with_a_task_or_a_message(fixture: Fixture) {
    let store = fixture.store();
    let webhooks = vec![webhook("a"), webhook("b")];
    let head = new(store, Create { webhooks, ..opening(&ann()) }).await;
    let hooks = store.webhooks(head.reference).await.expect("read");
    assert_eq!(ids(&hooks), ["a", "b"]);
    assert!(hooks.iter().all(|hook| hook.sent == Seq::START));

    let replaced = NewWebhook { url: "https://else.example".to_owned(), ..webhook("a") };
    let message =
        Append { webhooks: vec![webhook("c"), replaced], ..signal(&head, input(&head, "more")) };
    let head = write(store, message).await;
    let hooks = store.webhooks(head.reference).await.expect("read");
    assert_eq!(ids(&hooks), ["a", "b", "c"]);
    let sent: Vec<Seq> = hooks.iter().map(|hook| hook.sent).collect();
    assert_eq!(sent, [Seq(0), Seq(0), Seq(1)]);
    assert_eq!(hooks[0].url, "https://else.example");

    let alone = Append { webhooks: vec![webhook("d")], ..signal(&head, follow(&head)) };
    let head = write(store, alone).await;
    let hooks = store.webhooks(head.reference).await.expect("read");
    assert_eq!((hooks.len(), hooks[3].sent), (4, Seq(2)));
}

fn ids(webhooks: &[Webhook]) -> Vec<&str> {
    webhooks.iter().map(|webhook| webhook.id.as_str()).collect()
}
