//! Durable appends on SQLite: many writers against one who commits alone.

use std::{sync::Arc, time::Duration};

use nuncio_store::sqlite::{Options, SqliteStore};
use nuncio_tasks::{
    log::Batch,
    store::{Append, Head, Store},
};
use tokio::{runtime::Runtime, task::JoinSet, time::Instant};

use crate::setting::{chunk, put, running, say, spread};

const WRITERS: usize = 64;
const ROUNDS: usize = 9;
const TURN: Duration = Duration::from_millis(400);

pub(crate) fn run(runtime: &Runtime) {
    runtime.block_on(async {
        let directory = tempfile::tempdir_in(".").expect("a directory can be made here");
        let store = SqliteStore::open(directory.path(), Options::default()).expect("it opens");
        let store: Arc<dyn Store> = Arc::new(store);
        let mut ratios = Vec::new();
        let (mut alone, mut together) = (0.0, 0.0);
        for _ in 0..ROUNDS {
            alone = rate(&store, 1).await;
            together = rate(&store, WRITERS).await;
            ratios.push(together / alone);
        }
        let (middle, least, most) = spread(ratios);
        let figure = format!(
            "{middle:.1} times ({least:.1} to {most:.1}); last round {together:.0} against \
             {alone:.0} a second"
        );
        let what = format!("durable appends, {WRITERS} writers against one");
        say(&what, &figure, "10 times", middle >= 10.0);
    });
}

/// Appends as fast as it goes, each writer to a task of its own, and returns how many a second.
async fn rate(store: &Arc<dyn Store>, writers: usize) -> f64 {
    let mut heads = Vec::new();
    for _ in 0..writers {
        heads.push(put(store, running()).await);
    }
    let start = Instant::now();
    let mut work = JoinSet::new();
    for head in heads {
        work.spawn(write(Arc::clone(store), head, start + TURN));
    }
    let written: u32 = work.join_all().await.into_iter().sum();
    f64::from(written) / start.elapsed().as_secs_f64()
}

async fn write(store: Arc<dyn Store>, head: Head, until: Instant) -> u32 {
    let mut written = 0;
    while Instant::now() < until {
        let mut batch = Batch::follow(head.id.clone(), head.context.clone(), head.state);
        batch.output(chunk(&batch, "a piece of a result")).expect("work has results");
        let append = Append::output(head.reference, head.epoch, batch);
        store.append(append).await.expect("the store takes entries");
        written += 1;
    }
    written
}
