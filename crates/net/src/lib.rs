//! The way out: an HTTP client that only reaches where it may.
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

pub mod client;
pub mod egress;
mod error;
pub mod listen;

pub use client::{Body, Client, Request, Response, Timeouts};
pub use egress::{CheckedUrl, Errand, Guard, Policy, Purpose, Refused, Trust};
pub use error::{Clock, Code, Error};
