//! What a client of a crash test was told, and whether the log at the end agrees.
//!
//! The client notes each step before it takes the next. At the end [`Journal::check`] compares
//! that with the log: nothing acknowledged is missing, seqs are 1 to n, each stream is a
//! contiguous slice of the log, nothing follows a terminal state, no key made two tasks.

mod check;

use std::fmt::{self, Display};
use std::fs::{self, File, OpenOptions};
use std::io::Write as _;
use std::path::{Path, PathBuf};

/// The steps of one client, or of several, in memory and in a file.
#[derive(Debug)]
pub struct Journal {
    seed: u64,
    path: PathBuf,
    file: File,
    steps: Vec<Step>,
}

/// The log of one task as it is at the end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Log {
    /// The id of the task.
    pub task: String,
    /// The idempotency key that made the task, where it had one.
    pub key: Option<String>,
    /// The events, in the order in which the store yields them.
    pub entries: Vec<Entry>,
}

/// One event of a [`Log`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Entry {
    /// Its position.
    pub seq: u64,
    /// A hash of its content, the same wherever it is seen.
    pub hash: u64,
    /// Whether the task is in a terminal state from here on.
    pub is_terminal: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Step {
    Sent { key: String },
    Acked { task: String, seq: u64 },
    Seen { task: String, stream: String, seq: u64, hash: u64 },
}

impl Journal {
    /// Opens the journal at `path`, which goes on where an earlier process was killed. `seed`
    /// is shown when the check fails.
    ///
    /// # Panics
    /// If the file cannot be opened, or is not a journal.
    pub fn open(path: impl AsRef<Path>, seed: u64) -> Self {
        let path = path.as_ref().to_owned();
        let text = fs::read_to_string(&path).unwrap_or_default();
        // A kill may have torn the last line; its step was then not taken.
        let whole = text.rfind('\n').map_or(0, |end| end + 1);
        let steps = text[..whole].lines().map(|line| {
            Step::parse(line).unwrap_or_else(|| panic!("no step in {}: {line}", path.display()))
        });
        let steps = steps.collect();
        let file = OpenOptions::new().create(true).append(true).open(&path);
        let file = file.unwrap_or_else(|error| panic!("open {}: {error}", path.display()));
        file.set_len(whole as u64).expect("our own file can be cut");
        Self { seed, path, file, steps }
    }

    /// Notes that a request with this idempotency key is about to be sent.
    ///
    /// # Panics
    /// If the file cannot be written to.
    pub fn sent(&mut self, key: &str) {
        self.note(Step::Sent { key: key.to_owned() });
    }

    /// Notes that the log of a task was acknowledged up to `seq`.
    ///
    /// # Panics
    /// If the file cannot be written to.
    pub fn acked(&mut self, task: &str, seq: u64) {
        self.note(Step::Acked { task: task.to_owned(), seq });
    }

    /// Notes an event that came on a stream. A stream that is resumed keeps its name; one that
    /// begins anew takes another.
    ///
    /// # Panics
    /// If the file cannot be written to.
    pub fn seen(&mut self, task: &str, stream: &str, seq: u64, hash: u64) {
        let (task, stream) = (task.to_owned(), stream.to_owned());
        self.note(Step::Seen { task, stream, seq, hash });
    }

    /// Compares with the logs of all tasks at the end.
    ///
    /// # Panics
    /// If they do not agree; names the seed and the first difference.
    #[track_caller]
    pub fn check(&self, logs: &[Log]) {
        if let Some(difference) = self.first_difference(logs) {
            let (seed, path) = (self.seed, self.path.display());
            panic!("{difference} (NUNCIO_SEED={seed}, journal {path})");
        }
    }

    /// The first way in which the logs differ from what the clients were told.
    pub fn first_difference(&self, logs: &[Log]) -> Option<String> {
        check::first_difference(&self.steps, logs)
    }

    fn note(&mut self, step: Step) {
        let line = format!("{step}\n");
        let fields = line.bytes().filter(|byte| matches!(byte, b'\t' | b'\n')).count();
        assert_eq!(fields, step.fields(), "a name with a tab or a line end: {line:?}");
        // One write: a kill tears at most the last line.
        self.file.write_all(line.as_bytes()).expect("the journal can be written to");
        self.steps.push(step);
    }
}

impl Step {
    fn parse(line: &str) -> Option<Self> {
        let fields: Vec<&str> = line.split('\t').collect();
        match fields[..] {
            ["sent", key] => Some(Self::Sent { key: key.to_owned() }),
            ["acked", task, seq] => {
                Some(Self::Acked { task: task.to_owned(), seq: seq.parse().ok()? })
            }
            ["seen", task, stream, seq, hash] => Some(Self::Seen {
                task: task.to_owned(),
                stream: stream.to_owned(),
                seq: seq.parse().ok()?,
                hash: hash.parse().ok()?,
            }),
            _ => None,
        }
    }

    fn fields(&self) -> usize {
        match self {
            Self::Sent { .. } => 2,
            Self::Acked { .. } => 3,
            Self::Seen { .. } => 5,
        }
    }
}

impl Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Sent { key } => write!(f, "sent\t{key}"),
            Self::Acked { task, seq } => write!(f, "acked\t{task}\t{seq}"),
            Self::Seen { task, stream, seq, hash } => {
                write!(f, "seen\t{task}\t{stream}\t{seq}\t{hash}")
            }
        }
    }
}

#[cfg(test)]
mod tests;
