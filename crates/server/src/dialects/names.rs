//! Names that callers give to their tasks (C-29).
//!
//! A name is kept nowhere: the identifier of its task follows from the name and from whose it
//! is, in every process and for ever. Two callers with the same name have two tasks (PG-08).
//! Whatever is answered to a caller that uses a name calls the task by that name.

use std::fmt::Write as _;

use aws_lc_rs::digest::{Context, SHA256};
use futures_util::{StreamExt as _, stream};
use nuncio_protocol::{
    dialect::WireForm,
    error::{Error, ErrorKind},
    ids::TaskId,
    json::Shared,
    message::Message,
    operation::{GetTaskRequest, Request, SubscribeToTaskRequest},
    service::{self, A2aService, Answered, CallContext, Event, Outcome},
    task::{SendMessageResponse, StreamResponse, Task},
};
use nuncio_tasks::scope::Place;

/// The member of an error's metadata that names the task.
const TASK_ID: &str = "taskId";

/// Returns the name by which a request calls its task, in forms in which callers name them.
pub(crate) fn name_in(form: WireForm, request: &Request, given: Option<String>) -> Option<String> {
    if !matches!(form, WireForm::PocketPaw | WireForm::PocketPawHttp) {
        return given;
    }
    let task = match request {
        Request::SendMessage(send) | Request::SendStreamingMessage(send) => {
            send.message.task_id.as_ref()
        }
        Request::GetTask(request) => Some(&request.id),
        Request::CancelTask(request) => Some(&request.id),
        Request::SubscribeToTask(request) => Some(&request.id),
        _ => None,
    };
    given.or_else(|| task.map(|task| task.as_str().to_owned()))
}

/// Returns the identifier of the task that a caller calls by a name. It looks like any other:
/// a UUID of version 8, which is the one for whatever its maker likes.
pub(crate) fn task_of(place: &Place, name: &str) -> TaskId {
    let mut hash = Context::new(&SHA256);
    // Lengths keep the parts apart, whatever they contain.
    for part in [
        "nuncio task name",
        place.tenant.as_str(),
        place.agent.as_str(),
        place.caller.as_str(),
        name,
    ] {
        hash.update(&(part.len() as u64).to_be_bytes());
        hash.update(part.as_bytes());
    }
    let hash = hash.finish();
    let mut bytes = [0; 16];
    bytes.copy_from_slice(&hash.as_ref()[..16]);
    bytes[6] = bytes[6] & 0x0f | 0x80;
    bytes[8] = bytes[8] & 0x3f | 0x80;
    let mut text = String::with_capacity(36);
    for (index, byte) in bytes.iter().enumerate() {
        if matches!(index, 4 | 6 | 8 | 10) {
            text.push('-');
        }
        let _ = write!(text, "{byte:02x}");
    }
    // 36 letters are within what an identifier may have.
    TaskId::parse(&text).unwrap_or_else(|_| TaskId::generate())
}

/// Calls the agent for somebody who calls a task by a name.
pub(crate) async fn call(
    service: &dyn A2aService,
    ctx: CallContext,
    request: Request,
    name: String,
) -> Result<Outcome, Error> {
    let follow = match &request {
        Request::SubscribeToTask(request) => Some((ctx.clone(), request.clone())),
        _ => None,
    };
    let outcome = match (service::call(service, ctx, request).await, follow) {
        (Err(error), Some((ctx, request))) if error.kind() == ErrorKind::UnsupportedOperation => {
            last_word(service, ctx, request, error).await
        }
        (outcome, _) => outcome,
    };
    give_back(outcome, &name)
}

/// Says the last word about a task that has ended to whoever wants to follow it, where A2A
/// would refuse (C-04).
async fn last_word(
    service: &dyn A2aService,
    ctx: CallContext,
    request: SubscribeToTaskRequest,
    error: Error,
) -> Result<Outcome, Error> {
    let SubscribeToTaskRequest { tenant, id } = request;
    let request = GetTaskRequest { tenant, id, history_length: None };
    let task = service::read(service.get_task(ctx, request).await?)?;
    if !task.status.state.is_terminal() {
        return Err(error);
    }
    let response = Shared::new(StreamResponse::Task(task));
    Ok(Outcome::Events(Box::pin(stream::iter([Ok(Event { seq: None, response })]))))
}

/// Calls the task in whatever is answered by the name that the caller used.
fn give_back(outcome: Result<Outcome, Error>, name: &str) -> Result<Outcome, Error> {
    let Ok(name) = TaskId::parse(name) else { return outcome };
    match outcome {
        Ok(Outcome::Answer(answer)) => Ok(Outcome::Answer(match answer {
            Answered::SendMessage(answer) => {
                Answered::SendMessage(Shared::new(match service::read(answer)? {
                    SendMessageResponse::Task(task) => {
                        SendMessageResponse::Task(in_task(task, &name))
                    }
                    SendMessageResponse::Message(mut message) => {
                        message.task_id = Some(name);
                        SendMessageResponse::Message(message)
                    }
                }))
            }
            Answered::Task(task) => {
                Answered::Task(Shared::new(in_task(service::read(task)?, &name)))
            }
            other => other,
        })),
        Ok(Outcome::Events(events)) => Ok(Outcome::Events(Box::pin(events.map(move |event| {
            event.map(|event| in_event(event, &name)).map_err(|error| in_error(error, &name))
        })))),
        Err(error) => Err(in_error(error, &name)),
    }
}

fn in_task(mut task: Task, name: &TaskId) -> Task {
    task.id = name.clone();
    let status = task.status.message.as_deref_mut();
    for message in task.history.iter_mut().chain(status) {
        in_message(message, name);
    }
    task
}

fn in_message(message: &mut Message, name: &TaskId) {
    if let Some(task) = &mut message.task_id {
        *task = name.clone();
    }
}

fn in_event(event: Event, name: &TaskId) -> Event {
    let Ok(said) = event.response.value() else { return event };
    let said = match said.clone() {
        StreamResponse::Task(task) => StreamResponse::Task(in_task(task, name)),
        StreamResponse::Message(mut message) => {
            message.task_id = Some(name.clone());
            StreamResponse::Message(message)
        }
        StreamResponse::StatusUpdate(mut update) => {
            update.task_id = name.clone();
            if let Some(message) = update.status.message.as_deref_mut() {
                in_message(message, name);
            }
            StreamResponse::StatusUpdate(update)
        }
        StreamResponse::ArtifactUpdate(mut update) => {
            update.task_id = name.clone();
            StreamResponse::ArtifactUpdate(update)
        }
    };
    Event { seq: event.seq, response: Shared::new(said) }
}

fn in_error(error: Error, name: &TaskId) -> Error {
    let Some(task) = error.metadata().get(TASK_ID).cloned() else { return error };
    let text = error.message().replace(&task, name.as_str());
    error.with_message(text).with_metadata(TASK_ID, name.as_str())
}

#[cfg(test)]
mod tests {
    use nuncio_tasks::scope::Name;

    use super::*;

    fn place(tenant: &str, agent: &str, caller: &str) -> Place {
        let name = |text| Name::parse(text).expect("a name");
        Place { tenant: name(tenant), agent: name(agent), caller: name(caller) }
    }

    /// Names that are in stores must be found by every later version (C-29).
    #[test]
    fn a_name_stands_for_the_same_task_for_ever() {
        let task = task_of(&place("default", "paw", "anonymous"), "my.task_1-A");
        assert_eq!(task.as_str(), "7c03e0d3-af9c-8598-ab10-245da2629ac9");
    }

    #[test]
    fn no_two_places_share_a_name() {
        let places = [
            place("t", "a", "c"),
            place("ta", "a", "c"),
            place("t", "aa", "c"),
            place("t", "a", "ca"),
            place("t", "ac", "c"),
            place("a", "t", "c"),
        ];
        let tasks: std::collections::BTreeSet<TaskId> =
            places.iter().map(|place| task_of(place, "x")).collect();
        assert_eq!(tasks.len(), places.len());
    }
}
