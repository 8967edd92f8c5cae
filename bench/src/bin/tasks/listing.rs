//! A page of 50 of few tasks and of very many.

use std::sync::Arc;

use nuncio_protocol::state::TaskState;
use nuncio_store::{
    postgres::{Options, PostgresStore},
    sqlite::{self, SqliteStore},
};
use nuncio_tasks::{
    scope::Scope,
    store::{Filter, Page, Store},
};
use nuncio_testkit::services;
use tokio::{runtime::Runtime, task::JoinSet, time::Instant};

use crate::setting::{finished, place, put, resident, say, spread};

const FEW: usize = 1_000;
const MANY: usize = 1_000_000;
const SIZE: usize = 50;
const ROUNDS: usize = 31;
const PAGES: u32 = 20;

pub(crate) fn on_sqlite(runtime: &Runtime) {
    runtime.block_on(async {
        let directory = || tempfile::tempdir_in(".").expect("a directory can be made here");
        let (few, many) = (directory(), directory());
        let open = |directory: &tempfile::TempDir| -> Arc<dyn Store> {
            let store = SqliteStore::open(directory.path(), sqlite::Options::default());
            Arc::new(store.expect("it opens"))
        };
        compare("SQLite", &open(&few), &open(&many)).await;
        let mebibytes = resident() >> 20;
        let figure = format!("{mebibytes} MiB resident with both stores open");
        say("memory of SQLite with a million tasks", &figure, "64 MiB", mebibytes <= 64);
    });
}

pub(crate) fn on_postgres(runtime: &Runtime) {
    runtime.block_on(async {
        let Some(server) = services::postgres().await else { return };
        let (few, many) = (server.database().await, server.database().await);
        let (few, many) = (open(few.url()).await, open(many.url()).await);
        compare("Postgres", &few, &many).await;
    });
}

async fn open(url: String) -> Arc<dyn Store> {
    Arc::new(PostgresStore::open(&Options::new(url)).await.expect("it opens"))
}

async fn compare(what: &str, few: &Arc<dyn Store>, many: &Arc<dyn Store>) {
    fill(few, FEW).await;
    fill(many, MANY).await;
    let of_a_state = Filter { states: vec![TaskState::Completed], ..Filter::default() };
    for (which, filter) in [("all", Filter::default()), ("of a state", of_a_state)] {
        let mut ratios = Vec::new();
        let mut micros = 0.0;
        for _ in 0..ROUNDS {
            let small = pages(few, &filter, FEW).await;
            micros = pages(many, &filter, MANY).await;
            ratios.push(micros / small);
        }
        let (middle, least, most) = spread(ratios);
        let figure =
            format!("{middle:.2} times ({least:.2} to {most:.2}), {micros:.0} µs at {MANY}");
        let what = format!("{what}, a page of {SIZE} ({which}), {MANY} tasks against {FEW}");
        say(&what, &figure, "1.3 times", middle <= 1.3);
    }
}

async fn fill(store: &Arc<dyn Store>, count: usize) {
    let mut work = JoinSet::new();
    for share in 0..64 {
        let store = Arc::clone(store);
        work.spawn(async move {
            for _ in (share..count).step_by(64) {
                put(&store, finished()).await;
            }
        });
    }
    work.join_all().await;
}

/// Reads pages, and returns the microseconds that one takes.
async fn pages(store: &Arc<dyn Store>, filter: &Filter, expected: usize) -> f64 {
    let scope = Scope::from(&place());
    let start = Instant::now();
    for _ in 0..PAGES {
        let page = Page { after: None, size: SIZE, history: false, artifacts: false };
        let listed = store.list(&scope, filter.clone(), page).await.expect("it can be read");
        assert_eq!((listed.tasks.len(), listed.total), (SIZE, expected as u64));
    }
    start.elapsed().as_secs_f64() * 1e6 / f64::from(PAGES)
}
