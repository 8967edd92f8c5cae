//! Serves A2A agents: an author writes [`Agent::run`], this gives the rest.
//!
//! ```no_run
//! use nuncio_server::{Agent, Error, Failure, Output, Server, Turn};
//!
//! struct Hello;
//!
//! impl Agent for Hello {
//!     async fn run(&self, turn: Turn, output: Output) -> Result<(), Failure> {
//!         output.text(format!("Hello, {}!", turn.message.text())).await?;
//!         Ok(())
//!     }
//! }
//!
//! #[tokio::main]
//! async fn main() -> Result<(), Error> {
//!     Server::new("hello", Hello).serve("127.0.0.1:7420").await
//! }
//! ```
//!
//! That is JSON-RPC, HTTP+JSON and gRPC on one port, A2A 1.0 and 0.3 side by side, streams that
//! can be resumed, webhooks, a card, limits, and an orderly end.
//!
//! A program that has its own listener, or more agents than one, puts an [`Endpoint`] for each of
//! them below a path of its router.
//!
//! The modules stand in the order in which a request meets them: [`Server`] owns the listener,
//! `endpoint` finds the caller and the form of the request, `jsonrpc`, `rest` and `grpc` read it
//! and write the answer, [`LocalAgent`] calls the engine, `streams` and `sse` carry events back.

mod server;

mod capacity;
mod card;
mod context;
pub mod endpoint;
mod permits;

pub mod dialects;

mod grpc;
mod jsonrpc;
mod rest;

pub mod kinds;
mod local;
mod media;
mod terms;

mod sse;
mod streams;

mod body;
mod respond;

pub use body::Body;
pub use capacity::Capacity;
pub use card::{CardReaders, CardStyle};
pub use dialects::Dialects;
pub use endpoint::{Endpoint, Tenants};
pub use local::LocalAgent;
pub use nuncio_tasks::{
    agent::{Agent, Cause, Conduct, Failure, Interrupted, Turn},
    output::{Chunk, Output},
};
pub use server::{Bound, Error, Front, Limits, Server, Stopper};
pub use streams::StreamLimits;
pub use terms::Terms;
