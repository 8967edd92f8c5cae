//! Hints by way of a real Redis.

use std::time::Duration;

use nuncio_store::redis::{Error, RedisHints};
use nuncio_tasks::{
    hints::{Heard, Hint, Hints},
    log::Seq,
    store::TaskRef,
};
use nuncio_testkit::services;
use tokio::time::timeout;

const CHANNEL: &str = "nuncio:hints";

/// How long a test waits for what must come.
const PATIENCE: Duration = Duration::from_secs(30);

fn hint(task: i64, seq: u64) -> Hint {
    Hint { task: TaskRef(task), seq: Seq(seq) }
}

fn start(url: &str) -> RedisHints {
    RedisHints::start(url, CHANNEL).expect("the address can be used")
}

/// Publishes until the hint is heard: the first ones may be lost.
async fn carry(from: &RedisHints, heard: &mut Heard, hint: Hint) {
    let carried = async {
        loop {
            from.publish(vec![hint]);
            let next = async { while heard.next().await != Some(hint) {} };
            if timeout(Duration::from_millis(200), next).await.is_ok() {
                return;
            }
        }
    };
    timeout(PATIENCE, carried).await.expect("a hint arrives");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_hint_arrives_at_another_instance() {
    let Some(redis) = services::redis().await else { return };
    let (here, there) = (start(&redis.url()), start(&redis.url()));
    let mut heard = there.subscribe();
    let mut too = there.subscribe();
    carry(&here, &mut heard, hint(1, 5)).await;
    assert_eq!(timeout(PATIENCE, too.next()).await.expect("heard"), Some(hint(1, 5)));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn channels_have_nothing_in_common() {
    let Some(redis) = services::redis().await else { return };
    let (here, other) = (start(&redis.url()), RedisHints::start(&redis.url(), "other").unwrap());
    let (mut heard, mut unheard) = (here.subscribe(), other.subscribe());
    carry(&here, &mut heard, hint(1, 1)).await;
    carry(&other, &mut unheard, hint(2, 2)).await;
    carry(&here, &mut heard, hint(3, 3)).await;
    assert!(timeout(Duration::ZERO, unheard.next()).await.is_err());
}

/// R12: Redis may die, and come back with nothing.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_redis_that_was_away_is_used_again() {
    let Some(redis) = services::redis().await else { return };
    let (here, there) = (start(&redis.url()), start(&redis.url()));
    let mut heard = there.subscribe();
    carry(&here, &mut heard, hint(1, 1)).await;
    redis.kill9().await;
    for seq in 2..1000 {
        here.publish(vec![hint(1, seq)]);
    }
    redis.restart().await;
    redis.flush_all().await;
    carry(&here, &mut heard, hint(1, 1000)).await;
}

/// A server that is silent is as good as none.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_silent_redis_is_used_again_when_it_speaks() {
    let Some(redis) = services::redis().await else { return };
    let (here, there) = (start(&redis.url()), start(&redis.url()));
    let mut heard = there.subscribe();
    carry(&here, &mut heard, hint(1, 1)).await;
    redis.pause();
    here.publish(vec![hint(1, 2)]);
    redis.resume();
    carry(&here, &mut heard, hint(1, 3)).await;
}

#[tokio::test]
async fn redis_need_not_be_there() {
    let hints = start("redis://127.0.0.1:1");
    hints.publish(vec![hint(1, 1)]);
    let mut heard = hints.subscribe();
    assert!(timeout(Duration::from_millis(50), heard.next()).await.is_err());
    let refused = RedisHints::start("http://127.0.0.1", CHANNEL);
    assert!(matches!(refused, Err(Error::Address(_))), "found {refused:?}");
}
