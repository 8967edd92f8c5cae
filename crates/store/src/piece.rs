//! Entries of a log that were written together, as one value.
//!
//! A row of its own for each entry costs more than what the entry says: a short turn is four
//! entries, and its rows were half of what it took to write it. So those of a batch share a row,
//! which has the number of the last of them.
//!
//! Of each entry there is its kind (one byte), the length of its event and that of its message
//! (four bytes each, the highest first; all bits set without a message), and then the two texts.
//! Migrations write this form, too.

use bytes::{Buf as _, BufMut as _, Bytes};
use nuncio_protocol::json::Shared;
use nuncio_tasks::{
    log::{Entry, Kind, Record, Seq},
    store::Error,
};

/// Entries begin another piece when one has so many bytes, so that nobody who wants one entry
/// reads a whole log.
pub(crate) const MOST_BYTES: usize = 32 << 10;

const NO_MESSAGE: u32 = u32::MAX;

/// What stands before the texts of an entry.
const PREFIX: usize = 9;

/// Some entries in a row.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Piece {
    /// The number of the last of them.
    pub(crate) last: Seq,
    pub(crate) body: Vec<u8>,
}

/// Makes pieces of records that come behind a place in a log.
pub(crate) fn pieces(after: Seq, records: &[Record]) -> Result<Vec<Piece>, Error> {
    let mut pieces: Vec<Piece> = Vec::new();
    let bytes: usize = records.iter().map(|record| PREFIX + record.bytes()).sum();
    let mut last = after;
    for record in records {
        last = last.next();
        if pieces.last().is_none_or(|piece| piece.body.len() >= MOST_BYTES) {
            let body = Vec::with_capacity(bytes.min(MOST_BYTES + PREFIX + record.bytes()));
            pieces.push(Piece { last, body });
        }
        if let Some(piece) = pieces.last_mut() {
            piece.last = last;
            put(&mut piece.body, record)?;
        }
    }
    Ok(pieces)
}

fn put(body: &mut Vec<u8>, record: &Record) -> Result<(), Error> {
    let event = record.event.json();
    let message = record.message.as_ref().map(Shared::json);
    body.put_u8(record.kind as u8);
    body.put_u32(length(event)?);
    body.put_u32(message.map_or(Ok(NO_MESSAGE), length)?);
    body.put_slice(event);
    body.put_slice(message.map_or(&[], |message| &message[..]));
    Ok(())
}

fn length(text: &Bytes) -> Result<u32, Error> {
    u32::try_from(text.len())
        .ok()
        .filter(|length| *length != NO_MESSAGE)
        .ok_or_else(|| Error::Spoilt("an entry is larger than 4 GiB".to_owned()))
}

/// Reads the entries of a piece, whose texts share its memory.
pub(crate) fn entries(last: Seq, mut body: Bytes) -> Result<Vec<Entry>, Error> {
    let mut records = Vec::new();
    while !body.is_empty() {
        records.push(record(&mut body).ok_or_else(|| spoilt(last))?);
    }
    let before = last.0.checked_sub(records.len() as u64).ok_or_else(|| spoilt(last))?;
    let numbered = (before + 1..).zip(records);
    Ok(numbered.map(|(seq, record)| Entry { seq: Seq(seq), record }).collect())
}

fn record(body: &mut Bytes) -> Option<Record> {
    if body.len() < PREFIX {
        return None;
    }
    let kind = Kind::from_number(body.get_u8().into())?;
    let (event, message) = (body.get_u32(), body.get_u32());
    let event = Shared::from_json(text(body, event)?);
    let message = match message {
        NO_MESSAGE => None,
        length => Some(Shared::from_json(text(body, length)?)),
    };
    Some(Record { kind, event, message })
}

fn text(body: &mut Bytes, length: u32) -> Option<Bytes> {
    let length = usize::try_from(length).ok().filter(|length| *length <= body.len())?;
    Some(body.split_to(length))
}

fn spoilt(last: Seq) -> Error {
    Error::Spoilt(format!("the piece of a log that ends at {last} makes no sense"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(kind: Kind, event: &str, message: Option<&str>) -> Record {
        let json = |text: &str| Bytes::copy_from_slice(text.as_bytes());
        Record {
            kind,
            event: Shared::from_json(json(event)),
            message: message.map(|message| Shared::from_json(json(message))),
        }
    }

    fn read(pieces: Vec<Piece>) -> Vec<Entry> {
        let read = |piece: Piece| entries(piece.last, piece.body.into()).expect("it reads");
        pieces.into_iter().flat_map(read).collect()
    }

    #[test]
    fn entries_come_back_with_their_numbers() {
        let records = [
            record(Kind::Opened, "{}", None),
            record(Kind::Input, "", Some("")),
            record(Kind::Cancel, "{\"a\":1}", Some("é")),
        ];
        let pieces = pieces(Seq(4), &records).unwrap();
        assert_eq!(pieces.len(), 1);
        assert_eq!(pieces[0].last, Seq(7));
        let expected: Vec<Entry> =
            (5..).map(Seq).zip(records).map(|(seq, record)| Entry { seq, record }).collect();
        assert_eq!(read(pieces), expected);
        assert!(super::pieces(Seq(4), &[]).unwrap().is_empty());
    }

    #[test]
    fn many_bytes_are_several_pieces_without_a_gap() {
        let long = "x".repeat(MOST_BYTES / 3);
        let records: Vec<Record> = (0..10).map(|_| record(Kind::Output, &long, None)).collect();
        let pieces = pieces(Seq::START, &records).unwrap();
        let lasts: Vec<u64> = pieces.iter().map(|piece| piece.last.0).collect();
        assert_eq!(lasts, [3, 6, 9, 10]);
        let seqs: Vec<u64> = read(pieces).iter().map(|entry| entry.seq.0).collect();
        assert_eq!(seqs, (1..=10).collect::<Vec<_>>());
    }

    #[test]
    fn nonsense_is_refused() {
        let records = [record(Kind::Opened, "{}", None), record(Kind::Output, "{}", Some("{}"))];
        let whole = pieces(Seq::START, &records).unwrap().remove(0).body;
        for end in 0..whole.len() {
            let is_whole_entry = end == 0 || end == PREFIX + 2;
            let read = entries(Seq(2), Bytes::copy_from_slice(&whole[..end]));
            assert_eq!(read.is_ok(), is_whole_entry, "{end}");
        }
        assert!(entries(Seq(1), whole.clone().into()).is_err(), "there is no entry 0");
        let mut unknown = whole;
        unknown[0] = 9;
        assert!(entries(Seq(2), unknown.into()).is_err());
    }
}
