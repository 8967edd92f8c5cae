//! Molecule: how streams end in the flat view, and whose messages are taken.

use std::sync::Arc;

use futures_util::StreamExt as _;
use http::request::Parts;
use nuncio_protocol::{
    error::{Error, ErrorKind},
    http::segments,
    json::Shared,
    operation::GetTaskRequest,
    service::{self, A2aService, CallContext, Event, Events},
    task::StreamResponse,
};

/// How molecule is spoken.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Molecule {
    /// Whether tasks and events are written in the flat view of molecule's documents (M-24,
    /// M-30): `{"id", "status", "message", "artifacts"}`. Otherwise they look as in A2A 0.3.
    pub flat: bool,
}

/// Takes messages at `/workspaces/{id}/a2a` only for the agent that lives here.
pub(super) fn check(agent: &str, head: &Parts) -> Result<(), Error> {
    match segments(head.uri.path())?.as_slice() {
        [workspaces, id, _] if workspaces == "workspaces" && id != agent => Err(Error::new(
            ErrorKind::MethodNotFound,
            format!("no workspace `{id}` is served here"),
        )),
        _ => Ok(()),
    }
}

/// Ends a stream with the whole task: callers take the artifacts from its last event (M-24).
pub(super) fn end_with_whole_task(
    service: Arc<dyn A2aService>,
    ctx: CallContext,
    events: Events,
) -> Events {
    Box::pin(events.then(move |event| {
        let (service, ctx) = (Arc::clone(&service), ctx.clone());
        async move {
            let event = event?;
            let ended = match event.response.value() {
                Ok(StreamResponse::StatusUpdate(update)) if update.status.state.is_terminal() => {
                    update.task_id.clone()
                }
                _ => return Ok(event),
            };
            let tenant = ctx.tenant.clone();
            let request = GetTaskRequest { tenant, id: ended, history_length: Some(0) };
            let task = service::read(service.get_task(ctx, request).await?)?;
            Ok(Event { seq: event.seq, response: Shared::new(StreamResponse::Task(task)) })
        }
    }))
}
