//! The way in and out: a listener that bounds what callers can cost, and an HTTP client that
//! only reaches where it may.
//!
//! # In
//!
//! A [`listen::Listener`] takes connections for one service, in HTTP/1.1 and HTTP/2, with or
//! without TLS. It has a limit for everything that a caller could be slow with or send too
//! much of, and ends without breaking off what its callers are in the middle of.
//!
//! ```no_run
//! use std::{convert::Infallible, time::Duration};
//!
//! use http_body_util::Full;
//! use hyper::{body::Bytes, service::service_fn};
//! use nuncio_net::listen::{Drain, Incoming, Listener};
//!
//! # async fn serve() -> std::io::Result<()> {
//! let hello = service_fn(async |_: http::Request<Incoming>| {
//!     Ok::<_, Infallible>(http::Response::new(Full::new(Bytes::from("hello"))))
//! });
//! let listener = Listener::bind(([127, 0, 0, 1], 8080).into()).await?;
//! let drain = Drain::new();
//! tokio::spawn(listener.serve(hello, drain.clone()));
//! // And later:
//! drain.begin(Duration::from_secs(30));
//! # Ok(())
//! # }
//! ```
//!
//! `docs/reference/listener.md` lists the limits and what is refused.
//!
//! # Out
//!
//! Everything that leaves the program goes through here: webhooks, agent cards, keys,
//! agents, files. A URL is checked by an [`egress::Guard`] before anything is sent to it,
//! and the addresses behind its name are checked again whenever a connection is opened; the
//! connection then goes to the very address that was checked. Redirects are returned, never
//! followed, and no proxy is taken from the environment.
//!
//! ```no_run
//! use nuncio_net::{Client, Errand, Guard, Policy, Purpose, Request};
//!
//! # async fn fetch() -> Result<(), Box<dyn std::error::Error>> {
//! let guard = Guard::new(Policy::default());
//! let client = Client::new(guard.clone());
//!
//! let url = guard.check_url("https://agent.example/card.json", Errand::caller(Purpose::Card))?;
//! let answer = client.send(Request::get(&url)).await?;
//! let card = answer.collect(1024 * 1024).await?;
//! # Ok(())
//! # }
//! ```
//!
//! Who supplied a URL matters as much as where it leads: see [`Errand`] and [`Trust`].
//! `docs/reference/egress.md` lists every range of addresses and every error.

pub mod listen;

pub mod client;
pub mod egress;
mod error;
mod http1;
mod secret;
pub mod sse;
pub mod trace;

pub use client::{Body, Client, Identity, Protocol, Request, Response, Timeouts};
pub use egress::{CheckedUrl, Errand, Guard, Policy, Purpose, Refused, Trust};
pub use error::{Clock, Code, Error};
pub use secret::Secret;
