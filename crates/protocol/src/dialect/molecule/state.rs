//! The two states that molecule does not know (catalogue §7.3).
//!
//! They are written as the nearest one it knows, and told truly in the metadata beside, so
//! that our own reader finds them again.

use std::borrow::Cow;

use crate::{
    dialect::v03::write,
    json::{Object, Raw},
    state::TaskState,
    task::{StreamResponse, Task, TaskStatus, TaskStatusUpdateEvent},
};

/// The metadata member that tells the true state.
const STATE: &str = "state";

/// The metadata member that tells why a task was rejected.
const REASON: &str = "reason";

/// Returns the state that molecule knows.
pub(super) fn lowered(state: TaskState) -> TaskState {
    match state {
        TaskState::AuthRequired => TaskState::InputRequired,
        TaskState::Rejected => TaskState::Failed,
        state => state,
    }
}

/// Returns what the metadata has to tell of a status, if molecule does not know its state.
pub(super) fn told(status: &TaskStatus) -> Option<Object> {
    if lowered(status.state) == status.state {
        return None;
    }
    let state = Object::from_members([(STATE, Raw::string(write::state(status.state)))]);
    let reason = (status.state == TaskState::Rejected)
        .then(|| status.message.as_ref().map_or_else(String::new, |message| message.text()));
    Some(match reason.filter(|reason| !reason.is_empty()) {
        Some(reason) => state.with(REASON, Raw::string(&reason)),
        None => state,
    })
}

pub(super) fn lower_task(task: &Task) -> Cow<'_, Task> {
    let Some(told) = told(&task.status) else { return Cow::Borrowed(task) };
    let mut task = task.clone();
    lower(&mut task.status, &mut task.metadata, &told);
    Cow::Owned(task)
}

pub(super) fn lower_update(update: &TaskStatusUpdateEvent) -> Cow<'_, TaskStatusUpdateEvent> {
    let Some(told) = told(&update.status) else { return Cow::Borrowed(update) };
    let mut update = update.clone();
    lower(&mut update.status, &mut update.metadata, &told);
    Cow::Owned(update)
}

fn lower(status: &mut TaskStatus, metadata: &mut Option<Object>, told: &Object) {
    status.state = lowered(status.state);
    let rest = metadata.take().unwrap_or_default();
    let all = told.members().into_iter().fold(rest, |all, (key, value)| all.with(&key, value));
    *metadata = Some(all);
}

/// Gives an event back the state that it had before it was written for molecule.
pub(super) fn raise_event(event: &mut StreamResponse) {
    match event {
        StreamResponse::Task(task) => raise_task(task),
        StreamResponse::StatusUpdate(update) => raise(&mut update.status, &mut update.metadata),
        StreamResponse::Message(_) | StreamResponse::ArtifactUpdate(_) => {}
    }
}

pub(super) fn raise_task(task: &mut Task) {
    raise(&mut task.status, &mut task.metadata);
}

fn raise(status: &mut TaskStatus, metadata: &mut Option<Object>) {
    let Some(members) = metadata else { return };
    let told = members.get(STATE).and_then(|state| state.as_text());
    status.state = match (status.state, told.as_deref()) {
        (TaskState::InputRequired, Some("auth-required")) => TaskState::AuthRequired,
        (TaskState::Failed, Some("rejected")) => TaskState::Rejected,
        _ => return,
    };
    let rest = match status.state {
        TaskState::Rejected => members.without(STATE).without(REASON),
        _ => members.without(STATE),
    };
    *metadata = Some(rest).filter(|rest| !rest.is_empty());
}
