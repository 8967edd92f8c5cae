//! R21: webhooks that are fine, that fail now and then or always, and that hang, while their
//! sender is killed.

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
    time::Duration,
};

use nuncio_testkit::{
    random::Random,
    webhook::{Answer, Receiver},
};
use nuncio_tests::{
    client::Node,
    figures,
    node::{Kept, Options, webhooks::ATTEMPTS},
    wire::{LogView, Order, TaskName, hash},
    witness::Witness,
};
use tokio::time::Instant;

use crate::turn;

const KILLS: u64 = 5;

/// How long everything may take to arrive.
const PATIENCE: Duration = Duration::from_secs(100);

/// What the receiver does with the events of a task.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Kind {
    Fine,
    /// Fails the first tries of each event, but not the last.
    Flaky,
    Failing,
    Hanging,
}

/// A task with a webhook.
struct Told {
    kind: Kind,
    path: String,
    task: String,
}

#[tokio::test(flavor = "multi_thread")]
async fn every_event_arrives_in_order_or_becomes_a_dead_letter() {
    let _turn = turn::alone().await;
    let directory = tempfile::tempdir().unwrap();
    let mut random = Random::new();
    let witness = Arc::new(Witness::new(directory.path(), random.seed()));
    // Hosts of their own: what one host does is no matter of the other.
    let (receiver, bad_receiver) = (Receiver::start().await, Receiver::start().await);
    let mut options = Options::new(Kept::Sqlite(directory.path().join("data")));
    options.webhooks = true;
    let mut node = Node::start(&options).await;
    let kinds = [
        (Kind::Fine, 8, "80 25"),
        (Kind::Flaky, 4, "20 100"),
        (Kind::Failing, 4, "3 50"),
        (Kind::Hanging, 2, "1 0"),
    ];
    let mut told = Vec::new();
    for (kind, count, text) in kinds {
        for index in 0..count {
            let receiver = match kind {
                Kind::Fine | Kind::Flaky => &receiver,
                Kind::Failing | Kind::Hanging => &bad_receiver,
            };
            told.push(begin(&node, &witness, receiver, kind, index, text).await);
        }
    }
    for _ in 0..KILLS {
        // Nothing depends on where exactly this falls.
        tokio::time::sleep(Duration::from_millis(100 + random.below(500))).await;
        node.kill9().await;
        node = Node::start(&options).await;
    }
    let mut delays = delays_beside(&node, &witness, &receiver).await;
    node.settled(None, PATIENCE).await;

    let logs = node.logs(None).await;
    let logs: HashMap<&str, &LogView> = logs.iter().map(|log| (log.task.as_str(), log)).collect();
    let (mut arrived, mut repeated, mut dead) = (0, 0, HashSet::new());
    for one in &told {
        let log = logs[one.task.as_str()];
        let ids = match one.kind {
            Kind::Fine | Kind::Flaky => all_arrived(&receiver, one, log).await,
            Kind::Failing | Kind::Hanging => {
                dead.extend(log.entries.iter().map(|entry| (one.task.clone(), entry.seq)));
                continue;
            }
        };
        arrived += log.entries.len();
        repeated += ids - log.entries.len();
    }
    let letters = all_dead(&node, &dead).await;
    witness.check(&node, None).await;
    figures::print(&format!(
        "R21: sender killed {KILLS} times: {arrived} events arrived in order, {repeated} of them \
         more than once, with the same id; {letters} dead letters; fine ones p50 {:.1?}, p99 {:.1?} beside \
         failing and hanging ones",
        figures::percentile(&mut delays, 50),
        figures::percentile(&mut delays, 99),
    ));
}

/// Begins a task with a webhook.
async fn begin(
    node: &Node,
    witness: &Witness,
    receiver: &Receiver,
    kind: Kind,
    index: usize,
    text: &str,
) -> Told {
    let path = format!("/{kind:?}/{index}");
    match kind {
        Kind::Fine => {}
        // Told by event, not by request: a request whose answer dies with the sender comes again
        // and must not use up the tries of its event.
        Kind::Flaky => receiver.answer_each(&path, [Answer::Status(500), Answer::Close]),
        Kind::Failing => receiver.otherwise(&path, Answer::Status(500)),
        Kind::Hanging => receiver.otherwise(&path, Answer::Hang),
    }
    let order = Order::new("steps-resume", "ann", text).at_once().webhook(receiver.url(&path));
    let task = witness.send(node, order).await.expect("it is taken").id;
    Told { kind, path, task }
}

/// Waits until all events of a log have arrived, checks their order and their identifiers, and
/// returns how many requests that took.
async fn all_arrived(receiver: &Receiver, told: &Told, log: &LogView) -> usize {
    let places: HashMap<u64, u64> =
        log.entries.iter().map(|entry| (entry.hash, entry.seq)).collect();
    let start = Instant::now();
    loop {
        let requests: Vec<(u64, String)> = receiver
            .requests()
            .iter()
            .filter(|request| request.path == told.path)
            .map(|request| {
                let seq = *places.get(&hash(&request.body)).expect("only events of the log come");
                let id = request.headers["webhook-id"].to_str().expect("an identifier is text");
                (seq, id.to_owned())
            })
            .collect();
        let seqs: HashSet<u64> = requests.iter().map(|(seq, _)| *seq).collect();
        if seqs.len() == log.entries.len() {
            let in_order = requests.is_sorted_by_key(|(seq, _)| *seq);
            assert!(in_order, "{} got events out of order: {requests:?}", told.path);
            let ids: HashSet<&(u64, String)> = requests.iter().collect();
            assert_eq!(ids.len(), seqs.len(), "an event has two identifiers");
            let ids: HashSet<&String> = requests.iter().map(|(_, id)| id).collect();
            assert_eq!(ids.len(), seqs.len(), "two events have one identifier");
            return requests.len();
        }
        let missing = log.entries.len() - seqs.len();
        assert!(start.elapsed() < PATIENCE, "{missing} events of {} are missing", told.path);
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

/// Waits until exactly these events are dead letters.
async fn all_dead(node: &Node, expected: &HashSet<(String, u64)>) -> usize {
    let start = Instant::now();
    loop {
        let letters = node.dead_letters().await;
        assert!(letters.iter().all(|letter| letter.attempts == ATTEMPTS), "{letters:?}");
        let found: HashSet<(String, u64)> =
            letters.iter().map(|letter| (letter.task.clone(), letter.seq)).collect();
        assert!(found.is_subset(expected), "other events have died: {letters:?}");
        if found.len() == expected.len() {
            return letters.len();
        }
        let missing = expected.len() - found.len();
        assert!(start.elapsed() < PATIENCE, "{missing} dead letters are missing");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

/// How much later events arrive at fine webhooks than on a stream, while others fail and hang.
async fn delays_beside(node: &Node, witness: &Witness, receiver: &Receiver) -> Vec<Duration> {
    let mut delays = Vec::new();
    for index in 100..104 {
        let told = begin(node, witness, receiver, Kind::Fine, index, "50 20").await;
        let name = TaskName::new("steps-resume", "ann", &told.task);
        let mut replies = node.subscribe(name, Some(0));
        let mut seen = HashMap::new();
        while let Some(event) = replies.event().await.expect("the stream does not break") {
            seen.insert(event.hash, Instant::now());
        }
        for request in receiver.until(&told.path, seen.len()).await {
            delays.push(request.at.saturating_duration_since(seen[&hash(&request.body)]));
        }
    }
    delays
}
