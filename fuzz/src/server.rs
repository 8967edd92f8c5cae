//! The same for what providers of language models stream: however it is cut, it says the same.

use nuncio_server::kinds::llm::{Delta, ProviderKind, Reading, Spoilt};

/// Every reader by the name of its fuzz target and corpus folder.
pub const READERS: &[(&str, fn(&[u8]))] = &[("llm_stream", llm_stream)];

/// Runs one reader, known by name.
pub fn run(name: &str, bytes: &[u8]) {
    let (_, reader) = READERS.iter().find(|(known, _)| *known == name).expect("a known reader");
    reader(bytes);
}

/// A stream: the first byte says whose it is, the second how it is cut.
fn llm_stream(bytes: &[u8]) {
    let [kind, cut, stream @ ..] = bytes else { return };
    let kind = ProviderKind::ALL[usize::from(*kind) % ProviderKind::ALL.len()];
    let (text, calls, end) = read(kind, &[stream]);
    let pieces: Vec<&[u8]> = stream.chunks(usize::from(*cut).max(1)).collect();
    let (cut_text, cut_calls, cut_end) = read(kind, &pieces);
    assert!(text.len() <= LIMIT && cut_text.len() <= LIMIT);
    // What is too long is noticed earlier or later, as it is cut.
    let is_long = |end: &Result<(), Spoilt>| matches!(end, Err(Spoilt::TooLarge { .. }));
    if !is_long(&end) && !is_long(&cut_end) && end.is_ok() {
        assert_eq!((text, calls, end), (cut_text, cut_calls, cut_end));
    }
}

const LIMIT: usize = 512;

/// Returns the text, the number of calls, and how it ended.
fn read(kind: ProviderKind, pieces: &[&[u8]]) -> (String, usize, Result<(), Spoilt>) {
    let mut reading = Reading::new(kind, LIMIT);
    let (mut text, mut calls) = (String::new(), 0);
    let mut take = |said: Vec<Delta>| {
        for delta in said {
            match delta {
                Delta::Text(more) => text.push_str(&more),
                Delta::Call(_) => calls += 1,
                Delta::End(_) => {}
            }
        }
    };
    let mut end = Ok(());
    for piece in pieces {
        match reading.push(piece.to_vec().into()) {
            Ok(said) => take(said),
            Err(spoilt) => {
                end = Err(spoilt);
                break;
            }
        }
    }
    if end.is_ok() {
        match reading.finish() {
            Ok(said) => take(said),
            Err(spoilt) => end = Err(spoilt),
        }
    }
    (text, calls, end)
}
