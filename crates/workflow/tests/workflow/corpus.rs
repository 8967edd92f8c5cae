//! The corpus of the fuzz targets through every reader, as a plain test.

#[path = "../../../../fuzz/src/workflow.rs"]
#[allow(
    dead_code,
    unreachable_pub,
    clippy::type_complexity,
    reason = "a part of a library there, a module here"
)]
mod readers;

use std::{fs, path::Path};

use proptest::prelude::*;

#[test]
fn every_reader_stands_its_corpus() {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus");
    for (name, reader) in readers::READERS {
        let folder = corpus.join(name);
        let files = fs::read_dir(&folder).unwrap_or_else(|error| panic!("{name}: {error}"));
        let files: Vec<_> = files.map(|entry| entry.unwrap().path()).collect();
        assert!(!files.is_empty(), "the corpus of {name} is empty");
        for file in files {
            reader(&fs::read(&file).unwrap());
        }
    }
}

#[test]
fn every_reader_has_a_fuzz_target() {
    let manifest = include_str!("../../../../fuzz/Cargo.toml");
    for (name, _) in readers::READERS {
        assert!(manifest.contains(&format!("path = \"fuzz_targets/{name}.rs\"")), "{name}");
    }
}

type Reader = fn(&[u8]);

/// What is cut out of a text, where something is put in, and what.
type Edit = (prop::sample::Index, usize, prop::sample::Index);

/// Pieces that mean something to one of the readers.
const PIECES: [&str; 32] = [
    "{{",
    "}}",
    "{",
    "}",
    "[",
    "]",
    ":",
    ", ",
    "\n",
    "  ",
    "- ",
    "'",
    "\"",
    "a",
    "in",
    "0",
    "-1",
    "9999999999",
    "&a ",
    "*a",
    "<<: ",
    "loop: {}",
    "from",
    "to",
    "type: map",
    "condition",
    "null",
    "true",
    "\\",
    "ü",
    "|",
    "==",
];

fn edit(text: &str, edits: &[Edit]) -> String {
    let mut letters: Vec<char> = text.chars().collect();
    for (at, length, piece) in edits {
        let from = at.index(letters.len() + 1);
        let until = (from + length).min(letters.len());
        letters.splice(from..until, PIECES[piece.index(PIECES.len())].chars());
    }
    letters.into_iter().collect()
}

proptest! {
    #[test]
    fn every_reader_stands_what_is_nearly_its_corpus(
        which in any::<prop::sample::Index>(),
        edits in prop::collection::vec((any::<prop::sample::Index>(), 0usize..12, any::<prop::sample::Index>()), 1..8),
    ) {
        let files = files();
        let (reader, text) = &files[which.index(files.len())];
        reader(edit(text, &edits).as_bytes());
    }
}

fn files() -> Vec<(Reader, String)> {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus");
    let of = |(name, reader): &(&str, Reader)| {
        let reader = *reader;
        let files = fs::read_dir(corpus.join(name)).expect("a folder");
        let texts =
            files.map(|file| fs::read_to_string(file.expect("a file").path()).expect("a text"));
        texts.map(move |text| (reader, text)).collect::<Vec<_>>()
    };
    readers::READERS.iter().flat_map(of).collect()
}
