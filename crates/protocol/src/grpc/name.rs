//! The resource names of A2A 0.3.
//!
//! Identifiers are opaque and may hold a slash. Only a task whose identifier would read as the
//! name of a webhook, because it holds `/pushNotificationConfigs/` or ends so, has no name. To
//! write one all the same would name the webhook of another task.

use std::str::FromStr;

use crate::{
    ids::{InvalidId, PushConfigId, TaskId},
    json::Error,
};

const TASKS: &str = "tasks/";
const CONFIGS: &str = "/pushNotificationConfigs/";

/// Writes `tasks/{task}`, given the field in which the model keeps the task.
pub(super) fn task_name(task: &TaskId, field: &str) -> Result<String, Error> {
    let name = format!("{TASKS}{task}");
    match split(&name) {
        Some((_, None)) => Ok(name),
        _ => {
            Err(Error::shape("reads as the name of a webhook in A2A 0.3; ask in 1.0").inside(field))
        }
    }
}

/// Writes `tasks/{task}/pushNotificationConfigs/{config}`, given the field in which the model
/// keeps the task.
pub(super) fn config_name(
    task: &TaskId,
    config: &PushConfigId,
    field: &str,
) -> Result<String, Error> {
    Ok(task_name(task, field)? + CONFIGS + config.as_str())
}

/// Reads `tasks/{task}` from a field.
pub(super) fn read_task_name(name: &str, field: &str) -> Result<TaskId, Error> {
    match split(name) {
        _ if name.is_empty() => Err(Error::missing(field)),
        Some((task, None)) => parse(task, field),
        _ => Err(Error::shape("expected `tasks/{task}`").inside(field)),
    }
}

/// Reads `tasks/{task}/pushNotificationConfigs/{config}` from a field.
pub(super) fn read_config_name(name: &str, field: &str) -> Result<(TaskId, PushConfigId), Error> {
    match split(name) {
        _ if name.is_empty() => Err(Error::missing(field)),
        Some((task, Some(config))) => Ok((parse(task, field)?, parse(config, field)?)),
        _ => {
            Err(Error::shape("expected `tasks/{task}/pushNotificationConfigs/{config}`")
                .inside(field))
        }
    }
}

/// Reads whatever of a webhook's name is there: peers leave out what they do not know.
pub(super) fn read_partial_config_name(
    name: &str,
    field: &str,
) -> Result<(Option<TaskId>, Option<PushConfigId>), Error> {
    match split(name) {
        _ if name.is_empty() => Ok((None, None)),
        Some((task, None | Some(""))) => Ok((Some(parse(task, field)?), None)),
        Some((task, Some(config))) => Ok((Some(parse(task, field)?), Some(parse(config, field)?))),
        None => {
            Err(Error::shape("expected `tasks/{task}/pushNotificationConfigs/{config}`")
                .inside(field))
        }
    }
}

/// Splits a name into task and webhook, which may be left out, its slash included.
fn split(name: &str) -> Option<(&str, Option<&str>)> {
    let rest = name.strip_prefix(TASKS)?;
    if let Some((task, config)) = rest.split_once(CONFIGS) {
        return Some((task, Some(config)));
    }
    Some(match rest.strip_suffix(CONFIGS.trim_end_matches('/')) {
        Some(task) => (task, Some("")),
        None => (rest, None),
    })
}

fn parse<T: FromStr<Err = InvalidId>>(text: &str, field: &str) -> Result<T, Error> {
    text.parse().map_err(|error: InvalidId| Error::shape(error.to_string()).inside(field))
}
