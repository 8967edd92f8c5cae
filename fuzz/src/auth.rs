//! The same for what callers show and administrators keep: one function a reader.
//!
//! Apart from the others, so that the tests of `nuncio-auth` can replay its corpus and those
//! of `nuncio-protocol` need not know it.

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use nuncio_auth::{
    api_key::{KeyRecord, parse_file},
    jwt, pair,
    rules::Rule,
};
use nuncio_protocol::json;

/// Every reader by the name of its fuzz target and corpus folder.
pub const READERS: &[(&str, fn(&[u8]))] =
    &[("auth_token", token), ("auth_keys", keys), ("auth_pair", pair_token), ("auth_rule", rule)];

/// Runs one reader, known by name.
pub fn run(name: &str, bytes: &[u8]) {
    let (_, reader) = READERS.iter().find(|(known, _)| *known == name).expect("a known reader");
    reader(bytes);
}

/// A token: the bytes as they are, and their lines as what is inside of one.
fn token(bytes: &[u8]) {
    // Either is fine; only a panic would not be.
    let _ = std::str::from_utf8(bytes).map(jwt::read);
    let mut lines = bytes.splitn(3, |byte| *byte == b'\n');
    let mut part = || URL_SAFE_NO_PAD.encode(lines.next().unwrap_or_default());
    let _ = jwt::read(&[part(), part(), part()].join("."));
}

/// A key file: what was read can be written, and means the same when it is read again.
fn keys(bytes: &[u8]) {
    let Ok(records) = parse_file(bytes) else { return };
    for record in records {
        let text = json::to_string(&record);
        let again = json::from_str::<KeyRecord>(&text);
        assert_eq!(again.as_ref(), Ok(&record), "{text}");
    }
}

/// A pair token, in the same two ways as a token.
fn pair_token(bytes: &[u8]) {
    let _ = std::str::from_utf8(bytes).map(pair::read);
    let mut lines = bytes.splitn(3, |byte| *byte == b'\n');
    let mut part = || URL_SAFE_NO_PAD.encode(lines.next().unwrap_or_default());
    let _ = pair::read(&[part(), part(), part()].join("."));
}

/// A rule: what was read can be written, and means the same when it is read again.
fn rule(bytes: &[u8]) {
    let Ok(rule) = json::from_slice::<Rule>(bytes) else { return };
    let text = json::to_string(&rule);
    assert_eq!(json::from_str::<Rule>(&text).as_ref(), Ok(&rule), "{text}");
}
