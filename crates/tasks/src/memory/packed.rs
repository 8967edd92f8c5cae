//! The log of a task that has ended, in one piece.
//!
//! An entry is its kind, the length of its event, the length of its message plus one (or 0 if
//! there is none), and both texts. The lengths are written seven bits a byte, the lowest first.
//! Every event names its task and its conversation, which is a good part of a small one; these
//! names are left out. Bytes that no text has stand in their place.

use std::sync::Arc;

use bytes::Bytes;
use memchr::memchr_iter;
use nuncio_protocol::{
    ids::{ContextId, TaskId},
    json::Shared,
};

use crate::log::{Entry, Kind, Record, Seq};

/// Stand for the names: no byte of UTF-8 is one of these.
const TASK: u8 = 0xfe;
const CONTEXT: u8 = 0xff;

/// A whole log as text. Copies share it.
#[derive(Clone, Debug)]
pub(super) struct Packed(Arc<[u8]>);

/// The names that are left out.
#[derive(Clone, Copy, Debug)]
pub(super) struct Names<'a> {
    pub task: &'a TaskId,
    pub context: &'a ContextId,
}

impl Packed {
    /// Packs a whole log.
    pub(super) fn new(entries: &[Entry], names: Names<'_>) -> Self {
        let mut buffer = Vec::new();
        for Entry { record, .. } in entries {
            let event = names.leave_out(record.event.json());
            let message = record.message.as_ref().map(|message| names.leave_out(message.json()));
            buffer.push(record.kind as u8);
            put_length(&mut buffer, event.len());
            put_length(&mut buffer, message.as_ref().map_or(0, |message| message.len() + 1));
            buffer.extend(event);
            buffer.extend(message.into_iter().flatten());
        }
        Self(buffer.into())
    }

    /// Returns the entries behind a place, in order.
    pub(super) fn entries(&self, after: Seq, names: Names<'_>) -> impl Iterator<Item = Entry> {
        let mut unread = Unread(&self.0);
        let records = std::iter::from_fn(move || unread.record());
        let behind = (1..).map(Seq).zip(records).skip_while(move |(seq, _)| *seq <= after);
        behind.map(move |(seq, Short { kind, event, message })| {
            let event = Shared::from_json(names.put_in(event));
            let message = message.map(|message| Shared::from_json(names.put_in(message)));
            Entry { seq, record: Record { kind, event, message } }
        })
    }
}

impl Names<'_> {
    /// Names are values of members, so they are looked for behind colons only.
    fn leave_out(self, json: &[u8]) -> Vec<u8> {
        let names =
            [(self.task.as_str().as_bytes(), TASK), (self.context.as_str().as_bytes(), CONTEXT)];
        let mut short = Vec::with_capacity(json.len());
        let mut kept = 0;
        for colon in memchr_iter(b':', json) {
            // A colon inside a name that was left out.
            if colon < kept {
                continue;
            }
            let start = colon + 2;
            let Some(value) = json.get(start..) else { break };
            let found = names.iter().find(|(name, _)| value.starts_with(name));
            if let Some((name, stand_in)) = found {
                short.extend_from_slice(&json[kept..start]);
                short.push(*stand_in);
                kept = start + name.len();
            }
        }
        short.extend_from_slice(&json[kept..]);
        short
    }

    fn put_in(self, short: &[u8]) -> Bytes {
        let count = short.iter().filter(|byte| matches!(**byte, TASK | CONTEXT)).count();
        let longest = self.task.as_str().len().max(self.context.as_str().len());
        let mut json = Vec::with_capacity(short.len() + count * longest);
        for run in short.split_inclusive(|byte| matches!(*byte, TASK | CONTEXT)) {
            match run {
                [between @ .., TASK] => {
                    json.extend_from_slice(between);
                    json.extend_from_slice(self.task.as_str().as_bytes());
                }
                [between @ .., CONTEXT] => {
                    json.extend_from_slice(between);
                    json.extend_from_slice(self.context.as_str().as_bytes());
                }
                between => json.extend_from_slice(between),
            }
        }
        json.into()
    }
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

/// A record without the names.
struct Short<'a> {
    kind: Kind,
    event: &'a [u8],
    message: Option<&'a [u8]>,
}

/// What is left to be read. Nothing comes of bytes that were not packed here.
struct Unread<'a>(&'a [u8]);

impl<'a> Unread<'a> {
    fn record(&mut self) -> Option<Short<'a>> {
        let kind = Kind::from_number(i64::from(self.byte()?))?;
        let event = self.length()?;
        let message = self.length()?;
        let event = self.text(event)?;
        let message = match message.checked_sub(1) {
            Some(length) => Some(self.text(length)?),
            None => None,
        };
        Some(Short { kind, event, message })
    }

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
    use crate::log::Batch;

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
        let packed = Packed::new(&log, names);
        for after in 0..=log.len() {
            let read: Vec<Entry> = packed.entries(Seq(after as u64), names).collect();
            assert_eq!(read, log[after..]);
        }
        packed.0.len()
    }

    proptest! {
        #[test]
        fn a_log_comes_out_as_it_went_in(
            texts in prop::collection::vec(".{0,300}", 0..20),
            names in ("[ab\"é]{1,4}", "[ab\"é]{1,4}"),
        ) {
            check(&names.0, &names.1, &texts);
        }

        #[test]
        fn foreign_bytes_do_no_harm(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let (task, context) = (TaskId::generate(), ContextId::generate());
            let names = Names { task: &task, context: &context };
            prop_assert!(Packed(bytes.into()).entries(Seq::START, names).count() <= 200);
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
