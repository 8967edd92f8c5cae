//! What a call leaves behind: a line in the log and a span in a trace (O-22). Never a text of
//! the message, never a secret.

use std::time::Duration;

use nuncio_protocol::{dialect::WireForm, operation::Operation, state::TaskState};
use tracing::Span;

use crate::metrics::{Direction, Status};

/// An A2A call that has ended, as the log tells it.
#[derive(Clone, Copy, Debug)]
pub struct AccessLine<'a> {
    /// Whether it came in or went out.
    pub direction: Direction,
    /// What was asked; none if that could not be found out.
    pub operation: Option<Operation>,
    /// In what form; none if that could not be found out.
    pub form: Option<WireForm>,
    /// Who asked: `user:<name>`, `agent:<id>` or `anonymous`.
    pub caller: &'a str,
    /// The name of the agent that was asked.
    pub agent: &'a str,
    /// The skill that was asked for, if one was named.
    pub capability: Option<&'a str>,
    /// The caller's name for the request.
    pub request_id: Option<&'a str>,
    /// How long it took: to the answer, or to the end of the stream.
    pub duration: Duration,
    /// How it ended.
    pub status: Status,
    /// Why it was refused, in one word.
    pub error: Option<&'a str>,
    /// The task that it was about.
    pub task_id: Option<&'a str>,
    /// The conversation that it was about.
    pub context_id: Option<&'a str>,
    /// The state in which the caller last saw the task.
    pub state: Option<TaskState>,
    /// The trace that it is part of.
    pub trace_id: Option<&'a str>,
}

impl AccessLine<'_> {
    /// Writes the line.
    pub fn log(&self) {
        let name = self.caller.split_once(':').map_or(self.caller, |(_, name)| name);
        tracing::info!(
            target: "nuncio::a2a",
            event = "a2a_request",
            source_agent = name,
            target_agent = self.agent,
            capability = self.capability,
            request_id = self.request_id,
            duration_ms = u64::try_from(self.duration.as_millis()).unwrap_or(u64::MAX),
            status = self.status.as_str(),
            error = self.error,
            agent = self.agent,
            caller = self.caller,
            a2a.direction = self.direction.as_str(),
            a2a.method = self.operation.map(Operation::name),
            a2a.dialect = self.form.map(WireForm::name),
            a2a.task.id = self.task_id,
            a2a.context.id = self.context_id,
            a2a.task.state = self.state.map(TaskState::as_str),
            trace_id = self.trace_id,
        );
    }
}

/// Makes the span of a call, below the one that is entered.
///
/// These fields are all that is exported of it. `a2a.task.id` and `status` can be recorded
/// later.
pub fn span(operation: Option<Operation>, agent: &str, trace_id: Option<&str>) -> Span {
    let name = operation.map_or("unknown", Operation::name);
    tracing::info_span!(
        target: "nuncio::trace",
        "a2a_request",
        otel.name = name,
        otel.kind = "internal",
        a2a.method = name,
        a2a.agent = agent,
        a2a.task.id = tracing::field::Empty,
        status = tracing::field::Empty,
        trace_id,
    )
}
