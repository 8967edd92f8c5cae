//! What the test was told, written down before it goes on, and compared with the log at the
//! end.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
    sync::{Mutex, MutexGuard, PoisonError},
};

use nuncio_protocol::state::TaskState;
use nuncio_testkit::journal::{Entry, Journal, Log};

use crate::{
    client::{Failed, Node, Replies},
    wire::{EventView, LogView, Order, TaskView},
};

/// Sends, follows, and remembers.
#[derive(Debug)]
pub struct Witness(Mutex<Notes>);

#[derive(Debug)]
struct Notes {
    journal: Journal,
    acked: usize,
    seen: usize,
    /// The task that each key stands for.
    keys: BTreeMap<String, String>,
    /// How tasks have ended, for those who were told.
    ended: BTreeMap<String, TaskState>,
    /// The last event that each stream has seen.
    streams: BTreeMap<String, u64>,
}

/// What came of a stream.
#[derive(Clone, Debug)]
pub struct Followed {
    /// The task, if there was an event.
    pub task: Option<String>,
    /// Why it did not come to its end.
    pub failed: Option<Failed>,
}

/// What was compared.
#[derive(Clone, Copy, Debug)]
pub struct Compared {
    /// Tasks in the store.
    pub tasks: usize,
    /// Answers that the test was given.
    pub acked: usize,
    /// Events that the test has seen on streams.
    pub seen: usize,
}

impl Witness {
    /// Begins a journal in a directory.
    pub fn new(directory: &Path, seed: u64) -> Self {
        Self(Mutex::new(Notes {
            journal: Journal::open(directory.join("journal"), seed),
            acked: 0,
            seen: 0,
            keys: BTreeMap::new(),
            ended: BTreeMap::new(),
            streams: BTreeMap::new(),
        }))
    }

    /// Sends a message, and notes the answer.
    pub async fn send(&self, node: &Node, order: Order) -> Result<TaskView, Failed> {
        let key = order.key.clone();
        if let Some(key) = &key {
            self.lock().journal.sent(key);
        }
        let task = node.send(order).await?;
        self.lock().ack(&task, key.as_deref());
        Ok(task)
    }

    /// Notes a task that was answered.
    pub fn ack(&self, task: &TaskView) {
        self.lock().ack(task, None);
    }

    /// Sends a message, follows its task to the end under a name, and notes each event.
    pub async fn stream(&self, node: &Node, name: &str, order: Order) -> Followed {
        let key = order.key.clone();
        if let Some(key) = &key {
            self.lock().journal.sent(key);
        }
        self.read(name, key.as_deref(), &mut node.stream(order)).await
    }

    /// Follows a stream to its end under a name, and notes each event. A stream that comes back
    /// keeps its name.
    pub async fn follow(&self, name: &str, replies: &mut Replies) -> Followed {
        self.read(name, None, replies).await
    }

    async fn read(&self, name: &str, key: Option<&str>, replies: &mut Replies) -> Followed {
        let mut task: Option<String> = None;
        loop {
            let failed = match replies.event().await {
                Ok(Some(event)) => {
                    task = task.or_else(|| event.task.clone());
                    if let Some(task) = &task {
                        self.lock().see(task, name, key, &event);
                    }
                    continue;
                }
                Ok(None) => None,
                Err(failed) => Some(failed),
            };
            return Followed { task, failed };
        }
    }

    /// The last event that a stream has seen.
    pub fn last_event(&self, name: &str) -> Option<u64> {
        self.lock().streams.get(name).copied()
    }

    /// How many answers were given so far.
    pub fn acked(&self) -> usize {
        self.lock().acked
    }

    /// Compares everything with the logs that a node reads from its store.
    ///
    /// # Panics
    /// If anything that was told is not so.
    pub async fn check(&self, node: &Node, caller: Option<&str>) -> Compared {
        let logs = node.logs(caller).await;
        self.compare(&logs)
    }

    /// Compares everything with logs.
    ///
    /// # Panics
    /// If anything that was told is not so.
    #[track_caller]
    pub fn compare(&self, logs: &[LogView]) -> Compared {
        let notes = self.lock();
        let keys: BTreeMap<&String, &String> =
            notes.keys.iter().map(|(key, task)| (task, key)).collect();
        let journaled: Vec<Log> = logs
            .iter()
            .map(|log| Log {
                task: log.task.clone(),
                key: keys.get(&log.task).map(|key| (*key).clone()),
                entries: log.entries.iter().map(entry).collect(),
            })
            .collect();
        notes.journal.check(&journaled);
        for log in logs {
            check_alone(log);
        }
        let states: BTreeMap<&String, TaskState> =
            logs.iter().map(|log| (&log.task, log.state)).collect();
        for (task, told) in &notes.ended {
            assert_eq!(states.get(task), Some(told), "task {task} ended otherwise");
        }
        Compared { tasks: logs.len(), acked: notes.acked, seen: notes.seen }
    }

    /// The tasks that keys stand for.
    pub fn keyed_tasks(&self) -> BTreeSet<String> {
        self.lock().keys.values().cloned().collect()
    }

    fn lock(&self) -> MutexGuard<'_, Notes> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Notes {
    fn ack(&mut self, task: &TaskView, key: Option<&str>) {
        self.journal.acked(&task.id, 1);
        self.acked += 1;
        self.bind(key, &task.id);
        if task.state.is_terminal() {
            self.end(&task.id, task.state);
        }
    }

    fn see(&mut self, task: &str, stream: &str, key: Option<&str>, event: &EventView) {
        self.bind(key, task);
        if event.is_snapshot {
            // It repeats the last event, or is the first of a stream that begins in the middle.
            let last = self.streams.insert(stream.to_owned(), event.seq);
            assert!(last.is_none_or(|last| last == event.seq), "stream {stream} came back wrong");
        } else {
            let repeats = self.streams.get(stream) == Some(&event.seq) && event.seq == 1;
            self.streams.insert(stream.to_owned(), event.seq);
            if !repeats {
                self.journal.seen(task, stream, event.seq, event.hash);
            }
            self.seen += 1;
        }
        if let Some(state) = event.state.filter(|state| state.is_terminal()) {
            self.end(task, state);
        }
    }

    fn bind(&mut self, key: Option<&str>, task: &str) {
        if let Some(key) = key {
            let bound = self.keys.entry(key.to_owned()).or_insert_with(|| task.to_owned());
            assert_eq!(bound, task, "key {key} stands for two tasks");
        }
    }

    fn end(&mut self, task: &str, state: TaskState) {
        let ended = *self.ended.entry(task.to_owned()).or_insert(state);
        assert_eq!(ended, state, "task {task} ended twice");
    }
}

fn entry(entry: &crate::wire::EntryView) -> Entry {
    let is_terminal = entry.state.is_some_and(TaskState::is_terminal);
    Entry { seq: entry.seq, hash: entry.hash, is_terminal }
}

/// What a log must be whatever was told.
#[track_caller]
fn check_alone(log: &LogView) {
    let task = &log.task;
    assert!(!log.entries.is_empty(), "task {task} has no log");
    let last = log.entries.iter().rev().find_map(|entry| entry.state);
    assert_eq!(last, Some(log.state), "the head and the log of task {task} differ");
    let waits = log.state.is_terminal() || log.state.is_interrupted();
    assert!(waits || log.owned, "task {task} is {:?}, and nobody works on it", log.state);
}
