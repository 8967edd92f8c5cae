//! Calls any A2A agent, whatever version and binding it speaks, and only where it may.
//!
//! A [`Remote`] is one interface of a peer: A2A 1.0 or 0.3 on JSON-RPC, HTTP+JSON or gRPC, or
//! one of the dialects. It can be called like anything else, as an
//! [`A2aService`](nuncio_protocol::service::A2aService), by any number of callers at once.
//!
//! ```no_run
//! use futures_util::StreamExt as _;
//! use nuncio_client::{Interface, Remote};
//! use nuncio_net::{Client, Errand, Guard, Policy, Purpose};
//! use nuncio_protocol::{
//!     dialect::WireForm,
//!     message::Message,
//!     operation::{Request, SendMessageRequest},
//!     service::{CallContext, Caller},
//! };
//!
//! # async fn call() -> Result<(), Box<dyn std::error::Error>> {
//! let client = Client::new(Guard::new(Policy::default()));
//! let url = client.guard().check_url("https://agent.example/a2a", Errand::caller(Purpose::Agent))?;
//! let remote = Remote::new(client, Interface { url, form: WireForm::V1, tenant: None });
//!
//! let request = SendMessageRequest::new(Message::user("add 2 and 3"));
//! let ctx = CallContext::new(Caller::Anonymous);
//! let mut events = remote.stream(ctx, Request::SendStreamingMessage(request)).await?;
//! while let Some(event) = events.next().await {
//!     println!("{:?}", event?.response);
//! }
//! # Ok(())
//! # }
//! ```
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
