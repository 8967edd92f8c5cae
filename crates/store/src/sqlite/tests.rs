use nuncio_protocol::{
    ids::ContextId,
    message::Message,
    state::TaskState,
    task::{Task, TaskStatus},
    time::Timestamp,
};
use nuncio_tasks::{
    log::Batch,
    scope::{Name, Place},
};

use super::*;

fn place() -> Place {
    let name = |text| Name::parse(text).expect("a short text is a name");
    Place { tenant: name("acme"), agent: name("echo"), caller: name("user:ann") }
}

fn opening(text: &str) -> Create {
    let context = ContextId::generate();
    let status = TaskStatus::new(TaskState::Submitted, Timestamp::now());
    let mut task = Task::new(TaskId::generate(), context.clone(), status);
    task.history.push(Message::user(text));
    Create::new(place(), Batch::open(&task, context).expect("a task may begin so"))
}

/// Allows the database so many pages.
async fn limit_pages(store: &SqliteStore, pages: i64) {
    let limit = move |writing: writer::Writing<'_>| {
        let set =
            writing.connection.pragma_update_and_check(None, "max_page_count", pages, |_| Ok(()));
        set.map_err(fault::Fault::from)
    };
    store.0.writer.write(limit).await.expect("the limit can be set");
}

#[tokio::test]
async fn a_full_disk_refuses_writes_until_there_is_room() {
    let directory = tempfile::tempdir().unwrap();
    let fatal = OnFatal::new(|error| panic!("a full disk is no reason to end: {error}"));
    let options = Options { on_fatal: fatal, ..Options::default() };
    let store = SqliteStore::open(directory.path(), options).unwrap();
    let Created::New(head) = store.create(opening("hello")).await.unwrap() else { panic!() };

    limit_pages(&store, 1).await;
    let large = opening(&"x".repeat(1 << 20));
    let id = large.batch.task().clone();
    let error = store.create(large.clone()).await.unwrap_err();
    assert!(matches!(error, Error::DiskFull(_)) && error.is_temporary(), "{error}");
    let scope = Scope::from(&place());
    assert_eq!(store.find(&scope, &id).await.unwrap(), None);
    assert_eq!(store.find(&scope, &head.id).await.unwrap(), Some(head));

    limit_pages(&store, i64::from(u32::MAX) - 1).await;
    assert!(matches!(store.create(large).await.unwrap(), Created::New(_)));
}

#[tokio::test]
async fn a_full_disk_spoils_the_whole_transaction_and_nothing_else() {
    let directory = tempfile::tempdir().unwrap();
    let store = SqliteStore::open(directory.path(), Options::default()).unwrap();
    limit_pages(&store, 1).await;
    let (small, large) =
        tokio::join!(store.create(opening("hello")), store.create(opening(&"x".repeat(1 << 20))));
    assert!(matches!(large, Err(Error::DiskFull(_))), "{large:?}");
    let page = Page { after: None, size: 10, history: false, artifacts: false };
    let listed = store.list(&Scope::from(&place()), Filter::default(), page).await.unwrap();
    // Whether the small one came in beforehand or fell with the large one: what was answered
    // is what is there.
    assert_eq!(listed.tasks.len(), usize::from(small.is_ok()));
    assert_eq!(listed.total, u64::from(small.is_ok()));
}
