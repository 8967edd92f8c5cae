//! Begins the runs of triggers.

use std::sync::Arc;

use futures_util::StreamExt as _;
use nuncio_protocol::{
    error::{Error as A2aError, ErrorKind},
    ids::Tenant,
    json::Object,
    message::{Message, Part},
    operation::SendMessageRequest,
    service::CallContext,
    task::StreamResponse,
    time::Timestamp,
};
use nuncio_workflow::runner::Note;

use super::{Fired, Trigger};
use crate::{
    error::Error,
    gateway::runs::{caller_of, message_of},
    hub::Hub,
};

/// Fires every schedule whose moment has come.
pub(crate) async fn fire_due(hub: &Hub) -> Result<(), Error> {
    let now = Timestamp::now();
    for (trigger, moment) in due(hub, now) {
        let key = format!("trigger:{}:{}", trigger.id, moment.as_millis());
        let begun = start(hub, &trigger, trigger.given(), Some(key)).await;
        let fired = match begun {
            // The next time, or another hub, has more luck.
            Err(error) if error.kind() == ErrorKind::Unavailable => continue,
            Err(error) => {
                let error = error.message().to_owned();
                tracing::warn!(trigger = trigger.name, error, "a trigger began no run");
                Fired { at: moment, run: None, error: Some(error) }
            }
            Ok(run) => Fired { at: moment, run: Some(run), error: None },
        };
        hub.directory.note_fired(&trigger.id, Some(moment), fired).await?;
    }
    Ok(())
}

/// Returns the triggers whose moment has come.
fn due(hub: &Hub, now: Timestamp) -> Vec<(Arc<Trigger>, Timestamp)> {
    let state = hub.directory.state();
    let due = state.triggers().filter_map(|one| Some((Arc::clone(one), one.due(now)?)));
    due.collect()
}

/// Begins a run of a trigger's workflow on behalf of whoever made the trigger, and returns its id.
/// Two with the same key are one.
pub(crate) async fn start(
    hub: &Hub,
    trigger: &Trigger,
    inputs: Object,
    key: Option<String>,
) -> Result<String, A2aError> {
    let missing = |text: &str| A2aError::new(ErrorKind::InvalidParams, text);
    let gateway = hub.gateway.as_ref().ok_or_else(|| missing("this hub runs no workflows"))?;
    let found = hub.directory.state().present(&trigger.organisation, &trigger.workflow).cloned();
    let agent = found.ok_or_else(|| missing("the workflow was removed"))?;
    let mut ctx = CallContext::new(caller_of(&trigger.by));
    ctx.organisation = Some(trigger.organisation.as_str().into());
    ctx.tenant = Tenant::parse(agent.name.as_str()).ok();
    ctx.idempotency_key = key;
    let data = Object::from_members([("inputs", inputs.into_raw())]).into_raw();
    let parts = vec![Part::data(data).with_media_type("application/json")];
    let mut message = Message { parts, ..Message::user("") };
    if let Some(key) = &ctx.idempotency_key {
        message.message_id = message_of(key);
    }
    let request =
        SendMessageRequest { tenant: ctx.tenant.clone(), ..SendMessageRequest::new(message) };
    let mut events = gateway.begin_run(ctx, request, Note::default()).await?;
    let first = events.next().await.transpose()?;
    let run = first.and_then(|event| match event.response.value() {
        Ok(StreamResponse::Task(task)) => Some(task.id.to_string()),
        _ => None,
    });
    run.ok_or_else(|| A2aError::new(ErrorKind::Internal, "the run has not begun"))
}
