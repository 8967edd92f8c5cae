//! What every reader must stand, whatever the bytes: one function a reader.
//!
//! The fuzz targets call these, and a plain test calls them with the corpus. Beside not
//! panicking they assert: what was read can be written, is strict JSON then (if it is not
//! gRPC), and means the same when it is read again.

mod grpc;

use nuncio_protocol::{
    card::{self, AgentCard, sign::KeySet},
    dialect::{
        self, Incoming, Legacy, Offered,
        harbor::Harbor,
        molecule::{Molecule, MoleculeHttp},
        opportunity::{AccessRule, Agents, Capabilities, Health, Opportunity, Registration},
        pocketpaw::{PocketPaw, PocketPawHttp, read_batch},
        upal::Upal,
        v02::V02,
        v03::V03,
        v03_http::V03Http,
    },
    error::Error,
    http::{HttpCall, HttpForm, V1Http},
    json::{self, FromJson, Raw, ToJson},
    jsonrpc::Id,
    operation::Operation,
    wire::{Echo, JsonRpcForm, StreamEnd, V1},
};

/// Every reader by the name of its fuzz target and corpus folder.
pub const READERS: &[(&str, fn(&[u8]))] = &[
    ("json", json),
    ("choose", choose),
    ("v1", |bytes| json_rpc(&V1, bytes)),
    ("v1_http", |bytes| http(&V1Http::default(), bytes)),
    ("v03", |bytes| json_rpc(&V03, bytes)),
    ("v03_http", |bytes| http(&V03Http, bytes)),
    ("v02", |bytes| json_rpc(&V02, bytes)),
    ("molecule", |bytes| json_rpc(&Molecule::default(), bytes)),
    ("molecule_flat", |bytes| json_rpc(&Molecule { flat: true }, bytes)),
    ("molecule_http", |bytes| http(&MoleculeHttp { flat: true }, bytes)),
    ("harbor", |bytes| json_rpc(&Harbor, bytes)),
    ("opportunity", opportunity),
    ("upal", |bytes| json_rpc(&Upal, bytes)),
    ("pocketpaw", pocketpaw),
    ("pocketpaw_http", |bytes| http(&PocketPawHttp, bytes)),
    ("grpc_v1", grpc::read_v1),
    ("grpc_v03", grpc::read_v03),
    ("card", card),
];

/// Runs one reader, known by name.
pub fn run(name: &str, bytes: &[u8]) {
    let (_, reader) = READERS.iter().find(|(known, _)| *known == name).expect("a known reader");
    reader(bytes);
}

/// The strict reader: never more than `serde_json` accepts, and the same values.
fn json(bytes: &[u8]) {
    let Ok(raw) = json::from_slice::<Raw>(bytes) else { return };
    let theirs: serde_json::Value = serde_json::from_slice(bytes).expect("we accept only JSON");
    assert_eq!(raw.parse::<serde_json::Value>().expect("raw text is JSON"), theirs);
    assert_eq!(Raw::parse_text(raw.as_str()).as_ref(), Ok(&raw));
}

/// The choice of a form: any first line is a path, the rest a body.
fn choose(bytes: &[u8]) {
    let (path, body) = split(bytes);
    for legacy in [None, Some(Legacy::V03), Some(Legacy::PocketPaw)] {
        for version in [None, Some("1.0"), Some("0.3"), Some(path)] {
            let offered =
                Offered { legacy, molecule: true, opportunity: true, ..Offered::default() };
            let incoming = Incoming { method: "POST", path, version, body, ..Incoming::default() };
            // Either is fine; only a panic would not be.
            let _ = dialect::choose(&incoming, offered);
        }
    }
}

/// A form in which every call is one JSON document: the bytes are taken for each thing it
/// can read.
fn json_rpc(form: &dyn JsonRpcForm, bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    if let Ok(call) = form.read_call(text) {
        let write = |request| form.write_call(&Id::number(1), request).expect("it was just read");
        let first = write(&call.request);
        let again = form.read_call(&first).unwrap_or_else(|refusal| panic!("{refusal:?}: {first}"));
        stable(&first, &write(&again.request));
    }
    for &operation in Operation::ALL {
        if form.method(operation).is_none() {
            continue;
        }
        let echo = Echo::new(Id::number(1), operation);
        if operation.is_streaming() {
            outcome(
                form.read_frame(text),
                |event| form.write_frame(&echo, event, StreamEnd::Open).data,
                |text| form.read_frame(text),
            );
        } else {
            outcome(
                form.read_reply(operation, text),
                |response| form.write_reply(&echo, response),
                |text| form.read_reply(operation, text),
            );
        }
    }
}

/// The capability envelope, and the bodies of its registry.
fn opportunity(bytes: &[u8]) {
    json_rpc(&Opportunity { agent_id: "a".to_owned() }, bytes);
    document::<Registration>(bytes);
    document::<Agents>(bytes);
    document::<Capabilities>(bytes);
    document::<Health>(bytes);
    document::<AccessRule>(bytes);
}

/// `PocketPaw`'s calls, alone and in a batch.
fn pocketpaw(bytes: &[u8]) {
    json_rpc(&PocketPaw, bytes);
    if let Ok(text) = std::str::from_utf8(bytes) {
        // Either is fine; only a panic would not be.
        let _ = read_batch(&PocketPaw, text);
    }
}

/// A document of its own.
fn document<T: FromJson + ToJson>(bytes: &[u8]) {
    if let Ok(value) = json::from_slice::<T>(bytes) {
        let first = json::to_string(&value);
        let again: T = json::from_str(&first).unwrap_or_else(|error| panic!("{error}: {first}"));
        stable(&first, &json::to_string(&again));
    }
}

/// A form in which method and path speak too: the first line is the path, the rest a body.
fn http(form: &dyn HttpForm, bytes: &[u8]) {
    let (target, body) = split(bytes);
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    for method in ["GET", "POST", "DELETE"] {
        let Ok(request) = form.read_call(&HttpCall { method, path, query, body }) else { continue };
        let Ok(first) = form.write_call(&request) else { continue };
        let (path, query) = first.path.split_once('?').unwrap_or((&first.path, ""));
        let body = first.body.as_deref().unwrap_or_default().as_bytes();
        let again = form
            .read_call(&HttpCall { method: first.method, path, query, body })
            .unwrap_or_else(|error| panic!("{error:?}: {first:?}"));
        assert_eq!(form.write_call(&again).as_ref(), Ok(&first));
    }
    for &operation in Operation::ALL {
        for status in [200, 404] {
            if operation.is_streaming() {
                continue;
            }
            // Either is fine; only a panic would not be.
            let _ = form.read_reply(operation, status, body);
        }
    }
    if let Ok(text) = std::str::from_utf8(body) {
        outcome(
            form.read_frame(text),
            |event| form.write_frame(event, StreamEnd::Open).data,
            |text| form.read_frame(text),
        );
    }
}

/// A card of any form: once normalised it stays as it is, and no older form loses a member.
fn card(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    // Either is fine; only a panic would not be.
    let _ = card::sign::verify(text, &KeySet::default());
    let Ok((card, _)) = card::read_any(text) else { return };
    card::lint_text(text).expect("it was just read");
    let plain = json::to_string(&card);
    assert_eq!(card::read_any(&plain).map(|(card, _)| card).as_ref(), Ok(&card));
    assert_eq!(json::from_str::<AgentCard>(&plain).as_ref(), Ok(&card));
    if let Ok(hybrid) = card::write_hybrid(&card) {
        assert_eq!(json::from_str::<AgentCard>(&hybrid).as_ref(), Ok(&card));
    }
    for older in [card::write_v03(&card), card::write_v02(&card)].into_iter().flatten() {
        card::read_any(&older).unwrap_or_else(|error| panic!("{error}: {older}"));
    }
}

/// Asserts that what was read is written as strict JSON that means the same.
fn outcome<T>(
    read: Result<T, Error>,
    write: impl Fn(Result<&T, &Error>) -> String,
    read_again: impl Fn(&str) -> Result<T, Error>,
) {
    let first = write(read.as_ref());
    if read.is_ok() {
        let again = read_again(&first).unwrap_or_else(|error| panic!("{error:?}: {first}"));
        stable(&first, &write(Ok(&again)));
    }
    Raw::parse_text(&first).unwrap_or_else(|error| panic!("{error}: {first}"));
}

fn stable(first: &str, second: &str) {
    Raw::parse_text(first).unwrap_or_else(|error| panic!("{error}: {first}"));
    assert_eq!(first, second);
}

fn split(bytes: &[u8]) -> (&str, &[u8]) {
    let end = bytes.iter().position(|byte| *byte == b'\n').unwrap_or(bytes.len());
    let first = std::str::from_utf8(&bytes[..end]).unwrap_or_default();
    (first, bytes.get(end + 1..).unwrap_or_default())
}
