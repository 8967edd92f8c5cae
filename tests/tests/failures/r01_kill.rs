//! R01: the process is killed at any moment, again and again, on the same data.

use std::{sync::Arc, time::Duration};

use nuncio_testkit::random::Random;
use nuncio_tests::{
    client::{Failed, Node},
    figures,
    node::{Kept, Options},
    wire::Order,
    witness::Witness,
};
use tokio::task::JoinSet;

use crate::turn;

const ROUNDS: u64 = 25;
const STREAMS: usize = 50;
const FINISHED: usize = 10_000;

/// What is promised; a busy machine may take ten times as long.
const READY: Duration = Duration::from_secs(2);
const SETTLED: Duration = Duration::from_secs(3);

const CALLER: &str = "ann";

#[tokio::test(flavor = "multi_thread")]
async fn nothing_acknowledged_is_lost_by_kills_at_random() {
    let _turn = turn::alone().await;
    let directory = tempfile::tempdir().unwrap();
    let mut random = Random::new();
    let witness = Arc::new(Witness::new(directory.path(), random.seed()));
    let options = Options::new(Kept::Sqlite(directory.path().join("data")));
    let (mut ready, mut settled) = (Vec::new(), Vec::new());
    let mut node = Node::start(&options).await;
    for round in 0..ROUNDS {
        let orders = orders(round, &mut random);
        let moment = Duration::from_millis(random.below(400));
        stream_until_killed(&node, &witness, &orders, moment).await;
        node = Node::start(&options).await;
        ready.push(node.ready_after());
        settled.push(node.settled(Some(CALLER), SETTLED * 10).await);
        send_again(&node, &witness, &orders).await;
    }
    let compared = witness.check(&node, Some(CALLER)).await;
    assert!(compared.acked > 0 && compared.seen > 0, "{compared:?}");
    assert_eq!(compared.tasks, witness.keyed_tasks().len(), "a key made two tasks");

    finish_many(&node).await;
    let orders = orders(ROUNDS, &mut random);
    stream_until_killed(&node, &witness, &orders, Duration::from_millis(200)).await;
    let node = Node::start(&options).await;
    let full_ready = node.ready_after();
    let full_settled = node.settled(Some(CALLER), SETTLED * 10).await;
    let compared = witness.check(&node, Some(CALLER)).await;
    let (slowest_ready, slowest_settled) =
        (figures::percentile(&mut ready, 100), figures::percentile(&mut settled, 100));
    figures::print(&format!(
        "R01: {ROUNDS} rounds, {} tasks, {} acked, {} events seen, 0 lost; slowest ready \
         {slowest_ready:.2?}, settled {slowest_settled:.2?}; with {} finished tasks ready \
         {full_ready:.2?}, settled {full_settled:.2?}",
        figures::count(compared.tasks),
        figures::count(compared.acked),
        figures::count(compared.seen),
        figures::count(FINISHED),
    ));
    assert!(slowest_ready.max(full_ready) <= READY * 10);
}

fn orders(round: u64, random: &mut Random) -> Vec<(Order, bool)> {
    let order = |index| {
        let agent = *random.pick(&["steps-fail", "steps-retry", "steps-resume", "echo"]);
        let text = format!("{} {}", 1 + random.below(40), random.below(10));
        let waits = random.once_in(4);
        (Order::new(agent, CALLER, text).key(format!("{round}-{index}")), waits)
    };
    (0..STREAMS).map(order).collect()
}

/// Streams many tasks, and kills the node in the midst of them.
async fn stream_until_killed(
    node: &Node,
    witness: &Arc<Witness>,
    orders: &[(Order, bool)],
    moment: Duration,
) {
    let mut streams = JoinSet::new();
    for (order, waits) in orders.iter().cloned() {
        let (node, witness) = (node.clone(), Arc::clone(witness));
        streams.spawn(async move {
            let failed = ask(&node, &witness, order, waits, "first").await.err();
            assert!(matches!(failed, None | Some(Failed::Gone)), "{failed:?}");
        });
    }
    // Nothing depends on where exactly this falls.
    tokio::time::sleep(moment).await;
    node.kill9().await;
    while let Some(streamed) = streams.join_next().await {
        streamed.expect("no stream fails otherwise than by the kill");
    }
}

/// Sends everything again: what was there is found, what was not is begun.
async fn send_again(node: &Node, witness: &Arc<Witness>, orders: &[(Order, bool)]) {
    let mut streams = JoinSet::new();
    for (order, waits) in orders.iter().cloned() {
        let (node, witness) = (node.clone(), Arc::clone(witness));
        streams.spawn(async move { ask(&node, &witness, order, waits, "again").await });
    }
    while let Some(streamed) = streams.join_next().await {
        streamed.expect("no stream panics").expect("everything is taken");
    }
}

/// Sends one message, and notes everything that comes of it.
async fn ask(
    node: &Node,
    witness: &Witness,
    order: Order,
    waits: bool,
    time: &str,
) -> Result<(), Failed> {
    if waits {
        return witness.send(node, order).await.map(drop);
    }
    let name = format!("{} {time}", order.message);
    witness.stream(node, &name, order).await.failed.map_or(Ok(()), Err)
}

/// Fills the store with finished tasks of somebody else.
async fn finish_many(node: &Node) {
    let mut sends = JoinSet::new();
    for lane in 0..64 {
        let node = node.clone();
        sends.spawn(async move {
            for index in (lane..FINISHED).step_by(64) {
                let order = Order::new("echo", "bob", index.to_string());
                node.send(order).await.expect("a message is taken");
            }
        });
    }
    while let Some(sent) = sends.join_next().await {
        sent.expect("nothing panics");
    }
}
