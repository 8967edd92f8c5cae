//! States, roles and moments, in every spelling.

use crate::{
    json::{Error, FromJson, Kind, Reader},
    message::Role,
    state::TaskState,
    time::Timestamp,
};

/// Reads a state in any spelling.
pub(in crate::dialect) fn read_state(reader: &mut Reader<'_>) -> Result<TaskState, Error> {
    if reader.peek()? == Kind::Number {
        return TaskState::read(reader);
    }
    let name = reader.string()?;
    Ok(match &*name {
        "submitted" | "created" | "pending" => TaskState::Submitted,
        "working" | "running" => TaskState::Working,
        "input-required" | "input_required" | "waiting" => TaskState::InputRequired,
        "completed" => TaskState::Completed,
        "canceled" | "cancelled" | "TASK_STATE_CANCELLED" => TaskState::Canceled,
        "failed" => TaskState::Failed,
        "rejected" => TaskState::Rejected,
        "auth-required" | "auth_required" => TaskState::AuthRequired,
        "unknown" => TaskState::Unspecified,
        name => TaskState::from_name(name).ok_or_else(|| {
            Error::shape(format!(
                "`{name}` is not one of submitted, working, input-required, completed, canceled, \
                 failed, rejected, auth-required, unknown"
            ))
        })?,
    })
}

/// Reads a role in any spelling.
pub(in crate::dialect) fn read_role(reader: &mut Reader<'_>) -> Result<Role, Error> {
    if reader.peek()? == Kind::Number {
        return Role::read(reader);
    }
    let name = reader.string()?;
    match &*name {
        "user" => Ok(Role::User),
        "agent" => Ok(Role::Agent),
        name => Role::from_name(name)
            .ok_or_else(|| Error::shape(format!("`{name}` is not one of user, agent"))),
    }
}

/// Reads a moment; without offset it is taken for UTC, as some peers mean it.
pub(in crate::dialect) fn read_timestamp(reader: &mut Reader<'_>) -> Result<Timestamp, Error> {
    let text = reader.string()?;
    text.parse()
        .or_else(|_| format!("{text}Z").parse())
        .map_err(|error: crate::time::InvalidTimestamp| Error::shape(error.to_string()))
}
