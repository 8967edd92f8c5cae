//! The comparison of a journal with the logs at the end.

use std::collections::{BTreeSet, HashMap};

use super::{Log, Step};

/// Each part relies on those before it.
pub(super) fn first_difference(steps: &[Step], logs: &[Log]) -> Option<String> {
    logs.iter()
        .find_map(broken_log)
        .or_else(|| doubled(logs))
        .or_else(|| not_sent(steps, logs))
        .or_else(|| lost_or_changed(steps, logs))
}

/// Faults of a log by itself.
fn broken_log(log: &Log) -> Option<String> {
    let task = &log.task;
    let mut ended_at = None;
    for (entry, expected) in log.entries.iter().zip(1..) {
        let seq = entry.seq;
        if seq != expected {
            return Some(format!("task {task}: seq {seq} stands where {expected} should"));
        }
        if let Some(end) = ended_at {
            return Some(format!("task {task}: seq {seq} follows the terminal state of {end}"));
        }
        ended_at = entry.is_terminal.then_some(seq);
    }
    None
}

/// A task that is there twice, or a key that made two tasks.
fn doubled(logs: &[Log]) -> Option<String> {
    let mut tasks = BTreeSet::new();
    let mut keys = HashMap::new();
    logs.iter().find_map(|log| {
        let task = &log.task;
        if !tasks.insert(task) {
            return Some(format!("task {task} is there twice"));
        }
        let key = log.key.as_ref()?;
        let other = keys.insert(key, task)?;
        Some(format!("key {key} made two tasks, {other} and {task}"))
    })
}

/// A task whose key nobody sent.
fn not_sent(steps: &[Step], logs: &[Log]) -> Option<String> {
    let sent: BTreeSet<&str> = steps
        .iter()
        .filter_map(|step| match step {
            Step::Sent { key } => Some(key.as_str()),
            _ => None,
        })
        .collect();
    logs.iter().find_map(|log| {
        let key = log.key.as_deref().filter(|key| !sent.contains(key))?;
        Some(format!("task {} has key {key}, which nobody sent", log.task))
    })
}

/// Something that a client was told and that is not so, in the order of the telling.
fn lost_or_changed(steps: &[Step], logs: &[Log]) -> Option<String> {
    let logs: HashMap<&str, &Log> = logs.iter().map(|log| (log.task.as_str(), log)).collect();
    let mut last_seen: HashMap<(&str, &str), u64> = HashMap::new();
    steps.iter().find_map(|step| match step {
        Step::Sent { .. } => None,
        Step::Acked { task, seq } => {
            let Some(log) = logs.get(task.as_str()) else {
                return Some(format!("task {task} was acknowledged and is missing"));
            };
            let end = log.entries.last().map_or(0, |entry| entry.seq);
            (end < *seq).then(|| {
                format!("task {task}: seq {seq} was acknowledged, but the log ends at {end}")
            })
        }
        Step::Seen { task, stream, seq, hash } => {
            if let Some(last) = last_seen.insert((task, stream), *seq)
                && last.checked_add(1) != Some(*seq)
            {
                return Some(format!("task {task}: stream {stream} has seq {seq} after {last}"));
            }
            // Seqs are 1 to n, as was checked above.
            let index = seq.checked_sub(1).and_then(|index| usize::try_from(index).ok());
            let log = logs.get(task.as_str());
            let found = log.zip(index).and_then(|(log, index)| log.entries.get(index));
            match found {
                None => Some(format!(
                    "task {task}: stream {stream} saw seq {seq}, which the log has not"
                )),
                Some(entry) if entry.hash != *hash => Some(format!(
                    "task {task}: stream {stream} saw seq {seq} with hash {hash}, the log has {}",
                    entry.hash
                )),
                Some(_) => None,
            }
        }
    })
}
