//! How much of everything there may be.

use std::num::NonZeroU32;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{ByteSize, HumanDuration, Placed};

/// How much of everything there may be.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[non_exhaustive]
pub struct Limits {
    /// The largest body of a request.
    pub request_body: ByteSize,
    /// The most connections that are open.
    pub connections: NonZeroU32,
    /// How long the head of a request may take to come.
    pub header_timeout: HumanDuration,
    /// How long requests may go on once the hub is told to stop.
    pub drain: HumanDuration,
    /// Calls in a minute of one caller.
    pub calls_per_minute: NonZeroU32,
    /// Calls in a minute of one address that has not proved who it is.
    pub unauthenticated_calls_per_minute: NonZeroU32,
    /// Open streams of one caller.
    pub streams_per_caller: NonZeroU32,
    /// How often an agent sends a heartbeat.
    pub heartbeat: HumanDuration,
    /// An agent that was silent for so long is offline.
    pub offline: Placed<HumanDuration>,
    /// How often silent agents are looked for.
    pub sweep: HumanDuration,
    /// How often agents without heartbeat are asked how they are.
    pub probe: HumanDuration,
}

impl Default for Limits {
    fn default() -> Self {
        let seconds = HumanDuration::seconds;
        let count = |count| NonZeroU32::new(count).unwrap_or(NonZeroU32::MIN);
        Self {
            request_body: ByteSize::mebibytes(10),
            connections: count(10_000),
            header_timeout: seconds(10),
            drain: seconds(30),
            calls_per_minute: count(600),
            unauthenticated_calls_per_minute: count(60),
            streams_per_caller: count(64),
            heartbeat: seconds(30),
            offline: Placed::nowhere(seconds(90)),
            sweep: seconds(15),
            probe: seconds(30),
        }
    }
}
