//! Webhooks.

use super::{
    mirror::{mirror, read_id, read_optional, read_required, read_text, write_id},
    name::{config_name, read_partial_config_name, read_task_name, task_name},
    v1, v03,
};
use crate::{
    json::Error,
    push::{AuthenticationInfo, TaskPushNotificationConfig},
};

mirror! {
    v1: TaskPushNotificationConfig = TaskPushNotificationConfig {
        tenant: id "tenant",
        id: id "id",
        task_id: id "taskId",
        url: text "url",
        token: same,
        authentication: optional "authentication",
    }
}

mirror! {
    v1: AuthenticationInfo = AuthenticationInfo {
        scheme: text "scheme",
        credentials: same,
    }
}

/// The webhook without the task: what a message's configuration holds.
impl From<TaskPushNotificationConfig> for v03::PushNotificationConfig {
    fn from(config: TaskPushNotificationConfig) -> Self {
        Self {
            id: write_id(config.id.as_ref()),
            url: config.url,
            token: config.token,
            authentication: config.authentication.map(Into::into),
        }
    }
}

impl TryFrom<v03::PushNotificationConfig> for TaskPushNotificationConfig {
    type Error = Error;

    fn try_from(config: v03::PushNotificationConfig) -> Result<Self, Error> {
        Ok(Self {
            tenant: None,
            id: read_id(&config.id, "id")?,
            task_id: None,
            url: read_text(config.url, "url")?,
            token: config.token,
            authentication: read_optional(config.authentication, "authentication")?,
        })
    }
}

impl From<AuthenticationInfo> for v03::AuthenticationInfo {
    fn from(authentication: AuthenticationInfo) -> Self {
        let AuthenticationInfo { scheme, credentials } = authentication;
        let schemes = if scheme.is_empty() { Vec::new() } else { vec![scheme] };
        Self { schemes, credentials }
    }
}

impl TryFrom<v03::AuthenticationInfo> for AuthenticationInfo {
    type Error = Error;

    fn try_from(authentication: v03::AuthenticationInfo) -> Result<Self, Error> {
        let scheme = authentication.schemes.into_iter().next().unwrap_or_default();
        Ok(Self { scheme, credentials: authentication.credentials })
    }
}

impl TryFrom<TaskPushNotificationConfig> for v03::TaskPushNotificationConfig {
    type Error = Error;

    fn try_from(config: TaskPushNotificationConfig) -> Result<Self, Error> {
        let name = match (&config.task_id, &config.id) {
            (Some(task), Some(id)) => config_name(task, id, "taskId")?,
            (Some(task), None) => task_name(task, "taskId")?,
            (None, _) => String::new(),
        };
        Ok(Self { name, push_notification_config: Some(config.into()) })
    }
}

impl TryFrom<v03::TaskPushNotificationConfig> for TaskPushNotificationConfig {
    type Error = Error;

    fn try_from(proto: v03::TaskPushNotificationConfig) -> Result<Self, Error> {
        let (task_id, id) = read_partial_config_name(&proto.name, "name")?;
        let mut config: Self =
            read_required(proto.push_notification_config, "pushNotificationConfig")?;
        config.task_id = task_id;
        config.id = config.id.or(id);
        Ok(config)
    }
}

/// Asks for a webhook to be registered.
impl TryFrom<TaskPushNotificationConfig> for v03::CreateTaskPushNotificationConfigRequest {
    type Error = Error;

    fn try_from(config: TaskPushNotificationConfig) -> Result<Self, Error> {
        let task = config.task_id.as_ref().ok_or_else(|| Error::missing("taskId"))?;
        Ok(Self {
            parent: task_name(task, "taskId")?,
            config_id: write_id(config.id.as_ref()),
            config: Some(config.try_into()?),
        })
    }
}

impl TryFrom<v03::CreateTaskPushNotificationConfigRequest> for TaskPushNotificationConfig {
    type Error = Error;

    fn try_from(request: v03::CreateTaskPushNotificationConfigRequest) -> Result<Self, Error> {
        // The parent decides; the webhook's own name is often left out or incomplete.
        let task_id = read_task_name(&request.parent, "parent")?;
        let id = read_id(&request.config_id, "configId")?;
        let proto = request.config.ok_or_else(|| Error::missing("config"))?;
        let mut config: Self =
            read_required(proto.push_notification_config, "pushNotificationConfig")
                .map_err(|error| error.inside("config"))?;
        config.task_id = Some(task_id);
        config.id = id.or(config.id);
        Ok(config)
    }
}
