//! The same for streams of events: however they are cut, the events are the same.
//!
//! Apart from the others, so that the tests of `nuncio-net` can replay its corpus and those of
//! `nuncio-protocol` need not know it.

use nuncio_net::sse::{Decoder, Event, Limits};

/// Every reader by the name of its fuzz target and corpus folder.
pub const READERS: &[(&str, fn(&[u8]))] = &[("sse", sse)];

/// Runs one reader, known by name.
pub fn run(name: &str, bytes: &[u8]) {
    let (_, reader) = READERS.iter().find(|(known, _)| *known == name).expect("a known reader");
    reader(bytes);
}

/// A stream: the first byte says how it is cut.
fn sse(bytes: &[u8]) {
    let Some((first, stream)) = bytes.split_first() else { return };
    let limits = Limits { line: 64, event: 256, stream: 4096 };
    let whole = decode(&[stream], limits);
    let pieces: Vec<&[u8]> = stream.chunks(usize::from(*first).max(1)).collect();
    let cut = decode(&pieces, limits);
    assert_eq!(whole, cut);
    for event in &whole.0 {
        assert!(!event.data.is_empty() && event.data.len() <= limits.event);
    }
}

/// Returns the events, and in which one something was too long.
fn decode(pieces: &[&[u8]], limits: Limits) -> (Vec<Event>, Option<u64>) {
    let mut decoder = Decoder::new(limits);
    let mut events = Vec::new();
    for piece in pieces {
        decoder.push(piece.to_vec().into());
        loop {
            match decoder.next_event() {
                Ok(Some(event)) => events.push(event),
                Ok(None) => break,
                Err(error) => return (events, Some(error.frame)),
            }
        }
    }
    (events, None)
}
