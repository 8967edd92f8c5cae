//! The corpus of the fuzz targets through every reader, as a plain test.

#[path = "../../../../fuzz/src/server.rs"]
#[allow(
    dead_code,
    unreachable_pub,
    clippy::type_complexity,
    reason = "a part of a library there, a module here"
)]
mod readers;

use std::{fs, path::Path};

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
