//! How much of everything there may be.

use std::num::NonZeroU32;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{ByteSize, HumanDuration, Placed, Subject};

/// How much of everything there may be.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[non_exhaustive]
pub struct Limits {
    /// The largest body of a request.
    pub request_body: ByteSize,
    /// The largest event in a stream.
    pub event: ByteSize,
    /// The largest agent card.
    pub card: ByteSize,
    /// The most skills of a card.
    pub card_skills: NonZeroU32,
    /// The most connections that are open.
    pub connections: NonZeroU32,
    /// How long the head of a request may take to come.
    pub header_timeout: HumanDuration,
    /// How long opening a connection to an agent may take.
    pub connect_timeout: HumanDuration,
    /// How long an agent may take to begin its answer.
    pub first_byte_timeout: HumanDuration,
    /// The longest silence in a stream.
    pub stream_idle: HumanDuration,
    /// How often a quiet stream shows that it is alive.
    pub stream_heartbeat: HumanDuration,
    /// How long a blocking call is held before its caller gets the task as it is.
    pub wait_timeout: HumanDuration,
    /// How long requests may go on once the hub is told to stop.
    pub drain: HumanDuration,
    /// Calls in a minute of one caller.
    pub calls_per_minute: NonZeroU32,
    /// Calls in a minute of one address that has not proved who it is.
    pub unauthenticated_calls_per_minute: NonZeroU32,
    /// Registrations in a minute of one caller.
    pub registrations_per_minute: NonZeroU32,
    /// Open streams of one caller.
    pub streams_per_caller: NonZeroU32,
    /// Unfinished tasks of one caller.
    pub unfinished_tasks_per_caller: NonZeroU32,
    /// Calls in flight to one agent.
    pub in_flight_per_agent: NonZeroU32,
    /// Agents in the directory.
    pub agents: NonZeroU32,
    /// Webhooks of one task.
    pub push_configs_per_task: NonZeroU32,
    /// Calls in a chain, each made for the one before.
    pub call_depth: NonZeroU32,
    /// How often an agent sends a heartbeat.
    pub heartbeat: HumanDuration,
    /// An agent that was silent for so long is offline.
    pub offline: Placed<HumanDuration>,
    /// How often silent agents are looked for.
    pub sweep: HumanDuration,
    /// How long a token for one call to one agent is good.
    pub pair_token: HumanDuration,
    /// How long the events of the directory are kept.
    pub event_log: HumanDuration,
}

impl Default for Limits {
    fn default() -> Self {
        let seconds = HumanDuration::seconds;
        let count = |count| NonZeroU32::new(count).unwrap_or(NonZeroU32::MIN);
        Self {
            request_body: ByteSize::mebibytes(10),
            event: ByteSize::mebibytes(16),
            card: ByteSize::mebibytes(1),
            card_skills: count(500),
            connections: count(10_000),
            header_timeout: seconds(10),
            connect_timeout: seconds(5),
            first_byte_timeout: seconds(30),
            stream_idle: seconds(300),
            stream_heartbeat: seconds(15),
            wait_timeout: seconds(120),
            drain: seconds(30),
            calls_per_minute: count(600),
            unauthenticated_calls_per_minute: count(60),
            registrations_per_minute: count(60),
            streams_per_caller: count(64),
            unfinished_tasks_per_caller: count(1000),
            in_flight_per_agent: count(64),
            agents: count(100_000),
            push_configs_per_task: count(10),
            call_depth: count(16),
            heartbeat: seconds(30),
            offline: Placed::nowhere(seconds(90)),
            sweep: seconds(15),
            pair_token: seconds(300),
            event_log: seconds(30 * 24 * 60 * 60),
        }
    }
}

/// A caller with limits of its own. What is left out is as in `limits`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Quota {
    /// Whose limits they are: the name of an agent, `user:NAME`, `team:NAME`, or `*`.
    pub caller: Placed<Subject>,
    /// Calls in a minute.
    pub calls_per_minute: Option<u32>,
    /// Open streams.
    pub streams: Option<u32>,
    /// Unfinished tasks.
    pub unfinished_tasks: Option<u32>,
}
