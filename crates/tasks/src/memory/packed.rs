//! A task that has ended, in one piece: how it ended, and its log.
//!
//! Every event names its task and its conversation, which is a good part of a small one; and most
//! of what was said stands in the end as well as in the log. What is the same is left out: an
//! event is kept without the beginning that all of its kind have in a task, and without what it
//! has in common with the end. Of an event whose text nobody has asked for, there is only what it
//! says: most turns end before anybody looks, and their texts would be written for nobody.
//!
//! First stands the end, if there is one, then entry behind entry: each a [mark](Shape), lengths,
//! and texts. Lengths are written seven bits a byte, the lowest first.

use std::sync::Arc;

use bytes::Bytes;
use nuncio_protocol::{
    ids::{ContextId, TaskId},
    json::{self, Shared},
    state::TaskState,
    task::{Artifact, StreamResponse, TaskArtifactUpdateEvent, TaskStatus, TaskStatusUpdateEvent},
    time::Timestamp,
};

use crate::log::{Entry, Kind, Record, Seq, Snapshot};

/// A whole task as text. Copies share it.
#[derive(Clone, Debug)]
pub(super) struct Packed(Arc<[u8]>);

/// The names that are left out.
#[derive(Clone, Copy, Debug)]
pub(super) struct Names<'a> {
    pub task: &'a TaskId,
    pub context: &'a ContextId,
}

/// How a text begins. It is the upper half of a mark; the lower is the kind of the entry, or
/// whether there is an end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
enum Shape {
    /// As it is kept.
    Other = 0,
    /// As the end of a task, without history and artifacts.
    End = 1,
    /// As a whole task. It may end with the history that the task ended with.
    Task = 2,
    Status = 3,
    /// As an update of an artifact, which may begin as the first at the end of the task.
    Artifact = 4,
    /// No text: the state and the time of a status that says nothing else.
    State = 5,
    /// No text: the first artifact at the end of the task, as it was given.
    Result = 6,
}

/// What is behind a history in the text of an event that is a task.
const BEHIND_HISTORY: &[u8] = b"}}";

const HAS_END: u8 = 1;

/// That an artifact was given as its last piece.
const LAST_CHUNK: u8 = 1;

impl Packed {
    /// Packs a whole log, and the snapshot of its end if there is one.
    pub(super) fn new<'a>(
        end: Option<&Snapshot>,
        records: impl Iterator<Item = &'a Record> + Clone,
        names: Names<'_>,
    ) -> Self {
        let log_bytes: usize = records.clone().map(|record| record.bytes() + 16).sum();
        let end_bytes = end.map_or(0, Snapshot::bytes);
        let mut packed = Vec::with_capacity(end_bytes + 16 + log_bytes);
        match end {
            None => packed.push(0),
            Some(end) => {
                let (shape, task) = Shape::of(&end.task, &[Shape::End], names);
                packed.push(shape.mark(HAS_END));
                for piece in [task, &end.history, &end.artifacts] {
                    put_text(&mut packed, piece);
                }
            }
        }
        let result = end
            .zip(only_artifact(records.clone()))
            .filter(|(end, update)| is_first(&update.artifact, &end.artifacts) && !update.append);
        let shapes = [Shape::Status, Shape::Artifact, Shape::Task];
        for record in records {
            if put_unwritten(&mut packed, record, result.is_some()) {
                continue;
            }
            let (shape, mut rest) = Shape::of(record.event.json(), &shapes, names);
            packed.push(shape.mark(record.kind as u8));
            match (shape, end) {
                (Shape::Task, Some(end)) => {
                    let history = without_end(rest, &end.history);
                    put_length(&mut packed, rest.len() - history.unwrap_or(rest).len());
                    rest = history.unwrap_or(rest);
                }
                (Shape::Artifact, Some(end)) => {
                    let shared = in_common(rest, first(&end.artifacts));
                    put_length(&mut packed, shared);
                    rest = &rest[shared..];
                }
                _ => {}
            }
            put_text(&mut packed, rest);
            match &record.message {
                None => put_length(&mut packed, 0),
                Some(message) => {
                    put_length(&mut packed, message.json().len() + 1);
                    packed.extend_from_slice(message.json());
                }
            }
        }
        Self(packed.into())
    }

    /// Returns how the task ended, if that was packed; `seq` is the last entry.
    pub(super) fn end(&self, seq: Seq, names: Names<'_>) -> Option<Snapshot> {
        let (end, _) = End::read(&self.0)?;
        let [task, history, artifacts] = end?.pieces;
        let mut text = Vec::with_capacity(task.len() + history.len() + artifacts.len() + 128);
        end?.shape.begin(&mut text, names);
        text.extend_from_slice(task);
        let ends = text.len();
        text.extend_from_slice(history);
        text.extend_from_slice(artifacts);
        let mut text = Bytes::from(text);
        let task = text.split_to(ends);
        let history = text.split_to(history.len());
        Some(Snapshot { seq, task, history, artifacts: text })
    }

    /// Returns the entries behind a place, in order.
    pub(super) fn entries<'a>(
        &'a self,
        after: Seq,
        names: Names<'a>,
    ) -> impl Iterator<Item = Entry> + use<'a> {
        let (end, mut unread) = End::read(&self.0).unwrap_or_default();
        let records = std::iter::from_fn(move || {
            let (shape, kind) = Shape::from_mark(unread.byte()?)?;
            let kind = Kind::from_number(i64::from(kind))?;
            if matches!(shape, Shape::State | Shape::Result) {
                let event = Shared::new(unread.unwritten(shape, end, names)?);
                return Some(Record { kind, event, message: None });
            }
            let mut event = Vec::new();
            shape.begin(&mut event, names);
            match (shape, end) {
                (Shape::Task, Some(end)) => {
                    let shared = unread.length()?;
                    event.extend_from_slice(unread.text()?);
                    if shared > 0 {
                        event.extend_from_slice(end.pieces[1]);
                        event.extend_from_slice(BEHIND_HISTORY);
                    }
                }
                (Shape::Artifact, Some(end)) => {
                    event.extend_from_slice(first(end.pieces[2]).get(..unread.length()?)?);
                    event.extend_from_slice(unread.text()?);
                }
                _ => event.extend_from_slice(unread.text()?),
            }
            let message = match unread.length()?.checked_sub(1) {
                Some(length) => Some(Bytes::copy_from_slice(unread.bytes(length)?)),
                None => None,
            };
            let message = message.map(Shared::from_json);
            Some(Record { kind, event: Shared::from_json(event.into()), message })
        });
        let numbered = (1..).map(Seq).zip(records).map(|(seq, record)| Entry { seq, record });
        numbered.skip_while(move |entry| entry.seq <= after)
    }
}

impl Shape {
    /// Finds out how a text begins, and returns what is behind that.
    fn of<'t>(text: &'t [u8], among: &[Self], names: Names<'_>) -> (Self, &'t [u8]) {
        let behind = |shape: &Self| {
            let [before, between, behind] = shape.around()?;
            let rest = text.strip_prefix(before)?.strip_prefix(names.task.as_str().as_bytes())?;
            let rest = rest.strip_prefix(between)?;
            let rest = rest.strip_prefix(names.context.as_str().as_bytes())?;
            Some((*shape, rest.strip_prefix(behind)?))
        };
        among.iter().find_map(behind).unwrap_or((Self::Other, text))
    }

    /// Writes the beginning.
    fn begin(self, text: &mut Vec<u8>, names: Names<'_>) {
        let Some([before, between, behind]) = self.around() else { return };
        for piece in [
            before,
            names.task.as_str().as_bytes(),
            between,
            names.context.as_str().as_bytes(),
            behind,
        ] {
            text.extend_from_slice(piece);
        }
    }

    /// Returns what stands before, between and behind the names.
    const fn around(self) -> Option<[&'static [u8]; 3]> {
        const BETWEEN: &[u8] = br#"","contextId":""#;
        match self {
            Self::Other | Self::State | Self::Result => None,
            Self::End => Some([br#"{"id":""#, BETWEEN, br#"","#]),
            Self::Task => Some([br#"{"task":{"id":""#, BETWEEN, br#"","#]),
            Self::Status => Some([br#"{"statusUpdate":{"taskId":""#, BETWEEN, br#"","#]),
            Self::Artifact => {
                Some([br#"{"artifactUpdate":{"taskId":""#, BETWEEN, br#"","artifact":"#])
            }
        }
    }

    const fn mark(self, lower: u8) -> u8 {
        (self as u8) << 4 | lower
    }

    fn from_mark(mark: u8) -> Option<(Self, u8)> {
        let all = [
            Self::Other,
            Self::End,
            Self::Task,
            Self::Status,
            Self::Artifact,
            Self::State,
            Self::Result,
        ];
        Some((*all.get(usize::from(mark >> 4))?, mark & 0x0f))
    }
}

/// How a task ended, as it is kept: the pieces of a [`Snapshot`].
#[derive(Clone, Copy)]
struct End<'a> {
    shape: Shape,
    pieces: [&'a [u8]; 3],
}

impl<'a> End<'a> {
    /// Reads it, if there is one, and returns what is behind it.
    fn read(packed: &'a [u8]) -> Option<(Option<Self>, Unread<'a>)> {
        let mut unread = Unread(packed);
        let end = match Shape::from_mark(unread.byte()?)? {
            (shape, HAS_END) => {
                Some(Self { shape, pieces: [unread.text()?, unread.text()?, unread.text()?] })
            }
            _ => None,
        };
        Some((end, unread))
    }
}

/// Returns the update of an artifact, if there is exactly one.
fn only_artifact<'a>(
    records: impl Iterator<Item = &'a Record>,
) -> Option<&'a TaskArtifactUpdateEvent> {
    let mut found = None;
    for record in records.filter(|record| record.kind == Kind::Output) {
        match record.event.value() {
            Ok(StreamResponse::ArtifactUpdate(_)) if found.is_some() => return None,
            Ok(StreamResponse::ArtifactUpdate(update)) => found = Some(update),
            _ => {}
        }
    }
    found
}

/// Tells whether the text of a list begins with an artifact of this name.
fn is_first(artifact: &Artifact, list: &[u8]) -> bool {
    let name = first(list).strip_prefix(br#"{"artifactId":""#);
    let behind = name.and_then(|text| text.strip_prefix(artifact.artifact_id.as_str().as_bytes()));
    behind.is_some_and(|text| text.starts_with(b"\""))
}

/// Puts down what an event says, unless somebody has its text or it says too much. `has_result`:
/// an update of an artifact can only be that of the first at the end.
fn put_unwritten(packed: &mut Vec<u8>, record: &Record, has_result: bool) -> bool {
    if record.event.is_written() || record.message.is_some() {
        return false;
    }
    let kind = record.kind as u8;
    match record.event.value() {
        Ok(StreamResponse::StatusUpdate(TaskStatusUpdateEvent {
            status: TaskStatus { state, message: None, timestamp: Some(at) },
            metadata: None,
            ..
        })) => {
            let (seconds, nanos) = at.to_parts();
            let numbers = [state.number().try_into(), seconds.try_into(), nanos.try_into()];
            let [Ok(state), Ok(seconds), Ok(nanos)] = numbers else { return false };
            packed.push(Shape::State.mark(kind));
            for number in [state, seconds, nanos] {
                put_length(packed, number);
            }
            true
        }
        Ok(StreamResponse::ArtifactUpdate(update)) if has_result && update.metadata.is_none() => {
            packed.push(Shape::Result.mark(kind));
            packed.push(if update.last_chunk { LAST_CHUNK } else { 0 });
            true
        }
        _ => false,
    }
}

/// Returns what stands before the history at the end of a task's text, if that has it.
fn without_end<'t>(text: &'t [u8], history: &[u8]) -> Option<&'t [u8]> {
    text.strip_suffix(BEHIND_HISTORY)?.strip_suffix(history)
}

/// Returns a list from its first element on.
fn first(list: &[u8]) -> &[u8] {
    list.get(1..).unwrap_or_default()
}

/// Returns how many bytes two texts begin with alike.
fn in_common(one: &[u8], other: &[u8]) -> usize {
    let chunks = one.chunks_exact(16).zip(other.chunks_exact(16));
    let whole = 16 * chunks.take_while(|(one, other)| one == other).count();
    let rest = one[whole..].iter().zip(&other[whole..]);
    whole + rest.take_while(|(one, other)| one == other).count()
}

fn put_text(packed: &mut Vec<u8>, text: &[u8]) {
    put_length(packed, text.len());
    packed.extend_from_slice(text);
}

fn put_length(buffer: &mut Vec<u8>, mut length: usize) {
    while length >= 0x80 {
        buffer.push(low_bits(length) | 0x80);
        length >>= 7;
    }
    buffer.push(low_bits(length));
}

#[expect(clippy::cast_possible_truncation, reason = "seven bits fit")]
const fn low_bits(length: usize) -> u8 {
    (length & 0x7f) as u8
}

/// What is left to be read. Nothing comes of bytes that were not packed here.
#[derive(Default)]
struct Unread<'a>(&'a [u8]);

impl<'a> Unread<'a> {
    fn byte(&mut self) -> Option<u8> {
        self.0.split_off_first().copied()
    }

    fn length(&mut self) -> Option<usize> {
        let mut length = 0;
        for shift in (0..usize::BITS).step_by(7) {
            let byte = self.byte()?;
            length |= usize::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Some(length);
            }
        }
        None
    }

    fn bytes(&mut self, length: usize) -> Option<&'a [u8]> {
        self.0.split_off(..length)
    }

    /// Reads an event of which there is no text.
    fn unwritten(
        &mut self,
        shape: Shape,
        end: Option<End<'_>>,
        names: Names<'_>,
    ) -> Option<StreamResponse> {
        let (task_id, context_id) = (names.task.clone(), names.context.clone());
        Some(match shape {
            Shape::State => {
                let state = TaskState::from_number(self.length()?.try_into().ok()?)?;
                let (seconds, nanos) = (self.length()?, self.length()?);
                let at = Timestamp::from_parts(seconds.try_into().ok()?, nanos.try_into().ok()?)?;
                let status = TaskStatus::new(state, at);
                let update = TaskStatusUpdateEvent { task_id, context_id, status, metadata: None };
                StreamResponse::StatusUpdate(update)
            }
            Shape::Result => {
                let artifacts: Vec<Artifact> = json::from_slice(end?.pieces[2]).ok()?;
                StreamResponse::ArtifactUpdate(TaskArtifactUpdateEvent {
                    task_id,
                    context_id,
                    artifact: artifacts.into_iter().next()?,
                    append: false,
                    last_chunk: self.byte()? & LAST_CHUNK != 0,
                    metadata: None,
                })
            }
            _ => return None,
        })
    }

    fn text(&mut self) -> Option<&'a [u8]> {
        let length = self.length()?;
        self.bytes(length)
    }
}

#[cfg(test)]
mod tests {
    use nuncio_protocol::{
        ids::ArtifactId,
        message::{Message, Part},
        state::TaskState,
        task::{Artifact, StreamResponse, Task, TaskArtifactUpdateEvent, TaskStatus},
        time::Timestamp,
    };
    use proptest::prelude::*;

    use super::*;
    use crate::log::{Batch, Folded};

    fn log_of(texts: &[String], names: Names<'_>) -> Vec<Entry> {
        let status = TaskStatus::new(TaskState::Working, Timestamp::now());
        let task = Task::new(names.task.clone(), names.context.clone(), status);
        let mut batch = Batch::open(&task, names.context.clone()).expect("a task may begin so");
        for text in texts {
            batch.input(Message::user(text), Timestamp::now()).expect("legal");
            batch.cancel(Timestamp::now()).expect("legal");
            batch.status(TaskState::Working, None, Timestamp::now()).expect("legal");
        }
        if let Some(text) = texts.first() {
            batch.output(Shared::new(made(text, names))).expect("legal");
        }
        let records = batch.records().iter().cloned();
        (1..).map(Seq).zip(records).map(|(seq, record)| Entry { seq, record }).collect()
    }

    fn made(text: &str, names: Names<'_>) -> StreamResponse {
        let id = ArtifactId::parse("out").expect("a short text is an identifier");
        StreamResponse::ArtifactUpdate(TaskArtifactUpdateEvent {
            task_id: names.task.clone(),
            context_id: names.context.clone(),
            artifact: Artifact::new(id, vec![Part::text(text)]),
            append: false,
            last_chunk: true,
            metadata: None,
        })
    }

    #[track_caller]
    fn check(task: &str, context: &str, texts: &[String]) -> usize {
        let task = TaskId::parse(task).unwrap();
        let context = ContextId::parse(context).unwrap();
        let names = Names { task: &task, context: &context };
        let log = log_of(texts, names);
        let records = log.iter().map(|entry| &entry.record);
        let packed = Packed::new(None, records.clone(), names);
        assert_eq!(packed.end(Seq(1), names), None);
        let alone = packed.0.len();
        let end = Folded::from_log(None, &log).unwrap().snapshot();
        // To compare texts is to ask for them, so the second time everything has its text.
        for _ in 0..2 {
            let packed = Packed::new(Some(&end), records.clone(), names);
            assert_eq!(packed.end(end.seq, names).as_ref(), Some(&end));
            for after in 0..=log.len() {
                let read: Vec<Entry> = packed.entries(Seq(after as u64), names).collect();
                assert_eq!(read, log[after..]);
            }
        }
        alone
    }

    proptest! {
        #[test]
        fn a_log_comes_out_as_it_went_in(
            texts in prop::collection::vec(".{0,300}", 0..20),
            names in ("[ab\"é]{1,4}|[ab]{17,19}", "[ab\"é]{1,9}|[ab]{17,19}"),
        ) {
            check(&names.0, &names.1, &texts);
        }

        #[test]
        fn foreign_bytes_do_no_harm(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let (task, context) = (TaskId::generate(), ContextId::generate());
            let names = Names { task: &task, context: &context };
            let packed = Packed(bytes.into());
            prop_assert!(packed.entries(Seq::START, names).count() <= 200);
            packed.end(Seq(1), names);
        }
    }

    #[test]
    fn names_inside_texts_and_inside_each_other_come_back() {
        let texts = ["task-1 context-of-task-1 task-1".to_owned(), String::new()];
        check("task-1", "context-of-task-1", &texts);
        check("context-of-task-1", "task-1", &texts);
        check("same", "same", &["same same".to_owned()]);
    }

    #[test]
    fn names_take_no_room() {
        let name = |length| "n".repeat(length);
        assert_eq!(check(&name(10), "c", &[]), check(&name(200), "c", &[]));
    }

    #[test]
    fn what_the_log_has_in_common_with_the_end_takes_room_once() {
        let (task, context) = (TaskId::generate(), ContextId::generate());
        let names = Names { task: &task, context: &context };
        let update = |text: &str| made(text, names);
        let size = |said: &str, made: &str, is_written: bool| {
            let status = TaskStatus::new(TaskState::Working, Timestamp::now());
            let mut opened = Task::new(task.clone(), context.clone(), status);
            opened.history.push(Message::user(said));
            let mut batch = Batch::open(&opened, context.clone()).expect("a task may begin so");
            let update = Shared::new(update(made));
            if is_written {
                update.json();
            }
            batch.output(update).expect("legal");
            let records = batch.records().iter().cloned();
            let log: Vec<Entry> =
                (1..).map(Seq).zip(records).map(|(seq, record)| Entry { seq, record }).collect();
            let end = Folded::from_log(None, &log).unwrap().snapshot();
            let packed = Packed::new(Some(&end), batch.records().iter(), names);
            assert_eq!(packed.entries(Seq::START, names).collect::<Vec<_>>(), log);
            assert_eq!(packed.end(end.seq, names), Some(end));
            packed.0.len()
        };
        let long = "x".repeat(1000);
        for is_written in [false, true] {
            let short = size("", "", is_written);
            for (said, made) in [(&*long, ""), ("", &*long)] {
                let size = size(said, made, is_written);
                assert!(size < short + 1010, "kept once, with longer lengths");
            }
        }
    }

    #[test]
    fn chunks_and_artifacts_given_again_are_told_as_they_were_given() {
        let (task, context) = (TaskId::generate(), ContextId::generate());
        let names = Names { task: &task, context: &context };
        for (first, second) in [(false, true), (false, false), (true, true)] {
            let status = TaskStatus::new(TaskState::Working, Timestamp::now());
            let opened = Task::new(task.clone(), context.clone(), status);
            let mut batch = Batch::open(&opened, context.clone()).expect("a task may begin so");
            for (text, append) in [("one", first), ("two", second)] {
                let mut event = made(text, names);
                if let StreamResponse::ArtifactUpdate(update) = &mut event {
                    (update.append, update.last_chunk) = (append, false);
                }
                batch.output(Shared::new(event)).expect("legal");
            }
            let records = batch.records().iter().cloned();
            let log: Vec<Entry> =
                (1..).map(Seq).zip(records).map(|(seq, record)| Entry { seq, record }).collect();
            for log in [&log[..2], &log] {
                let end = Folded::from_log(None, log).unwrap().snapshot();
                let records = log.iter().map(|entry| &entry.record);
                let packed = Packed::new(Some(&end), records, names);
                assert_eq!(packed.entries(Seq::START, names).collect::<Vec<_>>(), log);
            }
        }
    }

    #[test]
    fn long_texts_have_long_lengths() {
        check("task", "context", &["x".repeat(3 << 20)]);
    }
}
