//! Sending messages and registering webhooks, in every form.

use super::{Loose, once, optional};
use crate::{
    ids::{PushConfigId, TaskId},
    json::{Error, Reader, read_id, read_value},
    operation::{SendMessageConfiguration, SendMessageRequest},
    push::{AuthenticationInfo, TaskPushNotificationConfig},
};

impl Loose {
    /// Reads the parameters of sending a message. A member that says to wait or not to wait
    /// is understood in both spellings; none means to wait (C-25), except in the protobuf form,
    /// where it means that the caller does not.
    pub(in crate::dialect) fn send(
        self,
        reader: &mut Reader<'_>,
    ) -> Result<SendMessageRequest, Error> {
        self.send_with(reader, |reader, _| reader.skip())
    }

    /// Reads the parameters of sending a message, in a form that has more of them: each goes
    /// to `other`.
    pub(in crate::dialect) fn send_with<'a>(
        self,
        reader: &mut Reader<'a>,
        mut other: impl FnMut(&mut Reader<'a>, &str) -> Result<(), Error>,
    ) -> Result<SendMessageRequest, Error> {
        let mut tenant = None;
        let mut message = None;
        let mut configuration = None;
        let mut metadata = None;
        reader.members(|reader, key| match &*key {
            "tenant" => once(&mut tenant, read_id(reader)?),
            "message" | "request" => once(&mut message, Some(self.message(reader)?)),
            "configuration" => {
                once(&mut configuration, optional(reader, |reader| self.configuration(reader))?)
            }
            "metadata" => once(&mut metadata, read_value(reader)?),
            key => other(reader, key),
        })?;
        let message = message.ok_or_else(|| Error::missing("message"))?;
        Ok(SendMessageRequest { tenant, message, configuration, metadata })
    }

    fn configuration(self, reader: &mut Reader<'_>) -> Result<SendMessageConfiguration, Error> {
        let mut accepted_output_modes = None;
        let mut push = None;
        let mut history_length = None;
        let mut waits = None;
        reader.members(|reader, key| match &*key {
            "acceptedOutputModes" | "accepted_output_modes" => {
                once(&mut accepted_output_modes, read_value(reader)?)
            }
            "pushNotificationConfig"
            | "push_notification_config"
            | "pushNotification"
            | "push_notification"
            | "taskPushNotificationConfig"
            | "task_push_notification_config" => {
                once(&mut push, optional(reader, read_push_config)?)
            }
            "historyLength" | "history_length" => once(&mut history_length, read_value(reader)?),
            "blocking" => once(&mut waits, read_value::<bool>(reader)?),
            "returnImmediately" | "return_immediately" => {
                once(&mut waits, read_value::<bool>(reader)?.map(|immediately| !immediately))
            }
            _ => reader.skip(),
        })?;
        Ok(SendMessageConfiguration {
            accepted_output_modes: accepted_output_modes.unwrap_or_default(),
            task_push_notification_config: push,
            history_length,
            // Protobuf leaves out what is false.
            return_immediately: !waits.unwrap_or(!self.nests_data),
        })
    }
}

/// Reads a webhook without its task, in the form of 0.3 or in the flat one of 1.0.
pub(in crate::dialect) fn read_push_config(
    reader: &mut Reader<'_>,
) -> Result<TaskPushNotificationConfig, Error> {
    let mut tenant = None;
    let mut id: Option<PushConfigId> = None;
    let mut task_id: Option<TaskId> = None;
    let mut url: Option<String> = None;
    let mut token = None;
    let mut authentication = None;
    reader.members(|reader, key| match &*key {
        "tenant" => once(&mut tenant, read_id(reader)?),
        "id" => once(&mut id, read_id(reader)?),
        "taskId" | "task_id" => once(&mut task_id, read_id(reader)?),
        "url" => once(&mut url, read_value(reader)?),
        "token" => once(&mut token, read_value(reader)?),
        "authentication" => {
            once(&mut authentication, optional(reader, read_authentication)?.flatten())
        }
        _ => reader.skip(),
    })?;
    Ok(TaskPushNotificationConfig {
        tenant,
        id,
        task_id,
        url: url.ok_or_else(|| Error::missing("url"))?,
        token: token.unwrap_or_default(),
        authentication,
    })
}

/// Reads how to authenticate; of several schemes the first is kept, the model has one.
fn read_authentication(reader: &mut Reader<'_>) -> Result<Option<AuthenticationInfo>, Error> {
    let mut scheme: Option<String> = None;
    let mut credentials = None;
    reader.members(|reader, key| match &*key {
        "scheme" => once(&mut scheme, read_value(reader)?),
        "schemes" => {
            let schemes: Vec<String> = read_value(reader)?.unwrap_or_default();
            once(&mut scheme, schemes.into_iter().next())
        }
        "credentials" => once(&mut credentials, read_value(reader)?),
        _ => reader.skip(),
    })?;
    let credentials: String = credentials.unwrap_or_default();
    if scheme.is_none() && credentials.is_empty() {
        return Ok(None);
    }
    Ok(Some(AuthenticationInfo { scheme: scheme.unwrap_or_default(), credentials }))
}
