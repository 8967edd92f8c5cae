//! From a log to the task.

use bytes::Bytes;
use nuncio_protocol::{
    json::{self, Shared, ToJson as _},
    task::{Artifact, StreamResponse, Task, TaskArtifactUpdateEvent, TaskStatus},
};

use super::{Entry, Record, Seq};

/// A task as of a place in its log.
#[derive(Clone, Debug, PartialEq)]
pub struct Folded {
    /// The place.
    pub seq: Seq,
    /// The task.
    pub task: Task,
}

/// The text of a [`Folded`], so that nobody needs to fold a log from its start.
///
/// It is kept in three pieces, because those who list tasks seldom want all.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Snapshot {
    /// The place.
    pub seq: Seq,
    /// The task without history and artifacts.
    pub task: Bytes,
    /// The messages, as a JSON array; empty if they were not asked for.
    pub history: Bytes,
    /// The artifacts, as a JSON array; empty if they were not asked for.
    pub artifacts: Bytes,
}

/// A log that cannot be read: the store was spoilt from outside.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the log of the task is spoilt at {seq}: {what}")]
pub struct SpoiltLog {
    /// Where.
    pub seq: Seq,
    /// What is wrong.
    pub what: String,
}

impl Folded {
    /// Folds the first entry, or a snapshot, and the entries behind it.
    pub fn from_log(snapshot: Option<&Snapshot>, entries: &[Entry]) -> Result<Self, SpoiltLog> {
        let (mut folded, rest) = match (snapshot, entries) {
            (Some(snapshot), entries) => (snapshot.read()?, entries),
            (None, [first, rest @ ..]) => (Self::open(first)?, rest),
            (None, []) => {
                return Err(SpoiltLog { seq: Seq::START, what: "it is empty".to_owned() });
            }
        };
        for entry in rest {
            if entry.seq != folded.seq.next() {
                let what = format!("{} follows {}", entry.seq, folded.seq);
                return Err(SpoiltLog { seq: entry.seq, what });
            }
            folded.apply(&entry.record)?;
        }
        Ok(folded)
    }

    fn open(first: &Entry) -> Result<Self, SpoiltLog> {
        let spoilt = |what: String| SpoiltLog { seq: first.seq, what };
        match first.record.event.value() {
            Ok(StreamResponse::Task(task)) if first.seq == Seq(1) => {
                Ok(Self { seq: first.seq, task: task.clone() })
            }
            Ok(_) => Err(spoilt("it does not begin with its task".to_owned())),
            Err(error) => Err(spoilt(error.to_string())),
        }
    }

    /// Applies the next record.
    pub fn apply(&mut self, record: &Record) -> Result<(), SpoiltLog> {
        let seq = self.seq.next();
        let spoilt = |error: json::Error| SpoiltLog { seq, what: error.to_string() };
        match record.event.value().map_err(spoilt)? {
            StreamResponse::StatusUpdate(update) => {
                self.set_status(update.status.clone());
                if let Some(metadata) = update.task_metadata() {
                    self.task.metadata = Some(metadata);
                }
            }
            StreamResponse::ArtifactUpdate(update) => self.put_artifact(update),
            StreamResponse::Task(_) | StreamResponse::Message(_) => {
                return Err(SpoiltLog { seq, what: "an update was expected".to_owned() });
            }
        }
        if let Some(message) = &record.message {
            self.task.history.push(message.value().map_err(spoilt)?.clone());
        }
        self.seq = seq;
        Ok(())
    }

    /// What an earlier status said stays in the history, unless it is only said once more.
    fn set_status(&mut self, status: TaskStatus) {
        let earlier = std::mem::replace(&mut self.task.status, status).message;
        if let Some(message) = earlier
            && self.task.status.message.as_ref() != Some(&message)
        {
            self.task.history.push(*message);
        }
    }

    /// A chunk goes behind the artifact it belongs to; a first chunk, and every artifact that
    /// is no chunk, takes its place (A2A digest §9).
    fn put_artifact(&mut self, update: &TaskArtifactUpdateEvent) {
        let chunk = &update.artifact;
        let stored = self
            .task
            .artifacts
            .iter_mut()
            .find(|artifact| artifact.artifact_id == chunk.artifact_id);
        match stored {
            Some(artifact) if update.append => extend(artifact, chunk),
            Some(artifact) => *artifact = chunk.clone(),
            None => self.task.artifacts.push(chunk.clone()),
        }
    }

    /// Writes it down.
    pub fn snapshot(&self) -> Snapshot {
        let head = Task {
            id: self.task.id.clone(),
            context_id: self.task.context_id.clone(),
            status: self.task.status.clone(),
            artifacts: Vec::new(),
            history: Vec::new(),
            metadata: self.task.metadata.clone(),
        };
        // The three are written into one text, and share it.
        let (mut task, mut history) = (0, 0);
        let mut text = json::bytes_with(|writer| {
            head.write(writer);
            task = writer.written();
            self.task.history.write(writer);
            history = writer.written() - task;
            self.task.artifacts.write(writer);
        });
        let (task, history) = (text.split_to(task), text.split_to(history));
        Snapshot { seq: self.seq, task, history, artifacts: text }
    }
}

impl Snapshot {
    /// Reads it again. Pieces that were not asked for are empty in the task, too.
    pub fn read(&self) -> Result<Folded, SpoiltLog> {
        let spoilt = |error: json::Error| self.spoilt(&error);
        let mut task: Task = json::from_slice(&self.task).map_err(spoilt)?;
        if !self.history.is_empty() {
            task.history = json::from_slice(&self.history).map_err(spoilt)?;
        }
        if !self.artifacts.is_empty() {
            task.artifacts = json::from_slice(&self.artifacts).map_err(spoilt)?;
        }
        Ok(Folded { seq: self.seq, task })
    }

    /// Returns the task with at most so many messages of its history. It is put together from its
    /// text, unread.
    pub fn task(&self, history: Option<usize>) -> Result<Shared<Task>, SpoiltLog> {
        let history = match history {
            None => return Ok(Shared::from_json(self.text())),
            Some(0) => Bytes::new(),
            Some(limit) => self.newest(limit)?,
        };
        Ok(Shared::from_json(Self { history, ..self.clone() }.text()))
    }

    /// Returns the newest messages. They are told apart, and not looked into.
    fn newest(&self, limit: usize) -> Result<Bytes, SpoiltLog> {
        if self.history.is_empty() {
            return Ok(Bytes::new());
        }
        let mut messages = Vec::new();
        let told_apart = json::text(&self.history).and_then(|text| {
            json::read_with(text, |reader| {
                reader.items(|reader| {
                    messages.push(reader.value_text()?);
                    Ok(())
                })
            })
        });
        told_apart.map_err(|error| self.spoilt(&error))?;
        match messages.len().saturating_sub(limit) {
            0 => Ok(self.history.clone()),
            surplus => Ok(format!("[{}]", messages[surplus..].join(",")).into()),
        }
    }

    fn spoilt(&self, error: &json::Error) -> SpoiltLog {
        SpoiltLog { seq: self.seq, what: format!("snapshot: {error}") }
    }

    /// Puts the text of the task together from those of its pieces, unread.
    pub fn text(&self) -> Bytes {
        // A piece that holds nothing is left out, as everywhere.
        let is_some = |piece: &Bytes| piece.len() > b"[]".len();
        let mut text = Vec::with_capacity(self.bytes() + 32);
        text.extend_from_slice(self.task.strip_suffix(b"}").unwrap_or(&self.task));
        if is_some(&self.artifacts) {
            text.extend_from_slice(br#","artifacts":"#);
            text.extend_from_slice(&self.artifacts);
        }
        if is_some(&self.history) {
            text.extend_from_slice(br#","history":"#);
            text.extend_from_slice(&self.history);
        }
        text.push(b'}');
        text.into()
    }

    /// Returns the size of all text in it.
    pub fn bytes(&self) -> usize {
        self.task.len() + self.history.len() + self.artifacts.len()
    }
}

fn extend(artifact: &mut Artifact, chunk: &Artifact) {
    artifact.parts.extend(chunk.parts.iter().cloned());
    if !chunk.name.is_empty() {
        artifact.name.clone_from(&chunk.name);
    }
    if !chunk.description.is_empty() {
        artifact.description.clone_from(&chunk.description);
    }
    if chunk.metadata.is_some() {
        artifact.metadata.clone_from(&chunk.metadata);
    }
    for extension in &chunk.extensions {
        if !artifact.extensions.contains(extension) {
            artifact.extensions.push(extension.clone());
        }
    }
}

#[cfg(test)]
mod tests {
    use nuncio_protocol::{
        ids::{ArtifactId, ContextId, TaskId},
        json::{Object, Raw},
        message::{Message, Part},
        state::TaskState,
        task::TaskStatusUpdateEvent,
        time::Timestamp,
    };

    use super::*;
    use crate::log::{Batch, Kind};

    fn moment(seconds: i64) -> Timestamp {
        Timestamp::from_parts(seconds, 0).expect("on the calendar")
    }

    fn ids() -> (TaskId, ContextId) {
        let task = TaskId::parse("task").expect("a short text is an identifier");
        (task, ContextId::parse("context").expect("a short text is an identifier"))
    }

    /// A task that was asked for with `hello`, and a batch behind its opening.
    fn story(tell: impl FnOnce(&mut Batch)) -> Vec<Entry> {
        let (task, context) = ids();
        let status = TaskStatus::new(TaskState::Working, moment(0));
        let mut opened = Task::new(task, context.clone(), status);
        opened.history.push(Message::user("hello"));
        let mut batch = Batch::open(&opened, context).expect("a task may begin so");
        tell(&mut batch);
        let records = batch.records().iter().cloned();
        (1..).map(Seq).zip(records).map(|(seq, record)| Entry { seq, record }).collect()
    }

    fn fold(tell: impl FnOnce(&mut Batch)) -> Task {
        Folded::from_log(None, &story(tell)).expect("the log can be folded").task
    }

    fn artifact(id: &str, texts: &[&str]) -> Artifact {
        let id = ArtifactId::parse(id).expect("a short text is an identifier");
        Artifact::new(id, texts.iter().map(|text| Part::text(*text)).collect())
    }

    fn put(batch: &mut Batch, artifact: Artifact, append: bool, last_chunk: bool) {
        let (task_id, context_id) = ids();
        let update = TaskArtifactUpdateEvent {
            task_id,
            context_id,
            artifact,
            append,
            last_chunk,
            metadata: None,
        };
        batch.output(Shared::new(StreamResponse::ArtifactUpdate(update))).expect("legal");
    }

    /// Puts pieces of one artifact, each with whether it is appended, and reads what came of it.
    #[track_caller]
    fn check_chunks(pieces: &[(&str, bool)], expected: &[&str]) {
        for last_chunk in [false, true] {
            let task = fold(|batch| {
                for (text, append) in pieces {
                    put(batch, artifact("a", &[text]), *append, last_chunk);
                }
            });
            let [artifact] = &task.artifacts[..] else { panic!("one artifact is expected") };
            let texts: Vec<&str> = artifact.parts.iter().filter_map(Part::as_text).collect();
            assert_eq!(texts, expected);
        }
    }

    #[test]
    fn chunks_are_joined_and_whole_artifacts_replaced() {
        check_chunks(&[("a", false)], &["a"]);
        check_chunks(&[("a", false), ("b", true), ("c", true)], &["a", "b", "c"]);
        check_chunks(&[("a", false), ("b", false)], &["b"]);
        check_chunks(&[("a", false), ("b", true), ("c", false), ("d", true)], &["c", "d"]);
    }

    #[test]
    fn a_chunk_of_an_unknown_artifact_begins_it() {
        check_chunks(&[("a", true)], &["a"]);
        check_chunks(&[("a", true), ("b", true)], &["a", "b"]);
    }

    #[test]
    fn artifacts_keep_the_order_of_their_beginning() {
        let task = fold(|batch| {
            put(batch, artifact("b", &["1"]), false, false);
            put(batch, artifact("a", &["2"]), false, true);
            put(batch, artifact("b", &["3"]), true, true);
            put(batch, artifact("a", &["4"]), false, true);
        });
        let texts: Vec<String> = task.artifacts.iter().map(Artifact::text).collect();
        assert_eq!(texts, ["1\n3", "4"]);
    }

    #[test]
    fn a_chunk_says_anew_only_what_it_says() {
        let metadata = |text: &str| Some(Object::from_members([("by", Raw::string(text))]));
        let task = fold(|batch| {
            let first = Artifact {
                name: "report".to_owned(),
                description: "draft".to_owned(),
                metadata: metadata("one"),
                extensions: vec!["x".to_owned(), "y".to_owned()],
                ..artifact("a", &["1"])
            };
            put(batch, first, false, false);
            put(batch, artifact("a", &["2"]), true, false);
            let last = Artifact {
                description: "final".to_owned(),
                metadata: metadata("two"),
                extensions: vec!["y".to_owned(), "z".to_owned()],
                ..artifact("a", &["3"])
            };
            put(batch, last, true, true);
        });
        let merged = &task.artifacts[0];
        assert_eq!((&*merged.name, &*merged.description), ("report", "final"));
        assert_eq!(merged.metadata, metadata("two"));
        assert_eq!(merged.extensions, ["x", "y", "z"]);
        assert_eq!(merged.text(), "1\n2\n3");
    }

    #[test]
    fn what_a_status_says_goes_into_the_history_when_it_is_replaced() {
        let task = fold(|batch| {
            let said = |text| Some(Message::agent(text));
            batch.status(TaskState::Working, said("on it"), moment(1)).unwrap();
            batch.status(TaskState::Working, None, moment(2)).unwrap();
            batch.status(TaskState::Completed, said("done"), moment(3)).unwrap();
        });
        let history: Vec<String> = task.history.iter().map(Message::text).collect();
        assert_eq!(history, ["hello", "on it"], "the present word is in the status");
        assert_eq!(task.status.message.unwrap().text(), "done");
        assert_eq!(task.status.timestamp, Some(moment(3)));
    }

    #[test]
    fn metadata_is_that_of_the_newest_status_that_says_it_is_the_tasks() {
        let object = |key: &str| Object::from_members([(key, Raw::bool(true))]);
        let story = |told: &[(bool, &str)]| {
            fold(|batch| {
                for (is_tasks, key) in told {
                    let (task_id, context_id) = ids();
                    let status = TaskStatus::new(TaskState::Working, moment(1));
                    let metadata = Some(object(key));
                    let update = TaskStatusUpdateEvent { task_id, context_id, status, metadata };
                    let update =
                        if *is_tasks { update.with_task_metadata(&object(key)) } else { update };
                    let update = StreamResponse::StatusUpdate(update);
                    batch.output(Shared::new(update)).expect("legal");
                }
            })
            .metadata
        };
        assert_eq!(story(&[(false, "a")]), None, "it is the event's");
        assert_eq!(story(&[(true, "a"), (false, "b")]), Some(object("a")));
        assert_eq!(story(&[(true, "a"), (true, "b")]), Some(object("b")));
    }

    #[test]
    fn an_answer_stands_behind_its_question() {
        let task = fold(|batch| {
            let question = Some(Message::agent("which?"));
            batch.status(TaskState::InputRequired, question, moment(1)).unwrap();
            batch.input(Message::user("that"), moment(2)).unwrap();
            batch.input(Message::user("or this"), moment(3)).unwrap();
        });
        let history: Vec<String> = task.history.iter().map(Message::text).collect();
        assert_eq!(history, ["hello", "which?", "that", "or this"]);
        assert_eq!((task.status.state, task.status.message), (TaskState::Working, None));
    }

    #[test]
    fn a_snapshot_reads_back_and_goes_on() {
        let entries = story(|batch| {
            batch.status(TaskState::Working, Some(Message::agent("on it")), moment(1)).unwrap();
            put(batch, artifact("a", &["1"]), false, false);
            batch.cancel(moment(2)).unwrap();
            put(batch, artifact("a", &["2"]), true, true);
            batch.status(TaskState::Canceled, None, moment(3)).unwrap();
        });
        let whole = Folded::from_log(None, &entries).unwrap();
        for place in 1..=entries.len() {
            let (before, after) = entries.split_at(place);
            let snapshot = Folded::from_log(None, before).unwrap().snapshot();
            assert_eq!(snapshot.seq, Seq(place as u64));
            assert_eq!(Folded::from_log(Some(&snapshot), after), Ok(whole.clone()));
        }
    }

    #[test]
    fn the_text_of_a_snapshot_is_the_task() {
        let entries = story(|batch| {
            put(batch, artifact("a", &["1"]), false, true);
            batch.status(TaskState::Completed, Some(Message::agent("}")), moment(1)).unwrap();
        });
        for place in 1..=entries.len() {
            let mut folded = Folded::from_log(None, &entries[..place]).unwrap();
            let check = |task: &Task| {
                let snapshot = Folded { seq: Seq(1), task: task.clone() }.snapshot();
                assert_eq!(json::from_slice::<Task>(&snapshot.text()).as_ref(), Ok(task));
            };
            check(&folded.task);
            folded.task.metadata = Some(Object::from_members([("by", Raw::string("us"))]));
            check(&folded.task);
            folded.task.history.clear();
            check(&folded.task);
        }
    }

    #[test]
    fn pieces_of_a_snapshot_can_be_left_out() {
        let entries = story(|batch| put(batch, artifact("a", &["1"]), false, true));
        let whole = Folded::from_log(None, &entries).unwrap();
        let snapshot = Snapshot { history: Bytes::new(), ..whole.snapshot() };
        let task = snapshot.read().unwrap().task;
        assert!(task.history.is_empty());
        assert_eq!(task.artifacts, whole.task.artifacts);
        let snapshot = Snapshot { artifacts: Bytes::new(), ..whole.snapshot() };
        let task = snapshot.read().unwrap().task;
        assert!(task.artifacts.is_empty());
        assert_eq!(task.history, whole.task.history);
    }

    #[test]
    fn a_task_is_told_with_its_newest_messages() {
        let entries = story(|batch| {
            for text in ["one, [two]", "{\"three\"}", "four"] {
                let said = Some(Message::agent(text));
                batch.status(TaskState::Working, said, moment(1)).unwrap();
            }
        });
        let folded = Folded::from_log(None, &entries).unwrap();
        let mut snapshot = folded.snapshot();
        assert_eq!(folded.task.history.len(), 3, "the last word is that of the status");
        for limit in 0..5 {
            let mut expected = folded.task.clone();
            expected.truncate_history(limit);
            assert_eq!(snapshot.task(Some(limit)).unwrap().into_value(), Ok(expected));
        }
        snapshot.history = Bytes::from_static(b"[{");
        assert!(snapshot.task(Some(1)).unwrap_err().what.contains("snapshot"));
        snapshot.history.clear();
        assert_eq!(snapshot.task(Some(1)).unwrap().value().unwrap().history, []);
    }

    #[track_caller]
    fn check_spoilt(snapshot: Option<&Snapshot>, entries: &[Entry], seq: u64, what: &str) {
        let spoilt = Folded::from_log(snapshot, entries).unwrap_err();
        assert_eq!(spoilt.seq, Seq(seq));
        assert!(spoilt.what.contains(what), "{}", spoilt.what);
    }

    #[test]
    fn a_log_that_makes_no_sense_is_told() {
        let entries = story(|batch| {
            batch.status(TaskState::Working, None, moment(1)).unwrap();
            batch.status(TaskState::Working, None, moment(2)).unwrap();
        });
        check_spoilt(None, &[], 0, "empty");
        check_spoilt(None, &entries[1..], 2, "does not begin with its task");
        let gap = [entries[0].clone(), entries[2].clone()];
        check_spoilt(None, &gap, 3, "3 follows 1");
        let twice = [entries[0].clone(), entries[1].clone(), entries[1].clone()];
        check_spoilt(None, &twice, 2, "2 follows 2");
        let reopened =
            [entries[0].clone(), Entry { seq: Seq(2), record: entries[0].record.clone() }];
        check_spoilt(None, &reopened, 2, "an update was expected");

        let event = Shared::from_json(Bytes::from_static(b"{"));
        let spoilt =
            Entry { seq: Seq(2), record: Record { kind: Kind::Output, event, message: None } };
        check_spoilt(None, &[entries[0].clone(), spoilt.clone()], 2, "");
        check_spoilt(None, &[Entry { seq: Seq(1), ..spoilt }], 1, "");
        let mut snapshot = Folded::from_log(None, &entries).unwrap().snapshot();
        check_spoilt(Some(&snapshot), &entries[..1], 1, "1 follows 3");
        snapshot.history = Bytes::from_static(b"[{}]");
        check_spoilt(Some(&snapshot), &[], 3, "snapshot");
    }
}
