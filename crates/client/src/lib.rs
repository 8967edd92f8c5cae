//! Calls any A2A agent, whatever version and binding it speaks, and only where it may.
//!
//! An agent is found by its address, a host or a file, and called as an
//! [`A2aService`](nuncio_protocol::service::A2aService) by any number of callers at once,
//! whatever it speaks: A2A 1.0 or 0.3 on JSON-RPC, HTTP+JSON or gRPC, or one of the dialects.
//!
//! ```no_run
//! use futures_util::StreamExt as _;
//! use nuncio_client::{
//!     Client, Find,
//!     discover::{Ask, Source},
//! };
//! use nuncio_net::{Client as NetClient, Guard, Policy, Trust};
//! use nuncio_protocol::{
//!     message::Message,
//!     operation::SendMessageRequest,
//!     service::{A2aService, CallContext, Caller},
//! };
//!
//! # async fn call() -> Result<(), Box<dyn std::error::Error>> {
//! let client = Client::new(NetClient::new(Guard::new(Policy::default())));
//! let ask = Ask::new(Source::parse("agent.example")?, Trust::Caller);
//! let agent = client.agent(Find::new(ask)).await?;
//!
//! let request = SendMessageRequest::new(Message::user("add 2 and 3"));
//! let ctx = CallContext::new(Caller::Anonymous);
//! let mut events = agent.send_streaming_message(ctx, request).await?;
//! while let Some(event) = events.next().await {
//!     println!("{:?}", event?.response);
//! }
//! # Ok(())
//! # }
//! ```
//!
//! [`Client`] finds agents ([`discover`], [`negotiate`]), an [`Agent`] is one that was found, a
//! [`Remote`] one of its interfaces. A [`Router`] calls the [`peers`] of a table: the best for a
//! capability, and later whoever has the task. Credentials go to the origin that they belong to
//! and nowhere else ([`credentials`]); a [`webhook::Verifier`] checks what agents send back.
//!
//! What a call may cost is limited: [`Options`] has the clocks, the sizes, how often a call is
//! made again and when a failing peer is left alone. A stream that breaks off is resumed
//! without loss or repetition; dropping it, or the future of a call, closes the exchange at
//! once. Every way of failing has its own [`Error`].

pub mod discover;

pub mod credentials;
mod flight;
mod interface;
pub mod negotiate;
mod origin;
pub mod peers;

pub mod fan_out;
pub mod webhook;

mod client;
mod remote;
mod router;
mod service;

mod stream;

mod breaker;
mod options;
mod retry;

mod transport;
pub mod watch;

mod error;

pub use breaker::Trip;
pub use client::{Agent, Client, Find};
pub use credentials::{Credentials, Proof, Unavailable};
pub use error::Error;
pub use interface::Interface;
pub use options::{Clocks, Options, Resumes};
pub use origin::{InvalidOrigin, Origin};
pub use remote::{Builder, Remote};
pub use retry::Retries;
pub use router::{Routed, Router};
pub use stream::Followed;
pub use transport::Limits;
