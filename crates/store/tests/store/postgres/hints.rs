//! Hints by `NOTIFY`.

use std::{collections::HashSet, time::Duration};

use nuncio_store::postgres::{NotifyHints, Options};
use nuncio_tasks::{
    hints::{Heard, Hint, Hints},
    log::Seq,
    store::TaskRef,
};
use nuncio_testkit::services::{self, Postgres};
use tokio::time::timeout;

use crate::postgres::story::{PATIENCE, end_of, eventually, input, log, new, open};

fn hint(task: i64, seq: u64) -> Hint {
    Hint { task: TaskRef(task), seq: Seq(seq) }
}

/// Publishes until the hint is heard: the first ones may be lost.
async fn carry(from: &NotifyHints, heard: &mut Heard, hint: Hint) {
    eventually("a hint arrives", async || {
        from.publish(vec![hint]);
        let next = timeout(Duration::from_millis(200), async {
            while heard.next().await != Some(hint) {}
        });
        next.await.ok()
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_hint_arrives_at_another_instance() {
    let Some(postgres) = services::postgres().await else { return };
    let database = postgres.database().await;
    let options = Options::new(database.url());
    let store = open(database.url()).await;
    let (here, there) =
        (NotifyHints::start(&options).unwrap(), NotifyHints::start(&options).unwrap());
    let mut heard = there.subscribe();

    let task = new(&*store).await;
    let seq = end_of(store.append(input(&task, "news")).await).unwrap();
    let hint = Hint { task: task.reference, seq };
    carry(&here, &mut heard, hint).await;
    let entries = log(&*open(database.url()).await, hint.task).await;
    assert_eq!(entries.last().map(|entry| entry.seq), Some(hint.seq));
}

/// More than one payload holds, and each once: they are told as one.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_hints_arrive_together() {
    let Some(postgres) = services::postgres().await else { return };
    let options = Options::new(postgres.database().await.url());
    let (here, there) =
        (NotifyHints::start(&options).unwrap(), NotifyHints::start(&options).unwrap());
    let mut heard = there.subscribe();
    carry(&here, &mut heard, hint(0, 1)).await;
    let many: Vec<Hint> = (1..=3000).map(|task| hint(task, 7)).collect();
    here.publish(many.clone());
    let mut missing: HashSet<Hint> = many.into_iter().collect();
    let all = async {
        while !missing.is_empty() {
            missing.remove(&heard.next().await.expect("the carrier lives"));
        }
    };
    timeout(PATIENCE, all).await.expect("all hints arrive");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_lost_connection_is_replaced() {
    let Some(postgres) = Postgres::start().await else { return };
    let options = Options::new(postgres.database().await.url());
    let (here, there) =
        (NotifyHints::start(&options).unwrap(), NotifyHints::start(&options).unwrap());
    let mut heard = there.subscribe();
    carry(&here, &mut heard, hint(1, 1)).await;
    postgres.kill9().await;
    here.publish(vec![hint(1, 2)]);
    postgres.restart().await;
    carry(&here, &mut heard, hint(1, 3)).await;
}

/// What somebody else says on our channel is no hint.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn strangers_on_the_channel_do_no_harm() {
    let Some(postgres) = services::postgres().await else { return };
    let database = postgres.database().await;
    let options = Options::new(database.url());
    let hints = NotifyHints::start(&options).unwrap();
    let mut heard = hints.subscribe();
    carry(&hints, &mut heard, hint(1, 1)).await;
    database.query("NOTIFY nuncio_hints, 'hello'; NOTIFY nuncio_hints; NOTIFY other, '5:5'").await;
    carry(&hints, &mut heard, hint(1, 2)).await;
}

/// R12: whatever becomes of Redis, every message is written, and hints come back with it.
#[cfg(feature = "redis")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_lost_redis_costs_no_operation() {
    use crate::postgres::story::check_gapless;
    use nuncio_store::redis::RedisHints;

    let Some(postgres) = services::postgres().await else { return };
    let Some(redis) = services::redis().await else { return };
    let store = open(postgres.database().await.url()).await;
    let hints = RedisHints::start(&redis.url(), "nuncio:hints").unwrap();
    let mut heard = hints.subscribe();
    let task = new(&*store).await;
    let write = async |text: &str| {
        let seq = end_of(store.append(input(&task, text)).await).expect("it is written");
        hints.publish(vec![Hint { task: task.reference, seq }]);
    };
    for round in ["before", "during", "after"] {
        match round {
            "during" => redis.kill9().await,
            "after" => redis.restart().await,
            _ => {}
        }
        for _ in 0..20 {
            write(round).await;
        }
    }
    eventually("hints are heard again", async || {
        write("news").await;
        let next = timeout(Duration::from_millis(200), heard.next()).await.ok()?;
        (next.expect("the carrier lives").seq.0 > 61).then_some(())
    })
    .await;
    check_gapless(&log(&*store, task.reference).await);
}
