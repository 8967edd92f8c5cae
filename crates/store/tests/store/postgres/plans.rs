//! How the database goes about what it is asked. That must not depend on what it knows of its
//! tables: plans are kept, and the first are made while there is nothing.

use futures_util::future::join_all;
use nuncio_protocol::{
    ids::{ContextId, TaskId},
    state::TaskState,
    task::{Task, TaskStatus},
    time::Timestamp,
};
use nuncio_store::postgres::{Options, PostgresStore};
use nuncio_tasks::{
    log::{Batch, Seq},
    scope::Scope,
    store::{Create, Created, Filter, Key, Limit, Page, Store, Want},
};
use nuncio_testkit::services;
use tokio_postgres::{Client, NoTls};

use crate::postgres::story::{ann, end_of, eventually, input, opening};

/// So many that going through them cannot be overlooked.
const TASKS: usize = 3000;

/// How often everything is done.
const TIMES: i64 = 20;

/// How many pages of tables and indexes it may take to do everything once. Going through the
/// tasks, or an index of theirs, is a few thousand.
const MOST_PAGES: i64 = 600;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn plans_that_were_made_for_empty_tables_do_not_go_through_all_tasks() {
    let Some(postgres) = services::postgres().await else { return };
    check(postgres.database().await.url(), false).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nor_do_those_for_tables_that_are_known_to_be_empty() {
    let Some(postgres) = services::postgres().await else { return };
    check(postgres.database().await.url(), true).await;
}

async fn check(url: String, is_known: bool) {
    let config: tokio_postgres::Config = url.parse().expect("it is an address");
    let (database, connection) = config.connect(NoTls).await.expect("the database is there");
    tokio::spawn(connection);
    let options = Options::new(url);
    let store = PostgresStore::open(&options).await.expect("the store opens");
    // So that nobody but this test makes anything known.
    for table in ["tasks", "pieces", "places", "tenants", "counts", "keys", "writers"] {
        let sql = format!("ALTER TABLE nuncio.{table} SET (autovacuum_enabled = false)");
        database.batch_execute(&sql).await.expect("the table is there");
    }
    if is_known {
        database.batch_execute("ANALYZE").await.expect("analyzed");
    }
    // On every connection of the store.
    for _ in 0..8 {
        do_everything(&store).await;
    }

    let ours = connections(&database).await;
    let other = PostgresStore::open(&options).await.expect("the store opens");
    for created in join_all((0..TASKS).map(|_| other.create(ended()))).await {
        assert!(matches!(created, Ok(Created::New(_))), "found {created:?}");
    }
    drop(other);
    // A connection says what it has read when it ends, at the latest.
    eventually("the other store is gone", async || {
        (connections(&database).await <= ours).then_some(())
    })
    .await;
    let before = pages(&database).await;
    for _ in 0..TIMES {
        do_everything(&store).await;
    }
    drop(store);
    eventually("the store is gone", async || (connections(&database).await == 0).then_some(()))
        .await;
    let each = (pages(&database).await - before) / TIMES;
    assert!(each <= MOST_PAGES, "it takes {each} pages");
}

/// What is asked all the time.
async fn do_everything(store: &PostgresStore) {
    let scope = Scope::from(&ann());
    let key = || Key { text: TaskId::generate().to_string(), request: [1; 32] };
    let create = Create {
        key: Some(key()),
        context_is_given: true,
        most_unfinished: 1_000_000,
        ..opening(ann())
    };
    let created = store.create(create.clone()).await.expect("it is opened");
    let Created::New(head) = created else { panic!("expected a task, found {created:?}") };
    let repeated = store.create(create.clone()).await.expect("it is found");
    assert!(matches!(repeated, Created::Repeated(Some(_))), "found {repeated:?}");
    store.create(ended()).await.expect("it is opened");
    let mut append = input(&head, "hello");
    append.key = Some(key());
    end_of(store.append(append).await).expect("it is written");

    let key = create.key.expect("it has one");
    assert!(store.is_used(&ann(), &key).await.expect("answered"));
    assert!(store.find(&scope, &head.id).await.expect("answered").is_some());
    assert!(store.load(&scope, &head.id, Want::ALL).await.expect("answered").is_some());
    let limit = Limit { entries: 10, bytes: 1 << 20 };
    let tail = store.tail(head.reference, Seq::START, limit).await.expect("answered");
    assert_eq!(tail.entries.len(), 2);
    assert_eq!(store.marks(vec![head.reference]).await.expect("answered").len(), 1);
    assert!(store.children(&scope, &head.id, 10).await.expect("answered").is_empty());
    let tenant = Scope { agent: None, caller: None, ..scope.clone() };
    for (scope, context) in [(&scope, None), (&tenant, None), (&scope, Some(head.context.clone()))]
    {
        let filter = Filter { context, ..Filter::default() };
        let page = Page { after: None, size: 3, history: true, artifacts: true };
        let listed = store.list(scope, filter, page).await.expect("answered");
        assert!(!listed.tasks.is_empty());
    }
}

/// A task that has ended when it is written.
fn ended() -> Create {
    let context = ContextId::generate();
    let status = TaskStatus::new(TaskState::Completed, Timestamp::now());
    let task = Task::new(TaskId::generate(), context.clone(), status);
    Create::new(ann(), Batch::open(&task, context).expect("a task may begin in any state"))
}

async fn connections(database: &Client) -> i64 {
    let sql = "SELECT count(*) FROM pg_stat_activity \
        WHERE datname = current_database() AND application_name = 'nuncio'";
    number(database, sql).await
}

/// How many pages of tables and indexes were looked at so far.
async fn pages(database: &Client) -> i64 {
    let sql = "SELECT sum(heap_blks_hit + heap_blks_read + coalesce(idx_blks_hit, 0) \
        + coalesce(idx_blks_read, 0))::bigint FROM pg_statio_user_tables WHERE schemaname = 'nuncio'";
    number(database, sql).await
}

async fn number(database: &Client, sql: &str) -> i64 {
    database.query_one(sql, &[]).await.expect("answered").get(0)
}
