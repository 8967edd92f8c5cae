//! The log of a task that has ended, in one piece.
//!
//! An entry is its kind, the length of its event, the length of its message plus one (or 0 if
//! there is none), and both texts. The lengths are written seven bits a byte, the lowest first.

use std::sync::Arc;

use bytes::{Buf as _, Bytes};
use nuncio_protocol::json::Shared;

use crate::log::{Entry, Kind, Record, Seq};

/// A whole log as text. Copies share it.
#[derive(Clone, Debug)]
pub(super) struct Packed(Arc<[u8]>);

impl Packed {
    /// Packs a whole log.
    pub(super) fn new(entries: &[Entry]) -> Self {
        let texts: usize = entries.iter().map(|entry| entry.record.bytes()).sum();
        // At most eleven bytes an entry for texts of less than 32 MiB.
        let mut buffer = Vec::with_capacity(texts + 11 * entries.len());
        for Entry { record, .. } in entries {
            let event = record.event.json();
            let message = record.message.as_ref().map(Shared::json);
            buffer.push(record.kind as u8);
            put_length(&mut buffer, event.len());
            put_length(&mut buffer, message.map_or(0, |message| message.len() + 1));
            buffer.extend_from_slice(event);
            buffer.extend_from_slice(message.map_or(&[], |message| message));
        }
        Self(buffer.into())
    }

    /// Returns the entries behind a place, in order.
    pub(super) fn entries(&self, after: Seq) -> impl Iterator<Item = Entry> {
        let mut unread = Unread(Bytes::from_owner(Arc::clone(&self.0)));
        let records = std::iter::from_fn(move || unread.record());
        (1..).map(Seq).zip(records).skip_while(move |(seq, _)| *seq <= after).map(
            |(seq, (kind, event, message))| Entry {
                seq,
                record: Record {
                    kind,
                    event: Shared::from_json(event),
                    message: message.map(Shared::from_json),
                },
            },
        )
    }

    /// Tells whether both are the same piece.
    pub(super) fn is(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
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

/// What is left to be read. Nothing comes of bytes that were not packed here.
struct Unread(Bytes);

impl Unread {
    fn record(&mut self) -> Option<(Kind, Bytes, Option<Bytes>)> {
        let kind = Kind::from_number(i64::from(self.byte()?))?;
        let event = self.length()?;
        let message = self.length()?;
        let event = self.text(event)?;
        let message = match message.checked_sub(1) {
            Some(length) => Some(self.text(length)?),
            None => None,
        };
        Some((kind, event, message))
    }

    fn byte(&mut self) -> Option<u8> {
        self.0.has_remaining().then(|| self.0.get_u8())
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

    fn text(&mut self, length: usize) -> Option<Bytes> {
        (length <= self.0.len()).then(|| self.0.split_to(length))
    }
}

#[cfg(test)]
mod tests {
    use nuncio_protocol::{
        ids::{ContextId, TaskId},
        message::Message,
        state::TaskState,
        task::{Task, TaskStatus},
        time::Timestamp,
    };
    use proptest::prelude::*;

    use super::*;
    use crate::log::Batch;

    fn log_of(texts: &[String]) -> Vec<Entry> {
        let context = ContextId::generate();
        let status = TaskStatus::new(TaskState::Working, Timestamp::now());
        let task = Task::new(TaskId::generate(), context.clone(), status);
        let mut batch = Batch::open(task, context).expect("a task may begin so");
        for text in texts {
            batch.input(Message::user(text), Timestamp::now()).expect("legal");
            batch.cancel(Timestamp::now()).expect("legal");
        }
        let records = batch.records().iter().cloned();
        (1..).map(Seq).zip(records).map(|(seq, record)| Entry { seq, record }).collect()
    }

    proptest! {
        #[test]
        fn a_log_comes_out_as_it_went_in(texts in prop::collection::vec(".{0,300}", 0..20)) {
            let log = log_of(&texts);
            let packed = Packed::new(&log);
            for after in 0..=log.len() {
                let read: Vec<Entry> = packed.entries(Seq(after as u64)).collect();
                prop_assert_eq!(&read[..], &log[after..]);
            }
        }

        #[test]
        fn foreign_bytes_do_no_harm(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let read = Packed(bytes.into()).entries(Seq::START).count();
            prop_assert!(read <= 200);
        }
    }

    #[test]
    fn long_texts_have_long_lengths() {
        let log = log_of(&["x".repeat(3 << 20)]);
        assert_eq!(Packed::new(&log).entries(Seq::START).collect::<Vec<_>>(), log);
    }
}
