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
    /// The most connections that are open; and as many to agents.
    pub connections: NonZeroU32,
    /// The most connections of one address. Raise it where callers come through a proxy.
    pub connections_per_address: NonZeroU32,
    /// How long the head of a request may take to come.
    pub header_timeout: HumanDuration,
    /// How long requests may go on once the hub is told to stop.
    pub drain: HumanDuration,
    /// Requests in a minute of one caller, of whatever sort.
    pub calls_per_minute: NonZeroU32,
    /// Requests in a minute of one address that has not proved who it is.
    pub unauthenticated_calls_per_minute: NonZeroU32,
    /// Open streams of one caller.
    pub streams_per_caller: NonZeroU32,
    /// Calls that one agent elsewhere gets at once; further ones wait.
    pub calls_in_flight_per_agent: NonZeroU32,
    /// Calls that may wait for one agent.
    pub queue_per_agent: NonZeroU32,
    /// How long a call waits for an agent that has enough to do.
    pub queue_wait: HumanDuration,
    /// Tasks of one caller that have not ended.
    pub unfinished_tasks_per_caller: NonZeroU32,
    /// Calls that may be made because of one another.
    pub call_depth: NonZeroU32,
    /// How long it may take to open a connection to an agent.
    pub connect_timeout: HumanDuration,
    /// How long an agent may take for the first byte of an answer that needs no work.
    pub first_byte_timeout: HumanDuration,
    /// How long an agent may be silent within an answer or a stream. A stream is taken up again.
    pub idle_timeout: HumanDuration,
    /// How long a call to an agent may take that is no stream.
    pub call_timeout: HumanDuration,
    /// How long a caller waits for an answer that does not say how long. Afterwards it gets the
    /// task as it stands, and the agent goes on.
    pub wait_timeout: HumanDuration,
    /// How long a caller waits at most, whatever it says.
    pub longest_wait: HumanDuration,
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
            connections_per_address: count(1_024),
            header_timeout: seconds(10),
            drain: seconds(30),
            calls_per_minute: count(600),
            unauthenticated_calls_per_minute: count(60),
            streams_per_caller: count(64),
            calls_in_flight_per_agent: count(64),
            queue_per_agent: count(1_000),
            queue_wait: seconds(30),
            unfinished_tasks_per_caller: count(1_000),
            call_depth: count(16),
            connect_timeout: seconds(5),
            first_byte_timeout: seconds(30),
            idle_timeout: seconds(300),
            call_timeout: seconds(1_800),
            wait_timeout: seconds(120),
            longest_wait: seconds(1_800),
            heartbeat: seconds(30),
            offline: Placed::nowhere(seconds(90)),
            sweep: seconds(15),
            probe: seconds(30),
        }
    }
}
