//! The corpus of the fuzz targets, and the worst texts we know, through every reader (R17).

#[path = "../../../../fuzz/src/lib.rs"]
#[allow(
    dead_code,
    unreachable_pub,
    clippy::needless_pass_by_value,
    clippy::type_complexity,
    reason = "a library of its own there, a module here"
)]
mod readers;

use std::{fs, path::Path};

/// The corpus of every fuzz target, as a plain test.
#[test]
fn every_reader_stands_its_corpus() {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus");
    for (name, reader) in readers::READERS {
        let folder = corpus.join(name);
        let files: Vec<_> = fs::read_dir(&folder)
            .unwrap_or_else(|error| panic!("no corpus {}: {error}", folder.display()))
            .map(|entry| entry.unwrap().path())
            .collect();
        assert!(!files.is_empty(), "the corpus of {name} is empty");
        for file in files {
            reader(&fs::read(&file).unwrap());
        }
    }
}

/// Targets that have readers and tests of their own, in `nuncio-client`, `nuncio-net` and
/// `nuncio-server`, beside those of `nuncio-auth` and `nuncio-workflow`.
const OTHERS: [&str; 6] = ["card_source", "http1", "llm_stream", "peer_file", "requests", "sse"];

#[test]
fn every_reader_has_a_fuzz_target_and_every_target_a_reader() {
    let manifest = include_str!("../../../../fuzz/Cargo.toml");
    let targets: Vec<&str> = manifest
        .lines()
        .filter_map(|line| line.strip_prefix("path = \"fuzz_targets/")?.strip_suffix(".rs\""))
        .filter(|name| !name.starts_with("auth_") && !name.starts_with("workflow_"))
        .filter(|name| !OTHERS.contains(name))
        .collect();
    let names: Vec<&str> = readers::READERS.iter().map(|(name, _)| *name).collect();
    assert_eq!(targets, names);
}

/// Texts that have brought parsers down, alone and inside of a request.
#[test]
fn every_reader_stands_the_worst_texts() {
    let many_keys: Vec<String> = (0..2_000).map(|number| format!("\"k{number}\":1")).collect();
    let huge = ["[".repeat(1_000_000), "{\"a\":".repeat(1_000_000)];
    let worst = [
        "[{\"a\":".repeat(5_000),
        format!("{}{}", "[".repeat(129), "]".repeat(129)),
        "\"".to_owned(),
        format!("\"{}", "\\".repeat(10_001)),
        "\"\\ud800\"".to_owned(),
        "1e999".to_owned(),
        "9".repeat(10_000),
        format!("{{{}}}", many_keys.join(",")),
        format!("{{{},\"k1\":1}}", many_keys.join(",")),
        "null".to_owned(),
        "\u{0}".to_owned(),
        "\u{feff}{}".to_owned(),
    ];
    for (_, reader) in readers::READERS {
        for text in &worst {
            reader(text.as_bytes());
            for frame in [
                r#"{"jsonrpc":"2.0","id":1,"method":"SendMessage","params":{"message":@}}"#,
                r#"{"jsonrpc":"2.0","id":1,"method":"message/send","params":{"message":@}}"#,
                r#"{"jsonrpc":"2.0","id":1,"result":@}"#,
                r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32000,"message":"m","data":@}}"#,
                r#"{"protocol_version":"1.0","capability":"c","payload":@}"#,
                "/message:send\n{\"message\":{\"messageId\":\"m\",\"role\":1,\"parts\":[{\"data\":@}]}}",
            ] {
                reader(frame.replace('@', text).as_bytes());
            }
        }
        for text in &huge {
            reader(text.as_bytes());
        }
        reader(b"\xff\xfe");
        reader(b"");
    }
}
