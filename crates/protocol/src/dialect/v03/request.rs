//! The parameters of 0.3.

use super::write;
use crate::{
    dialect::loose::{Loose, once, read_task_push_config},
    ids::{PushConfigId, TaskId},
    json::{Error, Object, Reader, Writer, read_id, read_value},
    operation::{
        CancelTaskRequest, DeleteTaskPushNotificationConfigRequest, GetExtendedAgentCardRequest,
        GetTaskPushNotificationConfigRequest, GetTaskRequest,
        ListTaskPushNotificationConfigsRequest, Operation, Request, SendMessageConfiguration,
        SendMessageRequest, SubscribeToTaskRequest,
    },
};

/// Reads the parameters of an operation, and checks them.
pub(in crate::dialect) fn read(
    loose: Loose,
    operation: Operation,
    reader: &mut Reader<'_>,
) -> Result<Request, Error> {
    let request = match operation {
        Operation::SendMessage => Request::SendMessage(loose.send(reader)?),
        Operation::SendStreamingMessage => Request::SendStreamingMessage(loose.send(reader)?),
        Operation::CreateTaskPushNotificationConfig => {
            Request::CreateTaskPushNotificationConfig(read_task_push_config(reader)?)
        }
        Operation::GetExtendedAgentCard => {
            // There are no parameters, so whatever stands there says nothing.
            reader.skip()?;
            Request::GetExtendedAgentCard(GetExtendedAgentCardRequest::default())
        }
        // 0.3 has no such method on JSON-RPC; who calls it all the same means that of 1.0.
        Operation::ListTasks => return Request::read(operation, reader),
        Operation::GetTask
        | Operation::CancelTask
        | Operation::SubscribeToTask
        | Operation::GetTaskPushNotificationConfig
        | Operation::ListTaskPushNotificationConfigs
        | Operation::DeleteTaskPushNotificationConfig => {
            TaskParams::read(reader)?.into_request(operation)?
        }
    };
    request.check()?;
    Ok(request)
}

/// The parameters of every operation on a task that exists.
#[derive(Default)]
struct TaskParams {
    id: Option<String>,
    task_id: Option<TaskId>,
    config: Option<PushConfigId>,
    history_length: Option<i32>,
    metadata: Option<Object>,
}

impl TaskParams {
    fn read(reader: &mut Reader<'_>) -> Result<Self, Error> {
        let mut params = Self::default();
        reader.members(|reader, key| match &*key {
            "id" => once(&mut params.id, read_id(reader)?),
            "taskId" | "task_id" => once(&mut params.task_id, read_id(reader)?),
            "pushNotificationConfigId" | "push_notification_config_id" => {
                once(&mut params.config, read_id(reader)?)
            }
            "historyLength" | "history_length" => {
                once(&mut params.history_length, read_value(reader)?)
            }
            "metadata" => once(&mut params.metadata, read_value(reader)?),
            _ => reader.skip(),
        })?;
        Ok(params)
    }

    fn into_request(self, operation: Operation) -> Result<Request, Error> {
        let tenant = None;
        Ok(match operation {
            Operation::CancelTask => {
                let (id, metadata) = (self.task()?, self.metadata);
                Request::CancelTask(CancelTaskRequest { tenant, id, metadata })
            }
            Operation::SubscribeToTask => {
                Request::SubscribeToTask(SubscribeToTaskRequest { tenant, id: self.task()? })
            }
            Operation::ListTaskPushNotificationConfigs => {
                Request::ListTaskPushNotificationConfigs(ListTaskPushNotificationConfigsRequest {
                    tenant,
                    task_id: self.task()?,
                    page_size: 0,
                    page_token: String::new(),
                })
            }
            Operation::GetTaskPushNotificationConfig => {
                let (task_id, id) = self.webhook()?;
                // The task alone asks for its only webhook, which bears the task's name.
                let id = id.map_or_else(|| parse(task_id.as_str(), PushConfigId::parse), Ok)?;
                Request::GetTaskPushNotificationConfig(GetTaskPushNotificationConfigRequest {
                    tenant,
                    task_id,
                    id,
                })
            }
            Operation::DeleteTaskPushNotificationConfig => {
                let (task_id, id) = self.webhook()?;
                let id = id.ok_or_else(|| Error::missing("pushNotificationConfigId"))?;
                Request::DeleteTaskPushNotificationConfig(DeleteTaskPushNotificationConfigRequest {
                    tenant,
                    task_id,
                    id,
                })
            }
            _ => {
                let (id, history_length) = (self.task()?, self.history_length);
                Request::GetTask(GetTaskRequest { tenant, id, history_length })
            }
        })
    }

    fn task(&self) -> Result<TaskId, Error> {
        match (&self.id, &self.task_id) {
            (Some(id), _) => parse(id, TaskId::parse).map_err(|error| error.inside("id")),
            (None, Some(task)) => Ok(task.clone()),
            (None, None) => Err(Error::missing("id")),
        }
    }

    /// Returns the task and the webhook: `id` names the task, unless `taskId` does, as in 1.0.
    fn webhook(&self) -> Result<(TaskId, Option<PushConfigId>), Error> {
        match (&self.task_id, &self.id, &self.config) {
            (Some(task), Some(id), None) => {
                let id = parse(id, PushConfigId::parse).map_err(|error| error.inside("id"))?;
                Ok((task.clone(), Some(id)))
            }
            (_, _, config) => Ok((self.task()?, config.clone())),
        }
    }
}

fn parse<T>(
    text: &str,
    parse: impl FnOnce(&str) -> Result<T, crate::ids::InvalidId>,
) -> Result<T, Error> {
    parse(text).map_err(|error| Error::shape(error.to_string()))
}

/// Whether an empty list of output modes is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::dialect) enum EmptyModes {
    Omitted,
    Written,
}

/// Writes the parameters of an operation.
pub(in crate::dialect) fn write(request: &Request, modes: EmptyModes, writer: &mut Writer) {
    match request {
        Request::SendMessage(request) => {
            // Servers differ in what they do when nobody says whether to wait; 1.0 waits.
            let wishes = request.configuration.clone().unwrap_or_default();
            write_send(request, Some(&wishes), modes, writer);
        }
        Request::SendStreamingMessage(request) => {
            write_send(request, request.configuration.as_ref(), modes, writer);
        }
        Request::CreateTaskPushNotificationConfig(config) => {
            write::task_push_config(config, writer);
        }
        // No parameters, but what is no object is refused by some.
        Request::GetExtendedAgentCard(_) => writer.object(|_| {}),
        _ => writer.object(|object| match request {
            Request::GetTask(request) => {
                object.member("id", &request.id);
                object.optional("historyLength", request.history_length.as_ref());
            }
            Request::CancelTask(request) => {
                object.member("id", &request.id);
                object.optional("metadata", request.metadata.as_ref());
            }
            Request::SubscribeToTask(request) => object.member("id", &request.id),
            Request::ListTaskPushNotificationConfigs(request) => {
                object.member("id", &request.task_id);
            }
            Request::GetTaskPushNotificationConfig(request) => {
                object.member("id", &request.task_id);
                if request.id.as_str() != request.task_id.as_str() {
                    object.member("pushNotificationConfigId", &request.id);
                }
            }
            Request::DeleteTaskPushNotificationConfig(request) => {
                object.member("id", &request.task_id);
                object.member("pushNotificationConfigId", &request.id);
            }
            _ => {}
        }),
    }
}

/// Writes the parameters of sending a message.
pub(in crate::dialect) fn write_send(
    request: &SendMessageRequest,
    wishes: Option<&SendMessageConfiguration>,
    modes: EmptyModes,
    writer: &mut Writer,
) {
    writer.object(|object| {
        object.with("message", |writer| write::message(&request.message, writer));
        if let Some(wishes) = wishes {
            object.with("configuration", |writer| write_configuration(wishes, modes, writer));
        }
        object.optional("metadata", request.metadata.as_ref());
    });
}

fn write_configuration(wishes: &SendMessageConfiguration, modes: EmptyModes, writer: &mut Writer) {
    writer.object(|object| {
        if modes == EmptyModes::Written || !wishes.accepted_output_modes.is_empty() {
            object.member("acceptedOutputModes", &wishes.accepted_output_modes);
        }
        object.optional("historyLength", wishes.history_length.as_ref());
        if let Some(config) = &wishes.task_push_notification_config {
            object.with("pushNotificationConfig", |writer| write::push_config(config, writer));
        }
        object.member("blocking", &!wishes.return_immediately);
    });
}
