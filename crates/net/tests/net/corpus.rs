//! The corpus of the fuzz targets through every reader, as a plain test.

#[path = "../../../../fuzz/src/http1.rs"]
#[allow(
    dead_code,
    unreachable_pub,
    clippy::type_complexity,
    reason = "a part of a library there, a module here"
)]
mod http1;
#[path = "../../../../fuzz/src/requests.rs"]
#[allow(
    dead_code,
    unreachable_pub,
    clippy::type_complexity,
    reason = "a part of a library there, a module here"
)]
mod requests;
#[path = "../../../../fuzz/src/sse.rs"]
#[allow(
    dead_code,
    unreachable_pub,
    clippy::type_complexity,
    reason = "a part of a library there, a module here"
)]
mod sse;

use std::{fs, path::Path};

use proptest::{collection::vec, prelude::*, sample::select};

fn readers() -> impl Iterator<Item = &'static (&'static str, fn(&[u8]))> {
    sse::READERS.iter().chain(http1::READERS).chain(requests::READERS)
}

#[test]
fn every_reader_stands_its_corpus() {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus");
    for (name, reader) in readers() {
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
    for (name, _) in readers() {
        assert!(manifest.contains(&format!("path = \"fuzz_targets/{name}.rs\"")), "{name}");
    }
}

/// What answers are made of, good and bad.
const HEADS: &[&str] = &[
    "HTTP/1.1 200 OK\r\n",
    "HTTP/1.0 200 OK\r\n",
    "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 201\r\n",
    "HTTP/1.1 204 No Content\r\n",
    "HTTP/1.1 304 Not Modified\n",
    "HTTP/1.1 101 Switching Protocols\r\n",
    "HTTP/2.0 200 OK\r\n",
    "",
];
const LINES: &[&str] = &[
    "content-length: 5\r\n",
    "Content-Length: 5, 5\r\n",
    "content-length: +5\r\n",
    "content-length: 0\r\n",
    "content-length: 18446744073709551616\r\n",
    "transfer-encoding: chunked\r\n",
    "transfer-encoding: gzip, Chunked\r\n",
    "transfer-encoding: chunked, gzip\r\n",
    "transfer-encoding: identity\r\n",
    "connection: close\r\n",
    "connection: keep-alive, upgrade\r\n",
    "x:\n",
    "x : y\r\n",
    " folded\r\n",
];
const PIECES: &[&str] = &[
    "hello",
    "5\r\nhello\r\n",
    "05;x=\"y\"\r\nhello\r\n",
    "5 \r\nhello\r\n",
    "5\nhello\n",
    "FFFFFFFFFFFFFFFFF\r\n",
    "-1\r\n",
    "0\r\n",
    "x: y\r\n",
    "x\r\n",
    "\r\n",
    "\n",
    "HTTP/1.1 200 OK\r\n",
];

/// What requests are made of, good and bad, besides the lines and pieces above.
const REQUESTS: &[&str] = &[
    "GET /a HTTP/1.1\r\n",
    "POST /b?c HTTP/1.1\r\n",
    "POST http://test/d HTTP/1.1\r\n",
    "HEAD /e HTTP/1.1\r\n",
    "POST /f HTTP/1.0\r\n",
    "OPTIONS * HTTP/1.1\r\n",
    "\r\nGET /g HTTP/1.1\r\n",
    "GET  /h HTTP/1.1\r\n",
    "GET /i HTTP/2.0\r\n",
    "GET /j HTTP/1.1\n",
    "CONNECT k:1 HTTP/1.1\r\n",
    "PRI * HTTP/2.0\r\n",
    "G\0T /l HTTP/1.1\r\n",
    "GET /\u{e9} HTTP/1.1\r\n",
];
const MORE_LINES: &[&str] = &[
    "host: test\r\n",
    "expect: 100-continue\r\n",
    "connection: upgrade\r\nupgrade: echo\r\n",
    "upgrade: h2c\r\n",
];

/// A request of random parts, with what a body needs more often than not.
fn request() -> impl Strategy<Value = String> {
    let line = prop_oneof![3 => select(LINES), 2 => select(MORE_LINES)];
    let body = prop_oneof![
        3 => Just(("", String::new())),
        3 => Just(("content-length: 5\r\n", "hello".to_owned())),
        3 => Just(("transfer-encoding: chunked\r\n", "5\r\nhello\r\n0\r\n\r\n".to_owned())),
        2 => (select(LINES), vec(select(PIECES), 0..6))
            .prop_map(|(line, pieces)| (line, pieces.concat())),
    ];
    let head = prop_oneof![1 => Just(REQUESTS[1]), 1 => select(REQUESTS)];
    (head, vec(line, 0..3), body).prop_map(|(head, lines, (framing, body))| {
        [head, &lines.concat(), framing, "\r\n", &body].concat()
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]
    #[test]
    fn what_is_understood_of_requests_is_what_others_understand(
        requests in vec(request(), 1..4),
        cut in 0..8_u8,
    ) {
        requests::run("requests", &[&[cut], requests.concat().as_bytes()].concat());
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]
    #[test]
    fn what_is_understood_of_an_answer_is_what_others_understand(
        head in prop_oneof![3 => Just(HEADS[0]), 1 => select(HEADS)],
        lines in prop_oneof![
            2 => select(LINES).prop_map(|line| vec![line]),
            1 => Just(vec!["transfer-encoding: chunked\r\n"]),
            1 => vec(select(LINES), 0..4),
        ],
        body in vec(select(PIECES), 0..6),
        cut in 0..4_u8,
    ) {
        let answer = [&[head], &lines[..], &["\r\n"], &body[..]].concat().concat();
        http1::run("http1", &[&[cut], answer.as_bytes()].concat());
    }
}
