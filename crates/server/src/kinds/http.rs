//! An HTTP request as an agent.
//!
//! A [`Sender`] sends [`Request`]s through the egress guard and makes parts of what comes back:
//! text of text, data of JSON, a file of anything else. [`Http`] does so for every message.

mod agent;
mod answer;
mod error;
mod request;

use std::time::Duration;

use nuncio_net::{Client, Errand};
use nuncio_protocol::message::Part;

pub(crate) use self::{agent::with_query, error::in_words};
pub use self::{
    agent::{Carried, Http},
    error::Error,
    request::{Body, Request},
};

/// Sends requests. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Sender {
    client: Client,
    errand: Errand,
    limits: Limits,
}

/// How much an exchange may cost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The largest answer.
    pub answer_bytes: usize,
    /// How long it may take, from the connection to the last byte.
    pub time: Duration,
}

impl Default for Limits {
    /// 8 MiB and 60 seconds.
    fn default() -> Self {
        Self { answer_bytes: 8 << 20, time: Duration::from_secs(60) }
    }
}

impl Sender {
    /// Sends over a client, on an errand: who supplied the URLs decides where they may lead.
    pub fn new(client: Client, errand: Errand) -> Self {
        Self { client, errand, limits: Limits::default() }
    }

    /// Sets other limits.
    #[must_use]
    pub const fn limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// Sends a request and waits for its answer. A status from 400 on, and a redirect, is an
    /// error; nothing is sent twice.
    pub async fn send(&self, request: &Request) -> Result<Vec<Part>, Error> {
        answer::fetch(&self.client, self.errand, self.limits, request).await
    }
}
