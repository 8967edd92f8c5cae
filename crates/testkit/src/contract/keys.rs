//! The same request twice.

use std::sync::Arc;

use nuncio_protocol::state::TaskState;
use nuncio_tasks::{
    scope::Place,
    store::{Append, Appended, Create, Created, Error, Filter, Head, Page, Store, Tenancy},
};

use super::{
    Fixture,
    story::{
        acme, ann, append, bob, end, follow, input, key, lease, log, new, next_epoch, opening,
        owned, place, progress, refused, reread, signal, status, tenure, write,
    },
};

/// The second time the first task is found, and nothing is written.
pub async fn the_same_request_opens_one_task(fixture: Fixture) {
    let store = fixture.store();
    let head = new(store, keyed(opening(&ann()), "k", 1)).await;
    for _ in 0..3 {
        let again = repeated(store, keyed(opening(&ann()), "k", 1)).await;
        assert_eq!(again.as_ref(), Some(&head));
    }
    assert_eq!(count(store).await, 1);
}

/// Whether a request is a repeated one can be asked without making it.
pub async fn a_key_that_was_used_is_known(fixture: Fixture) {
    let store = fixture.store();
    let is_used =
        async |place: &Place, text: &str, request| store.is_used(place, &key(text, request)).await;
    assert!(matches!(is_used(&ann(), "k", 1).await, Ok(false)), "nothing was ever done there");
    let head = new(store, keyed(opening(&ann()), "k", 1)).await;
    let message = Append { key: Some(key("m", 1)), ..signal(&head, input(&head, "more")) };
    write(store, message).await;
    for text in ["k", "m"] {
        assert!(matches!(is_used(&ann(), text, 1).await, Ok(true)), "{text}");
        assert!(matches!(is_used(&ann(), text, 2).await, Err(Error::KeyReused)), "{text}");
        assert!(matches!(is_used(&bob(), text, 1).await, Ok(false)), "{text}");
    }
    assert!(matches!(is_used(&ann(), "other", 1).await, Ok(false)));
    assert_eq!(count(store).await, 1);
}

/// The answer to a repeated request is as fresh as any.
pub async fn a_repeated_request_shows_the_task_as_of_now(fixture: Fixture) {
    let store = fixture.store();
    let head = new(store, keyed(owned(&ann()), "k", 1)).await;
    let head = end(store, &head, TaskState::Completed).await;
    let again = repeated(store, keyed(owned(&ann()), "k", 1)).await;
    assert_eq!(again, Some(head));
}

/// One key, one request.
pub async fn another_request_with_the_same_key_is_refused(fixture: Fixture) {
    let store = fixture.store();
    let head = new(store, keyed(opening(&ann()), "k", 1)).await;
    let other = store.create(keyed(opening(&ann()), "k", 2)).await;
    assert!(matches!(other, Err(Error::KeyReused)), "found {other:?}");
    assert_eq!(count(store).await, 1);
    assert_eq!(reread(store, &head).await, head);
    new(store, keyed(opening(&ann()), "K", 2)).await;
    new(store, keyed(opening(&ann()), "k ", 2)).await;
}

/// Equal keys of other callers, agents and tenants have nothing to do with each other.
pub async fn keys_count_within_a_place(fixture: Fixture) {
    let store = fixture.store();
    let places =
        [ann(), bob(), place("acme", "other", "user:ann"), place("evil", "echo", "user:ann")];
    let mut heads = Vec::new();
    for (request, place) in (1..).zip(&places) {
        heads.push(new(store, keyed(opening(place), "k", request)).await);
    }
    for ((request, place), head) in (1..).zip(&places).zip(heads) {
        let again = repeated(store, keyed(opening(place), "k", request)).await;
        assert_eq!(again, Some(head));
    }
}

/// A hundred at once: one is new, and all are answered with it.
pub async fn equal_requests_at_once_open_one_task(fixture: Fixture) {
    let openers: Vec<_> = (0..100)
        .map(|_| {
            let store = Arc::clone(fixture.shared());
            let create = keyed(owned(&ann()), "k", 1);
            tokio::spawn(async move { store.create(create).await.expect("created") })
        })
        .collect();
    let (mut fresh, mut ids) = (0, Vec::new());
    for opener in openers {
        match opener.await.expect("the opener is done") {
            Created::New(head) => {
                fresh += 1;
                ids.push(head.id);
            }
            Created::Repeated(head) => ids.push(head.expect("the task is there").id),
        }
    }
    ids.dedup();
    assert_eq!((fresh, ids.len()), (1, 1));
    assert_eq!(count(fixture.store()).await, 1);
}

/// Also if it is sent to another task the second time.
pub async fn the_same_message_is_written_once(fixture: Fixture) {
    let store = fixture.store();
    let head = new(store, owned(&ann())).await;
    let other = new(store, owned(&ann())).await;
    let head = write(store, append(&head, progress(&head, "on it"))).await;
    let mut batch = input(&head, "more");
    batch.cancel(head.updated).expect("legal");
    let message = Append { key: Some(key("m", 1)), ..signal(&head, batch) };
    let after = write(store, message.clone()).await;
    assert_eq!(after.seq.0, 4);

    let elsewhere = Append { key: Some(key("m", 1)), ..signal(&other, input(&other, "more")) };
    for again in [message, elsewhere] {
        let task = again.task;
        let before = log(store, task).await.len();
        match store.append(again).await.expect("answered") {
            Appended::Repeated { task, seq } => assert_eq!((&task, seq.0), (&head.id, 3)),
            done @ Appended::Done { .. } => panic!("should be repeated, but was {done:?}"),
        }
        assert_eq!(log(store, task).await.len(), before);
    }
    let reused = Append { key: Some(key("m", 2)), ..signal(&after, input(&after, "else")) };
    assert!(matches!(refused(store, reused).await, Error::KeyReused));
    assert_eq!(reread(store, &head).await, after);
}

/// The answer was lost, and the task has gone on: the sender learns that it was heard.
pub async fn a_repeated_message_is_known_after_the_end(fixture: Fixture) {
    let store = fixture.store();
    let head = new(store, owned(&ann())).await;
    let message = Append {
        epoch: Some(head.epoch),
        key: Some(key("m", 1)),
        ..signal(&head, input(&head, "more"))
    };
    write(store, message.clone()).await;
    store.release(vec![tenure(&head)]).await.expect("released");
    let take =
        Append { tenancy: Tenancy::Take(lease("two")), ..signal(&head, progress(&head, "")) };
    let taken = write(store, take).await;
    assert_eq!(taken.epoch, next_epoch(&head));
    end(store, &taken, TaskState::Completed).await;
    match store.append(message).await.expect("answered") {
        Appended::Repeated { task, seq } => assert_eq!((&task, seq.0), (&head.id, 2)),
        done @ Appended::Done { .. } => panic!("should be repeated, but was {done:?}"),
    }
}

/// One of them is heard.
pub async fn equal_messages_at_once_are_written_once(fixture: Fixture) {
    let head = new(fixture.store(), owned(&ann())).await;
    let senders: Vec<_> = (0..40)
        .map(|_| {
            let store = Arc::clone(fixture.shared());
            let message = Append { key: Some(key("m", 1)), ..signal(&head, input(&head, "more")) };
            tokio::spawn(async move { store.append(message).await.expect("appended") })
        })
        .collect();
    let mut done = 0;
    for sender in senders {
        match sender.await.expect("the sender is done") {
            Appended::Done { .. } => done += 1,
            Appended::Repeated { task, seq } => assert_eq!((&task, seq.0), (&head.id, 2)),
        }
    }
    assert_eq!(done, 1);
    assert_eq!(log(fixture.store(), head.reference).await.len(), 2);
}

/// A caller has one set of keys with an agent.
pub async fn keys_of_tasks_and_messages_are_the_same_keys(fixture: Fixture) {
    let store = fixture.store();
    let head = new(store, keyed(owned(&ann()), "task", 1)).await;
    let message = |name, request| Append {
        key: Some(key(name, request)),
        ..signal(&head, input(&head, "more"))
    };
    assert!(matches!(refused(store, message("task", 2)).await, Error::KeyReused));
    match store.append(message("task", 1)).await.expect("answered") {
        Appended::Repeated { task, seq } => assert_eq!((&task, seq.0), (&head.id, 1)),
        done @ Appended::Done { .. } => panic!("should be repeated, but was {done:?}"),
    }
    let after = write(store, message("message", 1)).await;
    let reused = store.create(keyed(opening(&ann()), "message", 2)).await;
    assert!(matches!(reused, Err(Error::KeyReused)), "found {reused:?}");
    let again = repeated(store, keyed(opening(&ann()), "message", 1)).await;
    assert_eq!(again, Some(after));
}

/// A request that failed can be made again.
pub async fn what_is_refused_leaves_its_key_unused(fixture: Fixture) {
    let store = fixture.store();
    let first = new(store, owned(&ann())).await;
    let too_many = Create { most_unfinished: 1, ..keyed(opening(&ann()), "task", 1) };
    assert!(matches!(store.create(too_many).await, Err(Error::TooMany { .. })));
    assert_eq!(count(store).await, 1);

    let fenced = Append {
        epoch: Some(next_epoch(&first)),
        key: Some(key("message", 1)),
        ..append(&first, input(&first, "more"))
    };
    assert!(matches!(refused(store, fenced.clone()).await, Error::Fenced { .. }));
    write(store, Append { epoch: None, ..fenced }).await;
    new(store, keyed(opening(&ann()), "task", 2)).await;
}

/// The limit is for new tasks.
pub async fn a_repeated_request_is_not_counted_as_one_too_many(fixture: Fixture) {
    let store = fixture.store();
    let limited = || Create { most_unfinished: 1, ..keyed(opening(&ann()), "k", 1) };
    let head = new(store, limited()).await;
    assert_eq!(repeated(store, limited()).await, Some(head));
}

/// The key that opened it, and no other; the task itself stays.
pub async fn a_key_that_is_let_go_opens_another_task(fixture: Fixture) {
    let store = fixture.store();
    let other = new(store, keyed(owned(&ann()), "other", 1)).await;
    let elsewhere = new(store, keyed(owned(&bob()), "k", 1)).await;
    let mut heads = Vec::new();
    for round in 0..3 {
        let head = new(store, keyed(owned(&ann()), "k", 1)).await;
        let message = |name: &str| Append {
            key: Some(key(&format!("{name} {round}"), 1)),
            ..signal(&head, input(&head, "more"))
        };
        write(store, message("message")).await;
        // Alone, with an entry and a key of its own, and with the end.
        let last = match round {
            0 => append(&head, follow(&head)),
            1 => Append { epoch: Some(head.epoch), ..message("farewell") },
            _ => append(&head, status(&head, TaskState::Failed)),
        };
        let head = write(store, Append { forget_key: true, ..last }).await;
        let again = store.append(message("message")).await.expect("answered");
        assert!(matches!(again, Appended::Repeated { .. }), "found {again:?}");
        assert_eq!(reread(store, &head).await, head);
        heads.push(head.id);
    }
    let last = new(store, keyed(owned(&ann()), "k", 2)).await;
    assert!(!heads.contains(&last.id));
    assert_eq!(repeated(store, keyed(owned(&ann()), "k", 2)).await, Some(last));
    assert_eq!(repeated(store, keyed(owned(&ann()), "other", 1)).await, Some(other));
    assert_eq!(repeated(store, keyed(owned(&bob()), "k", 1)).await, Some(elsewhere));
}

/// A key that was let go belongs to whoever used it next.
pub async fn a_key_is_let_go_by_the_task_that_it_opened(fixture: Fixture) {
    let store = fixture.store();
    let first = new(store, keyed(owned(&ann()), "k", 1)).await;
    let forget = |head: &Head| Append { forget_key: true, ..append(head, follow(head)) };
    write(store, forget(&first)).await;
    let second = new(store, keyed(owned(&ann()), "k", 1)).await;
    // Neither by the one that has let it go, nor by one that never had it.
    let bystander = new(store, owned(&ann())).await;
    for head in [&first, &bystander] {
        write(store, forget(head)).await;
        assert_eq!(repeated(store, keyed(owned(&ann()), "k", 1)).await.as_ref(), Some(&second));
    }
    // A message may have it, too, and then it opens nothing.
    write(store, forget(&second)).await;
    let message = Append { key: Some(key("k", 1)), ..signal(&first, input(&first, "more")) };
    let first = write(store, message).await;
    write(store, forget(&first)).await;
    assert_eq!(repeated(store, keyed(owned(&ann()), "k", 1)).await, Some(first));
}

/// A request that is refused, or was made before, lets go of nothing.
pub async fn what_is_refused_lets_go_of_no_key(fixture: Fixture) {
    let store = fixture.store();
    let head = new(store, keyed(owned(&ann()), "k", 1)).await;
    let message = Append { key: Some(key("m", 1)), ..signal(&head, input(&head, "more")) };
    let head = write(store, message.clone()).await;
    let fenced = Append { epoch: Some(next_epoch(&head)), ..append(&head, follow(&head)) };
    let fenced = Append { forget_key: true, ..fenced };
    assert!(matches!(refused(store, fenced).await, Error::Fenced { .. }));
    let again = store.append(Append { forget_key: true, ..message }).await.expect("answered");
    assert!(matches!(again, Appended::Repeated { .. }), "found {again:?}");
    assert_eq!(repeated(store, keyed(owned(&ann()), "k", 1)).await, Some(head));
}

fn keyed(create: Create, text: &str, request: u8) -> Create {
    Create { key: Some(key(text, request)), ..create }
}

async fn repeated(store: &dyn Store, create: Create) -> Option<Head> {
    match store.create(create).await.expect("answered") {
        Created::Repeated(head) => head,
        Created::New(head) => panic!("should be repeated, but is new: {head:?}"),
    }
}

/// Counts the tasks of the tenant.
async fn count(store: &dyn Store) -> u64 {
    let page = Page { after: None, size: 1, history: false, artifacts: false };
    store.list(&acme(), Filter::default(), page).await.expect("listed").total
}
