//! The ways to read and write a request.

use std::hint::black_box;

use nuncio_protocol::{json, operation::SendMessageRequest};
use serde_json::{Value, value::RawValue};

use crate::derived;

/// One way to read and write a [`SendMessageRequest`].
pub trait Codec: 'static {
    /// What the table calls it.
    const NAME: &str;

    /// What a request is read into.
    type Request: 'static;

    /// Reads a request.
    fn decode(body: &[u8]) -> Self::Request;

    /// Writes a request.
    fn encode(request: &Self::Request) -> String;
}

/// A codec whose types are out of sight, so that several fit into one list.
#[derive(Clone, Copy, Debug)]
pub struct Contender {
    /// What the table calls it.
    pub name: &'static str,
    prepare: fn(&'static [u8]) -> Prepared,
}

/// A contender in front of one payload.
pub struct Prepared {
    /// Reads the payload so many times.
    pub decode: Box<dyn Fn(u32)>,
    /// Writes what was read from the payload so many times.
    pub encode: Box<dyn Fn(u32)>,
    /// What it writes after it has read the payload.
    pub rewritten: String,
}

impl Contender {
    /// Makes a contender of a codec.
    pub fn of<C: Codec>() -> Self {
        Self { name: C::NAME, prepare: prepare::<C> }
    }

    /// Puts the contender in front of a payload.
    pub fn prepare(&self, body: &'static [u8]) -> Prepared {
        (self.prepare)(body)
    }
}

fn prepare<C: Codec>(body: &'static [u8]) -> Prepared {
    let request = C::decode(body);
    let rewritten = C::encode(&request);
    Prepared {
        decode: Box::new(move |times| {
            for _ in 0..times {
                black_box(C::decode(black_box(body)));
            }
        }),
        encode: Box::new(move |times| {
            for _ in 0..times {
                black_box(C::encode(black_box(&request)));
            }
        }),
        rewritten,
    }
}

impl std::fmt::Debug for Prepared {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Prepared").field("rewritten", &self.rewritten).finish_non_exhaustive()
    }
}

/// Ours.
#[derive(Debug)]
pub struct Nuncio;

impl Codec for Nuncio {
    const NAME: &str = "nuncio";
    type Request = SendMessageRequest;

    fn decode(body: &[u8]) -> Self::Request {
        json::from_slice(body).expect("the payloads are valid")
    }

    fn encode(request: &Self::Request) -> String {
        json::to_string(request)
    }
}

/// Plain `serde_json` on derived structs, open-ended values kept as text: the least that a
/// codec without our checks can cost.
#[derive(Debug)]
pub struct Derived;

impl Codec for Derived {
    const NAME: &str = "derive, raw data";
    type Request = derived::SendMessageRequest<Box<RawValue>>;

    fn decode(body: &[u8]) -> Self::Request {
        serde_json::from_slice(body).expect("the payloads are valid")
    }

    fn encode(request: &Self::Request) -> String {
        serde_json::to_string(request).expect("the structs have text keys only")
    }
}

/// Plain `serde_json` on derived structs, open-ended values as trees.
#[derive(Debug)]
pub struct DerivedTree;

impl Codec for DerivedTree {
    const NAME: &str = "derive, data as Value";
    type Request = derived::SendMessageRequest<Value>;

    fn decode(body: &[u8]) -> Self::Request {
        serde_json::from_slice(body).expect("the payloads are valid")
    }

    fn encode(request: &Self::Request) -> String {
        serde_json::to_string(request).expect("the structs have text keys only")
    }
}

/// The whole body as a tree first, then the structs; the reverse to write.
#[derive(Debug)]
pub struct ThroughTree;

impl Codec for ThroughTree {
    const NAME: &str = "through Value";
    type Request = derived::SendMessageRequest<Value>;

    fn decode(body: &[u8]) -> Self::Request {
        let tree: Value = serde_json::from_slice(body).expect("the payloads are valid");
        serde_json::from_value(tree).expect("the payloads are valid")
    }

    fn encode(request: &Self::Request) -> String {
        serde_json::to_value(request).expect("the structs have text keys only").to_string()
    }
}

/// The types of the official Rust SDK with their own `serde` code.
#[derive(Debug)]
pub struct OfficialNative;

impl Codec for OfficialNative {
    const NAME: &str = "a2a-lf 0.4.2";
    type Request = a2a::SendMessageRequest;

    fn decode(body: &[u8]) -> Self::Request {
        serde_json::from_slice(body).expect("the payloads are valid")
    }

    fn encode(request: &Self::Request) -> String {
        serde_json::to_string(request).expect("the structs have text keys only")
    }
}
