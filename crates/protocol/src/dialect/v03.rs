//! A2A 0.3 on JSON-RPC (compatibility digest §3, §4 and §7).
//!
//! Decisions where 0.3 and 1.0 differ:
//!
//! - `tasks/pushNotificationConfig/get` may name the task alone. It is read as asking for the
//!   webhook that bears the task's own id, which is how the SDKs of 0.3 name the one that came
//!   without id, and it is written so again. Invariant: a server to which a webhook of that id
//!   is unknown answers with the first of the task.
//! - `blocking` is always written, also where the model has no configuration, because servers
//!   differ in what its absence means; absent it is read as `true` (C-25).
//! - `final` is true on the status that ends the task, and on the one behind which the stream is
//!   closed.
//! - `error.data` is an object of texts, the `reason` and the metadata of the 1.0 `ErrorInfo`,
//!   and absent where the code says it all.
//! - A card none of whose interfaces speaks 0.3 is written as 1.0 has it: there is nothing in it
//!   that a client of 0.3 could use.
//! - There is no way to list tasks: [`method`](JsonRpcForm::method) has none for it.
//!
//! What 0.3 has no place for stands in `docs/reference/translation.md`; of an error it has none
//! for violations, retry delay and typed details. And 1.0 has none for the metadata that 0.3
//! lets a caller send with the id of a task (except to cancel it), for more than one
//! authentication scheme of a webhook, and for the offset of a moment.

pub(super) mod error;
pub(super) mod request;
pub(super) mod write;

use self::request::EmptyModes;
use super::loose::{Loose, read_push_configs, read_task_push_config};
use crate::{
    card::{AgentCard, LegacyCard, read_any_from},
    error::Error,
    json::{self, Reader, Writer},
    operation::{Operation, Request, Response},
    task::StreamResponse,
    wire::{JsonRpcForm, StreamEnd},
};

/// A2A 0.3 on JSON-RPC.
#[derive(Clone, Copy, Debug)]
pub struct V03;

/// The methods of 0.3, each with what it stands for.
pub(super) const METHODS: [(Operation, &str); 10] = [
    (Operation::SendMessage, "message/send"),
    (Operation::SendStreamingMessage, "message/stream"),
    (Operation::GetTask, "tasks/get"),
    (Operation::CancelTask, "tasks/cancel"),
    (Operation::SubscribeToTask, "tasks/resubscribe"),
    (Operation::CreateTaskPushNotificationConfig, "tasks/pushNotificationConfig/set"),
    (Operation::GetTaskPushNotificationConfig, "tasks/pushNotificationConfig/get"),
    (Operation::ListTaskPushNotificationConfigs, "tasks/pushNotificationConfig/list"),
    (Operation::DeleteTaskPushNotificationConfig, "tasks/pushNotificationConfig/delete"),
    (Operation::GetExtendedAgentCard, "agent/getAuthenticatedExtendedCard"),
];

impl JsonRpcForm for V03 {
    fn methods(&self) -> &'static [(Operation, &'static str)] {
        &METHODS
    }

    fn read_request(
        &self,
        operation: Operation,
        reader: &mut Reader<'_>,
    ) -> Result<Request, json::Error> {
        request::read(Loose::default(), operation, reader)
    }

    fn write_request(&self, request: &Request, writer: &mut Writer) {
        request::write(request, EmptyModes::Omitted, writer);
    }

    fn read_response(
        &self,
        operation: Operation,
        reader: &mut Reader<'_>,
    ) -> Result<Response, json::Error> {
        read_response(Loose::default(), operation, reader)
    }

    fn write_response(&self, _: Operation, response: &Response, writer: &mut Writer) {
        match response {
            Response::SendMessage(answer) => write::answer(answer, writer),
            Response::Task(task) => write::task(task, writer),
            Response::Tasks(page) => write::tasks(page, writer, write::task),
            Response::PushConfig(config) => write::task_push_config(config, writer),
            Response::PushConfigs(page) => {
                writer.array(&page.configs, |writer, config| {
                    write::task_push_config(config, writer);
                });
            }
            Response::Deleted => writer.null(),
            Response::Card(card) => self.write_card(card, writer),
        }
    }

    fn read_event(&self, reader: &mut Reader<'_>) -> Result<StreamResponse, json::Error> {
        Loose::default().wrapped_event(reader)
    }

    fn write_event(&self, event: &StreamResponse, end: StreamEnd, writer: &mut Writer) {
        write::event(event, end, writer);
    }

    fn read_error(&self, reader: &mut Reader<'_>) -> Result<Error, json::Error> {
        error::read(reader)
    }

    fn write_error(&self, error: &Error, writer: &mut Writer) {
        error::write(error, writer);
    }

    fn write_card(&self, card: &AgentCard, writer: &mut Writer) {
        write::card(card, LegacyCard::v03(card), writer);
    }
}

/// Reads the result of an operation, tolerantly.
pub(super) fn read_response(
    loose: Loose,
    operation: Operation,
    reader: &mut Reader<'_>,
) -> Result<Response, json::Error> {
    Ok(match operation {
        Operation::SendMessage => Response::SendMessage(loose.answer(reader)?),
        Operation::GetTask | Operation::CancelTask => Response::Task(loose.task(reader)?),
        Operation::ListTasks => Response::Tasks(loose.tasks(reader)?),
        Operation::CreateTaskPushNotificationConfig | Operation::GetTaskPushNotificationConfig => {
            Response::PushConfig(read_task_push_config(reader)?)
        }
        Operation::ListTaskPushNotificationConfigs => {
            Response::PushConfigs(read_push_configs(reader)?)
        }
        Operation::GetExtendedAgentCard => Response::Card(read_any_from(reader)?.0),
        Operation::DeleteTaskPushNotificationConfig
        | Operation::SendStreamingMessage
        | Operation::SubscribeToTask => Response::read(operation, reader)?,
    })
}

#[cfg(test)]
mod tests;
