//! Requests, answers and events, read from `PocketPaw`'s form or anything near it.

use crate::{
    dialect::loose::{Loose, Outline, list, once, optional},
    ids::{ContextId, TaskId},
    json::{self, Error, Raw, Reader, read_id, read_value, read_with},
    message::Message,
    operation::{
        CancelTaskRequest, GetTaskRequest, Operation, Request, Response, SendMessageRequest,
        SubscribeToTaskRequest,
    },
    task::{SendMessageResponse, StreamResponse},
};

const LOOSE: Loose = Loose { makes_message_ids: true, omits_empty: false, nests_data: false };

/// The member of a request's metadata that holds the messages a client brought along.
pub(super) const HISTORY: &str = "history";

/// The longest name that clients may give a task (PD-01).
const MAX_TASK_NAME: usize = 128;

pub(super) fn request(operation: Operation, reader: &mut Reader<'_>) -> Result<Request, Error> {
    let request = match operation {
        Operation::SendMessage => Request::SendMessage(send(reader)?),
        Operation::SendStreamingMessage => Request::SendStreamingMessage(send(reader)?),
        Operation::GetTask => Request::GetTask(get(reader)?),
        Operation::CancelTask => Request::CancelTask(cancel(None, reader)?),
        Operation::SubscribeToTask => {
            let GetTaskRequest { tenant, id, .. } = get(reader)?;
            Request::SubscribeToTask(SubscribeToTaskRequest { tenant, id })
        }
        _ => return Err(Error::shape("this wire form has no such operation")),
    };
    request.check()?;
    Ok(request)
}

fn send(reader: &mut Reader<'_>) -> Result<SendMessageRequest, Error> {
    let mut name = None;
    let mut context: Option<ContextId> = None;
    let mut session = None;
    let mut history: Option<Vec<Message>> = None;
    let mut request = LOOSE.send_with(reader, |reader, key| match key {
        "id" => once(&mut name, optional(reader, task_name)?),
        "context_id" | "contextId" => once(&mut context, read_id(reader)?),
        "session_id" | "sessionId" => once(&mut session, read_id(reader)?),
        "history" => once(
            &mut history,
            optional(reader, |reader| list(reader, |reader| LOOSE.message(reader)))?,
        ),
        _ => reader.skip(),
    })?;
    let message = &mut request.message;
    if let Some(task) = &message.task_id {
        check_task_name(task.as_str())
            .map_err(|error| error.inside("task_id").inside("message"))?;
    }
    match (&message.context_id, &context) {
        (Some(inner), Some(outer)) if inner != outer => {
            return Err(Error::shape("differs from the message's").inside("context_id"));
        }
        (Some(_), _) => {}
        (None, _) => message.context_id = context.or(session),
    }
    if let Some(wishes) = &mut request.configuration {
        wishes.return_immediately = false;
    }
    if let Some(history) = history.filter(|history| !history.is_empty()) {
        let history = Raw::checked(json::to_string(&history).into());
        let metadata = request.metadata.unwrap_or_default();
        request.metadata = Some(metadata.with(HISTORY, history));
    }
    Ok(request)
}

/// Returns the client's name for the task of a send that has been read before.
pub(super) fn task_alias(params: &str) -> Option<String> {
    let mut alias = None;
    let read = read_with(params, |reader| {
        reader.members(|reader, key| {
            if key == "id" {
                alias = optional(reader, task_name)?;
                return Ok(());
            }
            reader.skip()
        })
    });
    read.ok().and(alias)
}

/// Reads a name that a client may give a task.
fn task_name(reader: &mut Reader<'_>) -> Result<String, Error> {
    let name = reader.string()?;
    check_task_name(&name)?;
    Ok(name.into_owned())
}

pub(super) fn check_task_name(name: &str) -> Result<(), Error> {
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-');
    if (1..=MAX_TASK_NAME).contains(&name.len()) && name.bytes().all(allowed) {
        return Ok(());
    }
    Err(Error::shape("must be 1 to 128 letters, digits, `.`, `_` or `-`"))
}

fn task_id(reader: &mut Reader<'_>) -> Result<TaskId, Error> {
    let name = task_name(reader)?;
    TaskId::parse(&name).map_err(|error| Error::shape(error.to_string()))
}

fn get(reader: &mut Reader<'_>) -> Result<GetTaskRequest, Error> {
    let mut id = None;
    let mut history_length = None;
    reader.members(|reader, key| match &*key {
        "id" | "task_id" | "taskId" => once(&mut id, optional(reader, task_id)?),
        "history_length" | "historyLength" => once(&mut history_length, read_value(reader)?),
        _ => reader.skip(),
    })?;
    let id = id.ok_or_else(|| Error::missing("id"))?;
    Ok(GetTaskRequest { tenant: None, id, history_length })
}

/// Reads a cancellation; over HTTP the path names the task.
pub(super) fn cancel(
    mut id: Option<TaskId>,
    reader: &mut Reader<'_>,
) -> Result<CancelTaskRequest, Error> {
    let in_path = id.is_some();
    let mut metadata = None;
    reader.members(|reader, key| match &*key {
        "id" | "task_id" | "taskId" if !in_path => once(&mut id, optional(reader, task_id)?),
        "metadata" => once(&mut metadata, read_value(reader)?),
        _ => reader.skip(),
    })?;
    let id = id.ok_or_else(|| Error::missing("id"))?;
    Ok(CancelTaskRequest { tenant: None, id, metadata })
}

pub(super) fn response(operation: Operation, reader: &mut Reader<'_>) -> Result<Response, Error> {
    match operation {
        Operation::SendMessage => Ok(Response::SendMessage(match event(reader)? {
            StreamResponse::Task(task) => SendMessageResponse::Task(task),
            StreamResponse::Message(message) => SendMessageResponse::Message(message),
            _ => return Err(Error::shape("is neither a task nor a message")),
        })),
        // The answer to a cancellation is a task of which only the status is told (C-05).
        Operation::GetTask | Operation::CancelTask => LOOSE.task(reader).map(Response::Task),
        _ => Err(Error::shape("this wire form has no such answer")),
    }
}

pub(super) fn event(reader: &mut Reader<'_>) -> Result<StreamResponse, Error> {
    let outline = Outline::read(reader)?;
    read_with(outline.text, |reader| {
        if outline.has("id") && outline.has("status") {
            return LOOSE.task(reader).map(StreamResponse::Task);
        }
        LOOSE.event(reader)
    })
}
