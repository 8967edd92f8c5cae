//! The line that every A2A request leaves in the log (O-22).

use std::time::Duration;

use nuncio_hub::metrics::{Direction, Status};
use nuncio_protocol::operation::Operation;

use super::trace::TraceContext;

/// An A2A request that has ended, as the log tells it. No message text, no secrets.
#[derive(Clone, Copy, Debug)]
pub struct RequestLine<'a> {
    /// Who asked.
    pub source_agent: &'a str,
    /// Who was asked.
    pub target_agent: &'a str,
    /// The skill that was asked for, if one was named.
    pub capability: Option<&'a str>,
    /// The caller's name for the request.
    pub request_id: &'a str,
    /// How long it took.
    pub duration: Duration,
    /// How it ended.
    pub status: Status,
    /// Whether it came in or went out.
    pub direction: Direction,
    /// What was asked.
    pub operation: Option<Operation>,
    /// The task that it was about, if any.
    pub task_id: Option<&'a str>,
    /// The context that it was about, if any.
    pub context_id: Option<&'a str>,
    /// The trace that it is part of.
    pub trace: Option<&'a TraceContext>,
}

impl RequestLine<'_> {
    /// Writes the line.
    pub fn log(&self) {
        let duration_ms = u64::try_from(self.duration.as_millis()).unwrap_or(u64::MAX);
        let trace_id = self.trace.map(TraceContext::trace_id);
        let span_id = self.trace.map(TraceContext::span_id);
        tracing::info!(
            target: "nuncio::a2a",
            event = "a2a_request",
            source_agent = self.source_agent,
            target_agent = self.target_agent,
            capability = self.capability,
            request_id = self.request_id,
            duration_ms,
            status = self.status.as_str(),
            a2a.direction = self.direction.as_str(),
            a2a.operation = self.operation.map(Operation::name),
            a2a.task_id = self.task_id,
            a2a.context_id = self.context_id,
            trace_id,
            span_id,
        );
    }
}
