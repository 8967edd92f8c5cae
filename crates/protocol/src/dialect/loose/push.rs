//! Webhooks together with their task, in every form.

use super::{Outline, list, once, optional, read_push_config};
use crate::{
    ids::{InvalidId, PushConfigId, TaskId},
    json::{Error, Kind, Reader, read_id, read_value, read_with},
    operation::ListTaskPushNotificationConfigsResponse,
    push::TaskPushNotificationConfig,
};

/// What stands between task and webhook in a resource name of 0.3.
const CONFIGS: &str = "/pushNotificationConfigs/";

/// Reads a webhook with its task: flat as in 1.0, nested beside its task's id or name as in
/// 0.3, or one level deeper inside the request that creates it.
pub(in crate::dialect) fn read_task_push_config(
    reader: &mut Reader<'_>,
) -> Result<TaskPushNotificationConfig, Error> {
    let outline = Outline::read(reader)?;
    read_with(outline.text, |reader| {
        if outline.has("config") { read_creation(reader) } else { read_named(reader, &outline) }
    })
}

/// Reads one page of webhooks, or the bare list of them.
pub(in crate::dialect) fn read_push_configs(
    reader: &mut Reader<'_>,
) -> Result<ListTaskPushNotificationConfigsResponse, Error> {
    // Protobuf omits an empty list, and some write it as null.
    let mut configs = None;
    let mut next_page_token = None;
    match reader.peek()? {
        Kind::Null => reader.skip()?,
        Kind::Array => configs = Some(list(reader, read_task_push_config)?),
        _ => reader.members(|reader, key| match &*key {
            "configs" => {
                once(&mut configs, optional(reader, |reader| list(reader, read_task_push_config))?)
            }
            "nextPageToken" | "next_page_token" => once(&mut next_page_token, read_value(reader)?),
            _ => reader.skip(),
        })?,
    }
    Ok(ListTaskPushNotificationConfigsResponse {
        configs: configs.unwrap_or_default(),
        next_page_token: next_page_token.unwrap_or_default(),
    })
}

/// Reads `{"parent":"tasks/{task}","configId":…,"config":{…}}`.
fn read_creation(reader: &mut Reader<'_>) -> Result<TaskPushNotificationConfig, Error> {
    let mut parent: Option<String> = None;
    let mut id = None;
    let mut config = None;
    reader.members(|reader, key| match &*key {
        "parent" => once(&mut parent, read_value(reader)?),
        "configId" | "config_id" => once(&mut id, read_id::<PushConfigId>(reader)?),
        "config" => {
            let outline = Outline::read(reader)?;
            let read = read_with(outline.text, |reader| read_named(reader, &outline))?;
            once(&mut config, Some(read))
        }
        _ => reader.skip(),
    })?;
    let mut config = config.ok_or_else(|| Error::missing("config"))?;
    let task = parent.as_deref().and_then(|parent| parent.strip_prefix("tasks/"));
    parse(task, TaskId::parse)
        .and_then(|task| agree(&mut config.task_id, task))
        .map_err(|error| error.inside("parent"))?;
    agree(&mut config.id, id).map_err(|error| error.inside("configId"))?;
    Ok(config)
}

/// Reads `{"taskId":…,"pushNotificationConfig":{…}}` or `{"name":…,"pushNotificationConfig":{…}}`
/// or the flat form.
fn read_named(
    reader: &mut Reader<'_>,
    outline: &Outline<'_>,
) -> Result<TaskPushNotificationConfig, Error> {
    if !outline.has("pushNotificationConfig") && !outline.has("push_notification_config") {
        return read_push_config(reader);
    }
    let mut task = None;
    let mut name: Option<String> = None;
    let mut config = None;
    reader.members(|reader, key| match &*key {
        "taskId" | "task_id" => once(&mut task, read_id::<TaskId>(reader)?),
        "name" => once(&mut name, read_value(reader)?),
        "pushNotificationConfig" | "push_notification_config" => {
            once(&mut config, optional(reader, read_push_config)?)
        }
        _ => reader.skip(),
    })?;
    let mut config = config.ok_or_else(|| Error::missing("pushNotificationConfig"))?;
    agree(&mut config.task_id, task).map_err(|error| error.inside("taskId"))?;
    let (task, id) = split_name(name.as_deref().unwrap_or_default(), config.id.as_ref());
    parse(task, TaskId::parse)
        .and_then(|task| agree(&mut config.task_id, task))
        .and_then(|()| parse(id, PushConfigId::parse))
        .and_then(|id| agree(&mut config.id, id))
        .map_err(|error| error.inside("name"))?;
    Ok(config)
}

/// Splits `tasks/{task}/pushNotificationConfigs/{id}`. The id, where it is known, tells which
/// of two separators is the true one.
fn split_name<'a>(name: &'a str, id: Option<&PushConfigId>) -> (Option<&'a str>, Option<&'a str>) {
    let Some(name) = name.strip_prefix("tasks/") else { return (None, None) };
    let known = id.and_then(|id| name.strip_suffix(id.as_str())?.strip_suffix(CONFIGS));
    match known {
        Some(task) => (Some(task), None),
        None => match name.split_once(CONFIGS) {
            Some((task, id)) => (Some(task), Some(id)),
            None => (Some(name), None),
        },
    }
}

/// Parses an identifier inside a name; an empty one counts as absent.
fn parse<T>(
    text: Option<&str>,
    parse: impl FnOnce(&str) -> Result<T, InvalidId>,
) -> Result<Option<T>, Error> {
    let text = text.filter(|text| !text.is_empty());
    text.map(parse).transpose().map_err(|error| Error::shape(error.to_string()))
}

/// Fills a slot with what was found elsewhere; refuses two that differ.
fn agree<T: PartialEq>(slot: &mut Option<T>, found: Option<T>) -> Result<(), Error> {
    match (&slot, found) {
        (Some(known), Some(found)) if *known != found => {
            Err(Error::shape("contradicts the configuration"))
        }
        (None, found) => {
            *slot = found;
            Ok(())
        }
        _ => Ok(()),
    }
}
