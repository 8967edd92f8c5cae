//! R02: the process is killed at each of its first writes and syncs, before, within and after
//! it.

use std::{os::unix::process::ExitStatusExt as _, path::Path, time::Duration};

use nuncio_protocol::state::TaskState;
use nuncio_testkit::{
    faults::{Faults, Moment},
    random::Random,
};
use nuncio_tests::{
    client::{Failed, Node},
    figures,
    node::{Kept, Options},
    wire::{LogView, Order},
    witness::Witness,
};
use tokio::task::JoinSet;

use crate::turn;

/// The process is killed at every call up to this one,
const CALLS: u64 = 60;

/// and at as many again that chance chooses up to this one: one transaction alone makes dozens.
const LATER_CALLS: u64 = 600;

/// So many messages make more calls than that.
const MESSAGES: u64 = 200;

const CHUNKS: usize = 5;

/// What is on the disk before the kill.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Before {
    Nothing,
    /// A store that is made, and stopped in good order.
    Store,
}

#[tokio::test(flavor = "multi_thread")]
async fn a_store_killed_at_any_write_opens_with_a_prefix_and_every_ack() {
    let _turn = turn::alone().await;
    let mut lanes = JoinSet::new();
    let mut random = Random::new();
    for moment in Moment::ALL {
        let mut random = random.fork();
        lanes.spawn(async move {
            let mut sum = (0, 0, 0);
            for call in 1..=CALLS {
                let later = CALLS + random.below(LATER_CALLS - CALLS);
                for (before, call) in
                    [(Before::Nothing, call), (Before::Store, call), (Before::Store, later)]
                {
                    let (acked, seen, opened) = kill_at(call, moment, before).await;
                    sum = (sum.0 + acked, sum.1 + seen, sum.2 + usize::from(!opened));
                }
            }
            sum
        });
    }
    let (mut acked, mut seen, mut while_opening) = (0, 0, 0);
    while let Some(lane) = lanes.join_next().await {
        let sum = lane.expect("every store opens again with all that was told");
        (acked, seen, while_opening) = (acked + sum.0, seen + sum.1, while_opening + sum.2);
    }
    figures::print(&format!(
        "R02: {} kills at calls 1 to {CALLS} and some to {LATER_CALLS}, before, within and after them, \
         {while_opening} while opening; {} acked, {} events seen, 0 lost, every log a prefix",
        CALLS * 3 * 3,
        figures::count(acked),
        figures::count(seen),
    ));
    assert!(acked > 0 && seen > 0);
}

/// Kills at a call, and compares what is left. Returns how many answers were given, how many
/// events were seen, and whether the process got so far as to open its store.
async fn kill_at(call: u64, moment: Moment, before: Before) -> (usize, usize, bool) {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let data = directory.path().join("data");
    std::fs::create_dir(&data).expect("a directory in it");
    let witness = Witness::new(directory.path(), call);
    let options = Options::new(Kept::Sqlite(data.clone()));
    if before == Before::Store {
        assert!(Node::start(&options).await.stop(Duration::ZERO).await.success());
    }
    let opened = work_until_killed(&witness, &options, &data, call, moment).await;
    let node = Node::start(&options).await;
    node.settled(None, Duration::from_secs(60)).await;
    let logs = node.logs(None).await;
    let compared = witness.compare(&logs);
    for log in &logs {
        check_prefix(log);
    }
    (compared.acked, compared.seen, opened)
}

/// Sends messages one after the other until the fault strikes. Returns whether the store was
/// open by then.
async fn work_until_killed(
    witness: &Witness,
    options: &Options,
    data: &Path,
    call: u64,
    moment: Moment,
) -> bool {
    let faults = Faults::under(data).kill_at(call, moment);
    let Ok(node) = Node::try_start(options, faults).await else { return false };
    for message in 0..MESSAGES {
        let text = format!("{CHUNKS} 0");
        let order = Order::new("steps-fail", "ann", text);
        let failed = if message % 2 == 0 {
            witness.send(&node, order).await.err()
        } else {
            let name = order.message.clone();
            witness.stream(&node, &name, order).await.failed
        };
        match failed {
            None => {}
            Some(Failed::Gone) => {
                let status = node.ended().await;
                assert_eq!(status.signal(), Some(9), "{}", node.errors().await);
                return true;
            }
            Some(refused) => panic!("at call {call}, {moment:?}: {refused:?}"),
        }
    }
    panic!("the process was not killed at call {call}, {moment:?}");
}

/// A log is what the agent would have said, up to some point, then that it was interrupted.
#[track_caller]
fn check_prefix(log: &LogView) {
    let said: Vec<&str> = log
        .entries
        .iter()
        .filter(|entry| entry.state.is_none())
        .map(|entry| entry.text.trim_start_matches('0'))
        .collect();
    let expected = ["", "1", "2", "3", "4"];
    let complete = log.state == TaskState::Completed;
    let length = if complete { CHUNKS } else { said.len() };
    assert_eq!(said, expected[..length], "the log of task {} is no prefix", log.task);
    assert!(complete || log.state == TaskState::Failed, "{:?}", log.state);
}
