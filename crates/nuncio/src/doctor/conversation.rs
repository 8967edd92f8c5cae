//! Messages and what comes of them.

use nuncio_protocol::{
    error::ErrorKind,
    ids::ContextId,
    message::{Message, Role},
    operation::{GetTaskRequest, ListTasksRequest, Request, Response, SendMessageRequest},
    state::TaskState,
    task::{SendMessageResponse, Task},
};

use super::{
    check::Check,
    patient::{Patient, is_unsayable, kind, said, unknown_id},
    report::Report,
};

/// What the agent is told.
pub(crate) const WORDS: &str =
    "This is a check by nuncio doctor. Please answer with one short sentence.";

const GROUP: &[&str] = &["conversation"];

pub(crate) async fn check(patient: &mut Patient<'_>, report: &mut Report) {
    let outcome = send(patient, Message::user(WORDS)).await;
    let answer = match outcome {
        Ok(answer) => answer,
        Err(what) => {
            report.fail(Check::ConversationAnswer, what);
            return report.skip_rest_of(GROUP, "the agent answers no message");
        }
    };
    patient.answer = Some(answer);
    let Some(task) = patient.task() else {
        report.pass_with(Check::ConversationAnswer, "a message is answered with a message");
        return report.skip_rest_of(GROUP, "the agent answers without a task");
    };
    report.pass_with(Check::ConversationAnswer, "a message is answered with a task");
    look(task, report);
    get(patient, task, report).await;
    list(patient, task, report).await;
    unknown(patient, report).await;
    context(patient, task, report).await;
    if task.status.state.is_terminal() {
        finished(patient, task, report).await;
    } else {
        report.skip(Check::ConversationFinished, "the task has not ended");
    }
    foreign(patient, task, report).await;
}

async fn send(patient: &Patient<'_>, message: Message) -> Result<SendMessageResponse, String> {
    let outcome = patient.call(Request::SendMessage(SendMessageRequest::new(message))).await;
    match outcome {
        Ok(Response::SendMessage(answer)) => Ok(answer),
        outcome => Err(said(&outcome)),
    }
}

fn look(task: &Task, report: &mut Report) {
    let mut missing = Vec::new();
    missing.extend(task.context_id.is_none().then_some("contextId"));
    missing.extend((task.status.state == TaskState::Unspecified).then_some("status.state"));
    let has_time = task.status.timestamp.is_some();
    if !missing.is_empty() {
        report.fail(Check::ConversationTask, format!("the task has no {}", missing.join(", ")));
    } else if !has_time {
        report.warn(Check::ConversationTask, "the task has no status.timestamp");
    } else {
        report.pass(Check::ConversationTask);
    }
    let state = task.status.state;
    if state.is_failure() {
        let why = task.status.message.as_ref().map(|message| message.text()).unwrap_or_default();
        report.warn(Check::ConversationOutcome, format!("the task ended as {state:?}: {why}"));
    } else if state == TaskState::Completed && is_silent(task) {
        report.warn(Check::ConversationOutcome, "the task is completed without a word or result");
    } else {
        report.pass_with(Check::ConversationOutcome, format!("the task is {state:?}"));
    }
    let waits = state.is_terminal() || state.is_interrupted();
    if waits {
        report.pass(Check::ConversationWaits);
    } else {
        report.warn(Check::ConversationWaits, format!("the task is still {state:?}"));
    }
}

fn is_silent(task: &Task) -> bool {
    let speaks = |message: &Message| message.role == Role::Agent;
    task.artifacts.is_empty() && task.status.message.is_none() && !task.history.iter().any(speaks)
}

async fn get(patient: &Patient<'_>, task: &Task, report: &mut Report) {
    let request = |history_length| {
        let id = task.id.clone();
        Request::GetTask(GetTaskRequest { tenant: None, id, history_length })
    };
    let outcome = patient.call(request(None)).await;
    match &outcome {
        Ok(Response::Task(found)) if found.id != task.id => {
            report.fail(Check::ConversationGet, format!("another task is answered: {}", found.id));
        }
        Ok(Response::Task(found))
            if task.status.state.is_terminal() && found.status.state != task.status.state =>
        {
            let (was, is) = (task.status.state, found.status.state);
            report.fail(Check::ConversationGet, format!("it was {was:?} and is {is:?}"));
        }
        Ok(Response::Task(_)) => report.pass(Check::ConversationGet),
        _ => report.fail(Check::ConversationGet, said(&outcome)),
    }
    // In 0.3 only JSON-RPC can tell 0 from nothing.
    let limits: &[i32] = if patient.is_v1() || patient.is_json_rpc() { &[0, 1] } else { &[1] };
    for &limit in limits {
        let outcome = patient.call(request(Some(limit))).await;
        let text = match &outcome {
            Ok(Response::Task(found)) if found.history.len() <= usize::from(limit != 0) => {
                continue;
            }
            Ok(Response::Task(found)) => {
                format!("asked for {limit}, it sends {} messages", found.history.len())
            }
            _ => said(&outcome),
        };
        return report.fail(Check::ConversationHistory, text);
    }
    report.pass(Check::ConversationHistory);
}

async fn list(patient: &Patient<'_>, task: &Task, report: &mut Report) {
    let request = |page_size| {
        let context_id = task.context_id.clone();
        Request::ListTasks(ListTasksRequest { context_id, page_size, ..Default::default() })
    };
    let outcome = patient.call(request(None)).await;
    match &outcome {
        _ if is_unsayable(&outcome) => {
            for check in [Check::ConversationList, Check::ConversationPage] {
                report.skip(check, "the version has no ListTasks on this binding");
            }
            return;
        }
        Ok(Response::Tasks(page)) => {
            let is_there = page.tasks.iter().any(|one| one.id == task.id);
            let text = format!("{} tasks are listed, and not this one", page.tasks.len());
            report.pass_if(Check::ConversationList, is_there, text);
        }
        // 0.3 does not require it.
        _ if !patient.is_v1() => {
            report.skip(Check::ConversationList, "0.3 does not require it");
            return report.skip(Check::ConversationPage, "0.3 does not require it");
        }
        _ => {
            report.fail(Check::ConversationList, said(&outcome));
            return report.skip(Check::ConversationPage, "tasks are not listed");
        }
    }
    let outcome = patient.call(request(Some(1))).await;
    match &outcome {
        Ok(Response::Tasks(page)) => {
            let text = format!("asked for 1 task, it sends {}", page.tasks.len());
            report.pass_if(Check::ConversationPage, page.tasks.len() <= 1, text);
        }
        _ => report.fail(Check::ConversationPage, said(&outcome)),
    }
}

/// Sends a message to a task that nobody has.
async fn unknown(patient: &Patient<'_>, report: &mut Report) {
    let mut message = Message::user(WORDS);
    message.task_id = Some(unknown_id());
    refused(patient, message, Check::ConversationUnknown, ErrorKind::TaskNotFound, report).await;
}

/// Sends a message to the task that has ended.
async fn finished(patient: &Patient<'_>, task: &Task, report: &mut Report) {
    let mut message = Message::user(WORDS);
    message.task_id = Some(task.id.clone());
    message.context_id.clone_from(&task.context_id);
    let kind = ErrorKind::UnsupportedOperation;
    refused(patient, message, Check::ConversationFinished, kind, report).await;
}

/// Sends a message that names the task and another context.
async fn foreign(patient: &Patient<'_>, task: &Task, report: &mut Report) {
    let mut message = Message::user(WORDS);
    message.task_id = Some(task.id.clone());
    message.context_id = Some(ContextId::generate());
    let check = Check::ConversationForeign;
    let outcome = patient.call(Request::SendMessage(SendMessageRequest::new(message))).await;
    // Whether the context or the state of the task is looked at first is left open.
    match &outcome {
        Err(nuncio_client::Error::Peer(error)) if error.kind() != ErrorKind::Internal => {
            report.pass(check);
        }
        _ => report.fail(check, said(&outcome)),
    }
}

async fn refused(
    patient: &Patient<'_>,
    message: Message,
    check: Check,
    wanted: ErrorKind,
    report: &mut Report,
) {
    let outcome = patient.call(Request::SendMessage(SendMessageRequest::new(message))).await;
    match kind(&outcome) {
        Some(kind) if kind == wanted => report.pass(check),
        // It is refused, if not in the best words; 0.3 does not say which are.
        Some(ErrorKind::Internal) | None => report.fail(check, said(&outcome)),
        Some(_) if !patient.is_v1() => report.pass(check),
        Some(kind) => report.warn(check, format!("it is refused with {kind:?}, not {wanted:?}")),
    }
}

/// Sends a second message in the context of the task.
async fn context(patient: &Patient<'_>, task: &Task, report: &mut Report) {
    let check = Check::ConversationContext;
    let Some(context) = &task.context_id else {
        return report.skip(check, "the task has no context");
    };
    let mut message = Message::user(WORDS);
    message.context_id = Some(context.clone());
    if task.status.state.is_interrupted() {
        // What the task waits for is the next message.
        message.task_id = Some(task.id.clone());
    }
    let found = match send(patient, message).await {
        Ok(SendMessageResponse::Task(task)) => task.context_id,
        Ok(SendMessageResponse::Message(message)) => message.context_id,
        Err(what) => return report.fail(check, what),
    };
    let text = match &found {
        Some(found) => format!("the answer is in another context: {found}"),
        None => "the answer is in no context".to_owned(),
    };
    report.pass_if(check, found.as_ref() == Some(context), text);
}
