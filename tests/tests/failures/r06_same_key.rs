//! R06: the same message is sent many times, on two replicas, also when one of them dies
//! between the commit and the answer.

use std::{collections::HashMap, fs, path::Path, time::Duration};

use nuncio_protocol::state::TaskState;
use nuncio_testkit::{random::Random, services};
use nuncio_tests::{
    client::{Failed, Node},
    figures,
    node::{Kept, Options},
    wire::{Order, TaskView},
    witness::Witness,
};
use tokio::{task::JoinSet, time::Instant};

use crate::turn;

const SENDS: usize = 100;
const KEYS: usize = 5;
const CRASHES: u64 = 15;

/// Short, so that a replica takes over soon what the other has left.
const LEASE: Duration = Duration::from_millis(1_500);

#[tokio::test(flavor = "multi_thread")]
async fn equal_sends_on_two_replicas_are_one_task_and_one_run() {
    let _turn = turn::beside_its_kind().await;
    let Some(postgres) = services::postgres().await else { return };
    let database = postgres.database().await;
    let directory = tempfile::tempdir().unwrap();
    let witness = Witness::new(directory.path(), 0);
    let mut options = Options::new(Kept::Postgres(database.url()));
    options.effects = Some(directory.path().join("effects"));
    let replicas = [Node::start(&options).await, Node::start(&options).await];
    for key in 0..KEYS {
        let order = Order::new("effect", "ann", "50").key(key.to_string());
        let mut sends = JoinSet::new();
        for index in 0..SENDS {
            let (node, order) = (replicas[index % 2].clone(), order.clone());
            sends.spawn(async move { node.send(order).await.expect("it is taken") });
        }
        let answers = sends.join_all().await;
        let first: &TaskView = &answers[0];
        assert_eq!((first.state, first.parts), (TaskState::Completed, 1));
        for answer in &answers {
            assert_eq!(answer, first);
            witness.ack(answer);
        }
        for node in &replicas {
            let mut changed = order.clone();
            changed.text.push(' ');
            let Err(Failed::Refused(refusal)) = node.send(changed).await else {
                panic!("another request with the same key was taken")
            };
            assert_eq!(refusal.kind, "InvalidParams", "{refusal:?}");
            assert_eq!(refusal.reason, "IDEMPOTENCY_KEY_REUSED", "{refusal:?}");
        }
    }
    let runs = runs(&directory.path().join("effects"));
    assert_eq!(runs.len(), KEYS, "{runs:?}");
    assert!(runs.values().all(|runs| *runs == 1), "{runs:?}");
    let compared = witness.check(&replicas[1], None).await;
    assert_eq!(compared.tasks, KEYS);
    figures::print(&format!(
        "R06: {KEYS} keys, {SENDS} equal sends of each at once on 2 replicas: {} tasks, {} runs; \
         a changed byte refused",
        compared.tasks,
        runs.len()
    ));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_crash_before_the_answer_leads_to_the_same_task_on_the_other_replica() {
    let _turn = turn::beside_its_kind().await;
    let Some(postgres) = services::postgres().await else { return };
    let database = postgres.database().await;
    let mut options = Options::new(Kept::Postgres(database.url()));
    options.lease = Some(LEASE);
    crash("Postgres, the other replica", options, true).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_crash_before_the_answer_leads_to_the_same_task_after_a_restart() {
    let _turn = turn::beside_its_kind().await;
    let directory = tempfile::tempdir().unwrap();
    let options = Options::new(Kept::Sqlite(directory.path().join("data")));
    crash("SQLite, after a restart", options, false).await;
}

/// Kills the node that was asked at any moment, and asks another, or the same once it is back.
async fn crash(what: &str, options: Options, has_other: bool) {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let effects = directory.path().join("effects");
    let options = with_effects(&options, &effects);
    let mut random = Random::new();
    let witness = Witness::new(directory.path(), random.seed());
    let mut other = None;
    if has_other {
        other = Some(Node::start(&options).await);
    }
    let (mut in_between, mut interrupted) = (0, 0);
    let usual = usual_time(&witness, &options).await;
    for round in 0..CRASHES {
        let node = Node::start(&options).await;
        let order = Order::new("effect", "ann", "3").key(format!("key {round}"));
        let sending = witness.send(&node, order.clone());
        let moment = Duration::from_micros(random.below(usual + usual / 4));
        let killing = async {
            // Nothing depends on where exactly this falls.
            tokio::time::sleep(moment).await;
            node.kill9().await;
        };
        let (answer, ()) = tokio::join!(sending, killing);
        assert!(matches!(answer, Ok(_) | Err(Failed::Gone)), "{answer:?}");
        let other = match &other {
            Some(other) => other.clone(),
            None => Node::start(&options).await,
        };
        let was_there = other.list(None).await.len() as u64 > round + 1;
        in_between += u64::from(answer.is_err() && was_there);
        // Waits until the task is settled, here or by the one that died.
        let again = witness.send(&other, order).await.expect("it is taken");
        match again.state {
            TaskState::Completed => {}
            TaskState::Failed if again.says.starts_with("INTERRUPTED") => interrupted += 1,
            _ => panic!("{again:?}"),
        }
        if !has_other {
            other.kill9().await;
        }
    }
    let node = Node::start(&options).await;
    let compared = witness.check(&node, None).await;
    assert_eq!(compared.tasks as u64, CRASHES + 1, "a key made two tasks, or none");
    let runs = runs(&effects);
    assert!(runs.values().all(|runs| *runs == 1), "{runs:?}");
    figures::print(&format!(
        "R06: {what}: {CRASHES} crashes, {in_between} between commit and answer: {} tasks, {} \
         ran, none twice; {interrupted} failed as interrupted",
        compared.tasks,
        runs.len(),
    ));
}

/// How long a node that has just started takes to answer, in microseconds.
async fn usual_time(witness: &Witness, options: &Options) -> u64 {
    let node = Node::start(options).await;
    let start = Instant::now();
    let order = Order::new("effect", "ann", "3").key("usual");
    witness.send(&node, order).await.expect("it is taken");
    let usual = start.elapsed();
    node.kill9().await;
    u64::try_from(usual.as_micros()).expect("it is short")
}

fn with_effects(options: &Options, effects: &Path) -> Options {
    Options { effects: Some(effects.to_owned()), ..options.clone() }
}

/// How often each task was run.
fn runs(effects: &Path) -> HashMap<String, usize> {
    let mut runs = HashMap::new();
    for line in fs::read_to_string(effects).unwrap_or_default().lines() {
        *runs.entry(line.to_owned()).or_default() += 1;
    }
    runs
}
