//! Tells when a delegation has ended that the hub carries (MD-50).
//!
//! That one is under way is a note in the database, written with the event that it was sent and
//! taken away with the event that it has ended. So the end is told once, whichever hub sees it,
//! and also if none was there when it came.

use nuncio_protocol::{ids::TaskId, json::Raw};
use nuncio_tasks::scope::Scope;

use super::{outcome_of, scope_of, task_within};
use crate::{agent::Agent, directory::Delegation, error::Error, event, gateway::Gateway, hub::Hub};

/// Looks which of the delegations under way have ended, and says so.
pub(crate) async fn tell_ended(hub: &Hub) -> Result<(), Error> {
    let Some(gateway) = &hub.gateway else { return Ok(()) };
    for delegation in hub.directory.delegations() {
        let source = hub.directory.state().agent(&delegation.source).cloned();
        let told = match &source {
            Some(source) => ending(gateway, source, &delegation).await,
            None => Some(Ending::gone()),
        };
        if let Some(Ending { name, payload }) = told {
            hub.directory.delegation_ended(&delegation, name, &payload).await?;
        }
    }
    Ok(())
}

/// How a delegation has ended.
struct Ending {
    name: event::Name,
    payload: Vec<(&'static str, Raw)>,
}

impl Ending {
    fn gone() -> Self {
        let payload = vec![("error", Raw::string("the task was removed"))];
        Self { name: event::Name::DelegationFailed, payload }
    }
}

/// Returns how a delegation has ended. What cannot be found out now is asked again later.
async fn ending(gateway: &Gateway, source: &Agent, delegation: &Delegation) -> Option<Ending> {
    let (Some(scope), Ok(id)) = (scope_of(source), TaskId::parse(&delegation.id)) else {
        return Some(Ending::gone());
    };
    if !has_ended(gateway, &scope, &id).await? {
        return None;
    }
    let Some(task) = task_within(gateway, &scope, &id).await.ok()? else {
        return Some(Ending::gone());
    };
    let (status, error, response) = outcome_of(&task);
    let name = match status {
        "completed" => event::Name::DelegationComplete,
        _ => event::Name::DelegationFailed,
    };
    let texts = [("error", error), ("response_preview", response)];
    let payload =
        texts.into_iter().filter_map(|(member, text)| Some((member, Raw::string(&text?))));
    Some(Ending { name, payload: payload.collect() })
}

/// Tells whether a task has ended, or was removed, without reading it. `None` if the store does
/// not say.
async fn has_ended(gateway: &Gateway, scope: &Scope, id: &TaskId) -> Option<bool> {
    let kin = gateway.tasks().kin(scope, id).await.ok()?;
    Some(kin.is_none_or(|kin| kin.state.is_terminal()))
}
