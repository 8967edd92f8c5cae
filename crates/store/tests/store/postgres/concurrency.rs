//! Several stores on one database.

use std::{collections::HashSet, sync::Arc, time::Duration};

use nuncio_protocol::{
    ids::{ContextId, TaskId},
    message::Message,
    state::TaskState,
    task::{StreamResponse, Task, TaskStatus},
    time::Timestamp,
};
use nuncio_tasks::{
    log::{Batch, Entry},
    scope::{Place, Scope},
    store::{
        Append, Claim, Create, Created, Error, Filter, Head, Key, Page, Position, Retention, Store,
        Tenure, order,
    },
};
use nuncio_testkit::services;

use crate::postgres::story::{
    ann, check_gapless, end_of, input, lease, log, name, new, open, opening_of, said,
};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_writers_on_two_stores_leave_no_gap() {
    let Some(postgres) = services::postgres().await else { return };
    let database = postgres.database().await;
    let stores = [open(database.url()).await, open(database.url()).await];
    let mut heads = Vec::new();
    for _ in 0..3 {
        heads.push(new(&*stores[0]).await);
    }
    let writers: Vec<_> = (0..32)
        .map(|number: usize| {
            let store = Arc::clone(&stores[number % 2]);
            let heads = heads.clone();
            tokio::spawn(async move {
                for round in 0..15 {
                    let head = &heads[(number + round) % heads.len()];
                    let text = format!("{number} {round}");
                    end_of(store.append(input(head, &text)).await).expect("it is written");
                }
            })
        })
        .collect();
    for writer in writers {
        writer.await.expect("the writer is done");
    }
    let mut texts = HashSet::new();
    for head in &heads {
        let entries = log(&*stores[1], head.reference).await;
        check_gapless(&entries);
        texts.extend(said(&entries));
    }
    assert_eq!(texts.len(), 32 * 15);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn owners_on_two_stores_are_fenced() {
    let Some(postgres) = services::postgres().await else { return };
    let database = postgres.database().await;
    let stores = [open(database.url()).await, open(database.url()).await];
    let head = new(&*stores[0]).await;
    // The lease goes to and fro, and both owners write all the time.
    let owners: Vec<_> = stores
        .iter()
        .zip(["one", "two"])
        .map(|(store, owner)| tokio::spawn(own(Arc::clone(store), head.clone(), owner)))
        .collect();
    let mut written = 0;
    for owner in owners {
        written += owner.await.expect("the owner is done");
    }
    let entries = log(&*stores[0], head.reference).await;
    check_gapless(&entries);
    assert_eq!(entries.len(), 1 + written);
    let epochs: Vec<u64> = entries.iter().filter_map(epoch_of).collect();
    assert_eq!(epochs.len(), written);
    assert!(epochs.is_sorted(), "an old owner has written after a new one: {epochs:?}");
    assert!(epochs.first() < epochs.last(), "nobody has taken the lease over");
}

/// The epoch in which an owner wrote an entry.
fn epoch_of(entry: &Entry) -> Option<u64> {
    match entry.record.event.value().expect("it is an event") {
        StreamResponse::StatusUpdate(update) => update.status.message.as_ref()?.text().parse().ok(),
        _ => None,
    }
}

/// Claims, writes thrice and gives back, as often as it can; returns how often it wrote.
async fn own(store: Arc<dyn Store>, first: Head, owner: &str) -> usize {
    let mut written = 0;
    let mut head = first;
    for _ in 0..10 {
        for _ in 0..3 {
            let mut batch = Batch::follow(head.id.clone(), head.context.clone(), head.state);
            let word = Some(Message::agent(head.epoch.0.to_string()));
            batch.status(TaskState::Working, word, Timestamp::now()).expect("progress is legal");
            let append = Append { epoch: Some(head.epoch), batch, ..input(&head, "") };
            match end_of(store.append(append).await) {
                Ok(_) => written += 1,
                Err(Error::Fenced { held, current }) => assert!(held < current),
                Err(other) => panic!("{owner}: {other:?}"),
            }
        }
        let tenure = Tenure { task: head.reference, epoch: head.epoch };
        store.release(vec![tenure]).await.expect("released");
        let claim = Claim {
            lease: lease(owner),
            agents: vec![name("echo")],
            orphaned_after: Duration::from_secs(3600),
            most: 1,
        };
        if let Some(claimed) = store.claim(claim).await.expect("claimed").pop() {
            head = claimed.head;
        }
    }
    written
}

/// R06: equal requests at once, on both stores.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn equal_requests_on_two_stores_open_one_task() {
    let Some(postgres) = services::postgres().await else { return };
    let database = postgres.database().await;
    let stores = [open(database.url()).await, open(database.url()).await];
    let senders: Vec<_> = (0..100)
        .map(|number: usize| {
            let store = Arc::clone(&stores[number % 2]);
            let opening = opening_of(ann(), TaskId::generate(), ContextId::generate());
            let key = Some(Key { text: "k".to_owned(), request: [1; 32] });
            tokio::spawn(async move { store.create(Create { key, ..opening }).await })
        })
        .collect();
    let (mut new, mut all) = (0, HashSet::new());
    for sender in senders {
        match sender.await.expect("the sender is done").expect("answered") {
            Created::New(head) => {
                new += 1;
                all.insert(head.id.to_string());
            }
            Created::Repeated(head) => {
                all.insert(head.expect("it is there").id.to_string());
            }
        }
    }
    assert_eq!((new, all.len()), (1, 1));
}

/// Each writer counts for itself, and the total is right all the same.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn totals_of_two_stores_are_one() {
    let Some(postgres) = services::postgres().await else { return };
    let database = postgres.database().await;
    let stores = [open(database.url()).await, open(database.url()).await];
    for number in 0..20 {
        let place = Place { caller: name(&format!("user:{}", number % 3)), ..ann() };
        let opening = opening_of(place, TaskId::generate(), ContextId::generate());
        let created = stores[number % 2].create(opening).await.expect("opened");
        let Created::New(head) = created else { panic!("there is no key to repeat") };
        if number % 4 == 0 {
            let mut batch = Batch::follow(head.id.clone(), head.context.clone(), head.state);
            batch.status(TaskState::Completed, None, Timestamp::now()).expect("legal");
            let end = Append { epoch: Some(head.epoch), batch, ..input(&head, "") };
            stores[(number + 1) % 2].append(end).await.expect("ended");
        }
    }
    let total = async |states: &[TaskState]| {
        let page = Page { after: None, size: 50, history: false, artifacts: false };
        let filter = Filter { states: states.to_vec(), ..Filter::default() };
        let scope = Scope::tenant(name("acme"));
        let listed = stores[0].list(&scope, filter, page).await.expect("listed");
        assert_eq!(listed.tasks.len() as u64, listed.total);
        listed.total
    };
    assert_eq!(total(&[]).await, 20);
    assert_eq!(total(&[TaskState::Completed]).await, 5);
    assert_eq!(total(&[TaskState::Working]).await, 15);
    let keep = nuncio_tasks::store::Keep { age: None, count: Some(2) };
    let retention = Retention {
        tasks: [(TaskState::Completed, keep)].into(),
        logs: None,
        keys: None,
        dead_letters: None,
    };
    assert_eq!(stores[1].sweep(&retention, 100).await.expect("swept").tasks, 3);
    assert_eq!(total(&[]).await, 17);
    assert_eq!(total(&[TaskState::Completed]).await, 2);
}

/// Postgres knows no NUL, callers may.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn names_and_identifiers_may_have_any_character() {
    let Some(postgres) = services::postgres().await else { return };
    let database = postgres.database().await;
    let store = open(database.url()).await;
    let odd = ["\0", "a\0b", "a\u{1}b", "a\u{1}\u{1}b", "'; --", "\u{10ffff}"];
    for text in odd {
        let place = Place { tenant: name(text), agent: name(text), caller: name(text) };
        let id = TaskId::parse(text).expect("an identifier");
        let context = ContextId::parse(text).expect("an identifier");
        let opening = opening_of(place.clone(), id.clone(), context.clone());
        let key = Some(Key { text: text.to_owned(), request: [1; 32] });
        let opening = Create { key, ..opening };
        store.create(opening.clone()).await.expect("opened");
        let again = store.create(opening).await.expect("answered");
        let Created::Repeated(Some(head)) = again else { panic!("found {again:?}") };
        assert_eq!((&head.id, &head.context, &head.place), (&id, &context, &place));
        let found = store.find(&Scope::from(&place), &id).await.expect("answered");
        assert_eq!(found, Some(head));
    }
}

/// What a store remembers of places does not hide those that another one opens.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_place_that_another_store_opens_is_seen() {
    let Some(postgres) = services::postgres().await else { return };
    let database = postgres.database().await;
    let (one, other) = (open(database.url()).await, open(database.url()).await);
    let scopes = [
        Scope::from(&ann()),
        Scope { agent: None, ..Scope::from(&ann()) },
        Scope { caller: None, ..Scope::from(&ann()) },
        Scope::tenant(ann().tenant),
    ];
    let list = async |scope: &Scope, after: Option<Position>| {
        let page = Page { after, size: 1, history: false, artifacts: false };
        let listed = other.list(scope, Filter::default(), page).await.expect("answered");
        let ids: Vec<TaskId> = listed.tasks.into_iter().map(|task| task.head.id).collect();
        (ids, listed.total)
    };
    for scope in &scopes {
        assert_eq!(list(scope, None).await, (Vec::new(), 0));
    }
    let head = new(&*one).await;
    for scope in &scopes {
        assert_eq!(list(scope, None).await, (vec![head.id.clone()], 1));
        let found = other.find(scope, &head.id).await.expect("answered");
        assert_eq!(found.as_ref(), Some(&head));
        // A page with nothing on it has a total, too.
        let end = Position { updated: order(head.updated), id: head.id.clone() };
        assert_eq!(list(scope, Some(end)).await, (Vec::new(), 1));
    }
    let stranger = Scope { caller: Some(name("bob")), ..Scope::from(&ann()) };
    assert_eq!(list(&stranger, None).await, (Vec::new(), 0));
    assert!(other.find(&stranger, &head.id).await.expect("answered").is_none());
}

/// The store asks for unsorted rows where all tasks were in one state.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn pages_are_in_order_when_tasks_come_into_another_state() {
    let Some(postgres) = services::postgres().await else { return };
    let database = postgres.database().await;
    let (one, other) = (open(database.url()).await, open(database.url()).await);
    let put = async |state: TaskState, seconds: i64| {
        let context = ContextId::generate();
        let updated = Timestamp::from_parts(seconds, 0).expect("it is on the calendar");
        let task = Task::new(TaskId::generate(), context.clone(), TaskStatus::new(state, updated));
        let batch = Batch::open(&task, context).expect("a task may begin in any state");
        let created = other.create(Create::new(ann(), batch)).await.expect("it is opened");
        assert!(matches!(created, Created::New(_)), "found {created:?}");
    };
    let scopes = [Scope::from(&ann()), Scope::tenant(ann().tenant)];
    let check = async |expected: &[i64], total: u64| {
        for scope in &scopes {
            let page = Page { after: None, size: 3, history: true, artifacts: true };
            let listed = one.list(scope, Filter::default(), page).await.expect("answered");
            let found = listed.tasks.iter().map(|task| task.head.updated.to_parts().0);
            assert_eq!(found.collect::<Vec<i64>>(), expected);
            assert_eq!((listed.total, listed.more), (total, total > 3));
        }
    };
    put(TaskState::Completed, 10).await;
    put(TaskState::Completed, 30).await;
    for _ in 0..2 {
        check(&[30, 10], 2).await;
    }
    put(TaskState::Failed, 20).await;
    put(TaskState::Failed, 40).await;
    for _ in 0..2 {
        check(&[40, 30, 20], 4).await;
    }
}
