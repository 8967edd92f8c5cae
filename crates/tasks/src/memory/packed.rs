//! A task that has ended, in one piece: how it ended, and its log.
//!
//! First stand lengths: of this head itself, of the text of the end as it is kept, of the three
//! pieces of the end, and for every entry its kind, the length of its event, and the length of
//! its message plus one (or 0 if there is none). They are written seven bits a byte, the lowest
//! first. Behind them stand the texts, those of the end before those of the log.
//!
//! Every event names its task and its conversation, which is a good part of a small one; these
//! names are left out. Bytes that no text has stand in their place.

use std::sync::Arc;

use bytes::Bytes;
use memchr::{memchr2_iter, memmem};
use nuncio_protocol::{
    ids::{ContextId, TaskId},
    json::Shared,
};

use crate::log::{Entry, Kind, Record, Seq, Snapshot};

/// Stand for the names: no byte of UTF-8 is one of these.
const TASK: u8 = 0xfe;
const CONTEXT: u8 = 0xff;

/// Shorter names are not worth a search.
const SHORTEST_NAME: usize = 4;

/// A whole task as text. Copies share it.
#[derive(Clone, Debug)]
pub(super) struct Packed(Arc<[u8]>);

/// The names that are left out.
#[derive(Clone, Copy, Debug)]
pub(super) struct Names<'a> {
    pub task: &'a TaskId,
    pub context: &'a ContextId,
}

impl Packed {
    /// Packs a whole log, and the snapshot of its end if there is one.
    pub(super) fn new(end: Option<&Snapshot>, entries: &[Entry], names: Names<'_>) -> Self {
        let pieces: [&[u8]; 3] =
            end.map_or([&[]; 3], |end| [&end.task, &end.history, &end.artifacts]);
        let log_bytes: usize = entries.iter().map(|entry| entry.record.bytes()).sum();
        let end_bytes: usize = pieces.iter().map(|piece| piece.len()).sum();
        let mut text = Vec::with_capacity(end_bytes + log_bytes);
        for piece in pieces {
            text.extend_from_slice(piece);
        }
        let mut lengths = Vec::with_capacity(8 + 6 * entries.len());
        for piece in pieces {
            put_length(&mut lengths, piece.len());
        }
        for Entry { record, .. } in entries {
            let (event, message) = (record.event.json(), record.message.as_ref());
            lengths.push(record.kind as u8);
            put_length(&mut lengths, event.len());
            put_length(&mut lengths, message.map_or(0, |message| message.json().len() + 1));
            text.extend_from_slice(event);
            if let Some(message) = message {
                text.extend_from_slice(message.json());
            }
        }
        let (end, log) = text.split_at(end_bytes);
        let finders = names.finders();
        let mut short = Vec::with_capacity(text.len());
        leave_out(end, &finders, &mut short);
        let short_end = short.len();
        leave_out(log, &finders, &mut short);

        let mut packed = Vec::with_capacity(10 + lengths.len() + short.len());
        put_length(&mut packed, lengths.len());
        put_length(&mut packed, short_end);
        packed.extend_from_slice(&lengths);
        packed.extend_from_slice(&short);
        Self(packed.into())
    }

    /// Returns how the task ended, if that was packed; `seq` is the last entry.
    pub(super) fn end(&self, seq: Seq, names: Names<'_>) -> Option<Snapshot> {
        let mut read = Unread(&self.0);
        let (head, end) = (read.length()?, read.length()?);
        let mut lengths = Unread(read.text(head)?);
        let mut text = names.put_in(read.text(end)?);
        let mut piece = || {
            let length = lengths.length()?;
            (length <= text.len()).then(|| text.split_to(length))
        };
        let snapshot = Snapshot { seq, task: piece()?, history: piece()?, artifacts: piece()? };
        (!snapshot.task.is_empty()).then_some(snapshot)
    }

    /// Returns the entries behind a place, in order.
    pub(super) fn entries(&self, after: Seq, names: Names<'_>) -> impl Iterator<Item = Entry> {
        let (mut lengths, mut text) = self.log(names).unwrap_or_default();
        let records = std::iter::from_fn(move || {
            let kind = Kind::from_number(i64::from(lengths.byte()?))?;
            let (event, message) = (lengths.length()?, lengths.length()?);
            let mut take = |length| (length <= text.len()).then(|| text.split_to(length));
            let event = Shared::from_json(take(event)?);
            let message = match message.checked_sub(1) {
                Some(length) => Some(Shared::from_json(take(length)?)),
                None => None,
            };
            Some(Record { kind, event, message })
        });
        let numbered = (1..).map(Seq).zip(records).map(|(seq, record)| Entry { seq, record });
        numbered.skip_while(move |entry| entry.seq <= after)
    }

    /// Returns the lengths and the text of the log.
    fn log(&self, names: Names<'_>) -> Option<(Unread<'_>, Bytes)> {
        let mut read = Unread(&self.0);
        let (head, end) = (read.length()?, read.length()?);
        let mut lengths = Unread(read.text(head)?);
        for _ in 0..3 {
            lengths.length()?;
        }
        read.text(end)?;
        Some((lengths, names.put_in(read.0)))
    }
}

impl<'a> Names<'a> {
    fn finders(self) -> [Option<Finder<'a>>; 2] {
        [self.task.as_str(), self.context.as_str()].map(Finder::new)
    }

    fn put_in(self, short: &[u8]) -> Bytes {
        let (task, context) = (self.task.as_str(), self.context.as_str());
        let count = memchr2_iter(TASK, CONTEXT, short).count();
        let mut text = Vec::with_capacity(short.len() + count * task.len().max(context.len()));
        let mut done = 0;
        for place in memchr2_iter(TASK, CONTEXT, short) {
            text.extend_from_slice(&short[done..place]);
            let name = if short[place] == TASK { task } else { context };
            text.extend_from_slice(name.as_bytes());
            done = place + 1;
        }
        text.extend_from_slice(&short[done..]);
        text.into()
    }
}

/// Looks for a name by its end: that is where names that were made together differ, and short
/// needles are found fastest.
struct Finder<'a> {
    name: &'a [u8],
    end: memmem::Finder<'a>,
}

impl<'a> Finder<'a> {
    fn new(name: &'a str) -> Option<Self> {
        let name = name.as_bytes();
        let end = &name[name.len().saturating_sub(16)..];
        (name.len() >= SHORTEST_NAME).then(|| Self { name, end: memmem::Finder::new(end) })
    }

    /// Returns where the name stands first from a place on.
    fn find(&self, text: &[u8], from: usize) -> Option<usize> {
        let before = self.name.len() - self.end.needle().len();
        let mut at = from + before;
        while let Some(found) = text.get(at..).and_then(|rest| self.end.find(rest)) {
            let start = at + found - before;
            if text[start..].starts_with(self.name) {
                return Some(start);
            }
            at += found + 1;
        }
        None
    }
}

/// Writes a text without the names that are looked for.
fn leave_out(text: &[u8], finders: &[Option<Finder<'_>>; 2], short: &mut Vec<u8>) {
    let find = |finder: &Option<Finder<'_>>, from| finder.as_ref()?.find(text, from);
    let length = |finder: &Option<Finder<'_>>| finder.as_ref().map_or(0, |it| it.name.len());
    let [task, context] = finders;
    let (mut kept, mut next) = (0, [find(task, 0), find(context, 0)]);
    loop {
        // One name may stand inside the other: the first goes, and what it covers is not there.
        let (place, length, stand_in) = match next {
            [Some(place), other] if other.is_none_or(|other| place <= other) => {
                (place, length(task), TASK)
            }
            [_, Some(place)] => (place, length(context), CONTEXT),
            _ => break,
        };
        short.extend_from_slice(&text[kept..place]);
        short.push(stand_in);
        kept = place + length;
        for (next, finder) in next.iter_mut().zip(finders) {
            if next.is_some_and(|place| place < kept) {
                *next = find(finder, kept);
            }
        }
    }
    short.extend_from_slice(&text[kept..]);
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

    fn text(&mut self, length: usize) -> Option<&'a [u8]> {
        self.0.split_off(..length)
    }
}

#[cfg(test)]
mod tests {
    use nuncio_protocol::{
        message::Message,
        state::TaskState,
        task::{Task, TaskStatus},
        time::Timestamp,
    };
    use proptest::prelude::*;

    use super::*;
    use crate::log::{Batch, Folded};

    fn log_of(texts: &[String], names: Names<'_>) -> Vec<Entry> {
        let status = TaskStatus::new(TaskState::Working, Timestamp::now());
        let task = Task::new(names.task.clone(), names.context.clone(), status);
        let mut batch = Batch::open(task, names.context.clone()).expect("a task may begin so");
        for text in texts {
            batch.input(Message::user(text), Timestamp::now()).expect("legal");
            batch.cancel(Timestamp::now()).expect("legal");
        }
        let records = batch.records().iter().cloned();
        (1..).map(Seq).zip(records).map(|(seq, record)| Entry { seq, record }).collect()
    }

    #[track_caller]
    fn check(task: &str, context: &str, texts: &[String]) -> usize {
        let task = TaskId::parse(task).unwrap();
        let context = ContextId::parse(context).unwrap();
        let names = Names { task: &task, context: &context };
        let log = log_of(texts, names);
        let packed = Packed::new(None, &log, names);
        assert_eq!(packed.end(Seq(1), names), None);
        let alone = packed.0.len();
        let end = Folded::from_log(None, &log).unwrap().snapshot();
        let packed = Packed::new(Some(&end), &log, names);
        assert_eq!(packed.end(end.seq, names).as_ref(), Some(&end));
        for after in 0..=log.len() {
            let read: Vec<Entry> = packed.entries(Seq(after as u64), names).collect();
            assert_eq!(read, log[after..]);
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
    fn long_texts_have_long_lengths() {
        check("task", "context", &["x".repeat(3 << 20)]);
    }
}
