//! A client of agents for tests: every binding and both versions, from outside.
//!
//! [`Http`] sends what it is told to and shows the bare answer, [`Frames`] reads server-sent
//! events, and [`Wire`] makes calls in any form, so that one table of expectations serves all
//! of them. It reads errors strictly: one that is not shaped as its form says fails the test.

mod call;
mod grpc;
mod http;
mod shape;
mod sse;

pub use self::{
    call::{Event, Events, Wire},
    http::{Http, Reply},
    shape::Refused,
    sse::{Frame, Frames},
};

/// How calls travel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Binding {
    /// One POST, one JSON document.
    JsonRpc,
    /// Method and path say what is asked.
    HttpJson,
    /// Protobuf over HTTP/2.
    Grpc,
}

impl Binding {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::JsonRpc, Self::HttpJson, Self::Grpc];
}

/// What runs the tasks of an HTTP/2 connection, for tests that make one of their own.
pub fn executor() -> hyper_util::rt::TokioExecutor {
    hyper_util::rt::TokioExecutor::new()
}

/// A connection as hyper wants it.
pub fn io<S>(stream: S) -> hyper_util::rt::TokioIo<S> {
    hyper_util::rt::TokioIo::new(stream)
}
